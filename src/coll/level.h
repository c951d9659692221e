// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a worker do among themselves, in memory: combine before the schedule, spread
// what it brought. Blocks of the workers follow each other as their ranks do.
//
//     collective      between the workers       combined into           spread from
//     barrier         barrier                   -                       -
//     bcast           bcast                     the root's buffer       the first rank's buffer
//     reduce          reduce, in place          the root's out or acc   -
//     allreduce       allreduce, in place       the last rank's out     the same
//     gather          gather, in place          the root's out or acc   -
//     scatter         scatter, in place         the root's in           the root's in or acc
//     allgather       allgather, in place       the first rank's out    the same
//     alltoall        alltoall                  acc                     acc, second half
//     reduce_scatter  reduce_scatter            acc                     acc, second part
//     scan, exscan    exscan                    acc                     acc, second part
//
// A rank with small operands (team.h) has no buffers here: the root's, the first or last rank's is
// then the team's `result`, and the rank takes the spread part from there itself.
//
// acc is memory of the plan's instance. Bytes that stay in the worker go straight from rank to
// rank.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "coll/team_data.h"

// The place of a rank's worker among the workers; of the root, in the call between them.
uint32_t mlt_level_worker(const mlt_team *team, uint32_t rank);
static inline uint32_t mlt_level_root(const mlt_team *team, uint32_t rank)
{
    return MLT_LIKELY(!rank) || !team->at ? rank : mlt_level_worker(team, rank);
}

// The call between the workers that a call of ranks becomes: collective, in place, root, count,
// starts (`room`: [workers + 1] of the caller's, used if blocks differ).
mlt_coll_what mlt_level_between(const mlt_team *team, const mlt_coll_what *what, uint64_t *room);

// Bytes of acc.
uint64_t mlt_level_acc_bytes(const mlt_team *team, const mlt_coll_what *what);

typedef struct mlt_level {
    const mlt_team *team;
    const mlt_coll_what *what; // of the ranks
    mlt_arrival *at;           // [present]
    unsigned char *acc;
    unsigned char *result; // of small operands: the team's
    // After mlt_level_combine: what the schedule gets.
    const void *in;
    void *out;
} mlt_level;

void mlt_level_combine(mlt_level *level);
void mlt_level_spread(mlt_level *level);
