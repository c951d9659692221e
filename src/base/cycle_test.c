// SPDX-License-Identifier: BSD-3-Clause
// Cycles of graphs that are known, of random ones (a cycle is found exactly if there is one, and it
// is one), and of large ones, in time.
#include "base/cycle.h"

#include <string.h>
#include <time.h>

#include "base/text.h"
#include "base/unit_test.h"

enum { MOST = 64, LARGE = 1000000 };

// Finds a cycle in a graph of `count` edges.
static uint32_t *find(uint32_t nodes, const mlt_edge *edges, uint32_t count, const bool *out,
                      mlt_cycle_kind kind, uint32_t *length)
{
    mlt_digraph graph = mlt_digraph_of(nodes, edges, count, MLT_FORWARDS);
    uint32_t *cycle = mlt_cycle_find(&graph, out, kind, length);
    CHECK((cycle != NULL) == (*length > 0));
    mlt_digraph_free(&graph);
    return cycle;
}

// "0 2 1" for a cycle; "" for none.
static void expect_kind(mlt_cycle_kind kind, uint32_t nodes, const char *graph, const bool *out,
                        const char *wanted)
{
    mlt_edge edges[MOST];
    uint32_t count = 0, length;
    int used;
    while (sscanf(graph, "%u-%u %n", &edges[count].from, &edges[count].to, &used) == 2) {
        graph += used;
        count++;
    }
    uint32_t *cycle = find(nodes, edges, count, out, kind, &length);
    mlt_text text = {0};
    for (uint32_t i = 0; i < length; i++)
        mlt_text_add(&text, i ? " %u" : "%u", cycle[i]);
    if (strcmp(mlt_text_so_far(&text), wanted) != 0) {
        fprintf(stderr, "'%s' instead of '%s'\n", mlt_text_so_far(&text), wanted);
        exit(1);
    }
    mlt_text_free(&text);
    free(cycle);
}

static void expect(uint32_t nodes, const char *graph, const bool *out, const char *wanted)
{
    expect_kind(MLT_CYCLE_SHORT, nodes, graph, out, wanted);
}

static void test_graph(void)
{
    const mlt_edge edges[] = {{2, 0}, {0, 1}, {2, 2}, {0, 0}, {2, 1}};
    mlt_digraph g = mlt_digraph_of(3, edges, 5, MLT_FORWARDS);
    CHECK(memcmp(g.first, (uint64_t[]){0, 2, 2, 5}, 4 * sizeof *g.first) == 0);
    CHECK(memcmp(g.to, (uint32_t[]){1, 0, 0, 2, 1}, 5 * sizeof *g.to) == 0);
    mlt_digraph_free(&g);
    g = mlt_digraph_of(3, edges, 5, MLT_BACKWARDS);
    CHECK(memcmp(g.first, (uint64_t[]){0, 2, 4, 5}, 4 * sizeof *g.first) == 0);
    CHECK(memcmp(g.to, (uint32_t[]){2, 0, 0, 2, 2}, 5 * sizeof *g.to) == 0);
    mlt_digraph_free(&g);
    CHECK(!g.first && !g.to);
}

static void test_known(void)
{
    expect(0, "", NULL, "");
    expect(1, "", NULL, "");
    expect(1, "0-0 ", NULL, "0");
    expect(3, "0-1 1-2 ", NULL, "");
    expect(3, "0-1 1-2 2-1 ", NULL, "1 2");
    expect(4, "3-2 2-1 1-3 0-3 ", NULL, "1 3 2");
    // The long way is found first; the short one is returned if it is wanted.
    expect_kind(MLT_CYCLE_FIRST, 6, "0-1 1-2 2-3 3-4 4-5 5-0 3-2 ", NULL, "0 1 2 3 4 5");
    expect(6, "0-1 1-2 2-3 3-4 4-5 5-0 3-2 ", NULL, "2 3");
    expect(6, "0-1 1-2 2-3 3-4 4-5 5-0 2-0 ", NULL, "0 1 2");
    const bool out[6] = {[1] = true};
    expect(6, "0-1 1-0 2-3 3-4 4-2 3-1 ", out, "2 3 4");
    expect(3, "0-1 1-2 2-0 ", out, "");
}

static bool reaches(bool (*r)[MOST], uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = 0; j < n; j++)
                r[i][j] |= r[i][k] && r[k][j];
    for (uint32_t i = 0; i < n; i++)
        if (r[i][i])
            return true;
    return false;
}

static void test_random(void)
{
    static bool edge[MOST][MOST], way[MOST][MOST];
    mlt_edge edges[MOST];
    for (now_seed = 1; now_seed <= 3000; now_seed++) {
        uint32_t nodes = 1 + below(12), count = below(2 * nodes), length;
        memset(edge, 0, sizeof edge);
        for (uint32_t k = 0; k < count; k++) {
            edges[k] = (mlt_edge){below(nodes), below(nodes)};
            edge[edges[k].from][edges[k].to] = true;
        }
        memcpy(way, edge, sizeof edge);
        mlt_cycle_kind kind = now_seed % 2 ? MLT_CYCLE_SHORT : MLT_CYCLE_FIRST;
        uint32_t *cycle = find(nodes, edges, count, NULL, kind, &length);
        CHECK((cycle != NULL) == reaches(way, nodes));
        for (uint32_t i = 0; i < length; i++)
            CHECK(edge[cycle[i]][cycle[(i + 1) % length]] && cycle[i] >= cycle[0]);
        free(cycle);
    }
    now_seed = 0;
}

static void test_large(void)
{
    mlt_edge *edges = malloc(2 * LARGE * sizeof *edges);
    if (!edges)
        exit(77);
    for (uint32_t i = 0; i < LARGE; i++) {
        edges[2 * i] = (mlt_edge){i, (i + 1) % LARGE};
        edges[2 * i + 1] = (mlt_edge){i, (i + 7) % LARGE};
    }
    uint32_t length;
    clock_t start = clock();
    uint32_t *cycle = find(LARGE, edges, 2 * LARGE, NULL, MLT_CYCLE_SHORT, &length);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    printf("a cycle of %u in a graph of %d in %.3f s\n", length, LARGE, seconds);
    CHECK(length > 0 && length <= LARGE && seconds < 20);
    free(cycle);
    free(edges);
}

int main(void)
{
    test_graph();
    test_known();
    test_random();
    test_large();
    return 0;
}
