// SPDX-License-Identifier: BSD-3-Clause
// Algorithms for group operations. Each emits GOAL for one rank and is one line in the table
// (alg_int.h). goal/spec.h says what an operation means and what its buffers are called.
//
// An algorithm knows nothing but the shape and its rank; all ranks emit alike. It declares its
// buffers (in, out, buf) and any number of temporary ones, whose names begin with "tmp", and adds
// actions and dependencies.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "goal/program.h"
#include "goal/spec.h"

struct mlt_coll_hosts;
struct mlt_emit;
struct mlt_tree_shape;

// What the brackets of a reduction must keep. An algorithm over hosts (uses_hosts) keeps as much as
// it is asked for, or refuses; others have it from `in_order` and `canonical`.
typedef enum mlt_coll_keep {
    MLT_KEEP_NOTHING,  // operands may come in any order
    MLT_KEEP_ORDER,    // the order of ranks
    MLT_KEEP_BRACKETS, // those of reproducible reductions (tree.h)
} mlt_coll_keep;

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
    const mlt_goal_messages *parts; // EXCHANGE: for emit the list of its rank, which is all that it
                                    // knows; for mlt_coll_program and mlt_coll_spec [ranks]
    const struct mlt_coll_hosts *hosts; // hosts/map.h: where the ranks are; NULL: on one host
    uint32_t center;  // 1 and the host on which a stage between hosts combines; 0: no matter
    uint8_t keep;     // mlt_coll_keep
    const void *user; // the algorithm's own (mlt_coll_alg.user)
} mlt_coll_shape;

typedef struct mlt_coll_alg {
    mlt_collective collective;
    const char *name;      // "binomial": `bcast.binomial` for users
    const char *help;      // one line: what it is, when it wins
    bool in_order;         // reductions: operands in the order of ranks, so op need not commute
    bool canonical;        // reductions: brackets by mlt_canonical_split (tree.h) for any count
    bool in_place, uneven; // it can shape.in_place, shape.starts
    bool uses_segment, uses_radix, uses_window;
    bool uses_hosts;                   // it needs shape.hosts, and keeps what shape.keep says
    const void *user;                  // becomes shape.user
    const struct mlt_tree_shape *tree; // that it goes along; NULL: none (pipe.h)
    // NULL: it takes any shape. Else returns why it refuses this one, a static text, or NULL.
    const char *(*refuses)(const mlt_coll_shape *shape);
    void (*emit)(const struct mlt_emit *e);
} mlt_coll_alg;

// Adds to the program what the rank does.
void mlt_coll_emit(const mlt_coll_alg *alg, const mlt_coll_shape *shape, mlt_goal_program *program,
                   uint32_t rank);

// True if the algorithm keeps the operands of that shape in the order of ranks.
static inline bool mlt_coll_keeps_order(const mlt_coll_alg *alg, const mlt_coll_shape *shape)
{
    return alg->in_order && (!alg->uses_hosts || shape->keep != MLT_KEEP_NOTHING);
}

// The slot of a rank in the program. To run an algorithm, only the caller's own rank is emitted:
// then the program has one rank, this one, whatever the shape's number of ranks.
static inline uint32_t mlt_coll_slot(const mlt_goal_program *program, uint32_t rank)
{
    return program->ranks == 1 ? 0 : rank;
}

extern const mlt_coll_alg *const mlt_coll_algs[]; // ends with NULL

// By "bcast.binomial". On failure an error message with the nearest names.
const mlt_coll_alg *mlt_coll_find(const char *name, char *why, size_t why_size);

// The program of all ranks. For an exchange, shape->parts has the list of each, and emit is called
// with a shape that points to the list of its rank. On failure an error message. progress: called
// now and then with the part that is done, 0 to 1; may be NULL.
mlt_status mlt_coll_program(const mlt_coll_alg *alg, const mlt_coll_shape *shape,
                            void (*progress)(void *user, double done), void *user,
                            mlt_goal_program **out, char *why, size_t why_size) MLT_MUST_CHECK;

// The operation that the algorithm of that shape must perform. It points to the shape's arrays.
mlt_goal_spec mlt_coll_spec(const mlt_coll_alg *alg, const mlt_coll_shape *shape);
