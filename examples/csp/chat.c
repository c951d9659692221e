// SPDX-License-Identifier: BSD-3-Clause
// A chat server: what one client says, all others hear. A client is two processes, one that reads
// its lines and one that writes to it; a room knows them all and passes lines on. The channel to a
// writer overwrites: a client that does not listen loses old lines, and nobody waits for it.
//
//     mpicc chat.c -o chat
//     ./chat 7778            and several times elsewhere: nc localhost 7778
//
//     reader --lines--> room --to each--> writer
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <millet/csp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 100 }; // lines that a slow client may be behind

typedef struct client client;
typedef struct line {
    client *from;
    bool comes, goes;
    char text[240];
} line;

struct client {
    int fd, number;
    csp_chan *chan; // lines for it, and its ends
    csp_out *to;
    csp_in *lines;
    csp_out *room;
    csp_child *process;
    client *next;
};

// Lines as they come, until the client hangs up.
static int read_lines(void *arg)
{
    client *my = arg;
    line l = {.from = my};
    size_t length = 0;
    ssize_t n;
    while ((n = csp_fd_read(my->fd, l.text + length, sizeof(l.text) - 1 - length)) > 0) {
        length += (size_t)n;
        l.text[length] = '\0';
        if (l.text[length - 1] == '\n' || length == sizeof(l.text) - 1) {
            csp_write(my->room, &l);
            length = 0;
        }
    }
    csp_poison(my->to); // the writer stops
    return 0;
}

static int write_lines(void *arg)
{
    client *my = arg;
    line l;
    while (csp_read(my->lines, &l) == CSP_OK)
        if (csp_fd_write(my->fd, l.text, strlen(l.text)) < 0)
            break;
    shutdown(my->fd, SHUT_RDWR); // the reader stops, too
    return 0;
}

static int serve(void *arg)
{
    client *my = arg;
    line l = {.from = my, .comes = true};
    csp_write(my->room, &l);
    CSP_PAR({read_lines, my, "reader"}, {write_lines, my, "writer"});
    l = (line){.from = my, .goes = true};
    csp_write(my->room, &l);
    return 0;
}

// Everything that the room does happens here, one line after the other: nothing needs a lock.
static int room(void *arg)
{
    csp_in *lines = arg;
    client *all = NULL;
    line l;
    while (csp_read(lines, &l) == CSP_OK) {
        line out = {.from = l.from};
        snprintf(out.text, sizeof(out.text), "%d %.200s", l.from->number,
                 l.comes  ? "is here\n"
                 : l.goes ? "has gone\n"
                          : l.text);
        if (l.comes) {
            l.from->next = all;
            all = l.from;
        }
        for (client **one = &all; *one;) {
            if (*one == l.from && l.goes) {
                *one = l.from->next;
                continue;
            }
            if (*one != l.from)
                csp_write((*one)->to, &out); // never waits; poisoned: that one is leaving
            one = &(*one)->next;
        }
        if (l.goes) {
            csp_join(l.from->process);
            close(l.from->fd);
            csp_chan_free(l.from->chan);
            free(l.from);
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? atoi(argv[1]) : 7778, yes = 1;
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 || listen(fd, 64) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &length) != 0) {
        perror("chat");
        return 1;
    }
    printf("listening at port %d of this machine\n", ntohs(at.sin_port));
    fflush(stdout);

    csp_chan *lines = csp_chan_new("lines", sizeof(line));
    csp_fork(room, csp_chan_in(lines), "room");
    for (int number = 1;; number++) {
        int one = csp_fd_accept(fd, NULL, NULL);
        if (one < 0)
            continue;
        client *new = malloc(sizeof(*new));
        csp_chan *chan = csp_chan_overwriting("to client", sizeof(line), BACKLOG);
        *new = (client){.fd = one,
                        .number = number,
                        .chan = chan,
                        .to = csp_chan_out(chan),
                        .lines = csp_chan_in(chan),
                        .room = csp_chan_out(lines)};
        new->process = csp_fork(serve, new, "client");
    }
}
