// SPDX-License-Identifier: BSD-3-Clause
// The tool information interface (MPI_T): what a rank has of it, and what all its parts share.
//
//     cvar.c      control variables: the settings of all layers
//     pvar.c      performance variables: what there is to read, and how
//     session.c   sessions and handles: counting from a start to a stop
//     event.c     event types, registrations, callbacks; source.c: the clocks behind them
//     category.c  categories: a tree of all of these
//     watch.c     how a rank's doings get here
//
// Whose it is. A rank that calls MPI_T has a mlt_tool; ranks of a process or of a worker see nothing
// of each other's. It may call before MPI_Init, when a process that holds one rank has not joined
// its job: then there is no mlt_rank yet (`rank` is NULL), settings can still be set as if they were
// in the environment, and counts stand at 0. It may call after MPI_Finalize.
//
// Threads. Calls of a rank with a gate come through it. Without one, MPI_T_init_thread promises
// MPI_THREAD_FUNNELED, or what MPI_Init_thread has promised. So nothing here has a lock.
//
// What it costs. Counts that the engine keeps anyhow are read where they are. All others are counted
// only while some handle that runs, or some callback, wants them: the worker is watched then
// (mlt_worker_watch), and each of its ranks goes a slower way. Ranks without a mlt_tool are passed by.
//
// Errors are returned as the standard's classes, and call no error handler.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/event.h"
#include "base/list.h"
#include "boot/ctl.h"
#include "mpi/comm/comm.h"
#include "mpi/registry.h"
#include "p2p/p2p.h"
#include "p2p/worker.h"

// How often each kind of collective operation was called, whatever its form.
#define MLT_TOOL_COLLECTIVES(X)                                                                    \
    X(barrier)                                                                                     \
    X(bcast)                                                                                       \
    X(gather)                                                                                      \
    X(gatherv)                                                                                     \
    X(scatter)                                                                                     \
    X(scatterv)                                                                                    \
    X(allgather)                                                                                   \
    X(allgatherv)                                                                                  \
    X(alltoall)                                                                                    \
    X(alltoallv)                                                                                   \
    X(alltoallw)                                                                                   \
    X(reduce)                                                                                      \
    X(allreduce)                                                                                   \
    X(reduce_scatter_block)                                                                        \
    X(reduce_scatter)                                                                              \
    X(scan)                                                                                        \
    X(exscan)                                                                                      \
    X(neighbor_allgather)                                                                          \
    X(neighbor_allgatherv)                                                                         \
    X(neighbor_alltoall)                                                                           \
    X(neighbor_alltoallv)                                                                          \
    X(neighbor_alltoallw)

#define MLT_TOOL_COLLECTIVE_ENUM(name) MLT_TOOL_CALL_##name,
enum { MLT_TOOL_COLLECTIVES(MLT_TOOL_COLLECTIVE_ENUM) MLT_TOOL_COLLECTIVE_COUNT };

// What a rank did while its worker was watched. Only grows, but for the last ones.
typedef struct mlt_tool_counts {
    uint64_t sent[MLT_CTL_DISTANCES], sent_bytes[MLT_CTL_DISTANCES]; // as mlt_worker_counts
    uint64_t eager, rendezvous;
    uint64_t received, received_bytes, unexpected;
    uint64_t waits, wait_ns;
    uint64_t collective_calls[MLT_TOOL_COLLECTIVE_COUNT];
    mlt_ctl_moves moves;
    uint64_t lock_waits, lock_wait_ns; // in MPI_Win_lock and MPI_Win_lock_all
    uint64_t partitioned_received, partitioned_received_bytes;
    mlt_ctl_copies copies;                                           // by devices
    uint64_t last_wait, last_large, last_collective, last_algorithm; // enumerations of pvar.c
} mlt_tool_counts;

enum { MLT_TOOL_HANDLES = 1 << 16, MLT_TOOL_SESSIONS = 1 << 10 }; // a tool that has more leaks them

typedef struct mlt_tool {
    uint32_t number; // no other one of the process has it: objects are named by it (mpi/registry.h)
    uint32_t inits;  // calls of MPI_T_init_thread that MPI_T_finalize has not undone
    bool ended;      // there was a rank, and there will be none
    mlt_rank *rank;  // NULL: the process has not joined its job, or the rank has ended
    uint32_t handles, session_count;
    mlt_list_node cvars;    // handles of control variables (cvar.c)
    mlt_list_node sessions; // session.c
    mlt_list_node hearers;  // handles of performance variables that hear of every event
    uint32_t watchers;      // handles that run, and callbacks, for which the worker is watched
    mlt_tool_counts counts;
    struct mlt_tool_events *events; // event.c; NULL: none so far
} mlt_tool;

// The surface of every function but MPI_T_init_thread calls it before the body: the caller's state, or an
// error. Then handles become objects; indices, and pointers that must be there, are looked at.
int mlt_tool_enter(mlt_rank *me, mlt_tool **tool) MLT_MUST_CHECK;

// The index of an item by its name. Returns an error class.
int mlt_tool_find(const char *name, int *index, int count, const char *(*name_of)(int i));

// category.c: how many there are; the name of one; how many of a kind belong to it, the first `len` of
// them into indices, which may be NULL; the same as an error class.
typedef enum mlt_tool_kind {
    MLT_TOOL_CVARS,
    MLT_TOOL_PVARS,
    MLT_TOOL_EVENTS,
    MLT_TOOL_CATEGORIES,
} mlt_tool_kind;
int mlt_tool_category_count(void);
const char *mlt_tool_category_name(int i);
int mlt_tool_category_collect(int cat, mlt_tool_kind kind, int len, int *indices);
int mlt_tool_category_list(int cat, mlt_tool_kind kind, int len, int *indices);

// The communicator that a variable or an event is to be bound to: an error class.
int mlt_tool_bind(mlt_rank *me, const void *obj_handle, const mlt_comm **comm) MLT_MUST_CHECK;

// Calls of MPI_T before the process has a rank, by threads that were promised MPI_THREAD_MULTIPLE. False:
// the function is none of these, and nothing is locked.
bool mlt_tool_early_lock(uint16_t fn);
void mlt_tool_early_unlock(void);

// The rank's state; NULL: it has not called MPI_T_init_thread.
mlt_tool *mlt_tool_of(const mlt_rank *me);

// One more or less (`change`) wants the worker watched.
void mlt_tool_watch(mlt_tool *tool, int change);

// The standard's rule for strings: at most *length bytes with the 0 into `out`, and the length with
// the 0 of the whole into *length. Either may be NULL.
void mlt_tool_text(const char *text, char *out, int *length);

static inline void mlt_tool_put(int *out, int value)
{
    if (out)
        *out = value;
}

// ---- handles

// What a handle stands for begins with this. The magic says which kind it is.
typedef struct mlt_tool_object {
    mlt_registry_head head;
    mlt_list_node link;
    mlt_tool *tool;
} mlt_tool_object;

enum {
    MLT_TOOL_CVAR_MAGIC = 0x7001c0a1,
    MLT_TOOL_REGISTRATION_MAGIC = 0x70014e61,
    MLT_TOOL_SESSION_MAGIC = 0x70015e55,
    MLT_TOOL_PVAR_MAGIC = 0x7001b0a1,
};

// A copy of `made`, of so many bytes, at the end of a list of its tool's or session's.
void *mlt_tool_object_new(mlt_registry *registry, uint32_t magic, const void *made, size_t bytes,
                          mlt_list_node *list);
void mlt_tool_object_free(mlt_registry *registry, mlt_tool_object *object);

// NULL: it is none, or another tool's.
void *mlt_tool_object_of(const mlt_tool *tool, uint32_t magic, const void *handle);

// ---- enumerations

enum { MLT_TOOL_ENUM_MAGIC = 0x7001e4a3 };

// Item i has the value i. The handle is its address.
typedef struct mlt_tool_enum {
    uint32_t magic; // MLT_TOOL_ENUM_MAGIC
    const char *name;
    const char *items; // "first|second|third"
} mlt_tool_enum;

#define MLT_TOOL_ENUM(name_, items_)                                                               \
    {                                                                                              \
        .magic = MLT_TOOL_ENUM_MAGIC, .name = name_, .items = items_                               \
    }

static inline MPI_T_enum mlt_tool_enum_handle(const mlt_tool_enum *e)
{
    return (MPI_T_enum)(uintptr_t)e; // NULL: MPI_T_ENUM_NULL
}

const mlt_tool_enum *mlt_tool_enum_of(MPI_T_enum handle); // NULL: it is none
int mlt_tool_enum_count(const mlt_tool_enum *e);
void mlt_tool_enum_item(const mlt_tool_enum *e, int64_t index, char *item, size_t size);

// ---- to the other layers and folders

// A worker begins, and ends. After the one and before the other its ranks can be looked at.
void mlt_tool_worker_begins(mlt_worker *worker);
void mlt_tool_worker_ends(mlt_worker *worker);

// A call of a rank of a watched worker begins; and ends, inside its gate: calls the callbacks of what
// happened.
void mlt_tool_call_begins(mlt_rank *me, uint16_t fn);
void mlt_tool_call_ends(mlt_rank *me);

// mlt_upcalls.event.
void mlt_tool_on_event(mlt_worker *worker, mlt_rank *rank, const mlt_event *event);

// ---- the parts to each other

// MPI_T_finalize: everything that the rank did not free.
void mlt_tool_cvars_free(mlt_tool *tool);
void mlt_tool_sessions_free(mlt_tool *tool);
void mlt_tool_events_free(mlt_tool *tool);

// Handles that run take what they have counted into themselves: there is nothing to read from now on.
void mlt_tool_sessions_settle(mlt_tool *tool);

// A call of the rank begins.
void mlt_tool_sessions_called(mlt_tool *tool);

// An event of the rank, for handles that want every one, and for registrations.
void mlt_tool_sessions_saw(mlt_tool *tool, const mlt_event *event);
void mlt_tool_events_saw(mlt_tool *tool, const mlt_event *event);
// The worker has to do with its first, second, ... worker of another host.
void mlt_tool_events_met(mlt_tool *tool, int32_t worker, int32_t host, int32_t number);

// Calls the callbacks of what has happened so far. May suspend, as they may.
void mlt_tool_events_deliver(mlt_tool *tool);
