// SPDX-License-Identifier: BSD-3-Clause
// MPIX_Stream: operations that take their turn in a stream of a GPU, and do not block the caller. Names and
// arguments are MPICH's.
//
//     caller           stream              starter              driver
//     enqueues ------> call, wait
//     goes on          ... earlier work
//                      call -------------> starts it --------->  makes progress
//                      waits for a word                          it is complete
//                      goes on <-------------------------------- tells the word
//
// The call is a function that the driver of the GPU runs when the stream has come so far; it only wakes the
// starter, a thread of the library's own. The starter starts the operation inside the gate, as a second
// thread of the rank would, and the worker's driver (mpi/helper.h) makes progress, whatever the rank
// does meanwhile: as a rule it waits in cudaStreamSynchronize. A word in pinned memory tells the
// stream of the end (gpu/stream.h).
//
// Operations begin in the order in which their streams come to them, those of one stream in the order
// of the calls. A nonblocking operation is not waited for; MPIX_Wait_enqueue puts the wait into its
// stream, and MPI_Wait waits as for any other.
//
// An operation that fails raises its error on its communicator when it fails, not in the call that
// enqueued it; the stream goes on.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "gpu/stream.h"
#include "mpi/comm/comm.h"
#include "p2p/p2p.h"

enum { MLT_STREAM_MAGIC = 0x57e4a3ed };

// One stream of one rank.
typedef struct mlt_stream {
    uint32_t magic; // MLT_STREAM_MAGIC while the user's handle lives
    uint32_t refs;  // the handle, communicators, operations
    mlt_rank *rank;
    struct mlt_stream *next; // of the process
    bool plain;              // it is no GPU's: nothing can be enqueued
    mlt_gpu_stream on;
} mlt_stream;

// The rank's stream of that handle; NULL: a bad handle.
mlt_stream *mlt_stream_mine(const mlt_rank *me, MPIX_Stream handle);

static inline void mlt_stream_hold(mlt_stream *stream)
{
    stream->refs++;
}

void mlt_stream_drop(mlt_stream *stream); // NULL is fine

// ---- enqueue.c

// The rank begins to use streams: its worker gets a starter. An MPI code, raised.
int mlt_stream_begin(mlt_rank *me);

// MPI_Finalize: waits until all that the rank has enqueued is complete; then it uses streams no more. Ends
// the job with a message if a stream has failed, so that some never will be. May suspend.
void mlt_stream_end(mlt_rank *me);
