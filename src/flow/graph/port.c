// SPDX-License-Identifier: BSD-3-Clause
// Wires through queues of nested roots: an edge to a port becomes one to where the port leads.
//
// Edges keep the order in which their ends were wired, so that contributors come in the order of
// the Reduce's statement. first_at keeps the order in which their beginnings were wired.
#include <stdlib.h>

#include "base/array.h"
#include "flow/graph/graph_int.h"

typedef struct resolver {
    mlt_flow_builder *b;
    mlt_flow_index in;    // edges by the port that they lead to; those to nodes: after all ports
    mlt_flow_edge *edges; // the result
    uint32_t count, room, at_room;
} resolver;

static uint32_t port_of(uint32_t id)
{
    return id & ~MLT_FLOW_PORT;
}

static void port_emit(resolver *r, const mlt_flow_edge *first, const mlt_flow_edge *last,
                      uint32_t at)
{
    mlt_flow_edge e = *last;
    e.from = first->from;
    e.out = first->out;
    MLT_ARRAY_WANT(r->edges, r->count + 1ull, r->room);
    MLT_ARRAY_WANT(r->b->first_at, r->count + 1ull, r->at_room);
    r->edges[r->count] = e;
    r->b->first_at[r->count++] = at;
}

// Emits all edges that come to the port, each as an edge to the end of `last`. There are no cycles,
// so recursion is at most twice as deep as roots are nested.
static void expand(resolver *r, uint32_t port, const mlt_flow_edge *last)
{
    const mlt_flow_graph *g = r->b->graph;
    for (uint32_t i = r->in.first[port]; i < r->in.first[port + 1]; i++) {
        const mlt_flow_edge *e = &g->edges[r->in.list[i]];
        if (e->from & MLT_FLOW_PORT)
            expand(r, port_of(e->from), last);
        else
            port_emit(r, e, last, r->in.list[i]);
    }
}

// A port leads to one thing, so following it leads to a node, to nothing, or round in a circle.
static bool round_about(mlt_flow_builder *b)
{
    const mlt_flow_graph *g = b->graph;
    uint32_t *walk = mlt_flow_arena_take(
        g->arena, b->ports.count * sizeof *walk); // number of the walk that came by
    bool found = false;
    for (uint32_t p = 0; p < b->ports.count && !found; p++) {
        uint32_t at = p;
        while (!walk[at]) {
            walk[at] = p + 1;
            uint32_t e = b->ports.at[at].out;
            if (e == MLT_FLOW_NONE || !(g->edges[e].to & MLT_FLOW_PORT))
                break;
            at = port_of(g->edges[e].to);
            if (walk[at] == p + 1) {
                char name[200];
                mlt_flow_graph_say(
                    b, b->root->file, g->edges[e].line, MLT_FLOW_ERROR,
                    "%s leads through queues of roots back to itself, and no module is "
                    "in between",
                    mlt_flow_end_name(
                        b, (mlt_flow_end){.id = MLT_FLOW_PORT | at, .queue = b->ports.at[at].queue},
                        name, sizeof name));
                found = true;
            }
        }
    }
    return found;
}

void mlt_flow_resolve_ports(mlt_flow_builder *b)
{
    mlt_flow_graph *g = b->graph;
    if (!b->ports.count)
        return;
    resolver r = {.b = b};
    if (!b->tangled && !round_about(b)) {
        uint32_t *to = mlt_flow_arena_take(g->arena, g->edge_count * sizeof *to);
        for (uint32_t i = 0; i < g->edge_count; i++)
            to[i] = g->edges[i].to & MLT_FLOW_PORT ? port_of(g->edges[i].to) : b->ports.count;
        mlt_flow_key_column keys = {to, sizeof *to, 0, g->edge_count};
        r.in = mlt_flow_index_new(g->arena, keys, b->ports.count + 1, NULL);
        for (uint32_t i = 0; i < g->edge_count; i++) {
            const mlt_flow_edge *e = &g->edges[i];
            if (e->to & MLT_FLOW_PORT)
                continue;
            if (e->from & MLT_FLOW_PORT)
                expand(&r, port_of(e->from), e);
            else
                port_emit(&r, e, e, i);
        }
    }
    free(g->edges);
    g->edges = r.edges;
    g->edge_count = r.count;
    b->edge_room = r.room;
}
