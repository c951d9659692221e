// SPDX-License-Identifier: BSD-3-Clause
// A flow program that runs: what a worker has of it.
//
// Every worker computes the same graph, places and tasks (graph.h, place.h, lower.h) and runs its
// own tasks, each as a process (csp/proc.h) that stems from the rank of its place.
//
//     task ── outlet ──> inlet ── task          same worker: the inlet's channel, a csp_chan of
//                                               pointers to elements
//     task ── outlet ── conn ))  (( inlet ── task   another worker: conn.h
//
// An inlet is a queue: of a module, one of its input queues, with all lines that lead to it; of
// another task, the end of one line. An outlet is the beginning of one line. End of input is the
// channel's retirement: each line is a writer of the inlet's channel until its outlet ends.
//
//     main.c    flow_main: arguments, meeting, running, end, failures
//     start.c   instances, their inlets and outlets
//     queue.c   what goes through these, and the queues of modules
//     conn.c    lines to other workers
//     help.c    collectives go on while a module computes
//     stats.c   what `mpirun --report` prints
//     element/  what lies in a queue, and its memory
//     part/     collective tasks
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"
#include "csp/chan.h"
#include "csp/net/route.h"
#include "csp/state.h"
#include "flow/element/element.h"
#include "flow/graph/graph.h"
#include "flow/lower/lower.h"
#include "flow/place/place.h"

typedef struct mlt_flow_program mlt_flow_program;
typedef struct mlt_flow_conn mlt_flow_conn;

// What passed a queue. Waiting is timed only if somebody asks (mlt_flow_program.measures).
typedef struct mlt_flow_stats {
    uint64_t elements, bytes; // of an outlet: all; of an inlet: those from other workers
    uint64_t deepest;         // of an inlet: most elements in it at once
    uint64_t starved_ns;      // of an inlet: its reader waited
    uint64_t blocked_ns;      // of an outlet: its writer waited for room
    uint64_t dropped;         // of an outlet that is not wired: elements
} mlt_flow_stats;

typedef struct mlt_flow_inlet {
    mlt_flow_program *program;
    csp_chan *chan; // of mlt_flow_element *; NULL: not wired. Room for `cap` elements of local
                    // lines, and for each line from elsewhere as many as that line's cap
    csp_in *in;
    uint32_t task;
    uint16_t queue; // of a module
    union {
        struct {
            bool mixed;   // it has local lines and others: local ones leave the others' room alone
            bool wrapped; // a module that sends to it goes along a way (csp/intercept.h)
            bool traced;  // a trace hears how deep it is
        };
        uint32_t odd; // not 0: look closer
    };
    bool ended;
    uint32_t line; // the first one
    uint32_t told; // traced: how deep it was when that was told last, and when
    uint64_t told_ns;
    uint32_t cap, locals;       // mixed: how many elements of local lines have room, and are in it
    uint64_t bytes, bytes_most; // of the elements in it. At bytes_most, writers of local lines
                                // wait, unless it holds fewer than two elements
    mlt_flow_stats stats;
    struct mlt_flow_pair *pair; // of a Reduce whose contributors share copies (part/pair.c)
} mlt_flow_inlet;

typedef struct mlt_flow_outlet {
    mlt_flow_program *program;
    mlt_flow_inlet *to;  // on this worker; NULL: elsewhere, or nowhere
    csp_out *out;        // of it
    mlt_flow_conn *conn; // to another worker, made by mlt_flow_conns_begin; NULL: none
    uint32_t line;       // MLT_FLOW_NO_LINE: not wired
    uint32_t task;
    uint16_t queue; // of a module
    bool ended;
    bool wrapped; // it has a way: it is a module's, and its line ends where a rule book says
    mlt_flow_stats stats;
} mlt_flow_outlet;

// A queue of a module, as the module sees it.
struct flow_queue {
    struct flow_instance *instance;
    const flow_queue_decl *decl;
    mlt_flow_inlet *in;     // of an output: NULL
    mlt_flow_outlet *out;   // of an input: NULL
    mlt_flow_element *last; // what flow_dequeue gave, unless it was kept or given away since
    bool wrapped;           // of an input: it has a way
};

// A task of this worker.
typedef struct flow_instance {
    mlt_flow_program *program;
    uint32_t task;
    bool started, ended;
    uint32_t turn;        // the queue at which flow_dequeue_from begins to look
    const char *name;     // "c[3]"
    mlt_flow_inlet *in;   // modules: [queue_count], those that are inputs; others: [lines in]
    mlt_flow_outlet *out; // modules: [queue_count], those that are outputs; others: [lines out]
    uint32_t ins, outs;
    const flow_module *module; // NULL: another task
    void *my;                  // a module's struct
    flow_queue *queues;        // [queue_count] of a module
} flow_instance;

struct mlt_flow_program {
    mlt_csp *csp;
    uint32_t worker; // this one
    mlt_flow_graph *graph;
    mlt_flow_sites *sites;
    mlt_flow_placing *placing;
    mlt_flow_lowered *lowered;
    flow_instance *instances; // of this worker, by place
    uint32_t instance_count;
    uint32_t *place_first;        // [ranks_here + 1]: instances of the worker's n-th rank
    uint32_t *instance_of;        // [task_count]; UINT32_MAX: elsewhere
    mlt_flow_inlet **inlet_of;    // [line_count]: where lines end on this worker; NULL: elsewhere
    mlt_pool elements;            // small ones
    struct mlt_flow_conns *conns; // conn.c
    struct mlt_flow_parts *parts; // part/part.c
    mlt_flow_arena *memory;       // of what start.c makes
    int argc;
    char **argv;
    // Long data (help.h).
    uint32_t busy, plain; // how much is under way; of that, with an operation of the program's own
    struct mlt_flow_helper *helper; // NULL: none yet
    bool helpless;                  // the system refused one
    uint64_t processes; // what mlt_csp.processes is if only flow starts processes on this worker
    bool measures;      // somebody asks for stats: waiting is timed
    uint32_t ranks_here, ranks_done, ranks_left; // all; whose tasks have ended; that have gone
    char why[512];                               // why it has no places
    uint64_t hash; // of the graph and its places: the same on all workers
};

// The calling worker's; NULL: none runs.
extern _Thread_local mlt_flow_program *mlt_flow_self __attribute__((tls_model("initial-exec")));

// ---- queue.c: what tasks do

// Puts an element into a line; waits while there is no room. The element is consumed, whatever
// happens. False: nobody takes elements of this line any more.
bool mlt_flow_put(mlt_flow_outlet *outlet, mlt_flow_element *e);
// The next element; waits. NULL: end of input. Gives its credit back (mlt_flow_conn_taken).
mlt_flow_element *mlt_flow_take(mlt_flow_inlet *inlet);
// The same, for a reader that shows others (part/pair.c) what it was handed before it runs again:
// *handed is that element meanwhile, and NULL when this returns. Returns MLT_FLOW_MERGED if data
// was combined instead (mlt_flow_merged_at).
#define MLT_FLOW_MERGED ((mlt_flow_element *)1)
mlt_flow_element *mlt_flow_take_to(mlt_flow_inlet *inlet, mlt_flow_element **handed);
// The inlet's reader, which waits in mlt_flow_take_to, goes on with MLT_FLOW_MERGED.
void mlt_flow_merged_at(mlt_flow_inlet *inlet);
// No more will be put, or taken. Once each; main.c calls them when a task's process ends.
void mlt_flow_outlet_end(mlt_flow_outlet *outlet);
void mlt_flow_inlet_end(mlt_flow_inlet *inlet);

// The instance whose process calls; NULL: another process, or a thread.
flow_instance *mlt_flow_calling(void);

// For conn.c, which must not wait: an element from elsewhere has come, for which its credit
// guarantees room; and its line has ended.
void mlt_flow_inlet_push(mlt_flow_inlet *inlet, mlt_flow_element *e);
void mlt_flow_inlet_line_ended(mlt_flow_inlet *inlet);

// Packets (csp/net/route.h) from other workers. main.c hands them on by their kind. Every worker
// has its program before the first packet is sent. Packets that come when it is over are dropped.
enum { MLT_FLOW_PACKET_CONN = 0x400, MLT_FLOW_PACKET_PART = 0x480 };
void mlt_flow_conn_packet(mlt_flow_program *program, mlt_route *route, const mlt_packet *packet,
                          const void *data, uint64_t bytes);
void mlt_flow_part_packet(mlt_flow_program *program, mlt_route *route, const mlt_packet *packet,
                          const void *data, uint64_t bytes);

// ---- part/pair.c

// Long data that a module sends to a Reduce of this worker is combined with what its neighbour has
// sent, if that is there, and so need not be copied. Returns the neighbour's element, which the
// caller puts; MLT_FLOW_MERGED: nothing is left to do; NULL: the data must be copied.
enum { MLT_FLOW_PAIRED = 4 << 10 };
mlt_flow_element *mlt_flow_pair_send(mlt_flow_inlet *inlet, const void *data, uint8_t kind,
                                     uint32_t value_bytes, uint64_t bytes);

// ---- part/part.c: tasks that are not modules

// The body of their processes. Returns 0, or not 0 for a failure.
int mlt_flow_part_run(flow_instance *task);
// True: that task of this worker is a part of a reduction with other workers.
bool mlt_flow_part_of(const mlt_flow_program *program, uint32_t task);
// Once on each worker: before anything runs, and when all is over.
void mlt_flow_parts_begin(mlt_flow_program *program);
void mlt_flow_parts_end(mlt_flow_program *program);

// ---- start.c

// Makes the instances of this worker and all that they have, connections and parts too. program->lowered
// is there already.
void mlt_flow_start(mlt_flow_program *program);
void mlt_flow_start_free(mlt_flow_program *program);

// ---- main.c

// What the process of a task runs; its argument is the flow_instance.
int mlt_flow_task_main(void *instance);

// Ends the job with a message: "module Chemical, instance c[3], on rank 1: ...".
_Noreturn void mlt_flow_fault(const flow_instance *who, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// ---- stats.c

// Tells mpirun (--report) and the file that setting flow_report names what passed each queue.
void mlt_flow_stats_tell(mlt_flow_program *program);

// ---- part/sent.c, for lower layers: mlt_upcalls.sent

size_t mlt_flow_sent_lines(char *text, size_t size);

// ---- main.c, for lower layers: mlt_upcalls.remote_users and mlt_upcalls.flow_packet

uint32_t mlt_flow_remote_users(const csp_chan *chan, bool writers, char *text, size_t size);
void mlt_flow_packet(mlt_route *route, const mlt_packet *packet, const void *data, uint64_t bytes);
