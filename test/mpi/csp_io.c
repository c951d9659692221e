// SPDX-License-Identifier: BSD-3-Clause
// Messages of MPI, time and descriptors at once: ranks pass a token by MPI while their processes
// pass others through pipes and sleep now and then. Whoever sleeps is woken by either.
//
//     csp_io TURNS
#define _GNU_SOURCE
#include <fcntl.h>
#include <millet/csp.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

typedef struct ring {
    int turns, rank, ranks;
} ring;

typedef struct pair {
    const ring *of;
    int in, out;
    int first; // reads first
} pair;

// Two processes of a rank, and two pipes between them.
static int play(void *arg)
{
    const pair *my = arg;
    for (int t = 0; t < my->of->turns; t++) {
        int token = t;
        for (int half = 0; half < 2; half++) {
            if (half == my->first) {
                CHECK(csp_fd_read(my->in, &token, sizeof token) == sizeof token && token == t);
            } else {
                if (t % 16 == 0)
                    csp_sleep(csp_after(0.0001 * (my->of->rank + 1)));
                CHECK(csp_fd_write(my->out, &token, sizeof token) == sizeof token);
            }
        }
    }
    return 0;
}

// The ranks' ring, by MPI; the rank after this one gets one more.
static int pass(void *arg)
{
    const ring *my = arg;
    int rank = my->rank, ranks = my->ranks;
    int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    for (int t = 0; t < my->turns; t++) {
        int token = t * ranks;
        if (rank > 0)
            MPI_Recv(&token, 1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(token == t * ranks + rank);
        token++;
        if (t % 32 == rank)
            csp_sleep(csp_after(0.0002));
        if (rank == 0) {
            MPI_Request request;
            MPI_Isend(&token, 1, MPI_INT, right, 0, MPI_COMM_WORLD, &request);
            MPI_Recv(&token, 1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            CHECK(token == (t + 1) * ranks);
        } else {
            MPI_Send(&token, 1, MPI_INT, right, 0, MPI_COMM_WORLD);
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    ring my = {.turns = atoi(argv[1])};
    MPI_Comm_rank(MPI_COMM_WORLD, &my.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &my.ranks);
    int a[2], b[2];
    CHECK(pipe2(a, O_CLOEXEC) == 0 && pipe2(b, O_CLOEXEC) == 0);
    pair one = {&my, a[0], b[1], 0}, two = {&my, b[0], a[1], 1};
    CHECK(CSP_PAR({.run = play, .arg = &one}, {.run = play, .arg = &two},
                  {.run = pass, .arg = &my}) == 0);
    CHECK_OK(MPI_Finalize());
    return 0;
}
