// SPDX-License-Identifier: BSD-3-Clause
// What the files of the checker share. The proofs run one after the other, each on what the one
// before has shown:
//
//     match.c     actions are valid and in bounds; every send meets a receive
//     deadlock.c  the waits of all ranks' actions have no cycle; an order of events
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

typedef struct mlt_check {
    const mlt_goal_program *program;
    const mlt_goal_check_options *options;
    mlt_goal_verdict *verdict;
    uint64_t room; // of the verdict's findings
    mlt_goal_pairs *pairs;
    mlt_goal_graph **graph; // [ranks]
    bool wildcards;
    uint32_t *order; // all events (mlt_check_event), each after what it waits for if sends are
                     // buffered; NULL: some wait for ever
    uint32_t events;
} mlt_check;

// The start and the end of an action, by its number in mlt_goal_pairs.
static inline uint32_t mlt_check_event(uint64_t number, bool end)
{
    return (uint32_t)(2 * number + end);
}

// Counts a fault. The finding to be worded, or NULL if there are enough of its kind. It is valid
// until the next one.
mlt_goal_finding *mlt_check_found(mlt_check *check, mlt_goal_fault fault, mlt_goal_place first,
                                  mlt_goal_place second);
// Appends to the finding's text.
void mlt_check_say(mlt_goal_finding *finding, const char *format, ...) MLT_PRINTF(2, 3);
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

// ---- wait.c: a graph of events, which must come before which

typedef struct mlt_waits {
    uint32_t count;
    uint64_t *at; // event e is followed by to[at[e] .. at[e + 1])
    uint32_t *to;
} mlt_waits;

// emit calls mlt_waits_edge for each pair; it is called twice and must say the same both times.
void mlt_waits_init(mlt_waits *waits, uint32_t count, void (*emit)(mlt_waits *waits, void *user),
                    void *user);
void mlt_waits_edge(mlt_waits *waits, uint32_t before, uint32_t after);
void mlt_waits_fini(mlt_waits *waits);

// An order of the events; the caller frees it. If there is none: NULL, and a short cycle, in which
// each event comes only after the next one; *blocked is how many events never come.
uint32_t *mlt_waits_order(const mlt_waits *waits, uint32_t **cycle, uint32_t *cycle_count,
                          uint32_t *blocked);

// The events of the program.
void mlt_check_waits(const mlt_check *check, bool synchronous, mlt_waits *waits);
