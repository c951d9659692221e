// SPDX-License-Identifier: BSD-3-Clause
// Offload: a thread of the library's own drives the schedules of a worker's ranks while they compute.
//
// It does what a second thread of a rank would do in MPI_Wait (fiber/gate.h): parked inside the
// gate it drives progress, and lets the ranks' calls in between. Asking for it gives the worker its
// gate. While nothing is under way, the thread sleeps outside of the gate, on a word of its own. It is
// made at the first start and ends with the MPI_Finalize of the last rank that has started one.
//
// Local work that takes long is done by other threads, the hands, outside of the gate: neither the
// rank's own thread nor the one that drives is held up. A hand takes a job inside the gate, does it
// outside, and comes back to tell. There are as many as jobs wait for, up to the cores.
//
// Everything except the words is looked at and changed inside the gate.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/memory.h"
#include "fiber/fault.h"
#include "fiber/gate.h"
#include "host/entry.h"
#include "mpi/error/error.h"
#include "mpi/file/file.h"
#include "mpi/goal/goal.h"
#include "os/os.h"

enum { OFFLOAD_REST, WORK, END }; // of a word
enum { MOST_HANDS = 4, FIRST_JOBS = 64 };

typedef struct nap { // of a thread of ours: it sleeps on a word while there is nothing to do
    _Atomic uint32_t word;
    bool rests; // is asleep, or about to be, and counted as parked
} nap;

typedef struct hand {
    pthread_t thread;
    struct mlt_goal_helper *helper;
    nap nap;
} hand;

typedef struct job {
    mlt_run *run;
    uint32_t offset;
} job;

typedef struct mlt_goal_helper {
    pthread_t thread;
    mlt_rank *rank;   // that made it
    uint32_t users;   // ranks that have started a schedule of theirs
    mlt_fiber *fiber; // while it is parked inside the gate
    uint32_t watched; // runs under way
    nap nap;
    job *jobs; // a ring of `room`, from `first` to `last`
    uint32_t room, first, last;
    int hands, most_hands;
    hand hand[MOST_HANDS];
} mlt_goal_helper;

// ---- resting

// Inside the gate, before it is left: there is nothing to do. The word afterwards.
static uint32_t lie_down(nap *n)
{
    // Relaxed: the gate orders it. END stays.
    uint32_t word = atomic_load_explicit(&n->word, memory_order_relaxed);
    if (word == WORK) {
        atomic_store_explicit(&n->word, OFFLOAD_REST, memory_order_relaxed);
        n->rests = true;
        mlt_threads_count_parked(true);
    }
    return word;
}

// Outside: until there is something to do.
static uint32_t sleep_on(nap *n, uint32_t word)
{
    while (word != END &&
           (word = atomic_load_explicit(&n->word, memory_order_relaxed)) == OFFLOAD_REST)
        mlt_os_futex_wait(&n->word, OFFLOAD_REST, MLT_OS_FOREVER);
    return word;
}

// Inside the gate. Wakes it, and counts it as parked no more. False: it did not sleep.
static bool rouse(nap *n, uint32_t word)
{
    atomic_store_explicit(&n->word, word, memory_order_relaxed);
    if (!n->rests)
        return false;
    n->rests = false;
    mlt_threads_count_parked(false);
    mlt_os_futex_wake(&n->word, 1);
    return true;
}

// The signals of the program are for its own threads.
static int create(pthread_t *thread, void *(*run)(void *), void *arg)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

// ---- hands

// What threads of ours do: `work` inside the gate, then rest until there is more.
static void offload_serve(mlt_goal_helper *h, nap *own, void (*work)(mlt_goal_helper *h))
{
    mlt_gate *gate = h->rank->worker->sched->gate;
    uint32_t word = WORK;
    mlt_fiber_user = h->rank;
    mlt_entry_unpin(h->rank);
    (void)!mlt_fault_thread_init(); // without it an overflow of this stack is not described
    while (word != END) {
        mlt_gate_enter(gate);
        mlt_thread_self->helper = true;
        work(h);
        word = lie_down(own);
        mlt_gate_leave(gate);
        word = sleep_on(own, word);
    }
    mlt_fault_thread_fini();
}

static void do_jobs(mlt_goal_helper *h)
{
    mlt_gate *gate = h->rank->worker->sched->gate;
    while (h->first != h->last) {
        job j = h->jobs[h->first++ % h->room];
        mlt_gate_leave(gate);
        mlt_fiber_user = j.run->place->rank;
        mlt_run_work(j.run, j.offset);
        mlt_gate_enter(gate);
        mlt_run_worked(j.run, j.offset);
    }
}

static void *lend_hand(void *arg)
{
    hand *own = arg;
    offload_serve(own->helper, &own->nap, do_jobs);
    return NULL;
}

static int add_hand(mlt_goal_helper *h)
{
    hand *new = &h->hand[h->hands];
    new->helper = h;
    atomic_store_explicit(&new->nap.word, WORK, memory_order_relaxed);
    int error = create(&new->thread, lend_hand, new);
    h->hands += error == 0;
    return error;
}

static void offload_grow(mlt_goal_helper *h)
{
    uint32_t count = h->last - h->first;
    job *jobs = mlt_xcalloc(2 * (size_t)h->room, sizeof *jobs);
    for (uint32_t i = 0; i < count; i++)
        jobs[i] = h->jobs[(h->first + i) % h->room];
    free(h->jobs);
    h->jobs = jobs;
    h->room *= 2;
    h->first = 0;
    h->last = count;
}

void mlt_goal_offload_aside(mlt_run *run, uint32_t offset)
{
    mlt_goal_helper *h = mlt_mpi_worker_of(run->place->rank)->helper;
    if (h->last - h->first == h->room)
        offload_grow(h);
    h->jobs[h->last++ % h->room] = (job){run, offset};
    for (int i = 0; i < h->hands; i++)
        if (h->hand[i].nap.rests && rouse(&h->hand[i].nap, WORK))
            return;
    if (h->hands < h->most_hands)
        (void)add_hand(h); // the others will do it too
}

// ---- the one that drives

// Inside the gate: until no run is under way.
static void drive(mlt_goal_helper *h)
{
    mlt_wait wait = {.call = "GOAL_Sched_start", .kind = MLT_WAIT_NONE};
    h->fiber = mlt_thread_self->fiber;
    while (h->watched > 0 && atomic_load_explicit(&h->nap.word, memory_order_relaxed) != END)
        mlt_gate_wait(h->rank->worker->sched->gate, &wait);
    h->fiber = NULL;
}

static void *help(void *arg)
{
    mlt_goal_helper *h = arg;
    offload_serve(h, &h->nap, drive);
    return NULL;
}

static void rouse_driver(mlt_goal_helper *h, uint32_t word)
{
    if (!rouse(&h->nap, word) && h->fiber)
        mlt_fiber_wake(h->rank->worker->sched, h->fiber);
}

int mlt_goal_offload_allow(mlt_rank *me, mlt_comm *comm)
{
    if (me->worker->sched->delegates)
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_UNSUPPORTED_OPERATION,
                             "rank %d shares its worker with %u others (-nfg), and some have asked "
                             "for MPI_THREAD_SERIALIZED or more; then no thread of the library's "
                             "can drive their schedules",
                             (int)me->world, (unsigned)(me->worker->count - 1));
    if (me->worker->sched->pool)
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_UNSUPPORTED_OPERATION,
                             "rank %d has processes (csp.h), which a thread that drives its "
                             "schedules could not wait for; GOAL_OFFLOAD is for ranks without",
                             (int)me->world);
    if (!me->worker->sched->gate && mlt_file_service_is_busy(me))
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_UNSUPPORTED_OPERATION,
                             "GOAL_OFFLOAD is set for the first time while a file of rank %d is "
                             "or of another rank of its worker is read or written, which its own "
                             "thread must finish; wait for that before",
                             (int)me->world);
    if (!mlt_thread_open_gate(me))
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_UNSUPPORTED_OPERATION,
                             "GOAL_OFFLOAD is set for the first time while a rank of the worker is "
                             "in a function that MPI calls, and that call cannot let a thread in; "
                             "set it once before, for any schedule");
    return MPI_SUCCESS;
}

// At the first start of a schedule: the thread that drives, and one hand.
static bool make_threads(mlt_goal_helper *h)
{
    if (create(&h->thread, help, h) != 0)
        return false;
    if (add_hand(h) == 0)
        return true;
    rouse_driver(h, END);
    mlt_outside outside = mlt_thread_step_out(h->rank);
    pthread_join(h->thread, NULL);
    mlt_thread_step_in(h->rank, outside);
    return false;
}

static int helper_use(mlt_rank *me, mlt_goal_helper *h)
{
    mlt_mpi_of(me)->offloads = true;
    h->users++;
    return MPI_SUCCESS;
}

int mlt_goal_offload_begin(mlt_rank *me, struct GOAL_Sched_s *s)
{
    mlt_mpi_worker *w = mlt_mpi_worker_of(me);
    if (MLT_LIKELY(mlt_mpi_of(me)->offloads))
        return MPI_SUCCESS;
    if (w->helper)
        return helper_use(me, w->helper);
    mlt_goal_helper *h = mlt_xcalloc(1, sizeof *h);
    h->rank = me;
    h->room = FIRST_JOBS;
    h->jobs = mlt_xcalloc(h->room, sizeof *h->jobs);
    h->most_hands = mlt_os_cores() < MOST_HANDS ? mlt_os_cores() : MOST_HANDS;
    atomic_store_explicit(&h->nap.word, WORK, memory_order_relaxed);
    if (!make_threads(h)) {
        free(h->jobs);
        free(h);
        return mlt_mpi_raise(me, s->comm, me->fn, MPI_ERR_OTHER,
                             "the system refuses a thread for GOAL_OFFLOAD");
    }
    w->helper = h;
    return helper_use(me, h);
}

void mlt_goal_offload_watch(struct GOAL_Sched_s *s)
{
    mlt_goal_helper *h = mlt_mpi_worker_of(s->rank)->helper;
    s->watched = true;
    if (h->watched++ == 0 && h->nap.rests)
        rouse_driver(h, WORK);
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
    if (!mlt_mpi_of(me)->offloads)
        return;
    mlt_mpi_of(me)->offloads = false;
    if (--h->users > 0)
        return;
    w->helper = NULL;
    rouse_driver(h, END);
    for (int i = 0; i < h->hands; i++)
        rouse(&h->hand[i].nap, END);
    mlt_outside outside = mlt_thread_step_out(me);
    pthread_join(h->thread, NULL);
    for (int i = 0; i < h->hands; i++)
        pthread_join(h->hand[i].thread, NULL);
    mlt_thread_step_in(me, outside);
    free(h->jobs);
    free(h);
}
