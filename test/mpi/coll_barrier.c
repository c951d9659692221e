// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Barrier, MPI_Ibarrier and MPI_Barrier_init: nobody leaves before the last one has entered.
// The late rank of a round looks, before it enters, whether somebody has left already: whoever
// leaves tells it. A nonblocking barrier lets its ranks work meanwhile, and is not complete either.

#include "coll_check.h"

enum { LEFT = 2, LOOKS = 200 };

static int somebody_left(struct coll_test *t)
{
    int flag = -1;
    CHECK_OK(MPI_Iprobe(MPI_ANY_SOURCE, LEFT, t->comm, &flag, MPI_STATUS_IGNORE));
    return flag;
}

static void round_of(struct coll_test *t, int late, enum coll_form form, MPI_Request *request)
{
    struct coll_args a = {.comm = t->comm};
    int done = 0, in = -1;
    for (int i = 0; i < LOOKS && t->me == late; i++)
        CHECK(!somebody_left(t));
    if (coll_is_persistent(form))
        CHECK_OK(MPI_Start(request));
    else
        CHECK_OK(coll_row_of(BARRIER)->call[form](&a, request));
    while (!done) // a null request is complete
        CHECK_OK(MPI_Test(request, &done, MPI_STATUS_IGNORE));
    if (t->me != late) {
        CHECK_OK(MPI_Send(&late, 1, MPI_INT, late, LEFT, t->comm));
        return;
    }
    for (int i = 1; i < t->n; i++) {
        CHECK_OK(MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, LEFT, t->comm, MPI_STATUS_IGNORE));
        CHECK_INT(in, late);
    }
}

// While the late rank has not entered, the others' barriers do not complete, but messages pass.
static void not_yet(struct coll_test *t, int late)
{
    MPI_Request request;
    int done = -1, token = 0, right = (t->me + 1) % t->n, left = (t->me + t->n - 1) % t->n;
    if (t->me != late) {
        CHECK_OK(MPI_Ibarrier(t->comm, &request));
        for (int i = 0; i < LOOKS; i++) {
            CHECK_OK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
            CHECK(!done);
        }
    }
    // The token reaches the late rank last, after all the others have entered and looked.
    if (t->n > 1) {
        if (t->me != (late + 1) % t->n)
            CHECK_OK(MPI_Recv(&token, 1, MPI_INT, left, 7, t->comm, MPI_STATUS_IGNORE));
        if (t->me != late)
            CHECK_OK(MPI_Send(&token, 1, MPI_INT, right, 7, t->comm));
    }
    if (t->me == late)
        CHECK_OK(MPI_Ibarrier(t->comm, &request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void body(struct coll_test *t)
{
    int rounds = t->n <= 8 ? 40 : t->n;
    for (int form = 0; form < COLL_BASIC_FORMS; form++) {
        MPI_Request request = MPI_REQUEST_NULL;
        struct coll_args a = {.comm = t->comm};
        if (!(t->forms >> form & 1))
            continue;
        if (coll_is_persistent((enum coll_form)form))
            CHECK_OK(coll_row_of(BARRIER)->call[form](&a, &request));
        for (int i = 0; i < rounds; i++)
            round_of(t, i % t->n, (enum coll_form)form, &request);
        if (coll_is_persistent((enum coll_form)form))
            CHECK_OK(MPI_Request_free(&request));
        CHECK(request == MPI_REQUEST_NULL);
    }
    for (int late = 0; late < t->n; late++)
        not_yet(t, late);
}

int main(int argc, char **argv)
{
    return coll_main(argc, argv, body);
}
