// SPDX-License-Identifier: BSD-3-Clause
// The two drawings of `millet goal draw`, and what they share.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "goal/pairs.h"
#include "goal/program.h"
#include "judge/sim/sim.h"

enum { MLT_DRAW_TEXT_BYTES = 512 };

typedef struct mlt_drawing {
    const mlt_goal_program *program;
    const mlt_goal_pairs *pairs;
    uint32_t first, last; // ranks, both are drawn
    const char *title;
    // The timeline's: the simulation, with times and path, and its machine.
    const mlt_sim_result *sim;
    const mlt_loggops *machine;
    const mlt_loggops *within; // of messages within a host; NULL: every message costs the same
    const uint32_t *host;      // with `within`: of each rank
    uint64_t from_ps, to_ps;   // what is shown of it; to_ps UINT64_MAX: to its end
} mlt_drawing;

// What a person can look at; more is refused before it comes here.
enum { MLT_DRAW_DAG_RANKS = 128, MLT_DRAW_TIMELINE_RANKS = 256, MLT_DRAW_ACTIONS = 20000 };

// A column for each rank, actions as boxes in rows by their depth over all ranks, arrows for
// dependencies and messages. Each box is a <g class="action">.
void mlt_draw_dag(const mlt_drawing *drawing, FILE *to);

// A row for each rank and CPU, bars over time, lines for messages, the critical path emphasised.
// Each bar is a <g class="action">.
void mlt_draw_timeline(const mlt_drawing *drawing, FILE *to);
// True if the action holds its CPU, or waits after that, at some time that is shown. The time for
// which a receive is posted before that does not count.
bool mlt_draw_is_shown(const mlt_drawing *drawing, uint32_t rank, uint32_t action);

// "r1", or "" for an action without a label. Returns text.
const char *mlt_draw_label(const mlt_goal_program *program, const mlt_goal_action *action);
