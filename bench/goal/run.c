// SPDX-License-Identifier: BSD-3-Clause
//
// What a compiled schedule costs beside the calls that it stands for. Two ranks play ping-pong,
// once with MPI_Isend, MPI_Irecv and MPI_Wait, once with GOAL_Sched_run of a schedule of one send
// and of one of one receive, in turns. Half a round trip holds one send and one receive, so what
// GOAL takes more in it bounds what either takes more.
//
// Calls of malloc and the like are counted while schedules run, in all ways: blocking, nonblocking,
// persistent. The messages have 64 bytes: larger ones that come before their receive is posted are
// held in memory of their own, as any message of MPI, and would be counted too.
#include "../p2p/bench.h"

#include <millet/goal.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

// ---- who takes memory: the program's own functions come before libc's, for all libraries

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static atomic_long taken; // of the process: nobody but the counted code runs meanwhile

void *malloc(size_t size)
{
    atomic_fetch_add(&taken, 1);
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    atomic_fetch_add(&taken, 1);
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    atomic_fetch_add(&taken, 1);
    return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    atomic_fetch_add(&taken, 1);
    return __libc_memalign(alignment, size);
}

// ---- ping-pong

enum { TAG = 1, REPS = 21 };

typedef struct side {
    int rank;
    unsigned char *out, *in;
    int bytes;
    GOAL_Sched send, recv;
} side;

static GOAL_Sched one_action(const side *s, bool sends)
{
    GOAL_Goal g = GOAL_Create();
    if (sends)
        GOAL_Send(g, s->out, (size_t)s->bytes, 1 - s->rank);
    else
        GOAL_Recv(g, s->in, (size_t)s->bytes, 1 - s->rank);
    GOAL_Sched sched = GOAL_Compile(g);
    GOAL_Free(&g);
    return sched;
}

static void send_plain(const side *s)
{
    MPI_Request r;
    MPI_Isend(s->out, s->bytes, MPI_BYTE, 1 - s->rank, TAG, MPI_COMM_WORLD, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void recv_plain(const side *s)
{
    MPI_Request r;
    MPI_Irecv(s->in, s->bytes, MPI_BYTE, 1 - s->rank, TAG, MPI_COMM_WORLD, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void send_goal(const side *s)
{
    GOAL_Sched_run(s->send);
}

static void recv_goal(const side *s)
{
    GOAL_Sched_run(s->recv);
}

static double trips(const side *s, long count, void (*send)(const side *),
                    void (*recv)(const side *))
{
    double start = bench_now();
    for (long i = 0; i < count; i++) {
        if (s->rank == 0)
            send(s);
        recv(s);
        if (s->rank == 1)
            send(s);
    }
    return (bench_now() - start) / (double)count / 2 * 1e9;
}

static void measure(side *s, long count)
{
    double plain[REPS], goal[REPS], more[REPS];
    s->send = one_action(s, true);
    s->recv = one_action(s, false);
    trips(s, count / 4, send_plain, recv_plain);
    trips(s, count / 4, send_goal, recv_goal);
    for (int i = 0; i < REPS; i++) {
        plain[i] = trips(s, count, send_plain, recv_plain);
        goal[i] = trips(s, count, send_goal, recv_goal);
        more[i] = goal[i] - plain[i];
    }
    if (s->rank == 0) {
        bench_print_size("plain", (size_t)s->bytes, bench_median(plain, REPS), "ns");
        bench_print_size("goal", (size_t)s->bytes, bench_median(goal, REPS), "ns");
        bench_print_size("more", (size_t)s->bytes, bench_median(more, REPS), "ns");
    }
    GOAL_Sched_free(&s->send);
    GOAL_Sched_free(&s->recv);
}

// ---- memory

static void start_and_wait(GOAL_Sched sched)
{
    MPI_Request r;
    GOAL_Sched_start(sched, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

// A schedule of many kinds of actions: there and back, with a reduction between.
static GOAL_Sched rich(const side *s, double *a, double *b)
{
    enum { PIECES = 8, PIECE = 8 };
    GOAL_Goal g = GOAL_Create();
    for (int i = 0; i < PIECES; i++) {
        double *own = a + i * PIECE, *other = b + i * PIECE;
        size_t bytes = PIECE * sizeof *own;
        GOAL_id send = GOAL_Send(g, own, bytes, 1 - s->rank);
        GOAL_id recv = GOAL_Recv(g, other, bytes, 1 - s->rank);
        GOAL_id sum = GOAL_Exec(g, GOAL_sumFloat64, own, bytes, other, bytes);
        GOAL_Requ(g, sum, send);
        GOAL_Requ(g, sum, recv);
    }
    GOAL_Sched sched = GOAL_Compile(g);
    GOAL_Free(&g);
    return sched;
}

// Messages that come before their receive lie in pools, which grow to what was ever needed.
static void fill_pools(const side *s)
{
    enum { FLOOD = 512 };
    unsigned char bytes[64] = {0};
    for (int i = 0; i < FLOOD; i++)
        MPI_Send(bytes, sizeof bytes, MPI_BYTE, 1 - s->rank, TAG, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < FLOOD; i++)
        MPI_Recv(bytes, sizeof bytes, MPI_BYTE, 1 - s->rank, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void count_memory(side *s)
{
    double *a = calloc(1024, sizeof *a), *b = calloc(1024, sizeof *b);
    GOAL_Sched sched = rich(s, a, b);
    MPI_Request kept;
    GOAL_Sched_init(sched, &kept);
    fill_pools(s);
    for (int i = 0; i < 1000; i++)
        start_and_wait(sched);
    MPI_Barrier(MPI_COMM_WORLD);
    long before = atomic_load(&taken);
    for (int i = 0; i < 10000; i++) {
        GOAL_Sched_run(sched);
        start_and_wait(sched);
        MPI_Start(&kept);
        MPI_Wait(&kept, MPI_STATUS_IGNORE);
    }
    long after = atomic_load(&taken);
    MPI_Barrier(MPI_COMM_WORLD);
    if (s->rank == 0)
        printf("taken %ld times\n", after - before);
    MPI_Request_free(&kept);
    GOAL_Sched_free(&sched);
    free(a);
    free(b);
}

int main(int argc, char **argv)
{
    double count = 20000;
    const struct bench_option options[] = {
        {"--trips", &count, "round trips a repetition"},
        {NULL, NULL, NULL},
    };
    struct bench_sizes sizes = {2, {8, 1024}};
    bench_options_read(argc, argv, options, &sizes);
    int ranks;
    side s = {.rank = 0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    bench_require(ranks == 2, "run: needs exactly two ranks");
    for (int i = 0; i < sizes.count; i++) {
        s.bytes = (int)sizes.bytes[i];
        s.out = bench_buffer_new(sizes.bytes[i]);
        s.in = bench_buffer_new(sizes.bytes[i]);
        measure(&s, (long)count);
        free(s.out);
        free(s.in);
    }
    count_memory(&s);
    MPI_Finalize();
    return 0;
}
