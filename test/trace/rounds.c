// SPDX-License-Identifier: BSD-3-Clause
// One collective, of doubles, by all ranks: rounds NAME COUNT [stop]. stop: the trace ends before MPI_Finalize
// sends anything; where ranks share a worker, it would end for all of them.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct self { // no globals: with sanitizers, ranks that share a process share them
    int rank, ranks, count;
    double *in, *out;
} self;

static void by_hand(const self *me)
{
    int bit = 1;
    while (bit < me->ranks && !(me->rank & bit))
        bit <<= 1;
    if (me->rank > 0)
        MPI_Recv(me->in, me->count, MPI_DOUBLE, me->rank - bit, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (bit >>= 1; bit > 0; bit >>= 1)
        if (me->rank + bit < me->ranks)
            MPI_Send(me->in, me->count, MPI_DOUBLE, me->rank + bit, 0, MPI_COMM_WORLD);
}

// The collective is under way while a message goes around, and a blocking call receives that.
static void overlapped(const self *me)
{
    MPI_Request r[2];
    MPI_Ibcast(me->in, me->count, MPI_DOUBLE, 0, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(me->out, me->count, MPI_DOUBLE, (me->rank + 1) % me->ranks, 0, MPI_COMM_WORLD, &r[1]);
    MPI_Recv(me->out, me->count, MPI_DOUBLE, (me->rank + me->ranks - 1) % me->ranks, 0,
             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

static void persistent(const self *me)
{
    MPI_Request r;
    MPI_Allreduce_init(me->in, me->out, me->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
                       MPI_INFO_NULL, &r);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&r);
}

static void split(const self *me)
{
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, 0, me->rank, &half);
    MPI_Comm_free(&half);
}

static void run(const self *me, const char *name)
{
    if (strcmp(name, "hand") == 0)
        by_hand(me);
    else if (strcmp(name, "overlapped") == 0)
        overlapped(me);
    else if (strcmp(name, "persistent") == 0)
        persistent(me);
    else if (strcmp(name, "split") == 0)
        split(me);
    else if (strcmp(name, "bcast") == 0)
        MPI_Bcast(me->in, me->count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    else if (strcmp(name, "reduce") == 0)
        MPI_Reduce(me->in, me->out, me->count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    else if (strcmp(name, "allreduce") == 0)
        MPI_Allreduce(me->in, me->out, me->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else if (strcmp(name, "allgather") == 0)
        MPI_Allgather(me->in, me->count, MPI_DOUBLE, me->out, me->count, MPI_DOUBLE,
                      MPI_COMM_WORLD);
    else if (strcmp(name, "scan") == 0)
        MPI_Scan(me->in, me->out, me->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else if (strcmp(name, "barrier") == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    else
        MPI_Abort(MPI_COMM_WORLD, 2);
}

int main(int argc, char **argv)
{
    self me;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &me.ranks);
    if (argc < 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    me.count = atoi(argv[2]);
    me.in = calloc((size_t)me.count + 1, sizeof *me.in);
    me.out = calloc(((size_t)me.count + 1) * (size_t)me.ranks, sizeof *me.out);
    run(&me, argv[1]);
    if (argc > 3)
        MPI_Pcontrol(0);
    MPI_Finalize();
    free(me.in);
    free(me.out);
    return 0;
}
