// SPDX-License-Identifier: BSD-3-Clause
//
// Partitioned messages of ranks with several threads: each makes its partitions ready, others look
// for those that arrive, while the main thread waits.

#define _GNU_SOURCE // pthread_barrier_t
#include <pthread.h>

#include "check.h"

#define WORLD MPI_COMM_WORLD

enum { THREADS = 4, PER_THREAD = 20, PARTS = THREADS * PER_THREAD, ROUNDS = 30, TAG = 5 };

typedef struct job {
    pthread_barrier_t begin;
    MPI_Request send, recv;
    int *out, *in;
    int ints, rank, left; // ints of a partition
} job;

typedef struct worker {
    job *job;
    int number;
} worker;

static int value(int rank, int round, int partition)
{
    return rank * 100000 + round * 1000 + partition;
}

static void fill(const job *j, int round, int partition)
{
    for (int i = 0; i < j->ints; i++)
        j->out[partition * j->ints + i] = value(j->rank, round, partition);
}

static void look(const job *j, int round, int partition)
{
    int flag = 0;
    while (!flag)
        CHECK_OK(MPI_Parrived(j->recv, partition, &flag));
    for (int i = 0; i < j->ints; i++)
        CHECK_INT(j->in[partition * j->ints + i], value(j->left, round, partition));
}

static void *work(void *arg)
{
    const worker *w = arg;
    job *j = w->job;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&j->begin); // both are started
        for (int i = 0; i < PER_THREAD; i++) {
            int partition = round % 2 ? i * THREADS + w->number : w->number * PER_THREAD + i;
            fill(j, round, partition);
            CHECK_OK(MPI_Pready(partition, j->send));
        }
        if (round % 3 == 0)
            for (int i = w->number; i < PARTS; i += THREADS)
                look(j, round, i);
        pthread_barrier_wait(&j->begin); // nobody looks any more
    }
    return NULL;
}

static void exchange(job *j)
{
    pthread_t threads[THREADS];
    worker workers[THREADS];
    for (int t = 0; t < THREADS; t++) {
        workers[t] = (worker){j, t};
        CHECK_INT(pthread_create(&threads[t], NULL, work, &workers[t]), 0);
    }
    for (int round = 0; round < ROUNDS; round++) {
        CHECK_OK(MPI_Start(&j->send));
        CHECK_OK(MPI_Start(&j->recv));
        pthread_barrier_wait(&j->begin);
        CHECK_OK(MPI_Wait(&j->send, MPI_STATUS_IGNORE)); // while the threads still mark
        pthread_barrier_wait(&j->begin);
        CHECK_OK(MPI_Wait(&j->recv, MPI_STATUS_IGNORE));
        for (int p = 0; p < PARTS; p++)
            CHECK_INT(j->in[p * j->ints], value(j->left, round, p));
    }
    for (int t = 0; t < THREADS; t++)
        CHECK_INT(pthread_join(threads[t], NULL), 0);
}

static void try(int ints, int in_parts)
{
    job j = {.ints = ints, .rank = world_rank()};
    int size = world_size(), right = (j.rank + 1) % size;
    j.left = (j.rank + size - 1) % size;
    j.out = must_alloc((size_t)(PARTS * ints) * sizeof(int));
    j.in = must_alloc((size_t)(PARTS * ints) * sizeof(int));
    CHECK_INT(pthread_barrier_init(&j.begin, NULL, THREADS + 1), 0);
    CHECK_OK(
        MPI_Psend_init(j.out, PARTS, ints, MPI_INT, right, TAG, WORLD, MPI_INFO_NULL, &j.send));
    CHECK_OK(MPI_Precv_init(j.in, in_parts, PARTS * ints / in_parts, MPI_INT, j.left, TAG, WORLD,
                            MPI_INFO_NULL, &j.recv));
    exchange(&j);
    CHECK_OK(MPI_Request_free(&j.send));
    CHECK_OK(MPI_Request_free(&j.recv));
    pthread_barrier_destroy(&j.begin);
    free(j.out);
    free(j.in);
}

int main(int argc, char **argv)
{
    int provided;
    CHECK_OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    CHECK_INT(provided, MPI_THREAD_MULTIPLE);
    try(1, PARTS);
    try(500, PARTS);
    try(8000, PARTS);
    CHECK_OK(MPI_Finalize());
    return 0;
}
