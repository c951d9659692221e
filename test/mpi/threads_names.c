// SPDX-License-Identifier: BSD-3-Clause
//
// Names with MPI_THREAD_MULTIPLE: threads of each rank publish, look up and unpublish at once, while
// one of them is blocked in a receive. test/names/run has it with a name server, too.

#include "threads.h"

#define WORLD MPI_COMM_WORLD

enum { ROUNDS = 30, THREADS = 4, TAG = 5 };

static void use_names(team *t, int index)
{
    char service[64], port[64], found[MPI_MAX_PORT_NAME];
    for (int i = 0; i < ROUNDS; i++) {
        snprintf(service, sizeof service, "service %d.%d.%d", t->rank, index, i);
        snprintf(port, sizeof port, "port %d of thread %d", i, index);
        CHECK_INT(error_class(MPI_Lookup_name(service, MPI_INFO_NULL, found)), MPI_ERR_NAME);
        CHECK_OK(MPI_Publish_name(service, MPI_INFO_NULL, port));
        CHECK_INT(error_class(MPI_Publish_name(service, MPI_INFO_NULL, "x")), MPI_ERR_SERVICE);
        CHECK_OK(MPI_Lookup_name(service, MPI_INFO_NULL, found));
        CHECK(strcmp(found, port) == 0);
        CHECK_OK(MPI_Unpublish_name(service, MPI_INFO_NULL, port));
    }
}

// Thread 0 waits for a message that comes when the others are through.
static void work(team *t, int index)
{
    if (index == 0)
        CHECK_OK(MPI_Recv(NULL, 0, MPI_INT, t->rank, TAG, WORLD, MPI_STATUS_IGNORE));
    else
        use_names(t, index);
}

static void find_all(int rank, int size)
{
    char service[64], found[MPI_MAX_PORT_NAME];
    snprintf(service, sizeof service, "of rank %d", rank);
    CHECK_OK(MPI_Publish_name(service, MPI_INFO_NULL, service));
    CHECK_OK(MPI_Barrier(WORLD));
    for (int r = 0; r < size; r++) {
        snprintf(service, sizeof service, "of rank %d", r);
        CHECK_OK(MPI_Lookup_name(service, MPI_INFO_NULL, found));
        CHECK(strcmp(found, service) == 0);
    }
    CHECK_OK(MPI_Barrier(WORLD)); // it is left to the end of the rank to unpublish
}

int main(void)
{
    team t = {.work = work};
    init_level(MPI_THREAD_MULTIPLE);
    errors_return();
    find_all(world_rank(), world_size());
    team_start(&t, THREADS);
    for (int i = 1; i < THREADS; i++)
        CHECK(pthread_join(t.threads[i], NULL) == 0);
    CHECK_OK(
        MPI_Send(NULL, 0, MPI_INT, t.rank, TAG, WORLD)); // with names published, it still comes
    CHECK(pthread_join(t.threads[0], NULL) == 0);
    CHECK_OK(MPI_Finalize());
    return 0;
}
