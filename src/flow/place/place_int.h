// SPDX-License-Identifier: BSD-3-Clause
// What the files that place share: place.c (pins, cutting, places), row.c (rows), halve.c (halves),
// move.c (cost and moves).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "flow/graph/graph.h"
#include "flow/place/place.h"

#define MLT_FLOW_NOWHERE UINT32_MAX

// Where nodes have to be.
typedef struct mlt_flow_wishes {
    uint32_t *place; // [node_count] of the job; MLT_FLOW_NOWHERE: any
    uint32_t *host;  // [node_count] MLT_FLOW_NOWHERE: any
} mlt_flow_wishes;

static inline bool mlt_flow_is_module(const mlt_flow_graph *g, uint32_t node)
{
    return mlt_flow_vector_of(g, node)->kind == MLT_FLOW_MODULE;
}

static inline uint64_t mlt_flow_weight(const mlt_flow_graph *g, uint32_t node)
{
    uint32_t weight = mlt_flow_vector_of(g, node)->weight;
    return weight ? weight : 1;
}

// Neighbours of all nodes in one list, for placing follows wires many times. Those of n are
// list[first[n]] to list[first[n + 1] - 1], first those that it sends to. A neighbour by two wires
// is there twice.
typedef struct mlt_flow_near {
    uint32_t *first, *list;
    bool *module;          // [node_count] it is one, not a collective
    mlt_flow_arena *arena; // of all that placing needs for a while
} mlt_flow_near;

mlt_flow_near mlt_flow_near_new(const mlt_flow_graph *g);
void mlt_flow_near_free(mlt_flow_near *near);

// Ways to lay the modules in a row.
typedef enum mlt_flow_row {
    MLT_FLOW_ROW_DECLARED, // vector by vector
    MLT_FLOW_ROW_BREADTH,  // along wires from sources, breadth first
    MLT_FLOW_ROW_DEPTH,    // ... depth first
    MLT_FLOW_ROWS,
} mlt_flow_row;

// Writes all modules to row, which has room for node_count; returns how many there are.
uint32_t mlt_flow_row_of(const mlt_flow_graph *g, const mlt_flow_near *near, mlt_flow_row way,
                         uint32_t *row);

// a * b / c without overflow, for b <= c.
static inline uint64_t mlt_flow_share_of(uint64_t a, uint64_t b, uint64_t c)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)a * b / c);
}

// Cuts modules into pieces for all workers by halving. share: [workers] how much each should get;
// into[node] becomes its worker. The row is in another order afterwards.
void mlt_flow_halve(const mlt_flow_graph *g, const mlt_flow_near *near, uint32_t *row,
                    uint32_t count, const uint64_t *share, uint32_t workers, uint32_t *into);

// What it costs to have the modules on these workers: MLT_FLOW_WIRE for a wire between two workers
// of a host, MLT_FLOW_FAR for one between hosts. For a collective: 1 for each worker more than one
// that it has neighbours on; and for each host more than one, as much more as a wire between hosts
// costs than another.
enum { MLT_FLOW_WIRE = 8, MLT_FLOW_FAR = 64, MLT_FLOW_FAR_WIRES = MLT_FLOW_FAR / MLT_FLOW_WIRE };
uint64_t mlt_flow_cost(const mlt_flow_graph *g, const mlt_flow_near *near,
                       const mlt_flow_sites *sites, const uint32_t *worker);

// What a wire between these workers costs.
static inline int64_t mlt_flow_distance(const mlt_flow_sites *sites, uint32_t a, uint32_t b)
{
    return a == b ? 0 : sites->host_of[a] == sites->host_of[b] ? MLT_FLOW_WIRE : MLT_FLOW_FAR;
}

// Moves and swaps modules as long as that lowers the cost. load: [workers], kept up to date.
void mlt_flow_moves(const mlt_flow_graph *g, const mlt_flow_near *near, const mlt_flow_sites *sites,
                    const mlt_flow_wishes *wishes, const uint32_t *row, uint32_t count,
                    uint32_t *worker, uint64_t *load);
