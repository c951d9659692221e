// SPDX-License-Identifier: BSD-3-Clause
// Deadlock: the starts and ends of all ranks' actions, and what each must wait for.
//
//     an action ends after it has started
//     it starts after those that it requires have ended (or started)
//     a receive ends after its send has started
//     a synchronous send ends after its receive has started
//
// If these waits have no cycle, every run comes to its end, whatever order it takes: an event that
// happens early never delays another, so until all have come there is one that can come next.
#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "judge/check/check_int.h"

typedef struct mode {
    const mlt_check *check;
    bool synchronous; // all sends are
} mode;

static void emit_action(mlt_waits *waits, const mode *m, uint32_t r, uint32_t a)
{
    const mlt_check *check = m->check;
    const mlt_goal_graph *graph = check->graph[r];
    const mlt_goal_action *action = &check->program->rank[r].actions[a];
    uint64_t first = check->pairs->first[r];
    uint32_t start = mlt_check_event(first + a, false), end = mlt_check_event(first + a, true);
    mlt_waits_edge(waits, start, end);
    for (uint32_t e = graph->next_at[a]; e < graph->next_at[a + 1]; e++) {
        uint32_t next = mlt_goal_plain(graph->next[e]);
        bool started = graph->next[e] & MLT_GOAL_STARTED;
        mlt_waits_edge(waits, started ? start : end, mlt_check_event(first + next, false));
    }
    if (action->kind != MLT_GOAL_SEND)
        return;
    mlt_goal_place other = mlt_goal_partner(check->pairs, r, a);
    if (other.action == MLT_GOAL_NONE)
        return; // told already; what else is wrong shows best if it is taken to end
    uint64_t recv = check->pairs->first[other.rank] + other.action;
    mlt_waits_edge(waits, start, mlt_check_event(recv, true));
    if (m->synchronous || action->flags & MLT_GOAL_SYNCHRONOUS)
        mlt_waits_edge(waits, mlt_check_event(recv, false), end);
}

static void deadlock_emit(mlt_waits *waits, void *user)
{
    const mode *m = user;
    for (uint32_t r = 0; r < m->check->program->ranks; r++)
        for (uint32_t a = 0; a < m->check->program->rank[r].count; a++)
            emit_action(waits, m, r, a);
}

void mlt_check_waits(const mlt_check *check, bool synchronous, mlt_waits *waits)
{
    mode m = {check, synchronous};
    mlt_waits_init(waits, check->events, deadlock_emit, &m);
}

// Why the event `waiter` does not come before `awaited`: a line, unless both are of one action.
static void tell_wait(const mlt_check *check, mlt_goal_finding *finding, uint32_t waiter,
                      uint32_t awaited)
{
    if (waiter / 2 == awaited / 2)
        return;
    mlt_goal_place one = mlt_check_place(check, waiter / 2),
                   other = mlt_check_place(check, awaited / 2);
    char text[MLT_CHECK_TEXT];
    // Only messages' ends wait for somebody else's events.
    const char *whose = !(waiter % 2)                                         ? ""
                        : mlt_check_action(check, one)->kind == MLT_GOAL_SEND ? " its receive"
                                                                              : " its send";
    mlt_check_say(finding, "\n    %s %s only after%s", mlt_check_describe(check, one, text),
                  waiter % 2 ? "ends" : "starts", whose);
    mlt_check_say(finding, "\n        %s has %s", mlt_check_describe(check, other, text),
                  awaited % 2 ? "ended" : "started");
}

static void deadlock_tell(mlt_check *check, bool synchronous, const uint32_t *cycle, uint32_t count,
                          uint32_t blocked)
{
    mlt_goal_place first = mlt_check_place(check, cycle[0] / 2);
    mlt_goal_place second = first;
    uint32_t waits = 0;
    for (uint32_t i = 0; i < count; i++) {
        waits += cycle[i] / 2 != cycle[(i + 1) % count] / 2;
        mlt_goal_place place = mlt_check_place(check, cycle[i] / 2);
        if (place.rank != first.rank && second.rank == first.rank)
            second = place;
    }
    mlt_goal_finding *finding = mlt_check_found(check, MLT_FAULT_DEADLOCK, first, second);
    if (!finding)
        return;
    mlt_check_say(finding,
                  "%s, %" PRIu32 " actions wait for each other in a circle, and %" PRIu32
                  " starts and ends never come",
                  synchronous ? "if sends end only when they are received"
                              : "even if every send is buffered",
                  waits, blocked);
    // Two events of an action make one line, so twice as many events.
    enum { SHOWN = 16 };
    for (uint32_t i = 0; i < count && i < SHOWN; i++)
        tell_wait(check, finding, cycle[i], cycle[(i + 1) % count]);
    if (count > SHOWN)
        mlt_check_say(finding, "\n    ... and so on round");
}

// The order if there is one.
static uint32_t *deadlock_look(mlt_check *check, bool synchronous)
{
    mlt_waits waits;
    mlt_check_waits(check, synchronous, &waits);
    uint32_t *cycle = NULL, count = 0, blocked = 0;
    uint32_t *order = mlt_waits_order(&waits, &cycle, &count, &blocked);
    if (!order)
        deadlock_tell(check, synchronous, cycle, count, blocked);
    free(cycle);
    mlt_waits_fini(&waits);
    return order;
}

void mlt_check_deadlock(mlt_check *check)
{
    uint64_t actions = check->pairs->first[check->program->ranks];
    if (actions >= UINT32_MAX / 2)
        mlt_fatal("a GOAL program of %" PRIu64
                  " actions is too large to be checked; at most %u are",
                  actions, UINT32_MAX / 2 - 1);
    check->events = (uint32_t)(2 * actions);
    mlt_check_looked(check, MLT_FAULT_DEADLOCK);
    check->order = deadlock_look(check, false);
    if (!check->order || check->options->assume_buffered)
        return;
    check->verdict->synchronous = true;
    free(deadlock_look(check, true));
}
