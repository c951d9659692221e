// SPDX-License-Identifier: BSD-3-Clause
//
// Wrong arguments of everything about distributed graphs: the right class, and an error message
// that names the function and the value. Weights on one rank only are found by all.

#include "comm_check.h"

#define WORLD MPI_COMM_WORLD
#define BAD   CHECK_ERROR
#define ADJACENT(comm, in, sources, weights, out, destinations, weights2, result)                  \
    MPI_Dist_graph_create_adjacent(comm, in, sources, weights, out, destinations, weights2,        \
                                   MPI_INFO_NULL, 0, result)
#define GENERAL(comm, n, sources, degrees, destinations, weights, result)                          \
    MPI_Dist_graph_create(comm, n, sources, degrees, destinations, weights, MPI_INFO_NULL, 0,      \
                          result)

static void adjacent(void)
{
    const char *fn = "MPI_Dist_graph_create_adjacent";
    MPI_Comm g = MPI_COMM_NULL;
    int size = world_size(), one[] = {0, 0}, high[] = {0, size}, low[] = {0, -1}, w[] = {5, 5};
    int negative[] = {5, -5}, *none = MPI_UNWEIGHTED, *empty = MPI_WEIGHTS_EMPTY;
    char text[64];
    snprintf(text, sizeof text, "[1] is %d", size);
    BAD(ADJACENT(WORLD, -1, one, none, 0, one, none, &g), MPI_ERR_ARG, fn, "indegree is -1");
    BAD(ADJACENT(WORLD, 0, one, none, -2, one, none, &g), MPI_ERR_ARG, fn, "outdegree is -2");
    BAD(ADJACENT(WORLD, 2, high, none, 0, one, none, &g), MPI_ERR_RANK, fn, text);
    BAD(ADJACENT(WORLD, 0, one, none, 2, high, none, &g), MPI_ERR_RANK, fn, text);
    BAD(ADJACENT(WORLD, 2, low, none, 0, one, none, &g), MPI_ERR_RANK, fn, "sources[1] is -1");
    BAD(ADJACENT(WORLD, 0, one, none, 2, low, none, &g), MPI_ERR_RANK, fn, "destinations[1] is -1");
    BAD(ADJACENT(WORLD, 2, NULL, none, 0, one, none, &g), MPI_ERR_ARG, fn, "sources");
    BAD(ADJACENT(WORLD, 0, one, none, 2, NULL, none, &g), MPI_ERR_ARG, fn, "destinations");
    BAD(ADJACENT(WORLD, 2, one, w, 2, one, none, &g), MPI_ERR_ARG, fn,
        "destweights is MPI_UNWEIGHTED");
    BAD(ADJACENT(WORLD, 2, one, none, 2, one, w, &g), MPI_ERR_ARG, fn,
        "sourceweights is MPI_UNWEIGHTED");
    BAD(ADJACENT(WORLD, 2, one, empty, 0, one, empty, &g), MPI_ERR_ARG, fn, "MPI_WEIGHTS_EMPTY");
    BAD(ADJACENT(WORLD, 2, one, NULL, 0, one, w, &g), MPI_ERR_ARG, fn, "sourceweights is NULL");
    BAD(ADJACENT(WORLD, 2, one, negative, 0, one, w, &g), MPI_ERR_ARG, fn,
        "sourceweights[1] is -5");
    BAD(ADJACENT(WORLD, 0, one, w, 2, one, negative, &g), MPI_ERR_ARG, fn, "destweights[1] is -5");
    BAD(ADJACENT(WORLD, 2, one, w, 2, one, w, NULL), MPI_ERR_ARG, fn, "comm_dist_graph");
    BAD(ADJACENT(MPI_COMM_NULL, 2, one, w, 2, one, w, &g), MPI_ERR_COMM, fn, "MPI_COMM_NULL");
    BAD(MPI_Dist_graph_create_adjacent(WORLD, 0, one, w, 0, one, w, (MPI_Info)12345, 0, &g),
        MPI_ERR_INFO, fn, "info");
    CHECK(g == MPI_COMM_NULL);
}

static void general(void)
{
    const char *fn = "MPI_Dist_graph_create";
    MPI_Comm g = MPI_COMM_NULL;
    int size = world_size(), one[] = {0, 0}, high[] = {0, size}, low[] = {0, -1}, w[] = {5, 5};
    int degrees[] = {1, 1}, wrong[] = {1, -1}, negative[] = {-5, 5};
    char text[64];
    snprintf(text, sizeof text, "sources[1] is %d", size);
    BAD(GENERAL(WORLD, -1, one, degrees, one, w, &g), MPI_ERR_ARG, fn, "n is -1");
    BAD(GENERAL(WORLD, 2, high, degrees, one, w, &g), MPI_ERR_RANK, fn, text);
    BAD(GENERAL(WORLD, 2, low, degrees, one, w, &g), MPI_ERR_RANK, fn, "sources[1] is -1");
    BAD(GENERAL(WORLD, 2, one, wrong, one, w, &g), MPI_ERR_ARG, fn, "degrees[1] is -1");
    BAD(GENERAL(WORLD, 2, one, degrees, low, w, &g), MPI_ERR_RANK, fn, "destinations[1] is -1");
    BAD(GENERAL(WORLD, 2, one, degrees, high, w, &g), MPI_ERR_RANK, fn, "destinations[1]");
    BAD(GENERAL(WORLD, 2, NULL, degrees, one, w, &g), MPI_ERR_ARG, fn, "sources");
    BAD(GENERAL(WORLD, 2, one, NULL, one, w, &g), MPI_ERR_ARG, fn, "degrees");
    BAD(GENERAL(WORLD, 2, one, degrees, NULL, w, &g), MPI_ERR_ARG, fn, "destinations");
    BAD(GENERAL(WORLD, 2, one, degrees, one, NULL, &g), MPI_ERR_ARG, fn, "weights is NULL");
    BAD(GENERAL(WORLD, 2, one, degrees, one, MPI_WEIGHTS_EMPTY, &g), MPI_ERR_ARG, fn,
        "MPI_WEIGHTS_EMPTY");
    BAD(GENERAL(WORLD, 2, one, degrees, one, negative, &g), MPI_ERR_ARG, fn, "weights[0] is -5");
    BAD(GENERAL(WORLD, 2, one, degrees, one, w, NULL), MPI_ERR_ARG, fn, "comm_dist_graph");
    BAD(GENERAL(MPI_COMM_NULL, 2, one, degrees, one, w, &g), MPI_ERR_COMM, fn, "MPI_COMM_NULL");
    BAD(MPI_Dist_graph_create(WORLD, 0, one, degrees, one, w, (MPI_Info)12345, 0, &g), MPI_ERR_INFO,
        fn, "info");
    CHECK(g == MPI_COMM_NULL);
}

// The last rank gives weights, the others do not: all are told so.
static void disagree(void)
{
    MPI_Comm g = MPI_COMM_NULL;
    int size = world_size(), one[] = {0}, w[] = {5}, last = world_rank() == size - 1;
    const int *weights = last ? w : MPI_UNWEIGHTED;
    char text[128];
    if (size < 2)
        return;
    snprintf(text, sizeof text, "rank %d of MPI_COMM_WORLD gave weights and rank 0 gave", size - 1);
    for (int reorder = 0; reorder < 2; reorder++) {
        BAD(MPI_Dist_graph_create_adjacent(WORLD, 1, one, weights, 1, one, weights, MPI_INFO_NULL,
                                           reorder, &g),
            MPI_ERR_ARG, "MPI_Dist_graph_create_adjacent", text);
        BAD(MPI_Dist_graph_create(WORLD, 1, one, one, one, weights, MPI_INFO_NULL, reorder, &g),
            MPI_ERR_ARG, "MPI_Dist_graph_create", text);
    }
    CHECK(g == MPI_COMM_NULL);
    CHECK_OK(ADJACENT(WORLD, 0, one, one, 0, one, one, &g)); // and go on
    CHECK_OK(MPI_Comm_free(&g));
}

static void wrong_kind(MPI_Comm comm, const char *word)
{
    int x, y, z, room[3];
    BAD(MPI_Dist_graph_neighbors_count(comm, &x, &y, &z), MPI_ERR_TOPOLOGY,
        "MPI_Dist_graph_neighbors_count", word);
    BAD(MPI_Dist_graph_neighbors(comm, 3, room, room, 3, room, room), MPI_ERR_TOPOLOGY,
        "MPI_Dist_graph_neighbors", word);
}

static void asking(void)
{
    int one[] = {0}, room[1], x, y;
    MPI_Comm g;
    CHECK_OK(ADJACENT(MPI_COMM_SELF, 1, one, MPI_UNWEIGHTED, 1, one, MPI_UNWEIGHTED, &g));
    BAD(MPI_Dist_graph_neighbors(g, -1, room, room, 1, room, room), MPI_ERR_ARG,
        "MPI_Dist_graph_neighbors", "maxindegree is -1");
    BAD(MPI_Dist_graph_neighbors(g, 1, room, room, -4, room, room), MPI_ERR_ARG,
        "MPI_Dist_graph_neighbors", "maxoutdegree is -4");
    BAD(MPI_Dist_graph_neighbors(g, 1, NULL, room, 1, room, room), MPI_ERR_ARG,
        "MPI_Dist_graph_neighbors", "sources");
    BAD(MPI_Dist_graph_neighbors(g, 1, room, room, 1, NULL, room), MPI_ERR_ARG,
        "MPI_Dist_graph_neighbors", "destinations");
    BAD(MPI_Dist_graph_neighbors_count(g, NULL, &x, &y), MPI_ERR_ARG,
        "MPI_Dist_graph_neighbors_count", "indegree");
    BAD(MPI_Dist_graph_neighbors_count(g, &x, NULL, &y), MPI_ERR_ARG,
        "MPI_Dist_graph_neighbors_count", "outdegree");
    BAD(MPI_Dist_graph_neighbors_count(g, &x, &y, NULL), MPI_ERR_ARG,
        "MPI_Dist_graph_neighbors_count", "weighted");
    CHECK_OK(MPI_Comm_free(&g));
}

static void intercommunicator(void)
{
    MPI_Comm half, inter, g = MPI_COMM_NULL;
    int rank = world_rank(), one[] = {0};
    if (world_size() < 2)
        return;
    CHECK_OK(MPI_Comm_split(WORLD, rank % 2, rank, &half));
    CHECK_OK(MPI_Intercomm_create(half, 0, WORLD, 1 - rank % 2, 7, &inter));
    CHECK_OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    BAD(ADJACENT(inter, 0, one, one, 0, one, one, &g), MPI_ERR_COMM,
        "MPI_Dist_graph_create_adjacent", "intercommunicator");
    BAD(GENERAL(inter, 0, one, one, one, one, &g), MPI_ERR_COMM, "MPI_Dist_graph_create",
        "intercommunicator");
    CHECK_OK(MPI_Comm_free(&inter));
    CHECK_OK(MPI_Comm_free(&half));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    int dims[] = {1};
    MPI_Comm cart;
    adjacent();
    general();
    disagree();
    asking();
    wrong_kind(WORLD, "no topology");
    CHECK_OK(MPI_Cart_create(MPI_COMM_SELF, 1, dims, dims, 0, &cart));
    wrong_kind(cart, "Cartesian");
    CHECK_OK(MPI_Comm_free(&cart));
    intercommunicator();
    CHECK_OK(MPI_Finalize());
    return 0;
}
