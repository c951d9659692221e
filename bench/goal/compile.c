// SPDX-License-Identifier: BSD-3-Clause
//
// What GOAL_Compile costs an action: a pipelined broadcast (receive, send on, for each piece), and
// a dissemination with reductions, of many actions each. The time of building the goal is told
// beside.
#include "../p2p/bench.h"

#include <millet/goal.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { REPS = 11 };

static void pipeline(GOAL_Goal g, unsigned char *buf, long pieces, long piece)
{
    GOAL_id last = -1;
    for (long i = 0; i < pieces; i++) {
        GOAL_id recv = GOAL_Recv(g, buf + i * piece, (size_t)piece, 0);
        GOAL_id send = GOAL_Send(g, buf + i * piece, (size_t)piece, 0);
        GOAL_Requ(g, send, recv);
        if (last >= 0)
            GOAL_Requ(g, send, last);
        last = send;
    }
}

static void reductions(GOAL_Goal g, unsigned char *buf, long pieces, long piece)
{
    GOAL_id before = -1;
    for (long i = 0; i < pieces; i++) {
        unsigned char *own = buf, *in = buf + (1 + i % 16) * piece;
        GOAL_id send = GOAL_Send(g, own, (size_t)piece, 0);
        GOAL_id recv = GOAL_Recv(g, in, (size_t)piece, 0);
        GOAL_id sum = GOAL_Exec(g, GOAL_sumInt32, own, (size_t)piece, in, (size_t)piece);
        GOAL_Requ(g, sum, recv);
        GOAL_Requ(g, sum, send);
        if (before >= 0) {
            GOAL_Requ(g, send, before);
            GOAL_Requ(g, recv, before);
        }
        before = sum;
    }
}

static void measure(const char *what, void (*build)(GOAL_Goal, unsigned char *, long, long),
                    int actions_a_piece, long actions, unsigned char *buf)
{
    double compile[REPS], add[REPS];
    for (int i = 0; i < REPS; i++) {
        double t0 = bench_now();
        GOAL_Goal g = GOAL_Create();
        build(g, buf, actions / actions_a_piece, 64);
        double t1 = bench_now();
        GOAL_Sched s = GOAL_Compile(g);
        double t2 = bench_now();
        add[i] = (t1 - t0) / (double)actions * 1e9;
        compile[i] = (t2 - t1) / (double)actions * 1e9;
        GOAL_Free(&g);
        GOAL_Sched_free(&s);
    }
    printf("build_%s_%ld %.1f ns\n", what, actions, bench_median(add, REPS));
    printf("compile_%s_%ld %.1f ns\n", what, actions, bench_median(compile, REPS));
}

int main(int argc, char **argv)
{
    const struct bench_option options[] = {{NULL, NULL, NULL}};
    bench_options_read(argc, argv, options, NULL);
    MPI_Init(&argc, &argv);
    long most = 300000;
    unsigned char *buf = bench_buffer_new((size_t)most * 64);
    for (long n = 300; n <= most; n *= 1000) {
        measure("pipeline", pipeline, 2, n, buf);
        measure("reductions", reductions, 3, n, buf);
    }
    free(buf);
    MPI_Finalize();
    return 0;
}
