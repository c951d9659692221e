// SPDX-License-Identifier: BSD-3-Clause
// The user's operations as schedules call them: on a stack that is not the rank's, in both orders,
// for types whose elements interlock; held while their handle is gone. Without a job: the rank is
// made up.
#include "mpi/coll/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "mpi/self.h"
#include "mpi/type/dtype.h"
#include "mpi_bodies.h"
#include "type/build.h"

static mlt_sched sched;
static mlt_mpi_worker mpi;
static mlt_worker worker = {.sched = &sched, .mpi = &mpi};
static mlt_rank rank = {.worker = &worker};

static int calls;
static int64_t extent; // of the type under test
static int parts;      // ints in an element, `step` bytes apart
static int step;
static MPI_Datatype handle;

// inout = in - 2 inout, which does not commute.
static void reduce(void *in, void *inout, int64_t count)
{
    calls++;
    CHECK(mpi.ungated == 1);    // nobody may open a gate now
    rank.fn = MLT_FN_Type_size; // as if it had asked MPI something
    for (int64_t i = 0; i < count; i++)
        for (int p = 0; p < parts; p++) {
            int *to = (int *)((char *)inout + i * extent + p * step);
            *to = *(int *)((char *)in + i * extent + p * step) - 2 * *to;
        }
}

static void few(void *in, void *inout, int *len, MPI_Datatype *type)
{
    CHECK(*type == handle);
    *type = MPI_DATATYPE_NULL; // is a copy
    reduce(in, inout, *len);
    *len = 0;
}

static void many(void *in, void *inout, MPI_Count *len, MPI_Datatype *type)
{
    CHECK(*type == handle);
    reduce(in, inout, *len);
}

static void prepare(const mlt_type *type, int parts_, int step_)
{
    extent = type->extent;
    parts = parts_;
    step = step_;
    handle = mlt_dtype_handle(type);
    rank.fn = MLT_FN_Allreduce;
    mlt_fiber_user = &rank;
    calls = 0;
}

static void try_op(MPI_Op op, const mlt_type *type, bool reversed, bool commutes)
{
    enum { COUNT = 4, INTS = COUNT * 16 };
    static int a[INTS], b[INTS], was[INTS], scratch[INTS];
    mlt_coll_op c;
    int code;
    CHECK(mlt_op_of(&rank, NULL, op, type, &c, &code));
    CHECK(c.op == MLT_OPS && c.commutes == commutes && c.scratched == !commutes && c.arg == &c);
    CHECK(c.element * COUNT <= sizeof a);
    for (int i = 0; i < INTS; i++) {
        was[i] = a[i] = i * i;
        b[i] = 100 - i;
    }
    mlt_coll_apply(&c, a, b, (uint64_t)COUNT * c.element, reversed, commutes ? NULL : scratch);
    CHECK(rank.fn == MLT_FN_Allreduce && mpi.ungated == 0);
    for (unsigned e = 0; e < COUNT; e++)
        for (int p = 0; p < parts; p++) {
            unsigned i = (e * c.element + (unsigned)(p * step)) / sizeof(int);
            int want = reversed || commutes ? b[i] - 2 * was[i] : was[i] - 2 * b[i];
            CHECK(a[i] == want);
            CHECK(b[i] == 100 - (int)i);
        }
    CHECK(calls == (c.apart ? COUNT : 1));
}

static void try_type(const mlt_type *type, int parts_, int step_)
{
    MPI_Op ops[3];
    CHECK(mlt_op_create(&rank, (mlt_op_function){.few = few}, false, 0, &ops[0]) == MPI_SUCCESS);
    CHECK(mlt_op_create(&rank, (mlt_op_function){.many = many}, true, 0, &ops[1]) == MPI_SUCCESS);
    CHECK(mlt_op_create(&rank, (mlt_op_function){.few = few}, false, 1, &ops[2]) == MPI_SUCCESS);
    for (int o = 0; o < 3; o++)
        for (int reversed = 0; reversed < 2; reversed++) {
            prepare(type, parts_, step_);
            try_op(ops[o], type, reversed, o == 2);
        }
    for (int o = 0; o < 3; o++)
        CHECK(mlt_mpi_Op_free(&rank, &ops[o]) == MPI_SUCCESS && ops[o] == MPI_OP_NULL);
}

static void types(void)
{
    const mlt_type *one = &mlt_type_predefined[(uintptr_t)MPI_INT % 1024];
    mlt_dtype column = {0}, narrow = {0}; // no more than a handle needs
    try_type(one, 1, 0);
    CHECK(mlt_type_make_vector(&column.type, one, 3, 1, 16) == MLT_OK);
    try_type(&column.type, 3, 16);
    CHECK(mlt_type_make_resized(&narrow.type, &column.type, 0, 4) == MLT_OK);
    try_type(&narrow.type, 3, 16);
    mlt_type_unmake(&narrow.type);
    mlt_type_unmake(&column.type);
}

static void lives(void)
{
    const mlt_type *one = &mlt_type_predefined[(uintptr_t)MPI_INT % 1024];
    mlt_coll_op c, kept, other;
    MPI_Op op, second;
    int code, a = 5, b = 7;
    CHECK(mlt_op_create(&rank, (mlt_op_function){.few = few}, false, 1, &op) == MPI_SUCCESS);
    CHECK(mlt_op_create(&rank, (mlt_op_function){.few = few}, false, 1, &second) == MPI_SUCCESS);
    MPI_Op stale = op;
    mlt_user_op *object = mlt_op_object(op);
    CHECK(object && mlt_op_object(MPI_SUM) == NULL && mlt_op_object(MPI_OP_NULL) == NULL);
    CHECK(mlt_op_of(&rank, NULL, op, one, &c, &code));
    CHECK(mlt_op_of(&rank, NULL, second, one, &other, &code));
    CHECK(mlt_coll_op_same(&c, &other)); // another rank's, with the same function
    mlt_coll_op_copy(&kept, &c);
    mlt_op_hold(object);
    mlt_op_hold(NULL);
    CHECK(mlt_mpi_Op_free(&rank, &op) == MPI_SUCCESS);
    CHECK(mlt_op_object(stale) == NULL);
    prepare(one, 1, 0);
    mlt_coll_apply(&kept, &a, &b, sizeof a, false, NULL); // a call under way has it
    CHECK(a == -3 && calls == 1);
    mlt_op_drop(object);
    mlt_op_drop(NULL);
    CHECK(mlt_mpi_Op_free(&rank, &second) == MPI_SUCCESS);
}

static void predefined(void)
{
    static const MPI_Op all[] = {MPI_MAX,    MPI_MIN,    MPI_SUM,     MPI_PROD, MPI_LAND,
                                 MPI_LOR,    MPI_LXOR,   MPI_BAND,    MPI_BOR,  MPI_BXOR,
                                 MPI_MAXLOC, MPI_MINLOC, MPI_REPLACE, MPI_NO_OP};
    const mlt_type *type = &mlt_type_predefined[(uintptr_t)MPI_DOUBLE % 1024];
    mlt_reduce_op which;
    mlt_coll_op c;
    int code, found = 0;
    for (int i = 0; i < MLT_REDUCE_OPS; i++) {
        CHECK(mlt_op_predefined(all[i], &which));
        CHECK((int)which == i);
    }
    for (uintptr_t h = 0; h < 4096; h++)
        found += mlt_op_predefined((MPI_Op)h, &which);
    CHECK(found == MLT_REDUCE_OPS);
    CHECK(mlt_op_of(&rank, NULL, MPI_SUM, type, &c, &code));
    CHECK(c.op == MLT_OP_SUM && c.type == MLT_OP_FLOAT64 && c.commutes && !c.exact && c.direct);
}

int main(void)
{
    types();
    lives();
    predefined();
    return 0;
}
