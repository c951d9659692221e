// SPDX-License-Identifier: BSD-3-Clause
// Collective operations between two groups, as schedules over the ranks of both, those of group 0
// first.
//
//     bcast           a broadcast among the root and the other group
//     gather          a gather among them; the root's own block has no bytes
//     scatter         the same way back
//     allgather       each group is gathered to the first rank of the other one, which broadcasts
//     reduce          a reduction in the other group, whose first rank sends the result to the root
//     allreduce       an allreduce in each group; then each rank gets the other group's result from
//                     a rank of it. If one group is much larger: first rank to first rank, and a
//                     broadcast
//     reduce_scatter  a reduction in each group; the first ranks exchange results and scatter them
//
// The parts are algorithms of alg.h, chosen by the built-in rules for their number of ranks and
// bytes. `in` is what a rank gives, `out` what it gets; bcast: buf.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "coll/alg/op.h"
#include "coll/choose.h"
#include "goal/program.h"
#include "goal/spec.h"

// What all ranks know alike, except `idle`, which is the rank's own, and `has_starts`, its group's.
typedef struct mlt_inter_shape { // no padding: a key
    uint64_t collective;         // mlt_collective
    uint32_t size[2];            // ranks of the groups
    uint32_t root;               // rank of the schedule; rooted ones. Not known to idle ranks: 0
    uint32_t idle;               // 1: the rank is in the root's group and not the root
    uint64_t count[2];           // elements that a rank of group g gives; of reductions in all
    uint32_t element;            // bytes
    uint32_t has_starts;         // 1: the caller's starts[size + 1] are where blocks begin that
                                 // reduce_scatter leaves in its group; else they are alike
} mlt_inter_shape;

typedef struct mlt_inter {
    mlt_inter_shape shape;
    const uint64_t *starts;
    const mlt_coll_op *op;      // reductions
    mlt_coll_question question; // how to choose: crowded, reproducible, reach, comm
} mlt_inter;

// True if an allgather of such blocks should go that way, and not as a list of messages.
bool mlt_inter_gathers(const uint32_t size[2], const uint64_t bytes[2]);

// Adds the program of `rank` to a program of one rank.
void mlt_inter_emit(const mlt_inter *inter, mlt_goal_program *program, uint32_t rank);
