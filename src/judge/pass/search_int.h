// SPDX-License-Identifier: BSD-3-Clause
// What the searches share.
#pragma once

#include "judge/pass/search.h"

// Numbers that depend on the seed alone.
typedef struct mlt_search_dice {
    uint64_t state;
} mlt_search_dice;
mlt_search_dice mlt_search_dice_of(uint64_t seed);
uint32_t mlt_search_roll(mlt_search_dice *dice, uint32_t below);

// Tries the program; true if it is better than search->best, which it becomes then.
bool mlt_search_try(mlt_search *search, const mlt_goal_program *program);
