// SPDX-License-Identifier: BSD-3-Clause
//
// Functions of libc with hidden state keep it for each rank, whatever the other ranks of the
// process do in between: every rank sees the numbers and words that it would see alone.

#define _GNU_SOURCE // beyond C11: usleep, srand48 and their like

#include "check.h"

#include <time.h>

static void let_others_run(void)
{
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void check_numbers(int rank)
{
    unsigned short old[3] = {1, 2, 3}, mine[3] = {(unsigned short)rank, 5, 9};
    char array[64], text[] = "a b c";
    long first[4] = {0}, words = 0;
    for (int round = 0; round < 2; round++) { // the same seed gives the same numbers
        srand((unsigned)rank + 1);
        let_others_run();
        long a = rand();
        let_others_run();
        srand48(rank);
        let_others_run();
        long b = lrand48();
        memcpy(old, mine, sizeof old);
        seed48(old);
        let_others_run();
        long c = lrand48();
        char *before = initstate((unsigned)rank + 42, array, sizeof array);
        let_others_run();
        long d = random();
        CHECK(setstate(before) == array);
        if (round == 0) {
            first[0] = a, first[1] = b, first[2] = c, first[3] = d;
        } else {
            CHECK(a == first[0] && b == first[1] && c == first[2] && d == first[3]);
        }
    }
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        CHECK(word[0] == 'a' + words++);
        let_others_run();
    }
    CHECK(words == 3);
    time_t day = (time_t)86400 * (rank + 1);
    struct tm *date = gmtime(&day);
    let_others_run();
    CHECK_INT(date->tm_mday, rank + 2);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    check_numbers(world_rank());
    CHECK_OK(MPI_Finalize());
    return 0;
}
