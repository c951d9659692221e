// SPDX-License-Identifier: BSD-3-Clause
// A rank as LogGOPSim can say it: sends, receives and calculations, no memory.
#pragma once

#include "goal/program.h"

// Lowers a rank into *out, which must be zeroed or come from an earlier call (its room is used
// again); mlt_goal_lowered_free frees it. An operation becomes a calc of exec_ns_per_byte times its
// bytes, a no-op a calc of nothing, a receive with an operation a receive and a calc that requires
// it.
void mlt_goal_lower(const mlt_goal_rank *rank, double exec_ns_per_byte, mlt_goal_rank *out);
void mlt_goal_lowered_free(mlt_goal_rank *lowered);
