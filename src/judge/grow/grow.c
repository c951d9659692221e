// SPDX-License-Identifier: BSD-3-Clause
// From a pattern to a program of another number of ranks.
#include "judge/grow/grow.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"
#include "judge/grow/grow_int.h"

// ---- slots

void mlt_grow_for_slots(mlt_grow *pattern, mlt_grow_each *call, void *user)
{
    for (uint32_t k = 0; k < pattern->kinds_count; k++)
        for (uint32_t i = 0; i < pattern->kinds[k].count; i++) {
            mlt_grow_item *item = &pattern->kinds[k].items[i];
            for (uint32_t s = 0; s < item->count; s++)
                call(pattern, item, &item->slots[s], user);
        }
}

static void take_factor(mlt_grow *pattern, const mlt_grow_item *item, mlt_grow_slot *slot,
                        void *user)
{
    slot->factor =
        mlt_grow_growth(slot->law, pattern->grid.dims, pattern->sized, pattern->goal.ranks);
}

static uint64_t size_of(const mlt_grow_slot *slot, uint32_t v)
{
    double size = slot->size * slot->factor * (slot->doubling ? v : 1);
    uint64_t whole = (uint64_t)(size + 0.5);
    return whole || slot->size < 1 ? whole : 1;
}

// ---- the goal

// How much the grid's form differs from the recording's.
static double distortion(const mlt_grow_grid *a, const mlt_grow_grid *b)
{
    double most = 0, least = DBL_MAX;
    for (uint32_t d = 0; d < a->dims; d++) {
        double ratio = (double)b->size[d] / a->size[d];
        most = ratio > most ? ratio : most;
        least = ratio < least ? ratio : least;
    }
    return most / least;
}

static void find_xor(mlt_grow *pattern, const mlt_grow_item *item, mlt_grow_slot *slot, void *user)
{
    if (mlt_goal_is_message(&slot->action) && slot->fn == MLT_GROW_XOR)
        *(bool *)user = true;
}

mlt_status mlt_grow_place(mlt_grow *pattern, uint32_t ranks, char *why, size_t why_size)
{
    bool has_xor = false;
    mlt_grow_for_slots(pattern, find_xor, &has_xor);
    if (has_xor && (ranks & (ranks - 1)))
        return mlt_fail(
            MLT_ERR_INVALID, why, why_size,
            "the pattern has partners that differ in one bit, so that the number of ranks "
            "should be a power of 2, not %u",
            ranks);
    mlt_grow_grid grid = {.ranks = ranks, .dims = pattern->grid.dims}, best = grid;
    double least = DBL_MAX;
    while (mlt_grow_next_grid(&grid, mlt_grow_least(pattern->low, pattern->high))) {
        double form = distortion(&pattern->grid, &grid);
        if (form < least - 1e-9) {
            least = form;
            best = grid;
        }
    }
    if (least == DBL_MAX) {
        char text[120];
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "%u ranks make no grid like that of the recording: %s", ranks,
                        mlt_grow_describe(pattern, text, sizeof text));
    }
    pattern->goal = best;
    return MLT_OK;
}

mlt_status mlt_grow_aim(mlt_grow *pattern, uint32_t ranks, mlt_grow_scaling scaling, char *why,
                        size_t why_size)
{
    if (ranks < pattern->sized)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "%u ranks are fewer than the %u of the recording", ranks, pattern->sized);
    if (!pattern->joined)
        mlt_grow_scale(pattern, scaling);
    mlt_status status = mlt_grow_place(pattern, ranks, why, why_size);
    if (status != MLT_OK)
        return status;
    mlt_grow_for_slots(pattern, take_factor, NULL);
    return MLT_OK;
}

// ---- one rank

static void add_action(const mlt_grow *pattern, const mlt_grow_item *item,
                       const mlt_grow_slot *slot, uint32_t rank, uint32_t round, mlt_goal_rank *to)
{
    uint32_t v = mlt_grow_value(item, &pattern->goal, rank, round);
    mlt_goal_action action = slot->action;
    action.size[0] = size_of(slot, v);
    if (mlt_goal_is_message(&action)) {
        action.peer = (int32_t)mlt_grow_peer(slot, &pattern->goal, rank, v);
        action.tag = slot->tag + slot->tag_step * (int32_t)round;
    }
    *MLT_ARRAY_ADD(to->actions, to->count, to->room) = action;
}

static void add_waits(const mlt_grow_kind *kind, const uint32_t *starts, uint32_t item,
                      const mlt_grow_slot *slot, uint32_t round, uint32_t position,
                      mlt_goal_rank *to)
{
    const mlt_grow_rules *rules = &slot->wait[round < MLT_GROW_TIMES ? round : MLT_GROW_TIMES - 1];
    for (uint32_t r = 0; r < rules->count; r++) {
        const mlt_grow_rule *rule = &rules->all[r];
        mlt_grow_targets t = mlt_grow_targets_of(rule, kind, starts, item, round, position);
        for (uint32_t i = 0; i < t.count; i++) {
            uint32_t on = t.from + i * t.step, q = 0;
            while (q < r && !(rules->all[q].started == rule->started &&
                              mlt_grow_is_target(mlt_grow_targets_of(&rules->all[q], kind, starts,
                                                                     item, round, position),
                                                 on)))
                q++; // two rules may say the same
            if (q < r)
                continue;
            *MLT_ARRAY_ADD(to->deps, to->deps_count, to->deps_room) =
                (mlt_goal_dep){position, on | rule->started};
        }
    }
}

void mlt_grow_rank(const mlt_grow *pattern, uint32_t rank, mlt_goal_rank *to)
{
    const mlt_grow_kind *kind =
        &pattern->kinds[mlt_grow_kind_of(&pattern->goal, pattern->low, pattern->high, rank)];
    uint32_t *starts = mlt_xcalloc((size_t)kind->count + 1, sizeof *starts);
    mlt_grow_starts(kind, &pattern->goal, rank, starts);
    to->count = to->deps_count = 0;
    for (uint32_t i = 0; i < kind->count; i++) {
        const mlt_grow_item *item = &kind->items[i];
        uint32_t times = mlt_grow_times(item->loop, &pattern->goal, rank);
        for (uint32_t n = 0; n < times; n++)
            for (uint32_t s = 0; s < item->count; s++) {
                add_waits(kind, starts, i, &item->slots[s], n, to->count, to);
                add_action(pattern, item, &item->slots[s], rank, n, to);
            }
    }
    free(starts);
}

// ---- telling

static void count_loop(mlt_grow *pattern, const mlt_grow_item *item, mlt_grow_slot *slot,
                       void *user)
{
    *(uint32_t *)user += item->loop != MLT_GROW_ONCE && slot == item->slots;
}

const char *mlt_grow_describe(const mlt_grow *pattern, char *text, size_t size)
{
    mlt_text out = mlt_text_on(text, size);
    uint32_t loops = 0;
    mlt_grow_for_slots((mlt_grow *)pattern, count_loop, &loops);
    if (pattern->grid.dims == 1)
        mlt_text_add(&out, "a row of %u ranks", pattern->grid.ranks);
    for (uint32_t d = 0; pattern->grid.dims > 1 && d < pattern->grid.dims; d++)
        mlt_text_add(&out, "%s%u", d ? "x" : "a grid of ", pattern->grid.size[d]);
    mlt_text_add(&out, ", %u kind%s of ranks, %u loop%s", pattern->kinds_count,
                 pattern->kinds_count == 1 ? "" : "s", loops, loops == 1 ? "" : "s");
    return text;
}
