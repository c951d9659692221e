// SPDX-License-Identifier: BSD-3-Clause
// Each rank has a team of threads of its own, and what OpenMP keeps for a rank is the rank's: the
// number of threads, the schedule, locks with names, threadprivate variables. The master calls MPI
// inside a parallel region, and all threads of a team do.
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1000, TEAM = 3 };

static int rank, size;
static int shared_sum, named;
static int own = 5;
#pragma omp threadprivate(own)
static long numbers[COUNT];

static long fill(void)
{
    long sum = 0;
#pragma omp parallel for schedule(runtime) reduction(+ : sum)
    for (int i = 0; i < COUNT; i++) {
        numbers[i] = (long)i * (rank + 1);
        sum += numbers[i];
    }
    return sum;
}

// Neighbours exchange while the others of the team compute.
static int exchange(void)
{
    int got = -1, threads = 0;
#pragma omp parallel num_threads(TEAM)
    {
#pragma omp master
        MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT,
                     (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        own += rank + omp_get_thread_num();
#pragma omp critical(name)
        named += 1 + rank;
#pragma omp atomic
        shared_sum += omp_get_thread_num();
#pragma omp barrier
#pragma omp single
        threads = omp_get_num_threads();
    }
    return got * 10 + threads;
}

static int count_tasks(void)
{
    int done = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i <= rank % 7; i++) {
#pragma omp task shared(done)
        {
#pragma omp atomic
            done++;
        }
    }
    return done;
}

// Each thread with its counterpart in the next rank, between barriers; some are long in MPI.
static long all_exchange(void)
{
    long sum = 0;
#pragma omp parallel num_threads(TEAM) reduction(+ : sum)
    for (int i = 0; i < 10; i++) {
        int me = omp_get_thread_num(), sent = rank * 100 + me * 10 + i, got = -1;
        if (me == i % TEAM)
            MPI_Barrier(MPI_COMM_WORLD);
#pragma omp barrier
        MPI_Sendrecv(&sent, 1, MPI_INT, (rank + 1) % size, me, &got, 1, MPI_INT,
                     (rank + size - 1) % size, me, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        own++;
        sum += got;
    }
    return sum;
}

int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level < MPI_THREAD_MULTIPLE)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    omp_set_num_threads(rank % 3 + 1);
    omp_set_schedule(rank % 2 ? omp_sched_dynamic : omp_sched_static, rank + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    omp_sched_t kind;
    int chunk, in_all = 0;
    omp_get_schedule(&kind, &chunk);
    long sum = fill();
    int got = exchange() + exchange() * 1000, tasks = count_tasks();
    sum += all_exchange();
#pragma omp parallel num_threads(TEAM) reduction(+ : in_all)
    in_all += own;
    printf("rank %d: %d threads, schedule %d %d, sum %ld, got %d, tasks %d, %d %d %d\n", rank,
           omp_get_max_threads(), (int)kind, chunk, sum, got, tasks, shared_sum, named, in_all);
    MPI_Finalize();
    return 0;
}
