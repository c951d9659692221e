// SPDX-License-Identifier: BSD-3-Clause
// An MPI program that goes wrong as its argument says, in the last rank unless told otherwise.
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void receive(int from)
{
    long data;
    MPI_Recv(&data, 1, MPI_LONG, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// Everybody sends to the right; a right result needs every rank.
static void ring(int rank, int size)
{
    long own = rank, left = -1;
    MPI_Request request;
    MPI_Isend(&own, 1, MPI_LONG, (rank + 1) % size, 0, MPI_COMM_WORLD, &request);
    MPI_Recv(&left, 1, MPI_LONG, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (left != (rank + size - 1) % size)
        MPI_Abort(MPI_COMM_WORLD, 99);
}

int main(int argc, char **argv)
{
    const char *fault = argc > 1 ? argv[1] : "none";
    int me, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int last = me == size - 1;
    if (strcmp(fault, "deadlock") == 0)
        receive((me + 1) % size);
    if (strcmp(fault, "barrier") == 0) {
        if (me == 0)
            receive(1);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (strcmp(fault, "tag") == 0 && me < 2) { // rank 1 expects another tag
        long data = 0;
        if (me == 0)
            MPI_Send(&data, 1, MPI_LONG, 1, 1, MPI_COMM_WORLD);
        receive(1 - me);
    }
    if (strcmp(fault, "unreceived") == 0 && me == 0) {
        static char large[1 << 20];
        MPI_Request request;
        MPI_Isend(large, sizeof large, MPI_CHAR, 1, 4, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    }
    while (strcmp(fault, "pingpong") == 0 && me < 2) {
        long data = 0;
        if (me == 0)
            MPI_Send(&data, 1, MPI_LONG, 1, 7, MPI_COMM_WORLD);
        receive(1 - me);
        if (me == 1)
            MPI_Send(&data, 1, MPI_LONG, 0, 7, MPI_COMM_WORLD);
    }
    if (strcmp(fault, "standing") == 0 && me < 2) // a cycle of two, while others compute
        receive(1 - me);
    while (strcmp(fault, "standing") == 0 && me == 2)
        ;
    if (strcmp(fault, "standing") == 0 && me == 3)
        raise(SIGSTOP);
    if (strcmp(fault, "badbuffer") == 0 && last)
        MPI_Send((void *)8, 100, MPI_LONG, 0, 7, MPI_COMM_WORLD);
    if (strcmp(fault, "crashes") == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    if ((strcmp(fault, "segv") == 0 && last) || strcmp(fault, "crashes") == 0)
        *(volatile int *)8 = 1;
    if (strcmp(fault, "abort") == 0 && last)
        MPI_Abort(MPI_COMM_WORLD, 5);
    if (strcmp(fault, "exit") == 0 && last)
        exit(7);
    if (strcmp(fault, "exit0") == 0 && last)
        exit(0);
    if (strcmp(fault, "thread") == 0 && last)
        pthread_exit(NULL);
    if (strcmp(fault, "cancel") == 0 && last)
        pthread_cancel(pthread_self());
    if (strcmp(fault, "cancel") == 0)
        pthread_testcancel();
    if (strcmp(fault, "spin") == 0 && last)
        for (;;)
            ;
    while (strcmp(fault, "repeat") == 0 && last)
        MPI_Sendrecv(NULL, 0, MPI_LONG, me, 7, NULL, 0, MPI_LONG, me, 7, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    if (strcmp(fault, "hang") == 0 || strcmp(fault, "repeat") == 0)
        receive(MPI_ANY_SOURCE);
    if (strcmp(fault, "sleep") == 0)
        sleep(60);
    if (strcmp(fault, "none") == 0)
        ring(me, size);
    MPI_Finalize();
    if (strcmp(fault, "after") == 0 && last)
        pthread_exit(NULL);
    return strcmp(fault, "late") == 0 && last ? 7 : 0;
}
