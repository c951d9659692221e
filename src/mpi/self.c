// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/self.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "gpu/gpu.h"
#include "mpi/coll/coll.h"
#include "mpi/comm/context.h"
#include "mpi/comm/group.h"
#include "mpi/comm/session.h"
#include "mpi/comm/shared.h"
#include "mpi/error/errhandler.h"
#include "mpi/handle.h"
#include "mpi/p2p/partition.h"
#include "mpi/profile.h"
#include "mpi/settings.h"
#include "mpi/strict.h"
#include "mpi/thread.h"
#include "mpi/tool/tool.h"
#include "mpi/topo/reorder.h"
#include "mpi/trace.h"
#include "mpi/type/dtype.h"
#include "mpi/win/win.h"
#include "os/apart.h"

// A communicator of consecutive world ranks.
static mlt_comm linear(mlt_rank *me, uint32_t context, int32_t rank, int32_t size, int32_t base,
                       MPI_Errhandler errhandler)
{
    return (mlt_comm){
        .magic = MLT_COMM_MAGIC,
        .context = context,
        .rank = rank,
        .size = size,
        .peers = size,
        .base = base,
        .stride = 1,
        .refs = 1,
        .errhandler = errhandler,
        .owner = me,
    };
}

void mlt_mpi_rank_open(mlt_rank *me)
{
    mlt_mpi *mpi = mlt_mpi_of(me);
    MPI_Errhandler initial = mlt_errhandler_initial();
    mpi->world =
        linear(me, MLT_CONTEXT_WORLD, me->world, (int32_t)me->worker->world_size, 0, initial);
    mpi->world.shared = mlt_mpi_worker_of(me)->world;
    mpi->world.shared->refs++;
    mlt_comm *self = mlt_mpi_self_known(me);
    if (self)
        *self = linear(me, MLT_CONTEXT_SELF, 0, 1, me->world, initial);
}

// Handles are looked at before a call is inside the gate.
mlt_comm *mlt_mpi_self_new(mlt_rank *me)
{
    mlt_mpi *mpi = mlt_mpi_of(me);
    mlt_gate *gate = mlt_thread_gate_in(me);
    mlt_comm *self = mlt_mpi_self_known(me);
    if (!self) {
        self = mlt_pool_take(&mlt_mpi_worker_of(me)->comms);
        *self = linear(me, MLT_CONTEXT_SELF, 0, 1, me->world, mlt_errhandler_initial());
        if (mpi->world.magic == 0)
            self->magic = 0;
        atomic_store_explicit(&mpi->self, self, memory_order_release);
    }
    mlt_thread_gate_out(gate);
    return self;
}

// Every rank may be the first of an agreement of its own.
static void make_agreements(mlt_mpi_worker *w, uint32_t ranks)
{
    uint32_t lists = 4;
    while (lists < ranks / 4)
        lists *= 2;
    w->agreements = mlt_xcalloc(lists, sizeof *w->agreements);
    for (uint32_t i = 0; i < lists; i++)
        mlt_list_init(&w->agreements[i]);
    w->agreement_mask = lists - 1;
}

void mlt_mpi_joined(const mlt_boot *boot)
{
    mlt_dtype_disable_long_double();
    mlt_mpi_profiling = boot->job->profile && boot->ctl >= 0;
    mlt_strict_on = mlt_mpi_settings.strict;
    bool whole = mlt_mpi_profiling || mlt_strict_on || mlt_trace_only_some;
    atomic_store_explicit(&mlt_mpi_whole_detour, whole, memory_order_relaxed);
    if (mlt_mpi_profiling || mlt_strict_on || boot->job->hosts > 1)
        mlt_mpi_take_detour(MLT_DETOUR_USUAL);
    mlt_mpi_trace_joined();
    mlt_gpu_look_for_driver();
}

static const char *name_recorded(uint16_t fn, uint8_t *holds)
{
    *holds = mlt_fn_table[fn].recorded;
    return mlt_fn_name(fn);
}

// Without mpirun there is nobody who would read it.
static void begin_recorder(mlt_worker *worker, mlt_mpi_worker *w)
{
    mlt_recorder_mode mode = (mlt_recorder_mode)mlt_mpi_settings.recorder;
    if (mode != MLT_RECORDER_OFF && worker->boot->job->launched) {
        worker->recorder =
            mlt_recorder_begin(worker->boot->job, worker->index, mode, name_recorded, MLT_FN_NAMES);
        return;
    }
    w->unread = aligned_alloc(_Alignof(mlt_recorder), sizeof(mlt_recorder));
    if (!w->unread)
        mlt_no_room("the last calls");
    memset(w->unread, 0, sizeof(mlt_recorder));
    worker->recorder = mlt_recorder_init(w->unread);
}

void mlt_mpi_worker_init(mlt_worker *worker)
{
    mlt_mpi_worker *w = mlt_os_apart_new(sizeof *w);
    mlt_mpi *ranks = mlt_os_apart_new(worker->count * sizeof *ranks);
    w->ranks = ranks;
    mlt_pool_init(&w->messages, sizeof(mlt_message), 16);
    mlt_pool_init(&w->sessions, sizeof(mlt_session), 4);
    mlt_pool_init(&w->groups, sizeof(mlt_group), 16);
    w->empty = mlt_group_new_empty(&w->groups);
    mlt_pool_init(&w->comms, sizeof(mlt_comm), 4);
    mlt_pool_init(&w->wins, sizeof(mlt_win), 4);
    w->contexts = mlt_contexts_new();
    w->world =
        mlt_comm_shared_new(NULL, mlt_map_new_linear((int32_t)worker->world_size, 0, 1), NULL);
    w->world->refs = 1;
    make_agreements(w, worker->count);
    mlt_pool_init(&w->dtypes, sizeof(mlt_dtype), 16);
    mlt_pool_init(&w->jobs, mlt_coll_job_bytes, 4);
    if (mlt_mpi_profiling)
        w->profile = mlt_profile_new();
    worker->mpi = w;
    begin_recorder(worker, w);
    mlt_coll_worker_init(worker);
    for (uint32_t i = 0; i < worker->count; i++) {
        worker->ranks[i].mpi = &ranks[i];
        mlt_list_init(&ranks[i].comms);
    }
    mlt_tool_worker_begins(worker);
    mlt_mpi_trace_worker_begins(worker);
}

void mlt_mpi_worker_fini(mlt_worker *worker)
{
    mlt_mpi_worker *w = worker->mpi;
    if (!w)
        return;
    mlt_mpi_trace_worker_ends(worker);
    mlt_profile_send(worker); // of a program that has not called MPI_Finalize
    mlt_tool_worker_ends(worker);
    mlt_dtype_worker_fini(w, worker->count);
    mlt_pool_fini(&w->dtypes);
    mlt_pool_fini(&w->messages);
    mlt_pool_fini(&w->sessions);
    mlt_map_drop(w->empty->map);
    mlt_pool_fini(&w->groups);
    mlt_maps_fini(&w->maps);
    mlt_comm_shared_drop(w->world);
    mlt_pool_fini(&w->comms);
    mlt_pool_fini(&w->wins);
    mlt_win_worker_fini(worker);
    mlt_contexts_free(w->contexts);
    free(w->errors);
    free(w->profile);
    mlt_coll_worker_fini(worker);
    mlt_pool_fini(&w->jobs);
    mlt_coll_rooms_free(w->rooms);
    free(w->agreements);
    mlt_parts_free(w->parts);
    mlt_strict_free(w->strict);
    mlt_reorder_forget(w->plans);
    mlt_os_apart_free(w->ranks);
    free(w->unread);
    mlt_os_apart_free(w);
    worker->mpi = NULL;
}
