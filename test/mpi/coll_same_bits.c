// SPDX-License-Identifier: BSD-3-Clause
//
// Sums of numbers whose order matters: all ranks get the same bits, a repeated call gives the same
// bits again, in every form of the call, and the sums are near the true ones.

#include "coll_check.h"

enum { TAG = 3, REPEATS = 3 };

// Of many magnitudes and both signs.
static double number(int rank, int item)
{
    uint64_t h = coll_mix((uint64_t)rank * 100003 + (uint64_t)item);
    double fraction = (double)(h >> 12) / 4503599627370496.0 - 0.5;
    return fraction * (double)(1u << (h & 31));
}

// Everybody has what rank 0 has; compared with messages, not with a collective.
static void check_all_equal(struct coll_test *t, const double *mine, int n)
{
    double *first = must_alloc((size_t)n * sizeof(double));
    if (t->me > 0) {
        CHECK_OK(MPI_Recv(first, n, MPI_DOUBLE, t->me - 1, TAG, t->comm, MPI_STATUS_IGNORE));
        CHECK(memcmp(first, mine, (size_t)n * sizeof(double)) == 0);
    }
    if (t->me + 1 < t->n)
        CHECK_OK(MPI_Send(mine, n, MPI_DOUBLE, t->me + 1, TAG, t->comm));
    free(first);
}

static void check_near(struct coll_test *t, const double *sums, int n, int first)
{
    for (int i = 0; i < n; i++) {
        long double exact = 0, size = 0;
        for (int rank = 0; rank < t->n; rank++) {
            double x = number(rank, first + i);
            exact += x;
            size += x < 0 ? -x : x;
        }
        long double off = sums[i] - exact;
        CHECK((off < 0 ? -off : off) <= size * t->n * 3e-16L);
    }
}

// The same call in all forms, several times; out holds the results of one, and again those of the
// others.
static void repeat(struct coll_test *t, enum coll_kind kind, int n, int all)
{
    struct coll_args a;
    int parts = kind == REDUCE_SCATTER_BLOCK ? t->n : 1, done = 0;
    double *in = must_alloc((size_t)(n * parts) * sizeof(double));
    double *out = must_alloc((size_t)n * sizeof(double));
    double *again = must_alloc((size_t)n * sizeof(double));
    MPI_Request request;
    for (int i = 0; i < n * parts; i++)
        in[i] = number(t->me, i);
    coll_args_init(&a, 1);
    a.sendbuf = in;
    a.recvbuf = again;
    a.recvcount = n;
    a.recvtype = MPI_DOUBLE;
    a.op = MPI_SUM;
    a.comm = t->comm;
    for (int form = 0; form < COLL_FORMS; form++) {
        if (!(t->forms >> form & 1) || (!STRICT && form != BLOCKING))
            continue; // MPICH sums in another order in other forms, which it may
        for (int i = 0; i < REPEATS; i++) {
            memset(again, 0, (size_t)n * sizeof(double));
            CHECK_OK(coll_row_of(kind)->call[form](&a, &request));
            if (coll_is_persistent((enum coll_form)form))
                CHECK_OK(MPI_Start(&request));
            CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            if (coll_is_persistent((enum coll_form)form))
                CHECK_OK(MPI_Request_free(&request));
            if (done++)
                CHECK(memcmp(again, out, (size_t)n * sizeof(double)) == 0);
            memcpy(out, again, (size_t)n * sizeof(double));
        }
    }
    if (all)
        check_all_equal(t, out, n);
    if (kind == ALLREDUCE || (kind == REDUCE && t->me == 0))
        check_near(t, out, n, 0);
    if (kind == REDUCE_SCATTER_BLOCK)
        check_near(t, out, n, t->me * n);
    coll_args_free(&a);
    free(in);
    free(out);
    free(again);
}

static void body(struct coll_test *t)
{
    static const int counts[] = {1, 2, 31, 256, 1024, 1500, 8192, 70000};
    for (int i = 0; i < COUNT_OF(counts); i++) {
        if (counts[i] > (t->n <= 4 ? 70000 : t->n <= 17 ? 8192 : 1024))
            continue;
        repeat(t, ALLREDUCE, counts[i], 1);
        repeat(t, REDUCE, counts[i], 0);
        repeat(t, SCAN, counts[i], 0);
        if (counts[i] <= 1500)
            repeat(t, REDUCE_SCATTER_BLOCK, counts[i], 0);
    }
}

int main(int argc, char **argv)
{
    return coll_main(argc, argv, body);
}
