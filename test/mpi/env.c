// SPDX-License-Identifier: BSD-3-Clause
//
// Start, end and surroundings: what may be asked before MPI_Init and after MPI_Finalize, versions,
// clocks, the processor's name, the predefined attributes, and the error messages of all error
// classes.

#include "check.h"

static void check_versions(void)
{
    int version = -1, subversion = -1, length = -1;
    char library[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
    CHECK_OK(MPI_Get_version(&version, &subversion));
    CHECK_INT(version, MPI_VERSION);
    CHECK_INT(subversion, MPI_SUBVERSION);
    CHECK_OK(MPI_Get_library_version(library, &length));
    CHECK(length > 0);
    CHECK_INT(length, strlen(library));
}

static void check_state(int want_initialized, int want_finalized)
{
    int initialized = -1, finalized = -1;
    CHECK_OK(MPI_Initialized(&initialized));
    CHECK_OK(MPI_Finalized(&finalized));
    CHECK_INT(!!initialized, want_initialized);
    CHECK_INT(!!finalized, want_finalized);
}

static void check_clock(void)
{
    CHECK_OK(MPI_Pcontrol(1));
    double before = MPI_Wtime();
    CHECK(MPI_Wtick() > 0 && MPI_Wtick() < 0.1);
    for (int i = 0; i < 1000; i++) {
        double now = MPI_Wtime();
        CHECK(now >= before);
        before = now;
    }
}

static void check_name(void)
{
    char name[MPI_MAX_PROCESSOR_NAME + 1] = "";
    int length = -1;
    CHECK_OK(MPI_Get_processor_name(name, &length));
    CHECK(length > 0 && length < MPI_MAX_PROCESSOR_NAME);
    CHECK_INT(length, strlen(name));
}

static void check_attributes(void)
{
    int *value = NULL, flag = -1;
    CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
    CHECK(flag && value != NULL && *value >= 32767);
}

#if MPI_VERSION >= 5
enum { LAST_CLASS = MPI_ERR_ABI };
#else
enum { LAST_CLASS = MPI_ERR_SESSION };
#endif

// Every class is its own class, and has an error message.
static void check_classes(void)
{
    for (int code = MPI_SUCCESS; code <= LAST_CLASS; code++) {
        char text[MPI_MAX_ERROR_STRING + 1] = "";
        int class = -1, length = -1;
        if (MPI_VERSION >= 5 && code == 40) // the standard ABI has no class 40
            continue;
        CHECK_OK(MPI_Error_class(code, &class));
        CHECK_INT(class, code);
        CHECK_OK(MPI_Error_string(code, text, &length));
        CHECK(length > 0);
        CHECK_INT(length, strlen(text));
    }
}

static void check_threads(void)
{
    int provided = -1, is_main = 0;
    CHECK_OK(MPI_Query_thread(&provided));
    CHECK(provided >= MPI_THREAD_SINGLE && provided <= MPI_THREAD_MULTIPLE);
    CHECK_OK(MPI_Is_thread_main(&is_main));
    CHECK(is_main);
}

static void check_ranks(void)
{
    int rank = -1, size = -1, self_rank = -1, self_size = -1, left = -1;
    CHECK_OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    CHECK_OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    CHECK_OK(MPI_Comm_rank(MPI_COMM_SELF, &self_rank));
    CHECK_OK(MPI_Comm_size(MPI_COMM_SELF, &self_size));
    CHECK(rank >= 0 && rank < size);
    CHECK_INT(self_rank, 0);
    CHECK_INT(self_size, 1);
    CHECK_OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &left, 1, MPI_INT,
                          (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_INT(left, (rank + size - 1) % size);
}

int main(int argc, char **argv)
{
    check_state(0, 0);
    check_versions();
    // The standard allows MPI_Init both with the program's arguments and without.
    if (argc > 1 && strcmp(argv[1], "null") == 0)
        CHECK_OK(MPI_Init(NULL, NULL));
    else
        CHECK_OK(MPI_Init(&argc, &argv));
    check_state(1, 0);
    check_versions();
    check_ranks();
    check_clock();
    check_name();
    check_attributes();
    check_classes();
    check_threads();
    check_state(1, 0);
    CHECK_OK(MPI_Finalize());
    check_state(1, 1);
    check_versions();
    check_classes();
    return 0;
}
