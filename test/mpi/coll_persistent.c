// SPDX-License-Identifier: BSD-3-Clause
//
// Persistent collectives: one request of every kind, started again and again, with new data, in
// changing orders (the same on all ranks, as MPI wants on one communicator), one by one or with
// MPI_Startall; on several communicators; freed while inactive, also before the first start.

#include "coll_check.h"

enum { PERSISTENT_SET = EXSCAN + 1, STARTS = 12 };

#if MPI_VERSION >= 4

// Permutes the numbers below n.
static void shuffle(int *order, int n, uint64_t *random)
{
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int k = random_below(random, i + 1), other = order[k];
        order[k] = order[i];
        order[i] = other;
    }
}

static void make(struct coll_case *c, enum coll_form form, MPI_Request *request)
{
    c->form = form;
    CHECK_OK(coll_row_of(c->kind)->call[form](&c->args, request));
    CHECK(*request != MPI_REQUEST_NULL);
}

static void start_together(MPI_Request *requests, const int *order, int n, int all)
{
    MPI_Request sorted[PERSISTENT_SET];
    for (int i = 0; i < n && !all; i++)
        CHECK_OK(MPI_Start(&requests[order[i]]));
    for (int i = 0; i < n && all; i++)
        sorted[i] = requests[order[i]];
    if (all)
        CHECK_OK(MPI_Startall(n, sorted));
    for (int i = 0; i < n && all; i++) // starting does not change a handle
        CHECK(sorted[i] == requests[order[i]]);
}

static void every_kind(struct coll_test *t)
{
    struct coll_case cases[PERSISTENT_SET];
    MPI_Request requests[PERSISTENT_SET];
    int order[PERSISTENT_SET];
    uint64_t own = t->random + (uint64_t)t->me;
    for (int i = 0; i < PERSISTENT_SET; i++) {
        cases[i] = case_random(t, (enum coll_kind)i);
        cases[i].chunks %= t->n <= 8 ? 2500 : 200;
        case_build(&cases[i]);
        make(&cases[i], i % 2 ? PERSISTENT : PERSISTENT_C, &requests[i]);
    }
    for (int round = 0; round < STARTS; round++) {
        int n = round % 3 ? PERSISTENT_SET : 1 + random_below(&t->random, PERSISTENT_SET);
        shuffle(order, PERSISTENT_SET, &t->random);
        for (int i = 0; i < n; i++)
            case_prepare(&cases[order[i]]);
        start_together(requests, order, n, round % 2);
        if (round % 4 == 3) {
            CHECK_OK(MPI_Waitall(PERSISTENT_SET, requests, MPI_STATUSES_IGNORE));
        } else {
            int waits[PERSISTENT_SET];
            shuffle(waits, PERSISTENT_SET, &own); // those that are not active complete at once
            for (int i = 0; i < PERSISTENT_SET; i++)
                CHECK_OK(MPI_Wait(&requests[waits[i]], MPI_STATUS_IGNORE));
        }
        for (int i = 0; i < n; i++)
            case_verify(&cases[order[i]]);
    }
    for (int i = 0; i < PERSISTENT_SET; i++) {
        CHECK_OK(MPI_Request_free(&requests[i]));
        CHECK(requests[i] == MPI_REQUEST_NULL);
        case_free(&cases[i]);
    }
}

// Requests of several communicators, each rank in an order of its own; some never start.
static void several_comms(struct coll_test *t)
{
    enum { COMMS = 5 };
    MPI_Comm comms[COMMS];
    MPI_Request requests[COMMS], unused[COMMS];
    int out[COMMS], in[COMMS], spare = 0, order[COMMS];
    uint64_t own = t->random + (uint64_t)t->me;
    for (int i = 0; i < COMMS; i++) {
        CHECK_OK(MPI_Comm_dup(t->comm, &comms[i]));
        CHECK_OK(MPI_Allreduce_init(&out[i], &in[i], 1, MPI_INT, MPI_SUM, comms[i], MPI_INFO_NULL,
                                    &requests[i]));
        CHECK_OK(MPI_Bcast_init(&spare, 1, MPI_INT, 0, comms[i], MPI_INFO_NULL, &unused[i]));
    }
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < COMMS; i++) {
            out[i] = round + i;
            in[i] = -1;
        }
        shuffle(order, COMMS, &own);
        start_together(requests, order, COMMS, round % 2);
        CHECK_OK(MPI_Waitall(COMMS, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < COMMS; i++)
            CHECK_INT(in[i], t->n * (round + i));
    }
    for (int i = 0; i < COMMS; i++) {
        CHECK_OK(MPI_Request_free(&unused[i]));
        out[i] = 1;
        CHECK_OK(MPI_Start(&requests[i]));
        CHECK_OK(MPI_Comm_free(&comms[i])); // what is under way completes
        CHECK_OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        CHECK_INT(in[i], t->n);
        CHECK_OK(MPI_Request_free(&requests[i]));
    }
}

// The status of a persistent collective is empty of source and tag, and its error is none.
static void one_alone(struct coll_test *t)
{
    MPI_Request request;
    MPI_Status status;
    int done = 0;
    CHECK_OK(MPI_Barrier_init(t->comm, MPI_INFO_NULL, &request));
    for (int i = 0; i < 50; i++, done = 0) {
        CHECK_OK(MPI_Start(&request));
        while (!done)
            CHECK_OK(MPI_Test(&request, &done, &status));
        CHECK_OK(MPI_Test(&request, &done, &status)); // inactive: at once, with an empty status
        CHECK(done);
        CHECK_EMPTY(&status);
    }
    CHECK_OK(MPI_Request_free(&request));
}

static void body(struct coll_test *t)
{
    for (int i = 0; i < (t->n <= 8 ? 3 : 1); i++)
        every_kind(t);
    several_comms(t);
    one_alone(t);
}

#else

static void body(struct coll_test *t)
{
    (void)t;
}

#endif

int main(int argc, char **argv)
{
    return coll_main(argc, argv, body);
}
