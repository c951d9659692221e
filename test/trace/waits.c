// SPDX-License-Identifier: BSD-3-Clause
// Waits that the test knows. "lock": rank 0 has the lock of rank 1's window for a while, and rank 2 wants it.
// "spawn": two jobs are spawned, one after the other.
// "starve": rank 0 sends to rank 1 of its own worker and computes on before it lets it run.
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TAG = 3, LONG_US = 20000, HELD_US = 400000 }; // held so long that others come in time

static void compute(double us)
{
    for (double begin = MPI_Wtime(); (MPI_Wtime() - begin) * 1e6 < us;) {
    }
}

// The message that lets rank 2 go is sent when the lock is taken.
static void lock(int rank)
{
    MPI_Win window;
    int *memory, word = 0;
    MPI_Win_allocate(sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
        MPI_Send(&word, 1, MPI_INT, 2, TAG, MPI_COMM_WORLD);
        usleep(HELD_US);
        MPI_Win_unlock(1, window);
    } else if (rank == 2) {
        MPI_Recv(&word, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
        MPI_Win_unlock(1, window);
    }
    MPI_Win_free(&window);
}

static void starve(int rank)
{
    int word = 0;
    if (rank == 1)
        MPI_Recv(&word, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 1)
        MPI_Irecv(&word, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2 && rank == 0; i++) {
        usleep(1000); // rank 1 waits, whoever was first
        MPI_Send(&word, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD);
        compute(LONG_US);
    }
    if (rank == 0)
        usleep(LONG_US); // nobody can run
}

static void spawn(char *program)
{
    char *words[] = {"child", NULL};
    for (int i = 0; i < 2; i++) {
        MPI_Comm child;
        MPI_Comm_spawn(program, words, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &child,
                       MPI_ERRCODES_IGNORE);
        MPI_Comm_disconnect(&child);
    }
}

// The job that was spawned.
static void leave_parent(void)
{
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    MPI_Comm_disconnect(&parent);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1 && strcmp(argv[1], "lock") == 0)
        lock(rank);
    if (argc > 1 && strcmp(argv[1], "starve") == 0)
        starve(rank);
    if (argc > 1 && strcmp(argv[1], "spawn") == 0)
        spawn(argv[0]);
    if (argc > 1 && strcmp(argv[1], "child") == 0)
        leave_parent();
    MPI_Finalize();
    return 0;
}
