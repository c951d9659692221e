// SPDX-License-Identifier: BSD-3-Clause
// EXCHANGE without an algorithm of the table: used where rules cannot choose (mpi/coll/list.c);
// alg/exchange has those with rules.
//
// A rank's list of messages as its schedule: all at once, receives first. What a rank sends to
// itself is copied; spec.h's EXCHANGE says what the others get.
//
// `same`: every entry of `send` is the same bytes (a gather from neighbours), so a rank that is
// named several times gets them once, and copies them to the other places itself. Both sides have
// the same number of entries for each other, so they agree without asking; tags do not matter then.
//
// What a rank sends to itself and does not receive in that size goes as messages, so that the run
// finds the fault.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "goal/program.h"
#include "goal/spec.h"

// `rank` is the one whose list it is; the program's only one, or one of all.
void mlt_exchange_emit(mlt_goal_program *program, uint32_t rank, const mlt_goal_messages *parts,
                       bool same);
