// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Dims_create: the standard's examples, what every answer must hold, and wrong arguments. The
// best answers are checked against brute force in src/mpi/topo/dims_test.c.

#include "comm_check.h"

#include <limits.h>

static void check_valid(int nnodes, int ndims, const int *given)
{
    int dims[8];
    long long product = 1;
    memcpy(dims, given, sizeof dims);
    CHECK_OK(MPI_Dims_create(nnodes, ndims, dims));
    for (int d = 0, last = INT_MAX; d < ndims; d++) {
        product *= dims[d];
        CHECK(dims[d] >= 1);
        if (given[d]) {
            CHECK_INT(dims[d], given[d]);
        } else {
            CHECK(dims[d] <= last);
            last = dims[d];
        }
    }
    CHECK_INT(product, nnodes);
}

static void check_dims(int nnodes, int ndims, int a, int b, int c, const int *want)
{
    int dims[] = {a, b, c};
    CHECK_OK(MPI_Dims_create(nnodes, ndims, dims));
    for (int d = 0; d < ndims; d++)
        CHECK_INT(dims[d], want[d]);
}

#define BAD(call, class, other, word)                                                              \
    CHECK_ERROR2(call, class, STRICT ? class : other, "MPI_Dims_create", STRICT ? word : "")

static void wrong(void)
{
    int dims[] = {0, 3, 0}, negative[] = {0, -2}, fixed[] = {2, 2}, huge[] = {INT_MAX, INT_MAX, 0};
    BAD(MPI_Dims_create(7, 3, dims), MPI_ERR_DIMS, MPI_ERR_ARG, "nnodes is 7");
    CHECK(dims[0] == 0 && dims[1] == 3 && dims[2] == 0);
    BAD(MPI_Dims_create(6, 2, negative), MPI_ERR_DIMS, MPI_ERR_ARG, "dims[1] is -2");
    BAD(MPI_Dims_create(6, -1, dims), MPI_ERR_DIMS, MPI_ERR_ARG, "-1");
    BAD(MPI_Dims_create(-4, 3, dims), MPI_ERR_ARG, MPI_ERR_DIMS, "-4");
    BAD(MPI_Dims_create(6, 2, NULL), MPI_ERR_ARG, MPI_ERR_DIMS, "dims");
    if (!STRICT) // it takes what has no answer
        return;
    BAD(MPI_Dims_create(0, 3, dims), MPI_ERR_ARG, MPI_ERR_ARG, "nnodes is 0");
    BAD(MPI_Dims_create(8, 2, fixed), MPI_ERR_DIMS, MPI_ERR_ARG, "nnodes is 8");
    BAD(MPI_Dims_create(2, 0, dims), MPI_ERR_DIMS, MPI_ERR_ARG, "nnodes is 2");
    BAD(MPI_Dims_create(12, 3, huge), MPI_ERR_DIMS, MPI_ERR_ARG, "2147483647 or more");
    CHECK_OK(MPI_Dims_create(4, 2, fixed));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    // The standard's.
    check_dims(6, 2, 0, 0, 0, (int[]){3, 2});
    check_dims(7, 2, 0, 0, 0, (int[]){7, 1});
    check_dims(6, 3, 0, 3, 0, (int[]){2, 3, 1});
    check_dims(1, 0, 0, 0, 0, NULL);
    check_dims(1000000, 3, 0, 0, 0, (int[]){100, 100, 100});
    check_dims(60, 3, 0, 5, 0, (int[]){4, 5, 3});
    uint64_t random = 1;
    for (int i = 0; i < 500; i++) {
        int given[8] = {0}, ndims = 1 + random_below(&random, 8);
        int nnodes = 1 + random_below(&random, i % 2 ? 5000 : 2000000);
        check_valid(nnodes, ndims, given);
        int at = random_below(&random, ndims), fixed = 1 + random_below(&random, 50);
        given[at] = fixed;
        if (ndims > 1)
            check_valid(fixed * (1 + random_below(&random, 3000)), ndims, given);
    }
    wrong();
    CHECK_OK(MPI_Finalize());
    return 0;
}
