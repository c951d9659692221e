// SPDX-License-Identifier: BSD-3-Clause
// What every object of this layer waits for. None of them blocks and none has a loop of its own:
// the caller polls `fd` for `events` until deadline_ns (mlt_os_now_ns), then calls the object's
// step function, whether the descriptor is ready or the time is up.
#pragma once

#include <stdint.h>

#define MLT_POLL_FOREVER UINT64_MAX // a deadline that never comes

typedef struct mlt_poll {
    int fd;
    short events; // POLLIN or POLLOUT
    uint64_t deadline_ns;
} mlt_poll;
