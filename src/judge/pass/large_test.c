// SPDX-License-Identifier: BSD-3-Clause
// The passes on long programs, of shapes for which a careless search takes quadratic time or memory
// (the test's time limit is the check), and the transitive reduction of random graphs.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/unit_test.h"
#include "goal/program_test.h"
#include "judge/pass/oracle_test.h"
#include "judge/pass/pass_int.h"

// How many changes the pass made.
static uint64_t run(const char *pass, mlt_goal_program *program, mlt_pass_options options)
{
    mlt_pass_report report;
    char why[400];
    CHECK(mlt_pass_run(pass_find(pass), program, &options, &report, why, sizeof why) == MLT_OK);
    return report.changed;
}

// Chains side by side, with far dependencies that the chains imply: n^2 memory, or a search a
// dependency, would be felt.
static void check_long(uint32_t n, uint32_t chains)
{
    snprintf(now_testing, sizeof now_testing, "%" PRIu32 " actions in %" PRIu32 " chains", n,
             chains);
    mlt_goal_program *program = mlt_goal_program_new(1);
    for (uint32_t a = 0; a < n; a++)
        mlt_goal_add(program, 0, &(mlt_goal_action){.kind = MLT_GOAL_CALC, .size = {1}});
    uint32_t far = 0;
    for (uint32_t a = chains; a < n; a++) {
        mlt_goal_require(program, 0, a, a - chains);
        if (a >= n / 2 + chains) {
            mlt_goal_require(program, 0, a, a - (n / 2 / chains) * chains);
            far++;
        }
    }
    uint64_t changed = run("transitive", program, (mlt_pass_options){.segment = 0});
    CHECK(changed == far && program->rank[0].deps_count == n - chains);
    mlt_goal_program_free(program);
}

// One action that waits for many, which are in pairs.
static void check_wide(uint32_t n)
{
    snprintf(now_testing, sizeof now_testing, "an action that waits for %" PRIu32, n);
    mlt_goal_program *program = mlt_goal_program_new(1);
    for (uint32_t a = 0; a <= n; a++)
        mlt_goal_add(program, 0, &(mlt_goal_action){.kind = MLT_GOAL_CALC, .size = {1}});
    for (uint32_t a = 0; a < n; a++) {
        mlt_goal_require(program, 0, n, a);
        if (a % 2)
            mlt_goal_require(program, 0, a, (a - 1) | (a % 4 == 1 ? MLT_GOAL_STARTED : 0));
    }
    uint64_t changed = run("transitive", program, (mlt_pass_options){.segment = 0});
    CHECK(changed == n / 4); // a start does not imply an end
    mlt_goal_program_free(program);
}

// All wait for the first one, and for more others than are judged one by one.
static void check_dense(uint32_t n, uint32_t each)
{
    snprintf(now_testing, sizeof now_testing, "%" PRIu32 " actions that wait for %" PRIu32, n,
             each);
    mlt_goal_program *program = mlt_goal_program_new(1);
    for (uint32_t a = 0; a < n; a++) {
        mlt_goal_add(program, 0, &(mlt_goal_action){.kind = MLT_GOAL_CALC, .size = {1}});
        if (a > each)
            mlt_goal_require(program, 0, a, 0);
        for (uint32_t k = 1; k <= each && k <= a; k++)
            mlt_goal_require(program, 0, a, a - k);
    }
    run("transitive", program, (mlt_pass_options){.segment = 0});
    CHECK(program->rank[0].deps_count == n - 1);
    mlt_goal_program_free(program);
}

// A chain of no-ops, each of which waits for an action too: no row of all of them for each.
static void check_removal(uint32_t n)
{
    snprintf(now_testing, sizeof now_testing, "a chain of %" PRIu32 " no-ops", n);
    mlt_goal_program *program = mlt_goal_program_new(1);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t work =
            mlt_goal_add(program, 0, &(mlt_goal_action){.kind = MLT_GOAL_CALC, .size = {1}});
        uint32_t nop = mlt_goal_add(program, 0, &(mlt_goal_action){.kind = MLT_GOAL_NOP});
        mlt_goal_require(program, 0, nop, work);
        if (i)
            mlt_goal_require(program, 0, nop, nop - 2);
    }
    uint32_t last =
        mlt_goal_add(program, 0, &(mlt_goal_action){.kind = MLT_GOAL_CALC, .size = {1}});
    mlt_goal_require(program, 0, last, last - 1);
    uint64_t changed = run("dead", program, (mlt_pass_options){.segment = 0});
    CHECK(changed > n - n / 32 && program->rank[0].deps_count < n + n / 32);
    mlt_goal_graph *graph = mlt_goal_graph_new(&program->rank[0]);
    for (uint32_t a = 0, end = program->rank[0].count - 1; a < end; a += end / 7)
        CHECK(mlt_goal_before(graph, a, end));
    mlt_goal_graph_free(graph);
    mlt_goal_program_free(program);
}

// Very many wait for the end of one, and somebody for its start: that the bytes are read in order
// is still seen.
static void check_readers(uint32_t n)
{
    snprintf(now_testing, sizeof now_testing, "%" PRIu32 " readers of a message", n);
    mlt_goal_program *program = mlt_goal_program_new(2);
    mlt_goal_buffer_add(program, 0, "out", 8 * (uint64_t)n);
    mlt_goal_send(program, 1, (mlt_goal_span){0, 0, 8}, 0, 0);
    mlt_goal_recv(program, 0, (mlt_goal_span){0, 0, 8}, 1, 0);
    for (uint32_t i = 0; i < n; i++) {
        mlt_goal_span to = {i ? 1u : 0u, 8ull * i + 8, 8}; // the first one is for nobody
        to.at -= i ? 8 : 0;
        mlt_goal_require(
            program, 0,
            mlt_goal_exec(program, 0, MLT_OP_SUM, MLT_OP_INT64, to, (mlt_goal_span){0, 0, 8}), 0);
    }
    mlt_goal_add(program, 0, &(mlt_goal_action){.kind = MLT_GOAL_CALC, .size = {1}});
    mlt_goal_require(program, 0, n + 1, 0 | MLT_GOAL_STARTED);
    uint64_t changed = run("dead", program, (mlt_pass_options){.keep = "out"});
    CHECK(changed == 1 && program->rank[0].count == n + 1);
    mlt_goal_program_free(program);
}

// A send that is cut makes all operations before it be cut, from the last to the first.
static void check_backward(uint32_t n)
{
    snprintf(now_testing, sizeof now_testing, "%" PRIu32 " operations before a send", n);
    mlt_goal_program *program = mlt_goal_program_new(2);
    for (uint32_t i = 0; i < n; i++) {
        mlt_goal_exec(program, 0, MLT_OP_SUM, MLT_OP_INT8, (mlt_goal_span){0, 8 * (i % 2), 8},
                      (mlt_goal_span){0, 8 - 8 * (i % 2), 8});
        if (i)
            mlt_goal_require(program, 0, i, i - 1);
    }
    mlt_goal_send(program, 0, (mlt_goal_span){0, 8 - 8 * (n % 2), 8}, 1, 0);
    mlt_goal_require(program, 0, n, n - 1);
    mlt_goal_recv(program, 1, (mlt_goal_span){0, 0, 8}, 0, 0);
    uint64_t changed = run("segment", program, (mlt_pass_options){.segment = 4});
    CHECK(changed == n + 2 && program->rank[0].count == 2 * n + 2);
    CHECK(program->rank[0].deps_count == 2 * n);
    mlt_goal_program_free(program);
}

// What is left of a random graph is the same order, and nothing can be left out.
static void check_reduction(void)
{
    snprintf(now_testing, sizeof now_testing, "a random graph");
    random_state = now_seed;
    mlt_goal_program *program = mlt_goal_program_new(1);
    uint32_t n = 2 + below(80), edges = below(6 * n);
    for (uint32_t a = 0; a < n; a++)
        mlt_goal_add(program, 0, &(mlt_goal_action){.kind = MLT_GOAL_CALC, .size = {1}});
    for (uint32_t e = 0; e < edges; e++) {
        uint32_t to = 1 + below(n - 1);
        mlt_goal_require(program, 0, to, below(to) | (below(4) ? 0 : MLT_GOAL_STARTED));
    }
    mlt_goal_graph *before = mlt_goal_graph_new(&program->rank[0]);
    mlt_goal_reach *reach = mlt_goal_reach_new(before);
    run("transitive", program, (mlt_pass_options){.segment = 0});
    mlt_goal_rank *rank = &program->rank[0];
    mlt_goal_graph *after = mlt_goal_graph_new(rank);
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++) {
            CHECK(mlt_goal_before(before, a, b) == mlt_goal_before(after, a, b));
            CHECK(mlt_goal_before(before, a, b) == mlt_goal_reach_before(reach, a, b));
        }
    for (uint32_t d = 0; d < rank->deps_count; d++) {
        mlt_goal_dep dep = rank->deps[d];
        rank->deps[d] = rank->deps[--rank->deps_count];
        mlt_goal_graph *less = mlt_goal_graph_new(rank);
        mlt_goal_reach *way = mlt_goal_reach_new(less);
        uint32_t on = mlt_goal_plain(dep.on);
        CHECK(dep.on & MLT_GOAL_STARTED ? !mlt_goal_reach_starts(way, on, dep.action)
                                        : !mlt_goal_before(less, on, dep.action));
        mlt_goal_reach_free(way);
        mlt_goal_graph_free(less);
        rank->deps[rank->deps_count++] = rank->deps[d];
        rank->deps[d] = dep;
    }
    mlt_goal_reach_free(reach);
    mlt_goal_graph_free(before);
    mlt_goal_graph_free(after);
    mlt_goal_program_free(program);
}

int main(void)
{
    check_long(100000, 1);
    check_long(100000, 3);
    check_long(60000, 1000);
    check_wide(40000);
    check_dense(60000, 33);
    check_removal(100000);
    check_backward(100000);
    check_readers(20000);
    for (now_seed = 1; now_seed <= 100; now_seed++)
        check_reduction();
    return 0;
}
