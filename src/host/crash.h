// SPDX-License-Identifier: BSD-3-Clause
// The last words of a rank that a signal kills: which rank, which signal, where; or that its stack
// was too small.
#pragma once

#include <stddef.h>

#include "boot/ctl.h"

// Once a process, before its ranks run. ctl: the launcher's, or -1.
void mlt_crash_install(const mlt_boot *boot);

// For each thread that runs ranks: how far its own stack may grow from here, 0 if that is not
// known.
void mlt_crash_thread_init(size_t stack_limit);
