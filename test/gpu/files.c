// SPDX-License-Identifier: BSD-3-Clause
// Files: every call that reads or writes, with buffers in memory of a device, with and without gaps,
// in views with and without gaps, in all representations. Argument: the file's path.
#include "on_device.h"

enum { N = 4000, LARGE = 200000 };

static int rank, size;
static const char *path;

// A call that moves `count` elements at `offset` etypes of the rank's view.
typedef void mover(MPI_File file, MPI_Offset offset, void *buf, int count, MPI_Datatype type);

typedef struct way {
    const char *name;
    mover *write, *read;
    bool orders; // by the shared pointer, in the order of ranks or in any
} way;

#define AT(name, call)                                                                             \
    static void name(MPI_File file, MPI_Offset offset, void *buf, int count, MPI_Datatype type)    \
    {                                                                                              \
        MPI_Status status;                                                                         \
        int moved = -1;                                                                            \
        call;                                                                                      \
        MPI_Get_count(&status, type, &moved);                                                      \
        CHECK(moved == count);                                                                     \
    }
#define PLAIN(name, ...) AT(name, MPI_File_##name(file, offset, __VA_ARGS__, &status))
#define STARTED(name, ...)                                                                         \
    AT(name, MPI_Request request; MPI_File_##name(file, __VA_ARGS__, &request);                    \
       MPI_Wait(&request, &status))
#define SOUGHT(name)                                                                               \
    AT(name, MPI_File_seek(file, offset, MPI_SEEK_SET);                                            \
       MPI_File_##name(file, buf, count, type, &status))

PLAIN(write_at, buf, count, type)
PLAIN(read_at, buf, count, type)
PLAIN(write_at_all, buf, count, type)
PLAIN(read_at_all, buf, count, type)
SOUGHT(write)
SOUGHT(read)
SOUGHT(write_all)
SOUGHT(read_all)
STARTED(iwrite_at, offset, buf, count, type)
STARTED(iread_at, offset, buf, count, type)
STARTED(iwrite_at_all, offset, buf, count, type)
STARTED(iread_at_all, offset, buf, count, type)
AT(iwrite, MPI_Request r; MPI_File_seek(file, offset, MPI_SEEK_SET);
   MPI_File_iwrite(file, buf, count, type, &r); MPI_Wait(&r, &status))
AT(iread, MPI_Request r; MPI_File_seek(file, offset, MPI_SEEK_SET);
   MPI_File_iread(file, buf, count, type, &r); MPI_Wait(&r, &status))
AT(iwrite_all, MPI_Request r; MPI_File_seek(file, offset, MPI_SEEK_SET);
   MPI_File_iwrite_all(file, buf, count, type, &r); MPI_Wait(&r, &status))
AT(iread_all, MPI_Request r; MPI_File_seek(file, offset, MPI_SEEK_SET);
   MPI_File_iread_all(file, buf, count, type, &r); MPI_Wait(&r, &status))
AT(split_write_at, MPI_File_write_at_all_begin(file, offset, buf, count, type);
   MPI_File_write_at_all_end(file, buf, &status))
AT(split_read_at, MPI_File_read_at_all_begin(file, offset, buf, count, type);
   MPI_File_read_at_all_end(file, buf, &status))
AT(split_write, MPI_File_seek(file, offset, MPI_SEEK_SET);
   MPI_File_write_all_begin(file, buf, count, type); MPI_File_write_all_end(file, buf, &status))
AT(split_read, MPI_File_seek(file, offset, MPI_SEEK_SET);
   MPI_File_read_all_begin(file, buf, count, type); MPI_File_read_all_end(file, buf, &status))
AT(write_ordered, (void)offset; MPI_File_write_ordered(file, buf, count, type, &status))
AT(read_ordered, (void)offset; MPI_File_read_ordered(file, buf, count, type, &status))
AT(split_write_ordered, (void)offset; MPI_File_write_ordered_begin(file, buf, count, type);
   MPI_File_write_ordered_end(file, buf, &status))
AT(split_read_ordered, (void)offset; MPI_File_read_ordered_begin(file, buf, count, type);
   MPI_File_read_ordered_end(file, buf, &status))

static const way ways[] = {
    {"at", write_at, read_at, false},
    {"at all", write_at_all, read_at_all, false},
    {"individual", write, read, false},
    {"all", write_all, read_all, false},
    {"i at", iwrite_at, iread_at, false},
    {"i at all", iwrite_at_all, iread_at_all, false},
    {"i", iwrite, iread, false},
    {"i all", iwrite_all, iread_all, false},
    {"split at", split_write_at, split_read_at, false},
    {"split", split_write, split_read, false},
    {"ordered", write_ordered, read_ordered, true},
    {"split ordered", split_write_ordered, split_read_ordered, true},
};

static int64_t value(int r, int i)
{
    return (int64_t)r * LARGE + i;
}

// N numbers in memory, `stride` apart; what lies between is -1.
static int64_t *pattern(int r, int count, int stride)
{
    int64_t *list = malloc((size_t)count * (size_t)stride * sizeof *list);
    for (int i = 0; i < count * stride; i++)
        list[i] = i % stride ? -1 : value(r, i / stride);
    return list;
}

static bool is_pattern(const int64_t *list, int r, int count, int stride)
{
    int64_t *want = pattern(r, count, stride);
    bool same = memcmp(list, want, (size_t)count * (size_t)stride * sizeof *want) == 0;
    free(want);
    return same;
}

static MPI_Datatype spread(int count, int stride)
{
    MPI_Datatype type;
    MPI_Type_vector(count, 1, stride, MPI_INT64_T, &type);
    MPI_Type_commit(&type);
    return type;
}

// A rank's blocks of 5 numbers, one of each rank in turn.
static MPI_Datatype turns(void)
{
    MPI_Datatype block, type;
    MPI_Type_contiguous(5, MPI_INT64_T, &block);
    MPI_Type_create_resized(block, 0, 5 * size * (MPI_Aint)sizeof(int64_t), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&block);
    return type;
}

static void view(MPI_File file, bool gaps, int count, bool shared, const char *representation)
{
    MPI_Datatype type = turns();
    MPI_Offset own =
        gaps ? rank * 5 * (MPI_Offset)sizeof(int64_t) : rank * count * (MPI_Offset)sizeof(int64_t);
    MPI_File_set_view(file, shared ? 0 : own, MPI_INT64_T, gaps && !shared ? type : MPI_INT64_T,
                      representation, MPI_INFO_NULL);
    MPI_Type_free(&type);
}

// Written from a device and read by the host, and the other way round.
static void test_way(const way *w, bool gaps, int stride, int count, bool atomic,
                     const char *representation)
{
    for (int device = 0; device < 2; device++) {
        size_t bytes = (size_t)count * (size_t)stride * sizeof(int64_t);
        int64_t *out = pattern(rank, count, stride), *empty = malloc(bytes), *in;
        for (int i = 0; i < count * stride; i++)
            empty[i] = -1;
        void *from = any_copy(device == 0, out, bytes), *to = any_copy(device == 1, empty, bytes);
        MPI_Datatype type = spread(count, stride);
        MPI_File file;
        MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
        MPI_File_set_atomicity(file, atomic);
        view(file, gaps, count, w->orders, representation);
        w->write(file, 0, from, 1, type);
        MPI_File_sync(file);
        MPI_Barrier(MPI_COMM_WORLD);
        if (w->orders)
            MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
        w->read(file, 0, to, 1, type);
        in = malloc(bytes);
        device_copy(in, to, bytes);
        if (!is_pattern(in, rank, count, stride)) {
            printf("%s, gaps %d, stride %d, count %d, device %s, %s\n", w->name, gaps, stride,
                   count, device ? "reads" : "writes", representation);
            failed++;
        }
        MPI_File_close(&file);
        if (rank == 0)
            MPI_File_delete(path, MPI_INFO_NULL);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Type_free(&type);
        any_free(device == 0, from);
        any_free(device == 1, to);
        free(out);
        free(empty);
        free(in);
    }
}

// By the shared pointer in any order: each rank finds somebody's block.
static void test_shared(bool starts)
{
    int64_t *out = pattern(rank, N, 1);
    void *buf = any_copy(true, out, N * sizeof *out);
    MPI_File file;
    MPI_Request request;
    long long sum, all;
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    if (starts)
        MPI_File_iwrite_shared(file, buf, N, MPI_INT64_T, &request);
    else
        MPI_File_write_shared(file, buf, N, MPI_INT64_T, MPI_STATUS_IGNORE);
    if (starts)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    if (starts)
        MPI_File_iread_shared(file, buf, N, MPI_INT64_T, &request);
    else
        MPI_File_read_shared(file, buf, N, MPI_INT64_T, MPI_STATUS_IGNORE);
    if (starts)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    device_copy(out, buf, N * sizeof *out);
    CHECK(is_pattern(out, (int)(out[0] / LARGE), N, 1));
    sum = out[0] / LARGE;
    MPI_Allreduce(&sum, &all, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == size * (size - 1) / 2);
    MPI_File_close(&file);
    if (rank == 0)
        MPI_File_delete(path, MPI_INFO_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    any_free(true, buf);
    free(out);
}

// Many requests at once; a read that meets the end leaves the rest alone.
static void test_many(void)
{
    enum { MANY = 12 };
    int64_t *out = pattern(rank, N, 1), *empty = calloc(2 * N, sizeof *empty);
    void *from = any_copy(true, out, N * sizeof *out);
    void *to = any_copy(true, empty, 2 * N * sizeof *empty);
    MPI_Request requests[MANY];
    MPI_Status status;
    MPI_File file;
    int moved;
    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
    for (int i = 0; i < MANY; i++)
        MPI_File_iwrite_at(file, i * N / MANY * (MPI_Offset)sizeof(int64_t),
                           (int64_t *)from + i * N / MANY, (i + 1) * N / MANY - i * N / MANY,
                           MPI_INT64_T, &requests[i]);
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    MPI_File_read_at(file, 0, to, 2 * N, MPI_INT64_T, &status);
    MPI_Get_count(&status, MPI_INT64_T, &moved);
    device_copy(empty, to, 2 * N * sizeof *empty);
    CHECK(moved == N && is_pattern(empty, rank, N, 1) && empty[N] == 0 && empty[2 * N - 1] == 0);
    MPI_File_close(&file);
    any_free(true, from);
    any_free(true, to);
    free(out);
    free(empty);
}

// ---- a representation of the user's: numbers are one more in the file. It looks at the memory.

static int extent(MPI_Datatype type, MPI_Aint *bytes, void *state)
{
    MPI_Aint lb;
    (void)state;
    return MPI_Type_get_extent(type, &lb, bytes);
}

static int stride_of(MPI_Datatype type)
{
    MPI_Aint lb, all;
    int bytes;
    MPI_Type_size(type, &bytes);
    MPI_Type_get_true_extent(type, &lb, &all);
    return bytes == (int)sizeof(int64_t) || all == bytes
               ? 1
               : (int)((all - (int)sizeof(int64_t)) / (bytes - (int)sizeof(int64_t)));
}

static int read_one_less(void *buf, MPI_Datatype type, int count, void *file, MPI_Offset position,
                         void *state)
{
    int bytes, stride = stride_of(type);
    MPI_Type_size(type, &bytes);
    int numbers = bytes / (int)sizeof(int64_t) * count;
    (void)state;
    for (int i = 0; i < numbers; i++)
        ((int64_t *)buf)[(position + i) * stride] = ((const int64_t *)file)[i] - 1;
    return MPI_SUCCESS;
}

static int write_one_more(void *buf, MPI_Datatype type, int count, void *file, MPI_Offset position,
                          void *state)
{
    int bytes, stride = stride_of(type);
    MPI_Type_size(type, &bytes);
    int numbers = bytes / (int)sizeof(int64_t) * count;
    (void)state;
    for (int i = 0; i < numbers; i++)
        ((int64_t *)file)[i] = ((const int64_t *)buf)[(position + i) * stride] + 1;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    path = argc > 1 ? argv[1] : "files.data";
    char mine[4096];
    device_begin();
    MPI_Register_datarep("one more", read_one_less, write_one_more, extent, NULL);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        for (int gaps = 0; gaps < 2; gaps++)
            for (int stride = 1; stride < 4; stride += 2)
                test_way(&ways[i], gaps, stride, N, i % 2 && gaps, "native");
    test_way(&ways[0], false, 3, LARGE, false, "native"); // more than is packed at a time
    test_way(&ways[1], true, 1, LARGE, false, "native");
    for (int i = 0; i < 4; i++)
        for (int stride = 1; stride < 4; stride += 2) {
            test_way(&ways[i], true, stride, 20 * N, false, "external32");
            test_way(&ways[i], false, stride, N, false, "one more");
        }
    test_shared(false);
    test_shared(true);
    snprintf(mine, sizeof mine, "%s.%d", path, rank);
    path = mine;
    test_many();
    return device_end();
}
