// SPDX-License-Identifier: BSD-3-Clause
//
// The neighbourhood collectives in all forms, on grids (periodic or not, also with one or two ranks
// in a dimension), on graphs and on distributed graphs (several edges between the same ranks, edges
// to itself, weights, ranks without neighbours, other degrees in than out).
//
// A block is known by its source, its destination and a mark. On graphs the mark counts the edges
// between the two; on a grid it is the sender's direction: what goes up arrives from below, also
// where both are the same rank.

#include "coll_check.h"

enum { EDGES_MOST = 512, MARKS = 64 };

struct neighbors {
    int ins, outs;
    int in[EDGES_MOST], out[EDGES_MOST];
    int in_mark[EDGES_MOST], out_mark[EDGES_MOST];
};

struct trial {
    struct coll_test *test;
    const struct neighbors *nb;
    enum coll_kind kind;
    const struct layout *slay, *rlay;
    int most, me;
    unsigned call;
    MPI_Count send_item[EDGES_MOST], recv_item[EDGES_MOST];
    struct area send, recv;
    struct coll_args args;
};

static int is_gather(const struct trial *y)
{
    return y->kind == NEIGHBOR_ALLGATHER || y->kind == NEIGHBOR_ALLGATHERV;
}

static int is_uneven(const struct trial *y)
{
    return y->kind == NEIGHBOR_ALLGATHERV || y->kind >= NEIGHBOR_ALLTOALLV;
}

static uint64_t key_of(const struct trial *y, int source, int mark, int dest)
{
    return is_gather(y) ? coll_key(y->call, source, -1)
                        : coll_key(y->call, source * MARKS + mark, dest);
}

// Items of a block; both datatypes have two ints.
static int items_of(const struct trial *y, int source, int mark, int dest)
{
    if (!is_uneven(y))
        return y->most;
    uint64_t h = is_gather(y) ? coll_mix((uint64_t)source + 77)
                              : coll_mix((uint64_t)(source * MARKS + mark) * 4096 + (uint64_t)dest);
    return h % 4 == 0 ? 0 : (int)(h % (uint64_t)(y->most + 1));
}

static void number_marks(struct neighbors *nb)
{
    for (int i = 0; i < nb->ins; i++) {
        nb->in_mark[i] = 0;
        for (int k = 0; k < i; k++)
            nb->in_mark[i] += nb->in[k] == nb->in[i];
    }
    for (int i = 0; i < nb->outs; i++) {
        nb->out_mark[i] = 0;
        for (int k = 0; k < i; k++)
            nb->out_mark[i] += nb->out[k] == nb->out[i];
    }
}

static void build(struct trial *y, MPI_Comm comm)
{
    const struct neighbors *nb = y->nb;
    struct coll_args *a = &y->args;
    int wide = y->kind == NEIGHBOR_ALLTOALLW, gap = is_uneven(y);
    MPI_Count item = gap;
    coll_args_init(a, nb->ins > nb->outs ? nb->ins : nb->outs);
    for (int i = 0; i < nb->outs && !is_gather(y); i++) {
        a->sendcounts[i] = items_of(y, y->me, nb->out_mark[i], nb->out[i]);
        a->sdispls[i] = (int)item * (wide ? y->slay->extent : 1);
        a->sendtypes[i] = y->slay->type;
        y->send_item[i] = item;
        item += a->sendcounts[i] + gap;
    }
    a->sendcount = is_gather(y) ? items_of(y, y->me, 0, 0) : y->most;
    area_init(&y->send, y->slay, item + a->sendcount);
    item = gap;
    for (int i = nb->ins - 1; i >= 0; i--) { // the last block comes first, where the kind allows
        a->recvcounts[i] = items_of(y, nb->in[i], nb->in_mark[i], y->me);
        y->recv_item[i] = is_uneven(y) ? item : (MPI_Count)i * y->most;
        a->rdispls[i] = (int)y->recv_item[i] * (wide ? y->rlay->extent : 1);
        a->recvtypes[i] = y->rlay->type;
        item += a->recvcounts[i] + gap;
    }
    a->recvcount = y->most;
    area_init(&y->recv, y->rlay, item);
    a->sendtype = y->slay->type;
    a->recvtype = y->rlay->type;
    a->sendbuf = area_base(&y->send);
    a->recvbuf = area_base(&y->recv);
    a->comm = comm;
    coll_args_widen(a);
}

static void prepare(struct trial *y)
{
    const struct neighbors *nb = y->nb;
    y->call++;
    area_poison(&y->send);
    area_poison(&y->recv);
    if (is_gather(y))
        coll_put(area_base(&y->send), y->slay, 0, 2 * y->args.sendcount, key_of(y, y->me, 0, 0));
    for (int i = 0; i < nb->outs && !is_gather(y); i++)
        coll_put(area_base(&y->send), y->slay, y->send_item[i], 2 * y->args.sendcounts[i],
                 key_of(y, y->me, nb->out_mark[i], nb->out[i]));
    area_expect(&y->send);
    area_expect(&y->recv);
    for (int i = 0; i < nb->ins; i++)
        if (nb->in[i] != MPI_PROC_NULL)
            coll_put(area_wanted(&y->recv), y->rlay, y->recv_item[i], 2 * y->args.recvcounts[i],
                     key_of(y, nb->in[i], nb->in_mark[i], y->me));
}

static void verify(const struct trial *y, enum coll_form form)
{
    if (area_fault(&y->send) == 1LL << 60 && area_fault(&y->recv) == 1LL << 60)
        return;
    check_fail(
        __FILE__, __LINE__,
        "%s %s, rank %d of %d, %d in, %d out, most %d: byte %lld sent, %lld received, seed=%llu",
        coll_row_of(y->kind)->name, coll_form_name(form), y->me, y->test->n, y->nb->ins,
        y->nb->outs, y->most, area_fault(&y->send), area_fault(&y->recv),
        (unsigned long long)y->test->seed);
}

static void run(struct trial *y, enum coll_form form)
{
    MPI_Request request;
    prepare(y);
    CHECK_OK(coll_row_of(y->kind)->call[form](&y->args, &request));
    if (!coll_is_persistent(form)) {
        CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        verify(y, form);
        return;
    }
    for (int i = 0; i < 2; i++) {
        prepare(y);
        CHECK_OK(MPI_Start(&request));
        CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        verify(y, form);
    }
    CHECK_OK(MPI_Request_free(&request));
}

static void try_comm(struct coll_test *t, MPI_Comm comm, const struct neighbors *nb)
{
    static const int most[] = {1, 5, 40, 1100};
    for (int kind = NEIGHBOR_ALLGATHER; kind <= NEIGHBOR_ALLTOALLW; kind++)
        for (int i = 0; i < COUNT_OF(most) - (t->n > 17); i++) {
            struct trial y = {.test = t, .nb = nb, .kind = (enum coll_kind)kind, .most = most[i]};
            CHECK_OK(MPI_Comm_rank(comm, &y.me));
            y.slay = &t->layouts[i % 2 ? L_PAIR : L_NEGATIVE];
            y.rlay = &t->layouts[i % 3 ? L_VECTOR : L_PAIR];
            build(&y, comm);
            for (int form = 0; form < COLL_FORMS; form++)
                if (t->forms >> form & 1)
                    run(&y, (enum coll_form)form);
            area_fini(&y.send);
            area_fini(&y.recv);
            coll_args_free(&y.args);
        }
}

// Ranks of a grid count its last dimension fastest.
static void try_grid(struct coll_test *t, int ndims, const int *dims, const int *periods)
{
    struct neighbors nb = {0};
    MPI_Comm comm;
    int stride = 1;
    for (int d = 0; d < ndims;
         d++) // MPICH 4.0 and Open MPI 4.1 have not got MPI 4's rule for these
        if (!STRICT && periods[d] && dims[d] <= 2)
            return;
    CHECK_OK(MPI_Cart_create(t->comm, ndims, dims, periods, 0, &comm));
    if (comm == MPI_COMM_NULL)
        return;
    nb.ins = nb.outs = 2 * ndims;
    for (int d = ndims - 1; d >= 0; d--) {
        int at = t->me / stride % dims[d];
        for (int up = 0; up < 2; up++) {
            int to = at + (up ? 1 : -1), i = 2 * d + up, outside = to < 0 || to >= dims[d];
            int rank = t->me + ((to + dims[d]) % dims[d] - at) * stride;
            nb.in[i] = nb.out[i] = outside && !periods[d] ? MPI_PROC_NULL : rank;
            nb.out_mark[i] = i;
            nb.in_mark[i] = i ^ 1;
        }
        stride *= dims[d];
    }
    try_comm(t, comm, &nb);
    CHECK_OK(MPI_Comm_free(&comm));
}

static void try_grids(struct coll_test *t)
{
    const int none[3] = {0, 0, 0}, all[3] = {1, 1, 1}, mixed[3] = {1, 0, 1};
    const int line[] = {t->n}, flat[] = {1, t->n}, two[] = {2, t->n / 2};
    const int cube[] = {2, 1, t->n / 2}, thin[] = {t->n, 1, 1};
    try_grid(t, 1, line, none);
    try_grid(t, 1, line, all);
    try_grid(t, 2, flat, all);
    try_grid(t, 3, thin, mixed);
    if (t->n < 2)
        return;
    try_grid(t, 2, two, all);
    try_grid(t, 2, two, none);
    try_grid(t, 3, cube, mixed);
}

// How often two ranks are joined in the graph. MPICH 4.0 exchanges the blocks of several edges.
static int joined(const struct coll_test *t, int a, int b)
{
    int apart = a < b ? b - a : a - b;
    int edges = (apart == 1) + (apart == t->n / 2 && t->n > 2) + (a == b && a % 3 == 0);
    return ON_MPICH && edges ? 1 : edges;
}

static void try_graph(struct coll_test *t)
{
    int *index = must_alloc((size_t)t->n * sizeof(int)), count = 0;
    int *edges = must_alloc((size_t)(t->n * 8) * sizeof(int));
    struct neighbors nb = {0};
    MPI_Comm comm;
    for (int a = 0; a < t->n; a++) {
        for (int k = 0; k < t->n; k++) {
            int b = (a + k) % t->n; // every rank lists them in an order of its own
            for (int i = 0; i < joined(t, a, b); i++) {
                edges[count++] = b;
                if (a == t->me)
                    nb.in[nb.ins++] = nb.out[nb.outs++] = b;
            }
        }
        index[a] = count;
    }
    number_marks(&nb);
    CHECK_OK(MPI_Graph_create(t->comm, t->n, index, edges, 0, &comm));
    try_comm(t, comm, &nb);
    CHECK_OK(MPI_Comm_free(&comm));
    free(index);
    free(edges);
}

// Edges from a rank to another; rank 1 of many has no edge at all.
static int edges_between(const struct coll_test *t, int from, int to)
{
    uint64_t h = coll_mix((uint64_t)from * 1000 + (uint64_t)to);
    if (t->n > 2 && (from == 1 || to == 1))
        return 0;
    return h % (uint64_t)(t->n > 8 ? 6 : 3) ? 0 : 1 + (ON_MPICH ? 0 : (int)((h >> 20) % 3));
}

static void try_adjacent(struct coll_test *t, int weighted)
{
    struct neighbors nb = {0};
    int weights[EDGES_MOST] = {0};
    MPI_Comm comm;
    for (int rank = 0; rank < t->n; rank++) {
        for (int i = 0; i < edges_between(t, rank, t->me); i++)
            nb.in[nb.ins++] = rank;
        for (int i = 0; i < edges_between(t, t->me, t->n - 1 - rank); i++)
            nb.out[nb.outs++] = t->n - 1 - rank;
    }
    CHECK(nb.ins <= EDGES_MOST && nb.outs <= EDGES_MOST);
    number_marks(&nb);
    CHECK_OK(MPI_Dist_graph_create_adjacent(
        t->comm, nb.ins, nb.in, weighted ? weights : MPI_UNWEIGHTED, nb.outs, nb.out,
        weighted ? weights : MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
    try_comm(t, comm, &nb);
    CHECK_OK(MPI_Comm_free(&comm));
}

// Each rank tells of its successor's edges; the order of neighbours is the library's.
static void try_dist(struct coll_test *t)
{
    struct neighbors nb = {0};
    int from = (t->me + 1) % t->n, degree = 0, to[EDGES_MOST], weights[EDGES_MOST], weighted = -1;
    int in_weights[EDGES_MOST], out_weights[EDGES_MOST];
    MPI_Comm comm;
    for (int rank = 0; rank < t->n; rank++)
        for (int i = 0; i < edges_between(t, from, rank); i++) {
            weights[degree] = rank;
            to[degree++] = rank;
        }
    CHECK_OK(
        MPI_Dist_graph_create(t->comm, 1, &from, &degree, to, weights, MPI_INFO_NULL, 0, &comm));
    CHECK_OK(MPI_Dist_graph_neighbors_count(comm, &nb.ins, &nb.outs, &weighted));
    CHECK_OK(
        MPI_Dist_graph_neighbors(comm, nb.ins, nb.in, in_weights, nb.outs, nb.out, out_weights));
    number_marks(&nb);
    try_comm(t, comm, &nb);
    CHECK_OK(MPI_Comm_free(&comm));
}

static void body(struct coll_test *t)
{
    try_grids(t);
    try_graph(t);
    try_adjacent(t, 0);
    try_adjacent(t, 1);
    try_dist(t);
}

int main(int argc, char **argv)
{
    return coll_main(argc, argv, body);
}
