// SPDX-License-Identifier: BSD-3-Clause
// A PAR is a record on its parent's stack; its processes count it down, and the last one wakes the
// parent. When a process ends, its record (mlt_proc) is zero again, except for what the next one
// overwrites.
#include "csp/proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/export.h"
#include "base/memory.h"
#include "csp/chan.h"
#include "fiber/await.h"
#include "p2p/p2p.h"

// ---- names

const char *mlt_proc_name(const mlt_csp *csp, const mlt_fiber *fiber, char *text, size_t size)
{
    const mlt_proc *proc = mlt_proc_of(csp, fiber);
    const mlt_rank *rank = fiber->user;
    if (!proc && csp->worker->boot && csp->worker->boot->job->launched && rank)
        snprintf(text, size, "rank %d", rank->world);
    else if (!proc)
        snprintf(text, size, "main");
    else if (!proc->name)
        snprintf(text, size, "process %u", proc->number);
    else if (proc->of->vector)
        snprintf(text, size, "%s[%u]", proc->name, proc->index);
    else
        snprintf(text, size, "%s", proc->name);
    return text;
}

MLT_EXPORT const char *csp_self(void)
{
    static _Thread_local char text[128];
    const mlt_csp *csp = mlt_csp_enter("csp_self");
    return mlt_proc_name(csp, csp->sched->current, text, sizeof text);
}

// ---- ends that a process holds

static void proc_let_go(mlt_held held, int result)
{
    csp_chan *chan = (csp_chan *)(held & ~(mlt_held)1);
    bool writer = held & 1;
    if (result == CSP_POISONED)
        mlt_chan_poison(chan);
    else
        mlt_chan_retire(chan, writer);
}

static MLT_COLD void let_all_go(mlt_proc *proc, int result)
{
    for (int i = 0; i < MLT_PROC_HELD; i++)
        if (proc->held[i])
            proc_let_go(proc->held[i], result);
    for (const mlt_held *h = proc->more; h && *h; h++)
        proc_let_go(*h, result);
    free(proc->more);
    memset(proc->held, 0, sizeof proc->held);
    proc->more = NULL;
}

static void hold(csp_chan *chan, bool writer, const char *call)
{
    mlt_csp *csp = mlt_csp_enter(call);
    mlt_chan_check(csp, chan, call);
    mlt_proc *proc = mlt_proc_of(csp, csp->sched->current);
    chan->last_user[writer] = csp->sched->current;
    if (!proc) // a rank ends with the program, or nearly so
        return;
    mlt_held held = (mlt_held)chan | writer;
    for (int i = 0; i < MLT_PROC_HELD; i++) {
        if (proc->held[i])
            continue;
        proc->held[i] = held;
        return;
    }
    size_t n = 0;
    while (proc->more && proc->more[n])
        n++;
    if ((n & (n + 1)) == 0) // room for 2^k - 1 and the 0
        proc->more = mlt_xrealloc(proc->more, 2 * (n + 1), sizeof *proc->more);
    proc->more[n] = held;
    proc->more[n + 1] = 0;
}

MLT_EXPORT void csp_hold_in(csp_in *in)
{
    hold(mlt_chan_of_in(in), false, "csp_hold");
}

MLT_EXPORT void csp_hold_out(csp_out *out)
{
    hold(mlt_chan_of_out(out), true, "csp_hold");
}

void mlt_proc_lets_go(mlt_csp *csp, csp_chan *chan, bool writer)
{
    mlt_proc *proc = mlt_proc_of(csp, csp->sched->current);
    mlt_held held = (mlt_held)chan | writer;
    if (!proc)
        return;
    for (int i = 0; i < MLT_PROC_HELD; i++) {
        if (proc->held[i] != held)
            continue;
        proc->held[i] = 0;
        return;
    }
    mlt_held *at = proc->more;
    while (at && *at && *at != held)
        at++;
    for (; at && *at; at++)
        at[0] = at[1];
}

// ---- running

static void proc_ends(mlt_csp *csp, mlt_proc *proc, int result)
{
    if (MLT_UNLIKELY(proc->held[0] || proc->held[1] || proc->held[2] || proc->more))
        let_all_go(proc, result);
    mlt_proc_team_of *team = proc->of;
    if (team->results)
        memcpy(team->results + proc->index * team->stride, &result, sizeof result);
    if (MLT_UNLIKELY(result != 0) && proc->index < team->who) {
        team->first = result;
        team->who = proc->index;
    }
    if (--team->wait.number == 0 && team->waiter)
        mlt_fiber_wake(csp->sched, team->waiter);
}

static void proc_main(void *rank)
{
    mlt_csp *csp = mlt_csp_self;
    mlt_proc *proc = &csp->procs[csp->sched->current->id];
    proc_ends(csp, proc, proc->run(proc->arg));
}

static mlt_proc *start(mlt_csp *csp, csp_function *run, void *arg, const char *name,
                       mlt_proc_team_of *team, uint32_t index, const char *call)
{
    mlt_fiber *fiber = mlt_fiber_pool_spawn(csp->sched, proc_main, mlt_csp_rank());
    if (MLT_UNLIKELY(!fiber))
        mlt_csp_fault(call, "%u processes run at once; there cannot be more",
                      csp->sched->pool->limit);
    mlt_proc *proc = &csp->procs[fiber->id];
    proc->run = run;
    proc->arg = arg;
    proc->name = name;
    proc->index = index;
    proc->number = (uint32_t)++csp->processes;
    proc->of = team;
    return proc;
}

static void team_begins(mlt_proc_team_of *team, size_t count)
{
    team->wait.number = count;
    team->waiter = NULL;
    team->first = 0;
    team->who = UINT32_MAX;
}

static void await(mlt_csp *csp, mlt_proc_team_of *team, const char *call, mlt_csp_wait_kind kind,
                  const void *what)
{
    team->waiter = csp->sched->current;
    const mlt_wait *wait = mlt_csp_wait_for(&team->wait, call, kind, what, team->wait.number);
    while (team->wait.number > 0)
        mlt_fiber_park(csp->sched, wait);
}

static void proc_check_count(size_t count, const char *call)
{
    if (count >= UINT32_MAX)
        mlt_csp_fault(call, "%zu processes are too many", count);
}

int mlt_proc_par(csp_proc *procs, size_t count, const char *call)
{
    mlt_csp *csp = mlt_csp_enter(call);
    proc_check_count(count, call);
    for (size_t i = 0; i < count; i++)
        if (MLT_UNLIKELY(!procs || !procs[i].run))
            mlt_csp_fault(call, "process %zu has no function", i);
    mlt_proc_team_of team = {.results = (char *)procs + offsetof(csp_proc, result),
                             .stride = sizeof *procs};
    team_begins(&team, count);
    for (size_t i = 0; i < count; i++)
        start(csp, procs[i].run, procs[i].arg, procs[i].name, &team, (uint32_t)i, call);
    await(csp, &team, call, MLT_CSP_PAR, NULL);
    return team.first;
}

MLT_EXPORT int csp_par(csp_proc *procs, size_t count)
{
    return mlt_proc_par(procs, count, "csp_par");
}

MLT_EXPORT int csp_par_each(csp_function *run, void *args, size_t count, size_t size,
                            const char *name, int *results)
{
    mlt_csp *csp = mlt_csp_enter("csp_par_each");
    proc_check_count(count, "csp_par_each");
    if (!run)
        mlt_csp_fault("csp_par_each", "the function is NULL");
    mlt_proc_team_of team = {
        .results = (char *)results, .stride = sizeof *results, .vector = name != NULL};
    team_begins(&team, count);
    for (size_t i = 0; i < count; i++)
        start(csp, run, (char *)args + i * size, name, &team, (uint32_t)i, "csp_par_each");
    await(csp, &team, "csp_par_each", MLT_CSP_PAR, NULL);
    return team.first;
}

MLT_EXPORT int csp_seq(csp_proc *procs, size_t count)
{
    (void)mlt_csp_enter("csp_seq");
    int first = 0;
    for (size_t i = 0; i < count; i++)
        if (!procs || !procs[i].run)
            mlt_csp_fault("csp_seq", "process %zu has no function", i);
    for (size_t i = 0; i < count; i++) {
        procs[i].result = procs[i].run(procs[i].arg);
        if (first == 0)
            first = procs[i].result;
    }
    return first;
}

// ---- fork and join

MLT_EXPORT csp_child *csp_fork(csp_function *run, void *arg, const char *name)
{
    mlt_csp *csp = mlt_csp_enter("csp_fork");
    if (!run)
        mlt_csp_fault("csp_fork", "the function is NULL");
    csp_child *child = mlt_pool_take(&csp->children);
    child->team.results = NULL;
    child->team.vector = false;
    team_begins(&child->team, 1);
    child->magic = MLT_CHILD_MAGIC;
    child->csp = csp;
    const mlt_proc *proc = start(csp, run, arg, name, &child->team, 0, "csp_fork");
    child->fiber = &csp->sched->pool->fibers[proc - csp->procs];
    child->name = name;
    child->number = proc->number;
    return child;
}

static csp_status proc_join(csp_child *child, int *result, csp_time deadline, const char *call)
{
    mlt_csp *csp = mlt_csp_enter(call);
    if (!child)
        mlt_csp_fault(call, "the child is NULL");
    if (child->magic != MLT_CHILD_MAGIC)
        mlt_csp_fault(call, "this is no child, or one that was joined already");
    if (child->csp != csp)
        mlt_csp_fault(call, "the child belongs to another worker: only processes of that one may "
                            "join it");
    if (child->team.waiter)
        mlt_csp_fault(call, "another process joins this child already");
    if (child->team.wait.number > 0 && deadline == CSP_NEVER) {
        await(csp, &child->team, call, MLT_CSP_JOIN, child);
    } else if (child->team.wait.number > 0) {
        mlt_deadline late;
        child->team.waiter = csp->sched->current;
        const mlt_wait *wait =
            mlt_csp_wait_for(&child->team.wait, call, MLT_CSP_JOIN, child, child->team.wait.number);
        mlt_deadline_begin(csp->sched, &late, deadline);
        while (child->team.wait.number > 0 && !late.passed)
            mlt_fiber_park(csp->sched, wait);
        mlt_deadline_end(&late);
        child->team.waiter = NULL;
        if (child->team.wait.number > 0)
            return CSP_LATE;
    }
    if (result)
        *result = child->team.first;
    child->magic = 0;
    mlt_pool_give_last(&csp->children, child);
    return CSP_OK;
}

MLT_EXPORT csp_status csp_join_by(csp_child *child, int *result, csp_time deadline)
{
    return proc_join(child, result, deadline, "csp_join_by");
}

MLT_EXPORT int csp_join(csp_child *child)
{
    int result = 0;
    (void)proc_join(child, &result, CSP_NEVER, "csp_join");
    return result;
}

MLT_EXPORT void csp_yield(void)
{
    mlt_csp *csp = mlt_csp_enter("csp_yield");
    if (MLT_UNLIKELY(csp->sched->pinned))
        mlt_sched_refuse(csp->sched, "csp_yield");
    if (csp->sched->runnable > 0)
        mlt_fiber_yield(csp->sched);
    else
        mlt_p2p_poll(mlt_csp_rank()); // what the others wait for may come from outside
}
