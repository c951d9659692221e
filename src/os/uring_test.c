// SPDX-License-Identifier: BSD-3-Clause
// Reads by the kernel: at random places, at the end of the file, and from what is no file.
#include "os/uring.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "os/fd.h"
#include "os/file.h"

enum { SIZE = 1 << 20, MOST = 64, TIMES = 2000, LONGEST = 20000 };

static unsigned char data[SIZE], room[MOST][LONGEST];
static struct {
    uint32_t bytes;
    int64_t at;
    bool open;
} reads[MOST];

static int fresh_file(void)
{
    char path[] = "uring_test_XXXXXX";
    int fd = mkstemp(path);
    size_t moved;
    CHECK(fd >= 0 && unlink(path) == 0);
    for (int i = 0; i < SIZE; i++)
        data[i] = (unsigned char)random64();
    CHECK(mlt_os_file_write(fd, data, SIZE, 0, &moved) == 0);
    CHECK(fsync(fd) == 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
    return fd;
}

static uint32_t take_all(mlt_os_uring *u)
{
    mlt_os_uring_result result;
    uint32_t taken = 0;
    while (mlt_os_uring_take(u, &result)) {
        uintptr_t i = (uintptr_t)result.user;
        CHECK(i < MOST && reads[i].open && result.error == 0);
        int64_t left = SIZE - reads[i].at, wanted = left < reads[i].bytes ? left : reads[i].bytes;
        CHECK(result.moved <= wanted && (result.moved > 0 || wanted == 0));
        CHECK(memcmp(room[i], data + reads[i].at, (size_t)result.moved) == 0);
        reads[i].open = false;
        taken++;
    }
    return taken;
}

static void wait_for(int doorbell)
{
    struct pollfd ring = {.fd = doorbell, .events = POLLIN};
    CHECK(poll(&ring, 1, -1) == 1);
    mlt_os_eventfd_drain(doorbell);
}

static void read_much(mlt_os_uring *u, int fd, int doorbell)
{
    uint32_t open = 0;
    for (int time = 0; time < TIMES;) {
        uint32_t i = below(MOST);
        if (!reads[i].open) {
            reads[i].bytes = 1 + below(LONGEST);
            reads[i].at = below(SIZE + 1);
            reads[i].open = true;
            CHECK(mlt_os_uring_read(u, fd, room[i], reads[i].bytes, reads[i].at,
                                    (void *)(uintptr_t)i));
            open++;
            time++;
        } else if (open == MOST || below(4) == 0) {
            wait_for(doorbell);
            open -= take_all(u);
        }
    }
    while (open > 0) {
        wait_for(doorbell);
        open -= take_all(u);
    }
}

static int error_of(mlt_os_uring *u, int fd, int64_t at, int doorbell)
{
    mlt_os_uring_result result;
    CHECK(mlt_os_uring_read(u, fd, room[0], 10, at, &result));
    while (!mlt_os_uring_take(u, &result))
        wait_for(doorbell);
    CHECK(result.user == &result && result.moved == 0);
    return result.error;
}

int main(void)
{
    int refused = mlt_os_uring_refused();
    if (refused) {
        fprintf(stderr, "skipped: io_uring is refused here: %s\n", strerror(refused));
        return 77;
    }
    int doorbell = mlt_os_eventfd_new(), fd = fresh_file(),
        folder = open("/", O_RDONLY | O_CLOEXEC);
    CHECK(doorbell >= 0);
    mlt_os_uring *u = mlt_os_uring_new(MOST, doorbell);
    CHECK(u);
    read_much(u, fd, doorbell);
    CHECK(error_of(u, fd, SIZE, doorbell) == 0);
    CHECK(error_of(u, -1, 0, doorbell) == EBADF);
    CHECK(error_of(u, folder, 0, doorbell) == EISDIR || error_of(u, folder, 0, doorbell) == EINVAL);
    mlt_os_uring_free(u);
    mlt_os_close(folder);
    mlt_os_close(fd);
    mlt_os_close(doorbell);
    CHECK(!mlt_os_uring_new(MOST, -1) && errno == EBADF); // no doorbell
    return 0;
}
