// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw in all forms: uneven blocks with gaps between them
// and in any order, different datatypes to send and to receive, in place; and a datatype of its own
// for each peer.

#include "coll_check.h"

// The layout of the block from a rank to another, on one side; all have two ints.
static const struct layout *layout_between(struct coll_test *t, int from, int to, int side)
{
    int which = L_FIRST_INTS + (from * 3 + to + side * 2) % (L_LAST_INTS - L_FIRST_INTS + 1);
    return &t->layouts[which];
}

static MPI_Count items_between(int from, int to)
{
    return (from + 2 * to) % 5;
}

// Each peer has its own datatype and its own part of the buffer.
static void mixed_types(struct coll_test *t, enum coll_form form)
{
    enum { PART = 256, MIDDLE = 32 };
    struct coll_args a;
    size_t size = (size_t)t->n * PART;
    unsigned char *out = must_alloc(size), *in = must_alloc(size), *want = must_alloc(size);
    MPI_Request request;
    coll_args_init(&a, t->n);
    memset(out, 1, size);
    memset(in, 2, size);
    memset(want, 2, size);
    for (int j = 0; j < t->n; j++) {
        const struct layout *s = layout_between(t, t->me, j, 0),
                            *r = layout_between(t, j, t->me, 1);
        a.sdispls[j] = (t->n - 1 - j) * PART + MIDDLE;
        a.rdispls[j] = j * PART + MIDDLE;
        a.sendcounts[j] = (int)items_between(t->me, j);
        a.recvcounts[j] = (int)items_between(j, t->me);
        a.sendtypes[j] = s->type;
        a.recvtypes[j] = r->type;
        coll_put(out + a.sdispls[j], s, 0, 2 * a.sendcounts[j], coll_key(form, t->me, j));
        coll_put(want + a.rdispls[j], r, 0, 2 * a.recvcounts[j], coll_key(form, j, t->me));
    }
    coll_args_widen(&a);
    a.sendbuf = out;
    a.recvbuf = in;
    a.comm = t->comm;
    CHECK_OK(coll_row_of(ALLTOALLW)->call[form](&a, &request));
    if (coll_is_persistent(form))
        CHECK_OK(MPI_Start(&request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (coll_is_persistent(form))
        CHECK_OK(MPI_Request_free(&request));
    CHECK(memcmp(in, want, size) == 0);
    coll_args_free(&a);
    free(out);
    free(in);
    free(want);
}

static void body(struct coll_test *t)
{
    coll_try_kind(t, ALLTOALL);
    coll_try_kind(t, ALLTOALLV);
    coll_try_kind(t, ALLTOALLW);
    for (int form = 0; form < COLL_FORMS; form++)
        if (t->forms >> form & 1)
            mixed_types(t, (enum coll_form)form);
}

int main(int argc, char **argv)
{
    return coll_main(argc, argv, body);
}
