// SPDX-License-Identifier: BSD-3-Clause
// A rank map: which world rank is rank r of a group. A function where it can be one, a table only
// otherwise:
//
//     LINEAR  base + r * stride                                  the world, halves, every second
//     BLOCK   base + (r / length) * stride + r % length          blocks of neighbours, as in a grid
//     DENSE   world[r]
//
// A list of ranks has one form: LINEAR if that fits, else BLOCK if that fits, with parameters that
// the list determines. So maps are equal when their fields are. No world rank occurs twice in the
// map of a group; a list that the user gave may have repetitions until mlt_map_repeated was asked,
// and is DENSE if it has.
//
// Maps are immutable and counted, shared by the groups and communicators of a worker's ranks (only
// that worker's thread counts them). A million ranks with one communicator hold one map a worker.
// Tables are kept once, too: ranks of a worker that each name the same irregular group share one
// (mlt_maps), until the last of them gives it up.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/table.h"

typedef enum mlt_map_kind { MLT_MAP_LINEAR, MLT_MAP_BLOCK, MLT_MAP_DENSE } mlt_map_kind;

struct mlt_map_index; // map.c: from world rank to rank

// The DENSE maps of a worker that are shared, by their lists. Empty: all zero.
typedef struct mlt_maps {
    mlt_table all;
    struct mlt_map *recent; // found or added last; NULL: it went
} mlt_maps;

typedef struct mlt_map {
    uint32_t refs;
    uint32_t kind; // mlt_map_kind
    int32_t size;
    int32_t base, stride; // LINEAR, BLOCK; LINEAR of at most one rank: stride 1, of none: base 0
    int32_t length;       // BLOCK: 2 or more, less than size; else 1
    uint64_t hash;        // 0: not asked for yet (mlt_map_own_hash)
    struct mlt_map_index *index; // DENSE: made when first asked for
    mlt_maps *home;              // DENSE: where it is shared; NULL: it is not
    int32_t world[];             // DENSE: [size]
} mlt_map;

// All that return a map return one with one reference, the caller's, be it a new map or an old one
// that is held once more. They end the process when memory is out.

// stride may be negative; size 0 and 1: it does not matter.
mlt_map *mlt_map_new_linear(int32_t size, int32_t base, int32_t stride);
// Finds the rule behind the numbers, if there is one. O(size).
mlt_map *mlt_map_new(const int32_t *world, int32_t size);

// The same, but a table that is there already is not made again. O(size).
mlt_map *mlt_maps_get(mlt_maps *maps, const int32_t *world, int32_t size);
// The shared map that is equal to this one, whose reference is taken.
mlt_map *mlt_maps_share(mlt_maps *maps, mlt_map *map);
void mlt_maps_fini(mlt_maps *maps); // maps that live on are shared no longer

// A hash of its ranks, the same on all workers; never 0.
uint64_t mlt_map_own_hash(mlt_map *map);

mlt_map *mlt_map_hold(mlt_map *map); // returns it
void mlt_map_drop(mlt_map *map);     // NULL is allowed

static inline int32_t mlt_map_world(const mlt_map *map, int32_t rank)
{
    switch ((mlt_map_kind)map->kind) {
    case MLT_MAP_LINEAR:
        return map->base + rank * map->stride;
    case MLT_MAP_BLOCK:
        return map->base + rank / map->length * map->stride + rank % map->length;
    default:
        return map->world[rank];
    }
}

// The rank of a world rank; -1 if it is not in the map. Constant time (a DENSE map is indexed at
// the first call).
int32_t mlt_map_rank(mlt_map *map, int32_t world);

// mlt_map_world, for layers that know nothing of maps: `group` of mlt_run_place and the like.
int32_t mlt_map_member(const void *map, int32_t rank);

// For qsort and bsearch of ranks.
int mlt_map_by_rank(const void *a, const void *b);

// The place of the first entry that occurs earlier in the list, too; -1: all are different.
int32_t mlt_map_repeated(mlt_map *map);

// The same ranks in the same order. O(1) unless both are DENSE.
bool mlt_map_equal(const mlt_map *a, const mlt_map *b);
// The same ranks in any order. O(1) if both are LINEAR, else linear.
bool mlt_map_similar(mlt_map *a, mlt_map *b);

// ---- maps of maps: O(1) and without a table if the maps are LINEAR and the result is, mostly;
// else linear in the sizes of the arguments

// Rank r of the result is rank pick(r) of map: what MPI_Group_incl means. pick's entries must be
// ranks of map.
mlt_map *mlt_map_pick(mlt_map *map, mlt_map *pick);
// map without those of its ranks that are entries of `which`: what MPI_Group_excl means.
mlt_map *mlt_map_omit(mlt_map *map, mlt_map *which);
// a, then those of b that are not in a, in b's order.
mlt_map *mlt_map_union(mlt_map *a, mlt_map *b);
// Those of a that are in b, in a's order; those of a that are not.
mlt_map *mlt_map_intersection(mlt_map *a, mlt_map *b);
mlt_map *mlt_map_difference(mlt_map *a, mlt_map *b);
