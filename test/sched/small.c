// SPDX-License-Identifier: BSD-3-Clause
// What a rank with a small stack can call: small WHAT... WHAT is one of the names below; `over` uses
// more than there is.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORLD MPI_COMM_WORLD

static int rank, size;

static __attribute__((noinline)) void use_12_kib(void)
{
    volatile char much[12 * 1024];
    for (int i = (int)sizeof much - 1; i >= 0; i -= 64)
        much[i] = 1;
}

static void ring(char *buffer, int bytes)
{
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int lap = 0; lap < 3; lap++) {
        if (rank > 0)
            MPI_Recv(buffer, bytes, MPI_CHAR, left, 0, WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buffer, bytes, MPI_CHAR, right, 0, WORLD);
        if (rank == 0)
            MPI_Recv(buffer, bytes, MPI_CHAR, left, 0, WORLD, MPI_STATUS_IGNORE);
    }
}

static void call(const char *what)
{
    int in = 1, out = 0;
    MPI_Request requests[2];
    MPI_Comm comm;
    char *large = malloc(2 << 20);
    int *many = calloc(2 * (size_t)size, sizeof *many);
    if (strcmp(what, "ring") == 0)
        ring(large, 8);
    else if (strcmp(what, "large") == 0)
        ring(large, 1 << 20);
    else if (strcmp(what, "barrier") == 0)
        MPI_Barrier(WORLD);
    else if (strcmp(what, "bcast") == 0)
        MPI_Bcast(&in, 1, MPI_INT, 0, WORLD);
    else if (strcmp(what, "allreduce") == 0)
        MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, WORLD);
    else if (strcmp(what, "gather") == 0)
        MPI_Gather(&in, 1, MPI_INT, many, 1, MPI_INT, 0, WORLD);
    else if (strcmp(what, "alltoall") == 0)
        MPI_Alltoall(many, 1, MPI_INT, many + size, 1, MPI_INT, WORLD);
    else if (strcmp(what, "nonblocking") == 0) {
        MPI_Irecv(&out, 1, MPI_INT, (rank + 1) % size, 0, WORLD, &requests[0]);
        MPI_Isend(&in, 1, MPI_INT, (rank + size - 1) % size, 0, WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else if (strcmp(what, "iallreduce") == 0) {
        MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, WORLD, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    } else if (strcmp(what, "dup") == 0) {
        MPI_Comm_dup(WORLD, &comm);
        MPI_Comm_free(&comm);
    } else if (strcmp(what, "split") == 0) {
        MPI_Comm_split(WORLD, rank % 2, rank, &comm);
        MPI_Comm_free(&comm);
    } else if (strcmp(what, "printf") == 0)
        fprintf(rank == 0 ? stderr : stdout, "%d %g\n", rank, 0.5 * size);
    else if (strcmp(what, "over") == 0)
        use_12_kib();
    free(large);
    free(many);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &size);
    for (int i = 1; i < argc; i++)
        call(argv[i]);
    if (rank == 0)
        puts("through");
    MPI_Finalize();
    return 0;
}
