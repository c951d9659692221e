// SPDX-License-Identifier: BSD-3-Clause
#include "os/fd.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

int mlt_os_epoll_new(void)
{
    return epoll_create1(EPOLL_CLOEXEC);
}

static int control(int epoll, int how, int fd, uint32_t events, uint64_t data)
{
    struct epoll_event event = {.events = events, .data.u64 = data};
    return epoll_ctl(epoll, how, fd, &event);
}

int mlt_os_epoll_add(int epoll, int fd, uint32_t events, uint64_t data)
{
    return control(epoll, EPOLL_CTL_ADD, fd, events, data);
}

int mlt_os_epoll_change(int epoll, int fd, uint32_t events, uint64_t data)
{
    return control(epoll, EPOLL_CTL_MOD, fd, events, data);
}

// Whole milliseconds, rounded up: nobody looks in vain.
static int in_ms(int64_t ns)
{
    enum { MS = 1000000, MOST = 1 << 30 };
    int64_t ms = ns / MS + (ns % MS > 0);
    return ns < 0 ? -1 : ms < MOST ? (int)ms : MOST;
}

int mlt_os_epoll_wait(int epoll, struct epoll_event *events, int most, int64_t timeout_ns)
{
    int saved = errno, n;
    if (timeout_ns > 0) { // Linux 5.11 can do with nanoseconds; some sandboxes forbid it
        struct timespec limit = {.tv_sec = timeout_ns / 1000000000,
                                 .tv_nsec = timeout_ns % 1000000000};
        n = (int)syscall(SYS_epoll_pwait2, epoll, events, most, &limit, NULL, _NSIG / 8);
        if (n < 0 && (errno == ENOSYS || errno == EPERM))
            n = epoll_wait(epoll, events, most, in_ms(timeout_ns));
    } else {
        n = epoll_wait(epoll, events, most, timeout_ns < 0 ? -1 : 0);
    }
    errno = saved;
    return n < 0 ? 0 : n;
}

void mlt_os_close(int fd)
{
    int saved = errno;
    (void)close(fd);
    errno = saved;
}

// An abstract name: the first byte of the path is 0, and the length says where it ends.
static socklen_t abstract(struct sockaddr_un *address, const char *name, size_t size)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    size = size < sizeof address->sun_path ? size : sizeof address->sun_path - 1;
    memcpy(address->sun_path + 1, name, size);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size);
}

int mlt_os_bell_new(const char *name, size_t size)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || size == 0)
        return fd;
    struct sockaddr_un address;
    socklen_t length = abstract(&address, name, size);
    if (bind(fd, (struct sockaddr *)&address, length) == 0)
        return fd;
    mlt_os_close(fd);
    return -1;
}

int mlt_os_bell_ring(int from, const char *name, size_t size)
{
    struct sockaddr_un address;
    socklen_t length = abstract(&address, name, size);
    return (int)sendto(from, "", 0, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&address,
                       length);
}

void mlt_os_bell_drain(int fd)
{
    int saved = errno;
    char byte;
    while (recv(fd, &byte, 1, MSG_DONTWAIT) >= 0)
        ;
    errno = saved;
}

mlt_status mlt_os_random(void *to, size_t bytes)
{
    return getrandom(to, bytes, GRND_NONBLOCK) == (ssize_t)bytes ? MLT_OK : MLT_ERR_SYSTEM;
}
