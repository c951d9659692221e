// SPDX-License-Identifier: BSD-3-Clause
// What docs/guide/gpus.md says of buffers in device memory, a line of its table at a time: `works ROW`.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_abi.h"

enum { N = 1000, TAG = 7 };

typedef struct state {
    int rank, size, left, right;
    int *mine, *got; // on the device
    int host[2 * N];
} state;

static void fine(cu_result result)
{
    if (result != CU_OK) {
        fprintf(stderr, "the driver says %d\n", result);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static int *device_ints(int count)
{
    cu_ptr at;
    fine(cuMemAlloc_v2(&at, (size_t)count * sizeof(int)));
    return (int *)(uintptr_t)at;
}

static int value(int rank, int i)
{
    return 10000 * (rank + 1) + i;
}

// Copies N numbers, `stride` apart, to the host and says whether they are `times` those of the rank.
static int holds(state *s, const int *device, int rank, int times)
{
    fine(cuMemcpyDtoH_v2(s->host, (uintptr_t)device, N * sizeof(int)));
    for (int i = 0; i < N; i++)
        if (s->host[i] != times * value(rank, i))
            return 0;
    return 1;
}

static void begin(state *s)
{
    cu_context context;
    MPI_Comm_rank(MPI_COMM_WORLD, &s->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &s->size);
    s->right = (s->rank + 1) % s->size;
    s->left = (s->rank + s->size - 1) % s->size;
    fine(cuInit(0));
    fine(cuDevicePrimaryCtxRetain(&context, 0));
    fine(cuCtxSetCurrent(context));
    s->mine = device_ints(2 * N);
    s->got = device_ints(2 * N);
    for (int i = 0; i < N; i++)
        s->host[i] = value(s->rank, i);
    fine(cuMemcpyHtoD_v2((uintptr_t)s->mine, s->host, N * sizeof(int)));
}

// ---- the rows

static int messages(state *s)
{
    MPI_Request requests[2];
    MPI_Message message;
    int right = 1;
    MPI_Irecv(s->got, N, MPI_INT, s->left, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(s->mine, N, MPI_INT, s->right, TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    right &= holds(s, s->got, s->left, 1);
    MPI_Isend(s->got, N, MPI_INT, s->right, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Mprobe(s->left, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(s->mine, N, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    return right && holds(s, s->mine, (s->left + s->size - 1) % s->size, 1);
}

static int partitioned(state *s)
{
    enum { PARTS = 4 };
    MPI_Request requests[2];
    MPI_Psend_init(s->mine, PARTS, N / PARTS, MPI_INT, s->right, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[0]);
    MPI_Precv_init(s->got, PARTS, N / PARTS, MPI_INT, s->left, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[1]);
    MPI_Startall(2, requests);
    MPI_Pready_range(0, PARTS - 1, requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    return holds(s, s->got, s->left, 1);
}

static int one_side(state *s)
{
    static const int sizes[] = {1, N};
    int right = 1, *host = malloc(N * sizeof *host);
    for (int i = 0; i < 2; i++) { // short and long: other ways
        MPI_Sendrecv(s->mine, sizes[i], MPI_INT, s->right, TAG, host, N, MPI_INT, s->left, TAG,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        right &= host[sizes[i] - 1] == value(s->left, sizes[i] - 1);
    }
    MPI_Sendrecv(host, N, MPI_INT, s->left, TAG, s->got, N, MPI_INT, s->right, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    free(host);
    return right && holds(s, s->got, s->rank, 1);
}

static int gaps(state *s)
{
    MPI_Datatype pairs;
    MPI_Type_vector(N, 1, 2, MPI_INT, &pairs);
    MPI_Type_commit(&pairs);
    MPI_Sendrecv(s->mine, N, MPI_INT, s->right, TAG, s->got, 1, pairs, s->left, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(s->got, 1, pairs, s->left, TAG, s->mine, N, MPI_INT, s->right, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Type_free(&pairs);
    return holds(s, s->mine, s->rank, 1);
}

static int packed(state *s)
{
    char *bytes = malloc(N * sizeof(int));
    int at = 0;
    MPI_Pack(s->mine, N, MPI_INT, bytes, N * sizeof(int), &at, MPI_COMM_WORLD);
    at = 0;
    MPI_Unpack(bytes, N * sizeof(int), &at, s->got, N, MPI_INT, MPI_COMM_WORLD);
    free(bytes);
    return holds(s, s->got, s->rank, 1);
}

// The sum over all ranks.
static int is_sum(state *s)
{
    fine(cuMemcpyDtoH_v2(s->host, (uintptr_t)s->got, N * sizeof(int)));
    for (int i = 0; i < N; i++) {
        int sum = 0;
        for (int r = 0; r < s->size; r++)
            sum += value(r, i);
        if (s->host[i] != sum)
            return 0;
    }
    return 1;
}

static int collectives(state *s)
{
    int right;
    MPI_Allreduce(s->mine, s->got, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    right = is_sum(s);
    fine(cuMemcpy((uintptr_t)s->got, (uintptr_t)s->mine, N * sizeof(int)));
    MPI_Allreduce(MPI_IN_PLACE, s->got, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    right &= is_sum(s);
    MPI_Bcast(s->mine, N, MPI_INT, 0, MPI_COMM_WORLD);
    return right && holds(s, s->mine, 0, 1);
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    if (*type != MPI_INT)
        abort();
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static int own_operation(state *s)
{
    MPI_Op op;
    MPI_Op_create(add, 1, &op);
    MPI_Allreduce(s->mine, s->got, N, MPI_INT, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
    return is_sum(s);
}

// The window is on the device, and so is what is put there and read from there.
static int windows(state *s)
{
    MPI_Win win;
    MPI_Win_create(s->got, N * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put(s->mine, N, MPI_INT, s->right, 0, N, MPI_INT, win);
    MPI_Win_fence(0, win);
    int right = holds(s, s->got, s->left, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Accumulate(s->mine, N, MPI_INT, s->right, 0, N, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    right &= holds(s, s->got, s->left, 2);
    MPI_Get(s->mine, N, MPI_INT, s->right, 0, N, MPI_INT, win);
    MPI_Win_fence(0, win);
    right &= holds(s, s->mine, s->rank, 2);
    MPI_Win_free(&win);
    return right;
}

static int files(state *s)
{
    MPI_File file;
    char path[200];
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/millet-works-%d", folder ? folder : "/tmp", s->rank);
    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
    MPI_File_write_at(file, 0, s->mine, N, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_read_at_all(file, 0, s->got, N, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    return holds(s, s->got, s->rank, 1);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(state *s);
    } rows[] = {{"messages", messages},
                {"partitioned", partitioned},
                {"one_side", one_side},
                {"gaps", gaps},
                {"packed", packed},
                {"collectives", collectives},
                {"own_operation", own_operation},
                {"windows", windows},
                {"files", files}};
    state s;
    int right = 0, all = 0;
    MPI_Init(&argc, &argv);
    begin(&s);
    for (size_t i = 0; argc == 2 && i < sizeof rows / sizeof *rows; i++)
        if (strcmp(argv[1], rows[i].name) == 0)
            right = rows[i].run(&s);
    MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (s.rank == 0)
        puts(all ? "right" : "wrong");
    MPI_Finalize();
    return 0;
}
