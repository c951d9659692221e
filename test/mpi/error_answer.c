// SPDX-License-Identifier: BSD-3-Clause
//
// An error handler that changes the code decides what the call returns: MPI_SUCCESS, or another
// code. The call has done nothing all the same, and leaves null handles.

#include "check.h"

#define WORLD MPI_COMM_WORLD

static void comm_fine(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    CHECK(*code != MPI_SUCCESS);
    *code = MPI_SUCCESS;
}

static void comm_other(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    *code = MPI_ERR_OTHER;
}

static void win_fine(MPI_Win *win, int *code, ...)
{
    (void)win;
    *code = MPI_SUCCESS;
}

static void file_fine(MPI_File *file, int *code, ...)
{
    (void)file;
    *code = MPI_SUCCESS;
}

static void session_fine(MPI_Session *session, int *code, ...)
{
    (void)session;
    *code = MPI_SUCCESS;
}

static void set_comm(MPI_Comm_errhandler_function *function)
{
    MPI_Errhandler handler;
    CHECK_OK(MPI_Comm_create_errhandler(function, &handler));
    CHECK_OK(MPI_Comm_set_errhandler(WORLD, handler));
    CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
    CHECK_OK(MPI_Errhandler_free(&handler));
}

static int refuse_copy(MPI_Comm comm, int key, void *state, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)in, (void)out, (void)flag;
    return *(int *)state;
}

// A code of the program's own, and a handle that is not made.
static void check_attribute(int want)
{
    MPI_Comm made = WORLD;
    int key = MPI_KEYVAL_INVALID, code, class;
    CHECK_OK(MPI_Add_error_class(&class));
    CHECK_OK(MPI_Add_error_code(class, &code));
    CHECK_OK(MPI_Comm_create_keyval(refuse_copy, MPI_COMM_NULL_DELETE_FN, &key, &code));
    CHECK_OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL));
    CHECK_INT(MPI_Comm_dup(MPI_COMM_SELF, &made), want);
    CHECK(made == MPI_COMM_NULL);
    CHECK_OK(MPI_Comm_delete_attr(MPI_COMM_SELF, key));
    CHECK_OK(MPI_Comm_free_keyval(&key));
    CHECK_OK(MPI_Remove_error_code(code));
    CHECK_OK(MPI_Remove_error_class(class));
}

static void check_parts(int want)
{
    int self = world_rank(), out[2] = {4, 5}, in[2] = {0, 0}, wrong[2] = {0, 2}, both[2] = {0, 1};
    int flag;
    MPI_Request r[2];
    CHECK_OK(MPI_Psend_init(out, 2, 1, MPI_INT, self, 3, WORLD, MPI_INFO_NULL, &r[0]));
    CHECK_OK(MPI_Precv_init(in, 2, 1, MPI_INT, self, 3, WORLD, MPI_INFO_NULL, &r[1]));
    CHECK_INT(MPI_Pready(0, r[0]), want); // not started
    CHECK_OK(MPI_Startall(2, r));
    CHECK_INT(MPI_Pready(2, r[0]), want);
    CHECK_INT(MPI_Pready_list(2, wrong, r[0]), want);
    CHECK_INT(MPI_Pready_range(0, 7, r[0]), want);
    CHECK_INT(MPI_Parrived(r[1], -1, &flag), want);
    CHECK_OK(MPI_Pready_list(2, both, r[0]));
    CHECK_INT(MPI_Pready(1, r[0]), want);
    CHECK_OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    CHECK_INT(in[0] + in[1], 9);
    CHECK_OK(MPI_Request_free(&r[0]));
    CHECK_OK(MPI_Request_free(&r[1]));
}

// want: what the handler makes of all errors.
static void check_comm(int want)
{
    int self = world_rank(), x[4] = {1, 2, 3, 4}, y = 0, rank = -1;
    MPI_Comm made = WORLD;
    MPI_Datatype type = MPI_INT;
    MPI_Request wild = (MPI_Request)(uintptr_t)0x1001, none = MPI_REQUEST_NULL;
    CHECK_INT(MPI_Send(x, 1, MPI_INT, 4711, 0, WORLD), want);
    CHECK_INT(MPI_Send(x, 1, MPI_INT, self, -5, WORLD), want);
    CHECK_INT(MPI_Send(x, 1, MPI_DATATYPE_NULL, self, 0, WORLD), want);
    CHECK_INT(MPI_Bcast(x, 1, MPI_INT, -7, WORLD), want);
    CHECK_INT(MPI_Comm_rank(MPI_COMM_NULL, &rank), want);
    CHECK_INT(rank, -1);
    CHECK_INT(MPI_Comm_dup(MPI_COMM_NULL, &made), want);
    CHECK(made == MPI_COMM_NULL);
    CHECK_INT(MPI_Type_contiguous(-1, MPI_INT, &type), want);
    CHECK(type == MPI_DATATYPE_NULL);
    CHECK_INT(MPI_Wait(&wild, MPI_STATUS_IGNORE), want);
    CHECK_INT(MPI_Irecv(x, 1, MPI_INT, 4711, 0, WORLD, &none), want);
    CHECK(none == MPI_REQUEST_NULL);
    CHECK_OK(MPI_Send(x, 4, MPI_INT, self, 1, WORLD));
    CHECK_INT(MPI_Recv(&y, 1, MPI_INT, self, 1, WORLD, MPI_STATUS_IGNORE), want);
    check_attribute(want);
    check_parts(want);
}

static void check_win(void)
{
    int x = 1, y = 2;
    MPI_Win win;
    MPI_Errhandler handler;
    CHECK_OK(MPI_Win_create(&x, sizeof x, 1, MPI_INFO_NULL, WORLD, &win));
    CHECK_OK(MPI_Win_create_errhandler(win_fine, &handler));
    CHECK_OK(MPI_Win_set_errhandler(win, handler));
    CHECK_OK(MPI_Errhandler_free(&handler));
    CHECK_OK(MPI_Win_unlock(0, win));
    CHECK_OK(MPI_Put(&y, 1, MPI_INT, world_rank(), 0, 1, MPI_INT, win)); // no epoch
    CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, world_rank(), 0, win));
    CHECK_OK(MPI_Put(&y, 1, MPI_INT, world_rank(), 4, 1, MPI_INT, win)); // beyond the window
    CHECK_OK(MPI_Put(&y, 1, MPI_INT, 4711, 0, 1, MPI_INT, win));
    CHECK_OK(MPI_Win_unlock(world_rank(), win));
    CHECK_INT(x, 1);
    CHECK_OK(MPI_Win_free(&win));
}

static void check_file(void)
{
    MPI_File file = (MPI_File)(uintptr_t)0x1001;
    MPI_Errhandler handler;
    CHECK_OK(MPI_File_create_errhandler(file_fine, &handler));
    CHECK_OK(MPI_File_set_errhandler(MPI_FILE_NULL, handler));
    CHECK_OK(MPI_Errhandler_free(&handler));
    CHECK_OK(MPI_File_open(MPI_COMM_SELF, "/nonexistent/x", MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    CHECK(file == MPI_FILE_NULL);
    CHECK_OK(MPI_File_read(file, NULL, 0, MPI_INT, MPI_STATUS_IGNORE));
}

static void check_session(void)
{
    int length = 0;
    MPI_Session session;
    MPI_Errhandler handler;
    CHECK_OK(MPI_Session_create_errhandler(session_fine, &handler));
    CHECK_OK(MPI_Session_init(MPI_INFO_NULL, handler, &session));
    CHECK_OK(MPI_Errhandler_free(&handler));
    CHECK_OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 4711, &length, NULL));
    CHECK_INT(length, 0);
    CHECK_OK(MPI_Session_finalize(&session));
}

int main(int argc, char **argv)
{
    int x = 0;
    CHECK_OK(MPI_Init(&argc, &argv));
    set_comm(comm_fine);
    check_comm(MPI_SUCCESS);
    set_comm(comm_other);
    check_comm(MPI_ERR_OTHER);
    check_win();
    check_file();
    check_session();
    // Nothing of it is left for other handlers.
    CHECK_OK(MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN));
    for (int i = 0; i < 600; i++)
        CHECK_ERROR(MPI_Send(&x, 1, MPI_INT, 4711, 0, WORLD), MPI_ERR_RANK, "MPI_Send", "4711");
    CHECK_OK(MPI_Finalize());
    return 0;
}
