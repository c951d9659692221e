// SPDX-License-Identifier: BSD-3-Clause
// The head of a job from within, for the files that make it:
//
//     watch_end.c     the verdict, and how a job is ended
//     watch_hang.c    looks for deadlocks, and the hang report
//     watch_said.c    what processes say, and how they end
//     watch.c         what agents tell, signals, time, the whole
#pragma once

#include "base/text.h"
#include "boot/ctl.h"
#include "launch/children/children.h"
#include "launch/clocks.h"
#include "launch/loop.h"
#include "launch/watch/change.h"
#include "launch/watch/hang.h"
#include "launch/watch/watch.h"
#include "net/greet.h"

#define MLT_WATCH_MS UINT64_C(1000000)

static const uint64_t mlt_watch_grace_ns = 250 * MLT_WATCH_MS;      // from SIGTERM to SIGKILL
static const uint64_t mlt_watch_straggler_ns = 1000 * MLT_WATCH_MS; // after one has failed alone
// Until a lost connection is the cause of the end.
static const uint64_t mlt_watch_lost_ns = 1000 * MLT_WATCH_MS;
static const uint64_t mlt_watch_look_every_ns = 250 * MLT_WATCH_MS;

typedef enum mlt_watch_purpose {
    MLT_WATCH_FOR_NOBODY,
    MLT_WATCH_FOR_SIGNAL,
    MLT_WATCH_FOR_TIMEOUT,
    MLT_WATCH_FOR_DEADLOCK
} mlt_watch_purpose;

typedef struct mlt_watch_proc {
    bool running, gone; // it has been started and has not ended; it has ended, or never started
    bool attached, initialised, finalised;
    bool held;    // it waits for a debugger
    bool done;    // all its ranks have ended, if it has several
    bool told;    // how it ended (or ends) has been said by itself
    bool crashed; // by a signal, said by itself
} mlt_watch_proc;

typedef struct mlt_watch_host {
    bool ready, lost, looked, stated;
} mlt_watch_host;

struct mlt_watch {
    mlt_watch_conf conf;
    mlt_loop_source signals;
    mlt_loop_timer timer;
    mlt_loop_source guard;  // at its end: the guard was killed
    mlt_loop_source errors; // standard error, while something waits for room there
    mlt_clocks clocks;      // of other hosts, for a trace
    bool told_spawned;      // that jobs which are spawned are not recorded
    mlt_agent *agent;       // of this host; NULL: it has no rank
    mlt_agents *agents;     // agents of other hosts; NULL: there are none
    mlt_stdio *io;          // NULL: somebody else has the streams
    mlt_children *children; // jobs that ranks spawn
    mlt_stage_out *stage;   // NULL: nothing is staged
    double limit_s;         // of time; 0: none
    mlt_live *live;         // NULL: nobody can ask
    mlt_changes *changes;
    mlt_watch_proc *procs;
    mlt_watch_host *hosts;
    bool begun;       // the processes were told to start
    uint32_t waiting; // hosts that are not ready
    uint32_t missing; // processes that have neither started nor ended
    uint32_t living, attached, initialised, finalised;
    bool children_failed;    // a job of the family is ending
    uint64_t children_until; // spawned jobs are killed then
    bool failed_early;       // a process failed before anybody used MPI
    bool noted;              // a note of a process has been said; others will say the same

    int code;       // the verdict; 0: none so far
    char *sentence; // the message, printed at the end
    char *said;     // the sentence, when it was told
    uint32_t more;  // ranks that failed like that one

    bool ending;
    int interrupted; // the signal that ended the job
    uint64_t kill_at, crash_kill_at, straggler_at, give_up_at, timeout_at, look_at;
    uint64_t lost_at, tick_at;
    uint64_t shown_at; // processes that wait for a debugger are shown to it then at the latest
    bool shown;        // ... and have been
    bool has_reason;   // w->lost says why, and not only that
    char *lost;        // a connection was lost: the sentence, if nothing else explains it
    bool shows;        // the line of hosts that are ready is on the terminal

    mlt_job_observation look, sum; // the last one, and the one that is being added up
    int64_t look_number;
    uint32_t open_looks;     // hosts that have not answered
    mlt_greet_types types;   // of the first host that was ready
    bool types_known, mixed; // mixed: others have another long double
    int equal_looks;

    mlt_watch_purpose purpose; // of the hang report that is being collected
    uint64_t collect_until;
    mlt_hang *hang;
    bool *moves;           // [workers] it has not slept through two looks
    mlt_text calls;        // the last ones of the ranks: lines
    uint32_t open_answers; // hosts that have not told what their workers do
};

// ---- watch_end.c

// After any of the times has changed.
void mlt_watch_set_timer(mlt_watch *watch);

// For a debugger (mpir.h): a process has started, has joined the job or has ended, or the time is over.
void mlt_watch_show(mlt_watch *watch);

// To the agents: all, those of other hosts, that of this one.
void mlt_watch_command(mlt_watch *watch, mlt_frame_type type, uint32_t about, int64_t value);
void mlt_watch_command_others(mlt_watch *watch, mlt_frame_type type, uint32_t about, int64_t value);
void mlt_watch_command_own(mlt_watch *watch, mlt_frame_type type, uint32_t about, int64_t value);

const char *mlt_watch_host_of(const mlt_watch *watch, const mlt_watch_proc *proc);

// "rank 3", or those of the process if `rank` is negative.
void mlt_watch_name_rank(const mlt_watch *watch, const mlt_watch_proc *proc, int32_t rank,
                         char *text, size_t size);

// Nothing more will be heard of it.
void mlt_watch_forget(mlt_watch *watch, mlt_watch_proc *proc);

// Of a host, or of all (MLT_FRAME_ALL): those that were never started, or all.
void mlt_watch_forget_all(mlt_watch *watch, uint32_t at, bool running_too);

// Sets the exit code and the sentence; the first one counts.
void mlt_watch_verdict(mlt_watch *watch, int code, const char *format, ...) MLT_PRINTF(3, 4);
void mlt_watch_say_verdict(mlt_watch *watch);

// `signal`: 0: the terminal has sent it to the processes of this host already.
void mlt_watch_end_job(mlt_watch *watch, int signal, int elsewhere, uint64_t grace);
void mlt_watch_kill_all(mlt_watch *watch, bool crashed_too);

// A failure after which the others need not go on; one that gets them so much time; one of a
// process, which its launcher sees as well.
void mlt_watch_end_by(mlt_watch *watch);
void mlt_watch_end_soon(mlt_watch *watch, uint64_t pause);
void mlt_watch_end_by_failure(mlt_watch *watch);

// A failure that the others may survive; `early`: it was before MPI_Init, so they will not survive
// it for long.
void mlt_watch_fail_alone(mlt_watch *watch, const mlt_watch_proc *proc, const char *who, int status,
                          bool early);

// A spawned job whose processes are not all in MPI_Init: the spawning rank waits for them.
bool mlt_watch_is_unborn(const mlt_watch *watch);

// ---- watch_hang.c

// Begins a hang report; finish prints it, and ends the job if that is its purpose.
void mlt_watch_collect(mlt_watch *watch, mlt_watch_purpose why);
void mlt_watch_finish_collecting(mlt_watch *watch);

// SIGQUIT.
void mlt_watch_report_now(mlt_watch *watch);

// All hosts are asked what moves; what they answer is judged when the last one has.
void mlt_watch_begin_look(mlt_watch *watch, uint64_t now);
void mlt_watch_judge_look(mlt_watch *watch);

void mlt_watch_take_look(mlt_watch *watch, const mlt_frame *frame, const char *body);
void mlt_watch_take_states(mlt_watch *watch, uint32_t from, const char *body, size_t length);
void mlt_watch_take_waits(mlt_watch *watch, const mlt_ctl *head, const void *body);

// ---- watch_said.c

// `body` is head->length bytes and a NUL.
void mlt_watch_take_packet(mlt_watch *watch, mlt_watch_proc *proc, const mlt_ctl *head, char *body);

// `calls`: the last ones of its ranks, lines.
void mlt_watch_take_end(mlt_watch *watch, mlt_watch_proc *proc, int status, uint64_t peak,
                        char *calls);

// A connection between hosts cannot be made; the text says what was tried. Or another job is lost,
// with which this one is connected: is_reason if it is known that it has ended.
void mlt_watch_take_unlinked(mlt_watch *watch, const char *text, bool is_reason);

// Nothing else has explained why a connection was lost.
void mlt_watch_end_lost(mlt_watch *watch);

// For a line of ours, or several: a damaged process shall not talk to the terminal.
void mlt_watch_make_fit(char *text);
void mlt_watch_make_lines_fit(char *text);
