// SPDX-License-Identifier: BSD-3-Clause
// Which memory is a device's, and copies one after the other.
#include "gpu/gpu.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/upcalls.h"
#include "fiber/fault.h"
#include "gpu/gpu_int.h"
#include "gpu/settings.h"

_Atomic bool mlt_gpu_on;
_Atomic uintptr_t mlt_gpu_hosts[MLT_GPU_GRANULES];

static struct {
    pthread_mutex_t lock;
    mlt_gpu_driver driver;
    _Atomic(const mlt_gpu_driver *) found; // NULL: not yet. Release once the table is filled in
    _Atomic bool no_faults;                // whoever sets it forgets the granules, too
    mlt_type twins[1024];                  // of predefined types; filled in before `on` is true
} gpu = {.lock = PTHREAD_MUTEX_INITIALIZER};

// ---- the driver

static void turn_on(void)
{
    pthread_mutex_lock(&gpu.lock);
    bool before = atomic_load_explicit(&mlt_gpu_on, memory_order_relaxed);
    for (uint32_t i = 0; !before && i < 1024; i++)
        if (mlt_type_predefined[i].magic)
            mlt_gpu_make_twin(&gpu.twins[i], &mlt_type_predefined[i]);
    // First the calls go by where memory is asked for: a rank that sees `on` once may not miss it later.
    if (!before && mlt_upcalls.gpu_begins)
        mlt_upcalls.gpu_begins();
    atomic_store_explicit(&mlt_gpu_on, true, memory_order_release);
    pthread_mutex_unlock(&gpu.lock);
}

// The driver's table if the process has the driver by now.
static const mlt_gpu_driver *find_driver(bool load, char *why, size_t why_size)
{
    const mlt_gpu_driver *found = atomic_load_explicit(&gpu.found, memory_order_acquire);
    if (MLT_LIKELY(found != NULL))
        return found;
    mlt_gpu_driver driver;
    mlt_status status = mlt_gpu_driver_load(&driver, load, why, why_size);
    if (status != MLT_OK) {
        if (status == MLT_ERR_INVALID)
            mlt_fatal("%s; MILLET_GPU=none does without", why);
        return NULL;
    }
    pthread_mutex_lock(&gpu.lock);
    found = atomic_load_explicit(&gpu.found, memory_order_acquire);
    if (!found) {
        gpu.driver = driver;
        found = &gpu.driver;
        atomic_store_explicit(&gpu.found, found, memory_order_release);
    }
    pthread_mutex_unlock(&gpu.lock);
    return found;
}

const mlt_gpu_driver *mlt_gpu_driver_now(void)
{
    char why[256];
    return find_driver(false, why, sizeof why);
}

void mlt_gpu_look_for_driver(void)
{
    char why[256];
    if (mlt_gpu_conf.want == MLT_GPU_WANT_NONE)
        return;
    bool wanted = mlt_gpu_conf.want == MLT_GPU_WANT_CUDA;
    if (find_driver(wanted, why, sizeof why))
        turn_on();
    else if (wanted)
        mlt_fatal("setting gpu is cuda, but %s", why);
}

void mlt_gpu_expect(const char *library)
{
    if (mlt_gpu_conf.want == MLT_GPU_WANT_NONE || mlt_gpu_is_on())
        return;
    // A library that was loaded before may have brought the driver along.
    if ((library && strstr(library, "libcuda.so")) || mlt_gpu_driver_is_loaded())
        turn_on();
}

_Noreturn void mlt_gpu_refused(mlt_cu_result error, const char *what)
{
    char text[160];
    mlt_gpu_error_text(mlt_gpu_driver_now(), error, text, sizeof text);
    mlt_fatal("the GPU's driver refuses to %s: %s", what, text);
}

// ---- which memory

void mlt_gpu_no_faults(void)
{
    atomic_store_explicit(&gpu.no_faults, true, memory_order_seq_cst);
    for (uint32_t i = 0; i < MLT_GPU_GRANULES; i++)
        atomic_store_explicit(&mlt_gpu_hosts[i], 0, memory_order_seq_cst);
}

// A thread without a context asks in that of a device which the process uses. False: it has one, or there
// is no such device.
static bool lend_context(const mlt_gpu_driver *cuda)
{
    mlt_cu_context own = NULL;
    int count = 0;
    if (cuda->CtxGetCurrent(&own) != MLT_CU_OK || own || cuda->DeviceGetCount(&count) != MLT_CU_OK)
        return false;
    for (int i = 0, device; i < count; i++) {
        unsigned flags;
        int active = 0;
        if (cuda->DeviceGet(&device, i) == MLT_CU_OK &&
            cuda->DevicePrimaryCtxGetState(device, &flags, &active) == MLT_CU_OK && active)
            return cuda->CtxSetCurrent(mlt_gpu_primary_of(cuda, i)) == MLT_CU_OK;
    }
    return false;
}

static mlt_cu_result ask(const mlt_gpu_driver *cuda, unsigned count, const int *which, void **out,
                         const void *at)
{
    mlt_cu_result error = cuda->PointerGetAttributes(count, which, out, (uintptr_t)at);
    if (error != MLT_CU_INVALID_CONTEXT || !lend_context(cuda))
        return error;
    error = cuda->PointerGetAttributes(count, which, out, (uintptr_t)at);
    (void)cuda->CtxSetCurrent(NULL);
    return error;
}

bool mlt_gpu_look_up(const mlt_gpu_driver *cuda, const void *at, mlt_cu_context *context,
                     int *device)
{
    static const int which[] = {MLT_CU_POINTER_MEMORY_TYPE, MLT_CU_POINTER_CONTEXT,
                                MLT_CU_POINTER_IS_MANAGED, MLT_CU_POINTER_DEVICE_ORDINAL};
    unsigned type = 0, managed = 0;
    void *out[] = {&type, context, &managed, device};
    *context = NULL;
    *device = -1;
    // An error: there is no context yet, or the driver is at its end, so there is no memory either.
    return ask(cuda, sizeof which / sizeof which[0], which, out, at) == MLT_CU_OK &&
           (type == MLT_CU_MEMORY_DEVICE || managed);
}

static bool find(const mlt_gpu_driver *cuda, const void *at, mlt_gpu_place *place)
{
    static const int which[] = {MLT_CU_POINTER_IS_MANAGED, MLT_CU_POINTER_BUFFER_ID,
                                MLT_CU_POINTER_RANGE_START, MLT_CU_POINTER_RANGE_SIZE,
                                MLT_CU_POINTER_IS_IPC_CAPABLE};
    unsigned managed = 0, shareable = 0;
    mlt_cu_ptr start = 0;
    size_t bytes = 0;
    unsigned long long id = 0;
    void *out[] = {&managed, &id, &start, &bytes, &shareable};
    mlt_cu_context context;
    if (!mlt_gpu_look_up(cuda, at, &context, &place->device) ||
        ask(cuda, sizeof which / sizeof which[0], which, out, at) != MLT_CU_OK)
        return false;
    place->managed = managed;
    place->shareable = shareable;
    place->id = id;
    place->start = (uintptr_t)start;
    place->bytes = bytes;
    return true;
}

bool mlt_gpu_find(const void *at, mlt_gpu_place *place)
{
    const mlt_gpu_driver *cuda = mlt_gpu_driver_now();
    return cuda && find(cuda, at, place);
}

// A copy of the program's from pageable memory, or a fill, may be on its way when its call returns, though
// it is called synchronous. From now on those that touch this allocation are; what was begun before is
// waited for. Where the driver does not take the wish (pools), that is done each time.
static void settle(const mlt_gpu_driver *cuda, const void *at, mlt_cu_context context, int device,
                   uint64_t id)
{
    enum { SETTLED = 1024 };
    static _Atomic uint64_t settled[SETTLED]; // by number; relaxed: done twice does no harm
    if (MLT_LIKELY(id && atomic_load_explicit(&settled[id % SETTLED], memory_order_relaxed) == id))
        return;
    unsigned wish = 1;
    mlt_gpu_current current =
        mlt_gpu_enter(cuda, context ? context : mlt_gpu_primary_of(cuda, device));
    if (cuda->PointerSetAttribute(&wish, MLT_CU_POINTER_SYNC_MEMOPS, (uintptr_t)at) == MLT_CU_OK)
        atomic_store_explicit(&settled[id % SETTLED], id, memory_order_relaxed);
    // What they refuse (a stream is being captured), the copy that follows is refused, too.
    (void)cuda->StreamSynchronize(MLT_CU_STREAM_LEGACY);
    (void)cuda->StreamSynchronize(MLT_CU_STREAM_PER_THREAD);
    mlt_gpu_leave(cuda, current);
}

bool mlt_gpu_ask(const void *at)
{
    static const int which[] = {MLT_CU_POINTER_MEMORY_TYPE, MLT_CU_POINTER_CONTEXT,
                                MLT_CU_POINTER_IS_MANAGED, MLT_CU_POINTER_DEVICE_ORDINAL,
                                MLT_CU_POINTER_BUFFER_ID};
    const mlt_gpu_driver *cuda = mlt_gpu_driver_now();
    mlt_cu_context context = NULL;
    unsigned type = 0, managed = 0;
    unsigned long long id = 0;
    int device = -1;
    void *out[] = {&type, &context, &managed, &device, &id};
    if (cuda && ask(cuda, sizeof which / sizeof which[0], which, out, at) == MLT_CU_OK &&
        (type == MLT_CU_MEMORY_DEVICE || managed)) {
        if (!managed)
            settle(cuda, at, context, device, id);
        return true;
    }
    // Without a driver, too: looking for one takes long, and there may never be one.
    uintptr_t granule = (uintptr_t)at >> MLT_GPU_GRANULE_BITS;
    _Atomic uintptr_t *place = &mlt_gpu_hosts[granule % MLT_GPU_GRANULES];
    if (atomic_load_explicit(&gpu.no_faults, memory_order_relaxed) || !mlt_fault_catches())
        return false;
    // seq_cst: either no_faults is seen here, or the granule there.
    atomic_store_explicit(place, granule, memory_order_seq_cst);
    if (atomic_load_explicit(&gpu.no_faults, memory_order_seq_cst))
        atomic_store_explicit(place, 0, memory_order_relaxed);
    return false;
}

// ---- pinned memory

bool mlt_gpu_pin(void *at, uint64_t bytes)
{
    const mlt_gpu_driver *cuda = mlt_gpu_driver_now();
    bool lent = lend_context(cuda);
    bool pinned = cuda->MemHostRegister(at, bytes, MLT_CU_HOST_PORTABLE) == MLT_CU_OK;
    if (lent)
        (void)cuda->CtxSetCurrent(NULL);
    return pinned;
}

// What is refused: the context is gone, or the driver at its end, and nothing is pinned any more.
bool mlt_gpu_unpin(void *at)
{
    if (mlt_gpu_is_awaited())
        return false;
    const mlt_gpu_driver *cuda = mlt_gpu_driver_now();
    bool lent = lend_context(cuda);
    (void)cuda->MemHostUnregister(at);
    if (lent)
        (void)cuda->CtxSetCurrent(NULL);
    return true;
}

const mlt_type *mlt_gpu_twin_of_code(const mlt_type *type)
{
    // acquire: the twins are filled in. The rank has seen it relaxed.
    (void)atomic_load_explicit(&mlt_gpu_on, memory_order_acquire);
    return &gpu.twins[type->code % 1024];
}

size_t mlt_gpu_describe(const void *at, char *text, size_t size)
{
    const mlt_gpu_driver *cuda = atomic_load_explicit(&gpu.found, memory_order_acquire);
    char why[64];
    mlt_gpu_driver driver;
    mlt_gpu_place place;
    if (!cuda && mlt_gpu_driver_load(&driver, false, why, sizeof why) == MLT_OK)
        cuda = &driver; // the setting has kept it out
    if (!cuda || !find(cuda, at, &place))
        return 0;
    int n = snprintf(text, size, "memory of GPU %d, %llu bytes at 0x%llx", place.device,
                     (unsigned long long)place.bytes, (unsigned long long)place.start);
    return n > 0 && (size_t)n < size ? (size_t)n : 0;
}
