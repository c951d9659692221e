// SPDX-License-Identifier: BSD-3-Clause
// Each rank has its own signal handlers. argv[1]: a file that tells the test when to send SIGUSR1
// to mpirun.
#define _GNU_SOURCE
#include "expect.h"

#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t own, sent, others;
static sigjmp_buf back;
static __thread volatile int in_thread = 5;

static void on_own(int signal)
{
    own++;
}

static void on_sent(int signal, siginfo_t *info, void *context)
{
    sent += info->si_signo == SIGUSR1 && context != NULL;
    others += in_thread != 5 + rank;
}

static void on_fault(int signal)
{
    siglongjmp(back, signal);
}

static void on_leave(int signal)
{
    printf("rank %d leaves\n", rank);
    exit(0);
}

static void (*handler_of(int signal))(int)
{
    struct sigaction now;
    expect(sigaction(signal, NULL, &now) == 0, "sigaction");
    return now.sa_handler;
}

static void everybody(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void try_raise(void)
{
    expect(handler_of(SIGUSR2) == SIG_DFL, "the default");
    everybody();
    if (rank % 3 == 0)
        expect(signal(SIGUSR2, on_own) == SIG_DFL, "signal");
    if (rank % 3 == 1)
        expect(signal(SIGUSR2, SIG_IGN) == SIG_DFL, "signal");
    everybody();
    expect(handler_of(SIGUSR2) == (rank % 3 == 0   ? on_own
                                   : rank % 3 == 1 ? SIG_IGN
                                                   : SIG_DFL),
           "its own");
    if (rank % 3 < 2)
        expect(raise(SIGUSR2) == 0 && kill(getpid(), SIGUSR2) == 0, "raise");
    everybody();
    expect(own == (rank % 3 == 0 ? 2 : 0), "its own handler, and no other's");
    if (rank % 3 == 0) {
        struct sigaction once = {.sa_handler = on_own, .sa_flags = SA_RESETHAND};
        expect(sigaction(SIGUSR2, &once, NULL) == 0 && raise(SIGUSR2) == 0 && own == 3, "once");
        expect(handler_of(SIGUSR2) == SIG_DFL, "then the default");
    }
    expect(signal(SIGKILL, on_own) == SIG_ERR && errno == EINVAL, "SIGKILL has no handler");
    everybody();
}

static void try_fault(void)
{
    if (rank % 2) {
        expect(signal(SIGSEGV, on_fault) != SIG_ERR, "signal");
        for (int i = 0; i < 2; i++) {
            volatile int *nowhere = NULL;
            if (sigsetjmp(back, 1) == 0)
                expect(*nowhere == 0 && 0, "a fault");
        }
        expect(signal(SIGSEGV, SIG_DFL) == on_fault, "signal");
    }
    everybody();
}

static void try_child(void)
{
    int status = 0;
    signal(SIGUSR2, on_own);
    own = 0;
    pid_t child = fork();
    if (child == 0) {
        raise(SIGUSR2);
        _exit(own == 1 ? 7 : 1);
    }
    expect(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7, "a child's handler");
    everybody();
}

static void wait_for_it(int kind)
{
    char byte;
    int ends[2];
    switch (kind) {
    case 0:
        usleep(100000); // until the others of its worker wait
        while (!sent) {
        }
        break;
    case 1:
        expect(sleep(50) > 0 && sent, "sleep that a signal ends");
        break;
    case 2:
        expect(pause() == -1 && errno == EINTR && sent, "pause");
        break;
    default:
        expect(pipe(ends) == 0, "pipe");
        expect(read(ends[0], &byte, 1) == -1 && errno == EINTR && sent, "read that a signal ends");
        close(ends[0]);
        close(ends[1]);
    }
}

static void try_sent(const char *file)
{
    struct sigaction action = {.sa_sigaction = on_sent, .sa_flags = SA_SIGINFO};
    in_thread += rank;
    expect(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
    everybody();
    if (rank == 0)
        close(open(file, O_CREAT | O_WRONLY, 0600));
    if (rank % 5 < 4 && rank != size - 1)
        wait_for_it(rank == 0 || rank % 5 ? rank % 5 : 1); // one computes: others must run, too
    everybody();                                           // where the rest has waited
    expect(sent == 1 && !others, "once, with its own variables");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    try_raise();
    try_fault();
    try_child();
    if (argc > 1)
        try_sent(argv[1]);
    printf("rank %d is done\n", rank);
    fflush(stdout);
    MPI_Finalize();
    signal(SIGUSR2, on_leave);
    raise(SIGUSR2);
    return 1;
}
