// SPDX-License-Identifier: BSD-3-Clause
// Memory of a program's ranks for people: how a buffer is typed, what it is filled with, how it is
// shown.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "goal/program.h"

typedef enum mlt_fill_kind {
    MLT_FILL_RAMP,   // element i of rank r is 10 (r + 1) + i mod 10
    MLT_FILL_ZERO,   // nothing but zeros
    MLT_FILL_RANDOM, // bytes from a seed, other ones on each rank
} mlt_fill_kind;

typedef struct mlt_fill {
    mlt_fill_kind kind;
    uint64_t seed;
} mlt_fill;

// "ramp", "zero", "random", "random:7". False: none of them.
bool mlt_fill_parse(const char *text, mlt_fill *out) MLT_MUST_CHECK;

// The type that the rank's local operations use the buffer with; `initial` if none does.
mlt_op_type mlt_memory_type(const mlt_goal_rank *rank, uint32_t buf, mlt_op_type initial);

void mlt_memory_fill(mlt_fill fill, uint32_t rank, uint32_t buf, mlt_op_type type, void *bytes,
                     uint64_t size);

// Bytes that the rank's actions touch, as few ranges as possible, in ascending order; those of a
// declared buffer are all. The caller frees the array.
typedef struct mlt_fill_range {
    uint64_t from, to;
} mlt_fill_range;
mlt_fill_range *mlt_memory_ranges(const mlt_goal_program *program, uint32_t rank, uint32_t buf,
                                  size_t *count);

// Elements between blanks, at most `most` (0: all); "..." says that there are more.
void mlt_memory_print(mlt_op_type type, const unsigned char *bytes, uint64_t size, uint64_t most,
                      FILE *to);
