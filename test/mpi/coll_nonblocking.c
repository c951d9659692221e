// SPDX-License-Identifier: BSD-3-Clause
//
// Nonblocking collectives under way together: of all kinds, on two communicators that ranks use in
// different orders, waited for in an order of each rank's own, among point-to-point messages; and
// thousands at a time.

#include "coll_check.h"

enum { MANY = 5000, TAG = 9 };

// The index of a request that has completed, in one of the ways that MPI has.
static int complete_one(MPI_Request *requests, int n, uint64_t *random)
{
    int index = MPI_UNDEFINED, done = 0, ways = random_below(random, 3);
    if (ways == 0) {
        CHECK_OK(MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE));
        return index;
    }
    do {
        index = random_below(random, n);
    } while (requests[index] == MPI_REQUEST_NULL);
    if (ways == 1)
        CHECK_OK(MPI_Wait(&requests[index], MPI_STATUS_IGNORE));
    while (ways == 2 && !done)
        CHECK_OK(MPI_Test(&requests[index], &done, MPI_STATUS_IGNORE));
    CHECK(requests[index] == MPI_REQUEST_NULL);
    return index;
}

static void start_on(struct coll_case *cases, MPI_Request *requests, int n, MPI_Comm comm)
{
    int large = (int)COLL_FORMS > (int)NONBLOCKING_C;
    for (int i = 0; i < n; i++)
        if (cases[i].comm == comm)
            case_start(&cases[i], large && i % 2 ? NONBLOCKING_C : NONBLOCKING, &requests[i]);
}

static void mixed(struct coll_test *t, int n)
{
    struct coll_case *cases = must_alloc((size_t)n * sizeof *cases);
    MPI_Request *requests = must_alloc((size_t)n * sizeof(MPI_Request)), ring[2];
    MPI_Comm other;
    int in = -1, out = t->me, right = (t->me + 1) % t->n, left = (t->me + t->n - 1) % t->n;
    uint64_t own = t->random + (uint64_t)t->me;
    CHECK_OK(MPI_Comm_dup(t->comm, &other));
    for (int i = 0; i < n; i++) {
        cases[i] = case_random(t, (enum coll_kind)random_below(&t->random, EXSCAN + 1));
        if (i % 3 == 0)
            cases[i].comm = other;
        cases[i].chunks %= 3000;
        case_build(&cases[i]);
        case_prepare(&cases[i]);
    }
    CHECK_OK(MPI_Irecv(&in, 1, MPI_INT, left, TAG, t->comm, &ring[0]));
    start_on(cases, requests, n, t->me % 2 ? other : t->comm);
    CHECK_OK(MPI_Isend(&out, 1, MPI_INT, right, TAG, t->comm, &ring[1]));
    start_on(cases, requests, n, t->me % 2 ? t->comm : other);
    CHECK_OK(MPI_Waitall(2, ring, MPI_STATUSES_IGNORE));
    CHECK_INT(in, left);
    for (int i = 0; i < n; i++)
        case_verify(&cases[complete_one(requests, n, &own)]);
    for (int i = 0; i < n; i++)
        case_free(&cases[i]);
    CHECK_OK(MPI_Comm_free(&other));
    free(cases);
    free(requests);
}

// Sums, broadcasts and barriers of one int each.
static void many(struct coll_test *t, int n)
{
    MPI_Request *requests = must_alloc((size_t)n * sizeof(MPI_Request));
    int *out = must_alloc((size_t)n * sizeof(int)), *in = must_alloc((size_t)n * sizeof(int));
    for (int i = 0; i < n; i++) {
        out[i] = i + t->me;
        in[i] = t->me == i % t->n ? i : -1;
        if (i % 3 == 0)
            CHECK_OK(MPI_Iallreduce(&out[i], &in[i], 1, MPI_INT, MPI_SUM, t->comm, &requests[i]));
        else if (i % 3 == 1)
            CHECK_OK(MPI_Ibcast(&in[i], 1, MPI_INT, i % t->n, t->comm, &requests[i]));
        else
            CHECK_OK(MPI_Ibarrier(t->comm, &requests[i]));
    }
    CHECK_OK(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < n; i++) {
        CHECK(requests[i] == MPI_REQUEST_NULL);
        if (i % 3 == 0)
            CHECK_INT(in[i], t->n * i + t->n * (t->n - 1) / 2);
        else if (i % 3 == 1)
            CHECK_INT(in[i], i);
    }
    free(requests);
    free(out);
    free(in);
}

// A blocking collective passes one that is under way; the data is that of each.
static void overtaken(struct coll_test *t)
{
    MPI_Request request;
    int sum = -1, one = 1, sum2 = -1, two = 2;
    for (int i = 0; i < 20; i++) {
        CHECK_OK(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, t->comm, &request));
        CHECK_OK(MPI_Allreduce(&two, &sum2, 1, MPI_INT, MPI_SUM, t->comm));
        CHECK_INT(sum2, 2 * t->n);
        CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_INT(sum, t->n);
    }
}

static void body(struct coll_test *t)
{
    for (int i = 0; i < (t->n <= 8 ? 4 : 1); i++)
        mixed(t, t->n <= 17 ? 40 : 15);
    many(t, t->n == 4 ? MANY : t->n <= 8 ? 600 : 150);
    overtaken(t);
}

int main(int argc, char **argv)
{
    return coll_main(argc, argv, body);
}
