// SPDX-License-Identifier: BSD-3-Clause
#include "judge/pass/search.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/compare.h"
#include "base/memory.h"
#include "judge/check/check.h"
#include "judge/pass/search_int.h"
#include "judge/sim/sim.h"

double mlt_search_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

mlt_status mlt_search_judge(mlt_search *search, const mlt_goal_program *program,
                            mlt_search_cost *out, char *why, size_t why_size)
{
    mlt_sim_options options = {.cluster = search->cluster, .by_arrival = search->by_arrival};
    mlt_sim_result *result;
    mlt_status status = mlt_sim_simulate(program, &options, &result, why, why_size);
    search->tried++;
    *out = (mlt_search_cost){UINT64_MAX, UINT64_MAX};
    if (status != MLT_OK)
        return status;
    *out = (mlt_search_cost){result->total_ps, 0};
    for (uint32_t r = 0; r < result->ranks; r++)
        out->sum_ps += result->rank_end_ps[r];
    mlt_sim_result_free(result);
    return MLT_OK;
}

bool mlt_search_try(mlt_search *search, const mlt_goal_program *program)
{
    mlt_search_cost cost;
    char why[400];
    if (mlt_search_judge(search, program, &cost, why, sizeof why) != MLT_OK ||
        !mlt_search_better(cost, search->best))
        return false;
    search->best = cost;
    return true;
}

bool mlt_search_goes_on(mlt_search *search, uint64_t n, uint64_t of)
{
    if (n >= of)
        return false;
    if (search->progress)
        search->progress(search->user, (double)n / (double)of);
    search->cut |= mlt_search_now() > search->until_s;
    return !search->cut;
}

// ---- dice: xorshift

mlt_search_dice mlt_search_dice_of(uint64_t seed)
{
    return (mlt_search_dice){seed * 0x9e3779b97f4a7c15u + 0x6a09e667f3bcc909u};
}

uint32_t mlt_search_roll(mlt_search_dice *dice, uint32_t below)
{
    uint64_t x = dice->state ? dice->state : 1;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    dice->state = x;
    return below ? (uint32_t)((x >> 32) * below >> 32) : 0;
}

// ---- proof

static int by_dep(const void *a, const void *b)
{
    const mlt_goal_dep *x = a, *y = b;
    return mlt_compare_words((uint64_t[]){x->action, x->on}, (uint64_t[]){y->action, y->on}, 2);
}

// Every dependency of `few` is among those of `many`.
static bool has_deps(const mlt_goal_rank *many, const mlt_goal_rank *few)
{
    mlt_goal_dep *deps = mlt_xcalloc((size_t)many->deps_count + 1, sizeof *deps);
    bool all = true;
    if (many->deps_count)
        memcpy(deps, many->deps, many->deps_count * sizeof *deps);
    qsort(deps, many->deps_count, sizeof *deps, by_dep);
    for (uint32_t d = 0; d < few->deps_count && all; d++)
        all = bsearch(&few->deps[d], deps, many->deps_count, sizeof *deps, by_dep) != NULL;
    free(deps);
    return all;
}

static bool same_buffers(const mlt_goal_program *a, const mlt_goal_program *b, uint32_t r)
{
    const mlt_goal_rank *x = &a->rank[r], *y = &b->rank[r];
    bool same = x->buffers_count == y->buffers_count;
    for (uint32_t i = 0; same && i < x->buffers_count; i++)
        same = x->buffers[i].size == y->buffers[i].size &&
               strcmp(mlt_goal_name_text(a, x->buffers[i].name),
                      mlt_goal_name_text(b, y->buffers[i].name)) == 0;
    return same;
}

static bool equal_action(mlt_goal_action a, mlt_goal_action b)
{
    a.label = b.label = a.line = b.line = 0;
    return memcmp(&a, &b, sizeof a) == 0;
}

// The rank has the same actions in the same order, so the same messages meet, and no less order.
static bool refines(const mlt_goal_program *before, const mlt_goal_program *after, uint32_t r)
{
    const mlt_goal_rank *x = &before->rank[r], *y = &after->rank[r];
    bool same = x->count == y->count && same_buffers(before, after, r);
    for (uint32_t a = 0; same && a < x->count; a++)
        same = equal_action(x->actions[a], y->actions[a]);
    return same && has_deps(y, x);
}

mlt_status mlt_search_prove(const mlt_goal_program *before, const mlt_goal_program *after,
                            const mlt_goal_spec *is, char *why, size_t why_size)
{
    bool ordered = before->ranks == after->ranks;
    for (uint32_t r = 0; r < before->ranks && ordered; r++)
        ordered = refines(before, after, r);
    if (!ordered && !is)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "nothing says what the program should do, and the other one has other "
                        "actions, so they cannot be proven equal");
    mlt_goal_check_options options = {.is = ordered ? NULL : is, .limit = 1};
    mlt_goal_verdict *new = mlt_goal_check(after, &options);
    mlt_goal_verdict *old = mlt_goal_verdict_ok(new) ? NULL : mlt_goal_check(before, &options);
    mlt_status status = MLT_OK;
    for (int f = 0; f < MLT_FAULTS && old && status == MLT_OK; f++)
        if (new->found[f] > old->found[f])
            status = mlt_fail(MLT_ERR_INVALID, why, why_size,
                              "the checker finds a fault in the other program (%s) that this one "
                              "has not",
                              mlt_goal_fault_names[f]);
    mlt_goal_verdict_free(new);
    if (old)
        mlt_goal_verdict_free(old);
    return status;
}
