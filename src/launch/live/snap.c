// SPDX-License-Identifier: BSD-3-Clause
#include "launch/live/snap.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"

const char *const mlt_live_distances[MLT_CTL_DISTANCES] = {"worker", "process", "host", "far"};
const char *const mlt_live_copies[MLT_CTL_COPIES] = {"inside",  "out",    "in",
                                                     "between", "chunks", "calls"};

enum { MOST_CALLS = 4096 }; // each is compared with all; MPI has less than a thousand

uint16_t mlt_live_snap_call(mlt_live_snap *s, const char *name)
{
    for (uint32_t i = 0; i < s->call_count; i++)
        if (strcmp(s->calls[i].name, name) == 0)
            return (uint16_t)i;
    if (s->call_count == MOST_CALLS)
        return 0;
    MLT_ARRAY_WANT(s->calls, s->call_count + 1, s->call_room);
    mlt_live_call *call = &s->calls[s->call_count];
    memset(call, 0, sizeof *call);
    strncpy(call->name, name, sizeof call->name - 1);
    return (uint16_t)s->call_count++;
}

// ---- parts

static bool fits(const mlt_live_part *part, size_t length)
{
    size_t wanted = sizeof *part + part->workers * sizeof(mlt_live_worker) +
                    part->procs * sizeof(mlt_live_proc) + part->ranks * sizeof(mlt_live_rank) +
                    part->calls * sizeof(mlt_live_call) + part->queues * sizeof(mlt_live_queue) +
                    part->paths * sizeof(mlt_ctl_path);
    return part->magic == MLT_LIVE_PART && wanted == length && part->calls < MOST_CALLS;
}

// Numbers of calls are the part's own.
static void add_ranks(mlt_live_snap *s, const mlt_live_part *part, const char *ranks,
                      const char *calls)
{
    uint16_t *number = mlt_xcalloc(part->calls + 1, sizeof *number);
    for (uint32_t i = 0; i < part->calls; i++) {
        mlt_live_call call;
        memcpy(&call, calls + i * sizeof call, sizeof call);
        mlt_text_close(call.name, sizeof call.name);
        number[i] = mlt_live_snap_call(s, call.name);
    }
    MLT_ARRAY_WANT(s->ranks, s->rank_count + part->ranks, s->rank_room);
    for (uint32_t i = 0; i < part->ranks; i++) {
        mlt_live_rank rank;
        memcpy(&rank, ranks + i * sizeof rank, sizeof rank);
        if (rank.call < part->calls)
            rank.call = number[rank.call];
        else if (rank.doing == MLT_LIVE_WAITS)
            continue;
        s->ranks[s->rank_count++] = rank;
    }
    free(number);
}

static void add_queues(mlt_live_snap *s, uint32_t count, const char *queues)
{
    MLT_ARRAY_WANT(s->queues, s->queue_count + count, s->queue_room);
    for (uint32_t i = 0; i < count; i++) {
        mlt_live_queue *queue = &s->queues[s->queue_count++];
        memcpy(queue, queues + i * sizeof *queue, sizeof *queue);
        mlt_text_close(queue->name, sizeof queue->name);
    }
}

static void add_paths(mlt_live_snap *s, uint32_t count, const char *paths)
{
    for (uint32_t i = 0; i < count; i++) {
        mlt_ctl_path path;
        memcpy(&path, paths + i * sizeof path, sizeof path);
        mlt_path_map_paths(&s->map, &path, 1);
    }
}

bool mlt_live_snap_add(mlt_live_snap *s, const void *bytes, size_t length)
{
    mlt_live_part part;
    if (length < sizeof part)
        return false;
    memcpy(&part, bytes, sizeof part);
    if (!fits(&part, length))
        return false;
    const char *at = (const char *)bytes + sizeof part;
    MLT_ARRAY_WANT(s->workers, s->worker_count + part.workers, s->worker_room);
    MLT_ARRAY_WANT(s->procs, s->proc_count + part.procs, s->proc_room);
    if (part.workers)
        memcpy(s->workers + s->worker_count, at, part.workers * sizeof *s->workers);
    s->worker_count += part.workers;
    at += part.workers * sizeof *s->workers;
    if (part.procs)
        memcpy(s->procs + s->proc_count, at, part.procs * sizeof *s->procs);
    s->proc_count += part.procs;
    at += part.procs * sizeof *s->procs;
    add_ranks(s, &part, at, at + part.ranks * sizeof *s->ranks);
    at += part.ranks * sizeof *s->ranks + part.calls * sizeof *s->calls;
    add_queues(s, part.queues, at);
    add_paths(s, part.paths, at + part.queues * sizeof *s->queues);
    return true;
}

void mlt_live_snap_pack(const mlt_live_snap *s, uint32_t host, mlt_text *out)
{
    mlt_live_part part = {.magic = MLT_LIVE_PART,
                          .host = host,
                          .workers = s->worker_count,
                          .procs = s->proc_count,
                          .ranks = s->rank_count,
                          .calls = s->call_count,
                          .queues = s->queue_count,
                          .paths = (uint32_t)s->map.path_count};
    mlt_text_put(out, &part, sizeof part);
    mlt_text_put(out, s->workers, s->worker_count * sizeof *s->workers);
    mlt_text_put(out, s->procs, s->proc_count * sizeof *s->procs);
    mlt_text_put(out, s->ranks, s->rank_count * sizeof *s->ranks);
    mlt_text_put(out, s->calls, s->call_count * sizeof *s->calls);
    mlt_text_put(out, s->queues, s->queue_count * sizeof *s->queues);
    mlt_text_put(out, s->map.paths, s->map.path_count * sizeof *s->map.paths);
}

static int by_worker(const void *a, const void *b)
{
    uint32_t x = ((const mlt_live_worker *)a)->worker, y = ((const mlt_live_worker *)b)->worker;
    return (x > y) - (x < y);
}

static int by_proc(const void *a, const void *b)
{
    uint32_t x = ((const mlt_live_proc *)a)->proc, y = ((const mlt_live_proc *)b)->proc;
    return (x > y) - (x < y);
}

static int by_fullness(const void *a, const void *b)
{
    const mlt_live_queue *x = a, *y = b;
    uint64_t full = (uint64_t)x->held * y->room, other = (uint64_t)y->held * x->room;
    if (full != other)
        return full < other ? 1 : -1;
    if (x->held != y->held)
        return x->held < y->held ? 1 : -1;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->worker > y->worker) - (x->worker < y->worker);
}

void mlt_live_snap_sort(mlt_live_snap *s)
{
    MLT_ARRAY_SORT(s->workers, s->worker_count, by_worker);
    MLT_ARRAY_SORT(s->procs, s->proc_count, by_proc);
    MLT_ARRAY_SORT(s->queues, s->queue_count, by_fullness);
}

void mlt_live_snap_fini(mlt_live_snap *s)
{
    free(s->workers);
    free(s->procs);
    free(s->ranks);
    free(s->calls);
    free(s->queues);
    mlt_path_map_fini(&s->map);
    *s = (mlt_live_snap){0};
}

// ---- sums

static void snap_add_worker(mlt_live_sum *sum, const mlt_live_worker *w)
{
    uint32_t idle = w->waiting + w->ended;
    if (w->unborn) {
        sum->unborn += w->ranks;
        return;
    }
    sum->waiting += w->waiting;
    sum->ended += w->ended;
    sum->computing += w->ranks > idle ? w->ranks - idle : 0;
    for (int d = 0; d < MLT_CTL_DISTANCES; d++) {
        sum->messages[d] += w->messages[d];
        sum->bytes[d] += w->bytes[d];
    }
    for (int way = 0; way < MLT_CTL_COPIES; way++) {
        sum->copies[way] += w->copies.count[way];
        sum->copy_bytes[way] += w->copies.bytes[way];
    }
    sum->eager += w->eager;
    sum->rendezvous += w->rendezvous;
    sum->switches += w->switches;
    sum->held += w->held;
    sum->held_most += w->held_most;
    sum->unreadable += w->unreadable;
}

mlt_live_sum mlt_live_snap_sum(const mlt_live_snap *s)
{
    mlt_live_sum sum = {0};
    for (uint32_t i = 0; i < s->worker_count; i++)
        snap_add_worker(&sum, &s->workers[i]);
    for (uint32_t i = 0; i < s->proc_count; i++) {
        sum.memory += s->procs[i].memory;
        sum.cpu_ns += s->procs[i].cpu_ns;
    }
    for (uint32_t i = 0; i < s->rank_count; i++) {
        sum.unexpected += s->ranks[i].unexpected;
        sum.posted += s->ranks[i].posted;
    }
    return sum;
}

uint32_t *mlt_live_snap_calls(const mlt_live_snap *s)
{
    uint32_t *count = mlt_xcalloc(s->call_count + 1, sizeof *count);
    for (uint32_t i = 0; i < s->rank_count; i++)
        if (s->ranks[i].doing == MLT_LIVE_WAITS && s->ranks[i].call < s->call_count)
            count[s->ranks[i].call]++;
    return count;
}

// ---- late ranks

static int snap_by_rank(const void *a, const void *b)
{
    uint32_t x = ((const mlt_live_late *)a)->rank, y = ((const mlt_live_late *)b)->rank;
    return (x > y) - (x < y);
}

static int by_others(const void *a, const void *b)
{
    uint32_t x = ((const mlt_live_late *)a)->others, y = ((const mlt_live_late *)b)->others;
    return x == y ? snap_by_rank(a, b) : (x < y) - (x > y);
}

// Those that compute, by rank, with how many are known to wait for them.
static uint32_t list_computing(const mlt_live_snap *s, mlt_live_late *list)
{
    uint32_t n = 0, waiting = 0, in_collective = 0;
    for (uint32_t i = 0; i < s->rank_count; i++) {
        const mlt_live_rank *r = &s->ranks[i];
        waiting += r->doing == MLT_LIVE_WAITS;
        in_collective += r->doing == MLT_LIVE_WAITS && r->in_collective;
        if (r->doing == MLT_LIVE_COMPUTES)
            list[n++] = (mlt_live_late){.rank = r->rank};
    }
    for (uint32_t i = 0; 2 * in_collective > n + waiting && i < n; i++)
        list[i].others = in_collective;
    qsort(list, n, sizeof *list, snap_by_rank);
    return n;
}

uint32_t mlt_live_snap_late(const mlt_live_snap *s, mlt_live_late *out, uint32_t most)
{
    mlt_live_late *list = mlt_xcalloc(s->rank_count + 1, sizeof *list);
    uint32_t n = list_computing(s, list), late = 0;
    for (uint32_t i = 0; i < s->rank_count; i++) {
        const mlt_live_rank *r = &s->ranks[i];
        mlt_live_late key = {.rank = (uint32_t)r->peer};
        mlt_live_late *found = r->doing == MLT_LIVE_WAITS && r->peer >= 0 && n
                                   ? bsearch(&key, list, n, sizeof *list, snap_by_rank)
                                   : NULL;
        if (found)
            found->others++;
    }
    qsort(list, n, sizeof *list, by_others);
    while (late < n && list[late].others > 0)
        late++;
    if (most && late)
        memcpy(out, list, (late < most ? late : most) * sizeof *out);
    free(list);
    return late;
}
