// SPDX-License-Identifier: BSD-3-Clause
// Jobs that may block, done by threads of the process or by the kernel, and told to the worker that
// gave them.
//
//     worker: give ──> queue of the process ──> a thread runs it ──> line of the worker ──> doorbell
//                └──> a short read: the kernel does it (file/uring.h) ─────────────────────> doorbell
//     worker: the doorbell can be read ──> mlt_file_aio_reap: `done` of each job, on the worker's thread
//
// A line is a worker's: it gives jobs and takes them back, in any order. Threads are made when jobs
// wait and no thread is idle, up to a number; they end when the last line of the process is freed.
// MILLET_FILE_ASYNC says whether the kernel is asked, at the first short read; where it refuses, threads
// do all.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/status.h"
#include "file/uring.h"

typedef struct mlt_file_aio mlt_file_aio;

typedef struct mlt_file_task {
    mlt_list_node node;         // in the queue
    struct mlt_file_task *next; // in the line
    mlt_file_aio *line;
    void (*run)(struct mlt_file_task *job); // on a thread of the pool; may block
    void (*done)(
        struct mlt_file_task *job); // on the worker's thread; the job's memory is the caller's
    mlt_file_read read; // read.access: a short read that is all that `run` does; NULL: it does more
} mlt_file_task;

typedef enum mlt_file_kernel {
    MLT_FILE_KERNEL_UNASKED,
    MLT_FILE_KERNEL_REFUSES,
    MLT_FILE_KERNEL_READS,
} mlt_file_kernel;

struct mlt_file_aio {
    int doorbell;  // can be read when something is done (os/file.h)
    uint32_t open; // jobs given and not taken back; the worker's thread's
    uint32_t
        in_pool; // jobs in the queue, or whose thread still uses the line; under the pool's lock
    _Atomic(mlt_file_task *) finished; // the last one first
    mlt_file_kernel kernel;            // the worker's thread's, as is:
    mlt_file_uring *uring;             // MLT_FILE_KERNEL_READS
};

// MLT_ERR_SYSTEM: the system refuses a descriptor. MLT_ERR_UNSUPPORTED: the user wants the kernel to read,
// which refuses. errno tells why.
mlt_status mlt_file_aio_init(mlt_file_aio *line) MLT_MUST_CHECK;
void mlt_file_aio_fini(mlt_file_aio *line); // nothing is open

// Fill in run, done and read.access before. False: the system refuses the first thread, and nothing was done.
bool mlt_file_give(mlt_file_aio *line, mlt_file_task *job) MLT_MUST_CHECK;

// Calls `done` of all jobs that have been run since.
void mlt_file_aio_reap(mlt_file_aio *line);
