// SPDX-License-Identifier: BSD-3-Clause
// TCP sockets: both families have the same port, a used port is free again at once, and settings.
#include "os/tcp.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "os/fd.h"

static struct sockaddr_in name = {.sin_family = AF_INET};

static int value_of(int fd, int option)
{
    int value = -1;
    socklen_t size = sizeof value;
    CHECK(getsockopt(fd, IPPROTO_TCP, option, &value, &size) == 0);
    return value;
}

static void test_tune(void)
{
    static const struct {
        uint32_t ms;
        int idle, each;
    } cases[] = {{0, 1, 1}, {999, 1, 1}, {5000, 2, 1}, {10000, 7, 1}, {60000, 30, 10}};
    int fd = mlt_os_tcp_new(AF_INET);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(mlt_os_tcp_tune(fd, cases[i].ms) && value_of(fd, TCP_NODELAY) == 1);
        CHECK(value_of(fd, TCP_USER_TIMEOUT) == (int)cases[i].ms);
        CHECK(value_of(fd, TCP_KEEPIDLE) == cases[i].idle && value_of(fd, TCP_KEEPCNT) == 3);
        CHECK(value_of(fd, TCP_KEEPINTVL) == cases[i].each);
    }
    CHECK(mlt_os_tcp_tune_patient(fd, 5000) && value_of(fd, TCP_USER_TIMEOUT) == 0);
    CHECK(value_of(fd, TCP_NOTSENT_LOWAT) == 256 << 10 && value_of(fd, TCP_KEEPIDLE) == 2);
    close(fd);
    int null = mlt_os_spare();
    CHECK(!mlt_os_tcp_tune(null, 1000) && errno == ENOTSOCK && (fcntl(null, F_GETFD) & FD_CLOEXEC));
    close(null);
}

static void test_listen(void)
{
    struct sockaddr_storage from;
    socklen_t size = sizeof name;
    int fd = mlt_os_tcp_listen((struct sockaddr *)&name, sizeof name);
    CHECK(fd >= 0 && mlt_os_tcp_accept(fd, &from) == -1 && errno == EAGAIN);
    CHECK(mlt_os_tcp_here(fd, &from) == 0 && mlt_os_tcp_here(9999, &from) == -1);
    CHECK(getsockname(fd, (struct sockaddr *)&name, &size) == 0 && name.sin_port);
    CHECK(mlt_os_tcp_listen((struct sockaddr *)&name, size) == -1 && errno == EADDRINUSE);
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = name.sin_port};
    int other = mlt_os_tcp_listen((struct sockaddr *)&six, sizeof six);
    CHECK(other >= 0 || errno == EAFNOSUPPORT || errno == EADDRINUSE);
    if (other >= 0)
        close(other);
    // A connection; the side that listens closes first, and can listen again at once.
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int there = mlt_os_tcp_new(AF_INET);
    CHECK(mlt_os_try_connect(there, (struct sockaddr *)&name, size) == 0 || errno == EINPROGRESS);
    CHECK(poll(&(struct pollfd){fd, POLLIN, 0}, 1, 1000) == 1);
    int here = mlt_os_tcp_accept(fd, &from);
    CHECK(here >= 0 && from.ss_family == AF_INET && (fcntl(here, F_GETFD) & FD_CLOEXEC));
    close(here);
    char byte;
    CHECK(poll(&(struct pollfd){there, POLLIN, 0}, 1, 1000) == 1 && read(there, &byte, 1) == 0);
    close(there);
    close(fd);
    fd = mlt_os_tcp_listen((struct sockaddr *)&name, size);
    CHECK(fd >= 0);
    // A stranger's connection is reset.
    there = mlt_os_tcp_new(AF_INET);
    CHECK(mlt_os_try_connect(there, (struct sockaddr *)&name, size) == 0 || errno == EINPROGRESS);
    CHECK(poll(&(struct pollfd){fd, POLLIN, 0}, 1, 1000) == 1);
    errno = 4711;
    mlt_os_tcp_drop(mlt_os_tcp_accept(fd, &from));
    CHECK(errno == 4711 && poll(&(struct pollfd){there, POLLIN, 0}, 1, 1000) == 1);
    CHECK(read(there, &byte, 1) == -1 && errno == ECONNRESET);
    close(there);
    close(fd);
}

int main(void)
{
    test_tune();
    test_listen();
    puts("all right");
    return 0;
}
