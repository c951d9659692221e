// SPDX-License-Identifier: BSD-3-Clause
// Dependencies from buffers (GOAL_AUTO): a program without any requ gets the least set of
// dependencies that is safe.
#pragma once

#include <stdint.h>

#include "goal/program.h"

// Adds dependencies to the rank so that any two actions that touch a byte, one of them writing,
// run in the order in which they stand in the program. The result, together with what was there
// already, is transitively reduced: no dependency can be left out. O(n log n) for n actions with
// few overlaps each.
void mlt_goal_derive(mlt_goal_program *program, uint32_t rank);
