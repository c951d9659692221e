// SPDX-License-Identifier: BSD-3-Clause
// From what workers have kept of their last calls to the tree of a path.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "launch/watch/map.h"

enum { MOST_WORKERS = 4096, MOST_CALLS = 16 };
#define APART_NS 1000000000 // clocks of hosts that differ by more are set by the ends of a call

// The steps of one path, by number and place.
typedef struct found {
    const mlt_ctl_step **steps;
    size_t count;
} found;

static int by_number(const void *a, const void *b)
{
    const mlt_ctl_step *x = *(const mlt_ctl_step *const *)a, *y = *(const mlt_ctl_step *const *)b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static bool map_tree_is_of(const mlt_ctl_step *s, const mlt_ctl_path *p)
{
    return s->ranks == p->ranks && s->workers == p->workers && s->place < s->workers &&
           strcmp(s->object, p->object) == 0 && strcmp(s->collective, p->collective) == 0 &&
           strcmp(s->by, p->by) == 0;
}

// Communicators that are alike have one path: those of the one with the lowest rank are taken.
static found find(const mlt_path_map *map, const mlt_ctl_path *p)
{
    found f = {mlt_xcalloc(map->step_count + 1, sizeof(const mlt_ctl_step *)), 0};
    uint32_t leader = UINT32_MAX;
    for (size_t i = 0; i < map->step_count; i++)
        if (map_tree_is_of(&map->steps[i], p) && map->steps[i].leader < leader)
            leader = map->steps[i].leader;
    for (size_t i = 0; i < map->step_count; i++)
        if (map_tree_is_of(&map->steps[i], p) && map->steps[i].leader == leader)
            f.steps[f.count++] = &map->steps[i];
    MLT_ARRAY_SORT(f.steps, f.count, by_number);
    return f;
}

// How many steps from i on are one whole call: those of all workers, once each; 0: some are missing.
static size_t whole_call(const found *f, size_t i, uint32_t workers)
{
    if (f->count - i < workers)
        return 0;
    for (uint32_t w = 0; w < workers; w++)
        if (f->steps[i + w]->number != f->steps[i]->number || f->steps[i + w]->place != w)
            return 0;
    return workers;
}

// How far the clock of each worker's host is ahead of that of the first: hosts on machines of their
// own count from when they were started. 0: by less than a second.
static int64_t *clocks_of(const mlt_ctl_step *const *call, uint32_t workers)
{
    int64_t *ahead = mlt_xcalloc(workers, sizeof *ahead);
    for (uint32_t w = 0; w < workers; w++) {
        uint32_t first = 0;
        while (call[first]->host != call[w]->host)
            first++;
        int64_t by =
            (int64_t)(call[first]->time[MLT_MOMENT_SPREAD] - call[0]->time[MLT_MOMENT_SPREAD]);
        ahead[w] = by > APART_NS || by < -APART_NS ? by : 0;
    }
    return ahead;
}

// From the first rank's coming on; what has not happened is as late as what comes before.
static void take_call(const mlt_ctl_step *const *call, uint32_t workers, const int64_t *ahead,
                      uint64_t (*out)[MLT_MOMENTS])
{
    int64_t first = INT64_MAX;
    for (uint32_t w = 0; w < workers; w++) {
        int64_t at = (int64_t)(call[w]->time[0] - (uint64_t)ahead[w]);
        first = at < first ? at : first;
    }
    for (uint32_t w = 0; w < workers; w++) {
        uint64_t before = 0;
        for (int m = 0; m < MLT_MOMENTS; m++) {
            uint64_t at = call[w]->time[m] - (uint64_t)ahead[w] - (uint64_t)first;
            bool fits = call[w]->time[m] && at >= before && at < INT64_MAX / 2;
            before = out[w][m] = fits ? at : before;
        }
    }
}

static void take_choice(const mlt_path_map *map, const mlt_ctl_path *p, mlt_path_tree *t)
{
    const mlt_ctl_choice *most = NULL;
    for (size_t i = 0; i < map->choice_count; i++)
        if (mlt_path_map_serves(&map->choices[i], p) &&
            (!most || map->choices[i].calls > most->calls))
            most = &map->choices[i];
    if (most) {
        memcpy(t->alg, most->alg, sizeof t->alg);
        memcpy(t->stages, most->stages, sizeof t->stages);
    }
}

static uint32_t count_hosts(const mlt_path_tree *t, uint32_t workers)
{
    uint32_t hosts = 1;
    for (uint32_t w = 0; w < workers; w++)
        if (t->workers[w].host >= hosts)
            hosts = t->workers[w].host + 1;
    return hosts;
}

mlt_path_tree *mlt_path_tree_new(const mlt_path_map *map, const mlt_ctl_path *p)
{
    found f = find(map, p);
    uint32_t workers = f.count ? f.steps[0]->workers : 0;
    size_t at[MOST_CALLS], calls = 0;
    for (size_t i = 0; i < f.count && workers && workers <= MOST_WORKERS;) {
        size_t n = whole_call(&f, i, workers);
        if (n && calls == MOST_CALLS) // the last ones
            memmove(at, at + 1, --calls * sizeof *at);
        if (n)
            at[calls++] = i;
        i += n ? n : 1;
    }
    if (!calls) {
        free(f.steps);
        return NULL;
    }
    mlt_path_tree *t = mlt_xcalloc(1, sizeof *t);
    t->workers = mlt_xcalloc(workers, sizeof *t->workers);
    t->times = mlt_xcalloc(workers * calls, sizeof *t->times);
    t->calls = mlt_xcalloc(calls, sizeof *t->calls);
    const mlt_ctl_step *const *last = f.steps + at[calls - 1];
    uint32_t ranks = 0;
    for (uint32_t w = 0; w < workers; w++) {
        uint32_t own = last[w]->present < p->ranks - ranks ? last[w]->present : p->ranks - ranks;
        t->workers[w] =
            (mlt_picture_worker){.first = last[w]->first, .ranks = own, .host = last[w]->host};
        ranks += own;
    }
    int64_t *ahead = clocks_of(last, workers);
    for (size_t c = 0; c < calls; c++) {
        t->calls[c] =
            (mlt_picture_call){.number = f.steps[at[c]]->number,
                               .time = (const uint64_t(*)[MLT_MOMENTS])(t->times + c * workers)};
        take_call(f.steps + at[c], workers, ahead, t->times + c * workers);
    }
    free(ahead);
    free(f.steps);
    take_choice(map, p, t);
    uint32_t hosts = count_hosts(t, workers);
    bool named = map->hosts.count >= hosts;
    t->tree = (mlt_picture){.collective = p->collective,
                            .object = p->object,
                            .by = p->by,
                            .stack = p->stack,
                            .alg = t->alg,
                            .stages = t->stages,
                            .level = p->level,
                            .ranks = ranks,
                            .workers = t->workers,
                            .count = workers,
                            .hosts = named ? (const char *const *)map->hosts.items : NULL,
                            .host_count = hosts,
                            .calls = t->calls,
                            .call_count = (uint32_t)calls};
    return t;
}

void mlt_path_tree_free(mlt_path_tree *t)
{
    if (!t)
        return;
    free(t->workers);
    free(t->times);
    free(t->calls);
    free(t);
}
