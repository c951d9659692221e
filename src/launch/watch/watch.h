// SPDX-License-Identifier: BSD-3-Clause
// The head of a running job: what its processes say and how they end, on whichever host, signals,
// the time limit, deadlocks; and from all that the verdict.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "launch/agent/agent.h"
#include "launch/children/parent.h"
#include "launch/hosts/agents.h"
#include "launch/hosts/frame.h"
#include "launch/hosts/stage.h"
#include "launch/live/live.h"
#include "launch/plan/options.h"
#include "launch/plan/plan.h"
#include "launch/stdio.h"
#include "launch/watch/leaks.h"
#include "launch/watch/map.h"
#include "launch/watch/report.h"

typedef struct mlt_watch mlt_watch;

typedef struct mlt_watch_conf {
    const mlt_options *options;
    const mlt_placement *plan;
    uint32_t host;      // this one; MLT_FRAME_HEAD: it has no rank
    mlt_report *report; // may be NULL
    mlt_path_map *map;
    mlt_leaks *leaks; // may be NULL
    int signal_fd;
    int guard_fd;                // mlt_guard's
    pid_t group;                 // that mpiruns of spawned jobs shall be in
    const char *const *programs; // [apps] for debuggers (mpir.h); NULL: there is no table
    mlt_parent *parent;          // the head of the job that has spawned this one; NULL: none
    // Another launcher has started the processes: when one of them fails, it ends the others, and
    // knows the exit code. They are ended from here if it has not done so a second later. It has their
    // standard streams, too.
    bool adopted;
    // The ranks of a process share its globals, and why; a line. May be NULL.
    void (*shared)(void *user, uint32_t proc, const char *why);
    // Every process has been through MPI_Finalize. May be NULL.
    void (*finalised)(void *user);
    void *user;
} mlt_watch_conf;

// Has the standard streams of the ranks, and the jobs that they spawn.
mlt_watch *mlt_watch_new(const mlt_watch_conf *conf);

// A frame on its way: to the head, which is the watch, to the agent of this host or of others.
// `watch` is a mlt_watch.
void mlt_watch_send(void *watch, const mlt_frame *frame, char *body);

// The agents: of this host, and of the others; NULL if there are none. The processes start when all
// hosts are ready.
void mlt_watch_join(mlt_watch *watch, mlt_agent *agent, mlt_agents *agents);

// --stage sends files to the agents; the processes start when all have them.
void mlt_watch_stage(mlt_watch *watch, mlt_stage_out *stage);

// Who gets what agents see of their workers. Asks the agents for their parts of a snapshot, by that
// number; sets [hosts] which of them will answer.
void mlt_watch_live(mlt_watch *watch, mlt_live *live);
void mlt_watch_ask_live(mlt_watch *watch, int64_t number, bool *answers);

// Gives the job a rule book, "": its own rules again. The number of the change.
uint32_t mlt_watch_change(mlt_watch *watch, const char *file);

// Workers shall write their trace from now on, or pause.
void mlt_watch_trace(mlt_watch *watch, bool on);

// A spawned job that was born has ended, with mpirun's exit code. Its mpirun has said why, unless it
// was killed by a signal, which is told; else 0.
void mlt_watch_child_ended(mlt_watch *watch, const char *job, int code, int signal);

// The job that spawned this one, or one that this has spawned, is being ended: a connection that is
// lost now, or was just lost, needs no other explanation.
void mlt_watch_child_fails(mlt_watch *watch);

// The mpirun of a spawned job: the family's time limit is over; the head above is gone.
void mlt_watch_time_over(mlt_watch *watch, double limit_s);
void mlt_watch_abandon(mlt_watch *watch);

// Watches until all processes have ended, and all jobs that they spawned, and nothing that they
// started is left. Returns the exit code.
int mlt_watch_run(mlt_watch *watch);

// What the job died of, after the run; NULL: it did not.
const char *mlt_watch_why(const mlt_watch *watch);

// True if a signal told mpirun to end.
bool mlt_watch_interrupted(const mlt_watch *watch);

// The standard streams of the ranks, for the agent of this host.
mlt_stdio *mlt_watch_io(const mlt_watch *watch);

// Writes what is left of the ranks' output, after the run. False if something could not be written.
bool mlt_watch_finish_output(mlt_watch *watch);

void mlt_watch_free(mlt_watch *watch);
