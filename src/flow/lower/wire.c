// SPDX-License-Identifier: BSD-3-Clause
// Which edges of the graph become lines, and between which nodes. Nodes that only hand elements on
// are left out (Figure 7(b) of the paper):
//
//     b passes       a ─> b ─> c becomes a ─> c, if b is a Broadcast or Deal with one edge out, or
//                    a Collect with one edge in. If several edges lead into b, c must merge, as b
//                    does
//     b is taken in  a ─> b ─> c, d becomes a ─> c, d, if a is a Reduce or Broadcast, and b a
//                    Broadcast that only a leads to
//
// With `keep` all edges are wires.
#include <string.h>

#include "flow/graph/index.h"
#include "flow/lower/lower_int.h"

// ---- chains

// next[n]: what stands for n, or MLT_FLOW_NONE: n itself. A way that goes round is cut, for one
// node of it must stay.
static void cut_rounds(const mlt_flow_lowerer *w, uint32_t *next)
{
    uint32_t count = w->g->node_count;
    uint32_t *walk = mlt_flow_arena_take(w->arena, count * sizeof *walk); // the walk that came by
    for (uint32_t n = 0; n < count; n++)
        for (uint32_t at = n; !walk[at];) {
            walk[at] = n + 1;
            if (next[at] == MLT_FLOW_NONE)
                break;
            if (walk[next[at]] == n + 1) {
                next[at] = MLT_FLOW_NONE;
                break;
            }
            at = next[at];
        }
}

static uint32_t end_of(const uint32_t *next, uint32_t n)
{
    while (next[n] != MLT_FLOW_NONE)
        n = next[n];
    return n;
}

// ---- what passes

static bool merges(uint8_t kind)
{
    return kind == MLT_FLOW_MODULE || kind == MLT_FLOW_BROADCAST || kind == MLT_FLOW_DEAL;
}

static bool may_pass(const mlt_flow_lowerer *w, uint32_t n)
{
    uint32_t ins = mlt_flow_index_count(w->g->in.first, n),
             outs = mlt_flow_index_count(w->g->out.first, n);
    uint8_t kind = w->kind[n];
    return outs == 1 && ins > 0 &&
           (kind == MLT_FLOW_BROADCAST || kind == MLT_FLOW_DEAL ||
            (kind == MLT_FLOW_COLLECT && ins == 1));
}

// next[n]: the node to which n hands on.
static void find_passing(const mlt_flow_lowerer *w, uint32_t *next)
{
    const mlt_flow_graph *g = w->g;
    for (uint32_t n = 0; n < g->node_count; n++)
        next[n] =
            may_pass(w, n) ? g->edges[g->out.list[g->out.first[n]]].to : (uint32_t)MLT_FLOW_NONE;
    cut_rounds(w, next);
    bool *stays = mlt_flow_arena_take(w->arena, g->node_count * sizeof *stays);
    for (uint32_t n = 0; n < g->node_count; n++)
        stays[n] = next[n] != MLT_FLOW_NONE && mlt_flow_index_count(g->in.first, n) > 1 &&
                   !merges(w->kind[end_of(next, n)]);
    // Both ends of a wire from a Deal to a Collect or Reduce have an order, which may not agree.
    for (uint32_t e = 0; e < g->edge_count; e++) {
        uint32_t to = g->edges[e].to;
        if (w->kind[g->edges[e].from] == MLT_FLOW_DEAL && next[to] != MLT_FLOW_NONE &&
            !merges(w->kind[end_of(next, to)]))
            stays[to] = true;
    }
    for (uint32_t n = 0; n < g->node_count; n++)
        if (stays[n])
            next[n] = MLT_FLOW_NONE;
}

// into[n]: the node that has taken n in. passes: from find_passing.
static void find_taken(const mlt_flow_lowerer *w, const uint32_t *passes, uint32_t *into)
{
    const mlt_flow_graph *g = w->g;
    memset(into, 0xff, g->node_count * sizeof *into);
    for (uint32_t n = 0; n < g->node_count; n++) {
        if (w->kind[n] != MLT_FLOW_BROADCAST || passes[n] != MLT_FLOW_NONE)
            continue;
        uint32_t at = n; // the one way in, past those that pass
        do {
            if (mlt_flow_index_count(g->in.first, at) != 1) {
                at = MLT_FLOW_NONE;
                break;
            }
            at = g->edges[g->in.list[g->in.first[at]]].from;
        } while (passes[at] != MLT_FLOW_NONE);
        if (at != MLT_FLOW_NONE &&
            (w->kind[at] == MLT_FLOW_BROADCAST || w->kind[at] == MLT_FLOW_REDUCE))
            into[n] = at;
    }
    cut_rounds(w, into);
}

// ---- wires

// How many elements its queue holds; 0: not declared.
static uint32_t cap_of(const mlt_flow_graph *g, const mlt_flow_wire *wire)
{
    const mlt_flow_vector *to = mlt_flow_vector_of(g, wire->to);
    const mlt_flow_vector *from = mlt_flow_vector_of(g, wire->from);
    long cap = 0;
    if (to->kind == MLT_FLOW_MODULE && wire->in < to->module->queue_count)
        cap = to->module->queues[wire->in].cap;
    if (cap <= 0 && from->kind == MLT_FLOW_MODULE && wire->out < from->module->queue_count)
        cap = from->module->queues[wire->out].cap;
    return cap <= 0 ? 0 : cap < 1 << 24 ? (uint32_t)cap : 1u << 24;
}

// Follows edge e to where it ends. False: it is part of another wire, or inside of what was taken
// in.
static bool wire_of(const mlt_flow_lowerer *w, const uint32_t *passes, const uint32_t *into,
                    uint32_t e, mlt_flow_wire *wire)
{
    const mlt_flow_graph *g = w->g;
    const mlt_flow_edge *last = &g->edges[e];
    if (passes[last->from] != MLT_FLOW_NONE)
        return false;
    *wire = (mlt_flow_wire){.from = end_of(into, last->from),
                            .out = last->out,
                            .edge = e,
                            .from_task = MLT_FLOW_NONE,
                            .to_task = MLT_FLOW_NONE};
    while (passes[last->to] != MLT_FLOW_NONE) {
        wire->edge = g->out.list[g->out.first[last->to]];
        last = &g->edges[wire->edge];
    }
    wire->to = last->to;
    wire->in = last->in;
    wire->key = w->kind[wire->from] == MLT_FLOW_DEAL ? e : wire->edge;
    wire->cap = cap_of(g, wire);
    wire->by_bytes = wire->cap == 0;
    if (wire->by_bytes)
        wire->cap = MLT_FLOW_CAP;
    return into[last->to] == MLT_FLOW_NONE;
}

static void sort_wires(mlt_flow_lowerer *w)
{
    mlt_flow_wire *sorted = mlt_flow_arena_take(w->arena, w->wire_count * sizeof *sorted);
    mlt_flow_key_column keys = MLT_FLOW_KEY_COLUMN(w->wires, w->wire_count, key);
    const uint32_t *order = mlt_flow_index_new(w->arena, keys, w->g->edge_count, NULL).list;
    for (uint32_t i = 0; i < w->wire_count; i++)
        sorted[i] = w->wires[order[i]];
    w->wires = sorted;
}

static void index_wires(mlt_flow_lowerer *w)
{
    uint32_t nodes = w->g->node_count;
    w->out = mlt_flow_index_new(w->arena, MLT_FLOW_KEY_COLUMN(w->wires, w->wire_count, from), nodes,
                                NULL);
    w->in =
        mlt_flow_index_new(w->arena, MLT_FLOW_KEY_COLUMN(w->wires, w->wire_count, to), nodes, NULL);
}

// ---- reductions that are one part

// A Reduce whose operation does not commute can be spread only if the contributors of each worker
// follow each other, and workers do so in their order.
static bool lower_wire_in_order(const mlt_flow_lowerer *w, uint32_t node)
{
    uint32_t before = 0;
    for (uint32_t i = w->in.first[node]; i < w->in.first[node + 1]; i++) {
        uint32_t at = mlt_flow_home(w, w->wires[w->in.list[i]].from);
        if (at < before)
            return false;
        before = at;
    }
    return true;
}

void mlt_flow_wires_make(mlt_flow_lowerer *w)
{
    const mlt_flow_graph *g = w->g;
    w->kind = mlt_flow_arena_take(w->arena, g->node_count * sizeof *w->kind);
    w->gone = mlt_flow_arena_take(w->arena, g->node_count * sizeof *w->gone);
    w->one_part = mlt_flow_arena_take(w->arena, g->node_count * sizeof *w->one_part);
    w->wires = mlt_flow_arena_take(w->arena, g->edge_count * sizeof *w->wires);
    uint32_t *passes = mlt_flow_arena_take(w->arena, g->node_count * sizeof *passes);
    uint32_t *into = mlt_flow_arena_take(w->arena, g->node_count * sizeof *into);
    memset(passes, 0xff, g->node_count * sizeof *passes);
    memset(into, 0xff, g->node_count * sizeof *into);
    for (uint32_t n = 0; n < g->node_count; n++) {
        uint32_t ins = mlt_flow_index_count(g->in.first, n);
        w->kind[n] = (uint8_t)mlt_flow_vector_of(g, n)->kind;
        if (w->kind[n] == MLT_FLOW_REDUCE && (ins == 0 || (ins == 1 && !w->how.keep)))
            w->kind[n] = MLT_FLOW_BROADCAST;
    }
    if (!w->how.keep) {
        find_passing(w, passes);
        find_taken(w, passes, into);
    }
    for (uint32_t n = 0; n < g->node_count; n++) {
        w->gone[n] = passes[n] != MLT_FLOW_NONE || into[n] != MLT_FLOW_NONE;
        w->l->removed += w->gone[n];
    }
    for (uint32_t e = 0; e < g->edge_count; e++)
        w->wire_count += wire_of(w, passes, into, e, &w->wires[w->wire_count]);
    sort_wires(w);
    index_wires(w);
    for (uint32_t n = 0; n < g->node_count; n++) {
        const flow_op *op = mlt_flow_vector_of(g, n)->op;
        w->one_part[n] = w->kind[n] == MLT_FLOW_REDUCE &&
                         (w->how.reproducible || (op && op->ordered && !lower_wire_in_order(w, n)));
    }
}

// ---- where they are

static bool fixed_from(const mlt_flow_lowerer *w, uint32_t node)
{
    uint8_t kind = w->kind[node];
    return kind == MLT_FLOW_MODULE || kind == MLT_FLOW_DEAL || kind == MLT_FLOW_COLLECT;
}

static bool fixed_to(const mlt_flow_lowerer *w, uint32_t node)
{
    return fixed_from(w, node) || w->one_part[node] ||
           (w->kind[node] == MLT_FLOW_BROADCAST && mlt_flow_index_count(w->in.first, node) != 1);
}

// A wire between two nodes that are both spread is where the first has its place.
uint32_t mlt_flow_wire_from(const mlt_flow_lowerer *w, const mlt_flow_wire *wire)
{
    bool there = !fixed_from(w, wire->from) && fixed_to(w, wire->to);
    return mlt_flow_home(w, there ? wire->to : wire->from);
}

uint32_t mlt_flow_wire_to(const mlt_flow_lowerer *w, const mlt_flow_wire *wire)
{
    return mlt_flow_home(w, fixed_to(w, wire->to) ? wire->to : wire->from);
}
