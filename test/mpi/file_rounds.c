// SPDX-License-Identifier: BSD-3-Clause
//
// Collective writes of short blocks that take many rounds: windows are as small as they get, all
// numbers of writers are tried, and parts of the file lie so far apart that rounds pass empty ones by.

#include "file_check.h"

enum { BLOCK = 40, BLOCKS = 9000, LEAST = 256 << 10, FAR = 5 << 20 };

static void set_windows(MPI_File fh, int writers)
{
    MPI_Info info;
    char number[16];
    CHECK_OK(MPI_Info_create(&info));
    snprintf(number, sizeof number, "%d", writers);
    CHECK_OK(MPI_Info_set(info, "cb_nodes", number));
    snprintf(number, sizeof number, "%d", LEAST);
    CHECK_OK(MPI_Info_set(info, "cb_buffer_size", number));
    CHECK_OK(MPI_Info_set(info, "romio_cb_write", "enable"));
    CHECK_OK(MPI_File_set_info(fh, info));
    CHECK_OK(MPI_Info_free(&info));
}

// Blocks of all ranks in turn, and the same again far behind them; nobody writes the last bytes of a
// turn.
static void set_view(MPI_File fh, int rank, int ranks)
{
    MPI_Datatype block, dealt, near, both;
    int lengths[2] = {1, 1}, turn = BLOCK * (ranks + 1);
    MPI_Aint at[2] = {0, (MPI_Aint)BLOCKS * turn + FAR};
    CHECK_OK(MPI_Type_contiguous(BLOCK, MPI_BYTE, &block));
    CHECK_OK(MPI_Type_create_resized(block, 0, turn, &dealt));
    CHECK_OK(MPI_Type_contiguous(BLOCKS, dealt, &near));
    CHECK_OK(MPI_Type_create_hindexed(2, lengths, at, near, &both));
    CHECK_OK(MPI_Type_commit(&both));
    CHECK_OK(MPI_File_set_view(fh, 3 + BLOCK * rank, MPI_BYTE, both, "native", MPI_INFO_NULL));
    CHECK_OK(MPI_Type_free(&both));
    CHECK_OK(MPI_Type_free(&near));
    CHECK_OK(MPI_Type_free(&dealt));
    CHECK_OK(MPI_Type_free(&block));
}

static void one(MPI_File fh, int writers, int rank)
{
    int bytes = 2 * BLOCK * BLOCKS;
    unsigned char *out = must_alloc((size_t)bytes), *in = must_alloc((size_t)bytes);
    MPI_Status status;
    pattern_fill(out, (size_t)bytes, (unsigned)(rank + 100 * writers));
    set_windows(fh, writers);
    CHECK_OK(MPI_File_write_at_all(fh, 0, out, bytes, MPI_BYTE, &status));
    CHECK_INT(status_bytes(&status), bytes);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_File_read_at(fh, 0, in, bytes, MPI_BYTE, &status));
    CHECK_PATTERN(in, (size_t)bytes, (unsigned)(rank + 100 * writers));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    free(in);
    free(out);
}

// What nobody has written is as it was: zero.
static void check_gaps(const char *path, int ranks)
{
    long long size, turn = BLOCK * (ranks + 1), part = BLOCKS * turn;
    unsigned char *data = file_bytes(path, &size);
    CHECK_INT(size, 3 + 2 * part + FAR - BLOCK);
    for (long long at = 0; at < size; at++) {
        long long in_part = at < 3 + part ? at - 3 : at - 3 - part - FAR;
        int gap = in_part < 0 || in_part % turn >= BLOCK * ranks;
        CHECK(!gap || data[at] == 0);
    }
    free(data);
}

int main(int argc, char **argv)
{
    char path[PATH_ROOM];
    CHECK_OK(MPI_Init(&argc, &argv));
    int rank = world_rank(), ranks = world_size();
    fresh_path(path);
    MPI_File fh = must_open(path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE);
    set_view(fh, rank, ranks);
    for (int writers = 1; writers <= ranks && writers <= 3; writers++)
        one(fh, writers, rank);
    if (rank == 0)
        check_gaps(path, ranks);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_File_close(&fh));
    CHECK_OK(MPI_Finalize());
    return 0;
}
