// SPDX-License-Identifier: BSD-3-Clause
// A library to be loaded first (LD_PRELOAD): memory has pages of 64 KiB, as kernels for aarch64 may
// have. What the program maps begins at such pages and ends with them, and a call that is not for
// whole pages fails as it would there. What the loader and libc map for themselves is not touched.
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 64 * 1024 };

static bool is_whole(const void *at)
{
    return (uintptr_t)at % PAGE == 0;
}

static size_t whole(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static void *fail(int error)
{
    errno = error;
    return MAP_FAILED;
}

static void *raw_map(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
    return (void *)syscall(SYS_mmap, at, bytes, prot, flags, fd, offset);
}

// A range that begins with a page, from one that is larger.
static void *map_anywhere(size_t asked, int prot, int flags, int fd, off_t offset)
{
    size_t bytes = whole(asked);
    char *range =
        raw_map(NULL, bytes + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED)
        return range;
    char *at = (char *)(((uintptr_t)range + PAGE - 1) / PAGE * PAGE);
    if (at > range)
        (void)syscall(SYS_munmap, range, (size_t)(at - range));
    if (at < range + PAGE)
        (void)syscall(SYS_munmap, at + bytes, (size_t)(range + PAGE - at));
    // Of a file, or a device such as io_uring, no more than was asked for.
    void *made = raw_map(at, fd < 0 ? bytes : asked, prot, flags | MAP_FIXED, fd, offset);
    if (made == MAP_FAILED) {
        int error = errno;
        (void)syscall(SYS_munmap, at, bytes);
        errno = error;
    }
    return made;
}

void *mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
    if (offset % PAGE)
        return fail(EINVAL);
    if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE))
        return is_whole(at) ? raw_map(at, whole(bytes), prot, flags, fd, offset) : fail(EINVAL);
    return bytes ? map_anywhere(bytes, prot, flags, fd, offset) : fail(EINVAL);
}

void *mmap64(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
    __attribute__((alias("mmap")));

int munmap(void *at, size_t bytes)
{
    return is_whole(at) ? (int)syscall(SYS_munmap, at, whole(bytes)) : (fail(EINVAL), -1);
}

int mprotect(void *at, size_t bytes, int prot)
{
    return is_whole(at) ? (int)syscall(SYS_mprotect, at, whole(bytes), prot) : (fail(EINVAL), -1);
}

int madvise(void *at, size_t bytes, int advice)
{
    return is_whole(at) ? (int)syscall(SYS_madvise, at, whole(bytes), advice) : (fail(EINVAL), -1);
}

int mincore(void *at, size_t bytes, unsigned char *in)
{
    unsigned char parts[PAGE / 4096]; // or fewer, of a kernel with larger pages
    for (size_t page = 0; page < whole(bytes) / PAGE; page++) {
        memset(parts, 0, sizeof parts);
        if (!is_whole(at) || syscall(SYS_mincore, (char *)at + page * PAGE, PAGE, parts) != 0)
            return fail(EINVAL), -1;
        in[page] = memchr(parts, 1, sizeof parts) != NULL;
    }
    return 0;
}

void *mremap(void *at, size_t old, size_t bytes, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    void *to = flags & MREMAP_FIXED ? va_arg(more, void *) : NULL;
    va_end(more);
    if (!is_whole(at) || !is_whole(to))
        return fail(EINVAL);
    return (void *)syscall(SYS_mremap, at, whole(old), whole(bytes), flags, to);
}

extern long __sysconf(int name);
long sysconf(int name)
{
    return name == _SC_PAGESIZE ? PAGE : __sysconf(name);
}

int getpagesize(void)
{
    return PAGE;
}
