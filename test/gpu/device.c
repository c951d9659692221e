// SPDX-License-Identifier: BSD-3-Clause
// What CUDA promises of a device, as far as MPI has to do with it. The stand-in has to keep it, too.
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_abi.h"

enum { N = 1000 };

static int failed;

#define CHECK(x)   ((x) ? (void)0 : (void)(failed++, printf("device.c:%d: %s\n", __LINE__, #x)))
#define FINE(call) CHECK((call) == CU_OK)

static int first[N], second[N];

static void begin(void)
{
    cu_context context;
    FINE(cuInit(0));
    FINE(cuDevicePrimaryCtxRetain(&context, 0));
    FINE(cuCtxSetCurrent(context));
}

static void test_context(void)
{
    cu_ptr at;
    int count;
    CHECK(cuDeviceGetCount(&count) == CU_NOT_INITIALIZED);
    FINE(cuInit(0));
    CHECK(cuMemAlloc_v2(&at, 8) == CU_INVALID_CONTEXT);
    begin();
    FINE(cuDeviceGetCount(&count));
    CHECK(count >= 1);
}

static void test_memory(void)
{
    cu_ptr a, b, range;
    size_t bytes;
    unsigned type;
    uint64_t old, new;
    FINE(cuMemAlloc_v2(&a, sizeof first));
    FINE(cuMemAlloc_v2(&b, sizeof first));
    for (int i = 0; i < N; i++)
        first[i] = i * i;
    FINE(cuMemcpyHtoD_v2(a, first, sizeof first));
    FINE(cuMemcpy(b, a, sizeof first));
    FINE(cuMemcpyDtoH_v2(second, b, sizeof first));
    CHECK(memcmp(first, second, sizeof first) == 0);
    FINE(cuMemGetAddressRange_v2(&range, &bytes, a + 100));
    CHECK(range == a && bytes == sizeof first);
    FINE(cuPointerGetAttribute(&type, CU_POINTER_MEMORY_TYPE, a + 100));
    CHECK(type == CU_MEMORY_DEVICE);
    CHECK(cuPointerGetAttribute(&type, CU_POINTER_MEMORY_TYPE, (uintptr_t)first) ==
          CU_INVALID_VALUE);
    type = 7;
    FINE(cuPointerGetAttributes(1, (const int[]){CU_POINTER_MEMORY_TYPE}, (void *[]){&type},
                                (uintptr_t)first));
    CHECK(type == 0);
    FINE(cuPointerGetAttribute(&old, CU_POINTER_BUFFER_ID, b));
    FINE(cuMemFree_v2(b));
    FINE(cuMemAlloc_v2(&b, sizeof first));
    FINE(cuPointerGetAttribute(&new, CU_POINTER_BUFFER_ID, b));
    CHECK(old != new);
    FINE(cuMemFree_v2(b));
    FINE(cuMemFree_v2(a));
}

static void test_other_memory(void)
{
    cu_ptr at;
    void *pinned;
    unsigned value;
    bool can;
    cu_ipc_handle handle;
    FINE(cuMemAllocManaged(&at, 64, 1));
    memset((void *)(uintptr_t)at, 5, 64);
    FINE(cuPointerGetAttribute(&value, CU_POINTER_IS_MANAGED, at));
    CHECK(value == 1);
    FINE(cuMemFree_v2(at));
    FINE(cuMemHostAlloc(&pinned, 64, CU_HOST_PORTABLE));
    memset(pinned, 5, 64);
    FINE(cuPointerGetAttribute(&value, CU_POINTER_MEMORY_TYPE, (uintptr_t)pinned));
    CHECK(value == CU_MEMORY_HOST);
    FINE(cuMemFreeHost(pinned));
    FINE(cuMemHostRegister_v2(first, sizeof first, 0));
    CHECK(cuMemHostRegister_v2(first, sizeof first, 0) == CU_HOST_MEMORY_ALREADY_REGISTERED);
    FINE(cuMemHostUnregister(first));
    FINE(cuMemAllocAsync(&at, 64, NULL));
    FINE(cuPointerGetAttribute(&can, CU_POINTER_IS_IPC_CAPABLE, at));
    CHECK(!can && cuIpcGetMemHandle(&handle, at) != CU_OK);
    FINE(cuMemFreeAsync(at, NULL));
    FINE(cuCtxSynchronize());
}

// Runs `body` in a child: true if it dies of SIGSEGV.
static bool is_fatal(void (*body)(cu_ptr at), cu_ptr at)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        body(at);
        _exit(0);
    }
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

static void touch(cu_ptr at)
{
    (void)__atomic_load_n((int *)(uintptr_t)at, __ATOMIC_RELAXED);
}

static void test_no_access(void)
{
    int status, count;
    cu_ptr at;
    FINE(cuMemAlloc_v2(&at, 64));
    CHECK(is_fatal(touch, at));
    FINE(cuMemFree_v2(at));
    pid_t child = fork();
    if (child == 0) // a device does not come along
        _exit(cuDeviceGetCount(&count) == CU_NOT_INITIALIZED ? 0 : 1);
    waitpid(child, &status, 0);
    CHECK(status == 0);
}

static struct {
    int count, of[64];
} order;

static void note(void *arg)
{
    order.of[order.count++] = (int)(intptr_t)arg;
}

// What is not ordered comes in any order; what is, in that one.
static void test_streams(void)
{
    cu_stream a, b;
    cu_event event;
    bool mixed = false;
    FINE(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    FINE(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    FINE(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK(cuEventQuery(event) == CU_OK);
    for (int i = 0; i < 16; i++) {
        FINE(cuLaunchHostFunc(a, note, (void *)(intptr_t)i));
        FINE(cuLaunchHostFunc(b, note, (void *)(intptr_t)(100 + i)));
    }
    FINE(cuStreamSynchronize(a));
    FINE(cuStreamSynchronize(b));
    for (int i = 0, x = 0, y = 100; i < order.count; i++) {
        CHECK(order.of[i] == (order.of[i] < 100 ? x++ : y++));
        mixed |= i % 2 != (order.of[i] >= 100);
    }
    CHECK(order.count == 32);
    if (mixed)
        printf("mixed\n");
    order.count = 0;
    for (int i = 0; i < 8; i++)
        FINE(cuLaunchHostFunc(a, note, (void *)(intptr_t)i));
    FINE(cuEventRecord(event, a));
    FINE(cuStreamWaitEvent(b, event, 0));
    FINE(cuLaunchHostFunc(b, note, (void *)(intptr_t)8));
    FINE(cuStreamSynchronize(b));
    CHECK(cuEventQuery(event) == CU_OK && order.count == 9 && order.of[8] == 8);
    FINE(cuEventDestroy_v2(event));
    FINE(cuStreamDestroy_v2(b));
    FINE(cuStreamDestroy_v2(a));
}

// The default stream comes after what blocking streams had, and before what they get.
static void test_default_stream(void)
{
    cu_stream a, b;
    FINE(cuStreamCreate(&a, 0));
    FINE(cuStreamCreate(&b, 0));
    for (int i = 0; i < 10; i++) {
        order.count = 0;
        FINE(cuLaunchHostFunc(a, note, (void *)1));
        FINE(cuLaunchHostFunc(b, note, (void *)1));
        FINE(cuLaunchHostFunc(NULL, note, (void *)2));
        FINE(cuLaunchHostFunc(a, note, (void *)3));
        FINE(cuLaunchHostFunc(b, note, (void *)3));
        FINE(cuCtxSynchronize());
        CHECK(order.count == 5 && order.of[1] == 1 && order.of[2] == 2 && order.of[3] == 3);
    }
    FINE(cuStreamDestroy_v2(b));
    FINE(cuStreamDestroy_v2(a));
}

static void test_copies(void)
{
    cu_ptr at;
    cu_stream stream;
    int *pinned, part[4];
    FINE(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    FINE(cuMemAlloc_v2(&at, sizeof first));
    FINE(cuMemHostAlloc((void **)&pinned, sizeof first, 0));
    for (int i = 0; i < N; i++)
        pinned[i] = 3 * i;
    FINE(cuMemcpyAsync(at, (uintptr_t)pinned, sizeof first, stream));
    FINE(cuMemsetD32Async(at + 40, 7, 2, stream));
    cu_copy_2d gaps = {.src_type = CU_MEMORY_DEVICE,
                       .src_device = at + 4,
                       .src_pitch = 40,
                       .dst_type = CU_MEMORY_HOST,
                       .dst_host = part,
                       .dst_pitch = 4,
                       .width = 4,
                       .height = 4};
    FINE(cuMemcpy2DAsync_v2(&gaps, stream));
    FINE(cuStreamSynchronize(stream));
    CHECK(part[0] == 3 && part[1] == 7 && part[2] == 63 && part[3] == 93);
    FINE(cuStreamWriteValue32_v2(stream, (uintptr_t)pinned, 77, 0));
    FINE(cuStreamWaitValue32_v2(stream, (uintptr_t)(pinned + 1), 5, CU_WAIT_EQ));
    FINE(cuMemcpyAsync((uintptr_t)(pinned + 2), at + 8, 4, stream));
    while (__atomic_load_n(pinned, __ATOMIC_ACQUIRE) != 77)
        usleep(10);
    CHECK(cuStreamQuery(stream) == CU_NOT_READY);
    __atomic_store_n(pinned + 1, 5, __ATOMIC_RELEASE);
    FINE(cuStreamSynchronize(stream));
    CHECK(pinned[2] == 6);
    FINE(cuMemFreeHost(pinned));
    FINE(cuMemFree_v2(at));
    FINE(cuStreamDestroy_v2(stream));
}

// Another process reads what is here, and writes where this one reads.
static void test_sharing(void)
{
    int to[2], back[2], status;
    cu_ipc_handle handle;
    cu_ptr at;
    char word = 0;
    if (pipe(to) != 0 || pipe(back) != 0)
        exit(1);
    pid_t child = fork();
    if (child == 0) {
        begin();
        failed += read(to[0], &handle, sizeof handle) != sizeof handle;
        FINE(cuIpcOpenMemHandle_v2(&at, handle, CU_IPC_LAZY_PEER_ACCESS));
        FINE(cuMemcpyDtoH_v2(second, at, sizeof second));
        CHECK(second[N - 1] == 4 * (N - 1));
        second[0] = 4711;
        FINE(cuMemcpyHtoD_v2(at, second, 4));
        CHECK(is_fatal(touch, at));
        FINE(cuIpcCloseMemHandle(at));
        failed += write(back[1], &word, 1) != 1;
        failed += read(to[0], &word, 1) != 1;
        CHECK(cuIpcOpenMemHandle_v2(&at, handle, CU_IPC_LAZY_PEER_ACCESS) != CU_OK);
        fflush(stdout);
        _exit(failed != 0);
    }
    begin();
    for (int i = 0; i < N; i++)
        first[i] = 4 * i;
    FINE(cuMemAlloc_v2(&at, sizeof first));
    FINE(cuMemcpyHtoD_v2(at, first, sizeof first));
    FINE(cuIpcGetMemHandle(&handle, at));
    cu_ptr own;
    CHECK(cuIpcOpenMemHandle_v2(&own, handle, CU_IPC_LAZY_PEER_ACCESS) == CU_INVALID_CONTEXT);
    CHECK(write(to[1], &handle, sizeof handle) == sizeof handle && read(back[0], &word, 1) == 1);
    FINE(cuMemcpyDtoH_v2(first, at, 4));
    CHECK(first[0] == 4711);
    FINE(cuMemFree_v2(at));
    CHECK(write(to[1], &word, 1) == 1);
    waitpid(child, &status, 0);
    CHECK(status == 0);
}

// With STAND_IN_FAIL=cuMemAlloc_v2:2
static void test_failures(void)
{
    cu_ptr at;
    begin();
    FINE(cuMemAlloc_v2(&at, 8));
    CHECK(cuMemAlloc_v2(&at, 8) == CU_OUT_OF_MEMORY);
    FINE(cuMemAlloc_v2(&at, 8));
    CHECK(cuMemAlloc_v2(&at, (size_t)1 << 50) == CU_OUT_OF_MEMORY);
    CHECK(cuMemFree_v2(at + 1) == CU_INVALID_VALUE);
    FINE(cuMemFree_v2(at));
    CHECK(cuMemFree_v2(at) == CU_INVALID_VALUE);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "sharing") == 0) {
        test_sharing();
    } else if (strcmp(what, "failures") == 0) {
        test_failures();
    } else {
        test_context();
        test_memory();
        test_other_memory();
        test_no_access();
        test_streams();
        test_default_stream();
        test_copies();
    }
    printf("%s\n", failed ? "WRONG" : "right");
    return failed != 0;
}
