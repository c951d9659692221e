// SPDX-License-Identifier: BSD-3-Clause
// What a layout is made of, for this folder and for the generated table of predefined types.
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "type/layout.h"

typedef enum layout_kind {
    LAYOUT_BLOCK, // only as a whole type's layout, where `at` is not 0: NULL serves elsewhere
    LAYOUT_LOOP,
    LAYOUT_LIST,
    LAYOUT_EACH,
    LAYOUT_SEQ,
} layout_kind;

// A node is `n` items. Item i lies at `at` + i * stride (LOOP) or `at` + offset[i]; it is a child,
// whose own `at` counts too, or a block of bytes (child NULL). Sums of offsets may pass through
// values beyond 63 bits on their way to one that is not: add them unsigned.
struct mlt_layout {
    uint32_t refs; // 0: a constant, not counted
    uint8_t kind;
    uint8_t depth; // nodes from here to the deepest leaf, this one included
    int64_t at;
    uint64_t size;   // bytes of data in all items
    uint64_t blocks; // blocks of memory in all items; UINT64_MAX: more than that
    uint64_t n;      // items: 2 or more; 1 in a BLOCK
    uint64_t length; // bytes of data in an item if all have the same, else 0: see before
    int64_t stride;
    const mlt_layout *child;           // of every item; a SEQ has children instead
    const int64_t *offset;             // LIST, EACH, SEQ
    const uint64_t *before;            // n + 1 sums of lengths: SEQ, and LIST if lengths differ
    const mlt_layout *const *children; // SEQ; NULL for an item that is a block
    const mlt_layout *keeper;          // owns child and arrays, if this is a moved copy of it
};

// Data under construction: `size` bytes at `at`, or a layout there. A piece owns one reference on
// its layout. Size 0: nothing.
typedef struct piece {
    int64_t at;
    uint64_t size;
    const mlt_layout *child;
} piece;

static inline int64_t add_wrapping(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

// All of these take over the references of what they are given, also when they fail. n * size fits
// into 63 bits.

// p, n times, stride bytes apart.
mlt_status mlt_layout_piece_repeat(piece *p, uint64_t n, int64_t stride) MLT_MUST_CHECK;

// pieces[0..n) one after the other; the array is scratch afterwards.
mlt_status mlt_layout_piece_join(piece *out, piece *pieces, uint64_t n) MLT_MUST_CHECK;

// The layout of a type whose data is p; NULL if it is one block at 0.
mlt_status mlt_layout_piece_finish(piece p, const mlt_layout **layout) MLT_MUST_CHECK;
