// SPDX-License-Identifier: BSD-3-Clause
// What linkers make of symbols: functions that are chosen at run time, weak and versioned symbols,
// hidden and protected ones, tables of functions, copies of a library's variables, constructors in
// an order, libraries that need each other, memory that nobody touches.
#include <mpi.h>
#include <stdio.h>

// Of libshapes_a.so and libshapes_b.so.
extern int copied, copied_table[3], *copied_pointer; // the program has them in its own memory
int versioned(void), versioned_old(void), old_inside(void), protected_inside(void);
int symbolic_inside(void), chosen_in_library(int), a_calls_b(int), b_calls_a(int), order_seen(void);
int *where_copied(void), **where_copied_pointer(void);
__asm__(".symver versioned_old, versioned@OLD");

static int calls;

static int plain(int x)
{
    calls++;
    return x + 1;
}

static int other(int x)
{
    calls += 10;
    return x + 2;
}

static int (*choose(void))(int)
{
    return plain;
}

int chosen(int x) __attribute__((ifunc("choose")));
__attribute__((weak)) int weak_own(int x);
extern int weak_nowhere(int x) __attribute__((weak));
extern int weak_variable_nowhere __attribute__((weak));

__attribute__((weak)) int weak_own(int x)
{
    return other(x);
}

__attribute__((visibility("hidden"))) int hidden = 5;
static int (*const table[])(int) = {plain, other, chosen, weak_own, chosen_in_library, a_calls_b};
static int (*changing[])(int) = {plain, other, weak_nowhere, chosen};
static int *numbers[] = {&calls, &hidden, &copied, &copied_table[1], &copied_table[3]};
static char large[100 << 20];

static int order[8], ordered;

__attribute__((constructor(300))) static void third(void)
{
    order[ordered++] = 3;
}
__attribute__((constructor(200))) static void second(void)
{
    order[ordered++] = 2;
}
__attribute__((constructor)) static void last(void)
{
    order[ordered++] = 9;
}
__attribute__((constructor(101))) static void first(void)
{
    order[ordered++] = 1;
}

// Looks whether the compiler may know it.
static int is_there(int (*function)(int))
{
    __asm__("" : "+r"(function));
    return function != 0;
}

int main(int argc, char **argv)
{
    int rank, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    hidden += rank;
    copied += rank;
    *copied_pointer += 100 * rank;
    large[rank * 4096] = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
        sum = 3 * sum + table[i](rank);
    changing[0] = changing[rank % 2];
    MPI_Barrier(MPI_COMM_WORLD);
    sum += changing[0](rank) + changing[3](rank);
    int all = 0;
    for (int i = 0; i < 64; i++)
        all += large[i * 4096];
    printf("rank %d: %d %d %d | %d %d %d | %d %d %d %d %d\n", rank, sum, calls, hidden,
           is_there(changing[2]), is_there(weak_nowhere), &weak_variable_nowhere != 0, versioned(),
           versioned_old(), old_inside(), protected_inside(), symbolic_inside());
    printf("rank %d: %d %d %d %d %d %d | %d%d%d%d %d | %d %d %d\n", rank, copied, copied_table[1],
           *copied_pointer, where_copied() == &copied, where_copied_pointer() == &copied_pointer,
           numbers[2] == &copied && numbers[3] == copied_table + 1 && numbers[1] == &hidden,
           order[0], order[1], order[2], order[3], order_seen(), all, a_calls_b(rank),
           b_calls_a(rank));
    MPI_Finalize();
    return 0;
}
