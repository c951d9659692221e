// SPDX-License-Identifier: BSD-3-Clause
// An object outside of functions initialises and finalises MPI.
#include <cstdio>
#include <cstdlib>
#include <mpi.h>

static int rank_of()
{
    int me;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    return me;
}

struct guard {
    guard()
    {
        MPI_Init(nullptr, nullptr);
        me = rank_of();
    }
    ~guard()
    {
        std::printf("rank %d of main ends with %d\n", me, sum);
        MPI_Finalize();
    }
    int me, sum = 0;
};

static guard whole;

int main()
{
    MPI_Allreduce(&whole.me, &whole.sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (whole.me == 1)
        std::exit(0);
    return 0;
}
