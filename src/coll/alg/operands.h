// SPDX-License-Identifier: BSD-3-Clause
// The buffers of reductions, in place or not. In place `in` is `out`: what comes must then go
// elsewhere before it is combined, and what is sent must have gone before the result is written.
#pragma once

#include <stdbool.h>

#include "coll/alg/emit.h"

typedef struct mlt_operands {
    mlt_goal_span in, out; // out: only where there is a result
    bool in_place;         // on this rank
} mlt_operands;

// reduce: result at the root. The others: everywhere.
static inline mlt_operands mlt_operands_begin(const mlt_emit *e, bool result)
{
    mlt_operands o = {.in_place = e->shape->in_place && result};
    if (!o.in_place)
        o.in = mlt_emit_buffer(e, "in", e->n);
    if (result)
        o.out = mlt_emit_buffer(e, "out", e->n);
    if (o.in_place)
        o.in = o.out;
    return o;
}

// The result of a single operand.
static inline uint32_t mlt_operands_copy(const mlt_emit *e, const mlt_operands *o)
{
    return o->in_place ? (uint32_t)NONE : mlt_emit_copy(e, o->out, o->in, NONE);
}

// True if there is only one rank; then the result is made.
static inline bool mlt_operands_copy_if_alone(const mlt_emit *e, const mlt_operands *o)
{
    if (e->ranks == 1)
        mlt_operands_copy(e, o);
    return e->ranks == 1;
}
