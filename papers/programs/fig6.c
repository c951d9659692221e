// SPDX-License-Identifier: BSD-3-Clause
// Fine-grain MPI, Figure 6: the same messages by one nonblocking loop a process, or by one function a message.
//
//     mpirun -n N fig6 loop N BYTES               each rank: Irecv and Isend of all, then Waitany and computing in turns
//     mpirun -n N -nfg N+1 fig6 functions N BYTES each process: a sender, N-1 receivers, one that computes
//
// Every process sends BYTES to every other one, ten times. Prints `seconds T`.
#include <fgmpi.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMES = 10, TAG = 1, WORK = 2000 };

static void compute(void)
{
    volatile double x = 1;
    for (int i = 0; i < WORK; i++)
        x = x * 1.0000001 + 0.1;
}

static char *block(int bytes, int value)
{
    char *b = malloc((size_t)bytes);
    if (!b)
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(b, value, (size_t)bytes);
    return b;
}

static void check(const char *b, int bytes, int from)
{
    if (b[0] != (char)from || b[bytes - 1] != (char)from) {
        fprintf(stderr, "fig6: wrong data from process %d\n", from);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static double begin(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime();
}

static void end(double began)
{
    MPI_Barrier(MPI_COMM_WORLD);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("seconds %.6f\n", MPI_Wtime() - began);
    MPI_Finalize();
}

// ---- one loop a process

static int loop(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, bytes = atoi(argv[3]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char **in = calloc((size_t)size, sizeof *in), *out = block(bytes, rank);
    MPI_Request *requests = malloc(2 * (size_t)size * sizeof(MPI_Request));
    for (int i = 0; i < size; i++)
        in[i] = block(bytes, 0);
    double began = begin();
    for (int time = 0; time < TIMES; time++) {
        int count = 0;
        for (int i = 0; i < size; i++)
            if (i != rank)
                MPI_Irecv(in[i], bytes, MPI_CHAR, i, TAG, MPI_COMM_WORLD, &requests[count++]);
        for (int i = 0; i < size; i++)
            if (i != rank)
                MPI_Isend(out, bytes, MPI_CHAR, i, TAG, MPI_COMM_WORLD, &requests[count++]);
        for (int done = 0; done < count; done++) {
            int index;
            compute();
            MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
        }
        for (int i = 0; i < size; i++)
            if (i != rank)
                check(in[i], bytes, i);
    }
    end(began);
    return 0;
}

// ---- one function a message. Process P's ranks are P * (N+1) on: a sender, then the receiver of process P+1, P+2, ..., then the computing one.

static int sender(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, n = atoi(argv[2]), bytes = atoi(argv[3]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int me = rank / (n + 1);
    char *out = block(bytes, me);
    double began = begin();
    for (int time = 0; time < TIMES; time++)
        for (int d = 1; d < n; d++) {
            int to = (me + d) % n;
            MPI_Send(out, bytes, MPI_CHAR, to * (n + 1) + (n - d), TAG, MPI_COMM_WORLD);
        }
    end(began);
    return 0;
}

static int receiver(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, n = atoi(argv[2]), bytes = atoi(argv[3]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int from = (rank / (n + 1) + rank % (n + 1)) % n;
    char *in = block(bytes, 0);
    double began = begin();
    for (int time = 0; time < TIMES; time++) {
        MPI_Recv(in, bytes, MPI_CHAR, from * (n + 1), TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check(in, bytes, from);
    }
    end(began);
    return 0;
}

static int computer(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int n = atoi(argv[2]);
    double began = begin();
    for (int i = 0; i < TIMES * 2 * (n - 1); i++) {
        compute();
        MPIX_Yield();
    }
    end(began);
    return 0;
}

static FG_ProcessPtr_t bind(int argc, char **argv, int rank)
{
    (void)argc;
    if (rank < 0 || strcmp(argv[1], "loop") == 0)
        return loop;
    int n = atoi(argv[2]), slot = rank % (n + 1);
    return slot == 0 ? sender : slot == n ? computer : receiver;
}

int main(int argc, char **argv)
{
    if (argc != 4 || atoi(argv[2]) < 2 || atoi(argv[3]) < 1) {
        fprintf(stderr, "usage: fig6 loop|functions N BYTES\n");
        return 2;
    }
    return FGmpiexec(&argc, &argv, bind);
}
