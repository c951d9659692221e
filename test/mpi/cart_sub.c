// SPDX-License-Identifier: BSD-3-Clause
//
// Parts of a grid: every choice of dimensions to keep, ranks and neighbours in each part.

#include "comm_check.h"

enum { NDIMS = 3 };

static void check_part(MPI_Comm cart, const int *dims, const int *periods, int keep)
{
    int remain[NDIMS], want[NDIMS], kept = 0, size = 1, rank = 0;
    int coords[NDIMS], got_dims[NDIMS], got_periods[NDIMS], got[NDIMS], ndims = -1, kind = -1;
    MPI_Comm part;
    CHECK_OK(MPI_Cart_coords(cart, rank_of(cart), NDIMS, coords));
    for (int d = 0; d < NDIMS; d++) {
        remain[d] = keep & 1 << d ? 9 : 0; // any number is true
        if (!remain[d])
            continue;
        want[kept++] = d;
        size *= dims[d];
        rank = rank * dims[d] + coords[d];
    }
    CHECK_OK(MPI_Cart_sub(cart, remain, &part));
    CHECK_INT(size_of(part), size);
    CHECK_INT(rank_of(part), rank);
    CHECK_OK(MPI_Topo_test(part, &kind));
    CHECK_INT(kind, MPI_CART);
    CHECK_OK(MPI_Cartdim_get(part, &ndims));
    CHECK_INT(ndims, kept);
    CHECK_OK(MPI_Cart_get(part, kept, got_dims, got_periods, got));
    for (int i = 0; i < kept; i++) {
        CHECK_INT(got_dims[i], dims[want[i]]);
        CHECK_INT(got_periods[i], periods[want[i]]);
        CHECK_INT(got[i], coords[want[i]]);
    }
    for (int i = 0; i < kept; i++) { // the neighbour is the one of the whole grid
        int from, to, theirs[NDIMS], far[NDIMS];
        CHECK_OK(MPI_Cart_shift(part, i, 1, &from, &to));
        CHECK_OK(MPI_Sendrecv(coords, NDIMS, MPI_INT, to, 3, theirs, NDIMS, MPI_INT, from, 3, part,
                              MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Cart_shift(cart, want[i], 1, &from, &to));
        if (from == MPI_PROC_NULL)
            continue;
        CHECK_OK(MPI_Cart_coords(cart, from, NDIMS, far));
        for (int d = 0; d < NDIMS; d++)
            CHECK_INT(theirs[d], far[d]);
    }
    if (STRICT && kept > 0) { // a part of a part
        MPI_Comm point, again;
        int none[NDIMS] = {0};
        CHECK_OK(MPI_Cart_sub(part, none, &point));
        CHECK_INT(size_of(point), 1);
        CHECK_OK(MPI_Cartdim_get(point, &ndims));
        CHECK_INT(ndims, 0);
        CHECK_OK(MPI_Cart_sub(point, none, &again));
        CHECK_INT(size_of(again), 1);
        CHECK_OK(MPI_Comm_free(&again));
        CHECK_OK(MPI_Comm_free(&point));
    }
    CHECK_OK(MPI_Comm_free(&part));
}

// No dimension at all: one rank, no coordinates.
static void check_point(void)
{
    MPI_Comm point;
    int ndims = -1, rank = -1, untouched[1] = {77};
    CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &point));
    CHECK((point == MPI_COMM_NULL) == (world_rank() > 0));
    if (point == MPI_COMM_NULL)
        return;
    CHECK_INT(size_of(point), 1);
    CHECK_OK(MPI_Cartdim_get(point, &ndims));
    CHECK_INT(ndims, 0);
    CHECK_OK(MPI_Cart_get(point, 0, untouched, untouched, untouched));
    CHECK_OK(MPI_Cart_coords(point, 0, 0, untouched));
    CHECK_INT(untouched[0], 77);
    CHECK_OK(MPI_Cart_rank(point, untouched, &rank));
    CHECK_INT(rank, 0);
    CHECK_OK(MPI_Comm_free(&point));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    int periods[NDIMS] = {0, 1, 0};
    for (int reorder = 0; reorder < 2; reorder++) {
        int dims[NDIMS] = {0};
        MPI_Comm cart;
        CHECK_OK(MPI_Dims_create(world_size(), NDIMS, dims));
        CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, NDIMS, dims, periods, reorder, &cart));
        // MPICH gives points to one rank only.
        for (int keep = STRICT ? 0 : 1; keep < 1 << NDIMS; keep++)
            check_part(cart, dims, periods, keep);
        CHECK_OK(MPI_Comm_free(&cart));
    }
    check_point();
    CHECK_OK(MPI_Finalize());
    return 0;
}
