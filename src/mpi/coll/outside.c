// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/outside.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "boot/board.h"
#include "boot/ctl.h"
#include "boot/job.h"
#include "coll/path.h"
#include "mpi/coll/change.h"
#include "mpi/self.h"

void mlt_outside_look(mlt_worker *worker)
{
    mlt_mpi_worker *w = worker->mpi;
    mlt_job *job = worker->boot->job;
    if (!w || !job->launched)
        return; // it looks when MPI begins
    // acquire: pairs with mlt_job_want_rules.
    uint32_t wanted =
        atomic_load_explicit(&mlt_job_board_at(job)->rules_wanted, memory_order_acquire);
    if (wanted == w->change)
        return;
    w->change = wanted;
    atomic_store_explicit(&mlt_coll_closely, true, memory_order_relaxed);
    // release: from now on calls of its ranks come here. Pairs with mlt_board_looked.
    atomic_store_explicit(&mlt_job_worker_at(job, worker->index)->rules_seen, wanted,
                          memory_order_release);
}

bool mlt_outside_meets(const mlt_coll_job *job, const mlt_how *how)
{
    const mlt_comm *comm = job->comm;
    const mlt_coll_what *what = &job->what;
    return !how && !what->plain && !comm->inter && comm->size > 1 && comm->fixed_calls == 0 &&
           comm->shared && !comm->shared->foreign &&
           (what->collective == MLT_COLL_BARRIER ||
            (what->collective == MLT_COLL_ALLREDUCE && what->count > 0));
}

static uint64_t key_of(const mlt_comm *comm)
{
    return mlt_board_key((uint32_t)mlt_comm_world_rank(comm, 0), comm->context);
}

// Agents put it on the boards of all hosts; the rank waits until they have.
static void decide_over_hosts(mlt_rank *me, mlt_job_board *board, uint64_t key, uint64_t word)
{
    const uint64_t words[] = {key, word}; // mlt_decision
    mlt_ctl head = {.type = MLT_CTL_CHANGED,
                    .rank = me->world,
                    .value = (int64_t)(word >> 32),
                    .detail = MLT_CTL_DECIDES,
                    .length = sizeof words};
    if (mlt_board_word(board, MLT_BOARD_FULL) ||
        mlt_ctl_send(me->worker->boot->ctl, &head, words) != MLT_OK)
        return;
    while (mlt_board_word(board, MLT_BOARD_ANSWERS | key) != word &&
           !mlt_board_word(board, MLT_BOARD_FULL))
        mlt_p2p_poll(me);
}

void mlt_outside_decide(mlt_rank *me, const mlt_comm *comm, uint32_t call)
{
    mlt_job *job = me->worker->boot->job;
    mlt_job_board *board = mlt_job_board_at(job);
    uint32_t change = mlt_mpi_worker_of(me)->change;
    uint64_t key = key_of(comm), word = (uint64_t)change << 32 | call;
    bool over_hosts = job->hosts > 1;
    if (comm->rank != 0 || mlt_board_word(board, key) >> 32 >= change ||
        (over_hosts ? mlt_board_word(board, MLT_BOARD_KNOWN) < change
                    : !mlt_board_looked(job, change)))
        return;
    // Its release pairs with mlt_outside_take. The call's messages carry it to the other ranks as well.
    if (over_hosts)
        decide_over_hosts(me, board, key, word);
    else
        (void)!mlt_board_write(board, key, word); // no room: it keeps its rules
}

static void outside_tell(mlt_rank *me, const mlt_comm *comm, uint32_t change, const char *why)
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
    uint64_t decided = mlt_board_word(board, key_of(comm)); // pairs with mlt_outside_decide
    uint32_t change = (uint32_t)(decided >> 32);
    if (!change || call <= (uint32_t)decided || !mlt_comm_rules_take(comm, change, call))
        return;
    char *file = mlt_xcalloc(MLT_JOB_RULES_PATH, 1), *why = mlt_xcalloc(MLT_CHANGE_WHY, 1);
    memcpy(file, board->rule_files[change % MLT_JOB_RULE_FILES], MLT_JOB_RULES_PATH - 1);
    int code;
    (void)mlt_coll_load_rulebook(me, comm, file[0] ? file : NULL, why, &code);
    if (comm->rank == 0)
        outside_tell(me, comm, change, why);
    free(file);
    free(why);
}
