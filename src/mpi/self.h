// SPDX-License-Identifier: BSD-3-Clause
// What the MPI layer keeps for a rank and for a worker, and how a call finds it.
#pragma once

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/pool.h"
#include "boot/ctl.h"
#include "boot/recorder.h"
#include "coll/alg/op.h"
#include "host/life.h"
#include "mpi/comm/comm.h"
#include "mpi_fn.h" // generated: MLT_FN_Send ..., mlt_fn_table
#include "p2p/p2p.h"
#include "p2p/worker.h"
#include "win/apply.h"

struct mlt_type_note; // dtype.c
struct mlt_dtype;     // dtype.h

// A rank's part; rank->mpi. They are one array a worker.
typedef struct mlt_mpi {
    mlt_comm world;
    // MPI_COMM_SELF; NULL: nobody has asked for it (mlt_comm_self). Release when it is there, acquire by
    // other threads of the rank.
    _Atomic(mlt_comm *) self;
    mlt_list_node comms;              // the other communicators, by mlt_comm.link
    void *buffer;                     // MPI_Buffer_attach's (buffer.c); NULL: none
    struct mlt_type_note *type_notes; // names and attributes of predefined types (dtype.c)
    uint16_t provided;                // thread level
    uint16_t sessions;                // open ones
    int last_used_code;               // MPI_LASTUSEDCODE as this rank knows it
    _Atomic bool inited, finalized;   // a thread that finds them true sees what was before
    bool offloads;                    // the worker's `offload` counts this rank
    bool self_handled;                // the program has set MPI_COMM_SELF's error handler
    _Atomic bool fortran;             // a call of Fortran with arrays is under way, see fortran.h
} mlt_mpi;
_Static_assert(sizeof(mlt_mpi) <= 192, "a million ranks have one each");

struct mlt_error_log;       // error.c
struct mlt_group;           // group.h
struct mlt_mpi_profile;     // profile.c
struct mlt_coll_rooms;      // coll.c
struct mlt_topo_cart_plans; // reorder.c
struct mlt_dist_edges;      // dist_graph.c
struct mlt_driver;          // helper.c
struct mlt_goal_offload;    // goal/offload.c
struct mlt_starter;         // stream/enqueue.c
struct mlt_tool;            // tool/tool.h
struct mlt_parts;           // p2p/partition_int.h
struct mlt_strict;          // strict.c
struct mlt_file_service;    // file/file.h

// A worker's part; worker->mpi.
typedef struct mlt_mpi_worker {
    mlt_mpi *ranks;                  // [worker->count]
    mlt_pool messages;               // mlt_message, see handle.h
    mlt_pool sessions;               // mlt_session, see session.h
    mlt_pool groups;                 // mlt_group, see group.h
    mlt_maps maps;                   // tables of groups, each once
    struct mlt_group *empty;         // what MPI_GROUP_EMPTY means
    mlt_pool comms;                  // mlt_comm
    mlt_pool wins;                   // mlt_win, see win/win.h
    struct mlt_contexts *contexts;   // context.h
    mlt_comm_shared *world;          // what all ranks share of MPI_COMM_WORLD
    mlt_list_node *agreements;       // [meet_mask + 1] open agreements without a communicator, see
    uint32_t agreement_mask;         // agreement.h, by their keys
    mlt_pool dtypes;                 // mlt_dtype, see dtype.h
    struct mlt_dtype *permanent;     // the unnamed predefined ones
    uint32_t finalized;              // ranks of the worker that have come so far
    uint32_t ungated;                // functions of the user's under way, of calls without a gate
    struct mlt_error_log *errors;    // the last messages; NULL until the first
    struct mlt_mpi_profile *profile; // NULL without --report
    mlt_pool jobs;                   // of collective operations, see coll.c
    struct mlt_coll_rooms *rooms;    // coll.c: memory for copies; NULL until the first
    struct mlt_device_meetings *meetings; // coll/device.h; NULL: no rank uses memory of a device
    bool coll_failed;                     // an error of a collective call was raised
    uint32_t change; // coll/outside.h: the last one from outside that it knows of
    struct {         // op.c: what was found last; predefined ones only
        MPI_Op handle;
        const mlt_type *type;
        mlt_coll_op op;
    } last_op;
    struct { // win/rma.c: the same of accumulates; named types only
        MPI_Op handle;
        MPI_Datatype datatype; // type's handle
        const mlt_type *type;
        uint64_t size; // of an element without gaps; 0: it has some
        mlt_win_operation operation;
    } last_operation;
    struct { // win/rma.c: what was swapped last
        MPI_Datatype datatype;
        uint64_t size; // 0: nothing so far
    } last_swap;
    uint32_t looks;                     // calls since the last yield, see mlt_mpi_yield_due
    struct mlt_coll_rulebook *rulebook; // mpi/coll/rules.c: the job's rules; NULL: none
    struct mlt_coll_rule *forced;       // ... and what it forces; NULL: nothing
    struct mlt_ledger *ledger;          // coll/ledger.h: what was chosen and measured; never NULL
    struct mlt_topo_cart_plans *plans;  // reorder.c: those of the last grids; NULL until the first
    struct mlt_dist_edges *dist_edges;  // dist_graph.c: while ranks make distributed graphs
    struct mlt_driver *driver;          // helper.c: makes progress for others; NULL: none
    struct mlt_goal_offload *offload;   // goal/offload.c; NULL: no schedule is offloaded
    struct mlt_starter *starter;        // stream/enqueue.c; NULL: no rank has a stream
    struct mlt_tool **tools; // tool/tool.h: [count], of ranks that share the process; NULL: none
    uint32_t watchers, met_told;    // tool/tool.c: how many want it watched; watch.c
    struct mlt_parts *parts;        // partitioned requests; NULL until the first
    struct mlt_strict *strict;      // --strict: what was made; NULL until the first
    struct mlt_file_service *files; // file/service.c; NULL: no rank has a file open
    mlt_recorder *unread;           // where calls go that nobody will read; NULL: they are recorded
    mlt_ctl_moves moves;            // count.h
    struct mlt_tracer *tracer;      // trace.h; NULL: no trace
    struct mlt_trace_call *call;    // ... the call that began last and still runs; NULL: none
    uint32_t trace_wanted;          // ... what was wanted last from outside (mlt_job_board)
    uint32_t trace_schedules;       // ... that it was told (trace_run.h)
    uint64_t brief_ticks;           // ... shorter waits for a core, and of it, are not told of
} mlt_mpi_worker;

static inline mlt_mpi *mlt_mpi_of(const mlt_rank *me)
{
    return (mlt_mpi *)me->mpi;
}

static inline mlt_mpi_worker *mlt_mpi_worker_of(const mlt_rank *me)
{
    return (mlt_mpi_worker *)me->worker->mpi;
}

// The calling rank if it is READY or THREADS, else NULL. Remembers the function: me->fn is from now
// on (with THREADS, from the detour on) the call that the user made, whatever bodies call each
// other; error messages and wait records name it.
static inline mlt_rank *mlt_mpi_enter(uint16_t fn)
{
    mlt_rank *me = mlt_rank_self();
    uint32_t life = me ? mlt_arch_load_8(&me->life) : MLT_LIFE_NEW;
    if (MLT_UNLIKELY(life < MLT_LIFE_READY))
        return NULL;
    // Relaxed: with THREADS, several write to a word that nobody reads.
    atomic_store_explicit((_Atomic uint16_t *)((char *)me + life), fn, memory_order_relaxed);
    return me;
}

// For the flight recorder: the call that the rank has begun, which moves `count` elements of `size`
// bytes.
static inline void mlt_mpi_record(const mlt_rank *me, uint16_t fn, int32_t peer, int32_t tag,
                                  uint32_t context, uint64_t count, uint64_t size)
{
    mlt_recorder_put(me->worker->recorder, fn, me->world, peer, tag, context, count, size);
}

static inline void mlt_mpi_record_again(const mlt_rank *me, uint16_t fn)
{
    mlt_recorder_put_again(me->worker->recorder, fn, me->world);
}

// When mlt_mpi_enter said NULL: makes the calling thread, which was no rank's, one of its rank's,
// so that it may enter. Ends the job with a message if it may not. Where ranks share a worker it
// returns on the worker's thread instead: mlt_thread_leave with the result comes after the call.
struct mlt_delegates *mlt_thread_adopt(uint16_t fn) MLT_COLD;
void mlt_thread_leave(struct mlt_delegates *moved) MLT_COLD;

// True if it would: for calls that are allowed at any time, on a thread that is no rank's.
bool mlt_thread_moves(void) MLT_COLD;

// For calls that are allowed at any time: NULL only if the thread is no rank's (yet).
mlt_rank *mlt_thread_enter_anytime(uint16_t fn) MLT_COLD;

static inline mlt_rank *mlt_mpi_enter_anytime(uint16_t fn)
{
    mlt_rank *me = mlt_rank_self();
    if (MLT_UNLIKELY(!me || mlt_life(me) != MLT_LIFE_READY))
        return mlt_thread_enter_anytime(fn);
    me->fn = fn;
    return me;
}

// A call whose answer another rank can change, and that does not wait for it, is one that programs
// repeat. Now and then it must yield: the other rank may share its worker. True: it is time for that,
// and stays so until mlt_mpi_yield_if_due has been called.
static inline bool mlt_mpi_yield_due(const mlt_rank *me)
{
    enum { OFTEN = 64 };
    return MLT_UNLIKELY(++mlt_mpi_worker_of(me)->looks >= OFTEN);
}

// May suspend, except in a function of the user's that must not (mlt_sched_pin).
static inline void mlt_mpi_yield_if_due(mlt_rank *me)
{
    if (mlt_mpi_yield_due(me) && !me->worker->sched->pinned) {
        mlt_mpi_worker_of(me)->looks = 0;
        mlt_p2p_poll(me);
    }
}

// "MPI_Send": the name of a function by its index, and of the call that a rank is in.
static inline const char *mlt_fn_name(uint16_t fn)
{
    return mlt_fn_table[fn].name;
}

static inline const char *mlt_mpi_call(const mlt_rank *me)
{
    return mlt_fn_table[me->fn].name;
}

// The process has joined its job: whether calls go by the detour.
void mlt_mpi_joined(const mlt_boot *boot);

// Gives all ranks of a worker their mlt_mpi; called once for each worker, and undone at its end.
void mlt_mpi_worker_init(mlt_worker *worker);
void mlt_mpi_worker_fini(mlt_worker *worker);

// MPI_Init: makes the world of a rank.
void mlt_mpi_rank_open(mlt_rank *me);

// MPI_COMM_SELF, made when it is first needed: few of a million ranks do. Its magic is 0 while that of
// the world is.
mlt_comm *mlt_mpi_self_new(mlt_rank *me) MLT_COLD;
static inline mlt_comm *mlt_mpi_self_known(const mlt_rank *me) // NULL: not made yet
{
    return atomic_load_explicit(&mlt_mpi_of(me)->self, memory_order_acquire);
}
static inline mlt_comm *mlt_comm_self(mlt_rank *me)
{
    mlt_comm *self = mlt_mpi_self_known(me);
    return MLT_LIKELY(self != NULL) ? self : mlt_mpi_self_new(me);
}

// The end of MPI in a rank: waits for sends whose requests the user freed; afterwards their buffers
// are the user's. May suspend.
void mlt_mpi_drain_sends(mlt_rank *me);

// Not 0 once some call of the process needs more than its body: calls go by the surface's detour
// (thread.h), which looks for what it is. Relaxed: a rank of another worker need not notice.
typedef enum mlt_detour_why {
    MLT_DETOUR_USUAL = 1,
    MLT_DETOUR_DEVICE = 2, // buffers may be memory of a device
} mlt_detour_why;
extern _Atomic uint8_t mlt_mpi_detour __attribute__((visibility("hidden"))); // no detour to read it
// Set with MLT_DETOUR_USUAL if some call needs more than a trace of it and mlt_p2p_let_go.
extern _Atomic bool mlt_mpi_whole_detour __attribute__((visibility("hidden")));

static inline void mlt_mpi_take_detour(mlt_detour_why why)
{
    atomic_fetch_or_explicit(&mlt_mpi_detour, (uint8_t)why, memory_order_relaxed);
}

// Inside a detour: whether it is for nothing but buffers of devices.
static inline bool mlt_mpi_only_device(void)
{
    return mlt_arch_load_8(&mlt_mpi_detour) == MLT_DETOUR_DEVICE;
}

static inline bool mlt_mpi_detours(void)
{
    return mlt_arch_load_8(&mlt_mpi_detour);
}

// --report: set once before any rank runs. The detour counts and times every call.
extern bool mlt_mpi_profiling __attribute__((visibility("hidden")));
void mlt_mpi_count(mlt_rank *me, uint16_t fn, uint64_t start_ns); // one call ended; me may be NULL
