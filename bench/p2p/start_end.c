// SPDX-License-Identifier: BSD-3-Clause
//
// Starts MPI and ends it; whoever runs it takes the time of the whole command. `--ranks N` makes
// sure that this was one job of N ranks and not N jobs of one.
#include "bench.h"

#include <mpi.h>

int main(int argc, char **argv)
{
    double expected = 0;
    const struct bench_option options[] = {
        {"--ranks", &expected, "ranks that the job must have"},
        {NULL, NULL, NULL},
    };
    bench_options_read(argc, argv, options, NULL);

    int ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    bench_require(expected == 0 || ranks == (int)expected,
                  "start_end: the job does not have the number of ranks that was asked for");
    MPI_Finalize();
    return 0;
}
