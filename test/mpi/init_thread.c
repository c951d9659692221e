// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Init_thread with the level named by the first argument, which gives that of the second.

#include "check.h"

static int level_of(const char *name)
{
    if (strcmp(name, "single") == 0)
        return MPI_THREAD_SINGLE;
    if (strcmp(name, "funneled") == 0)
        return MPI_THREAD_FUNNELED;
    if (strcmp(name, "serialized") == 0)
        return MPI_THREAD_SERIALIZED;
    return MPI_THREAD_MULTIPLE;
}

int main(int argc, char **argv)
{
    int provided = -1, queried = -1, is_main = 0, flag = -1, token = -1;
    CHECK(argc > 2);
    CHECK_OK(MPI_Init_thread(&argc, &argv, level_of(argv[1]), &provided));
    CHECK_OK(MPI_Initialized(&flag));
    CHECK(flag);
    CHECK_INT(provided, level_of(argv[2]));
    CHECK_OK(MPI_Query_thread(&queried));
    CHECK_INT(queried, provided);
    CHECK_OK(MPI_Is_thread_main(&is_main));
    CHECK(is_main);
    int rank = world_rank(), size = world_size();
    CHECK_OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &token, 1, MPI_INT,
                          (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_INT(token, (rank + size - 1) % size);
    CHECK_OK(MPI_Finalize());
    return 0;
}
