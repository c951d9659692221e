// SPDX-License-Identifier: BSD-3-Clause
// Wrappers of the user's that change what passes along a path (path.h): `map` maps the elements of
// operands and results, `drop` leaves out what a rank or a worker brings, `op` combines in another
// way. Their functions are a rule book's.
//
//     rank       map, drop: what a rank brings, before it joins; what it gets, before it goes on
//       |
//     combine    op, if it comes before
//       |
//     worker     map, drop: what its ranks have combined (reduce, allreduce)
//       |
//     schedule   op
//
// A wrapper changes results unless it says that it is neutral, which is proven on small groups
// before a rank starts (lua/neutral.c). A function that fails ends the job with a message. Calls on
// intercommunicators, and lists of messages, pass these wrappers by. Nothing here suspends.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "coll/team_data.h"

// A call, as functions of a rule book see it.
typedef struct mlt_coll_passing {
    const char *name;   // of the communicator
    uint8_t collective; // mlt_collective
    bool worker;        // after `combine`
    uint32_t rank;      // in the communicator; of a worker the lowest of its ranks
    uint32_t ranks, root;
    uint64_t bytes; // of the block or blocks that pass
} mlt_coll_passing;

typedef enum mlt_alter_side { MLT_ALTER_OPERAND, MLT_ALTER_RESULT } mlt_alter_side;

// The path has a wrapper of this file; changes: one that is not neutral.
bool mlt_alters(const mlt_coll_stage *stages, uint32_t count, bool *changes);

static inline bool mlt_alter_is(const mlt_coll_stage *stage)
{
    return stage->wrapper == MLT_WRAP_MAP || stage->wrapper == MLT_WRAP_DROP ||
           stage->wrapper == MLT_WRAP_OP;
}

// What a rank of so many brings to a call or gets from it: false if nothing. in, out: its buffers,
// as mlt_team_join has them.
bool mlt_alter_region(const mlt_coll_what *what, uint32_t ranks, uint32_t rank, mlt_alter_side side,
                      const void *in, void *out, unsigned char **at, uint64_t *bytes);

// What the call says its elements are; MLT_OP_TYPES: nothing.
mlt_op_type mlt_alter_told(const mlt_coll_what *what);
// How a stage takes the elements of a call. MLT_OP_TYPES: nobody says.
mlt_op_type mlt_alter_type(const mlt_coll_stage *stage, const mlt_coll_what *what);

// What a drop fills in (stage->filled), as an element: false, and a message, if the type has no such
// number.
bool mlt_alter_fill(const mlt_coll_stage *stage, mlt_op_type type, unsigned char to[8], char *why,
                    size_t why_size) MLT_MUST_CHECK;

// Runs a map or a drop over that memory. op: of the call; NULL: none. False: a message.
bool mlt_alter_data(mlt_coll_rulebook *rulebook, const mlt_coll_stage *stage, mlt_alter_side side,
                    const mlt_coll_passing *passing, mlt_op_type type, const mlt_coll_op *op,
                    void *data, uint64_t bytes, char *why, size_t why_size) MLT_MUST_CHECK;

// The operation of an `op`; one for each type, in memory that outlives the calls.
typedef struct mlt_alter_op {
    mlt_coll_rulebook *rulebook;
    const mlt_coll_stage *stage;
    const char *by;
    mlt_op_type type;
} mlt_alter_op;

// The stage speaks of the call's operation.
bool mlt_alter_op_fits(const mlt_coll_stage *stage, const mlt_coll_op *op);
void mlt_alter_op_make(mlt_coll_op *out, const mlt_alter_op *by);
