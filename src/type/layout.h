// SPDX-License-Identifier: BSD-3-Clause
// A layout: where the bytes of one element lie, in the order of the type map, as a small program.
//
//     BLOCK  bytes                        `bytes` contiguous bytes
//     LOOP   count, stride, child         child, count times, `stride` bytes apart
//     LIST   n, offset[], length[]        blocks of bytes at offsets (irregular, or of one length)
//     EACH   n, offset[], child           child at each of n offsets
//     SEQ    n, {offset, child}[]         different children one after the other
//
// Every node knows its packed size, so any byte of the packed form is found in O(depth log n).
// Layouts are immutable, shared by the types that were built from one another, and counted (one
// worker's thread counts: a type belongs to the worker that made it). The constructors simplify: a
// loop of adjacent blocks is a block, loops that continue each other are one, blocks that touch in
// memory and in order are merged. So the layout of a committed type needs no further work, and
// `depth` (the nesting that is left) bounds what a cursor needs.
#pragma once

#include <stdint.h>

typedef struct mlt_layout mlt_layout;

void mlt_layout_hold(const mlt_layout *layout); // NULL is allowed in both
void mlt_layout_drop(const mlt_layout *layout);
