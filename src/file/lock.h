// SPDX-License-Identifier: BSD-3-Clause
// Who may write where: locks of parts of an open file, in memory that all of its writers share.
//
// A sieved write reads a part of the file, puts its blocks there, and writes the part back. What lies
// between the blocks is written with old data, so nobody else may write there meanwhile. So every
// writer of the open file locks what it touches: one that sieves alone, all others together.
//
// The file is cut into stripes, of which MLT_FILE_STRIPES words lock every one whose number is the
// same but for a multiple. One that sieves holds one stripe, and waits for nothing while it does;
// hence no order is needed, and nobody waits forever.
//
// Threads that wait sleep in the system. The memory may be that of several processes: it holds no
// addresses, and zeroed memory is a set of free locks.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum { MLT_FILE_STRIPES = 64, MLT_FILE_STRIPE = 1 << 20 }; // words; bytes of a stripe

typedef struct mlt_file_locks {
    struct {
        _Alignas(64) _Atomic uint32_t word;
    } stripe[MLT_FILE_STRIPES];
} mlt_file_locks;

// [from, to) for a writer that touches nothing but its own bytes. NULL as locks is allowed: nobody
// sieves. try: false if it would have to wait.
void mlt_file_share(mlt_file_locks *locks, int64_t from, int64_t to);
bool mlt_file_share_try(mlt_file_locks *locks, int64_t from, int64_t to) MLT_MUST_CHECK;
void mlt_file_unshare(mlt_file_locks *locks, int64_t from, int64_t to);

// The stripe that holds byte `at`, for one that sieves.
void mlt_file_seize(mlt_file_locks *locks, int64_t at);
void mlt_file_release(mlt_file_locks *locks, int64_t at);
