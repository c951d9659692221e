// SPDX-License-Identifier: BSD-3-Clause
// Deadlock: whether the starts and ends of all ranks' actions (waits.h) wait for each other.
#include <stdlib.h>

#include "judge/check/check_int.h"

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

static void deadlock_tell(mlt_check *check, bool synchronous, const mlt_waits_cycle *c)
{
    const uint32_t *cycle = c->events, count = c->count;
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
    mlt_check_say(
        finding,
        "%s, %u actions wait for each other in a circle, and %u starts and ends never come",
        synchronous ? "if sends end only when they are received" : "even if every send is buffered",
        waits, c->blocked);
    // Two events of an action make one line, so twice as many events.
    enum { SHOWN = 16 };
    for (uint32_t i = 0; i < count && i < SHOWN; i++)
        tell_wait(check, finding, cycle[i], cycle[(i + 1) % count]);
    if (count > SHOWN)
        mlt_check_say(finding, "\n    ... and so on round");
}

static void deadlock_look(mlt_check *check, bool synchronous, mlt_waits *waits)
{
    mlt_waits_cycle cycle = {0};
    if (!mlt_waits_of(waits, check->program, check->pairs, synchronous, &cycle))
        deadlock_tell(check, synchronous, &cycle);
    free(cycle.events);
}

void mlt_check_deadlock(mlt_check *check)
{
    mlt_check_looked(check, MLT_FAULT_DEADLOCK);
    deadlock_look(check, false, &check->waits);
    if (!check->waits.order || check->options->assume_buffered)
        return;
    check->verdict->synchronous = true;
    mlt_waits waits;
    deadlock_look(check, true, &waits);
    mlt_waits_fini(&waits);
}
