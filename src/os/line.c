// SPDX-License-Identifier: BSD-3-Clause
#include "os/line.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/os.h"

_Static_assert(MLT_OS_LINE_NAME <= sizeof((struct sockaddr_un *)0)->sun_path, "a name fits");

static socklen_t address_of(const char *name, struct sockaddr_un *out)
{
    size_t bytes = strlen(name);
    if (bytes >= MLT_OS_LINE_NAME)
        bytes = MLT_OS_LINE_NAME - 1;
    memset(out, 0, sizeof *out);
    out->sun_family = AF_UNIX;
    memcpy(out->sun_path, name, bytes);
    if (name[0] != '@')
        return sizeof *out;
    out->sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + bytes);
}

static int line_new(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static int close_failed(int fd)
{
    mlt_os_close(fd);
    return -1;
}

int mlt_os_line_listen(const char *name)
{
    struct sockaddr_un at;
    socklen_t length = address_of(name, &at);
    int fd = line_new();
    if (fd >= 0 && bind(fd, (struct sockaddr *)&at, length) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    return close_failed(fd);
}

int mlt_os_line_accept(int listener)
{
    int fd;
    do
        fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
    return fd;
}

int mlt_os_line_connect(const char *name)
{
    struct sockaddr_un to;
    socklen_t length = address_of(name, &to);
    int fd = line_new();
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, length) == 0)
        return fd;
    return close_failed(fd);
}

bool mlt_os_line_own(int fd, int32_t *pid)
{
    struct ucred who;
    socklen_t length = sizeof who;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) != 0)
        return false;
    if (pid)
        *pid = who.pid;
    return who.uid == geteuid();
}

ssize_t mlt_os_line_write(int fd, const void *data, size_t bytes)
{
    return TEMP_FAILURE_RETRY(send(fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT));
}

ssize_t mlt_os_line_read(int fd, void *data, size_t bytes)
{
    return TEMP_FAILURE_RETRY(recv(fd, data, bytes, MSG_DONTWAIT));
}

void mlt_os_line_end(int fd)
{
    shutdown(fd, SHUT_RDWR);
}

bool mlt_os_line_wait(int fd, bool writes, int timeout_ms)
{
    struct pollfd p = {.fd = fd, .events = writes ? POLLOUT : POLLIN};
    uint64_t until = mlt_os_now_ns() + (uint64_t)timeout_ms * 1000000;
    for (;;) {
        int n = poll(&p, 1, timeout_ms);
        if (n >= 0 || errno != EINTR)
            return n > 0;
        uint64_t now = mlt_os_now_ns(); // a signal came
        timeout_ms = now < until ? (int)((until - now) / 1000000 + 1) : 0;
    }
}
