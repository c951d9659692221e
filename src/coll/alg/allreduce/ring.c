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

static void allreduce(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank,
                      uint32_t parts)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    mlt_operands o = mlt_operands_begin(&e, true);
    if (e.ranks == 1) {
        mlt_operands_copy(&e, &o);
        return;
    }
    mlt_goal_span tmp = o.in_place ? mlt_emit_buffer(&e, "tmp", e.n) : (mlt_goal_span){0};
    ring *rings = mlt_take(parts, sizeof *rings);
    uint32_t *sent = mlt_emit_actions(parts * e.ranks);
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
            allreduce_ring_tell(&e, &rings[j], s);
    free(sent);
    free(rings);
}

static void emit_whole(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    allreduce(shape, program, rank, 1);
}

const mlt_coll_alg mlt_allreduce_ring = {
    .collective = MLT_COLL_ALLREDUCE,
    .name = "ring",
    .help = "2(P-1) steps between neighbours, the fewest bytes: long messages, not many ranks",
    .in_place = true,
    .emit = emit_whole,
};

static void emit_segmented(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    uint64_t piece = (shape->count + shape->ranks - 1) / shape->ranks;
    uint64_t segment = mlt_coll_segment(shape);
    uint64_t parts = piece / segment + (piece % segment != 0);
    allreduce(shape, program, rank, parts ? (uint32_t)parts : 1);
}

static const char *allreduce_ring_refuses(const mlt_coll_shape *shape)
{
    // Pieces are counted in 32 bits.
    return shape->count / mlt_coll_segment(shape) + shape->ranks >= UINT32_MAX
               ? "there are more segments than it can count"
               : NULL;
}

const mlt_coll_alg mlt_allreduce_ring_segmented = {
    .collective = MLT_COLL_ALLREDUCE,
    .name = "ring_segmented",
    .help = "the ring with pieces in segments: reduces while it receives: very long messages",
    .in_place = true,
    .uses_segment = true,
    .refuses = allreduce_ring_refuses,
    .emit = emit_segmented,
};
