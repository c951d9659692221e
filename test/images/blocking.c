// SPDX-License-Identifier: BSD-3-Clause
// Calls that block, of ranks that may share a worker. Ranks work in pairs: the even one waits for
// what the odd one does later. argv[1]: a folder for pipes and sockets.
#define _GNU_SOURCE
#include "expect.h"

#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { LARGE = 300000 };

static int partner;
static const char *folder;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int is_even(void)
{
    return rank % 2 == 0;
}

static void meet(void)
{
    MPI_Sendrecv(NULL, 0, MPI_INT, partner, 1, NULL, 0, MPI_INT, partner, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void try_sleep(void)
{
    const struct timespec fifth = {0, 200000000}, zero = {0, 0}, bad = {0, 1000000000};
    struct timespec at;
    double start = now();
    switch (rank % 6) {
    case 0:
        expect(size > 10 ? sleep(1) == 0 : usleep(200000) == 0, "sleep");
        break;
    case 1:
        expect(usleep(200000) == 0, "usleep");
        break;
    case 2:
        expect(nanosleep(&fifth, NULL) == 0, "nanosleep");
        break;
    case 3:
        expect(clock_nanosleep(CLOCK_MONOTONIC, 0, &fifth, NULL) == 0, "clock_nanosleep");
        break;
    case 4:
        expect(clock_gettime(CLOCK_REALTIME, &at) == 0, "clock_gettime");
        at.tv_nsec += 200000000;
        at.tv_sec += at.tv_nsec / 1000000000;
        at.tv_nsec %= 1000000000;
        expect(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL) == 0, "until a time");
        break;
    default:
        expect(thrd_sleep(&fifth, NULL) == 0, "thrd_sleep");
    }
    double took = now() - start;
    expect(took > 0.199 && took < 20, "how long it slept");
    expect(nanosleep(&zero, NULL) == 0, "no time");
    expect(nanosleep(&bad, NULL) == -1 && errno == EINVAL, "no time at all");
    expect(clock_nanosleep(CLOCK_MONOTONIC, 0, &bad, NULL) == EINVAL, "the error number");
}

static int open_pipe(void)
{
    char name[4096];
    snprintf(name, sizeof name, "%s/pipe%d", folder, rank / 2);
    if (is_even())
        expect(mkfifo(name, 0600) == 0, "mkfifo");
    meet();
    int fd = open(name, O_RDWR); // so that neither waits for the other here
    expect(fd >= 0, "open");
    meet();
    if (is_even())
        expect(unlink(name) == 0, "unlink");
    return fd;
}

static void read_all(int fd, char *to, size_t bytes)
{
    while (bytes > 0) {
        ssize_t n = read(fd, to, bytes);
        expect(n > 0, "read");
        to += n;
        bytes -= (size_t)n;
    }
}

static void try_pipe(int fd)
{
    static char text[LARGE];
    char word[8] = "";
    errno = 77;
    if (is_even()) {
        read_all(fd, word, 5);
        expect(strcmp(word, "later") == 0 && errno == 77, "the word, and errno as it was");
        read_all(fd, text, sizeof text);
        for (int i = 0; i < LARGE; i++)
            expect(text[i] == (char)(i % 101), "what was written");
    } else {
        usleep(50000);
        expect(write(fd, "later", 5) == 5, "write");
        for (int i = 0; i < LARGE; i++)
            text[i] = (char)(i % 101);
        expect(write(fd, text, sizeof text) == LARGE, "a write that is larger than the pipe");
    }
    meet();
}

static void try_readv(int fd)
{
    char one[3], two[3];
    struct iovec parts[] = {{one, 3}, {two, 3}};
    if (is_even()) {
        expect(readv(fd, parts, 2) == 6 && memcmp(two, "def", 3) == 0, "readv");
    } else {
        usleep(10000);
        expect(write(fd, "abcdef", 6) == 6, "write");
    }
    meet();
}

static void try_nonblocking(int fd)
{
    char byte;
    if (is_even()) {
        expect(fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) == 0, "fcntl");
        expect(read(fd, &byte, 1) == -1 && errno == EAGAIN, "a read that must not wait");
        expect(fcntl(fd, F_SETFL, O_RDWR) == 0, "fcntl");
    }
    expect(read(-1, &byte, 1) == -1 && errno == EBADF, "no descriptor");
    meet();
}

static void try_poll(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    double start = now();
    char byte;
    if (is_even()) {
        expect(poll(&p, 1, 0) == 0, "poll that does not wait");
        expect(poll(&p, 1, 30) == 0 && now() - start > 0.029, "poll that is late");
        expect(poll(NULL, 0, 10) == 0, "poll of nothing");
        start = now();
        struct timespec tenth = {0, 10000000};
        expect(ppoll(&p, 1, &tenth, NULL) == 0 && now() - start > 0.0099, "ppoll that is late");
    }
    meet();
    if (is_even()) {
        expect(poll(&p, 1, -1) == 1 && p.revents == POLLIN, "poll");
        read_all(fd, &byte, 1);
        p.fd = 999;
        expect(poll(&p, 1, -1) == 1 && p.revents == POLLNVAL, "poll of what is not open");
    } else {
        usleep(30000);
        expect(write(fd, "x", 1) == 1, "write");
    }
    meet();
}

static void try_select(int fd)
{
    fd_set reads;
    struct timeval limit = {0, 30000};
    double start = now();
    char byte;
    if (is_even()) {
        FD_ZERO(&reads);
        FD_SET(fd, &reads);
        expect(select(fd + 1, &reads, NULL, NULL, &limit) == 0 && !FD_ISSET(fd, &reads), "late");
        expect(now() - start > 0.029 && limit.tv_sec == 0 && limit.tv_usec == 0, "no time is left");
    }
    meet();
    if (is_even()) {
        FD_SET(fd, &reads);
        limit.tv_sec = 60;
        expect(select(fd + 1, &reads, NULL, NULL, &limit) == 1 && FD_ISSET(fd, &reads), "select");
        expect(limit.tv_sec < 60 && limit.tv_sec > 30, "time is left");
        expect(pselect(fd + 1, &reads, NULL, NULL, NULL, NULL) == 1, "pselect");
        read_all(fd, &byte, 1);
    } else {
        usleep(20000);
        expect(write(fd, "x", 1) == 1, "write");
    }
    meet();
}

static void try_epoll(int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd}, found;
    char byte;
    if (is_even()) {
        int epoll = epoll_create1(0);
        expect(epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
        expect(epoll_wait(epoll, &found, 1, 10) == 0, "epoll_wait that is late");
        meet();
        expect(epoll_wait(epoll, &found, 1, -1) == 1 && found.data.fd == fd, "epoll_wait");
        read_all(fd, &byte, 1);
        close(epoll);
    } else {
        meet();
        usleep(20000);
        expect(write(fd, "x", 1) == 1, "write");
    }
    meet();
}

static int open_socket(struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(address->sun_path, sizeof address->sun_path, "%s/s%d", folder, rank / 2);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    expect(fd >= 0, "socket");
    return fd;
}

static void try_receive(int fd)
{
    struct timeval limit = {0, 20000};
    char word[16] = "";
    expect(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0, "SO_RCVTIMEO");
    expect(recv(fd, word, 1, 0) == -1 && errno == EAGAIN, "recv that is late");
    limit.tv_usec = 0;
    expect(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0, "SO_RCVTIMEO");
    expect(recv(fd, word, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN, "recv that must not wait");
    meet();
    expect(recv(fd, word, 10, MSG_WAITALL) == 10 && strcmp(word, "hellothere") == 0, "all of it");
    expect(recvfrom(fd, word, 3, 0, NULL, NULL) == 3, "recvfrom");
    struct iovec part = {word, 3};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    expect(recvmsg(fd, &message, 0) == 3, "recvmsg");
    expect(recv(fd, word, 1, 0) == 0, "its end");
}

static void try_socket(void)
{
    struct sockaddr_un address;
    int fd = open_socket(&address);
    if (is_even()) {
        expect(bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 1) == 0,
               "listen");
        meet();
        int peer = accept(fd, NULL, NULL);
        expect(peer >= 0, "accept");
        try_receive(peer);
        close(peer);
        unlink(address.sun_path);
    } else {
        meet();
        usleep(20000);
        expect(connect(fd, (struct sockaddr *)&address, sizeof address) == 0, "connect");
        meet();
        const char *words[] = {"hello", "there", "abc", "def"};
        for (int i = 0; i < 4; i++) {
            usleep(10000);
            expect(send(fd, words[i], strlen(words[i]), 0) > 0, "send");
        }
    }
    close(fd);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    folder = argv[1];
    partner = rank ^ 1;
    try_sleep();
    if (partner < size) {
        int fd = open_pipe();
        try_pipe(fd);
        try_readv(fd);
        try_nonblocking(fd);
        try_poll(fd);
        try_select(fd);
        try_epoll(fd);
        try_socket();
        close(fd);
    }
    printf("rank %d is done\n", rank);
    MPI_Finalize();
    return 0;
}
