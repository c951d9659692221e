// SPDX-License-Identifier: BSD-3-Clause
// A trace as a story: what each rank did, one call after the other, where it waited, and which message
// met which receive. Everything that explains a run (causes.h, view/) starts from it.
//
// The whole story is in memory: about 100 bytes for a call with its message and its wait.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tools/trace/depths.h"
#include "tools/trace/trace.h"

#define MLT_STORY_NONE    UINT32_MAX
#define MLT_STORY_UNKNOWN UINT64_MAX // as a time

// What a function is for.
typedef enum mlt_story_group {
    MLT_GROUP_OTHER,
    MLT_GROUP_MESSAGES,
    MLT_GROUP_BARRIER,
    MLT_GROUP_ALL,   // every rank needs every rank's part: allreduce, alltoall, splitting
    MLT_GROUP_FROM,  // from one to all: broadcast, scatter
    MLT_GROUP_TO,    // from all to one: reduce, gather
    MLT_GROUP_CHAIN, // scan
    MLT_GROUP_WINDOWS,
} mlt_story_group;

typedef struct mlt_story_call {
    uint64_t begin, end, bytes;
    int32_t peer, tag; // peer: a rank of the communicator
    uint32_t context;
    uint16_t fn;
    uint8_t group; // mlt_story_group
    bool nonblocking;
    uint32_t
        meeting; // collectives: the index of the one that it took part in; MLT_STORY_NONE: no one
} mlt_story_call;

// What a wait was for, where an event beside it tells.
typedef enum mlt_story_inner {
    MLT_INNER_NONE,
    MLT_INNER_LOCK,            // of a window
    MLT_INNER_WINDOW,          // something else about a window
    MLT_INNER_ROOM,            // in a queue or channel
    MLT_STORY_INNER_PROCESSES, // of the rank itself, which run meanwhile
} mlt_story_inner;

typedef struct mlt_story_wait {
    uint64_t begin, end;
    uint32_t
        call; // of the same rank, in which it was; MLT_STORY_NONE: in none, or in one without an end
    uint32_t
        message;   // that met its receive meanwhile, the last one of them; MLT_STORY_NONE: none did
    uint32_t sent; // the last message that the rank sent before; MLT_STORY_NONE: none
    int32_t peer;  // a rank in the world that it waited for; -1: not told
    uint8_t how;   // as events of kind WAIT have it
    uint8_t inner; // mlt_story_inner
    int32_t ran;   // the rank that its worker ran last before it; -1: none
    uint64_t ready; // from then on it could go on; MLT_STORY_UNKNOWN: its worker let it at once
} mlt_story_wait;

// An event that says more about a wait; it lies before that of the wait.
typedef struct mlt_story_hint {
    uint64_t time;
    int32_t peer, process;
    uint8_t inner;
} mlt_story_hint;

// So many more of the rank's modules run from now on.
typedef struct mlt_story_point {
    uint64_t time;
    int more;
} mlt_story_point;

typedef struct mlt_story_message {
    uint64_t sent, matched; // MLT_STORY_UNKNOWN: not in the trace
    uint64_t bytes;
    uint32_t from, to, context;
    int32_t tag;
    uint64_t number; // of its stream
} mlt_story_message;

// What a device copied for a rank.
typedef struct mlt_story_copy {
    uint64_t begin, end, bytes;
    uint32_t rank;
    uint8_t how; // as events of kind COPIED have it
} mlt_story_copy;

// Ranks that call a collective together.
typedef struct mlt_story_meeting {
    uint64_t first, last, end; // when the first and the last rank came; when the last one left
    uint64_t root;   // when the root came; MLT_STORY_UNKNOWN: it has none, or it is not known
    uint64_t waited; // sum of what ranks were there before the last one
    uint32_t late;   // the rank that came last
    uint32_t ranks, context;
    uint16_t fn;
} mlt_story_meeting;

typedef struct mlt_story_rank {
    mlt_story_call *calls; // by their begin
    mlt_story_wait *waits;
    uint32_t call_count, call_room, wait_count, wait_room;
    uint32_t worker;
    uint32_t open;    // while reading: the first wait whose call has not ended yet
    uint32_t matched; // while reading: the last message that it received
    uint32_t left;    // while reading: the last message that it sent
    uint32_t within;  // while reading: the first wait of a process since the rank's own last one
    mlt_story_hint hint, ready, woken; // while reading: the last of each
    struct mlt_story_point *points;    // while reading: when modules of it began, waited, ended
    uint32_t point_count, point_room;
    bool lived;          // ... and some have told when they began and ended
    uint64_t begin, end; // its first event began, its last one ended
    bool unsorted;
} mlt_story_rank;

typedef struct mlt_story {
    const mlt_trace *trace;
    mlt_story_rank *ranks;
    mlt_story_message *messages; // as they were matched; then those that nobody received
    mlt_story_meeting *meetings;
    uint64_t message_count, message_room;
    uint32_t rank_count, rank_room, meeting_count, meeting_room;
    mlt_story_copy *copies; // of a worker, as they ended
    uint64_t copy_count, copy_room;
    uint64_t length_ns;
    uint64_t damaged; // chunks
    uint64_t pauses;  // of workers' traces that went on
    mlt_depths depths;
    uint8_t groups[MLT_TRACE_FNS];
    bool nonblocking[MLT_TRACE_FNS];
    uint8_t inner[MLT_TRACE_KIND_COUNT][MLT_TRACE_HOWS]; // mlt_story_inner
} mlt_story;

// Reads all events; `also`, if not NULL, is shown each of them, too. The trace stays open as long as the story is used.
// A story, and what is made of it, stays until the process ends.
void mlt_story_read(mlt_story *story, const mlt_trace *trace, mlt_trace_see *also, void *user);

// The first wait of a rank that ends after a time; wait_count if none does.
uint32_t mlt_story_wait_after(const mlt_story_rank *rank, uint64_t time);
