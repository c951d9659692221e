// SPDX-License-Identifier: BSD-3-Clause
#include "coll/alg/canonical.h"

#include <stdlib.h>

#include "base/memory.h"
#include "coll/alg/tree.h"

// ---- all operands at one rank

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
        uint32_t exec = mlt_emit_exec(e, b->at[left], b->at[right], b->done[left]);
        mlt_emit_after(e, exec, b->done[right]);
        b->done[left] = exec;
        return;
    }
    uint32_t other = own == left ? right : left, exec;
    if (b->at[other].buf == o->out.buf) { // it is in the result, one's own in `in`
        exec = (own == left ? mlt_emit_exec_reversed : mlt_emit_exec)(e, o->out, o->in,
                                                                      b->done[other]);
    } else {
        exec = (own == left ? mlt_emit_exec : mlt_emit_exec_reversed)(e, o->out, b->at[other],
                                                                      b->done[other]);
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
    mlt_goal_span tmp = slots ? mlt_emit_buffer(e, "tmp", slots * e->n) : (mlt_goal_span){0};
    alg_canonical_blocks b = {.at = mlt_take(count, sizeof *b.at), .done = mlt_emit_actions(count)};
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

void mlt_canonical_gather(const mlt_emit *e, const mlt_operands *o, bool share)
{
    uint32_t *from = mlt_emit_actions(e->ranks);
    for (uint32_t r = 0; r < e->ranks; r++)
        from[r] = r;
    mlt_canonical_combine(e, o, from, e->ranks, e->rank, share);
    free(from);
}

// ---- scans
//
// In round k ranks at a distance of 2^k, of one aligned group of 2^(k+1), tell each other the value
// of their half. For the upper one it belongs before what it has; the value of the whole group is
// only needed if ranks follow it. As long as a rank was the upper one, both are the same.

typedef struct value {
    mlt_goal_span at;
    uint32_t last; // what wrote it; then what read it last before it is written again
} value;

typedef struct scan {
    const mlt_emit *e;
    mlt_operands o;
    bool exclusive;
    bool joined;         // the group's value is the result so far
    bool empty;          // the result holds nothing
    value result, group; // joined: group is not used
    mlt_goal_span memory, tmp;
} scan;

static mlt_goal_span alg_canonical_slot(scan *s)
{
    mlt_goal_span at = mlt_emit_part(s->tmp, 0, s->e->n);
    s->tmp.at += s->e->n;
    return at;
}

static uint32_t send_group(scan *s, uint32_t to)
{
    value *v = s->joined ? &s->result : &s->group;
    return mlt_emit_send(s->e, v->at, to, v->last);
}

// The upper one of a pair receives; `sent`: its own message, `whole`: the group's value is needed.
static void upper(scan *s, uint32_t from, uint32_t sent, bool whole)
{
    const mlt_emit *e = s->e;
    bool straight = s->result.at.buf != s->o.out.buf || s->empty; // into the result
    mlt_goal_span at = straight ? s->o.out : alg_canonical_slot(s);
    uint32_t recv = mlt_emit_recv(e, at, from, s->empty ? s->result.last : (uint32_t)NONE);
    uint32_t got = recv;
    if (!s->joined && whole) {
        s->group.last = got = mlt_emit_exec_reversed(e, s->group.at, at, recv);
        mlt_emit_after(e, got, sent); // there is one
    }
    if (s->empty) {
        s->result = (value){s->o.out, got}; // the group's value reads it before it is written again
        s->empty = false;
        return;
    }
    if (straight) {
        s->result.last = mlt_emit_exec(e, at, s->result.at, got);
        s->result.at = at;
        return;
    }
    uint32_t exec = mlt_emit_exec_reversed(e, s->result.at, at, recv);
    mlt_emit_after(e, exec, s->joined && sent != NONE ? sent : s->result.last);
    s->result.last = exec;
}

// The lower one of a pair receives, for the group's value. later: it will be the upper one.
static void alg_canonical_lower(scan *s, uint32_t from, uint32_t sent, bool later)
{
    const mlt_emit *e = s->e;
    if (s->joined || s->group.at.buf != s->memory.buf) { // it gets memory of its own
        value own = s->joined ? s->result : s->group;
        uint32_t recv = mlt_emit_recv(e, s->memory, from, NONE);
        uint32_t exec = mlt_emit_exec_reversed(e, s->memory, own.at, recv);
        bool both =
            own.at.buf == s->o.out.buf && later; // its next writer waits for all that read it
        mlt_emit_after(e, exec, both ? sent : own.last);
        if (both)
            s->result.last = exec;
        s->group = (value){s->memory, exec};
        s->joined = false;
        return;
    }
    mlt_goal_span at = alg_canonical_slot(s);
    uint32_t exec = mlt_emit_exec(e, s->group.at, at, mlt_emit_recv(e, at, from, NONE));
    mlt_emit_after(e, exec, sent);
    s->group.last = exec;
}

// Messages that come into memory of their own.
static uint32_t slots_of(const scan *s)
{
    uint32_t rank = s->e->rank, ranks = s->e->ranks, above = 0, below = 0;
    for (uint32_t step = 1; step < ranks; step *= 2) {
        bool whole = 2 * (uint64_t)step < ranks - (rank & ~(2 * step - 1));
        above += (rank & step) != 0;
        below += !(rank & step) && whole;
    }
    above -= above && (s->exclusive || !s->o.in_place); // straight into the result
    below -= below && (!s->exclusive || rank % 2 == 0); // into the group's memory
    return above + below;
}

static scan scan_begin(const mlt_emit *e, bool exclusive)
{
    scan s = {.e = e, .exclusive = exclusive, .o = mlt_operands_begin(e, true)};
    uint32_t slots = slots_of(&s);
    bool grows = e->rank / 2 * 2 + 2 < e->ranks; // the group of two is told to others
    s.joined = !exclusive;
    s.empty = exclusive;
    s.result = (value){s.o.in, NONE};
    s.group = (value){s.o.in, NONE};
    if (grows)
        s.memory = mlt_emit_buffer(e, "tmp_group", e->n);
    if (slots)
        s.tmp = mlt_emit_buffer(e, "tmp", slots * e->n);
    if (exclusive && grows && e->rank % 2) {
        s.group = (value){s.memory, mlt_emit_copy(e, s.memory, s.o.in, NONE)};
        s.result.last = s.o.in_place ? s.group.last : (uint32_t)NONE;
    }
    return s;
}

void mlt_canonical_scan(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank,
                        bool exclusive)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    scan s = scan_begin(&e, exclusive);
    for (uint32_t step = 1; step < e.ranks; step *= 2) {
        uint32_t low = rank & ~(2 * step - 1), other = rank ^ step, sent = NONE;
        bool whole = 2 * (uint64_t)step < e.ranks - low, above = rank & step;
        if (above ? whole : other < e.ranks)
            sent = send_group(&s, other);
        if (above)
            upper(&s, other, sent, whole);
        else if (whole)
            alg_canonical_lower(&s, other, sent, rank >= 2 * step);
        else if (sent != NONE && (s.joined || s.group.at.buf == s.o.out.buf))
            s.result.last = sent; // it read the result
    }
    if (!exclusive && !rank)
        mlt_operands_copy(&e, &s.o);
}
