// SPDX-License-Identifier: BSD-3-Clause
// Derived dependencies against a matrix of events: each action's start and end, and what is before
// what.
#include "goal/derive.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "goal/graph.h"
#include "goal/program_test.h"
#include "goal/sched.h"

// ---- events: action a starts at 2a, ends at 2a + 1

enum { MOST = 40, EVENTS = 2 * MOST };

typedef struct order {
    bool before[EVENTS][EVENTS];
} order;

static void add_dep(order *o, mlt_goal_dep dep)
{
    uint32_t on = mlt_goal_plain(dep.on);
    o->before[2 * on + !(dep.on & MLT_GOAL_STARTED)][2 * dep.action] = true;
}

static void close_order(order *o, uint32_t actions)
{
    uint32_t n = 2 * actions;
    for (uint32_t a = 0; a < actions; a++)
        o->before[2 * a][2 * a + 1] = true;
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = 0; o->before[i][k] && j < n; j++)
                o->before[i][j] |= o->before[k][j];
}

// The order of a rank's dependencies, all but one.
static void order_of(const mlt_goal_rank *rank, uint32_t without, order *o)
{
    memset(o, 0, sizeof *o);
    for (uint32_t d = 0; d < rank->deps_count; d++)
        if (d != without)
            add_dep(o, rank->deps[d]);
    close_order(o, rank->count);
}

static bool conflict(const mlt_goal_action *a, const mlt_goal_action *b)
{
    mlt_goal_access x[2], y[2];
    int nx = mlt_goal_accesses(a, x), ny = mlt_goal_accesses(b, y);
    for (int i = 0; i < nx; i++)
        for (int j = 0; j < ny; j++)
            if ((x[i].writes || y[j].writes) && x[i].span.buf == y[j].span.buf &&
                x[i].span.at < y[j].span.at + y[j].span.size &&
                y[j].span.at < x[i].span.at + x[i].span.size)
                return true;
    return false;
}

// ---- random programs

static mlt_goal_span random_span(uint64_t space, uint64_t longest)
{
    static const uint32_t bufs[] = {MLT_GOAL_MEMORY, MLT_GOAL_MEMORY, MLT_GOAL_ADDRESS, 1};
    return (mlt_goal_span){bufs[below(4)], below(space), below(longest + 1)};
}

static void add_random(mlt_goal_program *program, uint64_t space, uint64_t longest)
{
    mlt_goal_span a = random_span(space, longest), b = random_span(space, longest);
    uint32_t which = below(10);
    b.size = which < 6 ? a.size : b.size;
    mlt_goal_action action = {.op = MLT_OP_SUM,
                              .peer = 1,
                              .buf = {a.buf, b.buf},
                              .at = {a.at, b.at},
                              .size = {a.size, b.size}};
    static const uint8_t kinds[] = {MLT_GOAL_EXEC, MLT_GOAL_EXEC,      MLT_GOAL_RECV_EXEC,
                                    MLT_GOAL_SEND, MLT_GOAL_SEND,      MLT_GOAL_RECV,
                                    MLT_GOAL_USER, MLT_GOAL_RECV_USER, MLT_GOAL_CALC};
    if (which == 9) {
        action.kind = MLT_GOAL_SEND;
        action.buf[0] = MLT_GOAL_NOWHERE;
    } else {
        action.kind = kinds[which];
        action.op = which == 1 ? MLT_OP_COPY : MLT_OP_SUM;
    }
    mlt_goal_add(program, 0, &action);
}

static mlt_goal_program *random_program(uint32_t count, uint64_t space, uint64_t longest,
                                        uint32_t deps, bool forward)
{
    mlt_goal_program *program = mlt_goal_program_new(2);
    mlt_goal_buffer_add(program, 0, "b", space + longest);
    for (uint32_t i = 0; i < count; i++)
        add_random(program, space, longest);
    for (uint32_t d = 0; d < deps && count > 1; d++) {
        uint32_t a = 1 + below(count - 1), b = below(a);
        uint32_t started = below(3) ? 0 : MLT_GOAL_STARTED;
        if (forward && below(3) == 0 &&
            !conflict(&program->rank[0].actions[a], &program->rank[0].actions[b]))
            mlt_goal_require(program, 0, b, a | started); // may well make a cycle
        else
            mlt_goal_require(program, 0, a, b | started);
    }
    return program;
}

// ---- against the matrix

static bool has_dep(const mlt_goal_rank *rank, mlt_goal_dep dep)
{
    for (uint32_t d = 0; d < rank->deps_count; d++)
        if (rank->deps[d].action == dep.action && rank->deps[d].on == dep.on)
            return true;
    return false;
}

static void check_rank(const mlt_goal_rank *was, const mlt_goal_rank *is, const order *wanted)
{
    static order now, less;
    order_of(is, UINT32_MAX, &now);
    // All that must be, and nothing else.
    CHECK(memcmp(&now, wanted, sizeof now) == 0);
    for (uint32_t d = 0; d < is->deps_count; d++) {
        mlt_goal_dep dep = is->deps[d];
        uint32_t on = mlt_goal_plain(dep.on);
        order_of(is, d, &less);
        CHECK(!less.before[2 * on + !(dep.on & MLT_GOAL_STARTED)][2 * dep.action]);
        // What is new stands for a conflict, which would be free without it.
        if (!has_dep(was, dep)) {
            CHECK(dep.on == on && on < dep.action);
            CHECK(conflict(&is->actions[on], &is->actions[dep.action]));
        }
    }
}

static void random_programs(void)
{
    static order wanted;
    uint32_t cycles = 0, derived = 0, wide = 0;
    for (now_seed = 1; now_seed <= 1200; now_seed++) {
        random_state = now_seed;
        uint32_t count = below(now_seed % 10 ? 16 : MOST + 1);
        mlt_goal_program *program =
            random_program(count, 1 + below(60), 1 + below(now_seed % 4 ? 6 : 40),
                           below(3) ? 0 : below(count + 1), now_seed % 3 == 0);
        mlt_goal_program *copy = mlt_goal_program_copy(program);
        mlt_goal_rank *was = &copy->rank[0], *is = &program->rank[0];
        memset(&wanted, 0, sizeof wanted);
        for (uint32_t d = 0; d < was->deps_count; d++)
            add_dep(&wanted, was->deps[d]);
        for (uint32_t b = 0; b < count; b++)
            for (uint32_t a = 0; a < b; a++)
                if (conflict(&was->actions[a], &was->actions[b]))
                    add_dep(&wanted, (mlt_goal_dep){b, a});
        close_order(&wanted, count);
        bool cycle = false;
        for (uint32_t e = 0; e < 2 * count; e++)
            cycle |= wanted.before[e][e];
        mlt_goal_derive(program, 0);
        if (cycle) { // told when it is compiled
            char why[512];
            mlt_goal_sched *sched;
            CHECK(mlt_goal_sched_compile(program, 0, NULL, &sched, why, sizeof why) ==
                  MLT_ERR_INVALID);
            cycles++;
        } else {
            check_rank(was, is, &wanted);
            derived += is->deps_count;
            // A second time changes nothing.
            mlt_goal_program *again = mlt_goal_program_copy(program);
            mlt_goal_derive(again, 0);
            CHECK(again->rank[0].deps_count == is->deps_count);
            mlt_goal_program_free(again);
        }
        wide += count > 16;
        mlt_goal_program_free(copy);
        mlt_goal_program_free(program);
    }
    now_seed = 0;
    CHECK(cycles > 10 && derived > 1000 && wide > 30);
    printf("%u dependencies derived, each needed; %u programs with a cycle\n", derived, cycles);
}

// Actions with very many sources, which are judged another way.
static void many_sources(void)
{
    enum { READERS = 30 };
    mlt_goal_program *program = mlt_goal_program_new(2);
    static order wanted;
    memset(&wanted, 0, sizeof wanted);
    mlt_goal_recv(program, 0, (mlt_goal_span){0, 0, 100}, 1, 0);
    for (uint32_t i = 1; i <= READERS; i++)
        mlt_goal_send(program, 0, (mlt_goal_span){0, 0, 100}, 1, 0);
    mlt_goal_require(program, 0, 3, 2);
    mlt_goal_require(program, 0, 5, 4 | MLT_GOAL_STARTED);
    uint32_t last = mlt_goal_recv(program, 0, (mlt_goal_span){0, 0, 100}, 1, 0);
    mlt_goal_require(program, 0, last, 4 | MLT_GOAL_STARTED); // its end is wanted anyway
    mlt_goal_program *copy = mlt_goal_program_copy(program);
    for (uint32_t d = 0; d < program->rank[0].deps_count; d++)
        add_dep(&wanted, program->rank[0].deps[d]);
    for (uint32_t i = 1; i <= READERS; i++) {
        add_dep(&wanted, (mlt_goal_dep){i, 0});
        add_dep(&wanted, (mlt_goal_dep){last, i});
    }
    close_order(&wanted, last + 1);
    mlt_goal_derive(program, 0);
    check_rank(&copy->rank[0], &program->rank[0], &wanted);
    // Not 2, which 3 stands for; 4, whose start alone 5 waits for.
    CHECK(!has_dep(&program->rank[0], (mlt_goal_dep){last, 2}));
    CHECK(has_dep(&program->rank[0], (mlt_goal_dep){last, 4}));
    mlt_goal_program_free(copy);
    mlt_goal_program_free(program);
}

static void by_hand(void)
{
    mlt_goal_program *program = mlt_goal_program_new(2);
    mlt_goal_span x = {0, 10, 10}, edge = {0, 20, 5}, absolute = {MLT_GOAL_ADDRESS, 10, 10},
                  nowhere = {MLT_GOAL_NOWHERE, 10, 10}, nothing = {0, 15, 0};
    mlt_goal_send(program, 0, x, 1, 0);        // 0
    mlt_goal_send(program, 0, x, 1, 0);        // 1: reads the same
    mlt_goal_recv(program, 0, edge, 1, 0);     // 2: lies beside it
    mlt_goal_recv(program, 0, absolute, 1, 0); // 3: another memory
    mlt_goal_recv(program, 0, nowhere, 1, 0);  // 4, 5: no memory at all
    mlt_goal_recv(program, 0, nothing, 1, 0);
    mlt_goal_derive(program, 0);
    CHECK(!program->rank[0].deps_count);
    // 6: a piece of it, and of that beside it
    mlt_goal_recv(program, 0, (mlt_goal_span){0, 19, 2}, 1, 0);
    mlt_goal_send(program, 0, (mlt_goal_span){0, 19, 1}, 1, 0);                // 7
    mlt_goal_send(program, 0, (mlt_goal_span){MLT_GOAL_ADDRESS, 19, 9}, 1, 0); // 8
    mlt_goal_derive(program, 0);
    const mlt_goal_rank *rank = &program->rank[0];
    CHECK(rank->deps_count == 5);
    CHECK(has_dep(rank, (mlt_goal_dep){6, 0}) && has_dep(rank, (mlt_goal_dep){6, 1}) &&
          has_dep(rank, (mlt_goal_dep){6, 2}) && has_dep(rank, (mlt_goal_dep){7, 6}) &&
          has_dep(rank, (mlt_goal_dep){8, 3}));
    mlt_goal_program_free(program);

    // Example 2 of the paper without its requ.
    program = mlt_goal_program_new(3);
    for (uint32_t i = 0; i < 2; i++)
        mlt_goal_recv(program, 0, (mlt_goal_span){0, 503 + i, 1}, (int)i + 1, 0);
    for (uint32_t i = 0; i < 2; i++)
        mlt_goal_exec(program, 0, MLT_OP_SUM, MLT_OP_INT8, (mlt_goal_span){0, 501 + i, 1},
                      (mlt_goal_span){0, 503 + i, 1});
    mlt_goal_derive(program, 0);
    CHECK(program->rank[0].deps_count == 2);
    CHECK(has_dep(&program->rank[0], (mlt_goal_dep){2, 0}) &&
          has_dep(&program->rank[0], (mlt_goal_dep){3, 1}));
    mlt_goal_program_free(program);
}

// Shapes that a careless search would take quadratic time for; the test's time limit is the check.
static void large(void)
{
    enum { N = 60000 };
    for (int shape = 0; shape < 6; shape++) {
        mlt_goal_program *program = mlt_goal_program_new(2);
        mlt_goal_span all = {0, 0, 8ull * N}, root = {1, 0, 8};
        mlt_goal_buffer_add(program, 0, "root", 8);
        if (shape == 2)
            mlt_goal_recv(program, 0, root, 1, 0);
        for (uint32_t i = 0; i < N; i++) {
            mlt_goal_span own = {0, 8ull * i, 8};
            if (shape == 0) { // receives far ahead of the sum that takes them
                mlt_goal_recv(program, 0, own, 1, 0);
            } else if (shape == 1) { // large and small writes take turns
                mlt_goal_recv(program, 0, i % 64 ? own : all, 1, 0);
            } else if (shape == 2) { // all take what the first brought, and something of their own
                mlt_goal_recv(program, 0, own, 1, 0);
                mlt_goal_exec(program, 0, MLT_OP_SUM, MLT_OP_INT64, own, root);
            } else if (shape == 3) { // a chain, and what hangs on each link
                mlt_goal_exec(program, 0, MLT_OP_SUM, MLT_OP_INT64, root, own);
                mlt_goal_send(program, 0, root, 1, 0);
            } else { // two chains, or what waits for the last 13 and for the very first
                uint64_t to = shape == 4 ? 32ull * (i / 2 + 1) + 8 * (i % 2) : 8ull * i + 112;
                mlt_goal_action user = {.kind = MLT_GOAL_USER,
                                        .at = {to, shape == 4 ? to - 32 : to - 112},
                                        .size = {8, shape == 4 ? 8 : 104}};
                mlt_goal_add(program, 0, &user);
                if (shape == 5 && i)
                    mlt_goal_require(program, 0, i, 0);
            }
        }
        for (uint32_t i = 1; i <= N / 2 && shape == 4; i++) // two links at a time
            mlt_goal_send(program, 0, (mlt_goal_span){0, 32ull * i, 16}, 1, 0);
        for (uint32_t i = 0; i < N && shape == 0; i++)
            mlt_goal_exec(program, 0, MLT_OP_SUM, MLT_OP_INT64, root, (mlt_goal_span){0, 8 * i, 8});
        mlt_goal_derive(program, 0); // quadratic time would be over the test's limit
        static const uint32_t expected[] = {2 * N - 1, 0, 2 * N, 2 * N - 1, 2 * N - 2, 0};
        if (expected[shape])
            CHECK(program->rank[0].deps_count == expected[shape]);
        mlt_goal_program_free(program);
    }
}

int main(void)
{
    by_hand();
    many_sources();
    random_programs();
    large();
    return 0;
}
