// SPDX-License-Identifier: BSD-3-Clause
// Offload: a thread of the library's own drives a rank's schedules while the rank computes.
//
// It does what a second thread of the rank would do in MPI_Wait (fiber/gate.h): parked inside the
// gate it drives progress, and lets the rank's calls in between. So only a rank that is alone in
// its worker can have it; asking for it gives the worker its gate. While nothing is under way, the
// thread sleeps outside of the gate, on a word of its own. It is made at the first start and ends
// with MPI_Finalize.
//
// Everything but the word is looked at and changed inside the gate.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"
#include "fiber/fault.h"
#include "fiber/gate.h"
#include "mpi/entry.h"
#include "mpi/error.h"
#include "mpi/goal.h"
#include "os/os.h"

enum { REST, WORK, END }; // helper.word

typedef struct mlt_goal_helper {
    pthread_t thread;
    mlt_rank *rank;
    mlt_fiber *fiber; // while it is parked inside the gate
    uint32_t watched; // runs under way
    bool rests;       // is asleep, or about to be, and counted as parked
    _Atomic uint32_t word;
} mlt_goal_helper;

// Inside the gate: until no run is under way.
static void drive(mlt_goal_helper *h)
{
    mlt_wait wait = {.call = "GOAL_Sched_start", .kind = MLT_WAIT_NONE};
    h->fiber = h->rank->fiber;
    while (h->watched > 0 && atomic_load_explicit(&h->word, memory_order_relaxed) != END)
        mlt_fiber_park(h->rank->worker->sched, &wait);
    h->fiber = NULL;
}

static void *help(void *arg)
{
    mlt_goal_helper *h = arg;
    mlt_gate *gate = h->rank->worker->sched->gate;
    uint32_t word = WORK;
    mlt_fiber_user = h->rank;
    mlt_entry_unpin(h->rank->worker->index);
    (void)!mlt_fault_thread_init(); // without it an overflow of this stack is not described
    while (word != END) {
        mlt_gate_enter(gate);
        mlt_thread_self->helper = true;
        drive(h);
        // Relaxed: the gate orders it. END stays.
        word = atomic_load_explicit(&h->word, memory_order_relaxed);
        if (word == WORK) {
            atomic_store_explicit(&h->word, REST, memory_order_relaxed);
            h->rests = true;
            mlt_threads_count_parked(true);
        }
        mlt_gate_leave(gate);
        while (word != END && (word = atomic_load_explicit(&h->word, memory_order_relaxed)) == REST)
            mlt_os_futex_wait(&h->word, REST, -1);
    }
    mlt_fault_thread_fini();
    return NULL;
}

// Counted by who wakes it: from now on it is parked no more.
static void rouse(mlt_goal_helper *h, uint32_t word)
{
    atomic_store_explicit(&h->word, word, memory_order_relaxed);
    if (h->rests) {
        h->rests = false;
        mlt_threads_count_parked(false);
        mlt_os_futex_wake(&h->word, 1);
    } else if (h->fiber) {
        mlt_fiber_wake(h->rank->worker->sched, h->fiber);
    }
}

int mlt_goal_offload_allow(mlt_rank *me, mlt_comm *comm)
{
    if (me->worker->count > 1)
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_UNSUPPORTED_OPERATION,
                             "rank %d shares its worker with %u others (-nfg), so no thread can "
                             "drive its schedules while they run; GOAL_OFFLOAD is for ranks that "
                             "are alone in their worker",
                             (int)me->world, (unsigned)(me->worker->count - 1));
    if (me->worker->sched->crew)
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_UNSUPPORTED_OPERATION,
                             "rank %d has processes (csp.h), which a thread that drives its "
                             "schedules could not wait for; GOAL_OFFLOAD is for ranks without",
                             (int)me->world);
    if (!mlt_thread_open_gate(me))
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_UNSUPPORTED_OPERATION,
                             "GOAL_OFFLOAD is set for the first time in a function that MPI calls, "
                             "and that call cannot let a thread in; set it once before, for any "
                             "schedule");
    return MPI_SUCCESS;
}

// The signals of the program are for its own threads.
static int create(pthread_t *thread, mlt_goal_helper *h)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, NULL, help, h);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

int mlt_goal_offload_begin(mlt_rank *me, struct GOAL_Sched_s *s)
{
    mlt_mpi_worker *w = mlt_mpi_worker_of(me);
    if (MLT_LIKELY(w->helper != NULL))
        return MPI_SUCCESS;
    mlt_goal_helper *h = calloc(1, sizeof *h);
    if (!h)
        return mlt_mpi_raise(me, s->comm, me->fn, MPI_ERR_NO_MEM, "memory is exhausted");
    h->rank = me;
    atomic_store_explicit(&h->word, WORK, memory_order_relaxed);
    if (create(&h->thread, h) != 0) {
        free(h);
        return mlt_mpi_raise(me, s->comm, me->fn, MPI_ERR_OTHER,
                             "the system refuses a thread for GOAL_OFFLOAD");
    }
    w->helper = h;
    return MPI_SUCCESS;
}

void mlt_goal_offload_watch(struct GOAL_Sched_s *s)
{
    mlt_goal_helper *h = mlt_mpi_worker_of(s->rank)->helper;
    s->watched = true;
    if (h->watched++ == 0 && h->rests)
        rouse(h, WORK);
}

void mlt_goal_offload_done(struct GOAL_Sched_s *s)
{
    mlt_goal_helper *h = mlt_mpi_worker_of(s->rank)->helper;
    s->watched = false;
    if (h && --h->watched == 0 && h->fiber)
        mlt_fiber_wake(s->rank->worker->sched, h->fiber);
}

void mlt_goal_offload_end(mlt_rank *me)
{
    mlt_mpi_worker *w = mlt_mpi_worker_of(me);
    mlt_goal_helper *h = w->helper;
    if (!h)
        return;
    w->helper = NULL;
    rouse(h, END);
    mlt_outside outside = mlt_thread_step_out(me);
    pthread_join(h->thread, NULL);
    mlt_thread_step_in(me, outside);
    free(h);
}
