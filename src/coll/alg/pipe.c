// SPDX-License-Identifier: BSD-3-Clause
#include "coll/alg/pipe.h"

#include "coll/alg/operands.h"

// Receives that are under way at once: so many blocks of memory a reduction takes at most.
enum { SLOTS = 8 };

static uint32_t parent_of(const mlt_tree *t, uint32_t rank)
{
    return t->shape->parent(t, rank);
}

static uint32_t child_of(const mlt_tree *t, uint32_t rank, uint32_t i)
{
    return t->shape->child(t, rank, i);
}

static uint64_t segments(const mlt_emit *e, const mlt_pipe *pipe)
{
    return pipe->cut ? mlt_emit_segments(e) : 1;
}

static mlt_goal_span segment(const mlt_emit *e, const mlt_pipe *pipe, mlt_goal_span block,
                             uint64_t s)
{
    return pipe->cut ? mlt_emit_segment(e, block, s) : mlt_emit_part(block, 0, e->n);
}

void mlt_pipe_spread(const mlt_emit *e, const mlt_tree *tree, mlt_goal_span buf, uint32_t ready)
{
    uint32_t parent = parent_of(tree, e->rank), children = 0;
    if (parent != NONE)
        ready = mlt_emit_recv(e, buf, parent, ready);
    while (child_of(tree, e->rank, children) != NONE)
        children++;
    while (children-- > 0)
        mlt_emit_send(e, buf, child_of(tree, e->rank, children), ready);
}

uint32_t mlt_pipe_slots(const mlt_tree *tree, uint32_t rank, bool in_place)
{
    uint32_t slots = 0;
    while (slots < SLOTS && child_of(tree, rank, slots + !in_place) != NONE)
        slots++;
    return slots;
}

uint32_t mlt_pipe_combine(const mlt_emit *e, const mlt_tree *tree, mlt_goal_span own,
                          mlt_goal_span acc, mlt_goal_span tmp, uint64_t stride)
{
    bool in_place = own.buf == acc.buf;
    uint32_t last = NONE, child, free_after[SLOTS];
    for (int i = 0; i < SLOTS; i++)
        free_after[i] = NONE;
    for (uint32_t i = 0; (child = child_of(tree, e->rank, i)) != NONE; i++) {
        bool before = tree->shape->sides && child < e->rank;
        if (!i && !in_place) { // straight into the result: no copy of one's own
            uint32_t recv = mlt_emit_recv(e, acc, child, NONE);
            last = (before ? mlt_emit_exec : mlt_emit_exec_reversed)(e, acc, own, recv);
            continue;
        }
        uint32_t slot = (i - !in_place) % SLOTS;
        mlt_goal_span at = mlt_emit_part(tmp, slot * stride, acc.size);
        uint32_t recv = mlt_emit_recv(e, at, child, free_after[slot]);
        uint32_t exec = (before ? mlt_emit_exec_reversed : mlt_emit_exec)(e, acc, at, recv);
        mlt_emit_after(e, exec, last);
        free_after[slot] = last = exec;
    }
    return last;
}

void mlt_pipe_bcast(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank,
                    const mlt_pipe *pipe)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    mlt_goal_span buf = mlt_emit_buffer(&e, "buf", e.n);
    for (uint64_t s = 0; s < segments(&e, pipe); s++)
        mlt_pipe_spread(&e, &pipe->tree[s % pipe->trees], segment(&e, pipe, buf, s), NONE);
}

// Memory for what comes from children: as much as the tree with most of them needs.
static mlt_goal_span slots_memory(const mlt_emit *e, const mlt_pipe *pipe, bool in_place)
{
    uint32_t most = 0;
    for (uint32_t t = 0; t < pipe->trees; t++) {
        uint32_t slots = mlt_pipe_slots(&pipe->tree[t], e->rank, in_place);
        most = slots > most ? slots : most;
    }
    return most ? mlt_emit_buffer(e, "tmp", most * e->n) : (mlt_goal_span){0};
}

static bool is_leaf(const mlt_tree *tree, uint32_t rank)
{
    return child_of(tree, rank, 0) == NONE;
}

static bool is_leaf_everywhere(const mlt_pipe *pipe, uint32_t rank)
{
    for (uint32_t t = 0; t < pipe->trees; t++)
        if (!is_leaf(&pipe->tree[t], rank))
            return false;
    return true;
}

void mlt_pipe_reduce(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank,
                     const mlt_pipe *pipe)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    bool root = rank == shape->root;
    mlt_operands o = mlt_operands_begin(&e, root);
    mlt_goal_span acc = o.out;
    if (root && e.ranks == 1)
        mlt_operands_copy(&e, &o);
    if (!root && !is_leaf_everywhere(pipe, rank))
        acc = mlt_emit_buffer(&e, "tmp_acc", e.n);
    mlt_goal_span tmp = slots_memory(&e, pipe, o.in_place);
    for (uint64_t s = 0; s < segments(&e, pipe); s++) {
        const mlt_tree *tree = &pipe->tree[s % pipe->trees];
        mlt_goal_span own = segment(&e, pipe, o.in, s), to = segment(&e, pipe, acc, s);
        mlt_goal_span slots = segment(&e, pipe, tmp, s);
        uint32_t last = mlt_pipe_combine(&e, tree, own, to, slots, e.n);
        if (!root)
            mlt_emit_send(&e, is_leaf(tree, rank) ? own : to, parent_of(tree, rank), last);
    }
}

void mlt_pipe_allreduce(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank,
                        const mlt_pipe *pipe)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    mlt_operands o = mlt_operands_begin(&e, true);
    if (e.ranks == 1)
        mlt_operands_copy(&e, &o);
    mlt_goal_span tmp = slots_memory(&e, pipe, o.in_place);
    for (uint64_t s = 0; s < segments(&e, pipe); s++) {
        const mlt_tree *tree = &pipe->tree[s % pipe->trees];
        mlt_goal_span own = segment(&e, pipe, o.in, s), to = segment(&e, pipe, o.out, s);
        mlt_goal_span slots = segment(&e, pipe, tmp, s);
        uint32_t last = mlt_pipe_combine(&e, tree, own, to, slots, e.n);
        bool leaf = is_leaf(tree, rank);
        if (rank != tree->root)
            last = mlt_emit_send(&e, leaf ? own : to, parent_of(tree, rank), last);
        // What a leaf sends from `in` does not hinder what comes down.
        mlt_pipe_spread(&e, tree, to, leaf && !o.in_place ? (uint32_t)NONE : last);
    }
}
