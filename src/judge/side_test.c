// SPDX-License-Identifier: BSD-3-Clause
// The side table, against the definition on random programs, and on the paper's two.
#include "judge/side.h"

#include <stdlib.h>

#include "base/unit_test.h"
#include "goal/program.h"

static mlt_goal_program *actions(uint32_t count)
{
    mlt_goal_program *p = mlt_goal_program_new(1);
    for (uint32_t a = 0; a < count; a++)
        mlt_goal_add(p, 0, &(mlt_goal_action){.kind = MLT_GOAL_NOP});
    return p;
}

static uint32_t cells(const mlt_goal_program *p, uint32_t window)
{
    mlt_goal_graph *graph = mlt_goal_graph_new(&p->rank[0]);
    uint32_t count = mlt_side_of(graph, window).cells;
    mlt_goal_graph_free(graph);
    return count;
}

// Figure 3 for n actions.
static mlt_goal_program *adversary(uint32_t n)
{
    mlt_goal_program *p = actions(n);
    for (uint32_t a = 0; a + 1 < n; a++)
        mlt_goal_require(p, 0, a + 1, a);
    for (uint32_t a = 0; a < n / 2; a++)
        mlt_goal_require(p, 0, a + n / 2, a);
    return p;
}

// Theorem 4: every fourth action is a dummy.
static mlt_goal_program *dummies(uint32_t n)
{
    mlt_goal_program *p = actions(n);
    for (uint32_t a = 0; a < n; a++) {
        uint32_t dummy = a - a % 4;
        if (dummy != a && dummy)
            mlt_goal_require(p, 0, a, dummy);
        if (dummy + 4 < n && dummy != a)
            mlt_goal_require(p, 0, dummy + 4, a);
    }
    return p;
}

static void check_theorems(void)
{
    for (uint32_t n = 6; n <= 60; n += 2) {
        mlt_goal_program *p = adversary(n);
        CHECK(cells(p, 1) == n / 2 && cells(p, 2) == n / 2);
        CHECK(cells(p, n) == 0);
        mlt_goal_program_free(p);
        p = dummies(n + 8);
        for (uint32_t window = 1; window < 4; window++)
            CHECK(cells(p, window) == 3);
        mlt_goal_program_free(p);
    }
}

static void check_random(void)
{
    uint64_t state = 7;
    for (int round = 0; round < 400; round++) {
        uint32_t n = 1 + (uint32_t)(round % 12), most = 0;
        mlt_goal_program *p = actions(n);
        for (uint32_t a = 0; a < n; a++)
            for (uint32_t b = 0; b < a; b++) {
                state = state * UINT64_C(6364136223846793005) + 1442695040888963407U;
                if (state >> 62 == 0)
                    mlt_goal_require(p, 0, a, b | (state >> 40 & 1 ? MLT_GOAL_STARTED : 0));
            }
        mlt_goal_graph *graph = mlt_goal_graph_new(&p->rank[0]);
        uint32_t window = 1 + (uint32_t)(state >> 50) % n;
        for (uint32_t at = 0; at < n; at++) {
            uint32_t count;
            mlt_side_cell *table = mlt_side_table(graph, at, &count);
            for (uint32_t i = 0; i < count; i++)
                CHECK(graph->place[table[i].action] > at && table[i].sources > 0);
            if (at + 1 >= window && count > most)
                most = count;
            free(table);
        }
        CHECK(mlt_side_of(graph, window).cells == most);
        mlt_goal_graph_free(graph);
        mlt_goal_program_free(p);
    }
}

int main(void)
{
    check_theorems();
    check_random();
    return 0;
}
