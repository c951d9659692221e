// SPDX-License-Identifier: BSD-3-Clause
//
// Wrong arguments of everything about graphs: the right class, and an error message that names the
// function and the value. All ranks make the same mistake, and nothing is created.

#include "comm_check.h"

#define WORLD MPI_COMM_WORLD
#define BAD   CHECK_ERROR

// MPI_Graph_create and MPI_Graph_map take the same.
static void creating(MPI_Comm comm, int nnodes, const int *index, const int *edges, int class,
                     const char *word)
{
    MPI_Comm graph = MPI_COMM_NULL;
    int mapped = -1;
    BAD(MPI_Graph_create(comm, nnodes, index, edges, 0, &graph), class, "MPI_Graph_create", word);
    BAD(MPI_Graph_create(comm, nnodes, index, edges, 1, &graph), class, "MPI_Graph_create", word);
    BAD(MPI_Graph_map(comm, nnodes, index, edges, &mapped), class, "MPI_Graph_map", word);
    CHECK(graph == MPI_COMM_NULL);
    CHECK_INT(mapped, -1);
}

static void wrong_graphs(void)
{
    int n = world_size(), edges[] = {0, 0};
    int *index = must_alloc(((size_t)n + 1) * sizeof(int));
    MPI_Comm graph = MPI_COMM_NULL;
    char text[64];
    for (int v = 0; v <= n; v++)
        index[v] = 2;
    creating(WORLD, -6, index, edges, MPI_ERR_ARG, "nnodes is -6");
    snprintf(text, sizeof text, "nnodes is %d", n + 1);
    creating(WORLD, n + 1, index, edges, MPI_ERR_ARG, text);
    creating(WORLD, n, NULL, edges, MPI_ERR_ARG, "index");
    creating(WORLD, n, index, NULL, MPI_ERR_ARG, "edges");
    creating(MPI_COMM_NULL, n, index, edges, MPI_ERR_COMM, "MPI_COMM_NULL");
    edges[1] = n;
    snprintf(text, sizeof text, "edges[1] is %d", n);
    creating(WORLD, n, index, edges, MPI_ERR_ARG, text);
    edges[1] = -1;
    creating(WORLD, n, index, edges, MPI_ERR_ARG, "edges[1] is -1");
    edges[1] = 0;
    index[0] = -1;
    creating(WORLD, n, index, edges, MPI_ERR_ARG, "index[0] is -1");
    index[0] = 2;
    if (n > 1) {
        index[n - 1] = 1;
        snprintf(text, sizeof text, "index[%d] is 1, but should be at least 2", n - 1);
        creating(WORLD, n, index, edges, MPI_ERR_ARG, text);
        index[n - 1] = 2;
    }
    BAD(MPI_Graph_create(WORLD, n, index, edges, 0, NULL), MPI_ERR_ARG, "MPI_Graph_create",
        "comm_graph");
    BAD(MPI_Graph_map(WORLD, n, index, edges, NULL), MPI_ERR_ARG, "MPI_Graph_map", "newrank");
    CHECK(graph == MPI_COMM_NULL);
    free(index);
}

static void asking(void)
{
    // Each rank for itself: one node, three loops.
    int index[] = {3}, edges[] = {0, 0, 0}, room[3], x, y;
    MPI_Comm graph;
    CHECK_OK(MPI_Graph_create(MPI_COMM_SELF, 1, index, edges, 0, &graph));
    BAD(MPI_Graph_get(graph, 0, 3, room, room), MPI_ERR_ARG, "MPI_Graph_get", "maxindex is 0");
    BAD(MPI_Graph_get(graph, 1, 2, room, room), MPI_ERR_ARG, "MPI_Graph_get", "maxedges is 2");
    BAD(MPI_Graph_get(graph, 1, 3, NULL, room), MPI_ERR_ARG, "MPI_Graph_get", "index");
    BAD(MPI_Graph_get(graph, 1, 3, room, NULL), MPI_ERR_ARG, "MPI_Graph_get", "edges");
    BAD(MPI_Graph_neighbors(graph, 0, 2, room), MPI_ERR_ARG, "MPI_Graph_neighbors",
        "maxneighbors is 2");
    BAD(MPI_Graph_neighbors(graph, 1, 3, room), MPI_ERR_RANK, "MPI_Graph_neighbors", "rank is 1");
    BAD(MPI_Graph_neighbors(graph, -1, 3, room), MPI_ERR_RANK, "MPI_Graph_neighbors", "-1");
    BAD(MPI_Graph_neighbors(graph, 0, 3, NULL), MPI_ERR_ARG, "MPI_Graph_neighbors", "neighbors");
    BAD(MPI_Graph_neighbors_count(graph, 1, &x), MPI_ERR_RANK, "MPI_Graph_neighbors_count",
        "rank is 1");
    BAD(MPI_Graph_neighbors_count(graph, -1, &x), MPI_ERR_RANK, "MPI_Graph_neighbors_count", "-1");
    BAD(MPI_Graph_neighbors_count(graph, 0, NULL), MPI_ERR_ARG, "MPI_Graph_neighbors_count",
        "nneighbors");
    BAD(MPI_Graphdims_get(graph, NULL, &y), MPI_ERR_ARG, "MPI_Graphdims_get", "nnodes");
    BAD(MPI_Graphdims_get(graph, &x, NULL), MPI_ERR_ARG, "MPI_Graphdims_get", "nedges");
    CHECK_OK(MPI_Comm_free(&graph));
}

static void wrong_kind(MPI_Comm comm, const char *word)
{
    int x, y, room[3];
    BAD(MPI_Graphdims_get(comm, &x, &y), MPI_ERR_TOPOLOGY, "MPI_Graphdims_get", word);
    BAD(MPI_Graph_get(comm, 3, 3, room, room), MPI_ERR_TOPOLOGY, "MPI_Graph_get", word);
    BAD(MPI_Graph_neighbors(comm, 0, 3, room), MPI_ERR_TOPOLOGY, "MPI_Graph_neighbors", word);
    BAD(MPI_Graph_neighbors_count(comm, 0, &x), MPI_ERR_TOPOLOGY, "MPI_Graph_neighbors_count",
        word);
}

static void intercommunicator(void)
{
    MPI_Comm half, inter;
    int rank = world_rank(), index[] = {1}, edges[] = {0};
    if (world_size() < 2)
        return;
    CHECK_OK(MPI_Comm_split(WORLD, rank % 2, rank, &half));
    CHECK_OK(MPI_Intercomm_create(half, 0, WORLD, 1 - rank % 2, 7, &inter));
    CHECK_OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    creating(inter, 1, index, edges, MPI_ERR_COMM, "intercommunicator");
    CHECK_OK(MPI_Comm_free(&inter));
    CHECK_OK(MPI_Comm_free(&half));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    int dims[] = {1};
    MPI_Comm cart, dist;
    wrong_graphs();
    asking();
    wrong_kind(WORLD, "no topology");
    CHECK_OK(MPI_Cart_create(MPI_COMM_SELF, 1, dims, dims, 0, &cart));
    wrong_kind(cart, "Cartesian");
    CHECK_OK(MPI_Comm_free(&cart));
    CHECK_OK(MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 0, NULL, MPI_UNWEIGHTED, 0, NULL,
                                            MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &dist));
    wrong_kind(dist, "distributed graph");
    CHECK_OK(MPI_Comm_free(&dist));
    intercommunicator();
    CHECK_OK(MPI_Finalize());
    return 0;
}
