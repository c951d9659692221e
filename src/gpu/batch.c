// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/batch.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "base/log.h"
#include "base/memory.h"
#include "gpu/gpu_int.h"
#include "os/os.h"

static struct {
    pthread_mutex_t lock;
    mlt_gpu_batch *first;
} unused = {.lock = PTHREAD_MUTEX_INITIALIZER};

// ---- contexts

mlt_gpu_current mlt_gpu_enter(const mlt_gpu_driver *cuda, mlt_cu_context context)
{
    mlt_gpu_current current = {NULL, false};
    if (cuda->CtxGetCurrent(&current.before) != MLT_CU_OK)
        current.before = NULL;
    current.changed = current.before != context;
    mlt_cu_result error = current.changed ? cuda->CtxSetCurrent(context) : MLT_CU_OK;
    if (error != MLT_CU_OK)
        mlt_gpu_refused(error, "make a context current");
    return current;
}

void mlt_gpu_leave(const mlt_gpu_driver *cuda, mlt_gpu_current current)
{
    if (current.changed)
        (void)cuda->CtxSetCurrent(current.before);
}

mlt_cu_context mlt_gpu_primary_of(const mlt_gpu_driver *cuda, int device)
{
    enum { DEVICES = 64 };
    static _Atomic(mlt_cu_context) known[DEVICES];
    if (device < 0 || device >= DEVICES)
        mlt_gpu_refused(MLT_CU_INVALID_CONTEXT, "tell whose memory it is");
    mlt_cu_context context = atomic_load_explicit(&known[device], memory_order_relaxed);
    if (context)
        return context;
    int handle;
    mlt_cu_result error = cuda->DeviceGet(&handle, device);
    if (error == MLT_CU_OK)
        error = cuda->DevicePrimaryCtxRetain(&context, handle);
    if (error != MLT_CU_OK)
        mlt_gpu_refused(error, "give the primary context of a device");
    atomic_store_explicit(&known[device], context, memory_order_relaxed);
    return context;
}

// An address of the data, for the driver.
static const void *first_of(const mlt_type *type, const void *base, uint64_t at)
{
    return (const void *)((uintptr_t)base + (type ? (uintptr_t)type->true_lb : (uintptr_t)at));
}

bool mlt_gpu_transfer_look(mlt_gpu_transfer *t)
{
    const mlt_gpu_driver *cuda = mlt_gpu_driver_now();
    int to, from;
    mlt_cu_context to_context = NULL, from_context = NULL;
    if (!cuda)
        return false;
    t->to_device = mlt_gpu_look_up(cuda, first_of(t->to_type, t->to, t->to_at), &to_context, &to);
    t->from_device =
        mlt_gpu_look_up(cuda, first_of(t->from_type, t->from, t->from_at), &from_context, &from);
    if (t->to_device)
        t->context = to_context ? to_context : mlt_gpu_primary_of(cuda, to);
    else if (t->from_device)
        t->context = from_context ? from_context : mlt_gpu_primary_of(cuda, from);
    // Kernels of one device do not reach the other's memory without more ado: the driver copies.
    t->from_other = t->to_device && t->from_device && to != from;
    if (t->from_other)
        t->from_device = false;
    return t->to_device || t->from_device;
}

// ---- batches

// A thread without a context asks in the batch's.
static mlt_cu_result query(const mlt_gpu_batch *b)
{
    mlt_cu_result error = b->cuda->StreamQuery(b->stream);
    mlt_cu_context own;
    if (error != MLT_CU_INVALID_CONTEXT || b->cuda->CtxGetCurrent(&own) != MLT_CU_OK || own ||
        b->cuda->CtxSetCurrent(b->context) != MLT_CU_OK)
        return error;
    error = b->cuda->StreamQuery(b->stream);
    (void)b->cuda->CtxSetCurrent(NULL);
    return error;
}

// A context of the program's that is gone takes its streams along.
static bool is_gone(mlt_cu_result error)
{
    enum { INVALID_HANDLE = 400, CONTEXT_IS_DESTROYED = 709 };
    return error == MLT_CU_INVALID_CONTEXT || error == INVALID_HANDLE ||
           error == CONTEXT_IS_DESTROYED;
}

static mlt_gpu_batch *take_unused(mlt_cu_context context)
{
    pthread_mutex_lock(&unused.lock);
    mlt_gpu_batch **link = &unused.first;
    while (*link && (*link)->context != context)
        link = &(*link)->next;
    mlt_gpu_batch *b = *link;
    if (b)
        *link = b->next;
    pthread_mutex_unlock(&unused.lock);
    return b;
}

mlt_gpu_batch *mlt_gpu_batch_open(const mlt_gpu_transfer *transfer)
{
    const mlt_gpu_driver *cuda = mlt_gpu_driver_now();
    enum { RESET_NS = 1000000 };
    mlt_cu_context context = transfer->context;
    mlt_gpu_batch *b = take_unused(context);
    // A context that was destroyed may come again at its address, without the stream. That takes time.
    while (b && mlt_os_now_ns() - b->used_ns > RESET_NS && is_gone(query(b))) {
        if (b->kernels)
            mlt_gpu_kernels_forget(b->kernels);
        free(b);
        b = take_unused(context);
    }
    if (!b) {
        b = mlt_xcalloc(1, sizeof *b);
        b->cuda = cuda;
        b->context = context;
        mlt_gpu_current current = mlt_gpu_enter(cuda, context);
        mlt_cu_result error = cuda->StreamCreate(&b->stream, MLT_CU_STREAM_NON_BLOCKING);
        mlt_gpu_leave(cuda, current);
        mlt_gpu_check(b, error, "give a stream for copies");
    }
    b->joined = b->pendings = b->pieces = b->used = 0;
    b->since = mlt_arch_cycles();
    b->bytes = 0;
    b->queued = b->told = false;
    return b;
}

bool mlt_gpu_batch_takes(const mlt_gpu_batch *batch, const mlt_gpu_transfer *transfer)
{
    return batch->joined < MLT_GPU_PENDING && mlt_gpu_batch_fits(batch, transfer);
}

bool mlt_gpu_batch_fits(const mlt_gpu_batch *batch, const mlt_gpu_transfer *transfer)
{
    return transfer->context == batch->context;
}

void mlt_gpu_batch_add(mlt_gpu_batch *batch, const mlt_gpu_transfer *transfer)
{
    if (transfer->bytes == 0)
        return;
    mlt_gpu_current current = mlt_gpu_enter(batch->cuda, batch->context);
    batch->told = false; // the word would tell the end of what was before
    mlt_gpu_enqueue(batch, transfer);
    mlt_gpu_leave(batch->cuda, current);
    batch->joined++;
    batch->bytes += transfer->bytes;
}

bool mlt_gpu_batch_reduces(mlt_op_kernel *kernel, uint32_t element)
{
    mlt_gpu_reduction reduction;
    return mlt_gpu_reduction_find(kernel, element, &reduction);
}

void mlt_gpu_batch_reduce(mlt_gpu_batch *batch, mlt_op_kernel *kernel, uint32_t element, void *out,
                          const void *const *operands, uint32_t number, uint64_t count)
{
    mlt_gpu_reduction reduction;
    if (count == 0)
        return;
    bool can = mlt_gpu_reduction_find(kernel, element, &reduction);
    mlt_assert(can);
    batch->bytes += number * count * element;
    mlt_gpu_current current = mlt_gpu_enter(batch->cuda, batch->context);
    mlt_gpu_kernels *kernels = mlt_gpu_batch_kernels(batch);
    mlt_gpu_batch_flush(batch);
    batch->told = false; // likewise
    // More operands than the list has room for are combined in turns.
    for (uint32_t done = 0; done < number;) {
        uint32_t n = number - done < MLT_GPU_TURN ? number - done : MLT_GPU_TURN;
        mlt_cu_ptr *list = mlt_gpu_batch_room(batch, (n + 1) * sizeof *list);
        if (!list) {
            mlt_gpu_batch_wait(batch);
            batch->used = 0;
            continue;
        }
        uint32_t first = done > 0;
        list[0] = (uintptr_t)out;
        for (uint32_t i = 0; i < n; i++)
            list[first + i] = (uintptr_t)operands[done + i];
        mlt_gpu_check(batch,
                      mlt_gpu_kernel_reduce(kernels, batch->stream, &reduction, (uintptr_t)out,
                                            list, n + first, count),
                      "combine operands");
        batch->queued = true;
        done += n;
    }
    mlt_gpu_leave(batch->cuda, current);
}

void mlt_gpu_batch_start(mlt_gpu_batch *batch)
{
    if (!batch->pendings)
        return;
    mlt_gpu_current current = mlt_gpu_enter(batch->cuda, batch->context);
    mlt_gpu_batch_flush(batch);
    mlt_gpu_leave(batch->cuda, current);
}

// ---- what a batch has when it needs it

void mlt_gpu_check(mlt_gpu_batch *batch, mlt_cu_result error, const char *what)
{
    if (MLT_LIKELY(error == MLT_CU_OK || error == MLT_CU_NOT_READY))
        return;
    char why[1400] = "";
    if (batch->kernels)
        mlt_gpu_kernels_why(batch->kernels, why, sizeof why);
    if (*why)
        mlt_fatal("%s", why);
    mlt_gpu_refused(error, what);
}

mlt_gpu_kernels *mlt_gpu_batch_kernels(mlt_gpu_batch *batch)
{
    if (!batch->kernels)
        mlt_gpu_check(batch, mlt_gpu_kernels_now(batch->cuda, &batch->kernels),
                      "tell about the device");
    return batch->kernels;
}

static mlt_gpu_pinned *pinned_of(mlt_gpu_batch *batch)
{
    void *memory;
    if (batch->pinned)
        return batch->pinned;
    mlt_gpu_check(batch,
                  batch->cuda->MemHostAlloc(&memory, sizeof *batch->pinned, MLT_CU_HOST_PORTABLE),
                  "give pinned memory");
    batch->pinned = memory;
    atomic_store_explicit(&batch->pinned->word, 0, memory_order_relaxed);
    return batch->pinned;
}

void *mlt_gpu_batch_room(mlt_gpu_batch *batch, uint64_t bytes)
{
    mlt_gpu_pinned *pinned = pinned_of(batch);
    bytes = (bytes + 15) & ~UINT64_C(15);
    if (bytes > MLT_GPU_ROOM - batch->used)
        return NULL;
    batch->used += (uint32_t)bytes;
    return pinned->room + batch->used - bytes;
}

mlt_cu_ptr mlt_gpu_batch_scratch(mlt_gpu_batch *batch)
{
    if (!batch->scratch)
        mlt_gpu_check(batch, batch->cuda->MemAlloc(&batch->scratch, MLT_GPU_SCRATCH),
                      "give memory of the device");
    return batch->scratch;
}

// ---- copies that wait

static void launch_pieces(mlt_gpu_batch *batch, uint32_t first, uint64_t longest)
{
    if (first == batch->pieces)
        return;
    mlt_gpu_check(batch,
                  mlt_gpu_kernel_copies(mlt_gpu_batch_kernels(batch), batch->stream,
                                        (uintptr_t)(batch->pinned->piece + first),
                                        batch->pieces - first, longest),
                  "copy");
    batch->queued = true;
}

static void flush_many(mlt_gpu_batch *batch)
{
    mlt_gpu_pinned *pinned = pinned_of(batch);
    uint32_t first = batch->pieces;
    uint64_t longest = 0;
    for (uint32_t i = 0; i < batch->pendings; i++) {
        const mlt_gpu_copy_item *p = &batch->pending[i];
        for (uint64_t at = 0, n; at < p->bytes; at += n) {
            if (batch->pieces == MLT_GPU_PIECES) { // kernels read the list until they end
                launch_pieces(batch, first, longest);
                mlt_gpu_batch_wait(batch);
                first = batch->pieces = 0;
            }
            n = p->bytes - at < MLT_GPU_PIECE ? p->bytes - at : MLT_GPU_PIECE;
            pinned->piece[batch->pieces++] = (mlt_gpu_copy_item){p->to + at, p->from + at, n};
            longest = n > longest ? n : longest;
        }
    }
    launch_pieces(batch, first, longest);
}

static void flush_one(mlt_gpu_batch *batch, const mlt_gpu_copy_item *p)
{
    enum { TOLD = 4 << 10 }; // bytes that one warp copies in no time
    mlt_cu_result error;
    if (mlt_gpu_is_awaited()) {
        flush_many(batch);
        return;
    }
    if (p->bytes <= TOLD && !batch->queued) {
        mlt_gpu_pinned *pinned = pinned_of(batch);
        batch->told = true;
        error =
            mlt_gpu_kernel_copy_told(mlt_gpu_batch_kernels(batch), batch->stream, p->to, p->from,
                                     p->bytes, (uintptr_t)&pinned->word, ++batch->turn);
    } else {
        error = batch->cuda->MemcpyAsync(p->to, p->from, p->bytes, batch->stream);
    }
    mlt_gpu_check(batch, error, "copy");
    batch->queued = true;
}

void mlt_gpu_batch_flush(mlt_gpu_batch *batch)
{
    batch->told = false; // more comes on the stream
    if (batch->pendings == 1)
        flush_one(batch, batch->pending);
    else if (batch->pendings > 1)
        flush_many(batch);
    batch->pendings = 0;
}

// ---- the end

bool mlt_gpu_batch_is_done(mlt_gpu_batch *batch)
{
    enum { SELDOM = 4096 };
    if (!batch->queued)
        return true;
    // acquire: what the device wrote is there. A kernel that failed writes nothing.
    if (batch->told) {
        if (atomic_load_explicit(&batch->pinned->word, memory_order_acquire) == batch->turn)
            return true;
        if (++batch->looks % SELDOM)
            return false;
    }
    mlt_cu_result error = query(batch);
    if (error != MLT_CU_OK && error != MLT_CU_NOT_READY)
        mlt_gpu_refused(error, "copy");
    return error == MLT_CU_OK;
}

void mlt_gpu_batch_wait(mlt_gpu_batch *batch)
{
    enum { OFTEN = 2000 }; // a small copy takes ten microseconds
    for (uint32_t looks = 0; !mlt_gpu_batch_is_done(batch); looks++)
        if (looks > OFTEN)
            (void)sched_yield();
        else
            mlt_arch_pause();
}

uint64_t mlt_gpu_batch_bytes(const mlt_gpu_batch *batch)
{
    return batch->bytes;
}

uint64_t mlt_gpu_batch_since(const mlt_gpu_batch *batch)
{
    return batch->since;
}

void mlt_gpu_batch_close(mlt_gpu_batch *batch)
{
    batch->used_ns = mlt_os_now_ns();
    pthread_mutex_lock(&unused.lock);
    batch->next = unused.first;
    unused.first = batch;
    pthread_mutex_unlock(&unused.lock);
}
