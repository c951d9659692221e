// SPDX-License-Identifier: BSD-3-Clause
// One host's part of a job: the segment, its processes, what they say, how they end, looks at their
// workers, pinning. It decides nothing about the job: that is the head's (launch/watch/watch.h).
//
// mpirun has an agent for its own host inside; every other host has one in a process of its own
// (launch/hosts/serve.h). Both get commands and tell what happens as frames (launch/hosts/frame.h).
// Inside of mpirun a frame is a function call, and nothing is copied.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "boot/ctl.h"
#include "boot/job.h"
#include "launch/hosts/frame.h"
#include "launch/plan/options.h"
#include "launch/plan/plan.h"
#include "launch/stdio.h"
#include "net/key.h"

typedef struct mlt_agent mlt_agent;

typedef struct mlt_agent_conf {
    const mlt_options *options; // of the whole job
    const mlt_placement *plan;  // of the whole job
    uint32_t host;              // this one
    const char *const *paths;   // [apps]: the files to execute, of those that run here
    const char *gdb;            // the file to execute for --gdb; NULL: not asked for, or not here
    uint64_t identity;          // of the job; 0: a new one, for a job on one host
    const mlt_key *key;         // of the job; NULL: it has none, being on one host
    uint32_t cores;             // of this host
    mlt_stdio *io;
    pid_t group;  // that processes shall be in
    mlt_job *job; // NULL: the agent makes it
    // Sends a frame to the head, or to the agent of another host. The body is aligned as structures
    // are, may be written to, and has a NUL behind it; it is valid during the call.
    void (*send)(void *user, const mlt_frame *frame, char *body);
    void *user;
    // Processes that somebody else has started: START hands `proc` the descriptors of its segment
    // and its control channel, which stay the agent's, and tells its process id, 0 if that is not
    // known. False: it is gone. NULL: START starts them.
    bool (*adopt)(uint32_t proc, int job_fd, int ctl_fd, bool mixed, pid_t *pid);
} mlt_agent_conf;

// Makes the segment, and listens if the job has other hosts. Ends mpirun on failure. Everything that
// the conf points to outlives the agent.
mlt_agent *mlt_agent_new(const mlt_agent_conf *conf);
void mlt_agent_free(mlt_agent *agent); // NULL is fine

// Tells the head that the processes can start: READY.
void mlt_agent_tell_ready(mlt_agent *agent);

// Obeys what the head and other agents send (launch/hosts/frame.h); body: frame->length bytes.
// START has no effect on an agent that was told to end before. Frames that are not for an agent have no
// effect.
void mlt_agent_take(mlt_agent *agent, const mlt_frame *frame, const void *body);

// A child of this process has ended. False: it is none of the agent's.
bool mlt_agent_reaped(mlt_agent *agent, pid_t pid, int status, const struct rusage *usage);

// An adopted process has ended; nobody knows how.
void mlt_agent_lost(mlt_agent *agent, uint32_t proc);

// True if a process of this host has left MPI_Finalize, which all ranks of the job enter before.
bool mlt_agent_finalised(const mlt_agent *agent);

// Reads what the processes have said so far: which of them attached decides which gets a signal.
void mlt_agent_hear(mlt_agent *agent);

// A connection for a process of this host. The descriptor stays the caller's. Kept if the process
// does not take it yet.
void mlt_agent_give_link(mlt_agent *agent, uint32_t proc, const mlt_ctl_link *link, int fd);

// The job ends because of this: jobs that it is connected with are told.
void mlt_agent_dies(mlt_agent *agent, const char *why);

// A process has been started, with this end of its control channel. For START, and for tests.
void mlt_agent_started(mlt_agent *agent, uint32_t proc, pid_t pid, int ctl_fd);
