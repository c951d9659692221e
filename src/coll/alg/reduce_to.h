// SPDX-License-Identifier: BSD-3-Clause
// Reductions from any set of ranks to any other: Aspen's algorithm (Ali, Pai, Midkiff:
// Advanced Collective Communication in Aspen, 2008, sections 3.2 and 3.3), as a list of edges that everybody computes alike.
//
//     fold     contributors beyond a power of two give what they have to others
//     halve    as long as at least twice as many ranks hold a part as are needed, half of them give
//              theirs away
//     meet     those that are left do recursive doubling; its last round keeps only links towards
//              ranks that need the result
//     tell     receivers that did not contribute, or gave their part away, are told by those that
//              have the result, whose number doubles
//
// Several reductions at once, on sets that overlap: a rank that sends for one should receive for
// another, since a link carries both ways at once. So a plan takes the load so far, the edges in
// and out of each rank; ranks with many edges in and few out give their part away. Then the plan's
// edges are added to the load:
//
//     mlt_reduce_to_load *load = mlt_reduce_to_load_new(ranks);
//     for each reduction, in the same order on all ranks {
//         shape.contributes = ...; shape.receives = ...; shape.user = load;
//         reduce_to.aspen emits;                     // reads the load
//         mlt_reduce_to_load_add(load, &shape);      // once a rank has emitted, or all have
//     }
//     mlt_reduce_to_load_free(load);
//
// All ranks must know the same load, since they emit alike. shape.user NULL: no load. If
// mlt_coll_program makes the programs of all ranks at once, add to the load after it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "coll/alg/alg.h"

typedef struct mlt_reduce_to_load {
    uint32_t ranks;
    uint32_t *in, *out; // [ranks] edges so far
} mlt_reduce_to_load;

mlt_reduce_to_load *mlt_reduce_to_load_new(uint32_t ranks);
void mlt_reduce_to_load_free(mlt_reduce_to_load *load);

// Adds the edges of the reduction that reduce_to.aspen makes of that shape under this load.
void mlt_reduce_to_load_add(mlt_reduce_to_load *load, const mlt_coll_shape *shape);

typedef enum mlt_reduce_to_kind {
    MLT_REDUCE_TO_GIVE, // `to` combines what it gets with what it has
    MLT_REDUCE_TO_MEET, // both do
    MLT_REDUCE_TO_TELL, // `to` gets the result
} mlt_reduce_to_kind;

typedef struct mlt_reduce_to_edge {
    uint32_t from, to;
    mlt_reduce_to_kind kind;
} mlt_reduce_to_edge;

typedef struct mlt_reduce_to_plan {
    mlt_reduce_to_edge *edges; // in the order in which each rank does its own
    uint32_t count;
} mlt_reduce_to_plan;

// True if a set has a rank. NULL: it has all.
static inline bool mlt_reduce_to_has(const uint8_t *set, uint32_t rank)
{
    return !set || set[rank];
}

// The edges; free them. load NULL: none. If nobody contributes, or nobody receives, there are none.
mlt_reduce_to_plan mlt_reduce_to_plan_new(uint32_t ranks, const uint8_t *contributes,
                                          const uint8_t *receives, const mlt_reduce_to_load *load);
void mlt_reduce_to_plan_free(mlt_reduce_to_plan *plan);

// Adds the plan's edges to `load`.
void mlt_reduce_to_plan_count(const mlt_reduce_to_plan *plan, mlt_reduce_to_load *load);

// Adds to the program what the rank does of a plan, Aspen's or any other. The plan must have been made
// for the shape's contributors and receivers. A rank that combines two values puts that of the
// lower rank first; so a plan that combines only neighbours keeps the order of ranks.
void mlt_reduce_to_plan_emit(const mlt_reduce_to_plan *plan, const struct mlt_emit *e);

// mlt_coll_alg.refuses of these reductions: at least one rank must contribute.
const char *mlt_reduce_to_refuses(const mlt_coll_shape *shape);
