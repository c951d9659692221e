// SPDX-License-Identifier: BSD-3-Clause
// The same in C++: each rank tells rank 0 its number, and rank 0 prints the sum.
#include <mpi.h>

#include <iostream>
#include <vector>

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank != 0) {
        MPI_Send(&rank, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    } else {
        std::vector<int> numbers(size);
        int sum = 0;
        for (int i = 1; i < size; i++) {
            MPI_Recv(&numbers[i], 1, MPI_INT, i, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            sum += numbers[i];
        }
        std::cout << "sum " << sum << " of " << size << " ranks" << std::endl;
    }
    MPI_Finalize();
}
