// SPDX-License-Identifier: BSD-3-Clause
//
// Many short reads that cannot be done at once: this program's own preadv2 says so of every one of them.
// Their data, where the file ends within them, and where a disk has a bad place: such a disk is this
// process's own memory, /proc/self/mem, with a page that is behind the end of a file. Who waits for them is what
// MILLET_FILE_ASYNC says: the kernel, of which the process then has a descriptor, or threads.

#define _GNU_SOURCE // memfd_create
#include <dirent.h>
#include <errno.h>
#include <linux/io_uring.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "file_check.h"

enum { SIZE = 1 << 20, READS = 600, LONGEST = 3000 };

ssize_t preadv2(int fd, const struct iovec *pieces, int count, off_t at, int flags)
{
    (void)fd, (void)pieces, (void)count, (void)at, (void)flags;
    errno = EAGAIN;
    return -1;
}

static bool has_kernel(void)
{
    enum { SINGLE_ISSUER = 1 << 12, DEFER_TASKRUN = 1 << 13 };
    struct io_uring_params params = {.flags = SINGLE_ISSUER | DEFER_TASKRUN};
    int fd = (int)syscall(SYS_io_uring_setup, 1, &params);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

// A descriptor of io_uring is open.
static bool uses_kernel(void)
{
    DIR *all = opendir("/proc/self/fd");
    CHECK(all);
    bool found = false;
    for (const struct dirent *one; (one = readdir(all));) {
        char target[64] = "";
        (void)!readlinkat(dirfd(all), one->d_name, target, sizeof target - 1);
        found = found || strstr(target, "io_uring");
    }
    closedir(all);
    return found;
}

static void check_way(void)
{
    const char *way = getenv("MILLET_FILE_ASYNC");
    bool threads = way && strcmp(way, "threads") == 0;
    CHECK_INT(uses_kernel(), !threads && has_kernel());
}

// More than are under way at a time, some beyond the end of the file.
static void read_much(MPI_File fh, const unsigned char *data, uint64_t *random)
{
    MPI_Request *requests = must_alloc(READS * sizeof(MPI_Request));
    MPI_Status *states = must_alloc(READS * sizeof(MPI_Status));
    unsigned char *room = must_alloc((size_t)READS * LONGEST);
    int *at = must_alloc(READS * sizeof(int)), *bytes = must_alloc(READS * sizeof(int));
    memset(room, 0xee, (size_t)READS * LONGEST);
    for (int i = 0; i < READS; i++) {
        at[i] = random_below(random, 20) ? random_below(random, SIZE) : SIZE - i;
        bytes[i] = 1 + random_below(random, LONGEST);
        CHECK_OK(MPI_File_iread_at(fh, at[i], room + (size_t)i * LONGEST, bytes[i], MPI_BYTE,
                                   &requests[i]));
    }
    CHECK_OK(MPI_Waitall(READS, requests, states));
    for (int i = 0; i < READS; i++) {
        int there = bytes[i] < SIZE - at[i] ? bytes[i] : SIZE - at[i];
        const unsigned char *got = room + (size_t)i * LONGEST;
        CHECK_INT(status_bytes(&states[i]), there);
        CHECK(memcmp(got, data + at[i], (size_t)there) == 0);
        CHECK(there == LONGEST || got[there] == 0xee);
    }
    free(bytes);
    free(at);
    free(room);
    free(states);
    free(requests);
}

// Ranks of a worker, each waiting for one.
static void read_each(MPI_File fh, const unsigned char *data, uint64_t *random)
{
    unsigned char room[LONGEST];
    for (int i = 0; i < 50; i++) {
        int at = random_below(random, SIZE - LONGEST);
        CHECK_OK(MPI_File_read_at(fh, at, room, LONGEST, MPI_BYTE, MPI_STATUS_IGNORE));
        CHECK(memcmp(room, data + at, LONGEST) == 0);
    }
}

static void read_bad_place(int rank)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int half = memfd_create("half", MFD_CLOEXEC);
    CHECK(half >= 0 && ftruncate(half, (off_t)page) == 0);
    unsigned char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, half, 0);
    unsigned char *room = must_alloc(2 * page);
    CHECK(memory != MAP_FAILED);
    pattern_fill(memory, (int)page, (unsigned)rank);
    MPI_File fh;
    MPI_Request requests[3];
    MPI_Status state;
    MPI_Offset at = (MPI_Offset)(uintptr_t)memory, last = (MPI_Offset)page - 100;
    CHECK_OK(MPI_File_open(MPI_COMM_SELF, "/proc/self/mem", MPI_MODE_RDONLY, MPI_INFO_NULL, &fh));
    CHECK_OK(MPI_File_iread_at(fh, at, room, (int)page, MPI_BYTE, &requests[0]));
    CHECK_OK(MPI_File_iread_at(fh, at + last, room + page, 200, MPI_BYTE, &requests[1]));
    CHECK_OK(MPI_File_iread_at(fh, at + (MPI_Offset)page, room + page + 200, 200, MPI_BYTE,
                               &requests[2]));
    CHECK_OK(MPI_Wait(&requests[0], &state));
    CHECK_INT(status_bytes(&state), (long long)page);
    CHECK_PATTERN(room, (int)page, (unsigned)rank);
    CHECK_ERROR(MPI_Wait(&requests[1], &state), MPI_ERR_IO, "MPI_Wait", "Input/output error");
    CHECK_INT(status_bytes(&state), 100);
    CHECK(memcmp(room + page, memory + last, 100) == 0);
    CHECK_ERROR(MPI_Wait(&requests[2], &state), MPI_ERR_IO, "MPI_Wait", "Input/output error");
    CHECK_INT(status_bytes(&state), 0);
    CHECK_OK(MPI_File_close(&fh));
    CHECK(munmap(memory, 2 * page) == 0 && close(half) == 0);
    free(room);
}

int main(int argc, char **argv)
{
    char path[PATH_ROOM];
    CHECK_OK(MPI_Init(&argc, &argv));
    int rank = world_rank();
    uint64_t random = 1, own = 100 + (uint64_t)rank;
    unsigned char *data = must_alloc(SIZE);
    for (int i = 0; i < SIZE; i++)
        data[i] = (unsigned char)random_below(&random, 256);
    fresh_path(path);
    MPI_File fh = must_open(path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE);
    if (rank == 0)
        CHECK_OK(MPI_File_write_at(fh, 0, data, SIZE, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_File_sync(fh));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    read_much(fh, data, &own);
    check_way();
    read_each(fh, data, &own);
    read_bad_place(rank);
    CHECK_OK(MPI_File_close(&fh));
    CHECK_OK(MPI_Finalize());
    free(data);
    return 0;
}
