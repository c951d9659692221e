// SPDX-License-Identifier: BSD-3-Clause
#include "trace/cancel.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/compare.h"
#include "base/memory.h"
#include "base/table.h"

typedef struct cancel {
    uint64_t left; // when its message had left
    mlt_trace_place sent;
    bool found;
} cancel;

// Messages of a rank that are alike, of which some were cancelled.
typedef struct cancel_stream {
    mlt_trace_event like;
    cancel *cancels; // by `left`
    uint64_t count, room;
    uint64_t next; // the first that had left at the time of the send at hand or later
} cancel_stream;

typedef struct finder {
    mlt_table table;
    cancel_stream **all;
    uint64_t count, room;
} finder;

static uint32_t hash_of(const mlt_trace_event *e)
{
    uint64_t mixed = mlt_hash_mix(e->rank, (uint64_t)(uint32_t)e->peer << 32 | e->context);
    mixed = mlt_hash_mix(mlt_hash_mix(mixed, (uint32_t)e->tag), e->bytes);
    return (uint32_t)(mixed >> 16);
}

static cancel_stream *stream_like(const finder *f, const mlt_trace_event *e)
{
    for (mlt_table_look look = mlt_table_look_for(&f->table, hash_of(e)); mlt_table_next(&look);) {
        cancel_stream *s = (cancel_stream *)look.word;
        if (s->like.rank == e->rank && s->like.peer == e->peer && s->like.tag == e->tag &&
            s->like.context == e->context && s->like.bytes == e->bytes)
            return s;
    }
    return NULL;
}

static cancel_stream *new_stream(finder *f, const mlt_trace_event *e)
{
    cancel_stream *s = mlt_xcalloc(1, sizeof *s);
    *s = (cancel_stream){.like = *e};
    mlt_table_add(&f->table, hash_of(e), (uintptr_t)s);
    return *MLT_ARRAY_ADD(f->all, f->count, f->room) = s;
}

static void see_cancel(finder *f, const mlt_trace_event *e)
{
    cancel_stream *s = stream_like(f, e);
    s = s ? s : new_stream(f, e);
    *MLT_ARRAY_ADD(s->cancels, s->count, s->room) = (cancel){.left = e->time};
}

// Sends of a rank come in the order in which they left.
static void see_sent(const finder *f, const mlt_trace_event *e, uint64_t chunk, uint32_t event)
{
    cancel_stream *s = stream_like(f, e);
    if (!s)
        return;
    while (s->next < s->count && s->cancels[s->next].left < e->time)
        s->next++;
    if (s->next == s->count)
        return;
    s->cancels[s->next].sent = (mlt_trace_place){chunk, event};
    s->cancels[s->next].found = true;
}

static void cancel_see_all(finder *f, const mlt_trace *trace, mlt_trace_kind kind)
{
    for (uint64_t i = 0; i < trace->count; i++) {
        uint32_t count = trace->chunks[i].head.count;
        mlt_trace_event *events = mlt_xcalloc(count + 1, sizeof *events);
        bool whole = mlt_trace_load(trace, i, events);
        for (uint32_t e = 0; whole && e < count; e++) {
            if (events[e].kind != kind)
                continue;
            if (kind == MLT_TRACE_CANCELLED)
                see_cancel(f, &events[e]);
            else
                see_sent(f, &events[e], i, e);
        }
        free(events);
    }
}

static int place_order(const void *a, const void *b)
{
    const mlt_trace_place *x = a, *y = b;
    return mlt_compare_words((uint64_t[]){x->chunk, x->event}, (uint64_t[]){y->chunk, y->event}, 2);
}

static void keep_found(mlt_trace *trace, const cancel_stream *s, uint64_t *room)
{
    for (uint64_t i = 0; i < s->count; i++) {
        if (!s->cancels[i].found)
            continue;
        *MLT_ARRAY_ADD(trace->cancelled, trace->cancelled_count, *room) = s->cancels[i].sent;
    }
}

void mlt_trace_find_cancelled(mlt_trace *trace)
{
    finder f = {.count = 0};
    uint64_t room = 0;
    if (!(trace->kinds & UINT32_C(1) << MLT_TRACE_CANCELLED))
        return;
    cancel_see_all(&f, trace, MLT_TRACE_CANCELLED);
    for (uint64_t i = 0; i < f.count; i++)
        qsort(f.all[i]->cancels, f.all[i]->count, sizeof *f.all[i]->cancels, mlt_compare_ascending);
    cancel_see_all(&f, trace, MLT_TRACE_SENT);
    for (uint64_t i = 0; i < f.count; i++) {
        keep_found(trace, f.all[i], &room);
        free(f.all[i]->cancels);
        free(f.all[i]);
    }
    if (trace->cancelled)
        qsort(trace->cancelled, trace->cancelled_count, sizeof *trace->cancelled, place_order);
    free(f.all);
    mlt_table_free(&f.table);
}

void mlt_trace_mark_cancelled(const mlt_trace *trace, uint64_t i, mlt_trace_event *events)
{
    uint64_t at = MLT_ARRAY_SEARCH(c, trace->cancelled_count, trace->cancelled[c].chunk < i);
    for (; at < trace->cancelled_count && trace->cancelled[at].chunk == i; at++)
        events[trace->cancelled[at].event].peer = -1;
}
