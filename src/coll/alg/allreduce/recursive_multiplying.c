// SPDX-License-Identifier: BSD-3-Clause
// Allreduce, recursive multiplying: as recursive doubling, but in each round up to k ranks tell
// each other. The rounds' widths are k as long as it goes, then what is left; ranks beyond their
// product fold into the rank before. Everybody reduces what came in the order of ranks, from the
// left, so all get the same bits.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"
#include "coll/alg/operands.h"
#include "coll/alg/partial.h"
#include "coll/alg/tree.h"

typedef struct recursive_multiplying_plan {
    uint32_t rounds, width[32];
    uint32_t stay, rest; // ranks that stay, of which the first `rest` have one folded into them
} recursive_multiplying_plan;

static recursive_multiplying_plan recursive_multiplying_plan_of(uint32_t ranks, uint32_t radix)
{
    recursive_multiplying_plan p = {.stay = 1};
    for (uint32_t left = ranks; left > 1;) {
        uint32_t width = left < radix ? left : radix;
        p.width[p.rounds++] = width;
        p.stay *= width;
        left /= width;
    }
    p.rest = ranks - p.stay;
    return p;
}

static uint32_t rank_of(const recursive_multiplying_plan *p, uint32_t number)
{
    return number < p->rest ? 2 * number : number + p->rest;
}

// The rank's own comes in: as a message, or if it is in the result already, before what has come.
static void add_own(mlt_partial *s, mlt_goal_span before, uint32_t ready, uint32_t first,
                    uint32_t sends)
{
    if (s->empty) {
        s->last = mlt_emit_exec(s->e, s->acc, s->in, ready);
        return;
    }
    s->last = mlt_emit_exec_reversed(s->e, s->acc, before, ready);
    for (uint32_t i = 0; i < sends; i++)
        mlt_emit_after(s->e, s->last, first + i);
}

// Tells `width` ranks, of which this is number `digit`, what it has, and combines what they tell.
static void round_of(mlt_partial *s, const recursive_multiplying_plan *p, uint32_t me,
                     uint32_t weight, uint32_t width)
{
    const mlt_emit *e = s->e;
    uint32_t digit = me / weight % width, first = NONE, count = 0, done = NONE;
    mlt_goal_span have = s->empty ? s->in : s->acc, left = {0};
    for (uint32_t by = 1; by < width; by++) {
        uint32_t to = me + (uint32_t)(((digit + by) % width - digit) * weight);
        uint32_t send = mlt_emit_send(e, have, rank_of(p, to), s->last);
        first = count++ ? first : send;
    }
    if (first == NONE) // there is nothing to tell
        return;
    for (uint32_t d = 0; d < width; d++) {
        if (d == digit) {
            if (d)
                add_own(s, left, done, first, count);
            continue;
        }
        bool straight = s->empty && d == (digit ? 0 : 1);
        mlt_goal_span at = straight ? s->acc : mlt_emit_next(&s->tmp, e->n);
        uint32_t recv = mlt_emit_recv(e, at, rank_of(p, me + (d - digit) * weight), NONE), exec;
        if (!d) { // what is before one's own is reduced where the first of it is
            left = at;
            done = recv;
        } else if (d < digit) {
            done = mlt_emit_after(e, mlt_emit_exec(e, left, at, recv), done);
        } else if (straight) {
            s->last = mlt_emit_exec_reversed(e, s->acc, s->in, recv);
        } else {
            exec = mlt_emit_exec(e, s->acc, at, recv);
            if (d == 1 && !digit && !s->empty) // the first to write what was sent
                for (uint32_t i = 0; i < count; i++)
                    mlt_emit_after(e, exec, first + i);
            else
                mlt_emit_after(e, exec, s->last);
            s->last = exec;
        }
    }
    s->empty = false;
}

void mlt_alg_allreduce_recursive_multiplying(const mlt_emit *e)
{
    uint32_t rank = e->rank;
    mlt_operands o = mlt_operands_begin(e, true);
    if (mlt_operands_copy_if_alone(e, &o))
        return;
    recursive_multiplying_plan p =
        recursive_multiplying_plan_of(e->ranks, mlt_tree_radix(e->shape));
    bool folded = rank < 2 * p.rest;
    if (folded && rank % 2) {
        uint32_t send = mlt_emit_send(e, o.in, rank - 1, NONE);
        mlt_emit_recv(e, o.out, rank - 1, o.in_place ? send : (uint32_t)NONE);
        return;
    }
    uint32_t me = folded ? rank / 2 : rank - p.rest, weight = 1;
    mlt_partial s = mlt_partial_begin(e, &o);
    uint64_t slots = folded;
    for (uint32_t k = 0; k < p.rounds; k++)
        slots += p.width[k] - 1;
    slots -= s.empty;
    s.tmp = mlt_emit_memory(e, slots * e->n);
    if (folded)
        mlt_partial_take(&s, rank + 1, NONE);
    for (uint32_t k = 0; k < p.rounds; weight *= p.width[k++])
        round_of(&s, &p, me, weight, p.width[k]);
    if (folded)
        mlt_partial_send(&s, rank + 1);
}
