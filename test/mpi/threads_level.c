// SPDX-License-Identifier: BSD-3-Clause
//
// What threads may do, by the argument.
//
// serialized: another thread calls MPI while the rank's own does not, then another, and again the
// rank's own. c11: the same with threads of C11. funneled, late: another thread calls where it must
// not: the job ends with an error message. early: a thread that was there before
// MPI_Init waits for it by MPI_Initialized. left: the rank ends though threads of it are blocked in
// MPI. deadlock: with MPI_THREAD_MULTIPLE, all threads of all ranks wait in vain. half: the same,
// but for the rank's own thread, which computes until the job is ended.

#define _GNU_SOURCE // beyond C11: usleep

#include <threads.h>
#include <unistd.h>

#include "threads.h"

#define WORLD MPI_COMM_WORLD

// As many other threads as like, one after the other.
static void speaks(team *of, int index)
{
    int right = (of->rank + 1) % of->size, left = (of->rank + of->size - 1) % of->size;
    int value = -1, flag = -1, provided = -1;
    char *big = must_alloc(300000);
    MPI_Request r[2];
    CHECK_OK(MPI_Is_thread_main(&flag));
    CHECK(!flag);
    CHECK_OK(MPI_Query_thread(&provided));
    CHECK_INT(provided, MPI_THREAD_SERIALIZED);
    CHECK_OK(MPI_Sendrecv(&index, 1, MPI_INT, right, 5, &value, 1, MPI_INT, left, 5, WORLD,
                          MPI_STATUS_IGNORE));
    CHECK_INT(value, index);
    CHECK_OK(MPI_Irecv(big, 150000, MPI_BYTE, left, 6, WORLD, &r[0]));
    pattern_fill(big + 150000, 150000, (unsigned)of->rank);
    CHECK_OK(MPI_Isend(big + 150000, 150000, MPI_BYTE, right, 6, WORLD, &r[1]));
    CHECK_OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    CHECK_PATTERN(big, 150000, (unsigned)left);
    free(big);
}

static int speaks_c11(void *arg)
{
    speaks(arg, 17);
    return 3;
}

static void serialized(int c11)
{
    init_level(MPI_THREAD_SERIALIZED);
    for (int i = 0; i < 20; i++) {
        team t = {.work = speaks};
        thrd_t other;
        int result = -1, flag = -1;
        team_start(&t, c11 ? 0 : 1);
        team_join(&t);
        if (c11) {
            CHECK(thrd_create(&other, speaks_c11, &t) == thrd_success);
            CHECK(thrd_join(other, &result) == thrd_success);
            CHECK_INT(result, 3);
        }
        CHECK_OK(MPI_Is_thread_main(&flag));
        CHECK(flag);
        CHECK_OK(MPI_Barrier(WORLD));
    }
}

static void must_not(team *of, int index)
{
    int value = index;
    CHECK_OK(MPI_Comm_rank(WORLD, &value));
    CHECK(of && 0);
}

static void below(int level, void (*work)(team *, int))
{
    int provided = -1;
    team t = {.work = work};
    CHECK_OK(MPI_Init_thread(NULL, NULL, level, &provided));
    CHECK_INT(provided, MPI_THREAD_FUNNELED);
    team_start(&t, 1);
    team_join(&t);
}

static void late(void)
{
    team t = {.work = must_not};
    init_level(MPI_THREAD_MULTIPLE);
    t.rank = world_rank();
    t.members[0] = (member){&t, 0};
    CHECK_OK(MPI_Finalize());
    CHECK(pthread_create(&t.threads[0], NULL, team_run, &t.members[0]) == 0);
    CHECK(pthread_join(t.threads[0], NULL) == 0);
}

static void comes_early(team *of, int index)
{
    int flag = 0, value = -1;
    while (!flag)
        CHECK_OK(MPI_Initialized(&flag));
    int rank = world_rank(), size = world_size();
    CHECK_OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, index, &value, 1, MPI_INT,
                          (rank + size - 1) % size, index, WORLD, MPI_STATUS_IGNORE));
    CHECK_INT(value, (rank + size - 1) % size);
    CHECK(of->work == comes_early);
}

static void early(void)
{
    team t = {.work = comes_early};
    t.members[0] = (member){&t, 0};
    CHECK(pthread_create(&t.threads[0], NULL, team_run, &t.members[0]) == 0);
    usleep(1000);
    init_level(MPI_THREAD_MULTIPLE);
    CHECK(pthread_join(t.threads[0], NULL) == 0);
}

static void in_vain(team *of, int index)
{
    int value;
    CHECK_OK(MPI_Recv(&value, 1, MPI_INT, (of->rank + 1) % of->size, 4200 + index, WORLD,
                      MPI_STATUS_IGNORE));
}

// Not on the rank's stack: the threads outlive it.
static void left(void)
{
    team *t = must_alloc(sizeof *t);
    *t = (team){.work = in_vain};
    init_level(MPI_THREAD_MULTIPLE);
    team_start(t, 2);
    usleep(20000); // so that they are in it
}

static void deadlock(int computes)
{
    team t = {.work = in_vain};
    init_level(MPI_THREAD_MULTIPLE);
    team_start(&t, 2);
    while (computes)
        usleep(1000);
    in_vain(&t, 9);
}

int main(int argc, char **argv)
{
    CHECK(argc > 1);
    const char *what = argv[1];
    if (strcmp(what, "serialized") == 0)
        serialized(0);
    else if (strcmp(what, "c11") == 0)
        serialized(1);
    else if (strcmp(what, "funneled") == 0)
        below(MPI_THREAD_FUNNELED, must_not);
    else if (strcmp(what, "late") == 0)
        late();
    else if (strcmp(what, "early") == 0)
        early();
    else if (strcmp(what, "left") == 0)
        left();
    else
        deadlock(strcmp(what, "half") == 0);
    CHECK_OK(MPI_Barrier(WORLD));
    CHECK_OK(MPI_Finalize());
    return 0;
}
