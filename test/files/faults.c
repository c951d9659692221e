// SPDX-License-Identifier: BSD-3-Clause
//
// usage: faults full|killed FILE
//
// full: FILE is on a file system that has room for MIB of data only. Writes of all kinds fail with
// MPI_ERR_NO_SPACE, and what a rank believes to have written is there.
// killed: all ranks write together, until the last rank's process is killed within a call of the system.

#define _GNU_SOURCE // syscall
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../mpi/file_check.h"

enum { MIB = 1 << 20, BLOCK = 64 };

static _Atomic int calls_left = -1; // of the process; at 0 it dies

ssize_t pwrite(int fd, const void *buf, size_t n, off_t at)
{
    // relaxed: any order of threads will do
    if (atomic_load_explicit(&calls_left, memory_order_relaxed) > 0 &&
        atomic_fetch_sub_explicit(&calls_left, 1, memory_order_relaxed) == 1)
        raise(SIGKILL);
    return syscall(SYS_pwrite64, fd, buf, n, at);
}

static void set_dealt(MPI_File fh, int rank, int ranks)
{
    MPI_Datatype block, dealt;
    CHECK_OK(MPI_Type_contiguous(BLOCK, MPI_BYTE, &block));
    CHECK_OK(MPI_Type_create_resized(block, 0, (MPI_Aint)BLOCK * ranks, &dealt));
    CHECK_OK(MPI_Type_commit(&dealt));
    CHECK_OK(
        MPI_File_set_view(fh, (MPI_Offset)rank * BLOCK, MPI_BYTE, dealt, "native", MPI_INFO_NULL));
    CHECK_OK(MPI_Type_free(&dealt));
    CHECK_OK(MPI_Type_free(&block));
}

// All ranks together, in long parts or in short blocks: everybody is told.
static void full_together(MPI_File fh, const void *buf)
{
    CHECK_OK(MPI_File_set_size(fh, 0));
    CHECK_ERROR(MPI_File_write_all(fh, buf, MIB, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE,
                "MPI_File_write_all", "No space left");
    CHECK_OK(MPI_File_set_size(fh, 0)); // there is room again
    CHECK_OK(MPI_File_seek(fh, 0, MPI_SEEK_SET));
    CHECK_OK(MPI_File_write_all(fh, buf, 1000, MPI_BYTE, MPI_STATUS_IGNORE));
}

// Each for itself: some may succeed, and their data are there.
static void full_alone(MPI_File fh, const void *buf, int later, int rank)
{
    int error, failed, any = 0;
    MPI_Request request;
    CHECK_OK(MPI_File_set_size(fh, 0));
    if (later) {
        CHECK_OK(MPI_File_iwrite_at(fh, 0, buf, MIB, MPI_BYTE, &request));
        error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        error = MPI_File_write_at(fh, 0, buf, MIB, MPI_BYTE, MPI_STATUS_IGNORE);
    }
    failed = error != MPI_SUCCESS;
    if (failed)
        CHECK_ERROR(error, MPI_ERR_NO_SPACE, "MPI_", "No space left");
    CHECK_OK(MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    CHECK(any);
    if (!failed) {
        unsigned char *in = must_alloc(MIB);
        CHECK_OK(MPI_File_read_at(fh, 0, in, MIB, MPI_BYTE, MPI_STATUS_IGNORE));
        CHECK_PATTERN(in, MIB, (unsigned)rank);
        free(in);
    }
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void full(MPI_File fh, int rank, int ranks)
{
    unsigned char *buf = must_alloc(MIB);
    pattern_fill(buf, MIB, (unsigned)rank);
    for (int dealt = 0; dealt < 2; dealt++) {
        if (dealt)
            set_dealt(fh, rank, ranks);
        else
            CHECK_OK(MPI_File_set_view(fh, (MPI_Offset)rank * MIB, MPI_BYTE, MPI_BYTE, "native",
                                       MPI_INFO_NULL));
        full_together(fh, buf);
        full_alone(fh, buf, 0, rank);
        full_alone(fh, buf, 1, rank);
    }
    CHECK_ERROR(MPI_File_preallocate(fh, 64 * MIB), MPI_ERR_NO_SPACE, "MPI_File_preallocate",
                "No space left");
    free(buf);
}

static void killed(MPI_File fh, int rank, int ranks)
{
    unsigned char *buf = must_alloc(MIB);
    MPI_Info all;
    memset(buf, rank, MIB);
    CHECK_OK(MPI_Info_create(&all));
    CHECK_OK(MPI_Info_set(all, "cb_nodes", "64")); // the last rank's process writes, too
    CHECK_OK(MPI_File_set_info(fh, all));
    CHECK_OK(MPI_Info_free(&all));
    set_dealt(fh, rank, ranks);
    if (rank == ranks - 1)
        atomic_store_explicit(&calls_left, 12, memory_order_relaxed);
    if (rank == 0)
        fprintf(stderr, "writing\n");
    for (;;)
        CHECK_OK(MPI_File_write_at_all(fh, 0, buf, MIB, MPI_BYTE, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    CHECK(argc == 3);
    int rank = world_rank(), ranks = world_size();
    MPI_File fh = must_open(argv[2], MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE);
    if (strcmp(argv[1], "full") == 0)
        full(fh, rank, ranks);
    else
        killed(fh, rank, ranks);
    CHECK_OK(MPI_File_close(&fh));
    CHECK_OK(MPI_Finalize());
    if (rank == 0)
        puts("good");
    return 0;
}
