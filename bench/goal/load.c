// SPDX-License-Identifier: BSD-3-Clause
//
// A broadcast from a file, text or binary, that every rank loads for itself: how long loading and
// running take, until the last rank is there, and what the processes hold then. The buffer is `buf`.
//
//     millet goal asm --alg bcast.binomial --ranks 65536 --count 256 --format compressed -o b.goalc
//     mpirun -n 2 -nfg 32768 ./load b.goalc
#include <millet/goal.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "../p2p/bench.h"

int main(int argc, char **argv)
{
    enum { RUNS = 5 };
    double start, loaded, run;
    int rank;
    void *buf;
    size_t bytes;
    GOAL_Sched s;
    MPI_Init(&argc, &argv);
    bench_require(argc == 2, "load: needs the name of a file");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    start = bench_now();
    GOAL_Sched_load(argv[1], MPI_COMM_WORLD, &s);
    MPI_Barrier(MPI_COMM_WORLD);
    loaded = bench_now();
    GOAL_Sched_buffer(s, "buf", &buf, &bytes);
    if (rank == 0)
        bench_pattern_fill(buf, bytes, 7);
    GOAL_Sched_run(s);
    bench_require(bench_pattern_holds(buf, bytes, 7), "load: the received data is wrong");
    MPI_Barrier(MPI_COMM_WORLD);
    run = bench_now();
    for (int i = 0; i < RUNS; i++) {
        GOAL_Sched_run(s);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0) {
        struct rusage used;
        getrusage(RUSAGE_SELF, &used);
        printf("load %.3f s\n", loaded - start);
        printf("run %.3f s\n", (bench_now() - run) / RUNS);
        printf("rss %ld MiB\n", used.ru_maxrss / 1024);
    }
    GOAL_Sched_free(&s);
    MPI_Finalize();
    return 0;
}
