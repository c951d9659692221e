// SPDX-License-Identifier: BSD-3-Clause
//
// Calls that move nothing: zero counts, with buffers or NULL; a datatype without bytes; ranks
// without data among others (the uneven kinds of coll_check.h have many of those too).

#include "coll_check.h"

// The buffers of a case that moves nothing are NULL.
static void null_buffers(struct coll_test *t, enum coll_kind kind, int in_place)
{
    struct coll_case c = case_plain(t, kind, 0);
    MPI_Request request;
    c.root = t->n - 1;
    c.in_place = in_place;
    if (ON_MPICH && kind == REDUCE && in_place)
        c.root = 0;
    case_build(&c);
    if (c.args.sendbuf != MPI_IN_PLACE)
        c.args.sendbuf = NULL;
    if (c.args.recvbuf != MPI_IN_PLACE)
        c.args.recvbuf = NULL;
    for (int form = 0; form < COLL_FORMS; form++) {
        if (!(t->forms >> form & 1))
            continue;
        case_prepare(&c);
        case_start(&c, (enum coll_form)form, &request);
        CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (coll_is_persistent((enum coll_form)form))
            CHECK_OK(MPI_Request_free(&request));
        case_verify(&c);
    }
    case_free(&c);
}

// Many items without a byte: nothing is read or written.
static void empty_type(struct coll_test *t, enum coll_kind kind)
{
    struct layout empty = {.name = "empty", .units = 1, .bytes = {0}, .extent = 0};
    CHECK_OK(MPI_Type_contiguous(0, MPI_INT, &empty.type));
    CHECK_OK(MPI_Type_commit(&empty.type));
    struct coll_case c = case_plain(t, kind, 100);
    c.slay = c.rlay = &empty;
    case_try(&c);
    CHECK_OK(MPI_Type_free(&empty.type));
}

// One rank alone has data.
static void one_has(struct coll_test *t, int owner)
{
    int *counts = calloc((size_t)t->n, sizeof(int)), *displs = calloc((size_t)t->n, sizeof(int));
    int out[3] = {owner, 2, 3}, in[3] = {-1, -1, -1}, got[3] = {-1, -1, -1}, sum[3] = {-1, -1, -1};
    CHECK(counts && displs);
    counts[owner] = 3;
    int mine = counts[t->me];
    CHECK_OK(
        MPI_Allgatherv(mine ? out : NULL, mine, MPI_INT, in, counts, displs, MPI_INT, t->comm));
    CHECK(memcmp(in, out, sizeof in) == 0);
    CHECK_OK(MPI_Scatterv(t->me == 0 ? out : NULL, counts, displs, MPI_INT, mine ? got : NULL, mine,
                          MPI_INT, 0, t->comm));
    CHECK(!mine || memcmp(got, out, sizeof got) == 0);
    CHECK_OK(MPI_Reduce_scatter(out, mine ? sum : NULL, counts, MPI_INT, MPI_MAX, t->comm));
    CHECK(!mine || memcmp(sum, out, sizeof sum) == 0);
    CHECK_OK(MPI_Gatherv(mine ? got : NULL, mine, MPI_INT, t->me == 0 ? in : NULL, counts, displs,
                         MPI_INT, 0, t->comm));
    CHECK(t->me || memcmp(in, out, sizeof in) == 0);
    free(counts);
    free(displs);
}

static void body(struct coll_test *t)
{
    for (int kind = BCAST; kind <= EXSCAN; kind++) {
        struct coll_case c = case_plain(t, (enum coll_kind)kind, 0);
        case_try(&c);
        null_buffers(t, (enum coll_kind)kind, 0);
        if (kind != BCAST)
            null_buffers(t, (enum coll_kind)kind, 1);
        if (kind < REDUCE)
            empty_type(t, (enum coll_kind)kind);
    }
    for (int owner = 0; owner < t->n; owner++)
        one_has(t, owner);
}

int main(int argc, char **argv)
{
    return coll_main(argc, argv, body);
}
