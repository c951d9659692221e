// SPDX-License-Identifier: BSD-3-Clause
#include "coll/alg/partial.h"

static mlt_goal_span partial_room(mlt_partial *p)
{
    return p->empty ? p->acc : mlt_emit_next(&p->tmp, p->e->n);
}

// The other's is at `at`: in acc if that was empty.
static void partial_add(mlt_partial *p, bool lower, mlt_goal_span at, uint32_t recv, uint32_t sent)
{
    mlt_goal_span second = p->empty ? p->in : at;
    uint32_t exec = mlt_emit_combine(p->e, lower != p->empty, p->acc, second, recv);
    if (!p->empty)
        mlt_emit_after(p->e, exec, sent != NONE ? sent : p->last);
    p->last = exec;
    p->empty = false;
}

void mlt_partial_take(mlt_partial *p, uint32_t from, uint32_t sent)
{
    mlt_goal_span at = partial_room(p);
    partial_add(p, from < p->e->rank, at, mlt_emit_recv(p->e, at, from, NONE), sent);
}

void mlt_partial_exchange(mlt_partial *p, uint32_t other)
{
    mlt_goal_span at = partial_room(p);
    uint32_t recv = mlt_emit_recv(p->e, at, other, NONE);
    partial_add(p, other < p->e->rank, at, recv, mlt_partial_send(p, other));
}
