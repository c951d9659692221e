// SPDX-License-Identifier: BSD-3-Clause
//
// Error handlers of communicators, sessions, windows and files: made, attached, asked for, called,
// freed while attached, used after that, of the wrong kind.

#include "check.h"

typedef struct calls {
    int count;
    int code;
} calls;

// Handlers get no state of their own: each rank keeps it on its stack and puts its address into the
// name of MPI_COMM_SELF.
static calls *calls_of_rank(void)
{
    char name[MPI_MAX_OBJECT_NAME + 1];
    int length = 0;
    void *found = NULL;
    CHECK_OK(MPI_Comm_get_name(MPI_COMM_SELF, name, &length));
    CHECK_INT(sscanf(name, "%p", &found), 1);
    return found;
}

static void note(int code)
{
    calls *c = calls_of_rank();
    c->count++;
    c->code = code;
}

static void on_comm(MPI_Comm *comm, int *code, ...)
{
    CHECK(*comm == MPI_COMM_WORLD);
    note(*code);
}

static void on_file(MPI_File *file, int *code, ...)
{
    CHECK(*file == MPI_FILE_NULL);
    note(*code);
}

static void on_win(MPI_Win *win, int *code, ...)
{
    (void)win;
    note(*code);
}

static void check_comm(calls *c)
{
    MPI_Errhandler handler, stale, got;
    int value = 0;
    CHECK_OK(MPI_Comm_create_errhandler(on_comm, &handler));
    CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
    stale = handler;
    CHECK_OK(MPI_Errhandler_free(&handler));
    CHECK(handler == MPI_ERRHANDLER_NULL);
    // Attached, it lives on.
    int code = MPI_Send(&value, 1, MPI_INT, 4711, 0, MPI_COMM_WORLD);
    CHECK_INT(error_class(code), MPI_ERR_RANK);
    CHECK_INT(c->count, 1);
    CHECK_INT(c->code, code);
    CHECK_OK(MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_TOPOLOGY));
    CHECK_INT(c->count, 2);
    CHECK_INT(c->code, MPI_ERR_TOPOLOGY);
    // But the handle is no handle any more.
    CHECK_ERROR(MPI_Comm_set_errhandler(MPI_COMM_SELF, stale), MPI_ERR_ERRHANDLER,
                "MPI_Comm_set_errhandler", "freed");
    CHECK_OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got));
    CHECK(got == stale);
    CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    // The handle of the last call keeps it alive.
    CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, got));
    CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK_OK(MPI_Errhandler_free(&got));
    CHECK_ERROR(MPI_Errhandler_free(&stale), MPI_ERR_ERRHANDLER, "MPI_Errhandler_free", "freed");
    CHECK_ERROR(MPI_Comm_set_errhandler(MPI_COMM_WORLD, stale), MPI_ERR_ERRHANDLER,
                "MPI_Comm_set_errhandler", "freed");
    CHECK_OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    CHECK_OK(MPI_Errhandler_free(&got));
}

// MPI_FILE_NULL stands for what files begin with.
static void check_file(calls *c)
{
    MPI_Errhandler handler, got;
    CHECK_OK(MPI_File_get_errhandler(MPI_FILE_NULL, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    CHECK_OK(MPI_Errhandler_free(&got));
    CHECK_OK(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_FILE));
    CHECK_OK(MPI_File_create_errhandler(on_file, &handler));
    CHECK_OK(MPI_File_set_errhandler(MPI_FILE_NULL, handler));
    CHECK_OK(MPI_File_get_errhandler(MPI_FILE_NULL, &got));
    CHECK(got == handler);
    CHECK_OK(MPI_Errhandler_free(&got));
    CHECK_OK(MPI_Errhandler_free(&handler));
    c->count = 0;
    CHECK_OK(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_AMODE));
    CHECK_INT(c->count, 1);
    CHECK_INT(c->code, MPI_ERR_AMODE);
    MPI_File bad = (MPI_File)(intptr_t)77;
    CHECK_ERROR(MPI_File_call_errhandler(bad, MPI_ERR_AMODE), MPI_ERR_FILE,
                "MPI_File_call_errhandler", "0x4d");
    CHECK_INT(c->count, 2);
    CHECK_ERROR(MPI_File_set_errhandler(bad, MPI_ERRORS_RETURN), MPI_ERR_FILE,
                "MPI_File_set_errhandler", "0x4d");
    CHECK_ERROR(MPI_File_get_errhandler(bad, &got), MPI_ERR_FILE, "MPI_File_get_errhandler",
                "0x4d");
    c->count = 0;
    CHECK_OK(MPI_File_call_errhandler(MPI_FILE_NULL, -2)); // the number is the program's
    CHECK_INT(c->count, 1);
    CHECK_INT(c->code, -2);
    CHECK_ERROR(MPI_File_create_errhandler(NULL, &got), MPI_ERR_ARG, "MPI_File_create_errhandler",
                "file_errhandler_fn");
    if (world_rank() % 2) // others leave it to MPI_Finalize
        CHECK_OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
}

static void check_win(void)
{
    MPI_Errhandler handler, got;
    CHECK_OK(MPI_Win_create_errhandler(on_win, &handler));
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Win wins[] = {MPI_WIN_NULL, (MPI_Win)77, (MPI_Win)handler};
    for (int i = 0; i < COUNT_OF(wins); i++) {
        MPI_Win win = wins[i];
        const char *word = i == 0 ? "MPI_WIN_NULL" : "valid window";
        CHECK_ERROR(MPI_Win_set_errhandler(win, handler), MPI_ERR_WIN, "MPI_Win_set_errhandler",
                    word);
        CHECK_ERROR(MPI_Win_get_errhandler(win, &got), MPI_ERR_WIN, "MPI_Win_get_errhandler", word);
        CHECK_ERROR(MPI_Win_call_errhandler(win, MPI_ERR_WIN), MPI_ERR_WIN,
                    "MPI_Win_call_errhandler", word);
        CHECK_ERROR(MPI_Win_set_name(win, "w"), MPI_ERR_WIN, "MPI_Win_set_name", word);
        if (win != MPI_WIN_NULL) // which has a name
            CHECK_ERROR(MPI_Win_get_name(win, name, &length), MPI_ERR_WIN, "MPI_Win_get_name",
                        word);
    }
    CHECK_ERROR(MPI_Win_create_errhandler(NULL, &got), MPI_ERR_ARG, "MPI_Win_create_errhandler",
                "win_errhandler_fn");
    CHECK_OK(MPI_Errhandler_free(&handler));
}

static void on_session(MPI_Session *session, int *code, ...)
{
    CHECK(*session != MPI_SESSION_NULL);
    if (*code == MPI_ERR_DIMS)
        note(*code);
}

static void check_session(calls *c)
{
    MPI_Session session;
    MPI_Errhandler handler, got;
    CHECK_OK(MPI_Session_create_errhandler(on_session, &handler));
    CHECK_OK(MPI_Session_init(MPI_INFO_NULL, handler, &session));
    CHECK_OK(MPI_Errhandler_free(&handler));
    c->count = 0;
    CHECK_OK(MPI_Session_call_errhandler(session, MPI_ERR_DIMS));
    CHECK_INT(c->count, 1);
    CHECK_OK(MPI_Session_get_errhandler(session, &got));
    CHECK_OK(MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN));
    CHECK_OK(MPI_Session_call_errhandler(session, MPI_ERR_DIMS));
    CHECK_INT(c->count, 1);
    CHECK_OK(MPI_Errhandler_free(&got));
    CHECK_ERROR(MPI_Session_set_errhandler(MPI_SESSION_NULL, MPI_ERRORS_RETURN), MPI_ERR_SESSION,
                "MPI_Session_set_errhandler", "MPI_SESSION_NULL");
    CHECK_OK(MPI_Session_finalize(&session));
}

static void check_kinds(void)
{
    MPI_Errhandler comm, win, file, null = MPI_ERRHANDLER_NULL, none;
    MPI_Session session;
    CHECK_OK(MPI_Comm_create_errhandler(on_comm, &comm));
    CHECK_OK(MPI_Win_create_errhandler(on_win, &win));
    CHECK_OK(MPI_File_create_errhandler(on_file, &file));
    CHECK_OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    CHECK_ERROR(MPI_Comm_set_errhandler(MPI_COMM_WORLD, win), MPI_ERR_ERRHANDLER,
                "MPI_Comm_set_errhandler", "windows");
    CHECK_ERROR(MPI_Comm_set_errhandler(MPI_COMM_WORLD, file), MPI_ERR_ERRHANDLER,
                "MPI_Comm_set_errhandler", "files");
    CHECK_ERROR(MPI_File_set_errhandler(MPI_FILE_NULL, comm), MPI_ERR_ERRHANDLER,
                "MPI_File_set_errhandler", "communicators");
    CHECK_ERROR(MPI_Session_init(MPI_INFO_NULL, comm, &session), MPI_ERR_ERRHANDLER,
                "MPI_Session_init", "sessions");
    CHECK_ERROR(MPI_Comm_set_errhandler(MPI_COMM_WORLD, null), MPI_ERR_ERRHANDLER,
                "MPI_Comm_set_errhandler", "MPI_ERRHANDLER_NULL");
    CHECK_ERROR(MPI_Errhandler_free(&null), MPI_ERR_ERRHANDLER, "MPI_Errhandler_free",
                "MPI_ERRHANDLER_NULL");
    CHECK_ERROR(MPI_Comm_create_errhandler(NULL, &none), MPI_ERR_ARG, "MPI_Comm_create_errhandler",
                "comm_errhandler_fn");
    CHECK_OK(MPI_Errhandler_free(&comm));
    CHECK_OK(MPI_Errhandler_free(&win));
    CHECK_OK(MPI_Errhandler_free(&file));
}

int main(int argc, char **argv)
{
    char name[MPI_MAX_OBJECT_NAME];
    calls c = {0, 0};
    MPI_Errhandler early;
    CHECK_OK(MPI_Session_create_errhandler(on_session, &early));
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    snprintf(name, sizeof name, "%p", (void *)&c);
    CHECK_OK(MPI_Comm_set_name(MPI_COMM_SELF, name));
    check_comm(&c);
    check_file(&c);
    check_win();
    check_session(&c);
    check_kinds();
    CHECK_OK(MPI_Finalize());
    CHECK_OK(MPI_Errhandler_free(&early));
    CHECK(early == MPI_ERRHANDLER_NULL);
    return 0;
}
