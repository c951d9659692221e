// SPDX-License-Identifier: BSD-3-Clause
// Events and what each must wait for: an order by elimination, or a short cycle of what remains.
#include "judge/waits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cycle.h"
#include "base/log.h"
#include "base/memory.h"

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
    waits->at = mlt_xcalloc((size_t)count + 2, sizeof *waits->at);
    emit(waits, user);
    for (uint64_t e = 2; e < (uint64_t)count + 2; e++)
        waits->at[e] += waits->at[e - 1];
    waits->to = mlt_xcalloc(waits->at[count + 1], sizeof *waits->to);
    emit(waits, user);
}

void mlt_waits_fini(mlt_waits *waits)
{
    free(waits->at);
    free(waits->to);
    free(waits->order);
}

// ---- what remains

static void turn_round(mlt_waits_cycle *cycle)
{
    for (uint32_t i = 0, j = cycle->count; i < --j; i++) {
        uint32_t event = cycle->events[i];
        cycle->events[i] = cycle->events[j];
        cycle->events[j] = event;
    }
}

// A cycle by walking from an event that never comes to one that it waits for, until one comes
// again. `open` is not 0 for those that never come.
static mlt_waits_cycle find_cycle(const mlt_waits *waits, const uint32_t *open)
{
    // For each event that remains one that it waits for, which remains too.
    uint32_t *for_whom = mlt_xcalloc(waits->count, sizeof *for_whom);
    uint32_t *step = mlt_xcalloc(waits->count, sizeof *step), at = 0;
    bool *comes = mlt_xcalloc(waits->count, sizeof *comes);
    for (uint32_t e = 0; e < waits->count; e++) {
        comes[e] = !open[e];
        if (comes[e])
            continue;
        at = e;
        for (uint64_t i = waits->at[e]; i < waits->at[e + 1]; i++)
            for_whom[waits->to[i]] = e;
    }
    uint64_t room = 0;
    uint32_t *path = NULL, length = 0;
    while (!step[at]) {
        *MLT_ARRAY_ADD(path, length, room) = at;
        step[at] = length;
        at = for_whom[at];
    }
    uint32_t first = step[at] - 1;
    mlt_waits_cycle cycle = {.events = path, .count = length - first};
    memmove(path, path + first, cycle.count * sizeof *path);
    turn_round(&cycle);
    mlt_digraph graph = {waits->count, waits->at, waits->to};
    cycle.count = mlt_cycle_shorten(&graph, comes, path, cycle.count);
    turn_round(&cycle);
    free(for_whom);
    free(step);
    free(comes);
    return cycle;
}

bool mlt_waits_sort(mlt_waits *waits, mlt_waits_cycle *cycle)
{
    uint32_t count = waits->count, done = 0, known = 0;
    uint32_t *open = mlt_xcalloc(count, sizeof *open);
    uint32_t *order = mlt_xcalloc(count, sizeof *order);
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
    waits->order = order;
    if (known < count) {
        if (cycle) {
            *cycle = find_cycle(waits, open);
            cycle->blocked = count - known;
        }
        free(order);
        waits->order = NULL;
    }
    free(open);
    return waits->order != NULL;
}

// ---- a program's events

typedef struct waits_mode {
    const mlt_goal_program *program;
    const mlt_goal_pairs *pairs;
    bool synchronous;
} waits_mode;

static void emit_program(mlt_waits *waits, void *user)
{
    const waits_mode *m = user;
    for (uint32_t r = 0; r < m->program->ranks; r++) {
        const mlt_goal_rank *rank = &m->program->rank[r];
        uint32_t first = (uint32_t)(2 * m->pairs->first[r]);
        for (uint32_t a = 0; a < rank->count; a++)
            mlt_waits_edge(waits, first + 2 * a, first + 2 * a + 1);
        for (uint32_t d = 0; d < rank->deps_count; d++) {
            mlt_goal_dep dep = rank->deps[d];
            mlt_waits_edge(waits, first + 2 * mlt_goal_plain(dep.on) + !(dep.on & MLT_GOAL_STARTED),
                           first + 2 * dep.action);
        }
        for (uint32_t a = 0; a < rank->count; a++) {
            mlt_goal_place other = mlt_goal_partner(m->pairs, r, a);
            if (rank->actions[a].kind != MLT_GOAL_SEND || other.action == MLT_GOAL_NONE)
                continue;
            uint32_t recv = (uint32_t)(2 * (m->pairs->first[other.rank] + other.action));
            mlt_waits_edge(waits, first + 2 * a, recv + 1);
            if (m->synchronous || rank->actions[a].flags & MLT_GOAL_SYNCHRONOUS)
                mlt_waits_edge(waits, recv, first + 2 * a + 1);
        }
    }
}

bool mlt_waits_of(mlt_waits *waits, const mlt_goal_program *program, const mlt_goal_pairs *pairs,
                  bool synchronous, mlt_waits_cycle *cycle)
{
    uint64_t actions = pairs->first[program->ranks];
    if (actions >= UINT32_MAX / 2)
        mlt_fatal("a GOAL program of %" PRIu64
                  " actions is too large to be checked; at most %u are",
                  actions, UINT32_MAX / 2 - 1);
    waits_mode mode = {program, pairs, synchronous};
    mlt_waits_init(waits, (uint32_t)(2 * actions), emit_program, &mode);
    return mlt_waits_sort(waits, cycle);
}

// Sets of ranks flow along the waits.
void mlt_waits_begun(const mlt_waits *waits, const mlt_goal_pairs *pairs, uint32_t ranks,
                     uint32_t low, uint32_t high, mlt_waits_unheard *unheard)
{
    size_t words = (high - low + 63) / 64;
    uint64_t *sets = mlt_xcalloc(waits->count * words, sizeof *sets);
    uint64_t *seen = mlt_xcalloc(words, sizeof *seen);
    for (uint32_t r = low; r < high; r++)
        for (uint64_t a = pairs->first[r]; a < pairs->first[r + 1]; a++)
            sets[2 * a * words + (r - low) / 64] |= 1ull << (r - low) % 64;
    for (uint32_t i = 0; i < waits->count; i++) {
        uint64_t e = waits->order[i];
        for (uint64_t n = waits->at[e]; n < waits->at[e + 1]; n++)
            for (size_t w = 0; w < words; w++)
                sets[waits->to[n] * words + w] |= sets[e * words + w];
    }
    for (uint32_t r = 0; r < ranks; r++) {
        memset(seen, 0, words * sizeof *seen);
        for (uint64_t a = pairs->first[r]; a < pairs->first[r + 1]; a++)
            for (size_t w = 0; w < words; w++)
                seen[w] |= sets[(2 * a + 1) * words + w];
        for (uint32_t other = low; other < high; other++)
            if (other != r && !(seen[(other - low) / 64] >> (other - low) % 64 & 1))
                if (unheard[r].count++ == 0)
                    unheard[r].first = other;
    }
    free(seen);
    free(sets);
}
