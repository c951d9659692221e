// SPDX-License-Identifier: BSD-3-Clause
// Options, parsed by getopt with all its variables, and a global beside them; also between calls of MPI.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int verbose;

int main(int argc, char **argv)
{
    int rank, option, sum = 0;
    const char *name = "none";
    opterr = 0;
    while ((option = getopt(argc, argv, "vn:s:")) != -1)
        switch (option) {
        case 'v':
            verbose++;
            break;
        case 'n':
            name = optarg;
            break;
        case 's':
            sum += atoi(optarg);
            break;
        default:
            printf("unknown %c\n", optopt);
        }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d: %d %s %d, then %s\n", rank, verbose, name, sum,
           optind < argc ? argv[optind] : "nothing");
    MPI_Finalize();
    return 0;
}
