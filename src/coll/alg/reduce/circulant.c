// SPDX-License-Identifier: BSD-3-Clause
// Reduction over a circulant graph: the broadcast (bcast/circulant.c) backwards. A block that is
// sent on there comes in here, and is combined; what is received there goes out here. Each segment
// has its own tree, so the operation must commute.
#include <stdlib.h>

#include "coll/alg/alg_int.h"
#include "coll/alg/circulant.h"
#include "coll/alg/emit.h"
#include "coll/alg/operands.h"

typedef struct reduce_circulant_state {
    const mlt_emit *e;
    mlt_operands o;
    mlt_goal_span acc, tmp;
    uint32_t *last; // [blocks] what wrote it; NONE: one's own only
} reduce_circulant_state;

static void reduce_circulant_take(reduce_circulant_state *s, uint64_t block, uint32_t from)
{
    const mlt_emit *e = s->e;
    mlt_goal_span to = mlt_emit_segment(e, s->acc, block);
    if (s->last[block] == NONE && !s->o.in_place) {
        uint32_t recv = mlt_emit_recv(e, to, from, NONE);
        s->last[block] = mlt_emit_exec(e, to, mlt_emit_segment(e, s->o.in, block), recv);
        return;
    }
    mlt_goal_span at = mlt_emit_next(&s->tmp, to.size);
    s->last[block] = mlt_emit_after(e, mlt_emit_exec(e, to, at, mlt_emit_recv(e, at, from, NONE)),
                                    s->last[block]);
}

// Bytes that come, except those that go straight into the result, and whether something comes.
static uint64_t reduce_circulant_memory(const mlt_emit *e, const mlt_circulant *c, uint32_t v,
                                        uint64_t blocks, bool in_place, bool *any)
{
    uint64_t bytes = 0;
    uint32_t *seen = mlt_emit_actions((uint32_t)blocks);
    *any = false;
    for (uint64_t i = blocks - 1 + c->skip_count; i-- > 0;) {
        uint64_t give = mlt_circulant_at(c, e->ranks, v, blocks, i).send_block;
        if (give == UINT64_MAX)
            continue;
        *any = true;
        if (seen[give] != NONE || in_place)
            bytes += mlt_emit_segment(e, (mlt_goal_span){0}, give).size;
        seen[give] = 0;
    }
    free(seen);
    return bytes;
}

void mlt_alg_reduce_circulant(const mlt_emit *e)
{
    reduce_circulant_state s = {.e = e, .o = mlt_operands_begin(e, e->rank == e->shape->root)};
    uint64_t blocks = mlt_emit_segments(e);
    uint32_t v = mlt_emit_virtual(e);
    if (e->ranks == 1)
        mlt_operands_copy(e, &s.o);
    mlt_circulant c = mlt_circulant_of(e->ranks, v);
    if (!c.skip_count || !blocks)
        return;
    bool any;
    uint64_t bytes = reduce_circulant_memory(e, &c, v, blocks, s.o.in_place, &any);
    s.acc = s.o.out;
    if (v && any)
        s.acc = mlt_emit_buffer(e, "tmp_acc", e->n);
    s.tmp = mlt_emit_memory(e, bytes);
    s.last = mlt_emit_actions((uint32_t)blocks);
    for (uint64_t i = blocks - 1 + c.skip_count; i-- > 0;) {
        mlt_circulant_round r = mlt_circulant_at(&c, e->ranks, v, blocks, i);
        if (r.send_block != UINT64_MAX)
            reduce_circulant_take(&s, r.send_block, mlt_emit_real(e, r.to));
        if (r.recv_block == UINT64_MAX)
            continue;
        mlt_goal_span what = s.last[r.recv_block] == NONE ? s.o.in : s.acc;
        mlt_emit_send(e, mlt_emit_segment(e, what, r.recv_block), mlt_emit_real(e, r.from),
                      s.last[r.recv_block]);
    }
    free(s.last);
}
