// SPDX-License-Identifier: BSD-3-Clause
//
// Control variables are Millet's settings. A process that holds one rank can write them before
// MPI_Init, and the job has them then; later only those of a worker can be written, and they act.
// With the argument `bad`: the environment has a setting that does not exist.

#define _POSIX_C_SOURCE 200809L // setenv

#include "check.h"

static MPI_T_cvar_handle open_var(const char *name, MPI_Datatype want, int *scope)
{
    MPI_T_cvar_handle h = MPI_T_CVAR_HANDLE_NULL;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int i = -1, count = -1;
    CHECK_INT(MPI_T_cvar_get_index(name, &i), MPI_SUCCESS);
    CHECK_INT(MPI_T_cvar_get_info(i, NULL, NULL, NULL, &type, NULL, NULL, NULL, NULL, scope),
              MPI_SUCCESS);
    CHECK(type == want);
    CHECK_INT(MPI_T_cvar_handle_alloc(i, NULL, &h, &count), MPI_SUCCESS);
    CHECK(want == MPI_CHAR ? count > 1 : count == 1);
    return h;
}

static unsigned long long read_size(const char *name)
{
    int scope = -1;
    unsigned long long value = 0;
    MPI_T_cvar_handle h = open_var(name, MPI_UNSIGNED_LONG_LONG, &scope);
    CHECK_INT(MPI_T_cvar_read(h, &value), MPI_SUCCESS);
    CHECK_INT(MPI_T_cvar_handle_free(&h), MPI_SUCCESS);
    return value;
}

static int write_size(const char *name, unsigned long long value)
{
    int scope = -1;
    MPI_T_cvar_handle h = open_var(name, MPI_UNSIGNED_LONG_LONG, &scope);
    CHECK_INT(scope, MPI_T_SCOPE_LOCAL);
    int code = MPI_T_cvar_write(h, &value);
    CHECK_INT(MPI_T_cvar_handle_free(&h), MPI_SUCCESS);
    return code;
}

static int write_count(const char *name, MPI_Count value)
{
    int scope = -1;
    MPI_T_cvar_handle h = open_var(name, MPI_COUNT, &scope);
    int code = MPI_T_cvar_write(h, &value);
    CHECK_INT(MPI_T_cvar_handle_free(&h), MPI_SUCCESS);
    return code;
}

static int write_choice(const char *name, int value, int want_scope)
{
    int scope = -1;
    MPI_T_cvar_handle h = open_var(name, MPI_INT, &scope);
    CHECK_INT(scope, want_scope);
    int code = MPI_T_cvar_write(h, &value);
    CHECK_INT(MPI_T_cvar_handle_free(&h), MPI_SUCCESS);
    return code;
}

static int write_text(const char *name, const char *text, char *now, size_t size)
{
    int scope = -1;
    char buf[8192];
    MPI_T_cvar_handle h = open_var(name, MPI_CHAR, &scope);
    int code = MPI_T_cvar_write(h, text);
    CHECK_INT(MPI_T_cvar_read(h, buf), MPI_SUCCESS);
    snprintf(now, size, "%.*s", (int)size - 1, buf);
    CHECK_INT(MPI_T_cvar_handle_free(&h), MPI_SUCCESS);
    return code;
}

// The rank is alone in its process: nothing is fixed yet.
static void check_early(void)
{
    char now[64];
    CHECK_INT(write_size("eager_worker", 1000), MPI_SUCCESS);
    CHECK_INT(read_size("eager_worker"), 1000);
    CHECK_INT(write_count("goal_window", 17), MPI_SUCCESS);
    CHECK_INT(write_count("goal_window", -1), MPI_T_ERR_INVALID); // and it stays 17
    CHECK_INT(write_choice("reproducible", 1, MPI_T_SCOPE_ALL_EQ), MPI_SUCCESS);
    CHECK_INT(write_choice("reproducible", 2, MPI_T_SCOPE_ALL_EQ), MPI_T_ERR_INVALID);
    CHECK_INT(write_choice("initial_errhandler", 2, MPI_T_SCOPE_LOCAL), MPI_SUCCESS);
    CHECK_INT(write_choice("initial_errhandler", 3, MPI_T_SCOPE_LOCAL), MPI_T_ERR_INVALID);
    CHECK_INT(write_choice("initial_errhandler", -1, MPI_T_SCOPE_LOCAL), MPI_T_ERR_INVALID);
    CHECK_INT(write_text("names", "job", now, sizeof now), MPI_SUCCESS);
    CHECK(strcmp(now, "job") == 0);
    CHECK(strcmp(getenv("MILLET_NAMES"), "job") == 0);
}

// What was written before MPI_Init is there after it: errors of the world return.
static void check_taken(void)
{
    int scope = -1, flag = -1;
    MPI_Count window = -1;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_T_cvar_handle h = open_var("goal_window", MPI_COUNT, &scope);
    CHECK_INT(MPI_T_cvar_read(h, &window), MPI_SUCCESS);
    CHECK_INT(window, 17);
    CHECK_INT(MPI_T_cvar_handle_free(&h), MPI_SUCCESS);
    CHECK_INT(read_size("eager_worker"), 1000);
    CHECK_OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler));
    CHECK(handler == MPI_ERRORS_RETURN);
    h = open_var("reproducible", MPI_INT, &scope);
    CHECK_INT(MPI_T_cvar_read(h, &flag), MPI_SUCCESS);
    CHECK_INT(flag, 1);
    CHECK_INT(MPI_T_cvar_handle_free(&h), MPI_SUCCESS);
}

static void check_fixed(void)
{
    char now[64];
    CHECK_INT(write_choice("reproducible", 1, MPI_T_SCOPE_ALL_EQ), MPI_T_ERR_CVAR_SET_NOT_NOW);
    CHECK_INT(write_choice("large", 1, MPI_T_SCOPE_ALL_EQ), MPI_T_ERR_CVAR_SET_NOT_NOW);
    CHECK_INT(write_size("stack_size", 1 << 20), MPI_T_ERR_CVAR_SET_NOT_NOW);
    CHECK_INT(write_text("names", "job", now, sizeof now), MPI_T_ERR_CVAR_SET_NOT_NOW);
    CHECK_INT(write_choice("label", 1, MPI_T_SCOPE_CONSTANT), MPI_T_ERR_CVAR_SET_NEVER);
    CHECK_INT(write_text("outfile", "x", now, sizeof now), MPI_T_ERR_CVAR_SET_NEVER);
    // One of the two is in effect.
    int process = write_size("eager_process", 4096), reads = write_size("eager_read", 4096);
    CHECK(process == MPI_SUCCESS ? reads == MPI_T_ERR_CVAR_SET_NOT_NOW
                                 : process == MPI_T_ERR_CVAR_SET_NOT_NOW && reads == MPI_SUCCESS);
}

// A send of so many bytes to a rank of the same worker completes without a receive if it is eager.
static int is_eager(int rank, int bytes)
{
    char out[4096] = "", in[4096];
    MPI_Request request;
    int done = -1;
    CHECK_OK(MPI_Isend(out, bytes, MPI_BYTE, rank, 5, MPI_COMM_WORLD, &request));
    CHECK_OK(MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Recv(in, bytes, MPI_BYTE, rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    return done;
}

static void check_acting(int rank)
{
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0; round < 2; round++) {
        // Ranks of a worker share this one, and all write the same.
        CHECK_INT(write_size("eager_worker", round ? 3000 : 100), MPI_SUCCESS);
        CHECK_INT(read_size("eager_worker"), round ? 3000 : 100);
        CHECK_INT(is_eager(rank, 100), 1);
        CHECK_INT(is_eager(rank, 101), round);
        CHECK_INT(is_eager(rank, 3001), 0);
        CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    CHECK_INT(write_count("spin_us", 3), MPI_SUCCESS);
    CHECK_INT(write_count("spin_us", -3), MPI_T_ERR_INVALID);
    CHECK_INT(write_size("hold", 1 << 20), MPI_SUCCESS);
    CHECK_INT(read_size("hold"), 1 << 20);
    // More than one message can carry: the nearest.
    CHECK_INT(write_size("eager_host", 1ull << 40), MPI_SUCCESS);
    CHECK(read_size("eager_host") <= 1 << 20 && read_size("eager_host") > 0);
    CHECK_INT(write_size("eager_host", ~0ull), MPI_T_ERR_INVALID);
}

static void check_limits(void)
{
    enum { ROOM = 1 << 17 };
    MPI_T_cvar_handle *h = must_alloc(ROOM * sizeof *h);
    int n = 0, count, code = MPI_SUCCESS;
    while (n < ROOM && (code = MPI_T_cvar_handle_alloc(0, NULL, &h[n], &count)) == MPI_SUCCESS)
        n++;
    CHECK_INT(code, MPI_T_ERR_OUT_OF_HANDLES);
    for (int i = 0; i < n; i++)
        CHECK_INT(MPI_T_cvar_handle_free(&h[i]), MPI_SUCCESS);
    CHECK_INT(MPI_T_cvar_handle_alloc(0, NULL, &h[0], &count),
              MPI_SUCCESS); // MPI_T_finalize has it
    free(h);
}

int main(int argc, char **argv)
{
    int provided = -1, joined = argc > 1 && strcmp(argv[1], "joined") == 0;
    if (argc > 1 && strcmp(argv[1], "bad") == 0) {
        CHECK(setenv("MILLET_NO_SUCH_SETTING", "1", 1) == 0);
        CHECK_INT(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_T_ERR_CANNOT_INIT);
        CHECK(unsetenv("MILLET_NO_SUCH_SETTING") == 0);
    }
    CHECK_INT(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    if (!joined)
        check_early();
    CHECK_OK(MPI_Init(&argc, &argv));
    if (!joined)
        check_taken();
    int rank = world_rank();
    check_fixed();
    check_acting(rank);
    check_limits();
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_Finalize());
    CHECK_INT(write_choice("reproducible", 1, MPI_T_SCOPE_ALL_EQ), MPI_T_ERR_CVAR_SET_NOT_NOW);
    CHECK_INT(MPI_T_finalize(), MPI_SUCCESS);
    return 0;
}
