// SPDX-License-Identifier: BSD-3-Clause
//
// A pipeline of two modules in two processes, elements of a MiB, beside MPI in the same processes:
// in each round first the flow, then windows of MPI_Isend and MPI_Irecv of the same size, with as
// many buffers as the queue has room for. Prints the medians and their ratio; stream.flow and
// bench/p2p/bandwidth.c are the same apart. `mpirun -n 2 stream [KiB [elements a round]]`.
#include <millet/csp.h>
#include <millet/flow.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 15, CAP = 16 };

typedef struct Pour {
    flow_self flow;
    struct {
        FLOW_QUEUE(long) in;
        FLOW_QUEUE(long) out;
    } q;
} Pour;

typedef Pour Drain; // in the other direction: an element at the end of each round

static long argument(const Pour *my, int at, long otherwise)
{
    return my->flow.argc > at ? atol(my->flow.argv[at]) : otherwise;
}

typedef struct windows {
    int bytes, count;
    char *of[CAP];
    MPI_Request requests[CAP];
} windows;

static windows *windows_new(size_t bytes, int count)
{
    windows *w = calloc(1, sizeof *w);
    w->bytes = (int)bytes;
    w->count = count;
    for (int i = 0; i < CAP; i++) {
        w->of[i] = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
        memset(w->of[i], 1, bytes);
    }
    return w;
}

static void isend_all(windows *w)
{
    for (int left = w->count; left > 0; left -= CAP) {
        int n = left < CAP ? left : CAP;
        for (int i = 0; i < n; i++)
            MPI_Isend(w->of[i], w->bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &w->requests[i]);
        MPI_Waitall(n, w->requests, MPI_STATUSES_IGNORE);
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void irecv_all(windows *w)
{
    for (int left = w->count; left > 0; left -= CAP) {
        int n = left < CAP ? left : CAP;
        for (int i = 0; i < n; i++)
            MPI_Irecv(w->of[i], w->bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &w->requests[i]);
        MPI_Waitall(n, w->requests, MPI_STATUSES_IGNORE);
        MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    }
}

static void windows_free(windows *w)
{
    for (int i = 0; i < CAP; i++)
        free(w->of[i]);
    free(w);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, ascending);
    return values[count / 2];
}

static int pour(void *arg)
{
    Pour *my = arg;
    size_t bytes = (size_t)argument(my, 1, 1024) * 1024, count = bytes / sizeof(long), n;
    long elements = argument(my, 2, 1000), *v;
    windows *w = windows_new(bytes, (int)elements);
    double flow[ROUNDS], mpi[ROUNDS], ratio[ROUNDS], gb = (double)elements * (double)bytes / 1e9;

    for (int round = -1; round < ROUNDS; round++) { // the first one is not counted
        csp_time start = csp_now();
        for (long i = 0; i < elements; i++) {
            v = flow_new(my, count);
            v[0] = v[count - 1] = i;
            flow_give(my, v, count);
        }
        flow_dequeue(my, &v, &n);
        csp_time middle = csp_now();
        isend_all(w);
        csp_time end = csp_now();
        if (round < 0)
            continue;
        flow[round] = gb / ((double)(middle - start) / 1e9);
        mpi[round] = gb / ((double)(end - middle) / 1e9);
        ratio[round] = flow[round] / mpi[round];
    }
    windows_free(w);
    printf("stream %.3f GB/s\n", median(flow, ROUNDS));
    printf("mpi %.3f GB/s\n", median(mpi, ROUNDS));
    printf("ratio %.3f\n", median(ratio, ROUNDS));
    return 0;
}

static int drain(void *arg)
{
    Drain *my = arg;
    size_t bytes = (size_t)argument(my, 1, 1024) * 1024, n;
    long elements = argument(my, 2, 1000), *v;
    windows *w = windows_new(bytes, (int)elements);

    for (int round = -1; round < ROUNDS; round++) {
        for (long i = 0; i < elements; i++)
            if (!flow_dequeue(my, &v, &n) || v[0] != i || v[n - 1] != i)
                flow_fail(my, "element %ld of round %d is wrong", i, round);
        flow_send(my, &elements, 1);
        irecv_all(w);
    }
    windows_free(w);
    return 0;
}

#define QUEUES(cap_of_out)                                                                         \
    {                                                                                              \
        {.name = "in",                                                                             \
         .input = true,                                                                            \
         .kind = FLOW_LONG,                                                                        \
         .type = "long",                                                                           \
         .bytes = sizeof(long),                                                                    \
         .offset = offsetof(Pour, q.in)},                                                          \
        {                                                                                          \
            .name = "out", .kind = FLOW_LONG, .type = "long", .bytes = sizeof(long),               \
            .cap = cap_of_out, .offset = offsetof(Pour, q.out)                                     \
        }                                                                                          \
    }

static const flow_queue_decl pour_queues[] = QUEUES(CAP);
static const flow_queue_decl drain_queues[] = QUEUES(1);
static const flow_module Pour_module = {.name = "Pour",
                                        .bytes = sizeof(Pour),
                                        .file = __FILE__,
                                        .queues = pour_queues,
                                        .queue_count = 2,
                                        .run = pour};
static const flow_module Drain_module = {.name = "Drain",
                                         .bytes = sizeof(Drain),
                                         .file = __FILE__,
                                         .queues = drain_queues,
                                         .queue_count = 2,
                                         .run = drain};

static void wire(flow_wiring *w)
{
    int p = flow_add(w, __LINE__, "p", &Pour_module, -1);
    int d = flow_add(w, __LINE__, "d", &Drain_module, -1);
    flow_part from = {.vector = p, .all = true}, to = {.vector = d, .all = true};
    flow_wire(w, __LINE__, (flow_stage[]){{FLOW_JOIN, &from, 1}, {FLOW_JOIN, &to, 1}}, 2);
    flow_wire(w, __LINE__, (flow_stage[]){{FLOW_JOIN, &to, 1}, {FLOW_JOIN, &from, 1}}, 2);
    flow_place(w, __LINE__, &from, 1, "0");
    flow_place(w, __LINE__, &to, 1, "1");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const flow_root root = {.name = "stream", .file = __FILE__, .line = __LINE__, .wire = wire};
    int status = flow_main(argc, argv, &root, NULL);
    MPI_Finalize();
    return status;
}
