// SPDX-License-Identifier: BSD-3-Clause
// Schedules of collectives: the messages that ranks exchanged in one of them, with their measured times beside what a
// simulator makes of the same messages (judge/sim/sim.h). There the ranks come when they came, and all messages are
// as fast as the machine: what took longer was no matter of the algorithm.
//
// Of each function and communicator the one is shown whose ranks needed longest after the last of them had come. A
// message belongs to it if it was sent in a call of it, so nonblocking ones are not shown.
#pragma once

#include "base/text.h"
#include "judge/sim/sim.h"
#include "tools/trace/story.h"

enum {
    MLT_SCHEDULES_MOST = 12,
    MLT_SCHEDULE_RANKS = 64, // larger ones are left out
    MLT_SCHEDULE_MESSAGES = 1024,
};

// The machine as the run shows it: its fastest small message is L, 10 GB/s, and no overhead.
mlt_loggops mlt_schedule_machine(const mlt_story *story);

// Adds "schedules":[...] to the description of a run.
void mlt_schedules_write(const mlt_story *story, const mlt_loggops *machine, mlt_text *json);
