// SPDX-License-Identifier: BSD-3-Clause
// A connection is a stranger until it has said HELLO with the key, for which it has STRANGER_NS (one
// from another host has proven the key before it comes here: net/listen.h counts those that do not);
// there are at most STRANGERS of them, the oldest goes first. A member may be silent for ever.
// Nobody is waited for: what a socket does not take is kept, and who does not read his answers is
// not read from either, so what is kept is bounded.
//
// Connections that are over are closed at once and freed at the end of the round, since later
// events of it may still point to them.
#include "tools/names/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "csp/names/file.h"
#include "csp/names/text.h"
#include "csp/net/far.h"
#include "net/outbox.h"
#include "os/fd.h"
#include "os/line.h"
#include "os/os.h"
#include "tools/args.h"
#include "tools/names/directory.h"

enum { STRANGERS = 512, EVENTS = 64, OUT_MOST = 256 << 10, ACCEPTS = 64, NAMES_SERVE_ROUNDS = 16 };

#define STRANGER_NS UINT64_C(3000000000)
#define PAUSE_NS    UINT64_C(100000000) // without descriptors left nobody is accepted for so long

typedef struct names_serve_client {
    mlt_list_node link; // strangers, members or gone
    mlt_names_serve *serve;
    int fd; // -1: closed
    bool admitted;
    char at[MLT_ADDRESS_TEXT]; // on another host, whose address this is; it has proven the key
    uint32_t events;           // that epoll was asked for
    uint64_t until_ns;
    mlt_directory_owner owner; // if admitted
    size_t held;               // bytes of `in`
    unsigned char in[MLT_NAMES_FRAME];
    mlt_outbox out;
} names_serve_client;

struct mlt_names_serve {
    char folder[MLT_NAMES_PATH];
    mlt_names_file file;
    int lock, listener, signals, epoll;
    mlt_far far;
    mlt_listen *far_listener; // for other hosts; NULL: none
    bool stop;
    uint64_t pause_until_ns; // 0: accepts
    uint64_t began_ns;
    mlt_list_node strangers, members, gone;
    uint32_t stranger_count, member_count;
    mlt_directory directory;
};

// ---- a connection

static void ask_events(names_serve_client *c)
{
    uint32_t events = mlt_outbox_waits(&c->out) ? EPOLLOUT : 0;
    if (mlt_outbox_waits(&c->out) < OUT_MOST)
        events |= EPOLLIN;
    if (c->fd < 0 || events == c->events)
        return;
    c->events = events;
    struct epoll_event e = {.events = events, .data.ptr = c};
    epoll_ctl(c->serve->epoll, EPOLL_CTL_MOD, c->fd, &e);
}

static void names_serve_hang_up(names_serve_client *c)
{
    mlt_names_serve *serve = c->serve;
    if (c->fd < 0)
        return;
    close(c->fd);
    c->fd = -1;
    if (c->admitted) {
        mlt_directory_leave(&serve->directory, &c->owner);
        serve->member_count--;
    } else
        serve->stranger_count--;
    mlt_list_remove(&c->link);
    mlt_list_push_back(&serve->gone, &c->link);
}

static void names_serve_write_out(names_serve_client *c)
{
    if (c->fd < 0)
        return;
    if (!mlt_outbox_flush(&c->out, c->fd, OUT_MOST) && errno != EAGAIN)
        names_serve_hang_up(c);
    else
        ask_events(c);
}

static void names_serve_say(names_serve_client *c, const mlt_names_message *message)
{
    unsigned char frame[MLT_NAMES_FRAME];
    if (c->fd >= 0)
        mlt_outbox_add(&c->out, frame, mlt_names_encode(message, frame));
}

static void names_serve_answer(names_serve_client *c, uint32_t id, csp_status status,
                               const char *why)
{
    mlt_names_message m = {.verb = MLT_NAMES_ANSWER, .id = id, .status = (uint8_t)status};
    snprintf(m.text, sizeof m.text, "%s", status == CSP_OK ? "" : why);
    names_serve_say(c, &m);
}

// Sends one message, as far as the socket takes it, and hangs up.
static void names_serve_refuse(names_serve_client *c, const char *sentence)
{
    mlt_names_message m = {.verb = MLT_NAMES_REFUSED};
    snprintf(m.text, sizeof m.text, "%s", sentence);
    names_serve_say(c, &m);
    names_serve_write_out(c);
    names_serve_hang_up(c);
}

// ---- requests

static void tell_found(mlt_directory_owner *owner, uint32_t id, const mlt_directory_name *name)
{
    names_serve_client *c = mlt_container_of(owner, names_serve_client, owner);
    mlt_names_message m = {.verb = MLT_NAMES_FOUND, .id = id};
    mlt_directory_copy(name, &m.name);
    names_serve_say(c, &m);
    ask_events(
        c); // not written here: a failure would take waits out of the list that is gone through
}

static void names_serve_find(names_serve_client *c, const mlt_names_message *m)
{
    mlt_directory *directory = &c->serve->directory;
    char why[MLT_NAMES_SAID];
    const mlt_directory_name *name = mlt_directory_find(directory, m->name.name);
    if (name) {
        tell_found(&c->owner, m->id, name);
        return;
    }
    csp_status status = CSP_NO_NAME;
    if (m->flag)
        status = mlt_directory_wait(directory, &c->owner, m->name.name, m->id, why, sizeof why);
    else
        snprintf(why, sizeof why, "nothing has the name '%s'", m->name.name);
    if (status != CSP_OK)
        names_serve_answer(c, m->id, status, why);
}

// At most MLT_NAMES_PAGE of them; who wants more asks again.
static void names_serve_list(names_serve_client *c, const mlt_names_message *m)
{
    const mlt_directory *directory = &c->serve->directory;
    size_t first = mlt_directory_after(directory, m->name.name), end = first + MLT_NAMES_PAGE;
    for (size_t i = first; i < end && i < directory->count; i++) {
        const mlt_directory_name *name = directory->names[i];
        mlt_names_message entry = {.verb = MLT_NAMES_ENTRY, .id = m->id};
        mlt_directory_copy(name, &entry.name);
        entry.numbers[0] = (uint64_t)name->owner->pid;
        snprintf(entry.text, sizeof entry.text, "%s", name->owner->program);
        names_serve_say(c, &entry);
    }
    names_serve_answer(c, m->id, CSP_OK, "");
}

// Connections from other hosts that came to nothing.
static uint64_t strangers_of(const mlt_names_serve *serve)
{
    if (!serve->far_listener)
        return 0;
    const mlt_listen_counts *counts = mlt_listen_count(serve->far_listener);
    uint64_t sum = counts->dropped_for_newer + counts->no_descriptor;
    for (int i = 0; i < MLT_GREET_FAULTS; i++)
        sum += counts->faults[i];
    return sum;
}

static void tell_numbers(names_serve_client *c, uint32_t id)
{
    const mlt_names_serve *serve = c->serve;
    mlt_names_message m = {.verb = MLT_NAMES_NUMBERS, .id = id};
    m.numbers[0] = (uint64_t)getpid();
    m.numbers[1] = serve->member_count - 1; // without the one that asks
    m.numbers[2] = serve->directory.count;
    m.numbers[3] = serve->directory.waiting;
    m.numbers[4] = (mlt_os_now_ns() - serve->began_ns) / 1000000;
    m.numbers[5] = strangers_of(serve);
    names_serve_say(c, &m);
}

static void admit(names_serve_client *c, const mlt_names_message *m)
{
    mlt_names_serve *serve = c->serve;
    int32_t pid = (int32_t)m->numbers[0];
    char program[MLT_NAMES_SAID];
    if (m->verb != MLT_NAMES_HELLO)
        names_serve_refuse(c, "the name server hears nothing but a HELLO with its key first");
    else if (m->version != MLT_NAMES_VERSION)
        names_serve_refuse(c, "the name server is of another version of Millet");
    else if (!c->at[0] && !mlt_names_same_key(m->key, serve->file.key))
        names_serve_refuse(c,
                           "the name server has another key; is its file the one that it wrote?");
    else {
        if (!c->at[0])
            mlt_os_line_own(c->fd, &pid);
        snprintf(program, sizeof program, "%.200s%s%s", m->text, c->at[0] ? " at " : "", c->at);
        mlt_directory_enter(&c->owner, pid, program);
        mlt_list_remove(&c->link);
        mlt_list_push_back(&serve->members, &c->link);
        c->admitted = true;
        serve->stranger_count--;
        serve->member_count++;
        names_serve_say(
            c, &(mlt_names_message){.verb = MLT_NAMES_WELCOME, .numbers = {(uint64_t)getpid()}});
    }
}

static void handle(names_serve_client *c, const mlt_names_message *m)
{
    mlt_directory *directory = &c->serve->directory;
    char why[MLT_NAMES_SAID] = "";
    csp_status status;
    switch (m->verb) {
    case MLT_NAMES_PUT:
        status = mlt_directory_put(directory, &c->owner, &m->name, why, sizeof why);
        names_serve_answer(c, m->id, status, why);
        break;
    case MLT_NAMES_FIND:
        names_serve_find(c, m);
        break;
    case MLT_NAMES_CANCEL:
        mlt_directory_cancel(directory, &c->owner, m->id);
        break;
    case MLT_NAMES_DROP:
        status = mlt_directory_drop(directory, &c->owner, m->name.name, why, sizeof why);
        names_serve_answer(c, m->id, status, why);
        break;
    case MLT_NAMES_LIST:
        names_serve_list(c, m);
        break;
    case MLT_NAMES_STATUS:
        tell_numbers(c, m->id);
        break;
    case MLT_NAMES_STOP:
        names_serve_answer(c, m->id, CSP_OK, "");
        names_serve_write_out(c);
        c->serve->stop = true;
        break;
    default:
        names_serve_refuse(c, "the name server does not know what this program says");
    }
}

// All messages that are there, while there is room for their answers.
static void handle_held(names_serve_client *c)
{
    size_t at = 0;
    int bytes = 0;
    while (c->fd >= 0 && mlt_outbox_waits(&c->out) < OUT_MOST) {
        mlt_names_message m;
        bytes = mlt_names_decode(c->in + at, c->held - at, &m);
        if (bytes <= 0)
            break;
        at += (size_t)bytes;
        if (c->admitted)
            handle(c, &m);
        else
            admit(c, &m);
    }
    if (c->fd < 0)
        return;
    memmove(c->in, c->in + at, c->held - at);
    c->held -= at;
    if (bytes < 0)
        names_serve_refuse(c, c->admitted
                                  ? "the name server does not understand what this program says"
                                  : "this is a name server of Millet, and its key is needed");
}

// What was read is handled before it returns, as far as there is room for answers: nothing may come
// after it.
static void read_in(names_serve_client *c)
{
    for (int rounds = 0; c->fd >= 0; rounds++) {
        handle_held(c);
        names_serve_write_out(c);
        if (c->fd < 0 || rounds == NAMES_SERVE_ROUNDS || mlt_outbox_waits(&c->out) >= OUT_MOST)
            return;
        ssize_t n = mlt_os_line_read(c->fd, c->in + c->held, sizeof c->in - c->held);
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            names_serve_hang_up(c);
            return;
        }
        c->held += (size_t)n;
    }
}

// ---- who comes and goes

static void accept_one(mlt_names_serve *serve, int fd, const mlt_net_peer *far)
{
    names_serve_client *c = mlt_xcalloc(1, sizeof *c);
    c->serve = serve;
    c->fd = fd;
    c->until_ns = mlt_os_now_ns() + STRANGER_NS;
    c->events = EPOLLIN;
    if (far)
        (void)mlt_address_text(c->at, &far->address, 0);
    mlt_list_push_back(&serve->strangers, &c->link);
    serve->stranger_count++;
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
    if (epoll_ctl(serve->epoll, EPOLL_CTL_ADD, fd, &e) != 0)
        names_serve_hang_up(c);
    else if (!far && !mlt_os_line_own(fd, NULL))
        names_serve_refuse(c, "this name server is another user's");
    else
        read_in(c);
    if (serve->stranger_count > STRANGERS)
        names_serve_refuse(mlt_container_of(serve->strangers.next, names_serve_client, link),
                           "too many connections to the name server say nothing");
}

static void listen_again(mlt_names_serve *serve, bool on)
{
    struct epoll_event e = {.events = on ? EPOLLIN : 0, .data.ptr = &serve->listener};
    serve->pause_until_ns = on ? 0 : mlt_os_now_ns() + PAUSE_NS;
    epoll_ctl(serve->epoll, EPOLL_CTL_MOD, serve->listener, &e);
}

static void accept_some(mlt_names_serve *serve)
{
    for (int i = 0; i < ACCEPTS; i++) {
        int fd = mlt_os_line_accept(serve->listener);
        if (fd >= 0) {
            accept_one(serve, fd, NULL);
            continue;
        }
        if (errno == EAGAIN)
            return;
        if (mlt_list_empty(&serve->strangers)) { // no descriptors are left
            listen_again(serve, false);
            return;
        }
        names_serve_refuse(mlt_container_of(serve->strangers.next, names_serve_client, link),
                           "the name server has no room for connections that say nothing");
    }
}

// Programs of other hosts that have proven the key.
static void accept_far(mlt_names_serve *serve)
{
    mlt_net_peer peer;
    for (int i = 0; i < ACCEPTS && serve->far_listener; i++) {
        if (mlt_listen_step(serve->far_listener, mlt_os_now_ns(), &peer) != MLT_OK)
            break;
        accept_one(serve, peer.fd, &peer);
    }
}

// Strangers are in the order of their coming.
static void end_patience(mlt_names_serve *serve, uint64_t now)
{
    while (!mlt_list_empty(&serve->strangers)) {
        names_serve_client *c = mlt_container_of(serve->strangers.next, names_serve_client, link);
        if (c->until_ns > now)
            break;
        names_serve_refuse(c, "the name server heard nothing, or only half of a message");
    }
    if (serve->pause_until_ns && serve->pause_until_ns <= now)
        listen_again(serve, true);
    if (serve->far_listener && mlt_listen_poll(serve->far_listener).deadline_ns <= now)
        accept_far(serve);
}

static int patience_ms(const mlt_names_serve *serve, uint64_t now)
{
    uint64_t until = serve->pause_until_ns ? serve->pause_until_ns : UINT64_MAX;
    if (serve->far_listener) {
        uint64_t far = mlt_listen_poll(serve->far_listener).deadline_ns; // FOREVER: UINT64_MAX
        until = far < until ? far : until;
    }
    if (!mlt_list_empty(&serve->strangers)) {
        uint64_t first =
            mlt_container_of(serve->strangers.next, names_serve_client, link)->until_ns;
        until = first < until ? first : until;
    }
    if (until == UINT64_MAX)
        return -1;
    return until <= now ? 0 : (int)((until - now) / 1000000 + 1);
}

static void free_gone(mlt_names_serve *serve)
{
    MLT_LIST_DRAIN(names_serve_client, c, &serve->gone, link) {
        free(c->out.bytes);
        free(c);
    }
}

void mlt_names_serve_run(mlt_names_serve *serve)
{
    while (!serve->stop) {
        struct epoll_event events[EVENTS];
        int n = epoll_wait(serve->epoll, events, EVENTS, patience_ms(serve, mlt_os_now_ns()));
        for (int i = 0; i < n && !serve->stop; i++) {
            void *what = events[i].data.ptr;
            if (what == &serve->listener)
                accept_some(serve);
            else if (what == &serve->far_listener)
                accept_far(serve);
            else if (what == &serve->signals)
                serve->stop = true;
            else {
                names_serve_client *c = what;
                names_serve_write_out(c);
                read_in(c); // what waited for room for its answers, too
                // Nothing can be told to it, whatever it still has to say.
                if (c->fd >= 0 && (events[i].events & (EPOLLHUP | EPOLLERR)))
                    names_serve_hang_up(c);
            }
        }
        end_patience(serve, mlt_os_now_ns());
        free_gone(serve);
    }
}

// ---- coming up and going down

static const char *path_in(const mlt_names_serve *serve, const char *name,
                           char path[MLT_NAMES_PATH + 16])
{
    snprintf(path, MLT_NAMES_PATH + 16, "%s/%s", serve->folder, name);
    return path;
}

static void take_folder(mlt_names_serve *serve)
{
    struct stat about;
    char path[MLT_NAMES_PATH + 16], wrong[256];
    const char *folder = serve->folder;
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        mlt_args_failed("the folder '%s' cannot be made: %s", folder, strerror(errno));
    if (stat(folder, &about) != 0 || !S_ISDIR(about.st_mode))
        mlt_args_failed("'%s' is no folder", folder);
    if (about.st_uid != geteuid() || (about.st_mode & 077))
        mlt_args_failed("the folder '%s' must be your own and nobody else's (chmod 700)", folder);
    serve->lock =
        open(path_in(serve, "names.lock", path), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (serve->lock < 0)
        mlt_args_failed("'%s': %s", path, strerror(errno));
    if (flock(serve->lock, LOCK_EX | LOCK_NB) == 0)
        return;
    if (mlt_names_file_read(path_in(serve, "names", path), &serve->file, wrong, sizeof wrong) ==
        MLT_OK)
        mlt_args_failed("a name server runs already: process %u, file '%s'", serve->file.pid, path);
    mlt_args_failed("a name server runs already in '%s'", folder);
}

static mlt_names_serve *serving; // whose socket is removed at exit

static void remove_socket(void)
{
    if (serving)
        unlink(serving->file.socket);
}

// The socket of a server that died is in the way, and nobody's: this one has the lock.
static void listen_there(mlt_names_serve *serve)
{
    int n =
        snprintf(serve->file.socket, sizeof serve->file.socket, "%s/names.socket", serve->folder);
    if (n < 0 || n >= (int)sizeof serve->file.socket)
        mlt_args_failed("the folder '%s' has too long a name for a socket in it", serve->folder);
    unlink(serve->file.socket);
    serve->listener = mlt_os_line_listen(serve->file.socket);
    if (serve->listener < 0 || chmod(serve->file.socket, 0600) != 0)
        mlt_args_failed("'%s': %s", serve->file.socket, strerror(errno));
    serving = serve;
    atexit(remove_socket);
}

// A file that is there has the key that running programs know, and the port. One that others could
// read has none.
static void choose_key(mlt_names_serve *serve)
{
    char path[MLT_NAMES_PATH + 16], wrong[256];
    mlt_names_file old;
    if (mlt_names_file_read(path_in(serve, "names", path), &old, wrong, sizeof wrong) == MLT_OK) {
        memcpy(serve->file.key, old.key, sizeof old.key);
        serve->file.place.port = old.place.port;
    } else if (mlt_os_random(serve->file.key, sizeof serve->file.key) != MLT_OK)
        mlt_args_failed("the system gives no random bytes for a key: %s", strerror(errno));
}

static void watch(const mlt_names_serve *serve, int fd, void *what)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = what};
    if (fd < 0 || epoll_ctl(serve->epoll, EPOLL_CTL_ADD, fd, &e) != 0)
        mlt_args_failed("the name server cannot wait for connections: %s", strerror(errno));
}

static void listen_far(mlt_names_serve *serve, const mlt_names_where *where)
{
    uint16_t port = serve->file.place.port;
    mlt_names_file_of_here(&serve->file);
    if (!where->iface)
        return;
    mlt_status status = mlt_far_begin(&serve->far, serve->file.key, MLT_FAR_SERVER, MLT_ARGS_WHY);
    if (status == MLT_OK)
        status = mlt_far_listen(&serve->far, where->iface, where->ports, port, &serve->far_listener,
                                &serve->file.place, MLT_ARGS_WHY);
    if (status != MLT_OK)
        mlt_args_failed("the name server cannot listen for other hosts: %s", mlt_args_why);
    watch(serve, mlt_listen_poll(serve->far_listener).fd, &serve->far_listener);
}

static void watch_all(mlt_names_serve *serve)
{
    sigset_t set;
    struct rlimit files;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files); // else: fewer programs at once
    }
    serve->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    serve->epoll = epoll_create1(EPOLL_CLOEXEC);
    watch(serve, serve->listener, &serve->listener);
    watch(serve, serve->signals, &serve->signals);
}

mlt_names_serve *mlt_names_serve_new(const char *folder, const mlt_names_where *where)
{
    mlt_names_serve *serve = mlt_xcalloc(1, sizeof *serve);
    char path[MLT_NAMES_PATH + 16];
    serve->began_ns = mlt_os_now_ns();
    snprintf(serve->folder, sizeof serve->folder, "%s", folder);
    mlt_list_init(&serve->strangers);
    mlt_list_init(&serve->members);
    mlt_list_init(&serve->gone);
    mlt_directory_init(&serve->directory);
    serve->directory.found = tell_found;
    take_folder(serve);
    listen_there(serve);
    watch_all(serve);
    choose_key(serve);
    listen_far(serve, where);
    serve->file.pid = (uint32_t)getpid(); // last: who reads it finds a server that listens
    mlt_args_must(mlt_names_file_write(path_in(serve, "names", path), &serve->file, MLT_ARGS_WHY));
    return serve;
}

void mlt_names_serve_end(mlt_names_serve *serve)
{
    serving = NULL;
    unlink(serve->file.socket);
    close(serve->listener);
    close(serve->lock); // and so the folder is free: who hears that it ends may start another
}
