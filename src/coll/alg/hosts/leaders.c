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
static uint64_t *pieces_of(const mlt_levels *l)
{
    uint64_t *starts = mlt_take(l->here + 1ull, sizeof *starts), count = l->e.shape->count;
    uint32_t leaders = l->map->fewest;
    for (uint32_t i = 0; i < l->here; i++)
        starts[i + 1] = starts[i] + (i < leaders ? count / leaders + (i < count % leaders) : 0);
    return starts;
}

// The leaders of the rank's number.
static void lead(mlt_levels *l)
{
    for (uint32_t h = 0; h < l->map->hosts; h++)
        l->leaders[h] = l->map->rank[l->map->first[h] + l->own];
}

static void emit_allreduce(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_levels l = mlt_levels_begin(shape, program, rank, MLT_LEADER_FIRST);
    mlt_operands o = mlt_operands_begin(&l.e, true);
    uint64_t *starts = pieces_of(&l), element = l.e.element;
    mlt_goal_span piece = mlt_emit_part(o.out, starts[l.own] * element,
                                        (starts[l.own + 1] - starts[l.own]) * element);
    // What is reduced is still being sent from `out` if it is in place.
    mlt_goal_span sum = o.in_place ? mlt_emit_buffer(&l.e, "tmp_sum", piece.size) : piece;
    mlt_stage stage = {.collective = MLT_COLL_REDUCE_SCATTER,
                       .starts = starts,
                       .in = o.in,
                       .out = sum,
                       .after = NONE};
    stage.after = mlt_stage_here(&l, &stage);
    if (l.own < l.map->fewest) {
        lead(&l);
        mlt_stage between = {.collective = MLT_COLL_ALLREDUCE,
                             .count = piece.size / element,
                             .in_place = !o.in_place,
                             .in = sum,
                             .out = piece,
                             .after = stage.after};
        stage.after = mlt_stage_between(&l, &between);
    }
    stage.collective = MLT_COLL_ALLGATHER;
    stage.in_place = true;
    stage.out = o.out;
    mlt_stage_here(&l, &stage);
    free(starts);
    mlt_levels_end(&l);
}

static const char *refuses(const mlt_coll_shape *shape)
{
    const char *why = mlt_levels_refuses(shape);
    return why ? why : shape->hosts->fewest < 2 ? "a host has only one of its ranks" : NULL;
}

const mlt_coll_alg mlt_allreduce_leaders = {
    .collective = MLT_COLL_ALLREDUCE,
    .name = "leaders",
    .help = "reduce_scatter on each host, all its ranks exchange with other hosts: long messages",
    .in_order = true,
    .canonical = true,
    .in_place = true,
    .uses_hosts = true,
    .refuses = refuses,
    .emit = emit_allreduce,
};
