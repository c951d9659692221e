// SPDX-License-Identifier: BSD-3-Clause
// What a group operation is: which bytes it takes on which rank, and what must lie where
// afterwards. The checker proves programs against it, algorithms are built for it.
//
// n is the bytes of a block. Buffers are found by name on each rank.
//
//     collective      in            out           afterwards
//     barrier         -             -             nobody has finished before all have started
//     bcast           buf n         buf n         the root's buf everywhere
//     reduce          in n          out n         op over all ranks' in; out: at the root only
//     allreduce       in n          out n         the same everywhere
//     gather          in n          out P n       rank r's in as block r; out: at the root only
//     allgather       in n          out P n       the same everywhere
//     scatter         in P n        out n         block r of the root's in; in: at the root only
//     alltoall        in P n        out P n       block r of rank s is block s of rank r
//     reduce_scatter  in P n        out n         block r of the reduction on rank r
//     scan, exscan    in n          out n         op over ranks 0..r, or 0..r-1 (nothing on rank 0)
//
// In place: in and out may be the same span.
#ifndef MLT_GOAL_SPEC_H
#define MLT_GOAL_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "type/op.h"

#define MLT_COLLECTIVE_LIST(X)                                                                     \
    X(BARRIER, barrier)                                                                            \
    X(BCAST, bcast)                                                                                \
    X(REDUCE, reduce)                                                                              \
    X(ALLREDUCE, allreduce)                                                                        \
    X(GATHER, gather)                                                                              \
    X(ALLGATHER, allgather)                                                                        \
    X(SCATTER, scatter)                                                                            \
    X(ALLTOALL, alltoall)                                                                          \
    X(REDUCE_SCATTER, reduce_scatter)                                                              \
    X(SCAN, scan)                                                                                  \
    X(EXSCAN, exscan)

#define MLT_COLLECTIVE_ENUM(UPPER, lower) MLT_COLL_##UPPER,
typedef enum mlt_collective {
    MLT_COLLECTIVE_LIST(MLT_COLLECTIVE_ENUM) MLT_COLLECTIVES
} mlt_collective;
extern const char *const mlt_collective_names[MLT_COLLECTIVES]; // "bcast"

static inline bool mlt_collective_reduces(mlt_collective c)
{
    return c == MLT_COLL_REDUCE || c == MLT_COLL_ALLREDUCE || c == MLT_COLL_REDUCE_SCATTER ||
           c == MLT_COLL_SCAN || c == MLT_COLL_EXSCAN;
}

// The operation of a reduction: predefined, or function `user` of the user's (op MLT_OPS).
typedef struct mlt_goal_spec {
    mlt_collective collective;
    uint32_t root;
    uint64_t bytes; // n; 0: as large as the buffers say
    mlt_op op;      // MLT_OPS: the user's function
    mlt_op_type type;
    uint32_t user;
    bool commutes; // operands may come in any order (predefined ones all do; asking for less proves
                   // more)
    const char *in, *out; // "name", "name+offset", "offset"; NULL: as above, or for programs
                          // without named buffers MEMORY from 0 for both
} mlt_goal_spec;

#endif
