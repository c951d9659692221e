// SPDX-License-Identifier: BSD-3-Clause
//
// A disk with a bad place, which moves few bytes at a time and is interrupted often: this program's own
// pread, pwrite and their like stand in for the system's. What lies elsewhere is written and read in full;
// whoever touches the bad place is told, and in a collective call everybody is.

#define _GNU_SOURCE // syscall
#include <errno.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "file_check.h"

// STEP: more than the kernel reads by itself, which knows nothing of this disk (file_reads.c has one for it).
enum { BAD = 4000037, STEP = 150000 };

// Only how often a call is interrupted depends on it.
static _Atomic unsigned calls;

// How many bytes a call moves; 0: errno. Other files than the test's are left alone: theirs is the size.
static size_t moves(int fd, size_t n, off_t at)
{
    struct stat state;
    if (fstat(fd, &state) != 0 || state.st_size != 2 * BAD)
        return n;
    // relaxed: any order will do
    if (atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) % 3 == 0) {
        errno = EINTR;
        return 0;
    }
    if (at == BAD) {
        errno = EIO;
        return 0;
    }
    size_t most = 1 + (size_t)(at * 7919 % 9000);
    most = at < BAD && at + (off_t)most > BAD ? (size_t)(BAD - at) : most;
    return n < most ? n : most;
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t at)
{
    size_t some = moves(fd, n, at);
    return some || n == 0 ? syscall(SYS_pwrite64, fd, buf, some, at) : -1;
}

ssize_t pread(int fd, void *buf, size_t n, off_t at)
{
    size_t some = moves(fd, n, at);
    return some || n == 0 ? syscall(SYS_pread64, fd, buf, some, at) : -1;
}

ssize_t pwritev(int fd, const struct iovec *pieces, int count, off_t at)
{
    return count > 0 ? pwrite(fd, pieces->iov_base, pieces->iov_len, at) : 0;
}

// As on file systems that cannot tell whether a read would wait.
ssize_t preadv2(int fd, const struct iovec *pieces, int count, off_t at, int flags)
{
    (void)fd, (void)pieces, (void)count, (void)at, (void)flags;
    errno = EOPNOTSUPP;
    return -1;
}

typedef int way(MPI_File fh, MPI_Offset at, void *buf, int n, MPI_Status *status);

static int write_at(MPI_File fh, MPI_Offset at, void *buf, int n, MPI_Status *status)
{
    return MPI_File_write_at(fh, at, buf, n, MPI_BYTE, status);
}

static int read_at(MPI_File fh, MPI_Offset at, void *buf, int n, MPI_Status *status)
{
    return MPI_File_read_at(fh, at, buf, n, MPI_BYTE, status);
}

static int iwrite_at(MPI_File fh, MPI_Offset at, void *buf, int n, MPI_Status *status)
{
    MPI_Request request;
    CHECK_OK(MPI_File_iwrite_at(fh, at, buf, n, MPI_BYTE, &request));
    return MPI_Wait(&request, status);
}

static int iread_at(MPI_File fh, MPI_Offset at, void *buf, int n, MPI_Status *status)
{
    MPI_Request request;
    CHECK_OK(MPI_File_iread_at(fh, at, buf, n, MPI_BYTE, &request));
    return MPI_Wait(&request, status);
}

static int write_all(MPI_File fh, MPI_Offset at, void *buf, int n, MPI_Status *status)
{
    return MPI_File_write_at_all(fh, at, buf, n, MPI_BYTE, status);
}

static int read_all(MPI_File fh, MPI_Offset at, void *buf, int n, MPI_Status *status)
{
    return MPI_File_read_at_all(fh, at, buf, n, MPI_BYTE, status);
}

// Far from the bad place everything is right.
static void elsewhere(MPI_File fh, way *writes, way *reads, int rank)
{
    unsigned char *out = must_alloc(STEP), *in = must_alloc(STEP);
    MPI_Status status;
    pattern_fill(out, STEP, (unsigned)rank);
    CHECK_OK(writes(fh, (MPI_Offset)rank * STEP, out, STEP, &status));
    CHECK_INT(status_bytes(&status), STEP);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    memset(in, 0, STEP);
    CHECK_OK(reads(fh, (MPI_Offset)rank * STEP, in, STEP, &status));
    CHECK_INT(status_bytes(&status), STEP);
    CHECK_PATTERN(in, STEP, (unsigned)rank);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    free(in);
    free(out);
}

// The last rank's part has the bad place 1,000 bytes after its beginning.
static void there(MPI_File fh, way *moves_data, int all, int rank, int ranks)
{
    unsigned char *buf = calloc(1, STEP);
    MPI_Status status;
    int hit = rank == ranks - 1;
    MPI_Offset at = BAD - 1000 + (MPI_Offset)(rank - ranks + 1) * STEP;
    int code = moves_data(fh, at, buf, STEP, &status);
    if (hit || all)
        CHECK_ERROR(code, MPI_ERR_IO, "MPI_", "Input/output error");
    else
        CHECK_OK(code);
    if (!all)
        CHECK_INT(status_bytes(&status), hit ? 1000 : STEP);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    free(buf);
}

// Short blocks of all ranks around the bad place, which are exchanged before they are written.
static void exchanged(MPI_File fh, int rank, int ranks)
{
    MPI_Datatype every;
    unsigned char *buf = calloc(1, STEP);
    CHECK_OK(MPI_Type_create_resized(MPI_INT, 0, 4 * ranks, &every));
    CHECK_OK(MPI_Type_commit(&every));
    CHECK_OK(MPI_File_set_view(fh, 4 * rank, MPI_INT, every, "native", MPI_INFO_NULL));
    CHECK_OK(MPI_File_write_at_all(fh, 0, buf, 1000, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_ERROR(
        MPI_File_write_at_all(fh, BAD / (4 * ranks) - 500, buf, 1000, MPI_INT, MPI_STATUS_IGNORE),
        MPI_ERR_IO, "MPI_File_write_at_all", "Input/output error");
    CHECK_OK(MPI_File_write_at_all(fh, 0, buf, 1000, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    CHECK_OK(MPI_Type_free(&every));
    free(buf);
}

// The same in several rounds, of which neither the first nor the last one meets the bad place.
static void exchanged_in_rounds(MPI_File fh, int rank, int ranks)
{
    MPI_Info info;
    MPI_Datatype every;
    int count = 2 * BAD / (4 * ranks);
    unsigned char *buf = calloc((size_t)count, 4);
    CHECK(buf != NULL);
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, "cb_nodes", "1"));
    CHECK_OK(MPI_Info_set(info, "cb_buffer_size", "262144"));
    CHECK_OK(MPI_File_set_info(fh, info));
    CHECK_OK(MPI_Type_create_resized(MPI_INT, 0, 4 * ranks, &every));
    CHECK_OK(MPI_Type_commit(&every));
    CHECK_OK(MPI_File_set_view(fh, 4 * rank, MPI_INT, every, "native", MPI_INFO_NULL));
    CHECK_ERROR(MPI_File_write_at_all(fh, 0, buf, count, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_IO,
                "MPI_File_write_at_all", "Input/output error");
    CHECK_OK(MPI_File_write_at_all(fh, 0, buf, count / 3, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    CHECK_OK(MPI_Type_free(&every));
    CHECK_OK(MPI_Info_free(&info));
    free(buf);
}

// Short blocks on both sides of the bad place, which lies between two of them: what is read and written
// back with them fails, they do not.
static void between(MPI_File fh, int rank, int ranks)
{
    MPI_Datatype two, every;
    unsigned char *out = must_alloc(1000), *in = must_alloc(1000);
    int step = 8 * ranks, blocks = 500;
    pattern_fill(out, 1000, (unsigned)rank);
    CHECK_OK(MPI_Type_contiguous(2, MPI_BYTE, &two));
    CHECK_OK(MPI_Type_create_resized(two, 0, step, &every));
    CHECK_OK(MPI_Type_commit(&every));
    MPI_Offset begin = BAD - (MPI_Offset)blocks / 2 * step + 1 + 4 * rank; // never at the bad byte
    CHECK_OK(MPI_File_set_view(fh, begin, MPI_BYTE, every, "native", MPI_INFO_NULL));
    CHECK_OK(MPI_File_write_at(fh, 0, out, 2 * blocks, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    for (int i = 0; i < blocks; i++)
        CHECK_OK(MPI_File_read_at(fh, begin + (MPI_Offset)i * step, in + 2 * i, 2, MPI_BYTE,
                                  MPI_STATUS_IGNORE));
    CHECK_PATTERN(in, 1000, (unsigned)rank);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_Type_free(&every));
    CHECK_OK(MPI_Type_free(&two));
    free(in);
    free(out);
}

int main(int argc, char **argv)
{
    char path[PATH_ROOM];
    CHECK_OK(MPI_Init(&argc, &argv));
    int rank = world_rank(), ranks = world_size();
    fresh_path(path);
    MPI_File fh = must_open(path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE);
    CHECK_OK(MPI_File_set_size(fh, 2 * BAD)); // which makes it a bad disk's
    elsewhere(fh, write_at, iread_at, rank);
    elsewhere(fh, iwrite_at, read_all, rank);
    elsewhere(fh, write_all, read_at, rank);
    there(fh, write_at, 0, rank, ranks);
    there(fh, read_at, 0, rank, ranks);
    there(fh, iwrite_at, 0, rank, ranks);
    there(fh, iread_at, 0, rank, ranks);
    there(fh, write_all, 1, rank, ranks);
    there(fh, read_all, 1, rank, ranks);
    exchanged(fh, rank, ranks);
    exchanged_in_rounds(fh, rank, ranks);
    between(fh, rank, ranks);
    CHECK_OK(MPI_File_close(&fh));
    CHECK_OK(MPI_Finalize());
    return 0;
}
