// SPDX-License-Identifier: BSD-3-Clause
#include "os/tcp.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/sockios.h>

#include "os/fd.h"
#include "os/line.h"
#include "os/os.h"

enum { BACKLOG = 65535 }; // the kernel takes less if net.core.somaxconn is less

static bool set(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

int mlt_os_tcp_new(int family)
{
    return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
}

int mlt_os_tcp_listen(const struct sockaddr *address, socklen_t length)
{
    int fd = mlt_os_tcp_new(address->sa_family);
    if (fd < 0)
        return -1;
    if (set(fd, SOL_SOCKET, SO_REUSEADDR, 1) &&
        (address->sa_family != AF_INET6 || set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1)) &&
        bind(fd, address, length) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    mlt_os_close(fd);
    return -1;
}

int mlt_os_tcp_accept(int listener, struct sockaddr_storage *from)
{
    socklen_t length = sizeof *from;
    *from = (struct sockaddr_storage){0};
    return accept4(listener, (struct sockaddr *)from, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

bool mlt_os_tcp_tune(int fd, uint32_t gone_ms)
{
    enum { PROBES = 3, MS = 1000, MOST_MS = 1 << 30 };
    int ms = gone_ms < MOST_MS ? (int)gone_ms : MOST_MS;
    int each = ms / MS / (2 * PROBES) > 0 ? ms / MS / (2 * PROBES) : 1;
    int idle = ms / MS - PROBES * each > 0 ? ms / MS - PROBES * each : 1;
    return set(fd, IPPROTO_TCP, TCP_NODELAY, 1) && set(fd, SOL_SOCKET, SO_KEEPALIVE, 1) &&
           set(fd, IPPROTO_TCP, TCP_KEEPIDLE, idle) && set(fd, IPPROTO_TCP, TCP_KEEPINTVL, each) &&
           set(fd, IPPROTO_TCP, TCP_KEEPCNT, PROBES) && set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, ms);
}

bool mlt_os_tcp_tune_patient(int fd, uint32_t gone_ms)
{
    enum { UNSENT = 256 << 10 };
    return mlt_os_tcp_tune(fd, gone_ms) && set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 0) &&
           set(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNSENT);
}

uint32_t mlt_os_tcp_silent_ms(int fd)
{
    struct tcp_info about = {0};
    socklen_t length = sizeof about;
    int saved = errno;
    bool known = getsockopt(fd, IPPROTO_TCP, TCP_INFO, &about, &length) == 0;
    errno = saved;
    bool asked = about.tcpi_retransmits > 1 || about.tcpi_probes > 1;
    return known && asked ? about.tcpi_last_ack_recv : 0;
}

ssize_t mlt_os_tcp_send(int fd, const struct iovec *pieces, uint32_t count)
{
    return count == 1 ? mlt_os_line_write(fd, pieces->iov_base, pieces->iov_len)
                      : mlt_os_send_with(fd, pieces, count, -1, false);
}

ssize_t mlt_os_tcp_receive(int fd, const struct iovec *pieces, uint32_t count)
{
    struct msghdr all = {.msg_iov = (struct iovec *)(uintptr_t)pieces, .msg_iovlen = count};
    return count == 1 ? mlt_os_line_read(fd, pieces->iov_base, pieces->iov_len)
                      : TEMP_FAILURE_RETRY(recvmsg(fd, &all, MSG_DONTWAIT));
}

void mlt_os_tcp_finish(int fd)
{
    int saved = errno;
    (void)shutdown(fd, SHUT_WR);
    errno = saved;
}

int mlt_os_tcp_unsent(int fd)
{
    int saved = errno, bytes = -1;
    if (ioctl(fd, SIOCOUTQ, &bytes) != 0)
        bytes = -1;
    errno = saved;
    return bytes;
}

void mlt_os_tcp_drop(int fd)
{
    struct linger at_once = {.l_onoff = 1};
    int saved = errno;
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    mlt_os_close(fd);
    errno = saved;
}

int mlt_os_tcp_here(int fd, struct sockaddr_storage *address)
{
    socklen_t length = sizeof *address;
    *address = (struct sockaddr_storage){0};
    return getsockname(fd, (struct sockaddr *)address, &length);
}

int mlt_os_spare(void)
{
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

// The kernel's random number of its start. A system without /proc: its name, which is as good as
// can be had.
uint64_t mlt_os_boot_number(void)
{
    char text[64] = "";
    uint64_t number = 0;
    if (!mlt_os_read_text("/proc/sys/kernel/random/boot_id", text, sizeof text))
        (void)gethostname(text, sizeof text - 1);
    for (const char *c = text; *c && *c != '\n'; c++)
        number = (number ^ (unsigned char)*c) * UINT64_C(1099511628211); // FNV-1a
    return number ? number : 1;
}
