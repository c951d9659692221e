// SPDX-License-Identifier: BSD-3-Clause
// Allreduce over a circulant graph: reduce-scatter and allgather, 2 ceil(log2 P) rounds and the
// fewest bytes for any P (J. L. Träff). The block is cut into P pieces; number i of a rank is piece
// rank + i, modulo P. With the skips of circulant.h, from the largest: a rank that still reduces
// numbers [0, wide) sends [skip, wide) to rank + skip, for which they are [0, wide - skip). In the
// end it has number 0, its piece. Then the same way back with results. As pieces go around, each is
// reduced in another order; the operation must commute.
//
// Where the pieces wrap around, numbers are cut in two parts, whose memory is apart: each has its
// own messages and dependencies.
#include "coll/alg/circulant.h"
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"
#include "coll/alg/operands.h"

enum { ROUNDS = 32 };

typedef struct range { // of numbers
    uint32_t low, high;
} range;

typedef struct allreduce_circulant_part {
    range all;
    uint32_t sent[ROUNDS], exec[ROUNDS]; // by k
    uint32_t copy;                       // of the one number that does not come in the first round
} allreduce_circulant_part;

typedef struct allreduce_circulant_state {
    const mlt_emit *e;
    mlt_operands o;
    mlt_circulant c;
    mlt_goal_span tmp;
} allreduce_circulant_state;

static range common(range a, range b)
{
    range r = {a.low > b.low ? a.low : b.low, a.high < b.high ? a.high : b.high};
    return r.low < r.high ? r : (range){0, 0};
}

// Numbers of one part are neighbours in memory.
static mlt_goal_span numbers(const allreduce_circulant_state *s, mlt_goal_span block, range r)
{
    uint32_t at = mlt_emit_up(s->e, s->e->rank, r.low);
    return mlt_emit_pieces(s->e, block, s->e->ranks, at, at + (r.high - r.low));
}

static range sent_in(const allreduce_circulant_state *s, const allreduce_circulant_part *p,
                     uint32_t k)
{
    return common(p->all, (range){s->c.skip[k], s->c.skip[k + 1]});
}

static range come_in(const allreduce_circulant_state *s, const allreduce_circulant_part *p,
                     uint32_t k)
{
    return common(p->all, (range){0, s->c.skip[k + 1] - s->c.skip[k]});
}

// The round whose reduction wrote a number last, among those from k on; NONE: none.
static uint32_t writer(const allreduce_circulant_state *s, const allreduce_circulant_part *p,
                       uint32_t number, uint32_t k)
{
    for (; k < s->c.skip_count; k++)
        if (number < s->c.skip[k + 1] - s->c.skip[k])
            return p->exec[k];
    return NONE;
}

static void allreduce_circulant_halve(allreduce_circulant_state *s, allreduce_circulant_part *p,
                                      uint32_t k)
{
    const mlt_emit *e = s->e;
    uint32_t skip = s->c.skip[k];
    bool first = k + 1 == s->c.skip_count && !s->o.in_place;
    range out = sent_in(s, p, k), in = come_in(s, p, k);
    if (out.high) {
        p->sent[k] = mlt_emit_send(e, numbers(s, first ? s->o.in : s->o.out, out),
                                   mlt_emit_up(e, e->rank, skip), writer(s, p, out.low, k + 1));
        if (k + 2 == s->c.skip_count && out.high == s->c.skip[k + 1])
            mlt_emit_after(e, p->sent[k], p->copy);
    }
    if (!in.high)
        return;
    mlt_goal_span to = numbers(s, s->o.out, in), at = to;
    if (!first) {
        at = mlt_emit_part(s->tmp, 0, to.size);
        s->tmp.at += to.size;
    }
    uint32_t recv = mlt_emit_recv(e, at, mlt_emit_down(e, e->rank, skip), NONE);
    p->exec[k] = mlt_emit_exec(e, to, first ? numbers(s, s->o.in, in) : at, recv);
    if (!first)
        mlt_emit_after(e, p->exec[k], writer(s, p, in.low, k + 1));
}

// The way back: what waits to be sent on.
typedef struct pending {
    uint32_t action, low;
} pending;

static void allreduce_circulant_tell(const allreduce_circulant_state *s,
                                     const allreduce_circulant_part *p)
{
    const mlt_emit *e = s->e;
    pending wait[ROUNDS + 1];
    uint32_t count = 0, sent = NONE;
    if (!p->all.low)
        wait[count++] = (pending){p->exec[0], 0};
    for (uint32_t k = 0; k < s->c.skip_count; k++) {
        uint32_t skip = s->c.skip[k], left = 0;
        range out = come_in(s, p, k), in = sent_in(s, p, k);
        if (out.high) {
            uint32_t send =
                mlt_emit_send(e, numbers(s, s->o.out, out), mlt_emit_down(e, e->rank, skip), sent);
            for (uint32_t i = 0; i < count; i++) {
                if (wait[i].low < out.high)
                    mlt_emit_after(e, send, wait[i].action);
                else
                    wait[left++] = wait[i];
            }
            count = left;
            sent = send;
        }
        if (in.high) {
            bool from_in = k + 1 == s->c.skip_count && !s->o.in_place;
            uint32_t recv =
                mlt_emit_recv(e, numbers(s, s->o.out, in), mlt_emit_up(e, e->rank, skip),
                              from_in ? (uint32_t)NONE : p->sent[k]);
            wait[count++] = (pending){recv, in.low};
        }
    }
}

static uint64_t allreduce_circulant_memory(const allreduce_circulant_state *s,
                                           const allreduce_circulant_part p[2])
{
    uint64_t bytes = 0;
    for (uint32_t k = s->c.skip_count - !s->o.in_place; k-- > 0;)
        for (int i = 0; i < 2; i++) {
            range in = come_in(s, &p[i], k);
            bytes += in.high ? numbers(s, s->o.out, in).size : 0;
        }
    return bytes;
}

void mlt_alg_allreduce_circulant(const mlt_emit *e)
{
    allreduce_circulant_state s = {
        .e = e, .o = mlt_operands_begin(e, true), .c = mlt_circulant_skips(e->ranks)};
    if (mlt_operands_copy_if_alone(e, &s.o))
        return;
    allreduce_circulant_part p[2] = {{.all = {0, e->ranks - e->rank}},
                                     {.all = {e->ranks - e->rank, e->ranks}}};
    uint64_t bytes = allreduce_circulant_memory(&s, p);
    s.tmp = mlt_emit_memory(e, bytes);
    uint32_t half = s.c.skip[s.c.skip_count - 1];
    for (int i = 0; i < 2; i++) {
        for (uint32_t k = 0; k < ROUNDS; k++)
            p[i].sent[k] = p[i].exec[k] = NONE;
        // If P is odd, one number is neither sent nor received in the first round.
        range alone = common(p[i].all, (range){half - 1, half});
        p[i].copy = NONE;
        if (e->ranks % 2 && alone.high && !s.o.in_place)
            p[i].copy =
                mlt_emit_copy(e, numbers(&s, s.o.out, alone), numbers(&s, s.o.in, alone), NONE);
    }
    for (uint32_t k = s.c.skip_count; k-- > 0;)
        for (int i = 0; i < 2; i++)
            allreduce_circulant_halve(&s, &p[i], k);
    for (int i = 0; i < 2; i++)
        allreduce_circulant_tell(&s, &p[i]);
}
