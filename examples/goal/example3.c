// SPDX-License-Identifier: BSD-3-Clause
// Example 3 of the paper: Example 2 by the library, on three ranks. Rank 0 adds what ranks 1 and 2
// have to two values of its own.
//
//     mpicc examples/goal/example3.c -o example3 && mpirun -n 3 ./example3
//
// The paper's addresses 501 to 504 are memory[1] to memory[4] here.
#include <millet/goal.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    signed char memory[5] = {0};
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 3) {
        if (rank == 0)
            fprintf(stderr, "example3 is for three ranks: mpirun -n 3\n");
        MPI_Finalize();
        return 1;
    }
    memory[1] = (signed char)(10 * (rank + 1)); // 10, 20, 30
    memory[2] = 1;

    GOAL_Goal g = GOAL_Create();
    if (rank == 0) {
        GOAL_id r1 = GOAL_Recv(g, &memory[3], 1, 1);
        GOAL_id r2 = GOAL_Recv(g, &memory[4], 1, 2);
        GOAL_id e1 = GOAL_Exec(g, GOAL_sumInt8, &memory[1], 1, &memory[3], 1);
        GOAL_id e2 = GOAL_Exec(g, GOAL_sumInt8, &memory[2], 1, &memory[4], 1);
        GOAL_Requ(g, e1, r1);
        GOAL_Requ(g, e2, r2);
    } else if (rank == 1 || rank == 2) {
        GOAL_Send(g, &memory[1], 1, 0);
    }
    GOAL_Sched sched = GOAL_Compile(g);
    GOAL_Free(&g);
    GOAL_Sched_run(sched);
    GOAL_Sched_free(&sched);

    if (rank == 0)
        printf("501: %d + 20 = %d, 502: %d + 30 = %d\n", 10, memory[1], 1, memory[2]);
    MPI_Finalize();
    return rank == 0 && (memory[1] != 30 || memory[2] != 31);
}
