// SPDX-License-Identifier: BSD-3-Clause
#include "base/export.h"
#include "csp/deadline.h"
#include "csp/state.h"
#include "csp/wait.h"
#include "os/os.h"

MLT_EXPORT csp_time csp_now(void)
{
    return (csp_time)mlt_os_now_ns();
}

MLT_EXPORT csp_time csp_after(double seconds)
{
    double ns = seconds * 1e9;
    csp_time now = csp_now();
    if (!(ns > 0)) // nor for what is no number
        return now;
    return ns < (double)(CSP_NEVER - now) ? now + (csp_time)ns : CSP_NEVER;
}

bool mlt_deadline_passed(csp_time deadline)
{
    return deadline != CSP_NEVER && (deadline <= CSP_AT_ONCE || deadline <= csp_now());
}

static void passes(mlt_timer *timer)
{
    mlt_deadline *late = mlt_container_of(timer, mlt_deadline, timer);
    late->passed = true;
    mlt_fiber_wake(late->csp->sched, late->fiber);
}

void mlt_deadline_begin(mlt_csp *csp, mlt_deadline *late, csp_time deadline)
{
    late->timer = (mlt_timer){.fire = passes};
    late->csp = csp;
    late->fiber = csp->sched->current;
    late->passed = mlt_deadline_passed(deadline);
    if (deadline != CSP_NEVER && !late->passed)
        mlt_timer_set(csp->sched, &late->timer, (uint64_t)deadline);
}

void mlt_deadline_end(mlt_csp *csp, mlt_deadline *late)
{
    if (late->timer.place)
        mlt_timer_stop(csp->sched, &late->timer);
}

static void sleep_until(csp_time deadline, const char *call)
{
    mlt_csp *csp = mlt_csp_enter(call);
    mlt_deadline late;
    mlt_csp_wait wait;
    const mlt_wait *w = mlt_csp_wait_for(&wait, call, MLT_CSP_SLEEP, NULL, (uint64_t)deadline);
    mlt_deadline_begin(csp, &late, deadline);
    if (late.passed)
        csp_yield(); // others shall run though this one sleeps again and again
    while (!late.passed)
        mlt_fiber_park(csp->sched, w);
    mlt_deadline_end(csp, &late);
}

MLT_EXPORT void csp_sleep(double seconds)
{
    sleep_until(csp_after(seconds), "csp_sleep");
}

MLT_EXPORT void csp_sleep_until(csp_time deadline)
{
    sleep_until(deadline, "csp_sleep_until");
}
