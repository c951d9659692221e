// SPDX-License-Identifier: BSD-3-Clause
// A stand-in for libcuda.so.1, for machines without a GPU. What is hard about a device, it has:
//
//   - the processor cannot touch device memory: it is mapped without access, and only what a stream
//     does reaches it, by a second mapping that nobody else knows;
//   - streams run late: a thread takes the next operation of some stream, chosen by chance, after a
//     while chosen by chance, so what is not ordered by streams, events and waits happens in any order;
//   - streams share queues, so what waits in some for a word in memory holds up the others: there are
//     CUDA_DEVICE_MAX_CONNECTIONS (8), and two for copies to the host and two for those from it (an H200 has
//     more than one and at most four); and what frees memory or loads kernels waits for all streams, and
//     holds up all other calls meanwhile (seen on an H200, driver 580);
//   - calls that a program must not make fail: without a context, after a fork, on freed memory, on
//     handles of the same process.
//
// Kernels are the functions `stand_in_NAME` of the shared object that STAND_IN_KERNELS names; the same
// source as the device's, compiled for the processor.
//
// STAND_IN_SEED       chooses the order (1)
// STAND_IN_DEVICES    how many there are (1; 0: cuInit fails)
// STAND_IN_MIB        memory of each (1024)
// STAND_IN_LATE_US    an operation begins so much later at most (50); 0: it begins when a call waits for
//                     something, or asks, or after a millisecond: the least work for tests
// STAND_IN_FAIL       NAME:N[:ERROR]: the N-th call of a function fails (cuMemAlloc_v2:3:2)
// STAND_IN_NO_IPC     there is no sharing between processes
// STAND_IN_ANYWHERE   device memory may take the place of host memory
// STAND_IN_COUNT      a file to which each process adds at its end how often it called each function: lines "PROCESS NAME TIMES"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cuda_abi.h"

#define API __attribute__((visibility("default")))

enum {
    DEVICES_MOST = 8,
    CALLS_MOST = 100,
    NAME_BYTES = 48,
    PARAMS_MOST = 32,
    PARAM_BYTES = 8,
    LAZY_NS = 1000000
};
#define REGION ((size_t)64 << 30)

// ---- the machine

typedef enum kind { DEVICE, MANAGED, PINNED, REGISTERED } kind;

typedef struct memory { // an allocation, in a list
    struct memory *next;
    char *at;  // what programs see; without access if `kind` is DEVICE
    char *own; // what streams use
    size_t bytes;
    uint64_t id;
    kind kind;
    int fd; // of DEVICE; -1
    int device;
    bool can_share, is_peers; // is_peers: opened by a handle
    bool waits;               // copies that are called synchronous are
    int opened;
    char name[NAME_BYTES]; // of the owner's fd
} memory;

typedef enum what { COPY, COPY_2D, FILL, RECORD, WAIT, CALL, KERNEL, WRITE, AWAIT } what;

typedef struct operation {
    struct operation *next;
    what what;
    uint64_t number; // in the order of calls
    char *to;        // by way of `own`, as all below
    int crosses;     // of a copy: 1 to the host, 2 from it; 0: neither
    const char *from;
    size_t bytes, to_pitch, from_pitch, height;
    unsigned value, width, flags;
    cu_event event;
    uint64_t turn; // of the event
    void (*call)(void *arg);
    void *arg;
    cu_function function;
    unsigned grid[3], block[3];
    unsigned char params[PARAMS_MOST][PARAM_BYTES];
} operation;

struct cu_context {
    int device, users;
};

struct cu_stream {
    struct cu_stream *next;
    operation *first, *last;
    cu_context context;
    bool is_blocking, is_busy; // busy: its first operation runs
    bool records;
};

struct cu_event {
    uint64_t recorded, done; // turns
};

typedef void kernel(const unsigned grid[3], const unsigned block[3], void **params);

struct cu_function {
    struct cu_function *next;
    kernel *run;
    size_t count; // of its parameters
    char name[NAME_BYTES];
};

struct cu_module {
    struct cu_module *next;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed, idle; // idle: nobody signals it
    pthread_t thread;
    pid_t process; // that called cuInit; 0: nobody
    int devices;
    size_t room[DEVICES_MOST], used[DEVICES_MOST];
    struct cu_context primary[DEVICES_MOST];
    struct cu_stream legacy[DEVICES_MOST]; // their default streams
    cu_stream streams;
    memory *memories;
    char *region, *place; // of device memory; where the next one is tried
    bool anywhere;
    uint64_t ids, numbers;
    unsigned queues;
    bool alone; // a call holds up all others
    uint64_t seed;
    unsigned late_us;
    const char *fail;
    unsigned fail_after;
    int sticky; // a fault of an operation: all calls say it from then on
    cu_function functions;
    cu_module modules;
    void *kernels;
    struct {
        const char *name;
        unsigned times;
    } calls[CALLS_MOST];
    bool told;
} gpu = {.lock = PTHREAD_MUTEX_INITIALIZER,
         .changed = PTHREAD_COND_INITIALIZER,
         .idle = PTHREAD_COND_INITIALIZER};

static _Thread_local cu_context current;

static uint64_t chance(void)
{
    gpu.seed ^= gpu.seed << 13;
    gpu.seed ^= gpu.seed >> 7;
    gpu.seed ^= gpu.seed << 17;
    return gpu.seed >> 11;
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static void tell_call(const char *name, unsigned times)
{
    FILE *file = fopen(getenv("STAND_IN_COUNT"), "a");
    if (!file)
        abort();
    fprintf(file, "%d %s %u\n", (int)getpid(), name, times);
    fclose(file);
}

// What the process still calls after its end is told at once.
static void count_call(const char *name)
{
    int i = 0;
    if (gpu.told) {
        tell_call(name, 1);
        return;
    }
    while (i < CALLS_MOST - 1 && gpu.calls[i].name && strcmp(gpu.calls[i].name, name) != 0)
        i++;
    gpu.calls[i].name = name;
    gpu.calls[i].times++;
}

__attribute__((destructor)) static void tell_calls(void)
{
    if (!getenv("STAND_IN_COUNT") || gpu.process != getpid())
        return;
    gpu.told = true;
    for (int i = 0; i < CALLS_MOST && gpu.calls[i].name; i++)
        tell_call(gpu.calls[i].name, gpu.calls[i].times);
}

// With the lock: 0 if the call may go on.
static int refuse(const char *name, bool needs_context)
{
    const char *text = gpu.fail;
    size_t length = strlen(name);
    count_call(name);
    if (gpu.process != getpid())
        return CU_NOT_INITIALIZED;
    if (text && strncmp(text, name, length) == 0 && text[length] == ':' && --gpu.fail_after == 0) {
        const char *error = strchr(text + length + 1, ':');
        return error ? atoi(error + 1) : CU_OUT_OF_MEMORY;
    }
    if (gpu.sticky)
        return gpu.sticky;
    return needs_context && !current ? CU_INVALID_CONTEXT : CU_OK;
}

// Each function of the interface begins so and ends by leave().
static int enter(const char *name, bool needs_context)
{
    pthread_mutex_lock(&gpu.lock);
    while (gpu.alone && gpu.process == getpid())
        pthread_cond_wait(&gpu.changed, &gpu.lock);
    return refuse(name, needs_context);
}

static int leave(int status)
{
    pthread_mutex_unlock(&gpu.lock);
    return status;
}

#define ENTER(needs_context)                                                                       \
    int status = enter(__func__, (needs_context));                                                 \
    if (status != CU_OK)                                                                           \
    return leave(status)

// ---- memory

static memory *memory_at(cu_ptr at)
{
    for (memory *m = gpu.memories; m; m = m->next)
        if (at >= (uintptr_t)m->at && at < (uintptr_t)m->at + m->bytes)
            return m;
    return NULL;
}

// Where a stream finds it. False: this is memory of a device, but not all of it.
static bool find(cu_ptr at, size_t bytes, char **own)
{
    const memory *m = memory_at(at);
    *own = m ? m->own + (at - (uintptr_t)m->at) : (char *)(uintptr_t)at;
    return !m || at - (uintptr_t)m->at + bytes <= m->bytes;
}

static bool is_pageable(cu_ptr at)
{
    return !memory_at(at);
}

static memory *memory_new(kind kind, size_t bytes)
{
    memory *m = calloc(1, sizeof *m);
    *m = (memory){.bytes = bytes, .id = ++gpu.ids, .kind = kind, .fd = -1, .next = gpu.memories};
    m->device = current ? current->device : 0;
    gpu.memories = m;
    return m;
}

API void *stand_in_memory(cu_ptr at)
{
    char *own;
    pthread_mutex_lock(&gpu.lock);
    find(at, 1, &own);
    pthread_mutex_unlock(&gpu.lock);
    return own;
}

API unsigned long long stand_in_operations(void)
{
    pthread_mutex_lock(&gpu.lock);
    unsigned long long numbers = gpu.numbers;
    pthread_mutex_unlock(&gpu.lock);
    return numbers;
}

static void memory_remove(memory *m)
{
    memory **at = &gpu.memories;
    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    free(m);
}

static size_t whole_pages(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

// Addresses that never are the host's, as CUDA reserves its own. The next one: where something was freed last, or behind what
// was given out.
static void *device_address(size_t room)
{
    char *end = gpu.region + REGION;
    for (const memory *m = gpu.memories; m; m = m->next)
        if (m->kind == DEVICE && m->at && gpu.place < m->at + whole_pages(m->bytes) &&
            gpu.place + room > m->at) {
            gpu.place = m->at + whole_pages(m->bytes);
            m = gpu.memories; // its own is not there yet
        }
    if (room > (size_t)(end - gpu.place))
        return NULL;
    gpu.place += room;
    return gpu.place - room;
}

static bool memory_map(memory *m, int fd)
{
    size_t room = whole_pages(m->bytes);
    m->fd = fd;
    m->own = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (m->kind != DEVICE) {
        m->at = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        return m->own != MAP_FAILED && m->at != MAP_FAILED;
    }
    void *at = gpu.anywhere ? NULL : device_address(room);
    int fixed = at ? MAP_FIXED : 0;
    m->at = mmap(at, room, PROT_NONE, MAP_SHARED | fixed, fd, 0);
    return m->own != MAP_FAILED && m->at != MAP_FAILED;
}

static void memory_unmap(const memory *m)
{
    size_t room = whole_pages(m->bytes);
    munmap(m->own, room);
    if (m->at < gpu.region || m->at >= gpu.region + REGION) {
        munmap(m->at, room);
        return;
    }
    mmap(m->at, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    gpu.place = m->at;
}

static int allocate(kind kind, size_t bytes, bool can_share, memory **out)
{
    int device = current->device;
    if (bytes == 0)
        return CU_INVALID_VALUE;
    if (bytes > gpu.room[device] - gpu.used[device])
        return CU_OUT_OF_MEMORY;
    memory *m = memory_new(kind, bytes);
    snprintf(m->name, sizeof m->name, "stand-in-%d-%llu", (int)getpid(), (unsigned long long)m->id);
    int fd = memfd_create(m->name, MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)whole_pages(bytes)) != 0 || !memory_map(m, fd)) {
        memory_remove(m);
        return CU_OUT_OF_MEMORY;
    }
    m->can_share = can_share && !getenv("STAND_IN_NO_IPC");
    gpu.used[device] += bytes;
    memset(m->own, 0xdb, bytes); // what was never written is not zero
    *out = m;
    return CU_OK;
}

static void release(memory *m)
{
    if (m->kind != REGISTERED) {
        memory_unmap(m);
        close(m->fd);
        if (!m->is_peers)
            gpu.used[m->device] -= m->bytes;
    }
    memory_remove(m);
}

// ---- streams

static cu_stream stream_of(cu_stream stream)
{
    enum { PER_THREAD = 2 }; // CUDA's handles for default streams are 0 to 2; here they are one
    return (uintptr_t)stream > PER_THREAD ? stream : &gpu.legacy[current->device];
}

// The default stream waits for what the blocking ones of its device had before, and they wait for it.
static bool goes_before(const struct cu_stream *other, const struct cu_stream *stream,
                        uint64_t number)
{
    bool is_default = stream == &gpu.legacy[stream->context->device];
    bool others_is = other == &gpu.legacy[other->context->device];
    if (!other->first || other->first->number > number || other->context != stream->context)
        return false;
    return (is_default && other->is_blocking) || (others_is && stream->is_blocking);
}

// Its first operation waits for something.
static bool is_held(const struct cu_stream *stream)
{
    const operation *o = stream->first;
    if (!o || (o->what != WAIT && o->what != AWAIT))
        return false;
    if (o->what == WAIT)
        return o->event->done < o->turn;
    unsigned now = __atomic_load_n((const unsigned *)(const void *)o->from, __ATOMIC_ACQUIRE);
    return o->flags == CU_WAIT_EQ ? now != o->value : (int)(now - o->value) < 0;
}

static bool has_crossing(const struct cu_stream *stream, int crosses, uint64_t number)
{
    for (const operation *o = stream->first; o && o->number < number; o = o->next)
        if (o->crosses == crosses)
            return true;
    return false;
}

// All queues that the operation may take are held up.
static bool is_behind_others(const struct cu_stream *stream)
{
    enum { CROSSINGS = 2 };
    unsigned held = 0, before = 0;
    const operation *o = stream->first;
    for (const struct cu_stream *s = gpu.streams; s; s = s->next)
        if (s != stream && s->context == stream->context && is_held(s)) {
            held++;
            before += o->crosses && has_crossing(s, o->crosses, o->number);
        }
    return held >= gpu.queues || before >= CROSSINGS;
}

static bool may_begin(const struct cu_stream *stream)
{
    const operation *o = stream->first;
    if (!o || stream->is_busy || is_held(stream) || is_behind_others(stream))
        return false;
    for (int d = 0; d < gpu.devices; d++)
        if (&gpu.legacy[d] != stream && goes_before(&gpu.legacy[d], stream, o->number))
            return false;
    for (const struct cu_stream *s = gpu.streams; s; s = s->next)
        if (s != stream && goes_before(s, stream, o->number))
            return false;
    return true;
}

static cu_stream choose(void)
{
    cu_stream chosen = NULL;
    uint64_t among = 0;
    for (int d = 0; d < gpu.devices; d++)
        if (may_begin(&gpu.legacy[d]) && chance() % ++among == 0)
            chosen = &gpu.legacy[d];
    for (cu_stream s = gpu.streams; s; s = s->next)
        if (may_begin(s) && chance() % ++among == 0)
            chosen = s;
    return chosen;
}

static bool has_awaits(void)
{
    for (int d = 0; d < gpu.devices; d++)
        if (gpu.legacy[d].first && gpu.legacy[d].first->what == AWAIT)
            return true;
    for (const struct cu_stream *s = gpu.streams; s; s = s->next)
        if (s->first && s->first->what == AWAIT)
            return true;
    return false;
}

// Kernels ask where memory is: the addresses that programs see stay without access for all other threads.
// Memory of the host that is neither pinned nor registered is none of a device's.
static void reach(uint64_t address, uint64_t *from, uint64_t *bytes, char **at)
{
    const memory *m = memory_at(address);
    if (!m) {
        fprintf(stderr, "stand-in: a kernel takes %#llx, which no device reaches\n",
                (unsigned long long)address);
        abort();
    }
    *from = (uintptr_t)m->at;
    *bytes = m->bytes;
    *at = m->own;
}

static void run_kernel(const operation *o)
{
    void *params[PARAMS_MOST];
    for (size_t i = 0; i < PARAMS_MOST; i++)
        params[i] = (void *)(uintptr_t)o->params[i];
    pthread_mutex_lock(&gpu.lock); // nobody frees meanwhile
    o->function->run(o->grid, o->block, params);
    pthread_mutex_unlock(&gpu.lock);
}

static void perform(const operation *o)
{
    switch (o->what) {
    case COPY:
        memmove(o->to, o->from, o->bytes);
        break;
    case COPY_2D:
        for (size_t i = 0; i < o->height; i++)
            memmove(o->to + i * o->to_pitch, o->from + i * o->from_pitch, o->bytes);
        break;
    case FILL:
        for (size_t i = 0; i < o->bytes; i++)
            memcpy(o->to + i * o->width, &o->value, o->width);
        break;
    case CALL:
        o->call(o->arg);
        break;
    case KERNEL:
        run_kernel(o);
        break;
    case WRITE:
        __atomic_store_n((unsigned *)(void *)o->to, o->value, __ATOMIC_RELEASE);
        break;
    case RECORD:
    case WAIT:
    case AWAIT:
        break;
    }
}

static void nap(unsigned us)
{
    struct timespec time = {.tv_nsec = (long)us * 1000};
    if (us)
        nanosleep(&time, NULL);
}

// With the lock, which it gives up meanwhile: does one operation. False: none may begin.
static bool step(void)
{
    cu_stream s = choose();
    if (!s)
        return false;
    operation *o = s->first;
    unsigned late = gpu.late_us ? (unsigned)(chance() % (gpu.late_us + 1)) : 0;
    s->is_busy = true;
    pthread_mutex_unlock(&gpu.lock);
    nap(late);
    perform(o);
    pthread_mutex_lock(&gpu.lock);
    if (o->what == RECORD && o->event->done < o->turn)
        o->event->done = o->turn;
    s->is_busy = false;
    s->first = o->next;
    if (!s->first)
        s->last = NULL;
    free(o);
    pthread_cond_broadcast(&gpu.changed);
    return true;
}

static void wait_for_change(void)
{
    struct timespec until;
    if (gpu.late_us) {
        pthread_cond_wait(&gpu.changed, &gpu.lock);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LAZY_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&gpu.idle, &gpu.lock, &until);
}

static void *run_streams(void *unused)
{
    pthread_mutex_lock(&gpu.lock);
    for (;;) {
        if (step())
            continue;
        if (has_awaits()) { // memory changes without telling
            pthread_mutex_unlock(&gpu.lock);
            nap(20);
            pthread_mutex_lock(&gpu.lock);
        } else {
            wait_for_change();
        }
    }
    return unused;
}

// What waits for the device works for it if operations do not begin by themselves.
static void help(void)
{
    if (gpu.late_us || !step())
        pthread_cond_wait(&gpu.changed, &gpu.lock);
}

// And what asks does so by chance.
static void help_a_little(void)
{
    if (gpu.late_us == 0 && chance() % 2)
        step();
}

// Takes a copy of the operation.
static void submit(cu_stream stream, const operation *o)
{
    operation *mine = malloc(sizeof *mine);
    *mine = *o;
    mine->number = ++gpu.numbers;
    mine->next = NULL;
    if (stream->last)
        stream->last->next = mine;
    else
        stream->first = mine;
    stream->last = mine;
    pthread_cond_broadcast(&gpu.changed);
}

static int drain(const struct cu_stream *stream)
{
    for (uint64_t number = gpu.numbers; stream->first && stream->first->number <= number;)
        help();
    return gpu.sticky;
}

static bool has_old(const struct cu_stream *stream, uint64_t number)
{
    return stream->first && stream->first->number <= number;
}

static void drain_device(int device);

// So it waits, and all other calls wait for it.
static void drain_alone(int device)
{
    gpu.alone = true;
    drain_device(device);
    gpu.alone = false;
    pthread_cond_broadcast(&gpu.changed);
}

// What the device has been given so far.
static void drain_device(int device)
{
    for (uint64_t number = gpu.numbers;;) {
        bool any = has_old(&gpu.legacy[device], number);
        for (const struct cu_stream *s = gpu.streams; s; s = s->next)
            any |= s->context->device == device && has_old(s, number);
        if (!any)
            return;
        help();
    }
}

// ---- the interface: devices and contexts

API cu_result cuInit(unsigned flags)
{
    pthread_mutex_lock(&gpu.lock);
    if (gpu.process == getpid())
        return leave(CU_OK);
    if (gpu.process || flags)
        return leave(gpu.process ? CU_NOT_INITIALIZED : CU_INVALID_VALUE);
    gpu.devices = (int)number_of("STAND_IN_DEVICES", 1);
    if (gpu.devices < 1 || gpu.devices > DEVICES_MOST)
        return leave(CU_NO_DEVICE);
    gpu.seed = 0x9e3779b97f4a7c15u * (number_of("STAND_IN_SEED", 1) + 1);
    gpu.late_us = (unsigned)number_of("STAND_IN_LATE_US", 50);
    gpu.queues = (unsigned)number_of("CUDA_DEVICE_MAX_CONNECTIONS", 8);
    gpu.anywhere = getenv("STAND_IN_ANYWHERE");
    gpu.region = gpu.place =
        mmap(NULL, REGION, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (gpu.region == MAP_FAILED)
        return leave(CU_OUT_OF_MEMORY);
    gpu.fail = getenv("STAND_IN_FAIL");
    if (gpu.fail && strchr(gpu.fail, ':'))
        gpu.fail_after = (unsigned)atoi(strchr(gpu.fail, ':') + 1);
    if (gpu.fail && strncmp(gpu.fail, "cuInit:1:", 9) == 0)
        return leave(atoi(gpu.fail + 9));
    for (int d = 0; d < gpu.devices; d++) {
        gpu.room[d] = (size_t)number_of("STAND_IN_MIB", 1024) << 20;
        gpu.primary[d].device = d;
        gpu.legacy[d].context = &gpu.primary[d];
    }
    if (getenv("STAND_IN_KERNELS"))
        gpu.kernels = dlopen(getenv("STAND_IN_KERNELS"), RTLD_NOW | RTLD_LOCAL);
    void (**asks)(uint64_t, uint64_t *, uint64_t *, char **) =
        gpu.kernels ? dlsym(gpu.kernels, "stand_in_reach") : NULL;
    if (asks)
        *asks = reach;
    gpu.process = getpid();
    if (pthread_create(&gpu.thread, NULL, run_streams, NULL) != 0)
        return leave(CU_OUT_OF_MEMORY);
    return leave(CU_OK);
}

API cu_result cuDriverGetVersion(int *version)
{
    *version = 13000;
    return CU_OK;
}

API cu_result cuDeviceGetCount(int *count)
{
    ENTER(false);
    *count = gpu.devices;
    return leave(CU_OK);
}

API cu_result cuDeviceGet(cu_device *device, int ordinal)
{
    ENTER(false);
    *device = ordinal;
    return leave(ordinal >= 0 && ordinal < gpu.devices ? CU_OK : CU_INVALID_DEVICE);
}

API cu_result cuDeviceGetName(char *name, int length, cu_device device)
{
    ENTER(false);
    snprintf(name, (size_t)length, "Stand-in %d", device);
    return leave(CU_OK);
}

API cu_result cuDeviceGetUuid_v2(cu_uuid *uuid, cu_device device)
{
    ENTER(false);
    memset(uuid->bytes, 0x40 + device, sizeof uuid->bytes);
    return leave(CU_OK);
}

API cu_result cuDeviceGetAttribute(int *value, int attribute, cu_device device)
{
    ENTER(false);
    switch (attribute) {
    case CU_DEVICE_MULTIPROCESSORS:
        *value = 4;
        break;
    case CU_DEVICE_UNIFIED_ADDRESSING:
    case CU_DEVICE_MANAGED:
        *value = 1;
        break;
    case CU_DEVICE_PCI_BUS:
        *value = device + 1;
        break;
    case CU_DEVICE_MAJOR:
        *value = 9;
        break;
    default:
        *value = 0;
    }
    return leave(CU_OK);
}

API cu_result cuDeviceTotalMem_v2(size_t *bytes, cu_device device)
{
    ENTER(false);
    *bytes = gpu.room[device];
    return leave(CU_OK);
}

API cu_result cuDeviceCanAccessPeer(int *can, cu_device device, cu_device peer)
{
    ENTER(false);
    *can = device != peer;
    return leave(CU_OK);
}

API cu_result cuDevicePrimaryCtxRetain(cu_context *context, cu_device device)
{
    ENTER(false);
    if (device < 0 || device >= gpu.devices)
        return leave(CU_INVALID_DEVICE);
    gpu.primary[device].users++;
    *context = &gpu.primary[device];
    return leave(CU_OK);
}

API cu_result cuDevicePrimaryCtxRelease_v2(cu_device device)
{
    ENTER(false);
    gpu.primary[device].users--;
    return leave(CU_OK);
}

API cu_result cuDevicePrimaryCtxGetState(cu_device device, unsigned *flags, int *active)
{
    ENTER(false);
    *flags = 0;
    *active = gpu.primary[device].users > 0;
    return leave(CU_OK);
}

API cu_result cuCtxGetCurrent(cu_context *context)
{
    ENTER(false);
    *context = current;
    return leave(CU_OK);
}

API cu_result cuCtxSetCurrent(cu_context context)
{
    ENTER(false);
    current = context;
    return leave(CU_OK);
}

API cu_result cuCtxGetDevice(cu_device *device)
{
    ENTER(true);
    *device = current->device;
    return leave(CU_OK);
}

API cu_result cuCtxSynchronize(void)
{
    ENTER(true);
    drain_device(current->device);
    return leave(gpu.sticky);
}

// ---- the interface: memory

API cu_result cuMemGetInfo_v2(size_t *unused, size_t *total)
{
    ENTER(true);
    *total = gpu.room[current->device];
    *unused = *total - gpu.used[current->device];
    return leave(CU_OK);
}

// With the lock.
static int give(kind kind, size_t bytes, bool can_share, cu_ptr *out)
{
    memory *m;
    int status = allocate(kind, bytes, can_share, &m);
    if (status == CU_OK)
        *out = (uintptr_t)m->at;
    return status;
}

API cu_result cuMemAlloc_v2(cu_ptr *out, size_t bytes)
{
    ENTER(true);
    return leave(give(DEVICE, bytes, true, out));
}

// Of a pool: no handle goes to another process.
API cu_result cuMemAllocAsync(cu_ptr *out, size_t bytes, cu_stream stream)
{
    (void)stream;
    ENTER(true);
    return leave(give(DEVICE, bytes, false, out));
}

API cu_result cuMemAllocManaged(cu_ptr *out, size_t bytes, unsigned flags)
{
    ENTER(true);
    return leave(flags ? give(MANAGED, bytes, false, out) : CU_INVALID_VALUE);
}

API cu_result cuMemFree_v2(cu_ptr at)
{
    ENTER(true);
    memory *m = memory_at(at);
    if (!m || (uintptr_t)m->at != at || m->is_peers || (m->kind != DEVICE && m->kind != MANAGED))
        return leave(CU_INVALID_VALUE);
    drain_alone(m->device);
    release(m);
    return leave(CU_OK);
}

API cu_result cuMemFreeAsync(cu_ptr at, cu_stream stream)
{
    (void)stream;
    return cuMemFree_v2(at);
}

API cu_result cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    memory *m;
    (void)flags;
    ENTER(true);
    status = allocate(PINNED, bytes, false, &m);
    if (status == CU_OK) {
        gpu.used[m->device] -= bytes; // of the host
        *out = m->at;
    }
    return leave(status);
}

API cu_result cuMemFreeHost(void *at)
{
    ENTER(true);
    memory *m = memory_at((uintptr_t)at);
    if (!m || m->at != at || m->kind != PINNED)
        return leave(CU_INVALID_VALUE);
    drain_alone(m->device);
    gpu.used[m->device] += m->bytes;
    release(m);
    return leave(CU_OK);
}

API cu_result cuMemHostRegister_v2(void *at, size_t bytes, unsigned flags)
{
    (void)flags;
    ENTER(true);
    if (memory_at((uintptr_t)at))
        return leave(CU_HOST_MEMORY_ALREADY_REGISTERED);
    memory *m = memory_new(REGISTERED, bytes);
    m->at = m->own = at;
    return leave(CU_OK);
}

API cu_result cuMemHostUnregister(void *at)
{
    ENTER(true);
    memory *m = memory_at((uintptr_t)at);
    if (!m || m->at != at || m->kind != REGISTERED)
        return leave(CU_INVALID_VALUE);
    drain_alone(current->device);
    release(m);
    return leave(CU_OK);
}

API cu_result cuMemGetAddressRange_v2(cu_ptr *base, size_t *bytes, cu_ptr at)
{
    ENTER(true);
    const memory *m = memory_at(at);
    if (!m)
        return leave(CU_NOT_FOUND);
    *base = (uintptr_t)m->at;
    *bytes = m->bytes;
    return leave(CU_OK);
}

static int attribute(const memory *m, int which, void *out)
{
    switch (which) {
    case CU_POINTER_CONTEXT:
        *(cu_context *)out = m ? &gpu.primary[m->device] : NULL;
        return CU_OK;
    case CU_POINTER_DEVICE_POINTER:
        *(cu_ptr *)out = m ? (uintptr_t)m->at : 0;
        return CU_OK;
    case CU_POINTER_MEMORY_TYPE:
        *(unsigned *)out = !m ? 0 : m->kind <= MANAGED ? CU_MEMORY_DEVICE : CU_MEMORY_HOST;
        return CU_OK;
    case CU_POINTER_BUFFER_ID:
        *(uint64_t *)out = m ? m->id : 0;
        return CU_OK;
    case CU_POINTER_IS_MANAGED:
        *(unsigned *)out = m && m->kind == MANAGED;
        return CU_OK;
    case CU_POINTER_DEVICE_ORDINAL:
        *(int *)out = m ? m->device : -2;
        return CU_OK;
    case CU_POINTER_IS_IPC_CAPABLE:
        *(bool *)out = m && m->can_share;
        return CU_OK;
    case CU_POINTER_RANGE_START:
        *(cu_ptr *)out = m ? (uintptr_t)m->at : 0;
        return CU_OK;
    case CU_POINTER_RANGE_SIZE:
        *(size_t *)out = m ? m->bytes : 0;
        return CU_OK;
    default:
        return CU_INVALID_VALUE;
    }
}

API cu_result cuPointerGetAttribute(void *out, int which, cu_ptr at)
{
    ENTER(true);
    const memory *m = memory_at(at);
    return leave(m ? attribute(m, which, out) : CU_INVALID_VALUE);
}

API cu_result cuPointerSetAttribute(const void *value, int which, cu_ptr at)
{
    ENTER(true);
    memory *m = memory_at(at);
    if (!m || m->kind != DEVICE || which != CU_POINTER_SYNC_MEMOPS || !value)
        return leave(CU_INVALID_VALUE);
    m->waits = *(const unsigned *)value;
    return leave(CU_OK);
}

// Of memory that it does not know, this tells zeros.
API cu_result cuPointerGetAttributes(unsigned count, const int *which, void **out, cu_ptr at)
{
    ENTER(true);
    const memory *m = memory_at(at);
    for (unsigned i = 0; i < count && status == CU_OK; i++)
        status = attribute(m, which[i], out[i]);
    return leave(status);
}

// ---- the interface: other processes

typedef struct handle {
    int process, fd;
    size_t bytes;
    char name[NAME_BYTES];
} handle;

_Static_assert(sizeof(handle) <= sizeof(cu_ipc_handle), "a handle has 64 bytes");

API cu_result cuIpcGetMemHandle(cu_ipc_handle *out, cu_ptr at)
{
    ENTER(true);
    const memory *m = memory_at(at);
    if (!m || !m->can_share)
        return leave(CU_INVALID_VALUE);
    handle h = {.process = (int)getpid(), .fd = m->fd, .bytes = m->bytes};
    memcpy(h.name, m->name, sizeof h.name);
    memset(out, 0, sizeof *out);
    memcpy(out, &h, sizeof h);
    return leave(CU_OK);
}

static int open_handle(const handle *h)
{
    char path[64], found[128], wanted[NAME_BYTES + 24];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", h->process, h->fd);
    snprintf(wanted, sizeof wanted, "/memfd:%.*s (deleted)", NAME_BYTES - 1, h->name);
    ssize_t length = readlink(path, found, sizeof found - 1);
    if (length < 0)
        return -1;
    found[length] = '\0';
    return strcmp(found, wanted) == 0 ? open(path, O_RDWR | O_CLOEXEC) : -1;
}

API cu_result cuIpcOpenMemHandle_v2(cu_ptr *out, cu_ipc_handle from, unsigned flags)
{
    handle h;
    ENTER(true);
    memcpy(&h, &from, sizeof h);
    if (h.process == (int)getpid() || flags != CU_IPC_LAZY_PEER_ACCESS)
        return leave(CU_INVALID_CONTEXT);
    for (memory *m = gpu.memories; m; m = m->next)
        if (m->is_peers && memcmp(m->name, h.name, sizeof h.name) == 0) {
            m->opened++;
            *out = (uintptr_t)m->at;
            return leave(CU_OK);
        }
    int fd = open_handle(&h);
    if (fd < 0)
        return leave(CU_INVALID_HANDLE);
    memory *m = memory_new(DEVICE, h.bytes);
    m->is_peers = true;
    m->opened = 1;
    memcpy(m->name, h.name, sizeof h.name);
    if (!memory_map(m, fd)) {
        memory_remove(m);
        return leave(CU_OUT_OF_MEMORY);
    }
    *out = (uintptr_t)m->at;
    return leave(CU_OK);
}

API cu_result cuIpcCloseMemHandle(cu_ptr at)
{
    ENTER(true);
    memory *m = memory_at(at);
    if (!m || !m->is_peers || (uintptr_t)m->at != at)
        return leave(CU_INVALID_VALUE);
    drain_device(m->device);
    if (--m->opened == 0)
        release(m);
    return leave(CU_OK);
}

// ---- the interface: streams and events

API cu_result cuStreamCreate(cu_stream *out, unsigned flags)
{
    ENTER(true);
    cu_stream s = calloc(1, sizeof *s);
    *s = (struct cu_stream){.next = gpu.streams, .context = current};
    s->is_blocking = !(flags & CU_STREAM_NON_BLOCKING);
    gpu.streams = s;
    *out = s;
    return leave(CU_OK);
}

API cu_result cuStreamCreateWithPriority(cu_stream *out, unsigned flags, int priority)
{
    (void)priority;
    return cuStreamCreate(out, flags);
}

// What it has still runs.
API cu_result cuStreamDestroy_v2(cu_stream stream)
{
    ENTER(true);
    drain(stream);
    cu_stream *at = &gpu.streams;
    while (*at && *at != stream)
        at = &(*at)->next;
    if (!*at)
        return leave(CU_INVALID_HANDLE);
    *at = stream->next;
    free(stream);
    return leave(CU_OK);
}

API cu_result cuStreamQuery(cu_stream stream)
{
    ENTER(true);
    help_a_little();
    return leave(stream_of(stream)->first ? CU_NOT_READY : CU_OK);
}

API cu_result cuStreamSynchronize(cu_stream stream)
{
    ENTER(true);
    return leave(drain(stream_of(stream)));
}

API cu_result cuStreamGetCtx(cu_stream stream, cu_context *context)
{
    ENTER(true);
    *context = stream_of(stream)->context;
    return leave(CU_OK);
}

API cu_result cuStreamIsCapturing(cu_stream stream, int *is)
{
    ENTER(true);
    *is = stream_of(stream)->records;
    return leave(CU_OK);
}

API cu_result cuStreamBeginCapture_v2(cu_stream stream, int mode)
{
    ENTER(true);
    (void)mode;
    stream_of(stream)->records = true;
    return leave(CU_OK);
}

// No graph comes of it.
API cu_result cuStreamEndCapture(cu_stream stream, void **graph)
{
    ENTER(true);
    *graph = NULL;
    stream_of(stream)->records = false;
    return leave(CU_OK);
}

API cu_result cuEventCreate(cu_event *out, unsigned flags)
{
    (void)flags;
    ENTER(true);
    *out = calloc(1, sizeof **out);
    return leave(CU_OK);
}

API cu_result cuEventDestroy_v2(cu_event event)
{
    ENTER(true);
    while (event->done < event->recorded)
        help();
    free(event);
    return leave(CU_OK);
}

API cu_result cuEventRecord(cu_event event, cu_stream stream)
{
    ENTER(true);
    submit(stream_of(stream),
           &(operation){.what = RECORD, .event = event, .turn = ++event->recorded});
    return leave(CU_OK);
}

API cu_result cuEventQuery(cu_event event)
{
    ENTER(true);
    help_a_little();
    return leave(event->done < event->recorded ? CU_NOT_READY : CU_OK);
}

API cu_result cuEventSynchronize(cu_event event)
{
    ENTER(true);
    uint64_t turn = event->recorded;
    while (event->done < turn)
        help();
    return leave(gpu.sticky);
}

API cu_result cuStreamWaitEvent(cu_stream stream, cu_event event, unsigned flags)
{
    (void)flags;
    ENTER(true);
    submit(stream_of(stream), &(operation){.what = WAIT, .event = event, .turn = event->recorded});
    return leave(CU_OK);
}

API cu_result cuLaunchHostFunc(cu_stream stream, void (*call)(void *arg), void *arg)
{
    ENTER(true);
    submit(stream_of(stream), &(operation){.what = CALL, .call = call, .arg = arg});
    return leave(CU_OK);
}

API cu_result cuStreamWriteValue32_v2(cu_stream stream, cu_ptr at, unsigned value, unsigned flags)
{
    ENTER(true);
    operation o = {.what = WRITE, .value = value, .flags = flags};
    if (!find(at, sizeof value, &o.to) || is_pageable(at))
        return leave(CU_INVALID_VALUE);
    submit(stream_of(stream), &o);
    return leave(CU_OK);
}

API cu_result cuStreamWaitValue32_v2(cu_stream stream, cu_ptr at, unsigned value, unsigned flags)
{
    char *from;
    ENTER(true);
    if (!find(at, sizeof value, &from) || is_pageable(at))
        return leave(CU_INVALID_VALUE);
    submit(stream_of(stream),
           &(operation){.what = AWAIT, .from = from, .value = value, .flags = flags});
    return leave(CU_OK);
}

// ---- the interface: copies

// A copy from or to memory that is not pinned is over when the call returns.
static int crossing(cu_ptr to, cu_ptr from)
{
    const memory *a = memory_at(to), *b = memory_at(from);
    bool to_device = a && a->kind <= MANAGED, from_device = b && b->kind <= MANAGED;
    return to_device == from_device ? 0 : from_device ? 1 : 2;
}

static int copy(cu_ptr to, cu_ptr from, size_t bytes, cu_stream stream, bool waits)
{
    operation o = {.what = COPY, .bytes = bytes, .crosses = crossing(to, from)};
    char *source;
    if (!find(to, bytes, &o.to) || !find(from, bytes, &source))
        return CU_INVALID_VALUE;
    o.from = source;
    submit(stream_of(stream), &o);
    return waits || is_pageable(to) || is_pageable(from) ? drain(stream_of(stream)) : CU_OK;
}

API cu_result cuMemcpyAsync(cu_ptr to, cu_ptr from, size_t bytes, cu_stream stream)
{
    ENTER(true);
    return leave(bytes ? copy(to, from, bytes, stream, false) : CU_OK);
}

// Inside the device it may go on after the return.
API cu_result cuMemcpy(cu_ptr to, cu_ptr from, size_t bytes)
{
    ENTER(true);
    const memory *a = memory_at(to), *b = memory_at(from);
    bool waits = !a || !b || a->kind > MANAGED || b->kind > MANAGED || a->waits || b->waits;
    return leave(bytes ? copy(to, from, bytes, NULL, waits) : CU_OK);
}

API cu_result cuMemcpyHtoD_v2(cu_ptr to, const void *from, size_t bytes)
{
    ENTER(true);
    return leave(bytes ? copy(to, (uintptr_t)from, bytes, NULL, true) : CU_OK);
}

API cu_result cuMemcpyDtoH_v2(void *to, cu_ptr from, size_t bytes)
{
    ENTER(true);
    return leave(bytes ? copy((uintptr_t)to, from, bytes, NULL, true) : CU_OK);
}

API cu_result cuMemcpy2DAsync_v2(const cu_copy_2d *c, cu_stream stream)
{
    operation o = {.what = COPY_2D, .bytes = c->width, .height = c->height};
    char *from;
    ENTER(true);
    cu_ptr to_at = c->dst_type == CU_MEMORY_HOST ? (uintptr_t)c->dst_host : c->dst_device;
    cu_ptr from_at = c->src_type == CU_MEMORY_HOST ? (uintptr_t)c->src_host : c->src_device;
    if (!c->width || !c->height)
        return leave(CU_OK);
    if (c->width > c->dst_pitch || c->width > c->src_pitch)
        return leave(CU_INVALID_VALUE);
    to_at += c->dst_y * c->dst_pitch + c->dst_x;
    from_at += c->src_y * c->src_pitch + c->src_x;
    o.to_pitch = c->dst_pitch;
    o.from_pitch = c->src_pitch;
    if (!find(to_at, (c->height - 1) * c->dst_pitch + c->width, &o.to) ||
        !find(from_at, (c->height - 1) * c->src_pitch + c->width, &from))
        return leave(CU_INVALID_VALUE);
    o.from = from;
    o.crosses = crossing(to_at, from_at);
    submit(stream_of(stream), &o);
    return leave(is_pageable(to_at) || is_pageable(from_at) ? drain(stream_of(stream)) : CU_OK);
}

static int fill(cu_ptr to, unsigned value, unsigned width, size_t count, cu_stream stream)
{
    operation o = {.what = FILL, .value = value, .width = width, .bytes = count};
    if (!find(to, count * width, &o.to))
        return CU_INVALID_VALUE;
    submit(stream_of(stream), &o);
    return CU_OK;
}

API cu_result cuMemsetD8Async(cu_ptr to, unsigned char value, size_t count, cu_stream stream)
{
    ENTER(true);
    return leave(count ? fill(to, value, 1, count, stream) : CU_OK);
}

API cu_result cuMemsetD32Async(cu_ptr to, unsigned value, size_t count, cu_stream stream)
{
    ENTER(true);
    return leave(count ? fill(to, value, 4, count, stream) : CU_OK);
}

// ---- the interface: kernels

// Into the caller's log of errors, if there is one.
static int refuse_image(const char *why, unsigned count, const int *options, void **values)
{
    char *log = NULL;
    size_t room = 0;
    for (unsigned i = 0; i < count; i++)
        if (options[i] == CU_JIT_ERROR_LOG)
            log = values[i];
        else if (options[i] == CU_JIT_ERROR_LOG_BYTES)
            room = (uintptr_t)values[i];
    if (log)
        snprintf(log, room, "%s\n", why);
    return CU_INVALID_IMAGE;
}

API cu_result cuModuleLoadDataEx(cu_module *out, const void *image, unsigned count, int *options,
                                 void **values)
{
    ENTER(true);
    if (!strstr(image, ".version"))
        return leave(refuse_image("this is no PTX", count, options, values));
    if (!gpu.kernels)
        return leave(refuse_image("STAND_IN_KERNELS names no kernels", count, options, values));
    drain_alone(current->device);
    *out = calloc(1, sizeof **out);
    (*out)->next = gpu.modules;
    gpu.modules = *out;
    return leave(CU_OK);
}

API cu_result cuModuleUnload(cu_module module)
{
    ENTER(true);
    cu_module *at = &gpu.modules;
    while (*at && *at != module)
        at = &(*at)->next;
    if (!*at)
        return leave(CU_INVALID_HANDLE);
    drain_alone(current->device);
    *at = module->next;
    free(module);
    return leave(CU_OK);
}

API cu_result cuModuleGetFunction(cu_function *out, cu_module module, const char *name)
{
    char symbol[NAME_BYTES + 16];
    (void)module;
    ENTER(true);
    for (cu_function f = gpu.functions; f; f = f->next)
        if (strcmp(f->name, name) == 0) {
            *out = f;
            return leave(CU_OK);
        }
    cu_function f = calloc(1, sizeof *f);
    snprintf(f->name, sizeof f->name, "%s", name);
    snprintf(symbol, sizeof symbol, "stand_in_%s", name);
    *(void **)&f->run = dlsym(gpu.kernels, symbol);
    snprintf(symbol, sizeof symbol, "stand_in_count_%s", name);
    const size_t *params = dlsym(gpu.kernels, symbol);
    if (!f->run || !params) {
        free(f);
        return leave(CU_NOT_FOUND);
    }
    f->count = *params;
    f->next = gpu.functions;
    gpu.functions = *out = f;
    return leave(CU_OK);
}

// Parameters have 8 bytes each.
API cu_result cuLaunchKernel(cu_function function, unsigned grid_x, unsigned grid_y,
                             unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                             unsigned shared, cu_stream stream, void **params, void **extra)
{
    operation o = {.what = KERNEL,
                   .function = function,
                   .grid = {grid_x, grid_y, grid_z},
                   .block = {block_x, block_y, block_z}};
    (void)shared, (void)extra;
    ENTER(true);
    if (!grid_x || !grid_y || !grid_z || !block_x || (uint64_t)block_x * block_y * block_z > 1024)
        return leave(CU_INVALID_VALUE);
    for (size_t i = 0; i < function->count; i++)
        memcpy(o.params[i], params[i], PARAM_BYTES);
    submit(stream_of(stream), &o);
    return leave(CU_OK);
}

// ---- the interface: words

API cu_result cuGetErrorName(cu_result error, const char **name)
{
    switch (error) {
    case CU_OK:
        *name = "CUDA_SUCCESS";
        break;
    case CU_INVALID_VALUE:
        *name = "CUDA_ERROR_INVALID_VALUE";
        break;
    case CU_OUT_OF_MEMORY:
        *name = "CUDA_ERROR_OUT_OF_MEMORY";
        break;
    default:
        *name = "CUDA_ERROR";
    }
    return CU_OK;
}

API cu_result cuGetErrorString(cu_result error, const char **text)
{
    static _Thread_local char words[48];
    snprintf(words, sizeof words, "the stand-in's error %d", error);
    *text = words;
    return CU_OK;
}
