// SPDX-License-Identifier: BSD-3-Clause
// What the tests of communicators share: do messages go where the ranks say, and nowhere else?
#pragma once

#include "check.h"

static inline int rank_of(MPI_Comm comm)
{
    int rank = -1;
    CHECK_OK(MPI_Comm_rank(comm, &rank));
    return rank;
}

static inline int size_of(MPI_Comm comm)
{
    int size = -1;
    CHECK_OK(MPI_Comm_size(comm, &size));
    return size;
}

// Every rank tells its world rank to the next ones around the ring; worlds[r] is what rank r should
// tell. Also a barrier.
static inline void check_ring(MPI_Comm comm, const int *worlds, int size)
{
    int rank = rank_of(comm), mine = world_rank();
    CHECK_INT(size_of(comm), size);
    CHECK_INT(worlds[rank], mine);
    for (int step = 1; step <= size; step += step < 3 ? 1 : size / 3 + 1) {
        int from = (rank + size - step % size) % size, got = -1;
        MPI_Status status;
        CHECK_OK(MPI_Sendrecv(&mine, 1, MPI_INT, (rank + step) % size, step, &got, 1, MPI_INT, from,
                              step, comm, &status));
        CHECK_INT(got, worlds[from]);
        CHECK_STATUS(&status, from, step, (long long)sizeof(int));
    }
    CHECK_OK(MPI_Barrier(comm));
}

// The same between the groups of an intercommunicator: every rank to every remote rank.
static inline void check_inter(MPI_Comm comm, const int *remote, int count)
{
    int mine = world_rank(), n = -1, flag = 0;
    CHECK_OK(MPI_Comm_test_inter(comm, &flag));
    CHECK(flag);
    CHECK_OK(MPI_Comm_remote_size(comm, &n));
    CHECK_INT(n, count);
    MPI_Request *requests = must_alloc((size_t)count * sizeof(MPI_Request));
    for (int r = 0; r < count; r++)
        CHECK_OK(MPI_Isend(&mine, 1, MPI_INT, r, 5, comm, &requests[r]));
    for (int r = 0; r < count; r++) {
        int got = -1;
        MPI_Status status;
        CHECK_OK(MPI_Recv(&got, 1, MPI_INT, r, 5, comm, &status));
        CHECK_INT(got, remote[r]);
        CHECK_STATUS(&status, r, 5, (long long)sizeof(int));
    }
    CHECK_OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
    free(requests);
    CHECK_OK(MPI_Barrier(comm));
}

// 1 for each rank of the world that is on this one's host; the caller frees it. Collective.
static inline char *ranks_near(void)
{
    enum { NAME = MPI_MAX_PROCESSOR_NAME };
    char own[NAME] = "";
    int length, size;
    CHECK_OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    char *names = malloc((size_t)size * NAME), *near = malloc((size_t)size);
    CHECK(names && near);
    CHECK_OK(MPI_Get_processor_name(own, &length));
    CHECK_OK(MPI_Allgather(own, NAME, MPI_CHAR, names, NAME, MPI_CHAR, MPI_COMM_WORLD));
    for (int r = 0; r < size; r++)
        near[r] = strcmp(names + (size_t)r * NAME, own) == 0;
    free(names);
    return near;
}
