// SPDX-License-Identifier: BSD-3-Clause
// Communicators of every kind are made and freed, a million in all: memory does not grow, and
// numbers are used again. argv[1]: how many duplicates of MPI_COMM_SELF; the others are a fraction
// of it.
#include "comm_check.h"

#include <malloc.h>

// Bytes that the process has from malloc and the like.
static size_t in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void make_self(void)
{
    MPI_Comm comm;
    CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    CHECK_OK(MPI_Comm_free(&comm));
}

static void make_all(void)
{
    MPI_Comm dup, later, half, inter, merged, part, created, alone;
    MPI_Group group, self;
    MPI_Request request;
    int rank = world_rank(), size = world_size();
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    CHECK_OK(MPI_Comm_set_name(dup, "a name"));
    CHECK_OK(MPI_Comm_idup(dup, &later, &request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Comm_group(dup, &group));
    CHECK_OK(MPI_Comm_create(dup, group, &created));
    CHECK_OK(MPI_Group_incl(group, 1, &rank, &self));
    CHECK_OK(MPI_Comm_create_group(dup, self, 1, &alone));
    CHECK_OK(MPI_Comm_split(later, rank % 2, -rank, &half));
    if (size > 1) {
        CHECK_OK(MPI_Intercomm_create(half, 0, later, size - 1 - (rank + size) % 2, 1, &inter));
        CHECK_OK(MPI_Intercomm_merge(inter, rank % 2, &merged));
        CHECK_OK(MPI_Comm_split(inter, 0, rank, &part));
        CHECK_OK(MPI_Comm_free(&part));
        CHECK_OK(MPI_Comm_free(&merged));
        CHECK_OK(MPI_Comm_free(&inter));
    }
    CHECK_OK(MPI_Comm_free(&half));
    CHECK_OK(MPI_Comm_free(&alone));
    CHECK_OK(MPI_Comm_free(&created));
    CHECK_OK(MPI_Comm_free(&later));
    CHECK_OK(MPI_Comm_free(&dup));
    CHECK_OK(MPI_Group_free(&self));
    CHECK_OK(MPI_Group_free(&group));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int times = argc > 1 ? atoi(argv[1]) : 100000;
    for (int i = 0; i < 100; i++) {
        make_self();
        make_all();
    }
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    size_t before = in_use();
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < times; i++)
        make_self();
    for (int i = 0; i < times / 100; i++)
        make_all();
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    size_t after = in_use();
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    // A pool's chunk more or less; a leak of 8 bytes a turn would be far more.
    if (after > before + (size_t)times)
        check_fail(__FILE__, __LINE__, "%zu bytes in use before, %zu after %d turns", before, after,
                   times);
    MPI_Finalize();
    return 0;
}
