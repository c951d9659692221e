// SPDX-License-Identifier: BSD-3-Clause
//
// Data representations: external32 byte by byte, one that the program registers, and the layout of
// files whose numbers have other sizes than memory's.

#include "file_check.h"

// Numbers are stored as text of 12 characters.
enum { TEXT = 12 };

static int extent_of(MPI_Datatype type, MPI_Aint *extent, void *state)
{
    (void)state;
    if (type != MPI_INT)
        return MPI_ERR_TYPE;
    *extent = TEXT;
    return MPI_SUCCESS;
}

static int to_text(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position,
                   void *state)
{
    (void)type;
    if (*(int *)state != 17)
        return MPI_ERR_OTHER;
    for (int i = 0; i < count; i++) {
        char text[TEXT + 1];
        snprintf(text, sizeof text, "%11d\n", ((int *)user)[position + i]);
        memcpy((char *)file + (size_t)i * TEXT, text, TEXT);
    }
    return MPI_SUCCESS;
}

static int from_text(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position,
                     void *state)
{
    (void)type;
    (void)state;
    for (int i = 0; i < count; i++) {
        char text[TEXT + 1] = "";
        memcpy(text, (char *)file + (size_t)i * TEXT, TEXT);
        ((int *)user)[position + i] = atoi(text);
    }
    return MPI_SUCCESS;
}

static void as_text(MPI_File fh, const char *path, int rank, int ranks, int *state)
{
    MPI_Datatype every;
    MPI_Aint extent = -1;
    MPI_Status status;
    int numbers[3] = {rank * 10, rank * 10 + 1, -rank}, back[4] = {0, 0, 0, 99};
    CHECK_OK(MPI_Register_datarep("text", from_text, to_text, extent_of, state));
    CHECK_ERROR(MPI_Register_datarep("text", from_text, to_text, extent_of, state),
                MPI_ERR_DUP_DATAREP, "MPI_Register_datarep", "text");
    CHECK_ERROR(MPI_Register_datarep("native", from_text, to_text, extent_of, state),
                MPI_ERR_DUP_DATAREP, "MPI_Register_datarep", "native");
    // Every ranks-th number is this rank's.
    CHECK_OK(MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)ranks * TEXT, &every));
    CHECK_OK(MPI_Type_commit(&every));
    CHECK_OK(MPI_File_set_view(fh, (MPI_Offset)rank * TEXT, MPI_INT, every, "text", MPI_INFO_NULL));
    CHECK_OK(MPI_File_get_type_extent(fh, MPI_INT, &extent));
    CHECK_INT(extent, TEXT);
    CHECK_OK(MPI_File_write_all(fh, numbers, 3, MPI_INT, &status));
    CHECK_INT(status_bytes(&status), 12);
    CHECK_OK(MPI_File_read_at(fh, 0, back, 3, MPI_INT, &status));
    CHECK(memcmp(back, numbers, sizeof numbers) == 0 && back[3] == 99);
    CHECK_OK(MPI_File_read_at_all(fh, 1, back, 4, MPI_INT, &status));
    CHECK_INT(status_bytes(&status), 8);
    CHECK(back[0] == numbers[1] && back[1] == numbers[2] && back[3] == 99);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        long long size;
        char line[TEXT + 1];
        unsigned char *bytes = file_bytes(path, &size);
        CHECK_INT(size, 3 * ranks * TEXT);
        for (int i = 0; i < 3 * ranks; i++) {
            int who = i % ranks;
            snprintf(line, sizeof line, "%11d\n", i / ranks < 2 ? who * 10 + i / ranks : -who);
            CHECK(memcmp(bytes + (size_t)i * TEXT, line, TEXT) == 0);
        }
        free(bytes);
    }
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    *state = 0; // now its function fails
    CHECK_ERROR(MPI_File_write_at(fh, 0, numbers, 1, MPI_INT, &status), MPI_ERR_CONVERSION,
                "MPI_File_write_at", "text");
    *state = 17;
    CHECK_ERROR(MPI_File_set_view(fh, 0, MPI_DOUBLE, MPI_DOUBLE, "text", MPI_INFO_NULL),
                MPI_ERR_TYPE, "MPI_File_set_view", "text");
    CHECK_OK(MPI_Type_free(&every));
}

// A long has 4 bytes in external32: the file's layout is not the memory's.
static void external(MPI_File fh, const char *path, int rank, int ranks)
{
    MPI_Datatype pairs;
    MPI_Aint extent = -1;
    MPI_Status status;
    long out[8], in[9];
    CHECK_OK(MPI_File_set_size(fh, 0));
    CHECK_OK(MPI_Type_vector(2, 2, 2 * ranks, MPI_LONG, &pairs));
    MPI_Datatype tile;
    CHECK_OK(MPI_Type_create_resized(pairs, 0, (MPI_Aint)4 * ranks * 4, &tile));
    CHECK_OK(MPI_Type_commit(&tile));
    CHECK_OK(
        MPI_File_set_view(fh, (MPI_Offset)rank * 8, MPI_LONG, tile, "external32", MPI_INFO_NULL));
    CHECK_OK(MPI_File_get_type_extent(fh, MPI_LONG, &extent));
    CHECK_INT(extent, 4);
    CHECK_OK(MPI_File_get_type_extent(fh, MPI_DOUBLE, &extent));
    CHECK_INT(extent, 8);
    for (int i = 0; i < 8; i++)
        out[i] = -1000L * rank - i;
    CHECK_OK(MPI_File_write_all(fh, out, 8, MPI_LONG, &status));
    CHECK_INT(status_bytes(&status), 8 * (int)sizeof(long));
    CHECK_OK(MPI_File_seek(fh, 0, MPI_SEEK_SET));
    in[8] = 4711;
    CHECK_OK(MPI_File_read(fh, in, 9, MPI_LONG, &status));
    CHECK_INT(status_bytes(&status), 8 * (int)sizeof(long));
    CHECK(memcmp(in, out, sizeof out) == 0 && in[8] == 4711);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        long long size;
        unsigned char *bytes = file_bytes(path, &size);
        CHECK_INT(size, 8 * ranks * 4);
        for (int i = 0; i < 8 * ranks; i++) {
            long value = -1000L * (i / 2 % ranks) - (i / (2 * ranks) * 2 + i % 2);
            for (int b = 0; b < 4; b++)
                CHECK_INT(bytes[4 * i + b], (unsigned char)((unsigned long)value >> (24 - 8 * b)));
        }
        free(bytes);
    }
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_Type_free(&tile));
    CHECK_OK(MPI_Type_free(&pairs));
}

int main(int argc, char **argv)
{
    char path[PATH_ROOM];
    CHECK_OK(MPI_Init(&argc, &argv));
    int rank = world_rank(), ranks = world_size(), state = 17;
    fresh_path(path);
    MPI_File fh = must_open(path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE);
    as_text(fh, path, rank, ranks, &state);
    external(fh, path, rank, ranks);
    CHECK_OK(MPI_File_close(&fh));
    CHECK_OK(MPI_Finalize());
    return 0;
}
