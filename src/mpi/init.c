// SPDX-License-Identifier: BSD-3-Clause
// The beginning and the end of MPI in a rank.
#include <stdio.h>

#include "host/entry.h"
#include "host/libc/getopt.h"
#include "mpi/coll/coll.h"
#include "mpi/comm/shared.h"
#include "mpi/dyn/parent.h"
#include "mpi/error/error.h"
#include "mpi/file/file.h"
#include "mpi/goal/goal.h"
#include "mpi/p2p/buffer.h"
#include "mpi/profile.h"
#include "mpi/self.h"
#include "mpi/stream/stream.h"
#include "mpi/strict.h"
#include "mpi/thread.h"
#include "mpi_bodies.h"

static int open_rank(mlt_rank *me, uint16_t fn, int required)
{
    mlt_mpi *mpi = mlt_mpi_of(me);
    if (mpi->inited)
        return mlt_mpi_raise(me, NULL, fn, MPI_ERR_OTHER,
                             mpi->finalized ? "MPI cannot be initialised again after MPI_Finalize"
                                            : "MPI is initialised already; a program does it once");
    mlt_mpi_rank_open(me);
    bool inside = me->worker->sched->gate; // the call has come through it
    mpi->provided = (uint16_t)mlt_thread_grant(me, required);
    mlt_thread_ready(me);
    mpi->inited = true;
    mlt_entry_count_init();
    mlt_gate *gate = inside ? NULL : mlt_thread_gate_in(me); // it may wait there, as any call
    int code = me->worker->boot->parent ? mlt_dyn_connect_parent(me, fn) : MPI_SUCCESS;
    mlt_thread_gate_out(gate);
    return code;
}

static int init(mlt_rank *me, uint16_t fn, int required)
{
    mlt_first first;
    me = mlt_thread_first_begin(me, fn, &first);
    int code = open_rank(me, fn, required);
    mlt_thread_first_end(&first);
    if (code == MPI_SUCCESS)
        mlt_getopt_init_done(me);
    return code;
}

int mlt_mpi_Init(mlt_rank *me, int *argc, char ***argv)
{
    return init(me, MLT_FN_Init, MPI_THREAD_SINGLE);
}

int mlt_mpi_Init_thread(mlt_rank *me, int *argc, char ***argv, int required, int *provided)
{
    int code = init(me, MLT_FN_Init_thread, required);
    if (code == MPI_SUCCESS)
        *provided = mlt_mpi_of(mlt_rank_self())->provided;
    return code;
}

// A thread that belongs to no rank asks for the process.
int mlt_mpi_Initialized(mlt_rank *me, int *flag)
{
    const mlt_rank *rank = me ? me : mlt_thread_rank();
    *flag = rank ? mlt_mpi_of(rank)->inited : mlt_entry_any_inited();
    return MPI_SUCCESS;
}

int mlt_mpi_Finalized(mlt_rank *me, int *flag)
{
    const mlt_rank *rank = me ? me : mlt_thread_rank();
    *flag = rank ? mlt_mpi_of(rank)->finalized : mlt_entry_all_finalized();
    return MPI_SUCCESS;
}

int mlt_mpi_Query_thread(mlt_rank *me, int *provided)
{
    const mlt_rank *rank = me ? me : mlt_thread_rank();
    if (rank ? !mlt_thread_is_ready(rank) : !mlt_entry_any_inited())
        return mlt_mpi_not_ready(MLT_FN_Query_thread);
    *provided = rank ? mlt_mpi_of(rank)->provided : MPI_THREAD_FUNNELED;
    return MPI_SUCCESS;
}

int mlt_mpi_Is_thread_main(mlt_rank *me, int *flag)
{
    *flag = me && mlt_mpi_of(me)->inited && mlt_thread_is_main(me) &&
            !mlt_delegate_runs(me->worker->sched);
    return MPI_SUCCESS;
}

void mlt_mpi_drain_sends(mlt_rank *me)
{
    mlt_wait wait = {.call = mlt_mpi_call(me), .kind = MLT_WAIT_OTHER};
    const mlt_sched *sched = me->worker->sched;
    if (sched->current->pool ||
        mlt_delegate_runs(sched)) { // a process or a thread of the rank's: nobody would wake it
        while (me->sends_open > 0)
            mlt_p2p_poll(me);
        return;
    }
    me->drains = true;
    me->worker->drainer = me->worker->sched->gate && me->worker->sched->solo ? me->fiber : NULL;
    while (me->sends_open > 0)
        mlt_fiber_park(me->worker->sched, &wait);
    me->drains = false;
}

// The attributes of MPI_COMM_SELF are deleted before anything else ends, so that libraries clean up
// while MPI still works; then the world's. A delete function that fails does not stop the others;
// the first one's code is returned.
static int delete_attributes(mlt_rank *me, mlt_comm *comm)
{
    int first = MPI_SUCCESS, code;
    while (comm->extra && (code = mlt_attrs_delete_all(me, MLT_ATTR_COMM, mlt_comm_handle(me, comm),
                                                       &comm->extra->attrs)) != MPI_SUCCESS) {
        mlt_attrs_forget_last(&comm->extra->attrs);
        mlt_attrs_raise(me, comm, code);
        first = first == MPI_SUCCESS ? code : first;
    }
    return first;
}

// Communicators that the user did not free go without their delete functions; those of a session
// are none of MPI_Init's, and live on with it.
static void close_comms(mlt_rank *me)
{
    mlt_mpi *mpi = mlt_mpi_of(me);
    MLT_LIST_EACH_SAFE(mlt_comm, comm, &mpi->comms, link) {
        if (comm->magic == 0 || // freed: the last request under way takes it along
            (comm->extra && comm->extra->session))
            continue;
        comm->magic = 0;
        mlt_comm_drop(comm);
    }
    mlt_comm_close(&mpi->world);
    mlt_comm *self = mlt_mpi_self_known(me);
    if (self)
        mlt_comm_close(self);
}

int mlt_mpi_Finalize(mlt_rank *me)
{
    mlt_mpi *mpi = mlt_mpi_of(me);
    if (!mpi->inited || mpi->finalized)
        return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_OTHER,
                             mpi->inited ? "MPI is finalised already" : "MPI was not initialised");
    mlt_comm *self = mlt_mpi_self_known(me);
    int code = self ? delete_attributes(me, self) : MPI_SUCCESS;
    int other = delete_attributes(me, &mpi->world);
    code = code == MPI_SUCCESS ? other : code;
    MPI_Errhandler handler = mpi->world.errhandler; // it goes with the communicator
    if (mpi->sessions == 0) {                       // else the last one's end
        mlt_stream_end(me);
        mlt_goal_offload_end(me);
    }
    if (mlt_strict_on)
        mlt_strict_look(me);
    // What was sent to other jobs needs its connection before the communicators go, and their bonds.
    if (me->worker->abroad)
        mlt_p2p_let_go(me->worker);
    close_comms(me);
    if (me->own)
        mlt_file_rank_ends(me);
    mlt_bsend_drop(me, &mpi->buffer);
    mlt_mpi_drain_sends(me);
    // A worker must answer its peers (a cancelled send asks for an answer) until all have come
    // here.
    if (++mlt_mpi_worker_of(me)->finalized == me->worker->count) {
        mlt_agreement_workers(me);
        other = mlt_coll_look_for_lost(me, handler);
        code = code == MPI_SUCCESS ? other : code;
        if (mlt_strict_on)
            mlt_strict_tell(me->worker);
        mlt_profile_send(me->worker);
        mlt_coll_tell(me->worker);
    }
    mpi->finalized = true;
    if (mpi->sessions == 0)
        mlt_life_set(me, MLT_LIFE_DONE);
    mlt_entry_count_final();
    return code;
}

static _Noreturn void end_job(mlt_rank *me, const char *comm, int errorcode)
{
    char text[256];
    snprintf(text, sizeof text, "called MPI_Abort(%s, %d)", comm, errorcode);
    // The shell sees eight bits of it, and must see that it failed.
    mlt_mpi_abort(me, errorcode & 0xff ? errorcode & 0xff : 1, text);
}

int mlt_mpi_Abort(mlt_rank *me, mlt_comm *comm, int errorcode)
{
    end_job(me, mlt_comm_name(me, comm), errorcode);
}

void mlt_thread_aborts(MPI_Comm comm, int errorcode)
{
    mlt_rank *rank = mlt_thread_moving_rank();
    if (rank)
        end_job(rank, comm == MPI_COMM_WORLD ? "MPI_COMM_WORLD" : "a communicator", errorcode);
}
