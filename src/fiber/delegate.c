// SPDX-License-Identifier: BSD-3-Clause
#include "fiber/delegate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/array.h"
#include "base/log.h"
#include "base/memory.h"
#include "fiber/gate.h"
#include "fiber/io.h"
#include "fiber/preempt.h"
#include "fiber/sanitize.h"
#include "os/jitter.h"
#include "os/os.h"

enum {
    WAITING_STACK = 128 * 1024, // handlers of the program's signals run there, too
    RETURNER_STACK = 64 * 1024, // it parks, which may make progress
    SPIN_NS = 5000,             // both sides look so long before they sleep: a wake takes as long
    DELEGATE_SPINS = 32,        // ... with so many looks between those at the clock
    PATIENCE_NS = 1000000,      // then it looks whether the worker is stuck
    WORDS_NS = 200000,          // between looks at words of the program's
    OPEN_NS = 100000000,        // between looks at the threads that may still call
    RECENT_NS = 10000000,       // so long it is believed that some may
};

// mlt_delegate.back.
enum { AWAY, AWAY_ASLEEP, BACK };

static _Thread_local mlt_delegate *own __attribute__((tls_model("initial-exec")));

bool mlt_delegates_can(void)
{
    return !MLT_SANITIZED_THREAD && mlt_preempt_install();
}

// ---- the call that runs

static mlt_delegate *running(const mlt_delegates *to)
{
    return mlt_container_of(to->sched->current, mlt_delegate, fiber);
}

void mlt_delegate_stops(mlt_delegates *to)
{
    mlt_delegate *thread = running(to);
    uint16_t *call = to->conf.call(thread->fiber.user);
    thread->call = *call;
    *call = thread->others;
    mlt_sched_set_delegated(to->sched, false);
}

void mlt_delegate_goes_on(mlt_delegates *to)
{
    mlt_delegate *thread = running(to);
    uint16_t *call = to->conf.call(thread->fiber.user);
    thread->others = *call;
    *call = thread->call;
    mlt_sched_set_delegated(to->sched, true);
}

// ---- functions of the program's

typedef struct mlt_outside_note {
    const mlt_fiber *fiber;
    const void *sp;
} note;

static uint32_t last_note(const mlt_delegates *to)
{
    uint32_t i = to->notes_count;
    while (i > 0 && to->notes[i - 1].fiber != to->sched->current)
        i--;
    return i;
}

static void drop_note(mlt_delegates *to, uint32_t at)
{
    memmove(&to->notes[at], &to->notes[at + 1], (to->notes_count - at - 1) * sizeof *to->notes);
    to->notes_count--;
}

void mlt_delegates_note_outside(mlt_delegates *to, const void *sp)
{
    // Those of functions that were left by a jump.
    for (uint32_t last; (last = last_note(to)) > 0 && to->notes[last - 1].sp <= sp;)
        drop_note(to, last - 1);
    *MLT_ARRAY_ADD(to->notes, to->notes_count, to->notes_room) = (note){to->sched->current, sp};
}

void mlt_delegates_note_inside(mlt_delegates *to)
{
    uint32_t last = last_note(to);
    mlt_assert(last > 0);
    drop_note(to, last - 1);
}

const void *mlt_delegates_outside(const mlt_delegates *to)
{
    uint32_t last = last_note(to);
    return last ? to->notes[last - 1].sp : NULL;
}

// ---- the worker's side

void mlt_delegate_stack(const mlt_delegates *to, const mlt_fiber *fiber, const void **stack,
                        size_t *size)
{
    if (fiber == &to->returner) {
        *stack = to->returner_stack;
        *size = RETURNER_STACK;
        return;
    }
    const mlt_delegate *thread = mlt_container_of(fiber, mlt_delegate, fiber);
    *stack = thread->stack;
    *size = thread->stack_size;
}

static bool take_calls(mlt_delegates *to)
{
    // acquire: the caller's frames; pairs with send.
    mlt_delegate *last = atomic_exchange_explicit(&to->inbox, NULL, memory_order_acquire);
    mlt_delegate *first = NULL;
    while (last) {
        mlt_delegate *next = last->next;
        last->next = first;
        first = last;
        last = next;
    }
    for (mlt_delegate *thread = first, *next; thread; thread = next) {
        next = thread->next;
        mlt_fiber_wake(to->sched, &thread->fiber);
    }
    return first != NULL;
}

static bool look_at_words(mlt_delegates *to)
{
    uint64_t now = mlt_os_now_ns();
    bool any = false;
    MLT_LIST_EACH_SAFE(mlt_futex_wait, wait, &to->words, node) {
        // Relaxed: the program's own look orders what it reads.
        if (atomic_load_explicit(wait->word, memory_order_relaxed) == wait->value &&
            now < wait->until_ns)
            continue;
        mlt_list_remove(&wait->node);
        mlt_fiber_wake(to->sched, wait->fiber);
        wait->fiber = NULL;
        any = true;
    }
    return any;
}

static bool spin(bool (*ready)(void *arg), void *arg)
{
    uint64_t end = mlt_os_now_ns() + SPIN_NS;
    for (uint32_t n = 1; !ready(arg); n++) {
        if (n % DELEGATE_SPINS == 0 && mlt_os_now_ns() >= end)
            return false;
        mlt_arch_pause();
    }
    return true;
}

static bool delegate_is_wanted(void *delegates)
{
    const mlt_delegates *to = delegates;
    return atomic_load_explicit(&to->inbox, memory_order_relaxed) != NULL;
}

bool mlt_delegates_ready(mlt_delegates *to)
{
    return atomic_load(&to->inbox) != NULL; // seq_cst: after the worker has said that it sleeps
}

bool mlt_delegates_look(mlt_delegates *to)
{
    bool any = false;
    atomic_store_explicit(&to->looks, to->looks + 1, memory_order_relaxed); // it alone writes it
    if (MLT_UNLIKELY(atomic_load_explicit(&to->inbox, memory_order_relaxed) != NULL))
        any = take_calls(to);
    if (MLT_UNLIKELY(mlt_delegates_watch_words(to)))
        any |= look_at_words(to);
    return any;
}

bool mlt_delegates_wait(mlt_delegates *to)
{
    uint64_t now = mlt_os_now_ns();
    if (mlt_delegates_watch_words(to) || now < to->open_ns)
        return true;
    mlt_threads_count_parked(true);
    bool all = mlt_threads_all_parked();
    mlt_threads_count_parked(false);
    // Threads count themselves as parked after they have sent their calls.
    if (all && !mlt_delegates_ready(to))
        return false;
    to->open_ns = now + RECENT_NS;
    return true;
}

bool mlt_delegates_watch_words(const mlt_delegates *to)
{
    return !mlt_list_empty(&to->words);
}

int64_t mlt_delegates_patience(const mlt_delegates *to)
{
    return mlt_delegates_watch_words(to) ? WORDS_NS : OPEN_NS;
}

void mlt_delegates_sleep(mlt_delegates *to, bool sleeps)
{
    // Relaxed: one who misses it interrupts the worker in vain.
    atomic_store_explicit(&to->idle, sleeps, memory_order_relaxed);
    mlt_threads_count_parked(sleeps);
}

void mlt_delegates_nap(mlt_delegates *to, int64_t timeout_ns)
{
    if (spin(delegate_is_wanted, to))
        return;
    atomic_store(&to->naps, 1); // seq_cst, before the look; pairs with send
    mlt_delegates_sleep(to, true);
    if (!mlt_delegates_ready(to))
        mlt_os_futex_wait(&to->naps, 1, timeout_ns);
    mlt_delegates_sleep(to, false);
    atomic_store_explicit(&to->naps, 0, memory_order_relaxed);
}

// The first code of the fiber that stands on no thread's stack: when it runs, the one that was left
// for it is whole.
static void returns_stacks(void *delegates)
{
    mlt_delegates *to = delegates;
    mlt_sanitize_enter(&to->returner, NULL, NULL);
    for (;;) {
        mlt_delegate *thread = to->leaving;
        _Atomic uint32_t *back = &thread->back;
        thread->fiber.state = MLT_FIBER_RUNNING; // elsewhere: nobody can wake it
        // Before the thread runs again, or it could be taken for parked while it does.
        mlt_threads_count_parked(false);
        // release: its stack. From here on the record is the thread's, which may end.
        if (atomic_exchange_explicit(back, BACK, memory_order_release) == AWAY_ASLEEP)
            mlt_os_futex_wake(back, 1);
        mlt_fiber_rest(to->sched);
    }
}

static bool make_returner(mlt_delegates *to)
{
    to->returner_stack = mlt_os_map(RETURNER_STACK);
    if (!to->returner_stack)
        return false;
    mlt_sanitize_fresh(to->returner_stack, RETURNER_STACK);
    to->returner.id = MLT_FIBER_HOME;
    to->returner.state = MLT_FIBER_PARKED;
    to->returner.sp = mlt_arch_fiber_init(to->returner_stack + RETURNER_STACK, returns_stacks, to);
    mlt_sanitize_born(&to->returner);
    return true;
}

bool mlt_delegates_open(mlt_sched *sched, const mlt_delegates_conf *conf)
{
    mlt_assert(!sched->solo && !sched->delegates);
    mlt_delegates *to = calloc(1, sizeof *to);
    if (!to || !make_returner(to)) {
        free(to);
        return false;
    }
    to->sched = sched;
    to->conf = *conf;
    to->holders = 1;
    mlt_list_init(&to->words);
    mlt_list_init(&to->threads);
    pthread_mutex_init(&to->lock, NULL);
    mlt_io_use(sched);
    sched->delegates = to;
    return true;
}

static void delegate_release(mlt_delegates *to)
{
    // acq_rel: the last one frees after everybody's last use.
    if (atomic_fetch_sub_explicit(&to->holders, 1, memory_order_acq_rel) == 1) {
        pthread_mutex_destroy(&to->lock);
        mlt_os_unmap(to->returner_stack, RETURNER_STACK);
        free(to->notes);
        free(to);
    }
}

void mlt_delegates_drop(mlt_sched *sched)
{
    mlt_delegates *to = sched->delegates;
    if (!to)
        return;
    sched->delegates = NULL;
    delegate_release(to);
}

bool mlt_delegates_alone(mlt_delegates *to)
{
    return atomic_load_explicit(&to->holders, memory_order_acquire) == 1;
}

void mlt_delegates_each(mlt_delegates *to, const void *user,
                        void (*see)(void *arg, const mlt_delegate *thread), void *arg)
{
    pthread_mutex_lock(&to->lock);
    MLT_LIST_EACH(const mlt_delegate, thread, &to->threads, all)
        if (thread->fiber.user == user)
            see(arg, thread);
    pthread_mutex_unlock(&to->lock);
}

// ---- the thread's side

static void delegate_send(mlt_delegate *self)
{
    mlt_delegates *to = self->to;
    self->fiber.state = MLT_FIBER_PARKED;
    self->fiber.wait = NULL;
    atomic_store_explicit(&self->back, AWAY, memory_order_relaxed);
    self->next = atomic_load_explicit(&to->inbox, memory_order_relaxed);
    // seq_cst: before the look whether the worker sleeps; and it releases the frames.
    while (!atomic_compare_exchange_weak(&to->inbox, &self->next, self)) {
    }
    mlt_jitter();
    mlt_threads_count_parked(true); // after it was sent: mlt_delegates_wait
    to->conf.kick(to->conf.arg);
    if (atomic_load(&to->naps) && atomic_exchange(&to->naps, 0)) // or it would sleep after the wake
        mlt_os_futex_wake(&to->naps, 1);
}

static bool is_back(void *delegate)
{
    mlt_delegate *self = delegate;
    // acquire: the stack is as the worker has left it.
    return atomic_load_explicit(&self->back, memory_order_acquire) == BACK;
}

static void wait_for_end(mlt_delegate *self)
{
    mlt_delegates *to = self->to;
    if (spin(is_back, self))
        return;
    uint32_t looks = atomic_load_explicit(&to->looks, memory_order_relaxed), away = AWAY;
    (void)atomic_compare_exchange_strong_explicit(&self->back, &away, AWAY_ASLEEP,
                                                  memory_order_relaxed, memory_order_relaxed);
    while (!is_back(self)) {
        mlt_jitter();
        mlt_os_futex_wait(&self->back, AWAY_ASLEEP, PATIENCE_NS);
        uint32_t now = atomic_load_explicit(&to->looks, memory_order_relaxed);
        if (now == looks && !atomic_load_explicit(&to->idle, memory_order_relaxed) &&
            !is_back(self))
            mlt_preempt(to);
        looks = now;
    }
}

// The first code on the waiting stack; it stays on its thread, from call to call.
static void waits(void *delegate)
{
    mlt_delegate *self = delegate;
    for (;;) {
        mlt_sanitize_enter(&self->waiting, NULL, NULL);
        int saved = errno;
        delegate_send(self);
        wait_for_end(self);
        errno = saved;
        mlt_sanitize_leave(&self->waiting, &self->fiber, 0, self->stack, self->stack_size, false);
        mlt_arch_switch(&self->waiting.sp, self->fiber.sp);
    }
}

static pthread_key_t delegate_end_key;

static void delegate_thread_ends(void *delegate)
{
    mlt_delegate *self = delegate;
    mlt_delegates *to = self->to;
    pthread_mutex_lock(&to->lock);
    mlt_list_remove(&self->all);
    pthread_mutex_unlock(&to->lock);
    mlt_sanitize_fresh(self->waiting.stack, WAITING_STACK);
    mlt_os_unmap(self->waiting.stack, WAITING_STACK);
    own = NULL;
    free(self);
    delegate_release(to);
}

// When the library is loaded: a key that is made while ranks run would be one of the rank's own
// (host/libc/keys.h).
__attribute__((constructor)) static void delegate_make_key(void)
{
    if (pthread_key_create(&delegate_end_key, delegate_thread_ends) != 0)
        mlt_fatal("the system refuses a key for the ends of threads");
}

static void note_stack(mlt_delegate *self)
{
    pthread_attr_t attributes;
    void *low;
    if (!MLT_SANITIZED || pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    if (pthread_attr_getstack(&attributes, &low, &self->stack_size) == 0)
        self->stack = low;
    pthread_attr_destroy(&attributes);
}

// Of the user object's threads; with the lock.
static uint32_t next_number(const mlt_delegates *to, const void *user)
{
    uint32_t most = 1;
    MLT_LIST_EACH(const mlt_delegate, thread, &to->threads, all)
        if (thread->fiber.user == user && thread->number > most)
            most = thread->number;
    return most + 1;
}

static MLT_COLD mlt_delegate *delegate_adopt(mlt_delegates *to, void *user)
{
    mlt_delegate *self = calloc(1, sizeof *self);
    if (!self || !(self->waiting.stack = mlt_os_map(WAITING_STACK)) ||
        pthread_setspecific(delegate_end_key, self) != 0)
        mlt_no_room("a thread that calls MPI");
    mlt_sanitize_fresh(self->waiting.stack, WAITING_STACK);
    self->to = to;
    self->fiber.user = user;
    self->fiber.id = MLT_FIBER_HOME;
    self->waiting.sp = mlt_arch_fiber_init(self->waiting.stack + WAITING_STACK, waits, self);
    mlt_sanitize_born(&self->waiting);
    note_stack(self);
    atomic_fetch_add_explicit(&to->holders, 1, memory_order_relaxed);
    pthread_mutex_lock(&to->lock);
    self->number = next_number(to, user);
    mlt_list_push_back(&to->threads, &self->all);
    pthread_mutex_unlock(&to->lock);
    own = self;
    return self;
}

MLT_SANITIZE_NONE void mlt_delegate_begin(mlt_delegates *to, void *user)
{
    mlt_delegate *self = own ? own : delegate_adopt(to, user);
    mlt_sanitize_leave(&self->fiber, &self->waiting, WAITING_STACK, NULL, 0, false);
    mlt_arch_switch(&self->fiber.sp, self->waiting.sp);
    mlt_sanitize_enter(&self->fiber, NULL, NULL); // on the worker's thread
    self->call = 0;
    mlt_delegate_goes_on(to);
}

void mlt_delegate_end(mlt_delegates *to)
{
    mlt_assert(mlt_delegate_runs(to->sched));
    mlt_delegate_stops(to);
    to->leaving = running(to);
    to->returner.user = to->leaving->fiber.user; // nothing is to be exchanged between the two
    mlt_fiber_switch(to->sched, &to->returner);
}
