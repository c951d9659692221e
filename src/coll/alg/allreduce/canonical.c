// SPDX-License-Identifier: BSD-3-Clause
// Allreduce, recursive doubling in canonical brackets, any P. Ranks are cut into runs by the bits
// of P, the longest first; P = 7: 0-3, 4-5, 6. Each run, a power of two, does recursive doubling.
// Then from the right each is joined with the tail after it, the runs to its right, which is
// shorter: the i-th rank of the run and the i-th of the tail exchange; those of the run that have
// no partner get the tail's value from those that have it, whose number doubles. For powers of two
// there is no tail.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"
#include "coll/alg/operands.h"
#include "coll/alg/tree.h"

typedef struct allreduce_canonical_state {
    const mlt_emit *e;
    mlt_operands o;
    bool empty; // the result: one's own is in `in`
    uint32_t last;
    mlt_goal_span tmp;
} allreduce_canonical_state;

// Both give what they have and combine, the lower rank's first.
static void allreduce_canonical_exchange(allreduce_canonical_state *s, uint32_t other)
{
    const mlt_emit *e = s->e;
    bool lower = other < e->rank;
    mlt_goal_span at = s->empty ? s->o.out : mlt_emit_next(&s->tmp, e->n);
    uint32_t recv = mlt_emit_recv(e, at, other, NONE);
    uint32_t send = mlt_emit_send(e, s->empty ? s->o.in : s->o.out, other, s->last);
    s->last = (lower == s->empty ? mlt_emit_exec : mlt_emit_exec_reversed)(
        e, s->o.out, s->empty ? s->o.in : at, recv);
    if (!s->empty)
        mlt_emit_after(e, s->last, send);
    s->empty = false;
}

// Joins the run [begin, begin + size), which the rank is in, with the tail of so many after it.
static void join_tail(allreduce_canonical_state *s, uint32_t begin, uint32_t size, uint32_t tail)
{
    const mlt_emit *e = s->e;
    uint32_t i = e->rank - begin, have = tail, send = NONE;
    while (2 * have <= i)
        have *= 2;
    mlt_goal_span at = mlt_emit_next(&s->tmp, e->n);
    uint32_t recv = mlt_emit_recv(e, at, i < tail ? begin + size + i : e->rank - have, NONE);
    if (i < tail)
        send = mlt_emit_send(e, s->empty ? s->o.in : s->o.out, begin + size + i, s->last);
    for (have = i < tail ? tail : 2 * have; have < size - i; have *= 2)
        mlt_emit_send(e, at, e->rank + have, recv);
    uint32_t exec = mlt_emit_exec(e, s->o.out, at, recv);
    mlt_emit_after(e, exec, send != NONE ? send : s->last);
    s->last = exec;
}

void mlt_alg_allreduce_canonical(const mlt_emit *e)
{
    uint32_t rank = e->rank;
    allreduce_canonical_state s = {.e = e, .o = mlt_operands_begin(e, true), .last = NONE};
    if (mlt_operands_alone(e, &s.o))
        return;
    uint32_t begin = 0, runs = 0, bit = 1u << (31 - __builtin_clz(e->ranks));
    for (; rank - begin >= bit || !(e->ranks & bit); bit /= 2) // the rank's run
        if (e->ranks & bit) {
            begin += bit;
            runs++;
        }
    uint32_t tail = e->ranks - begin - bit;
    s.empty = !s.o.in_place;
    uint64_t slots = mlt_rounds(bit) + runs + (tail > 0) - s.empty;
    s.tmp = mlt_emit_memory(e, slots * e->n);
    for (uint32_t step = 1; step < bit; step *= 2)
        allreduce_canonical_exchange(&s, begin + ((rank - begin) ^ step));
    if (tail)
        join_tail(&s, begin, bit, tail);
    while (begin) { // the runs before, the nearest first
        uint32_t size = begin & -begin, tail_begin = begin;
        begin -= size;
        allreduce_canonical_exchange(&s, begin + (rank - tail_begin));
    }
}
