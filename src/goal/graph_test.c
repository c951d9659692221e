// SPDX-License-Identifier: BSD-3-Clause
// Graphs of random programs against the plain list of dependencies and a matrix of events.
#include "goal/graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"

enum { MOST = 24 };

// 0: no dependency, 1: on the start, 2: on the end.
typedef struct matrix {
    uint8_t dep[MOST][MOST];         // [action][on]
    bool before[2 * MOST][2 * MOST]; // events: starts at 2a, ends at 2a + 1
} matrix;

static void matrix_make(matrix *m, const mlt_goal_rank *rank)
{
    memset(m, 0, sizeof *m);
    for (uint32_t d = 0; d < rank->deps_count; d++) {
        uint32_t a = rank->deps[d].action, on = mlt_goal_plain(rank->deps[d].on);
        uint8_t strength = rank->deps[d].on & MLT_GOAL_STARTED ? 1 : 2;
        m->dep[a][on] = strength > m->dep[a][on] ? strength : m->dep[a][on];
        m->before[2 * on + strength - 1][2 * a] = true;
    }
    uint32_t n = 2 * rank->count;
    for (uint32_t a = 0; a < rank->count; a++)
        m->before[2 * a][2 * a + 1] = true;
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = 0; m->before[i][k] && j < n; j++)
                m->before[i][j] |= m->before[k][j];
}

// The rows hold each dependency once, with its kind.
static void check_rows(const mlt_goal_graph *graph, const matrix *m)
{
    uint32_t edges = 0;
    uint8_t next[MOST][MOST] = {{0}}, before[MOST][MOST] = {{0}};
    for (uint32_t a = 0; a < graph->count; a++) {
        for (uint32_t e = graph->next_at[a]; e < graph->next_at[a + 1]; e++) {
            uint8_t *slot = &next[mlt_goal_plain(graph->next[e])][a];
            CHECK(!*slot);
            *slot = graph->next[e] & MLT_GOAL_STARTED ? 1 : 2;
        }
        for (uint32_t e = graph->before_at[a]; e < graph->before_at[a + 1]; e++) {
            uint8_t *slot = &before[a][mlt_goal_plain(graph->before[e])];
            CHECK(!*slot);
            *slot = graph->before[e] & MLT_GOAL_STARTED ? 1 : 2;
            edges++;
        }
    }
    CHECK(graph->next_at[graph->count] == edges && graph->before_at[graph->count] == edges);
    CHECK(memcmp(next, m->dep, sizeof next) == 0 && memcmp(before, m->dep, sizeof before) == 0);
}

// The smallest by index among the free ones, step by step.
static void check_order(const mlt_goal_graph *graph, const matrix *m)
{
    bool done[MOST] = {false};
    for (uint32_t i = 0; i < graph->count; i++) {
        uint32_t smallest = 0;
        for (;; smallest++) {
            CHECK(smallest < graph->count);
            bool is_free = !done[smallest];
            for (uint32_t on = 0; on < graph->count; on++)
                is_free &= !m->dep[smallest][on] || done[on];
            if (is_free)
                break;
        }
        CHECK(graph->order[i] == smallest && graph->place[smallest] == i);
        done[smallest] = true;
    }
}

static void check_cycle(const mlt_goal_graph *graph, const matrix *m)
{
    CHECK(!graph->order && !graph->place && graph->cycle_count > 0);
    for (uint32_t i = 0; i < graph->cycle_count; i++) {
        CHECK(m->dep[graph->cycle[i]][graph->cycle[(i + 1) % graph->cycle_count]]);
        for (uint32_t j = 0; j < i; j++)
            CHECK(graph->cycle[i] != graph->cycle[j]);
    }
}

static void random_graphs(void)
{
    static matrix m;
    uint32_t cycles = 0, orders = 0;
    for (now_seed = 1; now_seed <= 3000; now_seed++) {
        random_state = now_seed;
        uint32_t n = below(MOST + 1), deps = n ? below(2 * n + 1) : 0;
        mlt_goal_program *program = mlt_goal_program_new(1);
        mlt_goal_action nop = {.kind = MLT_GOAL_NOP};
        for (uint32_t a = 0; a < n; a++)
            mlt_goal_add(program, 0, &nop);
        for (uint32_t d = 0; d < deps; d++) {
            uint32_t a = below(n), b = below(n), started = below(3) ? 0 : MLT_GOAL_STARTED;
            if (now_seed % 4 && a == b)
                continue;
            if (now_seed % 4 &&
                (a < b) != (now_seed % 4 == 1)) { // all forward, all backward, or both
                uint32_t swap = a;
                a = b;
                b = swap;
            }
            mlt_goal_require(program, 0, a, b | started);
            if (below(4) == 0) // again, in another way maybe
                mlt_goal_require(program, 0, a, b | (below(2) ? 0 : MLT_GOAL_STARTED));
        }
        matrix_make(&m, &program->rank[0]);
        bool cycle = false;
        for (uint32_t e = 0; e < 2 * n; e++)
            cycle |= m.before[e][e];
        mlt_goal_graph *graph = mlt_goal_graph_new(&program->rank[0]);
        CHECK(graph->count == n);
        check_rows(graph, &m);
        CHECK(cycle == !graph->order);
        if (cycle) {
            check_cycle(graph, &m);
            cycles++;
        } else {
            CHECK(!graph->cycle && !graph->cycle_count);
            check_order(graph, &m);
            for (uint32_t a = 0; a < n; a++)
                for (uint32_t b = 0; b < n; b++) {
                    CHECK(mlt_goal_before(graph, a, b) == m.before[2 * a + 1][2 * b]);
                    CHECK(mlt_goal_chain(graph, a, b, true) == m.before[2 * a + 1][2 * b]);
                    CHECK(mlt_goal_chain(graph, a, b, false) == (a != b && m.before[2 * a][2 * b]));
                }
            orders++;
        }
        mlt_goal_graph_free(graph);
        mlt_goal_program_free(program);
    }
    now_seed = 0;
    CHECK(cycles > 200 && orders > 1000);
    mlt_goal_graph_free(NULL);
}

// More actions than bit sets are made for, in two chains side by side, joined now and then; and
// more searches than there are numbers for.
static void large(void)
{
    enum { N = 40000, JOINT = 1000 };
    mlt_goal_program *program = mlt_goal_program_new(1);
    mlt_goal_action nop = {.kind = MLT_GOAL_NOP};
    for (uint32_t a = 0; a < N; a++) {
        mlt_goal_add(program, 0, &nop);
        if (a >= 2)
            mlt_goal_require(program, 0, a, a - 2);
        if (a > 1 && a % JOINT == 0)
            mlt_goal_require(program, 0, a, (a - 1) | (a % (2 * JOINT) ? 0 : MLT_GOAL_STARTED));
    }
    mlt_goal_graph *graph = mlt_goal_graph_new(&program->rank[0]);
    CHECK(mlt_goal_before(graph, 0, N - 2) && mlt_goal_before(graph, 1, N - 1));
    CHECK(!mlt_goal_before(graph, 0, N - 1) && !mlt_goal_before(graph, 2, 0));
    // 999 is joined by its end, 1999 by its start, but that of 1997 by its end.
    CHECK(mlt_goal_before(graph, 999, 1000) && !mlt_goal_before(graph, 1999, 2000));
    CHECK(mlt_goal_chain(graph, 1999, 2000, false) && mlt_goal_before(graph, 1997, 2000));
    CHECK(!mlt_goal_before(graph, 1001, 1998) && mlt_goal_before(graph, 1001, 2000));
    graph->searches = UINT32_MAX - 3;
    for (int i = 0; i < 10; i++) {
        CHECK(mlt_goal_before(graph, 999, 1000) && !mlt_goal_before(graph, 1999, 2000));
        CHECK(mlt_goal_before(graph, 1, 3000) && !mlt_goal_before(graph, N - 11, N - 2));
    }
    mlt_goal_graph_free(graph);
    mlt_goal_program_free(program);
}

int main(void)
{
    random_graphs();
    large();
    return 0;
}
