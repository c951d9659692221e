// SPDX-License-Identifier: BSD-3-Clause
// The part of CUDA's driver interface that is used, found in libcuda.so.1 if the process has loaded
// it: nothing is linked, and no header of CUDA's is needed. Names are those of the interface without
// "cu"; calls that CUDA has renamed to _v2 are the renamed ones.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef uint64_t mlt_cu_ptr; // an address; addresses of the host are the same numbers
typedef int mlt_cu_result;
typedef struct mlt_cu_context *mlt_cu_context;
typedef struct mlt_cu_stream *mlt_cu_stream; // NULL: the legacy default stream
#define MLT_CU_STREAM_LEGACY     ((mlt_cu_stream)1)
#define MLT_CU_STREAM_PER_THREAD ((mlt_cu_stream)2)
typedef struct mlt_cu_event *mlt_cu_event;
typedef struct mlt_cu_module *mlt_cu_module;
typedef struct mlt_cu_function *mlt_cu_function;

enum {
    MLT_CU_OK = 0,
    MLT_CU_INVALID_VALUE = 1,
    MLT_CU_NOT_INITIALIZED = 3,
    MLT_CU_DEINITIALIZED = 4,
    MLT_CU_INVALID_CONTEXT = 201,
    MLT_CU_NOT_READY = 600,
    MLT_CU_STREAM_CAPTURE_IMPLICIT = 906,
};

enum { MLT_CU_STREAM_NON_BLOCKING = 1, MLT_CU_EVENT_DISABLE_TIMING = 2 };
enum { MLT_CU_HOST_PORTABLE = 1, MLT_CU_HOST_DEVICEMAP = 2 };
enum { MLT_CU_MEMORY_HOST = 1, MLT_CU_MEMORY_DEVICE = 2 };
enum { MLT_CU_WAIT_GEQ = 0, MLT_CU_IPC_LAZY_PEER_ACCESS = 1 };
enum { MLT_CU_CAPTURE_NONE = 0, MLT_CU_CAPTURE_ACTIVE = 1 };
enum { MLT_CU_JIT_ERROR_LOG = 5, MLT_CU_JIT_ERROR_LOG_BYTES = 6 }; // a text, and its room

enum { // of a pointer
    MLT_CU_POINTER_CONTEXT = 1,
    MLT_CU_POINTER_MEMORY_TYPE = 2,
    MLT_CU_POINTER_DEVICE_POINTER = 3, // where kernels find it
    MLT_CU_POINTER_SYNC_MEMOPS = 6,
    MLT_CU_POINTER_BUFFER_ID = 7,
    MLT_CU_POINTER_IS_MANAGED = 8,
    MLT_CU_POINTER_DEVICE_ORDINAL = 9,
    MLT_CU_POINTER_IS_IPC_CAPABLE = 10,
    MLT_CU_POINTER_RANGE_START = 11,
    MLT_CU_POINTER_RANGE_SIZE = 12,
};

enum { // of a device
    MLT_CU_DEVICE_MULTIPROCESSORS = 16,
    MLT_CU_DEVICE_PCI_BUS = 33,
    MLT_CU_DEVICE_PCI_DEVICE = 34,
    MLT_CU_DEVICE_UNIFIED_ADDRESSING = 41,
    MLT_CU_DEVICE_PCI_DOMAIN = 50,
    MLT_CU_DEVICE_MAJOR = 75,
    MLT_CU_DEVICE_MINOR = 76,
    MLT_CU_DEVICE_MANAGED = 83,
};

typedef struct mlt_cu_uuid {
    char bytes[16];
} mlt_cu_uuid;

typedef struct mlt_cu_ipc_handle {
    char bytes[64];
} mlt_cu_ipc_handle;

// CUDA_MEMCPY2D, in bytes.
typedef struct mlt_cu_copy_2d {
    size_t src_x, src_y;
    int src_type;
    const void *src_host;
    mlt_cu_ptr src_device;
    void *src_array;
    size_t src_pitch;
    size_t dst_x, dst_y;
    int dst_type;
    void *dst_host;
    mlt_cu_ptr dst_device;
    void *dst_array;
    size_t dst_pitch;
    size_t width, height;
} mlt_cu_copy_2d;
enum { MLT_CU_MEMORY_UNIFIED = 4 };

// Name of the field, name in the library, parameters.
#define MLT_CU_LIST(X)                                                                             \
    X(Init, cuInit, (unsigned flags))                                                              \
    X(DriverGetVersion, cuDriverGetVersion, (int *version))                                        \
    X(GetErrorName, cuGetErrorName, (mlt_cu_result error, const char **name))                      \
    X(GetErrorString, cuGetErrorString, (mlt_cu_result error, const char **text))                  \
    X(DeviceGetCount, cuDeviceGetCount, (int *count))                                              \
    X(DeviceGet, cuDeviceGet, (int *device, int ordinal))                                          \
    X(DeviceGetName, cuDeviceGetName, (char *name, int length, int device))                        \
    X(DeviceGetUuid, cuDeviceGetUuid_v2, (mlt_cu_uuid * uuid, int device))                         \
    X(DeviceGetAttribute, cuDeviceGetAttribute, (int *value, int attribute, int device))           \
    X(DeviceTotalMem, cuDeviceTotalMem_v2, (size_t * bytes, int device))                           \
    X(DeviceCanAccessPeer, cuDeviceCanAccessPeer, (int *can, int device, int peer))                \
    X(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (mlt_cu_context * context, int device))    \
    X(DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (int device))                         \
    X(DevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState,                                        \
      (int device, unsigned *flags, int *active))                                                  \
    X(CtxGetCurrent, cuCtxGetCurrent, (mlt_cu_context * context))                                  \
    X(CtxSetCurrent, cuCtxSetCurrent, (mlt_cu_context context))                                    \
    X(CtxGetDevice, cuCtxGetDevice, (int *device))                                                 \
    X(MemAlloc, cuMemAlloc_v2, (mlt_cu_ptr * out, size_t bytes))                                   \
    X(MemFree, cuMemFree_v2, (mlt_cu_ptr at))                                                      \
    X(MemHostAlloc, cuMemHostAlloc, (void **out, size_t bytes, unsigned flags))                    \
    X(MemFreeHost, cuMemFreeHost, (void *at))                                                      \
    X(MemHostRegister, cuMemHostRegister_v2, (void *at, size_t bytes, unsigned flags))             \
    X(MemHostUnregister, cuMemHostUnregister, (void *at))                                          \
    X(PointerGetAttribute, cuPointerGetAttribute, (void *out, int which, mlt_cu_ptr at))           \
    X(PointerSetAttribute, cuPointerSetAttribute, (const void *value, int which, mlt_cu_ptr at))   \
    X(PointerGetAttributes, cuPointerGetAttributes,                                                \
      (unsigned count, const int *which, void **out, mlt_cu_ptr at))                               \
    X(IpcGetMemHandle, cuIpcGetMemHandle, (mlt_cu_ipc_handle * out, mlt_cu_ptr at))                \
    X(IpcOpenMemHandle, cuIpcOpenMemHandle_v2,                                                     \
      (mlt_cu_ptr * out, mlt_cu_ipc_handle from, unsigned flags))                                  \
    X(IpcCloseMemHandle, cuIpcCloseMemHandle, (mlt_cu_ptr at))                                     \
    X(StreamCreate, cuStreamCreate, (mlt_cu_stream * out, unsigned flags))                         \
    X(StreamDestroy, cuStreamDestroy_v2, (mlt_cu_stream stream))                                   \
    X(StreamQuery, cuStreamQuery, (mlt_cu_stream stream))                                          \
    X(StreamSynchronize, cuStreamSynchronize, (mlt_cu_stream stream))                              \
    X(StreamGetCtx, cuStreamGetCtx, (mlt_cu_stream stream, mlt_cu_context * context))              \
    X(StreamIsCapturing, cuStreamIsCapturing, (mlt_cu_stream stream, int *state))                  \
    X(EventCreate, cuEventCreate, (mlt_cu_event * out, unsigned flags))                            \
    X(EventDestroy, cuEventDestroy_v2, (mlt_cu_event event))                                       \
    X(EventRecord, cuEventRecord, (mlt_cu_event event, mlt_cu_stream stream))                      \
    X(EventQuery, cuEventQuery, (mlt_cu_event event))                                              \
    X(StreamWaitEvent, cuStreamWaitEvent,                                                          \
      (mlt_cu_stream stream, mlt_cu_event event, unsigned flags))                                  \
    X(LaunchHostFunc, cuLaunchHostFunc,                                                            \
      (mlt_cu_stream stream, void (*call)(void *arg), void *arg))                                  \
    X(StreamWriteValue32, cuStreamWriteValue32_v2,                                                 \
      (mlt_cu_stream stream, mlt_cu_ptr at, unsigned value, unsigned flags))                       \
    X(StreamWaitValue32, cuStreamWaitValue32_v2,                                                   \
      (mlt_cu_stream stream, mlt_cu_ptr at, unsigned value, unsigned flags))                       \
    X(MemcpyAsync, cuMemcpyAsync,                                                                  \
      (mlt_cu_ptr to, mlt_cu_ptr from, size_t bytes, mlt_cu_stream stream))                        \
    X(Memcpy2DAsync, cuMemcpy2DAsync_v2, (const mlt_cu_copy_2d *c, mlt_cu_stream stream))          \
    X(ModuleLoadDataEx, cuModuleLoadDataEx,                                                        \
      (mlt_cu_module * out, const void *image, unsigned count, int *options, void **values))       \
    X(ModuleUnload, cuModuleUnload, (mlt_cu_module module))                                        \
    X(ModuleGetFunction, cuModuleGetFunction,                                                      \
      (mlt_cu_function * out, mlt_cu_module module, const char *name))                             \
    X(LaunchKernel, cuLaunchKernel,                                                                \
      (mlt_cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,                \
       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,                      \
       mlt_cu_stream stream, void **params, void **extra))

#define MLT_CU_FIELD(name, symbol, parameters) mlt_cu_result(*name) parameters;
typedef struct mlt_gpu_driver {
    MLT_CU_LIST(MLT_CU_FIELD)
} mlt_gpu_driver;
#undef MLT_CU_FIELD

// Fills in the table. load: maps the library unless the process has. MLT_ERR_UNSUPPORTED: there is
// no driver (or, without `load`, not yet); MLT_ERR_INVALID: it is too old, and `why` names what it
// lacks.
mlt_status mlt_gpu_driver_load(mlt_gpu_driver *driver, bool load, char *why,
                               size_t why_size) MLT_MUST_CHECK;

// Whether the process has the library by now.
bool mlt_gpu_driver_is_loaded(void);

// "an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)".
void mlt_gpu_error_text(const mlt_gpu_driver *driver, mlt_cu_result error, char *text, size_t size);
