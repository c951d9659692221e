// SPDX-License-Identifier: BSD-3-Clause
//
// Programs that can never go on, by the argument. The job must end by itself, with a report that
// names for each rank the call, its peer and its tag.

#include "check.h"

#define WORLD MPI_COMM_WORLD

enum { TAG = 4242, BIG = 5 << 20 };

// The last rank does not come to a collective, or to another one.
static void collective(const char *what, int rank, int size)
{
    int value = 1, sum;
    MPI_Request request;
    CHECK_OK(MPI_Barrier(WORLD));
    if (rank == size - 1 && strcmp(what, "collective-other") != 0)
        CHECK_OK(MPI_Recv(&value, 1, MPI_INT, 0, TAG, WORLD, MPI_STATUS_IGNORE));
    if (strcmp(what, "collective-wait") == 0) {
        CHECK_OK(MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, WORLD, &request));
        CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else if (strcmp(what, "collective-other") == 0 && rank == size - 1) {
        CHECK_OK(MPI_Bcast(&value, 1, MPI_INT, 0, WORLD));
    } else {
        CHECK_OK(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, WORLD));
    }
    CHECK_OK(MPI_Barrier(WORLD)); // whoever could leave waits here for the others
}

int main(int argc, char **argv)
{
    int value = -1, index = -1;
    CHECK(argc > 1);
    const char *what = argv[1];
    CHECK_OK(MPI_Init(&argc, &argv));
    int rank = world_rank(), size = world_size(), right = (rank + 1) % size;
    char *big = must_alloc(BIG);
    MPI_Request r = MPI_REQUEST_NULL;
    memset(big, rank, BIG);
    if (strcmp(what, "recv-cycle") == 0) { // everyone waits for its right neighbour
        CHECK_OK(MPI_Recv(&value, 1, MPI_INT, right, TAG, WORLD, MPI_STATUS_IGNORE));
    } else if (strcmp(what, "finished") == 0) { // rank 0 waits for rank 1, which has nothing to say
        if (rank == 0)
            CHECK_OK(MPI_Recv(&value, 1, MPI_INT, 1, TAG, WORLD, MPI_STATUS_IGNORE));
    } else if (strcmp(what, "send-cycle") == 0) { // nobody receives before its large send is taken
        CHECK_OK(MPI_Send(big, BIG, MPI_BYTE, right, TAG, WORLD));
        CHECK_OK(MPI_Recv(big, BIG, MPI_BYTE, MPI_ANY_SOURCE, TAG, WORLD, MPI_STATUS_IGNORE));
    } else if (strcmp(what, "ssend-cycle") == 0) {
        CHECK_OK(MPI_Ssend(&rank, 1, MPI_INT, right, TAG, WORLD));
        CHECK_OK(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, TAG, WORLD, MPI_STATUS_IGNORE));
    } else if (strcmp(what, "wrong-tag") ==
               0) { // the message is there, but not the one that is wanted
        CHECK_OK(MPI_Isend(&rank, 1, MPI_INT, right, TAG + 1, WORLD, &r));
        CHECK_OK(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, TAG, WORLD, MPI_STATUS_IGNORE));
    } else if (strcmp(what, "probe") == 0) {
        CHECK_OK(MPI_Probe(right, TAG, WORLD, MPI_STATUS_IGNORE));
    } else if (strcmp(what, "wait") == 0) {
        CHECK_OK(MPI_Irecv(&value, 1, MPI_INT, right, TAG, WORLD, &r));
        CHECK_OK(MPI_Waitany(1, &r, &index, MPI_STATUS_IGNORE));
    } else if (strcmp(what, "self") == 0) { // a rank of MPI_COMM_SELF is named by its world rank
        if (rank == 1)
            CHECK_OK(MPI_Recv(&value, 1, MPI_INT, 0, TAG, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    } else if (strcmp(what, "split") == 0) { // backwards: the report speaks of world ranks
        MPI_Comm comm;
        CHECK_OK(MPI_Comm_split(WORLD, 0, -rank, &comm));
        CHECK_OK(MPI_Recv(&value, 1, MPI_INT, (size - 1 - rank + 1) % size, TAG, comm,
                          MPI_STATUS_IGNORE));
    } else if (strcmp(what, "split-missing") == 0) { // rank 0 does not come to the split
        MPI_Comm comm;
        if (rank == 0)
            CHECK_OK(MPI_Recv(&value, 1, MPI_INT, size - 1, TAG, WORLD, MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Comm_split(WORLD, 0, -rank, &comm));
    } else if (strcmp(what, "detached") ==
               0) { // MPI_Finalize waits for a send that nobody receives
        CHECK_OK(MPI_Isend(big, BIG, MPI_BYTE, right, TAG, WORLD, &r));
        CHECK_OK(MPI_Request_free(&r));
        CHECK_OK(MPI_Finalize());
        return 0;
    } else if (strcmp(what, "group") == 0) { // rank 0 waits for rank 1 and nobody else
        int members[] = {0, 1};
        MPI_Group all, pair;
        MPI_Comm comm;
        CHECK_OK(MPI_Comm_group(WORLD, &all));
        CHECK_OK(MPI_Group_incl(all, 2, members, &pair));
        if (rank == 0)
            CHECK_OK(MPI_Comm_create_group(WORLD, pair, TAG, &comm));
        CHECK_OK(MPI_Recv(&value, 1, MPI_INT, rank == 1 ? MPI_ANY_SOURCE : 0, TAG, WORLD,
                          MPI_STATUS_IGNORE));
    } else if (strcmp(what, "disconnect") == 0) { // a message that nobody receives
        MPI_Comm comm;
        CHECK_OK(MPI_Comm_dup(WORLD, &comm));
        CHECK_OK(MPI_Issend(&rank, 1, MPI_INT, right, TAG, comm, &r));
        CHECK_OK(MPI_Request_free(&r));
        CHECK_OK(MPI_Comm_disconnect(&comm));
    } else if (strcmp(what, "barrier") == 0) { // rank 0 does not come to the barrier
        if (rank == 0)
            CHECK_OK(MPI_Recv(&value, 1, MPI_INT, size - 1, TAG, WORLD, MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Barrier(WORLD));
    } else if (strncmp(what, "collective", 10) == 0) {
        collective(what, rank, size);
    }
    free(big);
    CHECK_OK(MPI_Finalize());
    return 0;
}
