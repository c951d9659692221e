// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/outside.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "boot/ctl.h"
#include "boot/job.h"
#include "coll/path.h"
#include "mpi/coll/change.h"
#include "mpi/comm/shared.h"
#include "mpi/self.h"

void mlt_outside_look(mlt_worker *worker)
{
    mlt_mpi_worker *w = worker->mpi;
    mlt_job *job = worker->boot->job;
    if (!w || !job->launched || job->hosts > 1)
        return; // it looks when MPI begins
    // acquire: pairs with mlt_job_want_change.
    uint32_t wanted = atomic_load_explicit(&mlt_job_board_at(job)->wanted, memory_order_acquire);
    if (wanted == w->change)
        return;
    w->change = wanted;
    atomic_store_explicit(&mlt_paths_exist, true, memory_order_relaxed);
    // release: from now on calls of its ranks come here. Pairs with all_have_looked.
    atomic_store_explicit(&mlt_job_worker_at(job, worker->index)->change, wanted,
                          memory_order_release);
}

bool mlt_outside_meets(const mlt_coll_job *job, mlt_coll_how how)
{
    const mlt_comm *comm = job->comm;
    const mlt_coll_what *what = &job->what;
    return how.way == MLT_COLL_BLOCKING && !what->plain && !comm->inter && comm->size > 1 &&
           comm->fixed_calls == 0 && comm->shared && !comm->shared->foreign &&
           (what->collective == MLT_COLL_BARRIER ||
            (what->collective == MLT_COLL_ALLREDUCE && what->count > 0));
}

static bool all_have_looked(mlt_job *job, uint32_t change)
{
    for (uint32_t i = 0; i < job->local_workers; i++) {
        const mlt_job_worker *w = mlt_job_local_at(job, i);
        // acquire: pairs with mlt_outside_look.
        if (atomic_load_explicit(&w->change, memory_order_acquire) < change &&
            mlt_job_sleep_of(w) != MLT_WORKER_ENDED)
            return false;
    }
    return true;
}

// The communicator's place on the board; NULL: it has none, and, if it is `new`, all are taken.
// Communicators of one MPI_Comm_split have the same context, and each its own first rank.
static mlt_job_slot *slot_of(mlt_job_board *board, const mlt_comm *comm, bool new)
{
    uint32_t first = (uint32_t)mlt_comm_world_rank(comm, 0);
    uint32_t at = comm->context / MLT_CONTEXTS + first;
    uint64_t key = (UINT64_C(1) + first) << 32 | comm->context;
    for (uint32_t i = 0; i < MLT_JOB_SLOTS; i++) {
        mlt_job_slot *slot = &board->slots[(at + i) % MLT_JOB_SLOTS];
        uint64_t found = atomic_load_explicit(&slot->comm, memory_order_acquire);
        // If another communicator takes it meanwhile, `found` is that one.
        if (!found && new &&atomic_compare_exchange_strong_explicit(
                          &slot->comm, &found, key, memory_order_acq_rel, memory_order_acquire))
            return slot;
        if (found == key)
            return slot;
        if (!found)
            return NULL;
    }
    return NULL;
}

void mlt_outside_decide(mlt_rank *me, const mlt_comm *comm, uint32_t call)
{
    mlt_job *job = me->worker->boot->job;
    uint32_t change = mlt_mpi_worker_of(me)->change;
    mlt_job_slot *slot = comm->rank == 0 ? slot_of(mlt_job_board_at(job), comm, true) : NULL;
    if (!slot || atomic_load_explicit(&slot->decided, memory_order_relaxed) >> 32 >= change ||
        !all_have_looked(job, change))
        return;
    // release: pairs with mlt_outside_take. The call's messages carry it to the other ranks as well.
    atomic_store_explicit(&slot->decided, (uint64_t)change << 32 | call, memory_order_release);
}

static void tell(mlt_rank *me, const mlt_comm *comm, uint32_t change, const char *why)
{
    const char *text = why[0] ? why : mlt_comm_name(me, comm);
    mlt_ctl head = {.type = MLT_CTL_CHANGED,
                    .rank = me->world,
                    .value = change,
                    .detail = why[0] != '\0',
                    .length = (uint32_t)strlen(text)};
    (void)mlt_ctl_send(me->worker->boot->ctl, &head, text); // a launcher that is gone asks nothing
}

void mlt_outside_take(mlt_rank *me, mlt_comm *comm, uint32_t call)
{
    mlt_job_board *board = mlt_job_board_at(me->worker->boot->job);
    const mlt_job_slot *slot = slot_of(board, comm, false);
    // acquire: pairs with mlt_outside_decide.
    uint64_t decided = slot ? atomic_load_explicit(&slot->decided, memory_order_acquire) : 0;
    uint32_t change = (uint32_t)(decided >> 32);
    if (!change || call <= (uint32_t)decided || !mlt_comm_rules_take(comm, change, call))
        return;
    char *file = mlt_take(MLT_JOB_FILE, 1), *why = mlt_take(MLT_CHANGE_WHY, 1);
    memcpy(file, board->files[change % MLT_JOB_FILES], MLT_JOB_FILE - 1);
    int code;
    (void)mlt_coll_load_book(me, comm, file[0] ? file : NULL, why, &code);
    if (comm->rank == 0)
        tell(me, comm, change, why);
    free(file);
    free(why);
}
