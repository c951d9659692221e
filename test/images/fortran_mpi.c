// SPDX-License-Identifier: BSD-3-Clause
// The calls of MPI that fortran.f90 needs, without handles.
#include <mpi.h>
#include <stddef.h>

int start_mpi(void);
int count_ranks(void);
void end_mpi(void);
void wait_for_all(void);
double pass_on(double value, int to, int from);
void sum_doubles(const double *from, double *to, int count);

int start_mpi(void)
{
    int rank;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

int count_ranks(void)
{
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

void end_mpi(void)
{
    MPI_Finalize();
}

void wait_for_all(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

double pass_on(double value, int to, int from)
{
    double received;
    MPI_Sendrecv(&value, 1, MPI_DOUBLE, to, 0, &received, 1, MPI_DOUBLE, from, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    return received;
}

void sum_doubles(const double *from, double *to, int count)
{
    MPI_Allreduce(from, to, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
