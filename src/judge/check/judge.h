// SPDX-License-Identifier: BSD-3-Clause
// The state of a symbolic execution, and its comparison with what the operation demands.
#pragma once

#include "judge/check/check_int.h"
#include "judge/check/claim.h"
#include "judge/check/memory.h"
#include "judge/check/value.h"

typedef struct mlt_state {
    mlt_check *check;
    const mlt_claim *claim;
    mlt_values values;
    mlt_cells **cells;                  // [rank][buffer]; ADDRESS is the last one
    mlt_value_runs *flying;             // messages under way, by the number of their send
    uint8_t *used;                      // by number: what the action wrote was read by another one
    uint32_t *rank_of;                  // by number
    mlt_value_runs first, second, made; // for the action that is played
} mlt_state;

// What the span holds. `use`: it is an action that reads.
void mlt_state_read(mlt_state *state, uint32_t rank, mlt_goal_span span, bool use,
                    mlt_value_runs *runs);

// Finds what out has wrong on any rank; else says in the verdict how a reduction comes about.
void mlt_judge(mlt_state *state);
