// SPDX-License-Identifier: BSD-3-Clause
#include "coll/alg/pipe.h"

#include "coll/alg/alg_int.h"
#include "coll/alg/operands.h"

// Receives that are under way at once: so many blocks of memory a reduction takes at most.
enum { SLOTS = 8 };

typedef struct pipeline {
    mlt_tree tree[2];
    uint32_t trees;
    bool cut; // into segments; else the block goes as a whole
} pipeline;

// radix: if the algorithm has one and the shape says none.
static pipeline pipe_of(const mlt_emit *e, uint32_t root, uint32_t radix)
{
    const mlt_tree_shape *tree = e->alg->tree;
    if (!e->alg->uses_radix)
        radix = 2;
    else if (e->shape->radix)
        radix = e->shape->radix;
    return (pipeline){{{tree, e->ranks, root, radix}, {tree->other, e->ranks, root, radix}},
                      tree->other ? 2 : 1,
                      e->alg->uses_segment};
}

static uint32_t parent_of(const mlt_tree *t, uint32_t rank)
{
    return t->shape->parent(t, rank);
}

static uint32_t child_of(const mlt_tree *t, uint32_t rank, uint32_t i)
{
    return t->shape->child(t, rank, i);
}

static uint64_t segments(const mlt_emit *e, const pipeline *p)
{
    return p->cut ? mlt_emit_segments(e) : 1;
}

static mlt_goal_span segment(const mlt_emit *e, const pipeline *p, mlt_goal_span block, uint64_t s)
{
    return p->cut ? mlt_emit_segment(e, block, s) : mlt_emit_part(block, 0, e->n);
}

// Receives from the parent, if there is one, and sends to the children, the last first. What
// overwrites `buf` or reads it comes after `ready`.
static void pipe_spread(const mlt_emit *e, const mlt_tree *tree, mlt_goal_span buf, uint32_t ready)
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
            last = mlt_emit_combine(e, !before, acc, own, recv);
            continue;
        }
        uint32_t slot = (i - !in_place) % SLOTS;
        mlt_goal_span at = mlt_emit_part(tmp, slot * stride, acc.size);
        uint32_t recv = mlt_emit_recv(e, at, child, free_after[slot]);
        free_after[slot] = last =
            mlt_emit_after(e, mlt_emit_combine(e, before, acc, at, recv), last);
    }
    return last;
}

// Memory for what comes from children: as much as the tree with most of them needs.
static mlt_goal_span slots_memory(const mlt_emit *e, const pipeline *p, bool in_place)
{
    uint32_t most = 0;
    for (uint32_t t = 0; t < p->trees; t++) {
        uint32_t slots = mlt_pipe_slots(&p->tree[t], e->rank, in_place);
        most = slots > most ? slots : most;
    }
    return mlt_emit_memory(e, most * e->n);
}

static bool is_leaf(const mlt_tree *tree, uint32_t rank)
{
    return child_of(tree, rank, 0) == NONE;
}

static bool is_leaf_everywhere(const pipeline *p, uint32_t rank)
{
    for (uint32_t t = 0; t < p->trees; t++)
        if (!is_leaf(&p->tree[t], rank))
            return false;
    return true;
}

void mlt_alg_bcast_pipe(const mlt_emit *e)
{
    pipeline p = pipe_of(e, e->shape->root, mlt_tree_radix(e->shape));
    mlt_goal_span buf = mlt_emit_buffer(e, "buf", e->n);
    for (uint64_t s = 0; s < segments(e, &p); s++)
        pipe_spread(e, &p.tree[s % p.trees], segment(e, &p, buf, s), NONE);
}

// Up the trees, building partial results in acc; and down again, if all are told.
static void pipe_reduce(const mlt_emit *e, const pipeline *p, const mlt_operands *o,
                        mlt_goal_span acc, bool all)
{
    mlt_goal_span tmp = slots_memory(e, p, o->in_place);
    for (uint64_t s = 0; s < segments(e, p); s++) {
        const mlt_tree *tree = &p->tree[s % p->trees];
        mlt_goal_span own = segment(e, p, o->in, s), to = segment(e, p, acc, s);
        uint32_t last = mlt_pipe_combine(e, tree, own, to, segment(e, p, tmp, s), e->n);
        bool leaf = is_leaf(tree, e->rank);
        if (e->rank != tree->root)
            last = mlt_emit_send(e, leaf ? own : to, parent_of(tree, e->rank), last);
        // What a leaf sends from `in` does not hinder what comes down.
        if (all)
            pipe_spread(e, tree, to, leaf && !o->in_place ? (uint32_t)NONE : last);
    }
}

void mlt_alg_reduce_pipe(const mlt_emit *e)
{
    pipeline p = pipe_of(e, e->shape->root, mlt_tree_radix(e->shape));
    bool root = e->rank == e->shape->root;
    mlt_operands o = mlt_operands_begin(e, root);
    mlt_goal_span acc = o.out;
    if (mlt_operands_copy_if_alone(e, &o))
        return;
    if (!root && !is_leaf_everywhere(&p, e->rank))
        acc = mlt_emit_buffer(e, "tmp_acc", e->n);
    pipe_reduce(e, &p, &o, acc, false);
}

// `out` is where partial results are built on the way up. Rank 0 is on top, or the middle one.
void mlt_alg_allreduce_pipe(const mlt_emit *e)
{
    pipeline p = pipe_of(e, e->alg->tree == &mlt_tree_in_order ? e->ranks / 2 : 0, 2);
    mlt_operands o = mlt_operands_begin(e, true);
    if (!mlt_operands_copy_if_alone(e, &o))
        pipe_reduce(e, &p, &o, o.out, true);
}
