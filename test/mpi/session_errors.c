// SPDX-License-Identifier: BSD-3-Clause
//
// What sessions say of wrong arguments: null, finalized and foreign sessions, numbers and names of
// sets, groups of different sessions; what becomes of objects that outlive their session.

#include "check.h"

static void check_handle(MPI_Session bad, const char *word)
{
    MPI_Session s = bad;
    MPI_Info info = MPI_INFO_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    char name[64];
    int n = 64;
    CHECK_ERROR(MPI_Session_finalize(&s), MPI_ERR_SESSION, "MPI_Session_finalize", word);
    CHECK(s == bad);
    CHECK_ERROR(MPI_Session_get_info(bad, &info), MPI_ERR_SESSION, "MPI_Session_get_info", word);
    CHECK_ERROR(MPI_Session_get_num_psets(bad, info, &n), MPI_ERR_SESSION, "num_psets", word);
    CHECK_ERROR(MPI_Session_get_nth_pset(bad, info, 0, &n, name), MPI_ERR_SESSION, "nth", word);
    CHECK_ERROR(MPI_Session_get_pset_info(bad, "mpi://WORLD", &info), MPI_ERR_SESSION, "pset_info",
                word);
    CHECK_ERROR(MPI_Group_from_session_pset(bad, "mpi://WORLD", &group), MPI_ERR_SESSION,
                "MPI_Group_from_session_pset", word);
    if (!strstr(word, "of rank"))
        CHECK_ERROR(MPI_Session_get_errhandler(bad, &handler), MPI_ERR_SESSION, "errhandler", word);
}

static void check_arguments(MPI_Session s)
{
    MPI_Info info = MPI_INFO_NULL, freed = MPI_INFO_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    char name[64];
    int n = 64, sets = -1;
    CHECK_OK(MPI_Session_get_num_psets(s, info, &sets));
    CHECK_ERROR(MPI_Session_get_nth_pset(s, info, -1, &n, name), MPI_ERR_ARG, "nth_pset", "-1");
    CHECK_ERROR(MPI_Session_get_nth_pset(s, info, sets, &n, name), MPI_ERR_ARG, "nth_pset",
                "process set");
    CHECK_ERROR(MPI_Session_get_nth_pset(s, info, 0, &n, NULL), MPI_ERR_ARG, "pset_name", "NULL");
    n = -5;
    CHECK_ERROR(MPI_Session_get_nth_pset(s, info, 0, &n, name), MPI_ERR_ARG, "pset_len", "-5");
    CHECK_ERROR(MPI_Session_get_pset_info(s, "mpi://NOWHERE", &info), MPI_ERR_ARG, "pset_info",
                "mpi://NOWHERE");
    CHECK_ERROR(MPI_Session_get_pset_info(s, NULL, &info), MPI_ERR_ARG, "pset_info", "NULL");
    CHECK_ERROR(MPI_Group_from_session_pset(s, NULL, &group), MPI_ERR_ARG, "pset_name", "NULL");
    group = MPI_GROUP_EMPTY;
    CHECK_ERROR(MPI_Group_from_session_pset(s, "mpi://NOWHERE", &group), MPI_ERR_ARG,
                "MPI_Group_from_session_pset", "mpi://NOWHERE");
    CHECK(group == MPI_GROUP_NULL);
    CHECK_OK(MPI_Info_create(&freed));
    info = freed;
    CHECK_OK(MPI_Info_free(&info));
    CHECK_ERROR(MPI_Session_get_num_psets(s, freed, &sets), MPI_ERR_INFO, "num_psets", "freed");
    n = 64;
    CHECK_ERROR(MPI_Session_get_nth_pset(s, freed, 0, &n, name), MPI_ERR_INFO, "nth", "freed");
    MPI_Session other = MPI_SESSION_NULL;
    CHECK_ERROR(MPI_Session_init(freed, MPI_ERRORS_RETURN, &other), MPI_ERR_INFO,
                "MPI_Session_init", "freed");
    CHECK_ERROR(MPI_Session_init(MPI_INFO_NULL, MPI_ERRHANDLER_NULL, &other), MPI_ERR_ERRHANDLER,
                "MPI_Session_init", "MPI_ERRHANDLER_NULL");
    CHECK(other == MPI_SESSION_NULL);
}

// Groups of two sessions, or of a session and the world, must not meet.
static void check_mixing(MPI_Session one, MPI_Session two)
{
    MPI_Group a = MPI_GROUP_NULL, b = MPI_GROUP_NULL, world = MPI_GROUP_NULL, c = MPI_GROUP_NULL;
    MPI_Group none = MPI_GROUP_EMPTY;
    int result = -1;
    CHECK_OK(MPI_Group_from_session_pset(one, "mpi://WORLD", &a));
    CHECK_OK(MPI_Group_from_session_pset(two, "mpi://SELF", &b));
    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    CHECK_ERROR(MPI_Group_union(a, b, &c), MPI_ERR_GROUP, "MPI_Group_union", "session");
    CHECK_ERROR(MPI_Group_compare(a, world, &result), MPI_ERR_GROUP, "MPI_Group_compare",
                "session");
    CHECK_ERROR(MPI_Group_difference(world, b, &c), MPI_ERR_GROUP, "difference", "session");
    CHECK_OK(MPI_Group_union(a, MPI_GROUP_EMPTY, &c));
    // What is made of a group belongs to its session.
    CHECK_ERROR(MPI_Group_intersection(c, b, &none), MPI_ERR_GROUP, "intersection", "session");
    CHECK(none == MPI_GROUP_NULL);
    CHECK_OK(MPI_Group_compare(a, c, &result));
    CHECK_INT(result, MPI_IDENT);
    MPI_Comm first, second, inter = MPI_COMM_WORLD;
    CHECK_OK(MPI_Comm_create_from_group(b, "two", MPI_INFO_NULL, MPI_ERRORS_RETURN, &second));
    CHECK_OK(MPI_Group_free(&b));
    CHECK_OK(MPI_Group_from_session_pset(one, "mpi://SELF", &b));
    CHECK_OK(MPI_Comm_create_from_group(b, "one", MPI_INFO_NULL, MPI_ERRORS_RETURN, &first));
    CHECK_ERROR(MPI_Comm_compare(first, second, &result), MPI_ERR_COMM, "MPI_Comm_compare",
                "different sessions");
    CHECK_ERROR(MPI_Comm_compare(MPI_COMM_WORLD, second, &result), MPI_ERR_COMM, "MPI_Comm_compare",
                "different sessions");
    CHECK_ERROR(MPI_Intercomm_create(first, 0, second, 0, 1, &inter), MPI_ERR_COMM,
                "MPI_Intercomm_create", "different sessions");
    CHECK(inter == MPI_COMM_NULL);
    CHECK_OK(MPI_Comm_free(&first));
    CHECK_OK(MPI_Comm_free(&second));
    CHECK_OK(MPI_Group_free(&a));
    CHECK_OK(MPI_Group_free(&b));
    CHECK_OK(MPI_Group_free(&c));
    CHECK_OK(MPI_Group_free(&world));
}

// Groups end with their session, and a handle of one is caught.
static void check_rest(void)
{
    MPI_Session s = MPI_SESSION_NULL;
    MPI_Group g = MPI_GROUP_NULL, of_g = MPI_GROUP_NULL;
    MPI_Info info = MPI_INFO_NULL;
    int rank = 0;
    CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s));
    CHECK_OK(MPI_Group_from_session_pset(s, "mpi://WORLD", &g));
    CHECK_OK(MPI_Group_incl(g, 1, &rank, &of_g));
    CHECK_OK(MPI_Session_finalize(&s));
    CHECK_ERROR(MPI_Group_rank(g, &rank), MPI_ERR_GROUP, "MPI_Group_rank", "freed");
    CHECK_ERROR(MPI_Group_free(&of_g), MPI_ERR_GROUP, "MPI_Group_free", "freed");
    // Unless the session is strict.
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, "strict_finalize", "true"));
    CHECK_OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &s));
    CHECK_OK(MPI_Info_free(&info));
    CHECK_OK(MPI_Group_from_session_pset(s, "mpi://WORLD", &g));
    CHECK_ERROR(MPI_Session_finalize(&s), MPI_ERR_PENDING, "MPI_Session_finalize", "1 group");
    CHECK(s != MPI_SESSION_NULL);
    CHECK_OK(MPI_Group_free(&g));
    CHECK_OK(MPI_Session_finalize(&s));
}

static void count_call(MPI_Session *session, int *code, ...)
{
    int class = -1;
    MPI_Error_class(*code, &class);
    if (*session == MPI_SESSION_NULL || class != MPI_ERR_ARG)
        MPI_Abort(MPI_COMM_WORLD, 3);
}

// Errors of a session, and of its groups, go to its handler.
static void check_handler(void)
{
    MPI_Session s = MPI_SESSION_NULL;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Group g = MPI_GROUP_NULL, none = MPI_GROUP_NULL;
    int ranges[1][3] = {{0, 0, 0}}, n = 64;
    char name[64];
    CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    CHECK_OK(MPI_Session_create_errhandler(count_call, &handler));
    CHECK_OK(MPI_Session_init(MPI_INFO_NULL, handler, &s));
    CHECK_OK(MPI_Errhandler_free(&handler));
    CHECK_OK(MPI_Group_from_session_pset(s, "mpi://WORLD", &g));
    CHECK_INT(error_class(MPI_Session_get_nth_pset(s, MPI_INFO_NULL, -1, &n, name)), MPI_ERR_ARG);
    CHECK_INT(error_class(MPI_Group_range_incl(g, 1, ranges, &none)), MPI_ERR_ARG);
    CHECK_OK(MPI_Group_free(&g));
    CHECK_OK(MPI_Session_finalize(&s));
    CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
}

static void check_foreign(MPI_Session mine)
{
    int rank = world_rank(), size = world_size();
    MPI_Session theirs = MPI_SESSION_NULL;
    if (size < 2)
        return;
    CHECK_OK(MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, (rank + 1) % size, 1, &theirs,
                          sizeof theirs, MPI_BYTE, (rank + size - 1) % size, 1, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE));
    check_handle(theirs, "of rank ");
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
}

// A thread level that there is not.
static void check_level(void)
{
    MPI_Info info;
    MPI_Session session = (MPI_Session)77;
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, "thread_level", "MPI_THREAD_MANY"));
    CHECK_ERROR(MPI_Session_init(info, MPI_ERRORS_RETURN, &session), MPI_ERR_INFO_VALUE,
                "MPI_Session_init", "thread_level is 'MPI_THREAD_MANY'");
    CHECK(session == MPI_SESSION_NULL);
    CHECK_OK(MPI_Info_free(&info));
}

// Of the predefined attributes, communicators from sessions have only MPI_TAG_UB.
static void check_attributes(MPI_Session session)
{
    static const int others[] = {MPI_IO,     MPI_HOST,         MPI_WTIME_IS_GLOBAL,
                                 MPI_APPNUM, MPI_LASTUSEDCODE, MPI_UNIVERSE_SIZE};
    MPI_Group self;
    MPI_Comm comm, dup;
    int *value = NULL, flag = -1;
    CHECK_OK(MPI_Group_from_session_pset(session, "mpi://SELF", &self));
    CHECK_OK(
        MPI_Comm_create_from_group(self, "attributes", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    CHECK_OK(MPI_Comm_dup(comm, &dup));
    CHECK_OK(MPI_Comm_get_attr(dup, MPI_TAG_UB, &value, &flag));
    CHECK(flag && *value > 0);
    for (int i = 0; i < COUNT_OF(others); i++) {
        flag = -1;
        CHECK_OK(MPI_Comm_get_attr(comm, others[i], &value, &flag));
        CHECK_INT(flag, 0);
        CHECK_OK(MPI_Comm_get_attr(dup, others[i], &value, &flag));
        CHECK_INT(flag, 0);
    }
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK_OK(MPI_Comm_free(&dup));
    CHECK_OK(MPI_Group_free(&self));
}

int main(int argc, char **argv)
{
    MPI_Session one = MPI_SESSION_NULL, two = MPI_SESSION_NULL, old = MPI_SESSION_NULL;
    MPI_Comm comm = MPI_COMM_WORLD, null = MPI_COMM_NULL;
    if (argc > 1 && strcmp(argv[1], "late") == 0) { // there is no handler any more: the job ends
        CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &one));
        old = one;
        CHECK_OK(MPI_Session_finalize(&one));
        MPI_Session_finalize(&old);
        return 0;
    }
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &one));
    CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &two));
    check_arguments(one);
    check_mixing(one, two);
    check_level();
    check_attributes(one);
    if (argc > 1 && strcmp(argv[1], "foreign") == 0)
        check_foreign(one);
    old = two;
    CHECK_OK(MPI_Session_finalize(&two));
    check_handle(old, "freed");
    check_handle(MPI_SESSION_NULL, "MPI_SESSION_NULL");
    check_rest();
    check_handler();
    CHECK_ERROR(MPI_Comm_disconnect(&comm), MPI_ERR_COMM, "MPI_Comm_disconnect", "MPI_COMM_WORLD");
    CHECK_ERROR(MPI_Comm_disconnect(&null), MPI_ERR_COMM, "MPI_Comm_disconnect", "MPI_COMM_NULL");
    CHECK_OK(MPI_Session_finalize(&one));
    CHECK_OK(MPI_Finalize());
    return 0;
}
