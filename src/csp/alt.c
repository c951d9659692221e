// SPDX-License-Identifier: BSD-3-Clause
#include "csp/alt.h"

#include "base/log.h"

void (*mlt_alt_far_settled)(mlt_csp *csp, mlt_alt *alt);

void mlt_alt_settle(mlt_csp *csp, mlt_alt *alt, uint32_t index, csp_status status)
{
    alt->chosen = (int32_t)index;
    alt->status = status;
    if (MLT_LIKELY(alt->fiber != NULL))
        mlt_fiber_wake(csp->sched, alt->fiber);
    else
        mlt_alt_far_settled(csp, alt);
}

void mlt_alt_reopen(mlt_csp *csp, mlt_alt *alt)
{
    mlt_assert(alt->promised && alt->chosen == MLT_ALT_OPEN);
    alt->promised = false;
    mlt_fiber_wake(csp->sched, alt->fiber);
}
