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
//     reduce_to       in n          out n         op over the contributors' in; in: at contributors
//                                                 only, out: at receivers only
//     exchange        in            out           each receive of a rank's list holds what the
//                                                 sender's list says, other bytes what they held
//
// Blocks that differ (`starts`): block r of gather, allgather, scatter and reduce_scatter is
// elements [starts[r], starts[r + 1]); instead of P n there are starts[P]. alltoall: w(r) =
// starts[r + 1] - starts[r] is a weight; the block from r to s has w(r) w(s) n bytes and is in r's
// `in` at w(r) starts[s] n, in s's `out` at w(s) starts[r] n. starts[0] is 0.
//
// In place: what is not in its own buffer but lies where the result goes.
//
//     allreduce, scan, exscan   there is no in; out n holds it at first, and with exscan on rank 0
//                               afterwards too
//     reduce                    the same at the root; the others have in
//     allgather                 there is no in; block r of rank r's out holds it at first
//     gather                    the same at the root; the others have in
//     scatter                   the root has no out: its block stays where it is in `in`
//     all others                are not done in place
#pragma once

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
    X(EXSCAN, exscan)                                                                              \
    X(REDUCE_TO, reduce_to)                                                                        \
    X(EXCHANGE, exchange)

#define MLT_COLLECTIVE_ENUM(UPPER, lower) MLT_COLL_##UPPER,
typedef enum mlt_collective {
    MLT_COLLECTIVE_LIST(MLT_COLLECTIVE_ENUM) MLT_COLLECTIVES
} mlt_collective;
extern const char *const mlt_collective_names[MLT_COLLECTIVES]; // "bcast"

static inline bool mlt_collective_reduces(mlt_collective c)
{
    return c == MLT_COLL_REDUCE || c == MLT_COLL_ALLREDUCE || c == MLT_COLL_REDUCE_SCATTER ||
           c == MLT_COLL_SCAN || c == MLT_COLL_EXSCAN || c == MLT_COLL_REDUCE_TO;
}

static inline bool mlt_collective_has_root(mlt_collective c)
{
    return c == MLT_COLL_BCAST || c == MLT_COLL_REDUCE || c == MLT_COLL_GATHER ||
           c == MLT_COLL_SCATTER;
}

// EXCHANGE: one message of a rank's list. The n-th entry from A to B with a tag in A's sends meets
// the n-th such entry in B's receives.
typedef struct mlt_goal_message {
    uint32_t peer;
    int32_t tag;
    uint64_t at, bytes; // of `in`, of `out`
} mlt_goal_message;

typedef struct mlt_goal_messages { // of one rank
    const mlt_goal_message *send, *recv;
    uint32_t sends, recvs;
    uint64_t in, out; // bytes of the buffers
} mlt_goal_messages;

// The operation of a reduction: predefined, or function `user` of the user's (op MLT_OPS).
typedef struct mlt_goal_spec {
    mlt_collective collective;
    uint32_t root;
    uint64_t bytes; // n; 0: as large as the buffers say
    mlt_op op;      // MLT_OPS: the user's function
    mlt_op_type type;
    uint32_t user;
    uint32_t element; // bytes of what `starts` counts, and of what the user's function may not be
                      // cut within; 0: 1
    bool commutes; // operands may come in any order (predefined ones all do; asking for less proves
                   // more)
    bool in_place;
    // All these are the caller's, and must live as long as the spec is used.
    const uint64_t *starts;                // [ranks + 1] where the blocks begin; NULL: at r n
    const uint8_t *contributes, *receives; // REDUCE_TO: [ranks], not 0: the rank does; NULL: all do
    const mlt_goal_messages *parts;        // EXCHANGE: [ranks]
    const char *in, *out; // "name", "name+offset", "offset"; NULL: as above, or for programs
                          // without named buffers MEMORY from 0 for both
} mlt_goal_spec;
