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

static void handle_nothing(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
}

// What frees itself in a clean program only if it was waited for, or has its own calls.
static void leave_more(const char *what)
{
    static const int one = 1;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Errhandler handler;
    MPI_Session session;
    MPI_Message message;
    MPI_Request request;
    MPI_Win win;
    MPI_File file;
    int key, flag = 0, right = (world_rank() + 1) % world_size();
    if (strcmp(what, "errhandler") == 0)
        CHECK_OK(MPI_Comm_create_errhandler(handle_nothing, &handler));
    if (strcmp(what, "session") == 0)
        CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    if (strcmp(what, "file") == 0)
        CHECK_OK(MPI_File_open(MPI_COMM_WORLD, "/dev/null", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    if (strcmp(what, "win") == 0)
        CHECK_OK(MPI_Win_create(&key, 4, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    if (strcmp(what, "partitions") == 0)
        CHECK_OK(MPI_Psend_init(&one, 1, 1, MPI_INT, right, 1, world, MPI_INFO_NULL, &request));
    if (strcmp(what, "matched") == 0) {
        CHECK_OK(MPI_Send(&one, 1, MPI_INT, world_rank(), 2, world));
        while (!flag)
            CHECK_OK(MPI_Improbe(world_rank(), 2, world, &flag, &message, MPI_STATUS_IGNORE));
    }
    if (strcmp(what, "sent") == 0) { // at once: there is a request all the same
        CHECK_OK(MPI_Isend(&one, 1, MPI_INT, right, 19, world, &request));
        CHECK_OK(MPI_Recv(&key, 1, MPI_INT, MPI_ANY_SOURCE, 19, world, MPI_STATUS_IGNORE));
    }
    // The same tag from two places: what is left was sent by the second.
    if (strcmp(what, "second") == 0) {
        CHECK_OK(MPI_Send(&one, 1, MPI_INT, right, 18, MPI_COMM_WORLD));
        CHECK_OK(MPI_Isend(&one, 1, MPI_INT, right, 18, MPI_COMM_WORLD, &request)); // line B
        CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Recv(&key, 1, MPI_INT, MPI_ANY_SOURCE, 18, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
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
    leave_more(what);
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

#ifndef NO_FAMILY
// Two jobs: the first one's rank 0 does not receive what the second sends, which leaves communicators.
static void leave_family(char *self)
{
    MPI_Comm family, copy;
    char *args[] = {"family", NULL};
    int one = 1, rank;
    CHECK_OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    CHECK_OK(MPI_Comm_get_parent(&family));
    if (family == MPI_COMM_NULL) {
        CHECK_OK(MPI_Comm_spawn(self, args, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &family,
                                MPI_ERRCODES_IGNORE));
        for (int child = 0; rank == 0 && child < 2; child++) // a barrier may overtake them
            CHECK_OK(MPI_Probe(child, 20, family, MPI_STATUS_IGNORE));
    } else {
        CHECK_OK(MPI_Send(&one, 1, MPI_INT, 0, 20, family));
        CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &copy)); // line C
    }
    CHECK_OK(MPI_Barrier(family));
    CHECK_OK(MPI_Comm_disconnect(&family));
}
#endif

static int is_request_error(int code)
{
    int class = MPI_SUCCESS;
    CHECK_OK(MPI_Error_class(code, &class));
    return class == MPI_ERR_REQUEST;
}

// Requests of a session and of the world in one call.
static void mix_sessions(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm own;
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int in[2], flag = 0, at = 0, one = 1, rank = world_rank();
    CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    CHECK_OK(MPI_Group_from_session_pset(session, "mpi://SELF", &group));
    CHECK_OK(MPI_Comm_create_from_group(group, "mixed", MPI_INFO_NULL, MPI_ERRORS_RETURN, &own));
    CHECK_OK(MPI_Group_free(&group));
    CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK_OK(MPI_Irecv(&in[0], 1, MPI_INT, rank, 5, MPI_COMM_WORLD, &requests[0]));
    CHECK_OK(MPI_Irecv(&in[1], 1, MPI_INT, 0, 5, own, &requests[2]));
    printf("Waitall %d Waitany %d Testall %d\n",
           is_request_error(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE)),
           is_request_error(MPI_Waitany(3, requests, &at, MPI_STATUS_IGNORE)),
           is_request_error(MPI_Testall(3, requests, &flag, MPI_STATUSES_IGNORE)));
    fflush(stdout);
    CHECK_OK(MPI_Send(&one, 1, MPI_INT, rank, 5, MPI_COMM_WORLD));
    CHECK_OK(MPI_Send(&one, 1, MPI_INT, 0, 5, own));
    CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)); // each alone is fine
    CHECK_OK(MPI_Waitall(2, requests + 1, MPI_STATUSES_IGNORE));
    CHECK_OK(MPI_Comm_free(&own));
    CHECK_OK(MPI_Session_finalize(&session));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    clean();
    if (argc > 1 && strcmp(argv[1], "mixed") == 0)
        mix_sessions();
#ifndef NO_FAMILY
    if (argc > 1 && strcmp(argv[1], "family") == 0)
        leave_family(argv[0]);
#endif
    leave(argc > 1 ? argv[1] : "nothing");
    CHECK_OK(MPI_Finalize());
    return 0;
}
