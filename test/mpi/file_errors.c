// SPDX-License-Identifier: BSD-3-Clause
//
// What goes wrong with files: every wrong argument has its class and a message that names it; errors
// go to the file's handler, which returns unless the program says otherwise; after an error the file
// is as good as before.

#include "file_check.h"

static void refused_opens(const char *path)
{
    MPI_File fh;
    char below[PATH_ROOM + 16];
    int amodes[] = {0,
                    MPI_MODE_RDONLY | MPI_MODE_WRONLY,
                    MPI_MODE_RDONLY | MPI_MODE_CREATE,
                    MPI_MODE_RDONLY | MPI_MODE_EXCL,
                    MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL,
                    MPI_MODE_RDWR | 1 << 20};
    for (int i = 0; i < COUNT_OF(amodes); i++) {
        fh = (MPI_File)0x10;
        CHECK_ERROR(MPI_File_open(MPI_COMM_WORLD, path, amodes[i], MPI_INFO_NULL, &fh),
                    MPI_ERR_AMODE, "MPI_File_open", "amode");
        CHECK(fh == MPI_FILE_NULL);
    }
    CHECK_ERROR(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh),
                MPI_ERR_NO_SUCH_FILE, "MPI_File_open", path);
    CHECK_ERROR(MPI_File_open(MPI_COMM_WORLD, "/", MPI_MODE_RDWR, MPI_INFO_NULL, &fh),
                MPI_ERR_BAD_FILE, "MPI_File_open", "'/'");
    CHECK_ERROR(MPI_File_open(MPI_COMM_WORLD, "", MPI_MODE_RDWR, MPI_INFO_NULL, &fh),
                MPI_ERR_BAD_FILE, "MPI_File_open", "filename");
    snprintf(below, sizeof below, "%s/below", path);
    CHECK_ERROR(
        MPI_File_open(MPI_COMM_WORLD, below, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &fh),
        MPI_ERR_NO_SUCH_FILE, "MPI_File_open", below);
    CHECK_ERROR(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, (MPI_Info)0x10, &fh),
                MPI_ERR_INFO, "MPI_File_open", "info");
    CHECK_ERROR(MPI_File_open(MPI_COMM_WORLD, path,
                              world_rank() ? MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_UNIQUE_OPEN
                                           : MPI_MODE_RDWR | MPI_MODE_CREATE,
                              MPI_INFO_NULL, &fh),
                MPI_ERR_NOT_SAME, "MPI_File_open", "amode");
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (world_rank() == 0)
        CHECK_OK(MPI_File_delete(path, MPI_INFO_NULL));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void bad_handles(void)
{
    MPI_File none = MPI_FILE_NULL;
    MPI_Offset size;
    CHECK_ERROR(MPI_File_close(&none), MPI_ERR_FILE, "MPI_File_close", "file");
    CHECK_ERROR(MPI_File_get_size(MPI_FILE_NULL, &size), MPI_ERR_FILE, "MPI_File_get_size",
                "argument fh is MPI_FILE_NULL");
    CHECK_ERROR(MPI_File_sync((MPI_File)0x120), MPI_ERR_FILE, "MPI_File_sync",
                "argument fh is 0x120");
    CHECK_ERROR(MPI_File_write_at(MPI_FILE_NULL, 0, &size, 1, MPI_BYTE, MPI_STATUS_IGNORE),
                MPI_ERR_FILE, "MPI_File_write_at", "file");
}

static void bad_accesses(MPI_File fh)
{
    MPI_Datatype raw;
    char byte = 0;
    MPI_Request request;
    CHECK_OK(MPI_Type_contiguous(3, MPI_BYTE, &raw));
    CHECK_ERROR(MPI_File_write_at(fh, 0, &byte, -1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_COUNT,
                "MPI_File_write_at", "-1");
    CHECK_ERROR(MPI_File_write_at(fh, -4, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_ARG,
                "MPI_File_write_at", "-4");
    CHECK_ERROR(MPI_File_write_at(fh, 0, NULL, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_BUFFER,
                "MPI_File_write_at", "buf");
    CHECK_ERROR(MPI_File_read(fh, &byte, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE), MPI_ERR_TYPE,
                "MPI_File_read", "datatype");
    CHECK_ERROR(MPI_File_read(fh, &byte, 1, raw, MPI_STATUS_IGNORE), MPI_ERR_TYPE, "MPI_File_read",
                "committed");
    request = (MPI_Request)0x10;
    CHECK_ERROR(MPI_File_iread(fh, &byte, -7, MPI_BYTE, &request), MPI_ERR_COUNT, "MPI_File_iread",
                "-7");
    CHECK(request == MPI_REQUEST_NULL);
    // A collective call: the others do not wait for the one that is refused.
    int n = world_rank() == 0 ? -1 : 1;
    int code = MPI_File_write_at_all(fh, 10 + world_rank(), &byte, n, MPI_BYTE, MPI_STATUS_IGNORE);
    if (world_rank() == 0)
        CHECK_ERROR(code, MPI_ERR_COUNT, "MPI_File_write_at_all", "-1");
    else
        CHECK_OK(code);
    CHECK_OK(MPI_Type_free(&raw));
}

static void bad_views(MPI_File fh)
{
    MPI_Datatype back, overlap;
    MPI_Offset disp;
    MPI_Datatype etype, filetype;
    char datarep[MPI_MAX_DATAREP_STRING];
    int lengths[] = {1, 1}, down[] = {5, 0}, same[] = {0, 0};
    CHECK_OK(MPI_Type_indexed(2, lengths, down, MPI_INT, &back));
    CHECK_OK(MPI_Type_indexed(2, lengths, same, MPI_INT, &overlap));
    CHECK_OK(MPI_Type_commit(&back));
    CHECK_OK(MPI_Type_commit(&overlap));
    CHECK_ERROR(MPI_File_set_view(fh, -5, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_ARG,
                "MPI_File_set_view", "-5");
    CHECK_ERROR(MPI_File_set_view(fh, 0, MPI_INT, MPI_SHORT, "native", MPI_INFO_NULL), MPI_ERR_ARG,
                "MPI_File_set_view", "filetype");
    CHECK_ERROR(MPI_File_set_view(fh, 0, MPI_INT, back, "native", MPI_INFO_NULL), MPI_ERR_ARG,
                "MPI_File_set_view", "decrease");
    CHECK_ERROR(MPI_File_set_view(fh, 0, MPI_INT, overlap, "native", MPI_INFO_NULL), MPI_ERR_ARG,
                "MPI_File_set_view", "overlap");
    CHECK_ERROR(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "nothing", MPI_INFO_NULL),
                MPI_ERR_UNSUPPORTED_DATAREP, "MPI_File_set_view", "nothing");
    CHECK_ERROR(MPI_File_set_view(fh, 0, MPI_DATATYPE_NULL, MPI_INT, "native", MPI_INFO_NULL),
                MPI_ERR_TYPE, "MPI_File_set_view", "etype");
    CHECK_ERROR(MPI_File_set_view(fh, 0, world_rank() ? MPI_INT : MPI_DOUBLE,
                                  world_rank() ? MPI_INT : MPI_DOUBLE, "native", MPI_INFO_NULL),
                MPI_ERR_NOT_SAME, "MPI_File_set_view", "etype");
    CHECK_ERROR(MPI_File_set_size(fh, world_rank()), MPI_ERR_NOT_SAME, "MPI_File_set_size", "size");
    CHECK_ERROR(MPI_File_set_size(fh, -9), MPI_ERR_ARG, "MPI_File_set_size", "-9");
    CHECK_ERROR(MPI_File_seek_shared(fh, world_rank(), MPI_SEEK_SET), MPI_ERR_NOT_SAME,
                "MPI_File_seek_shared", "offset");
    CHECK_ERROR(MPI_File_seek(fh, 0, 12), MPI_ERR_ARG, "MPI_File_seek", "12");
    CHECK_OK(MPI_File_get_view(fh, &disp, &etype, &filetype, datarep)); // as it was
    CHECK(disp == 0 && etype == MPI_BYTE && filetype == MPI_BYTE);
    CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "internal", MPI_INFO_NULL));
    CHECK_ERROR(MPI_File_write(fh, &disp, 3, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_ARG,
                "MPI_File_write", "etypes");
    CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    CHECK_OK(MPI_Type_free(&back));
    CHECK_OK(MPI_Type_free(&overlap));
}

// A filetype whose second element would begin within the first one shows one element, as parallel
// HDF5 needs it; whoever wants more is told.
static void short_extents(MPI_File fh)
{
    MPI_Datatype blocks, once;
    int rank = world_rank(), places[] = {0, 2}, out[2] = {rank, -rank}, in[2] = {7, 7};
    MPI_Offset at = (MPI_Offset)rank * 32, end;
    CHECK_OK(MPI_Type_create_indexed_block(2, 1, places, MPI_INT, &blocks));
    CHECK_OK(MPI_Type_create_resized(blocks, 0, 4, &once));
    CHECK_OK(MPI_Type_commit(&once));
    CHECK_OK(MPI_File_set_view(fh, at, MPI_INT, once, "native", MPI_INFO_NULL));
    CHECK_OK(MPI_File_write_at_all(fh, 0, out, 2, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_File_read_at_all(fh, 0, in, 2, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(in[0] == rank && in[1] == -rank);
    CHECK_OK(MPI_File_seek(fh, 0, MPI_SEEK_END));
    CHECK_OK(MPI_File_get_position(fh, &end));
    CHECK_INT(end, 2);
    CHECK_ERROR(MPI_File_write(fh, out, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ARG,
                "MPI_File_write", "first element");
    CHECK_ERROR(MPI_File_read_at_all(fh, 1, in, 2, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ARG,
                "MPI_File_read_at_all", "first element");
    CHECK_ERROR(MPI_File_write_shared(fh, out, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ARG,
                "MPI_File_write_shared", "shared pointer");
    CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    CHECK_OK(MPI_Type_free(&once));
    CHECK_OK(MPI_Type_free(&blocks));
}

static void bad_halves(MPI_File fh)
{
    char bytes[4] = "abc", others[4];
    MPI_File again = fh;
    CHECK_ERROR(MPI_File_write_all_end(fh, bytes, MPI_STATUS_IGNORE), MPI_ERR_OTHER,
                "MPI_File_write_all_end", "MPI_File_write_all_begin");
    CHECK_OK(MPI_File_write_at_all_begin(fh, 0, bytes, 4, MPI_BYTE));
    CHECK_ERROR(MPI_File_write_all_begin(fh, bytes, 4, MPI_BYTE), MPI_ERR_OTHER,
                "MPI_File_write_all_begin", "MPI_File_write_at_all_begin");
    CHECK_ERROR(MPI_File_write_all_end(fh, bytes, MPI_STATUS_IGNORE), MPI_ERR_OTHER,
                "MPI_File_write_all_end", "MPI_File_write_at_all_begin");
    CHECK_ERROR(MPI_File_write_at_all_end(fh, others, MPI_STATUS_IGNORE), MPI_ERR_BUFFER,
                "MPI_File_write_at_all_end", "buf");
    CHECK_ERROR(MPI_File_close(&again), MPI_ERR_OTHER, "MPI_File_close",
                "MPI_File_write_at_all_begin");
    CHECK_OK(MPI_File_write_at_all_end(fh, bytes, MPI_STATUS_IGNORE));
}

typedef struct heard {
    int calls, class;
} heard;

// Handlers know the file; what they note is in an attribute of the rank's own communicator, whose name
// is the key.
static void listen(MPI_File *fh, int *code, ...)
{
    heard *h = NULL;
    int flag = 0, keyval = -1;
    char text[MPI_MAX_OBJECT_NAME];
    int length;
    CHECK(*fh != MPI_FILE_NULL);
    CHECK_OK(MPI_Comm_get_name(MPI_COMM_SELF, text, &length));
    keyval = atoi(text);
    CHECK_OK(MPI_Comm_get_attr(MPI_COMM_SELF, keyval, &h, &flag));
    CHECK(flag);
    h->calls++;
    h->class = error_class(*code);
}

static void handlers(MPI_File fh)
{
    MPI_Errhandler own, got;
    heard h = {0, -1};
    int keyval = -1;
    char text[32], byte = 0;
    MPI_Request request;
    CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL));
    CHECK_OK(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &h));
    snprintf(text, sizeof text, "%d", keyval);
    CHECK_OK(MPI_Comm_set_name(MPI_COMM_SELF, text));
    CHECK_OK(MPI_File_get_errhandler(fh, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    CHECK_OK(MPI_File_create_errhandler(listen, &own));
    CHECK_OK(MPI_File_set_errhandler(fh, own));
    CHECK_OK(MPI_Errhandler_free(&own));
    CHECK_INT(error_class(MPI_File_write_at(fh, -1, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE)),
              MPI_ERR_ARG);
    CHECK_INT(h.calls, 1);
    CHECK_INT(h.class, MPI_ERR_ARG);
    CHECK_OK(MPI_File_call_errhandler(fh, MPI_ERR_QUOTA));
    CHECK_INT(h.class, MPI_ERR_QUOTA);
    CHECK_OK(MPI_File_iread_at(fh, 0, &byte, 1, MPI_BYTE, &request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_INT(h.calls, 2);
    CHECK_OK(MPI_Comm_delete_attr(MPI_COMM_SELF, keyval));
    CHECK_OK(MPI_Comm_free_keyval(&keyval));
}

// A full disk: blocking, in a request, among several, all ranks together; also one that has nothing to
// write learns of it.
static void full(void)
{
    MPI_File fh = must_open("/dev/full", MPI_MODE_WRONLY);
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Datatype every;
    int n = world_size(), rank = world_rank();
    char *bytes = must_alloc(300000);
    memset(bytes, 1, 300000);
    CHECK_ERROR(MPI_File_write_at(fh, 5, bytes, 3, MPI_BYTE, &statuses[0]), MPI_ERR_NO_SPACE,
                "MPI_File_write_at", "'/dev/full': No space left on device");
    CHECK_INT(status_bytes(&statuses[0]), 0);
    CHECK_ERROR(MPI_File_write(fh, bytes, 300000, MPI_BYTE, &statuses[0]), MPI_ERR_NO_SPACE,
                "MPI_File_write", "300000");
    for (int length = 1; length <= 300000; length += 299999) {
        CHECK_OK(MPI_File_iwrite_at(fh, 7, bytes, length, MPI_BYTE, &requests[0]));
        CHECK_ERROR(MPI_Wait(&requests[0], &statuses[0]), MPI_ERR_NO_SPACE, "MPI_File_iwrite_at",
                    "byte 7");
        CHECK_OK(MPI_File_iwrite_at(fh, 7, bytes, length, MPI_BYTE, &requests[0]));
        CHECK_OK(MPI_File_iwrite_at(fh, 7, bytes, 0, MPI_BYTE, &requests[1]));
        CHECK_INT(error_class(MPI_Waitall(2, requests, statuses)), MPI_ERR_IN_STATUS);
        CHECK_INT(error_class(statuses[0].MPI_ERROR), MPI_ERR_NO_SPACE);
        CHECK_INT(statuses[1].MPI_ERROR, MPI_SUCCESS);
    }
    CHECK_ERROR(MPI_File_write_at_all(fh, 5, bytes, rank == 0 ? 0 : 100, MPI_BYTE, &statuses[0]),
                MPI_ERR_NO_SPACE, "MPI_File_write_at_all", "/dev/full");
    CHECK_OK(MPI_Type_create_resized(MPI_INT, 0, 4 * n, &every)); // short blocks: exchanged
    CHECK_OK(MPI_Type_commit(&every));
    CHECK_OK(MPI_File_set_view(fh, 4 * rank, MPI_INT, every, "native", MPI_INFO_NULL));
    CHECK_ERROR(MPI_File_write_all(fh, bytes, 1000, MPI_INT, &statuses[0]), MPI_ERR_NO_SPACE,
                "MPI_File_write_all", "/dev/full");
    CHECK_ERROR(MPI_File_write_all_begin(fh, bytes, 1000, MPI_INT), MPI_ERR_NO_SPACE,
                "MPI_File_write_all_begin", "/dev/full");
    CHECK_OK(MPI_Type_free(&every));
    CHECK_OK(MPI_File_close(&fh));
    free(bytes);
}

static void read_only(const char *path)
{
    MPI_File fh = must_open(path, MPI_MODE_RDONLY);
    char byte = 0;
    CHECK_ERROR(MPI_File_write(fh, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY,
                "MPI_File_write", path);
    CHECK_ERROR(MPI_File_set_size(fh, 0), MPI_ERR_READ_ONLY, "MPI_File_set_size", path);
    CHECK_ERROR(MPI_File_preallocate(fh, 0), MPI_ERR_READ_ONLY, "MPI_File_preallocate", path);
    CHECK_OK(MPI_File_close(&fh));
    fh = must_open(path, MPI_MODE_WRONLY);
    CHECK_ERROR(MPI_File_read(fh, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_ACCESS,
                "MPI_File_read", path);
    CHECK_OK(MPI_File_close(&fh));
}

int main(int argc, char **argv)
{
    char path[PATH_ROOM];
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    fresh_path(path);
    refused_opens(path);
    bad_handles();
    MPI_File fh = must_open(path, MPI_MODE_RDWR | MPI_MODE_CREATE);
    bad_accesses(fh);
    bad_views(fh);
    short_extents(fh);
    bad_halves(fh);
    handlers(fh);
    CHECK_OK(MPI_File_close(&fh));
    read_only(path);
    full();
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (world_rank() == 0)
        CHECK_OK(MPI_File_delete(path, MPI_INFO_NULL));
    CHECK_OK(MPI_Finalize());
    return 0;
}
