// SPDX-License-Identifier: BSD-3-Clause
// What a rank has of a reduction so far. At first that is its own operand, in `in`; the first one
// that comes goes straight into `acc`, if nothing is there, and later ones wait in `tmp`.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "coll/alg/emit.h"
#include "coll/alg/operands.h"

typedef struct mlt_partial {
    const mlt_emit *e;
    mlt_goal_span in, acc, tmp;
    bool empty;    // acc: one's own is in `in`
    uint32_t last; // what wrote acc
} mlt_partial;

// The result is built where it belongs; the caller gives it memory.
static inline mlt_partial mlt_partial_begin(const mlt_emit *e, const mlt_operands *o)
{
    return (mlt_partial){.e = e, .in = o->in, .acc = o->out, .empty = !o->in_place, .last = NONE};
}

// Sends what is there.
static inline uint32_t mlt_partial_send(const mlt_partial *p, uint32_t to)
{
    return mlt_emit_send(p->e, p->empty ? p->in : p->acc, to, p->last);
}

// Combines what a rank sends with what is there, the lower rank's first. sent: what acc was sent
// by, if that was after it was written.
void mlt_partial_take(mlt_partial *p, uint32_t from, uint32_t sent);

// Both give what they have and combine.
void mlt_partial_exchange(mlt_partial *p, uint32_t other);
