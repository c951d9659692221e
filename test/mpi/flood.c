// SPDX-License-Identifier: BSD-3-Clause
//
// A sender floods a rank that does not receive yet. Rank 1 sends to rank 0, which first waits for a
// message that rank 2 sends after a long talk with rank 3. Then all must arrive, complete and in
// order. With the argument `memory` the flood is larger, and the memory of rank 0's process must
// not grow with it.

#define _DEFAULT_SOURCE
#include <sys/resource.h>

#include "check.h"

#define WORLD MPI_COMM_WORLD

enum {
    SMALL = 200000,
    LARGE = 2000,
    LARGE_BYTES = 4096,
    TAG = 1,
    WAKE = 2,
    TALK = 3,
    TALKS = 2000
};
enum { HEAVY = 300000, HEAVY_BYTES = 1024, LIMIT_KB = 128 << 10 };

static void flood(int count, int bytes)
{
    char *buf = must_alloc((size_t)bytes);
    pattern_fill(buf, (size_t)bytes, 7);
    for (long i = 0; i < count; i++) {
        memcpy(buf, &i, sizeof i);
        CHECK_OK(MPI_Send(buf, bytes, MPI_BYTE, 0, TAG, WORLD));
    }
    free(buf);
}

static void drain(int count, int bytes)
{
    char *buf = must_alloc((size_t)bytes);
    for (long i = 0; i < count; i++) {
        long got = -1;
        MPI_Status status;
        CHECK_OK(MPI_Recv(buf, bytes, MPI_BYTE, i % 2 ? 1 : MPI_ANY_SOURCE, TAG, WORLD, &status));
        memcpy(&got, buf, sizeof got);
        CHECK_INT(got, i);
        CHECK_STATUS(&status, 1, TAG, bytes);
        if (bytes > (int)sizeof got)
            CHECK_INT((unsigned char)buf[bytes - 1], pattern_byte((size_t)bytes - 1, 7));
    }
    free(buf);
}

static void talk(int peer, int first)
{
    int word = 0;
    for (int i = 0; i < TALKS; i++) {
        if (first)
            CHECK_OK(MPI_Send(&i, 1, MPI_INT, peer, TALK, WORLD));
        CHECK_OK(MPI_Recv(&word, 1, MPI_INT, peer, TALK, WORLD, MPI_STATUS_IGNORE));
        CHECK_INT(word, i);
        if (!first)
            CHECK_OK(MPI_Send(&i, 1, MPI_INT, peer, TALK, WORLD));
    }
}

static long peak_kb(void)
{
    struct rusage usage;
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return usage.ru_maxrss;
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    int rank = world_rank(), memory = argc > 1 && strcmp(argv[1], "memory") == 0;
    long before = peak_kb();
    CHECK(world_size() == 4);
    CHECK_OK(MPI_Barrier(WORLD));
    if (rank == 0) {
        CHECK_OK(MPI_Recv(NULL, 0, MPI_BYTE, 2, WAKE, WORLD, MPI_STATUS_IGNORE));
        if (memory) {
            drain(HEAVY, HEAVY_BYTES);
            long grown = peak_kb() - before;
            if (grown > LIMIT_KB)
                check_fail(__FILE__, __LINE__, "the process grew by %ld KiB, more than %d", grown,
                           LIMIT_KB);
        } else {
            drain(SMALL, 8);
            drain(LARGE, LARGE_BYTES);
        }
    } else if (rank == 1 && memory) {
        flood(HEAVY, HEAVY_BYTES);
    } else if (rank == 1) {
        flood(SMALL, 8);
        flood(LARGE, LARGE_BYTES);
    } else if (rank == 2) {
        talk(3, 1);
        CHECK_OK(MPI_Send(NULL, 0, MPI_BYTE, 0, WAKE, WORLD));
    } else {
        talk(2, 0);
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}
