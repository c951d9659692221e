// SPDX-License-Identifier: BSD-3-Clause
//
// Processes and threads that a rank makes, by the argument. fork: a child that exits is no rank,
// and the ranks of the process go on. fork-WHAT: the child calls MPI or csp.h; it may ask and
// print, all else ends the job. fork-first: the child and its parent both call MPI_Init.
// exit-thread: another thread than the rank's ends the process after MPI_Finalize. init-thread: the
// rank is a thread that the program started.

#define _GNU_SOURCE // beyond C11: usleep, srand48 and their like

#include "check.h"

#include <pthread.h>
#ifndef PEER
#include <millet/csp.h>
#endif
#include <sys/wait.h>
#include <unistd.h>

static void *ends(void *unused)
{
    (void)unused;
    exit(0);
}

static void *is_rank(void *unused)
{
    (void)unused;
    int provided;
    CHECK_OK(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_Finalize());
    return NULL;
}

static void child_asks(void)
{
    int flag, version, subversion;
    CHECK_OK(MPI_Initialized(&flag));
    CHECK(flag);
    CHECK_OK(MPI_Finalized(&flag));
    CHECK(!flag);
    CHECK_OK(MPI_Get_version(&version, &subversion));
    CHECK(MPI_Wtime() > 0);
    printf("child of one");
}

static void child_calls(const char *what)
{
    if (strcmp(what, "asks") == 0)
        child_asks();
    if (strcmp(what, "barrier") == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(what, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 5);
#ifndef PEER
    if (strcmp(what, "csp") == 0)
        (void)csp_nodes();
#endif
}

// The child calls, and ends with 7 if it comes back. The job may end before its parent hears of it.
static void fork_one(const char *way, const char *what)
{
    int status = -1;
    pid_t child = strcmp(way, "_Fork") == 0 ? _Fork() : fork();
    if (child == 0) {
        child_calls(what);
        exit(7);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    if (strcmp(what, "nothing") == 0 || strcmp(what, "asks") == 0)
        CHECK_INT(WEXITSTATUS(status), 7);
}

// Both call MPI_Init, the child first or at any time.
static void fork_first(bool child_first)
{
    int ends[2], status = -1;
    char byte;
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    if (child > 0 && child_first)
        CHECK(read(ends[0], &byte, 1) == 1);
    CHECK_OK(MPI_Init(NULL, NULL));
    if (child == 0)
        CHECK(write(ends[1], "x", 1) == 1);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_Finalize());
    if (child > 0)
        CHECK(waitpid(child, &status, 0) == child);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int provided;
    CHECK(argc > 1);
    if (strcmp(argv[1], "fork-first") == 0) {
        fork_first(argc > 2);
        return 0;
    }
    if (strcmp(argv[1], "init-thread") == 0) {
        CHECK(pthread_create(&thread, NULL, is_rank, NULL) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
        return 0;
    }
    bool multiple = strncmp(argv[1], "multiple", 8) == 0;
    CHECK_OK(MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                             &provided));
    char *what = strchr(argv[1], '-');
    bool forks = multiple || strncmp(argv[1], "fork", 4) == 0 || argv[1][0] == '_';
    if (forks && (!what || strcmp(what, "-asks") == 0))
        fork_one("fork", what ? what + 1 : "nothing");
    else if (forks && world_rank() == world_size() / 2 - (world_size() > 2))
        fork_one(argv[1][0] == '_' ? "_Fork" : "fork", what + 1);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_Finalize());
    if (strcmp(argv[1], "exit-thread") == 0) {
        CHECK(pthread_create(&thread, NULL, ends, NULL) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    return 0;
}
