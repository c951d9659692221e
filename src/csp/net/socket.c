// SPDX-License-Identifier: BSD-3-Clause
// A connection is GREETING until both sides have said HELLO, then OPEN until it is lost, when it is
// freed; its route stays. One that this worker began may be PAUSING: it is tried again soon. One to
// another host is DIALLING until the other side has proven to be the one that was wanted.
//
//     begun here:   [PAUSING ->] [DIALLING ->] GREETING -> OPEN      the waiters get the route
//     accepted:                                GREETING -> OPEN      at most STRANGERS, for STRANGER_NS
//
// When two workers connect to each other at the same time, the connection that the one with the
// lower number began is the one: the other side says BUSY to whatever else comes from it.
//
// Loss is told from the background alone, never from inside a send: a broken connection ends, and
// its reader sees that end after everything that had arrived.
#include "csp/net/socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "csp/names/names.h"
#include "csp/net/far.h"
#include "csp/net/frame.h"
#include "csp/net/remote.h"
#include "csp/settings.h"
#include "csp/wait.h"
#include "fiber/await.h"
#include "fiber/io.h"
#include "net/outbox.h"
#include "os/fd.h"
#include "os/line.h"
#include "os/os.h"

enum {
    STRANGERS = 128,
    SCRATCH = 256 << 10, // bytes that one read takes
    ACCEPTS = 64,
    TRIES = 400,            // of a connection that the other side is busy for
    QUEUE_MOST = 256 << 20, // bytes that a peer has not taken
    FLUSH_MS = 2000,        // at the end, for a peer that takes nothing
    QUEUE_KEEP = 1 << 20,   // room that stays when a queue has become empty
};

#define STRANGER_NS       UINT64_C(5000000000)
#define SOCKET_SILENCE_NS UINT64_C(10000000000)
#define SOCKET_PAUSE_NS   UINT64_C(5000000)

typedef enum conn_state { PAUSING, DIALLING, GREETING, OPEN } conn_state;

typedef struct conn {
    mlt_list_node node; // of the worker
    struct sockets *of;
    int fd; // -1: PAUSING, DIALLING
    conn_state state;
    bool begun;                // here
    bool broken;               // nothing is sent any more; its end is to come
    mlt_dial *dial;            // DIALLING
    char at[MLT_ADDRESS_TEXT]; // to another host, whose address this is; there the key is proven
    uint32_t tries;
    mlt_endpoint to;       // begun here, or OPEN
    mlt_route *route;      // OPEN
    mlt_list_node waiters; // begun here
    mlt_io_watch reads, writes;
    mlt_timer timer;     // PAUSING: tries again; DIALLING: goes on; accepted and GREETING: gives up
    unsigned char *part; // what was read, but is not all there yet
    size_t part_bytes;
    mlt_outbox out;
} conn;

// A process that waits for a route, on its stack.
typedef struct waiter {
    mlt_list_node node;
    mlt_fiber *fiber;
    bool done;
    mlt_route *route; // NULL: the status and csp->why tell
    csp_status status;
} waiter;

typedef struct sockets {
    mlt_csp *csp;
    int listener; // -1: it does not listen
    mlt_io_watch accepts;
    mlt_timer pause; // when there are no descriptors left
    mlt_far far;     // of connections to other hosts; number 0: there are none yet
    mlt_listen *far_listener;
    mlt_io_watch far_accepts;
    mlt_timer far_due;
    mlt_list_node conns; // those that were accepted and have not greeted yet in order
    uint32_t strangers;
    unsigned char *scratch; // [SCRATCH + the longest frame]
} sockets;

static void accept_some(mlt_io_watch *w);
static void accept_again(mlt_timer *t);
static void reads(mlt_io_watch *w);
static void writes(mlt_io_watch *w);
static void times_out(mlt_timer *t);
static void far_accept(mlt_io_watch *w);
static void far_is_due(mlt_timer *t);
static bool socket_dial_on(conn *c);
static bool socket_say_hello(conn *c);

static sockets *sockets_of(mlt_csp *csp)
{
    mlt_remote *net = mlt_remote_of(csp);
    if (net->listener)
        return net->listener;
    sockets *s = mlt_xcalloc(1, sizeof *s);
    s->csp = csp;
    s->listener = -1;
    s->accepts.fire = accept_some;
    s->pause.fire = accept_again;
    s->far_accepts.fire = far_accept;
    s->far_due.fire = far_is_due;
    s->scratch = mlt_xcalloc(SCRATCH + mlt_socket_frame_room(MLT_SOCKET_FRAME_MOST), 1);
    mlt_list_init(&s->conns);
    net->listener = s;
    return s;
}

static bool socket_watch(conn *c, mlt_io_watch *w)
{
    w->fd = c->fd;
    return w->node.next || mlt_io_watch_start(c->of->csp->sched, w) == MLT_PENDING;
}

// ---- connections

static conn *conn_new(sockets *s, int fd, bool begun)
{
    conn *c = mlt_xcalloc(1, sizeof *c);
    c->of = s;
    c->fd = fd;
    c->begun = begun;
    c->state = begun ? PAUSING : GREETING;
    c->reads.fire = reads;
    c->writes.fire = writes;
    c->writes.writes = true;
    c->timer.fire = times_out;
    mlt_list_init(&c->waiters);
    mlt_list_push_back(&s->conns, &c->node);
    s->strangers += !begun;
    return c;
}

static void hang_up(conn *c)
{
    mlt_sched *sched = c->of->csp->sched;
    mlt_io_watch_stop(sched, &c->reads);
    mlt_io_watch_stop(sched, &c->writes);
    mlt_timer_stop(sched, &c->timer);
    mlt_dial_free(c->dial);
    c->dial = NULL;
    mlt_os_close_once(&c->fd);
    free(c->part);
    free(c->out.bytes);
    c->part = NULL;
    c->part_bytes = 0;
    c->out = (mlt_outbox){0};
}

static void conn_free(conn *c)
{
    hang_up(c);
    if (c->state == GREETING && !c->begun)
        c->of->strangers--;
    if (c->route)
        c->route->socket = NULL;
    mlt_list_remove(&c->node);
    free(c);
}

// All who wait for it go on.
static void socket_answer(conn *c, mlt_route *route, csp_status status)
{
    MLT_LIST_DRAIN(waiter, w, &c->waiters, node) {
        w->done = true;
        w->route = route;
        w->status = status;
        mlt_fiber_wake(c->of->csp->sched, w->fiber);
    }
}

// A connection that was begun here comes to nothing.
static void give_up(conn *c, csp_status status, const char *why)
{
    mlt_csp *csp = c->of->csp;
    mlt_csp_why(csp, "the program that has it cannot be reached: %s", why);
    socket_answer(c, NULL, status);
    conn_free(c);
}

// OPEN: tells everybody. Else: those that wait hear why.
static void socket_lose(conn *c, const char *why)
{
    mlt_route *route = c->route;
    if (c->state != OPEN) {
        if (c->begun)
            give_up(c, CSP_LOST, why);
        else
            conn_free(c);
        return;
    }
    conn_free(c);
    mlt_route_lose(route, why);
}

// ---- sending

// Nothing goes out any more. The end of the connection comes to the reader.
static void break_off(conn *c)
{
    c->broken = true;
    c->out.at = c->out.end = 0;
    mlt_io_watch_stop(c->of->csp->sched, &c->writes);
    mlt_os_line_end(c->fd);
}

static void socket_flush(conn *c)
{
    if (c->broken || mlt_outbox_flush(&c->out, c->fd, QUEUE_KEEP))
        return;
    c->broken = errno != EAGAIN;
    if (c->broken)
        c->out.at = c->out.end = 0;
    else if (!socket_watch(c, &c->writes))
        break_off(c);
}

static void writes(mlt_io_watch *w)
{
    socket_flush(mlt_container_of(w, conn, writes));
}

uint64_t mlt_socket_most(void)
{
    return MLT_SOCKET_FRAME_MOST;
}

void mlt_socket_send(mlt_route *route, const mlt_packet *packet, const void *data, uint64_t bytes)
{
    static const unsigned char zeros[MLT_SOCKET_FRAME_ALIGN];
    conn *c = route->socket;
    mlt_socket_frame head = mlt_socket_frame_of(packet, bytes);
    size_t whole = mlt_socket_frame_room(bytes), padding = whole - sizeof head - (size_t)bytes,
           sent = 0;
    if (!c || c->broken)
        return;
    const struct iovec parts[] = {{&head, sizeof head},
                                  {(void *)(uintptr_t)data, (size_t)bytes},
                                  {(void *)(uintptr_t)zeros, padding}};
    if (mlt_outbox_waits(&c->out) == 0) { // nothing waits before it
        ssize_t n = mlt_os_send_with(c->fd, parts, 3, -1, false);
        if (n < 0 && errno != EAGAIN) {
            c->broken = true; // what it sent before it went is still to be read, then its end
            return;
        }
        sent = n > 0 ? (size_t)n : 0;
        if (sent == whole)
            return;
    } else if (mlt_outbox_waits(&c->out) + whole > QUEUE_MOST) {
        break_off(c);
        return;
    }
    for (int i = 0; i < 3; i++) {
        size_t skip = sent < parts[i].iov_len ? sent : parts[i].iov_len;
        sent -= skip;
        mlt_outbox_add(&c->out, (const char *)parts[i].iov_base + skip, parts[i].iov_len - skip);
    }
    if (!socket_watch(c, &c->writes))
        break_off(c);
}

// ---- greetings

static void greet(conn *c, mlt_socket_greeting_verb verb, const char *text)
{
    mlt_csp *csp = c->of->csp;
    unsigned char bytes[MLT_SOCKET_GREETING_MOST];
    mlt_socket_greeting g = {.verb = (uint8_t)verb, .pid = (uint32_t)getpid()};
    snprintf(g.text, sizeof g.text, "%.*s", (int)sizeof g.text - 1, text);
    if (verb == MLT_SOCKET_GREETING_HELLO) {
        const unsigned char *key = mlt_names_key(csp, false);
        mlt_assert(key); // else it would not listen, and begin nothing
        if (!c->at[0])
            memcpy(g.key, key, sizeof g.key);
        g.from = *mlt_route_own(csp, false);
    }
    mlt_outbox_add(&c->out, bytes, mlt_socket_greeting_encode(&g, bytes));
    socket_flush(c);
}

static bool same_worker(const mlt_endpoint *a, const mlt_endpoint *b)
{
    return a->job == b->job && a->worker == b->worker;
}

static bool is_lower(const mlt_endpoint *a, const mlt_endpoint *b)
{
    return a->job != b->job ? a->job < b->job : a->worker < b->worker;
}

static conn *conn_to(sockets *s, const mlt_endpoint *to, bool open)
{
    MLT_LIST_EACH(conn, c, &s->conns, node)
        if ((open ? c->state == OPEN : c->begun && c->state != OPEN) && same_worker(&c->to, to))
            return c;
    return NULL;
}

static bool has_key(const conn *c, const mlt_socket_greeting *g)
{
    for (int again = 0; again < 2 && !c->at[0]; again++) { // a new server may have a new key
        const unsigned char *key = mlt_names_key(c->of->csp, again);
        if (key && mlt_names_same_key(key, g->key))
            return true;
    }
    return c->at[0] != '\0';
}

static void become_route(conn *c, const mlt_socket_greeting *g)
{
    mlt_route *route = mlt_xcalloc(1, sizeof *route);
    mlt_timer_stop(c->of->csp->sched, &c->timer);
    if (!c->begun)
        c->of->strangers--;
    c->to = g->from;
    c->state = OPEN;
    c->route = route;
    route->csp = c->of->csp;
    route->worker = UINT32_MAX;
    route->to = g->from;
    route->socket = c;
    mlt_list_init(&route->users);
    mlt_list_push_back(&mlt_remote_of(c->of->csp)->routes, &route->node);
    if (c->at[0])
        snprintf(route->who, sizeof route->who, "program %.30s (process %u at %.40s)", g->text,
                 g->pid, c->at);
    else
        snprintf(route->who, sizeof route->who, "program %.60s (process %u)", g->text, g->pid);
}

static void refuse(conn *c, mlt_socket_greeting_verb verb, const char *why)
{
    greet(c, verb, why);
    conn_free(c);
}

// Of an accepted one. True: it is a route now; else it is freed.
static bool hear_first(conn *c, const mlt_socket_greeting *g)
{
    sockets *s = c->of;
    conn *mine = conn_to(s, &g->from, false);
    if (g->verb != MLT_SOCKET_GREETING_HELLO || g->version != MLT_WIRE_VERSION) {
        refuse(c, MLT_SOCKET_GREETING_REFUSED, "it is of another version of Millet");
        return false;
    }
    if (!has_key(c, g)) {
        refuse(c, MLT_SOCKET_GREETING_REFUSED, "its name server has another key");
        return false;
    }
    if (conn_to(s, &g->from, true) ||
        (mine && mine->state == GREETING && is_lower(mlt_route_own(s->csp, false), &g->from))) {
        refuse(c, MLT_SOCKET_GREETING_BUSY, "");
        return false;
    }
    become_route(c, g);
    greet(c, MLT_SOCKET_GREETING_HELLO, program_invocation_name);
    if (mine) { // this one is the better one
        socket_answer(mine, c->route, CSP_OK);
        conn_free(mine);
    }
    return true;
}

static void try_again(conn *c)
{
    if (++c->tries > TRIES) {
        socket_lose(c, "it is always busy");
        return;
    }
    hang_up(c);
    c->state = PAUSING;
    mlt_timer_set(c->of->csp->sched, &c->timer, mlt_os_now_ns() + SOCKET_PAUSE_NS);
}

// Of one that was begun here. True: it is a route now.
static bool hear_second(conn *c, const mlt_socket_greeting *g)
{
    switch (g->verb) {
    case MLT_SOCKET_GREETING_BUSY: // the other one comes, or the end of an old one
        try_again(c);
        return false;
    case MLT_SOCKET_GREETING_REFUSED:
        give_up(c, CSP_REFUSED, g->text);
        return false;
    }
    if (g->version != MLT_WIRE_VERSION)
        give_up(c, CSP_REFUSED, "it is of another version of Millet");
    else if (!has_key(c, g))
        give_up(c, CSP_REFUSED, "its name server has another key");
    else if (!same_worker(&g->from, &c->to))
        socket_lose(c, "its program has ended, and another one listens in its place");
    else {
        become_route(c, g);
        socket_answer(c, c->route, CSP_OK);
        return true;
    }
    return false;
}

// ---- receiving

// The greeting among these bytes. How many it took; -1: the connection is over, or tried anew.
static int64_t take_greeting(conn *c, const unsigned char *in, size_t bytes)
{
    mlt_socket_greeting g;
    int n = mlt_socket_greeting_decode(in, bytes, &g);
    if (n == 0)
        return 0;
    if (n < 0 && c->begun)
        socket_lose(c, "what listens there is no program of Millet");
    else if (n < 0)
        refuse(c, MLT_SOCKET_GREETING_REFUSED, "it says what nobody understands");
    else if (c->begun ? hear_second(c, &g) : hear_first(c, &g))
        return n;
    return -1;
}

// Frames must be aligned; what follows a greeting is not.
static int64_t take_frames(conn *c, unsigned char *in, size_t bytes)
{
    size_t at = 0;
    for (;;) {
        mlt_packet packet;
        const unsigned char *data;
        uint64_t data_bytes;
        int64_t n = mlt_socket_frame_decode(in + at, bytes - at, &packet, &data, &data_bytes);
        if (n == 0)
            return (int64_t)at;
        // Names and groups are a job's own business.
        if (n < 0 || packet.kind >= MLT_PACKET_CHAN + MLT_PACKET_RANGE) {
            socket_lose(c, "it says what nobody understands");
            return -1;
        }
        at += (size_t)n;
        mlt_route_arrived(c->route, &packet, data, data_bytes);
        if (c->route->lost) { // it said something wrong
            conn_free(c);
            return -1;
        }
    }
}

// Handles what is there, keeps the rest. False: the connection is over, or tried anew.
static bool take_in(conn *c, unsigned char *in, size_t bytes)
{
    int64_t n;
    if (c->state == GREETING) {
        n = take_greeting(c, in, bytes);
        if (n < 0)
            return false;
        bytes -= (size_t)n;
        memmove(in, in + n, bytes);
    }
    if (c->state == OPEN) {
        n = take_frames(c, in, bytes);
        if (n < 0)
            return false;
        bytes -= (size_t)n;
        in += n;
    }
    if (bytes > 0) {
        c->part = mlt_xrealloc(c->part, bytes, 1);
        memcpy(c->part, in, bytes);
    }
    c->part_bytes = bytes;
    return true;
}

static void read_some(conn *c)
{
    unsigned char *in = c->of->scratch;
    size_t part = c->part_bytes;
    if (part)
        memcpy(in, c->part, part);
    ssize_t n = mlt_os_line_read(c->fd, in + part, SCRATCH);
    if (n > 0) {
        if (!take_in(c, in, part + (size_t)n))
            return;
    } else if (n == 0 || errno != EAGAIN) {
        if (c->state == GREETING && c->begun)
            try_again(c); // it has ended, which the next try tells, or had no room
        else
            socket_lose(c, "its program has ended");
        return;
    }
    if (!socket_watch(c, &c->reads))
        socket_lose(c, "the system does not let this program wait for it");
}

static void reads(mlt_io_watch *w)
{
    conn *c = mlt_container_of(w, conn, reads);
    if (c->state == DIALLING)
        (void)socket_dial_on(c);
    else
        read_some(c);
}

// ---- connecting

// Of connections to other hosts. False: why tells.
static bool far_ready(sockets *s, char *why, size_t why_size)
{
    const unsigned char *key = mlt_names_key(s->csp, false);
    return s->far.number != 0 || mlt_far_begin(&s->far, key, 0, why, why_size) == MLT_OK;
}

static bool begin_far(conn *c)
{
    char why[256];
    if (!c->to.far.port) {
        give_up(c, CSP_REFUSED,
                "it is on another host, and its name server does not listen for other hosts "
                "(millet names start --listen)");
        return false;
    }
    if (!far_ready(c->of, why, sizeof why) ||
        mlt_far_dial(&c->of->far, &c->to.far, &c->dial, why, sizeof why) != MLT_OK) {
        socket_lose(c, why);
        return false;
    }
    c->state = DIALLING;
    return socket_dial_on(c);
}

static bool is_here(const mlt_endpoint *to)
{
    return to->far.host == 0 || to->far.host == mlt_far_here();
}

// Connects and says HELLO. False: it came to nothing, and is freed.
static bool socket_begin(conn *c)
{
    if (!is_here(&c->to))
        return begin_far(c);
    c->fd = mlt_os_line_connect(c->to.socket);
    if (c->fd < 0 && errno == EAGAIN) { // many connect at once
        try_again(c);
        return true;
    }
    if (c->fd < 0 && errno == ECONNREFUSED && c->to.far.port)
        return begin_far(c); // this host has several networks, and it is in another one
    if (c->fd < 0) {
        socket_lose(c, errno == ECONNREFUSED || errno == ENOENT ? "its program has ended"
                                                                : strerror(errno));
        return false;
    }
    if (!mlt_os_line_own(c->fd, NULL)) {
        socket_lose(c, "another user listens in its place");
        return false;
    }
    return socket_say_hello(c);
}

// A dial goes on, until the one that was wanted is there.
static bool socket_dial_on(conn *c)
{
    mlt_sched *sched = c->of->csp->sched;
    mlt_net_peer peer;
    char why[400];
    mlt_status status = mlt_dial_step(c->dial, mlt_os_now_ns(), &peer);
    if (status == MLT_PENDING) {
        mlt_poll poll = mlt_dial_poll(c->dial);
        c->reads.fd = poll.fd;
        mlt_timer_set(sched, &c->timer, poll.deadline_ns);
        if (c->reads.node.next || mlt_io_watch_start(sched, &c->reads) == MLT_PENDING)
            return true;
        socket_lose(c, "the system does not let this program wait for it");
        return false;
    }
    mlt_timer_stop(sched, &c->timer);
    mlt_io_watch_stop(sched, &c->reads);
    if (status != MLT_OK) {
        mlt_far_tell(c->dial, why, sizeof why);
        socket_lose(c, is_here(&c->to) ? "its program has ended" : why);
        return false;
    }
    mlt_dial_free(c->dial);
    c->dial = NULL;
    c->fd = peer.fd;
    (void)mlt_address_text(c->at, &peer.address, 0);
    return socket_say_hello(c);
}

static bool socket_say_hello(conn *c)
{
    c->state = GREETING;
    c->broken = false;
    greet(c, MLT_SOCKET_GREETING_HELLO, program_invocation_name);
    if (socket_watch(c, &c->reads))
        return true;
    socket_lose(c, "the system does not let this program wait for it");
    return false;
}

static void times_out(mlt_timer *t)
{
    conn *c = mlt_container_of(t, conn, timer);
    if (!c->begun) {
        refuse(c, MLT_SOCKET_GREETING_REFUSED, "it said nothing, or half of it");
        return;
    }
    if (c->state == DIALLING) {
        (void)socket_dial_on(c);
        return;
    }
    conn *open = conn_to(c->of, &c->to, true);
    if (open) { // the other side was faster
        socket_answer(c, open->route, CSP_OK);
        conn_free(c);
    } else
        (void)socket_begin(c);
}

mlt_route *mlt_socket_to(mlt_csp *csp, const mlt_endpoint *to, csp_time deadline,
                         csp_status *status)
{
    sockets *s = sockets_of(csp);
    mlt_deadline late;
    mlt_csp_wait wait;
    conn *c = conn_to(s, to, true);
    *status = CSP_OK;
    if (c)
        return c->route;
    *status = CSP_REFUSED;
    if (!to->socket[0]) {
        mlt_csp_why(csp, "the program that has it cannot be reached from outside of its job");
        return NULL;
    }
    if (!mlt_names_key(csp, false))
        return NULL;
    waiter w = {.fiber = csp->sched->current};
    c = conn_to(s, to, false);
    bool fresh = !c;
    if (fresh) {
        c = conn_new(s, -1, true);
        c->to = *to;
    }
    mlt_list_push_waiter(&c->waiters, &w.node);
    if (fresh)
        (void)socket_begin(c); // if that fails, the waiter is told
    const mlt_wait *what = mlt_csp_wait_for(&wait, "csp_find", MLT_CSP_NAME, to->socket, 0);
    // A caller that does not wait for a name still waits for the program that has it to answer.
    mlt_deadline_begin(csp->sched, &late,
                       deadline == CSP_AT_ONCE ? (csp_time)(mlt_os_now_ns() + SOCKET_SILENCE_NS)
                                               : deadline);
    while (!w.done && !late.passed)
        mlt_fiber_park(csp->sched, what);
    mlt_deadline_end(&late);
    if (w.done) {
        *status = w.status;
        return w.route;
    }
    mlt_list_remove(&w.node); // the connection is made anyway, for the next that wants it
    *status = CSP_LATE;
    mlt_csp_why(csp, "the program that has it has not answered in time");
    return NULL;
}

// ---- listening

static void accept_one(sockets *s, int fd, const mlt_net_peer *far)
{
    conn *c = conn_new(s, fd, false);
    if (s->strangers > STRANGERS)
        MLT_LIST_EACH(conn, oldest, &s->conns, node) {
            if (oldest->begun || oldest->state != GREETING)
                continue;
            refuse(oldest, MLT_SOCKET_GREETING_REFUSED, "too many connections say nothing");
            break;
        }
    if (far)
        (void)mlt_address_text(c->at, &far->address, 0);
    else if (!mlt_os_line_own(fd, NULL)) {
        refuse(c, MLT_SOCKET_GREETING_REFUSED, "this is another user's program");
        return;
    }
    mlt_timer_set(s->csp->sched, &c->timer, mlt_os_now_ns() + STRANGER_NS);
    read_some(c);
}

static void accept_again(mlt_timer *t)
{
    sockets *s = mlt_container_of(t, sockets, pause);
    accept_some(&s->accepts);
}

static void accept_some(mlt_io_watch *w)
{
    sockets *s = mlt_container_of(w, sockets, accepts);
    for (int i = 0; i < ACCEPTS; i++) {
        int fd = mlt_os_line_accept(s->listener);
        if (fd >= 0) {
            accept_one(s, fd, NULL);
            continue;
        }
        if (errno == EAGAIN)
            break;
        // No descriptors, or no memory: those that are there go on, others wait.
        mlt_timer_set(s->csp->sched, &s->pause, mlt_os_now_ns() + 20 * SOCKET_PAUSE_NS);
        return;
    }
    if (mlt_io_watch_start(s->csp->sched, &s->accepts) != MLT_PENDING)
        mlt_timer_set(s->csp->sched, &s->pause, mlt_os_now_ns() + 20 * SOCKET_PAUSE_NS);
}

// Programs of other hosts that have proven the key.
static void far_accept_some(sockets *s)
{
    mlt_net_peer peer;
    for (int i = 0; i < ACCEPTS; i++) {
        if (mlt_listen_step(s->far_listener, mlt_os_now_ns(), &peer) != MLT_OK)
            break;
        accept_one(s, peer.fd, &peer);
    }
    mlt_poll poll = mlt_listen_poll(s->far_listener);
    s->far_accepts.fd = poll.fd;
    uint64_t due = poll.deadline_ns;
    if (!s->far_accepts.node.next &&
        mlt_io_watch_start(s->csp->sched, &s->far_accepts) != MLT_PENDING)
        due = mlt_os_now_ns() + 20 * SOCKET_PAUSE_NS;
    if (due != MLT_POLL_FOREVER)
        mlt_timer_set(s->csp->sched, &s->far_due, due);
    else
        mlt_timer_stop(s->csp->sched, &s->far_due);
}

static void far_accept(mlt_io_watch *w)
{
    far_accept_some(mlt_container_of(w, sockets, far_accepts));
}

static void far_is_due(mlt_timer *t)
{
    far_accept_some(mlt_container_of(t, sockets, far_due));
}

static bool far_listen(sockets *s, mlt_endpoint *own)
{
    mlt_csp *csp = s->csp;
    char why[256];
    const mlt_csp_conf *conf = &mlt_csp_conf_now;
    if (far_ready(s, why, sizeof why) &&
        mlt_far_listen(&s->far, conf->names_iface, conf->names_ports, 0, &s->far_listener,
                       &own->far, why, sizeof why) == MLT_OK) {
        far_accept_some(s);
        return true;
    }
    return mlt_csp_why(csp, "programs of other hosts cannot be listened to: %s", why);
}

// Listens no more.
static void deafen(sockets *s)
{
    mlt_io_watch_stop(s->csp->sched, &s->accepts);
    mlt_timer_stop(s->csp->sched, &s->pause);
    mlt_os_close_once(&s->listener);
    mlt_io_watch_stop(s->csp->sched, &s->far_accepts);
    mlt_timer_stop(s->csp->sched, &s->far_due);
    mlt_listen_free(s->far_listener);
    s->far_listener = NULL;
}

bool mlt_socket_listen(mlt_csp *csp, mlt_endpoint *own)
{
    sockets *s = sockets_of(csp);
    unsigned char random[16];
    if (s->listener >= 0)
        return true;
    if (!mlt_names_key(csp, false))
        return false;
    if (mlt_os_random(random, sizeof random) != MLT_OK)
        return mlt_csp_why(csp, "the system gives no random bytes: %s", strerror(errno));
    int n = snprintf(own->socket, sizeof own->socket, "@millet-");
    for (size_t i = 0; i < sizeof random; i++)
        n += snprintf(own->socket + n, sizeof own->socket - (size_t)n, "%02x", random[i]);
    own->far = (mlt_far_place){.host = mlt_far_here()};
    s->listener = s->accepts.fd = mlt_os_line_listen(own->socket);
    bool good = s->listener >= 0 && mlt_io_watch_start(csp->sched, &s->accepts) == MLT_PENDING;
    if (!good)
        mlt_csp_why(csp, "other programs cannot be listened to: %s", strerror(errno));
    if (good && (!mlt_names_listens(csp) || far_listen(s, own)))
        return true;
    deafen(s);
    own->socket[0] = '\0';
    return false;
}

// ---- the end

// Nothing else runs any more, so blocking is right.
static void say_the_rest(conn *c)
{
    while (!c->broken && !mlt_outbox_flush(&c->out, c->fd, QUEUE_KEEP))
        if (errno != EAGAIN || !mlt_os_line_wait(c->fd, true, FLUSH_MS))
            break;
}

void mlt_socket_flush(mlt_csp *csp)
{
    sockets *s = csp->net ? csp->net->listener : NULL;
    if (!s)
        return;
    MLT_LIST_EACH(conn, c, &s->conns, node) {
        if (c->state != OPEN)
            continue;
        mlt_route_say_bye(c->route);
        say_the_rest(c);
    }
}

void mlt_socket_end(mlt_csp *csp)
{
    sockets *s = csp->net ? csp->net->listener : NULL;
    if (!s)
        return;
    mlt_socket_flush(csp);
    csp->net->listener = NULL;
    MLT_LIST_DRAIN(conn, c, &s->conns, node)
        conn_free(c);
    MLT_LIST_EACH_SAFE(mlt_route, route, &csp->net->routes, node)
        if (route->worker == UINT32_MAX) {
            mlt_list_remove(&route->node);
            free(route->parts);
            free(route);
        }
    deafen(s);
    free(s->scratch);
    free(s);
}
