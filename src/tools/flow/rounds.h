// SPDX-License-Identifier: BSD-3-Clause
// What a placed flow program sends in some rounds, as a GOAL program: a rank for each worker, the
// lines that lead to other workers as messages, and the schedules of reductions as they run.
//
// In a round each module takes what its inputs get, computes, and sends one element on each output;
// to a Deal as many as it has receivers. What leads back, in a circle of wires, is taken in the next
// round:
//
//     c ||| r(sum)        round 1: c sends, r combines; round 2: c has the result, sends
//     a -> b -> c         round 1: a sends, b has it and sends, c has it
//
// So reductions that no module stands between run at once, as in Figure 6 of Aspen's paper. How many
// elements a queue holds does not count, and within a worker only combining does.
#pragma once

#include <stdint.h>

#include "flow/lower/lower.h"
#include "goal/program.h"

typedef struct mlt_flow_rounds {
    uint64_t bytes;      // of an element
    uint64_t count;      // rounds
    uint64_t compute_ns; // that an instance of weight 1 computes before it sends
} mlt_flow_rounds;

// On failure NULL and a sentence. The caller frees the program.
mlt_goal_program *mlt_flow_rounds_new(const mlt_flow_lowered *lowered, const mlt_flow_rounds *how,
                                      char *why, size_t why_size) MLT_MUST_CHECK;
