// SPDX-License-Identifier: BSD-3-Clause
//
// Every rank sends 8 bytes to its right neighbour and receives 8 from its left, at once, and checks
// them. Then a count goes round twice: first it collects how many ranks were right, then it tells
// everybody. So no rank can leave before the last has arrived (the memory of all is needed at one
// time), and a single wrong value makes every rank return 1. Rank 0 prints the verdict.
//
// `--stack-kib K` makes each rank first use K KiB of stack in a function that it calls. Everything
// else here is kept small on purpose: what is measured is what the MPI needs for a rank.
#include "bench.h"

#include <inttypes.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TAG_VALUE = 1,
    TAG_COUNT = 2,
    TAG_TOTAL = 3,
    PAGE = 1024, // touch at least one byte in each page, however small pages are
};

struct ring {
    int rank;
    int ranks;
    int left;
    int right;
};

static int64_t value_of(int rank)
{
    return (int64_t)rank * 1000003 + 12345;
}

// Writes a byte in every page of that much stack and reads all of them back.
__attribute__((noinline)) static bool stack_use(size_t bytes, int rank)
{
    unsigned char area[bytes];
    volatile unsigned char *pages = area; // so that the compiler keeps each access
    for (size_t i = 0; i < bytes; i += PAGE)
        pages[i] = (unsigned char)(rank + (int)(i / PAGE));
    for (size_t i = 0; i < bytes; i += PAGE) {
        if (pages[i] != (unsigned char)(rank + (int)(i / PAGE)))
            return false;
    }
    return true;
}

static bool exchange(const struct ring *ring)
{
    int64_t mine = value_of(ring->rank);
    int64_t theirs = -1;
    MPI_Sendrecv(&mine, 1, MPI_INT64_T, ring->right, TAG_VALUE, &theirs, 1, MPI_INT64_T, ring->left,
                 TAG_VALUE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return theirs == value_of(ring->left);
}

static void pass_right(const struct ring *ring, int64_t number, int tag)
{
    MPI_Send(&number, 1, MPI_INT64_T, ring->right, tag, MPI_COMM_WORLD);
}

static int64_t take_left(const struct ring *ring, int tag)
{
    int64_t number = -1;
    MPI_Recv(&number, 1, MPI_INT64_T, ring->left, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return number;
}

// How many ranks were right, as every rank learns it.
static int64_t count_right(const struct ring *ring, bool right)
{
    int64_t mine = right ? 1 : 0;
    if (ring->rank == 0) {
        pass_right(ring, mine, TAG_COUNT);
        int64_t total = take_left(ring, TAG_COUNT);
        pass_right(ring, total, TAG_TOTAL);
        return take_left(ring, TAG_TOTAL);
    }
    pass_right(ring, take_left(ring, TAG_COUNT) + mine, TAG_COUNT);
    int64_t total = take_left(ring, TAG_TOTAL);
    pass_right(ring, total, TAG_TOTAL);
    return total;
}

int main(int argc, char **argv)
{
    double stack_kib = 0;
    double expected = 0;
    const struct bench_option options[] = {
        {"--stack-kib", &stack_kib, "KiB of stack that each rank uses before it sends"},
        {"--ranks", &expected, "ranks that the job must have"},
        {NULL, NULL, NULL},
    };
    bench_options_read(argc, argv, options, NULL);

    struct ring ring;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &ring.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ring.ranks);
    bench_require(expected == 0 || ring.ranks == (int)expected,
                  "ring_million: the job does not have the number of ranks that was asked for");
    ring.left = (ring.rank + ring.ranks - 1) % ring.ranks;
    ring.right = (ring.rank + 1) % ring.ranks;

    bool right = stack_kib == 0 || stack_use((size_t)stack_kib * 1024, ring.rank);
    right = exchange(&ring) && right;
    int64_t total = count_right(&ring, right);
    if (ring.rank == 0) {
        printf("ring_ranks %d ranks\n", ring.ranks);
        printf("ring_right %" PRId64 " ranks\n", total);
        fflush(stdout);
    }
    MPI_Finalize();
    return total == ring.ranks ? EXIT_SUCCESS : EXIT_FAILURE;
}
