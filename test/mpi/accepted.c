// SPDX-License-Identifier: BSD-3-Clause
//
// Calls that look wrong but are right, or that the standard leaves open and MPICH or Open MPI
// accept: the argument is without effect, or has one obvious meaning (docs/internals/mpi-layer.md,
// "What is refused").

#include "check.h"

#define WORLD MPI_COMM_WORLD

#define CHECK_NAME(call, want)                                                                     \
    do {                                                                                           \
        char name[MPI_MAX_OBJECT_NAME];                                                            \
        int length = -1;                                                                           \
        CHECK_OK(call);                                                                            \
        CHECK(strcmp(name, want) == 0);                                                            \
        CHECK_INT(length, (int)strlen(want));                                                      \
    } while (0)

static void names(void)
{
    CHECK_NAME(MPI_Comm_get_name(MPI_COMM_NULL, name, &length), "MPI_COMM_NULL");
    CHECK_NAME(MPI_Type_get_name(MPI_DATATYPE_NULL, name, &length), "MPI_DATATYPE_NULL");
    CHECK_NAME(MPI_Win_get_name(MPI_WIN_NULL, name, &length), "MPI_WIN_NULL");
    CHECK_NAME(MPI_Type_get_name(MPI_C_FLOAT_COMPLEX, name, &length), "MPI_C_COMPLEX");
    CHECK_NAME(MPI_Type_get_name(MPI_LONG_LONG, name, &length), "MPI_LONG_LONG_INT");
}

// What a binding writes into the status of no message.
static void statuses(void)
{
    MPI_Status status;
    memset(&status, 0, sizeof status);
    CHECK_OK(MPI_Status_set_source(&status, MPI_ANY_SOURCE));
    CHECK_OK(MPI_Status_set_tag(&status, MPI_ANY_TAG));
    CHECK_OK(MPI_Status_set_error(&status, MPI_SUCCESS));
    CHECK_EMPTY(&status);
    CHECK_OK(MPI_Status_set_tag(&status, -77));
    CHECK_INT(status.MPI_TAG, -77);
}

// The type of no elements does not count.
static void no_elements(int me)
{
    int in = 5;
    MPI_Status status;
    MPI_Datatype open;
    MPI_Request r;
    CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &open));
    CHECK_OK(MPI_Sendrecv(NULL, 0, MPI_DATATYPE_NULL, me, 1, NULL, 0, open, me, 1, WORLD, &status));
    CHECK_STATUS(&status, me, 1, 0);
    CHECK_OK(MPI_Isend(NULL, 0, open, me, 2, WORLD, &r));
    CHECK_OK(MPI_Recv(&in, 0, MPI_DATATYPE_NULL, me, 2, WORLD, &status));
    CHECK_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Bcast(NULL, 0, MPI_DATATYPE_NULL, 0, WORLD));
    CHECK_OK(MPI_Allgather(NULL, 0, MPI_DATATYPE_NULL, NULL, 0, MPI_DATATYPE_NULL, WORLD));
    CHECK_OK(MPI_Ialltoall(NULL, 0, MPI_DATATYPE_NULL, NULL, 0, MPI_DATATYPE_NULL, WORLD, &r));
    CHECK_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    CHECK_ERROR(MPI_Send(&in, 1, open, me, 1, WORLD), MPI_ERR_TYPE, "MPI_Send", "MPI_Type_commit");
    CHECK_ERROR(MPI_Send(&in, 1, MPI_DATATYPE_NULL, me, 1, WORLD), MPI_ERR_TYPE, "MPI_Send",
                "MPI_DATATYPE_NULL");
    CHECK_OK(MPI_Type_free(&open));
}

// A rank whose part of an array is empty.
static void empty_parts(void)
{
    MPI_Datatype part;
    MPI_Aint lower = -1, extent = -1;
    int sizes[2] = {4, 6}, subsizes[2] = {0, 6}, starts[2] = {4, 0}, size = -1;
    CHECK_OK(MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &part));
    CHECK_OK(MPI_Type_commit(&part));
    CHECK_OK(MPI_Type_size(part, &size));
    CHECK_OK(MPI_Type_get_extent(part, &lower, &extent));
    CHECK_INT(size, 0);
    CHECK_INT(lower, 0);
    CHECK_INT(extent, 24 * (int)sizeof(int));
    CHECK_OK(MPI_Type_free(&part));
    sizes[0] = starts[0] = 0;
    CHECK_OK(
        MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_INT, &part));
    CHECK_OK(MPI_Type_free(&part));
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
    CHECK(*comm == WORLD);
    CHECK_INT(*code, -1234567);
}

// A handler is called with whatever number the program says; MPI_ERR_LASTCODE is an error's.
static void numbers(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int class = -1, length = -1;
    MPI_Errhandler handler, old;
    CHECK_OK(MPI_Comm_get_errhandler(WORLD, &old));
    CHECK_OK(MPI_Comm_create_errhandler(on_error, &handler));
    CHECK_OK(MPI_Comm_set_errhandler(WORLD, handler));
    CHECK_OK(MPI_Comm_call_errhandler(WORLD, -1234567));
    CHECK_OK(MPI_Comm_set_errhandler(WORLD, old));
    CHECK_OK(MPI_Errhandler_free(&handler));
    CHECK_OK(MPI_Errhandler_free(&old));
    CHECK_OK(MPI_Comm_call_errhandler(WORLD, 123456789));
    CHECK_OK(MPI_Error_class(MPI_ERR_LASTCODE, &class));
    CHECK_INT(class, MPI_ERR_LASTCODE);
    CHECK_OK(MPI_Error_string(MPI_ERR_LASTCODE, text, &length));
    CHECK(strstr(text, "MPI_ERR_LASTCODE") != NULL);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    names();
    statuses();
    no_elements(world_rank());
    empty_parts();
    numbers();
    CHECK_OK(MPI_Free_mem(NULL));
    CHECK_OK(MPI_Finalize());
    return 0;
}
