// SPDX-License-Identifier: BSD-3-Clause
// How a process waits for one of several things. A plain read or write waits for one.
//
// A waiting process has a mlt_alt on its stack and an offer for each guard, which stands in the
// queue of the thing that it waits for. Whoever comes to that queue with the counterpart moves the
// value, settles the alternation (mlt_alt_settle) and thereby wakes the process, which takes its
// other offers out of their queues when it runs. So between settling and running, offers of a
// settled alternation may still stand in queues: skip them (mlt_alt_is_open).
//
// All of a worker's processes share a thread, so the look at a queue and the settling of both sides
// are one step: any number of alternations, reading and writing, may meet at a channel. Offers on
// behalf of processes in other programs have a mlt_alt without a fiber, and stand only in queues of
// channels that csp/net/home.c serves (csp_chan.remote).
#pragma once

#include <millet/csp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "csp/state.h"
#include "csp/wait.h"
#include "fiber/fiber.h"
#include "fiber/io.h"

typedef struct mlt_alt mlt_alt;

typedef struct mlt_offer {
    mlt_list_node node; // in a queue of the thing; zeroed: in none
    mlt_alt *alt;
    void *value;    // where to, or from where (then it is not written)
    uint32_t index; // of the guard
    uint32_t op;    // net/chan.c's number of it, while it stands at a channel of another worker
} mlt_offer;

// In a queue. If not, the thing whose queue it was may be gone.
static inline bool mlt_offer_stands(const mlt_offer *offer)
{
    return offer->node.next && offer->node.next != &offer->node;
}

enum { MLT_ALT_OPEN = -1 };

struct mlt_alt {
    // With an offer of its own before it, what whoever serves it looks at is one line.
    mlt_fiber *fiber;  // NULL: of another program
    csp_guard *guards; // NULL: a plain read, write, sync or receive
    int32_t chosen;    // MLT_ALT_OPEN, or the guard
    uint8_t status;    // of it: csp_status
    // The process promised to take an offer of another program, if that still stands: nobody else
    // may settle it until that is known. (Without a fiber: it was asked, and has not answered.)
    bool promised;
    bool late;    // the deadline of the call (not of a guard) has passed: chosen is 0 then
    bool patient; // others are to run before its process does, when it has been chosen

    mlt_offer *offers; // [count]
    uint32_t count;
    mlt_timer timer; // the deadline, or the earliest time guard
    mlt_csp_wait wait;
};

// May be chosen now.
static inline bool mlt_alt_is_open(const mlt_alt *alt)
{
    return alt->chosen == MLT_ALT_OPEN && !alt->promised;
}

static inline void mlt_alt_wake(mlt_csp *csp, const mlt_alt *alt)
{
    if (MLT_UNLIKELY(alt->patient))
        mlt_fiber_wake_last(csp->sched, alt->fiber);
    else
        mlt_fiber_wake(csp->sched, alt->fiber);
}

// Chooses guard `index` of an open alternation of this worker, and wakes its process.
void mlt_alt_settle(mlt_csp *csp, mlt_alt *alt, uint32_t index, csp_status status);

// What waits for one thing. A process that was away from the cache is served after one miss, not
// two: everything that is looked at is in the first line.
typedef struct mlt_alt_lone {
    _Alignas(64) mlt_offer offer;
    mlt_alt alt;
} mlt_alt_lone;
_Static_assert(offsetof(mlt_alt_lone, alt) + offsetof(mlt_alt, offers) <= 64, "one line");

// The offer stands nowhere: whoever asks that first clears its node.
static inline void mlt_alt_lone_begin(mlt_alt_lone *w, mlt_csp *csp, void *value)
{
    w->offer.alt = &w->alt;
    w->offer.value = value;
    w->offer.index = 0;
    w->alt.fiber = csp->sched->current;
    w->alt.chosen = MLT_ALT_OPEN;
    w->alt.promised = w->alt.late = w->alt.patient = false;
    w->alt.guards = NULL;
}

// Parks until somebody has settled it.
static inline csp_status mlt_alt_lone_park(mlt_alt_lone *w, mlt_csp *csp, const mlt_wait *wait)
{
    do
        mlt_fiber_park(csp->sched, wait);
    while (w->alt.chosen == MLT_ALT_OPEN);
    return w->alt.status;
}

// The same unless it is settled already, and with a deadline. At that `late` is called, which settles it or lets it
// wait on; it finds the offer in alt.offers.
csp_status mlt_alt_lone_wait(mlt_alt_lone *w, mlt_csp *csp, const mlt_wait *wait, csp_time deadline,
                             void (*late)(mlt_timer *timer));

// A promise is void: the alternation is open again, and looks at all its guards anew.
void mlt_alt_reopen(mlt_csp *csp, mlt_alt *alt);

// As csp_pri_alt, called `call` in reports.
int mlt_alt_first(csp_guard *guards, size_t count, const char *call);
