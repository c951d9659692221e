// SPDX-License-Identifier: BSD-3-Clause
#include "fiber/deep.h"

#include "arch/arch.h"
#include "base/log.h"
#include "fiber/sanitize.h"
#include "fiber/stack.h"
#include "os/os.h"

enum { BYTES = 256 * 1024 }; // touched as far as it is used

struct mlt_deep {
    char *memory; // a guard, then the stack
    bool busy;
    void (*idle)(void *arg); // the scheduler's, as asked for
    void (*breathe)(void *arg);
    void (*run)(void *arg); // at hand
    void *arg;
    void *own_sp, *caller_sp;
};

static void idle_there(void *arg)
{
    mlt_sched *sched = mlt_sched_self;
    mlt_deep_call(sched, sched->deep->idle, arg);
}

static void breathe_there(void *arg)
{
    mlt_sched *sched = mlt_sched_self;
    mlt_deep_call(sched, sched->deep->breathe, arg);
}

mlt_status mlt_deep_open(mlt_sched *sched, size_t stack_size)
{
    // A sanitizer would have to be told of it, and wants far larger stacks anyway.
    if (sched->deep || !stack_size || stack_size >= MLT_STACK_ROOMY || MLT_SANITIZED)
        return MLT_OK;
    size_t guard = mlt_os_page_size();
    struct mlt_deep *deep = mlt_os_map(sizeof *deep);
    if (!deep)
        return MLT_ERR_NO_MEMORY;
    deep->memory = mlt_os_map_stacks(BYTES + guard);
    if (!deep->memory || mlt_os_protect(deep->memory, guard) != MLT_OK) {
        if (deep->memory)
            mlt_os_unmap(deep->memory, BYTES + guard);
        mlt_os_unmap(deep, sizeof *deep);
        return MLT_ERR_NO_MEMORY;
    }
    deep->idle = sched->idle;
    deep->breathe = sched->breathe;
    sched->idle = idle_there;
    if (sched->breathe)
        sched->breathe = breathe_there;
    sched->deep = deep;
    return MLT_OK;
}

void mlt_deep_free(mlt_sched *sched)
{
    if (!sched->deep)
        return;
    mlt_os_unmap(sched->deep->memory, BYTES + mlt_os_page_size());
    mlt_os_unmap(sched->deep, sizeof *sched->deep);
    sched->deep = NULL;
}

void (*mlt_deep_idle(const mlt_sched *sched))(void *)
{
    return sched->deep ? sched->deep->idle : sched->idle;
}

void mlt_deep_set_idle(mlt_sched *sched, void (*idle)(void *arg))
{
    if (sched->deep)
        sched->deep->idle = idle;
    else
        sched->idle = idle;
}

static _Noreturn void enter(void *arg)
{
    struct mlt_deep *deep = arg;
    deep->run(deep->arg);
    mlt_arch_switch(&deep->own_sp, deep->caller_sp);
    mlt_fatal("a stack was entered again after its end");
}

void mlt_deep_call(mlt_sched *sched, void (*run)(void *arg), void *arg)
{
    struct mlt_deep *deep = sched ? sched->deep : NULL;
    if (!deep || deep->busy || !sched->current->stack || mlt_sched_self != sched) {
        run(arg);
        return;
    }
    deep->busy = true;
    deep->run = run;
    deep->arg = arg;
    deep->own_sp = mlt_arch_fiber_init(deep->memory + mlt_os_page_size() + BYTES, enter, deep);
    mlt_arch_switch(&deep->caller_sp, deep->own_sp);
    deep->busy = false;
}
