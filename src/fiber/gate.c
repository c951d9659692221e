// SPDX-License-Identifier: BSD-3-Clause
// The lock's word:
//
//     FREE --enter--> HELD --leave--> FREE
//                       \--somebody sleeps--> WANTED --leave--> FREE or HANDED, and a wake
//     HANDED: given to the threads that wait; late comers find it taken
//
// acquire when it is taken, release when it is left: what one thread did inside, the next one sees.
#include "fiber/gate.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/log.h"
#include "base/memory.h"
#include "fiber/deep.h"
#include "os/jitter.h"
#include "os/os.h"

enum { FREE, HELD, WANTED, HANDED };

enum {
    GATE_SPINS = 300, // looks before a thread sleeps: a call inside is shorter than a sleep
    PATIENCE = 8,     // of so many times that it is left while threads sleep, one hands it over
};

_Thread_local mlt_thread *mlt_thread_self __attribute__((tls_model("initial-exec")));

// ---- All threads of the process

// Low half: threads that are parked; high half: changes, so that two equal looks enclose a time in
// which nothing changed.
static _Atomic uint64_t parked;

static const uint64_t ONE_CHANGE = UINT64_C(1) << 32;

void mlt_threads_count_parked(bool parks)
{
    atomic_fetch_add(&parked, parks ? ONE_CHANGE + 1 : ONE_CHANGE - 1);
}

bool mlt_threads_all_parked(void)
{
    uint64_t before = atomic_load(&parked);
    int threads = mlt_os_threads();
    return atomic_load(&parked) == before && threads > 0 && (uint32_t)before == (uint32_t)threads;
}

// ---- The lock

static bool change(mlt_gate *gate, uint32_t from, uint32_t to, memory_order order)
{
    return atomic_compare_exchange_strong_explicit(&gate->word, &from, to, order,
                                                   memory_order_relaxed);
}

// Relaxed: a thread that is not seen now is seen next time. A thread that is seen does wait: it
// left the count before it left the gate.
static inline bool gate_is_wanted(const mlt_gate *gate)
{
    return atomic_load_explicit(&gate->want, memory_order_relaxed) > 0;
}

static inline bool is_handed(const mlt_gate *gate)
{
    return atomic_load_explicit(&gate->word, memory_order_relaxed) == HANDED;
}

static void unlock(mlt_gate *gate)
{
    if (change(gate, HELD, FREE, memory_order_release))
        return;
    bool hand = ++gate->passed % PATIENCE == 0 && gate_is_wanted(gate);
    atomic_store_explicit(&gate->word, hand ? HANDED : FREE, memory_order_release);
    mlt_jitter();
    mlt_os_futex_wake(&gate->word, 1);
}

static MLT_COLD void lock_slowly(mlt_gate *gate)
{
    atomic_fetch_add_explicit(&gate->want, 1, memory_order_relaxed);
    for (uint32_t n = 0;; n++) {
        uint32_t word = atomic_load_explicit(&gate->word, memory_order_relaxed);
        // A thread that has slept cannot know whether others still do.
        if (word == FREE &&
            change(gate, FREE, n < GATE_SPINS ? HELD : WANTED, memory_order_acquire))
            break;
        if (word == HANDED && change(gate, HANDED, WANTED, memory_order_acquire))
            break;
        if (n < GATE_SPINS)
            mlt_arch_pause();
        else if (word == WANTED ||
                 (word == HELD && change(gate, HELD, WANTED, memory_order_relaxed))) {
            mlt_jitter();
            mlt_os_futex_wait(&gate->word, WANTED, MLT_OS_FOREVER);
        }
    }
    atomic_fetch_sub_explicit(&gate->want, 1, memory_order_relaxed);
}

static void lock(mlt_gate *gate)
{
    if (!change(gate, FREE, HELD, memory_order_acquire))
        lock_slowly(gate);
}

static void come_in(mlt_gate *gate, mlt_thread *self)
{
    lock(gate);
    self->inside = true;
    if (!gate->sched->solo)
        return;
    gate->sched->current = self->fiber;
    *gate->conf.running = self->fiber;
}

// Takes a sleeping thread out of its sleep. The waker counts it as awake: a thread that was woken
// is parked no more, even before the system lets it run.
static void rouse(mlt_thread *thread)
{
    mlt_list_remove(&thread->sleeping);
    thread->sleeps = MLT_THREAD_AWAKE;
    mlt_threads_count_parked(false);
    atomic_store_explicit(&thread->turn, 1, memory_order_relaxed); // the gate orders the rest
    mlt_jitter();
    mlt_os_futex_wake(&thread->turn, 1);
}

static void wake_sleeper(mlt_gate *gate, mlt_thread *thread)
{
    if (thread->sleeps == MLT_THREAD_ON_TURN)
        rouse(thread);
    else if (thread->sleeps == MLT_THREAD_ON_OWNER)
        gate->conf.kick(gate->conf.arg);
}

static void go_out(mlt_gate *gate)
{
    // The driver went to sleep before this work came up, and only it will look after it.
    if (MLT_UNLIKELY(gate->driver && gate->driver->sleeps != MLT_THREAD_AWAKE) &&
        gate->driver != mlt_thread_self && gate->conf.needs(gate->conf.arg))
        wake_sleeper(gate, gate->driver);
    mlt_thread_self->inside = false;
    unlock(gate);
}

// The worker's own thread, which runs fibers.
static inline bool runs_fibers(const mlt_gate *gate, const mlt_thread *thread)
{
    return thread == &gate->home && !gate->sched->solo;
}

bool mlt_gate_let_in(mlt_gate *gate)
{
    if (MLT_LIKELY(!gate_is_wanted(gate)))
        return true;
    mlt_jitter();
    if (atomic_exchange_explicit(&gate->word, HANDED, memory_order_release) == WANTED)
        mlt_os_futex_wake(&gate->word, 1);
    for (uint32_t n = 0; is_handed(gate) && gate_is_wanted(gate); n++) {
        if (n < GATE_SPINS)
            mlt_arch_pause();
        else
            mlt_os_yield(); // one of them was woken, and may need this core
    }
    come_in(gate, mlt_thread_self);
    if (runs_fibers(gate, mlt_thread_self))
        return gate->sched->runnable == 0;
    return mlt_thread_self->fiber->state == MLT_FIBER_PARKED;
}

bool mlt_gate_driver_blocks(const mlt_gate *gate)
{
    const mlt_thread *driver = gate->driver;
    return driver && driver != mlt_thread_self && driver->sleeps == MLT_THREAD_ON_OWNER;
}

void mlt_gate_yield(mlt_gate *gate)
{
    go_out(gate);
    mlt_os_yield();
    come_in(gate, mlt_thread_self);
}

// ---- Threads

static pthread_key_t gate_end_key;

static void gate_release(mlt_gate *gate)
{
    // acq_rel: the last one frees after everybody's last use.
    if (atomic_fetch_sub_explicit(&gate->holders, 1, memory_order_acq_rel) == 1)
        free(gate);
}

static void gate_thread_ends(void *record)
{
    mlt_thread *self = record;
    mlt_gate *gate = self->gate;
    lock(gate); // not more: the worker may be gone
    mlt_list_remove(&self->all);
    unlock(gate);
    mlt_thread_self = NULL;
    free(self);
    gate_release(gate);
}

// When the library is loaded: a key that is made while ranks run would be one of the rank's own
// (host/libc/keys.h).
__attribute__((constructor)) static void gate_make_key(void)
{
    if (pthread_key_create(&gate_end_key, gate_thread_ends) != 0)
        mlt_fatal("the system refuses a key for the ends of threads");
}

// The first entry of a thread. It is not inside yet.
static MLT_COLD mlt_thread *gate_adopt(mlt_gate *gate)
{
    bool home = mlt_sched_self == gate->sched;
    mlt_thread *self = home ? &gate->home : calloc(1, sizeof *self);
    if (!self)
        mlt_no_room("a thread that calls MPI");
    self->gate = gate;
    self->fiber = home ? &gate->sched->home : &self->own;
    mlt_thread_self = self;
    if (home)
        return self;
    self->own.user = mlt_fiber_user;
    self->own.id = MLT_FIBER_HOME;
    self->own.state = MLT_FIBER_RUNNING;
    atomic_fetch_add_explicit(&gate->holders, 1, memory_order_relaxed);
    if (pthread_setspecific(gate_end_key, self) != 0)
        mlt_no_room("a thread that calls MPI");
    come_in(gate, self);
    self->number = ++gate->count;
    mlt_list_push_back(&gate->threads, &self->all);
    go_out(gate);
    return self;
}

bool mlt_gate_new(mlt_sched *sched, const mlt_gate_conf *conf)
{
    mlt_assert(!sched->pool && !sched->gate && !sched->delegates);
    mlt_gate *gate = aligned_alloc(_Alignof(mlt_gate), sizeof *gate);
    if (!gate)
        return false;
    memset(gate, 0, sizeof *gate);
    gate->sched = sched;
    gate->conf = *conf;
    gate->holders = 1;
    mlt_list_init(&gate->threads);
    mlt_list_init(&gate->sleepers);
    gate->home.number = ++gate->count;
    gate->home.fiber = &sched->home;
    mlt_list_push_back(&gate->threads, &gate->home.all);
    sched->gate = gate;
    if (sched->solo)
        return true;
    gate->home.gate = gate;
    mlt_thread_self = &gate->home;
    come_in(gate, &gate->home);
    mlt_sched_open_gate(sched);
    return true;
}

void mlt_gate_drop(mlt_sched *sched)
{
    mlt_gate *gate = sched->gate;
    if (!gate)
        return;
    sched->gate = NULL;
    sched->current = &sched->home;
    mlt_thread_self = NULL;
    gate_release(gate);
}

bool mlt_gate_alone(mlt_gate *gate)
{
    return atomic_load_explicit(&gate->holders, memory_order_acquire) == 1;
}

void mlt_gate_enter(mlt_gate *gate)
{
    mlt_thread *self = mlt_thread_self;
    if (MLT_UNLIKELY(!self))
        self = gate_adopt(gate);
    if (self->depth++ == 0 && !self->inside)
        come_in(gate, self);
}

void mlt_gate_leave(mlt_gate *gate)
{
    if (--mlt_thread_self->depth == 0)
        go_out(gate);
}

uint32_t mlt_gate_step_out(mlt_gate *gate)
{
    mlt_thread *self = mlt_thread_self;
    uint32_t depth = self->depth;
    mlt_assert(self->inside);
    self->depth = 0;
    go_out(gate);
    return depth;
}

void mlt_gate_step_in(mlt_gate *gate, uint32_t depth)
{
    come_in(gate, mlt_thread_self);
    mlt_thread_self->depth = depth;
}

// ---- Parking

void mlt_gate_nap(mlt_gate *gate, int64_t timeout_ns)
{
    mlt_thread *self = mlt_thread_self;
    self->sleeps = MLT_THREAD_ON_TURN;
    atomic_store_explicit(&self->turn, 0, memory_order_relaxed);
    mlt_list_push_back(&gate->sleepers, &self->sleeping);
    mlt_threads_count_parked(true);
    go_out(gate);
    mlt_jitter();
    do
        mlt_os_futex_wait(&self->turn, 0, timeout_ns);
    while (timeout_ns < 0 && atomic_load_explicit(&self->turn, memory_order_relaxed) == 0);
    come_in(gate, self);
    if (self->sleeps == MLT_THREAD_AWAKE)
        return;
    mlt_list_remove(&self->sleeping);
    self->sleeps = MLT_THREAD_AWAKE;
    mlt_threads_count_parked(false);
}

void mlt_gate_block(mlt_gate *gate)
{
    mlt_thread_self->sleeps = MLT_THREAD_ON_OWNER;
    mlt_thread_self->inside = false;
    mlt_threads_count_parked(true);
    unlock(gate); // without a look at conf.needs: it has just looked
}

void mlt_gate_unblock(mlt_gate *gate)
{
    come_in(gate, mlt_thread_self);
    mlt_thread_self->sleeps = MLT_THREAD_AWAKE;
    mlt_threads_count_parked(false);
}

// One of those that wait drives; the others sleep.
static void drive_or_sleep(mlt_gate *gate)
{
    mlt_sched *sched = gate->sched;
    if (gate->driver) {
        mlt_gate_nap(gate, MLT_OS_FOREVER);
        return;
    }
    gate->driver = mlt_thread_self;
    if (mlt_sched_self == sched)
        sched->idle(sched->idle_arg);
    else
        mlt_deep_idle(sched)(sched->idle_arg); // on this thread's own stack, which is deep enough
    gate->driver = NULL;
    (void)mlt_gate_let_in(gate);
}

static void find_driver(mlt_gate *gate)
{
    if (!gate->driver && !mlt_list_empty(&gate->sleepers))
        rouse(mlt_container_of(gate->sleepers.next, mlt_thread, sleeping));
}

void mlt_gate_park(mlt_gate *gate, mlt_fiber *me)
{
    uint16_t call = gate->conf.call ? *gate->conf.call : 0;
    int saved = errno;
    while (me->state == MLT_FIBER_PARKED)
        drive_or_sleep(gate);
    me->state = MLT_FIBER_RUNNING;
    if (gate->conf.call)
        *gate->conf.call = call;
    find_driver(gate);
    errno = saved;
}

void mlt_gate_wake(mlt_gate *gate, mlt_fiber *fiber)
{
    bool home = !mlt_gate_is_thread(gate->sched, fiber) || fiber == &gate->sched->home;
    wake_sleeper(gate, home ? &gate->home : mlt_container_of(fiber, mlt_thread, own));
}

void mlt_gate_wait(mlt_gate *gate, const mlt_wait *wait)
{
    mlt_fiber *me = mlt_thread_self->fiber;
    me->wait = wait;
    me->state = MLT_FIBER_PARKED;
    mlt_gate_park(gate, me);
}

// ---- Fibers

void mlt_gate_idle(mlt_gate *gate)
{
    while (gate->sched->runnable == 0)
        drive_or_sleep(gate);
    find_driver(gate);
}

uint32_t mlt_gate_suspend(mlt_gate *gate)
{
    uint32_t depth = gate->home.depth;
    mlt_assert(gate->home.inside);
    gate->home.depth = 0; // of a fiber that has not suspended since there is a gate
    return depth;
}

void mlt_gate_resume(mlt_gate *gate, uint32_t depth)
{
    gate->home.depth = depth;
}

void mlt_gate_exit(mlt_gate *gate)
{
    mlt_gate_enter(gate);
    gate->home.depth = 0;
}
