// SPDX-License-Identifier: BSD-3-Clause
// Short reads of a worker that the kernel does, instead of a thread that blocks (os/uring.h).
//
// A read of which a part has come goes on behind it. One that the kernel does not want in this way, for
// whatever reason, comes back undone, and a thread does it from its beginning. Any other error is the
// read's: nothing is tried twice on a bad disk.
//
// More reads than may be under way wait here, in order.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/status.h"
#include "file/access.h"

// Part of the caller's job.
typedef struct mlt_file_read {
    mlt_list_node node;      // that waits
    mlt_file_access *access; // mlt_file_access_is_short
    bool undone;
} mlt_file_read;

typedef struct mlt_file_uring mlt_file_uring;

// doorbell: rings when mlt_file_uring_take has something to return. NULL: the system refuses it, errno tells why.
mlt_file_uring *mlt_file_uring_new(int doorbell) MLT_MUST_CHECK;
void mlt_file_uring_free(mlt_file_uring *uring); // nothing was given that was not taken back

// The kernel does it, or will. False: it does not, and nothing was done.
bool mlt_file_uring_give(mlt_file_uring *uring, mlt_file_read *read) MLT_MUST_CHECK;

// One that is over, in any order: done, or undone. NULL: there is none now.
mlt_file_read *mlt_file_uring_take(mlt_file_uring *uring) MLT_MUST_CHECK;
