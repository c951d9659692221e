// SPDX-License-Identifier: BSD-3-Clause
// Plans of reductions from any ranks to any others: those of the paper's figures, how many edges
// and rounds there are, and that several at once share the work. That results are right alg_test.c
// shows.
#include "coll/alg/reduce_to.h"
#include "coll/alg/shape_test.h"

#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"

enum { MOST = 64 };

typedef struct sets {
    uint8_t contributes[MOST], receives[MOST];
} sets;

// From bits of rank 0, 1, ...
static sets sets_of(uint64_t contributes, uint64_t receives)
{
    sets s = {0};
    for (uint32_t r = 0; r < MOST; r++) {
        s.contributes[r] = contributes >> r & 1;
        s.receives[r] = receives >> r & 1;
    }
    return s;
}

static mlt_reduce_to_plan plan_of(const sets *s, const mlt_reduce_to_load *load)
{
    return mlt_reduce_to_plan_new(MOST, s->contributes, s->receives, load);
}

static uint32_t count_kind(const mlt_reduce_to_plan *plan, mlt_reduce_to_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->count; i++)
        count += plan->edges[i].kind == kind;
    return count;
}

static void expect(uint64_t contributes, uint64_t receives, uint32_t give, uint32_t meet,
                   uint32_t tell)
{
    sets s = sets_of(contributes, receives);
    mlt_reduce_to_plan plan = plan_of(&s, NULL);
    CHECK(count_kind(&plan, MLT_REDUCE_TO_GIVE) == give);
    CHECK(count_kind(&plan, MLT_REDUCE_TO_MEET) == meet);
    CHECK(count_kind(&plan, MLT_REDUCE_TO_TELL) == tell);
    mlt_reduce_to_plan_free(&plan);
}

static void test_plans(void)
{
    // Figure 4: eight contribute; two of them and three others receive. Four give, two and one
    // meet, one gives in the last round (its link back is not kept), three are told.
    expect(0xff, 0x703, 4 + 1, 2 + 1, 3);
    expect(0xff, 0x01, 7, 0, 0);  // a reduction to one
    expect(0xff, 0x100, 7, 0, 1); // who did not contribute
    expect(0xff, 0xff, 0, 12, 0); // an allreduce
    expect(0x1f, 0x1f, 1, 4, 1);  // of five: one is folded and told
    expect(0x01, 0x01, 0, 0, 0);  // alone
    expect(0x01, 0xfe, 0, 0, 7);  // a broadcast
    expect(0x7, 0, 0, 0, 0);      // nobody receives
    expect(0xf0, 0x700, 1, 3, 3); // four to three others
    expect(0xf0, 0xf00, 0, 4, 4);
}

// Rounds if a rank follows one edge after another.
static uint32_t rounds_of(const mlt_reduce_to_plan *plan)
{
    uint32_t at[MOST] = {0}, most = 0;
    for (uint32_t i = 0; i < plan->count; i++) {
        mlt_reduce_to_edge e = plan->edges[i];
        uint32_t then = (at[e.from] > at[e.to] ? at[e.from] : at[e.to]) + 1;
        at[e.from] = at[e.to] = then;
        most = then > most ? then : most;
    }
    return most;
}

static uint32_t log_of(uint32_t n)
{
    uint32_t log = 0;
    while (2u << log <= n)
        log++;
    return log;
}

// At most one to fold, log2 of the power of two that stays, and one to tell the others, or as many
// as doubling takes if they are more than that power.
static void test_rounds(void)
{
    for (int i = 0; i < 3000; i++) {
        uint64_t a = (uint64_t)below(UINT32_MAX) << 32 | below(UINT32_MAX);
        uint64_t b = (uint64_t)below(UINT32_MAX) << 32 | below(UINT32_MAX);
        a = i % 3 ? a : a & b >> 3;
        b = i % 5 ? b : b & a << 7;
        if (!a)
            continue;
        sets s = sets_of(a, b);
        mlt_reduce_to_plan plan = plan_of(&s, NULL);
        uint32_t give = (uint32_t)__builtin_popcountll(a);
        uint32_t told = count_kind(&plan, MLT_REDUCE_TO_TELL);
        uint32_t power = 1u << log_of(give), most = 1 + log_of(give);
        for (uint32_t have = power; told && have < power + told; have *= 2)
            most++;
        CHECK(rounds_of(&plan) <= most);
        mlt_reduce_to_plan_free(&plan);
    }
}

static uint32_t most_of(const uint32_t *edges)
{
    uint32_t most = 0;
    for (uint32_t r = 0; r < MOST; r++)
        most = edges[r] > most ? edges[r] : most;
    return most;
}

// The same reduction again and again: with the load, others do the work.
static void test_load(void)
{
    sets s = sets_of(0xff, UINT64_C(1) << 20);
    mlt_coll_shape shape = {.ranks = MOST, .contributes = s.contributes, .receives = s.receives};
    mlt_reduce_to_load *with = mlt_reduce_to_load_new(MOST),
                       *without = mlt_reduce_to_load_new(MOST);
    for (int i = 0; i < 8; i++) {
        mlt_reduce_to_load *one = mlt_reduce_to_load_new(MOST);
        mlt_reduce_to_load_add(one, &shape);
        for (uint32_t r = 0; r < MOST; r++) {
            without->in[r] += one->in[r];
            without->out[r] += one->out[r];
        }
        mlt_reduce_to_load_free(one);
        mlt_reduce_to_load_add(with, &shape);
    }
    // Seven give to others eight times; the receiver has eight edges in, whatever the plan.
    CHECK(without->in[20] == 8 && with->in[20] == 8);
    with->in[20] = without->in[20] = 0;
    CHECK(most_of(without->in) == 24 && most_of(with->in) <= 8);
    CHECK(most_of(with->out) <= 9);
    mlt_reduce_to_load_free(with);
    mlt_reduce_to_load_free(without);
    mlt_reduce_to_load_free(NULL);
}

// The paper's Figure 6: four ranks to 0 and 2; then 1 and 2 to 3. Of the second's two the one that
// has received less does: rank 2 has received as a receiver of the first.
static void test_figure(void)
{
    sets first = sets_of(0xf, 0x5), second = sets_of(0x6, 0x8);
    mlt_coll_shape shape = {
        .ranks = MOST, .contributes = first.contributes, .receives = first.receives};
    mlt_reduce_to_load *load = mlt_reduce_to_load_new(MOST);
    mlt_reduce_to_load_add(load, &shape);
    CHECK(load->in[2] > load->in[1]);
    mlt_reduce_to_plan plan = plan_of(&second, load);
    CHECK(plan.count == 2 && plan.edges[0].from == 2 && plan.edges[0].to == 1);
    CHECK(plan.edges[1].from == 1 && plan.edges[1].to == 3);
    mlt_reduce_to_plan_free(&plan);
    // The program follows the load: rank 2 has one action, a send to rank 1.
    shape = (mlt_coll_shape){.ranks = 4,
                             .count = 1,
                             .op = MLT_OP_SUM,
                             .contributes = second.contributes,
                             .receives = second.receives,
                             .user = load};
    char why[200];
    mlt_goal_program *program;
    CHECK(mlt_coll_program(alg_named("reduce_to.aspen"), &shape, NULL, NULL, &program, why,
                           sizeof why) == MLT_OK);
    CHECK(program->rank[2].count == 1 && program->rank[2].actions[0].kind == MLT_GOAL_SEND &&
          program->rank[2].actions[0].peer == 1 && program->rank[0].count == 0);
    mlt_goal_program_free(program);
    mlt_reduce_to_load_free(load);
}

int main(void)
{
    test_plans();
    test_rounds();
    test_load();
    test_figure();
    return 0;
}
