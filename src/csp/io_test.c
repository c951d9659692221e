// SPDX-License-Identifier: BSD-3-Clause
// csp_fd_*: sockets, pipes and files, in blocking mode or not; deadlines; errors; nobody but the
// process blocks. Run by main and by processes.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <millet/csp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "base/upcalls.h"
#include "csp/state.h"
#include "fiber/io.h"
#include "os/os.h"
#include "p2p/settings.h"
#include "p2p/worker.h"

enum { MUCH = 1 << 20 };

static void tell_errno(void)
{
    fprintf(stderr, "  errno %d: %s\n", errno, strerror(errno));
}

static void set_nonblocking(int fd)
{
    CHECK(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0);
}

typedef enum kind { PIPE, PIPE_NONBLOCK, SOCKETS, SOCKETS_NONBLOCK, KINDS } kind;

static void open_pair(kind k, int fd[2])
{
    CHECK((k <= PIPE_NONBLOCK ? pipe(fd) : socketpair(AF_UNIX, SOCK_STREAM, 0, fd)) == 0);
    if (k <= PIPE_NONBLOCK)
        (void)fcntl(fd[1], F_SETPIPE_SZ, 4096);
    if (k == PIPE_NONBLOCK || k == SOCKETS_NONBLOCK) {
        set_nonblocking(fd[0]);
        set_nonblocking(fd[1]);
    }
}

// ---- much data through little room

static unsigned char pattern(size_t i)
{
    return (unsigned char)(i * 7 + i / 251);
}

static int write_much(void *arg)
{
    unsigned char *data = malloc(MUCH);
    CHECK(data);
    for (size_t i = 0; i < MUCH; i++)
        data[i] = pattern(i);
    size_t done = 0;
    CHECK(csp_fd_write_by(*(int *)arg, data, MUCH, &done, CSP_NEVER) == MUCH && done == MUCH);
    free(data);
    close(*(int *)arg);
    return 0;
}

static int read_much(void *arg)
{
    unsigned char piece[10000];
    size_t at = 0;
    ssize_t n;
    while ((n = csp_fd_read(*(int *)arg, piece, sizeof piece)) > 0)
        for (ssize_t i = 0; i < n; i++, at++)
            CHECK(piece[i] == pattern(at));
    CHECK(n == 0 && at == MUCH);
    close(*(int *)arg);
    return 0;
}

static void test_much(void)
{
    for (kind k = PIPE; k < KINDS; k++) {
        int fd[2];
        open_pair(k, fd);
        csp_proc procs[] = {{.run = write_much, .arg = &fd[1]}, {.run = read_much, .arg = &fd[0]}};
        CHECK(csp_par(procs, 2) == 0);
    }
}

// ---- two readers of one pipe in blocking mode: both are told, one gets the byte, and the thread
// does not block

static int take_one(void *arg)
{
    char byte;
    CHECK(csp_fd_read(*(int *)arg, &byte, 1) == 1);
    return 0;
}

static int give_two(void *arg)
{
    csp_sleep(csp_after(0.001));
    CHECK(csp_fd_write(*(int *)arg, "a", 1) == 1);
    csp_sleep(csp_after(0.001));
    CHECK(csp_fd_write(*(int *)arg, "b", 1) == 1);
    return 0;
}

static void test_two_readers(void)
{
    for (kind k = PIPE; k < KINDS; k++) {
        int fd[2];
        open_pair(k, fd);
        CHECK(CSP_PAR({.run = take_one, .arg = &fd[0]}, {.run = take_one, .arg = &fd[0]},
                      {.run = give_two, .arg = &fd[1]}) == 0);
        close(fd[0]);
        close(fd[1]);
    }
}

// ---- deadlines

static void test_deadlines(void)
{
    for (kind k = PIPE; k < KINDS; k++) {
        int fd[2];
        open_pair(k, fd);
        char byte = 'x';
        errno = 0;
        CHECK(csp_fd_read(fd[0], &byte, 0) == 0); // there is nothing to wait for
        CHECK(csp_fd_read_by(fd[0], &byte, 1, CSP_AT_ONCE) == -1 && errno == ETIMEDOUT);
        csp_time until = csp_after(0.003);
        CHECK(csp_fd_read_by(fd[0], &byte, 1, until) == -1 && errno == ETIMEDOUT);
        CHECK(csp_now() >= until);
        CHECK(csp_fd_write_by(fd[1], &byte, 1, NULL, CSP_AT_ONCE) == 1);
        CHECK(csp_fd_read_by(fd[0], &byte, 1, CSP_AT_ONCE) == 1);
        static char much[MUCH];
        size_t done = 0;
        until = csp_after(0.003);
        CHECK(csp_fd_write_by(fd[1], much, MUCH, &done, until) == -1 && errno == ETIMEDOUT);
        CHECK(csp_now() >= until && done > 0 && done < MUCH);
        size_t more = 1;
        CHECK(csp_fd_write_by(fd[1], much, MUCH, &more, CSP_AT_ONCE) == -1 && errno == ETIMEDOUT);
        CHECK(more == 0);
        for (ssize_t n; done; done -= (size_t)n) // what was written is there
            CHECK((n = csp_fd_read(fd[0], much, MUCH)) > 0);
        CHECK(csp_fd_read_by(fd[0], much, 1, CSP_AT_ONCE) == -1 && errno == ETIMEDOUT);
        close(fd[0]);
        close(fd[1]);
    }
}

// ---- errors

static void test_errors(void)
{
    int fd[2];
    char byte;
    CHECK(csp_fd_read(-1, &byte, 1) == -1 && errno == EBADF);
    CHECK(csp_fd_write(-1, &byte, 1) == -1 && errno == EBADF);
    CHECK(csp_fd_accept(-1, NULL, NULL) == -1 && errno == EBADF);
    struct sockaddr_un none = {.sun_family = AF_UNIX, .sun_path = "/nowhere/at/all"};
    CHECK(csp_fd_connect(-1, (struct sockaddr *)&none, sizeof none) == -1 && errno == EBADF);
    for (kind k = PIPE; k < KINDS; k++) {
        open_pair(k, fd);
        close(fd[0]);
        CHECK(csp_fd_write(fd[1], &byte, 1) == -1 && errno == EPIPE);
        close(fd[1]);
        open_pair(k, fd);
        close(fd[1]);
        CHECK(csp_fd_read(fd[0], &byte, 1) == 0);
        close(fd[0]);
    }
    open_pair(PIPE, fd);
    CHECK(csp_fd_read(fd[1], &byte, 1) == -1 && errno == EBADF);
    CHECK(csp_fd_accept(fd[0], NULL, NULL) == -1 && errno == ENOTSOCK);
    close(fd[0]);
    close(fd[1]);
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(csp_fd_connect(s, (struct sockaddr *)&none, sizeof none) == -1 && errno == ENOENT);
    CHECK(csp_fd_accept(s, NULL, NULL) == -1 && errno == EINVAL);
    close(s);
    s = socket(AF_UNIX, SOCK_DGRAM, 0);
    CHECK(csp_fd_accept(s, NULL, NULL) == -1 && (errno == EOPNOTSUPP || errno == EINVAL));
    close(s);
}

static void test_files(void)
{
    char name[] = "/tmp/csp_io_test.XXXXXX", text[6];
    int file = mkstemp(name);
    CHECK(file >= 0);
    unlink(name);
    CHECK(csp_fd_write(file, "hello", 6) == 6 && lseek(file, 0, SEEK_SET) == 0);
    CHECK(csp_fd_read(file, text, sizeof text) == 6 && strcmp(text, "hello") == 0);
    CHECK(csp_fd_read(file, text, sizeof text) == 0);
    close(file);
    int event = eventfd(0, 0);
    uint64_t count = 3;
    CHECK(csp_fd_read_by(event, &count, 8, CSP_AT_ONCE) == -1 && errno == ETIMEDOUT);
    CHECK(csp_fd_write(event, &count, 8) == 8 && csp_fd_read(event, &count, 8) == 8 && count == 3);
    close(event);
}

// ---- a descriptor that another process closes while one waits for it

static int wait_for_ever(void *arg)
{
    char byte;
    return csp_fd_read(*(int *)arg, &byte, 1) == -1 && errno == EBADF ? 0 : 1;
}

static int close_it(void *arg)
{
    csp_yield();
    close(*(int *)arg);
    return 0;
}

static void test_closed(void)
{
    int fd[2];
    open_pair(SOCKETS, fd);
    CHECK(CSP_PAR({.run = wait_for_ever, .arg = &fd[0]}, {.run = close_it, .arg = &fd[0]}) == 0);
    close(fd[1]);
}

// ---- accept and connect

typedef struct place {
    int fd, callers, family;
    bool nonblocking;
    struct sockaddr_storage address;
    socklen_t length;
} place;

static void open_place(place *p, int family, int backlog, bool nonblocking)
{
    *p = (place){.family = family, .nonblocking = nonblocking};
    p->fd = socket(family, SOCK_STREAM, 0);
    CHECK(p->fd >= 0);
    if (family == AF_INET) {
        struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        CHECK(bind(p->fd, (struct sockaddr *)&in, sizeof in) == 0);
    } else { // a name that the system chooses
        sa_family_t unnamed = AF_UNIX;
        CHECK(bind(p->fd, (struct sockaddr *)&unnamed, sizeof unnamed) == 0);
    }
    p->length = sizeof p->address;
    CHECK(getsockname(p->fd, (struct sockaddr *)&p->address, &p->length) == 0);
    CHECK(listen(p->fd, backlog) == 0);
    if (nonblocking)
        set_nonblocking(p->fd);
}

static int answer(void *arg)
{
    int fd = *(int *)arg, value;
    CHECK(csp_fd_read(fd, &value, sizeof value) == sizeof value);
    value *= 2;
    CHECK(csp_fd_write(fd, &value, sizeof value) == sizeof value);
    close(fd);
    return 0;
}

static int listen_to_all(void *arg)
{
    place *p = arg;
    csp_child **children = malloc((size_t)p->callers * sizeof(csp_child *));
    int *fds = malloc((size_t)p->callers * sizeof *fds);
    CHECK(children && fds);
    for (int i = 0; i < p->callers; i++) {
        struct sockaddr_storage who;
        socklen_t length = sizeof who;
        fds[i] = csp_fd_accept(p->fd, (struct sockaddr *)&who, &length);
        CHECK(fds[i] >= 0 && who.ss_family == p->family);
        children[i] = csp_fork(answer, &fds[i], "answer");
    }
    for (int i = 0; i < p->callers; i++)
        CHECK(csp_join(children[i]) == 0);
    free(children);
    free(fds);
    return 0;
}

static int call(void *arg)
{
    place *p = *(place **)arg;
    int s = socket(p->family, SOCK_STREAM, 0), value = s, got;
    CHECK(s >= 0);
    if (p->nonblocking)
        set_nonblocking(s);
    int flags = fcntl(s, F_GETFL);
    CHECK(csp_fd_connect(s, (struct sockaddr *)&p->address, p->length) == 0);
    CHECK(fcntl(s, F_GETFL) == flags);
    CHECK(csp_fd_write(s, &value, sizeof value) == sizeof value);
    CHECK(csp_fd_read(s, &got, sizeof got) == sizeof got && got == 2 * value);
    close(s);
    return 0;
}

enum { CALLERS = 100 };

static int call_all(void *arg)
{
    place *callers[CALLERS];
    for (int i = 0; i < CALLERS; i++)
        callers[i] = arg;
    return csp_par_each(call, callers, CALLERS, sizeof *callers, "caller", NULL);
}

// More callers at once than the place has room for: those of a local socket try again.
static void test_connect(void)
{
    static const int families[] = {AF_UNIX, AF_INET};
    for (int i = 0; i < 4; i++) {
        place p;
        open_place(&p, families[i / 2], i / 2 ? 128 : 3, i % 2);
        p.callers = CALLERS;
        CHECK(csp_fd_accept_by(p.fd, NULL, NULL, CSP_AT_ONCE) == -1 && errno == ETIMEDOUT);
        CHECK(csp_fd_accept_by(p.fd, NULL, NULL, csp_after(0.001)) == -1 && errno == ETIMEDOUT);
        CHECK(CSP_PAR({.run = listen_to_all, .arg = &p}, {.run = call_all, .arg = &p}) == 0);
        close(p.fd);
    }
}

static void test_connect_late(void)
{
    place p;
    open_place(&p, AF_UNIX, 0, false);
    int first = socket(AF_UNIX, SOCK_STREAM, 0), second = socket(AF_UNIX, SOCK_STREAM, 0);
    const struct sockaddr *address = (struct sockaddr *)&p.address;
    CHECK(csp_fd_connect(first, address, p.length) == 0);
    csp_time until = csp_after(0.005);
    CHECK(csp_fd_connect_by(second, address, p.length, until) == -1 && errno == ETIMEDOUT);
    CHECK(csp_now() >= until);
    CHECK(csp_fd_connect_by(second, address, p.length, CSP_AT_ONCE) == -1 && errno == ETIMEDOUT);
    CHECK(csp_fd_connect_by(first, address, p.length, CSP_AT_ONCE) == -1);
    close(first);
    close(second);
    close(p.fd);
    // Nobody listens there any more.
    open_place(&p, AF_INET, 1, false);
    close(p.fd);
    first = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(csp_fd_connect(first, (struct sockaddr *)&p.address, p.length) == -1);
    CHECK(errno == ECONNREFUSED);
    close(first);
}

// ---- a peer that always has something keeps nobody from running

static bool stop;

static int flood(void *arg)
{
    while (!stop)
        CHECK(csp_fd_write(*(int *)arg, "x", 1) == 1);
    return 0;
}

static int drink(void *arg)
{
    char bytes[64];
    while (!stop)
        CHECK(csp_fd_read(*(int *)arg, bytes, sizeof bytes) > 0);
    return 0;
}

static int stop_them(void *arg)
{
    char byte;
    csp_sleep(csp_after(0.002));
    CHECK(csp_fd_read(*(int *)arg, &byte, 1) == 1);
    stop = true;
    return 0;
}

static void test_fair(void)
{
    int zeros = open("/dev/zero", O_RDWR), fd[2];
    CHECK(zeros >= 0);
    open_pair(SOCKETS, fd);
    CHECK(write(fd[1], "x", 1) == 1);
    CHECK(CSP_PAR({.run = flood, .arg = &zeros}, {.run = drink, .arg = &zeros},
                  {.run = stop_them, .arg = &fd[0]}) == 0);
    close(zeros);
    close(fd[0]);
    close(fd[1]);
}

static void everything(void *rank)
{
    const mlt_rank *me = rank;
    test_much();
    test_two_readers();
    test_deadlines();
    test_errors();
    test_files();
    if (me->worker->count == 1) // another rank would get the same number, and be read from
        test_closed();
    test_connect();
    test_connect_late();
    test_fair();
}

static mlt_rank *own_rank(void)
{
    return mlt_rank_self();
}

static void run(uint32_t ranks, bool launched)
{
    mlt_job_plan plan = {.procs = 1,
                         .workers_of_proc = &(uint32_t){1},
                         .ranks_a_worker = &ranks,
                         .app_of_proc = &(uint32_t){0},
                         .cores = 2,
                         .launched = launched};
    mlt_job *job;
    mlt_worker *w;
    int fd = -1;
    char why[256];
    CHECK(mlt_job_new(&plan, &job, &fd, why, sizeof why) == MLT_OK);
    mlt_boot boot = {.job = job, .ctl = -1};
    CHECK(mlt_worker_new(&boot, 0, ranks, &w, why, sizeof why) == MLT_OK);
    stop = false;
    mlt_worker_run(w, everything);
    mlt_csp_end(w);
    mlt_worker_free(w);
    mlt_job_close(job);
    if (fd >= 0)
        close(fd);
}

const mlt_upcall_table mlt_upcalls = {.join = own_rank};

int main(void)
{
    char why[256];
    tell_more = tell_errno;
    signal(SIGPIPE, SIG_IGN);
    mlt_io_patrol_ns = 10000000; // test_closed waits for it
    CHECK(mlt_settings_read(mlt_p2p_settings, mlt_p2p_settings_count, why, sizeof why) == MLT_OK);
    run(1, false);
    run(1, true);
    run(2, true);
    puts("all right");
    return 0;
}
