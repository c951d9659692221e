// SPDX-License-Identifier: BSD-3-Clause
// Children of ranks have what is their rank's: its environment, its input, its place in a text. A
// pipe to one is nobody else's. What the first rank sets is its own, and is gone when it has ended.
// argv[1]: a folder, which has a program `me` in the folder of each rank.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int rank;

static void finds_its_program(const char *folder)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%d:/bin:/usr/bin", folder, rank);
    setenv("PATH", path, 1);
    pid_t child = fork();
    if (child == 0) {
        execlp("me", "me", (char *)NULL);
        _exit(1);
    }
    waitpid(child, NULL, 0);
    (void)!system("me");
}

static void goes_on_where_it_was(void)
{
    char text[] = "one two three";
    (void)strtok(text, " ");
    srand((unsigned)rank + 5);
    pid_t child = fork();
    if (child == 0) {
        printf("child of %d: %s %d\n", rank, strtok(NULL, " "), rand());
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void reads(void)
{
    char byte;
    if (rank == 1)
        printf("the shell of rank 1 ended with %d\n", system("read line"));
    pid_t child = rank == 2 ? fork() : -1;
    if (child == 0) {
        printf("the child of rank 2 read %zd\n", read(0, &byte, 1));
        exit(0);
    }
    if (child > 0)
        waitpid(child, NULL, 0);
    char bytes[4];
    volatile size_t room = 3;
    if (rank == 3) // with -D_FORTIFY_SOURCE it has another name
        printf("rank 3 read %zd\n", read(0, bytes, room));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("rank 0 read %c\n", getchar());
}

static void pipes(void)
{
    setenv("OF_RANK", "yes", 1);
    FILE *a = popen("cat >/dev/null", "w"), *b = popen("cat >/dev/null", "w");
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d: cat ended with %d", rank, pclose(a));
    MPI_Barrier(MPI_COMM_WORLD);
    printf(" and %d\n", pclose(b));
}

static void leaves_with_a_mask(void)
{
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    printf("rank %d leaves\n", rank);
    fflush(stdout);
    _exit(0);
}

// libc looks for TZ in the environment of the process.
static void ask_for_the_zone(void)
{
    for (int i = 0; i < 50; i++) {
        char *pieces[200];
        for (int p = 0; p < 200; p++)
            memset(pieces[p] = malloc((size_t)p * 50 + 16), 'x', (size_t)p * 50 + 16);
        for (int p = 0; p < 200; p++)
            free(pieces[p]);
        tzset();
        usleep(1000);
    }
}

int main(int argc, char **argv)
{
    char last[] = "LAST=of the first rank";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        setenv("FIRST", "set", 1);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d: FIRST is %s\n", rank, getenv("FIRST") ? "set" : "not set");
    finds_its_program(argv[1]);
    goes_on_where_it_was();
    reads();
    pipes();
    if (rank == 0)
        putenv(last);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank < 2)
        leaves_with_a_mask();
    ask_for_the_zone();
    printf("rank %d is done\n", rank);
    return 0;
}
