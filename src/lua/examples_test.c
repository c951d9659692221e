// SPDX-License-Identifier: BSD-3-Clause
// The examples of examples/goal are what their README says: the paper's operations and graphs, the
// faults of its Listing 3 in their exact number, and the listing put right.
#include <inttypes.h>
#include <source_dir.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "goal/graph.h"
#include "goal/text/text.h"
#include "judge/check/check.h"
#include "judge/pass/pass.h"
#include "lua/generate.h"

static char *slurp(const char *name, size_t *length)
{
    char path[500];
    snprintf(path, sizeof path, MLT_SOURCE_DIR "/examples/goal/%s", name);
    FILE *file = fopen(path, "r");
    if (!file)
        fprintf(stderr, "%s cannot be opened\n", path);
    CHECK(file);
    char *text = malloc(1 << 16);
    CHECK(text);
    *length = fread(text, 1, 1 << 16, file);
    CHECK(*length > 0 && *length < 1 << 16);
    fclose(file);
    return text;
}

static mlt_goal_program *read_text(const char *name, mlt_goal_dialect wanted)
{
    snprintf(now_testing, sizeof now_testing, "%s", name);
    size_t length;
    char *text = slurp(name, &length), why[1000] = "";
    mlt_goal_program *program;
    mlt_goal_dialect dialect;
    mlt_status status = mlt_goal_read(name, text, length, &program, &dialect, why, sizeof why);
    if (status != MLT_OK)
        fprintf(stderr, "%s\n", why);
    CHECK(status == MLT_OK && dialect == wanted);
    free(text);
    return program;
}

// Runs a script with the argument n; NULL: there is no Lua.
static mlt_goal_program *run_script(const char *name, uint32_t ranks, const char *n)
{
    snprintf(now_testing, sizeof now_testing, "%s, %u ranks, n = %s", name, ranks, n);
    size_t length;
    char *text = slurp(name, &length), why[1000] = "";
    mlt_goal_program *program;
    mlt_lua_arg arg = {"n", n};
    mlt_status status = mlt_lua_generate(name, text, length, ranks, &arg, 1, 0, NULL, NULL,
                                         &program, why, sizeof why);
    free(text);
    if (status == MLT_ERR_UNSUPPORTED)
        return NULL;
    if (status != MLT_OK)
        fprintf(stderr, "%s\n", why);
    CHECK(status == MLT_OK);
    return program;
}

static mlt_goal_verdict *judge(const mlt_goal_program *program, const mlt_goal_spec *is)
{
    mlt_goal_check_options options = {.is = is, .limit = 3};
    return mlt_goal_check(program, &options);
}

static void right(mlt_goal_program *program, const mlt_goal_spec *is)
{
    mlt_goal_verdict *verdict = judge(program, is);
    if (!mlt_goal_verdict_ok(verdict))
        mlt_goal_verdict_print(verdict, stderr);
    CHECK(mlt_goal_verdict_ok(verdict));
    mlt_goal_verdict_free(verdict);
    mlt_goal_program_free(program);
}

// ---- graphs

static uint32_t action_of(const mlt_goal_program *program, const char *label)
{
    for (uint32_t a = 0; a < program->rank[0].count; a++)
        if (strcmp(mlt_goal_name_text(program, program->rank[0].actions[a].label), label) == 0)
            return a;
    failed(__FILE__, __LINE__, label);
}

// In how many orders rank 0's actions that are not in `done` can run.
static uint32_t orders(const mlt_goal_graph *graph, uint32_t done)
{
    uint32_t sum = 0;
    if (done == (1u << graph->count) - 1)
        return 1;
    for (uint32_t a = 0; a < graph->count; a++) {
        bool ready = !(done >> a & 1);
        for (uint32_t i = graph->before_at[a]; i < graph->before_at[a + 1]; i++)
            ready &= done >> graph->before[i] & 1;
        if (ready)
            sum += orders(graph, done | 1u << a);
    }
    return sum;
}

static void test_example2(void)
{
    mlt_goal_program *program = read_text("example2.goal", MLT_GOAL_PAPER);
    mlt_goal_graph *graph = mlt_goal_graph_new(&program->rank[0]);
    CHECK(program->ranks == 3 && graph->count == 4 && orders(graph, 0) == 6);
    CHECK(mlt_goal_before(graph, action_of(program, "r1"), action_of(program, "e1")));
    CHECK(mlt_goal_before(graph, action_of(program, "r2"), action_of(program, "e2")));
    mlt_goal_graph_free(graph);
    right(program, NULL);

    // Example 1 with names is the same graph.
    program = read_text("example1.goal", MLT_GOAL_PAPER);
    graph = mlt_goal_graph_new(&program->rank[0]);
    CHECK(program->ranks == 3 && graph->count == 4 && orders(graph, 0) == 6);
    mlt_goal_graph_free(graph);
    right(program, NULL);
}

// Figure 3 has the paper's edges; the pass for windows makes Figure 4 of it.
static void test_figures(void)
{
    mlt_goal_program *three = read_text("fig3.goal", MLT_GOAL_PAPER);
    CHECK(three->rank[0].count == 10 && three->rank[0].deps_count == 9 + 5);
    char label[2][16], why[200];
    mlt_goal_graph *graph = mlt_goal_graph_new(&three->rank[0]);
    for (int i = 1; i <= 10; i++) {
        uint32_t edges = graph->next_at[i] - graph->next_at[i - 1];
        CHECK(edges == (uint32_t)(i < 10) + (uint32_t)(i <= 5));
    }
    mlt_goal_graph_free(graph);
    mlt_pass_options options = {.window = 3};
    mlt_pass_report report;
    bool ran = false;
    for (int i = 0; i < mlt_passes_count; i++)
        if (strcmp(mlt_passes[i].name, "window") == 0) {
            ran = true;
            CHECK(mlt_pass_run(&mlt_passes[i], three, &options, &report, why, sizeof why) ==
                  MLT_OK);
        }
    mlt_goal_program *four = read_text("fig4.goal", MLT_GOAL_PAPER);
    CHECK(ran && three->rank[0].count == four->rank[0].count);
    CHECK(three->rank[0].deps_count == four->rank[0].deps_count);
    mlt_goal_graph *made = mlt_goal_graph_new(&three->rank[0]);
    mlt_goal_graph *drawn = mlt_goal_graph_new(&four->rank[0]);
    for (int i = 1; i <= 10; i++)
        for (int j = 1; j <= 10; j++) {
            snprintf(label[0], sizeof label[0], "a%d", i);
            snprintf(label[1], sizeof label[1], "a%d", j);
            CHECK(mlt_goal_before(made, action_of(three, label[0]), action_of(three, label[1])) ==
                  mlt_goal_before(drawn, action_of(four, label[0]), action_of(four, label[1])));
        }
    mlt_goal_graph_free(made);
    mlt_goal_graph_free(drawn);
    mlt_goal_program_free(three);
    right(four, NULL);
}

// ---- listings

static bool test_scripts(void)
{
    mlt_goal_spec bcast = {.collective = MLT_COLL_BCAST, .op = MLT_OP_SUM};
    mlt_goal_spec reduce = {.collective = MLT_COLL_REDUCE, .op = MLT_OP_SUM, .commutes = true};
    reduce.type = MLT_OP_FLOAT64;
    for (uint32_t ranks = 1; ranks <= 40; ranks++) {
        mlt_goal_program *program = run_script("listing2.lua", ranks, "1");
        if (!program)
            return false;
        right(program, &bcast);
        right(run_script("pipeline.lua", ranks, "1"), &reduce);
    }
    return true;
}

static void test_listing3(void)
{
    static const struct {
        const char *n;
        uint32_t ranks, races; // of each rank
    } known[] = {{"1", 4, 3}, {"1", 8, 12}, {"2", 9, 9}, {"2", 27, 34}};
    mlt_goal_spec is = {.collective = MLT_COLL_ALLREDUCE,
                        .op = MLT_OP_SUM,
                        .type = MLT_OP_INT32,
                        .commutes = true,
                        .in = "localbuf",
                        .out = "localbuf"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        mlt_goal_program *program = run_script("listing3.lua", known[i].ranks, known[i].n);
        mlt_goal_verdict *verdict = judge(program, &is);
        for (int fault = 0; fault < MLT_FAULTS; fault++) {
            uint64_t wanted = fault == MLT_FAULT_RACE     ? known[i].races * known[i].ranks
                              : fault == MLT_FAULT_RESULT ? known[i].ranks
                                                          : 0;
            if (verdict->found[fault] != wanted)
                fprintf(stderr, "%s: %" PRIu64 "\n", mlt_goal_fault_names[fault],
                        verdict->found[fault]);
            CHECK(verdict->found[fault] == wanted);
        }
        mlt_goal_verdict_free(verdict);
        mlt_goal_program_free(program);
        right(run_script("listing3_fixed.lua", known[i].ranks, known[i].n), &is);
    }
    right(run_script("listing3_fixed.lua", 1, "3"), &is);
    right(run_script("listing3_fixed.lua", 64, "3"), &is);
    right(run_script("listing3_fixed.lua", 7, "6"), &is);
}

int main(void)
{
    test_example2();
    test_figures();
    right(read_text("loggopsim.goal", MLT_GOAL_LOGGOPSIM), NULL);
    if (test_scripts())
        test_listing3();
    else
        printf("built without Lua: the listings are not tested\n");
    return 0;
}
