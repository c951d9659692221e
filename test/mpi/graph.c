// SPDX-License-Identifier: BSD-3-Clause
//
// Graphs of many shapes: everything that can be asked about them, and a message along every edge.
// With and without reorder, on the world and on other communicators, smaller than these too.

#include "comm_check.h"

typedef struct graph {
    int nnodes, nedges;
    int *index, *edges;
} graph;

static void start(graph *g, int nnodes, int most)
{
    *g = (graph){.nnodes = nnodes};
    g->index = must_alloc((size_t)nnodes * sizeof(int));
    g->edges = must_alloc((size_t)most * sizeof(int));
}

enum { RING, TREE, STAR, GRID, RANDOM, EMPTY, SHAPES };

// The same on every rank.
static void make(graph *g, int shape, int n)
{
    uint64_t random = 7;
    start(g, n, n * 8);
    for (int v = 0; v < n; v++) {
        int *e = g->edges, side = 1;
        while (side * side < n)
            side++;
        switch (shape) {
        case RING: // numbered so that neighbours are far from each other
            e[g->nedges++] = (v + n / 2) % n;
            e[g->nedges++] = (v + n - n / 2) % n;
            break;
        case TREE:
            for (int child = 2 * v + 1; child <= 2 * v + 2 && child < n; child++)
                e[g->nedges++] = child;
            if (v > 0)
                e[g->nedges++] = (v - 1) / 2;
            break;
        case STAR:
            if (v > 0)
                e[g->nedges++] = 0;
            for (int other = 1; v == 0 && other < n; other++)
                e[g->nedges++] = other;
            break;
        case GRID:
            if (v % side > 0)
                e[g->nedges++] = v - 1;
            if (v % side < side - 1 && v + 1 < n)
                e[g->nedges++] = v + 1;
            if (v >= side)
                e[g->nedges++] = v - side;
            if (v + side < n)
                e[g->nedges++] = v + side;
            break;
        case RANDOM: // with loops, double edges, and edges that lead only one way
            for (int k = random_below(&random, 8); k > 0; k--)
                e[g->nedges++] = random_below(&random, n);
            break;
        default:
            break;
        }
        g->index[v] = g->nedges;
    }
}

static void check_questions(MPI_Comm comm, const graph *g)
{
    int kind = -1, nnodes = -1, nedges = -1;
    int *index = must_alloc((size_t)g->nnodes * sizeof(int));
    int *edges = must_alloc((size_t)g->nedges * sizeof(int) + sizeof(int));
    CHECK_OK(MPI_Topo_test(comm, &kind));
    CHECK_INT(kind, MPI_GRAPH);
    CHECK_OK(MPI_Graphdims_get(comm, &nnodes, &nedges));
    CHECK_INT(nnodes, g->nnodes);
    CHECK_INT(nedges, g->nedges);
    CHECK_OK(MPI_Graph_get(comm, nnodes, nedges, index, edges));
    CHECK(memcmp(index, g->index, (size_t)nnodes * sizeof(int)) == 0);
    CHECK(memcmp(edges, g->edges, (size_t)nedges * sizeof(int)) == 0);
    for (int v = 0; v < nnodes; v++) {
        int first = v ? g->index[v - 1] : 0, count = -1;
        CHECK_OK(MPI_Graph_neighbors_count(comm, v, &count));
        CHECK_INT(count, g->index[v] - first);
        edges[count] = -77;
        CHECK_OK(MPI_Graph_neighbors(comm, v, count, edges));
        CHECK(memcmp(edges, g->edges + first, (size_t)count * sizeof(int)) == 0);
        CHECK_INT(edges[count], -77);
    }
    free(index);
    free(edges);
}

// Along every edge goes the sender's rank in the graph.
static void check_messages(MPI_Comm comm, const graph *g)
{
    int rank = rank_of(comm), incoming = 0, first = rank ? g->index[rank - 1] : 0;
    int outgoing = g->index[rank] - first;
    MPI_Request *requests = must_alloc((size_t)outgoing * sizeof(MPI_Request));
    for (int i = 0; i < g->nedges; i++)
        incoming += g->edges[i] == rank;
    for (int i = 0; i < outgoing; i++)
        CHECK_OK(MPI_Isend(&rank, 1, MPI_INT, g->edges[first + i], 9, comm, &requests[i]));
    for (; incoming > 0; incoming--) {
        int got = -1, found = 0;
        MPI_Status status;
        CHECK_OK(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 9, comm, &status));
        CHECK_INT(got, status.MPI_SOURCE);
        for (int i = got ? g->index[got - 1] : 0; i < g->index[got]; i++)
            found |= g->edges[i] == rank;
        CHECK(found);
    }
    CHECK_OK(MPI_Waitall(outgoing, requests, MPI_STATUSES_IGNORE));
    CHECK_OK(MPI_Barrier(comm));
    free(requests);
}

static void check_graph(MPI_Comm old, int shape, int nnodes, int reorder)
{
    graph g;
    MPI_Comm comm = old, copy;
    int mapped = -1;
    make(&g, shape, nnodes);
    CHECK_OK(MPI_Graph_map(old, nnodes, g.index, g.edges, &mapped));
    CHECK_OK(MPI_Graph_create(old, nnodes, g.index, g.edges, reorder, &comm));
    CHECK((comm == MPI_COMM_NULL) == (rank_of(old) >= nnodes));
    CHECK((mapped == MPI_UNDEFINED) == (rank_of(old) >= nnodes));
    if (comm != MPI_COMM_NULL) {
        CHECK_INT(size_of(comm), nnodes);
        CHECK_INT(rank_of(comm), reorder ? mapped : rank_of(old));
        check_questions(comm, &g);
        check_messages(comm, &g);
        CHECK_OK(MPI_Comm_dup(comm, &copy));
        CHECK_OK(MPI_Comm_free(&comm));
        check_questions(copy, &g);
        check_messages(copy, &g);
        CHECK_OK(MPI_Comm_free(&copy));
    }
    free(g.index);
    free(g.edges);
}

static void check_all(MPI_Comm old)
{
    int size = size_of(old);
    for (int shape = 0; shape < SHAPES; shape++)
        for (int reorder = 0; reorder < 2; reorder++) {
            check_graph(old, shape, size, reorder);
            check_graph(old, shape, size / 2 + 1, reorder);
        }
    MPI_Comm none = old;
    CHECK_OK(MPI_Graph_create(old, 0, NULL, NULL, 0, &none));
    CHECK(none == MPI_COMM_NULL);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    MPI_Comm part;
    int rank = world_rank();
    check_all(MPI_COMM_WORLD);
    check_all(MPI_COMM_SELF);
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, (int)((unsigned)rank * 2654435761u >> 16), &part));
    check_all(part);
    CHECK_OK(MPI_Comm_free(&part));
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part));
    check_all(part);
    CHECK_OK(MPI_Comm_free(&part));
    CHECK_OK(MPI_Finalize());
    return 0;
}
