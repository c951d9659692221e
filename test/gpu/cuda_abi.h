// SPDX-License-Identifier: BSD-3-Clause
// The part of CUDA's driver interface that the stand-in has: types, numbers and functions under the names
// that libcuda.so.1 exports (CUDA's own header renames many to _v2).
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef uint64_t cu_ptr; // an address of a device; those of the host are the same numbers
typedef int cu_device, cu_result;
typedef struct cu_context *cu_context;
typedef struct cu_stream *cu_stream; // NULL: the legacy default stream
typedef struct cu_event *cu_event;
typedef struct cu_module *cu_module;
typedef struct cu_function *cu_function;
typedef uint64_t cu_memory; // of cuMemCreate

enum {
    CU_OK = 0,
    CU_INVALID_VALUE = 1,
    CU_OUT_OF_MEMORY = 2,
    CU_NOT_INITIALIZED = 3,
    CU_DEINITIALIZED = 4,
    CU_NO_DEVICE = 100,
    CU_INVALID_DEVICE = 101,
    CU_INVALID_IMAGE = 200,
    CU_INVALID_CONTEXT = 201,
    CU_INVALID_HANDLE = 400,
    CU_NOT_FOUND = 500,
    CU_NOT_READY = 600,
    CU_ILLEGAL_ADDRESS = 700,
    CU_HOST_MEMORY_ALREADY_REGISTERED = 712,
    CU_NOT_PERMITTED = 800,
    CU_NOT_SUPPORTED = 801
};

enum { CU_STREAM_NON_BLOCKING = 1, CU_EVENT_DISABLE_TIMING = 2, CU_EVENT_INTERPROCESS = 4 };
enum { CU_HOST_PORTABLE = 1, CU_HOST_DEVICEMAP = 2 };
enum { CU_MEMORY_HOST = 1, CU_MEMORY_DEVICE = 2 };
enum { CU_IPC_LAZY_PEER_ACCESS = 1 };
enum { CU_WAIT_GEQ = 0, CU_WAIT_EQ = 1 };
enum { CU_JIT_ERROR_LOG = 5, CU_JIT_ERROR_LOG_BYTES = 6 };

enum { // of a pointer
    CU_POINTER_CONTEXT = 1,
    CU_POINTER_MEMORY_TYPE = 2,
    CU_POINTER_DEVICE_POINTER = 3,
    CU_POINTER_SYNC_MEMOPS = 6,
    CU_POINTER_BUFFER_ID = 7,
    CU_POINTER_IS_MANAGED = 8,
    CU_POINTER_DEVICE_ORDINAL = 9,
    CU_POINTER_IS_IPC_CAPABLE = 10,
    CU_POINTER_RANGE_START = 11,
    CU_POINTER_RANGE_SIZE = 12
};

enum { // of a device
    CU_DEVICE_MULTIPROCESSORS = 16,
    CU_DEVICE_INTEGRATED = 18,
    CU_DEVICE_PCI_BUS = 33,
    CU_DEVICE_PCI_DEVICE = 34,
    CU_DEVICE_UNIFIED_ADDRESSING = 41,
    CU_DEVICE_PCI_DOMAIN = 50,
    CU_DEVICE_MAJOR = 75,
    CU_DEVICE_MINOR = 76,
    CU_DEVICE_MANAGED = 83
};

typedef struct cu_uuid {
    char bytes[16];
} cu_uuid;

typedef struct cu_ipc_handle {
    char bytes[64];
} cu_ipc_handle;

// CUDA_MEMCPY2D, in bytes.
typedef struct cu_copy_2d {
    size_t src_x, src_y;
    int src_type;
    const void *src_host;
    cu_ptr src_device;
    void *src_array;
    size_t src_pitch;
    size_t dst_x, dst_y;
    int dst_type;
    void *dst_host;
    cu_ptr dst_device;
    void *dst_array;
    size_t dst_pitch;
    size_t width, height;
} cu_copy_2d;

cu_result cuInit(unsigned flags);
cu_result cuDriverGetVersion(int *version);
cu_result cuGetErrorName(cu_result error, const char **name);
cu_result cuGetErrorString(cu_result error, const char **text);

cu_result cuDeviceGetCount(int *count);
cu_result cuDeviceGet(cu_device *device, int ordinal);
cu_result cuDeviceGetName(char *name, int length, cu_device device);
cu_result cuDeviceGetUuid_v2(cu_uuid *uuid, cu_device device);
cu_result cuDeviceGetAttribute(int *value, int attribute, cu_device device);
cu_result cuDeviceTotalMem_v2(size_t *bytes, cu_device device);
cu_result cuDeviceCanAccessPeer(int *can, cu_device device, cu_device peer);
cu_result cuDevicePrimaryCtxRetain(cu_context *context, cu_device device);
cu_result cuDevicePrimaryCtxRelease_v2(cu_device device);
cu_result cuDevicePrimaryCtxGetState(cu_device device, unsigned *flags, int *active);
cu_result cuCtxGetCurrent(cu_context *context);
cu_result cuCtxSetCurrent(cu_context context);
cu_result cuCtxGetDevice(cu_device *device);
cu_result cuCtxSynchronize(void);

cu_result cuMemGetInfo_v2(size_t *unused, size_t *total);
cu_result cuMemAlloc_v2(cu_ptr *out, size_t bytes);
cu_result cuMemAllocAsync(cu_ptr *out, size_t bytes, cu_stream stream);
cu_result cuMemAllocManaged(cu_ptr *out, size_t bytes, unsigned flags);
cu_result cuMemFree_v2(cu_ptr at);
cu_result cuMemFreeAsync(cu_ptr at, cu_stream stream);
cu_result cuMemHostAlloc(void **out, size_t bytes, unsigned flags);
cu_result cuMemFreeHost(void *at);
cu_result cuMemHostRegister_v2(void *at, size_t bytes, unsigned flags);
cu_result cuMemHostUnregister(void *at);
cu_result cuMemGetAddressRange_v2(cu_ptr *base, size_t *bytes, cu_ptr at);
cu_result cuPointerGetAttribute(void *out, int which, cu_ptr at);
cu_result cuPointerSetAttribute(const void *value, int which, cu_ptr at);
cu_result cuPointerGetAttributes(unsigned count, const int *which, void **out, cu_ptr at);

cu_result cuIpcGetMemHandle(cu_ipc_handle *out, cu_ptr at);
cu_result cuIpcOpenMemHandle_v2(cu_ptr *out, cu_ipc_handle from, unsigned flags);
cu_result cuIpcCloseMemHandle(cu_ptr at);

cu_result cuStreamCreate(cu_stream *out, unsigned flags);
cu_result cuStreamCreateWithPriority(cu_stream *out, unsigned flags, int priority);
cu_result cuStreamDestroy_v2(cu_stream stream);
cu_result cuStreamQuery(cu_stream stream);
cu_result cuStreamSynchronize(cu_stream stream);
cu_result cuStreamGetCtx(cu_stream stream, cu_context *context);
cu_result cuStreamIsCapturing(cu_stream stream, int *is);
cu_result cuStreamBeginCapture_v2(cu_stream stream, int mode);
cu_result cuStreamEndCapture(cu_stream stream, void **graph);
cu_result cuEventCreate(cu_event *out, unsigned flags);
cu_result cuEventDestroy_v2(cu_event event);
cu_result cuEventRecord(cu_event event, cu_stream stream);
cu_result cuEventQuery(cu_event event);
cu_result cuEventSynchronize(cu_event event);
cu_result cuStreamWaitEvent(cu_stream stream, cu_event event, unsigned flags);
cu_result cuLaunchHostFunc(cu_stream stream, void (*call)(void *arg), void *arg);
cu_result cuStreamWriteValue32_v2(cu_stream stream, cu_ptr at, unsigned value, unsigned flags);
cu_result cuStreamWaitValue32_v2(cu_stream stream, cu_ptr at, unsigned value, unsigned flags);

cu_result cuMemcpy(cu_ptr to, cu_ptr from, size_t bytes);
cu_result cuMemcpyAsync(cu_ptr to, cu_ptr from, size_t bytes, cu_stream stream);
cu_result cuMemcpyHtoD_v2(cu_ptr to, const void *from, size_t bytes);
cu_result cuMemcpyDtoH_v2(void *to, cu_ptr from, size_t bytes);
cu_result cuMemcpy2DAsync_v2(const cu_copy_2d *c, cu_stream stream);
cu_result cuMemsetD8Async(cu_ptr to, unsigned char value, size_t count, cu_stream stream);
cu_result cuMemsetD32Async(cu_ptr to, unsigned value, size_t count, cu_stream stream);

cu_result cuModuleLoadDataEx(cu_module *out, const void *image, unsigned count, int *options,
                             void **values);
cu_result cuModuleUnload(cu_module module);
cu_result cuModuleGetFunction(cu_function *out, cu_module module, const char *name);
cu_result cuLaunchKernel(cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                         unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                         cu_stream stream, void **params, void **extra);

// Of the stand-in alone, for tests: where the processor finds device memory, past all streams.
void *stand_in_memory(cu_ptr at) __attribute__((weak));
// How many copies, kernels and the like this process has given to streams.
unsigned long long stand_in_operations(void) __attribute__((weak));
