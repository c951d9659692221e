// SPDX-License-Identifier: BSD-3-Clause
// Memory of devices (GPUs): where a pointer points, and copies from, to and between such memory.
//
// A process that uses no device pays nothing: as long as no driver is loaded, mlt_gpu_is_on() is false
// and nobody asks anything else here. Once one is, a buffer in device memory travels with a twin of its
// datatype (mlt_gpu_twin): the same type, but not contiguous, so that no fast path touches the bytes,
// and marked, so that packing, unpacking and moving (type.h) come here.
//
// Memory that the processor may touch, too (pinned, registered), is host memory, and managed memory
// is the device's. Addresses are unified: those of all devices and of the host are different numbers.
//
// All functions may be called on any thread, and leave the thread's current context as it was. What
// the driver refuses ends the job with a message (mlt_gpu_refused): a copy that fails has lost data,
// as a segmentation fault has.
//
// This header knows no vendor. CUDA's driver is called in gpu.c and the files beside it, by the table of
// driver.h.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/status.h"
#include "type/type.h"

// ---- whether there is one

// A driver has been loaded, or is about to be. Never false again.
extern _Atomic bool mlt_gpu_on __attribute__((visibility("hidden")));

static inline bool mlt_gpu_is_on(void)
{
    return MLT_UNLIKELY(mlt_arch_load_8(&mlt_gpu_on));
}

// Looks whether the process has a driver by now, and loads one if the settings say so. Called when it
// has joined its job; ends the job with a message if the settings ask for what is not there.
void mlt_gpu_look_for_driver(void);

// The program is about to load that library, which may be a driver.
void mlt_gpu_expect(const char *library);

// ---- which memory

typedef struct mlt_gpu_place {
    int device;      // its number in the process
    bool managed;    // the processor may touch it
    bool shareable;  // another process of the host can open it
    uint64_t id;     // changes when the address is given out again
    uintptr_t start; // of the allocation
    uint64_t bytes;
} mlt_gpu_place;

// Asks the driver. False: the address is none of a device's.
bool mlt_gpu_find(const void *at, mlt_gpu_place *place);

// Whether the address is memory of a device, managed memory included. Host memory is told without
// the driver as a rule: by a table of 2 MiB granules in which there was some, and by reading the byte,
// which device memory that has taken its place would refuse.
enum { MLT_GPU_GRANULE_BITS = 21, MLT_GPU_GRANULES = 1024 };
extern _Atomic uintptr_t mlt_gpu_hosts[MLT_GPU_GRANULES] __attribute__((visibility("hidden")));
bool mlt_gpu_ask(const void *at); // the rest: asks, and remembers

static inline bool mlt_gpu_owns(const void *at)
{
    uintptr_t granule = (uintptr_t)at >> MLT_GPU_GRANULE_BITS;
    if (MLT_UNLIKELY(granule == 0))
        return false; // MPI_BOTTOM, MPI_IN_PLACE
    if (MLT_LIKELY(atomic_load_explicit(&mlt_gpu_hosts[granule % MLT_GPU_GRANULES],
                                        memory_order_relaxed) == granule) &&
        MLT_LIKELY(mlt_arch_peek(at)))
        return false;
    return mlt_gpu_ask(at);
}

// The program has a handler for SIGSEGV: host memory must be told without a fault from now on.
void mlt_gpu_no_faults(void);

// ---- datatypes

// Makes `twin` the type's twin, for memory of a device. Both share the layout.
static inline void mlt_gpu_make_twin(mlt_type *twin, const mlt_type *type)
{
    *twin = *type;
    twin->contiguous = 0;
    twin->device = 1;
}

// Of a predefined type.
const mlt_type *mlt_gpu_twin_of_code(const mlt_type *type);

// ---- copies: all return when the data are there

// Any address to any other; both may be host memory, too.
void mlt_gpu_copy(void *to, const void *from, uint64_t bytes);

// As mlt_type_pack and the like (type.h), of types of which one is a twin at least. move: a NULL type
// is bytes that lie one after the other, of which the first is byte 0.
void mlt_gpu_pack(const mlt_type *type, const void *buf, uint64_t from, void *to, uint64_t bytes);
void mlt_gpu_unpack(const mlt_type *type, void *buf, uint64_t from, const void *packed,
                    uint64_t bytes);
void mlt_gpu_move(const mlt_type *to_type, void *to, const mlt_type *from_type, const void *from,
                  uint64_t at, uint64_t bytes);

// The same of runs of blocks (type.h), counted from base; the other side has their bytes one after the
// other.
void mlt_gpu_pack_runs(const void *base, const mlt_type_run *runs, uint32_t count, void *to);
void mlt_gpu_unpack_runs(void *base, const mlt_type_run *runs, uint32_t count, const void *packed);

// ---- memory of the host that copies cross the bus from, and to

// Pins whole pages: their copies run while the caller goes on, and at the full rate. False: the driver
// refuses, and copies of them wait, as those of any memory of the host. unpin: no copy of them is under way;
// false: they stay pinned, and mapped.
bool mlt_gpu_pin(void *at, uint64_t bytes);
bool mlt_gpu_unpin(void *at) MLT_MUST_CHECK;

// ---- for reports

// What is said of an address at which the program broke: "memory of GPU 0 (256 bytes at 0x...)". 0
// bytes: nothing is known. In a signal handler.
size_t mlt_gpu_describe(const void *at, char *text, size_t size);
