// SPDX-License-Identifier: BSD-3-Clause
//
// Grids of many shapes: ranks and coordinates, shifts of any distance against a naive reference,
// and a message to every neighbour. With and without reorder, on the world and on communicators
// whose ranks are in another order, smaller than the communicator too.

#include "comm_check.h"

#include <limits.h>

enum { MOST = 6 };

typedef struct grid {
    int ndims, dims[MOST], periods[MOST], count;
} grid;

static int row_major(const grid *g, const int *coords)
{
    int rank = 0;
    for (int d = 0; d < g->ndims; d++)
        rank = rank * g->dims[d] + coords[d];
    return rank;
}

// The rank at a distance, found step by step where that is short.
static int step(const grid *g, const int *coords, int d, long long disp)
{
    int at[MOST];
    memcpy(at, coords, sizeof at);
    long long to = coords[d] + disp;
    if (g->periods[d]) {
        to %= g->dims[d];
        at[d] = (int)(to < 0 ? to + g->dims[d] : to);
    } else if (to < 0 || to >= g->dims[d]) {
        return MPI_PROC_NULL;
    } else {
        at[d] = (int)to;
    }
    return row_major(g, at);
}

static void check_questions(MPI_Comm cart, const grid *g, int *mine)
{
    int rank = rank_of(cart), kind = -1, ndims = -1, dims[MOST], periods[MOST], coords[MOST];
    CHECK_INT(size_of(cart), g->count);
    CHECK_OK(MPI_Topo_test(cart, &kind));
    CHECK_INT(kind, MPI_CART);
    CHECK_OK(MPI_Cartdim_get(cart, &ndims));
    CHECK_INT(ndims, g->ndims);
    CHECK_OK(MPI_Cart_get(cart, MOST, dims, periods, mine));
    for (int d = 0; d < ndims; d++) {
        CHECK_INT(dims[d], g->dims[d]);
        CHECK_INT(STRICT ? periods[d] : periods[d] != 0, g->periods[d] != 0);
    }
    CHECK_INT(row_major(g, mine), rank);
    for (int r = 0; r < g->count; r++) {
        int back = -1;
        CHECK_OK(MPI_Cart_coords(cart, r, ndims, coords));
        CHECK_INT(row_major(g, coords), r);
        for (int d = 0; d < ndims; d++)
            CHECK(coords[d] >= 0 && coords[d] < g->dims[d]);
        for (int d = 0; d < ndims; d++) // as many rounds as one likes
            coords[d] += g->periods[d] ? (d % 2 ? -3 : 5) * g->dims[d] : 0;
        CHECK_OK(MPI_Cart_rank(cart, coords, &back));
        CHECK_INT(back, r);
    }
}

static void check_shifts(MPI_Comm cart, const grid *g, const int *coords)
{
    static const int far[] = {INT_MAX, -INT_MAX, INT_MAX - 1, INT_MIN, 1000003};
    for (int d = 0; d < g->ndims; d++) {
        for (int disp = -2 * g->dims[d] - 1; disp <= 2 * g->dims[d] + 1; disp++) {
            int from = -1, to = -1;
            CHECK_OK(MPI_Cart_shift(cart, d, disp, &from, &to));
            CHECK_INT(from, step(g, coords, d, -(long long)disp));
            CHECK_INT(to, step(g, coords, d, disp));
        }
        for (int i = 0; STRICT && i < COUNT_OF(far); i++) { // sums that overflow elsewhere
            int from = -1, to = -1;
            CHECK_OK(MPI_Cart_shift(cart, d, far[i], &from, &to));
            CHECK_INT(from, step(g, coords, d, -(long long)far[i]));
            CHECK_INT(to, step(g, coords, d, far[i]));
        }
    }
}

// Every rank sends its coordinates up and down; what arrives must come from the neighbour.
static void check_messages(MPI_Comm cart, const grid *g, const int *coords)
{
    for (int d = 0; d < g->ndims; d++) {
        for (int disp = -1; disp <= 1; disp += 2) {
            int from = -1, to = -1, got[MOST] = {0};
            MPI_Status status;
            CHECK_OK(MPI_Cart_shift(cart, d, disp, &from, &to));
            CHECK_OK(MPI_Sendrecv(coords, g->ndims, MPI_INT, to, d, got, g->ndims, MPI_INT, from, d,
                                  cart, &status));
            if (from == MPI_PROC_NULL)
                continue;
            CHECK_STATUS(&status, from, d, (long long)sizeof(int) * g->ndims);
            CHECK_INT(row_major(g, got), step(g, coords, d, -disp));
        }
    }
}

static void check_copies(MPI_Comm cart, const grid *g)
{
    MPI_Comm copy, part;
    int mine[MOST], kind = -1;
    CHECK_OK(MPI_Comm_dup(cart, &copy)); // keeps the topology
    check_questions(copy, g, mine);
    check_messages(copy, g, mine);
    CHECK_OK(MPI_Comm_split(cart, 0, 0, &part)); // does not
    CHECK_OK(MPI_Topo_test(part, &kind));
    CHECK_INT(kind, MPI_UNDEFINED);
    CHECK_OK(MPI_Comm_free(&part));
    CHECK_OK(MPI_Comm_free(&cart));
    check_questions(copy, g, mine); // lives on
    CHECK_OK(MPI_Comm_free(&copy));
}

static void check_grid(MPI_Comm old, grid *g, int reorder)
{
    MPI_Comm cart = old;
    int mine[MOST] = {0}, mapped = -1;
    g->count = 1;
    for (int d = 0; d < g->ndims; d++)
        g->count *= g->dims[d];
    CHECK_OK(MPI_Cart_map(old, g->ndims, g->dims, g->periods, &mapped));
    CHECK_OK(MPI_Cart_create(old, g->ndims, g->dims, g->periods, reorder, &cart));
    CHECK((mapped == MPI_UNDEFINED) == (rank_of(old) >= g->count));
    CHECK((cart == MPI_COMM_NULL) == (rank_of(old) >= g->count));
    if (cart == MPI_COMM_NULL)
        return;
    CHECK_INT(rank_of(cart), reorder ? mapped : rank_of(old));
    check_questions(cart, g, mine);
    check_shifts(cart, g, mine);
    check_messages(cart, g, mine);
    check_copies(cart, g);
}

static void check_shapes(MPI_Comm old)
{
    int size = size_of(old);
    for (int ndims = 0; ndims <= MOST; ndims++) {
        for (int wrap = 0; wrap < (ndims ? 3 : 1); wrap++) {
            grid g = {.ndims = ndims};
            CHECK_OK(ndims ? MPI_Dims_create(size, ndims, g.dims) : MPI_SUCCESS);
            for (int d = 0; d < ndims; d++)
                g.periods[d] = wrap == 1 ? 5 : wrap == 2 ? d % 2 : 0; // any number is true
            check_grid(old, &g, 0);
            check_grid(old, &g, 1);
            if (ndims == 0)
                continue;
            for (int d = 0; d < ndims / 2; d++) { // the short side first
                int keep = g.dims[d];
                g.dims[d] = g.dims[ndims - 1 - d];
                g.dims[ndims - 1 - d] = keep;
            }
            check_grid(old, &g, 1);
            if (g.dims[ndims - 1] > 1)
                g.dims[ndims - 1]--; // some ranks are left out
            check_grid(old, &g, 0);
            check_grid(old, &g, 1);
        }
    }
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    int kind = -1, rank = world_rank();
    CHECK_OK(MPI_Topo_test(MPI_COMM_WORLD, &kind));
    CHECK_INT(kind, MPI_UNDEFINED);
    check_shapes(MPI_COMM_WORLD);
    check_shapes(MPI_COMM_SELF);
    // Ranks backwards; odd and even; in no order that a formula gives.
    for (int way = 0; way < 3; way++) {
        MPI_Comm part;
        int key = way == 0 ? -rank : way == 1 ? rank : (int)((unsigned)rank * 2654435761u >> 16);
        CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, way == 1 ? rank % 2 : 0, key, &part));
        check_shapes(part);
        CHECK_OK(MPI_Comm_free(&part));
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}
