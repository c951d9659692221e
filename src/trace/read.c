// SPDX-License-Identifier: BSD-3-Clause
#include "trace/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "trace/align.h"
#include "trace/cancel.h"
#include "trace/note.h"

static mlt_trace_clock *clock_of(mlt_trace *trace, uint32_t worker)
{
    uint32_t at = MLT_ARRAY_SEARCH(i, trace->clock_count, trace->clocks[i].worker < worker);
    if (at < trace->clock_count && trace->clocks[at].worker == worker)
        return &trace->clocks[at];
    mlt_trace_clock *clock =
        MLT_ARRAY_INSERT(trace->clocks, trace->clock_count, trace->clock_room, at);
    *clock = (mlt_trace_clock){.worker = worker};
    return clock;
}

// False: it holds no notes.
static bool note_events(mlt_trace *trace, mlt_trace_head *head, uint64_t at)
{
    int64_t count = mlt_notes_look(trace->data + at, head->stored, &trace->kinds);
    if (count < 0 || count > UINT32_MAX)
        return false;
    head->count = (uint32_t)count;
    mlt_trace_clock *clock = clock_of(trace, head->worker);
    if (clock->first.ns == 0 || head->first.ns < clock->first.ns)
        clock->first = head->first;
    if (head->last.ns >= clock->last.ns)
        clock->last = head->last;
    if (trace->begin_ns == 0 || head->first.ns < trace->begin_ns)
        trace->begin_ns = head->first.ns;
    if (head->last.ns > trace->end_ns)
        trace->end_ns = head->last.ns;
    *MLT_ARRAY_ADD(trace->chunks, trace->count, trace->room) = (mlt_trace_chunk){*head, at};
    trace->events += head->count;
    return true;
}

mlt_status mlt_trace_parse(mlt_trace *trace, const uint8_t *data, size_t bytes, char *why,
                           size_t why_size)
{
    *trace = (mlt_trace){.data = data, .bytes = bytes};
    uint64_t at = 0, whole = 0;
    mlt_trace_head head;
    while (bytes - at >= sizeof head) {
        memcpy(&head, data + at, sizeof head);
        if (!mlt_trace_head_fits(&head) || head.stored > bytes - at - sizeof head ||
            !mlt_trace_sealed(&head, data + at + sizeof head)) {
            at++;
            continue;
        }
        bool fine = true;
        if (head.kind == MLT_CHUNK_EVENTS)
            fine = note_events(trace, &head, at + sizeof head);
        else
            mlt_facts_read(&trace->facts, (const char *)data + at + sizeof head, head.stored);
        at += sizeof head + head.stored;
        whole += fine ? sizeof head + head.stored : 0;
    }
    trace->damaged = bytes - whole;
    if (whole && trace->facts.ranks <= MLT_TRACE_RANKS) {
        mlt_trace_find_cancelled(trace);
        mlt_trace_align(trace);
        return MLT_OK;
    }
    free(trace->chunks);
    free(trace->clocks);
    uint32_t ranks = trace->facts.ranks;
    mlt_facts_free(&trace->facts);
    if (whole)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "it tells of %u ranks, but a trace has at most %d", ranks, MLT_TRACE_RANKS);
    return mlt_fail(MLT_ERR_INVALID, why, why_size,
                    "it is no trace: it does not hold a single chunk of one");
}

mlt_status mlt_trace_open(mlt_trace *trace, const char *path, char *why, size_t why_size)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *data = NULL;
    if (fd < 0 || fstat(fd, &status) < 0) {
        snprintf(why, why_size, "%s", strerror(errno));
    } else if (!S_ISREG(status.st_mode) || status.st_size == 0) {
        snprintf(why, why_size, "it is %s", status.st_size ? "no file" : "empty");
    } else if ((data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) ==
               MAP_FAILED) {
        snprintf(why, why_size, "%s", strerror(errno));
        data = NULL;
    }
    if (fd >= 0)
        close(fd);
    if (!data)
        return MLT_ERR_SYSTEM;
    mlt_status parsed = mlt_trace_parse(trace, data, (size_t)status.st_size, why, why_size);
    if (parsed != MLT_OK)
        munmap(data, (size_t)status.st_size);
    return parsed;
}

void mlt_trace_drop(mlt_trace *trace)
{
    free(trace->chunks);
    free(trace->clocks);
    free(trace->cancelled);
    mlt_facts_free(&trace->facts);
}

void mlt_trace_close(mlt_trace *trace)
{
    munmap((void *)trace->data, trace->bytes);
    mlt_trace_drop(trace);
}

// ---- events

#define CENTURIES_NS 1e19 // no event is that late: it is damaged

static uint64_t ns_of(const mlt_trace_clock *clock, uint64_t ticks)
{
    uint64_t all = clock->last.ticks - clock->first.ticks, ns = clock->last.ns - clock->first.ns;
    if (ticks <= clock->first.ticks || all == 0)
        return clock->first.ns;
    double since = (double)(ticks - clock->first.ticks) * (double)ns / (double)all;
    return clock->first.ns + (since < CENTURIES_NS ? (uint64_t)since : 0);
}

// Readers keep something for each rank up to the largest, so a number must not be larger than it can be.
static bool is_of_run(const mlt_trace *trace, const mlt_trace_event *e)
{
    uint32_t ranks = trace->facts.ranks ? trace->facts.ranks : MLT_TRACE_RANKS;
    return (e->rank < ranks || e->rank == MLT_TRACE_NOBODY) && e->peer < MLT_TRACE_RANKS;
}

bool mlt_trace_load(const mlt_trace *trace, uint64_t i, mlt_trace_event *events)
{
    const mlt_trace_chunk *chunk = &trace->chunks[i];
    const mlt_trace_clock *clock = clock_of((mlt_trace *)trace, chunk->head.worker);
    mlt_notes_expand(trace->data + chunk->at, chunk->head.stored, events);
    for (uint32_t e = 0; e < chunk->head.count; e++) {
        uint64_t end = ns_of(clock, events[e].time + events[e].span);
        events[e].time = ns_of(clock, events[e].time);
        events[e].span = end > events[e].time ? end - events[e].time : 0;
        events[e].time -= trace->begin_ns;
        if (!is_of_run(trace, &events[e]))
            return false;
    }
    mlt_trace_mark_cancelled(trace, i, events);
    return true;
}
