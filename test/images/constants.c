// SPDX-License-Identifier: BSD-3-Clause
// Built twice: as a library with constants and a function that is chosen (LIBRARY), and as a program that has copies of them in its
// own memory.
#if defined(LIBRARY)

int variable = 7;
const int numbers[4] = {1, 2, 3, 4};
const char *const names[2] = {"one", "two"};
int *const pointer = &variable;

int *place(void)
{
    return &variable;
}

static int read_variable(void)
{
    return variable;
}

static int (*choose(void))(void)
{
    return read_variable;
}

int chosen(void) __attribute__((ifunc("choose"), visibility("protected")));
int (*table[])(void) = {chosen};

int read_by_table(void)
{
    return table[0]();
}

#else

#include <mpi.h>
#include <stdio.h>

extern int variable, *const pointer;
extern const int numbers[4];
extern const char *const names[2];
int *place(void), read_by_table(void);

int main(int argc, char **argv)
{
    int me;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    variable += me;
    ++*pointer;
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d: %d %d %s %d %d %d\n", me, numbers[1], numbers[3], names[1], variable, *place(),
           read_by_table());
    MPI_Finalize();
    return 0;
}

#endif
