// SPDX-License-Identifier: BSD-3-Clause
// Copies and reductions that are started together and end later.
//
// A batch belongs to one thread at a time and to one context: it has a stream of its own there. Copies
// join it until it is started; many small ones are one launch. All that was said of gpu.h holds here:
// whatever the driver refuses ends the job.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "type/op.h"
#include "type/type.h"

typedef struct mlt_gpu_batch mlt_gpu_batch;

// From elements to elements: `bytes` bytes, of whose packed forms they are those from to_at and from_at
// on. A NULL type is bytes that lie one after the other.
typedef struct mlt_gpu_transfer {
    const mlt_type *to_type, *from_type;
    void *to;
    const void *from;
    uint64_t to_at, from_at, bytes;
    // Private: mlt_gpu_transfer_look.
    struct mlt_cu_context *context;
    bool to_device, from_device;
    bool from_other; // of another device's memory into that of one, which the driver copies
} mlt_gpu_transfer;

// Finds out whose memory it is. False: no device's; it cannot join a batch.
bool mlt_gpu_transfer_look(mlt_gpu_transfer *transfer);

// What mlt_gpu_transfer_look finds out, of two transfers that it has looked at: into the memory that
// the first one goes into, out of that of the second one. False: look.
static inline bool mlt_gpu_transfer_know(mlt_gpu_transfer *transfer, const mlt_gpu_transfer *to,
                                         const mlt_gpu_transfer *from)
{
    if (!to->to_device || !from->from_device || to->context != from->context)
        return false;
    transfer->context = to->context;
    transfer->to_device = transfer->from_device = true;
    return true;
}

// Of the context that the transfer needs.
mlt_gpu_batch *mlt_gpu_batch_open(const mlt_gpu_transfer *transfer);

// Whether it may join: the context is the same, and there is room. fits: without asking for room.
bool mlt_gpu_batch_takes(const mlt_gpu_batch *batch, const mlt_gpu_transfer *transfer);
bool mlt_gpu_batch_fits(const mlt_gpu_batch *batch, const mlt_gpu_transfer *transfer);
void mlt_gpu_batch_add(mlt_gpu_batch *batch, const mlt_gpu_transfer *transfer);

// out[i] = operands[0][i] op operands[1][i] op ..., in this order, for `count` elements that lie
// `element` bytes apart, all in memory of the device. What joined before is done before, and what joins
// afterwards after it. `out` may be one of the first MLT_GPU_TURN operands. reduces: whether devices can
// do it at all.
enum { MLT_GPU_TURN = 1024 };
bool mlt_gpu_batch_reduces(mlt_op_kernel *kernel, uint32_t element);
void mlt_gpu_batch_reduce(mlt_gpu_batch *batch, mlt_op_kernel *kernel, uint32_t element, void *out,
                          const void *const *operands, uint32_t number, uint64_t count);

// A transfer by itself, also of host memory to host memory. Returns when the data are there. Nobody is
// told of it, unlike of the copies of gpu.h (mlt_upcalls.device_copied).
void mlt_gpu_transfer_now(mlt_gpu_transfer *transfer);

void mlt_gpu_batch_start(mlt_gpu_batch *batch);

// Whether all that was started is done.
bool mlt_gpu_batch_is_done(mlt_gpu_batch *batch);
void mlt_gpu_batch_wait(mlt_gpu_batch *batch);

// What was given to it: bytes that it copied, and those of operands that it combined; and
// mlt_arch_cycles() when it was opened.
uint64_t mlt_gpu_batch_bytes(const mlt_gpu_batch *batch);
uint64_t mlt_gpu_batch_since(const mlt_gpu_batch *batch);

// Gives it back: it is done, or nothing was started.
void mlt_gpu_batch_close(mlt_gpu_batch *batch);
