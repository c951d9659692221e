// SPDX-License-Identifier: BSD-3-Clause
// window: no-ops cut every rank's program into segments of at most options.window actions, so that
// it can run in constant space (Theorem 4). All actions of a segment end before the next begins.
//
// Cutting each rank by itself could make ranks wait for each other: one of them in its first
// segment for a message of the other's second, and the other way round. So all ranks' actions are
// put into one order, in which the two ends of a message are one step, and each rank is cut along
// it. Then the first step of that order that is not done can always be done: all that comes before
// it on its ranks is done, so it is in the current segment of both. If there is no such order, but
// the program is free of deadlock with buffered sends only, sends come before their receives and
// the same holds with buffered sends. Otherwise the program is left alone: it posts receives first,
// whose senders wait for what comes after.
#include "judge/pass/pass_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/memory.h"

typedef struct steps {
    const mlt_goal_program *program;
    const mlt_goal_pairs *pairs;
    bool merged; // messages are one step
} steps;

// A step is known by the number of its action, of its send if it is a message.
static uint32_t step_of(const steps *s, uint32_t rank, uint32_t a)
{
    const mlt_goal_action *action = &s->program->rank[rank].actions[a];
    if (!mlt_goal_is_recv(action))
        return (uint32_t)s->pairs->first[rank] + a;
    mlt_goal_place send = mlt_goal_partner(s->pairs, rank, a);
    bool one =
        s->merged || s->program->rank[send.rank].actions[send.action].flags & MLT_GOAL_SYNCHRONOUS;
    return (uint32_t)(one ? s->pairs->first[send.rank] + send.action : s->pairs->first[rank] + a);
}

static void pass_window_edges(mlt_waits *waits, void *user)
{
    const steps *s = user;
    for (uint32_t r = 0; r < s->program->ranks; r++) {
        const mlt_goal_rank *rank = &s->program->rank[r];
        for (uint32_t d = 0; d < rank->deps_count; d++)
            mlt_waits_edge(waits, step_of(s, r, mlt_goal_plain(rank->deps[d].on)),
                           step_of(s, r, rank->deps[d].action));
        for (uint32_t a = 0; a < rank->count; a++) {
            uint32_t own = (uint32_t)s->pairs->first[r] + a;
            mlt_goal_place send = mlt_goal_partner(s->pairs, r, a);
            if (mlt_goal_is_recv(&rank->actions[a]) && step_of(s, r, a) == own)
                mlt_waits_edge(waits, (uint32_t)s->pairs->first[send.rank] + send.action, own);
        }
    }
}

// The place of every action in one order of all; NULL: there is none. Receives that are one with
// their send stand there too, harmlessly.
static uint32_t *common_order(const mlt_goal_program *program, const mlt_goal_pairs *pairs,
                              bool merged)
{
    steps s = {program, pairs, merged};
    uint64_t count = pairs->first[program->ranks];
    mlt_waits waits;
    mlt_waits_init(&waits, (uint32_t)count, pass_window_edges, &s);
    uint32_t *of = NULL, *place = mlt_xcalloc(count, sizeof *place);
    if (mlt_waits_sort(&waits, NULL)) {
        of = mlt_xcalloc(count, sizeof *of);
        for (uint32_t i = 0; i < count; i++)
            place[waits.order[i]] = i;
        for (uint32_t r = 0; r < program->ranks; r++)
            for (uint32_t a = 0; a < program->rank[r].count; a++)
                of[pairs->first[r] + a] = place[step_of(&s, r, a)];
    }
    free(place);
    mlt_waits_fini(&waits);
    return of;
}

typedef struct pass_window_placed {
    uint32_t place, action;
} pass_window_placed;

static int pass_window_by_place(const void *pa, const void *pb)
{
    const pass_window_placed *a = pa, *b = pb;
    return mlt_compare_words((uint64_t[]){a->place, a->action}, (uint64_t[]){b->place, b->action},
                             2);
}

// Which segment an action belongs to; how many there are. The two ends of a rank's message to
// itself are one step, so they stay together.
static uint32_t segments(const pass_window_placed *sorted, uint32_t n, uint32_t window,
                         uint32_t *segment)
{
    uint32_t now = 0, used = 0;
    for (uint32_t i = 0; i < n; i++) {
        bool pair = i + 1 < n && sorted[i + 1].place == sorted[i].place;
        if (used == window || (pair && used + 1 == window)) {
            now++;
            used = 0;
        }
        segment[sorted[i].action] = now;
        used++;
    }
    return now + 1;
}

// How many no-ops.
static uint32_t cut_rank(mlt_goal_program *program, uint32_t number, const uint32_t *place,
                         uint32_t window)
{
    mlt_goal_rank *rank = &program->rank[number];
    uint32_t n = rank->count, kept = 0;
    if (n <= window)
        return 0;
    pass_window_placed *sorted = mlt_xcalloc(n, sizeof *sorted);
    uint32_t *segment = mlt_xcalloc(n, sizeof *segment);
    for (uint32_t a = 0; a < n; a++)
        sorted[a] = (pass_window_placed){place[a], a};
    qsort(sorted, n, sizeof *sorted, pass_window_by_place);
    uint32_t nops = segments(sorted, n, window, segment) - 1;
    // Dependencies within segments stay. Only those need the no-ops that have nobody there before
    // them, or nobody who waits for their end.
    bool *waits = mlt_xcalloc(n, sizeof *waits), *ends = mlt_xcalloc(n, sizeof *ends);
    for (uint32_t d = 0; d < rank->deps_count; d++) {
        mlt_goal_dep dep = rank->deps[d];
        if (segment[dep.action] != segment[mlt_goal_plain(dep.on)])
            continue;
        rank->deps[kept++] = dep;
        waits[dep.action] = true;
        if (!(dep.on & MLT_GOAL_STARTED))
            ends[dep.on] = true;
    }
    rank->deps_count = kept;
    for (uint32_t i = 0; i < nops; i++)
        mlt_goal_add(program, number, &(mlt_goal_action){.kind = MLT_GOAL_NOP});
    for (uint32_t i = 0; i < n; i++) { // no-op n + s stands between segments s and s + 1
        uint32_t a = sorted[i].action, s = segment[a];
        if (s > 0 && !waits[a])
            mlt_goal_require(program, number, a, n + s - 1);
        if (s < nops && !ends[a])
            mlt_goal_require(program, number, n + s, a);
    }
    free(sorted);
    free(segment);
    free(waits);
    free(ends);
    return nops;
}

static bool sends_to_itself(const mlt_goal_program *program)
{
    for (uint32_t r = 0; r < program->ranks; r++)
        for (uint32_t a = 0; a < program->rank[r].count; a++) {
            const mlt_goal_action *action = &program->rank[r].actions[a];
            if (action->kind == MLT_GOAL_SEND && action->peer == (int32_t)r)
                return true;
        }
    return false;
}

static bool ends_at_all(const mlt_goal_program *program, const mlt_goal_pairs *pairs,
                        bool synchronous)
{
    mlt_waits events;
    bool ends = mlt_waits_of(&events, program, pairs, synchronous, NULL);
    mlt_waits_fini(&events);
    return ends;
}

mlt_status mlt_pass_window(mlt_goal_program *program, const mlt_goal_pairs *pairs,
                           const mlt_pass_options *options, mlt_pass_report *report, char *why,
                           size_t why_size)
{
    uint32_t *place = NULL;
    mlt_status status = MLT_OK;
    if (!options->window)
        snprintf(report->text, sizeof report->text, "left alone: no window is set");
    else if (!pairs)
        snprintf(report->text, sizeof report->text, "left alone: a receive takes what comes");
    else if (options->window == 1 && sends_to_itself(program))
        snprintf(report->text, sizeof report->text,
                 "left alone: a message of a rank to itself needs a window of two");
    else if (!ends_at_all(program, pairs, false)) {
        status = mlt_fail(MLT_ERR_INVALID, why, why_size,
                          "the program never ends: some of its ranks wait for each other");
    } else {
        place = common_order(program, pairs, true);
        if (!place && !ends_at_all(program, pairs, true))
            place = common_order(program, pairs, false);
        if (!place)
            snprintf(report->text, sizeof report->text,
                     "left alone: receives must be posted before what their senders wait for");
    }
    for (uint32_t r = 0; r < program->ranks && place; r++)
        report->changed += cut_rank(program, r, place + pairs->first[r], options->window);
    if (place)
        snprintf(report->text, sizeof report->text,
                 "inserted %" PRIu64 " no-ops, one after %u actions", report->changed,
                 options->window);
    free(place);
    return status;
}
