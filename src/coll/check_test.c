// SPDX-License-Identifier: BSD-3-Clause
// The checker and the algorithms judge each other: all of them are right for P = 1..40, 64, 100,
// 128, whether sends are buffered or synchronous, and keep their promise about the order of
// operands.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "coll/coll.h"
#include "goal/check.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static mlt_goal_program *make(const mlt_coll_alg *alg, const mlt_coll_shape *shape)
{
    mlt_goal_program *p = NULL;
    char why[512];
    if (alg->refuses && alg->refuses(shape))
        return NULL;
    if (mlt_coll_program(alg, shape, NULL, NULL, &p, why, sizeof why) != MLT_OK) {
        fprintf(stderr, "%s\n", why);
        exit(1);
    }
    return p;
}

// Every algorithm for each number of ranks.
static void accept_all(void)
{
    uint32_t programs = 0;
    uint64_t actions = 0;
    double begin = now(), slowest = 0;
    char slow[128] = "none";
    for (int i = 0; mlt_coll_algs[i]; i++) {
        const mlt_coll_alg *alg = mlt_coll_algs[i];
        for (uint32_t ranks = 1; ranks <= 128; ranks++) {
            if (ranks > 40 && ranks != 64 && ranks != 100 && ranks != 128)
                continue;
            mlt_coll_shape shape = {.ranks = ranks,
                                    .root = ranks / 3,
                                    .count = ranks % 2 ? 7 : 2 * ranks + 1,
                                    .op = MLT_OP_SUM,
                                    .type = MLT_OP_FLOAT64,
                                    .segment = ranks % 3};
            mlt_goal_program *p = make(alg, &shape);
            if (!p)
                continue;
            mlt_goal_spec is = mlt_coll_spec(alg, &shape);
            double start = now();
            mlt_goal_verdict *v =
                mlt_goal_check(p, &(mlt_goal_check_options){.is = &is, .limit = 3});
            double took = now() - start;
            if (!mlt_goal_verdict_ok(v) ||
                (alg->in_order && mlt_collective_reduces(alg->collective) && !v->in_rank_order)) {
                fprintf(stderr, "%s.%s over %" PRIu32 " ranks:\n",
                        mlt_collective_names[alg->collective], alg->name, ranks);
                mlt_goal_verdict_print(v, stderr);
                exit(1);
            }
            if (took > slowest) {
                slowest = took;
                snprintf(slow, sizeof slow, "%s.%s over %" PRIu32,
                         mlt_collective_names[alg->collective], alg->name, ranks);
            }
            programs++;
            actions += v->actions;
            mlt_goal_verdict_free(v);
            mlt_goal_program_free(p);
        }
    }
    printf("accepted %" PRIu32 " of %" PRIu32 " right programs, %" PRIu64
           " actions, in %.2f s; the "
           "slowest, %s ranks, took %.3f s\n",
           programs, programs, actions, now() - begin, slow, slowest);
}

int main(void)
{
    accept_all();
    return 0;
}
