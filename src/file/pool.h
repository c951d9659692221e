// SPDX-License-Identifier: BSD-3-Clause
// Jobs that may block, done by threads of the process, and told to the worker that gave them.
//
//     worker: give ──> queue of the process ──> a thread runs it ──> line of the worker ──> ring
//     worker: the ring can be read ──> mlt_file_line_take: `done` of each job, on the worker's thread
//
// A line is a worker's: it gives jobs and takes them back, in any order. Threads are made when jobs
// wait and no thread is idle, up to a number; they end when the last line of the process is freed.
#ifndef MLT_FILE_POOL_H
#define MLT_FILE_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/status.h"

typedef struct mlt_file_line mlt_file_line;

typedef struct mlt_file_job {
    mlt_link link;             // in the queue
    struct mlt_file_job *next; // in the line
    mlt_file_line *line;
    void (*run)(struct mlt_file_job *job); // on a thread of the pool; may block
    void (*done)(
        struct mlt_file_job *job); // on the worker's thread; the job's memory is the caller's
} mlt_file_job;

struct mlt_file_line {
    int ring;                         // can be read when something is done (os/file.h)
    uint32_t open;                    // jobs given and not taken back; the worker's thread's
    _Atomic(mlt_file_job *) finished; // the last one first
};

// MLT_ERR_SYSTEM: the system refuses a descriptor.
mlt_status mlt_file_line_init(mlt_file_line *line) MLT_MUST_CHECK;
void mlt_file_line_fini(mlt_file_line *line); // nothing is open

// Fill in run and done before. False: the system refuses the first thread, and nothing was done.
bool mlt_file_give(mlt_file_line *line, mlt_file_job *job) MLT_MUST_CHECK;

// Calls `done` of all jobs that have been run since.
void mlt_file_line_take(mlt_file_line *line);

#endif
