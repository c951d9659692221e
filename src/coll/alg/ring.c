// SPDX-License-Identifier: BSD-3-Clause
#include "coll/alg/ring.h"

#include <stdlib.h>

#include "base/log.h"
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

static void tell(const mlt_emit *e, ring *r, uint32_t s)
{
    mlt_emit_send(e, r->have, r->next, r->last);
    r->have = piece_of(e, r, r->o.out, mlt_emit_down(e, e->rank, s));
    // What comes back must have left the result before; the first was sent from `in`.
    r->last =
        mlt_emit_recv(e, r->have, r->before, s || r->o.in_place ? r->sent[s] : (uint32_t)NONE);
}

void mlt_ring_allreduce(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank,
                        uint32_t parts)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    mlt_operands o = mlt_operands_begin(&e, true);
    if (e.ranks == 1) {
        mlt_operands_copy(&e, &o);
        return;
    }
    mlt_goal_span tmp = o.in_place ? mlt_emit_buffer(&e, "tmp", e.n) : (mlt_goal_span){0};
    ring *rings = calloc(parts, sizeof *rings);
    uint32_t *sent = mlt_emit_actions(parts * e.ranks);
    if (!rings)
        mlt_fatal("no memory to emit an algorithm");
    for (uint32_t j = 0; j < parts; j++) {
        rings[j] =
            (ring){parts, j,    mlt_emit_up(&e, rank, 1),    mlt_emit_down(&e, rank, 1), o, tmp,
                   {0},   NONE, sent + (uint64_t)j * e.ranks};
        rings[j].have = piece_of(&e, &rings[j], o.in, rank);
    }
    for (uint32_t s = 0; s + 1 < e.ranks; s++)
        for (uint32_t j = 0; j < parts; j++)
            collect(&e, &rings[j], s);
    for (uint32_t s = 0; s + 1 < e.ranks; s++)
        for (uint32_t j = 0; j < parts; j++)
            tell(&e, &rings[j], s);
    free(sent);
    free(rings);
}
