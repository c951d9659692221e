// SPDX-License-Identifier: BSD-3-Clause
// The rounds of Parallel.c with MPI, as the paper codes them: blocking MPI_Reduce on a
// communicator, then MPI_Bcast to the further receiver, or a message to one that is outside; one
// reduction after the other. Ranks are a multiple of four. Arguments and output are those of
// Parallel.c.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { REPS = 7, TAG_RESULT = 7 };

typedef struct setup {
    int rank, quarter; // of the ranks
    int count;
    int sums_here, product_here, contributes; // contributes: to the product
    MPI_Comm receivers, factors;              // of the sum; contributors to the product
    double *out[2], *in[2];
} setup;

static void require(int condition, const char *sentence)
{
    if (!condition) {
        fprintf(stderr, "fig12_mpi: %s\n", sentence);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static double factor(int i, int k)
{
    return (i + k) % 2 == 0 ? 2 : 1;
}

static void run_round(const setup *u)
{
    int first = u->quarter, receiver = 3 * u->quarter;

    MPI_Reduce(u->out[0], u->in[0], u->count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (u->sums_here)
        MPI_Bcast(u->in[0], u->count, MPI_DOUBLE, 0, u->receivers);
    if (u->contributes)
        MPI_Reduce(u->out[1], u->in[1], u->count, MPI_DOUBLE, MPI_PROD, 0, u->factors);
    if (u->rank == first)
        MPI_Send(u->in[1], u->count, MPI_DOUBLE, receiver, TAG_RESULT, MPI_COMM_WORLD);
    if (u->product_here)
        MPI_Recv(u->in[1], u->count, MPI_DOUBLE, first, TAG_RESULT, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void check(const setup *u)
{
    int q = u->quarter;

    for (int k = 0; k < u->count; k++) {
        double sum = (double)(k % 1021) * 4 * q + 4 * q * (4 * q - 1) / 2.0, product = 1;
        for (int from = q; from < 3 * q; from++)
            product *= factor(from, k);
        require(!u->sums_here || u->in[0][k] == sum, "a wrong sum");
        require(!u->product_here || u->in[1][k] == product, "a wrong product");
    }
}

// From the first rank's start to the last one's end.
static double repetition(const setup *u, long rounds)
{
    double times[2], all[2];

    MPI_Barrier(MPI_COMM_WORLD);
    times[0] = -MPI_Wtime();
    for (long round = 0; round < rounds; round++)
        run_round(u);
    times[1] = MPI_Wtime();
    check(u);
    MPI_Allreduce(times, all, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all[0] + all[1];
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(setup *u, unsigned long bytes, long rounds)
{
    double times[REPS];

    u->count = (int)(bytes / sizeof(double));
    for (int j = 0; j < 2; j++) {
        u->out[j] = malloc(bytes);
        u->in[j] = malloc(bytes);
        require(u->out[j] && u->in[j], "out of memory");
    }
    for (int k = 0; k < u->count; k++) {
        u->out[0][k] = u->rank + k % 1021;
        u->out[1][k] = factor(u->rank, k);
    }
    repetition(u, (rounds + 9) / 10);
    for (int rep = 0; rep < REPS; rep++)
        times[rep] = repetition(u, rounds);
    qsort(times, REPS, sizeof times[0], ascending);
    if (u->rank == 0)
        printf("round_%lu %.3f us\n", bytes, times[REPS / 2] / (double)rounds * 1e6);
    for (int j = 0; j < 2; j++) {
        free(u->out[j]);
        free(u->in[j]);
    }
}

int main(int argc, char **argv)
{
    setup u;
    int ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &u.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    require(ranks % 4 == 0, "needs a multiple of four ranks");
    u.quarter = ranks / 4;
    u.sums_here = u.rank == 0 || u.rank == 2 * u.quarter;
    u.product_here = u.rank == 3 * u.quarter;
    u.contributes = u.rank >= u.quarter && u.rank < 3 * u.quarter;
    MPI_Comm_split(MPI_COMM_WORLD, u.sums_here ? 0 : MPI_UNDEFINED, u.rank, &u.receivers);
    MPI_Comm_split(MPI_COMM_WORLD, u.contributes ? 0 : MPI_UNDEFINED, u.rank, &u.factors);
    for (int a = 1; a < argc; a++) {
        unsigned long bytes, rounds;
        require(sscanf(argv[a], "%lu:%lu", &bytes, &rounds) == 2 && bytes % 8 == 0 && rounds > 0,
                "arguments are BYTES:ROUNDS");
        measure(&u, bytes, (long)rounds);
    }
    if (u.receivers != MPI_COMM_NULL)
        MPI_Comm_free(&u.receivers);
    if (u.factors != MPI_COMM_NULL)
        MPI_Comm_free(&u.factors);
    MPI_Finalize();
    return 0;
}
