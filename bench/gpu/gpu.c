// SPDX-License-Identifier: BSD-3-Clause
// What MPI's calls cost on buffers in device memory, beside what the device's driver takes for the same
// bytes. It knows CUDA's driver by name only (dlopen), so no header of CUDA's is needed.
//
//   gpu floor               rank 0 alone: copies with their waits
//   gpu pair [KEY]          two ranks: half round trips, vectors, message rate, host messages; the same of memory of a pool,
//                           which goes through the host between processes
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
    work w = {take_memory(DEVICE, MOST), take_memory(DEVICE, MOST), 0, MPI_BYTE, 0};
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
    work w = {take_memory(kind, MOST), take_memory(kind, MOST), 0, MPI_BYTE, 0};
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
    work w = {take_memory(DEVICE, 32 << 20), take_memory(DEVICE, 32 << 20), 0, MPI_DOUBLE, 0};
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
    } else if (strcmp(what, "all") == 0) {
        collectives();
    } else {
        fprintf(stderr, "usage: gpu floor | pair [KEY] (two ranks) | all [KEY]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Finalize();
    return 0;
}
