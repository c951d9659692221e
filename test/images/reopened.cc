// SPDX-License-Identifier: BSD-3-Clause
// Each rank opens a file of its own as its standard input, reads it with C's functions and with
// std::cin, and closes it. argv[1]: a folder.
#include <cstdio>
#include <iostream>
#include <mpi.h>
#include <string>

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::string path = std::string(argv[1]) + "/in." + std::to_string(rank);
    FILE *file = fopen(path.c_str(), "w");
    fprintf(file, "%d line\nword%d more\n", rank, rank);
    fclose(file);
    if (!freopen(path.c_str(), "r", stdin))
        return 1;
    MPI_Barrier(MPI_COMM_WORLD);
    int number = -1;
    char rest[16] = "";
    std::string word;
    if (scanf("%d", &number) != 1 || !fgets(rest, sizeof rest, stdin))
        return 2;
    MPI_Barrier(MPI_COMM_WORLD);
    std::cin >> word;
    printf("rank %d read %d%s%s\n", rank, number, rest, word.c_str());
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d: fclose gives %d\n", rank, fclose(stdin));
    remove(path.c_str());
    MPI_Finalize();
    return 0;
}
