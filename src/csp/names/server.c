// SPDX-License-Identifier: BSD-3-Clause
// A worker's connection to the name server. Processes ask and park; what comes over the connection
// is handled in the background, when its descriptor is ready.
//
// The server may be killed and started again. Then everything that the worker registered is
// registered anew, and what processes still wait for is asked anew: at once if the server is there,
// else it is tried again and again; requests are given up after GRACE_NS. While nothing is
// registered and nobody waits, the connection is not watched: it is no reason to believe that
// something may still happen to this worker.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "csp/names/names.h"
#include "csp/names/names_int.h"
#include "csp/net/remote.h"
#include "csp/wait.h"
#include "fiber/await.h"
#include "os/fd.h"
#include "os/line.h"
#include "os/os.h"

#define GRACE_NS          UINT64_C(5000000000)  // for a server that was there, to come back
#define SERVER_SILENCE_NS UINT64_C(10000000000) // for the answer of one that is
#define SERVER_PAUSE_NS   UINT64_C(5000000)     // between the first two tries
#define PAUSE_MOST        UINT64_C(500000000)

typedef struct mlt_names mlt_names;

// A question of a process, on its stack.
typedef struct server_ask {
    mlt_list_node node;
    mlt_fiber *fiber;
    mlt_names_message *message; // the question, then the answer
    bool done;
    csp_status status;
} server_ask;

typedef struct server_kept {
    mlt_list_node node;
    uint32_t id; // under which it was registered anew
    mlt_name name;
} server_kept;

static void server_lose(mlt_names *names);
static void not_there(mlt_names *names);

// ---- answers

static void server_finish(mlt_names *names, server_ask *a, csp_status status)
{
    mlt_list_remove(&a->node);
    a->status = status;
    a->done = true;
    mlt_fiber_wake(names->csp->sched, a->fiber);
}

static void finish_all(mlt_names *names, const char *why)
{
    mlt_csp *csp = names->csp;
    for (server_ask *a; (a = MLT_LIST_FIRST(&names->asks, server_ask, node));) {
        snprintf(a->message->text, sizeof a->message->text, "%.*s",
                 (int)sizeof a->message->text - 1, why); // longer ones are cut
        server_finish(names, a, CSP_REFUSED);
    }
    mlt_csp_why(csp, "%s", why);
}

static server_kept *kept_as(mlt_names *names, const char *name)
{
    MLT_LIST_EACH(server_kept, k, &names->kept, node)
        if (strcmp(k->name.name, name) == 0)
            return k;
    return NULL;
}

// The server that came back has a name otherwise: somebody was faster.
static void hear_of_kept(mlt_names *names, const mlt_names_message *m)
{
    MLT_LIST_EACH(server_kept, k, &names->kept, node) {
        if (k->id != m->id || m->status == CSP_OK)
            continue;
        mlt_csp_why(names->csp, "the name server was started again, and since then: %s", m->text);
        mlt_list_remove(&k->node);
        free(k);
        return;
    }
}

// ---- the connection

static void close_line(mlt_names *names)
{
    mlt_sched *sched = names->csp->sched;
    mlt_io_watch_stop(sched, &names->reads);
    mlt_io_watch_stop(sched, &names->writes);
    mlt_dial_free(names->dial);
    names->dial = NULL;
    mlt_os_close_once(&names->fd);
    names->state = MLT_NAMES_OFF;
    names->held = names->out.at = names->out.end = 0;
}

static bool server_watch(mlt_names *names, mlt_io_watch *w)
{
    w->fd = names->fd;
    return w->node.next || mlt_io_watch_start(names->csp->sched, w) == MLT_PENDING;
}

// True if the line holds.
static bool server_flush(mlt_names *names)
{
    return mlt_outbox_flush(&names->out, names->fd, SIZE_MAX) ||
           (errno == EAGAIN && server_watch(names, &names->writes));
}

static void server_say(mlt_names *names, const mlt_names_message *m)
{
    unsigned char frame[MLT_NAMES_FRAME];
    mlt_outbox_add(&names->out, frame, mlt_names_encode(m, frame));
}

// Connected: says HELLO. False: csp->why tells.
static bool server_say_hello(mlt_names *names, bool proven)
{
    mlt_csp *csp = names->csp;
    mlt_names_message hello = {.verb = MLT_NAMES_HELLO, .version = MLT_NAMES_VERSION};
    names->state = MLT_NAMES_GREETING;
    if (!proven)
        memcpy(hello.key, names->file.key, sizeof hello.key);
    hello.numbers[0] = (uint64_t)getpid();
    snprintf(hello.text, sizeof hello.text, "%.90s", program_invocation_name);
    server_say(names, &hello);
    if (server_flush(names) && server_watch(names, &names->reads))
        return true;
    mlt_csp_why(csp, "the name server at '%s' has hung up", names->file.socket);
    close_line(names);
    return false;
}

// A dial to another host goes on. False: csp->why tells.
static bool server_dial_on(mlt_names *names)
{
    mlt_csp *csp = names->csp;
    mlt_net_peer peer;
    mlt_status status = mlt_dial_step(names->dial, mlt_os_now_ns(), &peer);
    if (status == MLT_PENDING) {
        mlt_poll poll = mlt_dial_poll(names->dial);
        names->reads.fd = poll.fd;
        mlt_timer_set(csp->sched, &names->again, poll.deadline_ns);
        if (names->reads.node.next || mlt_io_watch_start(csp->sched, &names->reads) == MLT_PENDING)
            return true;
    }
    mlt_timer_stop(csp->sched, &names->again);
    mlt_io_watch_stop(csp->sched, &names->reads);
    if (status == MLT_OK) {
        mlt_dial_free(names->dial);
        names->dial = NULL;
        names->fd = peer.fd;
        return server_say_hello(names, true);
    }
    char tried[sizeof csp->why - 200];
    mlt_far_tell(names->dial, tried, sizeof tried);
    mlt_csp_why(csp, "the name server on host %s cannot be reached: %s", names->file.host, tried);
    close_line(names);
    return false;
}

// The server is on another host, or in another network of this one.
static bool dial_far(mlt_names *names)
{
    mlt_csp *csp = names->csp;
    const mlt_names_file *file = &names->file;
    char wrong[sizeof csp->why - 200] = "";
    if (!file->place.port)
        return mlt_csp_why(
            csp,
            "the name server runs on host %s, and listens there only (millet names start "
            "--listen)",
            file->host);
    if (mlt_far_begin(&names->far, file->key, 0, wrong, sizeof wrong) != MLT_OK ||
        mlt_far_dial(&names->far, &file->place, &names->dial, wrong, sizeof wrong) != MLT_OK)
        return mlt_csp_why(csp, "the name server on host %s cannot be reached: %s", file->host,
                           wrong);
    names->state = MLT_NAMES_DIALLING;
    return server_dial_on(names);
}

bool mlt_names_dial(mlt_names *names, bool *absent)
{
    mlt_csp *csp = names->csp;
    char wrong[sizeof csp->why - 64];
    mlt_names_file file;
    *absent = false;
    mlt_status status = mlt_names_file_read(names->path, &file, wrong, sizeof wrong);
    if (status != MLT_OK) {
        *absent = status == MLT_ERR_NOT_FOUND;
        return mlt_csp_why(csp, "the file of the name server: %s", wrong);
    }
    names->file = file;
    if (!mlt_names_file_is_here(&file))
        return dial_far(names);
    int fd = mlt_os_line_connect(file.socket);
    if (fd < 0 && (errno == ECONNREFUSED || errno == ENOENT) && file.place.port)
        return dial_far(names);
    if (fd < 0) {
        *absent = errno == ECONNREFUSED || errno == ENOENT;
        return mlt_csp_why(csp, "no name server is at '%s': %s", file.socket, strerror(errno));
    }
    if (!mlt_os_line_own(fd, NULL)) {
        mlt_os_close(fd);
        return mlt_csp_why(csp, "another user listens at '%s'", file.socket);
    }
    names->fd = fd;
    return server_say_hello(names, false);
}

// ---- what it says

static void send_all(mlt_names *names)
{
    MLT_LIST_EACH(server_kept, k, &names->kept, node) {
        k->id = ++names->ids;
        mlt_names_message m = {.verb = MLT_NAMES_PUT, .id = k->id, .name = k->name};
        server_say(names, &m);
    }
    MLT_LIST_EACH(server_ask, a, &names->asks, node)
        server_say(names, a->message);
}

static void hear(mlt_names *names, const mlt_names_message *m)
{
    switch (m->verb) {
    case MLT_NAMES_WELCOME:
        names->state = MLT_NAMES_READY;
        names->met = true;
        names->lost_ns = 0;
        send_all(names);
        return;
    case MLT_NAMES_REFUSED:
        finish_all(names, m->text);
        server_lose(names);
        return;
    case MLT_NAMES_ANSWER:
    case MLT_NAMES_FOUND:
        MLT_LIST_EACH(server_ask, a, &names->asks, node) {
            if (a->message->id != m->id)
                continue;
            *a->message = *m;
            server_finish(names, a, m->verb == MLT_NAMES_FOUND ? CSP_OK : (csp_status)m->status);
            return;
        }
        hear_of_kept(names, m);
        return;
    }
}

static bool handle_held(mlt_names *names)
{
    size_t at = 0;
    int bytes;
    mlt_names_message m;
    while ((bytes = mlt_names_decode(names->in + at, names->held - at, &m)) > 0) {
        at += (size_t)bytes;
        hear(names, &m);
        if (names->state == MLT_NAMES_OFF)
            return true;
    }
    memmove(names->in, names->in + at, names->held - at);
    names->held -= at;
    return bytes == 0;
}

// Nobody asks and nothing is registered: it need not be listened to.
static bool rests(const mlt_names *names)
{
    return mlt_list_empty(&names->asks) && mlt_list_empty(&names->kept);
}

static void hears(mlt_io_watch *w)
{
    mlt_names *names = mlt_container_of(w, mlt_names, reads);
    if (names->state == MLT_NAMES_DIALLING) {
        if (!server_dial_on(names))
            not_there(names);
        return;
    }
    for (;;) {
        ssize_t n =
            mlt_os_line_read(names->fd, names->in + names->held, sizeof names->in - names->held);
        if (n < 0 && errno == EAGAIN)
            break;
        if (n <= 0) {
            server_lose(names);
            return;
        }
        names->held += (size_t)n;
        bool good = handle_held(names);
        if (names->state == MLT_NAMES_OFF)
            return;
        if (!good) {
            finish_all(names, "the name server says what nobody understands");
            server_lose(names);
            return;
        }
    }
    if (!server_flush(names) || (!rests(names) && !server_watch(names, &names->reads)))
        server_lose(names);
}

static void can_write(mlt_io_watch *w)
{
    mlt_names *names = mlt_container_of(w, mlt_names, writes);
    if (!server_flush(names))
        server_lose(names);
}

// ---- when it is gone

static void try_later(mlt_names *names)
{
    uint64_t now = mlt_os_now_ns();
    if (!names->lost_ns) {
        names->lost_ns = now;
        names->pause_ns = 0;
    }
    if (!rests(names))
        mlt_timer_set(names->csp->sched, &names->again, now + names->pause_ns);
    names->pause_ns = names->pause_ns ? 2 * names->pause_ns : SERVER_PAUSE_NS;
    if (names->pause_ns > PAUSE_MOST)
        names->pause_ns = PAUSE_MOST;
}

static void server_lose(mlt_names *names)
{
    close_line(names);
    try_later(names);
}

// It cannot be reached now; csp->why tells. Those that wait hear of it, if that lasts.
static void not_there(mlt_names *names)
{
    char why[sizeof names->csp->why];
    if (names->lost_ns && mlt_os_now_ns() - names->lost_ns > GRACE_NS) {
        snprintf(why, sizeof why, "%s%.*s",
                 names->met ? "the name server has ended, and none came instead: " : "", 400,
                 names->csp->why);
        finish_all(names, why);
    }
    try_later(names);
}

static void tries_again(mlt_timer *timer)
{
    mlt_names *names = mlt_container_of(timer, mlt_names, again);
    bool absent;
    if (names->state == MLT_NAMES_DIALLING
            ? server_dial_on(names)
            : names->state != MLT_NAMES_OFF || mlt_names_dial(names, &absent))
        return;
    not_there(names);
}

// ---- what processes call

// Connected, or soon again. False: csp->why tells.
static bool is_there(mlt_names *names)
{
    bool absent;
    if (names->state == MLT_NAMES_DIALLING) {
        if (!server_dial_on(names))
            not_there(names);
        return true;
    }
    if (names->state != MLT_NAMES_OFF) {
        if (server_watch(names, &names->reads))
            return true;
        server_lose(names);
        return true;
    }
    if (names->lost_ns && mlt_os_now_ns() - names->lost_ns <= GRACE_NS)
        return true;
    return mlt_names_dial(names, &absent);
}

static csp_status ask_server(mlt_csp *csp, const char *call, mlt_names_message *m,
                             csp_time deadline)
{
    mlt_names *names = mlt_remote_of(csp)->names;
    char name[MLT_NAME_MOST + 1]; // the answer takes the question's place
    mlt_deadline late;
    mlt_csp_wait wait;
    if (!is_there(names))
        return CSP_REFUSED;
    snprintf(name, sizeof name, "%s", m->name.name);
    m->id = ++names->ids;
    server_ask a = {.fiber = csp->sched->current, .message = m};
    mlt_list_push_waiter(&names->asks, &a.node);
    if (names->state == MLT_NAMES_READY) {
        server_say(names, m);
        if (!server_flush(names))
            server_lose(names);
    } else if (names->state == MLT_NAMES_OFF)
        mlt_timer_set(csp->sched, &names->again, mlt_os_now_ns());
    const mlt_wait *w = mlt_csp_wait_for(&wait, call, MLT_CSP_NAME, name, 0);
    mlt_deadline_begin(csp->sched, &late, deadline);
    while (!a.done && !late.passed)
        mlt_fiber_park(csp->sched, w);
    mlt_deadline_end(&late);
    if (a.done) {
        if (a.status != CSP_OK)
            mlt_csp_why(csp, "%s", m->text);
        return a.status;
    }
    mlt_list_remove(&a.node);
    if (names->state == MLT_NAMES_READY && m->verb == MLT_NAMES_FIND) {
        server_say(names, &(mlt_names_message){.verb = MLT_NAMES_CANCEL, .id = m->id});
        if (!server_flush(names))
            server_lose(names);
    }
    if (rests(names))
        mlt_io_watch_stop(csp->sched, &names->reads);
    return CSP_LATE;
}

// For questions that the server answers at once.
static csp_status ask_now(mlt_csp *csp, const char *call, mlt_names_message *m)
{
    csp_status status = ask_server(csp, call, m, (csp_time)(mlt_os_now_ns() + SERVER_SILENCE_NS));
    if (status != CSP_LATE)
        return status;
    return mlt_csp_refuse(csp, CSP_REFUSED, "the name server does not answer");
}

static bool good_name(mlt_csp *csp, const char *name)
{
    const char *wrong;
    if (mlt_names_good(name, &wrong))
        return true;
    return mlt_csp_why(csp, "the name '%.80s' %s", name, wrong);
}

static csp_status server_put(mlt_csp *csp, const mlt_name *name)
{
    mlt_names *names = mlt_remote_of(csp)->names;
    if (!good_name(csp, name->name))
        return CSP_REFUSED;
    server_kept *k = mlt_xcalloc(1, sizeof *k);
    k->name = *name;
    mlt_names_message m = {.verb = MLT_NAMES_PUT, .name = *name};
    csp_status status = ask_now(csp, "csp_register", &m);
    if (status != CSP_OK) {
        free(k);
        return status;
    }
    mlt_list_push_back(&names->kept, &k->node);
    // From now on its end matters. It may have gone since it answered.
    if (names->state == MLT_NAMES_OFF)
        try_later(names);
    else if (!server_watch(names, &names->reads))
        server_lose(names);
    return CSP_OK;
}

static csp_status server_find(mlt_csp *csp, const char *name, mlt_name *out, csp_time deadline)
{
    if (!good_name(csp, name))
        return CSP_NO_NAME;
    mlt_names_message m = {.verb = MLT_NAMES_FIND, .flag = deadline != CSP_AT_ONCE};
    snprintf(m.name.name, sizeof m.name.name, "%s", name);
    csp_status status = deadline == CSP_AT_ONCE ? ask_now(csp, "csp_find", &m)
                                                : ask_server(csp, "csp_find", &m, deadline);
    if (status == CSP_OK)
        *out = m.name;
    else if (status == CSP_LATE)
        mlt_csp_why(csp, "nothing had the name '%s' in time", name);
    return status;
}

static csp_status server_drop(mlt_csp *csp, const char *name)
{
    mlt_names *names = mlt_remote_of(csp)->names;
    if (!good_name(csp, name))
        return CSP_NO_NAME;
    mlt_names_message m = {.verb = MLT_NAMES_DROP};
    snprintf(m.name.name, sizeof m.name.name, "%s", name);
    // Where there is no connection, there is no name of this worker: nobody need be asked.
    bool away = names->state == MLT_NAMES_OFF && kept_as(names, name);
    csp_status status = away ? CSP_OK : ask_now(csp, "csp_unregister", &m);
    server_kept *k = kept_as(names, name);
    if (k) { // whatever the answer was: it shall not come back with the next server
        mlt_list_remove(&k->node);
        free(k);
    }
    if (rests(names))
        mlt_io_watch_stop(csp->sched, &names->reads);
    return status;
}

const mlt_names_ops mlt_names_server = {
    .put = server_put,
    .find = server_find,
    .drop = server_drop,
};

// ---- coming and going

mlt_names *mlt_names_new(mlt_csp *csp, const char *path)
{
    mlt_names *names = mlt_xcalloc(1, sizeof *names);
    names->csp = csp;
    names->fd = -1;
    snprintf(names->path, sizeof names->path, "%s", path);
    names->reads.fire = hears;
    names->writes.fire = can_write;
    names->writes.writes = true;
    names->again.fire = tries_again;
    mlt_list_init(&names->asks);
    mlt_list_init(&names->kept);
    return names;
}

void mlt_names_free(mlt_names *names)
{
    mlt_timer_stop(names->csp->sched, &names->again);
    close_line(names);
    MLT_LIST_DRAIN(server_kept, k, &names->kept, node)
        free(k);
    free(names->out.bytes);
    free(names);
}
