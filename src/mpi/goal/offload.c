// SPDX-License-Identifier: BSD-3-Clause
// Offload: the worker's driver (mpi/helper.h) drives the schedules of its ranks while they compute. It is
// held from the first start on, until the MPI_Finalize of the last rank that has started one.
//
// Local work that takes long is done by other helpers, the hands, outside of the gate: neither the
// rank's own thread nor the driver is held up. A hand takes a job inside the gate, does it
// outside, and comes back to tell. There are as many as jobs wait for, up to the cores.
//
// Everything is looked at and changed inside the gate.
#include <stdlib.h>

#include "base/memory.h"
#include "fiber/gate.h"
#include "mpi/error/error.h"
#include "mpi/goal/goal.h"
#include "mpi/helper.h"
#include "os/os.h"

enum { MOST_HANDS = 4, FIRST_JOBS = 64 };

typedef struct hand {
    mlt_helper helper;
    struct mlt_goal_offload *of;
} hand;

typedef struct job {
    mlt_run *run;
    uint32_t offset;
} job;

typedef struct mlt_goal_offload {
    mlt_rank *rank; // that made it
    uint32_t users; // ranks that have started a schedule of theirs
    job *jobs;      // a ring of `room`, from `first` to `last`
    uint32_t room, first, last;
    int hands, most_hands;
    hand hand[MOST_HANDS];
} mlt_goal_offload;

// ---- hands

static void do_jobs(mlt_helper *helper)
{
    mlt_goal_offload *o = mlt_container_of(helper, hand, helper)->of;
    mlt_gate *gate = o->rank->worker->sched->gate;
    while (o->first != o->last) {
        job j = o->jobs[o->first++ % o->room];
        mlt_gate_leave(gate);
        mlt_fiber_user = j.run->place->rank;
        mlt_run_work(j.run, j.offset);
        mlt_gate_enter(gate);
        mlt_run_worked(j.run, j.offset);
    }
}

static bool add_hand(mlt_goal_offload *o)
{
    hand *new = &o->hand[o->hands];
    new->of = o;
    bool made = mlt_helper_start(&new->helper, o->rank, do_jobs);
    o->hands += made;
    return made;
}

static void offload_grow(mlt_goal_offload *o)
{
    uint32_t count = o->last - o->first;
    job *jobs = mlt_xcalloc(2 * (size_t)o->room, sizeof *jobs);
    for (uint32_t i = 0; i < count; i++)
        jobs[i] = o->jobs[(o->first + i) % o->room];
    free(o->jobs);
    o->jobs = jobs;
    o->room *= 2;
    o->first = 0;
    o->last = count;
}

void mlt_goal_offload_aside(mlt_run *run, uint32_t offset)
{
    mlt_goal_offload *o = mlt_mpi_worker_of(run->place->rank)->offload;
    if (o->last - o->first == o->room)
        offload_grow(o);
    o->jobs[o->last++ % o->room] = (job){run, offset};
    for (int i = 0; i < o->hands; i++)
        if (o->hand[i].helper.rests && mlt_helper_rouse(&o->hand[i].helper))
            return;
    if (o->hands < o->most_hands)
        (void)add_hand(o); // the others will do it too
}

// ---- the driver

int mlt_goal_offload_allow(mlt_rank *me, mlt_comm *comm)
{
    return mlt_helper_allow(me, comm, "GOAL_OFFLOAD");
}

static void offload_free(mlt_goal_offload *o)
{
    free(o->jobs);
    free(o);
}

static int offload_use(mlt_rank *me, mlt_goal_offload *o)
{
    mlt_mpi_of(me)->offloads = true;
    o->users++;
    return MPI_SUCCESS;
}

int mlt_goal_offload_begin(mlt_rank *me, struct GOAL_Sched_s *s)
{
    mlt_mpi_worker *w = mlt_mpi_worker_of(me);
    if (MLT_LIKELY(mlt_mpi_of(me)->offloads))
        return MPI_SUCCESS;
    if (w->offload)
        return offload_use(me, w->offload);
    mlt_goal_offload *o = mlt_xcalloc(1, sizeof *o);
    o->rank = me;
    o->room = FIRST_JOBS;
    o->jobs = mlt_xcalloc(o->room, sizeof *o->jobs);
    o->most_hands = mlt_os_cores() < MOST_HANDS ? mlt_os_cores() : MOST_HANDS;
    bool drives = mlt_driver_hold(me);
    if (!drives || !add_hand(o)) {
        if (drives)
            mlt_driver_drop(me);
        offload_free(o);
        return mlt_mpi_raise(me, s->comm, me->fn, MPI_ERR_OTHER,
                             "the system refuses a thread for GOAL_OFFLOAD");
    }
    w->offload = o;
    return offload_use(me, o);
}

void mlt_goal_offload_watch(struct GOAL_Sched_s *s)
{
    s->watched = true;
    mlt_driver_watch(s->rank);
}

void mlt_goal_offload_done(struct GOAL_Sched_s *s)
{
    s->watched = false;
    mlt_driver_unwatch(s->rank);
}

void mlt_goal_offload_end(mlt_rank *me)
{
    mlt_mpi_worker *w = mlt_mpi_worker_of(me);
    mlt_goal_offload *o = w->offload;
    if (!mlt_mpi_of(me)->offloads)
        return;
    mlt_mpi_of(me)->offloads = false;
    if (--o->users > 0)
        return;
    w->offload = NULL;
    for (int i = 0; i < o->hands; i++)
        mlt_helper_end(&o->hand[i].helper);
    mlt_driver_drop(me);
    for (int i = 0; i < o->hands; i++)
        mlt_helper_join(&o->hand[i].helper, me);
    offload_free(o);
}
