// SPDX-License-Identifier: BSD-3-Clause
//
// Windows of every flavor are made, used and freed very often: the process does not grow, and keeps
// no descriptor. argv[1]: how often, in all ranks together.

#include "growth.h"
#include "win_check.h"

#include <dirent.h>

static int descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    CHECK(folder != NULL);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static void make(int i, void *state)
{
    (void)state;
    box b = box_new((enum flavor)(i % FLAVORS), 5000, 8);
    int right = (b.rank + 1) % b.size;
    int64_t value = i, was = -1;
    epoch_open(&b, (enum epoch)(i / FLAVORS % EPOCHS));
    CHECK_OK(MPI_Put(&value, 1, MPI_INT64_T, right, box_disp(&b, right, 0), 1, MPI_INT64_T, b.win));
    CHECK_OK(
        MPI_Fetch_and_op(&value, &was, MPI_INT64_T, right, box_disp(&b, right, 8), MPI_SUM, b.win));
    epoch_close(&b, (enum epoch)(i / FLAVORS % EPOCHS));
    CHECK_INT(was, 0);
    box_free(&b);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    int rounds = rounds_of(argc > 1 ? atoi(argv[1]) : 2000) + 20;
    for (int i = 0; i < 16; i++)
        make(i, NULL);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    int open_before = descriptors();
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    check_growth(make, NULL, rounds);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(descriptors() <=
          open_before + world_size()); // others of the process may be counting, too
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_Finalize());
    return 0;
}
