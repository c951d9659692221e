// SPDX-License-Identifier: BSD-3-Clause
// What collective operations of processes of one node cost.
//
//     group [MS]       MS: how long a repetition takes, about
//
// Prints lines of `key value unit`: nanoseconds of an operation, and of each of its members, as
// medians over repetitions. With -DRANKS the members are MPI's ranks, for comparison: run it by
// `mpirun -n 1 -nfg MEMBERS`.
#ifdef RANKS
#include <mpi.h>
#endif
#include <millet/csp.h>
#include <stdio.h>
#include <stdlib.h>

enum { REPS = 5, WIDE = 512 };

typedef enum what { BARRIER, ALLREDUCE, WIDE_ALLREDUCE, WHATS } what;
static const char *const names[WHATS] = {"barrier", "allreduce", "allreduce_4k"};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void tell(what which, int members, double *values)
{
    qsort(values, REPS, sizeof *values, by_value);
    double ns = values[REPS / 2];
    printf("%s_%d %.6g ns\n%s_%d_member %.4g ns\n", names[which], members, ns, names[which],
           members, ns / members);
    fflush(stdout);
}

#ifndef RANKS

typedef struct member {
    csp_group *group;
    int me;
    what which;
    long rounds;
} member;

static int work(void *arg)
{
    const member *m = arg;
    long in[WIDE] = {1}, out[WIDE] = {0};
    size_t count = m->which == ALLREDUCE ? 1 : WIDE;
    for (long r = 0; r < m->rounds; r++)
        if (m->which == BARRIER)
            csp_group_barrier(m->group, m->me);
        else
            csp_group_allreduce(m->group, m->me, in, out, count, &csp_sum_long);
    return m->which != BARRIER && out[0] != csp_group_size(m->group);
}

// Nanoseconds of an operation.
static double run(int members, what which, long rounds)
{
    csp_group *group = csp_group_here("bench", members);
    member *m = calloc((size_t)members, sizeof *m);
    for (int i = 0; m && i < members; i++)
        m[i] = (member){group, i, which, rounds};
    csp_time start = csp_now();
    if (!m || csp_par_each(work, m, (size_t)members, sizeof *m, NULL, NULL)) {
        fprintf(stderr, "group: %s of %d members: wrong value\n", names[which], members);
        exit(1);
    }
    double ns = (double)(csp_now() - start) / (double)rounds;
    free(m);
    csp_group_free(group);
    return ns;
}

int main(int argc, char **argv)
{
    static const int sizes[] = {8, 64, 1024};
    double repetition_ns = (argc > 1 ? atof(argv[1]) : 100) * 1e6;
    for (int s = 0; s < 3; s++)
        for (what which = 0; which < WHATS; which++) {
            double values[REPS];
            long rounds = (long)(repetition_ns / run(sizes[s], which, 100)) + 1;
            for (int i = 0; i < REPS; i++)
                values[i] = run(sizes[s], which, rounds);
            tell(which, sizes[s], values);
        }
    return 0;
}

#else

// Seconds of an operation, on rank 0.
static double run(what which, long rounds)
{
    long in[WIDE] = {1}, out[WIDE] = {0};
    int count = which == ALLREDUCE ? 1 : WIDE;
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (long r = 0; r < rounds; r++)
        if (which == BARRIER)
            MPI_Barrier(MPI_COMM_WORLD);
        else
            MPI_Allreduce(in, out, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    return (MPI_Wtime() - start) / (double)rounds;
}

int main(int argc, char **argv)
{
    int me, members;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &members);
    double repetition = (argc > 1 ? atof(argv[1]) : 100) / 1e3;
    for (what which = 0; which < WHATS; which++) {
        double values[REPS];
        long rounds = (long)(repetition / run(which, 100)) + 1;
        MPI_Bcast(&rounds, 1, MPI_LONG, 0, MPI_COMM_WORLD);
        for (int i = 0; i < REPS; i++)
            values[i] = run(which, rounds) * 1e9;
        if (me == 0)
            tell(which, members, values);
    }
    MPI_Finalize();
    return 0;
}

#endif
