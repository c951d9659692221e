// SPDX-License-Identifier: BSD-3-Clause
// Facts of a trace: what its numbers stand for, so that a file can be read without the program, and
// by another version of Millet. Lines of text with tabs between their fields:
//
//     job      ranks  command                 once, by mpirun
//     fn       number  name                   MPI's functions
//     how      kind  number  name             what `how` of events of that kind means
//     worker   number  host  process  first rank  ranks
//     host     number  name  first worker  workers
//     clock    host  ns of its clock  ahead | behind  ns  error    mpirun's clock is right; at begin and end
//     context  number  name  ranks            a communicator
//     process  worker  number  name           a process of a flow program
//     channel  worker  number  room  name     a channel, queue or port, and how many values it has room for
//     schedule worker  number  actions        what a rank does in a collective: trace/schedule.h
//     hang     why                            mpirun reported where ranks are: deadlock, time limit, asked
//     stuck    rank  peers  words             ... one that is blocked, and the ranks that it waits for ("2,5");
//                                             "*": those that are not in the barrier; "-": not known
//     cycle    ranks                          ... ranks that wait for each other ("0,2,1")
//     queue    from  to  numbers              flow: lines, elements, bytes, deepest, ns that senders waited for
//                                             room, ns that readers waited for elements; blanks between them
//     path     name  words                    a path of collectives (mpirun --paths), with its stages:
//     lane     worker                         ... its workers, if the times of its last calls were kept:
//     call     number  times                  ... of each lane: came, met, combined, exchanged, spread; ns from
//                                             the first one's coming on, with blanks between them
//     stage    name  times  least  mean  most ns
//     end      exit code                      once, by mpirun
//
// A reader skips lines that begin with another word. Later lines of the same key win.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

enum {
    MLT_TRACE_FNS = 4096, // numbers of functions are below this
    MLT_TRACE_HOWS = 256,
};

typedef struct mlt_trace_worker {
    char *host;
    uint32_t number, process, first, count;
} mlt_trace_worker;

typedef struct mlt_trace_host {
    char *name;
    uint32_t number, first, count; // workers
} mlt_trace_host;

// A host's clock was ahead of mpirun's by so much when it said `at`.
typedef struct mlt_trace_ahead {
    uint32_t host;
    uint64_t at_ns, error_ns;
    int64_t ahead_ns;
} mlt_trace_ahead;

typedef struct mlt_trace_context {
    uint32_t number, ranks;
    char *name;
} mlt_trace_context;

typedef struct mlt_trace_process {
    uint32_t worker, number;
    char *name;
} mlt_trace_process;

typedef struct mlt_trace_channel {
    uint32_t worker, number;
    uint64_t room;
    char *name;
} mlt_trace_channel;

typedef struct mlt_trace_told { // a schedule
    uint32_t worker, number;
    char *actions;
} mlt_trace_told;

typedef struct mlt_trace_stuck {
    uint32_t rank;
    char *peers, *words;
} mlt_trace_stuck;

enum { MLT_QUEUE_NUMBERS = 6, MLT_STAGE_NUMBERS = 4 };
enum {
    MLT_QUEUE_LINES,
    MLT_QUEUE_ELEMENTS,
    MLT_QUEUE_BYTES,
    MLT_QUEUE_DEEPEST,
    MLT_QUEUE_BLOCKED,
    MLT_QUEUE_STARVED
};

typedef struct mlt_trace_queue {
    char *from, *to; // to "": it is not wired
    uint64_t number[MLT_QUEUE_NUMBERS];
} mlt_trace_queue;

typedef struct mlt_trace_path {
    char *name, *words; // words NULL: a stage of the path before
    uint64_t number[MLT_STAGE_NUMBERS];
} mlt_trace_path;

// A lane, or a call, of a path.
typedef struct mlt_trace_play {
    uint32_t path; // index
    char *call;    // NULL: a lane
    char *words;
} mlt_trace_play;

typedef struct mlt_trace_facts_table {
    char **texts; // all that the others point to
    uint32_t text_count, text_room;
    uint32_t ranks;
    char *command; // NULL: unknown
    bool ended;
    int code;
    char **fns;                // [MLT_TRACE_FNS]; NULL: no names
    char **hows;               // [MLT_TRACE_KIND_COUNT * MLT_TRACE_HOWS]; NULL: no names
    mlt_trace_worker *workers; // by number
    mlt_trace_host *hosts;     // rows of workers, as they came; none: there is one host
    mlt_trace_ahead *aheads;   // as they came
    uint32_t host_count, host_room, ahead_count, ahead_room;
    mlt_trace_context *contexts;
    uint32_t worker_count, worker_room, context_count, context_room;
    char *hang, *cycle;      // of the last report; NULL: there was none
    mlt_trace_stuck *stucks; // ... by rank
    uint32_t stuck_count, stuck_room;
    mlt_trace_queue *queues;
    mlt_trace_path *paths;
    mlt_trace_play *plays;        // as they came
    mlt_trace_process *processes; // by worker and number
    mlt_trace_channel *channels;  // ... too
    mlt_trace_told *schedules;    // ... too
    uint32_t process_count, process_room, channel_count, channel_room, schedule_count,
        schedule_room;
    uint32_t queue_count, queue_room, path_count, path_room, play_count, play_room;
} mlt_trace_facts_table;

void mlt_facts_read(mlt_trace_facts_table *facts, const char *text, size_t bytes);
void mlt_facts_free(mlt_trace_facts_table *facts);

// NULL: nothing is known of it.
const mlt_trace_process *mlt_facts_process(const mlt_trace_facts_table *facts, uint32_t worker,
                                           uint32_t number);
const mlt_trace_channel *mlt_facts_channel(const mlt_trace_facts_table *facts, uint32_t worker,
                                           uint32_t number);
const mlt_trace_told *mlt_facts_schedule(const mlt_trace_facts_table *facts, uint32_t worker,
                                         uint32_t number);

// Names; never NULL: "function 17" and the like go to `room`.
const char *mlt_facts_fn(const mlt_trace_facts_table *facts, uint16_t fn, char room[32]);
const char *mlt_facts_how(const mlt_trace_facts_table *facts, uint8_t kind, uint8_t how,
                          char room[32]);
