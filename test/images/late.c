// SPDX-License-Identifier: BSD-3-Clause
// A library that keeps a lock, such as an allocator, is loaded after MPI_Init. A rank that is in it is
// not left for another one, though threads of all ranks want to call MPI. Arguments: the library.
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 100, TIMES = 5 };

static void *turn(void *comm)
{
    int rank, size, in;
    MPI_Comm_rank(*(MPI_Comm *)comm, &rank);
    MPI_Comm_size(*(MPI_Comm *)comm, &size);
    for (int i = 0; i < ROUNDS; i++)
        MPI_Sendrecv(&i, 1, MPI_INT, (rank + 1) % size, 1, &in, 1, MPI_INT,
                     (rank + size - 1) % size, 1, *(MPI_Comm *)comm, MPI_STATUS_IGNORE);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, rank, met = 0, all = 0;
    pthread_t thread;
    MPI_Comm comm;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    int (*take)(void) = library ? (int (*)(void))dlsym(library, "take_lock") : NULL;
    if (!take || provided < MPI_THREAD_MULTIPLE)
        MPI_Abort(MPI_COMM_WORLD, 3);
    pthread_create(&thread, NULL, turn, &comm);
    for (int i = 0; i < TIMES; i++)
        met += take();
    pthread_join(thread, NULL);
    MPI_Reduce(&met, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d found it taken\n", all);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
