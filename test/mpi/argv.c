// SPDX-License-Identifier: BSD-3-Clause
//
// Every rank has its own argument vector: what one rank changes, before or after MPI_Init, no other
// sees. Run with the arguments `alpha beta gamma`.

#include "check.h"

static void check_arguments(int argc, char **argv)
{
    CHECK_INT(argc, 4);
    CHECK(argv[0] != NULL && strstr(argv[0], "argv") != NULL);
    CHECK(strcmp(argv[1], "alpha") == 0);
    CHECK(strcmp(argv[2], "beta") == 0);
    CHECK(strcmp(argv[3], "gamma") == 0);
    CHECK(argv[4] == NULL);
}

int main(int argc, char **argv)
{
    char **before = argv, own[] = "own";
    check_arguments(argc, argv);
    // Changed before MPI_Init by every rank: a shared string would come out twice or more.
    argv[1][0]++;
    CHECK(strcmp(argv[1], "blpha") == 0);
    CHECK_OK(MPI_Init(&argc, &argv));
    CHECK(argv == before && argc == 4);
    CHECK(strcmp(argv[1], "blpha") == 0);
    argv[1][0]--;
    check_arguments(argc, argv);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int turn = 0; turn < world_size(); turn++) {
        if (turn == world_rank()) { // string and vector
            memset(argv[1], 'x', strlen(argv[1]));
            argv[2] = own;
            argv[3] = NULL;
        } else if (turn == 0) {
            check_arguments(argc, argv);
        }
        CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
        if (turn < world_rank())
            check_arguments(argc, argv);
    }
    CHECK(strcmp(argv[1], "xxxxx") == 0 && argv[2] == own && argv[3] == NULL);
    CHECK_OK(MPI_Finalize());
    return 0;
}
