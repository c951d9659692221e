// SPDX-License-Identifier: BSD-3-Clause
// Descriptors of another process: shared where the system lets processes do that, opened once more
// where it does not.
#include "os/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unit_test.h"

static bool reads(int fd, const char *text)
{
    char got[16] = "";
    return read(fd, got, strlen(text)) == (ssize_t)strlen(text) && strcmp(got, text) == 0;
}

// The parent has read two bytes of both; this is its child.
static void take(pid_t parent, int file, int pipe_end)
{
    int copy = mlt_os_fd_of(parent, file, true);
    CHECK(copy >= 0 && (fcntl(copy, F_GETFD) & FD_CLOEXEC) && reads(copy, "cd"));
    CHECK((fcntl(copy, F_GETFL) & O_ACCMODE) == O_RDWR);
    mlt_os_close(copy);
    copy = mlt_os_fd_of(parent, pipe_end, false);
    CHECK(copy >= 0 && !(fcntl(copy, F_GETFL) & O_NONBLOCK) && reads(copy, "cd"));
    mlt_os_close(copy);
    errno = 0;
    CHECK(mlt_os_fd_of(parent, 9999, false) == -1 && errno);
}

// From here on this process can share no descriptors. False: the system has no filters.
static bool refuse_sharing(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_getfd, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

static void in_child(bool refused)
{
    int ends[2], status;
    char name[] = "/tmp/fd_test.XXXXXX";
    int file = mkstemp(name);
    CHECK(file >= 0 && unlink(name) == 0 && write(file, "abcdef", 6) == 6);
    CHECK(lseek(file, 2, SEEK_SET) == 2 && pipe(ends) == 0);
    CHECK(write(ends[1], "abcdef", 6) == 6 && reads(ends[0], "ab"));
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        if (!refused || refuse_sharing())
            take(parent, file, ends[0]);
        exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    close(file);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    int null = open("/dev/null", O_RDONLY), zero = open("/dev/zero", O_RDONLY);
    CHECK(mlt_os_is_null(null) && !mlt_os_is_null(zero) && !mlt_os_is_null(9999));
    in_child(false);
    in_child(true);
    return 0;
}
