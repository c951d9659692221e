// SPDX-License-Identifier: BSD-3-Clause
// Globals, static locals, tables of pointers, constructors, thread-local variables, functions left for the
// end: each rank has its own, and words that merely look like addresses stay as they are.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int counter = 5;
int zeros;
static const char *const names[] = {"a", "b", "c"};
static int *where = &counter;
static char large[100000];
static __thread int own = 7;
static __thread int *own_where = &zeros;

static int add_counter(int x)
{
    return x + counter;
}

static int (*const functions[])(int) = {add_counter};
static int (*volatile changed)(int) = add_counter;

// The address of a global of the original, as a plain number: no relocation makes it move.
static uint64_t looks_like_one;

__attribute__((constructor)) static void construct(void)
{
    zeros = 100;
    large[sizeof large - 1] = 1;
}

static int calls(void)
{
    static int n;
    return ++n;
}

static void leave(void)
{
    printf("leaves %d %d\n", counter, zeros);
}

int main(int argc, char **argv)
{
    int rank, sum;
    looks_like_one = 0x0000555555558010u; // where programs are often loaded
    atexit(leave);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    counter += rank;
    zeros += 2 * rank;
    own += rank;
    *own_where += 1;
    memset(large, rank, sizeof large - 1);
    for (int i = 0; i <= rank; i++)
        calls();
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d: %d %d %d %d %d %d %s %d %d\n", rank, counter, *where, functions[0](1),
           changed(2), zeros, own, names[rank % 3], calls(), large[sizeof large - 1]);
    for (size_t i = 0; i + 1 < sizeof large; i++)
        if (large[i] != (char)rank)
            abort();
    if (looks_like_one != 0x0000555555558010u)
        abort();
    MPI_Allreduce(&counter, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); // from a rank's own memory
    if (rank == 0)
        printf("sum %d\n", sum);
    MPI_Finalize();
    return 0;
}
