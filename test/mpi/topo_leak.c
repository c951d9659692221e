// SPDX-License-Identifier: BSD-3-Clause
//
// Topologies of every kind are made and freed again and again, with and without reorder, and the
// process does not grow. The argument is the number of rounds.

#include "comm_check.h"
#include "growth.h"

static void one_round(int reorder)
{
    int size = world_size(), rank = world_rank(), dims[3] = {0}, periods[] = {1, 0, 1};
    int remain[] = {0, 1, 1}, next = (rank + 1) % size, before = (rank + size - 1) % size, one = 1;
    int *index = must_alloc((size_t)size * sizeof(int)),
        *edges = must_alloc((size_t)size * sizeof(int));
    MPI_Comm cart, part, graph, dist, adjacent, copy;
    for (int v = 0; v < size; v++) {
        index[v] = v + 1;
        edges[v] = (v + 1) % size;
    }
    CHECK_OK(MPI_Dims_create(size, 3, dims));
    CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, reorder, &cart));
    CHECK_OK(MPI_Cart_sub(cart, remain, &part));
    CHECK_OK(MPI_Graph_create(cart, size, index, edges, reorder, &graph));
    CHECK_OK(
        MPI_Dist_graph_create(cart, 1, &rank, &one, &next, &one, MPI_INFO_NULL, reorder, &dist));
    CHECK_OK(MPI_Dist_graph_create_adjacent(graph, 1, &before, MPI_UNWEIGHTED, 1, &next,
                                            MPI_UNWEIGHTED, MPI_INFO_NULL, reorder, &adjacent));
    CHECK_OK(MPI_Comm_dup(dist, &copy));
    CHECK_OK(MPI_Comm_free(&cart));
    CHECK_OK(MPI_Comm_free(&part));
    CHECK_OK(MPI_Comm_free(&graph));
    CHECK_OK(MPI_Comm_free(&dist));
    CHECK_OK(MPI_Comm_free(&adjacent));
    CHECK_OK(MPI_Comm_free(&copy));
    free(index);
    free(edges);
}

// Mistakes leave nothing behind either.
static void one_mistake(void)
{
    int one = 1, zero = 0, w[] = {1}, last = world_rank() == world_size() - 1;
    MPI_Comm comm;
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 1, &zero, &one, 1, &comm) != MPI_SUCCESS);
    CHECK(MPI_Graph_create(MPI_COMM_WORLD, 1, &one, &one, 1, &comm) != MPI_SUCCESS);
    if (world_size() == 1)
        return;
    for (int reorder = 0; reorder < 2; reorder++) {
        const int *weights = last ? w : MPI_UNWEIGHTED;
        CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &zero, weights, 1, &zero, weights,
                                             MPI_INFO_NULL, reorder, &comm) != MPI_SUCCESS);
        CHECK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &zero, &one, &zero, weights, MPI_INFO_NULL,
                                    reorder, &comm) != MPI_SUCCESS);
    }
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    CHECK(argc == 2);
    errors_return();
    int rounds = atoi(argv[1]);
    long start = 0;
    for (int i = 0; i < rounds; i++) {
        one_round(i % 2);
        if (i % 10 == 0)
            one_mistake();
        if (i == rounds / 4) { // pools have their size, memory its shape
            CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
            start = resident_bytes();
        }
    }
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    long grown = resident_bytes() - start;
    if (grown > 256 * 1024)
        check_fail(__FILE__, __LINE__, "grew by %ld bytes in %d rounds", grown,
                   rounds - rounds / 4);
    CHECK_OK(MPI_Finalize());
    return 0;
}
