// SPDX-License-Identifier: BSD-3-Clause
// An echo server: a process for each client, which reads and writes as if it were alone. Reads and
// writes block the process, not the thread; the server waits for a new client or for the end of an
// old one, whichever comes first, in one alternation.
//
//     mpicc echo.c -o echo
//     ./echo 7777            and elsewhere: nc localhost 7777
//     ./echo 0 1000          serves a thousand clients of its own, and ends
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <millet/csp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct client {
    int fd;
    csp_child *process;
    csp_out *done; // the process says here that it ends
} client;

static int serve(void *arg)
{
    client *my = arg;
    char buffer[1024];
    ssize_t n;
    while ((n = csp_fd_read(my->fd, buffer, sizeof(buffer))) > 0)
        if (csp_fd_write(my->fd, buffer, (size_t)n) < 0)
            break;
    close(my->fd);
    csp_write(my->done, &my);
    return 0;
}

typedef struct server {
    int fd;
    int limit; // ends after so many clients; 0: never
} server;

static int run_server(void *arg)
{
    server *my = arg;
    csp_chan *done = csp_chan_new("done", sizeof(client *));
    csp_out *tell = csp_chan_out(done); // all clients share it
    client *one;
    int served = 0;
    csp_guard guards[] = {csp_on_readable(my->fd), csp_on_read(csp_chan_in(done), &one)};
    while (my->limit == 0 || served < my->limit) {
        if (csp_alt(guards, 2) == 0) {
            int fd = csp_fd_accept(my->fd, NULL, NULL);
            if (fd < 0)
                continue; // it has gone again, or too many are here
            one = malloc(sizeof(*one));
            *one = (client){fd, NULL, tell};
            one->process = csp_fork(serve, one, "client");
        } else {
            csp_join(one->process);
            free(one);
            served++;
        }
    }
    csp_chan_free(done);
    return 0;
}

static int listen_at(int port, struct sockaddr_in *at)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    socklen_t length = sizeof(*at);
    *at = (struct sockaddr_in){.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)port),
                               .sin_addr = {htonl(INADDR_LOOPBACK)}};
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (fd < 0 || bind(fd, (struct sockaddr *)at, sizeof(*at)) != 0 || listen(fd, 4096) != 0 ||
        getsockname(fd, (struct sockaddr *)at, &length) != 0) {
        perror("listen");
        exit(1);
    }
    return fd;
}

// A client of its own: says something, and hears the same.
typedef struct caller {
    const struct sockaddr_in *at;
    int number;
} caller;

static int call(void *arg)
{
    caller *my = arg;
    char said[32], heard[32] = "";
    size_t length = (size_t)snprintf(said, sizeof(said), "this is %d", my->number), got = 0;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ssize_t n = 1;
    if (fd < 0 || csp_fd_connect(fd, (const struct sockaddr *)my->at, sizeof(*my->at)) != 0 ||
        csp_fd_write(fd, said, length) < 0) {
        perror("connect");
        exit(1);
    }
    while (got < length && (n = csp_fd_read(fd, heard + got, sizeof(heard) - got)) > 0)
        got += (size_t)n;
    close(fd);
    return got == length && memcmp(said, heard, length) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? atoi(argv[1]) : 7777, count = argc > 2 ? atoi(argv[2]) : 0;
    struct sockaddr_in at;
    server here = {listen_at(port, &at), count};
    if (count == 0) {
        printf("listening at port %d of this machine\n", ntohs(at.sin_port));
        fflush(stdout);
        return run_server(&here);
    }
    caller *callers = malloc((size_t)count * sizeof(*callers));
    for (int i = 0; i < count; i++)
        callers[i] = (caller){&at, i};
    csp_child *process = csp_fork(run_server, &here, "server");
    int wrong = csp_par_each(call, callers, (size_t)count, sizeof(*callers), "caller", NULL);
    csp_join(process);
    printf("%d clients were served: %s\n", count, wrong ? "WRONG" : "right");
    free(callers);
    close(here.fd);
    return wrong;
}
