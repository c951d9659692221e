// SPDX-License-Identifier: BSD-3-Clause
//
// The accesses whose counts are large integers: each way to write and the way to read that goes with
// it have a region of the file, in which each rank has a part.

#include "file_check.h"

enum { PART = 700, BYTES = PART * (int)sizeof(int), WAYS = 12 };

static void done(MPI_Request *request, MPI_Status *status)
{
    CHECK_OK(MPI_Wait(request, status));
}

static void write_by(MPI_File fh, int way, MPI_Offset at, const int *data, MPI_Status *status)
{
    const MPI_Count n = PART;
    MPI_Request request;
    switch (way) {
    case 0:
        CHECK_OK(MPI_File_write_at_c(fh, at, data, n, MPI_INT, status));
        break;
    case 1:
        CHECK_OK(MPI_File_write_at_all_c(fh, at, data, n, MPI_INT, status));
        break;
    case 2:
        CHECK_OK(MPI_File_iwrite_at_c(fh, at, data, n, MPI_INT, &request));
        break;
    case 3:
        CHECK_OK(MPI_File_iwrite_at_all_c(fh, at, data, n, MPI_INT, &request));
        break;
    case 4:
        CHECK_OK(MPI_File_write_c(fh, data, n, MPI_INT, status));
        break;
    case 5:
        CHECK_OK(MPI_File_write_all_c(fh, data, n, MPI_INT, status));
        break;
    case 6:
        CHECK_OK(MPI_File_iwrite_c(fh, data, n, MPI_INT, &request));
        break;
    case 7:
        CHECK_OK(MPI_File_iwrite_all_c(fh, data, n, MPI_INT, &request));
        break;
    case 8:
        CHECK_OK(MPI_File_write_at_all_begin_c(fh, at, data, n, MPI_INT));
        CHECK_OK(MPI_File_write_at_all_end(fh, data, status));
        break;
    case 9:
        CHECK_OK(MPI_File_write_all_begin_c(fh, data, n, MPI_INT));
        CHECK_OK(MPI_File_write_all_end(fh, data, status));
        break;
    case 10:
        CHECK_OK(MPI_File_write_ordered_c(fh, data, n, MPI_INT, status));
        break;
    default:
        CHECK_OK(MPI_File_write_ordered_begin_c(fh, data, n, MPI_INT));
        CHECK_OK(MPI_File_write_ordered_end(fh, data, status));
    }
    if (way == 2 || way == 3 || way == 6 || way == 7)
        done(&request, status);
}

static void read_by(MPI_File fh, int way, MPI_Offset at, int *data, MPI_Status *status)
{
    const MPI_Count n = PART;
    MPI_Request request;
    switch (way) {
    case 0:
        CHECK_OK(MPI_File_read_at_c(fh, at, data, n, MPI_INT, status));
        break;
    case 1:
        CHECK_OK(MPI_File_read_at_all_c(fh, at, data, n, MPI_INT, status));
        break;
    case 2:
        CHECK_OK(MPI_File_iread_at_c(fh, at, data, n, MPI_INT, &request));
        break;
    case 3:
        CHECK_OK(MPI_File_iread_at_all_c(fh, at, data, n, MPI_INT, &request));
        break;
    case 4:
        CHECK_OK(MPI_File_read_c(fh, data, n, MPI_INT, status));
        break;
    case 5:
        CHECK_OK(MPI_File_read_all_c(fh, data, n, MPI_INT, status));
        break;
    case 6:
        CHECK_OK(MPI_File_iread_c(fh, data, n, MPI_INT, &request));
        break;
    case 7:
        CHECK_OK(MPI_File_iread_all_c(fh, data, n, MPI_INT, &request));
        break;
    case 8:
        CHECK_OK(MPI_File_read_at_all_begin_c(fh, at, data, n, MPI_INT));
        CHECK_OK(MPI_File_read_at_all_end(fh, data, status));
        break;
    case 9:
        CHECK_OK(MPI_File_read_all_begin_c(fh, data, n, MPI_INT));
        CHECK_OK(MPI_File_read_all_end(fh, data, status));
        break;
    case 10:
        CHECK_OK(MPI_File_read_ordered_c(fh, data, n, MPI_INT, status));
        break;
    default:
        CHECK_OK(MPI_File_read_ordered_begin_c(fh, data, n, MPI_INT));
        CHECK_OK(MPI_File_read_ordered_end(fh, data, status));
    }
    if (way == 2 || way == 3 || way == 6 || way == 7)
        done(&request, status);
}

static int value_of(int way, int rank, int i)
{
    return (way * 100 + rank) * 1000 + i;
}

static void point_at(MPI_File fh, int way, int rank, int ranks)
{
    MPI_Offset region = (MPI_Offset)way * ranks * BYTES;
    CHECK_OK(MPI_File_seek(fh, region + (MPI_Offset)rank * BYTES, MPI_SEEK_SET));
    CHECK_OK(MPI_File_seek_shared(fh, region, MPI_SEEK_SET));
}

static void all_ways(const char *path, int rank, int ranks)
{
    MPI_File fh = must_open(path, MPI_MODE_RDWR | MPI_MODE_CREATE);
    MPI_Status status;
    int data[PART];
    for (int way = 0; way < WAYS; way++) {
        for (int i = 0; i < PART; i++)
            data[i] = value_of(way, rank, i);
        point_at(fh, way, rank, ranks);
        write_by(fh, way, ((MPI_Offset)way * ranks + rank) * BYTES, data, &status);
        CHECK_INT(status_bytes(&status), BYTES);
    }
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int way = 0; way < WAYS; way++) {
        memset(data, 0xff, sizeof data);
        point_at(fh, way, rank, ranks);
        read_by(fh, way, ((MPI_Offset)way * ranks + rank) * BYTES, data, &status);
        CHECK_INT(status_bytes(&status), BYTES);
        for (int i = 0; i < PART; i++)
            CHECK_INT(data[i], value_of(way, rank, i));
    }
    if (rank == 0) {
        long long size;
        int *all = (int *)file_bytes(path, &size);
        CHECK_INT(size, (long long)WAYS * ranks * BYTES);
        for (int i = 0; i < WAYS * ranks * PART; i++)
            CHECK_INT(all[i], value_of(i / (ranks * PART), i / PART % ranks, i % PART));
        free(all);
    }
    CHECK_ERROR(MPI_File_write_at_c(fh, 0, data, -1, MPI_INT, &status), MPI_ERR_COUNT,
                "MPI_File_write_at_c", "");
    CHECK_OK(MPI_File_close(&fh));
}

// In any order; each rank's two parts are there, and each part is read once.
static void shared(const char *path, int rank, int ranks)
{
    MPI_File fh = must_open(path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Request request;
    MPI_Status status;
    int data[PART], sum = 0, *seen = calloc((size_t)ranks * 2, sizeof *seen);
    CHECK_OK(MPI_File_set_size(fh, 0));
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < PART; k++)
            data[k] = value_of(i, rank, k);
        if (i == 0)
            CHECK_OK(MPI_File_write_shared_c(fh, data, PART, MPI_INT, &status));
        else
            CHECK_OK(MPI_File_iwrite_shared_c(fh, data, PART, MPI_INT, &request));
        if (i == 1)
            done(&request, &status);
        CHECK_INT(status_bytes(&status), BYTES);
    }
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
    for (int i = 0; i < 2; i++) {
        if (i == 0)
            CHECK_OK(MPI_File_read_shared_c(fh, data, PART, MPI_INT, &status));
        else
            CHECK_OK(MPI_File_iread_shared_c(fh, data, PART, MPI_INT, &request));
        if (i == 1)
            done(&request, &status);
        CHECK_INT(status_bytes(&status), BYTES);
        int way = data[0] / 100000, from = data[0] / 1000 % 100;
        CHECK(way >= 0 && way < 2 && from < ranks);
        for (int k = 0; k < PART; k++)
            CHECK_INT(data[k], value_of(way, from, k));
        seen[from * 2 + way]++;
    }
    CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, seen, ranks * 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (int i = 0; i < ranks * 2; i++)
        sum += seen[i] == 1;
    CHECK_INT(sum, ranks * 2);
    free(seen);
    CHECK_OK(MPI_File_close(&fh));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(!path_exists(path));
}

// ---- a representation in which each byte is turned round

static int extent_of(MPI_Datatype type, MPI_Aint *extent, void *state)
{
    MPI_Aint lower;
    (void)state;
    return MPI_Type_get_extent(type, &lower, extent);
}

static int turn(const unsigned char *from, unsigned char *to, MPI_Count bytes)
{
    for (MPI_Count i = 0; i < bytes; i++)
        to[i] = (unsigned char)~from[i];
    return MPI_SUCCESS;
}

static int turn_in(void *user, MPI_Datatype type, MPI_Count count, void *file, MPI_Offset at,
                   void *state)
{
    MPI_Count size = 0;
    (void)state;
    MPI_Type_size_c(type, &size);
    return turn(file, (unsigned char *)user + at * size, count * size);
}

static int turn_out(void *user, MPI_Datatype type, MPI_Count count, void *file, MPI_Offset at,
                    void *state)
{
    MPI_Count size = 0;
    (void)state;
    MPI_Type_size_c(type, &size);
    return turn((unsigned char *)user + at * size, file, count * size);
}

static void turned(const char *path, int rank, int ranks)
{
    MPI_Count extent = -1;
    MPI_Status status;
    int data[PART], back[PART];
    CHECK_OK(MPI_Register_datarep_c("turned_c", turn_in, turn_out, extent_of, NULL));
    MPI_File fh = must_open(path, MPI_MODE_RDWR | MPI_MODE_CREATE);
    CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "turned_c", MPI_INFO_NULL));
    CHECK_OK(MPI_File_get_type_extent_c(fh, MPI_INT, &extent));
    CHECK_INT(extent, (int)sizeof(int));
    for (int i = 0; i < PART; i++)
        data[i] = value_of(0, rank, i);
    CHECK_OK(MPI_File_write_at_all_c(fh, (MPI_Offset)rank * PART, data, PART, MPI_INT, &status));
    CHECK_OK(MPI_File_read_at_c(fh, (MPI_Offset)rank * PART, back, PART, MPI_INT, &status));
    CHECK(memcmp(data, back, sizeof data) == 0);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        long long size;
        int *all = (int *)file_bytes(path, &size);
        CHECK_INT(size, (long long)ranks * BYTES);
        for (int i = 0; i < ranks * PART; i++)
            CHECK_INT(~all[i], value_of(0, i / PART, i % PART));
        free(all);
    }
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
    all_ways(path, rank, ranks);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    shared(path, rank, ranks);
    turned(path, rank, ranks);
    CHECK_OK(MPI_Finalize());
    return 0;
}
