// SPDX-License-Identifier: BSD-3-Clause
// Scan and exclusive scan, butterfly: aligned groups of 2, 4, 8, ... ranks tell each other their
// values. The brackets are those of an allreduce over the ranks up to this one, or to the one
// before (tree.h).
//
// In round k ranks at a distance of 2^k, of one aligned group of 2^(k+1), tell each other the value
// of their half. For the upper one it belongs before what it has; the value of the whole group is
// only needed if ranks follow it. As long as a rank was the upper one, both are the same.
#include "coll/alg/alg_int.h"
#include "coll/alg/operands.h"
#include "coll/alg/tree.h"

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
    mlt_goal_span at = straight ? s->o.out : mlt_emit_next(&s->tmp, e->n);
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
    s->result.last = mlt_emit_after(e, mlt_emit_exec_reversed(e, s->result.at, at, recv),
                                    s->joined && sent != NONE ? sent : s->result.last);
}

// The lower one of a pair receives, for the group's value. later: it will be the upper one.
static void scan_lower(scan *s, uint32_t from, uint32_t sent, bool later)
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
    mlt_goal_span at = mlt_emit_next(&s->tmp, e->n);
    s->group.last = mlt_emit_after(
        e, mlt_emit_exec(e, s->group.at, at, mlt_emit_recv(e, at, from, NONE)), sent);
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

static scan scan_begin(const mlt_emit *e)
{
    bool exclusive = e->alg->collective == MLT_COLL_EXSCAN;
    scan s = {.e = e, .exclusive = exclusive, .o = mlt_operands_begin(e, true)};
    uint32_t slots = slots_of(&s);
    bool grows = e->rank / 2 * 2 + 2 < e->ranks; // the group of two is told to others
    s.joined = !exclusive;
    s.empty = exclusive;
    s.result = (value){s.o.in, NONE};
    s.group = (value){s.o.in, NONE};
    s.memory = mlt_emit_buffer_if(e, grows, "tmp_group", e->n);
    s.tmp = mlt_emit_memory(e, slots * e->n);
    if (exclusive && grows && e->rank % 2) {
        s.group = (value){s.memory, mlt_emit_copy(e, s.memory, s.o.in, NONE)};
        s.result.last = s.o.in_place ? s.group.last : (uint32_t)NONE;
    }
    return s;
}

void mlt_alg_scan_butterfly(const mlt_emit *e)
{
    uint32_t rank = e->rank;
    scan s = scan_begin(e);
    for (uint32_t step = 1; step < e->ranks; step *= 2) {
        uint32_t low = rank & ~(2 * step - 1), other = rank ^ step, sent = NONE;
        bool whole = 2 * (uint64_t)step < e->ranks - low, above = rank & step;
        if (above ? whole : other < e->ranks)
            sent = send_group(&s, other);
        if (above)
            upper(&s, other, sent, whole);
        else if (whole)
            scan_lower(&s, other, sent, rank >= 2 * step);
        else if (sent != NONE && (s.joined || s.group.at.buf == s.o.out.buf))
            s.result.last = sent; // it read the result
    }
    if (!s.exclusive && !rank)
        mlt_operands_copy(e, &s.o);
}
