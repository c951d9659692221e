// SPDX-License-Identifier: BSD-3-Clause
#include "csp/intercept.h"

#include "csp/wait.h"
#include "fiber/await.h"

bool mlt_csp_has_interceptor(mlt_intercept_kind kind, const char *name)
{
    const mlt_interceptors *interceptors = mlt_interceptors_current();
    return interceptors && mlt_intercept_matches(interceptors, kind, name);
}

void mlt_csp_intercept_begin(mlt_csp *csp, mlt_csp_walk *walk, mlt_intercept_kind kind,
                             const char *name, uint32_t ranks, mlt_intercept_event event)
{
    mlt_interceptors *interceptors = mlt_interceptors_current();
    *walk = (mlt_csp_walk){
        .interceptors = interceptors,
        .walk = {.interceptor =
                     interceptors ? mlt_intercept_of(interceptors, kind, name, ranks) : NULL},
        .event = event};
    if (!walk->walk.interceptor)
        return;
    walk->event.kind = (uint8_t)kind;
    walk->event.name = walk->walk.interceptor->record.object;
    walk->event.rank = mlt_csp_rank()->world;
    for (uint64_t ns; (ns = mlt_intercept_before(interceptors, &walk->walk, &walk->event)) > 0;) {
        csp_time until = csp_now() + (csp_time)ns;
        mlt_csp_wait wait;
        const mlt_wait *w =
            mlt_csp_wait_for(&wait, event.call, MLT_CSP_SLEEP, NULL, (uint64_t)until);
        mlt_await_time(csp->sched, w, until);
    }
}

void mlt_csp_intercept_end(const mlt_csp_walk *walk, uint64_t bytes)
{
    if (!walk->walk.interceptor)
        return;
    mlt_intercept_event event = walk->event;
    event.bytes = bytes;
    mlt_intercept_after(walk->interceptors, &walk->walk, &event);
}
