// SPDX-License-Identifier: BSD-3-Clause
// Built as libraries that have one thread-local variable each (NUMBER), and as the program that uses
// LIBRARIES of them.
#define JOIN_NOW(a, b) a##b
#define JOIN(a, b)     JOIN_NOW(a, b)

#if defined(NUMBER)

static _Thread_local int variable = NUMBER;

int JOIN(add_, NUMBER)(int value)
{
    return variable += value;
}

#else

#include <mpi.h>
#include <stdio.h>

#define USE(number) int JOIN(add_, number)(int value);
LIBRARIES
#undef USE
#define USE(number) JOIN(add_, number),
static int (*const add[])(int value) = {LIBRARIES};

int main(int argc, char **argv)
{
    int me;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    for (size_t i = 0; i < sizeof add / sizeof *add; i++)
        (void)add[i](me);
    MPI_Barrier(MPI_COMM_WORLD);
    for (size_t i = 0; i < sizeof add / sizeof *add; i++)
        printf("rank %d: %d\n", me, add[i](0));
    MPI_Finalize();
    return 0;
}

#endif
