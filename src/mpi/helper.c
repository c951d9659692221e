// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/helper.h"

#include <signal.h>
#include <stdlib.h>

#include "base/memory.h"
#include "fiber/fault.h"
#include "fiber/gate.h"
#include "host/entry.h"
#include "mpi/error/error.h"
#include "mpi/file/file.h"
#include "mpi/self.h"
#include "mpi/thread.h"
#include "os/os.h"

enum { HELPER_RESTS, HELPER_WORKS, HELPER_ENDS }; // of a word

int mlt_helper_allow(mlt_rank *me, mlt_comm *comm, const char *what)
{
    if (me->worker->sched->delegates)
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_UNSUPPORTED_OPERATION,
                             "rank %d shares its worker with %u others (-nfg), and some have asked "
                             "for MPI_THREAD_SERIALIZED or more; then no thread of the library's "
                             "can act for them, as %s needs",
                             (int)me->world, (unsigned)(me->worker->count - 1), what);
    if (me->worker->sched->pool)
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_UNSUPPORTED_OPERATION,
                             "rank %d has processes (csp.h), which a thread of the library's could "
                             "not wait for; %s is for ranks without",
                             (int)me->world, what);
    if (!me->worker->sched->gate && mlt_file_service_is_busy(me))
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_UNSUPPORTED_OPERATION,
                             "%s comes for the first time while a file of rank %d is or of another "
                             "rank of its worker is read or written, which its own thread must "
                             "finish; wait for that before",
                             what, (int)me->world);
    if (!mlt_thread_open_gate(me))
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_UNSUPPORTED_OPERATION,
                             "%s comes for the first time while a rank of the worker is in a "
                             "function that MPI calls, and that call cannot let a thread in; use "
                             "it once before",
                             what);
    return MPI_SUCCESS;
}

// ---- resting

// Before the gate is left: there is nothing to do. The word afterwards.
static uint32_t lie_down(mlt_helper *h)
{
    // Relaxed: the gate orders it. ENDS stays.
    uint32_t word = atomic_load_explicit(&h->word, memory_order_relaxed);
    if (word == HELPER_WORKS) {
        atomic_store_explicit(&h->word, HELPER_RESTS, memory_order_relaxed);
        h->rests = true;
        mlt_threads_count_parked(true);
    }
    return word;
}

// Outside: until there is something to do.
static uint32_t sleep_on(mlt_helper *h, uint32_t word)
{
    while (word != HELPER_ENDS &&
           (word = atomic_load_explicit(&h->word, memory_order_relaxed)) == HELPER_RESTS)
        mlt_os_futex_wait(&h->word, HELPER_RESTS, MLT_OS_FOREVER);
    return word;
}

// Wakes it, and counts it as parked no more. False: it did not sleep.
static bool rouse(mlt_helper *h, uint32_t word)
{
    atomic_store_explicit(&h->word, word, memory_order_relaxed);
    if (!h->rests)
        return false;
    h->rests = false;
    mlt_threads_count_parked(false);
    mlt_os_futex_wake(&h->word, 1);
    return true;
}

bool mlt_helper_rouse(mlt_helper *helper)
{
    return rouse(helper, HELPER_WORKS);
}

void mlt_helper_end(mlt_helper *helper)
{
    (void)rouse(helper, HELPER_ENDS);
}

bool mlt_helper_ends(const mlt_helper *helper)
{
    return atomic_load_explicit(&helper->word, memory_order_relaxed) == HELPER_ENDS;
}

// ---- the thread

int mlt_helper_thread(pthread_t *thread, void *(*run)(void *), void *arg)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static void *helper_serve(void *arg)
{
    mlt_helper *h = arg;
    mlt_gate *gate = h->rank->worker->sched->gate;
    uint32_t word = HELPER_WORKS;
    mlt_fiber_user = h->rank;
    mlt_entry_unpin(h->rank);
    (void)!mlt_fault_thread_init(); // without it an overflow of this stack is not described
    while (word != HELPER_ENDS) {
        mlt_gate_enter(gate);
        mlt_thread_self->helper = true;
        h->work(h);
        word = lie_down(h);
        mlt_gate_leave(gate);
        word = sleep_on(h, word);
    }
    mlt_fault_thread_fini();
    return NULL;
}

bool mlt_helper_start(mlt_helper *helper, mlt_rank *me, void (*work)(mlt_helper *helper))
{
    helper->rank = me;
    helper->work = work;
    helper->rests = false;
    atomic_store_explicit(&helper->word, HELPER_WORKS,
                          memory_order_relaxed); // before its thread is
    return mlt_helper_thread(&helper->thread, helper_serve, helper) == 0;
}

void mlt_helper_join(mlt_helper *helper, mlt_rank *me)
{
    mlt_outside outside = mlt_thread_step_out(me);
    pthread_join(helper->thread, NULL);
    mlt_thread_step_in(me, outside);
}

// ---- the driver

typedef struct mlt_driver {
    mlt_helper helper;
    uint32_t users;
    uint32_t watched; // what is under way
    mlt_fiber *fiber; // while it is parked inside the gate
} mlt_driver;

// Until nothing is under way.
static void drive(mlt_helper *helper)
{
    mlt_driver *d = mlt_container_of(helper, mlt_driver, helper);
    mlt_wait wait = {.call = "progress", .kind = MLT_WAIT_NONE};
    d->fiber = mlt_thread_self->fiber;
    while (d->watched > 0 && !mlt_helper_ends(helper))
        mlt_gate_wait(helper->rank->worker->sched->gate, &wait);
    d->fiber = NULL;
}

static mlt_driver *driver_of(const mlt_rank *me)
{
    return mlt_mpi_worker_of(me)->driver;
}

bool mlt_driver_hold(mlt_rank *me)
{
    mlt_driver *d = driver_of(me);
    if (!d) {
        d = mlt_xcalloc(1, sizeof *d);
        if (!mlt_helper_start(&d->helper, me, drive)) {
            free(d);
            return false;
        }
        mlt_mpi_worker_of(me)->driver = d;
    }
    d->users++;
    return true;
}

void mlt_driver_drop(mlt_rank *me)
{
    mlt_driver *d = driver_of(me);
    if (--d->users > 0)
        return;
    mlt_mpi_worker_of(me)->driver = NULL;
    mlt_helper_end(&d->helper);
    if (d->fiber)
        mlt_fiber_wake(me->worker->sched, d->fiber);
    mlt_helper_join(&d->helper, me);
    free(d);
}

void mlt_driver_watch(const mlt_rank *me)
{
    mlt_driver *d = driver_of(me);
    if (d->watched++ == 0 && d->helper.rests)
        (void)mlt_helper_rouse(&d->helper);
}

void mlt_driver_unwatch(const mlt_rank *me)
{
    mlt_driver *d = driver_of(me);
    if (d && --d->watched == 0 && d->fiber)
        mlt_fiber_wake(me->worker->sched, d->fiber);
}
