// SPDX-License-Identifier: BSD-3-Clause
#include "os/os.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "base/unit_test.h"

// The kernel is asked, by whatever means memory is guarded, and nothing else changes.
static void test_is_guarded(void)
{
    size_t page = mlt_os_page_size();
    char *at = mlt_os_map(3 * page);
    CHECK(at && mlt_os_protect(at, page) == MLT_OK);
    CHECK(mlt_os_protect_writing(at + page, page) == MLT_OK);
    sigset_t before, after;
    memset(&before, 0, sizeof before); // libc fills in what the kernel has, which is less
    memset(&after, 0, sizeof after);
    CHECK(sigprocmask(SIG_SETMASK, NULL, &before) == 0);
    errno = ENOENT;
    CHECK(mlt_os_is_guarded(at) && mlt_os_is_guarded(at + page - 8));
    CHECK(mlt_os_is_guarded(at + page) && mlt_os_is_guarded(at + 2 * page - 8));
    CHECK(!mlt_os_is_guarded(at + 2 * page) && !mlt_os_is_guarded(at + 3 * page - 8));
    CHECK(errno == ENOENT);
    CHECK(sigprocmask(SIG_SETMASK, NULL, &after) == 0 &&
          memcmp(&before, &after, sizeof before) == 0);
    if (mlt_os_guard_install(at + 2 * page, page) == MLT_OK) // qemu-user says so, and does nothing
        CHECK(mlt_os_is_guarded(at + 2 * page) == mlt_os_is_guarded(at + 3 * page - 8));
    mlt_os_unmap(at, 3 * page);
    CHECK(mlt_os_is_guarded(at));
}

int main(void)
{
    test_is_guarded();
    return 0;
}
