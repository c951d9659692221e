// SPDX-License-Identifier: BSD-3-Clause
// Copies of many small blocks. Nothing outside of the blocks is read or written: what lies between
// may be unmapped, or another thread's. The two sides do not overlap.
#ifndef MLT_TYPE_KERNEL_H
#define MLT_TYPE_KERNEL_H

#include <stdint.h>

#include "type/layout_int.h"

// `count` blocks of `length` bytes, strides apart.
void mlt_kernel_strided(char *to, int64_t to_stride, const char *from, int64_t from_stride,
                        uint64_t length, uint64_t count);

// Items [first, first + count) of a LIST: out of memory at `base` into `packed`, and back.
void mlt_kernel_gather(const mlt_layout *list, uint64_t first, uint64_t count, uintptr_t base,
                       char *packed);
void mlt_kernel_scatter(const mlt_layout *list, uint64_t first, uint64_t count, uintptr_t base,
                        const char *packed);

#endif
