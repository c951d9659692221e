// SPDX-License-Identifier: BSD-3-Clause
#include "host/switch.h"

typedef void swap_function(const mlt_rank *from, const mlt_rank *to);

// Of this worker, those that are wanted first.
static _Thread_local struct {
    uint32_t count;
    swap_function *swap[MLT_SWITCH_PARTS];
    swap_function *last; // MLT_SWITCH_SIGNALS, when the others are done
    bool wanted[MLT_SWITCH_PARTS];
} own __attribute__((tls_model("initial-exec")));

static void swap_all(void *from, void *to)
{
    for (uint32_t i = 0; i < own.count && from != to; i++)
        own.swap[i](from, to);
    if (own.last)
        own.last(from, to);
}

static void swap_only(void *from, void *to)
{
    if (from != to)
        own.swap[0](from, to);
}

void mlt_switch_want(mlt_sched *sched, mlt_switch_part part, swap_function *swap)
{
    if (own.wanted[part])
        return;
    own.wanted[part] = true;
    if (part == MLT_SWITCH_SIGNALS)
        own.last = swap;
    else
        own.swap[own.count++] = swap;
    mlt_sched_swap_users(sched, own.count == 1 && !own.last ? swap_only : swap_all);
}
