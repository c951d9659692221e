// SPDX-License-Identifier: BSD-3-Clause
// Cycles of graphs that are known, of random ones (a cycle is found exactly if there is one, and it
// is one), and of large ones, in time.
#include "csp/hang/knot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"

enum { MOST = 64, LARGE = 1000000 };

static int failures;

#define CHECK(condition)                                                                           \
    ((condition) ? (void)0                                                                         \
                 : (void)(failures++, fprintf(stderr, "%s:%d: '%s' does not hold\n", __FILE__,     \
                                              __LINE__, #condition)))

typedef struct edges {
    uint32_t nodes, count;
    uint32_t pair[MOST * MOST][2];
} edges;

static void make(const edges *e, uint32_t *first, uint32_t *to)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->nodes; i++) {
        first[i] = n;
        for (uint32_t k = 0; k < e->count; k++)
            if (e->pair[k][0] == i)
                to[n++] = e->pair[k][1];
    }
    first[e->nodes] = n;
}

// "0 2 1" for a cycle; "" for none.
static void expect(uint32_t nodes, const char *graph, const bool *out, const char *wanted)
{
    static edges e;
    static uint32_t first[MOST + 1], to[MOST * MOST];
    char text[256] = "";
    int used;
    e.nodes = nodes;
    for (e.count = 0;
         sscanf(graph, "%u-%u %n", &e.pair[e.count][0], &e.pair[e.count][1], &used) == 2; e.count++)
        graph += used;
    make(&e, first, to);
    uint32_t length;
    uint32_t *cycle =
        mlt_knot_find(&(mlt_knot){.nodes = nodes, .first = first, .to = to, .out = out}, &length);
    for (uint32_t i = 0; i < length; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), i ? " %u" : "%u", cycle[i]);
    if (strcmp(text, wanted) != 0) {
        failures++;
        fprintf(stderr, "'%s' instead of '%s'\n", text, wanted);
    }
    free(cycle);
}

static void test_known(void)
{
    expect(0, "", NULL, "");
    expect(1, "", NULL, "");
    expect(1, "0-0 ", NULL, "0");
    expect(3, "0-1 1-2 ", NULL, "");
    expect(3, "0-1 1-2 2-1 ", NULL, "1 2");
    expect(4, "3-2 2-1 1-3 0-3 ", NULL, "1 3 2");
    // The long way is found first, the short one is said.
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
    static edges e;
    static uint32_t first[MOST + 1], to[MOST * MOST];
    static bool edge[MOST][MOST], way[MOST][MOST];
    srand(7);
    for (int turn = 0; turn < 3000; turn++) {
        e.nodes = 1 + (uint32_t)rand() % 12;
        e.count = (uint32_t)rand() % (2 * e.nodes);
        memset(edge, 0, sizeof edge);
        for (uint32_t k = 0; k < e.count; k++) {
            e.pair[k][0] = (uint32_t)rand() % e.nodes;
            e.pair[k][1] = (uint32_t)rand() % e.nodes;
            edge[e.pair[k][0]][e.pair[k][1]] = true;
        }
        memcpy(way, edge, sizeof edge);
        make(&e, first, to);
        uint32_t length;
        uint32_t *cycle =
            mlt_knot_find(&(mlt_knot){.nodes = e.nodes, .first = first, .to = to}, &length);
        CHECK((cycle != NULL) == reaches(way, e.nodes) && (cycle != NULL) == (length > 0));
        for (uint32_t i = 0; i < length; i++)
            CHECK(edge[cycle[i]][cycle[(i + 1) % length]] && cycle[i] >= cycle[0]);
        free(cycle);
    }
}

static void test_large(void)
{
    uint32_t *first = malloc((LARGE + 1) * sizeof *first), *to = malloc(2 * LARGE * sizeof *to);
    if (!first || !to)
        exit(77);
    for (uint32_t i = 0; i < LARGE; i++) {
        first[i] = 2 * i;
        to[2 * i] = (i + 1) % LARGE;
        to[2 * i + 1] = (i + 7) % LARGE;
    }
    first[LARGE] = 2 * LARGE;
    uint32_t length;
    uint64_t start = mlt_os_now_ns();
    uint32_t *cycle = mlt_knot_find(&(mlt_knot){.nodes = LARGE, .first = first, .to = to}, &length);
    double seconds = (double)(mlt_os_now_ns() - start) / 1e9;
    printf("a cycle of %u in a graph of %d in %.3f s\n", length, LARGE, seconds);
    CHECK(length > 0 && length <= LARGE && seconds < 20);
    free(cycle);
    free(first);
    free(to);
}

int main(void)
{
    test_known();
    test_random();
    test_large();
    return failures != 0;
}
