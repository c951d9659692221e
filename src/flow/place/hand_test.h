// SPDX-License-Identifier: BSD-3-Clause
// Graphs made by hand, for tests of what comes behind the wiring: vectors, edges and pins without
// the checks of graph.c, so that odd ones can be made too.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "flow/graph/graph.h"
#include "flow/place/place.h"

static const flow_queue_decl hand_queues[] = {
    {.name = "in", .input = true},
    {.name = "out"},
    {.name = "in2", .input = true, .cap = 7},
    {.name = "out2", .cap = 9},
};
static const flow_module hand_module = {.name = "Hand", .queues = hand_queues, .queue_count = 4};

static inline mlt_flow_graph *hand_new(void)
{
    return mlt_xcalloc(1, sizeof(mlt_flow_graph));
}

// Returns the first node. count 0: a scalar.
static inline uint32_t hand_add(mlt_flow_graph *g, const char *name, mlt_flow_kind kind,
                                uint32_t count, uint32_t weight)
{
    uint32_t first = g->node_count, nodes = count ? count : 1;
    g->vectors = mlt_xrealloc(g->vectors, g->vector_count + 1ull, sizeof *g->vectors);
    g->vector_of = mlt_xrealloc(g->vector_of, first + (size_t)nodes, sizeof *g->vector_of);
    g->vectors[g->vector_count] = (mlt_flow_vector){.name = name,
                                                    .module = &hand_module,
                                                    .kind = kind,
                                                    .first = first,
                                                    .count = nodes,
                                                    .scalar = !count,
                                                    .weight = weight};
    for (uint32_t i = 0; i < nodes; i++)
        g->vector_of[first + i] = g->vector_count;
    g->vector_count++;
    g->node_count += nodes;
    return first;
}

static inline void hand_wire(mlt_flow_graph *g, uint32_t from, uint16_t out, uint32_t to,
                             uint16_t in)
{
    if (!(g->edge_count & (g->edge_count - 1)))
        g->edges = mlt_xrealloc(g->edges, 2ull * g->edge_count + 1, sizeof *g->edges);
    g->edges[g->edge_count++] = (mlt_flow_edge){from, to, out, in, 1};
}

static inline void hand_pin(mlt_flow_graph *g, uint32_t node, const char *host, long place,
                            int line)
{
    g->pins = mlt_xrealloc(g->pins, g->pin_count + 1ull, sizeof *g->pins);
    g->pins[g->pin_count++] = (mlt_flow_pin){node, host, place, line};
}

static inline void hand_index(const mlt_flow_graph *g, bool out, uint32_t **first, uint32_t **edges)
{
    *first = mlt_xcalloc(g->node_count + 2ull, sizeof **first);
    *edges = mlt_xcalloc(g->edge_count, sizeof **edges);
    for (uint32_t e = 0; e < g->edge_count; e++)
        (*first)[(out ? g->edges[e].from : g->edges[e].to) + 2]++;
    for (uint32_t n = 0; n < g->node_count; n++)
        (*first)[n + 2] += (*first)[n + 1];
    for (uint32_t e = 0; e < g->edge_count; e++)
        (*edges)[(*first)[(out ? g->edges[e].from : g->edges[e].to) + 1]++] = e;
}

static inline mlt_flow_graph *hand_done(mlt_flow_graph *g)
{
    hand_index(g, true, &g->out.first, &g->out.list);
    hand_index(g, false, &g->in.first, &g->in.list);
    return g;
}

static inline void hand_free(mlt_flow_graph *g)
{
    free(g->vectors);
    free(g->vector_of);
    free(g->edges);
    free(g->pins);
    free(g->out.first);
    free(g->out.list);
    free(g->in.first);
    free(g->in.list);
    free(g);
}

// `hosts` hosts called h0, h1, ... with about equally many of the workers.
static inline mlt_flow_sites *hand_sites(uint32_t workers, uint32_t a_worker, uint32_t hosts)
{
    char text[400] = "", why[200];
    for (uint32_t h = 0; h < hosts; h++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "h%u:%u\n", h,
                 workers / hosts + (h < workers % hosts) + (workers < hosts));
    return mlt_flow_sites_new(workers, a_worker, text, why, sizeof why);
}
