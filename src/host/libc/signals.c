// SPDX-License-Identifier: BSD-3-Clause
#include "host/libc/signals.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/export.h"
#include "base/memory.h"
#include "boot/job.h"
#include "gpu/gpu.h"
#include "host/caller.h"
#include "host/libc/libc.h"
#include "host/own.h"
#include "host/start.h"
#include "host/switch.h"
#include "p2p/p2p.h"
#include "p2p/worker.h"
#include "wire/wire.h"

enum {
    RESERVE = 128,            // bytes of a suspended stack that are left alone
    HANDLER_FRAMES = 1 << 20, // how deep a handler may be
};

// What a rank has set for a signal. Its own thread writes, and may be interrupted by a handler that
// reads: so a change is made in the slot that is not in use.
typedef struct installed {
    struct installed *next;
    int signal;
    volatile sig_atomic_t which, pending;
    struct sigaction slot[2];
    siginfo_t info; // of the pending one
} installed;

struct mlt_signals {
    installed *_Atomic first;
    volatile sig_atomic_t pending; // some entry is
    bool waits;                    // in a wait, after which it looks itself
    void *resume;                  // where its stack goes on after a frame for its handlers
};

// A worker in which some rank has set something.
typedef struct post {
    struct post *next;
    mlt_worker *_Atomic worker; // NULL: it has ended
    pid_t thread;
    _Atomic uint64_t relayed; // signals that another thread has passed on, by bit
} post;

static struct {
    pthread_mutex_t lock;
    bool installed[NSIG];
    struct sigaction before[NSIG]; // what the process had
    bool interrupts[NSIG];         // some handler has no SA_RESTART
    _Atomic uint32_t handlers[NSIG], ignores[NSIG];
    post *_Atomic posts; // grows only
} signals_all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local post *signals_here;

// The handler that runs on this thread. Left by siglongjmp, it is found out by the stack.
static _Thread_local struct {
    const char *frame; // NULL: none
    const mlt_fiber *fiber;
    sigset_t mask; // before it
} inside;

static bool is_function(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) ||
           (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

static bool is_ignored(const struct sigaction *action)
{
    return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_IGN;
}

static struct mlt_signals *signals_of(const mlt_rank *me)
{
    const mlt_rank_own *own = me ? me->own : NULL;
    return own ? own->signals : NULL;
}

static installed *signals_find(const mlt_rank *me, int signal)
{
    const struct mlt_signals *s = signals_of(me);
    installed *e = s ? atomic_load_explicit(&s->first, memory_order_relaxed) : NULL;
    while (e && e->signal != signal)
        e = e->next;
    return e;
}

static const struct sigaction *action_of(const installed *e)
{
    return &e->slot[e->which];
}

// ---- calling handlers

bool mlt_signals_inside(void)
{
    const char *at = __builtin_frame_address(0);
    return inside.frame && mlt_sched_self && inside.fiber == mlt_sched_self->current &&
           at < inside.frame && inside.frame - at < HANDLER_FRAMES;
}

void mlt_signals_leave(void)
{
    if (mlt_signals_inside())
        (void)pthread_sigmask(SIG_SETMASK, &inside.mask, NULL);
    inside.frame = NULL;
}

static void set(installed *e, const struct sigaction *action)
{
    e->slot[1 - e->which] = *action;
    atomic_signal_fence(memory_order_seq_cst);
    e->which = 1 - e->which;
}

// As the system does it.
static void call(installed *e, siginfo_t *info, void *context)
{
    struct sigaction action = *action_of(e);
    __typeof__(inside) outer = inside;
    sigset_t mask = action.sa_mask, before;
    if (action.sa_flags & SA_RESETHAND)
        set(e, &(struct sigaction){.sa_handler = SIG_DFL});
    sigaddset(&mask, e->signal);
    if (action.sa_flags & SA_NODEFER)
        sigdelset(&mask, e->signal);
    (void)pthread_sigmask(SIG_BLOCK, &mask, &before);
    inside.frame = __builtin_frame_address(0);
    inside.fiber = mlt_sched_self ? mlt_sched_self->current : NULL;
    inside.mask = context ? ((ucontext_t *)context)->uc_sigmask : before;
    if (action.sa_flags & SA_SIGINFO)
        action.sa_sigaction(e->signal, info, context);
    else
        action.sa_handler(e->signal);
    inside = outer;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

// What has come for the rank, on its own stack. Returns how many handlers ran.
static uint32_t call_pending(mlt_rank *me, void *context, bool *restarts)
{
    struct mlt_signals *s = signals_of(me);
    uint32_t count = 0;
    ucontext_t none;
    memset(&none, 0, context ? 0 : sizeof none);
    s->pending = 0;
    for (installed *e = atomic_load_explicit(&s->first, memory_order_relaxed); e; e = e->next) {
        if (!e->pending || !is_function(action_of(e)))
            continue;
        siginfo_t info = e->info;
        *restarts = *restarts && (action_of(e)->sa_flags & SA_RESTART);
        e->pending = 0;
        count++;
        call(e, &info, context ? context : &none);
    }
    return count;
}

// ---- ranks that are suspended

static void on_own_stack(void *rank)
{
    struct mlt_signals *s = signals_of(rank);
    void *dead, *resume = s->resume;
    bool restarts = true;
    int saved = errno;
    s->resume = NULL;
    (void)call_pending(rank, NULL, &restarts);
    errno = saved;
    mlt_arch_switch(&dead, resume);
}

static void push_frame(mlt_rank *me)
{
    struct mlt_signals *s = signals_of(me);
    mlt_fiber *fiber = me->fiber;
    if (s->resume || s->waits || !fiber->stack || fiber->state == MLT_FIBER_ENDED)
        return;
    s->resume = fiber->sp;
    uintptr_t top = ((uintptr_t)fiber->sp - RESERVE) & ~(uintptr_t)15;
    fiber->sp = mlt_arch_fiber_init((void *)top, on_own_stack, me);
}

static MLT_FOR_TAKEN void at_switch(const mlt_rank *from, const mlt_rank *to)
{
    const struct mlt_signals *s = signals_of(to);
    bool restarts = true;
    if (MLT_LIKELY(!s || !s->pending || s->waits))
        return;
    if (from != to)
        push_frame((mlt_rank *)(uintptr_t)to);
    else if (to->fiber == mlt_sched_self->current)
        (void)call_pending((mlt_rank *)(uintptr_t)to, NULL, &restarts);
}

// The idle function's, perhaps on the library's own thread (GOAL_OFFLOAD): ends the waits of ranks for
// which something has come.
static MLT_FOR_TAKEN void stop_waits(void *worker)
{
    mlt_worker *w = worker;
    for (uint32_t i = 0; i < w->count; i++) {
        const struct mlt_signals *s = signals_of(&w->ranks[i]);
        mlt_fiber *fiber = w->ranks[i].fiber;
        if (!s || !s->pending || !s->waits || fiber->state != MLT_FIBER_PARKED || !fiber->wait)
            continue;
        const mlt_wait *wait = fiber->wait;
        if ((wait->kind != MLT_WAIT_TIME && wait->kind != MLT_WAIT_FD) || !wait->stop)
            continue;
        *wait->stop = true;
        mlt_fiber_wake(w->sched, fiber);
    }
}

void mlt_signals_wait_begins(mlt_rank *me)
{
    struct mlt_signals *s = signals_of(me);
    if (s)
        s->waits = true;
}

uint32_t mlt_signals_wait_ends(mlt_rank *me, bool *restarts)
{
    struct mlt_signals *s = signals_of(me);
    *restarts = true;
    if (!s)
        return 0;
    s->waits = false;
    return s->pending ? call_pending(me, NULL, restarts) : 0;
}

// ---- what the system calls

static bool is_fault(int signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
           signal == SIGTRAP || signal == SIGSYS || signal == SIGABRT;
}

static void by_default(int signal, siginfo_t *info, void *context)
{
    const struct sigaction *before = &signals_all.before[signal];
    struct sigaction none = {.sa_handler = SIG_DFL};
    if (before->sa_flags & SA_SIGINFO) {
        before->sa_sigaction(signal, info, context);
    } else if (is_function(before)) {
        before->sa_handler(signal);
    } else if (signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU) {
        (void)raise(SIGSTOP);
    } else if (!is_ignored(before) && signal != SIGCHLD && signal != SIGCONT && signal != SIGURG &&
               signal != SIGWINCH) {
        (void)MLT_LIBC(sigaction)(signal, &none, NULL);
        (void)raise(signal); // it is blocked until we return
    }
}

// A rank that has no handler for it, but others have.
static void to_one(mlt_rank *me, int signal, siginfo_t *info, void *context)
{
    installed *e = signals_find(me, signal);
    if (e && is_function(action_of(e)))
        call(e, info, context);
    else if (!e || !is_ignored(action_of(e)))
        by_default(signal, info, context);
}

// The rank that runs here was interrupted on its own stack: the scheduler is not at work.
static mlt_rank *runs_here(const void *context)
{
    const mlt_sched *sched = mlt_sched_self;
    mlt_rank *me = mlt_rank_self();
    if (!me || sched->solo)
        return me;
    const mlt_fiber *f = sched->current;
    const char *sp = mlt_arch_signal_sp(context);
    bool runs = f == me->fiber && f->state == MLT_FIBER_RUNNING && f->stack && sp >= f->stack &&
                sp < f->stack + mlt_fiber_stack_size(sched, f);
    return runs ? me : NULL;
}

static void to_ranks(mlt_worker *w, int signal, const siginfo_t *info, void *context)
{
    for (uint32_t i = 0; i < w->count; i++) {
        installed *e = signals_find(&w->ranks[i], signal);
        if (!e || !is_function(action_of(e)))
            continue;
        e->info = *info;
        e->pending = signals_of(&w->ranks[i])->pending = 1;
    }
    mlt_rank *me = runs_here(context);
    bool restarts = true;
    if (me && signals_of(me) && signals_of(me)->pending)
        (void)call_pending(me, context, &restarts);
    atomic_store_explicit(&w->sched->nudged, !w->sched->solo, memory_order_relaxed);
    if (w->wire)
        mlt_job_wake(w->wire->own);
}

static void pass_on(int signal)
{
    for (post *p = atomic_load_explicit(&signals_all.posts, memory_order_acquire); p; p = p->next) {
        if (p == signals_here || !atomic_load_explicit(&p->worker, memory_order_relaxed))
            continue;
        atomic_fetch_or_explicit(&p->relayed, UINT64_C(1) << (signal - 1), memory_order_relaxed);
        (void)syscall(SYS_tgkill, getpid(), p->thread, signal);
    }
}

static uint32_t ranks_here(void)
{
    const post *p = atomic_load_explicit(&signals_all.posts, memory_order_acquire);
    const mlt_worker *w = p ? atomic_load_explicit(&p->worker, memory_order_relaxed) : NULL;
    return w ? mlt_job_proc_at(w->boot->job, w->boot->proc)->ranks : 0;
}

static void to_everybody(int signal, siginfo_t *info, void *context, bool relayed)
{
    if (atomic_load_explicit(&signals_all.handlers[signal], memory_order_relaxed) == 0) {
        if (atomic_load_explicit(&signals_all.ignores[signal], memory_order_relaxed) < ranks_here())
            by_default(signal, info, context);
        return;
    }
    if (!relayed)
        pass_on(signal);
    mlt_worker *w =
        signals_here ? atomic_load_explicit(&signals_here->worker, memory_order_relaxed) : NULL;
    if (w)
        to_ranks(w, signal, info, context);
}

static MLT_FOR_TAKEN void on_signal(int signal, siginfo_t *info, void *context)
{
    int saved = errno;
    uint64_t bit = UINT64_C(1) << (signal - 1);
    bool ours = info->si_code == SI_TKILL && info->si_pid == getpid();
    bool relayed =
        ours && signals_here &&
        (atomic_fetch_and_explicit(&signals_here->relayed, ~bit, memory_order_relaxed) & bit);
    bool fault = is_fault(signal) && info->si_code > 0;
    if (fault || signal == SIGPIPE || (ours && !relayed))
        to_one(mlt_thread_rank(), signal, info, context);
    else
        to_everybody(signal, info, context, relayed);
    errno = saved;
}

void mlt_signals_worker_ends(void)
{
    if (signals_here)
        atomic_store_explicit(&signals_here->worker, NULL, memory_order_relaxed);
}

static void count(const struct sigaction *action, int signal, uint32_t change)
{
    if (is_function(action))
        atomic_fetch_add_explicit(&signals_all.handlers[signal], change, memory_order_relaxed);
    if (is_ignored(action))
        atomic_fetch_add_explicit(&signals_all.ignores[signal], change, memory_order_relaxed);
}

void mlt_signals_free(mlt_rank *me)
{
    struct mlt_signals *s = signals_of(me);
    if (!s)
        return;
    ((mlt_rank_own *)me->own)->signals = NULL;
    atomic_signal_fence(memory_order_seq_cst); // from here on the handler does not find it
    installed *next;
    for (installed *e = atomic_load_explicit(&s->first, memory_order_relaxed); e; e = next) {
        next = e->next;
        count(action_of(e), e->signal, UINT32_MAX);
        free(e);
    }
    free(s);
}

void mlt_signals_forked(mlt_rank *me)
{
    for (int signal = 1; signal < NSIG; signal++) {
        if (!signals_all.installed[signal])
            continue;
        const installed *e = signals_find(me, signal);
        (void)MLT_LIBC(sigaction)(signal, e ? action_of(e) : &signals_all.before[signal], NULL);
    }
}

// ---- what ranks call

#if MLT_TAKES_OVER

static void enlist(mlt_worker *w)
{
    if (signals_here)
        return;
    post *p = mlt_xcalloc(1, sizeof *p);
    *p = (post){.worker = w, .thread = gettid()};
    p->next = atomic_load_explicit(&signals_all.posts, memory_order_relaxed);
    signals_here = p;
    atomic_store_explicit(&signals_all.posts, p,
                          memory_order_release); // under the lock; pairs with pass_on
    if (w->count == 1)
        return;
    mlt_p2p_take_nudges(w, stop_waits);
    mlt_switch_want(w->sched, MLT_SWITCH_SIGNALS, at_switch);
}

// The system's handler for it is ours from now on. With the lock.
static int install(int signal, const struct sigaction *action)
{
    signals_all.interrupts[signal] |= is_function(action) && !(action->sa_flags & SA_RESTART);
    struct sigaction ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    ours.sa_flags |= action->sa_flags & (SA_NOCLDSTOP | SA_NOCLDWAIT);
    ours.sa_flags |= is_fault(signal) ? SA_ONSTACK : 0;
    ours.sa_flags |= signals_all.interrupts[signal] ? 0 : SA_RESTART;
    ours.sa_flags |= signal == SIGURG ? SA_NODEFER : 0; // other ranks run in it (fiber/preempt.h)
    int failed = MLT_LIBC(sigaction)(
        signal, &ours, signals_all.installed[signal] ? NULL : &signals_all.before[signal]);
    signals_all.installed[signal] |= !failed;
    return failed;
}

static installed *entry_for(mlt_rank *me, int signal)
{
    mlt_rank_own *own = mlt_own_of(me);
    installed *e = signals_find(me, signal);
    if (e)
        return e;
    if (!own->signals)
        own->signals = mlt_xcalloc(1, sizeof *own->signals);
    e = mlt_xcalloc(1, sizeof *e);
    e->signal = signal;
    e->slot[0].sa_handler = SIG_DFL;
    e->next = atomic_load_explicit(&own->signals->first, memory_order_relaxed);
    atomic_store_explicit(&own->signals->first, e, memory_order_release);
    return e;
}

// What the rank has, or the process had; the crash report's handler is the default.
static void signals_tell(const mlt_rank *me, int signal, struct sigaction *old)
{
    const installed *e = signals_find(me, signal);
    if (e)
        *old = *action_of(e);
    else if (signals_all.installed[signal])
        *old = signals_all.before[signal];
    else
        (void)MLT_LIBC(sigaction)(signal, NULL, old);
    if (!e && mlt_caller_is_ours((void *)(uintptr_t)old->sa_handler))
        *old = (struct sigaction){.sa_handler = SIG_DFL};
}

static int change(mlt_rank *me, int signal, const struct sigaction *action)
{
    sigset_t every, mask;
    sigfillset(&every);
    (void)pthread_sigmask(SIG_SETMASK, &every, &mask);
    pthread_mutex_lock(&signals_all.lock);
    int failed = install(signal, action);
    if (!failed) {
        enlist(me->worker);
        installed *e = entry_for(me, signal);
        count(action_of(e), signal, UINT32_MAX);
        count(action, signal, 1);
        set(e, action);
    }
    pthread_mutex_unlock(&signals_all.lock);
    (void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return failed;
}

static bool is_settable(int signal)
{
    return signal > 0 && signal < NSIG && signal != SIGKILL && signal != SIGSTOP &&
           (signal < 32 || signal >= SIGRTMIN);
}

static int set_action(mlt_rank *me, int signal, const struct sigaction *action,
                      struct sigaction *old)
{
    struct sigaction was;
    signals_tell(me, signal, &was);
    int failed = action ? change(me, signal, action) : 0;
    if (!failed && old)
        *old = was;
    return failed;
}

MLT_INTERPOSE int sigaction(int signal, const struct sigaction *restrict action,
                            struct sigaction *restrict old)
{
    mlt_rank *me = mlt_caller_rank(MLT_CALLER);
    if (signal == SIGSEGV && action && !mlt_caller_is_ours(MLT_CALLER))
        mlt_gpu_no_faults();
    if (!me || !is_settable(signal))
        return MLT_LIBC(sigaction)(signal, action, old);
    return set_action(me, signal, action, old);
}

static sighandler_t set_handler(mlt_rank *me, int number, sighandler_t handler, int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old;
    if (flags == SA_RESTART)
        sigaddset(&action.sa_mask, number);
    return set_action(me, number, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

#define SETS_HANDLER(name, libcs, flags)                                                           \
    MLT_INTERPOSE sighandler_t name(int number, sighandler_t handler)                              \
    {                                                                                              \
        mlt_rank *me = mlt_caller_rank(MLT_CALLER);                                                \
        if (number == SIGSEGV && !mlt_caller_is_ours(MLT_CALLER))                                  \
            mlt_gpu_no_faults();                                                                   \
        return !me || !is_settable(number) || handler == SIG_ERR                                   \
                   ? MLT_LIBC(libcs)(number, handler)                                              \
                   : set_handler(me, number, handler, flags);                                      \
    }

extern sighandler_t bsd_signal(int number, sighandler_t handler);
SETS_HANDLER(signal, signal, SA_RESTART)
SETS_HANDLER(bsd_signal, signal, SA_RESTART)
// What `signal` is in a program that is compiled for System V.
SETS_HANDLER(__sysv_signal, __sysv_signal, SA_RESETHAND | SA_NODEFER)
SETS_HANDLER(sysv_signal, sysv_signal, SA_RESETHAND | SA_NODEFER)

// A rank that signals its process means itself.
MLT_INTERPOSE int kill(pid_t process, int number)
{
    const mlt_rank *me = mlt_caller_rank(MLT_CALLER);
    if (!me || number == 0 || process != getpid())
        return MLT_LIBC(kill)(process, number);
    return (int)syscall(SYS_tgkill, process, gettid(), number);
}

#endif
