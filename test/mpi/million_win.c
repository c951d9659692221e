// SPDX-License-Identifier: BSD-3-Clause
//
// What windows cost: each flavor with 8 bytes a rank, made by all ranks there are, with puts round
// the ring and a counter that all share; then four at once. Rank 0 prints what each took to make, and
// what its process grew by for each of its ranks. To be run with a million ranks too: mpirun -n 2 -nfg 500000
// million_win

#include "growth.h"
#include "win_check.h"

#include <unistd.h>

enum { TAG = 6 };

typedef struct clock {
    double start;
    long bytes;
    int ranks; // of rank 0's process
} clock;

// Rank 0 counts the ranks that live in its process: each tells it their process id.
static int count_ranks(void)
{
    int mine = (int)getpid(), count = 1;
    if (world_rank() > 0) {
        CHECK_OK(MPI_Send(&mine, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD));
        return 0;
    }
    for (int r = 1, theirs; r < world_size(); r++) {
        CHECK_OK(MPI_Recv(&theirs, 1, MPI_INT, r, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        count += theirs == mine;
    }
    return count;
}

static void begin(clock *c)
{
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (world_rank() > 0)
        return;
    c->bytes = resident_bytes();
    c->start = MPI_Wtime();
}

static void end(clock *c, const char *what, enum flavor flavor)
{
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (world_rank() > 0)
        return;
    printf("%s_%s_s %.3f s\n", flavor_name(flavor), what, MPI_Wtime() - c->start);
    if (strcmp(what, "make") == 0)
        printf("%s_bytes %ld B\n", flavor_name(flavor), (resident_bytes() - c->bytes) / c->ranks);
}

// The window, of memory that was there before where the flavor wants some.
static void make(enum flavor flavor, MPI_Comm comm, int64_t *own, int64_t **base, MPI_Win *win)
{
    *base = own;
    if (flavor == CREATE)
        CHECK_OK(MPI_Win_create(own, 8, 8, MPI_INFO_NULL, comm, win));
    else if (flavor == ALLOCATE)
        CHECK_OK(MPI_Win_allocate(8, 8, MPI_INFO_NULL, comm, base, win));
    else if (flavor == SHARED)
        CHECK_OK(MPI_Win_allocate_shared(8, 8, MPI_INFO_NULL, comm, base, win));
    else
        CHECK_OK(MPI_Win_create_dynamic(MPI_INFO_NULL, comm, win));
}

static void use(MPI_Win win, MPI_Comm comm, int64_t *base)
{
    int rank, size;
    int64_t one = 1, was = -1;
    CHECK_OK(MPI_Comm_rank(comm, &rank));
    CHECK_OK(MPI_Comm_size(comm, &size));
    int64_t out = 100 + rank;
    *base = 0;
    CHECK_OK(MPI_Win_fence(0, win));
    CHECK_OK(MPI_Put(&out, 1, MPI_INT64_T, (rank + 1) % size, 0, 1, MPI_INT64_T, win));
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    CHECK_INT(*base, 100 + (rank + size - 1) % size);
    CHECK_OK(MPI_Barrier(comm));
    CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    CHECK_OK(MPI_Fetch_and_op(&one, &was, MPI_INT64_T, 0, 0, MPI_SUM, win));
    CHECK_OK(MPI_Win_unlock(0, win));
    CHECK(was >= 100 + size - 1 && was < 100 + 2 * size - 1);
}

// Windows that are there at the same time: what one of them takes.
static void make_several(clock *c, int64_t *own)
{
    enum { SEVERAL = 4 };
    MPI_Win wins[SEVERAL];
    int64_t *base;
    begin(c);
    for (int i = 0; i < SEVERAL; i++)
        make(CREATE, MPI_COMM_WORLD, own, &base, &wins[i]);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (world_rank() == 0)
        printf("one_of_%d_bytes %ld B\n", SEVERAL,
               (resident_bytes() - c->bytes) / c->ranks / SEVERAL);
    for (int i = 0; i < SEVERAL; i++)
        CHECK_OK(MPI_Win_free(&wins[i]));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    clock c = {.ranks = count_ranks()};
    int64_t own = 0, *base;
    MPI_Win win;
    for (int flavor = 0; flavor < FLAVORS; flavor++) {
        MPI_Comm comm = flavor_comm(MPI_COMM_WORLD, (enum flavor)flavor);
        begin(&c);
        make((enum flavor)flavor, comm, &own, &base, &win);
        end(&c, "make", (enum flavor)flavor);
        begin(&c);
        if (flavor != DYNAMIC)
            use(win, comm, base);
        end(&c, "use", (enum flavor)flavor);
        CHECK_OK(MPI_Win_free(&win));
        CHECK_OK(MPI_Comm_free(&comm));
    }
    make_several(&c, &own);
    CHECK_OK(MPI_Finalize());
    return 0;
}
