// SPDX-License-Identifier: BSD-3-Clause
//
// A program that leaves things behind, for mpirun --strict (test/launch/run): what the argument
// names, or "nothing". Every line that makes something is told by its number.

#include "../mpi/check.h"

#define COPY   MPI_COMM_NULL_COPY_FN
#define DELETE MPI_COMM_NULL_DELETE_FN

static void delete_nothing(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)n, (void)type;
}

static void leave(const char *what)
{
    static const int one = 1;
    MPI_Comm comm;
    MPI_Request request;
    MPI_Datatype type;
    MPI_Group group;
    MPI_Info info;
    MPI_Op op;
    int key, right = (world_rank() + 1) % world_size();
    if (strcmp(what, "comm") == 0)
        for (int i = 0; i < 2; i++)
            CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm)); // line A
    if (strcmp(what, "request") == 0)
        CHECK_OK(MPI_Recv_init(&key, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &request));
    if (strcmp(what, "type") == 0)
        CHECK_OK(MPI_Type_contiguous(3, MPI_INT, &type));
    if (strcmp(what, "group") == 0)
        CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
    if (strcmp(what, "info") == 0)
        CHECK_OK(MPI_Info_create(&info));
    if (strcmp(what, "op") == 0)
        CHECK_OK(MPI_Op_create(delete_nothing, 1, &op));
    if (strcmp(what, "key") == 0)
        CHECK_OK(MPI_Comm_create_keyval(COPY, DELETE, &key, NULL));
    if (strcmp(what, "message") == 0)
        CHECK_OK(MPI_Send(&one, 1, MPI_INT, right, 17, MPI_COMM_WORLD));
    if (strcmp(what, "one") == 0 && world_rank() == 1)
        CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
}

// Everything is made, and freed.
static void clean(void)
{
    MPI_Comm comm;
    MPI_Request requests[2];
    MPI_Datatype type;
    MPI_Group group;
    MPI_Info info;
    MPI_Op op;
    int key, in = 0, rank = world_rank();
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_OK(MPI_Comm_free(&comm));
    for (int i = 0; i < 3; i++) {
        CHECK_OK(MPI_Irecv(&in, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &requests[0]));
        CHECK_OK(MPI_Isend(&rank, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &requests[1]));
        CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    }
    CHECK_OK(MPI_Type_contiguous(3, MPI_INT, &type));
    CHECK_OK(MPI_Type_free(&type));
    CHECK_OK(MPI_Type_create_f90_integer(5, &type)); // nobody may free it
    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
    CHECK_OK(MPI_Group_free(&group));
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_free(&info));
    CHECK_OK(MPI_Op_create(delete_nothing, 1, &op));
    CHECK_OK(MPI_Op_free(&op));
    CHECK_OK(MPI_Comm_create_keyval(COPY, DELETE, &key, NULL));
    CHECK_OK(MPI_Comm_free_keyval(&key));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    clean();
    leave(argc > 1 ? argv[1] : "nothing");
    CHECK_OK(MPI_Finalize());
    return 0;
}
