// SPDX-License-Identifier: BSD-3-Clause
#include "csp/way.h"

#include "csp/wait.h"
#include "fiber/await.h"

bool mlt_csp_has_way(mlt_way_kind kind, const char *name)
{
    const mlt_ways *ways = mlt_ways_here();
    return ways && mlt_way_fits(ways, kind, name);
}

void mlt_csp_way_begin(mlt_csp *csp, mlt_csp_walk *walk, mlt_way_kind kind, const char *name,
                       uint32_t ranks, mlt_way_event event)
{
    mlt_ways *ways = mlt_ways_here();
    *walk = (mlt_csp_walk){.ways = ways,
                           .walk = {.way = ways ? mlt_way_of(ways, kind, name, ranks) : NULL},
                           .event = event};
    if (!walk->walk.way)
        return;
    walk->event.kind = (uint8_t)kind;
    walk->event.name = walk->walk.way->sum.comm;
    walk->event.rank = mlt_csp_rank()->world;
    for (uint64_t ns; (ns = mlt_way_pass(ways, &walk->walk, &walk->event)) > 0;) {
        csp_time until = csp_now() + (csp_time)ns;
        mlt_csp_wait wait;
        const mlt_wait *w =
            mlt_csp_wait_for(&wait, event.call, MLT_CSP_SLEEP, NULL, (uint64_t)until);
        mlt_await_time(csp->sched, w, until);
    }
}

void mlt_csp_way_end(const mlt_csp_walk *walk, uint64_t bytes)
{
    if (!walk->walk.way)
        return;
    mlt_way_event event = walk->event;
    event.bytes = bytes;
    mlt_way_passed(walk->ways, &walk->walk, &event);
}
