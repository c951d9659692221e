// SPDX-License-Identifier: BSD-3-Clause
// Allreduce, ring: the block is cut into P pieces. Each goes round once to collect, and once more
// to tell. A rank receives a piece straight into the result and adds its own to it; so no other
// memory is needed, except in place.
//
// The segmented ring cuts pieces into parts, each of which goes its own way: one part is reduced
// while the next is under way.
#include <stdlib.h>

#include "base/memory.h"
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"
#include "coll/alg/operands.h"

typedef struct ring { // of one part of each piece
    uint32_t parts, part, next, before;
    mlt_operands o;
    mlt_goal_span tmp, have; // tmp: in place
    uint32_t last, *sent;    // [P]
} ring;

static mlt_goal_span piece_of(const mlt_emit *e, const ring *r, mlt_goal_span block, uint32_t piece)
{
    uint32_t at = piece * r->parts + r->part;
    return mlt_emit_pieces(e, block, e->ranks * r->parts, at, at + 1);
}

static void collect(const mlt_emit *e, ring *r, uint32_t s)
{
    uint32_t piece = mlt_emit_down(e, r->before, s);
    mlt_goal_span at = piece_of(e, r, r->o.out, piece);
    r->sent[s] = mlt_emit_send(e, r->have, r->next, r->last);
    if (r->o.in_place) {
        mlt_goal_span come = piece_of(e, r, r->tmp, piece);
        r->last = mlt_emit_exec_reversed(e, at, come, mlt_emit_recv(e, come, r->before, NONE));
    } else {
        uint32_t recv = mlt_emit_recv(e, at, r->before, NONE);
        r->last = mlt_emit_exec(e, at, piece_of(e, r, r->o.in, piece), recv);
    }
    r->have = at;
}

static void allreduce_ring_tell(const mlt_emit *e, ring *r, uint32_t s)
{
    mlt_emit_send(e, r->have, r->next, r->last);
    r->have = piece_of(e, r, r->o.out, mlt_emit_down(e, e->rank, s));
    // What comes back must have left the result before; the first was sent from `in`.
    r->last =
        mlt_emit_recv(e, r->have, r->before, s || r->o.in_place ? r->sent[s] : (uint32_t)NONE);
}

// Parts of a piece.
static uint32_t parts_of(const mlt_emit *e)
{
    uint64_t piece = (e->shape->count + e->ranks - 1) / e->ranks;
    uint64_t segment = mlt_coll_segment(e->shape), parts = piece / segment + (piece % segment != 0);
    return e->alg->uses_segment && parts ? (uint32_t)parts : 1;
}

void mlt_alg_allreduce_ring(const mlt_emit *e)
{
    uint32_t parts = parts_of(e);
    mlt_operands o = mlt_operands_begin(e, true);
    if (mlt_operands_copy_if_alone(e, &o))
        return;
    mlt_goal_span tmp = mlt_emit_memory(e, o.in_place ? e->n : 0);
    ring *rings = mlt_xcalloc(parts, sizeof *rings);
    uint32_t *sent = mlt_emit_actions(parts * e->ranks);
    for (uint32_t j = 0; j < parts; j++) {
        rings[j] =
            (ring){parts, j,    mlt_emit_up(e, e->rank, 1),   mlt_emit_down(e, e->rank, 1), o, tmp,
                   {0},   NONE, sent + (uint64_t)j * e->ranks};
        rings[j].have = piece_of(e, &rings[j], o.in, e->rank);
    }
    for (uint32_t s = 0; s + 1 < e->ranks; s++)
        for (uint32_t j = 0; j < parts; j++)
            collect(e, &rings[j], s);
    for (uint32_t s = 0; s + 1 < e->ranks; s++)
        for (uint32_t j = 0; j < parts; j++)
            allreduce_ring_tell(e, &rings[j], s);
    free(sent);
    free(rings);
}

const char *mlt_alg_allreduce_ring_refuses(const mlt_coll_shape *shape)
{
    // Pieces are counted in 32 bits.
    return shape->count / mlt_coll_segment(shape) + shape->ranks >= UINT32_MAX
               ? "there are more segments than it can count"
               : NULL;
}
