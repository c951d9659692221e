// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks that leave, with status 0, by other ways than exit: leave WHEN WAY. before: the first rank
// that comes leaves before MPI_Init. early: rank 0 leaves when the others need not have called
// MPI_Init. late: every rank leaves after MPI_Finalize. Where ranks share a process, none may take
// the others along without a word.

#define _GNU_SOURCE // beyond C11: _exit, execv, syscall

#include "check.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static void on_signal(int signal)
{
    (void)signal;
    _exit(0);
}

static void leave(const char *way)
{
    char name[] = "true", *words[] = {name, NULL};
    if (strcmp(way, "_exit") == 0)
        _exit(0);
    if (strcmp(way, "_Exit") == 0)
        _Exit(0);
    if (strcmp(way, "quick_exit") == 0)
        quick_exit(0);
    if (strcmp(way, "execv") == 0)
        execv("/bin/true", words);
    if (strcmp(way, "execlp") == 0)
        execlp("true", "true", (char *)NULL);
    if (strcmp(way, "handler") == 0 && signal(SIGUSR1, on_signal) != SIG_ERR)
        raise(SIGUSR1);
    syscall(SYS_exit_group, 0);
}

static void say_quick(void)
{
    static const char text[] = "quickly\n";
    CHECK(write(STDOUT_FILENO, text, sizeof text - 1) == sizeof text - 1);
}

int main(int argc, char **argv)
{
    static atomic_int came;
    CHECK(argc == 3);
    const char *when = argv[1], *way = argv[2];
    if (strcmp(when, "before") == 0 && atomic_fetch_add(&came, 1) == 0)
        leave(way);
    CHECK_OK(MPI_Init(&argc, &argv));
    if (strcmp(when, "early") == 0 && world_rank() == 0)
        leave(way);
    if (strcmp(when, "late") != 0) // where nobody may be missing
        CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(at_quick_exit(say_quick) == 0);
    int rank = world_rank(), size = world_size();
    CHECK_OK(MPI_Finalize());
    if (rank == size - 1)
        printf("the last one's work\n");
    fflush(stdout);
    if (strcmp(when, "late") == 0)
        leave(way);
    return 0;
}
