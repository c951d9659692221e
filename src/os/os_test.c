// SPDX-License-Identifier: BSD-3-Clause
#include "os/os.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/unit_test.h"

// The kernel is asked, by whatever means memory is guarded. errno stays.
static void test_is_guarded(void)
{
    size_t page = mlt_os_page_size();
    char *at = mlt_os_map(3 * page);
    CHECK(at && mlt_os_protect(at, page) == MLT_OK);
    CHECK(mlt_os_protect_writing(at + page, page) == MLT_OK);
    errno = ENOENT;
    CHECK(mlt_os_is_guarded(at) && mlt_os_is_guarded(at + page - 16));
    CHECK(mlt_os_is_guarded(at + page) && mlt_os_is_guarded(at + 2 * page - 16));
    CHECK(!mlt_os_is_guarded(at + 2 * page) && !mlt_os_is_guarded(at + 3 * page - 16));
    CHECK(errno == ENOENT);
    if (mlt_os_guard_install(at + 2 * page, page) == MLT_OK) // qemu-user says so, and does nothing
        CHECK(mlt_os_is_guarded(at + 2 * page) == mlt_os_is_guarded(at + 3 * page - 16));
    mlt_os_unmap(at, 3 * page);
    CHECK(mlt_os_is_guarded(at));
}

// A limit of files is an error, not the end of the process (SIGXFSZ).
static void test_limit(void)
{
    struct rlimit old, small;
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
    small = (struct rlimit){.rlim_cur = 1 << 16, .rlim_max = old.rlim_max};
    CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
    int fd = mlt_os_memfd("test", 1 << 16);
    CHECK(fd >= 0 && mlt_os_resize(fd, 1 << 20) != MLT_OK && errno == EFBIG);
    CHECK(mlt_os_memfd("test", 1 << 20) < 0 && errno == EFBIG);
    CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0 && mlt_os_resize(fd, 1 << 20) == MLT_OK);
    close(fd);
}

// Memory that is not there, or may not be read, is found out.
static void test_read_own(void)
{
    size_t page = mlt_os_page_size();
    char byte = 'x', *two = mlt_os_map(2 * page);
    CHECK(two && mprotect(two + page, page, PROT_NONE) == 0);
    two[0] = 'a';
    bool knows = !mlt_os_is_readable((const void *)sizeof(void *)); // not in an emulator
    CHECK(mlt_os_read_own(&byte, two, 1) == (byte == 'a') && (!knows || byte == 'a'));
    CHECK(!knows || mlt_os_is_readable(two));
    CHECK(!mlt_os_read_own(&byte, two + page, 1) && !mlt_os_read_own(&byte, NULL, 1));
    CHECK(!knows || !mlt_os_is_readable(two + page));
    mlt_os_unmap(two, 2 * page);
}

int main(void)
{
    test_read_own();
    test_is_guarded();
    test_limit();
    return 0;
}
