// SPDX-License-Identifier: BSD-3-Clause
// Who waits for input keeps nobody else from anything. argv[1]: `one` (the first rank reads) or
// `all`. The second line of the input comes when all others have said what they did.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void say(int rank, const char *what)
{
    printf("rank %d %s\n", rank, what);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int rank;
    char line[32];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int all = strcmp(argv[1], "all") == 0;
    double begun = MPI_Wtime();
    while (rank > 0 && MPI_Wtime() < begun + 0.1)
        ; // the first rank waits already
    if (all && fgets(line, sizeof line, stdin))
        say(rank, "reads the first line");
    if (!all && rank > 0) {
        fflush(NULL);
        say(rank, "has flushed");
    }
    while ((all || rank == 0) && fgets(line, sizeof line, stdin))
        ;
    if (all)
        printf("rank %d closes it: %d\n", rank, fclose(stdin));
    MPI_Finalize();
    return 0;
}
