// SPDX-License-Identifier: BSD-3-Clause
// From a pattern to a program of another number of ranks.
#include "judge/grow/grow.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"
#include "judge/grow/grow_int.h"

// ---- what can grow how

typedef void each_slot(mlt_grow *pattern, const mlt_grow_item *item, mlt_grow_slot *slot,
                       void *user);

static void for_slots(mlt_grow *pattern, each_slot *call, void *user)
{
    for (uint32_t k = 0; k < pattern->kinds_count; k++)
        for (uint32_t i = 0; i < pattern->kinds[k].count; i++) {
            mlt_grow_item *item = &pattern->kinds[k].items[i];
            for (uint32_t s = 0; s < item->count; s++)
                call(pattern, item, &item->slots[s], user);
        }
}

// The n-th root and the logarithm, to the last digits but one; the command does without libm.
static double root(double x, unsigned n)
{
    double y = x > 1 ? x : 1;
    for (int i = 0; i < 120; i++)
        y = ((n - 1) * y + x / (n == 3 ? y * y : n == 2 ? y : 1)) / n;
    return y;
}

static double logarithm(uint32_t n)
{
    int whole = 31 - __builtin_clz(n);
    double x = (double)n / (double)(UINT32_C(1) << whole), part = 1, sum = whole;
    for (int i = 0; i < 50; i++) {
        x *= x;
        part /= 2;
        if (x >= 2) {
            x /= 2;
            sum += part;
        }
    }
    return sum;
}

static double greater(double a, double b)
{
    return a > b ? a : b;
}

static double grow_apart(double a, double b)
{
    return a > b ? a - b : b - a;
}

static double growth(mlt_grow_law law, const mlt_grow_grid *own, uint32_t ranks)
{
    double ratio = (double)ranks / own->ranks;
    switch (law) {
    case MLT_GROW_BY_RANKS:
        return ratio;
    case MLT_GROW_BY_PART:
        return 1 / ratio;
    case MLT_GROW_BY_PAIR:
        return 1 / (ratio * ratio);
    case MLT_GROW_BY_SURFACE:
        return root(ratio, own->dims) / ratio;
    case MLT_GROW_BY_LOGARITHM:
        return logarithm(ranks) / logarithm(own->ranks);
    default:
        return 1;
    }
}

static void scale(mlt_grow *pattern, const mlt_grow_item *item, mlt_grow_slot *slot, void *user)
{
    bool strong = *(mlt_grow_scaling *)user == MLT_GROW_STRONG;
    bool message = mlt_goal_is_message(&slot->action);
    slot->law = !strong                      ? MLT_GROW_BY_NOTHING
                : !message                   ? MLT_GROW_BY_PART
                : slot->fn == MLT_GROW_NEAR  ? MLT_GROW_BY_SURFACE
                : item->loop == MLT_GROW_ALL ? MLT_GROW_BY_PAIR
                                             : MLT_GROW_BY_NOTHING;
}

static void take_factor(mlt_grow *pattern, const mlt_grow_item *item, mlt_grow_slot *slot,
                        void *user)
{
    slot->factor = growth(slot->law, &pattern->grid, pattern->goal.ranks);
}

static uint64_t size_of(const mlt_grow_slot *slot, uint32_t v)
{
    double size = slot->size * slot->factor * (slot->doubling ? v : 1);
    uint64_t whole = (uint64_t)(size + 0.5);
    return whole || slot->size < 1 ? whole : 1;
}

// ---- several recordings

static bool same_rules(const mlt_grow_rules *a, const mlt_grow_rules *b)
{
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->all[i].wait != b->all[i].wait || a->all[i].item != b->all[i].item ||
            a->all[i].slot != b->all[i].slot || a->all[i].back != b->all[i].back ||
            a->all[i].started != b->all[i].started)
            return false;
    return true;
}

static bool same_slot(const mlt_grow_slot *a, const mlt_grow_slot *b)
{
    bool at = a->fn == MLT_GROW_RANK || a->fn == MLT_GROW_LAST || a->fn == MLT_GROW_SHIFT;
    if (!mlt_grow_same_kind(&a->action, &b->action))
        return false;
    if (mlt_goal_is_message(&a->action) &&
        (a->fn != b->fn || a->tag != b->tag || a->tag_step != b->tag_step ||
         a->doubling != b->doubling || (at && a->at != b->at) ||
         (a->fn == MLT_GROW_NEAR && memcmp(a->offset, b->offset, sizeof a->offset) != 0)))
        return false;
    for (int late = 0; late < MLT_GROW_TIMES; late++)
        if (!same_rules(&a->wait[late], &b->wait[late]))
            return false;
    return true;
}

static bool same_item(const mlt_grow_item *a, const mlt_grow_item *b)
{
    if (a->loop != b->loop || a->down != b->down || a->count != b->count)
        return false;
    for (uint32_t s = 0; s < a->count; s++)
        if (!same_slot(&a->slots[s], &b->slots[s]))
            return false;
    return true;
}

static mlt_status differ(const mlt_grow *a, const mlt_grow *b, uint32_t kind, uint32_t item,
                         char *why, size_t why_size)
{
    const mlt_grow_kind *x = &a->kinds[kind], *y = &b->kinds[kind];
    uint32_t starts[2] = {0, 0};
    for (uint32_t i = 0; i < item; i++) {
        starts[0] += x->items[i].count * mlt_grow_times(x->items[i].loop, &a->grid, x->members[0]);
        starts[1] += y->items[i].count * mlt_grow_times(y->items[i].loop, &b->grid, y->members[0]);
    }
    return mlt_fail(
        MLT_ERR_INVALID, why, why_size,
        "the recordings of %u and %u ranks have different patterns: action %u of rank %u is "
        "not like action %u of rank %u",
        a->grid.ranks, b->grid.ranks, starts[0], x->members[0], starts[1], y->members[0]);
}

static mlt_status same_patterns(const mlt_grow *a, const mlt_grow *b, char *why, size_t why_size)
{
    if (a->grid.ranks >= b->grid.ranks)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "recordings should have growing numbers of ranks, but %u come before %u",
                        a->grid.ranks, b->grid.ranks);
    if (a->grid.dims != b->grid.dims || a->low != b->low || a->high != b->high) {
        char text[2][120];
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "the recordings of %u and %u ranks have different patterns: %s, and %s",
                        a->grid.ranks, b->grid.ranks, mlt_grow_describe(a, text[0], sizeof *text),
                        mlt_grow_describe(b, text[1], sizeof *text));
    }
    for (uint32_t k = 0; k < a->kinds_count; k++) {
        const mlt_grow_kind *x = &a->kinds[k], *y = &b->kinds[k];
        for (uint32_t i = 0; i < x->count || i < y->count; i++)
            if (i >= x->count || i >= y->count || !same_item(&x->items[i], &y->items[i]))
                return differ(a, b, k, i, why, why_size);
    }
    return MLT_OK;
}

// The law that brings a value from the first recording nearest to that of the last.
static void fit(mlt_grow_slot *slot, const mlt_grow_grid *own, uint32_t ranks, double wanted)
{
    double best = DBL_MAX;
    for (mlt_grow_law law = MLT_GROW_BY_NOTHING; law < MLT_GROW_LAWS; law++) {
        double error =
            grow_apart(slot->size * growth(law, own, ranks), wanted) / greater(wanted, 1);
        if (error < best - 1e-9) {
            best = error;
            slot->law = law;
        }
    }
}

// Sizes are counted, so they must be right, up to rounding; times are measured.
static bool size_is_wrong(const mlt_grow_slot *slot, double value, double is)
{
    return mlt_goal_is_message(&slot->action) && grow_apart(value, is) > greater(1, 0.01 * is);
}

static mlt_status join_slot(mlt_grow *const *patterns, uint32_t count, uint32_t kind, uint32_t item,
                            uint32_t s, double *error, char *why, size_t why_size)
{
    const mlt_grow *first = patterns[0];
    mlt_grow_slot *slot = &first->kinds[kind].items[item].slots[s];
    const mlt_grow *last = patterns[count - 1];
    fit(slot, &first->grid, last->grid.ranks, last->kinds[kind].items[item].slots[s].size);
    for (uint32_t p = 1; p < count; p++) {
        double is = patterns[p]->kinds[kind].items[item].slots[s].size;
        double value = slot->size * growth(slot->law, &first->grid, patterns[p]->grid.ranks);
        if (size_is_wrong(slot, value, is))
            return mlt_fail(
                MLT_ERR_INVALID, why, why_size,
                "messages of %.10g bytes on %u ranks have %.10g on %u, which is no law that is "
                "known: constant, 1/P, 1/P^2, P, log P, or the surface of a part of the grid",
                slot->size, first->grid.ranks, is, patterns[p]->grid.ranks);
        if (p + 1 < count && !mlt_goal_is_message(&slot->action) && is >= 1)
            *error = greater(*error, grow_apart(value, is) / is);
    }
    return MLT_OK;
}

mlt_status mlt_grow_join(mlt_grow *const *patterns, uint32_t count, double *error, char *why,
                         size_t why_size)
{
    mlt_grow *first = patterns[0];
    *error = 0;
    for (uint32_t p = 1; p < count; p++) {
        mlt_status status = same_patterns(patterns[p - 1], patterns[p], why, why_size);
        if (status != MLT_OK)
            return status;
    }
    for (uint32_t k = 0; k < first->kinds_count; k++)
        for (uint32_t i = 0; i < first->kinds[k].count; i++)
            for (uint32_t s = 0; s < first->kinds[k].items[i].count; s++) {
                mlt_status status = join_slot(patterns, count, k, i, s, error, why, why_size);
                if (status != MLT_OK)
                    return status;
            }
    first->joined = count > 1;
    return MLT_OK;
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

mlt_status mlt_grow_aim(mlt_grow *pattern, uint32_t ranks, mlt_grow_scaling scaling, char *why,
                        size_t why_size)
{
    bool has_xor = false;
    if (ranks < pattern->grid.ranks)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "%u ranks are fewer than the %u of the recording", ranks,
                        pattern->grid.ranks);
    for_slots(pattern, find_xor, &has_xor);
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
    if (!pattern->joined)
        for_slots(pattern, scale, &scaling);
    for_slots(pattern, take_factor, NULL);
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
    for_slots((mlt_grow *)pattern, count_loop, &loops);
    if (pattern->grid.dims == 1)
        mlt_text_add(&out, "a row of %u ranks", pattern->grid.ranks);
    for (uint32_t d = 0; pattern->grid.dims > 1 && d < pattern->grid.dims; d++)
        mlt_text_add(&out, "%s%u", d ? "x" : "a grid of ", pattern->grid.size[d]);
    mlt_text_add(&out, ", %u kind%s of ranks, %u loop%s", pattern->kinds_count,
                 pattern->kinds_count == 1 ? "" : "s", loops, loops == 1 ? "" : "s");
    return text;
}
