// SPDX-License-Identifier: BSD-3-Clause
//
// Sessions without MPI_Init: their info, the process sets that they list and know, groups of them.
// The arguments `world` and `both` do the same inside MPI_Init, and with a second session beside
// it.

#include "check.h"

static int rank_of(MPI_Group group)
{
    int rank = -1;
    CHECK_OK(MPI_Group_rank(group, &rank));
    return rank;
}

static int size_of(MPI_Group group)
{
    int size = -1;
    CHECK_OK(MPI_Group_size(group, &size));
    return size;
}

static void check_value(MPI_Info info, const char *key, const char *want)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int flag = 0, length = sizeof value;
    CHECK_OK(MPI_Info_get_string(info, key, &length, value, &flag));
    CHECK(flag && strcmp(value, want) == 0);
}

// The set `name` has these many ranks, in ascending order, as the group and its info say.
static MPI_Group check_set(MPI_Session session, const char *name)
{
    MPI_Group group = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
    MPI_Info info = MPI_INFO_NULL;
    char size[16];
    CHECK_OK(MPI_Group_from_session_pset(session, name, &group));
    CHECK(group != MPI_GROUP_NULL);
    CHECK_OK(MPI_Session_get_pset_info(session, name, &info));
    snprintf(size, sizeof size, "%d", size_of(group));
    check_value(info, "mpi_size", size);
    CHECK_OK(MPI_Info_free(&info));
    CHECK_OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
    for (int i = 0, before = -1; i < size_of(group); i++) {
        int there = -1;
        CHECK_OK(MPI_Group_translate_ranks(group, 1, &i, world, &there));
        CHECK(there > before);
        before = there;
    }
    CHECK_OK(MPI_Group_free(&world));
    return group;
}

static void check_name(MPI_Session session, int n, char name[MPI_MAX_PSET_NAME_LEN])
{
    int length = 0, again = 5;
    char shorter[8] = "xxxxxxx", untouched[8] = "xxxxxxx";
    CHECK_OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, NULL));
    CHECK(length > 1 && length <= MPI_MAX_PSET_NAME_LEN);
    again = 0;
    CHECK_OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &again, untouched));
    CHECK(again == length && strcmp(untouched, "xxxxxxx") == 0);
    CHECK_OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &again, name));
    CHECK_INT(again, length);
    CHECK_INT((int)strlen(name) + 1, length);
    again = 5;
    CHECK_OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &again, shorter));
    CHECK_INT(again, length);
    CHECK(strncmp(shorter, name, 4) == 0 && shorter[4] == '\0' && shorter[5] == 'x');
}

// All names that are listed are sets with the caller in them, WORLD and SELF among them.
static void check_listed(MPI_Session session)
{
    int sets = -1, seen = 0;
    CHECK_OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets));
    CHECK(sets >= 2);
    for (int n = 0; n < sets; n++) {
        char name[MPI_MAX_PSET_NAME_LEN];
        check_name(session, n, name);
        MPI_Group group = check_set(session, name);
        CHECK(rank_of(group) != MPI_UNDEFINED);
        seen += strcmp(name, "mpi://WORLD") == 0 || strcmp(name, "mpi://SELF") == 0;
        CHECK_OK(MPI_Group_free(&group));
    }
    CHECK_INT(seen, 2);
}

// The numbered sets are disjoint and make up the world.
static void check_family(MPI_Session session, const char *stem)
{
    MPI_Group world = check_set(session, "mpi://WORLD"), all = MPI_GROUP_EMPTY, group, more;
    int result = -1, in = 0, n = 0;
    for (;; n++) {
        char name[64];
        snprintf(name, sizeof name, "%s%d", stem, n);
        int code = MPI_Group_from_session_pset(session, name, &group);
        if (group == MPI_GROUP_NULL) {
            CHECK_INT(error_class(code), MPI_ERR_ARG);
            break;
        }
        CHECK_OK(code);
        in += rank_of(group) != MPI_UNDEFINED;
        CHECK_OK(MPI_Group_intersection(all, group, &more));
        CHECK(more == MPI_GROUP_EMPTY);
        CHECK_OK(MPI_Group_union(all, group, &more));
        if (all != MPI_GROUP_EMPTY)
            CHECK_OK(MPI_Group_free(&all));
        all = more;
        CHECK_OK(MPI_Group_free(&group));
    }
    CHECK(n > 0);
    CHECK_INT(in, 1);
    CHECK_OK(MPI_Group_compare(world, all, &result));
    CHECK_INT(result, MPI_IDENT);
    CHECK_OK(MPI_Group_free(&all));
    CHECK_OK(MPI_Group_free(&world));
}

static void check_known(MPI_Session session)
{
    MPI_Group world = check_set(session, "mpi://WORLD"), self = check_set(session, "mpi://self");
    MPI_Group lower = check_set(session, "MPI://world"), group;
    int result = -1, zero = 0, there = -1;
    CHECK_OK(MPI_Group_compare(world, lower, &result));
    CHECK_INT(result, MPI_IDENT);
    CHECK_INT(size_of(self), 1);
    CHECK_OK(MPI_Group_translate_ranks(self, 1, &zero, world, &there));
    CHECK_INT(there, rank_of(world));
    CHECK_OK(MPI_Group_free(&lower));
    CHECK_OK(MPI_Group_free(&self));
    check_family(session, "millet://process/");
    check_family(session, "millet://worker/");
    check_family(session, "millet://app/");
    group = check_set(session, "millet://host");
    CHECK(size_of(group) >= 1 && size_of(group) <= size_of(world));
    CHECK_OK(MPI_Group_free(&group));
    check_family(session, "millet://host/");
    static const char *const none[] = {"",
                                       "mpi://",
                                       "mpi://WORLDS",
                                       "mpi://WORL",
                                       "millet://worker/",
                                       "millet://worker/-1",
                                       "millet://worker/00",
                                       "millet://app/0x",
                                       "millet://process/4294967296",
                                       "hwloc://L3Cache"};
    for (int i = 0; i < COUNT_OF(none); i++) {
        group = MPI_GROUP_EMPTY;
        CHECK_INT(error_class(MPI_Group_from_session_pset(session, none[i], &group)), MPI_ERR_ARG);
        CHECK(group == MPI_GROUP_NULL);
    }
    CHECK_OK(MPI_Group_free(&world));
}

static void check_info(void)
{
    static const char *const levels[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED"};
    for (int i = 0; i < COUNT_OF(levels); i++) {
        MPI_Info info = MPI_INFO_NULL, used = MPI_INFO_NULL;
        MPI_Session session = MPI_SESSION_NULL;
        CHECK_OK(MPI_Info_create(&info));
        CHECK_OK(MPI_Info_set(info, "thread_level", levels[i]));
        CHECK_OK(MPI_Info_set(info, "mpi_memory_alloc_kinds", "system,mpi"));
        CHECK_OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
        CHECK_OK(MPI_Info_free(&info));
        CHECK_OK(MPI_Session_get_info(session, &used));
        check_value(used, "thread_level", levels[i]);
        check_value(used, "mpi_memory_alloc_kinds", "mpi,system");
        CHECK_OK(MPI_Info_free(&used));
        CHECK_OK(MPI_Session_finalize(&session));
        CHECK(session == MPI_SESSION_NULL);
    }
}

// More than that depends on how many ranks share a worker.
static void check_threads(const char *level)
{
    char value[64] = "";
    MPI_Info info = MPI_INFO_NULL, used = MPI_INFO_NULL;
    MPI_Session session = MPI_SESSION_NULL;
    int flag = 0, length = sizeof value;
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, "thread_level", level));
    CHECK_OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    CHECK_OK(MPI_Session_get_info(session, &used));
    CHECK_OK(MPI_Info_get_string(used, "thread_level", &length, value, &flag));
    CHECK(flag && (strcmp(value, level) == 0 || strcmp(value, "MPI_THREAD_FUNNELED") == 0));
    check_listed(session); // calls go on with what was granted
    CHECK_OK(MPI_Info_free(&info));
    CHECK_OK(MPI_Info_free(&used));
    CHECK_OK(MPI_Session_finalize(&session));
}

static void check_session(void)
{
    MPI_Session session = MPI_SESSION_NULL;
    CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    check_listed(session);
    check_known(session);
    check_info();
    check_threads("MPI_THREAD_SERIALIZED");
    check_threads("MPI_THREAD_MULTIPLE");
    CHECK_OK(MPI_Session_finalize(&session));
}

int main(int argc, char **argv)
{
    MPI_Session other = MPI_SESSION_NULL;
    int world = argc > 1 && strcmp(argv[1], "world") == 0;
    int both = argc > 1 && strcmp(argv[1], "both") == 0;
    check_session();
    if (both)
        CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &other));
    if (world || both) {
        CHECK_OK(MPI_Init(&argc, &argv));
        check_session();
        MPI_Comm parent = MPI_COMM_WORLD;
        CHECK_OK(MPI_Comm_get_parent(&parent));
        CHECK(parent == MPI_COMM_NULL);
        CHECK_OK(MPI_Finalize());
    }
    check_session();
    if (both)
        CHECK_OK(MPI_Session_finalize(&other));
    return 0;
}
