// SPDX-License-Identifier: BSD-3-Clause
// A deadline of a call that waits:
//
//     mlt_deadline late;
//     mlt_deadline_begin(csp, &late, deadline);
//     while (!happened && !late.passed)
//         mlt_fiber_park(csp->sched, wait);
//     mlt_deadline_end(csp, &late);
#ifndef MLT_CSP_DEADLINE_H
#define MLT_CSP_DEADLINE_H

#include <millet/csp.h>
#include <stdbool.h>

#include "csp/state.h"
#include "fiber/io.h"

typedef struct mlt_deadline {
    mlt_timer timer;
    mlt_csp *csp;
    mlt_fiber *fiber; // that waits
    bool passed;
} mlt_deadline;

// For the calling process. CSP_NEVER costs nothing; one that has passed is so at once.
void mlt_deadline_begin(mlt_csp *csp, mlt_deadline *late, csp_time deadline);
void mlt_deadline_end(mlt_csp *csp, mlt_deadline *late);

// It has passed; CSP_AT_ONCE and CSP_NEVER are known without a look at the clock.
bool mlt_deadline_passed(csp_time deadline);

#endif
