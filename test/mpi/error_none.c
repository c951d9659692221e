// SPDX-License-Identifier: BSD-3-Clause
//
// Who hears of an error without a communicator: MPI_COMM_SELF's handler if the program has set it,
// else the world's, else the initial one. And who hears of wrong arguments of calls that bring
// their handler along.
//
// usage: error_none world|self|both|none
//        error_none initial NAME [early]   with that initial error handler; early: before MPI_Init

#define _GNU_SOURCE // setenv

#include "check.h"

#define WORLD MPI_COMM_WORLD

struct heard {
    int count;
    MPI_Comm comm;
};

// The handler finds its place in an attribute of the world's.
static void on_error(MPI_Comm *comm, int *code, ...)
{
    struct heard *h = NULL;
    char name[MPI_MAX_OBJECT_NAME];
    int length = 0;
    (void)code;
    CHECK_OK(MPI_Comm_get_name(WORLD, name, &length));
    CHECK_INT(sscanf(name, "%p", (void **)&h), 1);
    h->count++;
    h->comm = *comm;
}

static int wrong(void)
{
    int n;
    return MPI_Info_get_nkeys(MPI_INFO_NULL, &n);
}

static void worlds_handler(void)
{
    struct heard h = {0, MPI_COMM_NULL};
    MPI_Errhandler handler;
    char name[MPI_MAX_OBJECT_NAME];
    snprintf(name, sizeof name, "%p", (void *)&h);
    CHECK_OK(MPI_Comm_set_name(WORLD, name));
    CHECK_OK(MPI_Comm_create_errhandler(on_error, &handler));
    CHECK_OK(MPI_Comm_set_errhandler(WORLD, handler));
    CHECK_INT(error_class(wrong()), MPI_ERR_INFO);
    CHECK_INT(h.count, 1);
    CHECK(h.comm == WORLD);
    CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    CHECK_INT(error_class(wrong()), MPI_ERR_INFO);
    CHECK_INT(h.count, 1); // SELF's is set now
    // Calls that make a communicator have its handler.
    MPI_Group group, none = MPI_GROUP_EMPTY;
    MPI_Comm made = WORLD;
    CHECK_OK(MPI_Comm_group(WORLD, &group));
    CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    CHECK_INT(error_class(MPI_Comm_create_from_group(group, NULL, MPI_INFO_NULL, handler, &made)),
              MPI_ERR_ARG);
    CHECK_INT(h.count, 2);
    CHECK(h.comm == MPI_COMM_NULL && made == MPI_COMM_NULL);
    CHECK_INT(error_class(MPI_Comm_create_from_group(group, "x", MPI_INFO_NULL, handler, NULL)),
              MPI_ERR_ARG);
    CHECK_INT(error_class(MPI_Intercomm_create_from_groups(group, 0, group, 0, NULL, MPI_INFO_NULL,
                                                           MPI_ERRORS_RETURN, &made)),
              MPI_ERR_ARG);
    CHECK_INT(error_class(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, NULL)), MPI_ERR_ARG);
    CHECK_INT(h.count, 3);
    MPI_Session session;
    CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    CHECK_INT(error_class(MPI_Group_from_session_pset(session, NULL, &none)), MPI_ERR_ARG);
    CHECK(none == MPI_GROUP_NULL);
    CHECK_INT(error_class(MPI_Session_get_num_psets(session, MPI_INFO_NULL, NULL)), MPI_ERR_ARG);
    CHECK_OK(MPI_Session_finalize(&session));
    CHECK_OK(MPI_Group_free(&group));
    CHECK_OK(MPI_Errhandler_free(&handler));
}

static MPI_Errhandler handler_named(const char *name)
{
    return strcmp(name, "mpi_errors_return") == 0  ? MPI_ERRORS_RETURN
           : strcmp(name, "mpi_errors_abort") == 0 ? MPI_ERRORS_ABORT
                                                   : MPI_ERRORS_ARE_FATAL;
}

static void initial_handler(const char *name)
{
    MPI_Errhandler got;
    char value[64] = "";
    int room = (int)sizeof value, flag = 0;
    CHECK_OK(MPI_Comm_get_errhandler(WORLD, &got));
    CHECK(got == handler_named(name));
    CHECK_OK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &got));
    CHECK(got == handler_named(name));
    CHECK_OK(MPI_Info_get_string(MPI_INFO_ENV, "mpi_initial_errhandler", &room, value, &flag));
    CHECK(flag && strcmp(value, name) == 0);
    CHECK_INT(error_class(wrong()), MPI_ERR_INFO);
}

int main(int argc, char **argv)
{
    CHECK(argc > 1);
    const char *what = argv[1];
    if (strcmp(what, "initial") == 0)
        CHECK_INT(setenv("MILLET_INITIAL_ERRHANDLER", argv[2], 1), 0); // before the job is joined
    if (argc > 3)
        CHECK_INT(error_class(wrong()), MPI_ERR_INFO);
    CHECK_OK(MPI_Init(&argc, &argv));
    if (strcmp(what, "initial") == 0) {
        initial_handler(argv[2]);
    } else if (strcmp(what, "world") == 0) {
        worlds_handler();
    } else {
        if (strcmp(what, "self") == 0)
            CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
        if (strcmp(what, "both") == 0) {
            CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
            CHECK_OK(MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN));
        }
        CHECK_INT(error_class(wrong()), MPI_ERR_INFO);
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}
