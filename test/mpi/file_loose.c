// SPDX-License-Identifier: BSD-3-Clause
//
// usage: file_loose [refused]
//
// A file system that says it is NFS: this program's own fstatfs does. With ranks on several hosts each worker holds
// a lock while the file is open, so that its host writes only its own bytes back, and MPI_File_sync gets another
// one, so that it drops old copies. refused: there are no such locks, and everybody is told. On one host nothing is different.

#define _GNU_SOURCE // F_OFD_GETLK
#include <errno.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "file_check.h"

enum { BLOCK = 100, REFUSED_SIZE = 424242 };

int fstatfs(int fd, struct statfs *state)
{
    long result = syscall(SYS_fstatfs, fd, state);
    state->f_type = NFS_SUPER_MAGIC;
    return (int)result;
}

// A file of this size has no locks behind what data may have.
int fcntl(int fd, int command, ...)
{
    va_list args;
    va_start(args, command);
    void *argument = va_arg(args, void *);
    va_end(args);
    struct stat state;
    if (command == F_OFD_SETLKW && fstat(fd, &state) == 0 && state.st_size == REFUSED_SIZE &&
        ((const struct flock *)argument)->l_start > INT64_MAX - 10) {
        errno = ENOLCK;
        return -1;
    }
    return (int)syscall(SYS_fcntl, fd, command, argument);
}

static bool is_apart(void)
{
    MPI_Comm host;
    int here;
    CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
    CHECK_OK(MPI_Comm_size(host, &here));
    CHECK_OK(MPI_Comm_free(&host));
    return here < world_size();
}

// Somebody holds a lock of the last bytes that a file can have.
static bool is_kept(const char *path)
{
    struct flock range = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = INT64_MAX - 1, .l_len = 1};
    int fd = open(path, O_RDWR);
    CHECK(fd >= 0 && fcntl(fd, F_OFD_GETLK, &range) == 0);
    close(fd);
    return range.l_type != F_UNLCK;
}

static void use(const char *path, bool apart, int rank, int ranks)
{
    unsigned char mine[BLOCK], other[BLOCK];
    int next = (rank + 1) % ranks;
    MPI_Offset size;
    MPI_File fh = must_open(path, MPI_MODE_RDWR | MPI_MODE_CREATE);
    CHECK_INT(is_kept(path), apart);
    pattern_fill(mine, BLOCK, (unsigned)rank);
    for (int atomic = 0; atomic < 2; atomic++) {
        CHECK_OK(MPI_File_set_atomicity(fh, atomic));
        CHECK_OK(MPI_File_write_at(fh, (MPI_Offset)rank * BLOCK, mine, BLOCK, MPI_BYTE,
                                   MPI_STATUS_IGNORE));
        CHECK_OK(MPI_File_sync(fh));
        CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
        CHECK_OK(MPI_File_sync(fh));
        CHECK_OK(MPI_File_get_size(fh, &size));
        CHECK_INT(size, (long long)ranks * BLOCK);
        CHECK_OK(MPI_File_read_at(fh, (MPI_Offset)next * BLOCK, other, BLOCK, MPI_BYTE,
                                  MPI_STATUS_IGNORE));
        CHECK_PATTERN(other, BLOCK, (unsigned)next);
        CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
        CHECK_OK(MPI_File_set_size(fh, 0));
    }
    CHECK_OK(MPI_File_close(&fh));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(!is_kept(path));
}

static void use_refused(const char *path, bool apart, int rank)
{
    if (rank == 0)
        CHECK(truncate(path, REFUSED_SIZE) == 0);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    MPI_File fh = must_open(path, MPI_MODE_RDWR);
    CHECK(!is_kept(path));
    if (apart)
        CHECK_ERROR(MPI_File_sync(fh), MPI_ERR_IO, "MPI_File_sync", "No locks available");
    else
        CHECK_OK(MPI_File_sync(fh));
    CHECK_OK(MPI_File_close(&fh));
}

int main(int argc, char **argv)
{
    char path[PATH_ROOM];
    CHECK_OK(MPI_Init(&argc, &argv));
    int rank = world_rank(), ranks = world_size();
    bool apart = is_apart();
    fresh_path(path);
    use(path, apart, rank, ranks);
    if (argc > 1)
        use_refused(path, apart, rank);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0)
        unlink(path);
    CHECK_OK(MPI_Finalize());
    return 0;
}
