// SPDX-License-Identifier: BSD-3-Clause
// Operations on one block over hosts (stage.h): barrier, broadcast, reduction, allreduce, scans.
// Long blocks go in segments, so that hosts and network work at the same time.
#include "coll/alg/alg_int.h"
#include "coll/alg/hosts/stage.h"
#include "coll/alg/operands.h"
#include "coll/alg/tree.h"

static uint64_t one_block_elements(const mlt_hierarchy *l, mlt_goal_span span)
{
    return span.size / l->e->element;
}

// ---- barrier

// Signals of a host go up a tree to its leader and come down again; between leaders any barrier.
enum { RADIX = 16 };

static void one_block_release(const mlt_hierarchy *l, uint32_t radix, uint32_t after)
{
    const uint32_t *rank = l->map->rank + l->map->first[l->host];
    if (l->own)
        after = mlt_emit_await(l->e, rank[mlt_tree_parent(l->own, radix)], after);
    mlt_tree_child child = mlt_tree_children_end(l->own, l->here, radix);
    while (mlt_tree_back(&child))
        mlt_emit_signal(l->e, rank[child.v], after);
}

void mlt_alg_barrier_hosts(const mlt_emit *e)
{
    mlt_hierarchy l = mlt_hierarchy_begin(e, MLT_LEADER_FIRST);
    const uint32_t *ranks = l.map->rank + l.map->first[l.host];
    uint32_t radix = e->shape->radix ? e->shape->radix : RADIX, all = NONE;
    mlt_tree_child child = mlt_tree_children(l.own, l.here, radix);
    while (mlt_tree_next(&child)) {
        all = all == NONE ? mlt_emit_nop(e, NONE) : all;
        mlt_emit_after(e, all, mlt_emit_await(e, ranks[child.v], NONE));
    }
    if (l.own)
        all = mlt_emit_signal(e, ranks[mlt_tree_parent(l.own, radix)], all);
    else
        all = mlt_hierarchy_between(
            &l, &(mlt_hierarchy_stage){.collective = MLT_COLL_BARRIER, .after = all});
    one_block_release(&l, radix, all);
    mlt_hierarchy_end(&l);
}

const char *mlt_alg_barrier_hosts_refuses(const mlt_coll_shape *shape)
{
    const char *why = mlt_hierarchy_refuses(shape);
    return why ? why : mlt_tree_refuses(shape);
}

// ---- bcast

void mlt_alg_bcast_hosts(const mlt_emit *e)
{
    mlt_hierarchy l = mlt_hierarchy_begin(e, MLT_LEADER_ROOT);
    mlt_goal_span buf = mlt_emit_buffer(e, "buf", e->n);
    for (uint64_t i = 0; i < mlt_emit_segments(e); i++) {
        mlt_goal_span part = mlt_emit_segment(e, buf, i);
        mlt_hierarchy_stage stage = {.collective = MLT_COLL_BCAST,
                                     .count = one_block_elements(&l, part),
                                     .root = l.map->of[e->shape->root],
                                     .out = part,
                                     .after = NONE};
        uint32_t came =
            mlt_hierarchy_leads(&l) ? mlt_hierarchy_between(&l, &stage) : (uint32_t)NONE;
        stage.root = l.leader;
        stage.after = e->rank == e->shape->root ? (uint32_t)NONE : came;
        mlt_hierarchy_here(&l, &stage);
    }
    mlt_hierarchy_end(&l);
}

// ---- reduce

void mlt_alg_reduce_hosts(const mlt_emit *e)
{
    mlt_hierarchy l = mlt_hierarchy_begin(e, MLT_LEADER_ROOT);
    bool root = e->rank == e->shape->root, leads = mlt_hierarchy_leads(&l), combines = l.here > 1;
    mlt_operands o = mlt_operands_begin(e, root);
    mlt_goal_span acc = root                ? o.out
                        : leads && combines ? mlt_emit_buffer(e, "tmp_acc", e->n)
                                            : o.in;
    for (uint64_t i = 0; i < mlt_emit_segments(e); i++) {
        mlt_goal_span own = mlt_emit_segment(e, o.in, i), sum = mlt_emit_segment(e, acc, i);
        mlt_hierarchy_stage stage = {.collective = MLT_COLL_REDUCE,
                                     .count = one_block_elements(&l, own),
                                     .root = l.leader,
                                     .in_place = o.in_place,
                                     .in = own,
                                     .out = sum,
                                     .after = NONE};
        if (combines) {
            stage.after = mlt_hierarchy_here(&l, &stage);
            stage.in_place = root;
            stage.in = sum;
        }
        stage.root = l.map->of[e->shape->root];
        if (leads)
            mlt_hierarchy_between(&l, &stage);
    }
    mlt_hierarchy_end(&l);
}

// ---- allreduce

// Between the leaders by way of one of them: it combines, and sends the result to the others.
static uint32_t allreduce_at(const mlt_hierarchy *l, mlt_hierarchy_stage stage, uint32_t center)
{
    bool combines = l->host == center;
    stage.root = center;
    stage.collective = MLT_COLL_REDUCE;
    if (stage.in_place && !combines)
        stage.in = stage.out;
    stage.in_place = stage.in_place && combines;
    stage.after = mlt_hierarchy_between(l, &stage);
    stage.collective = MLT_COLL_BCAST;
    stage.in_place = false;
    return mlt_hierarchy_between(l, &stage);
}

static void allreduce_segment(const mlt_hierarchy *l, const mlt_operands *o, mlt_goal_span in,
                              mlt_goal_span out)
{
    bool leads = mlt_hierarchy_leads(l), combines = l->here > 1;
    mlt_hierarchy_stage stage = {.collective = MLT_COLL_REDUCE,
                                 .count = one_block_elements(l, out),
                                 .root = l->leader,
                                 .in_place = o->in_place && leads,
                                 .in = in,
                                 .out = out,
                                 .after = NONE};
    if (combines) {
        stage.after = mlt_hierarchy_here(l, &stage);
        stage.in_place = true;
    }
    stage.collective = MLT_COLL_ALLREDUCE;
    uint32_t center = l->e->shape->center;
    if (leads && center && center <= l->map->hosts)
        stage.after = allreduce_at(l, stage, center - 1);
    else if (leads)
        stage.after = mlt_hierarchy_between(l, &stage);
    stage.collective = MLT_COLL_BCAST;
    stage.in_place = false;
    // The broadcast need not wait for the reduction: it writes `out`, and the reduction reads `in`.
    if (!leads && !o->in_place)
        stage.after = NONE;
    if (combines)
        mlt_hierarchy_here(l, &stage);
}

void mlt_alg_allreduce_hosts(const mlt_emit *e)
{
    mlt_hierarchy l = mlt_hierarchy_begin(e, MLT_LEADER_FIRST);
    mlt_operands o = mlt_operands_begin(e, true);
    for (uint64_t i = 0; i < mlt_emit_segments(e); i++)
        allreduce_segment(&l, &o, mlt_emit_segment(e, o.in, i), mlt_emit_segment(e, o.out, i));
    mlt_hierarchy_end(&l);
}

// ---- scan, exscan

// What the hosts before have reduced, on all ranks of this one; the first host has none. `total` is
// this host's reduction, on its last rank.
static mlt_goal_span one_block_prefix(const mlt_hierarchy *l, mlt_goal_span total, uint32_t *done)
{
    bool leads = mlt_hierarchy_leads(l);
    mlt_goal_span prefix = mlt_emit_buffer_if(l->e, l->host || leads, "tmp_before", l->e->n);
    mlt_hierarchy_stage stage = {.collective = MLT_COLL_EXSCAN,
                                 .count = l->e->shape->count,
                                 .in = total,
                                 .out = prefix,
                                 .after = *done};
    *done = leads ? mlt_hierarchy_between(l, &stage) : (uint32_t)NONE;
    stage.collective = MLT_COLL_BCAST;
    stage.root = l->leader;
    stage.after = *done;
    if (l->host && l->here > 1)
        *done = mlt_hierarchy_here(l, &stage);
    return prefix;
}

static uint32_t one_block_after_both(const mlt_hierarchy *l, uint32_t a, uint32_t b)
{
    uint32_t both = mlt_emit_after(l->e, mlt_emit_nop(l->e, a), b);
    return both;
}

void mlt_alg_scan_hosts(const mlt_emit *e)
{
    mlt_hierarchy l = mlt_hierarchy_begin(e, MLT_LEADER_LAST);
    mlt_operands o = mlt_operands_begin(e, true);
    mlt_hierarchy_stage stage = {.collective = MLT_COLL_SCAN,
                                 .count = e->shape->count,
                                 .in_place = o.in_place,
                                 .in = o.in,
                                 .out = o.out,
                                 .after = NONE};
    uint32_t own = mlt_hierarchy_here(&l, &stage), came = own;
    mlt_goal_span prefix = one_block_prefix(&l, o.out, &came);
    if (l.host)
        mlt_emit_exec_reversed(e, o.out, prefix, one_block_after_both(&l, own, came));
    mlt_hierarchy_end(&l);
}

// A host's total is its last rank's result op that rank's operand. In place the result overwrites
// the operand, so the last rank copies it first.
void mlt_alg_exscan_hosts(const mlt_emit *e)
{
    mlt_hierarchy l = mlt_hierarchy_begin(e, MLT_LEADER_LAST);
    mlt_operands o = mlt_operands_begin(e, true);
    mlt_goal_span total = o.in;
    uint32_t kept = NONE;
    if (mlt_hierarchy_leads(&l) && l.here > 1) {
        total = mlt_emit_buffer(e, "tmp_total", e->n);
        kept = mlt_emit_copy(e, total, o.in, NONE);
    }
    mlt_hierarchy_stage stage = {.collective = MLT_COLL_EXSCAN,
                                 .count = e->shape->count,
                                 .in_place = o.in_place,
                                 .in = o.in,
                                 .out = o.out,
                                 .after = o.in_place ? kept : (uint32_t)NONE};
    uint32_t own = l.here > 1 ? mlt_hierarchy_here(&l, &stage) : (uint32_t)NONE, came = own;
    if (kept != NONE)
        came = mlt_emit_exec_reversed(e, total, o.out, one_block_after_both(&l, own, kept));
    mlt_goal_span prefix = one_block_prefix(&l, total, &came);
    uint32_t both = l.host ? one_block_after_both(&l, own, came) : (uint32_t)NONE;
    if (l.host && l.own)
        mlt_emit_exec_reversed(e, o.out, prefix, both);
    else if (l.host)
        mlt_emit_copy(e, o.out, prefix, both);
    mlt_hierarchy_end(&l);
}

const char *mlt_alg_scan_hosts_refuses(const mlt_coll_shape *shape)
{
    const char *why = mlt_hierarchy_refuses(shape);
    return why                                ? why
           : !shape->hosts->contiguous        ? "the ranks of its hosts do not follow each other"
           : shape->keep == MLT_KEEP_BRACKETS ? "its brackets are not those of reproducible scans"
                                              : NULL;
}
