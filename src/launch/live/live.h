// SPDX-License-Identifier: BSD-3-Clause
// The job's socket: who runs the job may ask it, and change it, from outside (`millet top`, curl).
//
// mpirun listens at a Unix socket of the abstract name space, which has no file and vanishes with
// mpirun: "millet/UID/PID/RANDOM", where PID is mpirun's as its caller knows it. Only processes of
// the same user, and root, are heard (SO_PEERCRED); a client checks that the other side is of its
// own user, too. `--live FILE` is a second socket, in the file system, with mode 0600.
//
// Both speak HTTP/1.0, one request a connection:
//
//     GET /metrics     the snapshot, for Prometheus
//     GET /json        the snapshot as JSON
//     GET /snapshot    mlt_live_job, then the parts of all hosts together, as one
//     GET /paths       which rule books were given to the job, and which communicators have taken them
//     GET /map         the snapshot's map of paths, then the same
//     POST /book       body: a rule book's name, or nothing: its communicators shall take it, or the job's own
//                      rules again (mpi/coll/outside.h); the answer is the number of the change
//     POST /trace      body: start or stop: workers that have a trace write it, or pause; the answer is
//                      the file's name
//
// A snapshot is asked of the agents when somebody wants it (MLT_FRAME_LIVE, MLT_FRAME_LIVED); those
// who ask meanwhile get the same. Nothing here blocks, and a job that nobody asks pays nothing.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "launch/live/snap.h"
#include "launch/plan/options.h"
#include "launch/plan/plan.h"

#define MLT_LIVE_NAME_FORMAT "millet/%u/" // what names of a user's jobs begin with

typedef struct mlt_live mlt_live;
typedef struct mlt_watch mlt_watch; // launch/watch/watch.h

typedef struct mlt_live_conf {
    const mlt_options *options;
    const mlt_placement *plan;
    pid_t pid;           // of the job
    uint64_t started_ns; // monotonic
    mlt_watch *watch;    // asks the agents, and obeys
} mlt_live_conf;

// Never NULL. A machine that refuses the socket is no failure: nobody can ask then. Ends mpirun if
// the file of --live cannot be made.
mlt_live *mlt_live_new(const mlt_live_conf *conf);
void mlt_live_free(mlt_live *live); // NULL is fine; the file of --live is gone

// A host's part of snapshot `number` has come; it is lost, and will not answer.
void mlt_live_take(mlt_live *live, uint32_t host, int64_t number, const void *part, size_t length);
void mlt_live_lost(mlt_live *live, uint32_t host);

// A communicator has taken a change, or refuses it: its name, or why.
void mlt_live_changed(mlt_live *live, uint32_t number, bool refused, const char *text);

// A snapshot for mpirun itself, when it is there. One at a time.
typedef void mlt_live_came(void *user, const mlt_live_job *job, const mlt_live_snap *snap);
void mlt_live_want(mlt_live *live, mlt_live_came *came, void *user);
