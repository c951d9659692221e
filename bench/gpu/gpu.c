// SPDX-License-Identifier: BSD-3-Clause
// What MPI's calls cost on buffers in device memory, beside what the device's driver takes for the same
// bytes. It knows CUDA's driver by name only (dlopen), so no header of CUDA's is needed.
//
//   gpu floor               rank 0 alone: copies with their waits
//   gpu pair [KEY]          two ranks: half round trips, vectors, message rate, host messages; the same of memory of a pool,
//                           which goes through the host between processes; beside kernels of the program's that run meanwhile;
//                           and operations in streams
//   gpu all [KEY]           all ranks: collective operations
//
// KEY is a prefix of the rows' names. Each row is a line: NAME VALUE UNIT, the best of some repeats.
#include <dlfcn.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t ptr;

static struct {
    int (*init)(unsigned);
    int (*retain)(void **, int);
    int (*set)(void *);
    int (*alloc)(ptr *, size_t);
    int (*alloc_pool)(ptr *, size_t, void *);
    int (*release)(ptr);
    int (*copy)(ptr, ptr, size_t, void *);
    int (*wait)(void *);
    int (*stream)(void **, unsigned);
    int (*fill)(ptr, unsigned char, size_t, void *);
    int (*query)(void *);
    int (*load)(void **, const void *, unsigned, int *, void **);
    int (*function)(void **, void *, const char *);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **);
    int (*attribute)(int *, int, int);
} cu;

static void *stream;
static int rank, ranks;
static const char *key = "";

static void take(void *library, const char *symbol, void *place)
{
    void *found = dlsym(library, symbol);
    if (!found) {
        fprintf(stderr, "gpu: libcuda.so.1 has no %s\n", symbol);
        exit(EXIT_FAILURE);
    }
    memcpy(place, &found, sizeof found);
}

static void check(int error, const char *what)
{
    if (error) {
        fprintf(stderr, "gpu: %s: error %d\n", what, error);
        exit(EXIT_FAILURE);
    }
}

static void load(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
    if (!library) {
        fprintf(stderr, "gpu: %s\n", dlerror());
        exit(EXIT_FAILURE);
    }
    take(library, "cuInit", &cu.init);
    take(library, "cuDevicePrimaryCtxRetain", &cu.retain);
    take(library, "cuCtxSetCurrent", &cu.set);
    take(library, "cuMemAlloc_v2", &cu.alloc);
    take(library, "cuMemAllocAsync", &cu.alloc_pool);
    take(library, "cuMemFree_v2", &cu.release);
    take(library, "cuMemcpyAsync", &cu.copy);
    take(library, "cuStreamSynchronize", &cu.wait);
    take(library, "cuStreamCreate", &cu.stream);
    take(library, "cuMemsetD8Async", &cu.fill);
    take(library, "cuStreamQuery", &cu.query);
    take(library, "cuModuleLoadDataEx", &cu.load);
    take(library, "cuModuleGetFunction", &cu.function);
    take(library, "cuLaunchKernel", &cu.launch);
    take(library, "cuDeviceGetAttribute", &cu.attribute);
    check(cu.init(0), "cuInit");
    check(cu.retain(&context, 0), "cuDevicePrimaryCtxRetain");
    check(cu.set(context), "cuCtxSetCurrent");
    check(cu.stream(&stream, 1), "cuStreamCreate");
}

// Memory of a pool cannot be opened by another process.
typedef enum kind { HOST, DEVICE, POOL } kind;

static void *take_memory(kind kind, size_t bytes)
{
    ptr at;
    if (kind == HOST)
        return calloc(1, bytes);
    if (kind == POOL)
        check(cu.alloc_pool(&at, bytes, stream), "cuMemAllocAsync");
    else
        check(cu.alloc(&at, bytes), "cuMemAlloc");
    check(cu.fill(at, 0, bytes, stream), "cuMemsetD8Async");
    check(cu.wait(stream), "cuStreamSynchronize");
    return (void *)(uintptr_t)at;
}

static void give_memory(kind kind, void *at)
{
    if (kind == HOST)
        free(at);
    else
        check(cu.release((uintptr_t)at), "cuMemFree");
}

static bool wanted(const char *name)
{
    size_t n = strlen(name), k = strlen(key);
    return strncmp(name, key, n < k ? n : k) == 0;
}

static void row(const char *name, double value, const char *unit)
{
    if (rank == 0) {
        printf("%s %.3f %s\n", name, value, unit);
        fflush(stdout);
    }
}

// ---- what is measured: one call does it once

typedef struct work {
    void *a, *b;
    int count;
    MPI_Datatype type;
    size_t bytes;
    MPI_Comm comm; // of a stream
    void *on;
} work;

typedef void step(const work *w);

static void copy_step(const work *w)
{
    check(cu.copy((uintptr_t)w->a, (uintptr_t)w->b, w->bytes, stream), "cuMemcpyAsync");
    check(cu.wait(stream), "cuStreamSynchronize");
}

static void pingpong_step(const work *w)
{
    if (rank == 0) {
        MPI_Send(w->a, w->count, w->type, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(w->b, w->count, w->type, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(w->b, w->count, w->type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(w->a, w->count, w->type, 0, 0, MPI_COMM_WORLD);
    }
}

enum { WINDOW = 64 };

static void rate_step(const work *w)
{
    MPI_Request requests[WINDOW];
    for (int i = 0; i < WINDOW; i++)
        if (rank == 0)
            MPI_Isend((char *)w->a + i * 64, w->count, w->type, 1, i, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Irecv((char *)w->b + i * 64, w->count, w->type, 0, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    if (rank == 0)
        MPI_Recv(w->b, 0, MPI_BYTE, 1, WINDOW, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(w->a, 0, MPI_BYTE, 0, WINDOW, MPI_COMM_WORLD);
}

// ---- beside kernels, and in streams

// A kernel that runs for so many cycles.
static const char spin_ptx[] = ".version 6.3\n.target sm_75\n.address_size 64\n"
                               ".visible .entry spin(.param .u64 cycles)\n{\n"
                               ".reg .u64 %a, %b, %n;\n.reg .pred %p;\n"
                               "ld.param.u64 %n, [cycles];\nmov.u64 %a, %clock64;\n"
                               "L: mov.u64 %b, %clock64;\nsub.u64 %b, %b, %a;\n"
                               "setp.lt.u64 %p, %b, %n;\n@%p bra L;\nret;\n}\n";

static void spin(void *on, unsigned blocks, unsigned threads, uint64_t cycles)
{
    static void *function; // of all ranks where they share globals, which does no harm
    void *module, *params[] = {&cycles};
    if (!function) {
        check(cu.load(&module, spin_ptx, 0, NULL, NULL), "cuModuleLoadDataEx");
        check(cu.function(&function, module, "spin"), "cuModuleGetFunction");
    }
    check(cu.launch(function, blocks, 1, 1, threads, 1, 1, 0, on, params, NULL), "cuLaunchKernel");
}

static void wait_yielding(void *on)
{
    while (cu.query(on))
        MPIX_Yield();
}

static void enqueued_step(const work *w)
{
    enum { TIMES = 16 };
    for (int i = 0; i < TIMES; i++) {
        if (rank == 0)
            MPIX_Send_enqueue(w->a, w->count, w->type, 1, 0, w->comm);
        MPIX_Recv_enqueue(w->b, w->count, w->type, 1 - rank, 0, w->comm, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPIX_Send_enqueue(w->a, w->count, w->type, 0, 0, w->comm);
    }
    wait_yielding(w->on);
}

static void allreduce_step(const work *w)
{
    MPI_Allreduce(w->a, w->b, w->count, w->type, MPI_SUM, MPI_COMM_WORLD);
}

static void bcast_step(const work *w)
{
    MPI_Bcast(w->a, w->count, w->type, 0, MPI_COMM_WORLD);
}

static void allgather_step(const work *w)
{
    MPI_Allgather(w->a, w->count / ranks, w->type, w->b, w->count / ranks, w->type, MPI_COMM_WORLD);
}

static void alltoall_step(const work *w)
{
    MPI_Alltoall(w->a, w->count / ranks, w->type, w->b, w->count / ranks, w->type, MPI_COMM_WORLD);
}

// Microseconds of one, the best of some turns of which each is some milliseconds long.
static double best_of(step *once, const work *w, bool together)
{
    enum { TURNS = 7 };
    double best = 1e30;
    int n = 1;
    once(w);
    for (int turn = 0; turn < TURNS; turn++) {
        if (together)
            MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        for (int i = 0; i < n; i++)
            once(w);
        double took = MPI_Wtime() - start, each = took / n * 1e6;
        best = each < best ? each : best;
        if (turn == 0) {
            n = took / n < 5e-3 ? (int)(5e-3 / (took / n)) : 1;
            n = n > 2000 ? 2000 : n;
        }
        if (together)
            MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    return best;
}

static void text_of(size_t bytes, char text[16])
{
    if (bytes >= 1 << 20)
        snprintf(text, 16, "%zuM", bytes >> 20);
    else if (bytes >= 1 << 10)
        snprintf(text, 16, "%zuK", bytes >> 10);
    else
        snprintf(text, 16, "%zuB", bytes);
}

static const size_t sizes[] = {8, 1 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20, 256 << 20};
enum { SIZES = sizeof sizes / sizeof sizes[0], MOST = 256 << 20 };

static void floors(void)
{
    work w = {.a = take_memory(DEVICE, MOST), .b = take_memory(DEVICE, MOST), .type = MPI_BYTE};
    for (int i = 0; i < SIZES; i++) {
        char name[40], size[16];
        text_of(w.bytes = sizes[i], size);
        snprintf(name, sizeof name, "copy.%s", size);
        if (wanted(name))
            row(name, best_of(copy_step, &w, false), "us");
    }
    give_memory(DEVICE, w.a);
    give_memory(DEVICE, w.b);
}

static void pairs(kind kind, const char *prefix)
{
    work w = {.a = take_memory(kind, MOST), .b = take_memory(kind, MOST), .type = MPI_BYTE};
    char name[40], size[16];
    for (int i = 0; i < SIZES; i++) {
        text_of(sizes[i], size);
        snprintf(name, sizeof name, "%s.%s", prefix, size);
        w.count = (int)sizes[i];
        if (wanted(name))
            row(name, best_of(pingpong_step, &w, true) / 2, "us");
    }
    // 64 MiB of data in blocks with gaps as long
    static const int blocks[] = {1, 2, 32};
    for (int i = 0; i < 3 && kind != HOST; i++) {
        MPI_Datatype vector;
        MPI_Type_vector((64 << 20) / 8 / blocks[i], blocks[i], 2 * blocks[i], MPI_DOUBLE, &vector);
        MPI_Type_commit(&vector);
        w.count = 1;
        w.type = vector;
        snprintf(name, sizeof name, "%svector%d.64M", kind == POOL ? "pool" : "", blocks[i] * 8);
        if (wanted(name))
            row(name, best_of(pingpong_step, &w, true) / 2, "us");
        MPI_Type_free(&vector);
    }
    w.count = 8;
    w.type = MPI_BYTE;
    snprintf(name, sizeof name, "%srate.8B", prefix);
    if (wanted(name))
        row(name, WINDOW / best_of(rate_step, &w, true), "messages/us");
    give_memory(kind, w.a);
    give_memory(kind, w.b);
}

// Each rank's own kernels run meanwhile: one block, or more than the device has room for, 0.2 ms each.
static void beside_kernels(void)
{
    enum { MULTIPROCESSORS = 16, TIMES = 900, CYCLES = 350000 };
    work w = {.a = take_memory(DEVICE, 8), .b = take_memory(DEVICE, 8), .type = MPI_BYTE};
    void *own;
    int multiprocessors;
    w.count = 8;
    w.bytes = 8;
    check(cu.stream(&own, 1), "cuStreamCreate");
    check(cu.attribute(&multiprocessors, MULTIPROCESSORS, 0), "cuDeviceGetAttribute");
    for (int full = 0; full < 2; full++)
        for (int copies = 0; copies < 2; copies++) {
            const char *names[] = {"besideone.8B", "besidefull.8B", "copybesideone.8B",
                                   "copybesidefull.8B"};
            const char *name = names[2 * copies + full];
            if (!wanted(name))
                continue;
            MPI_Barrier(MPI_COMM_WORLD);
            for (int i = 0; i < TIMES; i++)
                spin(own, full ? 2 * (unsigned)multiprocessors : 1, full ? 1024 : 32, CYCLES);
            double each = 0;
            if (!copies)
                each = best_of(pingpong_step, &w, true) / 2;
            else if (rank == 0)
                each = best_of(copy_step, &w, false);
            row(name, each, "us");
            wait_yielding(own);
        }
    MPI_Barrier(MPI_COMM_WORLD);
    give_memory(DEVICE, w.a);
    give_memory(DEVICE, w.b);
}

static void in_streams(void)
{
    static const size_t bytes[] = {8, 1 << 20};
    work w = {.a = take_memory(DEVICE, 1 << 20), .b = take_memory(DEVICE, 1 << 20)};
    MPI_Info info;
    MPIX_Stream named;
    char name[40], size[16];
    w.type = MPI_BYTE;
    check(cu.stream(&w.on, 1), "cuStreamCreate");
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", "cudaStream_t");
    MPIX_Info_set_hex(info, "value", &w.on, sizeof w.on);
    MPIX_Stream_create(info, &named);
    MPI_Info_free(&info);
    MPIX_Stream_comm_create(MPI_COMM_WORLD, named, &w.comm);
    for (int i = 0; i < 2; i++) {
        text_of(bytes[i], size);
        snprintf(name, sizeof name, "enqueued.%s", size);
        w.count = (int)bytes[i];
        if (wanted(name))
            row(name, best_of(enqueued_step, &w, true) / 32, "us");
    }
    MPI_Comm_free(&w.comm);
    MPIX_Stream_free(&named);
    MPI_Barrier(MPI_COMM_WORLD);
    give_memory(DEVICE, w.a);
    give_memory(DEVICE, w.b);
}

static void collectives(void)
{
    static const struct {
        const char *name;
        step *once;
        size_t bytes;
    } list[] = {{"allreduce.8B", allreduce_step, 8},
                {"allreduce.64K", allreduce_step, 64 << 10},
                {"allreduce.1M", allreduce_step, 1 << 20},
                {"allreduce.32M", allreduce_step, 32 << 20},
                {"bcast.8B", bcast_step, 8},
                {"bcast.16M", bcast_step, 16 << 20},
                {"allgather.16M", allgather_step, 16 << 20},
                {"alltoall.16M", alltoall_step, 16 << 20}};
    work w = {
        .a = take_memory(DEVICE, 32 << 20), .b = take_memory(DEVICE, 32 << 20), .type = MPI_DOUBLE};
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        w.count = (int)(list[i].bytes / 8);
        if (wanted(list[i].name))
            row(list[i].name, best_of(list[i].once, &w, true), "us");
    }
    give_memory(DEVICE, w.a);
    give_memory(DEVICE, w.b);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char *what = argc > 1 ? argv[1] : "";
    key = argc > 2 ? argv[2] : "";
    if (strcmp(what, "pair") == 0 && ranks == 2 && wanted("hostonly"))
        pairs(HOST, "hostonly"); // before there is a context
    load();
    if (strcmp(what, "floor") == 0 && ranks == 1) {
        floors();
    } else if (strcmp(what, "pair") == 0 && ranks == 2) {
        pairs(DEVICE, "device");
        if (wanted("pool"))
            pairs(POOL, "pool");
        if (wanted("hostbeside"))
            pairs(HOST, "hostbeside");
        beside_kernels();
        in_streams(); // the last: it changes how copies are made
    } else if (strcmp(what, "all") == 0) {
        collectives();
    } else {
        fprintf(stderr, "usage: gpu floor | pair [KEY] (two ranks) | all [KEY]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Finalize();
    return 0;
}
