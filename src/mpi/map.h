// SPDX-License-Identifier: BSD-3-Clause
// A rank map: which world rank is rank r of a group. A function where it can be one, a table only
// otherwise:
//
//     LINEAR  base + r * stride                                  the world, halves, every second
//     BLOCK   base + (r / length) * stride + r % length          blocks of neighbours, as in a grid
//     DENSE   world[r]
//
// Maps are immutable and counted, shared by the groups and communicators of a worker's ranks (only
// that worker's thread counts them). A million ranks with one communicator hold one map a worker.
#ifndef MLT_MPI_MAP_H
#define MLT_MPI_MAP_H

#include <stdbool.h>
#include <stdint.h>

typedef enum mlt_map_kind { MLT_MAP_LINEAR, MLT_MAP_BLOCK, MLT_MAP_DENSE } mlt_map_kind;

struct mlt_map_index; // map.c: from world rank to rank

typedef struct mlt_map {
    uint32_t refs;
    uint32_t kind; // mlt_map_kind
    int32_t size;
    int32_t base, stride, length;
    struct mlt_map_index *index; // DENSE: made when first asked for
    int32_t world[];             // DENSE: [size]
} mlt_map;

// Each returns a map with one reference, the caller's. They end the process when memory is
// exhausted.
mlt_map *mlt_map_new_linear(int32_t size, int32_t base, int32_t stride);
// Finds the rule behind the numbers, if there is one. O(size).
mlt_map *mlt_map_new(const int32_t *world, int32_t size);

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

// The same ranks in the same order. O(1) unless both are DENSE.
bool mlt_map_equal(const mlt_map *a, const mlt_map *b);
// The same ranks in any order. Near linear.
bool mlt_map_similar(mlt_map *a, mlt_map *b);

#endif
