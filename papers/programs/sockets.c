// SPDX-License-Identifier: BSD-3-Clause
// Process-oriented collectives, section 3.3: many sockets, a process or a thread for each.
//
//     sockets processes|threads COUNT MESSAGES
//
// The server has COUNT connections and answers what comes, with a process of csp.h for each connection (one IO scheduler waits for
// all) or with a thread. A client in another OS process sends MESSAGES, each over a connection at random, 32 at a time. Prints `message T us`.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <millet/csp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { AT_ONCE = 32 };

static void must(int ok, const char *what)
{
    if (!ok) {
        perror(what);
        exit(1);
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// A byte leaves at once, even if the one before it is on its way.
static int at_once(int fd)
{
    int yes = 1;
    must(fd >= 0 && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0, "TCP_NODELAY");
    return fd;
}

static void client(const struct sockaddr_in *at, int count, int messages)
{
    int *fds = malloc((size_t)count * sizeof *fds);
    for (int i = 0; i < count; i++) {
        fds[i] = at_once(socket(AF_INET, SOCK_STREAM, 0));
        must(connect(fds[i], (const struct sockaddr *)at, sizeof *at) == 0, "connect");
    }
    unsigned seed = 1;
    char byte = 'x';
    double began = 0;
    for (int done = -count; done < messages;) { // each connection once to warm up
        int first[AT_ONCE], some = 0;
        if (done == 0)
            began = now();
        for (; some < AT_ONCE && (done >= 0 || done + some < 0); some++) {
            seed = seed * 1664525u + 1013904223u;
            first[some] = done < 0 ? fds[done + some + count] : fds[(seed >> 8) % (unsigned)count];
            must(write(first[some], &byte, 1) == 1, "write");
        }
        for (int i = 0; i < some; i++)
            must(read(first[i], &byte, 1) == 1, "read");
        done += some;
    }
    printf("message %.4f us\n", (now() - began) * 1e6 / messages);
    fflush(stdout);
    exit(0);
}

static void *thread(void *arg)
{
    int fd = *(int *)arg;
    char byte;
    while (read(fd, &byte, 1) == 1 && write(fd, &byte, 1) == 1)
        ;
    return NULL;
}

static int process(void *arg)
{
    int fd = *(int *)arg;
    char byte;
    while (csp_fd_read(fd, &byte, 1) == 1 && csp_fd_write(fd, &byte, 1) == 1)
        ;
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: sockets processes|threads COUNT MESSAGES\n");
        return 2;
    }
    int count = atoi(argv[2]), messages = atoi(argv[3]), listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof at;
    must(listener >= 0 && bind(listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(listener, 4096) == 0 &&
             getsockname(listener, (struct sockaddr *)&at, &length) == 0,
         "listen");
    fflush(stdout);
    pid_t other = fork();
    if (other == 0)
        client(&at, count, messages);
    int *fds = malloc((size_t)count * sizeof *fds), status;
    for (int i = 0; i < count; i++)
        fds[i] = at_once(accept(listener, NULL, NULL));
    if (strcmp(argv[1], "threads") == 0) {
        pthread_t *threads = malloc((size_t)count * sizeof *threads);
        pthread_attr_t small;
        pthread_attr_init(&small);
        pthread_attr_setstacksize(&small, 65536);
        for (int i = 0; i < count; i++)
            must(pthread_create(&threads[i], &small, thread, &fds[i]) == 0, "pthread_create");
        for (int i = 0; i < count; i++)
            pthread_join(threads[i], NULL);
    } else {
        csp_par_each(process, fds, (size_t)count, sizeof *fds, "connection", NULL);
    }
    waitpid(other, &status, 0);
    return status == 0 ? 0 : 1;
}
