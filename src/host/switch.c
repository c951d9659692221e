// SPDX-License-Identifier: BSD-3-Clause
#include "host/switch.h"

typedef void swap_function(const mlt_rank *from, const mlt_rank *to);

// Of this worker, those that are wanted first.
static _Thread_local struct {
    uint32_t count;
    swap_function *swap[MLT_SWITCH_PARTS];
    swap_function *last; // MLT_SWITCH_SIGNALS, when the others are done
    bool wanted[MLT_SWITCH_PARTS];
} switch_own __attribute__((tls_model("initial-exec")));

static void swap_all(void *from, void *to)
{
    for (uint32_t i = 0; i < switch_own.count && from != to; i++)
        switch_own.swap[i](from, to);
    if (switch_own.last)
        switch_own.last(from, to);
}

static void swap_only(void *from, void *to)
{
    if (from != to)
        switch_own.swap[0](from, to);
}

void mlt_switch_want(mlt_sched *sched, mlt_switch_part part, swap_function *swap)
{
    if (switch_own.wanted[part])
        return;
    switch_own.wanted[part] = true;
    if (part == MLT_SWITCH_SIGNALS)
        switch_own.last = swap;
    else
        switch_own.swap[switch_own.count++] = swap;
    mlt_sched_swap_users(sched, switch_own.count == 1 && !switch_own.last ? swap_only : swap_all);
}
