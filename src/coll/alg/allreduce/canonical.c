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
#include "coll/alg/partial.h"
#include "coll/alg/tree.h"

// Joins the run [begin, begin + size), which the rank is in, with the tail of so many after it.
static void join_tail(mlt_partial *s, uint32_t begin, uint32_t size, uint32_t tail)
{
    const mlt_emit *e = s->e;
    uint32_t i = e->rank - begin, have = tail, send = NONE;
    while (2 * have <= i)
        have *= 2;
    mlt_goal_span at = mlt_emit_next(&s->tmp, e->n);
    uint32_t recv = mlt_emit_recv(e, at, i < tail ? begin + size + i : e->rank - have, NONE);
    if (i < tail)
        send = mlt_partial_send(s, begin + size + i);
    for (have = i < tail ? tail : 2 * have; have < size - i; have *= 2)
        mlt_emit_send(e, at, e->rank + have, recv);
    s->last = mlt_emit_after(e, mlt_emit_exec(e, s->acc, at, recv), send != NONE ? send : s->last);
}

void mlt_alg_allreduce_canonical(const mlt_emit *e)
{
    uint32_t rank = e->rank;
    mlt_operands o = mlt_operands_begin(e, true);
    if (mlt_operands_copy_if_alone(e, &o))
        return;
    uint32_t begin = 0, runs = 0, bit = 1u << (31 - __builtin_clz(e->ranks));
    for (; rank - begin >= bit || !(e->ranks & bit); bit /= 2) // the rank's run
        if (e->ranks & bit) {
            begin += bit;
            runs++;
        }
    uint32_t tail = e->ranks - begin - bit;
    mlt_partial s = mlt_partial_begin(e, &o);
    uint64_t slots = mlt_rounds(bit) + runs + (tail > 0) - s.empty;
    s.tmp = mlt_emit_memory(e, slots * e->n);
    for (uint32_t step = 1; step < bit; step *= 2)
        mlt_partial_exchange(&s, begin + ((rank - begin) ^ step));
    if (tail)
        join_tail(&s, begin, bit, tail);
    while (begin) { // the runs before, the nearest first
        uint32_t size = begin & -begin, tail_begin = begin;
        begin -= size;
        mlt_partial_exchange(&s, begin + (rank - tail_begin));
    }
}
