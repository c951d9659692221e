// SPDX-License-Identifier: BSD-3-Clause
#include "coll/alg/canonical.h"

#include <stdlib.h>

#include "base/memory.h"
#include "coll/alg/tree.h"

typedef struct
    alg_canonical_blocks { // by the first operand of a range: where its value is and what wrote it
    mlt_goal_span *at;
    uint32_t *done;
    uint32_t sends; // of one's own, that come before the result is written in place: [first, sends)
    uint32_t first;
} alg_canonical_blocks;

// The first operand of the range that one's own is combined with first.
static uint32_t first_sibling(uint32_t own, uint32_t count)
{
    for (uint32_t step = 1;; step *= 2) {
        uint32_t other = (own & ~(step - 1)) ^ step;
        if (other < count)
            return other;
    }
}

// Joins the ranges at left and right. One's own is in the result, or not yet.
static void alg_canonical_join(const mlt_emit *e, const mlt_operands *o, alg_canonical_blocks *b,
                               uint32_t left, uint32_t right, uint32_t own)
{
    if (own != left && own != right) {
        b->done[left] = mlt_emit_after(
            e, mlt_emit_exec(e, b->at[left], b->at[right], b->done[left]), b->done[right]);
        return;
    }
    uint32_t other = own == left ? right : left, exec;
    if (b->at[other].buf == o->out.buf) { // it is in the result, one's own in `in`
        exec = mlt_emit_combine(e, own == left, o->out, o->in, b->done[other]);
    } else {
        exec = mlt_emit_combine(e, own != left, o->out, b->at[other], b->done[other]);
        mlt_emit_after(e, exec, b->done[own]);
        for (; b->first < b->sends; b->first++)
            mlt_emit_after(e, exec, b->first);
    }
    b->at[left] = o->out;
    b->done[left] = exec;
}

uint32_t mlt_canonical_combine(const mlt_emit *e, const mlt_operands *o, const uint32_t *from,
                               uint32_t count, uint32_t own, bool share)
{
    uint32_t first = first_sibling(own, count), slots = count - 1 - !o->in_place, sent = NONE;
    mlt_goal_span tmp = mlt_emit_memory(e, slots * e->n);
    alg_canonical_blocks b = {.at = mlt_xcalloc(count, sizeof *b.at),
                              .done = mlt_emit_actions(count)};
    for (uint32_t by = 1; by < count && share; by++) {
        uint32_t send = mlt_emit_send(e, o->in, from[(own + by) % count], NONE);
        sent = sent == NONE ? send : sent;
    }
    if (o->in_place && sent != NONE) {
        b.first = sent; // they follow each other
        b.sends = sent + count - 1;
    }
    for (uint32_t by = 1; by < count; by++) {
        uint32_t i = by <= own ? own - by : own + count - by;
        b.at[i] = mlt_emit_part(tmp, 0, e->n);
        if (i == first && !o->in_place)
            b.at[i] = o->out;
        else
            tmp.at += e->n;
        b.done[i] = mlt_emit_recv(e, b.at[i], from[i], NONE);
    }
    for (uint32_t step = 1; step < count; step *= 2)
        for (uint32_t left = 0; left + step < count; left += 2 * step)
            alg_canonical_join(e, o, &b, left, left + step, own & ~(step - 1));
    uint32_t last = b.done[0];
    free(b.at);
    free(b.done);
    return last;
}
