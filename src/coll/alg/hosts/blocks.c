// SPDX-License-Identifier: BSD-3-Clause
// Operations on a block for each rank over hosts (stage.h): the leader of a host has all its ranks'
// blocks, so that hosts exchange one message for all of them. Short blocks: each is sent twice or
// three times.
#include <stdlib.h>

#include "coll/alg/alg_int.h"
#include "coll/alg/hosts/stage.h"

typedef struct blocks {
    mlt_hierarchy l;
    uint64_t *hosts, *here; // starts
    bool root, leads, in_place;
    bool alike; // the order of hosts is that of ranks
} blocks;

static blocks blocks_begin(const mlt_emit *e, mlt_leader leader)
{
    blocks b = {.l = mlt_hierarchy_begin(e, leader)};
    b.hosts = mlt_hierarchy_starts(&b.l);
    b.here = mlt_hierarchy_starts_here(&b.l);
    b.root = e->rank == e->shape->root;
    b.leads = mlt_hierarchy_leads(&b.l);
    b.in_place = e->shape->in_place;
    b.alike = b.l.map->contiguous;
    return b;
}

static void blocks_end(blocks *b)
{
    mlt_hierarchy_end(&b->l);
    free(b->hosts);
    free(b->here);
}

static uint64_t bytes_here(const blocks *b)
{
    return b->here[b->l.here] * b->l.e->element;
}

// The blocks of this host in memory that has all of them, host by host.
static mlt_goal_span own_part(const blocks *b, mlt_goal_span all)
{
    return mlt_emit_part(all, b->hosts[b->l.host] * b->l.e->element, bytes_here(b));
}

// On this host; and between hosts.
static uint32_t stage_here(const blocks *b, mlt_collective collective, mlt_goal_span in,
                           mlt_goal_span out, bool in_place, uint32_t after)
{
    return mlt_hierarchy_here(&b->l, &(mlt_hierarchy_stage){collective, 0, b->here, b->l.leader,
                                                            in_place, in, out, after});
}

static uint32_t stage_between(const blocks *b, mlt_collective collective, mlt_goal_span in,
                              mlt_goal_span out, bool in_place, uint32_t after)
{
    uint32_t root = b->l.map->of[b->l.e->shape->root];
    return mlt_hierarchy_between(
        &b->l, &(mlt_hierarchy_stage){collective, 0, b->hosts, root, in_place, in, out, after});
}

// Brings the blocks of this host into `part`, on its leader. `own`: the rank's block; `there`: it
// lies in `part` already.
static uint32_t gather_here(const blocks *b, mlt_goal_span own, mlt_goal_span part, bool there)
{
    if (b->l.here > 1)
        return stage_here(b, MLT_COLL_GATHER, own, part, there && b->leads, NONE);
    return there || own.buf == part.buf ? (uint32_t)NONE : mlt_emit_copy(b->l.e, part, own, NONE);
}

// ---- gather

void mlt_alg_gather_hosts(const mlt_emit *e)
{
    blocks b = blocks_begin(e, MLT_LEADER_ROOT);
    bool in_place = b.in_place && b.root;
    mlt_goal_span own = mlt_emit_buffer_if(e, !in_place, "in", mlt_emit_bytes(e, e->rank));
    mlt_goal_span out = mlt_emit_buffer_if(e, b.root, "out", mlt_emit_all(e)), all = out;
    if (b.root && !b.alike)
        all = mlt_emit_buffer(e, "tmp_all", mlt_emit_all(e));
    if (in_place)
        own = mlt_emit_blocks(e, out, e->rank, 1);
    mlt_goal_span part = b.root                    ? own_part(&b, all)
                         : b.leads && b.l.here > 1 ? mlt_emit_buffer(e, "tmp_host", bytes_here(&b))
                                                   : own;
    uint32_t done = gather_here(&b, own, part, in_place && b.alike);
    if (b.leads)
        done = stage_between(&b, MLT_COLL_GATHER, part, all, b.root, done);

    if (b.root && !b.alike)
        mlt_hierarchy_to_ranks(&b.l, out, all, in_place ? e->rank : (uint32_t)NONE, done);
    blocks_end(&b);
}

// ---- scatter

// On the root's host its own block stays where it is if it is in place; in other memory it is lost.
static void scatter_here(const blocks *b, mlt_goal_span part, mlt_goal_span own, bool in_place,
                         uint32_t after)
{
    if (b->l.here == 1) {
        if (!in_place && own.buf != part.buf)
            mlt_emit_copy(b->l.e, own, part, after);
        return;
    }
    stage_here(b, MLT_COLL_SCATTER, part, own, in_place, after);
}

void mlt_alg_scatter_hosts(const mlt_emit *e)
{
    blocks b = blocks_begin(e, MLT_LEADER_ROOT);
    bool in_place = b.in_place && b.root;
    mlt_goal_span in = mlt_emit_buffer_if(e, b.root, "in", mlt_emit_all(e)), all = in;
    mlt_goal_span own = mlt_emit_buffer_if(e, !in_place, "out", mlt_emit_bytes(e, e->rank));
    uint32_t done = NONE;
    if (b.root && !b.alike) {
        all = mlt_emit_buffer(e, "tmp_all", mlt_emit_all(e));
        done = mlt_hierarchy_to_hosts(&b.l, all, in, NONE);
    }
    mlt_goal_span part = b.root                    ? own_part(&b, all)
                         : b.leads && b.l.here > 1 ? mlt_emit_buffer(e, "tmp_host", bytes_here(&b))
                                                   : own;
    uint32_t came = NONE;
    if (b.leads)
        came = stage_between(&b, MLT_COLL_SCATTER, all, part, b.root, done);

    scatter_here(&b, part, own, in_place, b.root ? done : came);
    blocks_end(&b);
}

// ---- allgather

void mlt_alg_allgather_hosts(const mlt_emit *e)
{
    blocks b = blocks_begin(e, MLT_LEADER_FIRST);
    mlt_goal_span own = mlt_emit_buffer_if(e, !b.in_place, "in", mlt_emit_bytes(e, e->rank));
    mlt_goal_span out = mlt_emit_buffer(e, "out", mlt_emit_all(e)), all = out;
    if (b.in_place)
        own = mlt_emit_blocks(e, out, e->rank, 1);
    if (!b.alike)
        all = mlt_emit_buffer(e, "tmp_all", mlt_emit_all(e));
    bool there = b.in_place && b.alike;
    uint32_t done = gather_here(&b, own, own_part(&b, all), there);
    if (b.leads) {
        done = stage_between(&b, MLT_COLL_ALLGATHER, own, all, true, done);
    } else if (!there) {
        done = NONE; // what comes does not hinder what goes from elsewhere
    }
    mlt_hierarchy_stage spread = {.collective = MLT_COLL_BCAST,
                                  .count = b.hosts[b.l.map->hosts],
                                  .root = b.l.leader,
                                  .out = all,
                                  .after = done};
    if (b.l.here > 1)
        done = mlt_hierarchy_here(&b.l, &spread);
    if (!b.alike)
        mlt_hierarchy_to_ranks(&b.l, out, all, b.in_place ? e->rank : (uint32_t)NONE, done);
    blocks_end(&b);
}

// ---- reduce_scatter

void mlt_alg_reduce_scatter_hosts(const mlt_emit *e)
{
    blocks b = blocks_begin(e, MLT_LEADER_FIRST);
    uint64_t all = mlt_emit_all(e);
    mlt_goal_span in = mlt_emit_buffer(e, "in", all), sum = in;
    mlt_goal_span out = mlt_emit_buffer(e, "out", mlt_emit_bytes(e, e->rank)), part = out;
    uint32_t done = NONE;
    if (b.l.here > 1) {
        if (b.leads) {
            sum = mlt_emit_buffer(e, "tmp_sum", all);
            part = mlt_emit_buffer(e, "tmp_host", bytes_here(&b));
        }
        mlt_hierarchy_stage stage = {.collective = MLT_COLL_REDUCE,
                                     .count = all / e->element,
                                     .root = b.l.leader,
                                     .in = in,
                                     .out = sum,
                                     .after = NONE};
        done = mlt_hierarchy_here(&b.l, &stage);
    }
    if (b.leads && !b.alike) {
        mlt_goal_span ordered = mlt_emit_buffer(e, "tmp_all", all);
        done = mlt_hierarchy_to_hosts(&b.l, ordered, sum, done);
        sum = ordered;
    }
    if (b.leads)
        done = stage_between(&b, MLT_COLL_REDUCE_SCATTER, sum, part, false, done);

    scatter_here(&b, part, out, false, b.leads ? done : (uint32_t)NONE);
    blocks_end(&b);
}
