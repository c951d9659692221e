// SPDX-License-Identifier: BSD-3-Clause
// The ranks of `millet goal measure`: an MPI program that prints LogGOPS's parameters, as this
// machine has them between two ranks, in lines of name and value that `millet goal sim --params`
// reads. With more ranks, an even number, it prints two other lines: `hop` and what a message takes from
// each to the next, where only one of them has something to do; `busy` and the same where half of them
// have. Lines that begin with '@' tell how far it is.
//
//     o     mean of two: a nonblocking send and its wait; a receive whose message has come
//     L     half a round trip of 1 byte, without 2 o
//     g     a message in an endless stream of small ones
//     G     how half a round trip grows with the size, for large messages
//     O     how a nonblocking send and its wait grow with the size, for eager messages
//     S     the largest message whose send ends though nobody receives it
//     exec  how a sum of doubles grows with the size (one action of a schedule)
//
// Each time is the median of many short batches, so that whatever else the machine does matters
// little. Ranks may be threads of one process: there are no globals.
#include <millet/goal.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "tools/ranks/ranks.h"

enum {
    BATCH = 16,                         // small messages that fit between two ranks
    WINDOW = 64,                        // of the stream
    STREAM = 64 * WINDOW,               // its messages
    MOST_EAGER = 16 << 20,              // S is not looked for beyond that
    LARGEST = 4 << 20,                  // of the messages for G
    MAIN_GOALMEASURE_MOST_TIMES = 4096, // of a median
};
enum { DATA = 1, GO = 2, ACK = 3 }; // tags

typedef struct main_goalmeasure_run {
    int rank, peer;
    bool quick;
    char *buffer; // MOST_EAGER bytes
} main_goalmeasure_run;

static double now_ns(void)
{
    return MPI_Wtime() * 1e9;
}

static int repeats(const main_goalmeasure_run *r, int many)
{
    return r->quick ? many / 8 + 1 : many;
}

static double median(double *times, int count)
{
    qsort(times, (size_t)count, sizeof *times, ranks_compare);
    return count % 2 ? times[count / 2] : (times[count / 2 - 1] + times[count / 2]) / 2;
}

static void main_goalmeasure_tell(const main_goalmeasure_run *r, double done)
{
    if (r->rank == 0) {
        printf("@ %.2f\n", done);
        fflush(stdout);
    }
}

// An empty message, to start or end a batch.
static void signal_peer(const main_goalmeasure_run *r, int tag)
{
    MPI_Send(NULL, 0, MPI_BYTE, r->peer, tag, MPI_COMM_WORLD);
}

static void await_peer(const main_goalmeasure_run *r, int tag)
{
    MPI_Recv(NULL, 0, MPI_BYTE, r->peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// ---- the measurements; both ranks call each, rank 0 has the result

static double half_round_trip(const main_goalmeasure_run *r, int size, int trips)
{
    enum { TRIPS = 10 }; // of a batch
    double times[MAIN_GOALMEASURE_MOST_TIMES];
    int batch = size > 65536 ? 1 : TRIPS;
    for (int i = -3; i < trips; i++) { // three to warm up
        double began = now_ns();
        for (int k = 0; k < batch; k++) {
            if (r->rank == 0)
                MPI_Send(r->buffer, size, MPI_BYTE, 1, DATA, MPI_COMM_WORLD);
            MPI_Recv(r->buffer, size, MPI_BYTE, r->peer, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (r->rank == 1)
                MPI_Send(r->buffer, size, MPI_BYTE, 0, DATA, MPI_COMM_WORLD);
        }
        if (i >= 0)
            times[i] = (now_ns() - began) / batch / 2;
    }
    return median(times, trips);
}

// A nonblocking send and its wait, while the peer is there to receive.
static double send_call(const main_goalmeasure_run *r, int size, int batch, int rounds)
{
    double times[MAIN_GOALMEASURE_MOST_TIMES];
    for (int i = 0; i < rounds; i++) {
        if (r->rank == 1) {
            signal_peer(r, GO);
            for (int k = 0; k < batch; k++)
                MPI_Recv(r->buffer, size, MPI_BYTE, 0, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            continue;
        }
        await_peer(r, GO);
        double began = now_ns();
        for (int k = 0; k < batch; k++) {
            MPI_Request request;
            MPI_Isend(r->buffer, size, MPI_BYTE, 1, DATA, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        times[i] = (now_ns() - began) / batch;
    }
    return median(times, rounds);
}

// A receive whose message has come: rank 0 waits, outside MPI, until all are there.
static double recv_call(const main_goalmeasure_run *r, int rounds)
{
    double times[MAIN_GOALMEASURE_MOST_TIMES];
    for (int i = 0; i < rounds; i++) {
        if (r->rank == 1) {
            await_peer(r, GO);
            for (int k = 0; k < BATCH; k++)
                MPI_Send(r->buffer, 1, MPI_BYTE, 0, DATA, MPI_COMM_WORLD);
            continue;
        }
        signal_peer(r, GO);
        for (double until = now_ns() + 20000; now_ns() < until;)
            ;
        double began = now_ns();
        for (int k = 0; k < BATCH; k++)
            MPI_Recv(r->buffer, 1, MPI_BYTE, 1, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        times[i] = (now_ns() - began) / BATCH;
    }
    return median(times, rounds);
}

static double stream(const main_goalmeasure_run *r, int rounds)
{
    MPI_Request requests[WINDOW];
    double times[MAIN_GOALMEASURE_MOST_TIMES];
    for (int i = 0; i < rounds; i++) {
        double began = now_ns();
        for (int n = 0; n < STREAM; n += WINDOW) {
            for (int k = 0; k < WINDOW; k++)
                if (r->rank == 0)
                    MPI_Isend(r->buffer, 1, MPI_BYTE, 1, DATA, MPI_COMM_WORLD, &requests[k]);
                else
                    MPI_Irecv(r->buffer + k, 1, MPI_BYTE, 0, DATA, MPI_COMM_WORLD, &requests[k]);
            MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        }
        if (r->rank == 0)
            await_peer(r, ACK);
        else
            signal_peer(r, ACK);
        times[i] = (now_ns() - began) / STREAM;
    }
    return median(times, rounds);
}

// Does a send of this size end though nobody receives it? One that has not ended after 2 ms will
// not.
static bool is_eager(const main_goalmeasure_run *r, int size)
{
    int done = 0;
    if (r->rank == 0) {
        MPI_Request request;
        MPI_Isend(r->buffer, size, MPI_BYTE, 1, DATA, MPI_COMM_WORLD, &request);
        double until = now_ns() + 2e6;
        do
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        while (!done && now_ns() < until);
        signal_peer(r, GO);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Send(&done, 1, MPI_INT, 1, ACK, MPI_COMM_WORLD);
    } else {
        await_peer(r, GO);
        MPI_Recv(r->buffer, size, MPI_BYTE, 0, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&done, 1, MPI_INT, 0, ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return done;
}

// 0 if there is no eager size at all.
static int eager_limit(const main_goalmeasure_run *r)
{
    int good = 0, bad = 1;
    while (bad <= MOST_EAGER && is_eager(r, bad)) {
        good = bad;
        bad *= 2;
    }
    if (bad > MOST_EAGER)
        return good;
    while (bad - good > 1) {
        int middle = good + (bad - good) / 2;
        if (is_eager(r, middle))
            good = middle;
        else
            bad = middle;
    }
    return good;
}

// The slope of the line through points (least squares), not below 0.
static double slope(const double *x, const double *y, int count)
{
    double mean_x = 0, mean_y = 0, above = 0, below = 0;
    for (int i = 0; i < count; i++) {
        mean_x += x[i] / count;
        mean_y += y[i] / count;
    }
    for (int i = 0; i < count; i++) {
        above += (x[i] - mean_x) * (y[i] - mean_y);
        below += (x[i] - mean_x) * (x[i] - mean_x);
    }
    return below > 0 && above > 0 ? above / below : 0;
}

static double gap_a_byte(const main_goalmeasure_run *r)
{
    enum { POINTS = 4 };
    double x[POINTS], y[POINTS];
    for (int i = 0; i < POINTS; i++) {
        x[i] = LARGEST >> (POINTS - 1 - i);
        y[i] = half_round_trip(r, (int)x[i], repeats(r, 60));
    }
    return slope(x, y, POINTS);
}

static double overhead_a_byte(const main_goalmeasure_run *r, int eager)
{
    enum { POINTS = 5 };
    double x[POINTS], y[POINTS];
    if (eager < POINTS)
        return 0;
    int most = eager < 1 << 16 ? eager : 1 << 16;
    for (int i = 0; i < POINTS; i++) {
        x[i] = 1 + (double)(most - 1) * i / (POINTS - 1);
        y[i] = send_call(r, (int)x[i], 2, repeats(r, 600));
    }
    return slope(x, y, POINTS);
}

// ---- exec, on rank 0 alone

static double time_of_sum(const main_goalmeasure_run *r, size_t bytes)
{
    double times[MAIN_GOALMEASURE_MOST_TIMES], *a = calloc(bytes, 1), *b = calloc(bytes, 1);
    GOAL_Goal goal = GOAL_Create();
    if (!a || !b || !goal)
        ranks_fail("goalmeasure", "memory is exhausted: no room for buffers");
    GOAL_Set_comm(goal, MPI_COMM_SELF);
    GOAL_Exec(goal, GOAL_sumFloat64, a, bytes, b, bytes);
    GOAL_Sched sched = GOAL_Compile(goal);
    GOAL_Free(&goal);
    int rounds = repeats(r, 800);
    for (int i = 0; i < rounds; i++) {
        double began = now_ns();
        GOAL_Sched_run(sched);
        times[i] = now_ns() - began;
    }
    GOAL_Sched_free(&sched);
    free(a);
    free(b);
    return median(times, rounds);
}

static double exec_a_byte(const main_goalmeasure_run *r)
{
    enum { POINTS = 4 };
    double x[POINTS], y[POINTS];
    for (int i = 0; i < POINTS; i++) {
        x[i] = 16384 << i;
        y[i] = time_of_sum(r, (size_t)x[i]);
    }
    return slope(x, y, POINTS);
}

// ---- all of it

static void say_where(const char *workers)
{
    struct utsname system;
    char date[64] = "";
    time_t seconds = time(NULL);
    struct tm tm;
    if (localtime_r(&seconds, &tm))
        strftime(date, sizeof date, "%Y-%m-%d %H:%M %z", &tm);
    if (uname(&system) != 0)
        ranks_fail("goalmeasure", "this machine has no name");
    printf("# LogGOPS by `millet goal measure`: %s (%s, %s %s, %ld cores), %s\n", system.nodename,
           system.machine, system.sysname, system.release, sysconf(_SC_NPROCESSORS_ONLN), date);
    printf("# between two ranks, each a %s; ns, ns a byte, S in bytes\n", workers);
}

static void main_goalmeasure_measure(main_goalmeasure_run *r, const char *workers)
{
    main_goalmeasure_tell(r, 0);
    int eager = eager_limit(r);
    main_goalmeasure_tell(r, 0.1);
    double trip = half_round_trip(r, 1, repeats(r, 2000));
    main_goalmeasure_tell(r, 0.2);
    double sends = send_call(r, 1, BATCH, repeats(r, 2000));
    main_goalmeasure_tell(r, 0.3);
    double recvs = recv_call(r, repeats(r, 2000));
    main_goalmeasure_tell(r, 0.4);
    double g = stream(r, repeats(r, 200));
    main_goalmeasure_tell(r, 0.6);
    double O = overhead_a_byte(r, eager);
    main_goalmeasure_tell(r, 0.7);
    double G = gap_a_byte(r);
    main_goalmeasure_tell(r, 0.9);
    if (r->rank != 0)
        return;
    double exec = exec_a_byte(r), o = (sends + recvs) / 2, L = trip - 2 * o;
    say_where(workers);
    printf("# half a round trip of 1 byte %.1f; send %.1f, receive %.1f\n", trip, sends, recvs);
    printf("L    %.6g\no    %.6g\ng    %.6g\nG    %.6g\nO    %.6g\nS    %d\nexec %.6g\n",
           L > 0 ? L : 0, o, g, G, O, eager, exec);
}

enum { MAIN_GOALMEASURE_ROUNDS = 30, TIMES = 40 }; // of a batch; batches

// A token goes round; all ranks but one wait.
static void main_goalmeasure_hop(const main_goalmeasure_run *r, int ranks)
{
    double times[TIMES];
    int count = repeats(r, TIMES), left = (r->rank + ranks - 1) % ranks,
        right = (r->rank + 1) % ranks;
    for (int i = -1; i < count; i++) { // one to warm up
        double began = now_ns();
        for (int k = 0; k < MAIN_GOALMEASURE_ROUNDS; k++) {
            if (r->rank == 0)
                MPI_Send(r->buffer, 1, MPI_BYTE, right, DATA, MPI_COMM_WORLD);
            MPI_Recv(r->buffer, 1, MPI_BYTE, left, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (r->rank != 0)
                MPI_Send(r->buffer, 1, MPI_BYTE, right, DATA, MPI_COMM_WORLD);
        }
        if (i >= 0)
            times[i] = (now_ns() - began) / MAIN_GOALMEASURE_ROUNDS / ranks;
        main_goalmeasure_tell(r, (i + 1.0) / count / 2);
    }
    if (r->rank == 0)
        printf("hop %.6g\n", median(times, count));
}

// A token goes between each two ranks, so half of the ranks always have something to do. Rank 0 and its
// peer end first: what they measure has the others beside it.
static void main_goalmeasure_busy(const main_goalmeasure_run *r)
{
    double times[TIMES];
    int count = repeats(r, TIMES), all = r->rank < 2 ? count : count + count / 4 + 1,
        peer = r->rank ^ 1;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = -1; i < all; i++) {
        double began = now_ns();
        for (int k = 0; k < MAIN_GOALMEASURE_ROUNDS; k++) {
            if (r->rank < peer)
                MPI_Send(r->buffer, 1, MPI_BYTE, peer, DATA, MPI_COMM_WORLD);
            MPI_Recv(r->buffer, 1, MPI_BYTE, peer, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (r->rank > peer)
                MPI_Send(r->buffer, 1, MPI_BYTE, peer, DATA, MPI_COMM_WORLD);
        }
        if (i >= 0 && i < count)
            times[i] = (now_ns() - began) / MAIN_GOALMEASURE_ROUNDS / 2;
        main_goalmeasure_tell(r, 0.5 + (i + 1.0) / count / 2);
    }
    if (r->rank == 0)
        printf("busy %.6g\n", median(times, count));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    main_goalmeasure_run r = {0};
    int size;
    MPI_Comm_rank(MPI_COMM_WORLD, &r.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2 || size % 2 || argc < 2)
        ranks_fail("goalmeasure", "`millet goal measure` starts it, with an even number of ranks");
    r.peer = 1 - r.rank;
    r.quick = argc > 2 && strcmp(argv[2], "--quick") == 0;
    r.buffer = malloc(MOST_EAGER);
    if (!r.buffer)
        ranks_fail("goalmeasure", "memory is exhausted: no room for buffers");
    memset(r.buffer, 1, MOST_EAGER);
    if (size == 2) {
        main_goalmeasure_measure(&r, argv[1]);
    } else {
        main_goalmeasure_hop(&r, size);
        main_goalmeasure_busy(&r);
    }
    free(r.buffer);
    MPI_Finalize();
    return 0;
}
