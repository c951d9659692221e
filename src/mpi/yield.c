// SPDX-License-Identifier: BSD-3-Clause
// MPIX_Yield and the like, and FG-MPI's way to run a different function in each rank. With Millet
// every rank runs main anyway, so FGmpiexec only looks up the calling rank's function and calls it.
#include <fgmpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/export.h"
#include "boot/job.h"
#include "fiber/await.h"
#include "host/entry.h"
#include "mpi/error/error.h"
#include "mpi/self.h"
#include "mpi/thread.h"
#include "mpi_bodies.h"
#include "os/os.h"

MLT_EXPORT int MPIX_Yield(void)
{
    mlt_rank *me = mlt_rank_self();
    mlt_thread_come_back(me);
    if (me) {
        mlt_gate *gate = mlt_thread_gate_in(me);
        mlt_p2p_poll(me);
        mlt_thread_gate_out(gate);
    }
    return MPI_SUCCESS;
}

// The rank that asks. FG-MPI's bindings run before MPI_Init.
static const mlt_rank *asking(const char *function)
{
    const mlt_rank *me = mlt_entry_rank();
    if (!me)
        me = mlt_thread_rank(); // a thread that delegates its calls is no rank
    char text[128];
    snprintf(text, sizeof text, "%s was called by a thread that is no rank", function);
    if (!me)
        mlt_mpi_abort(NULL, 1, text);
    return me;
}

static int own_rank(void)
{
    return asking("FGmpiexec")->world;
}

MLT_EXPORT int MPIX_Get_collocated_size(int *size)
{
    *size = (int)asking("MPIX_Get_collocated_size")->worker->count;
    return MPI_SUCCESS;
}

MLT_EXPORT int MPIX_Get_collocated_startrank(int *rank)
{
    *rank = asking("MPIX_Get_collocated_startrank")->worker->first_rank;
    return MPI_SUCCESS;
}

MLT_EXPORT int MPIX_Get_n_size(int *size)
{
    *size = (int)asking("MPIX_Get_n_size")->worker->boot->job->workers;
    return MPI_SUCCESS;
}

MLT_EXPORT void MPIX_Usleep(unsigned long long utime)
{
    const mlt_rank *me = mlt_rank_self();
    if (me && me->worker->count > 1) {
        const mlt_wait wait = {.call = "MPIX_Usleep", .kind = MLT_WAIT_TIME};
        // Others shall run though this one sleeps again and again for no time. One that does sleep is
        // not put behind them: a rank of high priority would start late what it waits for.
        if (utime < 10)
            (void)MPIX_Yield();
        uint64_t now = mlt_os_now_ns(), most = ((uint64_t)MLT_NEVER - now) / 1000;
        mlt_await_time(me->worker->sched, &wait,
                       (int64_t)(now + 1000 * (utime < most ? utime : most)));
        return;
    }
    struct timespec left = {(time_t)(utime / 1000000), (long)(utime % 1000000) * 1000};
    while (nanosleep(&left, &left) != 0)
        ; // a signal came
}

_Static_assert(MPIX_PRIORITY_MOST == MLT_FIBER_PRIORITY_MOST, "as the scheduler's");

// That of a process of csp is its own; all threads of a rank have the rank's.
static mlt_fiber *whose_priority(mlt_rank *me)
{
    mlt_sched *sched = me->worker->sched;
    if (sched->current->pool)
        return sched->current;
    return me->worker->count > 1 ? &sched->fibers[me->world - me->worker->first_rank]
                                 : &sched->home;
}

int mlt_mpi_Set_priority(mlt_rank *me, int priority)
{
    if (priority < -MPIX_PRIORITY_MOST || priority > MPIX_PRIORITY_MOST)
        return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_ARG, "priority is %d; it is from %d to %d",
                             priority, -MPIX_PRIORITY_MOST, MPIX_PRIORITY_MOST);
    whose_priority(me)->priority = (int8_t)priority;
    return MPI_SUCCESS;
}

int mlt_mpi_Get_priority(mlt_rank *me, int *priority)
{
    *priority = whose_priority(me)->priority;
    return MPI_SUCCESS;
}

// How many ranks of the process have come to FGmpiexec, and how many are through.
static pthread_mutex_t actions = PTHREAD_MUTEX_INITIALIZER;
static uint32_t began, yield_ended;

// Bindings make no MPI calls then, so nobody is suspended while the lock is held.
static void begin_actions(FG_MapPtr_t map, int argc, char **argv)
{
    pthread_mutex_lock(&actions);
    if (began++ == 0)
        (void)map(argc, argv, MAP_INIT_ACTION);
    pthread_mutex_unlock(&actions);
}

static void end_actions(FG_MapPtr_t map, int argc, char **argv)
{
    const mlt_boot *boot = asking("FGmpiexec")->worker->boot;
    pthread_mutex_lock(&actions);
    if (++yield_ended == mlt_job_proc_at(boot->job, boot->proc)->ranks)
        (void)map(argc, argv, MAP_FINALIZE_ACTION);
    pthread_mutex_unlock(&actions);
}

static int yield_call(FG_ProcessPtr_t process, int *argc, char ***argv)
{
    if (!process)
        mlt_mpi_abort(mlt_rank_self(), 1, "FGmpiexec: the binding has no function for this rank");
    return process(*argc, *argv);
}

MLT_EXPORT int FGmpiexec_map(int *argc, char ***argv, FG_MapPtr_t map)
{
    int rank = own_rank();
    begin_actions(map, *argc, *argv);
    int status = yield_call(map(*argc, *argv, rank), argc, argv);
    end_actions(map, *argc, *argv);
    return status;
}

MLT_EXPORT int FGmpiexec_lookup(int *argc, char ***argv, LookupMapPtr_t lookup)
{
    char *name = getenv("FGMAP"), none[] = "";
    FG_MapPtr_t map = lookup(*argc, *argv, name ? name : none);
    if (!map)
        mlt_mpi_abort(mlt_rank_self(), 1,
                      "FGmpiexec: the lookup function knows no binding of this name");
    return FGmpiexec_map(argc, argv, map);
}

MLT_EXPORT int FGmpiexec_rank(int *argc, char ***argv, FG_RankMapPtr_t map)
{
    return yield_call(map(own_rank()), argc, argv);
}
