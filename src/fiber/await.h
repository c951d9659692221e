// SPDX-License-Identifier: BSD-3-Clause
// Waiting for time and for descriptors: what parks a fiber until the IO scheduler (io.h) wakes it.
//
// A deadline of a call that waits:
//
//     mlt_deadline late;
//     mlt_deadline_begin(sched, &late, deadline);
//     while (!happened && !late.passed)
//         mlt_fiber_park(sched, wait);
//     mlt_deadline_end(&late);
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fiber/io.h"

#define MLT_NEVER INT64_MAX // a deadline that does not pass; others: mlt_os_now_ns

typedef struct mlt_deadline {
    mlt_timer timer;
    mlt_sched *sched;
    mlt_fiber *fiber; // that waits
    bool passed;
} mlt_deadline;

// For the calling fiber. MLT_NEVER costs nothing; one that has passed is so at once.
void mlt_deadline_begin(mlt_sched *sched, mlt_deadline *late, int64_t deadline);
void mlt_deadline_end(mlt_deadline *late);

// It has passed; 0 and MLT_NEVER are known without a look at the clock.
bool mlt_deadline_passed(int64_t deadline);

// Parks the calling fiber until the time has come, or wait->stop. Does not park if it has.
void mlt_await_time(mlt_sched *sched, const mlt_wait *wait, int64_t deadline);

// A descriptor that somebody waits for: the caller fills in the first two.
typedef struct mlt_await {
    int fd;
    bool writes;
    mlt_io_watch watch; // the rest is mlt_await_fds's
    mlt_sched *sched;
    mlt_fiber *fiber;
    bool ready;
} mlt_await;

// Parks the calling fiber until one of the descriptors may be ready (`ready` says which), or it is
// late, or wait->stop. Does not park if one of them is always ready. MLT_ERR_SYSTEM: one cannot be waited for
// (errno tells), and nothing was.
mlt_status mlt_await_fds(mlt_sched *sched, const mlt_wait *wait, mlt_await *fds, uint32_t count,
                         int64_t deadline) MLT_MUST_CHECK;
