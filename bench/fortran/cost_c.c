// SPDX-License-Identifier: BSD-3-Clause
// The calls of cost.f90 from C.
#include <mpi.h>

double c_cost(int which, int calls);
double c_cost(int which, int calls)
{
    double buffer[4] = {1, 1, 1, 1}, got[4], began = MPI_Wtime();
    int rank;
    MPI_Request q[2];
    MPI_Status s;
    for (int i = 0; i < calls; i++)
        switch (which) {
        case 1:
            MPI_Comm_rank(MPI_COMM_WORLD, &rank);
            break;
        case 2:
            MPI_Send(buffer, 4, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
            break;
        case 3:
            MPI_Send(buffer, 4, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
            MPI_Recv(got, 4, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &s);
            break;
        case 4:
            MPI_Irecv(got, 4, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &q[0]);
            MPI_Isend(buffer, 4, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &q[1]);
            MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
            break;
        default:
            MPI_Allreduce(buffer, got, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
    return (MPI_Wtime() - began) / calls * 1e9;
}
