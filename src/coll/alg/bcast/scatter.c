// SPDX-License-Identifier: BSD-3-Clause
// Broadcast by pieces: the block is cut into P pieces, which are scattered down a binomial tree and
// then gathered by all, around a ring or by doubling. Nobody sends a rank the pieces of its subtree
// again: the scatter brought them.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"
#include "coll/alg/tree.h"

typedef struct pieces {
    const mlt_emit *e;
    mlt_goal_span buf;
    uint32_t v;         // the rank, counted from the root
    uint32_t size;      // of its subtree: it has pieces [v, v + size) once they are scattered
    uint32_t scattered; // the receive that brought them; NONE at the root
} pieces;

// Pieces [low, high).
static mlt_goal_span piece_span(const pieces *p, uint32_t low, uint32_t high)
{
    return mlt_emit_pieces(p->e, p->buf, p->e->ranks, low, high);
}

static pieces scatter(const mlt_emit *e)
{
    pieces p = {.e = e,
                .buf = mlt_emit_buffer(e, "buf", e->n),
                .v = mlt_emit_virtual(e),
                .scattered = NONE};
    p.size = mlt_tree_size(p.v, e->ranks, 2);
    if (p.v)
        p.scattered = mlt_emit_recv(e, piece_span(&p, p.v, p.v + p.size),
                                    mlt_emit_real(e, mlt_tree_parent(p.v, 2)), NONE);
    mlt_tree_child child = mlt_tree_children_end(p.v, e->ranks, 2);
    while (mlt_tree_back(&child))
        mlt_emit_send(e, piece_span(&p, child.v, child.v + child.size), mlt_emit_real(e, child.v),
                      p.scattered);
    return p;
}

// Around the ring piece v - s goes to v + 1, unless that one has it: [v + 1, v + 1 + size).
void mlt_alg_bcast_scatter_ring(const mlt_emit *e)
{
    pieces p = scatter(e);
    uint32_t v = p.v, recv = NONE;
    uint32_t next = mlt_emit_up(e, v, e->ranks > 1), before = mlt_emit_down(e, v, e->ranks > 1);
    uint32_t next_size = mlt_tree_size(next, e->ranks, 2);
    for (uint32_t s = 0; s + 1 < e->ranks; s++) {
        uint32_t give = mlt_emit_down(e, v, s), take = mlt_emit_down(e, before, s);
        bool mine = give >= v && give - v < p.size;
        if (give < next || give - next >= next_size)
            mlt_emit_send(e, piece_span(&p, give, give + 1), mlt_emit_real(e, next),
                          mine ? p.scattered : recv);
        if (take < v || take - v >= p.size)
            recv = mlt_emit_recv(e, piece_span(&p, take, take + 1), mlt_emit_real(e, before), NONE);
    }
}

// Recursive doubling, for powers of two only: pairs at a distance of 1, 2, 4, ... exchange what their
// groups have. A send waits for the last send and receive, and so for all before them.
void mlt_alg_bcast_scatter_doubling(const mlt_emit *e)
{
    pieces p = scatter(e);
    uint32_t v = p.v, sent = p.scattered, got = NONE;
    for (uint32_t step = 1; step < e->ranks; step *= 2) {
        uint32_t other = v ^ step, mine = v & ~(step - 1), theirs = other & ~(step - 1);
        uint32_t partner = mlt_emit_real(e, other);
        if (other && step > (other & -other) - 1) { // it has less than the group
            uint32_t send = mlt_emit_send(e, piece_span(&p, mine, mine + step), partner, sent);
            mlt_emit_after(e, send, got);
            if (step >= p.size)
                sent = send;
        }
        if (v && step >= p.size)
            got = mlt_emit_recv(e, piece_span(&p, theirs, theirs + step), partner, NONE);
    }
}
