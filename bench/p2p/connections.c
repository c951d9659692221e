// SPDX-License-Identifier: BSD-3-Clause
//
// What a connection costs a process: rank 0 exchanges messages with rank after rank of other hosts,
// which makes a connection to the process of each. Its resident memory is taken before the second
// one and after the last: the first also pays for what all share. The last `--peers` ranks must be
// on other hosts than rank 0, each in a process of its own.
#include "bench.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TAG_DATA = 1,
    SMALL = 64,
    LARGE = 200000,
    SMALL_MESSAGES = 200,
    KIB = 1024,
};

static double resident_bytes(void)
{
    char line[256];
    long kib = -1;
    FILE *status = fopen("/proc/self/status", "r");
    bench_require(status != NULL, "connections: there is no /proc/self/status");
    while (fgets(line, sizeof line, status)) {
        if (sscanf(line, "VmRSS: %ld kB", &kib) == 1)
            break;
    }
    fclose(status);
    bench_require(kib >= 0, "connections: /proc/self/status has no VmRSS");
    return (double)kib * KIB;
}

static void bounce(unsigned char *data, int bytes, int peer, bool first)
{
    if (first)
        MPI_Send(data, bytes, MPI_BYTE, peer, TAG_DATA, MPI_COMM_WORLD);
    MPI_Recv(data, bytes, MPI_BYTE, peer, TAG_DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!first)
        MPI_Send(data, bytes, MPI_BYTE, peer, TAG_DATA, MPI_COMM_WORLD);
}

static void talk(unsigned char *data, int peer, bool first)
{
    for (int i = 0; i < SMALL_MESSAGES; i++)
        bounce(data, SMALL, peer, first);
    bounce(data, LARGE, peer, first);
    bench_require(bench_pattern_holds(data, LARGE, 1), "connections: the received data is wrong");
}

int main(int argc, char **argv)
{
    double peers = 0;
    const struct bench_option options[] = {
        {"--peers", &peers, "how many ranks, the last ones, rank 0 talks to (half of all)"},
        {NULL, NULL, NULL},
    };
    bench_options_read(argc, argv, options, NULL);

    int rank;
    int ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int first = ranks - (peers > 0 ? (int)peers : ranks / 2);
    bench_require(first >= 1 && ranks - first >= 2, "connections: needs two peers or more");

    unsigned char *data = bench_buffer_new(LARGE);
    bench_pattern_fill(data, LARGE, 1);
    if (rank >= first)
        talk(data, 0, false);
    if (rank == 0) {
        talk(data, first, true);
        double before = resident_bytes();
        for (int peer = first + 1; peer < ranks; peer++)
            talk(data, peer, true);
        printf("connection_bytes %.6g B\n", (resident_bytes() - before) / (ranks - first - 1));
    }
    free(data);
    MPI_Finalize();
    return 0;
}
