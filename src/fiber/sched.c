// SPDX-License-Identifier: BSD-3-Clause
// The run loop of a worker: whoever suspends takes its successor from the queue and switches to it.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/event.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/upcalls.h"
#include "fiber/deep.h"
#include "fiber/delegate.h"
#include "fiber/fault.h"
#include "fiber/fiber.h"
#include "fiber/gate.h"
#include "fiber/io.h"
#include "fiber/policy.h"
#include "fiber/sanitize.h"
#include "fiber/stack.h"
#include "os/apart.h"
#include "os/os.h"

enum {
    BREATH = MLT_POLICY_TURN,   // switches between two calls of breathe
    TRIM_PERIOD = 4096,         // switches between two looks at memory, if it may soon be tight
    TRIM_PERIOD_MAX = 1 << 18,  // if there is plenty: a look costs up to 100 us
    TRIM_PERIOD_VAIN = 1 << 28, // if trimming brings nothing
    TRIM_USE = 64 * 1024,       // what a fiber may have taken between two switches, typically
    POOL_STACK = 176 << 10,     // as those of many ranks
    RANKS_COLD = 512,           // ranks of a worker whose stacks are cold after a round of all
    FORESEEN = 8,               // stacks that are asked for at once
    LINES = 8,                  // of each: the frames of a rank that waits in a reduction
    POOL_COLD = 4096,           // members of a pool whose stacks do not fit the caches
};

_Thread_local void *mlt_fiber_user __attribute__((tls_model("initial-exec")));
_Thread_local mlt_sched *mlt_sched_self __attribute__((tls_model("initial-exec")));

// The lock is taken when a worker comes or goes, a few times in a process's life.
mlt_sched *mlt_sched_list;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

// Only in a program with a C++ runtime. Elsewhere there are no exceptions.
extern mlt_exceptions *__cxa_get_globals(void) __attribute__((weak));
static mlt_exceptions no_exceptions; // stays zero

// The thread's own stack, which ASan wants to know when a fiber goes home.
static _Thread_local const void *home_stack;
static _Thread_local size_t home_size;

// ---- Making and freeing

static void list_add(mlt_sched *sched)
{
    pthread_mutex_lock(&list_lock);
    sched->next_sched = mlt_sched_list;
    mlt_sched_list = sched;
    pthread_mutex_unlock(&list_lock);
}

static void list_drop(mlt_sched *sched)
{
    pthread_mutex_lock(&list_lock);
    mlt_sched **at = &mlt_sched_list;
    while (*at != sched)
        at = &(*at)->next_sched;
    *at = sched->next_sched;
    pthread_mutex_unlock(&list_lock);
}

static void pool_destroy(mlt_fiber_pool *pool)
{
    if (!pool)
        return;
    if (pool->stacks)
        mlt_stacks_fini(pool->stacks);
    mlt_os_apart_free(pool->stacks);
    mlt_os_unmap(pool->fibers, pool->limit * sizeof *pool->fibers);
    if (pool->woken)
        mlt_os_unmap(pool->woken, pool->limit * sizeof *pool->woken);
    mlt_os_apart_free(pool);
}

static void sched_destroy(mlt_sched *sched)
{
    pool_destroy(sched->pool);
    mlt_deep_free(sched);
    if (sched->stacks)
        mlt_stacks_fini(sched->stacks);
    mlt_os_apart_free(sched->stacks);
    if (sched->policy->fini && sched->policy_state)
        sched->policy->fini(sched);
    mlt_os_unmap(sched->fibers, sched->limit * sizeof *sched->fibers);
    if (sched->woken)
        mlt_os_unmap(sched->woken, sched->limit * sizeof *sched->woken);
    mlt_os_apart_free(sched);
}

static bool has_canaries(const mlt_stacks *stacks)
{
    return stacks && stacks->guard == MLT_STACK_GUARD_CANARY;
}

// The kind of guard may change when a stack is first used.
static void note_guard(mlt_sched *sched)
{
    sched->canary =
        has_canaries(sched->stacks) || (sched->pool && has_canaries(sched->pool->stacks));
    sched->list = !sched->policy->take && !sched->canary && !sched->measures && !sched->watched &&
                  !sched->gate && !MLT_SANITIZED;
    sched->plain = sched->list && !sched->pinned && !sched->swap && !sched->delegated;
}

static inline mlt_stacks *stacks_of(const mlt_sched *sched, const mlt_fiber *fiber)
{
    return fiber->pool ? sched->pool->stacks : sched->stacks;
}

// What a worker with fibers has and a solo one has not.
static mlt_status sched_furnish(mlt_sched *sched, const mlt_sched_conf *conf, uint64_t argument,
                                char *why, size_t why_size)
{
    sched->limit = conf->fibers;
    sched->fibers = mlt_os_map(sched->limit * sizeof *sched->fibers);
    sched->stacks = mlt_os_apart_try(sizeof *sched->stacks);
    snprintf(why, why_size, MLT_NO_ROOM "%u fibers", conf->fibers);
    if (!sched->fibers || !sched->stacks || mlt_deep_open(sched, conf->stack_size) != MLT_OK)
        return MLT_ERR_NO_MEMORY;
    mlt_status status =
        sched->policy->init ? sched->policy->init(sched, argument, why, why_size) : MLT_OK;
    if (status != MLT_OK)
        return status;
    status = mlt_stacks_init(sched->stacks, conf->fibers, conf->process_fibers, conf->stack_size,
                             (mlt_stack_guard)conf->guard, why, why_size);
    if (status == MLT_OK)
        note_guard(sched);
    return status;
}

mlt_status mlt_sched_new(const mlt_sched_conf *conf, mlt_sched **out, char *why, size_t why_size)
{
    *out = NULL;
    mlt_assert(!mlt_sched_self && conf->idle);
    uint64_t argument;
    const mlt_policy *policy = mlt_policy_find(conf->policy, &argument, why, why_size);
    if (!policy)
        return MLT_ERR_INVALID;
    _Static_assert(_Alignof(mlt_sched) <= 64, "as apart memory is aligned");
    mlt_sched *sched = mlt_os_apart_try(sizeof *sched);
    if (!sched)
        return mlt_fail(MLT_ERR_NO_MEMORY, why, why_size, MLT_NO_ROOM "a scheduler");
    sched->policy = policy;
    sched->direct = policy->direct;
    sched->policy_argument = argument;
    sched->policy_text = conf->policy;
    sched->first = conf->first;
    sched->awaits = conf->awaits;
    sched->solo = conf->fibers == 0;
    sched->measures = conf->measures;
    sched->idle = conf->idle;
    sched->breathe = conf->breathe;
    sched->idle_arg = conf->idle_arg;
    sched->error = &errno;
    sched->trim_in = sched->trim_period = TRIM_PERIOD;
    sched->stack_asked = conf->stack_size;
    sched->memory = mlt_os_memory_state;
    sched->thread = (int32_t)gettid();
    sched->fp_mode = mlt_arch_fp_mode();
    sched->exceptions = __cxa_get_globals ? __cxa_get_globals() : &no_exceptions;
    sched->home.state = MLT_FIBER_RUNNING;
    sched->home.id = MLT_FIBER_HOME;
    sched->current = &sched->home;
    mlt_sanitize_home(&sched->home);
    if (!sched->solo) {
        mlt_status status = sched_furnish(sched, conf, argument, why, why_size);
        if (status != MLT_OK) {
            sched_destroy(sched);
            return status;
        }
    }
    list_add(sched);
    mlt_sched_self = sched;
    *out = sched;
    return MLT_OK;
}

void mlt_sched_free(mlt_sched *sched)
{
    if (!sched)
        return;
    mlt_gate_drop(sched);
    mlt_delegates_drop(sched);
    mlt_assert(mlt_sched_self == sched && sched->current == &sched->home);
    mlt_sched_self = NULL;
    mlt_fiber_user = NULL;
    list_drop(sched);
    mlt_io_free(sched);
    sched_destroy(sched);
}

// Address space is all that this takes, but some systems grant only so much of it.
static mlt_status pool_reserve(mlt_fiber_pool *pool, size_t stack_size, char *why, size_t why_size)
{
    static const uint32_t limits[] = {MLT_FIBER_POOL_MOST, MLT_FIBER_POOL_MOST >> 4,
                                      MLT_FIBER_POOL_MOST >> 8, MLT_FIBER_POOL_MOST >> 12};
    enum { LIMITS = sizeof limits / sizeof limits[0] };
    pool->stacks = mlt_os_apart_try(sizeof *pool->stacks);
    if (!pool->stacks)
        return MLT_ERR_NO_MEMORY;
    for (uint32_t i = 0; i < LIMITS; i++) {
        mlt_fiber *fibers = mlt_os_map(limits[i] * sizeof *fibers);
        if (!fibers)
            continue;
        if (mlt_stacks_init(pool->stacks, limits[i], limits[i],
                            stack_size ? stack_size : POOL_STACK, MLT_STACK_GUARD_BEST, why,
                            why_size) == MLT_OK) {
            pool->fibers = fibers;
            pool->limit = limits[i];
            return MLT_OK;
        }
        mlt_os_unmap(fibers, limits[i] * sizeof *fibers);
    }
    return MLT_ERR_NO_MEMORY;
}

mlt_status mlt_fiber_pool_open(mlt_sched *sched, char *why, size_t why_size)
{
    mlt_assert(!sched->pool);
    if (sched->gate)
        return mlt_fail(
            MLT_ERR_UNSUPPORTED, why, why_size,
            "processes and channels cannot be used in a rank that has MPI_THREAD_MULTIPLE, nor in "
            "a "
            "worker with GOAL_OFFLOAD: threads and processes would wait for each other");
    mlt_fiber_pool *pool = mlt_os_apart_try(sizeof *pool);
    snprintf(why, why_size, MLT_NO_ROOM "processes");
    if (!pool)
        return MLT_ERR_NO_MEMORY;
    mlt_status status = pool_reserve(pool, sched->stack_asked, why, why_size);
    if (status == MLT_OK)
        status = mlt_deep_open(sched, sched->stack_asked);
    // The policy of a solo worker had nothing to do so far.
    if (status == MLT_OK && sched->solo && sched->policy->init)
        status = sched->policy->init(sched, sched->policy_argument, why, why_size);
    if (status != MLT_OK) {
        pool_destroy(pool);
        return status;
    }
    sched->pool = pool;
    sched->member = sched->solo;
    sched->solo = false;
    note_guard(sched);
    return MLT_OK;
}

void mlt_sched_open_gate(mlt_sched *sched)
{
    note_guard(sched);
}

void mlt_sched_swap_users(mlt_sched *sched, void (*swap)(void *from, void *to))
{
    sched->swap = swap;
    note_guard(sched);
}

void mlt_sched_set_delegated(mlt_sched *sched, bool delegated)
{
    sched->delegated = delegated;
    sched->plain = sched->list && !sched->pinned && !sched->swap && !delegated;
}

void mlt_sched_watch(mlt_sched *sched, uint8_t watched)
{
    sched->watched = watched;
    if (!sched->solo)
        note_guard(sched);
}

void mlt_sched_adopt(mlt_sched *sched, void *user)
{
    mlt_assert(sched->solo && sched->current == &sched->home);
    sched->home.user = user;
    mlt_fiber_user = user;
}

// ---- The run queue

static inline void put(mlt_sched *sched, mlt_fiber *fiber, mlt_put how)
{
    sched->runnable++;
    sched->policy->put(sched, fiber, how);
}

mlt_fiber *mlt_fiber_spawn(mlt_sched *sched, void (*entry)(void *user), void *user)
{
    mlt_assert(!sched->solo && sched->count < sched->limit);
    mlt_fiber *fiber = &sched->fibers[sched->count];
    fiber->entry = entry;
    fiber->user = user;
    fiber->id = sched->count++;
    fiber->state = MLT_FIBER_NEW;
    sched->alive++;
    put(sched, fiber, MLT_PUT_SPAWN);
    return fiber;
}

mlt_fiber *mlt_fiber_pool_spawn(mlt_sched *sched, void (*entry)(void *user), void *user)
{
    mlt_fiber_pool *pool = sched->pool;
    mlt_fiber *fiber = pool->free;
    if (fiber) {
        pool->free = fiber->next;
    } else {
        if (MLT_UNLIKELY(pool->count == pool->limit))
            return NULL;
        fiber = &pool->fibers[pool->count];
        fiber->id = pool->count++;
        fiber->pool = true;
    }
    fiber->entry = entry;
    fiber->user = user;
    fiber->state = MLT_FIBER_NEW;
    fiber->priority = 0;
    pool->alive++;
    put(sched, fiber, MLT_PUT_SPAWN);
    return fiber;
}

// For a trace. The times have memory of their own, as a fiber's record is full; without memory there are none.
static MLT_COLD void note_time_woken(mlt_sched *sched, const mlt_fiber *fiber)
{
    mlt_fiber_pool *pool = fiber->pool ? sched->pool : NULL;
    uint64_t **times = pool ? &pool->woken : &sched->woken;
    uint32_t limit = pool ? pool->limit : sched->limit;
    if (fiber->id == MLT_FIBER_HOME) {
        sched->home_woken = mlt_arch_cycles();
        return;
    }
    if (!*times)
        *times = mlt_os_map(limit * sizeof **times);
    if (*times)
        (*times)[fiber->id] = mlt_arch_cycles();
}

// For a trace. Who is woken by a message, or in a collective, is known from these.
static MLT_COLD void tell_woken(mlt_sched *sched, const mlt_fiber *fiber, const mlt_wait *wait)
{
    static const bool told[] = {[MLT_WAIT_OTHER] = true,
                                [MLT_WAIT_CSP] = true,
                                [MLT_WAIT_TIME] = true,
                                [MLT_WAIT_FD] = true,
                                [MLT_WAIT_WINDOW] = true};
    const mlt_fiber *by = sched->current;
    mlt_event event = {
        .kind = MLT_EVENT_WOKEN,
        .how = (uint8_t)wait->kind,
        .woken = fiber,
        .by = by && by->state == MLT_FIBER_RUNNING && mlt_sched_self == sched ? by : NULL};
    if (told[wait->kind] && mlt_upcalls.event)
        mlt_upcalls.event(sched->idle_arg, fiber->user, &event);
}

// All that is rare about a wake. Apart, so that the everyday one needs no frame.
static __attribute__((noinline)) void wake_otherwise(mlt_sched *sched, mlt_fiber *fiber)
{
    const mlt_wait *wait = fiber->wait;
    fiber->wait = NULL;
    if (sched->gate)
        mlt_gate_wake(sched->gate, fiber);
    if (sched->solo || (sched->gate && mlt_gate_is_thread(sched, fiber)))
        return;
    if (MLT_UNLIKELY(sched->watched & MLT_WATCH_TRACE)) {
        note_time_woken(sched, fiber);
        if (wait)
            tell_woken(sched, fiber, wait);
    }
    put(sched, fiber, MLT_PUT_WAKE);
}

void mlt_fiber_wake(mlt_sched *sched, mlt_fiber *fiber)
{
    if (fiber->state != MLT_FIBER_PARKED)
        return;
    if (MLT_LIKELY(sched->plain)) {
        mlt_policy_wake_plain(sched, fiber);
        return;
    }
    fiber->state = MLT_FIBER_RUNNABLE;
    if (sched->solo && !sched->gate) {
        fiber->wait = NULL;
        return;
    }
    if (fiber->pool)
        sched->current->woke = fiber->id;
    wake_otherwise(sched, fiber);
}

void mlt_fiber_wake_last(mlt_sched *sched, mlt_fiber *fiber)
{
    if (MLT_UNLIKELY(!sched->plain) && (sched->solo || sched->gate || sched->policy->take)) {
        mlt_fiber_wake(sched, fiber);
        return;
    }
    if (fiber->state != MLT_FIBER_PARKED)
        return;
    fiber->state = MLT_FIBER_RUNNABLE;
    fiber->wait = NULL;
    sched->runnable++;
    if (MLT_UNLIKELY(sched->watched & MLT_WATCH_TRACE))
        note_time_woken(sched, fiber);
    mlt_policy_list_push(sched, fiber);
}

// ---- Memory

// Everything below the saved stack pointer is dead: no red zone survives a call.
static uint64_t trim_fiber(mlt_fiber *fiber, uintptr_t page)
{
    if ((fiber->state != MLT_FIBER_PARKED && fiber->state != MLT_FIBER_RUNNABLE) || !fiber->stack ||
        fiber->trimmed)
        return 0;
    fiber->trimmed = true;
    size_t bytes = ((uintptr_t)fiber->sp & ~(page - 1)) - (uintptr_t)fiber->stack;
    mlt_os_discard(fiber->stack, bytes);
    return bytes;
}

uint64_t mlt_sched_trim(mlt_sched *sched)
{
    if (sched->solo)
        return 0;
    int saved = errno;
    uintptr_t page = mlt_os_page_size();
    uint64_t offered = sched->stacks ? mlt_stacks_trim_free(sched->stacks) : 0;
    for (uint32_t i = 0; i < sched->count; i++)
        if (&sched->fibers[i] != sched->current)
            offered += trim_fiber(&sched->fibers[i], page);
    const mlt_fiber_pool *pool = sched->pool;
    if (pool)
        offered += mlt_stacks_trim_free(pool->stacks);
    for (uint32_t i = 0; pool && i < pool->count; i++)
        if (&pool->fibers[i] != sched->current)
            offered += trim_fiber(&pool->fibers[i], page);
    errno = saved;
    return offered;
}

// Looks at memory the more often the less there is. A trim costs a system call for each fiber that
// ran since the last one. Where memory is full of something else, so that it brings nothing, it is
// tried ever more rarely.
static MLT_COLD void trim_if_tight(void *worker)
{
    mlt_sched *sched = worker;
    mlt_os_memory before, after;
    int32_t period = TRIM_PERIOD_MAX;
    if (sched->memory(&before) == MLT_OK) {
        uint64_t reserve = before.total / 4;
        if (before.available < reserve) {
            sched->trims++;
            (void)mlt_sched_trim(sched);
            bool useful = sched->memory(&after) == MLT_OK && after.own < before.own &&
                          before.own - after.own > before.total / 64;
            period = useful ? TRIM_PERIOD : sched->trim_period;
            if (!useful && period < TRIM_PERIOD_VAIN)
                period *= 2;
        } else if ((before.available - reserve) / TRIM_USE < TRIM_PERIOD_MAX) {
            period = (int32_t)((before.available - reserve) / TRIM_USE);
            period = period < TRIM_PERIOD ? TRIM_PERIOD : period;
        }
    }
    sched->trim_in = sched->trim_period = period;
}

// ---- Switching

static MLT_COLD void take_breath(mlt_sched *sched)
{
    sched->trim_in -= BREATH;
    if (sched->trim_in <= 0)
        mlt_deep_call(sched, trim_if_tight, sched);
    if (sched->breathe)
        sched->breathe(sched->idle_arg);
}

// First code of every fiber, on its own stack.
static _Noreturn MLT_SANITIZE_NONE void fiber_main(void *arg)
{
    mlt_sched *sched = mlt_sched_self;
    void (*entry)(void *) = (void (*)(void *))arg;
    mlt_fiber *me = sched->current;
    if (home_stack)
        mlt_sanitize_enter(me, NULL, NULL);
    else
        mlt_sanitize_enter(me, &home_stack, &home_size);
    errno = 0;
    entry(me->user);
    mlt_fiber_exit(sched);
}

// Gives a NEW fiber its stack and first frame.
static __attribute__((noinline)) void give_birth(mlt_sched *sched, mlt_fiber *fiber)
{
    mlt_stacks *stacks = stacks_of(sched, fiber);
    uint32_t fresh = stacks->fresh;
    fiber->stack = mlt_stack_take(stacks, fiber->id);
    if (MLT_UNLIKELY(stacks->fresh != fresh))
        note_guard(sched);
    fiber->sp = mlt_arch_fiber_init(fiber->stack + stacks->size, fiber_main, (void *)fiber->entry);
    mlt_sanitize_born(fiber); // takes the place of entry
}

// Stacks without guard pages: the frame or the gap below tells an overflow, late but surely.
static MLT_COLD void look_for_overflow(mlt_sched *sched, mlt_fiber *fiber)
{
    if (fiber->stack && ((char *)__builtin_frame_address(0) < fiber->stack ||
                         !mlt_stack_intact(stacks_of(sched, fiber), fiber->stack)))
        mlt_fault_overflow(sched, fiber);
}

// Leaves `me` for `to`, which is another. Everything that suspends ends in tail calls down to here,
// and what `to` needs is set on its behalf, so that a parked stack holds no frame of ours but the
// switch's own, and its return goes straight to the caller of park, where it is predicted.
MLT_SANITIZE_INLINE void go(mlt_sched *sched, mlt_fiber *me, mlt_fiber *to, bool swaps)
{
    bool ends = me->state == MLT_FIBER_ENDED;
    to->state = MLT_FIBER_RUNNING;
    to->trimmed = false;
    if (*sched->error != to->saved_errno)
        *sched->error = to->saved_errno;
    if (swaps && me->user != to->user)
        sched->swap(me->user, to->user);
    sched->current = to;
    mlt_fiber_user = to->user;
    const void *stack = home_stack;
    size_t size = home_size;
    if (MLT_SANITIZED && sched->delegates && !to->stack && to != &sched->home)
        mlt_delegate_stack(sched->delegates, to, &stack, &size);
    mlt_sanitize_leave(me, to, MLT_SANITIZED && to->stack ? stacks_of(sched, to)->size : 0, stack,
                       size, ends);
    mlt_arch_switch(&me->sp, to->sp);
    mlt_sanitize_enter(me, NULL, NULL);
}

// What belongs to a call stack, but is kept for a thread: floating-point modes that the program
// set, and exceptions that it is in the middle of. At every switch the thread has none of either; a
// fiber that has some keeps them on its own stack meanwhile. That costs the others two looks.
static inline bool has_baggage(const mlt_sched *sched)
{
    return sched->exceptions->caught || sched->exceptions->uncaught ||
           mlt_arch_fp_mode() != sched->fp_mode;
}

static __attribute__((noinline)) MLT_SANITIZE_NONE void
go_with_baggage(mlt_sched *sched, mlt_fiber *me, mlt_fiber *to)
{
    mlt_exceptions exceptions = *sched->exceptions;
    uint64_t fp_mode = mlt_arch_fp_mode();
    if (exceptions.caught || exceptions.uncaught)
        *sched->exceptions = (mlt_exceptions){0};
    mlt_arch_fp_mode_set(sched->fp_mode);
    go(sched, me, to, sched->swap);
    mlt_arch_fp_mode_set(fp_mode);
    if (exceptions.caught || exceptions.uncaught)
        *sched->exceptions = exceptions;
}

// Of a million processes every stack is cold, and its page's translation too. But a process often
// wakes the same one as the last time. So, if there are many (CREW_COLD), the stack of the one that
// will likely run three switches from now is prefetched. (A token round a ring of a million: 100 to
// 150 ns a hop instead of 220 to 250; one switch ahead is too late.) Inlined early, or gcc sees a
// function without effects and drops it.
static inline __attribute__((always_inline)) void foresee(const mlt_fiber *pool,
                                                          const mlt_fiber *to)
{
    const char *sp = pool[pool[pool[to->woke].woke].woke].sp;
    __builtin_prefetch(sp);
    __builtin_prefetch(sp + 64);
    __builtin_prefetch(sp + 128);
    __builtin_prefetch(sp + 192);
    __builtin_prefetch(sp + 256);
}

// Ranks that were woken together run in their order, each for a short time. Where there are many of
// them, walking the page table for a cold stack takes longer than everything else, and one walk
// stops the next prefetch; so the stacks of the next eight are asked for at once, and their walks
// go on side by side. (A barrier of 8,192 ranks on a worker: 112 ns a rank instead of 245; of
// 500,000: 500 instead of 800.)
static inline __attribute__((always_inline)) void foresee_ranks(const mlt_fiber *to)
{
    const char *sp[FORESEEN];
    for (int i = 0; i < FORESEEN; i++) {
        sp[i] = to[FORESEEN + i].sp;
        __builtin_prefetch(&to[3 * FORESEEN + i]);
    }
    for (int i = 0; i < FORESEEN; i++)
        __builtin_prefetch(sp[i]);
    for (int i = 0; i < FORESEEN; i++)
        for (int line = 1; line < LINES; line++)
            __builtin_prefetch(sp[i] + 64 * line);
}

// Whether `to` is the first of eight ranks that run one after the other, of many.
static inline bool is_first_of_many(const mlt_sched *sched, const mlt_fiber *to)
{
    return to->id % FORESEEN == 0 && sched->head == to + 1 && !to->pool &&
           to->id + UINT64_C(4) * FORESEEN <= sched->alive && sched->alive > RANKS_COLD;
}

// `to` runs next. Where there are thousands, their stacks are cold: the one after it is asked for
// now.
static inline __attribute__((always_inline)) void look_ahead(const mlt_sched *sched,
                                                             const mlt_fiber *to)
{
    if (to->pool && sched->pool->alive > POOL_COLD)
        foresee(sched->pool->fibers, to);
    const mlt_fiber *soon = sched->head;
    if (soon) {
        __builtin_prefetch(soon->sp);
        __builtin_prefetch((const char *)soon->sp + 64);
    }
}

static inline void wait_for_work(mlt_sched *sched)
{
    if (MLT_UNLIKELY(sched->gate != NULL))
        mlt_gate_idle(sched->gate);
    while (sched->runnable == 0)
        sched->idle(sched->idle_arg);
}

// For a trace: the worker has nothing to run until one of its fibers can go on.
static MLT_COLD void idle_told(mlt_sched *sched)
{
    mlt_event event = {.kind = MLT_EVENT_IDLE, .peer = -1, .tag = -1, .since = mlt_arch_cycles()};
    wait_for_work(sched);
    sched->before = NULL;
    if (mlt_upcalls.event)
        mlt_upcalls.event(sched->idle_arg, NULL, &event);
}

// The general way to suspend: whatever the policy, and with all that is rare.
static __attribute__((noinline)) MLT_SANITIZE_NONE void suspend_slowly(mlt_sched *sched,
                                                                       mlt_fiber *me)
{
    me->saved_errno = *sched->error;
    bool breath = ++sched->switches % BREATH == 0;
    if (breath)
        take_breath(sched);
    mlt_fiber *to = &sched->home;
    sched->before = me->state == MLT_FIBER_ENDED ? NULL : me;
    if (sched->alive > 0 || sched->member) {
        if (MLT_UNLIKELY(sched->watched & MLT_WATCH_TRACE) && sched->runnable == 0)
            idle_told(sched);
        wait_for_work(sched);
        to = sched->policy->take ? sched->policy->take(sched) : mlt_policy_list_take(sched, breath);
        sched->runnable--;
        if (sched->measures) {
            sched->slack += sched->runnable;
            look_ahead(sched, to);
            if (is_first_of_many(sched, to))
                foresee_ranks(to);
        }
    }
    if (sched->canary)
        look_for_overflow(sched, me);
    if (to->state == MLT_FIBER_NEW)
        give_birth(sched, to);
    // Not before: the new fiber must not get the stack we stand on.
    if (me->state == MLT_FIBER_ENDED) {
        mlt_stack_give(stacks_of(sched, me), me->stack);
        me->stack = NULL;
        if (me->pool) { // nobody takes it before we have left
            me->next = sched->pool->free;
            sched->pool->free = me;
        }
    }
    if (to == me) {
        me->state = MLT_FIBER_RUNNING;
        *sched->error = me->saved_errno;
        if (sched->swap)
            sched->swap(me->user, me->user);
    } else if (has_baggage(sched)) {
        go_with_baggage(sched, me, to);
    } else {
        go(sched, me, to, sched->swap);
    }
}

// Apart, since it has a frame, which the way of the others must not have.
static __attribute__((noinline)) MLT_SANITIZE_NONE void
go_to_first_of_many(mlt_sched *sched, mlt_fiber *me, mlt_fiber *to)
{
    foresee_ranks(to);
    go(sched, me, to, sched->swap);
}

// The fast way, for policies with the scheduler's list and nothing else to see to (sched->plain)
// but what users exchange (swaps).
MLT_SANITIZE_INLINE void suspend(mlt_sched *sched, mlt_fiber *me, bool swaps)
{
    mlt_fiber *to = sched->ahead ? sched->ahead : sched->head;
    uint64_t switches = sched->switches + 1;
    if (MLT_UNLIKELY(!to || to == me || to->state == MLT_FIBER_NEW || switches % BREATH == 0 ||
                     has_baggage(sched))) {
        suspend_slowly(sched, me);
        return;
    }
    sched->switches = switches;
    sched->runnable--;
    if (me->saved_errno != *sched->error)
        me->saved_errno = *sched->error;
    to = mlt_policy_list_take(sched, false);
    look_ahead(sched, to);
    if (MLT_UNLIKELY(is_first_of_many(sched, to)))
        go_to_first_of_many(sched, me, to);
    else
        go(sched, me, to, swaps);
}

// Where the policy has a take. One that polls has the fiber look again and again, from its own
// stack, until it was woken.
static __attribute__((noinline)) MLT_SANITIZE_NONE void suspend_by_policy(mlt_sched *sched,
                                                                          mlt_fiber *me)
{
    const mlt_wait *wait = me->wait;
    if (!sched->policy->park || me->state != MLT_FIBER_PARKED || !wait) {
        suspend_slowly(sched, me);
        return;
    }
    sched->policy->park(sched, me);
    suspend_slowly(sched, me);
    while (sched->policy->polls && me->wait == wait) {
        me->state = MLT_FIBER_PARKED;
        sched->policy->park(sched, me);
        suspend_slowly(sched, me);
    }
}

// Everything but the fast way, out of line.
static __attribute__((noinline)) MLT_SANITIZE_NONE void suspend_otherwise(mlt_sched *sched,
                                                                          mlt_fiber *me)
{
    if (sched->list && !sched->pinned && sched->swap)
        suspend(sched, me, true);
    else if (sched->list && !sched->pinned)
        suspend(sched, me, false);
    else
        suspend_by_policy(sched, me);
}

static __attribute__((noinline)) MLT_SANITIZE_NONE void suspend_delegated(mlt_sched *sched,
                                                                          mlt_fiber *me)
{
    mlt_delegate_stops(sched->delegates);
    suspend_otherwise(sched, me);
    mlt_delegate_goes_on(sched->delegates);
}

static __attribute__((noinline)) MLT_SANITIZE_NONE void suspend_gated(mlt_sched *sched,
                                                                      mlt_fiber *me)
{
    uint32_t depth = mlt_gate_suspend(sched->gate);
    suspend_otherwise(sched, me);
    mlt_gate_resume(sched->gate, depth);
}

static inline void suspend_rarely(mlt_sched *sched, mlt_fiber *me)
{
    if (MLT_UNLIKELY(sched->gate != NULL))
        suspend_gated(sched, me);
    else if (MLT_UNLIKELY(sched->delegated))
        suspend_delegated(sched, me);
    else
        suspend_otherwise(sched, me);
}

void mlt_fiber_switch(mlt_sched *sched, mlt_fiber *to)
{
    mlt_fiber *me = sched->current;
    mlt_assert(to->state == MLT_FIBER_PARKED && to != me);
    me->state = MLT_FIBER_PARKED;
    me->wait = NULL;
    me->saved_errno = *sched->error;
    sched->switches++;
    go(sched, me, to, sched->swap);
}

static MLT_COLD void park_solo(mlt_sched *sched, mlt_fiber *me)
{
    if (sched->gate) {
        mlt_gate_park(sched->gate, me);
        return;
    }
    int saved = errno;
    while (me->state == MLT_FIBER_PARKED)
        sched->idle(sched->idle_arg);
    me->state = MLT_FIBER_RUNNING;
    errno = saved;
}

void mlt_sched_refuse(const mlt_sched *sched, const char *call)
{
    if (!sched->pinned)
        return;
    if (mlt_upcalls.refused)
        mlt_upcalls.refused(call, sched->pinned);
    mlt_fatal("%s must not wait, nor let others run", sched->pinned);
}

void mlt_fiber_rest(mlt_sched *sched)
{
    mlt_fiber *me = sched->current;
    me->wait = NULL;
    me->state = MLT_FIBER_PARKED;
    suspend_slowly(sched, me);
}

static MLT_COLD void park_watched(mlt_sched *sched, mlt_fiber *me, const mlt_wait *wait)
{
    bool message =
        wait->kind == MLT_WAIT_RECV || wait->kind == MLT_WAIT_SEND || wait->kind == MLT_WAIT_PROBE;
    mlt_event event = {.kind = MLT_EVENT_PARKS,
                       .how = (uint8_t)wait->kind,
                       .context = wait->context,
                       .peer = message ? wait->peer : -1,
                       .tag = message ? wait->tag : -1,
                       .bytes = message ? wait->bytes : 0};
    bool counts = sched->watched & MLT_WATCH_TOOLS;
    if ((wait->kind == MLT_WAIT_CSP || wait->kind == MLT_WAIT_WINDOW) && mlt_upcalls.describe)
        mlt_upcalls.describe(wait, &event);
    if (counts)
        mlt_upcalls.event(sched->idle_arg, me->user, &event);
    uint64_t start = counts ? mlt_os_now_ns() : 0;
    event.since = mlt_arch_cycles();
    me->wait = wait;
    me->state = MLT_FIBER_PARKED;
    if (sched->solo)
        park_solo(sched, me);
    else
        suspend_rarely(sched, me);
    event.kind = MLT_EVENT_GOES_ON;
    event.waited_ns = counts ? mlt_os_now_ns() - start : 0;
    mlt_upcalls.event(sched->idle_arg, me->user, &event);
}

// All that is rare about parking, out of line.
static __attribute__((noinline)) MLT_SANITIZE_NONE void
park_otherwise(mlt_sched *sched, mlt_fiber *me, const mlt_wait *wait)
{
    if (MLT_UNLIKELY(sched->pinned || sched->watched)) {
        mlt_sched_refuse(sched, wait->call);
        bool quiet = sched->quiet && sched->watched == MLT_WATCH_TRACE;
        sched->quiet = false;
        if (mlt_upcalls.event && sched->watched && !quiet) {
            park_watched(sched, me, wait);
            return;
        }
    }
    me->wait = wait;
    me->state = MLT_FIBER_PARKED;
    if (sched->solo)
        park_solo(sched, me);
    else
        suspend_rarely(sched, me);
}

void mlt_fiber_park(mlt_sched *sched, const mlt_wait *wait)
{
    mlt_fiber *me = sched->current;
    if (MLT_UNLIKELY(!sched->plain)) {
        park_otherwise(sched, me, wait);
        return;
    }
    me->wait = wait;
    me->state = MLT_FIBER_PARKED;
    suspend(sched, me, false);
}

static MLT_COLD void yield_slowly(mlt_sched *sched, mlt_fiber *me)
{
    put(sched, me, MLT_PUT_YIELD);
    suspend_rarely(sched, me);
}

void mlt_fiber_yield(mlt_sched *sched)
{
    if (sched->runnable == 0)
        return;
    mlt_fiber *me = sched->current;
    me->state = MLT_FIBER_RUNNABLE;
    if (MLT_UNLIKELY(!sched->plain)) {
        mlt_sched_refuse(sched, NULL);
        yield_slowly(sched, me);
        return;
    }
    mlt_policy_list_yield(sched, me);
    sched->runnable++;
    suspend(sched, me, false);
}

_Noreturn static inline __attribute__((always_inline)) void leave_for_good(mlt_sched *sched)
{
    mlt_fiber *me = sched->current;
    mlt_assert(me != &sched->home);
    me->state = MLT_FIBER_ENDED;
    if (me->pool)
        sched->pool->alive--;
    else
        sched->alive--;
    suspend_slowly(sched, me);
    __builtin_unreachable();
}

_Noreturn static MLT_COLD void leave_the_gate(mlt_sched *sched)
{
    mlt_gate_exit(sched->gate);
    leave_for_good(sched);
}

_Noreturn void mlt_fiber_exit(mlt_sched *sched)
{
    if (MLT_UNLIKELY(sched->gate != NULL))
        leave_the_gate(sched);
    leave_for_good(sched);
}

void mlt_sched_run(mlt_sched *sched)
{
    mlt_fiber *home = &sched->home;
    mlt_assert(!sched->solo && sched->current == home && home->state == MLT_FIBER_RUNNING);
    if (sched->alive == 0)
        return;
    home->state = MLT_FIBER_PARKED;
    suspend_slowly(sched, home);
    mlt_assert(sched->alive == 0 && (sched->pool || sched->runnable == 0));
}

// ---- Questions

mlt_fiber *mlt_sched_guard_owner(const mlt_sched *sched, const void *address)
{
    uint32_t owner = sched->stacks ? mlt_stack_guard_owner(sched->stacks, address) : MLT_STACK_NONE;
    if (owner < sched->count)
        return &sched->fibers[owner];
    const mlt_fiber_pool *pool = sched->pool;
    owner = pool ? mlt_stack_guard_owner(pool->stacks, address) : MLT_STACK_NONE;
    return pool && owner < pool->count ? &pool->fibers[owner] : NULL;
}

size_t mlt_sched_stack_size(const mlt_sched *sched)
{
    return sched->stacks ? sched->stacks->size : 0;
}

size_t mlt_fiber_stack_size(const mlt_sched *sched, const mlt_fiber *fiber)
{
    return fiber->stack ? stacks_of(sched, fiber)->size : 0;
}

const char *mlt_sched_guard_kind(const mlt_sched *sched)
{
    static const char *const names[] = {"none", "guard pages", "mprotect", "canary"};
    return names[sched->stacks ? sched->stacks->guard : 0];
}
