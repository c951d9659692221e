// SPDX-License-Identifier: BSD-3-Clause
// Ten thousand sockets: an echo server with a process for each connection, driven by as many client
// processes, which check every byte.
//
//     csp_io_many CONNECTIONS MESSAGES [tcp]
//
// Started alone or with one rank, both sides are in one program: two descriptors for each
// connection. With several, even ranks serve those of the next odd one.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <millet/csp.h>
#include <mpi.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "csp_check.h"

enum { MESSAGE = 64, OTHERS = 64 };

typedef struct place {
    struct sockaddr_storage address;
    socklen_t length;
} place;

// Everything of a rank: ranks may share the globals of their program.
typedef struct rank {
    int connections, messages;
    bool tcp;
    place place;
    int server; // listens
    csp_barrier *all;
    long served, checked;
} rank;

typedef struct end {
    rank *of;
    int fd, number;
} end;

static int serve_one(void *arg)
{
    end *my = arg;
    int fd = my->fd;
    char text[3 * MESSAGE];
    ssize_t n;
    while ((n = csp_fd_read(fd, text, sizeof text)) > 0) {
        CHECK(csp_fd_write(fd, text, (size_t)n) == n);
        my->of->served += n;
    }
    CHECK(n == 0);
    close(fd);
    return 0;
}

static int serve(void *arg)
{
    rank *my = arg;
    end *ends = malloc((size_t)my->connections * sizeof *ends);
    csp_child **children = malloc((size_t)my->connections * sizeof *children);
    CHECK(ends && children);
    for (int i = 0; i < my->connections; i++) {
        ends[i] = (end){my, csp_fd_accept(my->server, NULL, NULL), i};
        CHECK(ends[i].fd >= 0);
        children[i] = csp_fork(serve_one, &ends[i], "connection");
    }
    for (int i = 0; i < my->connections; i++)
        CHECK(csp_join(children[i]) == 0);
    CHECK(my->served == (long)my->connections * my->messages * MESSAGE);
    close(my->server);
    free(ends);
    free(children);
    return 0;
}

static void open_server(rank *my)
{
    place *p = &my->place;
    my->server = socket(my->tcp ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(my->server >= 0);
    if (my->tcp) {
        struct sockaddr_in in = {.sin_family = AF_INET};
        in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        CHECK(bind(my->server, (struct sockaddr *)&in, sizeof in) == 0);
    } else { // a name that the system chooses
        sa_family_t unnamed = AF_UNIX;
        CHECK(bind(my->server, (struct sockaddr *)&unnamed, sizeof unnamed) == 0);
    }
    p->length = sizeof p->address;
    CHECK(getsockname(my->server, (struct sockaddr *)&p->address, &p->length) == 0);
    CHECK(listen(my->server, 4096) == 0);
}

// All connections are open at once: nobody sends before all are, nor ends before all have got their
// answers.
static int talk(void *arg)
{
    const end *my = arg;
    const place *to = &my->of->place;
    char text[MESSAGE], got[MESSAGE];
    int fd = socket(to->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    CHECK(csp_fd_connect(fd, (const struct sockaddr *)&to->address, to->length) == 0);
    CHECK(csp_sync(my->of->all) == CSP_OK);
    for (int m = 0; m < my->of->messages; m++) {
        memset(text, 0, sizeof text);
        snprintf(text, sizeof text, "message %d of client %d", m, my->number);
        CHECK(csp_fd_write(fd, text, sizeof text) == MESSAGE);
        for (size_t have = 0; have < sizeof got;) {
            ssize_t n = csp_fd_read(fd, got + have, sizeof got - have);
            CHECK(n > 0);
            have += (size_t)n;
        }
        CHECK(memcmp(text, got, sizeof got) == 0);
        my->of->checked++;
    }
    CHECK(csp_sync(my->of->all) == CSP_OK);
    close(fd);
    return 0;
}

static int drive(void *arg)
{
    rank *my = arg;
    size_t n = (size_t)my->connections;
    end *ends = malloc(n * sizeof *ends);
    CHECK(ends);
    for (int i = 0; i < my->connections; i++)
        ends[i] = (end){my, -1, i};
    my->all = csp_barrier_new("all", n);
    CHECK(csp_par_each(talk, ends, n, sizeof *ends, "client", NULL) == 0);
    CHECK(my->checked == (long)my->connections * my->messages);
    csp_barrier_free(my->all);
    free(ends);
    return 0;
}

// Raises the limit of descriptors. If it is too low, there are fewer connections; but a thousand
// sockets at least, or the test is no test.
static void make_room(rank *my, bool both)
{
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    if (limit.rlim_cur == RLIM_INFINITY)
        return;
    long allowed = (long)limit.rlim_cur, most = (allowed - OTHERS) / (both ? 2 : 1);
    if (most >= my->connections)
        return;
    fprintf(stderr, "only %ld descriptors are allowed: %ld connections instead of %d\n", allowed,
            most, my->connections);
    if (most < 500)
        exit(77);
    my->connections = (int)most;
}

int main(int argc, char **argv)
{
    CHECK(argc >= 3);
    rank my = {.connections = atoi(argv[1]), .messages = atoi(argv[2]), .tcp = argc > 3};
    bool both = csp_nodes() == 1;
    make_room(&my, both);
    csp_time start = csp_now();
    if (both) {
        open_server(&my);
        CHECK(CSP_PAR({.run = serve, .arg = &my}, {.run = drive, .arg = &my}) == 0);
    } else {
        MPI_Init(&argc, &argv);
        int other = csp_node() ^ 1, bytes = (int)sizeof my.place;
        CHECK(csp_nodes() % 2 == 0);
        if (csp_node() % 2 == 0) {
            open_server(&my);
            MPI_Send(&my.place, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
            serve(&my);
        } else {
            MPI_Recv(&my.place, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            drive(&my);
        }
        MPI_Finalize();
    }
    if (csp_node() == 0)
        printf("all right: %d connections, %d messages each, %.2f s\n", my.connections, my.messages,
               (double)(csp_now() - start) / 1e9);
    return 0;
}
