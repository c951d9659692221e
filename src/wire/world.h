// SPDX-License-Identifier: BSD-3-Clause
// Other jobs that this one is, or was, connected with. A process gives their ranks, workers,
// processes and hosts numbers that follow its own job's, when it first hears of them:
//
//     0 .. own ranks - 1 | ranks of the first other job | ranks of the second ...
//
// So whatever names a rank by one number goes on doing so. The numbers are the process's own: they
// never travel. What travels is a job's identity and a rank of it (mlt_worlds_tell, mlt_worlds_find).
// Numbers are never used again, and a job that is met again has the numbers that it had.
//
// A world is connected while somebody holds it: every communicator that has ranks of it does. A bond
// (boot/rpc.h) is what the agents know of some worlds; a process gives it up when none of these is
// held any more. Messages to a world travel as those to other hosts do, but are not counted: the
// proof of a deadlock speaks of one job.
//
// Any thread may call these. What a world says of itself never changes.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "boot/job.h"

// Processes that follow each other, on one host, with as many workers and ranks.
typedef struct mlt_world_run {
    uint32_t host;
    uint32_t procs;
    uint32_t workers; // of each process
    uint32_t ranks;   // of each worker
    uint32_t larger;  // so many of the first workers of each process have one rank more
} mlt_world_run;

enum { MLT_WORLD_NAME = 96, MLT_WORLD_MOST = 1 << 20 };

// A job, as it describes itself. The numbers are sums of the runs.
typedef struct mlt_world_shape {
    uint64_t identity;
    uint32_t ranks, workers, procs, hosts;
    uint32_t run_count;
    mlt_world_run *runs;
    char name[MLT_WORLD_NAME]; // for messages: "mpirun 4711 on host a"
} mlt_world_shape;

typedef struct mlt_world {
    mlt_world_shape shape;
    uint32_t first_rank, first_worker, first_proc, first_host; // the numbers of its first ones
    // By which agents connect, and the number of its first process there.
    _Atomic uint64_t bond;
    _Atomic uint32_t bond_proc;
    _Atomic uint32_t holders;
    struct mlt_world *next;         // met before this one
    struct mlt_world *jump;         // long before it; private
    uint32_t met_before;            // how many were; private
    struct mlt_world_start *starts; // [run_count]: private
} mlt_world;

typedef struct mlt_worlds mlt_worlds;

// Those of a process of that job, which has this control channel; made at the first call.
mlt_worlds *mlt_worlds_of(mlt_job *job, int ctl);

// The job's own shape. The runs are the caller's to free.
void mlt_world_own_shape(mlt_job *job, mlt_world_shape *shape);

// Fills in the sums. False: a number is too large, or 0 where it should not be.
bool mlt_world_add_up(mlt_world_shape *shape) MLT_MUST_CHECK;

// The world of that shape, known or new; copies what it needs. NULL: it is the job itself, there are
// no numbers left, or a job of that identity has another shape.
mlt_world *mlt_worlds_meet(mlt_worlds *worlds, const mlt_world_shape *shape);

// The one that was met last; NULL: none was.
const mlt_world *mlt_worlds_last(const mlt_worlds *worlds);

// The number of a rank of that job; -1: the job is not known, or has no such rank.
int32_t mlt_worlds_find(const mlt_worlds *worlds, uint64_t identity, uint32_t rank);
// The other way. worlds NULL: there is only the own job.
void mlt_worlds_tell(const mlt_worlds *worlds, const mlt_job *job, int32_t rank, uint64_t *identity,
                     uint32_t *of_it);

// The world of a rank or a worker; NULL: the own job.
mlt_world *mlt_worlds_of_rank(const mlt_worlds *worlds, int32_t rank);
mlt_world *mlt_worlds_of_worker(const mlt_worlds *worlds, uint32_t worker);

// The worker of a rank that is not of the own job.
uint32_t mlt_worlds_worker(const mlt_worlds *worlds, int32_t rank);

// Where a worker that is not of the own job is. Its first rank is as in its job.
typedef struct mlt_world_place {
    const mlt_world *world;
    uint32_t proc, first_worker, workers; // of its process
    uint32_t first_rank, ranks;
    uint32_t host;
} mlt_world_place;
mlt_world_place mlt_worlds_place(const mlt_worlds *worlds, uint32_t worker);

// The same of a process: its workers and host. False: there is none.
bool mlt_worlds_proc(const mlt_worlds *worlds, uint32_t proc, mlt_world_place *place);

// Numbers that are more than those of all workers and hosts met so far.
uint32_t mlt_worlds_workers(const mlt_worlds *worlds);
uint32_t mlt_worlds_hosts(const mlt_worlds *worlds);

// ---- bonds

typedef struct mlt_bond_part {
    mlt_world *world;    // NULL: the own job
    uint32_t first_proc; // its first process in the bond
} mlt_bond_part;

// A bond is being made; the worlds in it are not given up before mlt_bond_made. True: this process
// has not heard of it yet, and the caller tells the agent.
bool mlt_bond_begin(mlt_worlds *worlds, uint64_t bond, const mlt_bond_part *parts, uint32_t count);
void mlt_bond_made(mlt_worlds *worlds, uint64_t bond);

// The process (by this process's number) that the agents call `proc` of that bond; UINT32_MAX: none.
uint32_t mlt_bond_proc(const mlt_worlds *worlds, uint64_t bond, uint32_t proc);

void mlt_world_hold(mlt_world *world);
void mlt_world_drop(mlt_worlds *worlds, mlt_world *world);
