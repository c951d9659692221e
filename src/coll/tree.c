// SPDX-License-Identifier: BSD-3-Clause
#include "coll/tree.h"

// Where v's children end: the weight of its lowest digit other than 0, or for 0 the first power of
// the radix that is not below P.
static uint64_t weight_of(uint32_t v, uint32_t ranks, uint32_t radix)
{
    uint64_t weight = 1;
    while (weight < ranks && v % (weight * radix) == 0)
        weight *= radix;
    return weight;
}

uint32_t mlt_tree_parent(uint32_t v, uint32_t radix)
{
    if (!v)
        return NONE;
    uint64_t weight = 1;
    while (v % (weight * radix) == 0)
        weight *= radix;
    return v - (uint32_t)(v % (weight * radix));
}

uint32_t mlt_tree_size(uint32_t v, uint32_t ranks, uint32_t radix)
{
    uint64_t weight = v ? weight_of(v, ranks, radix) : ranks;
    return weight < ranks - v ? (uint32_t)weight : ranks - v;
}

static bool child_at(mlt_tree_child *child)
{
    uint64_t v = child->of + (uint64_t)child->digit * child->step;
    if (v >= child->ranks)
        return false;
    child->v = (uint32_t)v;
    child->size = child->step < child->ranks - child->v ? child->step : child->ranks - child->v;
    return true;
}

mlt_tree_child mlt_tree_children(uint32_t v, uint32_t ranks, uint32_t radix)
{
    return (mlt_tree_child){.of = v, .ranks = ranks, .step = 1, .radix = radix};
}

bool mlt_tree_next(mlt_tree_child *child)
{
    if (++child->digit == child->radix) {
        uint64_t step = (uint64_t)child->step * child->radix;
        if (step >= child->ranks)
            return false;
        child->step = (uint32_t)step;
        child->digit = 1;
    }
    if (child->digit == 1 && child->of % ((uint64_t)child->step * child->radix))
        return false;
    return child_at(child);
}

mlt_tree_child mlt_tree_children_end(uint32_t v, uint32_t ranks, uint32_t radix)
{
    // `digit` digits of weight `step` are still to come; those beyond P are skipped at once.
    uint64_t weight = weight_of(v, ranks, radix) / radix;
    mlt_tree_child child = {.of = v, .ranks = ranks, .step = (uint32_t)weight, .radix = radix};
    if (weight) {
        uint64_t most = (ranks - 1 - v) / weight;
        child.digit = (uint32_t)(most < radix - 1 ? most : radix - 1) + 1;
    }
    return child;
}

bool mlt_tree_back(mlt_tree_child *child)
{
    if (!child->step)
        return false;
    while (child->digit <= 1) {
        child->step /= child->radix;
        if (!child->step)
            return false;
        uint32_t most = (child->ranks - 1 - child->of) / child->step;
        child->digit = (most < child->radix - 1 ? most : child->radix - 1) + 1;
    }
    child->digit--;
    return child_at(child);
}

// Receives that are under way at once beside the first: so much memory of blocks a reduction takes.
enum { SLOTS = 8 };

uint32_t mlt_tree_reduce(const mlt_emit *e, uint32_t v, uint32_t radix, mlt_goal_span in,
                         mlt_goal_span acc)
{
    uint32_t children = 0, last = NONE, free_after[SLOTS];
    mlt_tree_child child = mlt_tree_children(v, e->ranks, radix);
    while (mlt_tree_next(&child))
        children++;
    mlt_goal_span tmp = {0};
    if (children > 1)
        tmp = mlt_emit_buffer(e, "tmp", (children - 1 < SLOTS ? children - 1 : SLOTS) * e->n);
    for (int i = 0; i < SLOTS; i++)
        free_after[i] = NONE;

    child = mlt_tree_children(v, e->ranks, radix);
    for (uint32_t i = 0; mlt_tree_next(&child); i++) {
        if (!i) { // straight into the result: no copy of `in`
            uint32_t recv = mlt_emit_recv(e, acc, mlt_emit_real(e, child.v), NONE);
            last = mlt_emit_exec_reversed(e, acc, in, recv);
            continue;
        }
        uint32_t slot = (i - 1) % SLOTS;
        mlt_goal_span at = mlt_emit_blocks(e, tmp, slot, 1);
        uint32_t recv = mlt_emit_recv(e, at, mlt_emit_real(e, child.v), free_after[slot]);
        uint32_t exec = mlt_emit_exec(e, acc, at, recv);
        mlt_emit_after(e, exec, last);
        free_after[slot] = last = exec;
    }
    return last;
}

void mlt_tree_bcast(const mlt_emit *e, uint32_t v, uint32_t radix, mlt_goal_span buf,
                    uint32_t ready)
{
    if (v)
        ready = mlt_emit_recv(e, buf, mlt_emit_real(e, mlt_tree_parent(v, radix)), ready);
    mlt_tree_child child = mlt_tree_children_end(v, e->ranks, radix);
    while (mlt_tree_back(&child))
        mlt_emit_send(e, buf, mlt_emit_real(e, child.v), ready);
}

uint32_t mlt_tree_radix(const mlt_coll_shape *shape)
{
    return shape->radix ? shape->radix : 4;
}

const char *mlt_tree_refuses(const mlt_coll_shape *shape)
{
    return shape->radix == 1 ? "the radix of a tree must be 2 or more" : NULL;
}

void mlt_coll_reduce_tree(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank,
                          uint32_t radix)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    uint32_t v = mlt_emit_virtual(&e);
    bool leaf = mlt_tree_size(v, e.ranks, radix) == 1;
    mlt_goal_span in = mlt_emit_buffer(&e, "in", e.n), acc = in;
    if (!v)
        acc = mlt_emit_buffer(&e, "out", e.n);
    else if (!leaf)
        acc = mlt_emit_buffer(&e, "tmp_acc", e.n);
    if (!v && leaf)
        mlt_emit_copy(&e, acc, in, NONE);
    uint32_t last = mlt_tree_reduce(&e, v, radix, in, acc);
    if (v)
        mlt_emit_send(&e, acc, mlt_emit_real(&e, mlt_tree_parent(v, radix)), last);
}

mlt_fold mlt_fold_of(uint32_t ranks)
{
    uint32_t power = 1u << (31 - __builtin_clz(ranks));
    return (mlt_fold){power, ranks - power};
}
