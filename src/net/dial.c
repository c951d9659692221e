// SPDX-License-Identifier: BSD-3-Clause
#include "net/dial.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/memory.h"
#include "os/fd.h"
#include "os/tcp.h"

typedef enum try_state { WAITS, CONNECTS, GREETS, ENDED } try_state;

// One address.
typedef struct attempt {
    try_state state;
    int fd;
    short events; // that epoll knows
    uint64_t deadline_ns;
    mlt_address to;
    char from[MLT_ADDRESS_TEXT]; // "": not known
    mlt_greet greet;
    char why[MLT_GREET_WHY];
} attempt;

struct mlt_dial {
    mlt_dial_plan plan;
    int epoll;
    uint32_t next, open; // the first that waits; how many are open
    attempt *won;
    mlt_dial_cause cause;
    attempt attempts[];
};

static void end(mlt_dial *d, attempt *a, const char *why)
{
    size_t length = strnlen(why, sizeof a->why - 1);
    memmove(a->why, why, length); // which it may be already
    a->why[length] = '\0';
    a->state = ENDED;
    if (a->fd < 0)
        return;
    mlt_os_close(a->fd);
    mlt_greet_fini(&a->greet);
    a->fd = -1;
    d->open--;
}

// A process that knows the key and then closes has been in a hurry, and has not refused.
static void note_cause(mlt_dial *d, const mlt_greet *greet)
{
    bool cut = greet->fault == MLT_GREET_CUT || greet->fault == MLT_GREET_SLOW;
    if (greet->proven && !cut && d->cause == MLT_DIAL_VAIN)
        d->cause = MLT_DIAL_REFUSED;
}

static void greet(mlt_dial *d, attempt *a, uint64_t now_ns)
{
    mlt_status status = mlt_greet_step(&a->greet, now_ns);
    if (status == MLT_OK) {
        d->won = a;
    } else if (status != MLT_PENDING) {
        note_cause(d, &a->greet);
        end(d, a, a->greet.why);
    } else if (a->events != a->greet.poll.events) {
        a->events = a->greet.poll.events;
        (void)mlt_os_epoll_change(d->epoll, a->fd, (uint32_t)a->events,
                                  (uint64_t)(a - d->attempts));
    }
}

static void connected(mlt_dial *d, attempt *a, uint64_t now_ns)
{
    a->state = GREETS;
    mlt_greet_dial(&a->greet, d->plan.self, a->fd, d->plan.wanted, a->deadline_ns);
    greet(d, a, now_ns);
}

// The system has chosen the address of this side when it begins to connect.
static void note_source(attempt *a)
{
    struct sockaddr_storage name;
    mlt_address here;
    uint16_t port;
    if (mlt_os_tcp_here(a->fd, &name) == 0 &&
        mlt_address_of_socket(&here, &port, (const struct sockaddr *)&name) && port != 0)
        mlt_address_text(a->from, &here, 0);
}

static void dial_begin(mlt_dial *d, attempt *a, uint64_t now_ns)
{
    struct sockaddr_storage name;
    socklen_t length = mlt_address_to_socket(&name, &a->to, d->plan.port);
    a->state = CONNECTS;
    a->deadline_ns = now_ns + d->plan.each_ms * UINT64_C(1000000);
    a->fd = mlt_os_tcp_new(name.ss_family);
    if (a->fd < 0) {
        if (errno == EMFILE || errno == ENFILE)
            d->cause = MLT_DIAL_NO_DESCRIPTOR;
        end(d, a, strerror(errno));
        return;
    }
    d->open++;
    a->events = POLLOUT;
    if (!mlt_os_tcp_tune(a->fd, d->plan.gone_ms) ||
        mlt_os_epoll_add(d->epoll, a->fd, EPOLLOUT, (uint64_t)(a - d->attempts)) != 0) {
        end(d, a, strerror(errno));
        return;
    }
    int failed = mlt_os_try_connect(a->fd, (const struct sockaddr *)&name, length);
    int why = errno;
    note_source(a);
    if (failed && why != EINPROGRESS)
        end(d, a, strerror(why));
    else if (!failed)
        connected(d, a, now_ns);
}

static void dial_go_on(mlt_dial *d, attempt *a, uint64_t now_ns)
{
    if (a->state == GREETS) {
        greet(d, a, now_ns);
    } else if (a->state == CONNECTS) {
        if (mlt_os_connected(a->fd) == 0)
            connected(d, a, now_ns);
        else if (errno != EINPROGRESS)
            end(d, a, strerror(errno));
        else if (now_ns >= a->deadline_ns)
            end(d, a, "the time was up before it connected");
    }
}

static void begin_more(mlt_dial *d, uint64_t now_ns)
{
    while (!d->won && d->next < d->plan.count && d->open < MLT_DIAL_AT_ONCE)
        dial_begin(d, &d->attempts[d->next++], now_ns);
}

static void dial_expire(mlt_dial *d, uint64_t now_ns)
{
    for (uint32_t i = 0; i < d->next && !d->won; i++)
        if (d->attempts[i].state != ENDED && now_ns >= d->attempts[i].deadline_ns)
            dial_go_on(d, &d->attempts[i], now_ns);
}

static mlt_status win(mlt_dial *d, mlt_net_peer *peer)
{
    attempt *a = d->won;
    (void)mlt_os_epoll_remove(d->epoll, a->fd);
    mlt_net_peer_of(peer, &a->greet, &a->to, d->plan.port);
    a->fd = -1;
    d->open--;
    end(d, a, "it answered");
    for (uint32_t i = 0; i < d->next; i++)
        if (d->attempts[i].state != ENDED)
            end(d, &d->attempts[i], "another address was faster");
    d->plan.count = d->next; // those that wait are not dialled any more
    d->won = NULL;
    return MLT_OK;
}

mlt_status mlt_dial_step(mlt_dial *d, uint64_t now_ns, mlt_net_peer *peer)
{
    struct epoll_event events[MLT_DIAL_AT_ONCE];
    begin_more(d, now_ns);
    int n = d->won ? 0 : mlt_os_epoll_wait(d->epoll, events, MLT_DIAL_AT_ONCE, 0);
    for (int i = 0; i < n && !d->won; i++)
        dial_go_on(d, &d->attempts[events[i].data.u64], now_ns);
    dial_expire(d, now_ns);
    begin_more(d, now_ns);
    if (d->won)
        return win(d, peer);
    return d->open > 0 ? MLT_PENDING : MLT_ERR_CLOSED;
}

mlt_poll mlt_dial_poll(const mlt_dial *d)
{
    mlt_poll poll = {.fd = d->epoll, .events = POLLIN, .deadline_ns = MLT_POLL_FOREVER};
    if (d->next == 0)
        poll.deadline_ns = 0;
    for (uint32_t i = 0; i < d->next; i++)
        if (d->attempts[i].state != ENDED && d->attempts[i].deadline_ns < poll.deadline_ns)
            poll.deadline_ns = d->attempts[i].deadline_ns;
    return poll;
}

mlt_status mlt_dial_new(mlt_dial **out, const mlt_dial_plan *plan, char *why, size_t why_size)
{
    mlt_dial *d = calloc(1, sizeof *d + plan->count * sizeof *d->attempts);
    *out = NULL;
    if (!d)
        return mlt_fail(MLT_ERR_NO_MEMORY, why, why_size, MLT_NO_ROOM "%u addresses to dial",
                        plan->count);
    d->epoll = mlt_os_epoll_new();
    if (d->epoll < 0) {
        snprintf(why, why_size, "no descriptor to dial with (%s)", strerror(errno));
        free(d);
        return MLT_ERR_SYSTEM;
    }
    d->plan = *plan;
    d->plan.addresses = NULL; // the caller's
    for (uint32_t i = 0; i < plan->count; i++) {
        d->attempts[i].to = plan->addresses[i];
        d->attempts[i].fd = -1;
    }
    *out = d;
    return MLT_OK;
}

void mlt_dial_free(mlt_dial *d)
{
    if (!d)
        return;
    for (uint32_t i = 0; i < d->next; i++)
        if (d->attempts[i].state != ENDED)
            end(d, &d->attempts[i], "given up");
    mlt_os_close(d->epoll);
    free(d);
}

mlt_dial_cause mlt_dial_why(const mlt_dial *d)
{
    return d->cause;
}

void mlt_dial_tell(const mlt_dial *d, mlt_text *text)
{
    char to[MLT_ADDRESS_TEXT];
    for (uint32_t i = 0; i < d->next; i++) {
        const attempt *a = &d->attempts[i];
        if (a->state == WAITS)
            continue;
        mlt_text_add(text, "  %s%s%sto %s: %s\n", a->from[0] ? "from " : "", a->from,
                     a->from[0] ? " " : "", mlt_address_text(to, &a->to, d->plan.port),
                     a->state == ENDED ? a->why : "not answered yet");
    }
}
