// SPDX-License-Identifier: BSD-3-Clause
// The schedule of a collective as a trace tells it (fact `schedule`): one rank's actions, with their
// dependencies. Actions are separated by blanks, in an order in which they can run:
//
//     s5,0,8        sends 8 bytes to rank 5 of the world; 0 is the message's slot (goal/sched.h)
//     r5,0,8,20     receives them, and works on them for 20 ns
//     c20           works for 20 ns
//     <1            after an action: it waits for the end of the one before
//     ^2            ... for the start of the one before that
//
// So a rank in a binomial tree that passes on 8 bytes twice is "r0,0,8,0 s5,0,8<1 s6,0,8<2".
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct mlt_trace_source { // what an action waits for
    uint32_t action;
    bool start; // for its start only
} mlt_trace_source;

typedef struct mlt_trace_action {
    char kind; // 's', 'r' or 'c'
    bool last; // no other action waits for its end
    uint32_t peer, slot;
    uint64_t bytes, work_ns;
    uint32_t first_source, sources; // in mlt_trace_schedule.source
} mlt_trace_action;

typedef struct mlt_trace_schedule {
    mlt_trace_action *action;
    mlt_trace_source *source;
    uint32_t actions, action_room, sources, source_room, messages;
} mlt_trace_schedule;

// False: the text is none of a schedule. Free it in any case.
bool mlt_trace_schedule_read(mlt_trace_schedule *schedule, const char *text);
void mlt_trace_schedule_free(mlt_trace_schedule *schedule);
