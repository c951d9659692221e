// SPDX-License-Identifier: BSD-3-Clause
//
// How a job ends, by the argument. The launcher's exit status is that of the first rank to fail.

#include "check.h"

#include <signal.h>

#define WORLD MPI_COMM_WORLD

// Ends some calls deep, so that the end does not come from main's own frame.
static int deep_end(int depth, void (*end)(int), int status)
{
    char room[256];
    memset(room, depth, sizeof room);
    if (depth > 0)
        return deep_end(depth - 1, end, status) + room[depth];
    end(status);
    return 0;
}

// Never returns: each call takes more of the stack, until there is none left.
static int too_deep(int depth)
{
    volatile char room[1024];
    room[depth % 1024] = (char)depth;
    return depth == 0 ? 0 : too_deep(depth + 1) + room[depth % 1024];
}

// A frame that is larger than any guard, of which only the lowest bytes are used.
static int too_large(size_t bytes)
{
    volatile char room[bytes];
    for (size_t i = 0; i < 100; i++)
        room[i] = (char)i;
    return room[bytes % 100];
}

// Blocks until the job ends.
static void wait_forever(int rank)
{
    int value;
    MPI_Recv(&value, 1, MPI_INT, rank, 99, WORLD, MPI_STATUS_IGNORE);
}

static int is(char **argv, const char *name)
{
    return strcmp(argv[1], name) == 0;
}

// What rank 1 does while the others wait for it.
static void end_badly(char **argv)
{
    if (is(argv, "abort"))
        MPI_Abort(WORLD, 5);
    if (is(argv, "crash")) {
        volatile int *volatile nowhere = NULL;
        *nowhere = 1;
    }
    if (is(argv, "overflow")) // more than any stack has, a page at a time
        exit(too_deep(1));
    for (size_t bytes = 64 * 1024; is(argv, "large-frame"); bytes += bytes / 2 & ~(size_t)63)
        if (too_large(bytes) < 0)
            break;
    if (is(argv, "signal"))
        raise(SIGTERM);
    if (is(argv, "assert"))
        abort();
    if (is(argv, "no-finalize"))
        exit(4);
    if (is(argv, "no-finalize-zero"))
        exit(0);
}

int main(int argc, char **argv)
{
    CHECK(argc > 1);
    if (is(argv, "no-init")) // a program that does not use MPI at all
        return 0;
    if (is(argv, "no-init-status"))
        return 6;
    if (is(argv, "no-init-exit"))
        exit(6);
    CHECK_OK(MPI_Init(&argc, &argv));
    int rank = world_rank();
    CHECK_OK(MPI_Barrier(WORLD));
    if (is(argv, "abort") || is(argv, "crash") || is(argv, "overflow") || is(argv, "signal") ||
        is(argv, "assert") || is(argv, "large-frame") || is(argv, "no-finalize") ||
        is(argv, "no-finalize-zero")) {
        if (rank == 1)
            end_badly(argv);
        wait_forever(1);
    }
    CHECK_OK(MPI_Finalize());
    if (is(argv, "exit") && rank == 1)
        return deep_end(10, exit, 3);
    if (is(argv, "exit-all"))
        return deep_end(5, exit, 9);
    if (is(argv, "return") && rank == 2)
        return 7;
    if (is(argv, "zero-exit"))
        exit(0);
    return 0;
}
