// SPDX-License-Identifier: BSD-3-Clause
// Runs every collective operation of this folder and checks what each member gets.
//
//     mpicc collectives/*.c -o collectives
//     ./collectives          8 processes with channels; ./collectives 13: 13
//     mpirun -n 4 ./collectives    4 nodes with ports
#include "collectives.h"

#include <stdbool.h>
#include <stdio.h>

static long sum(long lower, long higher)
{
    return lower + higher;
}

// The higher part of the ranks that are met in order; -1: somebody was met out of order. A value is
// first * 1000 + last of a run of neighbours.
static long join(long lower, long higher)
{
    return lower >= 0 && higher >= 0 && lower % 1000 + 1 == higher / 1000
               ? lower / 1000 * 1000 + higher % 1000
               : -1;
}

static bool told(const comm *c, const char *what, bool right)
{
    if (c->rank == 0 || !right)
        printf("rank %d: %-20s %s\n", c->rank, what, right ? "right" : "WRONG");
    return right;
}

static bool try_broadcast(comm *c, const char *what, void broadcast(comm *, void *, size_t))
{
    char text[32] = "nothing";
    if (c->rank == 0)
        snprintf(text, sizeof(text), "from rank 0 of %d", c->groupsize);
    char expected[32];
    snprintf(expected, sizeof(expected), "from rank 0 of %d", c->groupsize);
    broadcast(c, text, sizeof(text));
    bool right = true;
    for (size_t i = 0; expected[i]; i++)
        right &= text[i] == expected[i];
    return told(c, what, right);
}

static bool try_reduce(comm *c, const char *what, long reduce(comm *, long, function *),
                       bool in_order)
{
    long n = c->groupsize, me = c->rank;
    long total = reduce(c, me + 1, sum);
    bool right = me != 0 || total == n * (n + 1) / 2;
    if (in_order) {
        long run = reduce(c, me * 1000 + me, join);
        right &= me != 0 || run == n - 1;
    }
    return told(c, what, right);
}

// Processes of one node share memory, so that each sees how many have entered.
static bool try_barrier(comm *c, const char *what, void barrier(comm *))
{
    int before = c->count ? (*c->count)++ / c->groupsize : 0;
    barrier(c);
    bool right = !c->count || *c->count >= (before + 1) * c->groupsize;
    barrier(c);
    return told(c, what, right);
}

static bool try_gather(comm *c, const char *what, void gather(comm *, long, long *), bool all_get)
{
    long all[COMM_MOST] = {0};
    gather(c, 100 + c->rank, all);
    bool right = true;
    for (int i = 0; i < c->groupsize && (all_get || c->rank == 0); i++)
        right &= all[i] == 100 + i;
    return told(c, what, right);
}

static bool try_scatter(comm *c, const char *what, long scatter(comm *, const long *))
{
    long data[COMM_MOST];
    for (int i = 0; i < c->groupsize; i++)
        data[i] = c->rank == 0 ? 100 + i : -1;
    return told(c, what, scatter(c, data) == 100 + c->rank);
}

static bool try_alltoall(comm *c)
{
    long data[COMM_MOST], all[COMM_MOST];
    for (int i = 0; i < c->groupsize; i++)
        data[i] = c->rank * 100 + i;
    alltoall(c, data, all);
    bool right = true;
    for (int i = 0; i < c->groupsize; i++)
        right &= all[i] == i * 100 + c->rank;
    return told(c, "alltoall", right);
}

static int member(comm *c)
{
    bool right = try_broadcast(c, "broadcast_linear", broadcast_linear);
    right &= try_broadcast(c, "broadcast_binomial", broadcast_binomial);
    right &= try_reduce(c, "reduce_linear", reduce_linear, true);
    right &= try_reduce(c, "reduce_binom1", reduce_binom1, true);
    right &= try_reduce(c, "reduce_binom2", reduce_binom2, true);
    right &= try_reduce(c, "reduce_binom3", reduce_binom3, true);
    right &= try_reduce(c, "reduce_as_they_come", reduce_as_they_come, false);
    right &= try_barrier(c, "barrier_non_par", barrier_non_par);
    right &= try_barrier(c, "barrier_linear", barrier_linear);
    right &= try_barrier(c, "barrier_binom", barrier_binom);
    right &= try_gather(c, "gather_seq", gather_seq, false);
    right &= try_gather(c, "gather_par", gather_par, false);
    right &= try_gather(c, "allgather", allgather, true);
    right &= try_scatter(c, "scatter_seq", scatter_seq);
    right &= try_scatter(c, "scatter_par", scatter_par);
    right &= try_alltoall(c);
    long n = c->groupsize;
    right &= told(c, "allreduce", allreduce(c, c->rank + 1, sum) == n * (n + 1) / 2);
    return right ? 0 : 1;
}

int main(int argc, char **argv)
{
    return comm_run(argc, argv, member);
}
