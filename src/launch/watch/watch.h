// SPDX-License-Identifier: BSD-3-Clause
// The head of a running job: what its processes say and how they end, on whichever host, signals,
// the time limit, deadlocks; and from all that the verdict.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "launch/agent.h"
#include "launch/children/children.h"
#include "launch/hosts/agents.h"
#include "launch/hosts/frame.h"
#include "launch/live/live.h"
#include "launch/plan/options.h"
#include "launch/plan/plan.h"
#include "launch/watch/leaks.h"
#include "launch/watch/map.h"
#include "launch/watch/report.h"

typedef struct mlt_watch mlt_watch;

typedef struct mlt_watch_conf {
    const mlt_options *options;
    const mlt_placement *plan;
    mlt_report *report; // may be NULL
    mlt_path_map *map;
    mlt_leaks *leaks; // may be NULL
    int loop, signal_fd;
    int guard_fd;                // mlt_guard's
    const char *const *programs; // [apps] for debuggers (mpir.h); NULL: there is no table
    // Another launcher has started the processes: when one of them fails, it ends the others, and
    // knows the exit code. They are ended from here if it has not done so a second later.
    bool adopted;
    // The ranks of a process share its globals, and why; a line. May be NULL.
    void (*shared)(void *user, uint32_t proc, const char *why);
    // What else is done before the start, for the line that tells how far it is; "": nothing. May be
    // NULL.
    const char *(*progress)(void *user);
    mlt_stdio *io; // takes the frames of standard streams; NULL: nobody does
    // Jobs that ranks spawn; NULL: they cannot. `born` is called in the mpirun of a spawned job when
    // all processes are in MPI_Init; NULL: this is none.
    mlt_children *children;
    void (*born)(void *user);
    // Every process has been through MPI_Finalize. May be NULL.
    void (*finalised)(void *user);
    // The job is being ended. May be NULL.
    void (*fails)(void *user);
    void *user;
} mlt_watch_conf;

mlt_watch *mlt_watch_new(const mlt_watch_conf *conf);

// What an agent tells; `user` is the watch. The conf's loop calls it through agents and the agents.
void mlt_watch_take(void *user, const mlt_frame *frame, char *body);

// The agents: of this host, and of the others; NULL if there are none. The processes start when all
// hosts are ready.
void mlt_watch_join(mlt_watch *watch, mlt_agent *agent, mlt_agents *agents);

// Who gets what agents see of their workers; and mlt_live_conf.ask for it.
void mlt_watch_live(mlt_watch *watch, mlt_live *live);
void mlt_watch_ask_live(mlt_watch *watch, int64_t number, bool *answers);

// Gives the job a rule book, "": its own rules again. The number of the change.
uint32_t mlt_watch_change(mlt_watch *watch, const char *file);

// Workers shall write their trace from now on, or pause.
void mlt_watch_trace(mlt_watch *watch, bool on);

// A spawned job has ended (mlt_children_conf.ended).
void mlt_watch_child_ended(mlt_watch *watch, const char *job, int code, int signal);

// The job that spawned this one, or one that this has spawned, is being ended: a connection that is
// lost now, or was just lost, needs no other explanation.
void mlt_watch_child_fails(mlt_watch *watch);

// The mpirun of a spawned job: the family's time limit is over, in the options; the head above is
// gone.
void mlt_watch_time_over(mlt_watch *watch);
void mlt_watch_abandon(mlt_watch *watch);

// Watches until all processes have ended, and all jobs that they spawned, and nothing that they
// started is left. Returns the exit code.
int mlt_watch_run(mlt_watch *watch);

// What the job died of, after the run; NULL: it did not.
const char *mlt_watch_why(const mlt_watch *watch);

// True if a signal told mpirun to end.
bool mlt_watch_interrupted(const mlt_watch *watch);

void mlt_watch_free(mlt_watch *watch);
