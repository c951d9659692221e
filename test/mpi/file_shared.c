// SPDX-License-Identifier: BSD-3-Clause
//
// The shared pointer: records of all ranks follow each other, none twice and none lost; in the order
// of ranks where the call says so. Files that allow nothing else.

#include "file_check.h"

enum { RECORD = 48, EACH = 25 };

static void fill(char *record, int rank, int i)
{
    memset(record, '.', RECORD);
    snprintf(record, RECORD, "rank %d record %d", rank, i);
}

// Every record of every rank is there once.
static void check_records(const char *bytes, int ranks, int each)
{
    int *seen = calloc((size_t)(ranks * each), sizeof *seen);
    for (int r = 0; r < ranks * each; r++) {
        int rank = -1, i = -1;
        CHECK_INT(sscanf(bytes + (size_t)r * RECORD, "rank %d record %d", &rank, &i), 2);
        CHECK(rank >= 0 && rank < ranks && i >= 0 && i < each);
        CHECK_INT(seen[rank * each + i]++, 0);
    }
    free(seen);
}

static void anyhow(const char *path, int rank, int ranks)
{
    MPI_File fh = must_open(path, MPI_MODE_RDWR | MPI_MODE_CREATE);
    MPI_Datatype type;
    MPI_Status status;
    MPI_Offset position = -1;
    char record[RECORD];
    CHECK_OK(MPI_Type_contiguous(RECORD, MPI_CHAR, &type));
    CHECK_OK(MPI_Type_commit(&type));
    CHECK_OK(MPI_File_set_view(fh, 0, type, type, "native", MPI_INFO_NULL));
    for (int i = 0; i < EACH; i++) {
        fill(record, rank, i);
        if (i % 2) {
            CHECK_OK(MPI_File_write_shared(fh, record, 1, type, &status));
        } else {
            MPI_Request request;
            CHECK_OK(MPI_File_iwrite_shared(fh, record, 1, type, &request));
            CHECK_OK(MPI_Wait(&request, &status));
        }
        CHECK_INT(status_bytes(&status), RECORD);
    }
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_File_get_position_shared(fh, &position));
    CHECK_INT(position, ranks * EACH);
    if (rank == 0) {
        long long size;
        unsigned char *bytes = file_bytes(path, &size);
        CHECK_INT(size, (long long)ranks * EACH * RECORD);
        check_records((char *)bytes, ranks, EACH);
        free(bytes);
    }
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    // Read by all in the same way: each gets some.
    CHECK_OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
    char *all = calloc((size_t)ranks * EACH, RECORD), *mine = calloc(EACH, RECORD);
    for (int i = 0; i < EACH; i++) {
        MPI_Request request;
        if (i % 2) {
            CHECK_OK(MPI_File_read_shared(fh, mine + (size_t)i * RECORD, 1, type, &status));
        } else {
            CHECK_OK(MPI_File_iread_shared(fh, mine + (size_t)i * RECORD, 1, type, &request));
            CHECK_OK(MPI_Wait(&request, &status));
        }
        CHECK_INT(status_bytes(&status), RECORD);
    }
    CHECK_OK(MPI_Gather(mine, EACH, type, all, EACH, type, 0, MPI_COMM_WORLD));
    if (rank == 0)
        check_records(all, ranks, EACH);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_File_read_shared(fh, record, 1, type, &status));
    CHECK_INT(status_bytes(&status), 0);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_File_seek_shared(fh, -3, MPI_SEEK_END));
    CHECK_OK(MPI_File_get_position_shared(fh, &position));
    CHECK_INT(position, ranks * EACH - 3);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_File_seek_shared(fh, 2, MPI_SEEK_CUR));
    CHECK_OK(MPI_File_get_position_shared(fh, &position));
    CHECK_INT(position, ranks * EACH - 1);
    CHECK_OK(MPI_File_close(&fh));
    CHECK_OK(MPI_Type_free(&type));
    free(mine);
    free(all);
}

// Rank r writes r + 1 numbers, then reads those of its place again.
static void in_order(const char *path, int rank, int ranks)
{
    MPI_File fh = must_open(path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE);
    int n = rank + 1, before = rank * (rank + 1) / 2, all = ranks * (ranks + 1) / 2;
    int *out = must_alloc((size_t)n * sizeof *out), *in = must_alloc((size_t)n * sizeof *in);
    MPI_Status status;
    CHECK_OK(MPI_File_set_size(fh, 0));
    CHECK_OK(MPI_File_set_view(fh, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < n; i++)
            out[i] = round * 10000 + before + i;
        if (round % 2) {
            CHECK_OK(MPI_File_write_ordered(fh, out, n, MPI_INT, &status));
        } else {
            CHECK_OK(MPI_File_write_ordered_begin(fh, out, n, MPI_INT));
            CHECK_OK(MPI_File_write_ordered_end(fh, out, &status));
        }
        CHECK_INT(status_bytes(&status), n * (int)sizeof(int));
    }
    CHECK_OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
    for (int round = 0; round < 4; round++) {
        if (round % 2) {
            CHECK_OK(MPI_File_read_ordered_begin(fh, in, n, MPI_INT));
            CHECK_OK(MPI_File_read_ordered_end(fh, in, &status));
        } else {
            CHECK_OK(MPI_File_read_ordered(fh, in, n, MPI_INT, &status));
        }
        for (int i = 0; i < n; i++)
            CHECK_INT(in[i], round * 10000 + before + i);
    }
    MPI_Offset position = -1, place = -1;
    CHECK_OK(MPI_File_get_position_shared(fh, &position));
    CHECK_INT(position, 4 * all);
    CHECK_OK(MPI_File_get_byte_offset(fh, position, &place));
    CHECK_INT(place, 8 + 4 * all * (int)sizeof(int));
    CHECK_OK(MPI_File_close(&fh));
    free(in);
    free(out);
}

static void sequential(const char *path, int rank, int ranks)
{
    MPI_File fh = must_open(path, MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_SEQUENTIAL);
    MPI_Offset disp = -1;
    MPI_Datatype etype, filetype;
    char datarep[MPI_MAX_DATAREP_STRING];
    CHECK_OK(MPI_File_write_ordered(fh, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_ERROR(MPI_File_write_at(fh, 0, &rank, 1, MPI_INT, MPI_STATUS_IGNORE),
                MPI_ERR_UNSUPPORTED_OPERATION, "MPI_File_write_at", path);
    CHECK_ERROR(MPI_File_seek(fh, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION, "MPI_File_seek",
                path);
    CHECK_ERROR(MPI_File_read_shared(fh, &rank, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS,
                "MPI_File_read_shared", path);
    CHECK_OK(
        MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    CHECK_OK(MPI_File_get_view(fh, &disp, &etype, &filetype, datarep));
    CHECK_INT(disp, ranks * (int)sizeof(int));
    CHECK(etype == MPI_INT && filetype == MPI_INT && strcmp(datarep, "native") == 0);
    CHECK_OK(MPI_File_close(&fh));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0)
        CHECK_OK(MPI_File_delete(path, MPI_INFO_NULL));
}

int main(int argc, char **argv)
{
    char path[PATH_ROOM];
    CHECK_OK(MPI_Init(&argc, &argv));
    int rank = world_rank(), ranks = world_size();
    fresh_path(path);
    anyhow(path, rank, ranks);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    in_order(path, rank, ranks);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    sequential(path, rank, ranks);
    CHECK_OK(MPI_Finalize());
    return 0;
}
