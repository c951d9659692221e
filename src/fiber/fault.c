// SPDX-License-Identifier: BSD-3-Clause
#include "fiber/fault.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/log.h"
#include "fiber/sanitize.h"
#include "fiber/stack.h"
#include "os/os.h"

enum {
    // Room for the callback besides the kernel's frame, whose size depends on the vector registers.
    CALLBACK_BYTES = 64 * 1024,
    // Each costs two of the process's 65,530 mappings and a microsecond.
    EXPOSED_MAX = 10000,
};

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

static void (*describe_fault)(const mlt_fault *fault); // set once, before there are handlers
static atomic_flag described = ATOMIC_FLAG_INIT;

// Of the thread that describes.
static mlt_fault first;
static _Thread_local bool describes;
static bool is_told;

static _Thread_local void *own_stack; // alternate stack that we made for this thread
static _Thread_local size_t own_bytes;

// Once for the process. A thread that comes second waits for its end.
static void begin_to_tell(void)
{
    // Relaxed: nothing is passed from one thread to another here, and the second one only waits.
    if (atomic_flag_test_and_set_explicit(&described, memory_order_relaxed))
        for (;;)
            pause();
    describes = true;
}

static void tell(void)
{
    if (describe_fault)
        describe_fault(&first);
    is_told = true;
}

static void default_action(int signal_number)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    (void)sigaction(signal_number, &action, NULL);
}

// Other threads may go on meanwhile. What they change makes the core file poorer, no worse: the
// list changes only when a worker comes or goes, and stacks stay mapped until then.
static void expose(const mlt_stacks *stacks, const mlt_fiber *fibers, uint32_t count,
                   const mlt_fiber *current, uint32_t *exposed)
{
    for (uint32_t i = 0; i < count && *exposed < EXPOSED_MAX; i++) {
        const mlt_fiber *fiber = &fibers[i];
        if (!fiber->stack || fiber == current)
            continue;
        mlt_stack_expose(stacks, fiber->stack, fiber->sp);
        ++*exposed;
    }
}

void mlt_fault_expose_stacks(void)
{
    uint32_t exposed = 0;
    for (mlt_sched *sched = mlt_sched_list; sched; sched = sched->next_sched) {
        const mlt_fiber *current = sched->current;
        const mlt_fiber_pool *pool = sched->pool;
        if (current->stack)
            mlt_stack_expose(current->pool ? pool->stacks : sched->stacks, current->stack,
                             current->stack);
        expose(sched->stacks, sched->fibers, sched->count, current, &exposed);
        if (pool)
            expose(pool->stacks, pool->fibers, pool->count, current, &exposed);
    }
}

// Not by returning: what lies below may be a fault of ours, by another signal.
static _Noreturn void die_of(int signal_number)
{
    sigset_t just;
    default_action(signal_number);
    sigemptyset(&just);
    sigaddset(&just, signal_number);
    (void)pthread_sigmask(SIG_UNBLOCK, &just, NULL);
    (void)raise(signal_number);
    mlt_leave(128 + signal_number);
}

// A fault while the first one was described: once more, with less; or what came after.
static _Noreturn void on_second_fault(void)
{
    if (!is_told && ++first.failures < MLT_FAULT_TRIES) {
        first.user = NULL;
        first.fiber = NULL;
        first.overflow = false;
        first.stack_size = 0;
        tell();
    }
    die_of(first.signal);
}

static void on_fault(int signal_number, siginfo_t *info, void *context)
{
    if (mlt_arch_peek_failed(context))
        return;
    if (describes)
        on_second_fault();
    begin_to_tell();
    first = (mlt_fault){
        .signal = signal_number,
        .sent = info->si_code <= 0,
        .address = info->si_code > 0 ? info->si_addr : NULL,
        .pc = mlt_arch_signal_pc(context),
        .sp = mlt_arch_signal_sp(context),
    };
    mlt_sched *sched = mlt_sched_self;
    if (sched) {
        mlt_fiber *owner = first.address ? mlt_sched_guard_owner(sched, first.address) : NULL;
        first.overflow = owner == sched->current && owner;
        first.fiber = sched->current;
        first.stack_size = mlt_fiber_stack_size(sched, sched->current);
    }
    first.user = mlt_fiber_user;
    tell();
    mlt_fault_expose_stacks();
    default_action(signal_number);
    // An instruction at fault runs again when we return, and the core shows it. What was sent must
    // be sent again; it waits until we return.
    if (!first.sent)
        return;
    sigset_t just;
    sigemptyset(&just);
    sigaddset(&just, signal_number);
    (void)pthread_sigmask(SIG_BLOCK, &just, NULL);
    (void)raise(signal_number);
}

void mlt_fault_install(void (*describe)(const mlt_fault *fault))
{
    if (MLT_SANITIZED)
        return;
    describe_fault = describe;
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        struct sigaction action;
        if (sigaction(signals[i], NULL, &action) != 0 || (action.sa_flags & SA_SIGINFO) ||
            action.sa_handler != SIG_DFL)
            continue;
        memset(&action, 0, sizeof action);
        action.sa_sigaction = on_fault;
        // A fault of the handler's own comes to the handler, too.
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        sigfillset(&action.sa_mask);
        for (size_t k = 0; k < sizeof signals / sizeof signals[0]; k++)
            sigdelset(&action.sa_mask, signals[k]);
        (void)sigaction(signals[i], &action, NULL);
    }
}

bool mlt_fault_catches(void)
{
    struct sigaction now;
    return !MLT_SANITIZED && sigaction(SIGSEGV, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
           now.sa_sigaction == on_fault;
}

mlt_status mlt_fault_thread_init(void)
{
    stack_t stack;
    if (MLT_SANITIZED || (sigaltstack(NULL, &stack) == 0 && !(stack.ss_flags & SS_DISABLE)))
        return MLT_OK;
    long frame = sysconf(_SC_MINSIGSTKSZ);
    size_t page = mlt_os_page_size();
    size_t bytes = CALLBACK_BYTES + (frame > 0 ? MLT_FAULT_TRIES * (size_t)frame : 0);
    bytes = (bytes + page - 1) / page * page;
    memset(&stack, 0, sizeof stack);
    stack.ss_sp = mlt_os_map(bytes);
    stack.ss_size = bytes;
    if (!stack.ss_sp)
        return MLT_ERR_NO_MEMORY;
    if (sigaltstack(&stack, NULL) != 0) {
        mlt_os_unmap(stack.ss_sp, bytes);
        return MLT_ERR_SYSTEM;
    }
    own_stack = stack.ss_sp;
    own_bytes = bytes;
    return MLT_OK;
}

void mlt_fault_thread_fini(void)
{
    if (!own_stack)
        return;
    stack_t now, off;
    memset(&off, 0, sizeof off);
    off.ss_flags = SS_DISABLE;
    // The program may have put its own in place of ours meanwhile.
    if (sigaltstack(NULL, &now) == 0 && now.ss_sp == own_stack)
        (void)sigaltstack(&off, NULL);
    mlt_os_unmap(own_stack, own_bytes);
    own_stack = NULL;
}

_Noreturn void mlt_fault_overflow(mlt_sched *sched, mlt_fiber *fiber)
{
    begin_to_tell();
    first = (mlt_fault){
        .signal = SIGSEGV,
        .overflow = true,
        .address = fiber->stack - 1,
        .user = fiber->user,
        .fiber = fiber,
        .stack_size = mlt_fiber_stack_size(sched, fiber),
    };
    tell();
    mlt_fault_expose_stacks();
    die_of(SIGSEGV);
}
