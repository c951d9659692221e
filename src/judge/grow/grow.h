// SPDX-License-Identifier: BSD-3-Clause
// Extrapolation: the pattern of a program of P ranks, and the same program for other numbers of
// ranks (docs/reference/goal-extrapolate.md).
//
// A pattern has a grid of one, two or three dimensions, kinds of ranks by their place in it (near
// the lower end of a dimension, near the upper one, inside), and for each kind a list of items. An
// item is an action whose peer is a function of the rank, or a loop of actions whose length grows
// with the number of ranks. All ranks of a kind have the same items; that is how patterns are
// found, and why a pattern that was found is right for every rank of its program.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "goal/program.h"

typedef struct mlt_grow mlt_grow;

typedef enum mlt_grow_scaling {
    MLT_GROW_WEAK,   // a rank's work and messages stay
    MLT_GROW_STRONG, // the whole work stays: calc by 1/P, messages to neighbours in a grid of d
                     // dimensions by P^((1-d)/d), those of all to all by 1/P^2
} mlt_grow_scaling;

// The pattern of a program. On failure a sentence that names the first rank and action that fit no
// pattern. The caller frees it; the program need not stay.
mlt_status mlt_grow_find(const mlt_goal_program *program, mlt_grow **out, char *why,
                         size_t why_size) MLT_MUST_CHECK;
void mlt_grow_free(mlt_grow *pattern); // NULL is fine

// The same of several programs, by growing numbers of ranks: a pattern of one of them, the largest if
// it can be, that gives all the others, action by action; and the laws by which sizes and times grow.
// *which: whose pattern it is. *error: by how much a time between the first and the last is predicted
// wrong at most, as a part of it; 0 if there is none between. On failure a sentence.
mlt_status mlt_grow_join(const mlt_goal_program *const *programs, uint32_t count, mlt_grow **out,
                         uint32_t *which, double *error, char *why, size_t why_size) MLT_MUST_CHECK;

// Prepares for so many ranks; `scaling` counts if the pattern is that of one program. On failure (a
// grid cannot be made, or has places that the recording had none of) a sentence.
mlt_status mlt_grow_aim(mlt_grow *pattern, uint32_t ranks, mlt_grow_scaling scaling, char *why,
                        size_t why_size) MLT_MUST_CHECK;

// After that: one rank's actions and dependencies, into `to`, whose arrays grow and are used again;
// all zero is a rank to begin with.
void mlt_grow_rank(const mlt_grow *pattern, uint32_t rank, mlt_goal_rank *to);

// "4x4 grid, 9 kinds of ranks, 2 loops": for reports. Returns text.
const char *mlt_grow_describe(const mlt_grow *pattern, char *text, size_t size);
