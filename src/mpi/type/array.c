// SPDX-License-Identifier: BSD-3-Clause
// Constructors of subarrays and distributed arrays. Numbers in the contents, by the small function:
// all of them integers, in the order of the arguments; by the large one: those that are counts
// apart, after the integers.
#include <stdio.h>
#include <stdlib.h>

#include "mpi/error/error.h"
#include "mpi/self.h"
#include "mpi/type/dtype.h"
#include "type/build.h"

// "argument array_of_sizes[2] is -1, but should be at least 0"
static MLT_COLD int bad_element(mlt_rank *me, const char *array, int i, int64_t value,
                                const char *should)
{
    char name[64];
    snprintf(name, sizeof name, "%s[%d]", array, i);
    return mlt_bad_value(me, NULL, me->fn, MPI_ERR_ARG, name, value, should);
}

static int check_shape(mlt_rank *me, int ndims, int order)
{
    if (ndims < 1)
        return mlt_bad_value(me, NULL, me->fn, MPI_ERR_ARG, "ndims", ndims, "at least 1");
    if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN)
        return mlt_bad_value(me, NULL, me->fn, MPI_ERR_ARG, "order", order,
                             "MPI_ORDER_C or MPI_ORDER_FORTRAN");
    return MPI_SUCCESS;
}

// One of an array of int or MPI_Count.
static int64_t element(const void *array, bool large, int i)
{
    return large ? ((const MPI_Count *)array)[i] : ((const int *)array)[i];
}

// ---- subarrays

// The standard wants parts of at least one element; ranks whose part is empty give 0 to other MPIs,
// and mean a type without elements.
static int check_subarray(mlt_rank *me, int ndims, const int64_t *sizes, const int64_t *subsizes,
                          const int64_t *starts)
{
    char should[80];
    for (int i = 0; i < ndims; i++) {
        if (sizes[i] < 0)
            return bad_element(me, "array_of_sizes", i, sizes[i], "at least 0");
        snprintf(should, sizeof should, "from 0 to %lld, the array's size", (long long)sizes[i]);
        if (subsizes[i] < 0 || subsizes[i] > sizes[i])
            return bad_element(me, "array_of_subsizes", i, subsizes[i], should);
        snprintf(should, sizeof should, "from 0 to %lld, so that the part is in the array",
                 (long long)(sizes[i] - subsizes[i]));
        if (starts[i] < 0 || starts[i] > sizes[i] - subsizes[i])
            return bad_element(me, "array_of_starts", i, starts[i], should);
    }
    return MPI_SUCCESS;
}

int mlt_dtype_make_subarray(mlt_rank *me, bool large, int ndims, const void *sizes,
                            const void *subsizes, const void *starts, int order,
                            const mlt_type *oldtype, MPI_Datatype *newtype)
{
    int code = check_shape(me, ndims, order);
    if (code != MPI_SUCCESS)
        return code;
    int64_t n = ndims;
    mlt_dtype *dtype = large ? mlt_dtype_new(me, MPI_COMBINER_SUBARRAY, 2, 0, 3 * n, 1)
                             : mlt_dtype_new(me, MPI_COMBINER_SUBARRAY, 3 * n + 2, 0, 0, 1);
    if (!dtype)
        return mlt_dtype_no_memory(me);
    int64_t *number = dtype->contents.number, *shape = number + (large ? 2 : 1);
    number[0] = ndims;
    number[large ? 1 : 3 * n + 1] = order;
    for (int i = 0; i < ndims; i++) {
        shape[i] = element(sizes, large, i);
        shape[n + i] = element(subsizes, large, i);
        shape[2 * n + i] = element(starts, large, i);
    }
    code = check_subarray(me, ndims, shape, shape + n, shape + 2 * n);
    if (code != MPI_SUCCESS) {
        mlt_dtype_discard(dtype);
        return code;
    }
    mlt_dtype_set_type(dtype, 0, oldtype);
    mlt_status status = mlt_type_make_subarray(&dtype->type, oldtype, ndims, shape, shape + n,
                                               shape + 2 * n, order == MPI_ORDER_C);
    return mlt_dtype_finish(me, dtype, status, newtype);
}

// ---- distributed arrays

static int array_check_grid(mlt_rank *me, const mlt_dtype_darray *a)
{
    int64_t product = 1;
    int code = check_shape(me, a->ndims, a->order);
    if (code != MPI_SUCCESS)
        return code;
    if (a->size < 1)
        return mlt_bad_value(me, NULL, me->fn, MPI_ERR_ARG, "size", a->size, "at least 1");
    if (a->rank < 0 || a->rank >= a->size)
        return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_RANK,
                             "argument rank is %d, but should be from 0 to %d, as size is %d",
                             a->rank, a->size - 1, a->size);
    for (int i = 0; i < a->ndims; i++) {
        if (a->psizes[i] < 1)
            return bad_element(me, "array_of_psizes", i, a->psizes[i], "at least 1");
        if (product <= a->size)
            product *= a->psizes[i];
    }
    if (product != a->size)
        return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_ARG,
                             "the product of array_of_psizes is %s%lld, but should be %d, as size "
                             "says",
                             product > a->size ? "at least " : "", (long long)product, a->size);
    return MPI_SUCCESS;
}

// One dimension as the engine wants it; `coordinate` is filled in later.
static int read_dimension(mlt_rank *me, const mlt_dtype_darray *a, int i, mlt_distribution *d)
{
    int64_t global = element(a->gsizes, a->large, i), processes = a->psizes[i], arg = a->dargs[i];
    char should[96];
    *d = (mlt_distribution){.global = global, .processes = processes};
    if (global < 1)
        return bad_element(me, "array_of_gsizes", i, global, "at least 1");
    if (arg != MPI_DISTRIBUTE_DFLT_DARG && arg < 1 && a->distribs[i] != MPI_DISTRIBUTE_NONE)
        return bad_element(me, "array_of_dargs", i, arg, "at least 1, or MPI_DISTRIBUTE_DFLT_DARG");
    switch (a->distribs[i]) {
    case MPI_DISTRIBUTE_NONE:
        if (processes != 1)
            return bad_element(me, "array_of_psizes", i, processes,
                               "1, as the dimension is not distributed (MPI_DISTRIBUTE_NONE)");
        return MPI_SUCCESS;
    case MPI_DISTRIBUTE_BLOCK:
        d->block = arg;
        if (arg == MPI_DISTRIBUTE_DFLT_DARG)
            d->block = global / processes + (global % processes > 0);
        if (d->block >= global / processes + (global % processes > 0))
            return MPI_SUCCESS;
        snprintf(should, sizeof should, "so large that %lld blocks hold %lld elements",
                 (long long)processes, (long long)global);
        return bad_element(me, "array_of_dargs", i, arg, should);
    case MPI_DISTRIBUTE_CYCLIC:
        d->block = arg == MPI_DISTRIBUTE_DFLT_DARG ? 1 : arg;
        return MPI_SUCCESS;
    default:
        return bad_element(me, "array_of_distribs", i, a->distribs[i],
                           "MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC or MPI_DISTRIBUTE_NONE");
    }
}

static int read_dimensions(mlt_rank *me, const mlt_dtype_darray *a, mlt_distribution *dims)
{
    int code = MPI_SUCCESS;
    for (int i = 0; i < a->ndims && code == MPI_SUCCESS; i++)
        code = read_dimension(me, a, i, &dims[i]);
    // The processes are a grid in row-major order, whatever the order of the array.
    for (int i = a->ndims - 1, rest = a->rank; i >= 0 && code == MPI_SUCCESS; i--) {
        dims[i].coordinate = rest % a->psizes[i];
        rest /= a->psizes[i];
    }
    return code;
}

static void write_contents(int64_t *number, const mlt_dtype_darray *a)
{
    int64_t n = a->ndims, *at = number;
    *at++ = a->size;
    *at++ = a->rank;
    *at++ = a->ndims;
    int64_t *gsizes = at; // in the large form they come after everything else
    at += a->large ? 0 : n;
    for (int64_t i = 0; i < n; i++) {
        at[i] = a->distribs[i];
        at[n + i] = a->dargs[i];
        at[2 * n + i] = a->psizes[i];
    }
    at += 3 * n;
    *at++ = a->order;
    gsizes = a->large ? at : gsizes;
    for (int i = 0; i < a->ndims; i++)
        gsizes[i] = element(a->gsizes, a->large, i);
}

int mlt_dtype_make_darray(mlt_rank *me, const mlt_dtype_darray *a, const mlt_type *oldtype,
                          MPI_Datatype *newtype)
{
    int64_t n = a->ndims;
    int code = array_check_grid(me, a);
    if (code != MPI_SUCCESS)
        return code;
    mlt_distribution *dims = malloc((size_t)n * sizeof *dims);
    if (!dims)
        return mlt_dtype_no_memory(me);
    code = read_dimensions(me, a, dims);
    if (code != MPI_SUCCESS) {
        free(dims);
        return code;
    }
    mlt_dtype *dtype = a->large ? mlt_dtype_new(me, MPI_COMBINER_DARRAY, 3 * n + 4, 0, n, 1)
                                : mlt_dtype_new(me, MPI_COMBINER_DARRAY, 4 * n + 4, 0, 0, 1);
    if (!dtype) {
        free(dims);
        return mlt_dtype_no_memory(me);
    }
    write_contents(dtype->contents.number, a);
    mlt_dtype_set_type(dtype, 0, oldtype);
    mlt_status status =
        mlt_type_make_darray(&dtype->type, oldtype, a->ndims, dims, a->order == MPI_ORDER_C);
    free(dims);
    return mlt_dtype_finish(me, dtype, status, newtype);
}
