// SPDX-License-Identifier: BSD-3-Clause
//
// All neighbourhood collectives on grids, graphs and distributed graphs, against what the
// neighbours must have sent: blocking, nonblocking, persistent, large counts; types with gaps;
// uneven blocks in any order, at negative displacements; nobody at open ends; neighbours on both
// sides, several times, and the rank itself. Every byte of the receive buffer is compared, those
// that must not be touched too.

#include <stdbool.h>

#include "neighbor.h"

enum { ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW, OPERATIONS };
enum { BLOCKING, NONBLOCKING, PERSISTENT, WAYS };
enum { ROOM = 64, BYTES = 1 << 16, GAP = 12 };

// An element of the type with gaps: two ints, one in three of its places empty.
static MPI_Datatype gappy_type(void)
{
    MPI_Datatype vector, type;
    CHECK_OK(MPI_Type_vector(2, 1, 2, MPI_INT, &vector));
    CHECK_OK(MPI_Type_create_resized(vector, 0, GAP, &type));
    CHECK_OK(MPI_Type_commit(&type));
    CHECK_OK(MPI_Type_free(&vector));
    return type;
}

typedef struct test {
    const around *a;
    MPI_Datatype gappy;
    int operation, way, round;
    bool large, gaps, recv_gaps;
} test;

// Pairs of ints that an edge carries.
static int pairs_of(const test *t, int from, int to, int id)
{
    if (t->operation == ALLGATHER || t->operation == ALLTOALL)
        return 3;
    if (t->operation == ALLGATHERV)
        return from % 4;
    return (from * 5 + to * 3 + id) % 5;
}

static int value_of(const test *t, int from, int to, int id, int i)
{
    if (t->operation == ALLGATHER || t->operation == ALLGATHERV)
        to = id = 0;
    return ((from * 64 + to) * 64 + id) * 64 + i + t->round * 31 + 1;
}

// One side's lists for all operations: what is said of block i, and where its ints are.
typedef struct side {
    int n;
    MPI_Count wide[MOST_NEIGHBOURS];
    int narrow[MOST_NEIGHBOURS], displs[MOST_NEIGHBOURS];
    MPI_Aint wide_displs[MOST_NEIGHBOURS], bytes[MOST_NEIGHBOURS];
    MPI_Datatype types[MOST_NEIGHBOURS], type;
    bool gaps[MOST_NEIGHBOURS];
    MPI_Count count;
    unsigned char *base;
} side;

static long extent_of(bool gaps)
{
    return gaps ? GAP : (long)sizeof(int);
}

static void lay_out(const test *t, side *s, const edges *e, bool sends, bool gaps,
                    unsigned char *memory)
{
    bool one = sends && (t->operation == ALLGATHER || t->operation == ALLGATHERV);
    long at = BYTES / 4;
    s->n = one ? 1 : e->count;
    s->type = gaps ? t->gappy : MPI_INT;
    s->base = memory + BYTES / 4;
    s->count = 0;
    for (int k = 0; k < s->n; k++) {
        bool listed = t->operation == ALLGATHERV || t->operation >= ALLTOALLV;
        int i = listed && !one ? s->n - 1 - k : k; // lists go backwards, and begin below the base
        int from = sends ? t->a->rank : e->peer[i], to = sends ? e->peer[i] : t->a->rank;
        int pairs = pairs_of(t, from < 0 ? 0 : from, to < 0 ? 0 : to, one ? 0 : e->id[i]);
        s->gaps[i] = t->operation == ALLTOALLW ? (i + gaps) % 2 : gaps;
        long extent = extent_of(s->gaps[i]);
        s->narrow[i] = s->gaps[i] ? pairs : 2 * pairs;
        s->wide[i] = s->count = s->narrow[i];
        s->types[i] = s->gaps[i] ? t->gappy : MPI_INT;
        if (listed && !one && k == 0)
            at = BYTES / 4 - 20 * extent;
        s->bytes[i] = at - BYTES / 4;
        s->displs[i] = (int)(s->bytes[i] / extent);
        s->wide_displs[i] = s->displs[i];
        if (t->operation != ALLTOALLW)
            CHECK(s->displs[i] * extent == s->bytes[i]);
        at += s->narrow[i] * extent + (listed ? extent * 2 : 0);
        CHECK(at < BYTES);
    }
    if (!s->n)
        s->count = gaps ? 3 : 6;
}

static unsigned char *int_at(const side *s, int block, int i)
{
    unsigned char *at = s->base + s->bytes[block];
    return s->gaps[block] ? at + i / 2 * GAP + i % 2 * 8 : at + i * (long)sizeof(int);
}

static void fill_block(const test *t, const side *s, int block, int from, int to, int id)
{
    int pairs = pairs_of(t, from, to, id);
    for (int i = 0; i < 2 * pairs; i++) {
        int value = value_of(t, from, to, id, i);
        memcpy(int_at(s, block, i), &value, sizeof value);
    }
}

static void fill_sent(const test *t, const side *s, unsigned char *memory)
{
    const edges *e = &t->a->out;
    memset(memory, 0x5a, BYTES);
    for (int i = 0; i < s->n; i++)
        if (s->n != e->count || e->peer[i] != MPI_PROC_NULL)
            fill_block(t, s, i, t->a->rank, s->n == e->count ? e->peer[i] : 0,
                       s->n == e->count ? e->id[i] : 0);
}

static void fill_wanted(const test *t, const side *s, unsigned char *memory)
{
    const edges *e = &t->a->in;
    side wanted = *s;
    memset(memory, 0xa5, BYTES);
    wanted.base = memory + BYTES / 4;
    for (int i = 0; i < e->count; i++)
        if (e->peer[i] != MPI_PROC_NULL)
            fill_block(t, &wanted, i, e->peer[i], t->a->rank, e->id[i]);
}

#define CALL(name, ...)                                                                            \
    (t->way == BLOCKING ? MPI_Neighbor_##name(__VA_ARGS__, comm)                                   \
     : t->way == NONBLOCKING                                                                       \
         ? MPI_Ineighbor_##name(__VA_ARGS__, comm, request)                                        \
         : MPI_Neighbor_##name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, request))
#define CALL_C(name, ...)                                                                          \
    (t->way == BLOCKING ? MPI_Neighbor_##name##_c(__VA_ARGS__, comm)                               \
     : t->way == NONBLOCKING                                                                       \
         ? MPI_Ineighbor_##name##_c(__VA_ARGS__, comm, request)                                    \
         : MPI_Neighbor_##name##_init_c(__VA_ARGS__, comm, MPI_INFO_NULL, request))

static int call(const test *t, const side *s, const side *r, MPI_Request *request)
{
    MPI_Comm comm = t->a->comm;
    int sn = (int)s->count, rn = (int)r->count;
    switch (t->operation) {
    case ALLGATHER:
        return t->large ? CALL_C(allgather, s->base, s->count, s->type, r->base, r->count, r->type)
                        : CALL(allgather, s->base, sn, s->type, r->base, rn, r->type);
    case ALLGATHERV:
        return t->large
                   ? CALL_C(allgatherv, s->base, s->count, s->type, r->base, r->wide,
                            r->wide_displs, r->type)
                   : CALL(allgatherv, s->base, sn, s->type, r->base, r->narrow, r->displs, r->type);
    case ALLTOALL:
        return t->large ? CALL_C(alltoall, s->base, s->count, s->type, r->base, r->count, r->type)
                        : CALL(alltoall, s->base, sn, s->type, r->base, rn, r->type);
    case ALLTOALLV:
        return t->large ? CALL_C(alltoallv, s->base, s->wide, s->wide_displs, s->type, r->base,
                                 r->wide, r->wide_displs, r->type)
                        : CALL(alltoallv, s->base, s->narrow, s->displs, s->type, r->base,
                               r->narrow, r->displs, r->type);
    default:
        return t->large ? CALL_C(alltoallw, s->base, s->wide, s->bytes, s->types, r->base, r->wide,
                                 r->bytes, r->types)
                        : CALL(alltoallw, s->base, s->narrow, s->bytes, s->types, r->base,
                               r->narrow, r->bytes, r->types);
    }
}

static void compare(const test *t, const unsigned char *got, const unsigned char *want)
{
    if (memcmp(got, want, BYTES) == 0)
        return;
    for (int i = 0; i < BYTES; i++)
        if (got[i] != want[i])
            check_fail(
                __FILE__, __LINE__,
                "operation %d, way %d, large %d, gaps %d %d, round %d: byte %d is %d, should "
                "be %d",
                t->operation, t->way, t->large, t->gaps, t->recv_gaps, t->round, i - BYTES / 4,
                got[i], want[i]);
}

static void try(test *t, unsigned char *sent, unsigned char *got, unsigned char *want)
{
    side s, r;
    MPI_Request request = MPI_REQUEST_NULL;
    lay_out(t, &s, &t->a->out, true, t->gaps, sent);
    lay_out(t, &r, &t->a->in, false, t->recv_gaps, got);
    if (t->way == PERSISTENT)
        CHECK_OK(call(t, &s, &r, &request));
    for (t->round = 0; t->round < 2; t->round++) {
        fill_sent(t, &s, sent);
        fill_wanted(t, &r, want);
        memset(got, 0xa5, BYTES);
        if (t->way == PERSISTENT)
            CHECK_OK(MPI_Start(&request));
        else
            CHECK_OK(call(t, &s, &r, &request));
        if (t->way != BLOCKING)
            CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        compare(t, got, want);
    }
    if (t->way == PERSISTENT)
        CHECK_OK(MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL);
}

static void all_on(MPI_Comm comm, MPI_Datatype gappy)
{
    unsigned char *memory[3];
    if (comm == MPI_COMM_NULL)
        return;
    around a = look_around(comm);
    for (int i = 0; i < 3; i++)
        memory[i] = must_alloc(BYTES);
    for (int operation = 0; operation < OPERATIONS; operation++)
        for (int way = 0; way < WAYS; way++)
            for (int large = 0; large < 2; large++)
                for (int gaps = 0; gaps < 4; gaps++) {
                    test t = {.a = &a,
                              .gappy = gappy,
                              .operation = operation,
                              .way = way,
                              .large = large,
                              .gaps = (gaps + a.rank) & 1,
                              .recv_gaps = (gaps + a.rank / 2) & 2};
                    try(&t, memory[0], memory[1], memory[2]);
                }
    for (int i = 0; i < 3; i++)
        free(memory[i]);
    CHECK_OK(MPI_Comm_free(&comm));
}

// Several at once, which end in another order than they began.
static void several(MPI_Comm comm)
{
    enum { CALLS = 20 };
    around a = look_around(comm);
    MPI_Request requests[CALLS];
    int out[CALLS], in[CALLS][MOST_NEIGHBOURS];
    for (int c = 0; c < CALLS; c++) {
        out[c] = a.rank * 100 + c;
        CHECK_OK(
            MPI_Ineighbor_allgather(&out[c], 1, MPI_INT, in[c], 1, MPI_INT, comm, &requests[c]));
    }
    for (int c = CALLS - 1; c >= 0; c--) {
        CHECK_OK(MPI_Wait(&requests[c], MPI_STATUS_IGNORE));
        for (int i = 0; i < a.in.count; i++)
            if (a.in.peer[i] != MPI_PROC_NULL)
                CHECK_INT(in[c][i], a.in.peer[i] * 100 + c);
    }
    CHECK_OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    int n = world_size(), on[3] = {1, 1, 1}, off[3] = {0, 0, 0}, mixed[3] = {1, 0, 1};
    MPI_Datatype gappy = gappy_type();
    int line[1] = {n}, single[2] = {n, 1}, pairs[3] = {n / 2, 2, 1}, flat[3] = {2, 1, n / 2};
    all_on(make_grid(1, line, off), gappy);
    all_on(make_grid(1, line, on), gappy);
    all_on(make_grid(2, single, mixed), gappy);
    all_on(make_grid(2, single, on), gappy);
    all_on(make_grid(0, line, on), gappy);
    if (n >= 2) {
        all_on(make_grid(3, pairs, on), gappy);
        all_on(make_grid(3, flat, mixed), gappy);
    }
    for (uint64_t seed = 1; seed <= 3; seed++) {
        all_on(make_graph(seed), gappy);
        all_on(make_dist_graph(seed), gappy);
    }
    several(make_grid(1, line, on));
    several(make_dist_graph(9));
    CHECK_OK(MPI_Type_free(&gappy));
    CHECK_OK(MPI_Finalize());
    return 0;
}
