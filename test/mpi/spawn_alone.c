// SPDX-License-Identifier: BSD-3-Clause
// A program that was started without mpirun spawns two more of itself.
#include "comm_check.h"

int main(int argc, char **argv)
{
    MPI_Comm kin, parent;
    int size, sum, flag, *universe;
    CHECK_OK(MPI_Init(&argc, &argv));
    CHECK_OK(MPI_Comm_get_parent(&parent));
    CHECK_OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    CHECK(size == (parent == MPI_COMM_NULL ? 1 : 2));
    CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &flag));
    CHECK(flag && *universe >= 1);
    kin = parent;
    if (parent == MPI_COMM_NULL)
        CHECK_OK(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &kin,
                                MPI_ERRCODES_IGNORE));
    CHECK_OK(
        MPI_Allreduce(&(int){parent == MPI_COMM_NULL ? 5 : 7}, &sum, 1, MPI_INT, MPI_SUM, kin));
    CHECK(sum == (parent == MPI_COMM_NULL ? 14 : 5));
    CHECK_OK(MPI_Comm_disconnect(&kin));
    CHECK_OK(MPI_Finalize());
    return 0;
}
