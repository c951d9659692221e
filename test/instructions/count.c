// SPDX-License-Identifier: BSD-3-Clause
// The operations whose instructions are counted:
//
//     count OPERATION
//
// Each runs for a while before the count begins. Then it is a part of its own (mark.h), time after time: a worker
// looks at other things at one switch in 64, so the median of all parts is the operation's own.
#include <millet/csp.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mark.h"

enum { WARM = 2000, PARTS = 33 };

typedef void operation(int rank);

// The ranks run it together; the marks are the first one's.
static void count(operation *run, int rank)
{
    for (int k = 0; k < WARM; k++)
        run(rank);
    for (int k = 0; k < PARTS; k++) {
        if (rank == 0)
            mark();
        run(rank);
        if (rank == 0)
            mark();
    }
}

static void round_trip(int rank)
{
    int64_t word = 1;
    if (rank == 0)
        MPI_Send(&word, 1, MPI_INT64_T, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(&word, 1, MPI_INT64_T, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1)
        MPI_Send(&word, 1, MPI_INT64_T, 0, 0, MPI_COMM_WORLD);
}

static void bcast(int rank)
{
    int64_t word = rank;
    MPI_Bcast(&word, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
}

static void allreduce(int rank)
{
    int64_t word = rank, sum;
    MPI_Allreduce(&word, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
}

static void barrier(int rank)
{
    (void)rank;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void yield(int rank)
{
    (void)rank;
    MPIX_Yield();
}

// What the first rank does while the other is not in MPI, and the other finds what it has sent.
static void apart(int rank, int marks)
{
    enum { LATER_US = 1000000 }; // the first has sent everything by then, step by step
    int64_t word = 1;
    for (int k = 0; k < WARM; k++)
        round_trip(rank);
    if (rank == 1)
        usleep(LATER_US);
    for (int k = 0; k < PARTS; k++) {
        if (rank == marks)
            mark();
        if (rank == 0)
            MPI_Send(&word, 1, MPI_INT64_T, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(&word, 1, MPI_INT64_T, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == marks)
            mark();
    }
}

// A process writes, another reads: each part has one of both, and the switches between.
static int reader(void *in)
{
    int64_t word;
    for (int k = 0; k < WARM + PARTS; k++)
        (void)!csp_read(in, &word);
    return 0;
}

static int writer(void *out)
{
    int64_t word = 1;
    for (int k = 0; k < WARM; k++)
        (void)!csp_write(out, &word);
    for (int k = 0; k < PARTS; k++) {
        mark();
        (void)!csp_write(out, &word);
        mark();
    }
    return 0;
}

static void channel(void)
{
    csp_chan *chan = csp_chan_new("words", sizeof(int64_t));
    CSP_PAR({reader, csp_chan_in(chan), "reader"}, {writer, csp_chan_out(chan), "writer"});
    csp_chan_free(chan);
}

// A rank that begins, passes a token on and ends, of many: from one rank's receive to the next one's.
static void life(int rank, int size)
{
    int64_t token = 0;
    if (rank > 0) {
        if (rank >= size / 2 && rank <= size / 2 + PARTS)
            mark();
        MPI_Recv(&token, 1, MPI_INT64_T, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank + 1 < size)
        MPI_Send(&token, 1, MPI_INT64_T, rank + 1, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        operation *run;
    } together[] = {{"round_trip", round_trip},
                    {"bcast", bcast},
                    {"allreduce", allreduce},
                    {"barrier", barrier},
                    {"yield", yield}};
    const char *name = argc == 2 ? argv[1] : "";
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (unsigned i = 0; i < sizeof together / sizeof *together; i++)
        if (strcmp(name, together[i].name) == 0)
            count(together[i].run, rank);
    if (strcmp(name, "send") == 0)
        apart(rank, 0);
    else if (strcmp(name, "receive") == 0)
        apart(rank, 1);
    else if (strcmp(name, "channel") == 0)
        channel();
    else if (strcmp(name, "life") == 0)
        life(rank, size);
    MPI_Finalize();
    return 0;
}
