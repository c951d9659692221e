// SPDX-License-Identifier: BSD-3-Clause
//
// What communicators cost: MPI_Comm_dup, MPI_Comm_split by parity and by rank / 1000 and
// MPI_Cart_create in three dimensions of all ranks there are. Right ranks, sizes and neighbours
// everywhere, by messages. Rank 0 prints what each creation took and what its process grew by for
// each of its ranks. To be run with a million ranks too: mpirun -n 2 -nfg 500000 million_comm

#include "comm_check.h"
#include "growth.h"

#include <unistd.h>

enum { ROW = 1000, TAG = 6 };

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

static void end(clock *c, const char *what)
{
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (world_rank() > 0)
        return;
    double took = MPI_Wtime() - c->start;
    long bytes = resident_bytes() - c->bytes;
    printf("%s_s %.3f s\n%s_bytes %ld B\n", what, took, what, bytes / c->ranks);
}

// A message around the ring: it comes from the right world rank.
static void check_neighbour(MPI_Comm comm, int to, int from, int from_world)
{
    int mine = world_rank(), got = -1;
    MPI_Status status;
    CHECK_OK(MPI_Sendrecv(&mine, 1, MPI_INT, to, TAG, &got, 1, MPI_INT, from, TAG, comm, &status));
    CHECK_INT(got, from_world);
    CHECK_INT(status.MPI_SOURCE, from);
}

// A communicator of the world ranks first, first + stride, ...
static void check_ring_of(MPI_Comm comm, int first, int stride, int size)
{
    int rank = rank_of(comm);
    CHECK_INT(size_of(comm), size);
    CHECK_INT(first + rank * stride, world_rank());
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    check_neighbour(comm, to, from, first + from * stride);
    check_neighbour(comm, from, to, first + to * stride);
}

static void check_cart(MPI_Comm cart, const int *dims)
{
    int coords[3], stride[] = {dims[1] * dims[2], dims[2], 1}, rank = rank_of(cart);
    CHECK_INT(size_of(cart), world_size());
    CHECK_INT(rank, world_rank()); // no reorder
    CHECK_OK(MPI_Cart_coords(cart, rank, 3, coords));
    CHECK_INT(coords[0] * stride[0] + coords[1] * stride[1] + coords[2], rank);
    for (int d = 0; d < 3; d++) {
        int from = -1, to = -1, up = coords[d] == dims[d] - 1 ? 1 - dims[d] : 1;
        int down = coords[d] == 0 ? dims[d] - 1 : -1;
        CHECK_OK(MPI_Cart_shift(cart, d, 1, &from, &to));
        CHECK_INT(to, rank + up * stride[d]);
        CHECK_INT(from, rank + down * stride[d]);
        check_neighbour(cart, to, from, from);
        check_neighbour(cart, from, to, to);
    }
}

// With reorder: ranks are others, the neighbours' coordinates are right.
static void check_reordered(MPI_Comm cart, const int *dims)
{
    int coords[3], theirs[3];
    CHECK_INT(size_of(cart), world_size());
    CHECK_OK(MPI_Cart_coords(cart, rank_of(cart), 3, coords));
    for (int d = 0; d < 3; d++) {
        int from, to;
        CHECK_OK(MPI_Cart_shift(cart, d, 1, &from, &to));
        CHECK_OK(MPI_Sendrecv(coords, 3, MPI_INT, to, TAG, theirs, 3, MPI_INT, from, TAG, cart,
                              MPI_STATUS_IGNORE));
        for (int i = 0; i < 3; i++)
            CHECK_INT((theirs[i] + (i == d)) % dims[i], coords[i]);
    }
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    MPI_Comm dup, parity, rows, cart, placed;
    int rank = world_rank(), size = world_size(), dims[3] = {0}, periods[3] = {1, 1, 1};
    clock c = {.ranks = count_ranks()};
    CHECK_OK(MPI_Dims_create(size, 3, dims));

    begin(&c);
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    end(&c, "dup");
    check_ring_of(dup, 0, 1, size);
    begin(&c);
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &parity));
    end(&c, "parity");
    check_ring_of(parity, rank % 2, 2, (size + 1 - rank % 2) / 2);
    begin(&c);
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, rank / ROW, rank, &rows));
    end(&c, "rows");
    int first = rank / ROW * ROW;
    check_ring_of(rows, first, 1, size - first < ROW ? size - first : ROW);
    begin(&c);
    CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &cart));
    end(&c, "cart");
    check_cart(cart, dims);
    begin(&c);
    CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 1, &placed));
    end(&c, "reorder");
    check_reordered(placed, dims);

    begin(&c);
    CHECK_OK(MPI_Comm_free(&dup));
    CHECK_OK(MPI_Comm_free(&parity));
    CHECK_OK(MPI_Comm_free(&rows));
    CHECK_OK(MPI_Comm_free(&cart));
    CHECK_OK(MPI_Comm_free(&placed));
    end(&c, "free");
    CHECK_OK(MPI_Finalize());
    return 0;
}
