// SPDX-License-Identifier: BSD-3-Clause
// How much memory there is.
#pragma once

#include <stdint.h>

#define MLT_OS_PROC   "/proc"
#define MLT_OS_GROUPS "/sys/fs/cgroup"

// Bytes that this process and others could still take: what the system has free or can free, with
// swap, or what is left to the control groups of this process (both versions) if that is less. 0 if
// the system does not say. The folders are the two above.
uint64_t mlt_os_memory_left(const char *proc, const char *groups);

// How many processes of this one's control groups the kernel has killed because memory was used up;
// 0 if the system does not say.
uint64_t mlt_os_memory_kills(const char *proc, const char *groups);
