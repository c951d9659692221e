// SPDX-License-Identifier: BSD-3-Clause
// Long blocks over hosts, with several leaders a host: as many as the smallest host has ranks. Each
// of them has a piece, which it exchanges with the leaders of the same number on other hosts. So all
// of them use the network at once, and a host's share of every byte crosses it once.
//
//     allreduce      host 0: 0 1 2 3                     host 1: 4 5 6 7
//
//     reduce_scatter on each host: 0 has a, 1 has b, ...         4 has a, 5 has b, ...
//     allreduce      a: 0 and 4     b: 1 and 5     c: 2 and 6    d: 3 and 7
//     allgather      on each host
#include <stdlib.h>

#include "base/memory.h"
#include "coll/alg/alg_int.h"
#include "coll/alg/hosts/stage.h"
#include "coll/alg/operands.h"

// Where the pieces of a host's ranks begin, in elements; those that lead nothing have none.
static uint64_t *pieces_of(const mlt_hierarchy *l)
{
    uint64_t *starts = mlt_xcalloc(l->here + 1ull, sizeof *starts), count = l->e->shape->count;
    uint32_t leaders = l->map->fewest;
    for (uint32_t i = 0; i < l->here; i++)
        starts[i + 1] = starts[i] + (i < leaders ? count / leaders + (i < count % leaders) : 0);
    return starts;
}

// The leaders of the rank's number.
static void lead(mlt_hierarchy *l)
{
    for (uint32_t h = 0; h < l->map->hosts; h++)
        l->leaders[h] = l->map->rank[l->map->first[h] + l->own];
}

void mlt_alg_allreduce_leaders(const mlt_emit *e)
{
    mlt_hierarchy l = mlt_hierarchy_begin(e, MLT_LEADER_FIRST);
    mlt_operands o = mlt_operands_begin(e, true);
    uint64_t *starts = pieces_of(&l), element = e->element;
    mlt_goal_span piece = mlt_emit_part(o.out, starts[l.own] * element,
                                        (starts[l.own + 1] - starts[l.own]) * element);
    // What is reduced is still being sent from `out` if it is in place.
    mlt_goal_span sum = o.in_place ? mlt_emit_buffer(e, "tmp_sum", piece.size) : piece;
    mlt_hierarchy_stage stage = {.collective = MLT_COLL_REDUCE_SCATTER,
                                 .starts = starts,
                                 .in = o.in,
                                 .out = sum,
                                 .after = NONE};
    stage.after = mlt_hierarchy_here(&l, &stage);
    if (l.own < l.map->fewest) {
        lead(&l);
        mlt_hierarchy_stage between = {.collective = MLT_COLL_ALLREDUCE,
                                       .count = piece.size / element,
                                       .in_place = !o.in_place,
                                       .in = sum,
                                       .out = piece,
                                       .after = stage.after};
        stage.after = mlt_hierarchy_between(&l, &between);
    }
    stage.collective = MLT_COLL_ALLGATHER;
    stage.in_place = true;
    stage.out = o.out;
    mlt_hierarchy_here(&l, &stage);
    free(starts);
    mlt_hierarchy_end(&l);
}

const char *mlt_alg_leaders_refuses(const mlt_coll_shape *shape)
{
    const char *why = mlt_hierarchy_refuses(shape);
    return why ? why : shape->hosts->fewest < 2 ? "a host has only one of its ranks" : NULL;
}

// ---- bcast

// On the root's host all get everything before its leaders pass on their pieces; on others the
// leaders gather what they got.
void mlt_alg_bcast_leaders(const mlt_emit *e)
{
    mlt_hierarchy l = mlt_hierarchy_begin(e, MLT_LEADER_ROOT);
    mlt_goal_span buf = mlt_emit_buffer(e, "buf", e->n);
    uint64_t *starts = pieces_of(&l), element = e->element;
    mlt_goal_span piece =
        mlt_emit_part(buf, starts[l.own] * element, (starts[l.own + 1] - starts[l.own]) * element);
    bool home = l.host == l.map->of[e->shape->root];
    mlt_hierarchy_stage stage = {.collective = MLT_COLL_BCAST,
                                 .count = e->shape->count,
                                 .root = l.leader,
                                 .out = buf,
                                 .after = NONE};
    if (home)
        stage.after = mlt_hierarchy_here(&l, &stage);
    if (l.own < l.map->fewest) {
        lead(&l);
        stage.count = piece.size / element;
        stage.root = l.map->of[e->shape->root];
        stage.out = piece;
        stage.after = e->rank == e->shape->root ? (uint32_t)NONE : stage.after;
        stage.after = mlt_hierarchy_between(&l, &stage);
    }
    mlt_hierarchy_stage gather = {.collective = MLT_COLL_ALLGATHER,
                                  .starts = starts,
                                  .in_place = true,
                                  .out = buf,
                                  .after = stage.after};
    if (!home)
        mlt_hierarchy_here(&l, &gather);
    free(starts);
    mlt_hierarchy_end(&l);
}

// ---- reduce_scatter

// Column c has the blocks of the ranks whose numbers on their hosts are c, c + L, c + 2L, ..., with L
// leaders a host: host by host, ascending on each.
typedef struct columns {
    mlt_hierarchy l;
    uint32_t count;
    uint64_t *starts; // [here + 1] columns, in elements; empty from L on
    uint64_t *hosts;  // [hosts + 1] the own column's
} columns;

static uint64_t leaders_elements(const mlt_hierarchy *l, uint32_t rank)
{
    return mlt_emit_bytes(l->e, rank) / l->e->element;
}

static columns columns_of(const mlt_emit *e)
{
    columns c = {.l = mlt_hierarchy_begin(e, MLT_LEADER_FIRST)};
    const mlt_coll_hosts *map = c.l.map;
    c.count = map->fewest;
    c.starts = mlt_xcalloc(c.l.here + 1ull, sizeof *c.starts);
    c.hosts = mlt_xcalloc(map->hosts + 1ull, sizeof *c.hosts);
    for (uint32_t r = 0; r < map->ranks; r++) {
        uint32_t column = map->index[r] % c.count;
        c.starts[column + 1] += leaders_elements(&c.l, r);
        if (column == c.l.own)
            c.hosts[map->of[r] + 1] += leaders_elements(&c.l, r);
    }
    for (uint32_t i = 0; i < c.l.here; i++)
        c.starts[i + 1] += c.starts[i];
    for (uint32_t h = 0; h < map->hosts; h++)
        c.hosts[h + 1] += c.hosts[h];
    return c;
}

static void columns_end(columns *c)
{
    mlt_hierarchy_end(&c->l);
    free(c->starts);
    free(c->hosts);
}

// From the order of ranks to that of columns.
static uint32_t to_columns(const columns *c, mlt_goal_span to, mlt_goal_span from)
{
    const mlt_coll_hosts *map = c->l.map;
    uint32_t end = mlt_emit_nop(c->l.e, NONE);
    uint64_t *at = mlt_xcalloc(c->count, sizeof *at);
    for (uint32_t i = 0; i < map->ranks; i++) { // host by host
        uint32_t rank = map->rank[i], column = map->index[rank] % c->count;
        mlt_goal_span block = mlt_emit_blocks(c->l.e, from, rank, 1);
        uint64_t place = c->starts[column] * c->l.e->element + at[column];
        mlt_emit_after(c->l.e, end,
                       mlt_emit_copy(c->l.e, mlt_emit_part(to, place, block.size), block, NONE));
        at[column] += block.size;
    }
    free(at);
    return end;
}

// The blocks of the host's ranks in the leader's column go to them.
static void hand_out(const columns *c, mlt_goal_span part, mlt_goal_span out, uint32_t after)
{
    const mlt_hierarchy *l = &c->l;
    const uint32_t *ranks = l->map->rank + l->map->first[l->host];
    uint64_t at = 0;
    for (uint32_t i = l->own; i < l->here; i += c->count) {
        mlt_goal_span block = mlt_emit_part(part, at, mlt_emit_bytes(l->e, ranks[i]));
        at += block.size;
        if (i != l->own)
            mlt_emit_send(l->e, block, ranks[i], after);
        else if (part.buf != out.buf)
            mlt_emit_copy(l->e, out, block, after);
    }
}

void mlt_alg_reduce_scatter_leaders(const mlt_emit *e)
{
    columns c = columns_of(e);
    uint64_t own = c.starts[c.l.own + 1] - c.starts[c.l.own], all = mlt_emit_all(e);
    mlt_goal_span in = mlt_emit_buffer(e, "in", all), column = {0};
    mlt_goal_span out = mlt_emit_buffer(e, "out", mlt_emit_bytes(e, e->rank)), part = out;
    mlt_goal_span ordered = mlt_emit_buffer(e, "tmp_all", all);
    bool leads = c.l.own < c.count;
    uint64_t mine = c.hosts[c.l.host + 1] - c.hosts[c.l.host];
    column = mlt_emit_buffer(e, "tmp_column", own * e->element);
    if (leads && c.l.own + c.count < c.l.here)
        part = mlt_emit_buffer(e, "tmp_host", mine * e->element);
    mlt_hierarchy_stage stage = {.collective = MLT_COLL_REDUCE_SCATTER,
                                 .starts = c.starts,
                                 .in = ordered,
                                 .out = column,
                                 .after = to_columns(&c, ordered, in)};
    stage.after = mlt_hierarchy_here(&c.l, &stage);
    if (leads) {
        lead(&c.l);
        stage.starts = c.hosts;
        stage.in = column;
        stage.out = part;
        hand_out(&c, part, out, mlt_hierarchy_between(&c.l, &stage));
    } else {
        const uint32_t *ranks = c.l.map->rank + c.l.map->first[c.l.host];
        mlt_emit_recv(e, out, ranks[c.l.own % c.count], NONE);
    }
    columns_end(&c);
}
