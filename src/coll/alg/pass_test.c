// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm through every pass, alone and all together: the checker proves the result before
// and after, and runs on real bytes agree. And what the passes are for, by the simulator.
#include "judge/pass/pass.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "coll/alg/alg.h"
#include "coll/alg/shape_test.h"
#include "judge/check/check.h"
#include "judge/pass/oracle_test.h"
#include "judge/sim/sim.h"

static mlt_goal_program *program_of(const mlt_coll_alg *alg, const mlt_coll_shape *shape)
{
    mlt_goal_program *program;
    char why[400];
    if (mlt_coll_program(alg, shape, NULL, NULL, &program, why, sizeof why) == MLT_OK)
        return program;
    fprintf(stderr, "%s\n  while testing %s\n", why, now_testing);
    exit(1);
}

static void proven(const mlt_goal_program *program, const mlt_goal_spec *spec, const char *when)
{
    mlt_goal_check_options options = {.is = spec, .limit = 2};
    mlt_goal_verdict *verdict = mlt_goal_check(program, &options);
    if (!mlt_goal_verdict_ok(verdict)) {
        mlt_goal_verdict_print(verdict, stderr);
        fprintf(stderr, "%s the pass; while testing %s\n", when, now_testing);
        exit(1);
    }
    mlt_goal_verdict_free(verdict);
}

static const char *result_of(const mlt_coll_alg *alg, const mlt_coll_shape *shape)
{
    if (alg->collective == MLT_COLL_BARRIER)
        return NULL;
    if (alg->collective == MLT_COLL_SCATTER && shape->in_place && shape->ranks == 1)
        return "in"; // where it stays
    return alg->collective == MLT_COLL_BCAST ? "buf" : "out";
}

enum { PASSES = 8 };
static uint64_t changes[PASSES], programs;

// pass PASSES: all
static void check_pass(const mlt_coll_alg *alg, const mlt_coll_shape *shape,
                       const mlt_goal_program *before, int pass, bool run)
{
    static const mlt_pass_options options = {
        .segment = 40, .window = 3, .machine = {2500, 1500, 1000, 6, 0, 65535, 0.1}};
    snprintf(now_testing, sizeof now_testing, "%s.%s, %" PRIu32 " ranks, pass %s",
             mlt_collective_names[alg->collective], alg->name, shape->ranks,
             pass < PASSES ? mlt_passes[pass].name : "all");
    mlt_goal_program *after = mlt_goal_program_copy(before);
    mlt_goal_spec spec = mlt_coll_spec(alg, shape);
    mlt_pass_options mine = options;
    mine.keep = result_of(alg, shape);
    bool on[PASSES];
    mlt_pass_report reports[PASSES];
    char why[500];
    for (int i = 0; i < PASSES; i++)
        on[i] = pass == PASSES || i == pass;
    if (passes_run(after, &mine, on, reports, why, sizeof why) != MLT_OK) {
        fprintf(stderr, "%s\n", why);
        CHECK(!"the pass failed");
    }
    for (int i = 0; i < PASSES; i++)
        changes[i] += reports[i].changed;
    proven(after, &spec, "after");
    if (run) {
        oracle *a = oracle_new(before, before, true, shape->ranks);
        oracle *b = oracle_new(after, before, true, shape->ranks + 77);
        CHECK(oracle_run(a) && oracle_run(b));
        CHECK(oracle_same(a, b, result_of(alg, shape) ? result_of(alg, shape) : "nothing"));
        oracle_free(a);
        oracle_free(b);
    }
    mlt_goal_program_free(after);
}

static void check_algorithm(const mlt_coll_alg *alg, uint32_t ranks, bool in_place, bool uneven)
{
    mlt_coll_shape shape = {.ranks = ranks,
                            .root = ranks / 3,
                            .count = 5 + ranks % 23,
                            .op = MLT_OP_SUM,
                            .type = MLT_OP_INT32,
                            .window = ranks % 4,
                            .in_place = in_place};
    if (alg->refuses && alg->refuses(&shape))
        return;
    uint64_t state = ranks;
    arrays a = arrays_new(&shape, alg, uneven, &state);
    snprintf(now_testing, sizeof now_testing, "%s.%s, %" PRIu32 " ranks%s",
             mlt_collective_names[alg->collective], alg->name, ranks, in_place ? ", in place" : "");
    mlt_goal_program *before = program_of(alg, &shape);
    mlt_goal_spec spec = mlt_coll_spec(alg, &shape);
    proven(before, &spec, "before");
    for (int pass = 0; pass <= PASSES; pass++)
        check_pass(alg, &shape, before, pass, ranks <= 9);
    programs++;
    mlt_goal_program_free(before);
    arrays_free(&a, ranks);
}

// ---- what it is good for

static uint64_t time_of(const mlt_goal_program *program)
{
    mlt_sim_options options = {.machine = mlt_loggops_default};
    mlt_sim_result *result;
    char why[400];
    if (mlt_sim_simulate(program, &options, &result, why, sizeof why) != MLT_OK) {
        fprintf(stderr, "%s\n  while testing %s\n", why, now_testing);
        exit(1);
    }
    uint64_t ps = result->total_ps;
    mlt_sim_result_free(result);
    return ps;
}

// Nanoseconds before and after a pass.
static void price(const char *name, const mlt_coll_shape *shape, const char *pass, uint64_t segment,
                  uint64_t out[2])
{
    char why[400];
    snprintf(now_testing, sizeof now_testing, "the time of %s after %s", name, pass);
    const mlt_coll_alg *alg = mlt_coll_find(name, why, sizeof why);
    CHECK(alg);
    mlt_goal_program *program = program_of(alg, shape);
    mlt_pass_options options = {.segment = segment, .machine = mlt_loggops_default};
    mlt_pass_report report;
    out[0] = time_of(program) / 1000;
    CHECK(mlt_pass_run(pass_find(pass), program, &options, &report, why, sizeof why) == MLT_OK);
    out[1] = time_of(program) / 1000;
    printf("%-20s %4" PRIu32 " ranks, %7" PRIu64 " elements: %9" PRIu64 " ns, after %s %9" PRIu64
           " ns\n",
           name, shape->ranks, shape->count, out[0], pass, out[1]);
    mlt_goal_program_free(program);
}

static void check_times(void)
{
    uint64_t ns[2];
    mlt_coll_shape shape = {.ranks = 32, .count = 100, .op = MLT_OP_SUM, .type = MLT_OP_INT32};
    price("alltoall.linear", &shape, "spread", 0, ns); // a rotation already
    CHECK(ns[1] == ns[0]);
    shape.ranks = 13;
    price("bcast.knomial", &shape, "order", 0, ns);
    CHECK(ns[1] < ns[0]);
    shape.ranks = 8;
    shape.count = 100000;
    shape.segment = shape.count; // the algorithm itself makes no pieces
    price("bcast.chain", &shape, "segment", 8192, ns);
    CHECK(ns[1] < ns[0] / 3);
    price("reduce.chain", &shape, "segment", 8192, ns);
    CHECK(ns[1] < ns[0] / 3);
    price("bcast.binary", &shape, "segment", 8192, ns);
    CHECK(ns[1] < ns[0] * 4 / 5);
}

int main(int argc, char **argv)
{
    CHECK(mlt_passes_count == PASSES);
    uint32_t most = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 12;
    for (int i = 0; mlt_coll_algs[i]; i++) {
        const mlt_coll_alg *alg = mlt_coll_algs[i];
        for (uint32_t ranks = 1; ranks <= most; ranks++)
            check_algorithm(alg, ranks, false, false);
        for (uint32_t ranks = 1; ranks <= 8 && (alg->in_place || alg->uneven); ranks++)
            check_algorithm(alg, ranks, alg->in_place, alg->uneven);
        check_algorithm(alg, 17, false, false);
        check_algorithm(alg, 24, false, false);
        if (argc > 2)
            check_algorithm(alg, (uint32_t)strtoul(argv[2], NULL, 10), false, false);
    }
    printf("%" PRIu64 " programs; changes:", programs);
    for (int i = 0; i < PASSES; i++) {
        printf(" %s %" PRIu64, mlt_passes[i].name, changes[i]);
        CHECK(argc > 1 || changes[i] > 0);
    }
    printf("\n");
    check_times();
    return 0;
}
