// SPDX-License-Identifier: BSD-3-Clause
//
// Jobs that cannot go on because of epochs and locks: mpirun says so and explains it.

#include "win_check.h"

static MPI_Group only(const box *b, int rank)
{
    MPI_Group group;
    CHECK_OK(MPI_Group_incl(b->group, 1, &rank, &group));
    return group;
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    const char *what = argc > 1 ? argv[1] : "fence";
    int x = 0;
    box b = box_new(argc > 2 && strcmp(argv[2], "create") == 0 ? CREATE : ALLOCATE, 64, 1);
    CHECK_OK(MPI_Win_set_name(b.win, "board"));
    int right = (b.rank + 1) % b.size, left = (b.rank + b.size - 1) % b.size;
    if (strcmp(what, "locks") == 0) { // each holds its own, and wants its neighbour's
        CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, b.rank, 0, b.win));
        CHECK_OK(MPI_Put(&x, 1, MPI_INT, b.rank, 0, 1, MPI_INT, b.win));
        CHECK_OK(MPI_Win_flush(b.rank, b.win));
        CHECK_OK(MPI_Barrier(b.comm));
        CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, b.win));
        CHECK_OK(MPI_Put(&x, 1, MPI_INT, right, 0, 1, MPI_INT, b.win));
        CHECK_OK(MPI_Win_unlock(right, b.win));
        CHECK_OK(MPI_Win_unlock(b.rank, b.win));
    } else if (strcmp(what, "held") == 0) { // rank 0 keeps the lock and waits for a message
        if (b.rank == 0) {
            CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, b.win));
            CHECK_OK(MPI_Win_flush(1, b.win));
        }
        CHECK_OK(MPI_Barrier(b.comm));
        if (b.rank == 0)
            CHECK_OK(MPI_Recv(&x, 1, MPI_INT, 1, 4242, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, b.win));
        CHECK_OK(MPI_Win_flush(1, b.win));
        CHECK_OK(MPI_Win_unlock(1, b.win));
    } else if (strcmp(what, "fence") == 0) { // rank 0 does not come
        if (b.rank == 0)
            CHECK_OK(MPI_Recv(&x, 1, MPI_INT, b.size - 1, 4242, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Win_fence(0, b.win));
    } else if (strcmp(what, "wait") == 0) { // all expose, nobody comes
        CHECK_OK(MPI_Win_post(only(&b, left), 0, b.win));
        CHECK_OK(MPI_Win_wait(b.win));
    } else if (strcmp(what, "start") == 0) { // all want to write, nobody exposes
        CHECK_OK(MPI_Win_start(only(&b, right), 0, b.win));
        CHECK_OK(MPI_Put(&x, 1, MPI_INT, right, 0, 1, MPI_INT, b.win));
        CHECK_OK(MPI_Win_complete(b.win));
    } else if (strcmp(what, "free") == 0) { // rank 0 keeps its window
        if (b.rank != 0)
            CHECK_OK(MPI_Win_free(&b.win));
        CHECK_OK(MPI_Recv(&x, 1, MPI_INT, right, 4242, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}
