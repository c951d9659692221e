// SPDX-License-Identifier: BSD-3-Clause
// MPIX_Stream objects: made of an info object, freed, attached to communicators.
#include "mpi/stream/stream.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mpi/error/error.h"
#include "mpi/handle.h"
#include "mpi/info/info.h"
#include "mpi/self.h"
#include "mpi_bodies.h"

// Those of GPUs, of all ranks of the process.
static struct {
    pthread_mutex_t lock;
    mlt_stream *first;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

mlt_stream *mlt_stream_mine(const mlt_rank *me, MPIX_Stream handle)
{
    mlt_stream *s = (mlt_stream *)(void *)handle;
    bool looks_well =
        s && (uintptr_t)s >= MLT_HANDLE_PREDEFINED && (uintptr_t)s % _Alignof(mlt_stream) == 0;
    return looks_well && s->magic == MLT_STREAM_MAGIC && s->rank == me ? s : NULL;
}

void mlt_stream_drop(mlt_stream *stream)
{
    if (!stream || --stream->refs > 0)
        return;
    pthread_mutex_lock(&all.lock);
    mlt_stream **link = &all.first;
    while (*link && *link != stream)
        link = &(*link)->next;
    if (*link)
        *link = stream->next;
    pthread_mutex_unlock(&all.lock);
    free(stream);
}

// They are the same stream of the GPU.
static bool is_same_stream(const mlt_stream *a, const mlt_stream *b)
{
    return a->on.handle == b->on.handle && a->on.context == b->on.context &&
           (a->on.handle != MLT_GPU_STREAM_PER_THREAD || a->rank->worker == b->rank->worker);
}

// The first in the list that is the same stream of the GPU.
static const mlt_stream *first_same(const mlt_stream *stream)
{
    const mlt_stream *s = all.first;
    while (s && !is_same_stream(s, stream))
        s = s->next;
    return s;
}

// Adds it, unless there are too many, or another rank has the same one: while that waits for one of them, what the
// other one has enqueued cannot begin.
static int register_stream(mlt_rank *me, mlt_stream *stream)
{
    uint32_t others = 0, most = mlt_gpu_streams_most();
    pthread_mutex_lock(&all.lock);
    const mlt_stream *same = first_same(stream);
    for (const mlt_stream *s = all.first; s; s = s->next)
        others += s->on.context == stream->on.context && first_same(s) == s;
    int32_t whose = same ? same->rank->world : me->world;
    bool fits = same ? whose == me->world : others < most;
    if (fits) {
        stream->next = all.first;
        all.first = stream;
    }
    pthread_mutex_unlock(&all.lock);
    if (fits)
        return MPI_SUCCESS;
    if (whose != me->world)
        return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_INFO_VALUE,
                             "the stream %p is that of rank %d already, which is in this process; "
                             "each rank needs a stream of its own, since the stream waits for what "
                             "a rank enqueues",
                             stream->on.handle, (int)whose);
    return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_OTHER,
                         "the process has %u streams for MPI, and its driver has queues for no "
                         "more that wait: " MLT_GPU_QUEUES_NAME
                         " is the number of queues (%d unless it is set, at most %d of use), of "
                         "which one is the library's",
                         (unsigned)others, MLT_GPU_QUEUES, MLT_GPU_QUEUES_MOST);
}

static int bad_stream(mlt_rank *me, mlt_comm *comm, MPIX_Stream stream)
{
    return mlt_bad_handle(me, comm, me->fn, MPI_ERR_ARG, "stream", "MPIX_Stream of the rank",
                          (uintptr_t)stream);
}

// ---- bytes in an info object

int mlt_mpi_Info_set_hex(mlt_rank *me, MPI_Info info, const char *key, const void *value,
                         int value_size)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *bytes = value;
    if (value_size < 0 || value_size >= MPI_MAX_INFO_VAL / 2)
        return mlt_bad_value(me, NULL, MLT_FN_MPIX_Info_set_hex, MPI_ERR_INFO_VALUE, "value_size",
                             value_size, "at least 0, and less than half of MPI_MAX_INFO_VAL");
    if (!value && value_size)
        return mlt_mpi_raise(me, NULL, MLT_FN_MPIX_Info_set_hex, MPI_ERR_ARG,
                             "argument value is NULL, but should be the address of %d bytes",
                             value_size);
    char *text = mlt_xcalloc(2 * (size_t)value_size + 1, 1);
    for (int i = 0; i < value_size; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    int code = mlt_mpi_Info_set(me, info, key, text);
    free(text);
    return code;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

// False: the text is not so many bytes.
static bool read_hex(const char *text, void *value, size_t size)
{
    unsigned char *bytes = value;
    if (strlen(text) != 2 * size)
        return false;
    for (size_t i = 0; i < size; i++) {
        int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

// ---- streams

// The stream of a GPU that the info object describes.
static int find_gpu_stream(mlt_rank *me, const mlt_info *info, const char *type,
                           mlt_gpu_stream *stream)
{
    char why[256];
    void *handle;
    const char *value = mlt_info_get(info, "value");
    if (strcmp(type, "cudaStream_t") != 0 && strcmp(type, "CUstream") != 0)
        return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_INFO_VALUE,
                             "info key \"type\" is \"%s\", but should be \"cudaStream_t\": Millet "
                             "knows streams of CUDA only",
                             type);
    if (!value || !read_hex(value, &handle, sizeof handle))
        return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_INFO_VALUE,
                             "info key \"value\" is %s%s%s, but should be the %zu bytes of a "
                             "cudaStream_t: MPIX_Info_set_hex(info, \"value\", &stream, sizeof "
                             "stream)",
                             value ? "\"" : "", value ? value : "not set", value ? "\"" : "",
                             sizeof handle);
    mlt_status status = mlt_gpu_stream_find(stream, handle, why, sizeof why);
    if (status != MLT_OK)
        return mlt_mpi_raise(me, NULL, me->fn,
                             status == MLT_ERR_UNSUPPORTED ? MPI_ERR_UNSUPPORTED_OPERATION
                                                           : MPI_ERR_INFO_VALUE,
                             "%s", why);
    return MPI_SUCCESS;
}

int mlt_mpi_Stream_create(mlt_rank *me, MPI_Info handle, MPIX_Stream *stream)
{
    mlt_gpu_stream on = {NULL, NULL};
    const mlt_info *info = handle == MPI_INFO_NULL ? NULL : mlt_info_of(handle);
    *stream = MPIX_STREAM_NULL;
    if (!info && handle != MPI_INFO_NULL)
        return mlt_bad_info(me, NULL, me->fn, handle);
    const char *type = mlt_info_get(info, "type");
    int code = type ? find_gpu_stream(me, info, type, &on) : MPI_SUCCESS;
    if (code == MPI_SUCCESS && type)
        code = mlt_stream_begin(me);
    if (code != MPI_SUCCESS)
        return code;
    mlt_stream *s = mlt_xcalloc(1, sizeof *s);
    *s = (mlt_stream){.magic = MLT_STREAM_MAGIC, .refs = 1, .rank = me, .plain = !type, .on = on};
    code = type ? register_stream(me, s) : MPI_SUCCESS;
    if (code != MPI_SUCCESS) {
        free(s);
        return code;
    }
    *stream = (MPIX_Stream)(void *)s;
    return MPI_SUCCESS;
}

// What is enqueued goes on, and so do its communicators.
int mlt_mpi_Stream_free(mlt_rank *me, MPIX_Stream *stream)
{
    mlt_stream *s = mlt_stream_mine(me, *stream);
    if (!s)
        return bad_stream(me, NULL, *stream);
    s->magic = 0;
    mlt_stream_drop(s);
    *stream = MPIX_STREAM_NULL;
    return MPI_SUCCESS;
}

// ---- communicators

int mlt_mpi_Stream_comm_create(mlt_rank *me, mlt_comm *comm, MPIX_Stream stream, MPI_Comm *newcomm)
{
    mlt_stream *s = stream == MPIX_STREAM_NULL ? NULL : mlt_stream_mine(me, stream);
    *newcomm = MPI_COMM_NULL;
    if (!s && stream != MPIX_STREAM_NULL)
        return bad_stream(me, comm, stream);
    int code = mlt_mpi_Comm_dup_with_info(me, comm, MPI_INFO_NULL, newcomm);
    if (code != MPI_SUCCESS || !s)
        return code;
    mlt_comm_extra_of(mlt_comm_of(me, *newcomm))->stream = s;
    mlt_stream_hold(s);
    return MPI_SUCCESS;
}

int mlt_mpi_Comm_get_stream(mlt_rank *me, mlt_comm *comm, int idx, MPIX_Stream *stream)
{
    *stream = MPIX_STREAM_NULL;
    if (idx != 0)
        return mlt_bad_value(me, comm, me->fn, MPI_ERR_ARG, "idx", idx,
                             "0: a communicator has one stream at most");
    mlt_stream *s = comm->extra ? comm->extra->stream : NULL;
    if (s && s->magic == MLT_STREAM_MAGIC)
        *stream = (MPIX_Stream)(void *)s;
    return MPI_SUCCESS;
}
