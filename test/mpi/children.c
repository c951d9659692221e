// SPDX-License-Identifier: BSD-3-Clause
//
// Processes and threads that a rank makes, by the argument. fork: a child that exits is no rank,
// and the ranks of the process go on. exit-thread: another thread than the rank's ends the process
// after MPI_Finalize. init-thread: the rank is a thread that the program started.

#define _GNU_SOURCE // beyond C11: usleep, srand48 and their like

#include "check.h"

#include <pthread.h>
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

int main(int argc, char **argv)
{
    pthread_t thread;
    CHECK(argc > 1);
    if (strcmp(argv[1], "init-thread") == 0) {
        CHECK(pthread_create(&thread, NULL, is_rank, NULL) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
        return 0;
    }
    CHECK_OK(MPI_Init(&argc, &argv));
    if (strcmp(argv[1], "fork") == 0) {
        int status = -1;
        pid_t child = fork();
        if (child == 0)
            exit(7);
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    }
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_Finalize());
    if (strcmp(argv[1], "exit-thread") == 0) {
        CHECK(pthread_create(&thread, NULL, ends, NULL) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    return 0;
}
