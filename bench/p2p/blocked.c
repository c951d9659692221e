// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks 1 and up wait in MPI_Recv while rank 0 sleeps outside MPI. The measure is the CPU time of
// the whole job, which whoever runs it takes from the operating system; printed here is what the
// waiting ranks used while they waited (meaningful when ranks are processes).
#define _XOPEN_SOURCE 700 // getrusage, nanosleep
#include "bench.h"

#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

enum {
    TAG_READY = 1,
    TAG_WAKE = 2,
    TAG_CPU = 3,
};

static double cpu_seconds(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static void sleep_for(double seconds)
{
    struct timespec left = {(time_t)seconds, 0};
    left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
    while (nanosleep(&left, &left) != 0) {
    }
}

static void keep_waiting(int ranks, double seconds)
{
    for (int rank = 1; rank < ranks; rank++)
        MPI_Recv(NULL, 0, MPI_BYTE, rank, TAG_READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sleep_for(seconds);
    for (int rank = 1; rank < ranks; rank++)
        MPI_Send(&rank, 1, MPI_INT, rank, TAG_WAKE, MPI_COMM_WORLD);
    double all = 0;
    for (int rank = 1; rank < ranks; rank++) {
        double one;
        MPI_Recv(&one, 1, MPI_DOUBLE, rank, TAG_CPU, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        all += one;
    }
    printf("blocked_cpu_waiting %.6g s\n", all);
    fflush(stdout);
}

static void wait_here(int rank)
{
    int woken = -1;
    MPI_Send(NULL, 0, MPI_BYTE, 0, TAG_READY, MPI_COMM_WORLD);
    double before = cpu_seconds();
    MPI_Recv(&woken, 1, MPI_INT, 0, TAG_WAKE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double used = cpu_seconds() - before;
    bench_require(woken == rank, "blocked: the received value is wrong");
    MPI_Send(&used, 1, MPI_DOUBLE, 0, TAG_CPU, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    double seconds = 5;
    const struct bench_option options[] = {
        {"--seconds", &seconds, "seconds that rank 0 sleeps"},
        {NULL, NULL, NULL},
    };
    bench_options_read(argc, argv, options, NULL);

    int rank;
    int ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    bench_require(ranks >= 2, "blocked: needs two ranks or more");
    if (rank == 0)
        keep_waiting(ranks, seconds);
    else
        wait_here(rank);
    MPI_Finalize();
    return 0;
}
