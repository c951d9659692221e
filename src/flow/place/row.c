// SPDX-License-Identifier: BSD-3-Clause
// Rows: the modules of a graph in an order in which neighbours are near each other.
//
// Walks go along wires from sources. What lies beyond a collective, or beyond a module with many
// wires (most of which will lead elsewhere in any case), comes only when the walk has nothing else
// left: so v[1000] => w[1000] -> z is laid v[0] w[0] z v[1] w[1] ..., not v w.
#include "flow/place/place_int.h"

enum { MANY = 16 }; // wires

mlt_flow_near mlt_flow_near_new(const mlt_flow_graph *g)
{
    mlt_flow_arena *arena = mlt_flow_arena_new(MLT_FLOW_ALIGNED);
    mlt_flow_near near = {
        .first = mlt_flow_arena_take(arena, (g->node_count + 1ull) * sizeof *near.first),
        .list = mlt_flow_arena_take(arena, 2ull * g->edge_count * sizeof *near.list),
        .module = mlt_flow_arena_take(arena, g->node_count * sizeof *near.module),
        .arena = arena,
    };
    uint32_t at = 0;
    for (uint32_t n = 0; n < g->node_count; n++) {
        near.module[n] = mlt_flow_is_module(g, n);
        near.first[n] = at;
        for (uint32_t i = g->out.first[n]; i < g->out.first[n + 1]; i++)
            near.list[at++] = g->edges[g->out.list[i]].to;
        for (uint32_t i = g->in.first[n]; i < g->in.first[n + 1]; i++)
            near.list[at++] = g->edges[g->in.list[i]].from;
    }
    near.first[g->node_count] = at;
    return near;
}

void mlt_flow_near_free(mlt_flow_near *near)
{
    mlt_flow_arena_free(near->arena);
}

typedef struct row_walk {
    const mlt_flow_near *near;
    bool depth;
    uint8_t *seen;        // [node_count] modules: laid; collectives: looked through
    uint32_t *next, *far; // what is to be laid
    uint32_t next_at, nexts, far_at, fars;
    uint32_t *row, count;
} row_walk;

static void look_through(row_walk *w, uint32_t collective)
{
    if (w->seen[collective])
        return;
    w->seen[collective] = true;
    for (uint32_t i = w->near->first[collective]; i < w->near->first[collective + 1]; i++)
        w->far[w->fars++] = w->near->list[i];
}

static void lay(row_walk *w, uint32_t n)
{
    if (!w->near->module[n]) { // beyond another collective
        look_through(w, n);
        return;
    }
    if (w->seen[n])
        return;
    w->seen[n] = true;
    w->row[w->count++] = n;
    uint32_t count = mlt_flow_index_count(w->near->first, n);
    const uint32_t *list = w->near->list + w->near->first[n];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t other = list[w->depth && count <= MANY ? count - 1 - i : i];
        if (w->seen[other])
            continue;
        if (!w->near->module[other])
            look_through(w, other);
        else if (count > MANY || mlt_flow_index_count(w->near->first, other) > MANY)
            w->far[w->fars++] = other;
        else
            w->next[w->nexts++] = other;
    }
}

static void walk_from(row_walk *w, uint32_t n)
{
    lay(w, n);
    for (;;) {
        if (w->next_at < w->nexts)
            lay(w, w->depth ? w->next[--w->nexts] : w->next[w->next_at++]);
        else if (w->far_at < w->fars)
            lay(w, w->far[w->far_at++]);
        else
            return;
    }
}

uint32_t mlt_flow_row_of(const mlt_flow_graph *g, const mlt_flow_near *near, mlt_flow_row way,
                         uint32_t *row)
{
    row_walk w = {.near = near, .depth = way == MLT_FLOW_ROW_DEPTH, .row = row};
    if (way == MLT_FLOW_ROW_DECLARED) {
        for (uint32_t n = 0; n < g->node_count; n++)
            if (near->module[n])
                row[w.count++] = n;
        return w.count;
    }
    // Each node is looked from once, so at most both ends of each edge are put on.
    w.seen = mlt_flow_arena_take(near->arena, g->node_count);
    w.next = mlt_flow_arena_take(near->arena, 2ull * g->edge_count * sizeof *w.next);
    w.far = mlt_flow_arena_take(near->arena, 2ull * g->edge_count * sizeof *w.far);
    for (int pass = 0; pass < 2; pass++) // sources, then what only cycles lead to
        for (uint32_t n = 0; n < g->node_count; n++)
            if (near->module[n] && !w.seen[n] && (pass || g->in.first[n] == g->in.first[n + 1]))
                walk_from(&w, n);
    return w.count;
}
