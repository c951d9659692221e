// SPDX-License-Identifier: BSD-3-Clause
// How the doings of a watched worker's ranks become counts and events.
#include <pthread.h>
#include <string.h>
#include <strings.h>

#include "mpi/self.h"
#include "mpi/tool/tool.h"
#include "wire/wire.h"

// ---- calls of collective operations

static uint8_t collective_of[MLT_FN_COUNT]; // 1 + MLT_TOOL_CALL_...; 0: none

// Whether a function is that operation in any of its forms: MPI_Bcast, MPI_Ibcast, MPI_Bcast_init,
// and their large-count twins.
static bool is_form(const char *function, const char *name)
{
    const char *at = function + strlen("MPI_");
    size_t length = strlen(at), bytes = strlen(name);
    if (length > 2 && strcmp(at + length - 2, "_c") == 0)
        length -= 2;
    if (length > 5 && strncmp(at + length - 5, "_init", 5) == 0)
        length -= 5;
    if (length == bytes + 1 && *at == 'I') {
        at++;
        length--;
    }
    return length == bytes && strncasecmp(at, name, bytes) == 0;
}

static void fill_collectives(void)
{
#define NAME(name) #name,
    static const char *const names[] = {MLT_TOOL_COLLECTIVES(NAME)};
    for (int fn = 1; fn < MLT_FN_COUNT; fn++)
        for (int i = 0; i < MLT_TOOL_COLLECTIVE_COUNT; i++)
            if (is_form(mlt_fn_table[fn].name, names[i]))
                collective_of[fn] = (uint8_t)(1 + i);
}

void mlt_tool_call_begins(mlt_rank *me, uint16_t fn)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    mlt_tool *tool = mlt_tool_of(me);
    if (!tool || tool->watchers == 0 || fn >= MLT_FN_COUNT)
        return;
    pthread_once(&once, fill_collectives);
    if (collective_of[fn])
        tool->counts.collective_calls[collective_of[fn] - 1]++;
    mlt_tool_sessions_called(tool);
}

void mlt_tool_call_ends(mlt_rank *me)
{
    mlt_tool *tool = mlt_tool_of(me);
    if (tool && tool->events)
        mlt_tool_events_deliver(tool);
}

// ---- events

static void count_move(mlt_tool_counts *c, const mlt_event *event)
{
    if (event->kind == MLT_EVENT_ONE_SIDED) {
        c->moves.ops[event->rma_op]++;
        c->moves.one_sided[event->how]++;
        c->moves.one_sided_bytes[event->how] += event->bytes;
    } else if (event->kind == MLT_EVENT_PARTITIONED_SEND) {
        c->moves.partitioned[event->how]++;
        c->moves.partitioned_bytes[event->how] += event->bytes;
        c->moves.partitions += (uint32_t)event->partitions;
    } else {
        c->partitioned_received++;
        c->partitioned_received_bytes += event->bytes;
    }
}

static void watch_count(mlt_tool_counts *c, const mlt_event *event, bool locks)
{
    switch ((mlt_event_kind)event->kind) {
    case MLT_EVENT_SENT:
        c->sent[event->how]++;
        c->sent_bytes[event->how] += event->bytes;
        c->eager += event->eager;
        c->rendezvous += !event->eager;
        break;
    case MLT_EVENT_RECEIVED:
        c->received++;
        c->received_bytes += event->bytes;
        break;
    case MLT_EVENT_UNEXPECTED:
        c->unexpected++;
        break;
    case MLT_EVENT_LARGE:
        c->last_large = event->how;
        break;
    case MLT_EVENT_PARKS:
        c->waits++;
        c->last_wait = event->how;
        c->lock_waits += locks;
        break;
    case MLT_EVENT_GOES_ON:
        c->wait_ns += event->waited_ns;
        c->lock_wait_ns += locks ? event->waited_ns : 0;
        break;
    case MLT_EVENT_PLANNED:
        c->last_collective = 1u + event->how;
        c->last_algorithm = (uint64_t)(1 + event->algorithm);
        break;
    case MLT_EVENT_ONE_SIDED:
    case MLT_EVENT_PARTITIONED_SEND:
    case MLT_EVENT_PARTITIONED_RECEIVE:
        count_move(c, event);
        break;
    case MLT_EVENT_COPIED:
        c->copies.count[event->how]++;
        c->copies.bytes[event->how] += event->bytes;
        break;
    case MLT_EVENT_POSTED:
    case MLT_EVENT_WOKEN:
    case MLT_EVENT_SLEPT:
    case MLT_EVENT_IDLE:
    case MLT_EVENT_POISONED:
    case MLT_EVENT_CANCELLED:
    case MLT_EVENT_NAMED:
    case MLT_EVENT_DEPTH:
    case MLT_EVENT_LIVED:
    case MLT_EVENT_STARTED:
    case MLT_EVENTS:
        break;
    }
}

static void watch_note(mlt_tool *tool, const mlt_event *event)
{
    if (!tool || tool->watchers == 0)
        return;
    bool locks = tool->rank->fn == MLT_FN_Win_lock || tool->rank->fn == MLT_FN_Win_lock_all;
    watch_count(&tool->counts, event, locks);
    mlt_tool_sessions_saw(tool, event);
    mlt_tool_events_saw(tool, event);
}

// A worker of another host is met just before a message event of it: looking here is soon enough.
static void note_meeting(mlt_worker *worker)
{
    mlt_mpi_worker *w = worker->mpi;
    const mlt_wire *wire = worker->wire;
    w->met_told = wire->met;
    int32_t host = (int32_t)mlt_job_host_of(wire->job, wire->met_last);
    for (uint32_t i = 0; i < worker->count; i++) {
        mlt_tool *tool = mlt_tool_of(&worker->ranks[i]);
        if (tool)
            mlt_tool_events_met(tool, (int32_t)wire->met_last, host, (int32_t)wire->met);
    }
}

void mlt_tool_on_event(mlt_worker *worker, mlt_rank *rank, const mlt_event *event)
{
    const mlt_mpi_worker *w = worker->mpi;
    if (!w)
        return; // it is about to end
    if (worker->wire && worker->wire->met != w->met_told)
        note_meeting(worker);
    if (rank) {
        watch_note(mlt_tool_of(rank), event);
        return;
    }
    for (uint32_t i = 0; event->kind == MLT_EVENT_PLANNED && i < worker->count; i++)
        watch_note(mlt_tool_of(&worker->ranks[i]), event);
}
