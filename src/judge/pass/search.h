// SPDX-License-Identifier: BSD-3-Clause
// Global optimisation for a described machine: the same program in another order, or with its ranks
// in other places, tried on the simulator, which judges. Some starts that are likely to be good come
// first; then changes one by one, each kept if the program gets faster.
//
// The result depends on the seed and the number of steps alone, unless the time was up before.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "goal/program.h"
#include "goal/spec.h"
#include "judge/net/cluster.h"

typedef struct mlt_search_cost { // less is better: first the one, then the other
    uint64_t total_ps, sum_ps;   // when the last rank ends; all ranks' ends, summed
} mlt_search_cost;

typedef struct mlt_search {
    mlt_cluster *cluster; // borrowed; mlt_search_place changes where its ranks are
    bool by_arrival;      // as in mlt_sim_options
    uint64_t steps;       // of each search
    uint64_t seed;
    double until_s; // of mlt_search_now: when the time is up
    void (*progress)(void *user, double done);
    void *user;
    mlt_search_cost best; // of the program as it is
    uint64_t tried;       // programs simulated, by the last search
    bool cut;             // the time was up before the steps were
} mlt_search;

double mlt_search_now(void); // seconds of a clock

// What a program costs on search->cluster. On failure an error message.
mlt_status mlt_search_judge(mlt_search *search, const mlt_goal_program *program,
                            mlt_search_cost *out, char *why, size_t why_size) MLT_MUST_CHECK;
static inline bool mlt_search_better(mlt_search_cost a, mlt_search_cost b)
{
    return a.total_ps != b.total_ps ? a.total_ps < b.total_ps : a.sum_ps < b.sum_ps;
}

// True if a further program may be tried, the n-th of so many; tells the progress.
bool mlt_search_goes_on(mlt_search *search, uint64_t n, uint64_t of);

// Orders sends that are ready together (pass_int.h) by dependencies on starts. search->best is that of
// the program, before and after. How many ranks' sends have another order now; text: what was done, or
// why nothing was.
uint32_t mlt_search_order(mlt_search *search, mlt_goal_program *program, char *text, size_t size);

// Lets ranks change places among the hosts that they are on: changes search->cluster. How many are
// elsewhere now.
uint32_t mlt_search_place(mlt_search *search, const mlt_goal_program *program, char *text,
                          size_t size);

// Proves that `after` is as good as `before`. Either it has the same actions, and all dependencies
// that were there: then the same messages meet, and each run of it is one of before. Or `is` says
// what both should do. And the checker finds nothing in it that it does not find in `before`. On
// failure an error message.
mlt_status mlt_search_prove(const mlt_goal_program *before, const mlt_goal_program *after,
                            const mlt_goal_spec *is, char *why, size_t why_size) MLT_MUST_CHECK;
