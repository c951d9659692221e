// SPDX-License-Identifier: BSD-3-Clause
// One thread: a request is answered when it is whole, and a connection is not read from while its answer is on its way.
#include "tools/view/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>

#include "base/memory.h"
#include "os/fd.h"
#include "os/tcp.h"
#include "tools/args.h"
#include "tools/view/http.h"

enum { CLIENTS = 16, TOKEN_BYTES = 16, VIEW_SERVE_SIGNALS = 0, LISTENER = 1, FIRST = 2 };

typedef struct view_serve_client {
    int fd;        // -1: free
    uint64_t turn; // when it last said something
    size_t held;
    char in[MLT_HTTP_MOST];
    mlt_text out;
    size_t out_at;
    bool closes; // after what is left of `out`
} view_serve_client;

typedef struct server {
    const mlt_serve *serve;
    int listener, signals;
    uint16_t port;
    uint64_t turn;
    char token[2 * TOKEN_BYTES + 1];
    view_serve_client clients[CLIENTS];
} server;

// ---- answers

static void put_head(mlt_text *out, int status, const char *type, size_t bytes, bool closes)
{
    mlt_text_add(out,
                 "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                 "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
                 "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n"
                 "Cross-Origin-Resource-Policy: same-origin\r\n%s\r\n",
                 status, mlt_http_words(status), type, bytes,
                 closes ? "Connection: close\r\n" : "");
}

static void view_serve_answer(view_serve_client *c, int status, const char *type, const char *body,
                              size_t bytes)
{
    put_head(&c->out, status, type, bytes, c->closes);
    mlt_text_put(&c->out, body, bytes);
}

static void view_serve_refuse(view_serve_client *c, int status, const char *message)
{
    view_serve_answer(c, status, "text/plain", message, strlen(message));
}

// Whether the browser asked for this machine by a name that nobody else can give it.
static bool is_ours(const server *s, const char *host)
{
    char one[64], two[64];
    snprintf(one, sizeof one, "127.0.0.1:%u", s->port);
    snprintf(two, sizeof two, "localhost:%u", s->port);
    return strcmp(host, one) == 0 || strcmp(host, two) == 0;
}

// "/TOKEN/rest": the rest; NULL: another token. Takes as long for every wrong one.
static const char *behind_token(const server *s, const char *path)
{
    size_t length = sizeof s->token - 1;
    unsigned differs = 0;
    if (strlen(path) < length + 2 || path[length + 1] != '/')
        return NULL;
    for (size_t i = 0; i < length; i++)
        differs |= (unsigned char)path[i + 1] ^ (unsigned char)s->token[i];
    return differs ? NULL : path + length + 2;
}

static void answer_piece(server *s, view_serve_client *c, const char *what, const char *query)
{
    uint64_t run;
    mlt_text piece = {0};
    if (!mlt_http_number(query, "run", &run) || run >= s->serve->run_count) {
        view_serve_refuse(c, MLT_HTTP_BAD, "the request wants a number: run\n");
        return;
    }
    int status = mlt_pieces_answer(&s->serve->runs[run], what, query, &piece);
    const char *type = status == MLT_HTTP_FINE ? "application/octet-stream" : "text/plain";
    view_serve_answer(c, status, type, mlt_text_so_far(&piece), piece.length);
    mlt_text_free(&piece);
}

static void answer_request(server *s, view_serve_client *c, const mlt_http_request *r)
{
    const mlt_text *page = s->serve->page, *data = s->serve->data;
    const char *what = behind_token(s, r->path);
    c->closes = r->closes;
    if (!is_ours(s, r->host) || !what)
        view_serve_refuse(c, MLT_HTTP_FORBIDDEN,
                          "this link is not the one that millet view printed\n");
    else if (!*what)
        view_serve_answer(c, MLT_HTTP_FINE, "text/html; charset=utf-8", mlt_text_so_far(page),
                          page->length);
    else if (strcmp(what, "data") == 0)
        view_serve_answer(c, MLT_HTTP_FINE, "application/octet-stream", mlt_text_so_far(data),
                          data->length);
    else
        answer_piece(s, c, what, r->query);
}

// ---- connections

static void view_serve_hang_up(view_serve_client *c)
{
    mlt_os_close(c->fd);
    mlt_text_free(&c->out);
    *c = (view_serve_client){.fd = -1};
}

static bool has_answer(const view_serve_client *c)
{
    return c->out_at < c->out.length;
}

static void write_some(view_serve_client *c)
{
    while (c->fd >= 0 && has_answer(c)) {
        ssize_t n = mlt_os_try_write(c->fd, c->out.text + c->out_at, c->out.length - c->out_at);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n < 0) {
            view_serve_hang_up(c);
            return;
        }
        c->out_at += (size_t)n;
    }
    mlt_text_free(&c->out);
    c->out_at = 0;
    if (c->closes)
        view_serve_hang_up(c);
}

// Answers the whole requests that have come, one after the other.
static void answer_all(server *s, view_serve_client *c)
{
    mlt_http_request request;
    size_t used;
    while (c->fd >= 0 && !has_answer(c) && c->held) {
        int status = mlt_http_read(&request, c->in, c->held, &used);
        if (status == MLT_HTTP_MORE)
            return;
        if (status == MLT_HTTP_FINE)
            answer_request(s, c, &request);
        else {
            c->closes = true;
            view_serve_refuse(c, status, "this is no request that millet view answers\n");
        }
        memmove(c->in, c->in + used, c->held - used);
        c->held -= used;
        write_some(c);
    }
}

static void read_some(server *s, view_serve_client *c)
{
    ssize_t n = mlt_os_try_read(c->fd, c->in + c->held, sizeof c->in - c->held);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        view_serve_hang_up(c);
        return;
    }
    c->turn = ++s->turn;
    c->held += (size_t)n;
    answer_all(s, c);
}

static void take_client(server *s)
{
    struct sockaddr_storage from;
    int fd = mlt_os_tcp_accept(s->listener, &from);
    if (fd < 0)
        return;
    view_serve_client *c = &s->clients[0];
    for (int i = 0; i < CLIENTS; i++) {
        view_serve_client *other = &s->clients[i];
        if (other->fd < 0 || (c->fd >= 0 && other->turn < c->turn))
            c = other;
    }
    view_serve_hang_up(c);
    c->fd = fd;
    c->turn = ++s->turn;
}

// ---- the whole

static void listen_here(server *s)
{
    struct sockaddr_in here = {.sin_family = AF_INET,
                               .sin_port = htons(s->serve->port),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_storage is;
    s->listener = mlt_os_tcp_listen((struct sockaddr *)&here, sizeof here);
    if (s->listener < 0 || mlt_os_tcp_here(s->listener, &is) != 0)
        mlt_args_failed("cannot listen at 127.0.0.1, port %u: %s", s->serve->port, strerror(errno));
    s->port = ntohs(((struct sockaddr_in *)&is)->sin_port);
}

static void view_serve_begin(server *s)
{
    uint8_t random[TOKEN_BYTES];
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->signals < 0 || mlt_os_random(random, sizeof random) != MLT_OK)
        mlt_args_failed("cannot serve the page: %s", strerror(errno));
    for (int i = 0; i < TOKEN_BYTES; i++)
        snprintf(s->token + 2 * i, 3, "%02x", random[i]);
    listen_here(s);
}

// Until a signal comes.
static void go_on(server *s)
{
    struct pollfd fds[FIRST + CLIENTS];
    for (;;) {
        fds[VIEW_SERVE_SIGNALS] = (struct pollfd){.fd = s->signals, .events = POLLIN};
        fds[LISTENER] = (struct pollfd){.fd = s->listener, .events = POLLIN};
        for (int i = 0; i < CLIENTS; i++) {
            view_serve_client *c = &s->clients[i];
            fds[FIRST + i] =
                (struct pollfd){.fd = c->fd, .events = has_answer(c) ? POLLOUT : POLLIN};
        }
        mlt_os_poll(fds, FIRST + CLIENTS, -1);
        if (fds[VIEW_SERVE_SIGNALS].revents)
            return;
        for (int i = 0; i < CLIENTS; i++) {
            view_serve_client *c = &s->clients[i];
            if (!fds[FIRST + i].revents)
                continue;
            if (!has_answer(c))
                read_some(s, c);
            else {
                write_some(c);
                answer_all(s, c);
            }
        }
        if (fds[LISTENER].revents)
            take_client(s);
    }
}

void mlt_serve_run(const mlt_serve *serve, void (*ready)(const char *link))
{
    server *s = mlt_xcalloc(1, sizeof *s);
    s->serve = serve;
    for (int i = 0; i < CLIENTS; i++)
        s->clients[i].fd = -1;
    view_serve_begin(s);
    ready(mlt_text_of("http://127.0.0.1:%u/%s/", s->port, s->token));
    go_on(s);
}
