// SPDX-License-Identifier: BSD-3-Clause
//
// The kinds of memory that buffers may be in (MPI 4.1): what sessions, communicators, windows and
// files say of them, and what a program asserts. Arguments: what mpirun -memory-alloc-kinds was given, and what
// MPI_COMM_WORLD answers; test/gpu/tell gives them.

#include "file_check.h"

#include <mpi-ext.h>

#define KINDS  "mpi_memory_alloc_kinds"
#define ASSERT "mpi_assert_memory_alloc_kinds"
#define USUAL  "mpi,system"
#define CUDA   ",cuda,cuda:host,cuda:device,cuda:managed"

// want: NULL: the key is not there.
static void check_key(MPI_Info info, const char *key, const char *want)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int flag = -1, length = sizeof value;
    CHECK_OK(MPI_Info_get_string(info, key, &length, value, &flag));
    if (!want)
        CHECK_INT(flag, 0);
    else if (!flag || strcmp(value, want) != 0)
        check_fail(__FILE__, __LINE__, "%s is '%s' (%d), but should be '%s'", key, value, flag,
                   want);
}

// What an object says; consumes the info.
static void check_told(MPI_Info info, const char *kinds, const char *asserted)
{
    check_key(info, KINDS, kinds);
    check_key(info, ASSERT, asserted);
    CHECK_OK(MPI_Info_free(&info));
}

static void check_comm(MPI_Comm comm, const char *kinds, const char *asserted)
{
    MPI_Info info;
    CHECK_OK(MPI_Comm_get_info(comm, &info));
    check_told(info, kinds, asserted);
}

static void check_win(MPI_Win win, const char *kinds, const char *asserted)
{
    MPI_Info info;
    CHECK_OK(MPI_Win_get_info(win, &info));
    check_told(info, kinds, asserted);
}

static void check_file(MPI_File file, const char *kinds, const char *asserted)
{
    MPI_Info info;
    CHECK_OK(MPI_File_get_info(file, &info));
    check_told(info, kinds, asserted);
}

static MPI_Info info_of(const char *key, const char *value)
{
    MPI_Info info;
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, key, value));
    return info;
}

// Gives an assertion to an object that exists.
static void set_comm(MPI_Comm comm, const char *asserted)
{
    MPI_Info info = info_of(ASSERT, asserted);
    CHECK_OK(MPI_Comm_set_info(comm, info));
    CHECK_OK(MPI_Info_free(&info));
}

static void set_win(MPI_Win win, const char *asserted)
{
    MPI_Info info = info_of(ASSERT, asserted);
    CHECK_OK(MPI_Win_set_info(win, info));
    CHECK_OK(MPI_Info_free(&info));
}

static void set_file(MPI_File file, const char *asserted)
{
    MPI_Info info = info_of(ASSERT, asserted);
    CHECK_OK(MPI_File_set_info(file, info));
    CHECK_OK(MPI_Info_free(&info));
}

static int has(const char *kinds, const char *kind)
{
    size_t n = strlen(kind);
    for (const char *at = kinds; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, kind, n) == 0 && (at[n] == ',' || at[n] == '\0'))
            return 1;
    return 0;
}

// ---- communicators, windows and files: each rank asserts for itself

static void check_comms(MPI_Comm comm, const char *kinds)
{
    int rank;
    MPI_Comm made;
    CHECK_OK(MPI_Comm_rank(comm, &rank));
    const char *mine = rank % 2 ? "system,mpi:win_allocate" : "";
    MPI_Info info = info_of(ASSERT, mine);
    check_comm(comm, kinds, NULL);
    CHECK_OK(MPI_Comm_dup_with_info(comm, info, &made));
    check_comm(made, kinds, mine);
    set_comm(made, "rocm"); // not supported: nothing changes
    check_comm(made, kinds, mine);
    set_comm(made, "system:host");
    check_comm(made, kinds, mine);
    set_comm(made, "cuda:device");
    check_comm(made, kinds, has(kinds, "cuda:device") ? "cuda:device" : mine);
    set_comm(made, " mpi , system");
    check_comm(made, kinds, " mpi , system");
    CHECK_OK(MPI_Comm_free(&made));
    CHECK_OK(MPI_Info_set(info, ASSERT, "system,level_zero"));
    CHECK_OK(MPI_Info_set(info, KINDS, "cuda,rocm")); // nobody is asked here
    CHECK_OK(MPI_Comm_dup_with_info(comm, info, &made));
    check_comm(made, kinds, NULL);
    CHECK_OK(MPI_Comm_free(&made));
    CHECK_OK(MPI_Info_free(&info));
    CHECK_OK(MPI_Comm_split(comm, rank % 2, rank, &made));
    check_comm(made, kinds, NULL);
    CHECK_OK(MPI_Comm_free(&made));
}

static void check_wins(MPI_Comm comm, const char *kinds)
{
    int rank, word = 0, *at = NULL;
    MPI_Win win = MPI_WIN_NULL;
    CHECK_OK(MPI_Comm_rank(comm, &rank));
    const char *mine = rank % 2 ? "system" : "mpi,system";
    MPI_Info info = info_of(ASSERT, mine);
    CHECK_OK(MPI_Win_create(&word, sizeof word, 1, info, comm, &win));
    check_win(win, kinds, mine);
    set_win(win, "level_zero:device");
    check_win(win, kinds, mine);
    set_win(win, "mpi,cuda:managed");
    check_win(win, kinds, has(kinds, "cuda:managed") ? "mpi,cuda:managed" : mine);
    CHECK_OK(MPI_Win_free(&win));
    CHECK_OK(MPI_Info_set(info, ASSERT, "rocm:device"));
    CHECK_OK(MPI_Win_allocate(sizeof *at, 1, info, comm, &at, &win));
    check_win(win, kinds, NULL);
    set_win(win, "mpi:win_allocate");
    check_win(win, kinds, "mpi:win_allocate");
    CHECK_OK(MPI_Win_free(&win));
    CHECK_OK(MPI_Info_free(&info));
    CHECK_OK(MPI_Win_allocate(sizeof *at, 1, MPI_INFO_NULL, comm, &at, &win));
    check_win(win, kinds, NULL);
    CHECK_OK(MPI_Win_free(&win));
}

static void check_files(MPI_Comm comm, const char *kinds)
{
    char path[PATH_ROOM];
    int rank;
    MPI_File file = MPI_FILE_NULL;
    CHECK_OK(MPI_Comm_rank(comm, &rank));
    fresh_path(path);
    const char *mine = rank % 2 ? "system" : "mpi:alloc_mem";
    MPI_Info info = info_of(ASSERT, mine);
    CHECK_OK(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                           info, &file));
    check_file(file, kinds, mine);
    set_file(file, "nobody:knows");
    check_file(file, kinds, mine);
    set_file(file, "cuda");
    check_file(file, kinds, has(kinds, "cuda") ? "cuda" : mine);
    CHECK_OK(MPI_File_close(&file));
    CHECK_OK(MPI_Info_set(info, ASSERT, "cuda:shared"));
    CHECK_OK(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                           info, &file));
    check_file(file, kinds, NULL);
    CHECK_OK(MPI_File_close(&file));
    CHECK_OK(MPI_Info_free(&info));
}

static void check_objects(MPI_Comm comm, const char *kinds)
{
    check_comms(comm, kinds);
    check_wins(comm, kinds);
    check_files(comm, kinds);
}

// ---- sessions: what is asked there comes before what mpirun was given

static void check_session(const char *asked, const char *kinds, int whole)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Info told, info = asked ? info_of(KINDS, asked) : MPI_INFO_NULL;
    CHECK_OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    CHECK_OK(MPI_Session_get_info(session, &told));
    check_told(told, kinds, NULL);
    CHECK_OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    CHECK_OK(MPI_Comm_create_from_group(group, "memory kinds", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                                        &comm));
    check_comm(comm, kinds, NULL);
    if (whole)
        check_objects(comm, kinds);
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK_OK(MPI_Group_free(&group));
    CHECK_OK(MPI_Session_finalize(&session));
    if (info != MPI_INFO_NULL)
        CHECK_OK(MPI_Info_free(&info));
}

static void check_sessions(const char *world)
{
    int cuda = MPIX_Query_cuda_support();
    char most[MPI_MAX_INFO_VAL], longest[MPI_MAX_INFO_VAL];
    memset(most, ',', sizeof most);
    memset(longest, 'x', sizeof longest);
    most[sizeof most - 1] = longest[sizeof longest - 1] = '\0';
    const struct {
        const char *asked, *kinds, *with_cuda; // the last: NULL: the same
    } of[] = {
        {NULL, world, NULL},
        {"", USUAL, NULL},
        {"system", USUAL, NULL},
        {"system,mpi", USUAL, NULL},
        {"mpi:alloc_mem", USUAL ",mpi:alloc_mem", NULL},
        {"mpi:win_allocate:alloc_mem", USUAL ",mpi:win_allocate:alloc_mem", NULL},
        {"mpi:device,mpi:,system:,:,mpi:alloc_mem:device", USUAL, NULL},
        {"rocm,level_zero:device,cuda:shared,CUDA,cud,cudas", USUAL, NULL},
        {most, USUAL, NULL},
        {longest, USUAL, NULL},
        {"cuda:device", USUAL, USUAL ",cuda:device"},
        {"cuda:managed,rocm, cuda:host ,,cuda:managed", USUAL, USUAL ",cuda:managed,cuda:host"},
        {"cuda:device,cuda", USUAL, USUAL ",cuda:device,cuda,cuda:host,cuda:managed"},
        {"cuda", USUAL, USUAL CUDA},
    };
    for (int i = 0; i < COUNT_OF(of); i++)
        check_session(of[i].asked, cuda && of[i].with_cuda ? of[i].with_cuda : of[i].kinds,
                      i == 0 || i == COUNT_OF(of) - 1);
}

// A request so long that the answer has no room for all of it: what is there is whole.
static void check_room(void)
{
    static const char *const restrictors[] = {":alloc_mem", ":win_allocate"};
    char asked[MPI_MAX_INFO_VAL] = "";
    MPI_Session session;
    MPI_Info told, info;
    for (int i = 0; strlen(asked) < sizeof asked - 80; i++) {
        strcat(asked, "mpi");
        for (int bit = 1; bit < 32; bit *= 2)
            strcat(asked, restrictors[i & bit ? 1 : 0]);
        strcat(asked, ",");
    }
    strcat(asked, "mpi");
    while (strlen(asked) + strlen(restrictors[0]) < sizeof asked)
        strcat(asked, restrictors[0]);
    CHECK(strlen(asked) + strlen(USUAL ",") >= sizeof asked);
    info = info_of(KINDS, asked);
    CHECK_OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    CHECK_OK(MPI_Session_get_info(session, &told));
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int flag = -1, length = sizeof value;
    CHECK_OK(MPI_Info_get_string(told, KINDS, &length, value, &flag));
    CHECK(flag && strlen(value) > 900 && strlen(value) < MPI_MAX_INFO_VAL);
    CHECK(memcmp(value, USUAL ",", strlen(USUAL ",")) == 0);
    const char *rest = value + strlen(USUAL ",");
    CHECK(memcmp(rest, asked, strlen(rest)) == 0 && asked[strlen(rest)] == ',');
    CHECK_OK(MPI_Info_free(&told));
    CHECK_OK(MPI_Info_free(&info));
    CHECK_OK(MPI_Session_finalize(&session));
}

int main(int argc, char **argv)
{
    const char *asked = argc > 1 ? argv[1] : USUAL, *world = argc > 2 ? argv[2] : USUAL;
    check_key(MPI_INFO_ENV, KINDS, asked);
    CHECK_OK(MPI_Init(NULL, NULL));
    check_key(MPI_INFO_ENV, KINDS, asked);
    check_comm(MPI_COMM_WORLD, world, NULL);
    check_comm(MPI_COMM_SELF, world, NULL);
    check_objects(MPI_COMM_WORLD, world);
    check_sessions(world);
    check_room();
    CHECK_OK(MPI_Finalize());
    return 0;
}
