// SPDX-License-Identifier: BSD-3-Clause
// Events and what each must wait for: an order by elimination, or a short cycle of what remains.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "judge/check/check_int.h"

// ---- rows: the first call of emit counts in at[e + 2], the second fills by at[e + 1]

void mlt_waits_edge(mlt_waits *waits, uint32_t before, uint32_t after)
{
    if (waits->to)
        waits->to[waits->at[before + 1]++] = after;
    else
        waits->at[before + 2]++;
}

void mlt_waits_init(mlt_waits *waits, uint32_t count, void (*emit)(mlt_waits *waits, void *user),
                    void *user)
{
    *waits = (mlt_waits){.count = count};
    waits->at = mlt_take((size_t)count + 2, sizeof *waits->at);
    emit(waits, user);
    for (uint64_t e = 2; e < (uint64_t)count + 2; e++)
        waits->at[e] += waits->at[e - 1];
    waits->to = mlt_take(waits->at[count + 1], sizeof *waits->to);
    emit(waits, user);
}

void mlt_waits_fini(mlt_waits *waits)
{
    free(waits->at);
    free(waits->to);
}

// ---- what remains

// A cycle by walking from an event that never comes to one that it waits for, until one comes
// again. `open` is not 0 for those that never come.
static uint32_t *check_wait_walk(const mlt_waits *waits, const uint32_t *open, uint32_t *count)
{
    // For each event that remains one that it waits for, which remains too.
    uint32_t *for_whom = mlt_take(waits->count, sizeof *for_whom);
    uint32_t *step = mlt_take(waits->count, sizeof *step), at = 0;
    for (uint32_t e = 0; e < waits->count; e++) {
        if (!open[e])
            continue;
        at = e;
        for (uint64_t i = waits->at[e]; i < waits->at[e + 1]; i++)
            for_whom[waits->to[i]] = e;
    }
    uint64_t room = 0;
    uint32_t *path = NULL, length = 0;
    while (!step[at]) {
        MLT_ARRAY_WANT(path, length + 1, room);
        path[length++] = at;
        step[at] = length;
        at = for_whom[at];
    }
    uint32_t first = step[at] - 1;
    *count = length - first;
    memmove(path, path + first, *count * sizeof *path);
    free(for_whom);
    free(step);
    return path;
}

typedef struct check_wait_search {
    uint32_t *from; // by event: 1 + the one that it was reached from
    uint32_t *queue;
    uint32_t seen;
} check_wait_search;

static void search_clear(check_wait_search *s)
{
    for (uint32_t i = 0; i < s->seen; i++)
        s->from[s->queue[i]] = 0;
    s->seen = 0;
}

// The shortest cycle through `start` in fewer than *count events replaces `cycle`.
static void shorten(const mlt_waits *waits, const uint32_t *open, uint32_t start,
                    check_wait_search *s, uint32_t *cycle, uint32_t *count)
{
    uint32_t depth = 0, level = 1;
    s->queue[s->seen++] = start;
    for (uint32_t head = 0; head < s->seen && depth + 1 < *count; head++) {
        if (head == level) {
            depth++;
            level = s->seen;
            if (depth + 1 >= *count)
                break;
        }
        uint32_t e = s->queue[head];
        for (uint64_t i = waits->at[e]; i < waits->at[e + 1]; i++) {
            uint32_t next = waits->to[i];
            if (next == start) {
                // e comes before start; going back gives each one's predecessor.
                uint32_t n = 0;
                cycle[n++] = start;
                for (uint32_t at = e; at != start; at = s->from[at] - 1)
                    cycle[n++] = at;
                *count = n;
                search_clear(s);
                return;
            }
            if (!open[next] || s->from[next])
                continue;
            s->from[next] = e + 1;
            s->queue[s->seen++] = next;
        }
    }
    search_clear(s);
}

uint32_t *mlt_waits_order(const mlt_waits *waits, uint32_t **cycle, uint32_t *cycle_count,
                          uint32_t *blocked)
{
    uint32_t count = waits->count, done = 0, known = 0;
    uint32_t *open = mlt_take(count, sizeof *open);
    uint32_t *order = mlt_take(count, sizeof *order);
    for (uint64_t i = 0; i < waits->at[count]; i++)
        open[waits->to[i]]++;
    for (uint32_t e = 0; e < count; e++)
        if (!open[e])
            order[known++] = e;
    for (; done < known; done++) {
        uint32_t e = order[done];
        for (uint64_t i = waits->at[e]; i < waits->at[e + 1]; i++)
            if (--open[waits->to[i]] == 0)
                order[known++] = waits->to[i];
    }
    if (known < count) {
        enum { TRIES = 64 };
        *blocked = count - known;
        *cycle = check_wait_walk(waits, open, cycle_count);
        check_wait_search s = {.from = mlt_take(count, sizeof *s.from), .queue = order};
        uint32_t tries = *cycle_count < TRIES ? *cycle_count : TRIES;
        uint32_t *starts = mlt_take(tries, sizeof *starts);
        memcpy(starts, *cycle, tries * sizeof *starts);
        for (uint32_t i = 0; i < tries; i++)
            shorten(waits, open, starts[i], &s, *cycle, cycle_count);
        free(starts);
        free(s.from);
        free(order);
        order = NULL;
    }
    free(open);
    return order;
}
