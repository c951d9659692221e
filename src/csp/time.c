// SPDX-License-Identifier: BSD-3-Clause
#include "base/export.h"
#include "csp/state.h"
#include "csp/wait.h"
#include "fiber/await.h"
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

MLT_EXPORT void(csp_sleep)(csp_time until)
{
    static const char call[] = "csp_sleep";
    mlt_csp *csp = mlt_csp_enter(call);
    mlt_csp_wait wait;
    const mlt_wait *w = mlt_csp_wait_for(&wait, call, MLT_CSP_SLEEP, NULL, (uint64_t)until);
    if (MLT_UNLIKELY(csp->sched->pinned))
        mlt_sched_refuse(csp->sched, call);
    if (mlt_deadline_passed(until))
        csp_yield(); // others shall run though this one sleeps again and again
    else
        mlt_await_time(csp->sched, w, until);
}
