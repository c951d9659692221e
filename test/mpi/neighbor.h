// SPDX-License-Identifier: BSD-3-Clause
// What the tests of neighbourhood collectives share: communicators with neighbours, and who they
// are according to the functions that ask for them.
#pragma once

#include <stdbool.h>

#include "comm_check.h"

enum { MOST_NEIGHBOURS = 64 };

// Neighbours in one direction. Both ends of an edge know it by the same id.
typedef struct edges {
    int count;
    int peer[MOST_NEIGHBOURS], id[MOST_NEIGHBOURS];
} edges;

typedef struct around {
    MPI_Comm comm;
    int rank, size;
    edges out, in;
} around;

// The n-th edge from here to a rank is its n-th edge from here.
static inline void name_edges(edges *e)
{
    for (int i = 0; i < e->count; i++) {
        e->id[i] = 0;
        for (int j = 0; j < i; j++)
            e->id[i] += e->peer[j] == e->peer[i];
    }
}

static inline void look_around_grid(around *a)
{
    int dims = -1;
    CHECK_OK(MPI_Cartdim_get(a->comm, &dims));
    a->out.count = a->in.count = 2 * dims;
    CHECK(2 * dims <= MOST_NEIGHBOURS);
    for (int d = 0; d < dims; d++) {
        int down = -9, up = -9;
        CHECK_OK(MPI_Cart_shift(a->comm, d, 1, &down, &up));
        a->out.peer[2 * d] = a->in.peer[2 * d] = down;
        a->out.peer[2 * d + 1] = a->in.peer[2 * d + 1] = up;
        a->out.id[2 * d] = a->in.id[2 * d + 1] = 2 * d; // what goes down comes from above
        a->out.id[2 * d + 1] = a->in.id[2 * d] = 2 * d + 1;
    }
}

static inline around look_around(MPI_Comm comm)
{
    around a = {.comm = comm, .rank = rank_of(comm), .size = size_of(comm)};
    int kind = MPI_UNDEFINED;
    CHECK_OK(MPI_Topo_test(comm, &kind));
    if (kind == MPI_CART) {
        look_around_grid(&a);
        return a;
    }
    if (kind == MPI_GRAPH) {
        CHECK_OK(MPI_Graph_neighbors_count(comm, a.rank, &a.out.count));
        CHECK(a.out.count <= MOST_NEIGHBOURS);
        CHECK_OK(MPI_Graph_neighbors(comm, a.rank, MOST_NEIGHBOURS, a.out.peer));
        name_edges(&a.out);
        a.in = a.out;
        return a;
    }
    int weighted = -1;
    CHECK_OK(MPI_Dist_graph_neighbors_count(comm, &a.in.count, &a.out.count, &weighted));
    CHECK(a.in.count <= MOST_NEIGHBOURS && a.out.count <= MOST_NEIGHBOURS);
    CHECK_OK(MPI_Dist_graph_neighbors(comm, MOST_NEIGHBOURS, a.in.peer, MPI_UNWEIGHTED,
                                      MOST_NEIGHBOURS, a.out.peer, MPI_UNWEIGHTED));
    name_edges(&a.in);
    name_edges(&a.out);
    return a;
}

// ---- communicators

static inline MPI_Comm make_grid(int dims, const int *size, const int *periods)
{
    MPI_Comm grid = MPI_COMM_NULL;
    CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, dims, size, periods, 0, &grid));
    return grid;
}

// A random graph, the same on all ranks: numbers of edges between each pair, symmetric or not.
static inline void random_matrix(int n, int *edge, bool symmetric, uint64_t seed)
{
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
            int kind = random_below(&seed, 8);
            edge[a * n + b] = kind < 3 ? 1 : kind == 3 ? 2 : kind == 4 && n < 8 ? 3 : 0;
        }
    for (int a = 0; a < n && symmetric; a++)
        for (int b = 0; b < a; b++)
            edge[a * n + b] = edge[b * n + a];
    for (int a = 0; a < n && n > 12; a++) // few of many
        for (int b = 0; b < n; b++)
            if ((a + b) % 3)
                edge[a * n + b] = 0;
}

static inline MPI_Comm make_graph(uint64_t seed)
{
    int n = world_size(), count = 0;
    int *edge = must_alloc((size_t)n * (size_t)n * sizeof(int));
    int *index = must_alloc((size_t)n * sizeof(int));
    int *list = must_alloc((size_t)n * (size_t)n * 3 * sizeof(int));
    MPI_Comm graph = MPI_COMM_NULL;
    random_matrix(n, edge, true, seed);
    for (int a = 0; a < n; a++) {
        for (int k = 0; k < 3; k++) // edges to one node do not stand together
            for (int b = 0; b < n; b++)
                if (edge[a * n + b] > k)
                    list[count++] = b;
        index[a] = count;
    }
    CHECK_OK(MPI_Graph_create(MPI_COMM_WORLD, n, index, list, 0, &graph));
    free(edge);
    free(index);
    free(list);
    return graph;
}

static inline MPI_Comm make_dist_graph(uint64_t seed)
{
    int n = world_size(), me = world_rank(), in = 0, out = 0;
    int *edge = must_alloc((size_t)n * (size_t)n * sizeof(int));
    int sources[MOST_NEIGHBOURS], destinations[MOST_NEIGHBOURS];
    MPI_Comm graph = MPI_COMM_NULL;
    random_matrix(n, edge, false, seed);
    for (int k = 0; k < 3; k++)
        for (int b = n - 1; b >= 0; b--) {
            if (edge[me * n + b] > k)
                destinations[out++] = b;
            if (edge[b * n + me] > k)
                sources[in++] = b;
            CHECK(in < MOST_NEIGHBOURS && out < MOST_NEIGHBOURS);
        }
    CHECK_OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, sources, MPI_UNWEIGHTED, out,
                                            destinations, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                            &graph));
    free(edge);
    return graph;
}
