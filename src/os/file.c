// SPDX-License-Identifier: BSD-3-Clause
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { FILE_MOST = 1 << 30 }; // bytes of one call: Linux moves no more than 2 GiB

int mlt_os_file_open(const char *path, int flags, unsigned mode)
{
    return TEMP_FAILURE_RETRY(open(path, flags | O_CLOEXEC, (mode_t)mode));
}

int mlt_os_file_close(int fd)
{
    return close(fd) == 0 || errno == EINTR ? 0 : -1;
}

int mlt_os_file_unlink(const char *path)
{
    return unlink(path);
}

static size_t piece(size_t left)
{
    return left < FILE_MOST ? left : FILE_MOST;
}

int mlt_os_file_read(int fd, void *to, size_t bytes, int64_t at, size_t *moved)
{
    *moved = 0;
    while (*moved < bytes) {
        ssize_t n =
            pread(fd, (char *)to + *moved, piece(bytes - *moved), (off_t)(at + (int64_t)*moved));
        if (n == 0)
            return 0;
        if (n > 0)
            *moved += (size_t)n;
        else if (errno != EINTR)
            return -1;
    }
    return 0;
}

int mlt_os_file_write(int fd, const void *from, size_t bytes, int64_t at, size_t *moved)
{
    *moved = 0;
    while (*moved < bytes) {
        ssize_t n = pwrite(fd, (const char *)from + *moved, piece(bytes - *moved),
                           (off_t)(at + (int64_t)*moved));
        if (n > 0)
            *moved += (size_t)n;
        else if (n == 0)
            errno = ENOSPC;
        if (n == 0 || (n < 0 && errno != EINTR))
            return -1;
    }
    return 0;
}

int mlt_os_file_write_pieces(int fd, struct iovec *pieces, int count, int64_t at, size_t *moved)
{
    *moved = 0;
    while (count > 0) {
        ssize_t n = pwritev(fd, pieces, count, (off_t)(at + (int64_t)*moved));
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = ENOSPC;
        if (n <= 0)
            return -1;
        *moved += (size_t)n;
        while (count > 0 && (size_t)n >= pieces->iov_len) {
            n -= (ssize_t)pieces->iov_len;
            pieces++;
            count--;
        }
        if (count > 0) {
            pieces->iov_base = (char *)pieces->iov_base + n;
            pieces->iov_len -= (size_t)n;
        }
    }
    return 0;
}

int mlt_os_file_read_now(int fd, void *to, size_t bytes, int64_t at, size_t *moved)
{
    struct iovec one = {.iov_base = to, .iov_len = bytes};
    ssize_t n = preadv2(fd, &one, 1, (off_t)at, RWF_NOWAIT);
    *moved = n > 0 ? (size_t)n : 0;
    return n < 0 ? -1 : 0;
}

// statx asks the server even if the host's copy of the size is not old yet.
int mlt_os_file_size(int fd, int64_t *bytes)
{
    struct statx fresh;
    if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_SIZE, &fresh) == 0) {
        *bytes = (int64_t)fresh.stx_size;
        return 0;
    }
    struct stat state; // a filter may refuse statx
    if (fstat(fd, &state) != 0)
        return -1;
    *bytes = state.st_size;
    return 0;
}

int mlt_os_file_resize(int fd, int64_t bytes)
{
    return TEMP_FAILURE_RETRY(ftruncate(fd, (off_t)bytes));
}

int mlt_os_file_allocate(int fd, int64_t bytes)
{
    if (bytes == 0)
        return 0;
    int error;
    do
        error = posix_fallocate(fd, 0, (off_t)bytes);
    while (error == EINTR);
    errno = error ? error : errno;
    return error ? -1 : 0;
}

bool mlt_os_file_in_memory(int fd)
{
    struct statfs state;
    return fstatfs(fd, &state) == 0 && (state.f_type == TMPFS_MAGIC || state.f_type == RAMFS_MAGIC);
}

bool mlt_os_file_is_loose(int fd)
{
    enum { SMB = 0x517b, CIFS = (int)0xff534d42u, SMB2 = (int)0xfe534d42u };
    struct statfs state;
    if (fstatfs(fd, &state) != 0)
        return false;
    int type = (int)state.f_type;
    return type == NFS_SUPER_MAGIC || type == SMB || type == CIFS || type == SMB2;
}

int mlt_os_file_sync(int fd)
{
    return TEMP_FAILURE_RETRY(fsync(fd));
}

// The last bytes that a file may have are for locks alone.
#define KEPT      (INT64_MAX - 1)
#define REFRESHED (INT64_MAX - 2)

static int file_lock(int fd, int type, int64_t from, int64_t to)
{
    struct flock range = {.l_type = (short)type,
                          .l_whence = SEEK_SET,
                          .l_start = (off_t)from,
                          .l_len = (off_t)((to ? to : REFRESHED) - from)};
    return TEMP_FAILURE_RETRY(fcntl(fd, F_OFD_SETLKW, &range));
}

int mlt_os_file_lock(int fd, bool shared, int64_t from, int64_t to)
{
    return file_lock(fd, shared ? F_RDLCK : F_WRLCK, from, to);
}

int mlt_os_file_unlock(int fd, int64_t from, int64_t to)
{
    return file_lock(fd, F_UNLCK, from, to);
}

// NFS extends writes to whole pages only while the file has no locks here.
int mlt_os_file_keep(int fd)
{
    return file_lock(fd, F_RDLCK, KEPT, KEPT + 1);
}

// A host that gets a lock drops its copies.
int mlt_os_file_refresh(int fd)
{
    return file_lock(fd, F_RDLCK, REFRESHED, KEPT) == 0 ? file_lock(fd, F_UNLCK, REFRESHED, KEPT)
                                                        : -1;
}

int mlt_os_eventfd_new(void)
{
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void mlt_os_eventfd_ring(int fd)
{
    int saved = errno;
    uint64_t one = 1;
    (void)!write(fd, &one, sizeof one); // it fails only if it rings already
    errno = saved;
}

void mlt_os_eventfd_drain(int fd)
{
    int saved = errno;
    uint64_t rings;
    (void)!read(fd, &rings, sizeof rings);
    errno = saved;
}
