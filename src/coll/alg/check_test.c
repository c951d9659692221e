// SPDX-License-Identifier: BSD-3-Clause
// The checker and the algorithms judge each other: all of them are right for P = 1..40, 64, 100,
// 128, whether sends are buffered or synchronous, and keep their promise about the order of
// operands; so they are in place, with blocks that differ (some of them empty), and with a user's
// function, if they can.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "coll/alg/alg.h"
#include "coll/alg/shape_test.h"
#include "fiber/sanitize.h"
#include "judge/check/check.h"

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

typedef struct tally {
    uint32_t programs;
    uint64_t actions;
    double slowest;
    char slow[128];
} tally;

static void accept(const mlt_coll_alg *alg, const mlt_coll_shape *shape, tally *t)
{
    mlt_goal_program *p = make(alg, shape);
    if (!p)
        return;
    mlt_goal_spec is = mlt_coll_spec(alg, shape);
    double start = now();
    mlt_goal_verdict *v = mlt_goal_check(p, &(mlt_goal_check_options){.is = &is, .limit = 3});
    double took = now() - start;
    if (!mlt_goal_verdict_ok(v) ||
        (!is.commutes && mlt_collective_reduces(alg->collective) && !v->in_rank_order)) {
        fprintf(stderr, "%s.%s over %" PRIu32 " ranks:\n", mlt_collective_names[alg->collective],
                alg->name, shape->ranks);
        mlt_goal_verdict_print(v, stderr);
        exit(1);
    }
    if (took > t->slowest) {
        t->slowest = took;
        snprintf(t->slow, sizeof t->slow, "%s.%s over %" PRIu32,
                 mlt_collective_names[alg->collective], alg->name, shape->ranks);
    }
    t->programs++;
    t->actions += v->actions;
    mlt_goal_verdict_free(v);
    mlt_goal_program_free(p);
}

// In place, with blocks that differ, and with a user's function on odd elements, as it can.
static void accept_variants(const mlt_coll_alg *alg, mlt_coll_shape shape, tally *t)
{
    uint64_t state = shape.ranks;
    for (int kind = 0; kind < 4; kind++) {
        bool in_place = kind == 0 || kind == 2, uneven = kind == 1 || kind == 2, user = kind == 3;
        mlt_coll_shape other = shape;
        other.in_place = in_place;
        if (user) {
            other.op = MLT_OPS;
            other.element = 13;
            uneven = alg->uneven;
        }
        if ((in_place && !alg->in_place) || (uneven && !alg->uneven) ||
            (user && !mlt_collective_reduces(alg->collective)))
            continue;
        arrays a = arrays_new(&other, alg, uneven, &state);
        accept(alg, &other, t);
        arrays_free(&a, shape.ranks);
    }
}

// Every algorithm for each number of ranks.
static void accept_all(void)
{
    tally t = {.slow = "none"};
    double begin = now();
    for (int i = 0; mlt_coll_algs[i]; i++) {
        const mlt_coll_alg *alg = mlt_coll_algs[i];
        for (uint32_t ranks = 1; ranks <= 128; ranks++) {
            if (ranks > (MLT_SANITIZED ? 12 : 40) && ranks != 64 &&
                (MLT_SANITIZED || (ranks != 100 && ranks != 128)))
                continue;
            mlt_coll_shape shape = {.ranks = ranks,
                                    .root = ranks / 3,
                                    .count = ranks % 2 ? 7 : 2 * ranks + 1,
                                    .op = MLT_OP_SUM,
                                    .type = MLT_OP_FLOAT64,
                                    .segment = ranks % 3,
                                    .radix = alg->uses_radix && ranks % 4 == 1 ? 3 : 0,
                                    .window = ranks % 5};
            uint64_t state = ranks;
            arrays a = arrays_new(&shape, alg, false, &state);
            accept(alg, &shape, &t);
            arrays_free(&a, ranks);
            if (ranks <= 17 || (ranks >= 31 && ranks <= 33) || ranks == 64)
                accept_variants(alg, shape, &t);
        }
    }
    printf("accepted %" PRIu32 " of %" PRIu32 " right programs, %" PRIu64
           " actions, in %.2f s; the "
           "slowest, %s ranks, took %.3f s\n",
           t.programs, t.programs, t.actions, now() - begin, t.slow, t.slowest);
}

int main(void)
{
    accept_all();
    return 0;
}
