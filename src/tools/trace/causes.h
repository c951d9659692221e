// SPDX-License-Identifier: BSD-3-Clause
// Why ranks waited, by name, and which rank the waiting goes back to.
//
// A wait has up to four parts: somebody was late; then the message was on its way; then the rank could go on, but its
// core ran others, or its worker did. Whoever was late may have waited itself: then the one that it waited for is the cause,
// and so on, up to 100 steps. What is left is what a rank did outside of waiting while others waited for it.
#pragma once

#include "tools/trace/story.h"

// X(class, name, what it says)
#define MLT_CAUSES(X)                                                                              \
    X(LATE_SENDER, "late sender", "the message was sent after its receiver began to wait")         \
    X(LATE_RECEIVER, "late receiver", "a send waited until the receiver asked for the message")    \
    X(BARRIER, "wait at a barrier", "the last rank had not come yet")                              \
    X(N_TO_N, "wait at n-to-n", "an allreduce, alltoall or the like: the last rank was not there") \
    X(LATE_BROADCAST, "late broadcast", "ranks waited for the root of a broadcast or scatter")     \
    X(EARLY_REDUCE, "early reduce", "the root of a reduce or gather came before the others")       \
    X(LOCK, "lock contention", "another rank had the lock of the window")                          \
    X(WINDOW, "wait at a window", "others had not posted, completed or answered yet")              \
    X(FULL_QUEUE, "full queue", "a queue or channel had no room: its reader was not there yet")    \
    X(STARVED, "starved fiber", "the rank could go on, but its worker ran other ranks")            \
    X(ON_ITS_WAY, "on its way", "the message was sent, or all had come: it took its time")         \
    X(NOT_RUN, "ready, not run", "the message was there, but its core ran others")                 \
    X(ASLEEP, "asleep", "the rank waited for time to pass")                                        \
    X(OTHER, "something else", "a channel, a queue, a descriptor, a collective without messages")

typedef enum mlt_cause {
#define MLT_CAUSE_ENUM(cause, name, help) MLT_CAUSE_##cause,
    MLT_CAUSES(MLT_CAUSE_ENUM)
#undef MLT_CAUSE_ENUM
        MLT_CAUSE_COUNT,
} mlt_cause;

extern const char *const mlt_cause_names[MLT_CAUSE_COUNT];
extern const char *const mlt_cause_helps[MLT_CAUSE_COUNT];

// Causes that another rank is behind.
static inline bool mlt_cause_is_late(mlt_cause cause)
{
    return cause <= MLT_CAUSE_STARVED;
}

typedef struct mlt_cause_part {
    uint64_t begin, end;
    int64_t rank; // who was late; -1: nobody that is known
    mlt_cause cause;
} mlt_cause_part;

enum { MLT_CAUSE_PARTS = 4 };

// What a rank does at a time, besides waiting: these numbers follow those of the causes.
enum {
    MLT_DOES_COMPUTE = MLT_CAUSE_COUNT,
    MLT_DOES_MESSAGES, // in a call, not waiting
    MLT_DOES_COLLECTIVES,
    MLT_DOES_OTHER, // windows, and all other calls
    MLT_DOES_COUNT,
};

// A rank is on the critical path.
typedef struct mlt_cause_step {
    uint64_t begin, end;
    uint32_t rank;
} mlt_cause_step;

typedef struct mlt_causes {
    const mlt_story *story;
    uint8_t
        hows[MLT_TRACE_HOWS]; // what waits of this kind are, if no message says more: an mlt_cause
    bool processes[MLT_TRACE_HOWS]; // ... whether it is for processes of the rank itself
    uint64_t ns[MLT_CAUSE_COUNT], count[MLT_CAUSE_COUNT];
    uint64_t blamed_ns;   // of all ranks and causes
    uint64_t *blamed;     // [cause * ranks + rank]: of late causes, what goes back to the rank
    uint64_t *does;       // [rank * MLT_DOES_COUNT + what]: ns
    mlt_cause_step *path; // by time; what ended last depends on it
    uint64_t path_count, path_room;
    uint64_t steps; // that the walk may still take
} mlt_causes;

void mlt_causes_find(mlt_causes *causes, const mlt_story *story);

// The parts of a rank's wait, by time. Returns how many.
int mlt_cause_parts(const mlt_causes *causes, uint32_t rank, const mlt_story_wait *wait,
                    mlt_cause_part parts[MLT_CAUSE_PARTS]);

// What goes back to a rank, over all causes.
uint64_t mlt_causes_blamed(const mlt_causes *causes, uint32_t rank);
// The rank to which most goes back; of one cause, or of all: MLT_CAUSE_COUNT.
uint32_t mlt_causes_worst(const mlt_causes *causes, unsigned cause);

// Tells what a rank did from its first event to its last one, by time and without gaps: an mlt_cause or one of MLT_DOES.
typedef void mlt_causes_see(void *user, unsigned what, uint64_t begin, uint64_t end);
void mlt_causes_walk(const mlt_causes *causes, uint32_t rank, mlt_causes_see *see, void *user);

// The same as frames that open and close: calls (MLT_CAUSE_COUNT + fn), and in them, or between them,
// the parts of waits (an mlt_cause).
typedef void mlt_causes_frame(void *user, uint32_t rank, unsigned frame, bool opens, uint64_t time);
void mlt_causes_frames(const mlt_causes *causes, uint32_t rank, mlt_causes_frame *see, void *user);
