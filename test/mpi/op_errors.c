// SPDX-License-Identifier: BSD-3-Clause
//
// What operations and MPI_Reduce_local refuse, each with its error message.

#include "check.h"

static void add(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *len; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void operations(void)
{
    MPI_Op op = MPI_SUM, null = MPI_OP_NULL;
    int flag;
    CHECK_ERROR(MPI_Op_create(NULL, 1, &op), MPI_ERR_ARG, "MPI_Op_create", "user_fn");
    CHECK_ERROR(MPI_Op_create_c(NULL, 1, &op), MPI_ERR_ARG, "MPI_Op_create_c", "user_fn");
    CHECK_ERROR(MPI_Op_create(add, 1, NULL), MPI_ERR_ARG, "MPI_Op_create", "argument op");
    CHECK(op == MPI_OP_NULL);
    op = MPI_SUM;
    CHECK_ERROR(MPI_Op_free(&op), MPI_ERR_OP, "MPI_Op_free", "MPI_SUM");
    CHECK(op == MPI_SUM);
    CHECK_ERROR(MPI_Op_free(&null), MPI_ERR_OP, "MPI_Op_free", "MPI_OP_NULL");
    CHECK_ERROR(MPI_Op_free(NULL), MPI_ERR_ARG, "MPI_Op_free", "argument op is NULL");
    CHECK_ERROR(MPI_Op_commutative(null, &flag), MPI_ERR_OP, "MPI_Op_commutative", "MPI_OP_NULL");
    CHECK_ERROR(MPI_Op_commutative((MPI_Op)0x25, &flag), MPI_ERR_OP, "MPI_Op_commutative", "0x25");
    CHECK_ERROR(MPI_Op_commutative(MPI_SUM, NULL), MPI_ERR_ARG, "MPI_Op_commutative", "commute");
}

static void reductions(void)
{
    int in[2] = {1, 2}, out[2] = {3, 4};
    double d[2] = {1, 2};
    MPI_Datatype pair, same;
    MPI_Op op, stale;
    CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &pair));
    CHECK_OK(MPI_Type_dup(MPI_INT, &same));
    CHECK_OK(MPI_Op_create(add, 1, &op));
    CHECK_ERROR(MPI_Reduce_local(d, d, 1, MPI_DOUBLE, MPI_BAND), MPI_ERR_OP, "MPI_Reduce_local",
                "MPI_BAND works on integers and bytes, not on MPI_DOUBLE");
    CHECK_ERROR(MPI_Reduce_local(in, in, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER, "MPI_Reduce_local",
                "overlap");
    CHECK_ERROR(MPI_Reduce_local(in, in, 1, pair, op), MPI_ERR_TYPE, "MPI_Reduce_local", "commit");
    CHECK_ERROR(MPI_Allreduce(in, out, 1, MPI_BYTE, MPI_MAX, MPI_COMM_WORLD), MPI_ERR_OP,
                "MPI_Allreduce",
                "MPI_MAX works on integers and floating-point numbers, not on MPI_BYTE");
    CHECK_ERROR(MPI_Reduce_local_c(d, d, 0, MPI_DOUBLE, MPI_LAND), MPI_ERR_OP, "MPI_Reduce_local_c",
                "MPI_LAND works on integers and logical types, not on MPI_DOUBLE");
    CHECK_ERROR(MPI_Reduce_local(in, out, 2, MPI_INT, MPI_MAXLOC), MPI_ERR_OP, "MPI_MAXLOC",
                "not on MPI_INT");
    CHECK_ERROR(MPI_Reduce_local(in, out, 2, MPI_WCHAR, MPI_SUM), MPI_ERR_OP, "MPI_SUM",
                "not on MPI_WCHAR");
    CHECK_ERROR(MPI_Reduce_local(d, d, 1, MPI_C_FLOAT_COMPLEX, MPI_MAX), MPI_ERR_OP, "MPI_MAX",
                "not on MPI_C_COMPLEX");
    CHECK_ERROR(MPI_Reduce_local(in, out, 2, MPI_INT, MPI_REPLACE), MPI_ERR_OP, "MPI_REPLACE",
                "MPI_Accumulate");
    CHECK_ERROR(MPI_Reduce_local(in, out, 2, MPI_INT, MPI_NO_OP), MPI_ERR_OP, "MPI_NO_OP",
                "MPI_Accumulate");
    CHECK_ERROR(MPI_Reduce_local(in, out, 2, MPI_INT, MPI_OP_NULL), MPI_ERR_OP, "MPI_Reduce_local",
                "MPI_OP_NULL");
    CHECK_ERROR(MPI_Reduce_local(in, out, 2, same, MPI_SUM), MPI_ERR_OP, "MPI_SUM",
                "a derived datatype; MPI_Op_create");
    CHECK_OK(MPI_Type_free(&same));
    CHECK_ERROR(MPI_Reduce_local(in, out, 1, pair, op), MPI_ERR_TYPE, "MPI_Reduce_local",
                "MPI_Type_commit");
    CHECK_ERROR(MPI_Reduce_local(in, out, 2, MPI_DATATYPE_NULL, op), MPI_ERR_TYPE,
                "MPI_Reduce_local", "MPI_DATATYPE_NULL");
    CHECK_ERROR(MPI_Reduce_local(in, out, -1, MPI_INT, op), MPI_ERR_COUNT, "MPI_Reduce_local",
                "-1");
    CHECK_ERROR(MPI_Reduce_local(NULL, out, 2, MPI_INT, op), MPI_ERR_BUFFER, "MPI_Reduce_local",
                "argument inbuf is NULL");
    CHECK_ERROR(MPI_Reduce_local(in, NULL, 2, MPI_INT, op), MPI_ERR_BUFFER, "MPI_Reduce_local",
                "argument inoutbuf is NULL");
    CHECK_ERROR(MPI_Reduce_local(MPI_IN_PLACE, out, 2, MPI_INT, op), MPI_ERR_BUFFER,
                "MPI_Reduce_local", "argument inbuf is MPI_IN_PLACE");
    CHECK_ERROR(MPI_Reduce_local(in, MPI_IN_PLACE, 2, MPI_INT, op), MPI_ERR_BUFFER,
                "MPI_Reduce_local", "argument inoutbuf is MPI_IN_PLACE");
    stale = op;
    CHECK_OK(MPI_Op_free(&op));
    CHECK_ERROR(MPI_Reduce_local(in, out, 2, MPI_INT, stale), MPI_ERR_OP, "MPI_Reduce_local",
                "freed");
    CHECK(in[0] == 1 && in[1] == 2 && out[0] == 3 && out[1] == 4 && d[0] == 1 && d[1] == 2);
    CHECK_OK(MPI_Type_free(&pair));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    operations();
    reductions();
    CHECK_OK(MPI_Finalize());
    return 0;
}
