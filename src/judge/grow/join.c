// SPDX-License-Identifier: BSD-3-Clause
// Several recordings of one program: a pattern of one of them that gives all the others, and the laws
// that take the sizes of the first to those of the last.
//
// What counts is what a pattern gives, not how it is written: a tree of 8 ranks may have rules that one
// of 16 has not, and both give the same programs. So the pattern is grown, or shrunk, to each
// recording and compared with it. That of the largest is tried first, since it shows most.
#include <float.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/memory.h"
#include "judge/grow/grow_int.h"

typedef struct recording {
    const mlt_goal_program *program;
    double *size;    // [slots]: bytes, ns in the mean
    uint64_t *count; // [slots]: actions of that slot
} recording;

static double greater(double a, double b)
{
    return a > b ? a : b;
}

static double join_apart(double a, double b)
{
    return a > b ? a - b : b - a;
}

// ---- does the pattern give it?

static int by_action(const void *a, const void *b)
{
    const mlt_goal_dep *x = a, *y = b;
    uint64_t left[] = {x->action, x->on}, right[] = {y->action, y->on};
    return mlt_compare_words(left, right, 2);
}

static mlt_goal_dep *sorted_deps(const mlt_goal_rank *rank, uint32_t *count)
{
    mlt_goal_dep *deps = mlt_xcalloc((size_t)rank->deps_count + 1, sizeof *deps);
    for (uint32_t d = 0; d < rank->deps_count; d++)
        deps[d] = rank->deps[d];
    qsort(deps, rank->deps_count, sizeof *deps, by_action);
    *count = 0;
    for (uint32_t d = 0; d < rank->deps_count; d++)
        if (!*count || by_action(&deps[*count - 1], &deps[d]) != 0)
            deps[(*count)++] = deps[d];
    return deps;
}

// The first action that waits for something else; NONE: all wait for the same.
static uint32_t other_wait(const mlt_goal_rank *a, const mlt_goal_rank *b)
{
    uint32_t counts[2], i = 0, found = MLT_GOAL_NONE;
    mlt_goal_dep *x = sorted_deps(a, &counts[0]), *y = sorted_deps(b, &counts[1]);
    while (i < counts[0] && i < counts[1] && by_action(&x[i], &y[i]) == 0)
        i++;
    if (i < counts[0])
        found = x[i].action;
    if (i < counts[1] && y[i].action < found)
        found = y[i].action;
    free(x);
    free(y);
    return found;
}

// The action's size counts for the slot. False: others of the slot have another one.
static bool take_size(recording *rec, const mlt_grow_slot *slot, const mlt_goal_action *action,
                      uint32_t v)
{
    double size = (double)action->size[0] / (slot->doubling ? v : 1),
           *kept = &rec->size[slot->number];
    uint64_t *count = &rec->count[slot->number];
    bool fits = !mlt_goal_is_message(action) || !*count || size == *kept;
    *kept += (size - *kept) / (double)++*count;
    return fits;
}

static bool gives_action(const mlt_goal_action *a, const mlt_goal_action *b)
{
    return mlt_grow_same_kind(a, b) &&
           (!mlt_goal_is_message(a) || (a->peer == b->peer && a->tag == b->tag));
}

// The first action of the rank that the pattern does not give; NONE: it gives them all.
static uint32_t odd_action(const mlt_grow *pattern, recording *rec, uint32_t r, mlt_goal_rank *one)
{
    const mlt_grow_grid *goal = &pattern->goal;
    const mlt_goal_rank *rank = &rec->program->rank[r];
    const mlt_grow_kind *kind =
        &pattern->kinds[mlt_grow_kind_of(goal, pattern->low, pattern->high, r)];
    uint32_t a = 0;
    mlt_grow_rank(pattern, r, one);
    for (uint32_t i = 0; i < kind->count; i++) {
        const mlt_grow_item *item = &kind->items[i];
        uint32_t times = mlt_grow_times(item->loop, goal, r);
        for (uint32_t n = 0; n < times; n++)
            for (uint32_t s = 0; s < item->count; s++, a++)
                if (a >= rank->count || !gives_action(&one->actions[a], &rank->actions[a]) ||
                    !take_size(rec, &item->slots[s], &rank->actions[a],
                               mlt_grow_value(item, goal, r, n)))
                    return a;
    }
    return a < rank->count ? a : other_wait(one, rank);
}

static mlt_status explain(mlt_grow *pattern, recording *rec, char *why, size_t why_size)
{
    char text[400];
    mlt_status status = mlt_grow_place(pattern, rec->program->ranks, why, why_size);
    mlt_goal_rank one = {0};
    rec->size = mlt_xcalloc(pattern->slots_count, sizeof *rec->size);
    rec->count = mlt_xcalloc(pattern->slots_count, sizeof *rec->count);
    for (uint32_t r = 0; status == MLT_OK && r < rec->program->ranks; r++) {
        uint32_t a = odd_action(pattern, rec, r, &one);
        if (a == MLT_GOAL_NONE)
            continue;
        if (a < rec->program->rank[r].count)
            mlt_goal_describe(rec->program, r, a, text, sizeof text);
        else
            snprintf(text, sizeof text, "the end of rank %u after %u actions", r, a);
        status = mlt_fail(MLT_ERR_INVALID, why, why_size,
                          "the recordings of %u and %u ranks have different patterns: %s of those "
                          "with %u does not fit that of %u",
                          rec->program->ranks, pattern->grid.ranks, text, rec->program->ranks,
                          pattern->grid.ranks);
    }
    free(one.actions);
    free(one.deps);
    return status;
}

// ---- laws

typedef struct joining {
    recording *all;
    uint32_t count;
    double error;
    mlt_status status;
    char *why;
    size_t why_size;
} joining;

// The law that brings a value from the first recording nearest to that of the last.
static void fit(mlt_grow_slot *slot, uint32_t dims, uint32_t from, uint32_t to, double wanted)
{
    double best = DBL_MAX;
    for (mlt_grow_law law = MLT_GROW_BY_NOTHING; law < MLT_GROW_LAWS; law++) {
        double error = join_apart(slot->size * mlt_grow_growth(law, dims, from, to), wanted) /
                       greater(wanted, 1);
        if (error < best - 1e-9) {
            best = error;
            slot->law = law;
        }
    }
}

// Sizes are counted, so they must be right, up to rounding; times are measured.
static bool size_is_wrong(const mlt_grow_slot *slot, double value, double is)
{
    return mlt_goal_is_message(&slot->action) && join_apart(value, is) > greater(1, 0.01 * is);
}

// A recording may have none of a slot's actions: a tree of few ranks is not as deep.
static void join_slot(mlt_grow *pattern, const mlt_grow_item *item, mlt_grow_slot *slot, void *user)
{
    joining *j = user;
    uint32_t first = 0, s = slot->number, dims = pattern->grid.dims;
    const recording *last = &j->all[j->count - 1];
    while (first + 1 < j->count && !j->all[first].count[s])
        first++;
    uint32_t from = j->all[first].program->ranks;
    slot->size = j->all[first].size[s];
    fit(slot, dims, from, last->program->ranks, last->count[s] ? last->size[s] : slot->size);
    for (uint32_t p = first + 1; p < j->count && j->status == MLT_OK; p++) {
        const recording *rec = &j->all[p];
        if (!rec->count[s])
            continue;
        double is = rec->size[s],
               value = slot->size * mlt_grow_growth(slot->law, dims, from, rec->program->ranks);
        if (size_is_wrong(slot, value, is))
            j->status = mlt_fail(
                MLT_ERR_INVALID, j->why, j->why_size,
                "messages of %.10g bytes on %u ranks have %.10g on %u, which is no law that is "
                "known: constant, 1/P, 1/P^2, P, log P, or the surface of a part of the grid",
                slot->size, from, is, rec->program->ranks);
        if (p + 1 < j->count && !mlt_goal_is_message(&slot->action) && is >= 1)
            j->error = greater(j->error, join_apart(value, is) / is);
    }
    if (first) // as if the first one had had it
        slot->size *= mlt_grow_growth(slot->law, dims, from, j->all[0].program->ranks);
}

// ---- all

static mlt_status explain_all(mlt_grow *pattern, const mlt_goal_program *const *programs,
                              joining *j)
{
    for (uint32_t p = 0; p < j->count; p++)
        j->all[p] = (recording){.program = programs[p]};
    j->status = MLT_OK;
    for (uint32_t p = 0; p < j->count && j->status == MLT_OK; p++)
        j->status = explain(pattern, &j->all[p], j->why, j->why_size);
    if (j->status == MLT_OK) {
        mlt_grow_for_slots(pattern, join_slot, j);
        pattern->sized = programs[0]->ranks;
        pattern->joined = true;
    }
    for (uint32_t p = 0; p < j->count; p++) {
        free(j->all[p].size);
        free(j->all[p].count);
    }
    return j->status;
}

mlt_status mlt_grow_join(const mlt_goal_program *const *programs, uint32_t count, mlt_grow **out,
                         uint32_t *which, double *error, char *why, size_t why_size)
{
    char other[1024]; // why a smaller one's pattern will not do
    *out = NULL;
    for (uint32_t p = 1; p < count; p++)
        if (programs[p - 1]->ranks >= programs[p]->ranks)
            return mlt_fail(
                MLT_ERR_INVALID, why, why_size,
                "recordings should have growing numbers of ranks, but %u come before %u",
                programs[p - 1]->ranks, programs[p]->ranks);
    joining j = {.count = count, .why = why, .why_size = why_size};
    j.all = mlt_xcalloc(count, sizeof *j.all);
    mlt_status first = MLT_OK;
    for (uint32_t p = count; p-- > 0 && !*out;) {
        mlt_grow *pattern;
        mlt_status status = mlt_grow_find(programs[p], &pattern, j.why, j.why_size);
        if (status == MLT_OK)
            status = explain_all(pattern, programs, &j);
        if (status == MLT_OK) {
            *out = pattern;
            *which = p;
            break;
        }
        mlt_grow_free(pattern);
        if (p + 1 == count) {
            first = status;
            j.why = other;
            j.why_size = sizeof other;
        }
    }
    free(j.all);
    *error = j.error;
    return *out ? MLT_OK : first;
}
