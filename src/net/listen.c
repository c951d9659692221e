// SPDX-License-Identifier: BSD-3-Clause
#include "net/listen.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/log.h"
#include "base/memory.h"
#include "os/fd.h"
#include "os/tcp.h"

enum {
    ACCEPTS = 16, // in one go: the greetings that have begun come in between
    EVENTS = 64,
    PAUSE_NS = 10000000,    // when the system has no memory, or nobody can go for a newcomer
    PROVEN_NS = 1000000000, // one that has proven the key has so much time for the rest
    FREE_PORTS = 16,        // tries to find one that is free for all addresses
};

typedef struct stranger {
    mlt_greet greet;
    bool used, done; // done: it is greeted, and waits to be handed over
    short events;    // that epoll knows
    uint64_t number, since_ns;
    mlt_address address;
    uint16_t port;
} stranger;

struct mlt_listen {
    mlt_listen_plan plan;
    int epoll, spare;
    int sockets[MLT_ADDRESSES];
    uint32_t socket_count;
    uint16_t port;
    uint64_t resume_ns;  // 0: does not pause
    bool paused_full;    // why it pauses
    uint64_t next;       // number of the next stranger
    uint32_t done_count; // strangers that are done
    mlt_listen_counts counts;
    stranger strangers[];
};

static uint64_t tag_of_stranger(const mlt_listen *l, const stranger *s)
{
    return MLT_ADDRESSES + (uint64_t)(s - l->strangers);
}

// ---- Strangers

static void drop_stranger(mlt_listen *l, stranger *s)
{
    if (s->greet.proven)
        mlt_os_close(s->greet.poll.fd); // closed, not reset: a REFUSAL still arrives
    else
        mlt_os_tcp_drop(s->greet.poll.fd);
    mlt_greet_fini(&s->greet);
    s->used = false;
}

static void failed(mlt_listen *l, stranger *s)
{
    l->counts.faults[s->greet.fault]++;
    drop_stranger(l, s);
}

static void listen_go_on(mlt_listen *l, stranger *s, uint64_t now_ns)
{
    mlt_status status = mlt_greet_step(&s->greet, now_ns);
    if (status == MLT_OK) {
        s->done = true;
        l->done_count++;
        (void)mlt_os_epoll_remove(l->epoll, s->greet.poll.fd);
    } else if (status != MLT_PENDING) {
        failed(l, s);
    } else if (s->events != s->greet.poll.events) {
        s->events = s->greet.poll.events;
        (void)mlt_os_epoll_change(l->epoll, s->greet.poll.fd, (uint32_t)s->events,
                                  tag_of_stranger(l, s));
    }
}

static bool may_drop(const stranger *s, uint64_t now_ns)
{
    return s->used && !s->done && (!s->greet.proven || now_ns >= s->since_ns + PROVEN_NS);
}

// Drops the oldest that has not proven the key, or else the oldest that may be dropped.
static bool make_room(mlt_listen *l, uint64_t now_ns, uint64_t *count)
{
    stranger *found = NULL;
    for (uint32_t i = 0; i < l->plan.strangers; i++) {
        stranger *s = &l->strangers[i];
        if (may_drop(s, now_ns) &&
            (!found || s->greet.proven < found->greet.proven ||
             (s->greet.proven == found->greet.proven && s->number < found->number)))
            found = s;
    }
    if (found && found->greet.proven) // the rest may have come while this process was not awake
        listen_go_on(l, found, now_ns);
    if (!found || found->done)
        return false;
    if (!found->used)
        return true;
    ++*count;
    drop_stranger(l, found);
    return true;
}

static stranger *free_place(mlt_listen *l)
{
    for (uint32_t i = 0; i < l->plan.strangers; i++)
        if (!l->strangers[i].used)
            return &l->strangers[i];
    return NULL;
}

static void start_greeting(mlt_listen *l, int fd, const struct sockaddr_storage *from,
                           uint64_t now_ns)
{
    stranger *s = free_place(l);
    mlt_assert(s);
    *s = (stranger){.used = true, .events = POLLIN, .number = l->next++, .since_ns = now_ns};
    mlt_greet_answer(&s->greet, l->plan.self, fd, now_ns + l->plan.greet_ms * UINT64_C(1000000));
    if (!mlt_address_of_socket(&s->address, &s->port, (const struct sockaddr *)from) ||
        !mlt_os_tcp_tune(fd, l->plan.gone_ms) ||
        mlt_os_epoll_add(l->epoll, fd, POLLIN, tag_of_stranger(l, s)) != 0) {
        s->greet.fault = MLT_GREET_SYSTEM;
        failed(l, s);
        return;
    }
    listen_go_on(l, s, now_ns); // its hello may be there already
}

// ---- Accepting

static void pause_until(mlt_listen *l, uint64_t resume_ns, bool full)
{
    l->resume_ns = resume_ns;
    l->paused_full = full;
    for (uint32_t i = 0; i < l->socket_count; i++)
        (void)mlt_os_epoll_change(l->epoll, l->sockets[i], resume_ns ? 0 : EPOLLIN, i);
}

// There is no descriptor for the next connection. True: look again.
static bool shed(mlt_listen *l, int listener, uint64_t now_ns)
{
    struct sockaddr_storage from;
    if (make_room(l, now_ns, &l->counts.no_descriptor))
        return true;
    if (l->spare < 0)
        return false;
    mlt_os_close(l->spare);
    int fd = mlt_os_tcp_accept(listener, &from);
    if (fd >= 0) {
        l->counts.no_descriptor++;
        mlt_os_tcp_drop(fd);
    }
    l->spare = mlt_os_spare();
    return l->spare >= 0;
}

// Nothing was accepted, for this reason. True: it was the fault of one connection, or there is room
// again; look for the next. Otherwise looking again at once would be in vain.
static bool keep_accepting(mlt_listen *l, int listener, int why, uint64_t now_ns)
{
    static const int of_connections[] = {ECONNABORTED, EINTR,       EPERM,   EPROTO,
                                         ENOPROTOOPT,  EHOSTDOWN,   ENONET,  EHOSTUNREACH,
                                         EOPNOTSUPP,   ENETUNREACH, ENETDOWN};
    if (why == EMFILE || why == ENFILE)
        return shed(l, listener, now_ns);
    for (size_t i = 0; i < sizeof of_connections / sizeof *of_connections; i++)
        if (why == of_connections[i])
            return true;
    return false;
}

static void accept_some(mlt_listen *l, int listener, uint64_t now_ns)
{
    for (int i = 0; i < ACCEPTS && !l->resume_ns; i++) {
        struct sockaddr_storage from;
        bool full = !free_place(l);
        // epoll has announced the first connection only: nobody is dropped for one that may not be
        // there.
        if (full && i > 0)
            return;
        if (full && !make_room(l, now_ns, &l->counts.dropped_for_newer)) {
            pause_until(l, now_ns + PAUSE_NS, true);
            return;
        }
        int fd = mlt_os_tcp_accept(listener, &from);
        if (fd >= 0)
            start_greeting(l, fd, &from, now_ns);
        else if (errno == EAGAIN)
            return;
        else if (!keep_accepting(l, listener, errno, now_ns))
            pause_until(l, now_ns + PAUSE_NS, false);
    }
}

// ---- Steps

static void look_at(mlt_listen *l, uint64_t tag, uint64_t now_ns)
{
    if (tag < MLT_ADDRESSES) {
        accept_some(l, l->sockets[tag], now_ns);
        return;
    }
    stranger *s = &l->strangers[tag - MLT_ADDRESSES];
    // The slot may have been given to another connection in this step; stepping that does no harm.
    if (s->used && !s->done)
        listen_go_on(l, s, now_ns);
}

static void listen_expire(mlt_listen *l, uint64_t now_ns)
{
    if (l->resume_ns && (now_ns >= l->resume_ns || (l->paused_full && free_place(l)))) {
        if (l->spare < 0)
            l->spare = mlt_os_spare();
        pause_until(l, 0, false);
    }
    for (uint32_t i = 0; i < l->plan.strangers; i++) {
        stranger *s = &l->strangers[i];
        if (s->used && !s->done && now_ns >= s->greet.poll.deadline_ns)
            listen_go_on(l, s, now_ns);
    }
}

static bool hand_over(mlt_listen *l, mlt_net_peer *peer)
{
    for (uint32_t i = 0; l->done_count > 0 && i < l->plan.strangers; i++) {
        stranger *s = &l->strangers[i];
        if (!s->used || !s->done)
            continue;
        mlt_net_peer_of(peer, &s->greet, &s->address, s->port);
        s->used = false;
        l->done_count--;
        l->counts.good++;
        return true;
    }
    return false;
}

mlt_status mlt_listen_step(mlt_listen *l, uint64_t now_ns, mlt_net_peer *peer)
{
    struct epoll_event events[EVENTS];
    if (hand_over(l, peer))
        return MLT_OK;
    listen_expire(l, now_ns);
    int n = mlt_os_epoll_wait(l->epoll, events, EVENTS, 0);
    for (int i = 0; i < n; i++)
        look_at(l, events[i].data.u64, now_ns);
    return hand_over(l, peer) ? MLT_OK : MLT_PENDING;
}

mlt_poll mlt_listen_poll(const mlt_listen *l)
{
    mlt_poll poll = {.fd = l->epoll, .events = POLLIN, .deadline_ns = MLT_POLL_FOREVER};
    if (l->resume_ns)
        poll.deadline_ns = l->resume_ns;
    for (uint32_t i = 0; i < l->plan.strangers; i++) {
        const stranger *s = &l->strangers[i];
        if (s->used && s->done)
            poll.deadline_ns = 0;
        else if (s->used && s->greet.poll.deadline_ns < poll.deadline_ns)
            poll.deadline_ns = s->greet.poll.deadline_ns;
    }
    return poll;
}

// ---- Opening

static void close_sockets(mlt_listen *l)
{
    for (uint32_t i = 0; i < l->socket_count; i++)
        mlt_os_close(l->sockets[i]);
    l->socket_count = 0;
}

// Listens at one address. The port is the one of those before, if it was free to choose.
static bool open_one(mlt_listen *l, const mlt_address *address)
{
    struct sockaddr_storage name;
    mlt_address bound;
    socklen_t length = mlt_address_to_socket(&name, address, l->port);
    int fd = mlt_os_tcp_listen((const struct sockaddr *)&name, length);
    if (fd < 0)
        return false;
    if (mlt_os_tcp_here(fd, &name) != 0 ||
        !mlt_address_of_socket(&bound, &l->port, (const struct sockaddr *)&name) ||
        mlt_os_epoll_add(l->epoll, fd, EPOLLIN, l->socket_count) != 0) {
        mlt_os_close(fd);
        return false;
    }
    l->sockets[l->socket_count++] = fd;
    return true;
}

// A host without one of the families has the other. An address that cannot be used, because it is
// tentative (IPv6 duplicate address detection) or has just gone, is left out.
static bool open_all(mlt_listen *l, uint16_t port)
{
    static const mlt_address everywhere[] = {{.family = 4}, {.family = 6}};
    bool any = !l->plan.addresses;
    const mlt_address *at = any ? everywhere : l->plan.addresses;
    uint32_t count = any ? 2 : l->plan.address_count;
    int why = 0;
    l->port = port;
    for (uint32_t i = 0; i < count && why == 0; i++)
        if (!open_one(l, &at[i]) && errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL)
            why = errno;
    if (why == 0 && l->socket_count > 0)
        return true;
    close_sockets(l);
    errno = why ? why : any ? EAFNOSUPPORT : EADDRNOTAVAIL;
    return false;
}

static mlt_status no_port(const mlt_listen *l, char *why, size_t why_size)
{
    const mlt_iface_ports *ports = &l->plan.ports;
    if (ports->first == 0)
        return mlt_fail(MLT_ERR_SYSTEM, why, why_size, "cannot listen on any TCP port (%s)",
                        strerror(errno));
    return mlt_fail(MLT_ERR_SYSTEM, why, why_size, "cannot listen on any port of %u-%u (%s)",
                    ports->first, ports->last, strerror(errno));
}

// Begins at a random port of the range: otherwise each process of a host first tries all ports that
// earlier ones have.
static mlt_status open_port(mlt_listen *l, char *why, size_t why_size)
{
    const mlt_iface_ports *ports = &l->plan.ports;
    uint32_t count = ports->first ? ports->last - ports->first + 1u : FREE_PORTS, start = 0;
    if (mlt_os_random(&start, sizeof start) != MLT_OK)
        start = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t port = ports->first ? ports->first + (start % count + i) % count : 0;
        if (open_all(l, (uint16_t)port))
            return MLT_OK;
        if (errno != EADDRINUSE && errno != EACCES)
            break; // another port would not do either
    }
    return no_port(l, why, why_size);
}

mlt_status mlt_listen_new(mlt_listen **out, const mlt_listen_plan *plan, char *why, size_t why_size)
{
    mlt_listen *l = calloc(1, sizeof *l + plan->strangers * sizeof *l->strangers);
    *out = NULL;
    mlt_assert(plan->strangers > 0 && plan->address_count <= MLT_ADDRESSES);
    if (!l)
        return mlt_fail(MLT_ERR_NO_MEMORY, why, why_size, MLT_NO_ROOM "%u incoming connections",
                        plan->strangers);
    l->plan = *plan;
    l->epoll = mlt_os_epoll_new();
    l->spare = mlt_os_spare();
    mlt_status status = MLT_ERR_SYSTEM;
    if (l->epoll < 0 || l->spare < 0)
        snprintf(why, why_size, "no file descriptor for the listener (%s)", strerror(errno));
    else
        status = open_port(l, why, why_size);
    l->plan.addresses = NULL; // the caller's
    if (status != MLT_OK)
        mlt_listen_free(l);
    else
        *out = l;
    return status;
}

void mlt_listen_free(mlt_listen *l)
{
    if (!l)
        return;
    for (uint32_t i = 0; i < l->plan.strangers; i++)
        if (l->strangers[i].used)
            drop_stranger(l, &l->strangers[i]);
    close_sockets(l);
    mlt_os_close(l->epoll);
    mlt_os_close(l->spare);
    free(l);
}

uint16_t mlt_listen_port(const mlt_listen *l)
{
    return l->port;
}

const mlt_listen_counts *mlt_listen_count(const mlt_listen *l)
{
    return &l->counts;
}
