// SPDX-License-Identifier: BSD-3-Clause
// What the files of gpu share.
#pragma once

#include "gpu/batch.h"
#include "gpu/driver.h"
#include "gpu/gpu.h"
#include "gpu/kernel.h"

// NULL: the process has none yet.
const mlt_gpu_driver *mlt_gpu_driver_now(void);

_Noreturn void mlt_gpu_refused(mlt_cu_result error, const char *what) MLT_COLD;

// Whether the address is memory of a device; with the context that it belongs to (NULL: to none), and
// the device's number.
bool mlt_gpu_look_up(const mlt_gpu_driver *cuda, const void *at, mlt_cu_context *context,
                     int *device);

// The context for memory that has none of its own (pools, cuMemCreate): the device's primary one,
// which stays for as long as the process lives.
mlt_cu_context mlt_gpu_primary_of(const mlt_gpu_driver *cuda, int device);

// Streams of the program's wait for the library (stream.h), so what waits for them in turn must not be asked of
// the driver: its copies between a device and the host, which queue up behind those that the program has
// enqueued; freeing, unpinning, and loading kernels, which hold up all other calls meanwhile. Once true,
// never false again.
bool mlt_gpu_is_awaited(void);

// Makes a context the calling thread's current one; `before` is for leave.
typedef struct mlt_gpu_current {
    mlt_cu_context before;
    bool changed;
} mlt_gpu_current;

mlt_gpu_current mlt_gpu_enter(const mlt_gpu_driver *cuda, mlt_cu_context context);
void mlt_gpu_leave(const mlt_gpu_driver *cuda, mlt_gpu_current current);

enum {
    MLT_GPU_PENDING = 256,    // copies that wait for one launch
    MLT_GPU_PIECES = 4096,    // parts of these in one
    MLT_GPU_PIECE = 64 << 10, // bytes of a part
    MLT_GPU_ROOM = 256 << 10,
    MLT_GPU_SCRATCH = 4 << 20,
};

// Memory of the host that kernels read and write.
typedef struct mlt_gpu_pinned {
    mlt_gpu_copy_item piece[MLT_GPU_PIECES];
    char room[MLT_GPU_ROOM];
    _Atomic uint64_t word;
} mlt_gpu_pinned;

struct mlt_gpu_batch {
    struct mlt_gpu_batch *next; // of those that nobody uses
    const mlt_gpu_driver *cuda;
    mlt_cu_context context;
    mlt_cu_stream stream;
    mlt_gpu_kernels *kernels; // NULL until they are needed
    uint64_t used_ns;         // when it was closed
    uint64_t since;           // when it was opened: mlt_arch_cycles()
    uint64_t bytes;           // that joined, operands included
    uint32_t joined;          // transfers
    bool queued;              // something was given to the stream
    bool told;                // and nothing but one copy, which ends by `word` becoming `turn`
    uint64_t turn;
    uint32_t looks; // at the word
    uint32_t pendings;
    mlt_gpu_copy_item pending[MLT_GPU_PENDING]; // copies that wait for one launch
    mlt_gpu_pinned *pinned;                     // NULL until it is needed
    uint32_t pieces;                            // of its list, that were launched
    uint32_t used;                              // of its room
    mlt_cu_ptr scratch; // [MLT_GPU_SCRATCH] of the device; 0 until it is needed
};

// The context is current in all of these. Ends the job with a message unless the result is good.
void mlt_gpu_check(mlt_gpu_batch *batch, mlt_cu_result error, const char *what);
mlt_gpu_kernels *mlt_gpu_batch_kernels(mlt_gpu_batch *batch);

// Bytes that the processor writes and kernels read; NULL: there is no more room.
void *mlt_gpu_batch_room(mlt_gpu_batch *batch, uint64_t bytes);
mlt_cu_ptr mlt_gpu_batch_scratch(mlt_gpu_batch *batch);

// Copies that wait leave.
void mlt_gpu_batch_flush(mlt_gpu_batch *batch);

// copy.c: gives a transfer to the stream.
void mlt_gpu_enqueue(mlt_gpu_batch *batch, const mlt_gpu_transfer *transfer);
