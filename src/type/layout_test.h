// SPDX-License-Identifier: BSD-3-Clause
// What tests ask of a layout.
#pragma once

#include "type/layout_int.h"

// Bytes of memory that a layout and all it contains take, shared parts included.
static inline uint64_t mlt_layout_memory(const mlt_layout *layout)
{
    if (!layout)
        return 0;
    uint64_t bytes = sizeof *layout;
    if (layout->keeper)
        return bytes + mlt_layout_memory(layout->keeper);
    if (layout->offset)
        bytes += layout->n * sizeof layout->offset[0];
    if (layout->before)
        bytes += (layout->n + 1) * sizeof layout->before[0];
    for (uint64_t i = 0; layout->children && i < layout->n; i++)
        bytes += sizeof layout->children[0] + mlt_layout_memory(layout->children[i]);
    return bytes + mlt_layout_memory(layout->child);
}
