// SPDX-License-Identifier: BSD-3-Clause
// GOAL, Figure 6: what of a nonblocking broadcast cannot be hidden behind computing.
//
//     overlap thread|hand|library SLICES BYTES...
//
// The broadcast is a binomial tree as a schedule, which a thread of the library's drives (thread) or the program (hand);
// or it is MPI_Ibcast (library), which is all that other MPIs have. A device computes, so that the rank's core is free:
// the work is sleep, four times as long as the broadcast alone, in SLICES parts with MPI_Test after each. With 1 nothing
// but the thread can move data meanwhile. Prints `B_us T`: for a size of B, by how much the whole lasts longer than the
// work alone.
#include <mpi.h>
#if __has_include(<millet/goal.h>)
#include <millet/goal.h>
#else
typedef void *GOAL_Sched;
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TIMES = 31, WARM_UP = 5 };

static int by_value(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static void sleep_for(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    if (seconds > 0)
        nanosleep(&t, NULL);
}

#if __has_include(<millet/goal.h>)
// The tree of the paper's Listing 2.
static GOAL_Sched tree(char *data, int bytes, int thread)
{
    GOAL_Goal goal = GOAL_Create();
    GOAL_id received = -1;
    int rank, size, bit = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    while (bit <= rank)
        bit <<= 1;
    if (rank > 0)
        received = GOAL_Recv(goal, data, (size_t)bytes, rank - bit / 2);
    for (; rank + bit < size; bit <<= 1) {
        GOAL_id sent = GOAL_Send(goal, data, (size_t)bytes, rank + bit);
        if (rank > 0)
            GOAL_Requ(goal, sent, received);
    }
    GOAL_Sched sched = GOAL_Compile(goal);
    GOAL_Free(&goal);
    GOAL_Sched_set(sched, GOAL_OFFLOAD, thread);
    return sched;
}
#else
#define tree(data, bytes, thread) NULL
#define GOAL_Sched_start(sched, request) (void)(sched)
#define GOAL_Sched_free(sched) (void)(sched)
#endif

// The median of the time until all are done; `work` seconds in slices; `data` NULL: the work alone; `sched` NULL: MPI_Ibcast.
static double whole(GOAL_Sched sched, char *data, int bytes, double work, int slices)
{
    double times[TIMES];
    int rank, moved = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int time = -WARM_UP; time < TIMES; time++) {
        MPI_Request request = MPI_REQUEST_NULL;
        if (data)
            memset(data, rank == 0 ? time + WARM_UP : -1, (size_t)bytes);
        MPI_Barrier(MPI_COMM_WORLD);
        double began = MPI_Wtime(), mine, last;
        if (data && sched)
            GOAL_Sched_start(sched, &request);
        else if (data)
            MPI_Ibcast(data, bytes, MPI_CHAR, 0, MPI_COMM_WORLD, &request);
        for (int i = 0; i < slices && work > 0; i++) {
            int done;
            sleep_for(work / slices);
            if (slices > 1)
                MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        }
        if (data && ((const volatile char *)data)[bytes - 1] == (char)(time + WARM_UP))
            moved++; // nobody but the thread did it, if there is one slice
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        mine = MPI_Wtime() - began;
        MPI_Allreduce(&mine, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (data && data[bytes - 1] != (char)(time + WARM_UP))
            MPI_Abort(MPI_COMM_WORLD, 1);
        if (time >= 0)
            times[time] = last;
    }
    if (sched && work > 0 && slices == 1 && moved == 0) {
        fprintf(stderr, "no broadcast of %d bytes went on during the work: there is no thread\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    qsort(times, TIMES, sizeof *times, by_value);
    return times[TIMES / 2];
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, slices = argc > 2 ? atoi(argv[2]) : 8;
    const char *how = argc > 1 ? argv[1] : "library";
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 3; i < argc; i++) {
        int bytes = atoi(argv[i]);
        char *data = malloc((size_t)bytes);
        GOAL_Sched sched = NULL;
        if (strcmp(how, "library") != 0)
            sched = tree(data, bytes, strcmp(how, "thread") == 0);
        double alone = whole(sched, data, bytes, 0, 1), work = 4 * alone < 2e-4 ? 2e-4 : 4 * alone;
        double both = whole(sched, data, bytes, work, slices), idle = whole(NULL, NULL, 0, work, slices);
        if (rank == 0)
            printf("%d_us %.3f\n", bytes, (both - idle) * 1e6);
        if (sched)
            GOAL_Sched_free(&sched);
        free(data);
    }
    MPI_Finalize();
    return 0;
}
