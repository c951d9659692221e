// SPDX-License-Identifier: BSD-3-Clause
// An agent from within, for the files that make it:
//
//     agent_start.c   the segment, pinning, the start of processes
//     agent_said.c    what processes say, and the connections that they get
//     agent_look.c    looks at workers, hang reports, changes of rule books
//     agent_end.c     signals, and the ends of processes
//     agent.c         commands, time, the whole
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "boot/ctl.h"
#include "launch/agent/agent.h"
#include "launch/children/asks.h"
#include "launch/hosts/connections.h"
#include "launch/hosts/ports.h"
#include "launch/loop.h"
#include "launch/plan/bind.h"
#include "launch/plan/deal.h"
#include "launch/plan/env.h"

#define MLT_AGENT_MS UINT64_C(1000000)

static const uint64_t mlt_agent_peek_ns = 250 * MLT_AGENT_MS; // then after 0.5, 1 and 2 s more

// A connection that its process has had no room for.
typedef struct mlt_agent_late {
    uint32_t proc;
    int fd;
    mlt_ctl_link link;
} mlt_agent_late;

typedef struct mlt_agent_child {
    mlt_loop_source ctl; // fd -1: closed
    mlt_agent *agent;
    uint32_t proc;
    pid_t pid;     // 0: not started, or gone
    pid_t mpi_pid; // of the process that attached; 0: none, or the system does not say
    int mpi_fd;    // pidfd of that process, if it is not `pid` but was started by it; else -1
    bool attached;
    bool adopted; // somebody else has started it, and it has not ended
    bool crashed; // by a signal, said by itself
    bool final;   // its ranks have called MPI_Finalize
} mlt_agent_child;

typedef struct mlt_agent_worker {
    uint32_t epoch; // at the last look
    bool stands;    // it has slept in that epoch for two looks
    bool answered;  // its wait records are complete
    bool told;      // its processes' lines have come
    uint64_t mark;  // of its recorder, when it was asked
} mlt_agent_worker;

struct mlt_agent {
    mlt_agent_conf conf;
    mlt_bind bind;
    mlt_deal deal;
    char *deal_texts[MLT_DEAL_VARIABLES]; // in `env`
    mlt_job *job;
    int job_fd, ctl_as;
    mlt_agent_child *children; // in the order of their processes
    uint32_t count;
    mlt_loop_timer timer;
    bool ending; // it was told to end what runs
    bool looked; // for lines of the source of a crash

    uint32_t next; // child that is to be started
    uint64_t start_at;
    uint64_t change_at; // looks whether all workers know of the change
    uint32_t change;
    mlt_env env; // of env_app, if has_env
    uint32_t env_app;
    bool mixed; // hosts have different formats of long double
    bool has_env;

    uint32_t workers;         // of this host
    uint64_t kills;           // of processes, when memory was used up (os/memory.h)
    mlt_agent_worker *states; // [workers]

    bool collecting;
    uint64_t collect_until, peek_at, link_at;
    uint32_t open_answers;
    int peeks;

    mlt_agent_late *late;
    uint32_t late_count, late_room;
    mlt_asks *asks;

    mlt_connections *connections; // NULL: all of the job is on this host
    mlt_ports *ports;             // NULL: no process has asked for any
    char *why;                    // of its death; NULL: it lives, or ends in order

    _Alignas(16) char packet[sizeof(mlt_ctl) + MLT_CTL_MAX_BODY + 1];
    bool finalised; // a process of this host has left MPI_Finalize
};

static inline const mlt_placement_proc *mlt_agent_plan_of(const mlt_agent *agent, uint32_t proc)
{
    return &agent->conf.plan->procs[proc];
}

static inline const mlt_app *mlt_agent_app_of(const mlt_agent *agent, uint32_t proc)
{
    return &agent->conf.options->apps[mlt_agent_plan_of(agent, proc)->app];
}

// ---- agent.c

// Tells the head. The body is as mlt_agent_conf.send wants it.
void mlt_agent_tell(mlt_agent *agent, mlt_frame_type type, uint32_t about, int64_t value,
                    void *body, size_t length);

// NULL: it is no process of this host.
mlt_agent_child *mlt_agent_child_of(mlt_agent *agent, uint32_t proc);

// Its working directory; NULL: this process's.
const char *mlt_agent_dir_of(const mlt_agent *agent, uint32_t proc);

// After any of the times has changed.
void mlt_agent_set_timer(mlt_agent *agent);

// ---- agent_start.c

// Decides about processors and makes the segment. Ends mpirun on failure.
void mlt_agent_prepare(mlt_agent *agent);

// Starts some processes, and the others when the loop has done what else there is: a neighbour that
// hears nothing from here for long would take this host for lost.
void mlt_agent_start_some(mlt_agent *agent);

// ---- agent_said.c

// Reads one packet. False: there is none now.
bool mlt_agent_read_packet(mlt_agent_child *child);
void mlt_agent_ctl_ready(mlt_loop_source *source, uint32_t events);

// Connections that processes had no room for, again.
void mlt_agent_give_late(mlt_agent *agent, uint64_t now);

// ---- agent_look.c

// Whether the workers move; the answer to LOOK.
void mlt_agent_look(mlt_agent *agent, int64_t number);

// For people outside (launch/live/live.h).
void mlt_agent_look_live(mlt_agent *agent, int64_t number);

// Whether a rank that has not joined runs another MPI.
void mlt_agent_peek(mlt_agent *agent, uint64_t now);

// Asks the workers what they wait for, and tells what they do when all have answered.
void mlt_agent_collect(mlt_agent *agent);
void mlt_agent_finish_collecting(mlt_agent *agent);

// Wait records and the like. False: nobody asked, or it came too late.
bool mlt_agent_take_waits(mlt_agent *agent, const mlt_agent_child *child, const mlt_ctl *head);

// Rule books (watch/change.h): CHANGE, KNOWN, DECIDED, SPREAD; and whether all workers have looked.
void mlt_agent_take_change(mlt_agent *agent, const mlt_frame *frame, const void *body);
void mlt_agent_await_look(mlt_agent *agent);

// ---- agent_end.c

void mlt_agent_signal(mlt_agent *agent, int signal);
void mlt_agent_kill(mlt_agent *agent, bool crashed_too);
void mlt_agent_stop(mlt_agent *agent);
