// SPDX-License-Identifier: BSD-3-Clause
// Integers that equal addresses of the program, which is loaded where FROM says: they are no
// pointers, and must not change.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

// So far apart that they cover text and data, which may be 64 KiB after it.
#define STEP      32
#define AT(n)     FROM + STEP *(n)
#define ROW(n)    AT(n), AT((n) + 1), AT((n) + 2), AT((n) + 3)
#define ROWS(n)   ROW(n), ROW((n) + 4), ROW((n) + 8), ROW((n) + 12)
#define BLOCK(n)  ROWS(n), ROWS((n) + 16), ROWS((n) + 32), ROWS((n) + 48)
#define BLOCKS(n) BLOCK(n), BLOCK((n) + 64), BLOCK((n) + 128), BLOCK((n) + 192)
#define ALL(n)    BLOCKS(n), BLOCKS((n) + 256), BLOCKS((n) + 512), BLOCKS((n) + 768)

enum { WORDS = 8192 };
uint64_t guesses[WORDS] = {ALL(0),    ALL(1024), ALL(2048), ALL(3072),
                           ALL(4096), ALL(5120), ALL(6144), ALL(7168)};
uint64_t *pointer = &guesses[5];

int main(int argc, char **argv)
{
    int rank, changed = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < WORDS; i++)
        changed += guesses[i] != (uint64_t)AT((uint64_t)i);
    if (rank == 0)
        printf("%s\n", guesses[0] <= (uintptr_t)main && (uintptr_t)pointer < guesses[WORDS - 1]
                           ? "they look like addresses"
                           : "they do not");
    printf("rank %d: %d changed, %d\n", rank, changed, pointer == &guesses[5]);
    MPI_Finalize();
    return 0;
}
