// SPDX-License-Identifier: BSD-3-Clause
//
// Gather, scatter, allgather and alltoall: every way, root, in place, with and without gaps, on
// communicators whose ranks lie unevenly in workers.
#include "moves.h"

static const int sizes[] = {0, 2, 64, 5000};

struct one {
    MPI_Comm comm;
    int rank, size, n, way, root, sgaps, rgaps, in_place;
    MPI_Datatype gaps;
};

static void call_gather(const struct one *t, const void *sendbuf, struct stream s, struct stream r)
{
    MPI_Datatype st = stream_type(s, t->gaps), rt = stream_type(r, t->gaps);
    int sc = stream_count(s, t->n), rc = stream_count(r, t->n);
    MPI_Request q;
    // What does not count away from the root is nonsense there.
    if (t->rank != t->root) {
        r.at = NULL;
        rc = -1;
        rt = MPI_DATATYPE_NULL;
    }
    if (t->way == BLOCKING)
        CHECK_OK(MPI_Gather(sendbuf, sc, st, r.at, rc, rt, t->root, t->comm));
    else if (t->way == NONBLOCKING)
        CHECK_OK(MPI_Igather(sendbuf, sc, st, r.at, rc, rt, t->root, t->comm, &q));
    else
        CHECK_OK(
            MPI_Gather_init(sendbuf, sc, st, r.at, rc, rt, t->root, t->comm, MPI_INFO_NULL, &q));
    moves_finish(t->way, &q, 2);
}

static void gather(const struct one *t)
{
    struct stream s = stream_new(t->n, t->sgaps), r = stream_new(t->n * t->size, t->rgaps);
    int in_place = t->in_place && t->rank == t->root;
    stream_put(s, 0, t->n, t->rank, 1);
    if (in_place)
        stream_put(r, t->rank * t->n, t->n, t->rank, 1);
    call_gather(t, in_place ? MPI_IN_PLACE : s.at, s, r);
    for (int i = 0; i < t->size; i++)
        if (t->rank == t->root)
            stream_has(r, i * t->n, t->n, i, 1);
        else
            stream_empty(r, i * t->n, t->n);
    stream_has(s, 0, t->n, t->rank, 1);
    stream_clean(r);
    free(s.at);
    free(r.at);
}

static void call_scatter(const struct one *t, struct stream s, void *recvbuf, struct stream r)
{
    MPI_Datatype st = stream_type(s, t->gaps), rt = stream_type(r, t->gaps);
    int sc = stream_count(s, t->n), rc = stream_count(r, t->n);
    MPI_Request q;
    if (t->rank != t->root) {
        s.at = NULL;
        sc = -1;
        st = MPI_DATATYPE_NULL;
    }
    if (t->way == BLOCKING)
        CHECK_OK(MPI_Scatter(s.at, sc, st, recvbuf, rc, rt, t->root, t->comm));
    else if (t->way == NONBLOCKING)
        CHECK_OK(MPI_Iscatter(s.at, sc, st, recvbuf, rc, rt, t->root, t->comm, &q));
    else
        CHECK_OK(
            MPI_Scatter_init(s.at, sc, st, recvbuf, rc, rt, t->root, t->comm, MPI_INFO_NULL, &q));
    moves_finish(t->way, &q, 2);
}

static void scatter(const struct one *t)
{
    struct stream s = stream_new(t->n * t->size, t->sgaps), r = stream_new(t->n, t->rgaps);
    int in_place = t->in_place && t->rank == t->root;
    for (int i = 0; i < t->size; i++)
        stream_put(s, i * t->n, t->n, t->root, i);
    call_scatter(t, s, in_place ? MPI_IN_PLACE : r.at, r);
    if (in_place)
        stream_empty(r, 0, t->n);
    else
        stream_has(r, 0, t->n, t->root, t->rank);
    for (int i = 0; i < t->size; i++)
        stream_has(s, i * t->n, t->n, t->root, i);
    stream_clean(r);
    stream_clean(s);
    free(s.at);
    free(r.at);
}

static void allgather(const struct one *t)
{
    struct stream s = stream_new(t->n, t->sgaps), r = stream_new(t->n * t->size, t->rgaps);
    MPI_Datatype st = stream_type(s, t->gaps), rt = stream_type(r, t->gaps);
    int sc = stream_count(s, t->n), rc = stream_count(r, t->n);
    const void *from = s.at;
    MPI_Request q;
    if (t->in_place) {
        stream_put(r, t->rank * t->n, t->n, t->rank, 2);
        from = MPI_IN_PLACE;
        sc = -5;
        st = MPI_DATATYPE_NULL;
    } else {
        stream_put(s, 0, t->n, t->rank, 2);
    }
    if (t->way == BLOCKING)
        CHECK_OK(MPI_Allgather(from, sc, st, r.at, rc, rt, t->comm));
    else if (t->way == NONBLOCKING)
        CHECK_OK(MPI_Iallgather(from, sc, st, r.at, rc, rt, t->comm, &q));
    else
        CHECK_OK(MPI_Allgather_init(from, sc, st, r.at, rc, rt, t->comm, MPI_INFO_NULL, &q));
    moves_finish(t->way, &q, 2);
    for (int i = 0; i < t->size; i++)
        stream_has(r, i * t->n, t->n, i, 2);
    stream_clean(r);
    free(s.at);
    free(r.at);
}

static void alltoall(const struct one *t)
{
    int all = t->n * t->size;
    struct stream s = stream_new(all, t->sgaps), r = stream_new(all, t->rgaps);
    MPI_Datatype st = stream_type(s, t->gaps), rt = stream_type(r, t->gaps);
    int sc = stream_count(s, t->n), rc = stream_count(r, t->n);
    const void *from = t->in_place ? MPI_IN_PLACE : s.at;
    MPI_Request q;
    for (int i = 0; i < t->size; i++)
        stream_put(t->in_place ? r : s, i * t->n, t->n, t->rank, i);
    if (t->in_place)
        st = MPI_DATATYPE_NULL;
    if (t->way == BLOCKING)
        CHECK_OK(MPI_Alltoall(from, sc, st, r.at, rc, rt, t->comm));
    else if (t->way == NONBLOCKING)
        CHECK_OK(MPI_Ialltoall(from, sc, st, r.at, rc, rt, t->comm, &q));
    else
        CHECK_OK(MPI_Alltoall_init(from, sc, st, r.at, rc, rt, t->comm, MPI_INFO_NULL, &q));
    moves_finish(t->way, &q, t->in_place ? 3 : 2); // each one in place undoes the one before
    for (int i = 0; i < t->size; i++)
        stream_has(r, i * t->n, t->n, i, t->rank);
    stream_clean(r);
    free(s.at);
    free(r.at);
}

static void all_of(struct one *t)
{
    for (t->sgaps = 0; t->sgaps < 2; t->sgaps++)
        for (t->rgaps = 0; t->rgaps < 2; t->rgaps++)
            for (t->in_place = 0; t->in_place < 2; t->in_place++) {
                for (t->root = 0; t->root < t->size; t->root += 1 + (t->size > 6) * 2) {
                    gather(t);
                    scatter(t);
                }
                allgather(t);
                alltoall(t);
            }
}

static void everything(MPI_Comm comm)
{
    struct one t = {.comm = comm, .gaps = gaps_new()};
    CHECK_OK(MPI_Comm_rank(comm, &t.rank));
    CHECK_OK(MPI_Comm_size(comm, &t.size));
    for (int k = 0; k < COUNT_OF(sizes); k++)
        for (t.way = 0; t.way < WAYS; t.way++) {
            t.n = sizes[k];
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
