// SPDX-License-Identifier: BSD-3-Clause
// millet/goal.h: what its files share, and what requests have to do with schedules.
//
// A goal is being built: a program of one rank, the caller's, whatever the communicator's size. A
// schedule is compiled: immutable code, and one run of it (goal/exec.h), so it is under way once at
// a time. Both belong to the rank that made them; they lie on shelves of the process, so a stale
// handle gets an error message.
//
// A run's request is a MLT_REQ_OTHER of the pool's with MLT_REQF_GOAL, whose `extra` is the
// schedule. A schedule keeps one in reserve, so that a start takes no memory whatever else the pool
// has to give. A schedule is freed with the last of the user's handle and the requests.
#pragma once

#include <millet/goal.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "goal/exec.h"
#include "goal/program.h"
#include "goal/sched.h"
#include "mpi/comm/comm.h"
#include "mpi/registry.h"
#include "mpi/self.h"
#include "mpi/thread.h"
#include "p2p/p2p.h"
#include "p2p/worker.h"

enum { MLT_GOAL_MAGIC = 0x00060a15, MLT_GOAL_SCHED_MAGIC = 0x0005ced0 };

// Memory of goals and schedules, counted.
typedef struct mlt_goal_block {
    _Alignas(64) uint32_t refs;
    _Alignas(64) unsigned char bytes[];
} mlt_goal_block;

mlt_goal_block *mlt_goal_block_new(uint64_t size); // zeroed; NULL: memory is out
void mlt_goal_block_drop(mlt_goal_block *block);   // NULL is fine

// Bytes of the process that are a named buffer.
typedef struct mlt_goal_named {
    uintptr_t base;
    uint64_t size;
    uint32_t id;           // of the program's buffer
    mlt_goal_block *block; // GOAL_Alloc's; NULL: the user's
} mlt_goal_named;

// What a handle of the library stands for begins with its registry's head and its rank.
typedef struct mlt_goal_object {
    mlt_registry_head head;
    mlt_rank *rank;
} mlt_goal_object;

struct GOAL_Goal_s {
    mlt_registry_head head; // as mlt_goal_object
    mlt_rank *rank;
    mlt_comm *comm;            // held; NULL: none yet, see mlt_goal_need_comm
    mlt_goal_program *program; // of one rank
    mlt_goal_named *named;     // by address
    uint32_t named_count, named_room;
    GOAL_Func **func;
    uint32_t func_count, func_room;
    uint32_t window;
    bool automatic, plain;
};

// The runs of a communicator, as one rank counts them.
typedef struct mlt_goal_runs {
    uint32_t refs;        // the communicator, schedules
    uint32_t number;      // of the next one
    mlt_list_node active; // schedules under way, the oldest first
} mlt_goal_runs;

void mlt_goal_runs_drop(mlt_goal_runs *runs); // NULL is fine

struct GOAL_Sched_s {
    mlt_registry_head head; // as mlt_goal_object
    mlt_rank *rank;
    mlt_comm *comm; // held
    uint32_t refs;  // the user's handle, requests
    uint32_t number;
    mlt_goal_sched *sched;
    mlt_goal_program *program;    // for the names of its actions; NULL: has none
    struct mlt_goal_image *image; // that the schedule lies in; NULL: it is compiled
    void *file;                   // ... and its bytes
    mlt_run *run;
    mlt_run_place place;
    mlt_goal_block **block; // [buffers] memory of its own; NULL: none yet
    mlt_goal_runs *runs;
    mlt_list_node active;  // in runs->active while it is under way
    mlt_req *spare;        // for the next start; NULL: a request of the user's has it
    bool bound;            // all functions are there
    bool offload, watched; // the helper is to drive it; drives it now
};

// ---- every function of the library

// Its rank, inside the gate if it has one. Ends the job with a message if it may not call.
typedef struct mlt_goal_call {
    mlt_rank *me;
    mlt_detour detour;
    mlt_delegates *moved; // NULL: it has stayed on its thread
    uint16_t fn;
    bool detours;
} mlt_goal_call;

void mlt_goal_enter_again(mlt_goal_call *call) MLT_COLD;

static inline mlt_goal_call mlt_goal_enter(uint16_t fn)
{
    mlt_goal_call call = {.me = mlt_mpi_enter(fn), .fn = fn};
    if (MLT_UNLIKELY(!call.me))
        mlt_goal_enter_again(&call);
    call.detours = mlt_mpi_detours();
    if (MLT_UNLIKELY(call.detours))
        call.detour = mlt_detour_begin(call.me, fn);
    return call;
}

static inline void mlt_goal_leave(const mlt_goal_call *call)
{
    if (MLT_UNLIKELY(call->detours))
        mlt_detour_end(call->me, call->fn, &call->detour);
    if (MLT_UNLIKELY(call->moved != NULL))
        mlt_thread_leave(call->moved);
}

// Of the variable that has a call: the function leaves it wherever it returns.
#define MLT_GOAL_LEAVES __attribute__((cleanup(mlt_goal_leave)))

// The object of a handle of this rank; NULL: it is none, and *code says so, raised.
void *mlt_goal_object_of(mlt_rank *me, mlt_goal_object *object, uint32_t magic, const char *name,
                         int *code);

static inline struct GOAL_Goal_s *mlt_goal_of(mlt_rank *me, GOAL_Goal handle, int *code)
{
    return mlt_goal_object_of(me, (mlt_goal_object *)handle, MLT_GOAL_MAGIC, "goal", code);
}

static inline struct GOAL_Sched_s *mlt_goal_sched_of(mlt_rank *me, GOAL_Sched handle, int *code)
{
    return mlt_goal_object_of(me, (mlt_goal_object *)handle, MLT_GOAL_SCHED_MAGIC, "sched", code);
}

// A communicator that schedules may have; NULL: it is none, and *code says so, raised.
mlt_comm *mlt_goal_comm_of(mlt_rank *me, MPI_Comm handle, int *code);

// Raises that it has none yet.
int mlt_goal_need_comm(mlt_rank *me, const struct GOAL_Goal_s *g);

// A schedule on comm. Takes over `sched`, and the image and file that it lies in, failing or not.
// NULL: it cannot be run, and *code says so, raised.
struct GOAL_Sched_s *mlt_goal_sched_make(mlt_rank *me, mlt_comm *comm, mlt_goal_sched *sched,
                                         struct mlt_goal_image *image, void *file, int *code);

// Memory of its own for every buffer that has no address; false: memory is out.
bool mlt_goal_sched_furnish(struct GOAL_Sched_s *s);

// What functions of goal.h share (spec/goal_forms.tsv): an action is added, its id returned; a goal's
// action `a` waits for `b`; a schedule gets a request, and starts at once unless it is persistent.
GOAL_id mlt_goal_add_action(mlt_rank *me, GOAL_Goal g, const mlt_goal_action *action);
GOAL_id mlt_goal_add_message(mlt_rank *me, GOAL_Goal g, bool sends, const void *buf, size_t size,
                             int peer, int tag);
GOAL_id mlt_goal_add_exec(mlt_rank *me, GOAL_Goal g, GOAL_fid func, void *buf1, size_t size1,
                          const void *buf2, size_t size2, int flags);
int mlt_goal_add_order(mlt_rank *me, GOAL_Goal g, GOAL_id a, GOAL_id b, uint32_t flag);
int mlt_goal_sched_begin(mlt_rank *me, GOAL_Sched s, MPI_Request *request, bool persistent);

// GOAL_Set and GOAL_Sched_set: a value that is 0 or 1.
int mlt_goal_check_flag(mlt_rank *me, mlt_comm *comm, long value);

// ---- requests

// mlt_req_close of a request of a schedule: gives it back.
void mlt_goal_request_end(mlt_req *req);

// The code, with its message, of one that failed.
int mlt_goal_request_code(mlt_rank *me, const mlt_req *req) MLT_COLD;

// MPI_Start of a persistent one.
int mlt_goal_request_start(mlt_rank *me, mlt_req *req);

// mlt_upcalls.parts, for hang reports.
uint32_t mlt_goal_request_parts(const mlt_req *req, mlt_worker_part *out, uint32_t most);

void mlt_goal_sched_drop(struct GOAL_Sched_s *s);

// ---- offload.c: a thread that drives

// A schedule of this rank may be offloaded from now on: gives the worker its gate. An MPI code;
// raised if it cannot have one, or not now.
int mlt_goal_offload_allow(mlt_rank *me, mlt_comm *comm);
// Before the start of one: there is a thread. An MPI code; raised.
int mlt_goal_offload_begin(mlt_rank *me, struct GOAL_Sched_s *s);
// mlt_run.aside of an offloaded one: a thread of the library's own does it.
void mlt_goal_offload_aside(mlt_run *run, uint32_t offset);
// It is under way from now on; it is no more.
void mlt_goal_offload_watch(struct GOAL_Sched_s *s);
void mlt_goal_offload_done(struct GOAL_Sched_s *s);
// The end of MPI in a rank. May suspend.
void mlt_goal_offload_end(mlt_rank *me);
