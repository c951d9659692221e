// SPDX-License-Identifier: BSD-3-Clause
#include "launch/live/live.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "launch/live/write.h"
#include "launch/loop.h"
#include "launch/say.h"
#include "launch/watch/watch.h"
#include "os/os.h"

enum { CLIENTS = 32, BACKLOG = 32, REQUEST = 8192, LISTENERS = 2, TAKERS = 8, CHANGES = 16 };

// A rule book that was given to the job; the last ones are kept.
typedef struct change {
    uint32_t number;
    uint32_t takers, refusals; // communicators
    char *file;                // "": the job's own rules
    char *text;                // the first takers, or why it was refused
} change;

typedef enum stage { LIVE_FREE, READS, LIVE_WAITS, WRITES } stage;

// A place for a client. Its memory stays, as the loop wants it.
typedef struct client {
    mlt_loop_source source; // fd -1: nobody is here
    mlt_live *live;
    stage stage;
    uint64_t since; // the order in which they came
    size_t got, sent;
    mlt_text answer;
    void (*write)(const mlt_live *live, mlt_text *out); // WAITS: what it asked for
    const char *type;
    char request[REQUEST + 1];
} client;

typedef struct listener {
    mlt_loop_source source; // fd -1: none
    mlt_live *live;
} listener;

struct mlt_live {
    mlt_live_conf conf;
    listener listeners[LISTENERS];
    const char *file; // of --live, which is ours to remove; NULL: none
    client *clients[CLIENTS];
    uint64_t count; // of clients so far
    int64_t number; // of the snapshot
    bool *answers;  // [hosts] this one has not told its part yet
    bool asked;     // the snapshot is not complete
    mlt_live_snap snap;
    change changes[CHANGES]; // by number
    uint32_t last;           // the last one's number; 0: there was none
    mlt_live_came *came;     // who wants it; NULL: nobody here
    void *came_user;
};

static mlt_live_job about(const mlt_live *l)
{
    const mlt_placement *plan = l->conf.plan;
    mlt_live_job job = {.pid = (uint32_t)l->conf.pid,
                        .ranks = plan->ranks,
                        .workers = plan->workers,
                        .procs = plan->proc_count,
                        .hosts = plan->host_count,
                        .age_ms = (mlt_os_now_ns() - l->conf.started_ns) / 1000000};
    snprintf(job.program, sizeof job.program, "%s", l->conf.options->apps[0].argv[0]);
    return job;
}

// ---- what is asked for

static void write_metrics(const mlt_live *l, mlt_text *out)
{
    mlt_live_job job = about(l);
    mlt_live_write_metrics(&job, &l->snap, out);
}

static void write_json(const mlt_live *l, mlt_text *out)
{
    mlt_live_job job = about(l);
    mlt_live_write_json(&job, &l->snap, out);
}

static void write_snapshot(const mlt_live *l, mlt_text *out)
{
    mlt_live_job job = about(l);
    mlt_text_put(out, &job, sizeof job);
    mlt_live_snap_pack(&l->snap, 0, out);
}

static const char plain[] = "text/plain; charset=utf-8";

static void write_change(const change *c, mlt_text *out)
{
    mlt_text_add(out, "change %u: %s: ", c->number, c->file[0] ? c->file : "the job's own rules");
    if (c->refusals)
        mlt_text_add(out, "refused: %s\n", c->text);
    else if (c->takers)
        mlt_text_add(out, "taken by %s%s\n", c->text, c->takers > TAKERS ? ", ..." : "");
    else
        mlt_text_add(out, "waits for an MPI_Barrier or MPI_Allreduce\n");
}

static void write_paths(const mlt_live *l, mlt_text *out)
{
    if (l->last == 0)
        mlt_text_add(out, "no rule book was given to the job since its start\n");
    for (uint32_t n = l->last > CHANGES ? l->last - CHANGES + 1 : 1; n <= l->last; n++)
        if (l->changes[n % CHANGES].number == n)
            write_change(&l->changes[n % CHANGES], out);
}

// What was measured so far, then the rule books.
static void write_map(const mlt_live *l, mlt_text *out)
{
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    mlt_path_map map = l->snap.map; // printing sorts it, and adds nothing
    if (to) {
        mlt_path_map_print(&map, l->conf.options->apps[0].argv[0], to);
        (void)fclose(to);
        mlt_text_put(out, text, length);
    }
    free(text);
    mlt_live_sum sum = mlt_live_snap_sum(&l->snap);
    if (sum.unreadable)
        mlt_text_add(out,
                     "the memory of %u worker%s cannot be read (process_vm_readv is refused), so "
                     "nothing of theirs is in the map\n",
                     sum.unreadable, sum.unreadable == 1 ? "" : "s");
    write_paths(l, out);
}

static const struct {
    const char *path, *type;
    void (*write)(const mlt_live *live, mlt_text *out);
    bool known; // it needs no snapshot
} pages[] = {
    {"/metrics", "text/plain; version=0.0.4; charset=utf-8", write_metrics, false},
    {"/json", "application/json", write_json, false},
    {"/snapshot", "application/octet-stream", write_snapshot, false},
    {"/paths", plain, write_paths, true},
    {"/map", plain, write_map, false},
};

// ---- clients

static void close_client(client *c)
{
    if (c->source.fd < 0)
        return;
    mlt_loop_close(&c->source);
    c->stage = LIVE_FREE;
    mlt_text_free(&c->answer);
}

static void await_client(client *c, uint32_t events)
{
    mlt_loop_remove(&c->source);
    if (!mlt_loop_add(&c->source, events))
        close_client(c);
}

static void write_on(client *c)
{
    while (c->sent < c->answer.length) {
        ssize_t n = send(c->source.fd, c->answer.text + c->sent, c->answer.length - c->sent,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            await_client(c, EPOLLOUT);
            return;
        }
        if (n <= 0)
            break;
        c->sent += (size_t)n;
    }
    close_client(c);
}

static void live_answer(client *c, const char *status, const char *type, const mlt_text *body)
{
    c->stage = WRITES;
    c->sent = 0;
    mlt_text_add(&c->answer,
                 "HTTP/1.0 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: "
                 "close\r\n\r\n",
                 status, type, body->length);
    mlt_text_put(&c->answer, mlt_text_so_far(body), body->length);
    write_on(c);
}

static void say_line(client *c, const char *status, const char *why)
{
    mlt_text body = {0};
    mlt_text_add(&body, "%s\n", why);
    live_answer(c, status, plain, &body);
    mlt_text_free(&body);
}

static void live_serve(client *c)
{
    mlt_text body = {0};
    c->write(c->live, &body);
    live_answer(c, "200 OK", c->type, &body);
    mlt_text_free(&body);
}

// ---- snapshots

static void finish(mlt_live *l)
{
    l->asked = false;
    mlt_live_snap_sort(&l->snap);
    for (int i = 0; i < CLIENTS; i++)
        if (l->clients[i] && l->clients[i]->stage == LIVE_WAITS)
            live_serve(l->clients[i]);
    mlt_live_came *came = l->came;
    mlt_live_job job = about(l);
    l->came = NULL;
    if (came)
        came(l->came_user, &job, &l->snap);
}

static void finish_if_complete(mlt_live *l)
{
    for (uint32_t h = 0; h < l->conf.plan->host_count; h++)
        if (l->answers[h])
            return;
    if (l->asked)
        finish(l);
}

static void live_ask(mlt_live *l)
{
    if (l->asked)
        return;
    mlt_live_snap_fini(&l->snap);
    l->asked = true;
    memset(l->answers, 0, l->conf.plan->host_count * sizeof *l->answers);
    mlt_watch_ask_live(l->conf.watch, ++l->number,
                       l->answers); // this host's answer may come at once
    finish_if_complete(l);
}

void mlt_live_take(mlt_live *l, uint32_t host, int64_t number, const void *part, size_t length)
{
    if (!l->asked || number != l->number || !l->answers[host])
        return;
    l->answers[host] = false;
    (void)!mlt_live_snap_add(&l->snap, part, length); // agents of another version do not start
    finish_if_complete(l);
}

void mlt_live_lost(mlt_live *l, uint32_t host)
{
    l->answers[host] = false;
    finish_if_complete(l);
}

void mlt_live_want(mlt_live *l, mlt_live_came *came, void *user)
{
    l->came = came;
    l->came_user = user;
    live_ask(l);
}

// ---- changes

static void note_change(mlt_live *l, uint32_t number, const char *file)
{
    change *c = &l->changes[number % CHANGES];
    free(c->file);
    free(c->text);
    *c = (change){.number = number, .file = mlt_text_of("%s", file), .text = mlt_text_of("%s", "")};
    l->last = number;
}

void mlt_live_changed(mlt_live *l, uint32_t number, bool refused, const char *text)
{
    change *c = &l->changes[number % CHANGES];
    if (number == 0 || c->number != number)
        return; // of long ago
    c->takers += !refused;
    c->refusals += refused;
    if ((refused && c->refusals > 1) || (!refused && (c->takers > TAKERS || c->refusals)))
        return;
    char *old = c->text;
    c->text = refused || !old[0] ? mlt_text_of("%s", text) : mlt_text_of("%s, %s", old, text);
    free(old);
}

static void take_rulebook(client *c, const char *file)
{
    char text[32];
    if (strlen(file) >= MLT_JOB_RULES_PATH) {
        say_line(c, "409 Conflict", "the rule book's name is too long");
        return;
    }
    uint32_t number = mlt_watch_change(c->live->conf.watch, file);
    note_change(c->live, number, file);
    snprintf(text, sizeof text, "%u", number);
    say_line(c, "200 OK", text);
}

// NULL, or why its trace can neither pause nor go on.
static const char *untraceable(const mlt_options *o)
{
    if (!o->trace)
        return "the job writes no trace: mpirun --trace FILE starts one that does, with "
               "--trace-paused one that traces only when asked";
    return o->record ? "the job is recorded (--record), which needs all of its trace" : NULL;
}

static void live_take_trace(client *c, const char *word)
{
    const mlt_live_conf *conf = &c->live->conf;
    bool start = strcmp(word, "start") == 0;
    if (!start && strcmp(word, "stop") != 0) {
        say_line(c, "400 Bad Request", "a trace can start or stop");
        return;
    }
    const char *why = untraceable(conf->options);
    if (!why)
        mlt_watch_trace(conf->watch, start);
    say_line(c, why ? "409 Conflict" : "200 OK", why ? why : conf->options->trace);
}

// ---- requests

// The body of a request whose head ends there; NULL: it has not come yet.
static const char *body_of(const client *c, const char *end)
{
    const char *says = strstr(c->request, "Content-Length: ");
    unsigned long length = says && says < end ? strtoul(says + 16, NULL, 10) : 0;
    return c->request + c->got - (end + 4) >= (ptrdiff_t)length ? end + 4 : NULL;
}

// The request is complete: "GET /metrics HTTP/1.1".
static void take_request(client *c)
{
    char path[64] = "";
    const char *end = strstr(c->request, "\r\n\r\n");
    bool rulebook = strncmp(c->request, "POST /book ", 11) == 0;
    if (rulebook || strncmp(c->request, "POST /trace ", 12) == 0) {
        const char *body = body_of(c, end);
        if (body && rulebook)
            take_rulebook(c, body);
        else if (body)
            live_take_trace(c, body);
        return;
    }
    if (strncmp(c->request, "GET ", 4) != 0) {
        say_line(c, "405 Method Not Allowed",
                 "only GET, POST /book and POST /trace are understood");
        return;
    }
    size_t n = strcspn(c->request + 4, " ?\r\n");
    snprintf(path, sizeof path, "%.*s", (int)n, c->request + 4);
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        if (strcmp(path, pages[i].path) == 0) {
            c->stage = LIVE_WAITS;
            c->write = pages[i].write;
            c->type = pages[i].type;
            if (pages[i].known)
                live_serve(c);
            else
                live_ask(c->live);
            return;
        }
    say_line(c, "404 Not Found", "there are /metrics, /json, /snapshot, /paths and /map");
}

static void read_on(client *c)
{
    ssize_t n = recv(c->source.fd, c->request + c->got, REQUEST - c->got, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        close_client(c);
        return;
    }
    c->got += (size_t)n;
    c->request[c->got] = '\0';
    if (strstr(c->request, "\r\n\r\n"))
        take_request(c);
    else if (c->got == REQUEST)
        say_line(c, "400 Bad Request", "the request is too long");
}

static void client_ready(mlt_loop_source *source, uint32_t events)
{
    client *c = mlt_container_of(source, client, source);
    if (c->stage == READS)
        read_on(c);
    else if (c->stage == WRITES)
        write_on(c);
    else // it has gone, or says more than it should
        close_client(c);
}

// ---- coming in

static bool is_friend(int fd)
{
    struct ucred who;
    socklen_t size = sizeof who;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
           (who.uid == geteuid() || who.uid == 0);
}

// A free place, or that of the one who came first and has not asked yet.
static client *place_for_one(mlt_live *l)
{
    client *oldest = NULL;
    for (int i = 0; i < CLIENTS; i++) {
        if (!l->clients[i]) {
            l->clients[i] = mlt_xcalloc(1, sizeof *l->clients[i]);
            l->clients[i]->source.fd = -1;
        }
        client *c = l->clients[i];
        if (c->stage == LIVE_FREE)
            return c;
        if (c->stage != LIVE_WAITS && (!oldest || c->since < oldest->since))
            oldest = c;
    }
    if (oldest)
        close_client(oldest);
    return oldest;
}

static void came_in(mlt_live *l, int fd)
{
    client *c = is_friend(fd) ? place_for_one(l) : NULL;
    if (!c) {
        close(fd);
        return;
    }
    c->source = (mlt_loop_source){.fd = fd, .ready = client_ready};
    c->live = l;
    c->stage = READS;
    c->since = ++l->count;
    c->got = c->sent = 0;
    await_client(c, EPOLLIN);
}

static void listener_ready(mlt_loop_source *source, uint32_t events)
{
    const listener *at = mlt_container_of(source, listener, source);
    int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0)
        came_in(at->live, fd);
}

static void add_listener(mlt_live *l, int which, int fd)
{
    l->listeners[which] = (listener){.source = {.fd = fd, .ready = listener_ready}, .live = l};
    if (fd >= 0 &&
        (listen(fd, BACKLOG) != 0 || !mlt_loop_add(&l->listeners[which].source, EPOLLIN)))
        mlt_loop_close(&l->listeners[which].source);
}

// ---- the sockets

static int new_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

// Its number is random, so that nobody else can take the name before.
static int bind_name(const mlt_live *l)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    uint64_t number = mlt_os_now_ns();
    (void)!getrandom(&number, sizeof number, GRND_NONBLOCK);
    int n = snprintf(at.sun_path + 1, sizeof at.sun_path - 1, MLT_LIVE_NAME_FORMAT "%u/%llx",
                     (unsigned)geteuid(), (unsigned)l->conf.pid, (unsigned long long)number);
    int fd = new_socket();
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&at, size) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

// A socket of a job that was killed is nobody's: it is replaced.
static void remove_stale(const char *file, const struct sockaddr_un *at)
{
    struct stat found;
    int fd = new_socket();
    if (lstat(file, &found) == 0 && S_ISSOCK(found.st_mode) && fd >= 0 &&
        connect(fd, (const struct sockaddr *)at, sizeof *at) != 0 && errno == ECONNREFUSED)
        (void)unlink(file);
    if (fd >= 0)
        close(fd);
}

static int bind_file(const char *file)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (strlen(file) >= sizeof at.sun_path)
        mlt_quit(MLT_EXIT_USAGE,
                 "--live: a socket's name has at most %zu bytes, but this has %zu: %s",
                 sizeof at.sun_path - 1, strlen(file), file);
    strcpy(at.sun_path, file);
    remove_stale(file, &at);
    int fd = new_socket();
    mode_t before = umask(0177); // nobody else, from the first moment on
    bool fine = fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0;
    int error = errno;
    (void)umask(before);
    if (!fine)
        mlt_quit(MLT_EXIT_USAGE, "--live: no socket can be made at %s: %s", file,
                 error == EADDRINUSE ? "something is there" : strerror(error));
    return fd;
}

mlt_live *mlt_live_new(const mlt_live_conf *conf)
{
    mlt_live *l = mlt_xcalloc(1, sizeof *l);
    l->conf = *conf;
    l->answers = mlt_xcalloc(conf->plan->host_count + 1, sizeof *l->answers);
    add_listener(l, 0, bind_name(l));
    add_listener(l, 1, conf->options->live ? bind_file(conf->options->live) : -1);
    l->file = conf->options->live;
    return l;
}

void mlt_live_free(mlt_live *l)
{
    if (!l)
        return;
    for (int i = 0; i < LISTENERS; i++)
        mlt_loop_close(&l->listeners[i].source);
    if (l->file)
        (void)unlink(l->file);
    for (int i = 0; i < CLIENTS && l->clients[i]; i++) {
        if (l->clients[i]->live)
            close_client(l->clients[i]);
        free(l->clients[i]);
    }
    for (int i = 0; i < CHANGES; i++) {
        free(l->changes[i].file);
        free(l->changes[i].text);
    }
    mlt_live_snap_fini(&l->snap);
    free(l->answers);
    free(l);
}
