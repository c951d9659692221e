// SPDX-License-Identifier: BSD-3-Clause
// Wrong arguments of the calls that make communicators: class and error message, and afterwards
// everything still works.
#include "comm_check.h"

#define FREED_WORDS "freed"

static void check_handles(void)
{
    MPI_Comm none = MPI_COMM_NULL, comm, stale, world = MPI_COMM_WORLD, out;
    MPI_Request request;
    CHECK_ERROR(MPI_Comm_dup(none, &out), MPI_ERR_COMM, "MPI_Comm_dup", "MPI_COMM_NULL");
    CHECK_ERROR(MPI_Comm_idup(none, &out, &request), MPI_ERR_COMM, "MPI_Comm_idup",
                "MPI_COMM_NULL");
    CHECK_ERROR(MPI_Comm_split(none, 0, 0, &out), MPI_ERR_COMM, "MPI_Comm_split", "MPI_COMM_NULL");
    CHECK_ERROR(MPI_Comm_free(&none), MPI_ERR_COMM, "MPI_Comm_free", "MPI_COMM_NULL");
    CHECK_ERROR(MPI_Comm_free(&world), MPI_ERR_COMM, "MPI_Comm_free", "predefined");
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    stale = comm;
    CHECK_OK(MPI_Comm_free(&comm));
    int rank;
    CHECK_ERROR(MPI_Comm_free(&stale), MPI_ERR_COMM, "MPI_Comm_free", FREED_WORDS);
    CHECK_ERROR(MPI_Comm_rank(stale, &rank), MPI_ERR_COMM, "MPI_Comm_rank", FREED_WORDS);
    CHECK_ERROR(MPI_Send(&rank, 1, MPI_INT, 0, 0, stale), MPI_ERR_COMM, "MPI_Send", FREED_WORDS);
    CHECK_ERROR(MPI_Barrier(stale), MPI_ERR_COMM, "MPI_Barrier", FREED_WORDS);
    CHECK_ERROR(MPI_Comm_dup(MPI_COMM_WORLD, NULL), MPI_ERR_ARG, "MPI_Comm_dup", "newcomm");
    CHECK_ERROR(MPI_Comm_dup_with_info(MPI_COMM_WORLD, (MPI_Info)12345, &out), MPI_ERR_INFO,
                "MPI_Comm_dup_with_info", "0x3039");
    CHECK_ERROR(MPI_Comm_set_info(MPI_COMM_WORLD, MPI_INFO_NULL), MPI_ERR_INFO, "MPI_Comm_set_info",
                "MPI_INFO_NULL");
}

static void check_split(void)
{
    MPI_Comm out;
    CHECK_ERROR(MPI_Comm_split(MPI_COMM_WORLD, -3, 0, &out), MPI_ERR_ARG, "MPI_Comm_split", "-3");
    CHECK_ERROR(MPI_Comm_split_type(MPI_COMM_WORLD, 77, 0, MPI_INFO_NULL, &out), MPI_ERR_ARG,
                "MPI_Comm_split_type", "77");
    CHECK_ERROR(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, (MPI_Info)12345, &out),
                MPI_ERR_INFO, "MPI_Comm_split_type", "0x3039");
}

// Errors that belong to a communicator must not go to the handler of MPI_COMM_SELF.
static void self_is_fatal(int fatal)
{
    CHECK_OK(
        MPI_Comm_set_errhandler(MPI_COMM_SELF, fatal ? MPI_ERRORS_ARE_FATAL : MPI_ERRORS_RETURN));
}

// The group of rank 0 and of a rank that is not in the communicator: rank 0 hears of it, and the
// others do not wait for it.
static void check_stranger(MPI_Comm half, MPI_Group all)
{
    int low = world_rank() % 2, members[] = {low, 1 - low};
    MPI_Group group;
    MPI_Comm out;
    CHECK_OK(MPI_Group_incl(all, 2, members, &group));
    int code = MPI_Comm_create(half, group, &out);
    if (rank_of(half) == 0)
        CHECK_ERROR(code, MPI_ERR_GROUP, "MPI_Comm_create", "not in");
    else
        CHECK_OK(code);
    CHECK(out == MPI_COMM_NULL);
    CHECK_OK(MPI_Group_free(&group));
}

static void check_create(void)
{
    MPI_Comm out, half;
    MPI_Group group;
    int rank = world_rank(), size = world_size();
    self_is_fatal(1);
    CHECK_ERROR(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_NULL, &out), MPI_ERR_GROUP,
                "MPI_Comm_create", "MPI_GROUP_NULL");
    CHECK_ERROR(MPI_Comm_create_group(MPI_COMM_WORLD, MPI_GROUP_NULL, 0, &out), MPI_ERR_GROUP,
                "MPI_Comm_create_group", "MPI_GROUP_NULL");
    self_is_fatal(0);
    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
    CHECK_ERROR(MPI_Comm_create_group(MPI_COMM_WORLD, group, -1, &out), MPI_ERR_TAG,
                "MPI_Comm_create_group", "-1");
    if (size > 1) {
        // The group of all is no part of a half's.
        CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half));
        CHECK_OK(MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN));
        CHECK_ERROR(MPI_Comm_create(half, group, &out), MPI_ERR_GROUP, "MPI_Comm_create", "not in");
        CHECK_ERROR(MPI_Comm_create_group(half, group, 0, &out), MPI_ERR_GROUP,
                    "MPI_Comm_create_group", "not in");
        check_stranger(half, group);
        CHECK_OK(MPI_Comm_free(&half));
        // Members that give different groups.
        MPI_Group pair;
        int both[] = {0, 1}, one[] = {0};
        CHECK_OK(MPI_Group_incl(group, rank == 0 ? 1 : 2, rank == 0 ? one : both, &pair));
        int code = MPI_Comm_create(MPI_COMM_WORLD, pair, &out);
        if (rank < 2 && rank == 0)
            CHECK_ERROR(code, MPI_ERR_GROUP, "MPI_Comm_create", "same group");
        else if (rank == 1)
            CHECK_OK(MPI_Comm_free(&out));
        else
            CHECK_OK(code);
        CHECK_OK(MPI_Group_free(&pair));
    }
    CHECK_OK(MPI_Group_free(&group));
}

static void check_from_group(void)
{
    MPI_Comm out;
    MPI_Group group, others;
    int rank = world_rank();
    char longer[MPI_MAX_STRINGTAG_LEN + 1];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
    CHECK_OK(MPI_Group_excl(group, 1, &rank, &others));
    CHECK_ERROR(MPI_Comm_create_from_group(group, "a", MPI_INFO_NULL, MPI_ERRHANDLER_NULL, &out),
                MPI_ERR_ERRHANDLER, "MPI_Comm_create_from_group", "MPI_ERRHANDLER_NULL");
    self_is_fatal(1);
    CHECK_ERROR(
        MPI_Comm_create_from_group(MPI_GROUP_NULL, "a", MPI_INFO_NULL, MPI_ERRORS_RETURN, &out),
        MPI_ERR_GROUP, "MPI_Comm_create_from_group", "MPI_GROUP_NULL");
    CHECK_ERROR(MPI_Comm_create_from_group(group, longer, MPI_INFO_NULL, MPI_ERRORS_RETURN, &out),
                MPI_ERR_ARG, "MPI_Comm_create_from_group", "stringtag");
    CHECK_ERROR(MPI_Comm_create_from_group(group, "a", (MPI_Info)12345, MPI_ERRORS_RETURN, &out),
                MPI_ERR_INFO, "MPI_Comm_create_from_group", "0x3039");
    if (world_size() > 1)
        CHECK_ERROR(MPI_Comm_create_from_group(others, "a", MPI_INFO_NULL, MPI_ERRORS_RETURN, &out),
                    MPI_ERR_GROUP, "MPI_Comm_create_from_group", "not the caller");
    CHECK_ERROR(MPI_Intercomm_create_from_groups(group, 0, group, 0, "a", MPI_INFO_NULL,
                                                 MPI_ERRORS_RETURN, &out),
                MPI_ERR_GROUP, "MPI_Intercomm_create_from_groups", "overlap");
    CHECK_ERROR(MPI_Intercomm_create_from_groups(group, 99, group, 0, "a", MPI_INFO_NULL,
                                                 MPI_ERRORS_RETURN, &out),
                MPI_ERR_RANK, "MPI_Intercomm_create_from_groups", "99");
    CHECK_ERROR(MPI_Intercomm_create_from_groups(group, 0, MPI_GROUP_EMPTY, 0, "a", MPI_INFO_NULL,
                                                 MPI_ERRORS_RETURN, &out),
                MPI_ERR_GROUP, "MPI_Intercomm_create_from_groups", "empty");
    self_is_fatal(0);
    CHECK_OK(MPI_Group_free(&group));
    if (others != MPI_GROUP_EMPTY)
        CHECK_OK(MPI_Group_free(&others));
}

static void check_inter_errors(void)
{
    MPI_Comm out, half, inter;
    int rank = world_rank(), size = world_size(), code;
    CHECK_ERROR(MPI_Intercomm_merge(MPI_COMM_WORLD, 0, &out), MPI_ERR_COMM, "MPI_Intercomm_merge",
                "MPI_COMM_WORLD");
    CHECK_ERROR(MPI_Comm_remote_size(MPI_COMM_WORLD, &rank), MPI_ERR_COMM, "MPI_Comm_remote_size",
                "MPI_COMM_WORLD");
    rank = world_rank();
    if (size < 2)
        return;
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half));
    CHECK_OK(MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN));
    CHECK_ERROR(MPI_Intercomm_create(half, 99, MPI_COMM_WORLD, 0, 1, &out), MPI_ERR_RANK,
                "MPI_Intercomm_create", "99");
    int others = size_of(half);
    if (others > 1) // nobody leads
        CHECK_ERROR(
            MPI_Intercomm_create(half, (rank_of(half) + 1) % others, MPI_COMM_WORLD, 0, 1, &out),
            MPI_ERR_ARG, "MPI_Intercomm_create", "local_leader");
    // The leaders' arguments are wrong: all ranks hear of it.
    code = MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1000, 1, &out);
    if (rank < 2)
        CHECK_ERROR(code, MPI_ERR_RANK, "MPI_Intercomm_create", "1000");
    else
        CHECK_ERROR(code, MPI_ERR_OTHER, "MPI_Intercomm_create", "leader");
    code = MPI_Intercomm_create(half, 0, MPI_COMM_NULL, 0, 1, &out);
    if (rank < 2)
        CHECK_ERROR(code, MPI_ERR_COMM, "MPI_Intercomm_create", "MPI_COMM_NULL");
    else
        CHECK_ERROR(code, MPI_ERR_OTHER, "MPI_Intercomm_create", "leader");
    CHECK_OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? 0 : 1, 1, &inter));
    CHECK_OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    CHECK_ERROR(MPI_Send(&rank, 1, MPI_INT, size, 0, inter), MPI_ERR_RANK, "MPI_Send", "should be");
    CHECK_ERROR(MPI_Intercomm_create(inter, 0, MPI_COMM_WORLD, 0, 1, &out), MPI_ERR_COMM,
                "MPI_Intercomm_create", "intercommunicator");
    if (size > 3) { // ranks of one group disagree
        code = MPI_Intercomm_merge(inter, rank < 2, &out);
        CHECK_ERROR(code, MPI_ERR_ARG, "MPI_Intercomm_merge", "differs");
    }
    CHECK_OK(MPI_Comm_free(&inter));
    CHECK_OK(MPI_Comm_free(&half));
}

// Handles that nobody has made, where no memory is.
static void check_wild(void)
{
    uintptr_t nowhere = 0x10008;
    MPI_Comm comm = (MPI_Comm)nowhere;
    MPI_Win win = (MPI_Win)nowhere;
    MPI_Op op = (MPI_Op)nowhere;
    MPI_Info info = (MPI_Info)nowhere;
    MPI_Errhandler handler = (MPI_Errhandler)nowhere;
    MPI_Session session = (MPI_Session)nowhere;
    MPI_File file = (MPI_File)nowhere;
    CHECK_ERROR(MPI_Comm_free(&comm), MPI_ERR_COMM, "MPI_Comm_free", "0x10008");
    CHECK_ERROR(MPI_Comm_disconnect(&comm), MPI_ERR_COMM, "MPI_Comm_disconnect", "0x10008");
    CHECK_ERROR(MPI_Win_free(&win), MPI_ERR_WIN, "MPI_Win_free", "0x10008");
    CHECK_ERROR(MPI_Op_free(&op), MPI_ERR_OP, "MPI_Op_free", "0x10008");
    CHECK_ERROR(MPI_Info_free(&info), MPI_ERR_INFO, "MPI_Info_free", "0x10008");
    CHECK_ERROR(MPI_Errhandler_free(&handler), MPI_ERR_ERRHANDLER, "MPI_Errhandler_free",
                "0x10008");
    CHECK_ERROR(MPI_Session_finalize(&session), MPI_ERR_SESSION, "MPI_Session_finalize", "0x10008");
    CHECK_ERROR(MPI_File_close(&file), MPI_ERR_FILE, "MPI_File_close", "0x10008");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    errors_return();
    check_wild();
    check_handles();
    check_split();
    check_create();
    check_from_group();
    check_inter_errors();
    int size = world_size(), all[64];
    for (int r = 0; r < size; r++)
        all[r] = r;
    check_ring(MPI_COMM_WORLD, all, size);
    MPI_Finalize();
    return 0;
}
