// SPDX-License-Identifier: BSD-3-Clause
// Reads that the kernel does by itself (io_uring), so that no thread waits for them.
//
//     read ──> the kernel ──> results, in any order ──> take
//
// The kernel rings a doorbell (mlt_os_eventfd_new) whenever `take` may have something, and sometimes when it
// has not. Everything is the owner's thread's, the one that has called `new`. The kernel copies what has
// come from the disk within `take`, and never interrupts a call of that thread's: a program's own
// epoll_wait would end with EINTR.
//
// Only the kernel's own interface is used. Linux before 6.1, a container's filter and
// kernel.io_uring_disabled refuse it, so its user must be able to do without it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct mlt_os_uring mlt_os_uring;

typedef struct mlt_os_uring_result {
    void *user;
    int64_t moved; // bytes, perhaps fewer than asked for; 0: the end of the file
    int error;     // errno's value; 0: none
} mlt_os_uring_result;

// For up to `most` reads at a time. NULL: the system refuses it, and errno tells why.
mlt_os_uring *mlt_os_uring_new(uint32_t most, int doorbell) MLT_MUST_CHECK;
void mlt_os_uring_free(mlt_os_uring *uring); // no read is under way

// The result of this read comes with `user`; the memory is the kernel's until it does. False: the system takes
// no more now, and nothing was done. There are fewer than `most` whose results have not been taken.
bool mlt_os_uring_read(mlt_os_uring *uring, int fd, void *to, uint32_t bytes, int64_t at,
                       void *user) MLT_MUST_CHECK;

// Takes a result. False: there is none now.
bool mlt_os_uring_take(mlt_os_uring *uring, mlt_os_uring_result *result) MLT_MUST_CHECK;

// 0: this thread may use it; errno's value otherwise (ENOSYS: before Linux 6.1). Tries it.
int mlt_os_uring_refused(void);
