// SPDX-License-Identifier: BSD-3-Clause
//
// FGmpiexec runs a function of the program's choice per rank: here rank 0 asks, odd ranks double,
// other even ranks negate. The first argument says which of the three kinds of binding is used;
// with `fail` as the second, rank 1's function returns 11; with `told` the binding says when it is
// asked to begin and to end. What FG-MPI tells of ranks that share a worker is what Millet's own
// communicator of a worker says.

#include <fgmpi.h>

#include "check.h"

#define WORLD MPI_COMM_WORLD

enum { ASK = 1, ANSWER = 2, ROUNDS = 20 };

static void check_arguments(int argc, char **argv)
{
    CHECK_INT(argc, 3);
    CHECK(strcmp(argv[1], "map") == 0 || strcmp(argv[1], "rank") == 0 ||
          strcmp(argv[1], "lookup") == 0);
    CHECK(strcmp(argv[2], "two") == 0 || strcmp(argv[2], "fail") == 0 ||
          strcmp(argv[2], "told") == 0);
}

static void check_collocated(void)
{
    MPI_Info info;
    MPI_Comm worker;
    int size = -1, start = -1, workers = -1, rank = world_rank(), least = -1, mine = -1, first, sum;
    CHECK_OK(MPIX_Get_collocated_size(&size));
    CHECK_OK(MPIX_Get_collocated_startrank(&start));
    CHECK_OK(MPIX_Get_n_size(&workers));
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, "mpi_hw_resource_type", "millet://Worker"));
    CHECK_OK(MPI_Comm_split_type(WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &worker));
    CHECK_OK(MPI_Info_free(&info));
    CHECK_OK(MPI_Comm_size(worker, &mine));
    CHECK_OK(MPI_Allreduce(&rank, &least, 1, MPI_INT, MPI_MIN, worker));
    first = rank == start;
    CHECK_OK(MPI_Allreduce(&first, &sum, 1, MPI_INT, MPI_SUM, WORLD));
    CHECK_INT(size, mine);
    CHECK_INT(start, least);
    CHECK_INT(workers, sum);
    CHECK_OK(MPI_Comm_free(&worker));
    double before = MPI_Wtime();
    MPIX_Usleep(2000);
    CHECK(MPI_Wtime() - before >= 0.002);
}

static int ask(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    check_arguments(argc, argv);
    CHECK_INT(world_rank(), 0);
    check_collocated();
    for (int i = 0; i < ROUNDS; i++) {
        for (int rank = 1; rank < world_size(); rank++) {
            int question = i * 100 + rank, answer = 0;
            CHECK_OK(MPI_Send(&question, 1, MPI_INT, rank, ASK, WORLD));
            CHECK_OK(MPI_Recv(&answer, 1, MPI_INT, rank, ANSWER, WORLD, MPI_STATUS_IGNORE));
            CHECK_INT(answer, rank % 2 ? 2 * question : -question);
        }
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}

static void answer_all(int factor)
{
    for (int i = 0; i < ROUNDS; i++) {
        int question = 0, answer;
        CHECK_OK(MPI_Recv(&question, 1, MPI_INT, 0, ASK, WORLD, MPI_STATUS_IGNORE));
        answer = factor * question;
        CHECK_OK(MPI_Send(&answer, 1, MPI_INT, 0, ANSWER, WORLD));
    }
}

static int twice(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    check_arguments(argc, argv);
    CHECK(world_rank() % 2 == 1);
    check_collocated();
    answer_all(2);
    int rank = world_rank();
    CHECK_OK(MPI_Finalize());
    return rank == 1 && strcmp(argv[2], "fail") == 0 ? 11 : 0;
}

static int negate(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    check_arguments(argc, argv);
    CHECK(world_rank() % 2 == 0 && world_rank() > 0);
    check_collocated();
    answer_all(-1);
    CHECK_OK(MPI_Finalize());
    return 0;
}

static FG_ProcessPtr_t by_rank(int rank)
{
    if (rank == 0)
        return ask;
    return rank % 2 ? twice : negate;
}

static FG_ProcessPtr_t binding(int argc, char **argv, int rank)
{
    check_arguments(argc, argv);
    if (rank == MAP_INIT_ACTION || rank == MAP_FINALIZE_ACTION) {
        if (strcmp(argv[2], "told") == 0)
            puts(rank == MAP_INIT_ACTION ? "began" : "through");
        return NULL;
    }
    return by_rank(rank);
}

// FG-MPI's lookup finds a binding by the name in FGMAP; here every name means the same.
static FG_MapPtr_t lookup(int argc, char **argv, char *name)
{
    check_arguments(argc, argv);
    (void)name;
    return binding;
}

int main(int argc, char **argv)
{
    check_arguments(argc, argv);
    if (strcmp(argv[1], "rank") == 0)
        return FGmpiexec(&argc, &argv, by_rank);
    if (strcmp(argv[1], "lookup") == 0)
        return FGmpiexec(&argc, &argv, lookup);
    return FGmpiexec(&argc, &argv, binding);
}
