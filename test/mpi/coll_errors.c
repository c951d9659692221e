// SPDX-License-Identifier: BSD-3-Clause
//
// Wrong arguments of collectives, the same on all ranks, so that nobody waits: the error's class,
// in every form of the call, and that the communicator works afterwards.

#include "coll_check.h"

enum { ROOM = 4096 };

// A call that is right but for what a test then spoils.
struct wrong {
    struct coll_test *test;
    enum coll_kind kind;
    int in[ROOM], out[ROOM];
    struct coll_args a;
};

static void wrong_init(struct wrong *w, struct coll_test *t, enum coll_kind kind)
{
    w->test = t;
    w->kind = kind;
    memset(w->in, 0, sizeof w->in);
    memset(w->out, 0, sizeof w->out);
    coll_args_init(&w->a, t->n);
    w->a.sendbuf = w->out;
    w->a.recvbuf = w->in;
    w->a.sendcount = w->a.recvcount = 1;
    w->a.sendtype = w->a.recvtype = MPI_INT;
    w->a.op = MPI_SUM;
    w->a.comm = t->comm;
    for (int i = 0; i < t->n; i++) {
        w->a.sendcounts[i] = w->a.recvcounts[i] = 1;
        w->a.sdispls[i] = w->a.rdispls[i] = i;
        w->a.sendtypes[i] = w->a.recvtypes[i] = MPI_INT;
    }
}

// All forms fail with one of two classes.
static void wrong_try(struct wrong *w, int class1, int class2)
{
    MPI_Request request;
    coll_args_widen(&w->a);
    for (int form = 0; form < COLL_FORMS; form++) {
        if (!(w->test->forms >> form & 1))
            continue;
        int code = coll_row_of(w->kind)->call[form](&w->a, &request);
        if (code == MPI_SUCCESS)
            check_fail(__FILE__, __LINE__, "%s %s succeeds, should fail with class %d",
                       coll_row_of(w->kind)->name, coll_form_name((enum coll_form)form), class1);
        if (error_class(code) != class1 && error_class(code) != class2)
            check_fail(__FILE__, __LINE__, "%s %s fails with class %d, should be %d or %d",
                       coll_row_of(w->kind)->name, coll_form_name((enum coll_form)form),
                       error_class(code), class1, class2);
    }
    coll_args_free(&w->a);
}

static int is_reduction(enum coll_kind kind)
{
    return kind >= REDUCE && kind <= EXSCAN;
}

static void counts_and_types(struct coll_test *t, enum coll_kind kind)
{
    MPI_Datatype raw;
    struct wrong w;
    CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &raw)); // not committed
    wrong_init(&w, t, kind);
    w.a.sendcount = w.a.recvcount = -1;
    for (int i = 0; i < t->n; i++)
        w.a.sendcounts[i] = w.a.recvcounts[i] = -1;
    wrong_try(&w, MPI_ERR_COUNT, MPI_ERR_ARG);
    wrong_init(&w, t, kind);
    w.a.sendtype = w.a.recvtype = MPI_DATATYPE_NULL;
    for (int i = 0; i < t->n; i++)
        w.a.sendtypes[i] = w.a.recvtypes[i] = MPI_DATATYPE_NULL;
    wrong_try(&w, MPI_ERR_TYPE, MPI_ERR_TYPE);
    wrong_init(&w, t, kind);
    w.a.sendtype = w.a.recvtype = raw;
    for (int i = 0; i < t->n; i++)
        w.a.sendtypes[i] = w.a.recvtypes[i] = raw;
    wrong_try(&w, MPI_ERR_TYPE, is_reduction(kind) ? MPI_ERR_OP : MPI_ERR_TYPE);
    CHECK_OK(MPI_Type_free(&raw));
}

static void comms(struct coll_test *t, enum coll_kind kind)
{
    struct wrong w;
    wrong_init(&w, t, kind);
    w.a.comm = MPI_COMM_NULL;
    wrong_try(&w, MPI_ERR_COMM, MPI_ERR_COMM);
}

static void roots(struct coll_test *t, enum coll_kind kind)
{
    const int bad[] = {-1, t->n, t->n + 1000, MPI_ROOT, MPI_PROC_NULL, MPI_ANY_SOURCE};
    for (int i = 0; i < COUNT_OF(bad); i++) {
        struct wrong w;
        wrong_init(&w, t, kind);
        w.a.root = bad[i];
        wrong_try(&w, MPI_ERR_ROOT, MPI_ERR_ROOT);
    }
}

static void ops(struct coll_test *t, enum coll_kind kind)
{
    const struct {
        MPI_Op op;
        MPI_Datatype type;
    } bad[] = {
        {MPI_OP_NULL, MPI_INT}, {MPI_REPLACE, MPI_INT},
        {MPI_NO_OP, MPI_INT},   {MPI_SUM, MPI_PACKED},
        {MPI_BAND, MPI_DOUBLE}, {MPI_MAX, MPI_C_DOUBLE_COMPLEX},
        {MPI_MAXLOC, MPI_INT},  {MPI_SUM, MPI_2INT},
        {MPI_LAND, MPI_FLOAT},  {MPI_SUM, t->layouts[L_PAIR].type},
        {MPI_PROD, MPI_C_BOOL}, {MPI_SUM, MPI_WCHAR},
    };
    for (int i = 0; i < COUNT_OF(bad) && (STRICT || i < 1); i++) { // MPICH allows some of these
        struct wrong w;
        wrong_init(&w, t, kind);
        w.a.op = bad[i].op;
        w.a.recvtype = bad[i].type;
        wrong_try(&w, MPI_ERR_OP, MPI_ERR_OP);
    }
}

// The buffer that must not be MPI_IN_PLACE (of an exclusive scan the first rank's does not matter).
static void in_place(struct coll_test *t, enum coll_kind kind)
{
    struct wrong w;
    wrong_init(&w, t, kind);
    w.a.recvbuf = MPI_IN_PLACE;
    wrong_try(&w, MPI_ERR_BUFFER, MPI_ERR_ARG);
}

// What only an intercommunicator, or only an intracommunicator, takes.
static void inter(struct coll_test *t)
{
    MPI_Comm local, comm;
    struct wrong w;
    if (t->n < 2)
        return;
    CHECK_OK(MPI_Comm_split(t->comm, t->me == 0, t->me, &local));
    CHECK_OK(MPI_Intercomm_create(local, 0, t->comm, t->me == 0 ? 1 : 0, 5, &comm));
    CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    for (int kind = SCAN; kind <= EXSCAN; kind++) {
        wrong_init(&w, t, (enum coll_kind)kind);
        w.a.comm = comm;
        wrong_try(&w, MPI_ERR_COMM, MPI_ERR_COMM);
    }
    const enum coll_kind kinds[] = {ALLGATHER, ALLGATHERV,     ALLTOALL,  ALLTOALLV,
                                    ALLTOALLW, REDUCE_SCATTER, ALLREDUCE, REDUCE_SCATTER_BLOCK};
    for (int i = 0; i < COUNT_OF(kinds) && STRICT; i++) {
        wrong_init(&w, t, kinds[i]);
        w.a.comm = comm;
        w.a.sendbuf = MPI_IN_PLACE;
        wrong_try(&w, MPI_ERR_BUFFER, MPI_ERR_ARG);
    }
    wrong_init(&w, t, BCAST);
    w.a.comm = comm;
    w.a.root = t->n;
    wrong_try(&w, MPI_ERR_ROOT, MPI_ERR_ROOT);
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK_OK(MPI_Comm_free(&local));
}

static void neighbours(struct coll_test *t)
{
    for (int kind = NEIGHBOR_ALLGATHER; kind <= NEIGHBOR_ALLTOALLW; kind++) {
        struct wrong w;
        wrong_init(&w, t, (enum coll_kind)kind);
        wrong_try(&w, MPI_ERR_TOPOLOGY, MPI_ERR_COMM);
        comms(t, (enum coll_kind)kind);
    }
}

static void op_objects(struct coll_test *t)
{
    MPI_Op op = MPI_OP_NULL;
    int flag = -1, a = 1, b = 2;
    CHECK_ERROR2(MPI_Op_free(&op), MPI_ERR_OP, MPI_ERR_ARG, "MPI_Op_free", "");
    op = MPI_SUM;
    CHECK_ERROR2(MPI_Op_free(&op), MPI_ERR_OP, MPI_ERR_ARG, "MPI_Op_free", "");
    CHECK_ERROR2(MPI_Op_commutative(MPI_OP_NULL, &flag), MPI_ERR_OP, MPI_ERR_ARG,
                 "MPI_Op_commutative", "");
    CHECK_ERROR(MPI_Op_create(NULL, 1, &op), MPI_ERR_ARG, "MPI_Op_create", "");
    CHECK_ERROR(MPI_Op_create(wrap_op, 1, NULL), MPI_ERR_ARG, "MPI_Op_create", "");
    CHECK_ERROR(MPI_Reduce_local(&a, &b, 1, MPI_INT, MPI_OP_NULL), MPI_ERR_OP, "MPI_Reduce_local",
                "");
    if (STRICT) { // MPICH 4.0 crashes
        CHECK_ERROR(MPI_Reduce_local(&a, &b, -1, MPI_INT, MPI_SUM), MPI_ERR_COUNT,
                    "MPI_Reduce_local", "");
        CHECK_ERROR(MPI_Reduce_local(&a, &b, 1, MPI_DATATYPE_NULL, MPI_SUM), MPI_ERR_TYPE,
                    "MPI_Reduce_local", "");
        CHECK_ERROR(MPI_Reduce_local(&a, &b, 1, MPI_DOUBLE, MPI_BOR), MPI_ERR_OP,
                    "MPI_Reduce_local", "");
    }
    CHECK_INT(b, 2);
    (void)t;
}

static void body(struct coll_test *t)
{
    int one = 1, sum = 0;
    errors_return();
    CHECK_OK(MPI_Comm_set_errhandler(t->comm, MPI_ERRORS_RETURN));
    if (t->me == 0)
        op_objects(t);
    comms(t, BARRIER);
    for (int kind = BCAST; kind <= EXSCAN; kind++) {
        if (STRICT || kind < REDUCE) // a communicator of one rank makes MPICH 4.0 forget to look
            counts_and_types(t, (enum coll_kind)kind);
        comms(t, (enum coll_kind)kind);
        if (kind <= SCATTERV || kind == REDUCE)
            roots(t, (enum coll_kind)kind);
        if (is_reduction((enum coll_kind)kind))
            ops(t, (enum coll_kind)kind);
        if (STRICT && kind != EXSCAN && (kind == BCAST || (kind >= ALLGATHER && kind != REDUCE)))
            in_place(t, (enum coll_kind)kind);
    }
    inter(t);
    if (STRICT) // MPICH 4.0 looks at the counts first
        neighbours(t);
    CHECK_OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, t->comm));
    CHECK_INT(sum, t->n);
}

int main(int argc, char **argv)
{
    return coll_main(argc, argv, body);
}
