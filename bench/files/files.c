// SPDX-License-Identifier: BSD-3-Clause
// Files: bytes a second of writes and reads of all ranks together, in several shapes.
//
// usage: files --folder FOLDER (--mib MIB | --bytes BYTES) [--rows KEY,KEY ...] [--times N] [--hint KEY=VALUE ...]
//
// The time of an access is that from the first rank's start to the last one's end, the median of N (5).
//
// FOLDER: where the file goes. MIB: of all ranks together. BYTES: of each rank, for many ranks that write
// little; only `flat` and `pwrite` are measured then, and calls are made 8 at a time, since leaving the barrier
// before them takes all ranks as long as the call. Prints each row, or those that are asked for:
// SHAPE_WAY_DIRECTION, where SHAPE is `flat` (a part of the file for each rank), `NB` (blocks of N
// bytes, dealt out in turn) or `cube` (a 3-D block of a 3-D array of doubles), WAY is `own` (MPI_File_write) or
// `all` (MPI_File_write_all), DIRECTION is `write` or `read`. `pwrite` is one pwrite of the whole by one rank.
#define _GNU_SOURCE // pwrite
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_TIMES = 99 };

typedef struct shape {
    MPI_Datatype etype, filetype;
    MPI_Offset disp;
} shape;

// The same for all ranks: they may share it.
static int ranks;
static const char *wanted; // keys with commas; NULL: all
static int times = 5, calls = 1;

static int own_rank(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

static int is_wanted(const char *key)
{
    size_t length = strlen(key);
    for (const char *at = wanted; at && (at = strstr(at, key)); at += length)
        if ((at == wanted || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return 1;
    return !wanted;
}

static shape flat(long bytes)
{
    return (shape){MPI_BYTE, MPI_BYTE, (MPI_Offset)own_rank() * bytes};
}

static shape dealt(int block)
{
    shape s = {.disp = (MPI_Offset)own_rank() * block};
    MPI_Datatype one;
    MPI_Type_contiguous(block, MPI_BYTE, &s.etype);
    MPI_Type_create_resized(s.etype, 0, (MPI_Aint)block * ranks, &one);
    s.filetype = one;
    MPI_Type_commit(&s.etype);
    MPI_Type_commit(&s.filetype);
    return s;
}

// The ranks' blocks of an array of doubles with `bytes` a rank, as near to a cube as it gets.
static shape cube(long bytes)
{
    int dims[3] = {0}, size[3], part[3], start[3], at = own_rank();
    shape s = {.etype = MPI_DOUBLE};
    MPI_Dims_create(ranks, 3, dims);
    int side = 64, deep = (int)(bytes / 8 / (side * side));
    int own[3] = {deep, side, side};
    for (int d = 2; d >= 0; d--) {
        part[d] = own[d];
        size[d] = own[d] * dims[d];
        start[d] = at % dims[d] * own[d];
        at /= dims[d];
    }
    MPI_Type_create_subarray(3, size, part, start, MPI_ORDER_C, MPI_DOUBLE, &s.filetype);
    MPI_Type_commit(&s.filetype);
    return s;
}

// Ranks are on one host, so they have one clock. MPI_Wtime's may begin at another time for each.
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void move(MPI_File fh, int writes, int all, void *buf, int bytes)
{
    MPI_File_seek(fh, 0, MPI_SEEK_SET);
    if (writes && all)
        MPI_File_write_all(fh, buf, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    else if (writes)
        MPI_File_write(fh, buf, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    else if (all)
        MPI_File_read_all(fh, buf, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    else
        MPI_File_read(fh, buf, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
}

static double spend(MPI_File fh, int writes, int all, void *buf, int bytes)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double mine[2] = {-now()}, all_ranks[2];
    for (int i = 0; i < calls; i++)
        move(fh, writes, all, buf, bytes);
    mine[1] = now();
    MPI_Allreduce(mine, all_ranks, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return (all_ranks[1] + all_ranks[0]) / calls;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void measure(MPI_File fh, const char *name, shape s, void *buf, long bytes)
{
    char key[64];
    double time[MOST_TIMES];
    MPI_File_set_view(fh, s.disp, s.etype, s.filetype, "native", MPI_INFO_NULL);
    spend(fh, 1, 1, buf, (int)bytes); // there is something to read
    for (int way = 0; way < 4; way++) {
        int writes = way < 2, all = way % 2;
        snprintf(key, sizeof key, "%s_%s_%s", name, all ? "all" : "own", writes ? "write" : "read");
        if (!is_wanted(key))
            continue;
        for (int t = 0; t < times; t++)
            time[t] = spend(fh, writes, all, buf, (int)bytes);
        qsort(time, (size_t)times, sizeof *time, by_size);
        if (own_rank() == 0)
            printf("%s %.1f MB/s\n", key, (double)bytes * ranks / time[times / 2] / 1e6);
    }
    if (s.filetype != MPI_BYTE)
        MPI_Type_free(&s.filetype);
    if (s.etype != MPI_BYTE && s.etype != MPI_DOUBLE)
        MPI_Type_free(&s.etype);
}

static void one_pwrite(const char *path, long bytes)
{
    char *buf = malloc((size_t)bytes);
    int fd = open(path, O_WRONLY);
    double time[MOST_TIMES];
    memset(buf, 1, (size_t)bytes);
    for (int t = 0; t < times; t++) {
        double start = now();
        if (pwrite(fd, buf, (size_t)bytes, 0) != bytes)
            MPI_Abort(MPI_COMM_WORLD, 1);
        time[t] = now() - start;
    }
    qsort(time, (size_t)times, sizeof *time, by_size);
    printf("pwrite %.1f MB/s\n", (double)bytes / time[times / 2] / 1e6);
    close(fd);
    free(buf);
}

static void hint(MPI_Info info, const char *text)
{
    char key[64];
    const char *value = strchr(text, '=');
    if (!value || value - text >= (long)sizeof key)
        MPI_Abort(MPI_COMM_WORLD, 2);
    snprintf(key, sizeof key, "%.*s", (int)(value - text), text);
    MPI_Info_set(info, key, value + 1);
}

int main(int argc, char **argv)
{
    static const int blocks[] = {8, 64, 1024, 8192, 65536};
    char path[512], name[16];
    MPI_File fh;
    MPI_Init(&argc, &argv);
    int rank = own_rank();
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char *folder = "/tmp";
    long mib = 16, bytes = 0;
    MPI_Info info;
    MPI_Info_create(&info);
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--folder") == 0)
            folder = argv[i + 1];
        else if (strcmp(argv[i], "--mib") == 0)
            mib = atol(argv[i + 1]);
        else if (strcmp(argv[i], "--bytes") == 0)
            bytes = atol(argv[i + 1]);
        else if (strcmp(argv[i], "--rows") == 0)
            wanted = argv[i + 1];
        else if (strcmp(argv[i], "--times") == 0 && atoi(argv[i + 1]) > 0)
            times = atoi(argv[i + 1]) < MOST_TIMES ? atoi(argv[i + 1]) : MOST_TIMES;
        else if (strcmp(argv[i], "--hint") == 0)
            hint(info, argv[i + 1]);
        else
            MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int little = bytes > 0;
    calls = little ? 8 : 1;
    if (!little)
        bytes = mib * (1 << 20) / ranks / 65536 * 65536;
    bytes = bytes < 65536 && !little ? 65536 : bytes;
    char *buf = malloc((size_t)bytes);
    memset(buf, rank + 1, (size_t)bytes);
    snprintf(path, sizeof path, "%s/millet-bench-files", folder);
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  info, &fh);
    measure(fh, "flat", flat(bytes), buf, bytes);
    for (int i = 0; i < 5 && !little; i++) {
        snprintf(name, sizeof name, "%dB", blocks[i]);
        measure(fh, name, dealt(blocks[i]), buf, bytes);
    }
    if (!little)
        measure(fh, "cube", cube(bytes), buf, bytes);
    if (rank == 0 && is_wanted("pwrite"))
        one_pwrite(path, bytes * ranks);
    MPI_File_close(&fh);
    MPI_Info_free(&info);
    free(buf);
    MPI_Finalize();
    return 0;
}
