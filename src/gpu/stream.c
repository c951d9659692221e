// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/stream.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "gpu/gpu_int.h"
#include "gpu/settings.h"

enum { WORDS = 64, WORD_BYTES = 64 }; // of one allocation; a line of the cache each

typedef struct mlt_gpu_word {
    struct mlt_gpu_word *next; // of those that nobody uses
    _Atomic uint32_t *at;      // pinned
    uint32_t turns;            // that were taken
} mlt_gpu_word;

static struct {
    pthread_mutex_t lock;
    mlt_gpu_word *first;
} unused = {.lock = PTHREAD_MUTEX_INITIALIZER};

static atomic_bool awaited;

bool mlt_gpu_is_awaited(void)
{
    return atomic_load_explicit(&awaited, memory_order_relaxed);
}

static mlt_cu_result load_kernels(const mlt_gpu_driver *cuda, mlt_cu_context context, char *why,
                                  size_t why_size)
{
    mlt_gpu_kernels *kernels;
    mlt_gpu_current current = mlt_gpu_enter(cuda, context);
    mlt_cu_result error = mlt_gpu_kernels_now(cuda, &kernels);
    if (error == MLT_CU_OK) {
        error = mlt_gpu_kernels_load(kernels);
        mlt_gpu_kernels_why(kernels, why, why_size);
    } else {
        mlt_gpu_error_text(cuda, error, why, why_size);
    }
    mlt_gpu_leave(cuda, current);
    return error;
}

mlt_status mlt_gpu_stream_find(mlt_gpu_stream *stream, void *handle, char *why, size_t why_size)
{
    const mlt_gpu_driver *cuda =
        mlt_gpu_conf.want == MLT_GPU_WANT_NONE ? NULL : mlt_gpu_driver_now();
    if (!cuda) {
        snprintf(why, why_size, "%s",
                 mlt_gpu_conf.want == MLT_GPU_WANT_NONE
                     ? "MILLET_GPU is none, so no stream of a GPU can be used"
                     : "the process has not loaded CUDA's driver");
        return MLT_ERR_UNSUPPORTED;
    }
    stream->handle = handle;
    mlt_cu_result error = cuda->StreamGetCtx(handle, &stream->context);
    if (error == MLT_CU_OK) {
        atomic_store_explicit(&awaited, true, memory_order_relaxed);
        error = load_kernels(cuda, stream->context, why, why_size);
        return error == MLT_CU_OK ? MLT_OK : MLT_ERR_INVALID;
    }
    char text[160];
    mlt_gpu_error_text(cuda, error, text, sizeof text);
    snprintf(why, why_size, "the driver says of the stream %p: %s", handle, text);
    return MLT_ERR_INVALID;
}

uint32_t mlt_gpu_streams_most(void)
{
    const char *text = getenv(MLT_GPU_QUEUES_NAME);
    long queues = text ? strtol(text, NULL, 10) : MLT_GPU_QUEUES;
    if (queues > MLT_GPU_QUEUES_MOST)
        queues = MLT_GPU_QUEUES_MOST;
    return queues > 1 ? (uint32_t)queues - 1 : 0;
}

bool mlt_gpu_stream_records(const mlt_gpu_stream *stream)
{
    const mlt_gpu_driver *cuda = mlt_gpu_driver_now();
    int state = MLT_CU_CAPTURE_NONE;
    mlt_gpu_current current = mlt_gpu_enter(cuda, stream->context);
    mlt_cu_result error = cuda->StreamIsCapturing(stream->handle, &state);
    mlt_gpu_leave(cuda, current);
    // Of the default stream it is an error to ask while another one records.
    return error == MLT_CU_STREAM_CAPTURE_IMPLICIT ||
           (error == MLT_CU_OK && state != MLT_CU_CAPTURE_NONE);
}

bool mlt_gpu_stream_failed(const mlt_gpu_stream *stream, char *why, size_t why_size)
{
    const mlt_gpu_driver *cuda = mlt_gpu_driver_now();
    mlt_gpu_current current = mlt_gpu_enter(cuda, stream->context);
    mlt_cu_result error = cuda->StreamQuery(stream->handle);
    mlt_gpu_leave(cuda, current);
    if (error == MLT_CU_OK || error == MLT_CU_NOT_READY)
        return false;
    mlt_gpu_error_text(cuda, error, why, why_size);
    return true;
}

static void stream_check(mlt_cu_result error, const char *what)
{
    if (MLT_UNLIKELY(error != MLT_CU_OK))
        mlt_gpu_refused(error, what);
}

void mlt_gpu_stream_call(const mlt_gpu_stream *stream, void (*call)(void *arg), void *arg)
{
    const mlt_gpu_driver *cuda = mlt_gpu_driver_now();
    mlt_gpu_current current = mlt_gpu_enter(cuda, stream->context);
    stream_check(cuda->LaunchHostFunc(stream->handle, call, arg), "call back from a stream");
    mlt_gpu_leave(cuda, current);
}

void mlt_gpu_stream_wait(const mlt_gpu_stream *stream, mlt_gpu_turn turn)
{
    const mlt_gpu_driver *cuda = mlt_gpu_driver_now();
    mlt_gpu_current current = mlt_gpu_enter(cuda, stream->context);
    stream_check(cuda->StreamWaitValue32(stream->handle, (uintptr_t)turn.word->at, turn.number,
                                         MLT_CU_WAIT_GEQ),
                 "let a stream wait for a word in memory");
    mlt_gpu_leave(cuda, current);
}

// ---- words

// They stay for as long as the process lives: a stream may still wait for an old turn.
static void make_words(const mlt_gpu_stream *stream)
{
    const mlt_gpu_driver *cuda = mlt_gpu_driver_now();
    void *memory;
    mlt_gpu_current current = mlt_gpu_enter(cuda, stream->context);
    stream_check(cuda->MemHostAlloc(&memory, (size_t)WORDS * WORD_BYTES,
                                    MLT_CU_HOST_PORTABLE | MLT_CU_HOST_DEVICEMAP),
                 "give pinned memory");
    mlt_gpu_leave(cuda, current);
    mlt_gpu_word *words = mlt_xcalloc(WORDS, sizeof *words);
    for (size_t i = 0; i < WORDS; i++) {
        words[i].at = (_Atomic uint32_t *)(void *)((char *)memory + i * WORD_BYTES);
        atomic_store_explicit(words[i].at, 0, memory_order_relaxed); // nobody knows it yet
        words[i].next = unused.first;
        unused.first = &words[i];
    }
}

mlt_gpu_turn mlt_gpu_turn_take(const mlt_gpu_stream *stream)
{
    pthread_mutex_lock(&unused.lock);
    if (!unused.first)
        make_words(stream);
    mlt_gpu_word *word = unused.first;
    unused.first = word->next;
    pthread_mutex_unlock(&unused.lock);
    return (mlt_gpu_turn){word, ++word->turns};
}

void mlt_gpu_turn_tell(mlt_gpu_turn turn)
{
    // Release: the device sees the data of the operation once it sees the turn.
    atomic_store_explicit(turn.word->at, turn.number, memory_order_release);
    pthread_mutex_lock(&unused.lock);
    turn.word->next = unused.first;
    unused.first = turn.word;
    pthread_mutex_unlock(&unused.lock);
}
