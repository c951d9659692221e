// SPDX-License-Identifier: BSD-3-Clause
// Drops dependencies that others imply.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "goal/program.h"

// How many were dropped. exact: all that can be, even where finding out takes long; otherwise some
// stay in such programs. A rank whose dependencies go round keeps them all.
uint64_t mlt_goal_reduce(mlt_goal_rank *rank, bool exact);
