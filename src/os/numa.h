// SPDX-License-Identifier: BSD-3-Clause
// Where memory lies, on machines whose processors have memory of their own (NUMA). By default a page
// lies at the processor that first touches it; of memory that several processes map that is often
// the writer's, where the reader's is wanted.
#pragma once

#include <stdint.h>

#include "base/status.h"

#define MLT_OS_NODES "/sys/devices/system/node"

// Nodes that have memory; 1 if the system does not say. The folder is the one above.
uint32_t mlt_os_nodes(const char *folder);

// The node of the processor that runs the caller; 0 if the system does not say.
uint32_t mlt_os_node(void);

// Pages that lie wholly in the range and were not touched so far will lie at that node, if there is
// room, whoever touches them first. If the system refuses (containers do), they lie where they would
// anyway, and it says so.
mlt_status mlt_os_prefer_node(void *at, uint64_t bytes, uint32_t node) MLT_MUST_CHECK;
