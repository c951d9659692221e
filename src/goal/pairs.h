// SPDX-License-Identifier: BSD-3-Clause
// Which send meets which receive, for a program without wildcards: the n-th send from A to B with a
// tag meets the n-th receive from A with that tag.
#pragma once

#include <stdint.h>

#include "goal/program.h"

typedef struct mlt_goal_place {
    uint32_t rank, action; // action MLT_GOAL_NONE: there is none
} mlt_goal_place;

typedef struct mlt_goal_pairs {
    uint64_t *first;       // [ranks + 1]: actions of rank r have numbers first[r] + index
    mlt_goal_place *other; // by that number: the partner of a message action
    uint64_t unmatched; // message actions that have none, those with a peer out of range among them
} mlt_goal_pairs;

mlt_goal_pairs *mlt_goal_pairs_new(const mlt_goal_program *program);
void mlt_goal_pairs_free(mlt_goal_pairs *pairs);

static inline mlt_goal_place mlt_goal_partner(const mlt_goal_pairs *pairs, uint32_t rank,
                                              uint32_t action)
{
    return pairs->other[pairs->first[rank] + action];
}
