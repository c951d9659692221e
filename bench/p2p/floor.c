// SPDX-License-Identifier: BSD-3-Clause
//
// The floor of the half round trip between two hosts: ranks 0 and 1 use MPI only to agree on a TCP
// connection of their own, then each sends eight bytes with one send, and polls with recv until
// eight bytes have come. No MPI over TCP can be faster on the same hosts.
#define _DEFAULT_SOURCE // getaddrinfo, gethostname
#include "bench.h"

#include <mpi.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BYTES = 8,
    ROOM = 32768, // asked for by each recv, as an MPI would that does not know what comes
    WARM_UP_TRIPS = 100,
};

typedef struct place {
    char host[256];
    int port;
} place;

static int listen_anywhere(place *here)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_ANY)}};
    socklen_t size = sizeof any;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    bool done = fd >= 0 && bind(fd, (struct sockaddr *)&any, sizeof any) == 0 &&
                listen(fd, 1) == 0 && getsockname(fd, (struct sockaddr *)&any, &size) == 0 &&
                gethostname(here->host, sizeof here->host) == 0;
    bench_require(done, "floor: this host cannot listen");
    here->port = ntohs(any.sin_port);
    return fd;
}

static int connect_to(const place *there)
{
    struct addrinfo want = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;
    char port[16];
    snprintf(port, sizeof port, "%d", there->port);
    bench_require(getaddrinfo(there->host, port, &want, &found) == 0,
                  "floor: the name of the other host has no address here");
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    bench_require(fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0,
                  "floor: the other host cannot be reached");
    freeaddrinfo(found);
    return fd;
}

static int meet(int rank)
{
    place where = {.port = 0};
    int one = 1, fd;
    if (rank == 1) {
        int listener = listen_anywhere(&where);
        MPI_Send(&where, (int)sizeof where, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        fd = accept(listener, NULL, NULL);
        close(listener);
    } else {
        MPI_Recv(&where, (int)sizeof where, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        fd = connect_to(&where);
    }
    bench_require(fd >= 0 && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0,
                  "floor: no connection");
    return fd;
}

static void put(int fd, const unsigned char *bytes)
{
    bench_require(send(fd, bytes, BYTES, MSG_DONTWAIT | MSG_NOSIGNAL) == BYTES,
                  "floor: the connection does not take eight bytes");
}

static void get(int fd, unsigned char *room)
{
    size_t there = 0;
    while (there != BYTES) {
        ssize_t n = recv(fd, room + there, ROOM - there, MSG_DONTWAIT);
        bench_require(n != 0, "floor: the connection has ended");
        there += n > 0 ? (size_t)n : 0;
    }
}

static void trips(int rank, int fd, unsigned char *room, long count)
{
    const unsigned char out[BYTES] = "8 bytes";
    for (long i = 0; i < count; i++) {
        if (rank == 0)
            put(fd, out);
        get(fd, room);
        if (rank == 1)
            put(fd, out);
    }
    bench_require(memcmp(room, out, BYTES) == 0, "floor: the received data is wrong");
}

static long trips_planned(int rank, int fd, unsigned char *room, double rep_s)
{
    long count = 0;
    trips(rank, fd, room, WARM_UP_TRIPS);
    double start = bench_now();
    trips(rank, fd, room, WARM_UP_TRIPS);
    if (rank == 0) {
        count = bench_repeats((bench_now() - start) / WARM_UP_TRIPS, rep_s);
        MPI_Send(&count, 1, MPI_LONG, 1, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&count, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return count;
}

int main(int argc, char **argv)
{
    double reps = 11, rep_ms = 10, half_us[BENCH_MAX_REPS];
    const struct bench_option options[] = {
        {"--reps", &reps, "timed repetitions"},
        {"--ms", &rep_ms, "milliseconds a repetition"},
        {NULL, NULL, NULL},
    };
    bench_options_read(argc, argv, options, NULL);
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    bench_require(ranks == 2, "floor: needs exactly two ranks");
    bench_require(reps >= 1 && reps <= BENCH_MAX_REPS, "floor: --reps must be 1 to 101");
    unsigned char *room = bench_buffer_new(ROOM);
    int fd = meet(rank);
    long count = trips_planned(rank, fd, room, rep_ms / 1000);
    for (int rep = 0; rep < (int)reps; rep++) {
        double start = bench_now();
        trips(rank, fd, room, count);
        half_us[rep] = (bench_now() - start) / (double)count / 2 * 1e6;
    }
    if (rank == 0)
        printf("floor_8B %.6g us\n", bench_median(half_us, (int)reps));
    close(fd);
    free(room);
    MPI_Finalize();
    return 0;
}
