// SPDX-License-Identifier: BSD-3-Clause
//
// reorder: `halves` says that the job has two workers of equal size, or two hosts with equally many
// workers of one rank, so that this program knows who lives with whom; `turns`, that the two hosts
// take turns (mpirun --map-by node). Counts pairs of neighbours that live apart, before and after;
// reordering is never worse, and better where it can be. `same`: all ranks live in one worker, or
// each in its own in one process, and all keep their ranks.

#include "comm_check.h"

static int turns;

static int home(int world)
{
    return turns ? world % 2 : world / (world_size() / 2);
}

// The sum over all ranks of the world.
static int sum_of(int mine)
{
    int size = world_size(), total = mine;
    if (world_rank() > 0) {
        CHECK_OK(MPI_Send(&mine, 1, MPI_INT, 0, 1, MPI_COMM_WORLD));
        CHECK_OK(MPI_Recv(&total, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        return total;
    }
    for (int r = 1, got; r < size; r++, total += got)
        CHECK_OK(MPI_Recv(&got, 1, MPI_INT, r, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int r = 1; r < size; r++)
        CHECK_OK(MPI_Send(&total, 1, MPI_INT, r, 2, MPI_COMM_WORLD));
    return total;
}

// Edges from here that lead to the other half. Everybody tells where it lives; neighbours both
// ways.
static int apart(MPI_Comm comm, int count, const int *neighbours)
{
    int mine = home(world_rank()), n = 0;
    MPI_Request requests[8];
    CHECK(count <= 8);
    for (int i = 0; i < count; i++)
        CHECK_OK(MPI_Isend(&mine, 1, MPI_INT, neighbours[i], 3, comm, &requests[i]));
    for (int i = 0; i < count; i++) {
        int theirs = -1;
        CHECK_OK(MPI_Recv(&theirs, 1, MPI_INT, neighbours[i], 3, comm, MPI_STATUS_IGNORE));
        n += neighbours[i] != MPI_PROC_NULL && theirs != mine;
    }
    CHECK_OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
    return n;
}

// Separated pairs of a grid of all ranks of the world.
static int grid(MPI_Comm old, int rows, int columns, int period, int reorder)
{
    int dims[] = {rows, columns}, periods[] = {period, period}, near[4];
    MPI_Comm cart;
    CHECK_OK(MPI_Cart_create(old, 2, dims, periods, reorder, &cart));
    CHECK_OK(MPI_Cart_shift(cart, 0, 1, &near[0], &near[1]));
    CHECK_OK(MPI_Cart_shift(cart, 1, 1, &near[2], &near[3]));
    int n = sum_of(apart(cart, 4, near));
    CHECK_OK(MPI_Comm_free(&cart));
    return n / 2;
}

// Partners half the ranks from each other; made in three ways.
static int partners(MPI_Comm old, int way, int reorder)
{
    int size = world_size(), mine = (rank_of(old) + size / 2) % size, one = 1, near = -1;
    int rank = rank_of(old), x, y, z;
    int *index = must_alloc((size_t)size * sizeof(int)),
        *edges = must_alloc((size_t)size * sizeof(int));
    MPI_Comm comm;
    for (int v = 0; v < size; v++) {
        index[v] = v + 1;
        edges[v] = (v + size / 2) % size;
    }
    if (way == 0) {
        CHECK_OK(MPI_Graph_create(old, size, index, edges, reorder, &comm));
        CHECK_OK(MPI_Graph_neighbors(comm, rank_of(comm), 1, &near));
    } else {
        if (way == 1)
            CHECK_OK(MPI_Dist_graph_create_adjacent(old, 1, &mine, MPI_UNWEIGHTED, 1, &mine,
                                                    MPI_UNWEIGHTED, MPI_INFO_NULL, reorder, &comm));
        else
            CHECK_OK(MPI_Dist_graph_create(old, 1, &rank, &one, &mine, &one, MPI_INFO_NULL, reorder,
                                           &comm));
        CHECK_OK(MPI_Dist_graph_neighbors_count(comm, &x, &y, &z));
        CHECK(x == 1 && y == 1 && z == (way == 2));
        CHECK_OK(MPI_Dist_graph_neighbors(comm, 1, &x, &z, 1, &near, &z));
        CHECK_INT(x, near);
    }
    CHECK_INT(near, (rank_of(comm) + size / 2) % size);
    int n = sum_of(apart(comm, 1, &near));
    CHECK_OK(MPI_Comm_free(&comm));
    free(index);
    free(edges);
    return n / 2;
}

static void halves(void)
{
    int size = world_size();
    MPI_Comm mixed; // ranks of both halves in turn
    CHECK_INT(grid(MPI_COMM_WORLD, 2, size / 2, 0, 0), turns ? size - 2 : size / 2);
    CHECK_INT(grid(MPI_COMM_WORLD, 2, size / 2, 0, 1), 2);
    CHECK_INT(grid(MPI_COMM_WORLD, 2, size / 2, 1, 1), 4);
    CHECK_INT(grid(MPI_COMM_WORLD, size / 2, 2, 0, 1), 2);
    CHECK_INT(grid(MPI_COMM_WORLD, 4, size / 4, 0, 1), 4);
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, world_rank() % (size / 2), &mixed));
    CHECK(grid(mixed, 4, size / 4, 0, 0) > 4 || turns);
    CHECK_INT(grid(mixed, 4, size / 4, 0, 1), 4);
    for (int way = 0; way < 3; way++) {
        CHECK_INT(partners(MPI_COMM_WORLD, way, 0), turns ? 0 : size / 2);
        CHECK_INT(partners(MPI_COMM_WORLD, way, 1), 0);
        CHECK_INT(partners(mixed, way, 1), 0);
    }
    CHECK_OK(MPI_Comm_free(&mixed));
}

static void same(void)
{
    int size = world_size(), dims[] = {2, size / 2}, periods[] = {0, 0}, mapped = -1;
    MPI_Comm comm;
    int rank = world_rank(), far = (rank + size / 2) % size;
    CHECK_OK(MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &mapped));
    CHECK_INT(mapped, rank);
    CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &comm));
    CHECK_INT(rank_of(comm), rank);
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK_OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &far, MPI_UNWEIGHTED, 1, &far,
                                            MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &comm));
    CHECK_INT(rank_of(comm), rank);
    CHECK_OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    CHECK(argc == 2);
    turns = strcmp(argv[1], "turns") == 0;
    if (turns || strcmp(argv[1], "halves") == 0)
        halves();
    else
        same();
    CHECK_OK(MPI_Finalize());
    return 0;
}
