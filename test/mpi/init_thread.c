// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Init_thread with the level named by the first argument, which gives that of the second. A session
// afterwards has as much. A third argument: MPI_T_init_thread comes before, and asks for and gets that.

#include "check.h"

#include <pthread.h>

static int level_of(const char *name)
{
    if (strcmp(name, "single") == 0)
        return MPI_THREAD_SINGLE;
    if (strcmp(name, "funneled") == 0)
        return MPI_THREAD_FUNNELED;
    if (strcmp(name, "serialized") == 0)
        return MPI_THREAD_SERIALIZED;
    return MPI_THREAD_MULTIPLE;
}

#if MPI_VERSION >= 4
static void check_session(int provided)
{
    char value[64] = "";
    int length = sizeof value, flag = 0, at_least = provided;
    MPI_Session session;
    MPI_Info info;
    CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    CHECK_OK(MPI_Session_get_info(session, &info));
    CHECK_OK(MPI_Info_get_string(info, "thread_level", &length, value, &flag));
    CHECK(flag);
    if (at_least < MPI_THREAD_FUNNELED)
        at_least = MPI_THREAD_FUNNELED; // without a wish
    CHECK(strcmp(value, at_least == MPI_THREAD_MULTIPLE     ? "MPI_THREAD_MULTIPLE"
                        : at_least == MPI_THREAD_SERIALIZED ? "MPI_THREAD_SERIALIZED"
                                                            : "MPI_THREAD_FUNNELED") == 0);
    CHECK_OK(MPI_Info_free(&info));
    CHECK_OK(MPI_Session_finalize(&session));
}
#else
static void check_session(int provided)
{
    (void)provided;
}
#endif

static void *look(void *level)
{
    int n = 0;
    for (int i = 0; i < 1000; i++)
        CHECK_INT(MPI_T_cvar_get_num(&n), MPI_SUCCESS);
    return level;
}

// Before MPI is there, threads may look at once.
static void check_tool(int level)
{
    int provided = -1;
    pthread_t threads[4];
    CHECK_INT(MPI_T_init_thread(level, &provided), MPI_SUCCESS);
    CHECK_INT(provided, level);
    for (int i = 0; i < COUNT_OF(threads) && level == MPI_THREAD_MULTIPLE; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, look, NULL), 0);
    for (int i = 0; i < COUNT_OF(threads) && level == MPI_THREAD_MULTIPLE; i++)
        CHECK_INT(pthread_join(threads[i], NULL), 0);
}

int main(int argc, char **argv)
{
    int provided = -1, queried = -1, is_main = 0, flag = -1, token = -1;
    CHECK(argc > 2);
    int tool = argc > 3 ? level_of(argv[3]) : -1;
    if (tool >= 0)
        check_tool(tool);
    CHECK_OK(MPI_Init_thread(&argc, &argv, level_of(argv[1]), &provided));
    CHECK_OK(MPI_Initialized(&flag));
    CHECK(flag);
    CHECK_INT(provided, level_of(argv[2]));
    CHECK_OK(MPI_Query_thread(&queried));
    CHECK_INT(queried, provided);
    CHECK_OK(MPI_Is_thread_main(&is_main));
    CHECK(is_main);
    check_session(provided);
    int rank = world_rank(), size = world_size();
    CHECK_OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &token, 1, MPI_INT,
                          (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_INT(token, (rank + size - 1) % size);
    if (tool >= 0)
        CHECK_INT(MPI_T_finalize(), MPI_SUCCESS);
    CHECK_OK(MPI_Finalize());
    return 0;
}
