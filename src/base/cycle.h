// SPDX-License-Identifier: BSD-3-Clause
// A cycle in a directed graph, for reports of who waits for whom.
//
//     mlt_digraph graph = mlt_digraph_of(nodes, edges, count, MLT_FORWARDS);
//     uint32_t length, *cycle = mlt_cycle_find(&graph, NULL, MLT_CYCLE_SHORT, &length);
//
// Memory that is out ends the process (memory.h).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct mlt_edge {
    uint32_t from, to;
} mlt_edge;

typedef struct mlt_digraph {
    uint32_t nodes;
    uint64_t *first; // [nodes + 1]: node i leads to to[first[i]] .. to[first[i + 1] - 1]
    uint32_t *to;
} mlt_digraph;

typedef enum mlt_direction { MLT_FORWARDS, MLT_BACKWARDS } mlt_direction;

// The graph of these edges, all turned round if backwards. Edges of one node keep their order.
mlt_digraph mlt_digraph_of(uint32_t nodes, const mlt_edge *edges, uint32_t count,
                           mlt_direction direction);
void mlt_digraph_free(mlt_digraph *graph);

typedef enum mlt_cycle_kind {
    MLT_CYCLE_FIRST, // the first that a walk in depth finds, from low nodes on
    MLT_CYCLE_SHORT, // from there on, a bounded search for shorter ones
} mlt_cycle_kind;

// The nodes of a cycle, from its lowest one on, which the caller frees; NULL and *length 0 if there
// is none. Nodes in `out` [nodes] are not in the graph; NULL: all are in it. Linear in nodes and
// edges, except for the search for shorter cycles, which a constant bounds.
uint32_t *mlt_cycle_find(const mlt_digraph *graph, const bool *out, mlt_cycle_kind kind,
                         uint32_t *length) MLT_MUST_CHECK;

// The search for shorter ones, from a cycle that the caller knows. How many nodes it has then.
uint32_t mlt_cycle_shorten(const mlt_digraph *graph, const bool *out, uint32_t *cycle,
                           uint32_t length);
