// SPDX-License-Identifier: BSD-3-Clause
// One broadcast of BYTES by the binomial tree of the paper's Listing 2 as sends written by hand, to be recorded: mpirun --record FILE -nfg P once BYTES
#include "by_hand.h"
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, bytes = argc > 1 ? atoi(argv[1]) : 1;
    char *data = calloc(1, (size_t)bytes);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tree_bcast(data, bytes, rank, size);
    free(data);
    MPI_Finalize();
    return 0;
}
