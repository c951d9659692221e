// SPDX-License-Identifier: BSD-3-Clause
// The ranks of `millet tune`: times one collective at several sizes. Which algorithm runs is forced
// from outside (mpirun --force). Rank 0 prints a line for each size: bytes of a block, and
// nanoseconds: of every rank the median over all calls, of those the greatest.
//
// A call is timed by itself, after a barrier that is not, so that calls do not overlap. How many
// there are is rank 0's decision, told to the others. `colltune where 0 0` tells instead which host
// each rank is on. Ranks may be threads of one process: there
// are no globals.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ranks/ranks.h"

enum { WARM = 3, LEAST = 5, MAIN_COLLTUNE_MOST = 2000, COUNT = 1, TIME = 2 }; // COUNT, TIME: tags

typedef struct main_colltune_run {
    int rank, ranks;
    const char *name;
    char *in, *out; // ranks * bytes each
} main_colltune_run;

static void call(const main_colltune_run *r, int bytes)
{
    MPI_Comm world = MPI_COMM_WORLD;
    int count = bytes / 8;
    if (strcmp(r->name, "barrier") == 0)
        MPI_Barrier(world);
    else if (strcmp(r->name, "bcast") == 0)
        MPI_Bcast(r->out, bytes, MPI_BYTE, 0, world);
    else if (strcmp(r->name, "reduce") == 0)
        MPI_Reduce(r->in, r->out, count, MPI_DOUBLE, MPI_SUM, 0, world);
    else if (strcmp(r->name, "allreduce") == 0)
        MPI_Allreduce(r->in, r->out, count, MPI_DOUBLE, MPI_SUM, world);
    else if (strcmp(r->name, "gather") == 0)
        MPI_Gather(r->in, bytes, MPI_BYTE, r->out, bytes, MPI_BYTE, 0, world);
    else if (strcmp(r->name, "allgather") == 0)
        MPI_Allgather(r->in, bytes, MPI_BYTE, r->out, bytes, MPI_BYTE, world);
    else if (strcmp(r->name, "scatter") == 0)
        MPI_Scatter(r->in, bytes, MPI_BYTE, r->out, bytes, MPI_BYTE, 0, world);
    else if (strcmp(r->name, "alltoall") == 0)
        MPI_Alltoall(r->in, bytes, MPI_BYTE, r->out, bytes, MPI_BYTE, world);
    else if (strcmp(r->name, "reduce_scatter") == 0)
        MPI_Reduce_scatter_block(r->in, r->out, count, MPI_DOUBLE, MPI_SUM, world);
    else if (strcmp(r->name, "scan") == 0)
        MPI_Scan(r->in, r->out, count, MPI_DOUBLE, MPI_SUM, world);
    else if (strcmp(r->name, "exscan") == 0)
        MPI_Exscan(r->in, r->out, count, MPI_DOUBLE, MPI_SUM, world);
    else
        ranks_fail("colltune", "there is no such collective");
}

static double timed(const main_colltune_run *r, int bytes)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    call(r, bytes);
    return (MPI_Wtime() - began) * 1e9;
}

// What rank 0 decides, on all ranks.
static int agree(const main_colltune_run *r, int value)
{
    if (r->rank > 0)
        MPI_Recv(&value, 1, MPI_INT, 0, COUNT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        for (int to = 1; to < r->ranks; to++)
            MPI_Send(&value, 1, MPI_INT, to, COUNT, MPI_COMM_WORLD);
    return value;
}

static double main_colltune_slowest(const main_colltune_run *r, double own)
{
    if (r->rank > 0)
        MPI_Send(&own, 1, MPI_DOUBLE, 0, TIME, MPI_COMM_WORLD);
    else
        for (int from = 1; from < r->ranks; from++) {
            double other;
            MPI_Recv(&other, 1, MPI_DOUBLE, from, TIME, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            own = other > own ? other : own;
        }
    return own;
}

// Rank 0 prints a line for each rank: its number, and the host that it is on.
static void tell_places(const main_colltune_run *r)
{
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int length;
    MPI_Get_processor_name(name, &length);
    if (r->rank > 0)
        MPI_Send(name, sizeof name, MPI_CHAR, 0, COUNT, MPI_COMM_WORLD);
    for (int from = 0; r->rank == 0 && from < r->ranks; from++) {
        if (from > 0)
            MPI_Recv(name, sizeof name, MPI_CHAR, from, COUNT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("%d %s\n", from, name);
    }
}

static void main_colltune_measure(main_colltune_run *r, int bytes, double budget_ns)
{
    double times[MAIN_COLLTUNE_MOST], warm = 0;
    size_t room = (size_t)bytes * (size_t)r->ranks + 8;
    r->in = calloc(room, 1);
    r->out = calloc(room, 1);
    if (!r->in || !r->out)
        ranks_fail("colltune", "memory is exhausted: no room for buffers");
    for (int i = 0; i < WARM; i++)
        warm = timed(r, bytes);
    double calls =
        warm > 0 ? budget_ns / (2 * warm) : MAIN_COLLTUNE_MOST; // the barrier takes time, too
    int count = agree(r, calls < LEAST                ? LEAST
                         : calls > MAIN_COLLTUNE_MOST ? MAIN_COLLTUNE_MOST
                                                      : (int)calls);
    for (int i = 0; i < count; i++)
        times[i] = timed(r, bytes);
    qsort(times, (size_t)count, sizeof *times, ranks_compare);
    double worst = main_colltune_slowest(r, times[count / 2]);
    if (r->rank == 0) {
        printf("%d %.1f\n", bytes, worst);
        fflush(stdout);
    }
    free(r->in);
    free(r->out);
}

int main(int argc, char **argv)
{
    main_colltune_run r = {.name = argc > 1 ? argv[1] : ""};
    MPI_Init(&argc, &argv);
    if (argc != 4)
        ranks_fail("colltune",
                   "it is for millet tune: colltune COLLECTIVE BYTES,BYTES,... MILLISECONDS");
    MPI_Comm_rank(MPI_COMM_WORLD, &r.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &r.ranks);
    if (strcmp(r.name, "where") == 0) {
        tell_places(&r);
        MPI_Finalize();
        return 0;
    }
    double budget_ns = strtod(argv[3], NULL) * 1e6;
    for (char *at = argv[2]; *at;) {
        char *end;
        long bytes = strtol(at, &end, 10);
        if (end == at || bytes < 0 || bytes > 1 << 30)
            ranks_fail("colltune", "a size should be 0 to 1 GiB");
        main_colltune_measure(&r, (int)bytes, budget_ns);
        at = *end == ',' ? end + 1 : end;
        if (*end && *end != ',')
            ranks_fail("colltune", "sizes should be separated by commas");
    }
    MPI_Finalize();
    return 0;
}
