// SPDX-License-Identifier: BSD-3-Clause
// Algorithms for group operations: one file each, emitting GOAL for one rank, and one line each in
// the table. What an operation means and how its buffers are called: goal/spec.h.
//
// An algorithm knows nothing but the shape and its rank; all ranks emit alike. It declares its
// buffers (in, out, buf, and what it needs beside) and adds actions and dependencies. It may use
// any number of temporary buffers; their names begin with "tmp".
#ifndef MLT_COLL_ALG_ALG_H
#define MLT_COLL_ALG_ALG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "goal/program.h"
#include "goal/spec.h"

typedef struct mlt_coll_shape {
    uint32_t ranks, root;
    uint64_t count; // elements of a block
    mlt_op op;      // MLT_OPS: function 0 of the user's
    mlt_op_type type;
    uint32_t element; // bytes of an element; 0: as type says
    uint64_t segment; // elements of a piece, for pipelines; 0: the algorithm's own choice
    uint32_t radix;   // of trees, ways of a dissemination; 0: the algorithm's own choice
    uint32_t window;  // messages under way at once, where an algorithm limits them; 0: its choice
    bool in_place;    // spec.h; only for algorithms that can
    const uint64_t *starts; // [ranks + 1] where blocks begin that differ (spec.h), in elements;
                            // alltoall: weights. Only for algorithms that can; NULL: at r * count
    const uint8_t *contributes, *receives; // REDUCE_TO: [ranks]; NULL: all
    const mlt_goal_parts *parts; // EXCHANGE: for emit the list of its rank, which is all that it
                                 // knows; for mlt_coll_program and mlt_coll_spec [ranks]
    const void *user;            // the algorithm's own (mlt_coll_alg.user)
} mlt_coll_shape;

typedef struct mlt_coll_alg {
    mlt_collective collective;
    const char *name;      // "binomial": `bcast.binomial` for users
    const char *help;      // one line: what it is, when it wins
    bool in_order;         // reductions: operands in the order of ranks, so op need not commute
    bool canonical;        // reductions: brackets as in mlt_canonical (tree.h), whatever the counts
    bool in_place, uneven; // it can shape.in_place, shape.starts
    bool uses_segment, uses_radix, uses_window;
    const void *user; // becomes shape.user
    // NULL: any shape. Else why this shape is none for it, a static sentence; NULL: it is one.
    const char *(*refuses)(const mlt_coll_shape *shape);
    void (*emit)(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank);
} mlt_coll_alg;

// Whoever runs an algorithm wants its own rank's part only: then the program has one rank, this
// one, whatever the shape's number of ranks.
static inline uint32_t mlt_coll_slot(const mlt_goal_program *program, uint32_t rank)
{
    return program->ranks == 1 ? 0 : rank;
}

extern const mlt_coll_alg *const mlt_coll_algs[]; // ends with NULL

// By "bcast.binomial". On failure one sentence with the nearest names.
const mlt_coll_alg *mlt_coll_find(const char *name, char *why, size_t why_size);

// The program of all ranks. Of an exchange shape->parts has the list of each, and emit is called
// with a shape that points to the one of its rank. On failure one sentence. progress as in check.h.
mlt_status mlt_coll_program(const mlt_coll_alg *alg, const mlt_coll_shape *shape,
                            void (*progress)(void *user, double done), void *user,
                            mlt_goal_program **out, char *why, size_t why_size) MLT_MUST_CHECK;

// The operation that the algorithm of that shape must perform. It points to the shape's arrays.
mlt_goal_spec mlt_coll_spec(const mlt_coll_alg *alg, const mlt_coll_shape *shape);

#endif
