// SPDX-License-Identifier: BSD-3-Clause
//
// Files as a whole, and accesses at offsets and by a rank's own pointer: blocking, nonblocking,
// collective, in halves. Each rank has a part of the file.

#include "file_check.h"

enum { PART = 3000, ROUNDS = 3 };

static void whole(MPI_File fh, const char *path, int rank, int size)
{
    MPI_Offset bytes = -1;
    MPI_Group group, world;
    int amode = -1, flag = -1, result = -1;
    CHECK_OK(MPI_File_get_size(fh, &bytes));
    CHECK_INT(bytes, 0);
    CHECK_OK(MPI_File_set_size(fh, 12345));
    CHECK_OK(MPI_File_get_size(fh, &bytes));
    CHECK_INT(bytes, 12345);
    CHECK_OK(MPI_File_preallocate(fh, 20000));
    CHECK_OK(MPI_File_get_size(fh, &bytes));
    CHECK_INT(bytes, 20000);
    CHECK_OK(MPI_File_preallocate(fh, 100));
    CHECK_OK(MPI_File_get_size(fh, &bytes));
    CHECK_INT(bytes, 20000);
    CHECK_OK(MPI_File_set_size(fh, 0));
    CHECK_OK(MPI_File_get_amode(fh, &amode));
    CHECK_INT(amode, MPI_MODE_RDWR | MPI_MODE_CREATE);
    CHECK_OK(MPI_File_get_group(fh, &group));
    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    CHECK_OK(MPI_Group_compare(group, world, &result));
    CHECK_INT(result, MPI_IDENT);
    CHECK_OK(MPI_Group_free(&group));
    CHECK_OK(MPI_Group_free(&world));
    CHECK_OK(MPI_File_get_atomicity(fh, &flag));
    CHECK_INT(flag, 0);
    CHECK_OK(MPI_File_sync(fh));
    CHECK(path_exists(path) && rank < size);
}

static void check_hint(MPI_Info info, const char *key, const char *should)
{
    char value[PATH_ROOM];
    int flag = 0, length = PATH_ROOM;
    CHECK_OK(MPI_Info_get_string(info, key, &length, value, &flag));
    if (should)
        CHECK(flag && strcmp(value, should) == 0);
    else
        CHECK(!flag); // it is ignored
}

static void hints(MPI_File fh, const char *path)
{
    static const char *const given[][2] = {
        {"cb_nodes", "1"},           {"cb_buffer_size", "1048576"}, {"romio_cb_write", "disable"},
        {"romio_ds_read", "enable"}, {"romio_ds_write", "disable"}, {"striping_factor", "4"},
        {"striping_unit", "65536"},  {"access_style", "random"},    {"nobody_knows_this", "1"}};
    MPI_Info info, used;
    CHECK_OK(MPI_Info_create(&info));
    for (int i = 0; i < COUNT_OF(given); i++)
        CHECK_OK(MPI_Info_set(info, given[i][0], given[i][1]));
    CHECK_OK(MPI_File_set_info(fh, info));
    CHECK_OK(MPI_File_get_info(fh, &used));
    for (int i = 0; i < COUNT_OF(given); i++)
        check_hint(used, given[i][0], i < 5 ? given[i][1] : NULL);
    check_hint(used, "collective_buffering", "false");
    check_hint(used, "filename", path);
    CHECK_OK(MPI_Info_free(&used));
    for (int i = 2; i < 5; i++)
        CHECK_OK(MPI_Info_set(info, given[i][0], "automatic"));
    CHECK_OK(MPI_Info_set(info, "cb_buffer_size", "5")); // too small a window
    CHECK_OK(MPI_File_set_info(fh, info));
    CHECK_OK(MPI_Info_free(&info));
    CHECK_OK(MPI_File_get_info(fh, &used));
    check_hint(used, "romio_cb_write", "automatic");
    check_hint(used, "romio_ds_read", "automatic");
    check_hint(used, "cb_buffer_size", "262144");
    CHECK_OK(MPI_Info_free(&used));
}

// Writes its part in some way, reads its neighbour's in another, with every count and offset.
typedef enum way {
    AT,
    AT_ALL,
    OWN,
    ALL,
    I_AT,
    I_AT_ALL,
    I_OWN,
    I_ALL,
    HALVES_AT,
    HALVES,
    WAYS
} way;

static void write_by(MPI_File fh, way how, long long at, const void *buf, int n, MPI_Status *status)
{
    MPI_Request request = MPI_REQUEST_NULL;
    if (how == OWN || how == ALL || how == I_OWN || how == I_ALL || how == HALVES)
        CHECK_OK(MPI_File_seek(fh, at, MPI_SEEK_SET));
    switch (how) {
    case AT:
        CHECK_OK(MPI_File_write_at(fh, at, buf, n, MPI_BYTE, status));
        break;
    case AT_ALL:
        CHECK_OK(MPI_File_write_at_all(fh, at, buf, n, MPI_BYTE, status));
        break;
    case OWN:
        CHECK_OK(MPI_File_write(fh, buf, n, MPI_BYTE, status));
        break;
    case ALL:
        CHECK_OK(MPI_File_write_all(fh, buf, n, MPI_BYTE, status));
        break;
    case I_AT:
        CHECK_OK(MPI_File_iwrite_at(fh, at, buf, n, MPI_BYTE, &request));
        break;
    case I_AT_ALL:
        CHECK_OK(MPI_File_iwrite_at_all(fh, at, buf, n, MPI_BYTE, &request));
        break;
    case I_OWN:
        CHECK_OK(MPI_File_iwrite(fh, buf, n, MPI_BYTE, &request));
        break;
    case I_ALL:
        CHECK_OK(MPI_File_iwrite_all(fh, buf, n, MPI_BYTE, &request));
        break;
    case HALVES_AT:
        CHECK_OK(MPI_File_write_at_all_begin(fh, at, buf, n, MPI_BYTE));
        CHECK_OK(MPI_File_write_at_all_end(fh, buf, status));
        break;
    default:
        CHECK_OK(MPI_File_write_all_begin(fh, buf, n, MPI_BYTE));
        CHECK_OK(MPI_File_write_all_end(fh, buf, status));
        break;
    }
    if (how >= I_AT && how <= I_ALL)
        CHECK_OK(MPI_Wait(&request, status));
}

static void read_by(MPI_File fh, way how, long long at, void *buf, int n, MPI_Status *status)
{
    MPI_Request request = MPI_REQUEST_NULL;
    if (how == OWN || how == ALL || how == I_OWN || how == I_ALL || how == HALVES)
        CHECK_OK(MPI_File_seek(fh, at, MPI_SEEK_SET));
    switch (how) {
    case AT:
        CHECK_OK(MPI_File_read_at(fh, at, buf, n, MPI_BYTE, status));
        break;
    case AT_ALL:
        CHECK_OK(MPI_File_read_at_all(fh, at, buf, n, MPI_BYTE, status));
        break;
    case OWN:
        CHECK_OK(MPI_File_read(fh, buf, n, MPI_BYTE, status));
        break;
    case ALL:
        CHECK_OK(MPI_File_read_all(fh, buf, n, MPI_BYTE, status));
        break;
    case I_AT:
        CHECK_OK(MPI_File_iread_at(fh, at, buf, n, MPI_BYTE, &request));
        break;
    case I_AT_ALL:
        CHECK_OK(MPI_File_iread_at_all(fh, at, buf, n, MPI_BYTE, &request));
        break;
    case I_OWN:
        CHECK_OK(MPI_File_iread(fh, buf, n, MPI_BYTE, &request));
        break;
    case I_ALL:
        CHECK_OK(MPI_File_iread_all(fh, buf, n, MPI_BYTE, &request));
        break;
    case HALVES_AT:
        CHECK_OK(MPI_File_read_at_all_begin(fh, at, buf, n, MPI_BYTE));
        CHECK_OK(MPI_File_read_at_all_end(fh, buf, status));
        break;
    default:
        CHECK_OK(MPI_File_read_all_begin(fh, buf, n, MPI_BYTE));
        CHECK_OK(MPI_File_read_all_end(fh, buf, status));
        break;
    }
    if (how >= I_AT && how <= I_ALL)
        CHECK_OK(MPI_Wait(&request, status));
}

static void ways(MPI_File fh, int rank, int size)
{
    unsigned char *out = must_alloc(PART), *in = must_alloc(PART);
    MPI_Status status;
    MPI_Offset position = -1;
    for (int how = 0; how < WAYS; how++) {
        int peer = (rank + 1) % size;
        way back = (way)((how + 3) % WAYS);
        pattern_fill(out, PART, (unsigned)(100 * how + rank));
        write_by(fh, (way)how, (long long)rank * PART, out, PART, &status);
        CHECK_INT(status_bytes(&status), PART);
        if (how == OWN || how == ALL || how == I_OWN || how == I_ALL || how == HALVES) {
            CHECK_OK(MPI_File_get_position(fh, &position));
            CHECK_INT(position, (long long)(rank + 1) * PART);
        }
        CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
        memset(in, 0, PART);
        read_by(fh, back, (long long)peer * PART, in, PART, &status);
        CHECK_INT(status_bytes(&status), PART);
        CHECK_PATTERN(in, PART, (unsigned)(100 * how + peer));
        // The end of the file: half of what is asked for, then nothing.
        memset(in, 77, PART);
        read_by(fh, back, (long long)size * PART - 10, in, PART, &status);
        CHECK_INT(status_bytes(&status), 10);
        CHECK_INT(in[10], 77);
        read_by(fh, back, (long long)size * PART, in, PART, &status);
        CHECK_INT(status_bytes(&status), 0);
        CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    free(in);
    free(out);
}

static void seeks(MPI_File fh, int size)
{
    MPI_Offset position = -1, end = (MPI_Offset)size * PART;
    CHECK_OK(MPI_File_seek(fh, 100, MPI_SEEK_SET));
    CHECK_OK(MPI_File_seek(fh, -30, MPI_SEEK_CUR));
    CHECK_OK(MPI_File_get_position(fh, &position));
    CHECK_INT(position, 70);
    CHECK_OK(MPI_File_seek(fh, -5, MPI_SEEK_END));
    CHECK_OK(MPI_File_get_position(fh, &position));
    CHECK_INT(position, end - 5);
    CHECK_ERROR(MPI_File_seek(fh, -1, MPI_SEEK_SET), MPI_ERR_ARG, "MPI_File_seek", "-1");
    CHECK_OK(MPI_File_get_position(fh, &position));
    CHECK_INT(position, end - 5);
}

// A read by the pointer at the end moves it by what was read.
static void pointer_at_end(MPI_File fh, int size)
{
    MPI_Offset position = -1, end = (MPI_Offset)size * PART;
    char few[64];
    MPI_Status status;
    CHECK_OK(MPI_File_seek(fh, end - 7, MPI_SEEK_SET));
    CHECK_OK(MPI_File_read(fh, few, 64, MPI_BYTE, &status));
    CHECK_INT(status_bytes(&status), 7);
    CHECK_OK(MPI_File_get_position(fh, &position));
    CHECK_INT(position, end);
}

static const unsigned char zeros[300000];

// Many requests at once, waited for in any order; one is freed.
static void many_requests(MPI_File fh, int rank, int size)
{
    enum { MANY = 40, PIECE = 300000 };
    MPI_Request requests[MANY];
    MPI_Status statuses[MANY];
    unsigned char *out = must_alloc(PIECE), *in = must_alloc((size_t)MANY * 100);
    pattern_fill(out, PIECE, (unsigned)rank + 7);
    MPI_Offset base = (MPI_Offset)size * PART + (MPI_Offset)rank * MANY * PIECE;
    for (int i = 0; i < MANY; i++)
        CHECK_OK(MPI_File_iwrite_at(fh, base + (MPI_Offset)i * PIECE, out, PIECE, MPI_BYTE,
                                    &requests[i]));
    CHECK_OK(MPI_Waitall(MANY, requests, statuses));
    for (int i = 0; i < MANY; i++)
        CHECK_INT(status_bytes(&statuses[i]), PIECE);
    for (int i = 0; i < MANY; i++)
        CHECK_OK(MPI_File_iread_at(fh, base + (MPI_Offset)i * PIECE + i, in + 100 * i, 100,
                                   MPI_BYTE, &requests[i]));
    for (int done = 0, index = -1; done < MANY; done++) {
        CHECK_OK(MPI_Waitany(MANY, requests, &index, statuses));
        CHECK(memcmp(in + 100 * index, out + index, 100) == 0);
    }
    // Its buffer must stay; the file is not closed before it is written.
    CHECK_OK(MPI_File_iwrite_at(fh, base, zeros, sizeof zeros, MPI_BYTE, &requests[0]));
    CHECK_OK(MPI_Request_free(&requests[0]));
    int flag = 0;
    CHECK_OK(MPI_File_iread_at(fh, base + PIECE, in, 100, MPI_BYTE, &requests[0]));
    while (!flag)
        CHECK_OK(MPI_Test(&requests[0], &flag, statuses));
    CHECK(memcmp(in, out, 100) == 0);
    free(in);
    free(out);
}

int main(int argc, char **argv)
{
    char path[PATH_ROOM];
    CHECK_OK(MPI_Init(&argc, &argv));
    int rank = world_rank(), size = world_size();
    fresh_path(path);
    MPI_File fh = must_open(path, MPI_MODE_RDWR | MPI_MODE_CREATE);
    whole(fh, path, rank, size);
    hints(fh, path);
    ways(fh, rank, size);
    seeks(fh, size);
    pointer_at_end(fh, size);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_File_set_atomicity(fh, 1));
    ways(fh, rank, size);
    CHECK_OK(MPI_File_set_atomicity(fh, 0));
    many_requests(fh, rank, size);
    CHECK_OK(MPI_File_close(&fh));
    CHECK(fh == MPI_FILE_NULL);
    long long bytes = -1;
    unsigned char *all = file_bytes(path, &bytes);
    CHECK(memcmp(all + (size_t)size * PART + (size_t)rank * 40 * sizeof zeros, zeros,
                 sizeof zeros) == 0);
    free(all);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));

    // A second time: exclusively it fails, at the end it goes on, and it goes with the last one.
    CHECK_ERROR(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL,
                              MPI_INFO_NULL, &fh),
                MPI_ERR_FILE_EXISTS, "MPI_File_open", path);
    CHECK(fh == MPI_FILE_NULL);
    fh = must_open(path, MPI_MODE_WRONLY | MPI_MODE_APPEND | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Offset position = -1, end = -1;
    CHECK_OK(MPI_File_get_size(fh, &end));
    CHECK_OK(MPI_File_get_position(fh, &position));
    CHECK_INT(position, end);
    CHECK_OK(MPI_File_get_position_shared(fh, &position));
    CHECK_INT(position, end);
    CHECK_OK(MPI_File_close(&fh));
    CHECK(!path_exists(path));

    // Files of one rank each.
    char own[PATH_ROOM + 16];
    snprintf(own, sizeof own, "%s.%d", path, rank);
    CHECK_OK(
        MPI_File_open(MPI_COMM_SELF, own, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &fh));
    CHECK_OK(MPI_File_write(fh, own, 10, MPI_CHAR, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_File_close(&fh));
    CHECK_OK(MPI_File_delete(own, MPI_INFO_NULL));
    CHECK_ERROR(MPI_File_delete(own, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE, "MPI_File_delete", own);
    CHECK_OK(MPI_Finalize());
    return 0;
}
