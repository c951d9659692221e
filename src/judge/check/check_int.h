// SPDX-License-Identifier: BSD-3-Clause
// What the files of the checker share. The proofs run one after the other, each on what the one
// before has shown:
//
//     match.c     actions are valid and in bounds; every send meets a receive
//     deadlock.c  the waits of all ranks' actions (waits.h) have no cycle; an order of events
//     window.c    the same for the compiled code and its window
//     race.c      unordered actions touch different bytes
//     result.c    the events in that order leave in `out` what the operation demands; on memory.c
//                 (which bytes hold which value) and value.c (values)
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "goal/graph.h"
#include "judge/check/check.h"
#include "judge/waits.h"

typedef struct mlt_check {
    const mlt_goal_program *program;
    const mlt_goal_check_options *options;
    mlt_goal_verdict *verdict;
    uint64_t room; // of the verdict's findings
    mlt_goal_pairs *pairs;
    mlt_goal_graph **graph; // [ranks]
    bool wildcards;
    mlt_waits waits; // if sends are buffered; order NULL: some wait for ever
} mlt_check;

// Counts a fault. The finding to be worded, or NULL if there are enough of its kind. It is valid
// until the next one.
mlt_goal_finding *mlt_check_found(mlt_check *check, mlt_goal_fault fault, mlt_goal_place first,
                                  mlt_goal_place second);
// Appends to the finding's text.
void mlt_check_say(mlt_goal_finding *finding, const char *format, ...) MLT_PRINTF(2, 3);
// A finding about a rank, in a sentence.
void mlt_check_tell(mlt_check *check, mlt_goal_fault fault, uint32_t rank, const char *format, ...)
    MLT_PRINTF(4, 5);
void mlt_check_looked(mlt_check *check, mlt_goal_fault fault);
void mlt_check_progress(const mlt_check *check, double done);

// The rank of an action's number.
mlt_goal_place mlt_check_place(const mlt_check *check, uint64_t number);
// "rank 3, action 2 (...)" in `text`, which it returns.
enum { MLT_CHECK_TEXT = 512 };
const char *mlt_check_describe(const mlt_check *check, mlt_goal_place place,
                               char text[MLT_CHECK_TEXT]);
// "out", "memory": what people call a buffer.
const char *mlt_check_buffer_name(const mlt_goal_program *program, uint32_t rank, uint32_t buf);
// "bytes 0..7 of out" or "byte 3 of memory" in `text`, which it returns.
const char *mlt_check_bytes(const mlt_goal_program *program, uint32_t rank, uint32_t buf,
                            uint64_t from, uint64_t to, char text[MLT_CHECK_TEXT]);

static inline const mlt_goal_action *mlt_check_action(const mlt_check *check, mlt_goal_place place)
{
    return &check->program->rank[place.rank].actions[place.action];
}

// ---- the proofs

// Kinds, peers, buffers, dependencies, bounds. False: not even the others can be tried.
bool mlt_check_valid(mlt_check *check);
void mlt_check_match(mlt_check *check);
bool mlt_check_cycles(mlt_check *check); // makes the graphs; false: there is a cycle
void mlt_check_deadlock(mlt_check *check);
void mlt_check_window(mlt_check *check);
void mlt_check_race(mlt_check *check);
void mlt_check_result(mlt_check *check);
