// SPDX-License-Identifier: BSD-3-Clause
//
// Gatherv, scatterv, allgatherv, alltoallv and alltoallw: blocks of different sizes, none among
// them, that lie in a row, shifted, backwards, or before the buffer; every way, small and large
// counts.
#include "moves.h"

enum { ROW, SHIFTED, BACKWARDS, LAYOUTS };

static const int units[] = {0, 2, 1000};

struct one {
    MPI_Comm comm;
    int rank, size, unit, way, wide, root, sgaps, rgaps, in_place, layout;
    MPI_Datatype gaps;
};

// Ints of the block from one rank to another.
static int ints_of(const struct one *t, int from, int to)
{
    return (from * 7 + to * 3 + (from == to)) % 4 * t->unit;
}

// Counts and displacements of blocks in a stream, in the forms that the functions want.
struct lists {
    int *counts, *displs, *first; // first: int of the stream where the block begins
    MPI_Count *large_counts;
    MPI_Aint *large_displs;
    struct stream s;
    int base; // int of the stream that the buffer's address means
};

static void lists_fill(struct lists *l, const struct one *t, const int *ints, int gaps)
{
    int all = 0, at = 0;
    for (int i = 0; i < t->size; i++)
        all += ints[i] + 4;
    l->s = stream_new(all + 4, gaps);
    l->base = t->layout == BACKWARDS ? all / 4 * 2 : 0;
    if (t->layout == SHIFTED)
        at = 4;
    if (t->layout == BACKWARDS)
        at = all;
    for (int i = 0; i < t->size; i++) {
        if (t->layout == BACKWARDS)
            at -= ints[i] + 4;
        l->first[i] = at;
        if (t->layout != BACKWARDS)
            at += ints[i];
        l->counts[i] = stream_count(l->s, ints[i]);
        l->displs[i] = (l->first[i] - l->base) / l->s.stride;
        l->large_counts[i] = l->counts[i];
        l->large_displs[i] = l->displs[i];
    }
}

static struct lists lists_new(const struct one *t, int gaps, int sends)
{
    size_t n = (size_t)t->size;
    struct lists l = {
        .counts = must_alloc(n * sizeof(int)),
        .displs = must_alloc(n * sizeof(int)),
        .first = must_alloc(n * sizeof(int)),
        .large_counts = must_alloc(n * sizeof(MPI_Count)),
        .large_displs = must_alloc(n * sizeof(MPI_Aint)),
    };
    int *ints = must_alloc(n * sizeof(int));
    for (int i = 0; i < t->size; i++)
        ints[i] = sends ? ints_of(t, t->rank, i) : ints_of(t, i, t->rank);
    lists_fill(&l, t, ints, gaps);
    free(ints);
    return l;
}

static void lists_free(struct lists *l)
{
    free(l->counts);
    free(l->displs);
    free(l->first);
    free(l->large_counts);
    free(l->large_displs);
    free(l->s.at);
}

static int *lists_buf(const struct lists *l)
{
    return l->s.at + l->base * l->s.stride;
}

// ---- gatherv, scatterv: blocks between the root and rank i have ints_of(i, i)

static int rooted_ints(const struct one *t, int i)
{
    return ints_of(t, i, t->root);
}

static void gatherv(const struct one *t)
{
    int is_root = t->rank == t->root, in_place = t->in_place && is_root,
        n = rooted_ints(t, t->rank);
    struct stream s = stream_new(n, t->sgaps);
    struct lists r = {0};
    MPI_Datatype st = stream_type(s, t->gaps), rt = MPI_DATATYPE_NULL;
    const void *from = in_place ? MPI_IN_PLACE : s.at;
    int sc = stream_count(s, n);
    MPI_Request q;
    stream_put(s, 0, n, t->rank, 1);
    if (is_root) {
        r = lists_new(t, t->rgaps, 0);
        rt = stream_type(r.s, t->gaps);
        if (in_place)
            stream_put(r.s, r.first[t->rank], n, t->rank, 1);
    }
    int *to = is_root ? lists_buf(&r) : NULL;
    if (t->wide && t->way == BLOCKING)
        CHECK_OK(
            MPI_Gatherv_c(from, sc, st, to, r.large_counts, r.large_displs, rt, t->root, t->comm));
    else if (t->wide && t->way == NONBLOCKING)
        CHECK_OK(MPI_Igatherv_c(from, sc, st, to, r.large_counts, r.large_displs, rt, t->root,
                                t->comm, &q));
    else if (t->wide)
        CHECK_OK(MPI_Gatherv_init_c(from, sc, st, to, r.large_counts, r.large_displs, rt, t->root,
                                    t->comm, MPI_INFO_NULL, &q));
    else if (t->way == BLOCKING)
        CHECK_OK(MPI_Gatherv(from, sc, st, to, r.counts, r.displs, rt, t->root, t->comm));
    else if (t->way == NONBLOCKING)
        CHECK_OK(MPI_Igatherv(from, sc, st, to, r.counts, r.displs, rt, t->root, t->comm, &q));
    else
        CHECK_OK(MPI_Gatherv_init(from, sc, st, to, r.counts, r.displs, rt, t->root, t->comm,
                                  MPI_INFO_NULL, &q));
    moves_finish(t->way, &q, 2);
    for (int i = 0; is_root && i < t->size; i++)
        stream_has(r.s, r.first[i], rooted_ints(t, i), i, 1);
    if (is_root)
        stream_clean(r.s);
    lists_free(&r);
    free(s.at);
}

static void scatterv(const struct one *t)
{
    int is_root = t->rank == t->root, in_place = t->in_place && is_root,
        n = rooted_ints(t, t->rank);
    struct stream r = stream_new(n, t->rgaps);
    struct lists s = {0};
    MPI_Datatype rt = stream_type(r, t->gaps), st = MPI_DATATYPE_NULL;
    void *to = in_place ? MPI_IN_PLACE : r.at;
    int rc = stream_count(r, n);
    MPI_Request q;
    if (is_root) {
        s = lists_new(t, t->sgaps, 0);
        st = stream_type(s.s, t->gaps);
        for (int i = 0; i < t->size; i++)
            stream_put(s.s, s.first[i], rooted_ints(t, i), 3, i);
    }
    int *from = is_root ? lists_buf(&s) : NULL;
    if (t->wide && t->way == BLOCKING)
        CHECK_OK(
            MPI_Scatterv_c(from, s.large_counts, s.large_displs, st, to, rc, rt, t->root, t->comm));
    else if (t->wide && t->way == NONBLOCKING)
        CHECK_OK(MPI_Iscatterv_c(from, s.large_counts, s.large_displs, st, to, rc, rt, t->root,
                                 t->comm, &q));
    else if (t->wide)
        CHECK_OK(MPI_Scatterv_init_c(from, s.large_counts, s.large_displs, st, to, rc, rt, t->root,
                                     t->comm, MPI_INFO_NULL, &q));
    else if (t->way == BLOCKING)
        CHECK_OK(MPI_Scatterv(from, s.counts, s.displs, st, to, rc, rt, t->root, t->comm));
    else if (t->way == NONBLOCKING)
        CHECK_OK(MPI_Iscatterv(from, s.counts, s.displs, st, to, rc, rt, t->root, t->comm, &q));
    else
        CHECK_OK(MPI_Scatterv_init(from, s.counts, s.displs, st, to, rc, rt, t->root, t->comm,
                                   MPI_INFO_NULL, &q));
    moves_finish(t->way, &q, 2);
    if (in_place)
        stream_empty(r, 0, n);
    else
        stream_has(r, 0, n, 3, t->rank);
    stream_clean(r);
    lists_free(&s);
    free(r.at);
}

// ---- allgatherv: block i has ints_of(i, 0)

static void allgatherv(const struct one *t)
{
    struct one known = *t; // everybody's lists are those of rank 0
    known.rank = 0;
    struct lists r = lists_new(&known, t->rgaps, 0);
    int n = ints_of(t, t->rank, 0), sc = n / (t->sgaps + 1);
    struct stream s = stream_new(n, t->sgaps);
    MPI_Datatype st = stream_type(s, t->gaps), rt = stream_type(r.s, t->gaps);
    const void *from = t->in_place ? MPI_IN_PLACE : s.at;
    void *to = lists_buf(&r);
    MPI_Request q;
    stream_put(s, 0, n, t->rank, 2);
    if (t->in_place)
        stream_put(r.s, r.first[t->rank], n, t->rank, 2);
    if (t->wide && t->way == BLOCKING)
        CHECK_OK(MPI_Allgatherv_c(from, sc, st, to, r.large_counts, r.large_displs, rt, t->comm));
    else if (t->wide && t->way == NONBLOCKING)
        CHECK_OK(
            MPI_Iallgatherv_c(from, sc, st, to, r.large_counts, r.large_displs, rt, t->comm, &q));
    else if (t->wide)
        CHECK_OK(MPI_Allgatherv_init_c(from, sc, st, to, r.large_counts, r.large_displs, rt,
                                       t->comm, MPI_INFO_NULL, &q));
    else if (t->way == BLOCKING)
        CHECK_OK(MPI_Allgatherv(from, sc, st, to, r.counts, r.displs, rt, t->comm));
    else if (t->way == NONBLOCKING)
        CHECK_OK(MPI_Iallgatherv(from, sc, st, to, r.counts, r.displs, rt, t->comm, &q));
    else
        CHECK_OK(MPI_Allgatherv_init(from, sc, st, to, r.counts, r.displs, rt, t->comm,
                                     MPI_INFO_NULL, &q));
    moves_finish(t->way, &q, 2);
    for (int i = 0; i < t->size; i++)
        stream_has(r.s, r.first[i], ints_of(t, i, 0), i, 2);
    stream_clean(r.s);
    lists_free(&r);
    free(s.at);
}

// ---- alltoallv

static void call_alltoallv(const struct one *t, const void *from, const struct lists *s, void *to,
                           const struct lists *r)
{
    MPI_Datatype st = stream_type(s->s, t->gaps), rt = stream_type(r->s, t->gaps);
    MPI_Request q;
    if (t->wide && t->way == BLOCKING)
        CHECK_OK(MPI_Alltoallv_c(from, s->large_counts, s->large_displs, st, to, r->large_counts,
                                 r->large_displs, rt, t->comm));
    else if (t->wide && t->way == NONBLOCKING)
        CHECK_OK(MPI_Ialltoallv_c(from, s->large_counts, s->large_displs, st, to, r->large_counts,
                                  r->large_displs, rt, t->comm, &q));
    else if (t->wide)
        CHECK_OK(MPI_Alltoallv_init_c(from, s->large_counts, s->large_displs, st, to,
                                      r->large_counts, r->large_displs, rt, t->comm, MPI_INFO_NULL,
                                      &q));
    else if (t->way == BLOCKING)
        CHECK_OK(
            MPI_Alltoallv(from, s->counts, s->displs, st, to, r->counts, r->displs, rt, t->comm));
    else if (t->way == NONBLOCKING)
        CHECK_OK(MPI_Ialltoallv(from, s->counts, s->displs, st, to, r->counts, r->displs, rt,
                                t->comm, &q));
    else
        CHECK_OK(MPI_Alltoallv_init(from, s->counts, s->displs, st, to, r->counts, r->displs, rt,
                                    t->comm, MPI_INFO_NULL, &q));
    moves_finish(t->way, &q, 2);
}

static void alltoallv(const struct one *t)
{
    struct lists s = lists_new(t, t->sgaps, 1), r = lists_new(t, t->rgaps, 0);
    for (int i = 0; i < t->size; i++)
        stream_put(s.s, s.first[i], ints_of(t, t->rank, i), t->rank, i);
    call_alltoallv(t, lists_buf(&s), &s, lists_buf(&r), &r);
    for (int i = 0; i < t->size; i++)
        stream_has(r.s, r.first[i], ints_of(t, i, t->rank), i, t->rank);
    stream_clean(r.s);
    lists_free(&s);
    lists_free(&r);
}

// ---- alltoallw: blocks of even ranks are ints, those of odd ones have gaps. Displacements in
// bytes; blocks are 4 n ints apart.

struct typed {
    int *counts, *displs, *at;
    MPI_Count *large_counts;
    MPI_Aint *large_displs;
    MPI_Datatype *types;
    int step;
};

static int width(int peer)
{
    return 1 + peer % 2;
}

static struct typed typed_new(const struct one *t, int sends)
{
    size_t n = (size_t)t->size;
    struct typed l = {
        .counts = must_alloc(n * sizeof(int)),
        .displs = must_alloc(n * sizeof(int)),
        .large_counts = must_alloc(n * sizeof(MPI_Count)),
        .large_displs = must_alloc(n * sizeof(MPI_Aint)),
        .types = must_alloc(n * sizeof(MPI_Datatype)),
        .step = 6 * t->unit + 3,
    };
    size_t room = n * (size_t)l.step;
    l.at = must_alloc((room + 1) * sizeof(int));
    for (size_t i = 0; i < room; i++)
        l.at[i] = UNTOUCHED;
    for (int i = 0; i < t->size; i++) {
        int ints = t->in_place ? t->unit : sends ? ints_of(t, t->rank, i) : ints_of(t, i, t->rank);
        l.counts[i] = ints / width(i);
        l.large_counts[i] = l.counts[i];
        l.displs[i] = i * l.step * (int)sizeof(int);
        l.large_displs[i] = l.displs[i];
        l.types[i] = ints == 0 ? MPI_DATATYPE_NULL : i % 2 ? t->gaps : MPI_INT;
    }
    return l;
}

static void typed_free(struct typed *l)
{
    free(l->counts);
    free(l->displs);
    free(l->large_counts);
    free(l->large_displs);
    free(l->types);
    free(l->at);
}

static void typed_put(const struct typed *l, const struct one *t, int peer)
{
    for (int i = 0; i < l->counts[peer] * width(peer); i++)
        l->at[peer * l->step + i * width(peer)] = (t->rank * 131 + peer) * 100003 + i;
}

static void typed_has(const struct typed *l, const struct one *t, int peer)
{
    int ints = l->counts[peer] * width(peer);
    for (int i = 0; i < l->step; i++) {
        int k = i / width(peer), filled = i % width(peer) == 0 && k < ints;
        CHECK_INT(l->at[peer * l->step + i],
                  filled ? (peer * 131 + t->rank) * 100003 + k : UNTOUCHED);
    }
}

static void alltoallw(const struct one *t)
{
    struct typed s = typed_new(t, 1), r = typed_new(t, 0);
    const void *from = t->in_place ? MPI_IN_PLACE : s.at;
    MPI_Request q;
    for (int i = 0; i < t->size; i++)
        typed_put(t->in_place ? &r : &s, t, i);
    if (t->wide && t->way == BLOCKING)
        CHECK_OK(MPI_Alltoallw_c(from, s.large_counts, s.large_displs, s.types, r.at,
                                 r.large_counts, r.large_displs, r.types, t->comm));
    else if (t->wide && t->way == NONBLOCKING)
        CHECK_OK(MPI_Ialltoallw_c(from, s.large_counts, s.large_displs, s.types, r.at,
                                  r.large_counts, r.large_displs, r.types, t->comm, &q));
    else if (t->wide)
        CHECK_OK(MPI_Alltoallw_init_c(from, s.large_counts, s.large_displs, s.types, r.at,
                                      r.large_counts, r.large_displs, r.types, t->comm,
                                      MPI_INFO_NULL, &q));
    else if (t->way == BLOCKING)
        CHECK_OK(MPI_Alltoallw(from, s.counts, s.displs, s.types, r.at, r.counts, r.displs, r.types,
                               t->comm));
    else if (t->way == NONBLOCKING)
        CHECK_OK(MPI_Ialltoallw(from, s.counts, s.displs, s.types, r.at, r.counts, r.displs,
                                r.types, t->comm, &q));
    else
        CHECK_OK(MPI_Alltoallw_init(from, s.counts, s.displs, s.types, r.at, r.counts, r.displs,
                                    r.types, t->comm, MPI_INFO_NULL, &q));
    moves_finish(t->way, &q, t->in_place ? 3 : 2);
    for (int i = 0; i < t->size; i++)
        typed_has(&r, t, i);
    typed_free(&s);
    typed_free(&r);
}

// In place both lists are the receive's, so blocks between two ranks have one size.
static void alltoallv_in_place(const struct one *t)
{
    struct one even = *t;
    even.in_place = 1;
    struct lists r = lists_new(t, t->rgaps, 0);
    int *ints = must_alloc((size_t)t->size * sizeof *ints);
    for (int i = 0; i < t->size; i++)
        ints[i] = (i + t->rank) % 3 * t->unit;
    free(r.s.at);
    lists_fill(&r, &even, ints, t->rgaps);
    for (int i = 0; i < t->size; i++)
        stream_put(r.s, r.first[i], ints[i], t->rank, i);
    struct lists none = {.s = r.s};
    if (t->way != PERSISTENT) // two starts are the beginning again
        call_alltoallv(&even, MPI_IN_PLACE, &none, lists_buf(&r), &r);
    for (int i = 0; t->way != PERSISTENT && i < t->size; i++)
        stream_has(r.s, r.first[i], ints[i], i, t->rank);
    stream_clean(r.s);
    lists_free(&r);
    free(ints);
}

static void all_of(struct one *t)
{
    for (t->sgaps = 0; t->sgaps < 2; t->sgaps++)
        for (t->rgaps = 0; t->rgaps < 2; t->rgaps++)
            for (t->layout = 0; t->layout < LAYOUTS; t->layout++) {
                alltoallv(t);
                if (!t->sgaps)
                    alltoallv_in_place(t);
                for (t->in_place = 0; t->in_place < 2; t->in_place++) {
                    for (t->root = 0; t->root < t->size; t->root += 2) {
                        gatherv(t);
                        scatterv(t);
                    }
                    allgatherv(t);
                }
            }
    for (t->in_place = 0; t->in_place < 2; t->in_place++)
        alltoallw(t);
    t->in_place = 0;
}

static void everything(MPI_Comm comm)
{
    struct one t = {.comm = comm, .gaps = gaps_new()};
    CHECK_OK(MPI_Comm_rank(comm, &t.rank));
    CHECK_OK(MPI_Comm_size(comm, &t.size));
    for (int k = 0; k < COUNT_OF(units); k++)
        for (t.way = 0; t.way < WAYS; t.way++)
            for (t.wide = 0; t.wide < 2; t.wide++) {
                t.unit = units[k];
                all_of(&t);
            }
    CHECK_OK(MPI_Type_free(&t.gaps));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    moves_everywhere(everything);
    CHECK_OK(MPI_Finalize());
    return 0;
}
