// SPDX-License-Identifier: BSD-3-Clause
// Alltoall over hosts (stage.h): the leader of a host gathers what its ranks send, and hosts
// exchange one message for all pairs of their ranks. H(H-1) messages instead of P(P-1) between
// hosts, but each byte is sent three times: short blocks.
//
// Hosts exchange as ranks with weights do (goal/spec.h); a host's weight is that of its ranks
// together. In the block from one host to another, what rank i of the first has for rank j of the
// second lies in the order of i, then j.
#include <stdlib.h>

#include "base/memory.h"
#include "coll/alg/alg_int.h"
#include "coll/alg/hosts/stage.h"

typedef struct crossing {
    mlt_hierarchy l;
    const uint32_t *ranks; // of this host
    uint64_t *hosts;       // [hosts + 1] weights of the hosts before
    uint64_t *here;        // [here + 1] weights of the host's ranks before
    uint64_t all;          // weights of all
} crossing;

static uint64_t weight_before(const mlt_hierarchy *l, uint32_t rank)
{
    const uint64_t *starts = l->e->shape->starts;
    return starts ? starts[rank] : rank;
}

static uint64_t weight(const mlt_hierarchy *l, uint32_t rank)
{
    return weight_before(l, rank + 1) - weight_before(l, rank);
}

static crossing alltoall_begin(const mlt_emit *e)
{
    crossing x = {.l = mlt_hierarchy_begin(e, MLT_LEADER_FIRST)};
    const mlt_coll_hosts *map = x.l.map;
    x.ranks = map->rank + map->first[x.l.host];
    x.hosts = mlt_xcalloc(map->hosts + 1ull, sizeof *x.hosts);
    x.here = mlt_xcalloc(x.l.here + 1ull, sizeof *x.here);
    for (uint32_t r = 0; r < map->ranks; r++)
        x.hosts[map->of[r] + 1] += weight(&x.l, r);
    for (uint32_t h = 0; h < map->hosts; h++)
        x.hosts[h + 1] += x.hosts[h];
    for (uint32_t i = 0; i < x.l.here; i++)
        x.here[i + 1] = x.here[i] + weight(&x.l, x.ranks[i]);
    x.all = x.hosts[map->hosts];
    return x;
}

static void alltoall_end(crossing *x)
{
    mlt_hierarchy_end(&x->l);
    free(x->hosts);
    free(x->here);
}

// What the i-th rank of this host has for `count` ranks from `far` on, in the memory of all ranks of
// this host, or has from them.
static mlt_goal_span by_rank(const crossing *x, mlt_goal_span ranks, uint32_t i, uint32_t far,
                             uint32_t count)
{
    uint64_t w = x->here[i + 1] - x->here[i], before = weight_before(&x->l, far);
    uint64_t bytes = w * (weight_before(&x->l, far + count) - before) * x->l.e->n;
    return mlt_emit_part(ranks, (x->here[i] * x->all + w * before) * x->l.e->n, bytes);
}

// From the ranks' memory to the messages for hosts. Ranks that follow each other are one copy.
static uint32_t alltoall_leave(const crossing *x, mlt_goal_span hosts, mlt_goal_span ranks,
                               uint32_t after)
{
    const mlt_coll_hosts *map = x->l.map;
    uint32_t done = mlt_emit_nop(x->l.e, after);
    uint64_t at = 0;
    for (uint32_t h = 0; h < map->hosts; h++)
        for (uint32_t i = 0; i < x->l.here; i++)
            for (uint32_t j = map->first[h], next; j < map->first[h + 1]; j = next) {
                for (next = j + 1;
                     next < map->first[h + 1] && map->rank[next] == map->rank[next - 1] + 1;)
                    next++;
                mlt_goal_span from = by_rank(x, ranks, i, map->rank[j], next - j);
                mlt_goal_span to = mlt_emit_part(hosts, at, from.size);
                at += from.size;
                mlt_emit_after(x->l.e, done, mlt_emit_copy(x->l.e, to, from, after));
            }
    return done;
}

// From the messages of hosts to the ranks' memory.
static uint32_t arrive(const crossing *x, mlt_goal_span ranks, mlt_goal_span hosts, uint32_t after)
{
    const mlt_coll_hosts *map = x->l.map;
    uint32_t done = mlt_emit_nop(x->l.e, after);
    uint64_t at = 0;
    for (uint32_t j = 0; j < map->ranks; j++) // host by host
        for (uint32_t i = 0; i < x->l.here; i++) {
            mlt_goal_span to = by_rank(x, ranks, i, map->rank[j], 1);
            mlt_goal_span from = mlt_emit_part(hosts, at, to.size);
            at += to.size;
            mlt_emit_after(x->l.e, done, mlt_emit_copy(x->l.e, to, from, after));
        }
    return done;
}

// Between the leaders: from `ranks` and back to it.
static uint32_t alltoall_exchange(const crossing *x, mlt_goal_span from, mlt_goal_span to,
                                  uint32_t after)
{
    uint64_t bytes = x->here[x->l.here] * x->all * x->l.e->n;
    mlt_goal_span out = mlt_emit_buffer(x->l.e, "tmp_leave", bytes);
    mlt_goal_span in = mlt_emit_buffer(x->l.e, "tmp_arrive", bytes);
    mlt_hierarchy_stage stage = {.collective = MLT_COLL_ALLTOALL,
                                 .count = x->l.e->shape->count,
                                 .starts = x->hosts,
                                 .in = out,
                                 .out = in,
                                 .after = alltoall_leave(x, out, from, after)};
    return arrive(x, to, in, mlt_hierarchy_between(&x->l, &stage));
}

void mlt_alg_alltoall_hosts(const mlt_emit *e)
{
    crossing x = alltoall_begin(e);
    uint64_t own = weight(&x.l, e->rank) * x.all * e->n, bytes = x.here[x.l.here] * x.all * e->n;
    mlt_goal_span in = mlt_emit_buffer(e, "in", own), out = mlt_emit_buffer(e, "out", own);
    if (x.l.here == 1) {
        alltoall_exchange(&x, in, out, NONE);
        alltoall_end(&x);
        return;
    }
    bool leads = mlt_hierarchy_leads(&x.l);
    mlt_goal_span ranks = leads ? mlt_emit_buffer(e, "tmp_ranks", bytes) : out;
    uint64_t *starts = mlt_xcalloc(x.l.here + 1ull, sizeof *starts);
    for (uint32_t i = 0; i <= x.l.here; i++)
        starts[i] = x.here[i] * x.all * e->shape->count;
    mlt_hierarchy_stage stage = {.collective = MLT_COLL_GATHER,
                                 .starts = starts,
                                 .root = x.l.leader,
                                 .in = in,
                                 .out = ranks,
                                 .after = NONE};
    stage.after = mlt_hierarchy_here(&x.l, &stage);
    stage.after = leads ? alltoall_exchange(&x, ranks, ranks, stage.after) : (uint32_t)NONE;
    stage.collective = MLT_COLL_SCATTER;
    stage.in = ranks;
    stage.out = out;
    mlt_hierarchy_here(&x.l, &stage);
    free(starts);
    alltoall_end(&x);
}
