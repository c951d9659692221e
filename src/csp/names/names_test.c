// SPDX-License-Identifier: BSD-3-Clause
// Names and connections within one process: a name server that the test plays itself, which answers
// rightly, wrongly or not at all, and two jobs of one worker each, on threads, that find each
// other.
#include "base/upcalls.h"
#include "csp/names/names.h"

#include <errno.h>
#include <fcntl.h>
#include <millet/csp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "csp/names/file.h"
#include "csp/names/text.h"
#include "csp/net/frame.h"
#include "csp/net/remote.h"
#include "csp/settings.h"
#include "csp/state.h"
#include "p2p/settings.h"
#include "p2p/worker.h"

static char folder[64], path[128];

static void tell_why(void)
{
    fprintf(stderr, "  errno %d: %s; why: %s\n", errno, strerror(errno), csp_why());
}

// ---- a name server, as it should not be

typedef enum manner {
    PROPER,   // does what it should
    GARBAGE,  // answers PUT with what nobody understands
    REFUSES,  // does not admit anybody
    FORGETS,  // hangs up at the first PUT of each connection, until it has done so `patience` times
    BYTEWISE, // answers in single bytes
    FOREIGN,  // says what it was not asked for
    MANNERS,
} manner;

enum { CLIENTS = 8, NAMES = 64 };

typedef struct server {
    pthread_t thread;
    int listener, stop[2];
    manner how;
    int patience;
    _Atomic int hellos, puts, cancels;
    struct {
        int fd;
        size_t held;
        unsigned char in[MLT_NAMES_FRAME];
    } clients[CLIENTS];
    struct {
        mlt_name name;
        int owner; // descriptor; 0: free
    } names[NAMES];
    struct {
        char name[MLT_NAME_MOST + 1];
        int owner;
        uint32_t id;
    } waits[NAMES];
} server;

static void say(const server *s, int fd, const mlt_names_message *m)
{
    unsigned char frame[MLT_NAMES_FRAME];
    size_t bytes = mlt_names_encode(m, frame), step = s->how == BYTEWISE ? 1 : bytes;
    for (size_t at = 0; at < bytes; at += step)
        (void)!send(fd, frame + at, step, MSG_NOSIGNAL);
}

static void answer(const server *s, int fd, uint32_t id, csp_status status)
{
    mlt_names_message m = {.verb = MLT_NAMES_ANSWER, .id = id, .status = (uint8_t)status};
    snprintf(m.text, sizeof m.text, "because: %d", (int)status);
    say(s, fd, &m);
}

static void found(const server *s, int fd, uint32_t id, const mlt_name *name)
{
    mlt_names_message m = {.verb = MLT_NAMES_FOUND, .id = id, .name = *name};
    say(s, fd, &m);
}

static int place_of(const server *s, const char *name)
{
    for (int i = 0; i < NAMES; i++)
        if (s->names[i].owner && strcmp(s->names[i].name.name, name) == 0)
            return i;
    return -1;
}

static void put(server *s, int fd, const mlt_names_message *m)
{
    int i = 0;
    if (place_of(s, m->name.name) >= 0) {
        answer(s, fd, m->id, CSP_TAKEN);
        return;
    }
    while (s->names[i].owner)
        i++;
    CHECK(i < NAMES);
    s->names[i].name = m->name;
    s->names[i].owner = fd;
    answer(s, fd, m->id, CSP_OK);
    for (int w = 0; w < NAMES; w++)
        if (s->waits[w].owner && strcmp(s->waits[w].name, m->name.name) == 0) {
            found(s, s->waits[w].owner, s->waits[w].id, &m->name);
            s->waits[w].owner = 0;
        }
}

static void find(server *s, int fd, const mlt_names_message *m)
{
    int at = place_of(s, m->name.name), w = 0;
    if (at >= 0) {
        found(s, fd, m->id, &s->names[at].name);
    } else if (!m->flag) {
        answer(s, fd, m->id, CSP_NO_NAME);
    } else {
        while (s->waits[w].owner)
            w++;
        CHECK(w < NAMES);
        snprintf(s->waits[w].name, sizeof s->waits[w].name, "%s", m->name.name);
        s->waits[w].owner = fd;
        s->waits[w].id = m->id;
    }
}

// False: it hangs up.
static bool handle(server *s, int fd, const mlt_names_message *m)
{
    int at;
    switch (m->verb) {
    case MLT_NAMES_HELLO:
        atomic_fetch_add(&s->hellos, 1);
        if (s->how == REFUSES)
            say(s, fd,
                &(mlt_names_message){.verb = MLT_NAMES_REFUSED, .text = "not in these shoes"});
        else
            say(s, fd, &(mlt_names_message){.verb = MLT_NAMES_WELCOME});
        return s->how != REFUSES;
    case MLT_NAMES_PUT:
        atomic_fetch_add(&s->puts, 1);
        if (s->how == GARBAGE)
            (void)!send(fd, "\xff\xff\xff\xff\xff\xff", 6, MSG_NOSIGNAL);
        else if (s->how == FORGETS && s->patience-- > 0)
            return false;
        else
            put(s, fd, m);
        if (s->how == FOREIGN) {
            answer(s, fd, m->id + 1000, CSP_LOST);
            found(s, fd, m->id + 1000, &m->name);
            say(s, fd, &(mlt_names_message){.verb = MLT_NAMES_NUMBERS});
        }
        return true;
    case MLT_NAMES_FIND:
        find(s, fd, m);
        return true;
    case MLT_NAMES_DROP:
        at = place_of(s, m->name.name);
        if (at >= 0 && s->names[at].owner == fd)
            s->names[at].owner = 0;
        answer(s, fd, m->id, at >= 0 ? CSP_OK : CSP_NO_NAME);
        return true;
    case MLT_NAMES_CANCEL:
        atomic_fetch_add(&s->cancels, 1);
        return true;
    default:
        return false;
    }
}

static void hang_up(server *s, int i)
{
    int fd = s->clients[i].fd;
    for (int n = 0; n < NAMES; n++) {
        if (s->names[n].owner == fd)
            s->names[n].owner = 0;
        if (s->waits[n].owner == fd)
            s->waits[n].owner = 0;
    }
    close(fd);
    s->clients[i].fd = 0;
    s->clients[i].held = 0;
}

static void hear(server *s, int i)
{
    unsigned char *in = s->clients[i].in;
    size_t *held = &s->clients[i].held;
    ssize_t n = recv(s->clients[i].fd, in + *held, MLT_NAMES_FRAME - *held, 0);
    if (n <= 0) {
        hang_up(s, i);
        return;
    }
    *held += (size_t)n;
    for (;;) {
        mlt_names_message m;
        int bytes = mlt_names_decode(in, *held, &m);
        CHECK(bytes >= 0);
        if (bytes == 0)
            return;
        *held -= (size_t)bytes;
        memmove(in, in + bytes, *held);
        if (!handle(s, s->clients[i].fd, &m)) {
            hang_up(s, i);
            return;
        }
    }
}

static void *serve(void *arg)
{
    server *s = arg;
    for (;;) {
        struct pollfd p[CLIENTS + 2] = {{.fd = s->stop[0], .events = POLLIN},
                                        {.fd = s->listener, .events = POLLIN}};
        for (int i = 0; i < CLIENTS; i++)
            p[i + 2] =
                (struct pollfd){.fd = s->clients[i].fd ? s->clients[i].fd : -1, .events = POLLIN};
        CHECK(poll(p, CLIENTS + 2, -1) > 0);
        if (p[0].revents)
            return NULL;
        for (int i = 0; i < CLIENTS; i++)
            if (p[i + 2].revents)
                hear(s, i);
        if (p[1].revents) {
            int i = 0;
            while (s->clients[i].fd)
                i++;
            CHECK(i < CLIENTS);
            s->clients[i].fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
            CHECK(s->clients[i].fd > 0);
        }
    }
}

static server *server_new(manner how, int patience)
{
    char why[256];
    server *s = calloc(1, sizeof *s);
    CHECK(s);
    s->how = how;
    s->patience = patience;
    mlt_names_file file = {.pid = 1};
    mlt_names_file_of_here(&file);
    memset(file.key, 'k', sizeof file.key);
    snprintf(file.socket, sizeof file.socket, "%s/socket", folder);
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof at.sun_path, "%s", file.socket);
    unlink(at.sun_path);
    s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(s->listener >= 0 && bind(s->listener, (struct sockaddr *)&at, sizeof at) == 0);
    CHECK(listen(s->listener, 16) == 0 && pipe2(s->stop, O_CLOEXEC) == 0);
    CHECK(mlt_names_file_write(path, &file, why, sizeof why) == MLT_OK);
    CHECK(pthread_create(&s->thread, NULL, serve, s) == 0);
    return s;
}

static void server_free(server *s)
{
    CHECK(write(s->stop[1], "", 1) == 1 && pthread_join(s->thread, NULL) == 0);
    for (int i = 0; i < CLIENTS; i++)
        if (s->clients[i].fd)
            close(s->clients[i].fd);
    close(s->stop[0]);
    close(s->stop[1]);
    close(s->listener);
    free(s);
}

// ---- jobs

static mlt_rank *own_rank(void)
{
    return mlt_rank_self();
}

typedef struct job {
    void (*entry)(void *rank);
    pthread_t thread;
} job;

static void *job_main(void *arg)
{
    job *j = arg;
    uint32_t one = 1;
    mlt_job_plan plan = {.procs = 1,
                         .workers_of_proc = &one,
                         .ranks_a_worker = &one,
                         .app_of_proc = &(uint32_t){0},
                         .cores = 2};
    mlt_job *segment;
    mlt_worker *w;
    int fd = -1;
    char why[256];
    CHECK(mlt_job_new(&plan, &segment, &fd, why, sizeof why) == MLT_OK);
    mlt_boot boot = {.job = segment, .ctl = -1};
    CHECK(mlt_worker_new(&boot, 0, 1, &w, why, sizeof why) == MLT_OK);
    mlt_worker_run(w, j->entry);
    mlt_csp_end(w);
    mlt_worker_free(w);
    mlt_job_close(segment);
    return NULL;
}

static void run(void (*one)(void *rank), void (*two)(void *rank))
{
    job jobs[2] = {{.entry = one}, {.entry = two}};
    for (int i = 0; i < 2 && jobs[i].entry; i++)
        CHECK(pthread_create(&jobs[i].thread, NULL, job_main, &jobs[i]) == 0);
    for (int i = 0; i < 2 && jobs[i].entry; i++)
        CHECK(pthread_join(jobs[i].thread, NULL) == 0);
}

// ---- one client

static mlt_name text_name(const char *name, const char *text)
{
    mlt_name n = {.kind = MLT_OBJECT_NONE};
    snprintf(n.name, sizeof n.name, "%s", name);
    snprintf(n.text, sizeof n.text, "%s", text);
    return n;
}

static bool says(const char *what)
{
    return strstr(csp_why(), what) != NULL;
}

static const mlt_names_ops *ops_of(void)
{
    const mlt_names_ops *ops = mlt_names_of(mlt_csp_enter("test"));
    CHECK(ops == &mlt_names_server);
    return ops;
}

static void use_names(void *rank)
{
    const mlt_names_ops *ops = ops_of();
    mlt_csp *csp = mlt_csp_self;
    mlt_name a = text_name("a", "text a"), out;
    CHECK(ops->find(csp, "a", &out, CSP_AT_ONCE) == CSP_NO_NAME && says("because"));
    CHECK(ops->put(csp, &a) == CSP_OK);
    CHECK(ops->put(csp, &a) == CSP_TAKEN);
    CHECK(ops->find(csp, "a", &out, CSP_AT_ONCE) == CSP_OK && strcmp(out.text, "text a") == 0);
    CHECK(ops->find(csp, "b", &out, csp_after(0.02)) == CSP_LATE && says("'b'"));
    CHECK(ops->drop(csp, "a") == CSP_OK && ops->drop(csp, "a") == CSP_NO_NAME);
    CHECK(ops->find(csp, "", &out, CSP_AT_ONCE) == CSP_NO_NAME && says("empty"));
    CHECK(ops->find(csp, "a\nb", &out, CSP_AT_ONCE) == CSP_NO_NAME && says("control"));
    mlt_name bad = text_name("a\tb", "");
    CHECK(ops->put(csp, &bad) == CSP_REFUSED && says("control"));
    CHECK(ops->put(csp, &a) == CSP_OK);
}

static int put_late(void *arg)
{
    mlt_name b = text_name("later", "came");
    csp_sleep(csp_after(0.05));
    CHECK(mlt_names_of(mlt_csp_self)->put(mlt_csp_self, &b) == CSP_OK);
    return 0;
}

static int wait_long(void *arg)
{
    mlt_name out;
    CHECK(mlt_names_of(mlt_csp_self)->find(mlt_csp_self, "later", &out, CSP_NEVER) == CSP_OK);
    CHECK(strcmp(out.text, "came") == 0);
    return 0;
}

// Several processes of a worker wait at once, while others go on.
static void wait_for_names(void *rank)
{
    (void)ops_of();
    CHECK(CSP_PAR({.run = wait_long}, {.run = put_late}, {.run = wait_long}, {.run = wait_long}) ==
          0);
}

static void is_refused(void *rank)
{
    mlt_name a = text_name("a", "");
    CHECK(ops_of()->put(mlt_csp_self, &a) == CSP_REFUSED && says("not in these shoes"));
}

static void hears_garbage(void *rank)
{
    mlt_name a = text_name("a", ""), out;
    CHECK(ops_of()->put(mlt_csp_self, &a) == CSP_REFUSED && says("nobody understands"));
    CHECK(ops_of()->find(mlt_csp_self, "a", &out, CSP_AT_ONCE) == CSP_NO_NAME); // a new connection
}

static void no_server(void *rank)
{
    CHECK(mlt_names_of(mlt_csp_enter("test")) == NULL && says("Connection refused"));
    CHECK(mlt_names_key(mlt_csp_self, false) == NULL);
    CHECK(csp_unregister("a") == CSP_REFUSED);
    csp_port *port = csp_port_new("p", 0);
    csp_target *target;
    CHECK(csp_register_port("p", port) == CSP_REFUSED && says("Connection refused"));
    CHECK(csp_find_port("p", &target, CSP_NEVER) == CSP_REFUSED);
    csp_port_free(port);
}

static void long_path(void *rank)
{
    CHECK(mlt_names_of(mlt_csp_enter("test")) == NULL && says("MILLET_NAMES is longer than 512"));
}

static void own_names(void *rank)
{
    CHECK(mlt_names_of(mlt_csp_enter("test")) == &mlt_names_job);
    CHECK(mlt_names_key(mlt_csp_self, false) == NULL && says("none is used"));
}

static void one_client(void)
{
    for (manner how = PROPER; how < MANNERS; how++) {
        server *s = server_new(how, 2);
        if (how == REFUSES)
            run(is_refused, NULL);
        else if (how == GARBAGE)
            run(hears_garbage, NULL);
        else {
            run(use_names, NULL);
            CHECK(atomic_load(&s->cancels) == 1);
            CHECK(how != FORGETS || atomic_load(&s->hellos) == 3); // it came back twice
            run(wait_for_names, NULL);
        }
        server_free(s);
    }
    run(no_server, NULL);
    mlt_csp_conf_now.names = "job";
    run(own_names, NULL);
    mlt_csp_conf_now.names = "";
    setenv("XDG_RUNTIME_DIR", folder, 1); // nothing is there
    run(own_names, NULL);
    unsetenv("XDG_RUNTIME_DIR");
    unsetenv("HOME");
    run(own_names, NULL);
    char name[MLT_NAMES_PATH + 1];
    memset(name, 'x', MLT_NAMES_PATH);
    name[MLT_NAMES_PATH] = '\0';
    mlt_csp_conf_now.names = name;
    run(long_path, NULL);
    mlt_csp_conf_now.names = path;
}

// ---- two programs

enum { ROUNDS = 200, LONG = 300000 };

static void receiver(void *rank)
{
    csp_port *port = csp_port_new("in", 0);
    csp_chan *chan = csp_chan_new("numbers", sizeof(int));
    csp_in *in = csp_chan_in(chan);
    char *data = malloc(LONG);
    size_t bytes;
    int value, from;
    CHECK(data && csp_register_chan("numbers", chan) == CSP_OK);
    CHECK(csp_register_port("in", port) == CSP_OK);
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(csp_receive(port, data, LONG, &bytes, &from) == CSP_OK && from == -1);
        CHECK(bytes == (size_t)(i * 1500) % LONG + 1 && data[bytes - 1] == (char)i);
    }
    for (int i = 0; i < ROUNDS; i++)
        CHECK(csp_read(in, &value) == CSP_OK && value == i);
    CHECK(csp_read(in, &value) == CSP_RETIRED);
    free(data);
    csp_port_free(port);
    csp_chan_free(chan);
}

static void sender(void *rank)
{
    csp_target *target;
    csp_out *out;
    char *data = malloc(LONG);
    CHECK(data && csp_find_port("in", &target, CSP_NEVER) == CSP_OK);
    for (int i = 0; i < ROUNDS; i++) {
        size_t bytes = (size_t)(i * 1500) % LONG + 1;
        memset(data, (char)i, bytes);
        CHECK(csp_send(target, data, bytes) == CSP_OK);
    }
    CHECK(csp_find_out("numbers", sizeof(int), &out, CSP_NEVER) == CSP_OK);
    for (int i = 0; i < ROUNDS; i++)
        CHECK(csp_write(out, &i) == CSP_OK);
    csp_retire(out);
    csp_target_free(target);
    free(data);
}

// Both connect at once, and one ends before the other has heard everything.
static void meet(const char *own, const char *other)
{
    csp_port *port = csp_port_new(own, 0);
    csp_target *target;
    int value = 7;
    CHECK(csp_register_port(own, port) == CSP_OK);
    CHECK(csp_find_port(other, &target, CSP_NEVER) == CSP_OK);
    CHECK(csp_send(target, &value, sizeof value) == CSP_OK);
    CHECK(csp_receive(port, &value, sizeof value, NULL, NULL) == CSP_OK && value == 7);
    int routes = 0;
    const mlt_remote *net = mlt_csp_self->net;
    for (const mlt_list_node *l = net->routes.next; l != &net->routes; l = l->next)
        routes += mlt_container_of(l, mlt_route, node)->worker == UINT32_MAX;
    CHECK(routes == 1); // one, whoever was faster
    csp_target_free(target);
    csp_port_free(port);
}

static void left(void *rank)
{
    meet("left", "right");
}

static void right(void *rank)
{
    meet("right", "left");
}

// The other program ends while this one waits in each way.
static void ends(void *rank)
{
    csp_chan *chan = csp_chan_new("c", sizeof(int));
    csp_port *port = csp_port_new("p", 64), *go = csp_port_new("go", 0);
    (void)csp_chan_in(chan);
    (void)csp_chan_out(chan);
    CHECK(csp_register_chan("c", chan) == CSP_OK && csp_register_port("p", port) == CSP_OK);
    CHECK(csp_register_port("go", go) == CSP_OK);
    CHECK(csp_receive(go, NULL, 0, NULL, NULL) == CSP_OK);
    csp_sleep(
        csp_after(0.05)); // the others wait by then; if they do not, they are late for the same end
}

static csp_in *far_in;
static csp_out *far_out;
static csp_target *far_port;

static int reads(void *arg)
{
    int value;
    return csp_read(far_in, &value);
}

static int alternates(void *arg)
{
    int value;
    csp_guard g[] = {csp_on_read(far_in, &value), csp_on_time(csp_after(30))};
    return g[csp_alt(g, 2)].status;
}

static int sends(void *arg)
{
    char data[64] = "";
    csp_status status;
    while ((status = csp_send(far_port, data, sizeof data)) == CSP_OK)
        ;
    return status;
}

static void survives(void *rank)
{
    csp_target *go;
    csp_proc procs[] = {{.run = reads}, {.run = alternates}, {.run = sends}};
    CHECK(csp_find_in("c", sizeof(int), &far_in, CSP_NEVER) == CSP_OK);
    CHECK(csp_find_out("c", sizeof(int), &far_out, CSP_NEVER) == CSP_OK);
    CHECK(csp_find_port("p", &far_port, CSP_NEVER) == CSP_OK);
    CHECK(csp_find_port("go", &go, CSP_NEVER) == CSP_OK);
    CHECK(csp_send(go, "", 0) == CSP_OK);
    csp_par(procs, 3);
    for (int i = 0; i < 3; i++)
        CHECK(procs[i].result == CSP_RETIRED); // it ended in order
    CHECK(says("has ended") && says("process"));
    int value = 1;
    CHECK(csp_write(far_out, &value) == CSP_RETIRED && csp_send(go, "", 0) == CSP_RETIRED);
    csp_target_free(go);
    csp_target_free(far_port);
}

static void two_programs(void)
{
    server *s = server_new(PROPER, 0);
    run(receiver, sender);
    for (int i = 0; i < 50; i++)
        run(left, right);
    run(ends, survives);
    server_free(s);
}

// ---- somebody listens in the place of a program

static _Atomic int impostor;
static char impostor_name[40];

static void meets_impostor(void *rank)
{
    mlt_csp *csp = mlt_csp_enter("test");
    mlt_endpoint to = {.job = 1, .worker = 2};
    csp_status status;
    snprintf(to.socket, sizeof to.socket, "%s", impostor_name);
    (void)ops_of();
    CHECK(mlt_route_to(csp, &to, CSP_NEVER, &status) == NULL);
    static const struct {
        csp_status status;
        const char *why;
    } wanted[] = {{CSP_LOST, "no program of Millet"},
                  {CSP_REFUSED, "another key"},
                  {CSP_LOST, "another one listens"},
                  {CSP_REFUSED, "of another version"},
                  {CSP_REFUSED, "go away"}};
    int kind = atomic_load(&impostor);
    CHECK(status == wanted[kind].status && says(wanted[kind].why));
    to.socket[0] = '\0';
    CHECK(mlt_route_to(csp, &to, CSP_NEVER, &status) == NULL && status == CSP_REFUSED);
    snprintf(to.socket, sizeof to.socket, "@nobody-%d", (int)getpid());
    CHECK(mlt_route_to(csp, &to, CSP_NEVER, &status) == NULL && status == CSP_LOST);
}

static void *impersonate(void *arg)
{
    int listener = *(int *)arg, fd = accept(listener, NULL, NULL);
    unsigned char bytes[MLT_SOCKET_GREETING_MOST];
    mlt_socket_greeting g = {.verb = MLT_SOCKET_GREETING_HELLO, .from = {.job = 1, .worker = 2}};
    CHECK(fd >= 0 && recv(fd, bytes, sizeof bytes, 0) > 0);
    memset(g.key, atomic_load(&impostor) == 1 ? 'x' : 'k', sizeof g.key);
    if (atomic_load(&impostor) == 2)
        g.from.worker = 3;
    if (atomic_load(&impostor) == 4) {
        g.verb = MLT_SOCKET_GREETING_REFUSED;
        snprintf(g.text, sizeof g.text, "go away");
    }
    size_t n = mlt_socket_greeting_encode(&g, bytes);
    if (atomic_load(&impostor) == 0)
        memset(bytes, 0xee, n);
    if (atomic_load(&impostor) == 3)
        bytes[3]++; // the version
    for (size_t i = 0; i < n; i++)
        CHECK(send(fd, bytes + i, 1, MSG_NOSIGNAL) == 1 || i > 1);
    while (recv(fd, bytes, sizeof bytes, 0) > 0)
        ;
    close(fd);
    return NULL;
}

static void impostors(void)
{
    server *s = server_new(PROPER, 0);
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int n = snprintf(impostor_name, sizeof impostor_name, "@millet-test-%d", (int)getpid());
    memcpy(at.sun_path, impostor_name, (size_t)n);
    at.sun_path[0] = '\0';
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(listener >= 0 &&
          bind(listener, (struct sockaddr *)&at,
               (socklen_t)offsetof(struct sockaddr_un, sun_path) + (socklen_t)n) == 0);
    CHECK(listen(listener, 4) == 0);
    for (int i = 0; i < 5; i++) {
        pthread_t thread;
        atomic_store(&impostor, i);
        CHECK(pthread_create(&thread, NULL, impersonate, &listener) == 0);
        run(meets_impostor, NULL);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    close(listener);
    server_free(s);
}

// ---- the file

static void files(void)
{
    mlt_names_file file = {.socket = "/x", .pid = 12}, out;
    char why[512];
    mlt_address all[] = {{.family = 4, .bytes = {10, 0, 0, 1}}, {.family = 6, .bytes = {0xfd}}};
    mlt_names_file_of_here(&file);
    file.place.number = MLT_FAR_SERVER;
    file.place.port = 40000;
    CHECK(mlt_far_put(&file.place, all, 2) && mlt_names_file_is_here(&file));
    memset(file.key, 0xa5, sizeof file.key);
    CHECK(mlt_names_file_read(path, &out, why, sizeof why) == MLT_ERR_NOT_FOUND);
    CHECK(mlt_names_file_write(path, &file, why, sizeof why) == MLT_OK);
    struct stat about;
    CHECK(stat(path, &about) == 0 && (about.st_mode & 0777) == 0600);
    CHECK(mlt_names_file_read(path, &out, why, sizeof why) == MLT_OK &&
          memcmp(&out, &file, sizeof out) == 0);
    CHECK(mlt_names_same_key(out.key, file.key));
    out.key[31] ^= 1;
    CHECK(!mlt_names_same_key(out.key, file.key));
    for (unsigned bit = 0; bit < 6; bit++) {
        CHECK(chmod(path, 0600 | 1u << bit) == 0);
        CHECK(mlt_names_file_read(path, &out, why, sizeof why) == MLT_ERR_INVALID &&
              strstr(why, "chmod 600"));
    }
    CHECK(chmod(path, 0600) == 0);
    if (geteuid() == 0) {
        CHECK(chown(path, 12345, (gid_t)-1) == 0);
        CHECK(mlt_names_file_read(path, &out, why, sizeof why) == MLT_ERR_INVALID &&
              strstr(why, "another user"));
        CHECK(chown(path, 0, (gid_t)-1) == 0);
    }
    CHECK(mlt_names_file_read(folder, &out, why, sizeof why) == MLT_ERR_INVALID &&
          strstr(why, "no file"));
    CHECK(mlt_names_file_write("/nowhere/names", &file, why, sizeof why) == MLT_ERR_SYSTEM);
    CHECK(unlink(path) == 0);
}

const mlt_upcall_table mlt_upcalls = {.join = own_rank, .packet = mlt_route_packet};

int main(void)
{
    char why[256];
    tell_more = tell_why;
    signal(SIGPIPE, SIG_IGN);
    snprintf(folder, sizeof folder, "/tmp/names_test_XXXXXX");
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/names", folder);
    CHECK(mlt_settings_read(mlt_p2p_settings, mlt_p2p_settings_count, why, sizeof why) == MLT_OK);
    mlt_csp_conf_now.names = path;
    files();
    one_client();
    two_programs();
    impostors();
    unlink(path);
    snprintf(path, sizeof path, "%s/socket", folder);
    unlink(path);
    rmdir(folder);
    puts("all right");
    return 0;
}
