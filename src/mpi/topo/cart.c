// SPDX-License-Identifier: BSD-3-Clause
// Cartesian topologies. Ranks are row-major: the last dimension runs fastest. A rank keeps only
// a reference to its worker's grid; coordinates are computed when they are asked for.
#include <limits.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/memory.h"
#include "mpi/error/error.h"
#include "mpi/topo/reorder.h"
#include "mpi/topo/topo.h"
#include "mpi_bodies.h"

// Checks a grid that is to be laid over comm; its number of ranks in *count.
static int cart_check_grid(mlt_rank *me, mlt_comm *comm, int ndims, const int *dims,
                           const int *periods, int *count)
{
    if (comm->inter)
        return mlt_topo_inter(me, comm);
    if (ndims < 0)
        return mlt_bad_value(me, comm, me->fn, MPI_ERR_DIMS, "ndims", ndims, "at least 0");
    if (ndims > 0 && !dims)
        return mlt_bad_null(me, comm, me->fn, MPI_ERR_ARG, "dims", "an array, as ndims is above 0");
    if (ndims > 0 && !periods)
        return mlt_bad_null(me, comm, me->fn, MPI_ERR_ARG, "periods",
                            "an array, as ndims is above 0");
    int64_t product = 1;
    for (int i = 0; i < ndims; i++) {
        if (dims[i] < 1)
            return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_DIMS,
                                 "dims[%d] is %d, but should be at least 1", i, dims[i]);
        if (product <= INT_MAX)
            product *= dims[i];
    }
    if (product > comm->size)
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_DIMS,
                             "the grid of dims has %lld%s ranks, but should have at most the %d "
                             "ranks of %s",
                             (long long)product, product > INT_MAX ? " or more" : "", comm->size,
                             mlt_comm_name(me, comm));
    *count = (int)product;
    return MPI_SUCCESS;
}

static int check_maxdims(mlt_rank *me, mlt_comm *comm, int maxdims)
{
    int ndims = comm->topo->cart.ndims;
    if (maxdims >= ndims)
        return MPI_SUCCESS;
    return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_ARG,
                         "argument maxdims is %d, but should be at least the number of dimensions, "
                         "%d",
                         maxdims, ndims);
}

int mlt_mpi_Cart_create(mlt_rank *me, mlt_comm *comm_old, int ndims, const int dims[],
                        const int periods[], int reorder, MPI_Comm *comm_cart)
{
    int count = 0, code = cart_check_grid(me, comm_old, ndims, dims, periods, &count);
    if (code != MPI_SUCCESS)
        return code;
    bool member = comm_old->rank < count;
    int rank = reorder && member ? mlt_reorder_cart(me, comm_old, ndims, dims, periods, count)
                                 : comm_old->rank;
    return mlt_topo_make(me, comm_old, member ? 0 : MPI_UNDEFINED, rank,
                         mlt_topo_new_cart(ndims, dims, periods), comm_cart);
}

int mlt_mpi_Cart_map(mlt_rank *me, mlt_comm *comm, int ndims, const int dims[], const int periods[],
                     int *newrank)
{
    int count = 0, code = cart_check_grid(me, comm, ndims, dims, periods, &count);
    if (code != MPI_SUCCESS)
        return code;
    *newrank = mlt_reorder_cart(me, comm, ndims, dims, periods, count);
    return MPI_SUCCESS;
}

int mlt_mpi_Cart_sub(mlt_rank *me, mlt_comm *comm, const int remain_dims[], MPI_Comm *newcomm)
{
    const mlt_topo *topo = comm->topo;
    int ndims = topo->cart.ndims, kept = 0, color = 0, key = 0;
    if (ndims > 0 && !remain_dims)
        return mlt_bad_null(me, comm, me->fn, MPI_ERR_ARG, "remain_dims",
                            "an array with an element for each dimension");
    int *dims = mlt_xcalloc(2 * (size_t)ndims, sizeof *dims), *periods = dims + ndims;
    for (int i = 0, rest = comm->rank, below = comm->size; i < ndims; i++) {
        below /= topo->cart.dims[i];
        int at = rest / below;
        rest %= below;
        if (remain_dims[i]) {
            dims[kept] = topo->cart.dims[i];
            periods[kept++] = topo->cart.periods[i];
            key = key * topo->cart.dims[i] + at;
        } else {
            color = color * topo->cart.dims[i] + at;
        }
    }
    mlt_topo *part = mlt_topo_new_cart(kept, dims, periods);
    free(dims);
    return mlt_topo_make(me, comm, color, key, part, newcomm);
}

static void coordinates(const mlt_comm *comm, int rank, int *coords)
{
    for (int i = comm->topo->cart.ndims - 1; i >= 0; i--) {
        int size = comm->topo->cart.dims[i];
        coords[i] = rank % size;
        rank /= size;
    }
}

int mlt_mpi_Cart_get(mlt_rank *me, mlt_comm *comm, int maxdims, int dims[], int periods[],
                     int coords[])
{
    int code = check_maxdims(me, comm, maxdims);
    if (code != MPI_SUCCESS)
        return code;
    const mlt_topo *topo = comm->topo;
    if (topo->cart.ndims == 0)
        return MPI_SUCCESS;
    if (!dims || !periods || !coords)
        return mlt_bad_null(me, comm, me->fn, MPI_ERR_ARG,
                            !dims      ? "dims"
                            : !periods ? "periods"
                                       : "coords",
                            "an array of maxdims elements");
    for (int i = 0; i < topo->cart.ndims; i++) {
        dims[i] = topo->cart.dims[i];
        periods[i] = topo->cart.periods[i];
    }
    coordinates(comm, comm->rank, coords);
    return MPI_SUCCESS;
}

int mlt_mpi_Cart_coords(mlt_rank *me, mlt_comm *comm, int rank, int maxdims, int coords[])
{
    if (rank < 0 || rank >= comm->size)
        return mlt_bad_rank(me, comm, me->fn, MPI_ERR_RANK, "rank", rank, "");
    int code = check_maxdims(me, comm, maxdims);
    if (code != MPI_SUCCESS)
        return code;
    if (comm->topo->cart.ndims > 0 && !coords)
        return mlt_bad_null(me, comm, me->fn, MPI_ERR_ARG, "coords",
                            "an array of maxdims elements");
    coordinates(comm, rank, coords);
    return MPI_SUCCESS;
}

int mlt_mpi_Cart_rank(mlt_rank *me, mlt_comm *comm, const int coords[], int *rank)
{
    const mlt_topo *topo = comm->topo;
    if (topo->cart.ndims > 0 && !coords)
        return mlt_bad_null(me, comm, me->fn, MPI_ERR_ARG, "coords",
                            "an array with an element for each dimension");
    int found = 0;
    for (int i = 0; i < topo->cart.ndims; i++) {
        int size = topo->cart.dims[i], at = coords[i];
        if (at < 0 || at >= size) {
            if (!topo->cart.periods[i])
                return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_ARG,
                                     "coords[%d] is %d, but should be from 0 to %d, as that "
                                     "dimension is not periodic",
                                     i, at, size - 1);
            at %= size;
            at += at < 0 ? size : 0;
        }
        found = found * size + at;
    }
    *rank = found;
    return MPI_SUCCESS;
}

// The rank at a distance along a dimension, of which the calling rank is at `at`.
static int neighbour(const mlt_comm *comm, int dim, int at, int stride, int64_t disp)
{
    int size = comm->topo->cart.dims[dim];
    int64_t to = at + disp;
    if (comm->topo->cart.periods[dim])
        to = (to % size + size) % size;
    else if (to < 0 || to >= size)
        return MPI_PROC_NULL;
    return comm->rank + (int)(to - at) * stride;
}

int mlt_mpi_Cart_shift(mlt_rank *me, mlt_comm *comm, int direction, int disp, int *rank_source,
                       int *rank_dest)
{
    const mlt_topo *topo = comm->topo;
    if (direction < 0 || direction >= topo->cart.ndims)
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_DIMS,
                             "argument direction is %d, but should be at least 0 and below the "
                             "number of dimensions, %d",
                             direction, topo->cart.ndims);
    int stride = 1;
    for (int i = topo->cart.ndims - 1; i > direction; i--)
        stride *= topo->cart.dims[i];
    int at = comm->rank / stride % topo->cart.dims[direction];
    *rank_source = neighbour(comm, direction, at, stride, -(int64_t)disp);
    *rank_dest = neighbour(comm, direction, at, stride, disp);
    return MPI_SUCCESS;
}
