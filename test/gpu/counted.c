// SPDX-License-Identifier: BSD-3-Clause
// Two ranks whose copies by devices are known: what --report and --trace have to tell.
//
// counted [calls] [pool] [host] [rest]: calls: also collective calls; pool: memory that no other process opens;
// host: all of it in memory of the host, and no driver is asked; rest: then it does nothing, until it is killed
#include <unistd.h>

#include "gpu_test.h"

enum { BYTES = 1 << 20, SMALL = 4000, NUMBERS = 1000 };

static bool has(int argc, char **argv, const char *word)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], word) == 0)
            return true;
    return false;
}

static void *memory_of(kind kind, bool pool, size_t bytes)
{
    cu_ptr at;
    if (kind != ON_DEVICE || !pool)
        return get_memory(kind, bytes);
    FINE(cuMemAllocAsync(&at, bytes, NULL));
    return (void *)(uintptr_t)at;
}

// A message from rank 0 to rank 1, from memory of that kind to such memory.
static void message(char *from, char *to)
{
    if (me == 0)
        MPI_Send(from, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(to, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    bool pool = has(argc, argv, "pool"), host = has(argc, argv, "host");
    kind kind = host ? HOST : ON_DEVICE;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!host)
        begin_device();
    MPI_Barrier(MPI_COMM_WORLD);
    char *device = memory_of(kind, pool, BYTES), *plain = get_memory(HOST, BYTES);
    memset(plain, 1 + me, BYTES);
    write_memory(kind, device, plain, BYTES);
    for (int i = 0; i < 10; i++)
        message(device, device);
    for (int i = 0; i < 3; i++)
        message(device, plain);
    CHECK(plain[0] == 1 && plain[BYTES - 1] == 1);
    for (int i = 0; i < 2; i++)
        message(plain, device);
    int at = 0;
    MPI_Pack(device, SMALL, MPI_BYTE, plain, BYTES, &at, MPI_COMM_WORLD);
    at = 0;
    MPI_Unpack(plain, BYTES, &at, device, SMALL, MPI_BYTE, MPI_COMM_WORLD);
    if (has(argc, argv, "calls")) {
        double *in = get_memory(kind, NUMBERS * sizeof *in),
               *out = get_memory(kind, NUMBERS * sizeof *out);
        for (int i = 0; i < 2; i++)
            MPI_Allreduce(in, out, NUMBERS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        drop_memory(kind, in);
        drop_memory(kind, out);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0)
        printf("right\n");
    fflush(stdout);
    while (has(argc, argv, "rest"))
        sleep(1);
    MPI_Finalize();
    return 0;
}
