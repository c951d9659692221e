// SPDX-License-Identifier: BSD-3-Clause
//
// Distributed graphs, made in both ways from one random list of edges that every rank knows: the
// neighbours and weights of every rank, their order, and a message along every edge. With and
// without weights, reorder and hints.

#include "comm_check.h"

typedef struct edge {
    int from, to, weight, giver; // giver: the rank that tells MPI_Dist_graph_create
} edge;

typedef struct list {
    int count;
    edge *edges;
} list;

static list make(int size, int most, uint64_t seed)
{
    list l = {.count = size > 0 ? random_below(&seed, most + 1) : 0};
    l.edges = must_alloc((size_t)l.count * sizeof(edge));
    for (int i = 0; i < l.count; i++)
        l.edges[i] = (edge){random_below(&seed, size), random_below(&seed, size),
                            random_below(&seed, 1000), random_below(&seed, size)};
    return l;
}

// The edges of a node, in the order of the list: in or out.
static int pick(const list *l, int node, int out, int *others, int *weights)
{
    int n = 0;
    for (int i = 0; i < l->count; i++)
        if ((out ? l->edges[i].from : l->edges[i].to) == node) {
            others[n] = out ? l->edges[i].to : l->edges[i].from;
            weights[n++] = l->edges[i].weight;
        }
    return n;
}

static int by_pair(const void *a, const void *b)
{
    return memcmp(a, b, 2 * sizeof(int));
}

// The same pairs of neighbour and weight; in the same order, too, if that is promised.
static void check_side(int n, const int *got, const int *got_weights, int want_n, const int *want,
                       const int *want_weights, int weighted, int ordered)
{
    int(*a)[2] = must_alloc((size_t)n * sizeof *a), (*b)[2] = must_alloc((size_t)n * sizeof *b);
    CHECK_INT(n, want_n);
    for (int i = 0; i < n; i++) {
        a[i][0] = got[i], a[i][1] = weighted ? got_weights[i] : 0;
        b[i][0] = want[i], b[i][1] = weighted ? want_weights[i] : 0;
    }
    if (!ordered) {
        qsort(a, (size_t)n, sizeof *a, by_pair);
        qsort(b, (size_t)n, sizeof *b, by_pair);
    }
    for (int i = 0; i < n; i++) {
        CHECK_INT(a[i][0], b[i][0]);
        CHECK_INT(a[i][1], b[i][1]);
    }
    free(a);
    free(b);
}

static void check_messages(MPI_Comm comm, int in, const int *sources, int out,
                           const int *destinations)
{
    int rank = rank_of(comm);
    int *got = must_alloc((size_t)in * sizeof(int));
    MPI_Request *requests = must_alloc((size_t)(in + out) * sizeof(MPI_Request));
    for (int i = 0; i < in; i++)
        CHECK_OK(MPI_Irecv(&got[i], 1, MPI_INT, sources[i], 4, comm, &requests[i]));
    for (int i = 0; i < out; i++)
        CHECK_OK(MPI_Isend(&rank, 1, MPI_INT, destinations[i], 4, comm, &requests[in + i]));
    CHECK_OK(MPI_Waitall(in + out, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < in; i++)
        CHECK_INT(got[i], sources[i]);
    CHECK_OK(MPI_Barrier(comm));
    free(got);
    free(requests);
}

static void check_comm(MPI_Comm comm, const list *l, int weighted, int ordered)
{
    int in = -1, out = -1, has = -1, kind = -1;
    size_t room = (size_t)l->count * sizeof(int);
    int *sources = must_alloc(room), *source_weights = must_alloc(room), *want = must_alloc(room);
    int *destinations = must_alloc(room), *destination_weights = must_alloc(room);
    int *want_weights = must_alloc(room);
    CHECK_OK(MPI_Topo_test(comm, &kind));
    CHECK_INT(kind, MPI_DIST_GRAPH);
    CHECK_OK(MPI_Dist_graph_neighbors_count(comm, &in, &out, &has));
    CHECK_INT(has != 0, weighted);
    CHECK_OK(MPI_Dist_graph_neighbors(comm, in, sources, weighted ? source_weights : MPI_UNWEIGHTED,
                                      out, destinations,
                                      weighted ? destination_weights : MPI_UNWEIGHTED));
    int n = pick(l, rank_of(comm), 0, want, want_weights);
    check_side(in, sources, source_weights, n, want, want_weights, weighted, ordered);
    n = pick(l, rank_of(comm), 1, want, want_weights);
    check_side(out, destinations, destination_weights, n, want, want_weights, weighted, ordered);
    check_messages(comm, in, sources, out, destinations);
    if (STRICT && in > 0) { // the first part, if there is no room; weights that nobody asks for
        int first = sources[0];
        memset(want, 0x55, room);
        CHECK_OK(MPI_Dist_graph_neighbors(comm, 1, want, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED));
        CHECK_INT(want[0], first);
        CHECK(in == 1 || want[1] == 0x55555555);
    }
    free(sources);
    free(source_weights);
    free(destinations);
    free(destination_weights);
    free(want);
    free(want_weights);
}

static void check_and_free(MPI_Comm comm, MPI_Comm old, const list *l, int weighted, int ordered,
                           int reorder)
{
    MPI_Comm copy;
    CHECK_INT(size_of(comm), size_of(old));
    if (!reorder)
        CHECK_INT(rank_of(comm), rank_of(old));
    check_comm(comm, l, weighted, ordered);
    CHECK_OK(MPI_Comm_dup(comm, &copy));
    CHECK_OK(MPI_Comm_free(&comm));
    check_comm(copy, l, weighted, ordered);
    CHECK_OK(MPI_Comm_free(&copy));
}

static void adjacent(MPI_Comm old, const list *l, int weighted, int reorder, MPI_Info info)
{
    size_t room = (size_t)l->count * sizeof(int);
    int *sources = must_alloc(room), *source_weights = must_alloc(room);
    int *destinations = must_alloc(room), *destination_weights = must_alloc(room);
    int in = pick(l, rank_of(old), 0, sources, source_weights);
    int out = pick(l, rank_of(old), 1, destinations, destination_weights);
    const int *w = in ? source_weights : MPI_WEIGHTS_EMPTY;
    const int *v = out ? destination_weights : MPI_WEIGHTS_EMPTY;
    MPI_Comm comm;
    CHECK_OK(MPI_Dist_graph_create_adjacent(old, in, sources, weighted ? w : MPI_UNWEIGHTED, out,
                                            destinations, weighted ? v : MPI_UNWEIGHTED, info,
                                            reorder, &comm));
    check_and_free(comm, old, l, weighted, 1, reorder);
    free(sources);
    free(source_weights);
    free(destinations);
    free(destination_weights);
}

// Every rank tells its part of the list, sometimes several edges of a source at once.
static void general(MPI_Comm old, const list *l, int weighted, int reorder, MPI_Info info)
{
    size_t room = (size_t)l->count * sizeof(int);
    int *sources = must_alloc(room), *degrees = must_alloc(room), *weights = must_alloc(room);
    int *destinations = must_alloc(room), n = 0, edges = 0;
    for (int i = 0; i < l->count; i++) {
        const edge *e = &l->edges[i];
        if (e->giver != rank_of(old))
            continue;
        if (n > 0 && sources[n - 1] == e->from) {
            degrees[n - 1]++;
        } else {
            sources[n] = e->from;
            degrees[n++] = 1;
        }
        destinations[edges] = e->to;
        weights[edges++] = e->weight;
    }
    const int *w = edges ? weights : MPI_WEIGHTS_EMPTY;
    MPI_Comm comm;
    CHECK_OK(MPI_Dist_graph_create(old, n, sources, degrees, destinations,
                                   weighted ? w : MPI_UNWEIGHTED, info, reorder, &comm));
    // Ours come by giver, then in the order given.
    list sorted = {l->count, must_alloc((size_t)l->count * sizeof(edge))};
    for (int r = 0, next = 0; r < size_of(old); r++)
        for (int i = 0; i < l->count; i++)
            if (l->edges[i].giver == r)
                sorted.edges[next++] = l->edges[i];
    check_and_free(comm, old, &sorted, weighted, STRICT, reorder);
    free(sorted.edges);
    free(sources);
    free(degrees);
    free(weights);
    free(destinations);
}

static void check_all(MPI_Comm old, uint64_t seed)
{
    MPI_Info info;
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, "place", "close"));
    for (int round = 0; round < 6; round++) {
        int size = size_of(old);
        list l = make(size, round == 0 ? 0 : round == 1 ? 1 : 6 * size, seed + (uint64_t)round);
        for (int way = 0; way < 4; way++) {
            adjacent(old, &l, way % 2, way / 2, round % 2 ? info : MPI_INFO_NULL);
            general(old, &l, way % 2, way / 2, round % 2 ? info : MPI_INFO_NULL);
        }
        free(l.edges);
    }
    CHECK_OK(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    MPI_Comm part;
    int rank = world_rank();
    check_all(MPI_COMM_WORLD, 100);
    check_all(MPI_COMM_SELF, 200);
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, (int)((unsigned)rank * 2654435761u >> 16), &part));
    check_all(part, 300);
    CHECK_OK(MPI_Comm_free(&part));
    // Two at once, in the same workers.
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part));
    check_all(part, 400 + (uint64_t)(rank % 2));
    CHECK_OK(MPI_Comm_free(&part));
    CHECK_OK(MPI_Finalize());
    return 0;
}
