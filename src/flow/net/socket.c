// SPDX-License-Identifier: BSD-3-Clause
#include "flow/net/socket.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "flow/run.h"
#include "net/address.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/tcp.h"

enum { RETRY_NS = 50000000 };

void mlt_flow_net_address(mlt_flow_address *a)
{
    mlt_address address;
    uint16_t port;
    if (mlt_address_of_socket(&address, &port, (struct sockaddr *)&a->at))
        mlt_address_text(a->text, &address, port);
    else
        snprintf(a->text, sizeof a->text, "an unknown address");
}

// The addresses of the host, to be freed.
static struct addrinfo *resolve(const mlt_flow_net *my, int type, bool passive)
{
    const char *host = mlt_flow_net_text(my, "host");
    char port[24];
    snprintf(port, sizeof port, "%ld", mlt_flow_net_number(my, "port"));
    struct addrinfo hints = {.ai_socktype = type,
                             .ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0)};
    struct addrinfo *list = NULL;
    int failed = getaddrinfo(strcmp(host, "*") == 0 ? NULL : host, port, &hints, &list);
    if (failed)
        mlt_flow_fault(my->flow.instance, "host \"%s\" is not known: %s", host,
                       failed == EAI_SYSTEM ? strerror(errno) : gai_strerror(failed));
    return list;
}

// One of them, those of IPv4 first: a module listens there unless it is told otherwise, and
// "localhost" is often an address of IPv6, too. False: there are no more.
static bool address_at(const struct addrinfo *list, size_t number, mlt_flow_address *a)
{
    static const bool ipv4[] = {true, false};
    for (size_t i = 0; i < sizeof ipv4 / sizeof *ipv4; i++)
        for (const struct addrinfo *each = list; each; each = each->ai_next) {
            if ((each->ai_family == AF_INET) != ipv4[i] || number-- > 0)
                continue;
            *a = (mlt_flow_address){.length = each->ai_addrlen};
            memcpy(&a->at, each->ai_addr, each->ai_addrlen);
            mlt_flow_net_address(a);
            return true;
        }
    return false;
}

static int try_listen(const mlt_flow_net *my, const mlt_flow_address *a, int type)
{
    int one = 1, fd = socket(a->at.ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    bool fine =
        type != SOCK_STREAM || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0;
    if (my->flow.count > 1)
        fine = fine && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one) == 0;
    fine = fine && bind(fd, (const struct sockaddr *)&a->at, a->length) == 0 &&
           (type != SOCK_STREAM || listen(fd, SOMAXCONN) == 0);
    if (!fine)
        mlt_os_close_once(&fd);
    return fd;
}

int mlt_flow_net_listen(mlt_flow_net *my, int type)
{
    mlt_flow_address a;
    struct addrinfo *list = resolve(my, type, true);
    bool found = address_at(list, 0, &a);
    freeaddrinfo(list);
    mlt_assert(found); // success is one address at least
    int fd = try_listen(my, &a, type);
    if (fd < 0)
        mlt_flow_fault(my->flow.instance, "it cannot listen at %s: %s", a.text, strerror(errno));
    if (mlt_os_tcp_here(fd, &a.at) == 0)
        mlt_flow_net_address(&a);
    MLT_FLOW_NET_LOG(my, "listens at %s", a.text);
    return fd;
}

int mlt_flow_net_connect(mlt_flow_net *my, int type, csp_time deadline)
{
    mlt_flow_address a;
    struct addrinfo *list = resolve(my, type, false);
    int failed = 0;
    bool refused = false;
    do {
        if (refused) // perhaps the other side is only about to begin
            csp_sleep(csp_now() + RETRY_NS);
        refused = false;
        for (size_t i = 0; address_at(list, i, &a); i++) {
            int fd = socket(a.at.ss_family, type | SOCK_CLOEXEC, 0);
            if (fd >= 0 && csp_fd_connect(fd, (struct sockaddr *)&a.at, a.length) == 0) {
                freeaddrinfo(list);
                return fd;
            }
            failed = errno;
            refused |= failed == ECONNREFUSED;
            mlt_os_close(fd);
        }
    } while (refused && csp_now() < deadline);
    mlt_flow_fault(my->flow.instance, "it cannot connect to %s: %s", a.text, strerror(failed));
}

// ---- being asked to end

static int asked = -1;
static pthread_once_t watched = PTHREAD_ONCE_INIT;

static void note(int signal)
{
    (void)signal;
    int saved = errno;
    mlt_os_eventfd_ring(asked);
    errno = saved;
}

static void watch_signals(void)
{
    static const int signals[] = {SIGTERM, SIGINT};
    asked = mlt_os_eventfd_new();
    for (size_t i = 0; asked >= 0 && i < sizeof signals / sizeof *signals; i++) {
        struct sigaction now, then = {.sa_handler = note, .sa_flags = SA_RESETHAND | SA_RESTART};
        sigemptyset(&then.sa_mask);
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            (void)sigaction(signals[i], &then, NULL);
    }
}

int mlt_flow_net_asked(void)
{
    pthread_once(&watched, watch_signals);
    return asked;
}
