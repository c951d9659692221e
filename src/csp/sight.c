// SPDX-License-Identifier: BSD-3-Clause
#include "csp/sight.h"

#include "base/above.h"
#include "csp/barrier.h"
#include "csp/proc.h"
#include "csp/state.h"
#include "csp/wait.h"

uint32_t mlt_csp_process(const mlt_fiber *fiber)
{
    const mlt_proc *proc = mlt_csp_self ? mlt_proc_of(mlt_csp_self, fiber) : NULL;
    return proc ? proc->number : 0;
}

const char *mlt_csp_process_name(char *text, size_t size)
{
    const mlt_csp *csp = mlt_csp_self;
    const mlt_proc *proc = csp ? mlt_proc_of(csp, csp->sched->current) : NULL;
    text[0] = '\0';
    return proc && proc->name ? mlt_proc_name(csp, csp->sched->current, text, size) : text;
}

static void describe_chan(const csp_chan *chan, mlt_sight *sight)
{
    sight->thing = (uint32_t)chan->number;
    sight->held = chan->held;
    sight->queue = chan->queue != NULL;
}

void mlt_csp_describe(const mlt_wait *wait, mlt_sight *sight)
{
    const mlt_csp_wait *w = wait->csp;
    if (!mlt_csp_self || !w)
        return;
    sight->inner = (uint8_t)(1 + w->kind);
    sight->process = mlt_csp_process(mlt_csp_self->sched->current);
    if (w->kind == MLT_CSP_READ || w->kind == MLT_CSP_WRITE || w->kind == MLT_CSP_REMOTE)
        describe_chan(w->what, sight);
    else if (w->kind == MLT_CSP_SYNC)
        sight->thing = (uint32_t)((const csp_barrier *)w->what)->number;
    else if (w->kind == MLT_CSP_UPPER)
        sight->queue = true;
    else
        sight->thing = (uint32_t)w->number;
}

void mlt_csp_tell_poison(const csp_chan *chan)
{
    mlt_csp *csp = chan->csp;
    mlt_sight sight = {.kind = MLT_SIGHT_POISONED,
                       .thing = (uint32_t)chan->number,
                       .process = mlt_csp_process(csp->sched->current)};
    if (csp->worker->watched & MLT_WATCH_TRACE && mlt_above.saw)
        mlt_above.saw(csp->worker, mlt_csp_rank(), &sight);
}
