// SPDX-License-Identifier: BSD-3-Clause
// Collective operations of MPI: from what the user gives to a call of a team (coll/team.h), and
// back.
//
// A body checks its arguments, fills in a job and hands it to mlt_coll_go, which runs it, starts it or
// keeps it (mpi/how.h). All else is the same for the three forms of a call.
//
//     side    where a rank's data lies, as the user says: buffer, datatype, counts, displacements
//     job     two sides, what the call is about, the operation; on the stack of a blocking call, in
//             the worker's pool for the others
//
// The team works on bytes that lie one after the other. A side that does not look so is packed
// before the call and unpacked after it, in memory that the worker keeps for the next time.
//
// Users' functions with derived types want elements in the type's own layout: such a side is copied
// with its gaps (`layout`), and only the data comes back.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "coll/alg/op.h"
#include "coll/path.h"
#include "coll/team.h"
#include "coll/walk.h"
#include "mpi/comm/comm.h"
#include "mpi/how.h"
#include "mpi/self.h"
#include "mpi/type/dtype.h"
#include "p2p/p2p.h"

typedef struct mlt_coll_side {
    void *buf;              // the user's; NULL: the side has no data
    const mlt_type *type;   // NULL: the side has no data
    uint64_t blocks;        // how many
    uint64_t count;         // elements of each, unless
    const uint64_t *counts; // [blocks] says; the job's memory
    const int64_t *displs;  // [blocks] where they begin, in extents; NULL: one after the other
    const mlt_type *const *types; // [blocks] of each, instead of `type`; displs are bytes then, and
                                  // must be there; NULL: all are `type`
    bool copied;                  // it is copied though it lies well: it will be overwritten
    unsigned char *packed;        // the copy that the team works on; NULL: `buf` itself
    uint64_t bytes;               // of the copy
} mlt_coll_side;

typedef struct mlt_device_call mlt_device_call; // device.h

typedef struct mlt_coll_job {
    mlt_comm *comm;
    mlt_coll_what what;
    mlt_coll_op op;        // of a reduction; what.op points here
    void *op_object;       // the user's operation, held; NULL: predefined
    mlt_coll_side in, out; // bcast: out. In place: in.buf NULL
    bool reads_out;        // out is packed before, too: in place, bcast's root
    bool writes_out;       // out is unpacked after it
    bool layout;           // see above
    bool copies_in;        // in place where the team cannot: in is a copy of out (alltoall, ...)
    void *memory;          // goes with the job: counts, displacements, starts, keys; from
                           // mlt_coll_memory_take; NULL: none
    // Private.
    mlt_team *team;
    uint32_t number, check;  // check: of what goes before it along a path that checks
    const char *call;        // "MPI_Bcast"
    mlt_device_call *device; // NULL: a schedule
    bool fixed;
    bool chosen; // the rules say which team: they may change between starts
} mlt_coll_job;

// Runs, starts or keeps the job, whose memory stays the caller's only for a blocking call: the
// others copy it. Blocking: may suspend. An MPI code, raised.
int mlt_coll_go(mlt_rank *me, mlt_coll_job *job, const mlt_how *how);

// The same on a team and with a number of the caller's, for calls that not all ranks of the
// communicator join. Numbers of ordinary and of persistent calls are counted apart.
int mlt_coll_go_on(mlt_rank *me, mlt_coll_job *job, mlt_team *team, uint32_t number,
                   const mlt_how *how);

// The job of which mlt_device_look said that a device may take it: none does (device.h).
void mlt_coll_go_ordinary(mlt_coll_job *job, mlt_req *req);

// MPI_Scan, MPI_Exscan and the other reductions of one block (reduce.c).
int mlt_coll_one_block(mlt_rank *me, mlt_collective collective, const void *sendbuf, void *recvbuf,
                       MPI_Count count, const mlt_type *type, MPI_Op handle, int root,
                       mlt_comm *comm, const mlt_how *how);

// The short way for a blocking call on an intracommunicator whose buffers the team can work on as
// they are. What it is given is not held: the caller sees to it that no other thread frees it.
// `what` and its op must stay until the call returns only if the rank is alone in its worker.
int mlt_coll_quick(mlt_rank *me, mlt_comm *comm, const mlt_coll_what *what, const void *in,
                   void *out);

// The same where mlt_team_is_small and mlt_coll_has_thread: all that is left of the call on the stack
// of a rank that waits, and shares its worker, is one frame.
int mlt_coll_quick_small(mlt_rank *me, mlt_comm *comm, const mlt_coll_what *what, const void *in,
                         void *out);

// A barrier of the library's own among the ranks of a communicator of which `comm` is any rank's of
// this worker: the n-th call of `me`, which is rank `rank` of it. May suspend.
void mlt_coll_barrier_as(mlt_rank *me, int32_t rank, mlt_comm *comm, uint32_t number);

// True if it may be taken.
static inline bool mlt_coll_is_quick(const mlt_rank *me, const mlt_comm *comm, const mlt_how *how)
{
    return MLT_LIKELY(!how) && !comm->inter &&
           MLT_LIKELY(mlt_arch_load_8(&me->life) == MLT_LIFE_READY) &&
           MLT_LIKELY(!mlt_arch_load_8(&mlt_coll_closely));
}

// Whether what a quick call says may lie in memory of the thread, so that the call needs no frame for
// it: a team of ranks that share a worker copies it, and a rank that is alone has no process beside it
// that could call meanwhile.
static inline bool mlt_coll_has_thread(const mlt_rank *me)
{
    return me->worker->count > 1 || !me->worker->sched->pool;
}

// Whether an operand is one of a few predefined elements, so that a call needs no other look at it.
static inline bool mlt_coll_is_everyday(const void *buf, MPI_Count count, const mlt_type *type)
{
    return type && type->contiguous == MLT_TYPE_EVERYDAY &&
           (uintptr_t)buf > (uintptr_t)MPI_IN_PLACE && (uint64_t)count <= MLT_TEAM_SMALL &&
           (uint64_t)count * type->size <= MLT_TEAM_SMALL;
}

// The teams of a communicator. mlt_comm_team's is shared by the worker's ranks, and there is none
// for an intercommunicator. mlt_comm_flat's is the rank's own view; of an intercommunicator it is
// over the ranks of both groups, the first group's first.
mlt_team *mlt_comm_find_team(mlt_comm *comm) MLT_COLD; // the first time
static inline mlt_team *mlt_comm_team(mlt_comm *comm)
{
    return MLT_LIKELY(comm->team != NULL) ? comm->team : mlt_comm_find_team(comm);
}
mlt_team *mlt_comm_flat(mlt_comm *comm);

// The place of rank `rank` of the communicator among this worker's.
uint32_t mlt_comm_local_of(const mlt_comm *comm, const mlt_team *team, int32_t rank);

// Fills in what all teams of a communicator have in common.
void mlt_comm_team_facts(mlt_comm *comm, mlt_team_facts *facts);

// Rules for a communicator, shared by the worker's ranks; made when first asked for.
struct mlt_coll_sources *mlt_comm_sources(mlt_comm *comm);
void mlt_comm_sources_free(struct mlt_coll_sources *sources); // NULL is fine

// The sources of a communicator have changed, and all its ranks have begun all calls before.
void mlt_comm_refresh(mlt_comm *comm, bool first); // first: of the ranks of the worker

// The job's rule book and what it forces; ends the process with a message if they are wrong.
void mlt_coll_worker_init(mlt_worker *worker);
void mlt_coll_worker_fini(mlt_worker *worker);
// Paths that name a host: it must be there, and be reached as they say. False: a message.
bool mlt_coll_remotes_fit(const mlt_worker *worker, const mlt_coll_rulebook *rulebook, char *why,
                          size_t why_size);

// At the end: tells the launcher what was chosen and measured.
void mlt_coll_tell(mlt_worker *worker);

// The rank makes no call with that number, because its own list of messages is wrong, which was
// raised. Messages that others send in that call are not reported as well.
void mlt_coll_refused(mlt_comm *comm, uint32_t number);

// When all ranks of the job have come to MPI_Finalize: a message of a collective call that nobody
// has received is an error of the program's, unless an error of a collective call was raised
// before. Ends the job if `handler` is fatal or aborts, else returns an MPI code.
int mlt_coll_look_for_lost(mlt_rank *me, MPI_Errhandler handler);

#define MLT_COLL_MOST ((UINT64_C(1) << 60) - 1) // bytes of a reduction: some copies can be counted

// ---- checks, for bodies. Each raises and returns a code, or MPI_SUCCESS.

// True if no element of the type can lie at MPI_BOTTOM, which is NULL.
static inline bool mlt_coll_needs_address(const mlt_type *type)
{
    return type->code || type->contiguous;
}

// What the user says of one buffer. "send" or "recv" stands before "buf", "count" and "type" in messages;
// "" for functions that have one buffer.
typedef struct mlt_coll_data {
    const char *which;
    const void *buf;
    MPI_Count count;
    const mlt_type *type; // NULL: a bad handle
} mlt_coll_data;

// The arguments sendbuf, sendcount, sendtype.
#define MLT_COLL_DATA(send) ((mlt_coll_data){#send, send##buf, send##count, send##type})

static inline uint64_t mlt_coll_data_bytes(const mlt_coll_data *d)
{
    return (uint64_t)d->count * d->type->size;
}

// `blocks` of them lie one after the other.
static inline mlt_coll_side mlt_coll_data_side(const mlt_coll_data *d, int32_t blocks)
{
    return (mlt_coll_side){
        .buf = (void *)(uintptr_t)d->buf,
        .type = d->type,
        .blocks = (uint64_t)blocks,
        .count = (uint64_t)d->count,
    };
}

// Data that are not in place. What is odd is passed by value, so that the rest need not be in memory.
int mlt_coll_check_odd_data(mlt_rank *me, mlt_comm *comm, mlt_coll_data d) MLT_COLD;
static inline int mlt_coll_check_data(mlt_rank *me, mlt_comm *comm, const mlt_coll_data *d)
{
    if (MLT_LIKELY(d->type && d->type->committed && (uintptr_t)d->buf > (uintptr_t)MPI_IN_PLACE &&
                   (uint64_t)d->count <= UINT32_MAX && d->type->size <= INT32_MAX))
        return MPI_SUCCESS;
    return mlt_coll_check_odd_data(me, comm, *d);
}
// The same for operands of a reduction, whose count has another name (`count`) and whose type has
// been looked at. element: bytes of one in the team's memory, several copies of which can be
// counted.
int mlt_coll_check_odd_operands(mlt_rank *me, mlt_comm *comm, mlt_coll_data d, const char *count,
                                uint32_t element) MLT_COLD;
static inline int mlt_coll_check_operands(mlt_rank *me, mlt_comm *comm, const mlt_coll_data *d,
                                          const char *count, uint32_t element)
{
    if (MLT_LIKELY((uintptr_t)d->buf > (uintptr_t)MPI_IN_PLACE && (uint64_t)d->count <= INT32_MAX &&
                   element <= INT32_MAX / 4 && d->type->size <= INT32_MAX))
        return MPI_SUCCESS;
    return mlt_coll_check_odd_operands(me, comm, *d, count, element);
}
// Where the request goes and the hints, if there are any; mlt_coll_go asks, too.
int mlt_coll_check_request(mlt_rank *me, mlt_comm *comm, const mlt_how *how);
// A root: of an intercommunicator, a rank of the other group, MPI_ROOT or MPI_PROC_NULL.
int mlt_coll_check_root(mlt_rank *me, mlt_comm *comm, int root);
// MPI_IN_PLACE where it may not be.
int mlt_coll_bad_in_place(mlt_rank *me, mlt_comm *comm, const char *name) MLT_COLD;

// Whether what is read and what is written share a byte; both lie one after the other.
static inline bool mlt_coll_overlap(const void *read, uint64_t read_bytes, const void *written,
                                    uint64_t written_bytes)
{
    uintptr_t r = (uintptr_t)read, w = (uintptr_t)written;
    return (w - r < read_bytes && written_bytes) || (r - w < written_bytes && read_bytes);
}
int mlt_coll_bad_overlap(mlt_rank *me, mlt_comm *comm) MLT_COLD;

// What a rank sends to itself, in bytes, is not what it receives from itself.
int mlt_coll_bad_sizes(mlt_rank *me, mlt_comm *comm, uint64_t sent, uint64_t received) MLT_COLD;
// All blocks together have more bytes than can be counted.
int mlt_coll_bad_total(mlt_rank *me, mlt_comm *comm) MLT_COLD;

static inline bool mlt_coll_in_place(const void *buf)
{
    return buf == MPI_IN_PLACE;
}

// Memory of the worker's that is kept for the next time; zero bytes: NULL.
void *mlt_coll_memory_take(mlt_rank *me, uint64_t bytes);
void mlt_coll_memory_give(mlt_rank *me, void *memory);

// ---- requests (MLT_REQF_COLL)

void mlt_coll_request_end(mlt_req *req); // mlt_req_close of one
int mlt_coll_request_code(mlt_rank *me, const mlt_req *req) MLT_COLD;
int mlt_coll_request_start(mlt_rank *me, mlt_req *req);                // MPI_Start
struct mlt_fortran_copy **mlt_coll_request_copies(const mlt_req *req); // see p2p/copies.h

void mlt_coll_look(const mlt_wait *wait, const mlt_req *req, mlt_ctl_wait *out);

extern const size_t mlt_coll_job_bytes; // of an object of the worker's pool

struct mlt_coll_rooms; // memory of a worker
void mlt_coll_rooms_free(struct mlt_coll_rooms *rooms);
