// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives on communicators of every kind: duplicates, ranks reversed, strided and shuffled,
// many at a time, communicators of one rank; and objects that are freed while a call uses them.

#include "coll_check.h"

static void some_kinds(struct coll_test *t, MPI_Comm comm, int rounds)
{
    struct coll_test inner = *t;
    coll_use(&inner, comm);
    inner.random += t->random;
    for (int i = 0; i < rounds; i++) {
        struct coll_case c = case_random(&inner, (enum coll_kind)(i % (EXSCAN + 1)));
        c.chunks %= 500;
        case_try(&c);
    }
}

static void ordered(struct coll_test *t, int colour, int key)
{
    MPI_Comm comm;
    CHECK_OK(MPI_Comm_split(t->comm, colour, key, &comm));
    if (comm == MPI_COMM_NULL)
        return;
    some_kinds(t, comm, EXSCAN + 1);
    CHECK_OK(MPI_Comm_free(&comm));
}

static void many_comms(struct coll_test *t)
{
    enum { COMMS = 40 };
    MPI_Comm comms[COMMS];
    MPI_Request requests[COMMS];
    int out[COMMS], in[COMMS];
    for (int i = 0; i < COMMS; i++)
        CHECK_OK(MPI_Comm_split(t->comm, t->me % (1 + i % 3), i % 2 ? t->me : -t->me, &comms[i]));
    for (int k = 0; k < COMMS; k++) {
        int i = t->me % 2 ? COMMS - 1 - k : k;
        out[i] = i + t->me;
        CHECK_OK(MPI_Iallreduce(&out[i], &in[i], 1, MPI_INT, MPI_SUM, comms[i], &requests[i]));
    }
    CHECK_OK(MPI_Waitall(COMMS, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < COMMS; i++) {
        int want = 0;
        for (int rank = 0; rank < t->n; rank++)
            want += rank % (1 + i % 3) == t->me % (1 + i % 3) ? i + rank : 0;
        CHECK_INT(in[i], want);
        CHECK_OK(MPI_Comm_free(&comms[i]));
    }
}

// Communicator, datatype and operation go away while the call needs them.
static void freed_early(struct coll_test *t, enum coll_kind kind)
{
    for (int i = 0; i < 4; i++) {
        MPI_Comm comm;
        MPI_Request request;
        struct layout pair = layout_of(L_PAIR);
        MPI_Op op = reduction_op(AFFINE);
        struct coll_case c = case_plain(t, kind, i % 2 ? 2000 : 2);
        CHECK_OK(MPI_Comm_dup(t->comm, &comm));
        c.comm = comm;
        c.slay = c.rlay = &pair;
        c.red = AFFINE;
        case_build(&c);
        c.args.op = op;
        case_prepare(&c);
        case_start(&c, NONBLOCKING, &request);
        CHECK_OK(MPI_Comm_free(&comm));
        CHECK_OK(MPI_Type_free(&pair.type));
        CHECK_OK(MPI_Op_free(&op));
        CHECK(comm == MPI_COMM_NULL && pair.type == MPI_DATATYPE_NULL && op == MPI_OP_NULL);
        CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        case_verify(&c);
        case_free(&c);
    }
}

static void body(struct coll_test *t)
{
    MPI_Comm dup;
    int half = (t->n + 1) / 2;
    coll_need_ops(t);
    CHECK_OK(MPI_Comm_dup(t->comm, &dup));
    some_kinds(t, dup, EXSCAN + 1);
    CHECK_OK(MPI_Comm_free(&dup));
    ordered(t, 0, -t->me);                                    // reversed
    ordered(t, t->me % 2, t->me);                             // every other one
    ordered(t, 0, t->me % 2 * t->n + t->me);                  // round robin of two
    ordered(t, 0, t->me < half ? 2 * t->me : t->me - half);   // interleaved halves
    ordered(t, 0, (int)(coll_mix((uint64_t)t->me) & 0xffff)); // shuffled
    ordered(t, t->me % 3 ? MPI_UNDEFINED : 1, t->me);         // a third
    ordered(t, t->me, 0);                                     // alone
    some_kinds(t, MPI_COMM_SELF, EXSCAN + 1);
    many_comms(t);
    for (int kind = BCAST; kind <= EXSCAN; kind++)
        freed_early(t, (enum coll_kind)kind);
}

int main(int argc, char **argv)
{
    return coll_main(argc, argv, body);
}
