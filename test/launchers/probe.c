// SPDX-License-Identifier: BSD-3-Clause
// What a rank finds when a foreign launcher has started its process, and ways to end. Words:
//
//     who          each rank: "RANK of SIZE, N here, sum SUM"
//     abort CODE   the last rank calls MPI_Abort
//     exit CODE    the last rank ends so after MPI_Finalize
//     wait         all ranks wait in MPI, but rank 0, which says "waiting" and its process id first
//     child        rank 0 starts `PROGRAM who` as a program of its own
//     late FILE WHO  ranks of the lower (0) or the upper half (1) end only when the file is there
//     stuck        all ranks wait for a message that nobody sends
//     spawn        the ranks spawn two of `PROGRAM spawned`; rank 0: "family of N, sum SUM"
//     outlive      the ranks spawn two of `PROGRAM left`, which disconnect and wait, and do as `wait` does
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void who(int rank, int size)
{
    int here, sum;
    MPI_Comm local;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
    MPI_Comm_size(local, &here);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("%d of %d, %d here, sum %d\n", rank, size, here, sum);
    MPI_Comm_free(&local);
}

static void wait_for_ever(int rank)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("waiting %d\n", (int)getpid());
        fflush(stdout);
        for (;;)
            pause();
    }
    MPI_Recv(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// The ranks of both jobs, merged, add up their numbers.
static void meet_family(MPI_Comm other, int is_child)
{
    MPI_Comm all;
    int rank, size, sum;
    MPI_Intercomm_merge(other, is_child, &all);
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all);
    if (rank == 0)
        printf("family of %d, sum %d\n", size, sum);
    if (is_child)
        printf("a child is rank %d\n", rank);
    MPI_Comm_disconnect(&all);
    MPI_Comm_disconnect(&other);
}

static void spawn(char *program, char *word)
{
    MPI_Comm children;
    char *argv[] = {word, NULL};
    MPI_Comm_spawn(program, argv, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                   MPI_ERRCODES_IGNORE);
    meet_family(children, 0);
}

static void be_spawned(const char *word)
{
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL)
        MPI_Abort(MPI_COMM_WORLD, 5);
    meet_family(parent, 1);
    fflush(stdout);
    while (strcmp(word, "left") == 0)
        pause();
}

int main(int argc, char **argv)
{
    int rank, size, code = argc > 2 ? atoi(argv[2]) : 0;
    const char *word = argc > 1 ? argv[1] : "who";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(word, "who") == 0)
        who(rank, size);
    else if (strcmp(word, "abort") == 0 && rank == size - 1)
        MPI_Abort(MPI_COMM_WORLD, code);
    else if (strcmp(word, "abort") == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    else if (strcmp(word, "wait") == 0)
        wait_for_ever(rank);
    else if (strcmp(word, "spawned") == 0 || strcmp(word, "left") == 0)
        be_spawned(word);
    else if (strcmp(word, "spawn") == 0)
        spawn(argv[0], "spawned");
    else if (strcmp(word, "stuck") == 0)
        MPI_Recv(&rank, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (strcmp(word, "outlive") == 0) {
        spawn(argv[0], "left");
        wait_for_ever(rank);
    }
    if (strcmp(word, "child") == 0 && rank == 0) {
        char line[4096];
        snprintf(line, sizeof line, "%s who", argv[0]);
        if (system(line) != 0)
            return 1;
    }
    MPI_Finalize();
    if (strcmp(word, "late") == 0 && (rank >= size / 2) == atoi(argv[3])) {
        while (access(argv[2], F_OK) != 0)
            usleep(10000);
        printf("late %d\n", rank);
    }
    return strcmp(word, "exit") == 0 && rank == size - 1 ? code : 0;
}
