// SPDX-License-Identifier: BSD-3-Clause
// Allreduce, n-way dissemination: Listing 3 of the paper, put right, and for any P.
//
// Rank i builds up A, the reduction over the t ranks before it (i-1, ..., i-t), and B = A op its
// own. With b = n+1 ways, t goes through the leading digits of P-1 to the base b: from t to
// t' = b t + d. That takes d pieces B of t+1 ranks and n-d pieces A of t ranks from further back:
//
//     | own A: t | B: t+1 | ... d of them | A: t | ... n-d of them |
//
// If P is a power of b every digit is n: then there are only pieces B, and it is the paper's
// pattern, peers at w b^r in round r. The result is B at the end. Everybody reduces in an order of
// their own, so the operation must commute.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"
#include "coll/alg/operands.h"

enum { DIGITS = 32 };

typedef struct allreduce_dissemination_plan {
    uint32_t ways, rounds;
    uint32_t digit[DIGITS]; // of P - 1, the leading one first
    bool needs_a[DIGITS];   // after round r
    uint64_t messages;
} allreduce_dissemination_plan;

static allreduce_dissemination_plan allreduce_dissemination_plan_of(const mlt_coll_shape *shape)
{
    allreduce_dissemination_plan p = {.ways = shape->radix ? shape->radix : 1};
    uint64_t base = (uint64_t)p.ways + 1, left = shape->ranks - 1;
    for (uint64_t rest = left; rest; rest /= base)
        p.rounds++;
    for (uint32_t r = p.rounds; r-- > 0; left /= base)
        p.digit[r] = (uint32_t)(left % base);
    for (uint32_t r = p.rounds; r-- > 1;)
        p.needs_a[r - 1] = p.needs_a[r] || p.digit[r] < p.ways;
    for (uint32_t r = 0; r < p.rounds; r++)
        p.messages += r ? p.ways : p.digit[0];
    return p;
}

// The w-th piece of a round, 1, 2, ...: how far back it comes from, and whether it is a B.
static uint32_t peer_of(uint32_t t, uint32_t digit, uint32_t w, bool *is_b)
{
    *is_b = w <= digit;
    return *is_b ? w * (t + 1) : t + digit * (t + 1) + (w - digit - 1) * t;
}

typedef struct allreduce_dissemination_part { // A or B
    mlt_goal_span span;
    uint32_t last, next; // what wrote it last, what writes it next
} allreduce_dissemination_part;

// Receives the pieces of a round and reduces them into `first`, the others' memory is slots.
static uint32_t receive(const mlt_emit *e, uint32_t t, uint32_t digit, uint32_t pieces,
                        mlt_goal_span first, mlt_goal_span slots)
{
    uint32_t sum = NONE;
    for (uint32_t w = 1; w <= pieces; w++) {
        bool is_b;
        uint32_t from = mlt_emit_down(e, e->rank, peer_of(t, digit, w, &is_b));
        mlt_goal_span slot = w > 1 ? mlt_emit_part(slots, (w - 2) * e->n, e->n) : first;
        uint32_t recv = mlt_emit_recv(e, slot, from, NONE);
        if (w > 1) {
            recv = mlt_emit_after(e, mlt_emit_exec(e, first, slot, sum), recv);
        }
        sum = recv;
    }
    return sum;
}

// Sends the pieces of a round; what is sent must have gone before it is reduced into.
static void dissemination_send(const mlt_emit *e, uint32_t t, uint32_t digit, uint32_t pieces,
                               allreduce_dissemination_part *a, allreduce_dissemination_part *b)
{
    for (uint32_t w = 1; w <= pieces; w++) {
        bool is_b;
        uint32_t to = mlt_emit_up(e, e->rank, peer_of(t, digit, w, &is_b));
        allreduce_dissemination_part *what = is_b ? b : a;
        mlt_emit_after(e, what->next, mlt_emit_send(e, what->span, to, what->last));
    }
    if (!digit)
        mlt_emit_after(e, b->next, b->last);
    if (digit == pieces)
        mlt_emit_after(e, a->next, a->last);
}

// The first round: only the ranks' own. The result is where they are received, if it is empty and
// they are not needed later.
static uint32_t first_round(const mlt_emit *e, const mlt_operands *o,
                            const allreduce_dissemination_plan *p, allreduce_dissemination_part *a,
                            allreduce_dissemination_part *b, mlt_goal_span *slots)
{
    uint32_t t = p->digit[0];
    bool straight = !o->in_place && !p->needs_a[0];
    mlt_goal_span first = straight ? o->out : mlt_emit_part(*slots, 0, e->n);
    slots->at += straight ? 0 : e->n;
    uint32_t sum = receive(e, 0, t, t, first, *slots);
    slots->at += (t - 1) * e->n;
    b->span = o->in;
    if (straight) {
        dissemination_send(e, 0, t, t, a, b); // from `in`: it hinders nothing
        b->next = mlt_emit_exec(e, o->out, o->in, sum);
    } else {
        uint32_t copy = mlt_operands_copy(e, o);
        uint32_t exec = mlt_emit_after(e, mlt_emit_exec(e, o->out, first, copy), sum);
        b->next = o->in_place ? exec : (uint32_t)NONE;
        dissemination_send(e, 0, t, t, a, b);
        b->next = exec;
    }
    b->span = o->out;
    b->last = b->next;
    if (p->needs_a[0])
        a->last = mlt_emit_copy(e, a->span, first, sum);
    return t;
}

void mlt_alg_allreduce_dissemination(const mlt_emit *e)
{
    mlt_operands o = mlt_operands_begin(e, true);
    if (mlt_operands_copy_if_alone(e, &o))
        return;
    allreduce_dissemination_plan p = allreduce_dissemination_plan_of(e->shape);
    uint64_t memory = p.messages - (!o.in_place && !p.needs_a[0]);
    mlt_goal_span slots = mlt_emit_memory(e, memory * e->n);
    allreduce_dissemination_part a = {.last = NONE, .next = NONE}, b = {.last = NONE, .next = NONE};
    a.span = mlt_emit_buffer_if(e, p.needs_a[0], "tmp_a", e->n);

    uint32_t t = first_round(e, &o, &p, &a, &b, &slots);
    for (uint32_t r = 1; r < p.rounds; r++, slots.at += p.ways * e->n) {
        mlt_goal_span all = mlt_emit_part(slots, 0, e->n), others = slots;
        others.at += e->n;
        uint32_t sum = receive(e, t, p.digit[r], p.ways, all, others);
        b.next = mlt_emit_exec(e, b.span, all, sum);
        a.next = p.needs_a[r] ? mlt_emit_exec(e, a.span, all, sum) : (uint32_t)NONE;
        dissemination_send(e, t, p.digit[r], p.ways, &a, &b);
        a.last = a.next;
        b.last = b.next;
        t = t * (p.ways + 1) + p.digit[r];
    }
}

const char *mlt_alg_allreduce_dissemination_refuses(const mlt_coll_shape *shape)
{
    return shape->radix >= MLT_GOAL_MAX_RANKS ? "the radix, its ways, must be below 2^28" : NULL;
}
