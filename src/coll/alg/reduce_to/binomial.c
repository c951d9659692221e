// SPDX-License-Identifier: BSD-3-Clause
// Reduction from any ranks to any others that keeps the order: up a binomial tree over the
// contributors, then down one over the receivers. The brackets are the canonical ones over the
// contributors. The first receiver that contributes is on top of both; if there is none, the first
// contributor tells the first receiver.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"
#include "coll/alg/pipe.h"
#include "coll/alg/reduce_to.h"

// Where a rank is in a set, and which rank is at a place.
typedef struct set {
    const uint8_t *has; // NULL: all
    uint32_t count;
} set;

static bool has(const set *s, uint32_t rank)
{
    return mlt_reduce_to_has(s->has, rank);
}

static uint32_t reduce_to_binomial_place_of(const set *s, uint32_t rank)
{
    uint32_t place = 0;
    for (uint32_t r = 0; r < rank; r++)
        place += has(s, r);
    return place;
}

static uint32_t rank_at(const set *s, uint32_t place)
{
    uint32_t r = 0;
    while (!has(s, r) || place--)
        r++;
    return r;
}

// Combines what children have and passes it up. Returns the last action; *have is where it is.
static uint32_t up(const mlt_emit *e, const set *from, uint32_t top, mlt_goal_span in,
                   mlt_goal_span out, mlt_goal_span *have)
{
    mlt_tree tree = {&mlt_tree_knomial, from->count, reduce_to_binomial_place_of(from, top), 2};
    uint32_t me = reduce_to_binomial_place_of(from, e->rank), children = 0, last = NONE;
    while (tree.shape->child(&tree, me, children) != NONE)
        children++;
    *have = in;
    if (children) {
        *have = out.buf ? out : mlt_emit_buffer(e, "tmp_acc", e->n);
        mlt_goal_span tmp = mlt_emit_buffer_if(e, children > 1, "tmp", (children - 1) * e->n);
        for (uint32_t i = 0; i < children; i++) {
            uint32_t child = tree.shape->child(&tree, me, i);
            mlt_goal_span at = i ? mlt_emit_part(tmp, (i - 1) * e->n, e->n) : *have;
            uint32_t recv = mlt_emit_recv(e, at, rank_at(from, child), NONE);
            uint32_t exec = (child < me) == !i
                                ? mlt_emit_exec(e, *have, i ? at : in, recv)
                                : mlt_emit_exec_reversed(e, *have, i ? at : in, recv);
            mlt_emit_after(e, exec, last);
            last = exec;
        }
    }
    uint32_t parent = tree.shape->parent(&tree, me);
    if (parent != NONE)
        last = mlt_emit_send(e, *have, rank_at(from, parent), last);
    return last;
}

void mlt_alg_reduce_to_binomial(const mlt_emit *e)
{
    uint32_t rank = e->rank;
    set from = {e->shape->contributes, 0}, to = {e->shape->receives, 0};
    uint32_t top = NONE;
    for (uint32_t r = 0; r < e->ranks; r++) {
        from.count += has(&from, r);
        to.count += has(&to, r);
        if (top == NONE && has(&from, r) && has(&to, r))
            top = r;
    }
    bool shared = top != NONE;
    mlt_goal_span have = {0}, in = mlt_emit_buffer_if(e, has(&from, rank), "in", e->n);
    mlt_goal_span out = mlt_emit_buffer_if(e, has(&to, rank), "out", e->n);
    if (!to.count)
        return;
    uint32_t last = NONE, up_top = shared ? top : rank_at(&from, 0);
    uint32_t down_top = shared ? top : rank_at(&to, 0);
    if (has(&from, rank))
        last = up(e, &from, up_top, in, out, &have);
    if (!shared && rank == up_top)
        mlt_emit_send(e, have, down_top, last);
    if (!has(&to, rank))
        return;
    bool was_in = have.buf == out.buf; // it was sent up from the result
    uint32_t ready = was_in ? last : (uint32_t)NONE;
    if (!shared && rank == down_top)
        ready = mlt_emit_recv(e, out, up_top, NONE);
    else if (rank == down_top && !was_in)
        ready = mlt_emit_copy(e, out, in, NONE); // the only contributor
    mlt_tree tree = {&mlt_tree_knomial, to.count, reduce_to_binomial_place_of(&to, down_top), 2};
    uint32_t me = reduce_to_binomial_place_of(&to, rank), parent = tree.shape->parent(&tree, me),
             children = 0;
    if (parent != NONE)
        ready = mlt_emit_recv(e, out, rank_at(&to, parent), ready);
    while (tree.shape->child(&tree, me, children) != NONE)
        children++;
    while (children-- > 0)
        mlt_emit_send(e, out, rank_at(&to, tree.shape->child(&tree, me, children)), ready);
}
