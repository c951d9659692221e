// SPDX-License-Identifier: BSD-3-Clause
// MPI as a C++ library, experiment III: nothing but the start and the end.
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    return 0;
}
