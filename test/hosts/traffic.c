// SPDX-License-Identifier: BSD-3-Clause
// Traffic of all kinds between all ranks, for `traffic SECONDS [PAUSE_MS]`: small and large
// messages, many at once, collectives of all shapes. Every byte that arrives is checked. Rank 0
// decides when it is enough and prints how many rounds there were. test/hosts/faults breaks what it
// runs on, so its results are right or it has none.
#define _POSIX_C_SOURCE 200809L // nanosleep
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    MANY = 24,      // small messages at once
    SMALL = 700,    // bytes at most
    LARGE = 600000, // bytes at most
    BLOCK = 64,     // of MPI_Alltoall and MPI_Allgather
    TAG_SMALL = 1,
    TAG_MANY,
    TAG_LARGE,
};

typedef struct world {
    int rank, ranks, round;
    unsigned char *out, *in; // LARGE bytes, or a block for each rank
} world;

// The byte at place i of what `rank` sends in this round.
static unsigned char byte_of(const world *w, int rank, int i)
{
    return (unsigned char)(rank * 31 + w->round * 7 + i + (i >> 8));
}

static void fill(const world *w, int count)
{
    for (int i = 0; i < count; i++)
        w->out[i] = byte_of(w, w->rank, i);
}

static void wrong(const world *w, const char *what, int from)
{
    fprintf(stderr, "WRONG DATA: rank %d, round %d, %s from rank %d\n", w->rank, w->round, what,
            from);
    MPI_Abort(MPI_COMM_WORLD, 99);
}

static void check(const world *w, const unsigned char *data, int count, int from, const char *what)
{
    for (int i = 0; i < count; i++) {
        if (data[i] != byte_of(w, from, i))
            wrong(w, what, from);
    }
}

static void shift(const world *w, int count, int tag, const char *what)
{
    int by = 1 + w->round % (w->ranks - 1);
    int to = (w->rank + by) % w->ranks, from = (w->rank + w->ranks - by) % w->ranks, got;
    MPI_Status status;
    fill(w, count);
    MPI_Sendrecv(w->out, count, MPI_BYTE, to, tag, w->in, LARGE, MPI_BYTE, from, tag,
                 MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &got);
    if (got != count)
        wrong(w, what, from);
    check(w, w->in, count, from, what);
}

static void many_at_once(const world *w)
{
    MPI_Request requests[2 * MANY];
    int64_t out[MANY], in[MANY];
    for (int i = 0; i < MANY; i++) {
        int peer = i % w->ranks;
        out[i] = (int64_t)w->round * 1000003 + w->rank * 1009 + i;
        MPI_Irecv(&in[i], 1, MPI_INT64_T, peer, TAG_MANY, MPI_COMM_WORLD, &requests[2 * i]);
        MPI_Isend(&out[i], 1, MPI_INT64_T, peer, TAG_MANY, MPI_COMM_WORLD, &requests[2 * i + 1]);
    }
    MPI_Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY; i++) {
        // The k-th message to a rank has a number that is k * ranks plus that rank.
        int number = i / w->ranks * w->ranks + w->rank;
        if (number < MANY && in[i] != (int64_t)w->round * 1000003 + i % w->ranks * 1009 + number)
            wrong(w, "one of many", i % w->ranks);
    }
}

static void collectives(const world *w)
{
    double mine = w->rank + w->round, sum;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (sum != (double)w->ranks * (w->ranks - 1) / 2 + (double)w->ranks * w->round)
        wrong(w, "a sum", -1);

    int root = w->round % w->ranks, count = 1 + w->round * 997 % LARGE;
    if (w->rank == root) {
        fill(w, count);
        MPI_Bcast(w->out, count, MPI_BYTE, root, MPI_COMM_WORLD);
    } else {
        MPI_Bcast(w->in, count, MPI_BYTE, root, MPI_COMM_WORLD);
        check(w, w->in, count, root, "a broadcast");
    }

    for (int i = 0; i < w->ranks; i++)
        for (int k = 0; k < BLOCK; k++)
            w->out[i * BLOCK + k] = byte_of(w, w->rank, k);
    MPI_Alltoall(w->out, BLOCK, MPI_BYTE, w->in, BLOCK, MPI_BYTE, MPI_COMM_WORLD);
    for (int i = 0; i < w->ranks; i++)
        check(w, w->in + i * BLOCK, BLOCK, i, "a block");
}

static void sleep_ms(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

int main(int argc, char **argv)
{
    world w = {.round = 0};
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    long pause_ms = argc > 2 ? atol(argv[2]) : 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
    w.out = malloc(LARGE);
    w.in = malloc(LARGE);
    if (!w.out || !w.in || w.ranks < 2 || MANY % w.ranks != 0 || w.ranks * BLOCK > LARGE) {
        fprintf(stderr, "traffic: no memory, or a number of ranks that does not divide %d\n", MANY);
        MPI_Abort(MPI_COMM_WORLD, 98);
    }
    double end = MPI_Wtime() + seconds;
    for (int go_on = 1; go_on; w.round++) {
        shift(&w, 1 + w.round % SMALL, TAG_SMALL, "a small message");
        many_at_once(&w);
        if (w.round % 3 == 0)
            shift(&w, LARGE - w.round % 1000, TAG_LARGE, "a large message");
        collectives(&w);
        go_on = MPI_Wtime() < end;
        MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (pause_ms)
            sleep_ms(pause_ms);
    }
    if (w.rank == 0)
        printf("%d rounds were right\n", w.round);
    free(w.out);
    free(w.in);
    MPI_Finalize();
    return 0;
}
