// SPDX-License-Identifier: BSD-3-Clause
#include "csp/event.h"

#include "base/upcalls.h"
#include "csp/barrier.h"
#include "csp/net/port.h"
#include "csp/proc.h"
#include "csp/state.h"
#include "csp/wait.h"

uint32_t mlt_csp_process_number(const mlt_fiber *fiber)
{
    const mlt_proc *proc = mlt_csp_self ? mlt_proc_of(mlt_csp_self, fiber) : NULL;
    return proc ? proc->number : 0;
}

bool mlt_csp_process_label(const mlt_fiber *fiber, mlt_process_label *out)
{
    const mlt_proc *proc = mlt_csp_self ? mlt_proc_of(mlt_csp_self, fiber) : NULL;
    if (!proc)
        return false;
    out->name = proc->name;
    out->number = proc->number;
    out->index = proc->name && proc->of && proc->of->vector ? (int64_t)proc->index : -1;
    return true;
}

// If a trace listens.
static bool is_traced(const mlt_csp *csp)
{
    return csp->worker->watched & MLT_WATCH_TRACE && mlt_upcalls.event;
}

static void event_emit(mlt_csp *csp, const mlt_event *event)
{
    if (is_traced(csp))
        mlt_upcalls.event(csp->worker, mlt_csp_rank(), event);
}

// Numbers of channels and ports come from one counter. `told` says that a trace has the name.
static void event_declare(mlt_csp *csp, bool *told, uint64_t number, const char *name,
                          uint64_t room)
{
    mlt_event event = {
        .kind = MLT_EVENT_NAMED, .thing = (uint32_t)number, .held = room, .name = name};
    if (*told || !is_traced(csp))
        return;
    *told = true;
    event_emit(csp, &event);
}

static void event_declare_chan(csp_chan *chan)
{
    char name[64];
    if (!chan->told)
        event_declare(chan->csp, &chan->told, chan->number, mlt_chan_name(chan, name, sizeof name),
                      chan->capacity);
}

static void describe_chan(csp_chan *chan, mlt_event *event)
{
    event_declare_chan(chan);
    event->thing = (uint32_t)chan->number;
    event->held = chan->held;
    event->queue = chan->queue != NULL;
}

static void describe_port(csp_port *port, mlt_event *event)
{
    char name[sizeof port->name];
    event->thing = (uint32_t)port->id;
    if (!port->told)
        event_declare(port->csp, &port->told, port->id, mlt_csp_port_name(port, name, sizeof name),
                      0);
}

void mlt_csp_describe_wait(const mlt_wait *wait, mlt_event *event)
{
    const mlt_csp_wait *w = wait->csp;
    if (!mlt_csp_self || !w)
        return;
    event->inner = (uint8_t)(1 + w->kind);
    event->csp_process = mlt_csp_process_number(mlt_csp_self->sched->current);
    if (w->kind == MLT_CSP_READ || w->kind == MLT_CSP_WRITE || w->kind == MLT_CSP_REMOTE)
        describe_chan((csp_chan *)w->what, event); // it is const for reports only
    else if (w->kind == MLT_CSP_RECEIVE)
        describe_port((csp_port *)w->what, event);
    else if (w->kind == MLT_CSP_SYNC)
        event->thing = (uint32_t)((const csp_barrier *)w->what)->number;
    else if (w->kind == MLT_CSP_UPPER)
        event->queue = true;
    else
        event->thing = (uint32_t)w->number;
}

void mlt_csp_trace_depth(csp_chan *chan)
{
    event_declare_chan(chan);
    event_emit(
        chan->csp,
        &(mlt_event){.kind = MLT_EVENT_DEPTH, .thing = (uint32_t)chan->number, .held = chan->held});
}

void mlt_csp_trace_lifetime(mlt_csp *csp, uint64_t since)
{
    event_emit(csp, &(mlt_event){.kind = MLT_EVENT_LIVED,
                                 .csp_process = mlt_csp_process_number(csp->sched->current),
                                 .since = since});
}

void mlt_csp_trace_poison(csp_chan *chan)
{
    event_declare_chan(chan);
    event_emit(chan->csp,
               &(mlt_event){.kind = MLT_EVENT_POISONED,
                            .thing = (uint32_t)chan->number,
                            .csp_process = mlt_csp_process_number(chan->csp->sched->current)});
}
