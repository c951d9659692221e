// SPDX-License-Identifier: BSD-3-Clause
// A function for each rank, as in FG-MPI: the Sieve of Eratosthenes as a chain of small processes.
// Rank 0 makes numbers; every other rank keeps the first number that reaches it, a prime, and
// passes on what that does not divide.
//
//     mpicc functions.c -o functions
//     mpirun -n 1 -nfg 26 ./functions      the 25 primes below 100, each in a fiber of its own
//     mpirun -n 2 -nfg 13 ./functions      the same chain over two cores
#include <fgmpi.h>
#include <mpi.h>
#include <stdio.h>

enum { LIMIT = 100, END = 0 };

static int right_neighbour(void)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return rank + 1 < size ? rank + 1 : MPI_PROC_NULL; // what is sent to nobody is gone
}

static int generate(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int right = right_neighbour();
    for (int number = 2; number <= LIMIT; number++)
        MPI_Send(&number, 1, MPI_INT, right, 0, MPI_COMM_WORLD);
    int end = END;
    MPI_Send(&end, 1, MPI_INT, right, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

static int sieve(int argc, char **argv)
{
    int rank, prime = END, number;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int right = right_neighbour();
    do {
        MPI_Recv(&number, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (number == END || (prime != END && number % prime != 0))
            MPI_Send(&number, 1, MPI_INT, right, 0, MPI_COMM_WORLD);
        else if (prime == END)
            prime = number;
    } while (number != END);
    if (prime != END)
        printf("rank %d keeps %d\n", rank, prime);
    MPI_Finalize();
    return 0;
}

// Which function a rank runs.
static FG_ProcessPtr_t binding(int rank)
{
    return rank == 0 ? generate : sieve;
}

int main(int argc, char **argv)
{
    return FGmpiexec(&argc, &argv, &binding);
}
