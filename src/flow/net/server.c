// SPDX-License-Identifier: BSD-3-Clause
#include "flow/net/server.h"

#include <errno.h>
#include <millet/csp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "base/log.h"
#include "base/memory.h"
#include "flow/net/socket.h"
#include "flow/run.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/tcp.h"

enum {
    EVENTS = 64,
    SCRATCH = 64 << 10,   // bytes that are read at once
    FIRST_ROOM = 512,     // for what is left of them: doubles
    SLOW = 64 << 10,      // so many bytes of replies wait: the client is not read from
    STUCK = 16 << 20,     // it is disconnected
    GONE_MS = 120000,     // a host that does not answer for so long
    OWN_DESCRIPTORS = 64, // beside those of clients
};
#define LOOK_NS     (MLT_FLOW_SECOND / 4) // how often it looks who lingers
#define FINISH_NS   (5 * MLT_FLOW_SECOND) // for a client to take the last replies
#define OF_LISTENER UINT64_MAX
#define OF_ASKED    (UINT64_MAX - 1)
#define OF_DOORBELL (UINT64_MAX - 2)

typedef struct client {
    uint64_t number;
    int fd;
    uint32_t events; // what epoll tells of it
    bool ended;      // it sends no more
    bool finished;   // nothing more of it is wanted: what waits goes out, then nothing
    bool shut;       // and that was told to it
    bool gone;       // closed; its memory is, too, at the next turn
    uint64_t open;   // lines without a reply
    csp_time since;  // ended or finished: when something happened last; 0: neither
    char *in;        // the beginning of an element
    size_t in_held, in_room;
    char *out; // replies that the socket did not take yet
    size_t out_first, out_end, out_room;
    struct client *next; // of those that are gone
} client;

typedef struct server {
    mlt_flow_net *my;
    const mlt_flow_framing *framing;
    bool replies;
    int listener, epoll, doorbell;
    bool accepts;    // the listener is in epoll
    bool stopping;   // nothing more is read
    bool no_replies; // no more will come
    bool told_crowd, told_fault;
    client **clients; // by number modulo `rows`, a power of two, at least twice as many as may be
    uint64_t rows, last;
    long most, serve, accepted;
    uint32_t connected, lingering;
    int64_t idle_ns, linger_ns;
    csp_time alone_since, accepts_again;
    client *gone;
    char *scratch;
} server;

static csp_time soon(csp_time a, csp_time b)
{
    return a < b ? a : b;
}

// ---- clients

static client *client_of(const server *s, uint64_t number)
{
    client *c = s->clients[number & (s->rows - 1)];
    return c && c->number == number && !c->gone ? c : NULL;
}

static void lose(server *s, client *c)
{
    if (c->gone)
        return;
    c->gone = true;
    mlt_os_close_once(&c->fd);
    s->lingering -= c->since != 0;
    if (--s->connected == 0)
        s->alone_since = csp_now();
    c->next = s->gone;
    s->gone = c;
    mlt_os_eventfd_ring(s->doorbell);
}

static void bury(server *s)
{
    for (client *c; (c = s->gone);) {
        s->gone = c->next;
        s->clients[c->number & (s->rows - 1)] = NULL;
        free(c->in);
        free(c->out);
        free(c);
    }
}

static void note_since(server *s, client *c)
{
    s->lingering += c->since == 0;
    c->since = csp_now();
}

// What epoll tells of it, by its state.
static void watch_client(server *s, client *c)
{
    size_t waiting = c->out_end - c->out_first;
    bool reads = !c->ended && (c->finished || (!s->stopping && waiting < SLOW));
    uint32_t events = (reads ? EPOLLIN : 0u) | (waiting ? EPOLLOUT : 0u);
    if (events == c->events)
        return;
    c->events = events;
    if (mlt_os_epoll_change(s->epoll, c->fd, events, c->number) != 0)
        lose(s, c);
}

// Writes what the socket takes, and ends the connection if all is done.
static void drain(server *s, client *c)
{
    while (!c->gone && c->out_first < c->out_end) {
        ssize_t n = mlt_os_try_write(c->fd, c->out + c->out_first, c->out_end - c->out_first);
        if (n > 0)
            c->out_first += (size_t)n;
        else if (errno == EAGAIN)
            break;
        else if (errno != EINTR)
            lose(s, c);
    }
    if (c->gone)
        return;
    if (c->out_first == c->out_end) {
        free(c->out);
        c->out = NULL;
        c->out_first = c->out_end = c->out_room = 0;
        if (c->ended && (c->finished || c->open == 0 || s->no_replies)) {
            lose(s, c);
            return;
        }
        // Closing now, with bytes unread, would reset the connection and lose what was sent last.
        if (c->finished && !c->shut) {
            c->shut = true;
            mlt_os_tcp_finish(c->fd);
        }
    }
    watch_client(s, c);
}

static void finish(server *s, client *c)
{
    c->finished = true;
    note_since(s, c);
    drain(s, c);
}

static void queue_out(server *s, client *c, const char *text, size_t bytes)
{
    if (c->out_first > 0 && c->out_end + bytes > c->out_room) {
        memmove(c->out, c->out + c->out_first, c->out_end - c->out_first);
        c->out_end -= c->out_first;
        c->out_first = 0;
    }
    if (c->out_end + bytes > STUCK) {
        lose(s, c);
        return;
    }
    if (c->out_end + bytes > c->out_room) {
        c->out_room = 2 * (c->out_end + bytes);
        c->out = mlt_xrealloc(c->out, c->out_room, 1);
    }
    memcpy(c->out + c->out_end, text, bytes);
    c->out_end += bytes;
}

// Strangers may do this as often as they like, so it is told once.
static void refuse(server *s, client *c, const char *what)
{
    if (!s->told_fault) {
        mlt_flow_address from = {.length = sizeof from.at};
        if (getpeername(c->fd, (struct sockaddr *)&from.at, &from.length) == 0)
            mlt_flow_net_address(&from);
        MLT_FLOW_NET_LOG(s->my, "disconnects %s, which sent %s (others like it are not told)",
                         *from.text ? from.text : "a client", what);
    }
    s->told_fault = true;
    if (s->replies) {
        queue_out(s, c, "error: ", strlen("error: "));
        queue_out(s, c, what, strlen(what));
        queue_out(s, c, "\n", 1);
        if (!c->gone)
            finish(s, c);
    } else {
        lose(s, c);
    }
}

// ---- what comes

// Sends an element; waits while there is no room.
static void deliver_one(server *s, client *c, const mlt_flow_cut *cut)
{
    flow_queue *out = s->my->out;
    bool taken;
    if (s->replies) {
        size_t room = (cut->bytes / sizeof(flow_line) + 1) * sizeof(flow_line); // a NUL at least
        flow_line *line = flow_queue_new(out, 1, sizeof *line + room);
        line->client = c->number;
        memcpy(line->text, cut->data, cut->bytes);
        memset(line->text + cut->bytes, 0, room - cut->bytes);
        c->open++;
        taken = flow_queue_give(out, line, FLOW_ANY, sizeof *line, 1 + room / sizeof *line);
    } else {
        bool text = s->framing->frame == MLT_FLOW_FRAME_LINES;
        char *data = flow_queue_new(out, 1, cut->bytes + text);
        memcpy(data, cut->data, cut->bytes);
        if (text)
            data[cut->bytes] = '\0';
        taken = flow_queue_give(out, data, text ? FLOW_CHAR : FLOW_ANY, 1, cut->bytes + text);
    }
    s->stopping |= !taken;
}

// Sends the whole elements of these bytes. Returns how many bytes they were.
static size_t deliver_all(server *s, client *c, const char *at, size_t bytes)
{
    size_t used = 0;
    char why[120];
    mlt_flow_cut cut;
    while (!c->gone && !c->finished && !s->stopping && used < bytes) {
        mlt_status status =
            mlt_flow_frame_cut(s->framing, at + used, bytes - used, &cut, why, sizeof why);
        if (status == MLT_PENDING)
            break;
        if (status != MLT_OK) {
            refuse(s, c, why);
            break;
        }
        deliver_one(s, c, &cut);
        used += cut.used;
    }
    return used;
}

// Where the next bytes go: behind the beginning of an element, or where all clients' go.
static char *room_for(const server *s, client *c, size_t *room)
{
    if (c->in_held == 0 || c->finished) { // what it still sends is dropped
        *room = SCRATCH;
        return s->scratch;
    }
    if (c->in_held == c->in_room) {
        c->in_room *= 2;
        c->in = mlt_xrealloc(c->in, c->in_room, 1);
    }
    *room = c->in_room - c->in_held;
    return c->in + c->in_held;
}

// Keeps what is left of `bytes` bytes.
static void keep_rest(client *c, const char *at, size_t used, size_t bytes)
{
    size_t left = bytes - used;
    if (left == 0) {
        free(c->in);
        c->in = NULL;
        c->in_room = c->in_held = 0;
        return;
    }
    if (!c->in) {
        c->in_room = FIRST_ROOM;
        while (c->in_room < left)
            c->in_room *= 2;
        c->in = mlt_xcalloc(c->in_room, 1);
    }
    memmove(c->in, at + used, left);
    c->in_held = left;
}

static void end_of_client(server *s, client *c)
{
    // An element that was begun is dropped: nobody knows whether it is whole.
    c->ended = true;
    note_since(s, c);
    if (!s->replies)
        lose(s, c);
    else
        drain(s, c);
}

static void read_client(server *s, client *c)
{
    size_t room;
    char *to = room_for(s, c, &room);
    ssize_t n = mlt_os_try_read(c->fd, to, room);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0) {
        lose(s, c);
        return;
    }
    if (n == 0) {
        end_of_client(s, c);
        return;
    }
    if (c->finished)
        return;
    const char *at = c->in_held ? c->in : s->scratch;
    size_t bytes = c->in_held + (size_t)n;
    size_t used = deliver_all(s, c, at, bytes);
    if (!c->gone && !c->finished)
        keep_rest(c, at, used, bytes);
    if (!c->gone)
        watch_client(s, c);
}

// ---- who comes

static void accept_or_not(server *s, bool accepts)
{
    if (s->accepts == accepts || s->listener < 0)
        return;
    s->accepts = accepts;
    if (accepts)
        (void)!mlt_os_epoll_add(s->epoll, s->listener, EPOLLIN, OF_LISTENER);
    else
        (void)!mlt_os_epoll_remove(s->epoll, s->listener);
}

static void tell_crowd(server *s, const char *why)
{
    if (!s->told_crowd)
        MLT_FLOW_NET_LOG(s->my, "has %u clients, and no room for more until one leaves: %s",
                         s->connected, why);
    s->told_crowd = true;
}

static void add_client(server *s, int fd)
{
    do
        s->last++;
    while (s->clients[s->last & (s->rows - 1)]);
    client *c = mlt_xcalloc(1, sizeof *c);
    *c = (client){.number = s->last, .fd = fd, .events = EPOLLIN};
    s->clients[c->number & (s->rows - 1)] = c;
    s->connected++;
    s->accepted++;
    (void)!mlt_os_tcp_tune(fd, GONE_MS);
    if (mlt_os_epoll_add(s->epoll, fd, c->events, c->number) != 0)
        lose(s, c);
}

static void accept_clients(server *s)
{
    struct sockaddr_storage from;
    while (s->accepts) {
        if (s->serve && s->accepted >= s->serve) {
            accept_or_not(s, false);
            return;
        }
        if (s->connected >= s->most) {
            tell_crowd(s, "`clients` says so");
            accept_or_not(s, false);
            return;
        }
        int fd = mlt_os_tcp_accept(s->listener, &from);
        if (fd >= 0) {
            add_client(s, fd);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            tell_crowd(s, mlt_os_no_descriptor(errno));
            s->accepts_again = csp_now() + LOOK_NS;
            accept_or_not(s, false);
        } else if (errno != ECONNABORTED && errno != EINTR) {
            return;
        }
    }
}

// ---- replies

static void reply(server *s, const flow_line *line, size_t count)
{
    client *c = client_of(s, line->client);
    if (!c || c->finished)
        return; // it has left meanwhile
    if (count == 1) {
        finish(s, c);
        return;
    }
    size_t bytes = strnlen(line->text, (count - 1) * sizeof *line);
    bool waits = c->out_end > c->out_first;
    queue_out(s, c, line->text, bytes);
    if (!c->gone && (bytes == 0 || line->text[bytes - 1] != '\n'))
        queue_out(s, c, "\n", 1);
    c->open -= c->open > 0;
    if (c->gone)
        return;
    if (c->since)
        c->since = csp_now();
    if (waits)
        watch_client(s, c);
    else
        drain(s, c);
}

static int take_replies(void *arg)
{
    server *s = arg;
    const void *data;
    size_t count;
    while (flow_queue_dequeue(s->my->in, &data, FLOW_ANY, sizeof(flow_line), &count, true))
        if (count > 0)
            reply(s, data, count);
    s->no_replies = true;
    mlt_os_eventfd_ring(s->doorbell);
    return 0;
}

// ---- turns

static void handle(server *s, const struct epoll_event *e)
{
    if (e->data.u64 == OF_LISTENER) {
        accept_clients(s);
    } else if (e->data.u64 == OF_ASKED) {
        s->stopping = true;
    } else if (e->data.u64 == OF_DOORBELL) {
        mlt_os_eventfd_drain(s->doorbell);
    } else {
        client *c = client_of(s, e->data.u64);
        if (c && e->events & EPOLLIN && c->events & EPOLLIN)
            read_client(s, c);
        if (c && !c->gone && e->events & (EPOLLERR | EPOLLHUP) && !(c->events & EPOLLIN))
            lose(s, c);
        if (c && !c->gone && e->events & EPOLLOUT)
            drain(s, c);
    }
}

// Those that have not done what they should, for long enough.
static void end_lingering(server *s)
{
    csp_time now = csp_now();
    for (uint64_t i = 0; i < s->rows && s->lingering > 0; i++) {
        client *c = s->clients[i];
        if (c && !c->gone && c->since && now - c->since > (c->finished ? FINISH_NS : s->linger_ns))
            lose(s, c);
    }
}

// Waits until something happens, or the time has come, and handles it.
static void turn(server *s, csp_time deadline)
{
    struct epoll_event events[EVENTS];
    if (s->lingering > 0)
        deadline = soon(deadline, csp_now() + LOOK_NS);
    csp_guard guards[] = {csp_on_readable(s->epoll), csp_on_time(deadline)};
    (void)csp_pri_alt(guards, 2);
    csp_yield(); // those who take what has come
    int n = mlt_os_epoll_wait(s->epoll, events, EVENTS, 0);
    for (int i = 0; i < n; i++)
        handle(s, &events[i]);
    if (s->lingering > 0)
        end_lingering(s);
    bury(s);
}

static bool is_over(const server *s)
{
    if (s->stopping)
        return true;
    if (s->connected > 0)
        return false;
    return (s->serve && s->accepted >= s->serve) ||
           (s->idle_ns && csp_now() - s->alone_since >= s->idle_ns);
}

// ---- begin and end

// A client is a descriptor: the system's soft limit is raised as far as it may be.
static void allow_descriptors(long clients)
{
    struct rlimit limit;
    rlim_t want = (rlim_t)clients + OWN_DESCRIPTORS;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= want)
        return;
    limit.rlim_cur = limit.rlim_max < want ? limit.rlim_max : want;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static void begin(server *s)
{
    mlt_flow_net *my = s->my;
    s->most = mlt_flow_net_number(my, "clients");
    s->serve = mlt_flow_net_number(my, "serve");
    s->idle_ns = mlt_flow_net_number(my, "idle") * MLT_FLOW_SECOND;
    s->linger_ns = s->replies ? mlt_flow_net_number(my, "linger") * MLT_FLOW_SECOND : 0;
    for (s->rows = EVENTS; s->rows < 2 * (uint64_t)s->most;)
        s->rows *= 2;
    s->clients = mlt_xcalloc(s->rows, sizeof *s->clients);
    s->scratch = mlt_xcalloc(SCRATCH, 1);
    allow_descriptors(s->most);
    int asked = mlt_flow_net_asked(); // before anybody hears of the port
    s->listener = mlt_flow_net_listen(my, SOCK_STREAM);
    s->epoll = mlt_os_epoll_new();
    s->doorbell = mlt_os_eventfd_new();
    if (s->epoll < 0 || s->doorbell < 0 ||
        mlt_os_epoll_add(s->epoll, s->doorbell, EPOLLIN, OF_DOORBELL) != 0 ||
        (asked >= 0 && mlt_os_epoll_add(s->epoll, asked, EPOLLIN, OF_ASKED) != 0))
        mlt_flow_fault(my->flow.instance, "it cannot wait for clients: %s", strerror(errno));
    s->alone_since = csp_now();
    accept_or_not(s, true);
}

// Nothing more is read, and nobody comes.
static void stop(server *s)
{
    int asked = mlt_flow_net_asked();
    s->stopping = true;
    accept_or_not(s, false);
    mlt_os_close_once(&s->listener);
    if (asked >= 0) // it stays readable
        (void)!mlt_os_epoll_remove(s->epoll, asked);
    for (uint64_t i = 0; i < s->rows; i++)
        if (s->clients[i] && !s->clients[i]->gone)
            watch_client(s, s->clients[i]);
    mlt_flow_net_end_output(s->my);
}

static bool any_waits(const server *s)
{
    for (uint64_t i = 0; i < s->rows; i++)
        if (s->clients[i] && !s->clients[i]->gone &&
            s->clients[i]->out_first < s->clients[i]->out_end)
            return true;
    return false;
}

// All replies have come: those who have theirs go at once, others when they have taken them.
static void finish_all(server *s)
{
    csp_time now = csp_now(), deadline = now + FINISH_NS, grace = now + LOOK_NS;
    for (uint64_t i = 0; i < s->rows; i++)
        if (s->clients[i] && !s->clients[i]->gone && !s->clients[i]->finished)
            finish(s, s->clients[i]);
    while (s->connected > 0 && now < deadline && (now < grace || any_waits(s))) {
        turn(s, now < grace ? grace : soon(deadline, now + LOOK_NS));
        now = csp_now();
    }
    for (uint64_t i = 0; i < s->rows; i++)
        if (s->clients[i])
            lose(s, s->clients[i]);
    bury(s);
}

void mlt_flow_net_serve(mlt_flow_net *my, const mlt_flow_framing *framing, bool replies)
{
    server s = {.my = my, .framing = framing, .replies = replies, .no_replies = !replies};
    csp_child *child = NULL;
    begin(&s);
    if (replies) {
        child = csp_fork(take_replies, &s, my->flow.name);
    }
    while (!is_over(&s)) {
        csp_time until = s.idle_ns && s.connected == 0 ? s.alone_since + s.idle_ns : CSP_NEVER;
        bool room = s.connected < s.most && !(s.serve && s.accepted >= s.serve);
        bool waits = s.accepts_again && csp_now() < s.accepts_again;
        accept_or_not(&s, room && !waits);
        turn(&s, waits ? soon(until, s.accepts_again) : until);
    }
    stop(&s);
    while (!s.no_replies)
        turn(&s, CSP_NEVER);
    finish_all(&s);
    if (child)
        (void)csp_join(child);
    mlt_os_close(s.epoll);
    mlt_os_close(s.doorbell);
    free(s.clients);
    free(s.scratch);
}
