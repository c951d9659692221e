// SPDX-License-Identifier: BSD-3-Clause
// Rows: the modules of a graph in an order in which neighbours are near each other.
//
// Walks go along wires from sources. What is behind a collective, or a module with many wires
// (most of them will lead elsewhere whatever is done), comes only when nothing else is left of what
// was begun: so v[1000] => w[1000] -> z is laid v[0] w[0] z v[1] w[1] ..., not v w.
#include <stdlib.h>

#include "base/memory.h"
#include "flow/place_int.h"

enum { MANY = 16 }; // wires

typedef struct walk {
    const mlt_flow_graph *g;
    bool depth;
    uint8_t *seen;        // [node_count] modules: laid; collectives: looked through
    uint32_t *near, *far; // what is to be laid
    uint32_t near_at, nears, far_at, fars;
    uint32_t *row, count;
} walk;

static uint32_t wires(const mlt_flow_graph *g, uint32_t n)
{
    return g->out_first[n + 1] - g->out_first[n] + g->in_first[n + 1] - g->in_first[n];
}

// The i-th neighbour, those that it sends to first.
static uint32_t neighbour(const mlt_flow_graph *g, uint32_t n, uint32_t i)
{
    uint32_t outs = g->out_first[n + 1] - g->out_first[n];
    if (i < outs)
        return g->edges[g->out_edges[g->out_first[n] + i]].to;
    return g->edges[g->in_edges[g->in_first[n] + i - outs]].from;
}

static void look_through(walk *w, uint32_t collective)
{
    if (w->seen[collective])
        return;
    w->seen[collective] = true;
    for (uint32_t i = 0; i < wires(w->g, collective); i++)
        w->far[w->fars++] = neighbour(w->g, collective, i);
}

static void lay(walk *w, uint32_t n)
{
    if (!mlt_flow_is_module(w->g, n)) { // behind another collective
        look_through(w, n);
        return;
    }
    if (w->seen[n])
        return;
    w->seen[n] = true;
    w->row[w->count++] = n;
    uint32_t count = wires(w->g, n);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t other = neighbour(w->g, n, w->depth && count <= MANY ? count - 1 - i : i);
        if (w->seen[other])
            continue;
        if (!mlt_flow_is_module(w->g, other))
            look_through(w, other);
        else if (count > MANY || wires(w->g, other) > MANY)
            w->far[w->fars++] = other;
        else
            w->near[w->nears++] = other;
    }
}

static void walk_from(walk *w, uint32_t n)
{
    lay(w, n);
    for (;;) {
        if (w->near_at < w->nears)
            lay(w, w->depth ? w->near[--w->nears] : w->near[w->near_at++]);
        else if (w->far_at < w->fars)
            lay(w, w->far[w->far_at++]);
        else
            return;
    }
}

uint32_t mlt_flow_row_of(const mlt_flow_graph *g, mlt_flow_row way, uint32_t *row)
{
    walk w = {.g = g, .depth = way == MLT_FLOW_ROW_DEPTH, .row = row};
    if (way == MLT_FLOW_ROW_DECLARED) {
        for (uint32_t n = 0; n < g->node_count; n++)
            if (mlt_flow_is_module(g, n))
                row[w.count++] = n;
        return w.count;
    }
    // Each node is looked from once, so at most both ends of each edge are put on.
    w.seen = mlt_take(g->node_count, 1);
    w.near = mlt_take(2ull * g->edge_count, sizeof *w.near);
    w.far = mlt_take(2ull * g->edge_count, sizeof *w.far);
    for (int pass = 0; pass < 2; pass++) // sources, then what only cycles lead to
        for (uint32_t n = 0; n < g->node_count; n++)
            if (mlt_flow_is_module(g, n) && !w.seen[n] &&
                (pass || g->in_first[n] == g->in_first[n + 1]))
                walk_from(&w, n);
    free(w.seen);
    free(w.near);
    free(w.far);
    return w.count;
}
