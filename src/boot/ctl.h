// SPDX-License-Identifier: BSD-3-Clause
// The control channel between a process of the job and mpirun: a SOCK_SEQPACKET pair, one message a
// packet. The process writes, mpirun (on another host: its agent) reads. Requests of mpirun come
// through the segment (report_wanted) and by signals. The other way only connections travel
// (MLT_CTL_LINK). The process finds the descriptors in MILLET_JOB_FD, MILLET_CTL_FD
// and its index in MILLET_PROC; MILLET_LAUNCHER is mpirun's process id.
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "boot/job.h"

typedef enum mlt_ctl_type {
    MLT_CTL_HELLO = 1, // the process attached; value: its pid, as the agent's system tells it
    MLT_CTL_INIT,      // the first rank of the process has called MPI_Init; sent once
    MLT_CTL_FINAL,     // every rank of the process has called MPI_Finalize; sent once
    MLT_CTL_EXIT,  // rank ended with status `value`. detail: 1: between MPI_Init and MPI_Finalize;
                   // 0: after them, 2: without MPI_Init (both sent only if value is not 0)
    MLT_CTL_ABORT, // MPI_Abort or a fatal error: rank, value: exit status, text: the message
                   // (printed by mpirun)
    MLT_CTL_CRASH, // a fatal signal: rank, value: signal number, text: message and backtrace,
                   // several lines
    MLT_CTL_WAITS, // hang report: detail: worker, value: number of mlt_ctl_wait that follow
    MLT_CTL_WAITS_END, // detail: worker; all its records have been sent; value: ranks that run (are
                       // not blocked)
    MLT_CTL_CALLS,     // --report: detail: worker, value: number of mlt_ctl_call that follow
    MLT_CTL_STATS,     // --report: detail: worker; one mlt_ctl_stats follows
    MLT_CTL_CHOICES,   // --report, --paths: value: number of mlt_ctl_choice that follow
    MLT_CTL_PATHS,     // collectives along paths: value: number of mlt_ctl_path that follow
    MLT_CTL_STEPS,  // --paths: the last calls of a path: value: number of mlt_ctl_step that follow
    MLT_CTL_PROCS,  // hang report: detail: worker; text: what its processes wait for, lines that
                    // begin with two spaces; MLT_CTL_PROCS_TEXT bytes at most
    MLT_CTL_QUEUES, // --report of a flow program: value: number of mlt_ctl_queue that follow, the
                    // busiest first; detail: how many more there are
    MLT_CTL_DONE,   // every rank of a process of several has ended; an end of the process before is
                    // the loss of some
    MLT_CTL_SHARED, // ranks of the process share its globals; text: why, and what to do
    MLT_CTL_NOTE,   // text: a note for the user
    MLT_CTL_WANT, // value: a process of another host, to which a connection is wanted; with a body,
                  // uint64_t: a process of that bond
    MLT_CTL_LOST, // the connection to process `value` of another host is lost; text: why, a line
    MLT_CTL_LEAKS,    // --strict: value: number of mlt_ctl_leak that follow
    MLT_CTL_SPAWN,    // starts another job; with one end of a pair of sockets (boot/child.h)
    MLT_CTL_LINK,     // from mpirun: a connection, its descriptor, and one mlt_ctl_link
    MLT_CTL_RPC,      // with a descriptor: an rpc (rpc.h), at which the process asks for ports
    MLT_CTL_PARTED,   // the process needs bond `value` no longer (rpc.h)
    MLT_CTL_JOBS,     // hang report: detail: worker; value: number of mlt_ctl_job that follow
    MLT_CTL_LOST_JOB, // a connection to another job is lost; text: a sentence
    MLT_CTL_CHANGED, // a communicator has taken change `value` from outside (job.h), or detail is 1:
                     // refused it; text: its name, or why
    MLT_CTL_HELD,    // the process waits for a debugger; value, from the agent: its pid
} mlt_ctl_type;

enum { MLT_CTL_NO_RANK = -1 };

typedef struct mlt_ctl {
    uint32_t type;
    int32_t rank; // world rank, or MLT_CTL_NO_RANK
    int64_t value;
    uint32_t detail;
    uint32_t length; // bytes that follow
} mlt_ctl;

enum {
    MLT_CTL_MAX_BODY = 48 * 1024,
    MLT_CTL_NAME = 40,
    MLT_CTL_COMM = 64,
    MLT_CTL_PROCS_TEXT = 16 * 1024,
    MLT_CTL_DISTANCES = 4,
    MLT_CTL_UNREADY = '!',
};

// What a rank waits for that is blocked for a window. peer is who could end it, if that is known.
typedef enum mlt_ctl_window {
    MLT_WINDOW_ANSWERS,   // operations of the rank that others have not answered
    MLT_WINDOW_LOCK,      // that of target
    MLT_WINDOW_LOCKS,     // others have locks that exclude it
    MLT_WINDOW_POSTS,     // peer has not posted
    MLT_WINDOW_COMPLETES, // others have not completed
} mlt_ctl_window;

enum { MLT_CONTEXTS = 8 }; // of a communicator (p2p/context.h)

// What a rank is blocked in: one operation, or one collective call. A rank in MPI_Waitall has a
// record for each open operation (at most 16), all with the same `open`. If several threads of a
// rank are blocked, each has its own, one thread after the other. A message that is there but
// matches no receive has a record too (kind HELD, at most 3 a rank): peer sent it, `all` is 1 if
// its sender still waits, `open` is how many such messages the rank has.
typedef struct mlt_ctl_wait {
    int32_t rank;
    int32_t peer; // world rank, or MLT_WAIT_ANYONE
    union {
        struct { // an operation, or a message that is held
            uint64_t bytes;
            int32_t tag;     // or MLT_WAIT_ANY_TAG; FD: the descriptor, or -1
            uint32_t action; // of a schedule, which this operation is: 1 and its number; 0: none
        };
        struct {             // kind WINDOW; label: the window's name
            uint32_t about;  // mlt_ctl_window
            uint32_t behind; // ranks that have not done what it waits for
            int32_t target;  // world rank whose memory it is about; -1: none in particular
            uint32_t unused; // 0
        };
        struct {              // a collective call: kind BARRIER with a label
            uint32_t number;  // on its communicator
            uint32_t root;    // 1 and the root; 0: none, or not known
            uint32_t missing; // ranks of the same worker that have not come to it
            uint32_t awaited; // 1 and the world rank that it waits for; 0: none, or not known
        };
    };
    uint32_t
        context; // MLT_CONTEXTS a communicator, the first for the program's own messages; 0 to 7 are
                 // MPI_COMM_WORLD's, 8 to 15 MPI_COMM_SELF's (p2p/context.h)
    uint8_t kind;  // mlt_wait_kind: RECV, SEND, PROBE, BARRIER, OTHER, HELD, TIME, FD, WINDOW
    uint8_t all;   // 1: waits for all of `open` operations; 0: for one of them
    uint16_t open; // operations open in this call (saturating), 1 for a simple call
    uint8_t ended; // 1: the rank has ended (no operation)
    char call[MLT_CTL_NAME - 1];
    uint16_t thread; // of a rank with several threads, from 1; 0: the rank has one
    uint16_t others; // threads of the rank that have called MPI, but are not blocked there now
    char label[20];  // name of the action; of the collective call, without "MPI_"; of a partitioned
                     // message the partitions that are waited for, "3-7 of 16", after
    // MLT_CTL_UNREADY if the sender (then peer is itself) has not called MPI_Pready
    // for them; "": none
} mlt_ctl_wait;
_Static_assert(sizeof(mlt_ctl_wait) == 96, "no holes that would be sent");

// Another job, of which wait records may have ranks: so it calls them (wire/world.h).
typedef struct mlt_ctl_job {
    uint32_t first_rank, ranks;
    char name[96];
} mlt_ctl_job;

// --strict: what ranks of a worker left behind, of one kind and place.
typedef struct mlt_ctl_leak {
    int32_t rank;   // the first of them
    uint32_t ranks; // how many
    uint64_t count; // of all of them together
    uint32_t most;  // of one of them
    uint32_t unused;
    char what[24];   // "communicator"; MLT_CTL_LEAK_MESSAGE: was not received, all others not freed
    char call[40];   // the function that made it; "": not known
    char place[168]; // its caller, as a line of a crash report; of a message: which it is
    char sender[40]; // of a message: the function that sent it; "": not known
    char sent[216];  // and its caller
} mlt_ctl_leak;
_Static_assert(sizeof(mlt_ctl_leak) == 512, "no holes that would be sent");

#define MLT_CTL_LEAK_MESSAGE "message"

typedef struct mlt_ctl_call {
    char name[MLT_CTL_NAME];
    uint64_t calls, time_ns;
} mlt_ctl_call;

// What runs inside of a worker's ranks beside `main`; bits.
typedef enum mlt_ctl_inner {
    MLT_INNER_THREADS = 1,   // that call MPI
    MLT_INNER_PROCESSES = 2, // of millet/csp.h, or the modules of a flow program
} mlt_ctl_inner;

// What ranks did besides sending messages: one-sided operations, and partitioned messages. Arrays of
// distances as below.
enum { MLT_CTL_PUTS, MLT_CTL_GETS, MLT_CTL_ACCUMULATES, MLT_CTL_OPS };
typedef struct mlt_ctl_moves {
    uint64_t ops[MLT_CTL_OPS]; // operations by what they do
    uint64_t one_sided[MLT_CTL_DISTANCES], one_sided_bytes[MLT_CTL_DISTANCES];
    uint64_t partitioned[MLT_CTL_DISTANCES], partitioned_bytes[MLT_CTL_DISTANCES]; // sends
    uint64_t partitions;                                                           // of them
} mlt_ctl_moves;

// Ways of what a device copies, each told of once.
enum {
    MLT_COPY_INSIDE,  // on the device, of one process
    MLT_COPY_OUT,     // out of the device into memory of the host
    MLT_COPY_IN,      // the other way
    MLT_COPY_BETWEEN, // between processes of the host: one copies for both
    MLT_COPY_CHUNKS,  // a side of a message whose data cross the host in chunks
    MLT_COPY_CALL,    // all of a collective call
    MLT_CTL_COPIES,
};

typedef struct mlt_ctl_copies {
    uint64_t count[MLT_CTL_COPIES], bytes[MLT_CTL_COPIES];
    // Of the bytes in chunks: between processes of a host, and of these such that no other process can
    // open: memory of that kind (pools), and what the driver refuses to share.
    uint64_t near, pooled, refused;
} mlt_ctl_copies;

typedef struct mlt_ctl_stats {
    // Sent: same worker, same process, same host, other host.
    uint64_t messages[MLT_CTL_DISTANCES], bytes[MLT_CTL_DISTANCES];
    uint64_t eager, rendezvous;
    uint64_t wait_ns;  // asleep or polling with nothing runnable
    uint64_t total_ns; // from attach to end
    uint64_t switches;
    uint64_t slack;           // the other ranks that could run too, summed over the switches
    uint64_t unexpected_peak; // bytes held for receives that had not been posted
    uint64_t stack_size;
    uint32_t ranks;
    uint32_t inner; // mlt_ctl_inner: what else the ranks are made of
    mlt_ctl_moves moves;
    mlt_ctl_copies copies;
    char guard[16], policy[24], large_thread[16], large_process[16]; // what was chosen
} mlt_ctl_stats;

// How the ranks of a worker take part in a collective.
typedef enum mlt_ctl_level {
    MLT_LEVEL_COMBINED, // they combine, then their workers exchange
    MLT_LEVEL_FLAT,     // every rank exchanges for itself
    MLT_LEVEL_ALONE,    // every worker has one
    MLT_LEVELS,
} mlt_ctl_level;

// An algorithm that was chosen for calls of a communicator.
typedef struct mlt_ctl_choice {
    char comm[MLT_CTL_COMM], by[MLT_CTL_COMM], why[128];
    char collective[MLT_CTL_NAME], alg[MLT_CTL_NAME]; // alg "": one worker, nothing to exchange
    uint64_t calls;                // told by one worker, or rank, of those that take part
    uint64_t least, most, segment; // bytes
    uint32_t radix, window;        // 0: the algorithm's own choice
    uint32_t ranks, workers;
    uint32_t level, hosts; // mlt_ctl_level
    // Over hosts: which algorithms run on each host and between hosts.
    char stages[160];
} mlt_ctl_choice;

// The stages of a call that goes along a path.
typedef enum mlt_ctl_time {
    MLT_TIME_CALL,     // everything after `count`
    MLT_TIME_DELAY,    // `delay`
    MLT_TIME_CHECK,    // `check`
    MLT_TIME_MAP,      // functions of wrappers that change what passes
    MLT_TIME_HIT,      // `cache` has answered
    MLT_TIME_MISS,     // `cache` could not; then what comes after it
    MLT_TIME_GATHER,   // from the first rank of a worker that comes to the last one
    MLT_TIME_COMBINE,  // in memory
    MLT_TIME_EXCHANGE, // the schedule
    MLT_TIME_SPREAD,   // in memory
    MLT_TIMES,
} mlt_ctl_time;

typedef struct mlt_ctl_clock {
    uint64_t n, sum_ns, least_ns, most_ns;
} mlt_ctl_clock;

// What was measured of a worker's calls along a path.
typedef struct mlt_ctl_path {
    char object[MLT_CTL_COMM];         // the communicator's name, or that of what was intercepted
    char by[MLT_CTL_COMM], stack[128]; // "count, delay 100 us, combine"
    char collective[MLT_CTL_NAME];
    uint64_t calls, bytes;
    mlt_ctl_clock time[MLT_TIMES];
    uint32_t ranks, workers;
    uint32_t level;   // mlt_ctl_level
    uint32_t changes; // 1: a wrapper changes results
} mlt_ctl_path;

// When the stages of a worker's call were over, in nanoseconds of its host's clock; 0: there was none.
typedef enum mlt_ctl_moment {
    MLT_MOMENT_FIRST,     // the first of its ranks came
    MLT_MOMENT_ALL,       // the last one
    MLT_MOMENT_COMBINED,  // they have combined; wrappers after that, too
    MLT_MOMENT_EXCHANGED, // the schedule is over
    MLT_MOMENT_SPREAD,    // all ranks have the result
    MLT_MOMENTS,
} mlt_ctl_moment;

// One of the last calls of a path, as a worker (or a rank that goes for itself) saw it.
typedef struct mlt_ctl_step {
    char object[MLT_CTL_COMM], by[MLT_CTL_COMM], collective[MLT_CTL_NAME]; // mlt_ctl_path's
    uint64_t number;                                                       // of the call
    uint64_t time[MLT_MOMENTS];
    uint32_t ranks, workers;  // of the communicator
    uint32_t place;           // of the worker among them
    uint32_t first, present;  // its ranks
    uint32_t speaker, leader; // world ranks: of `first`, of the first rank of all
    uint32_t host;            // numbered by their lowest ranks
} mlt_ctl_step;

// There is something to tell.
static inline bool mlt_ctl_path_tells(const mlt_ctl_path *path)
{
    return path->calls || path->time[MLT_TIME_DELAY].n || path->time[MLT_TIME_HIT].n ||
           path->time[MLT_TIME_MISS].n;
}

// What passed the queues of a flow program between two vectors of instances.
typedef struct mlt_ctl_queue {
    char from[MLT_CTL_COMM], to[MLT_CTL_COMM]; // "p.out", "r1"; to "": it is not wired
    uint64_t lines;                            // between instances; 0: it is not wired
    uint64_t elements, bytes;
    uint64_t deepest;                // most elements in one of the queues at once
    uint64_t blocked_ns, starved_ns; // all senders waited for room; all readers for elements
} mlt_ctl_queue;

// A connection to a process of another host. Whoever dialled, both sides have proven that they know
// the job's key. Two processes that dial each other at the same time may get two connections: each
// sends by the first that it gets, and reads from both.
typedef struct mlt_ctl_link {
    uint64_t bond;        // of another job (rpc.h): proc is numbered as in that bond; 0: this job's
    uint32_t proc;        // the other side's
    uint32_t encrypts;    // 1: with these keys
    uint8_t send_key[32]; // for what this side sends
    uint8_t receive_key[32];
    uint8_t types[16]; // byte order and sizes of the other side's types (mlt_greet_types)
} mlt_ctl_link;

typedef struct mlt_boot {
    mlt_job *job;
    uint32_t proc; // own index
    int ctl;       // -1 if started alone
    int universe;  // MPI_UNIVERSE_SIZE
    char *parent;  // the port of the job that spawned this one (boot/child.h); NULL: none
    // A launcher that is not mpirun, and is told of the end of MPI and of an abort; NULL: none.
    struct mlt_launcher *launcher;
    // Why a program that was started alone, and may want to spawn, has no agent; NULL: it is not
    // known to want that.
    const char *lonely;
} mlt_boot;

// What a process that mpirun has not started shall hold: MILLET_THREADS workers of MILLET_NFG ranks
// each. One of one, if mpirun has.
typedef struct mlt_boot_grain {
    uint32_t workers, ranks;
} mlt_boot_grain;

mlt_boot_grain mlt_boot_grain_wanted(void);

// Joins the job that the environment names: mpirun's, or that of another launcher
// (boot/foreign/launcher.h), for whose processes it waits. Without one, makes a job of this process.
// A launcher that is seen but not understood is an error. On failure a message in why.
mlt_status mlt_boot_join(mlt_boot *boot, char *why, size_t why_size) MLT_MUST_CHECK;

// If mpirun was started by a debugger (launch/mpir.h), which shall see this process before it does
// anything: waits until it has. Before the process joins.
void mlt_boot_wait_for_debugger(void);

// Sends one message (blocks until mpirun takes it). Without a launcher: MLT_ERR_CLOSED.
// Async-signal-safe.
mlt_status mlt_ctl_send(int ctl, const mlt_ctl *head, const void *body);

// What a process that ends in order writes last to each connection: MLT_FRAME_END of wire/frame.h.
// mpirun writes it, too, to a connection that is made to a process that has ended in the meantime.
enum { MLT_CTL_END_MARK = 40 };
void mlt_ctl_end_mark(unsigned char mark[MLT_CTL_END_MARK]);

// As mlt_ctl_send, with a descriptor, which stays the caller's.
mlt_status mlt_ctl_send_with(int ctl, const mlt_ctl *head, const void *body, int fd);

// mpirun: hands a connection to a process, by its own end of the channel. The caller's descriptor
// stays open. MLT_PENDING: the channel is full. mlt_job_link_came tells the process.
mlt_status mlt_ctl_give_link(int ctl, const mlt_ctl_link *link, int fd) MLT_MUST_CHECK;

// The process: takes the next connection; *fd is the caller's, and closed by exec. Never blocks.
// MLT_PENDING: there is none. MLT_ERR_CLOSED: mpirun is gone. MLT_ERR_SYSTEM: no descriptor was
// left for it.
mlt_status mlt_ctl_take_link(int ctl, mlt_ctl_link *link, int *fd) MLT_MUST_CHECK;
