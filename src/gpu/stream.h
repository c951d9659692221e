// SPDX-License-Identifier: BSD-3-Clause
// A stream of the program's, in which the library queues up for its turn: what it does when the stream has
// come so far, and what the stream then waits for.
//
// The beginning is a function that the driver calls on a thread of its own. It must be short and may
// not call the driver: the driver has one such thread for all streams of a context. So what takes
// long is done elsewhere, and its end is a word in pinned memory, for which the stream waits on the device.
//
// A word serves one operation after the other, each with a turn of its own. It never goes back, so a
// stream that waits for an earlier turn goes on, and a word may be used again as soon as its turn is told.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct mlt_gpu_stream {
    void *handle;                   // the driver's; NULL: the legacy default stream
    struct mlt_cu_context *context; // it belongs to
} mlt_gpu_stream;

// The default stream of the calling thread (CU_STREAM_PER_THREAD).
#define MLT_GPU_STREAM_PER_THREAD ((void *)2)

// A handle of the program's (CUstream, cudaStream_t). MLT_ERR_UNSUPPORTED: the process has no driver, or
// none that the settings let us use; MLT_ERR_INVALID: the driver does not know the stream. `why` says it.
mlt_status mlt_gpu_stream_find(mlt_gpu_stream *stream, void *handle, char *why,
                               size_t why_size) MLT_MUST_CHECK;

// How many streams of a context may wait at a time: each takes one of the driver's queues, and one is left for the
// library's copies. With 30 queues calls of the driver have been seen to hang before all were taken, with 28 not.
enum { MLT_GPU_QUEUES = 8, MLT_GPU_QUEUES_MOST = 24 };
#define MLT_GPU_QUEUES_NAME "CUDA_DEVICE_MAX_CONNECTIONS"
uint32_t mlt_gpu_streams_most(void);

// Whether a graph records what the stream is given now, to run it later and more than once. The program's
// thread asks.
bool mlt_gpu_stream_records(const mlt_gpu_stream *stream);

// Whether the stream, or its context, has failed and will not go on; `why` says of what.
bool mlt_gpu_stream_failed(const mlt_gpu_stream *stream, char *why, size_t why_size);

// The driver calls it when all that the stream was given before is done.
void mlt_gpu_stream_call(const mlt_gpu_stream *stream, void (*call)(void *arg), void *arg);

// A turn of a word.
typedef struct mlt_gpu_turn {
    struct mlt_gpu_word *word;
    uint32_t number;
} mlt_gpu_turn;

// A new one, for streams of that context or another. Any thread.
mlt_gpu_turn mlt_gpu_turn_take(const mlt_gpu_stream *stream);

// It has come: streams that wait for it go on. Any thread, once.
void mlt_gpu_turn_tell(mlt_gpu_turn turn);

// The stream waits for it.
void mlt_gpu_stream_wait(const mlt_gpu_stream *stream, mlt_gpu_turn turn);
