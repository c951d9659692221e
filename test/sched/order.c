// SPDX-License-Identifier: BSD-3-Clause
// Which rank runs first, as the ranks of one worker say in the order in which they run. `chain`: what
// the policy finds out; `set`: what the ranks say; `ring N`: N laps backwards.
#include <fgmpi.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static void get(int from)
{
    int token;
    MPI_Recv(&token, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void put(int to)
{
    int token = rank;
    MPI_Send(&token, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
}

// The last rank starts all others, those that nobody waits for first. 2 waits for 1, and 1 for 0; 3
// and 4 are nobody's.
static void chain(void)
{
    if (rank == size - 1) {
        put(4);
        put(3);
        put(0);
        return;
    }
    get(rank == 1 || rank == 2 ? rank - 1 : size - 1);
    printf("%d", rank);
    fflush(stdout);
    if (rank == 0 || rank == 1)
        put(rank + 1);
}

static void set(void)
{
    static const int priorities[] = {-2, 5, 0, MPIX_PRIORITY_MOST, 0};
    int mine = 99;
    if (rank < 5)
        MPIX_Set_priority(priorities[rank]);
    MPIX_Get_priority(&mine);
    if (mine != (rank < 5 ? priorities[rank] : 0))
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank == size - 1) {
        for (int i = 0; i < size - 1; i++)
            put(i);
        return;
    }
    get(size - 1);
    printf("%d", rank);
    fflush(stdout);
}

static void ring(int laps)
{
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int i = 0; i < laps; i++) {
        if (rank > 0)
            get(right);
        put(left);
        if (rank == 0)
            get(right);
    }
    if (rank == 0)
        puts("round");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(argv[1], "ring") == 0) {
        ring(atoi(argv[2]));
    } else {
        for (int i = 0; rank == size - 1 && i < 3 * size; i++)
            MPIX_Yield(); // until all others wait
        if (strcmp(argv[1], "chain") == 0)
            chain();
        else if (strcmp(argv[1], "set") == 0)
            set();
        else
            MPIX_Set_priority(atoi(argv[1]));
    }
    MPI_Finalize();
    return 0;
}
