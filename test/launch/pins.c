// SPDX-License-Identifier: BSD-3-Clause
//
// Prints for each rank the processors that it may run on, and those of a thread that it starts:
// "rank 0: 1; thread: 0,1".

#define _GNU_SOURCE

#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

enum { TEXT = 8192 };

static void *list(void *text)
{
    char *at = text;
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set))
            at += sprintf(at, at == (char *)text ? "%d" : ",%d", cpu);
    return NULL;
}

int main(int argc, char **argv)
{
    char own[TEXT] = "", started[TEXT] = "";
    pthread_t thread;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    list(own);
    if (pthread_create(&thread, NULL, list, started) != 0 || pthread_join(thread, NULL) != 0)
        return 1;
    printf("rank %d: %s; thread: %s\n", rank, own, started);
    MPI_Finalize();
    return 0;
}
