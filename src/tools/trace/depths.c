// SPDX-License-Identifier: BSD-3-Clause
#include "tools/trace/depths.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"

void mlt_depths_begin(mlt_depths *d, const mlt_trace *trace)
{
    uint32_t channels = trace->facts.channel_count;
    uint64_t length = trace->end_ns - trace->begin_ns;
    *d = (mlt_depths){.trace = trace, .length_ns = length ? length : 1};
    d->place = mlt_xcalloc(channels + 1, sizeof *d->place);
    for (uint32_t i = 0; i < channels; i++)
        d->place[i] = UINT32_MAX;
    d->tasks = mlt_xcalloc(trace->facts.process_count + 1, sizeof *d->tasks);
    for (int how = 0; how < MLT_TRACE_HOWS; how++) {
        char room[32];
        const char *name = mlt_facts_how(&trace->facts, MLT_TRACE_FLOW, (uint8_t)how, room);
        d->is_life[how] = strcmp(name, "its life") == 0;
    }
}

// "work[3].in" is one of "work.in".
static char *vector_name(const char *queue)
{
    char *name = mlt_xcalloc(strlen(queue) + 1, 1), *to = name;
    int inside = 0;
    for (const char *c = queue; *c; c++) {
        inside += *c == '[';
        if (!inside)
            *to++ = *c;
        inside -= *c == ']' && inside > 0;
    }
    return name;
}

static uint32_t vector_of(mlt_depths *d, const mlt_trace_channel *channel)
{
    char *name = vector_name(channel->name);
    uint32_t v = 0;
    while (v < d->vector_count && strcmp(d->vectors[v].name, name) != 0)
        v++;
    if (v == d->vector_count) {
        *MLT_ARRAY_ADD(d->vectors, d->vector_count, d->vector_room) =
            (mlt_depth_vector){.name = name};
    } else
        free(name);
    d->vectors[v].queues++;
    if (channel->room > d->vectors[v].room)
        d->vectors[v].room = channel->room;
    return v;
}

void mlt_depths_spread(double slices[MLT_DEPTH_SLICES], double length_ns, uint64_t begin,
                       uint64_t end, double weight)
{
    double slice_ns = length_ns / MLT_DEPTH_SLICES, from = (double)begin, to = (double)end;
    for (uint32_t i = (uint32_t)(from / slice_ns); i < MLT_DEPTH_SLICES && from < to; i++) {
        double stop = (i + 1) * slice_ns < to ? (i + 1) * slice_ns : to;
        slices[i] += stop > from ? weight * (stop - from) : 0;
        from = stop > from ? stop : from;
    }
}

// What the queue held until now counts.
static void advance(mlt_depths *d, mlt_depth *q, uint64_t now)
{
    mlt_depths_spread(d->vectors[q->vector].slices, (double)d->length_ns, q->since, now,
                      (double)q->depth);
    q->since = now > q->since ? now : q->since;
}

static void see_task(mlt_depths *d, uint32_t worker, const mlt_trace_event *e)
{
    const mlt_trace_process *found = mlt_facts_process(&d->trace->facts, worker, (uint32_t)e->peer);
    if (!found)
        return;
    mlt_flow_task_depth *task = &d->tasks[found - d->trace->facts.processes];
    if (task->begin == 0 || e->time < task->begin)
        task->begin = e->time;
    if (e->kind == MLT_TRACE_FLOW && d->is_life[e->how])
        task->end = e->time + e->span;
    else
        task->waited += e->span;
}

void mlt_depths_see(mlt_depths *d, uint32_t worker, const mlt_trace_event *e)
{
    const mlt_trace_facts_table *facts = &d->trace->facts;
    if (e->kind == MLT_TRACE_FLOW || e->kind == MLT_TRACE_CSP)
        see_task(d, worker, e);
    if (e->kind != MLT_TRACE_DEPTH && (e->kind != MLT_TRACE_FLOW || d->is_life[e->how]))
        return;
    const mlt_trace_channel *channel = mlt_facts_channel(facts, worker, (uint32_t)e->tag);
    if (!channel)
        return;
    uint32_t *place = &d->place[channel - facts->channels];
    if (*place == UINT32_MAX) {
        *place = d->count;
        *MLT_ARRAY_ADD(d->all, d->count, d->room) =
            (mlt_depth){.channel = channel, .vector = vector_of(d, channel)};
    }
    mlt_depth *q = &d->all[*place];
    if (e->time < q->since)
        return; // a wait, which is told when it ends: more is known since
    advance(d, q, e->time);
    q->depth = e->bytes;
}

void mlt_depths_end(mlt_depths *d)
{
    for (uint32_t i = 0; i < d->count; i++)
        advance(d, &d->all[i], d->length_ns);
}

uint64_t mlt_flow_ran(const mlt_depths *d, uint32_t task)
{
    const mlt_flow_task_depth *t = &d->tasks[task];
    uint64_t end = t->end ? t->end : t->begin ? d->length_ns : 0;
    uint64_t life = end > t->begin ? end - t->begin : 0;
    return life > t->waited ? life - t->waited : 0;
}

uint32_t mlt_flow_busiest(const mlt_depths *d, const char *module, double *mean, uint32_t *count)
{
    uint32_t busiest = UINT32_MAX;
    double sum = 0;
    *count = 0;
    for (uint32_t i = 0; i < d->trace->facts.process_count; i++) {
        const char *name = d->trace->facts.processes[i].name;
        size_t length = strcspn(name, ".[");
        if (module && (strlen(module) != length || memcmp(name, module, length) != 0))
            continue;
        sum += (double)mlt_flow_ran(d, i);
        (*count)++;
        if (busiest == UINT32_MAX || mlt_flow_ran(d, i) > mlt_flow_ran(d, busiest))
            busiest = i;
    }
    *mean = *count ? sum / *count : 0;
    return busiest;
}

double mlt_depth_slice(const mlt_depths *d, const mlt_depth_vector *v, int slice)
{
    return v->slices[slice] / ((double)d->length_ns / MLT_DEPTH_SLICES) / v->queues;
}
