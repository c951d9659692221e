// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Type_get_value_index: the named pair if there is one, else an unnamed predefined type.

#include <stddef.h>

#include "check.h"

static MPI_Datatype pair_of(MPI_Datatype value, MPI_Datatype index)
{
    MPI_Datatype pair = MPI_INT;
    CHECK_OK(MPI_Type_get_value_index(value, index, &pair));
    return pair;
}

static void named(void)
{
    CHECK(pair_of(MPI_FLOAT, MPI_INT) == MPI_FLOAT_INT);
    CHECK(pair_of(MPI_DOUBLE, MPI_INT) == MPI_DOUBLE_INT);
    CHECK(pair_of(MPI_LONG, MPI_INT) == MPI_LONG_INT);
    CHECK(pair_of(MPI_INT, MPI_INT) == MPI_2INT);
    CHECK(pair_of(MPI_SHORT, MPI_INT) == MPI_SHORT_INT);
    CHECK(pair_of(MPI_LONG_DOUBLE, MPI_INT) == MPI_LONG_DOUBLE_INT);
    CHECK(pair_of(MPI_REAL, MPI_REAL) == MPI_2REAL);
    CHECK(pair_of(MPI_INTEGER, MPI_INTEGER) == MPI_2INTEGER);
}

static void nothing(void)
{
    MPI_Datatype derived;
    CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &derived));
    CHECK(pair_of(MPI_FLOAT, MPI_FLOAT) == MPI_DATATYPE_NULL);
    CHECK(pair_of(MPI_BYTE, MPI_INT) == MPI_DATATYPE_NULL);
    CHECK(pair_of(MPI_C_DOUBLE_COMPLEX, MPI_INT) == MPI_DATATYPE_NULL);
    CHECK(pair_of(derived, MPI_INT) == MPI_DATATYPE_NULL);
    CHECK(pair_of(MPI_INT, derived) == MPI_DATATYPE_NULL);
    CHECK_OK(MPI_Type_free(&derived));
}

static void unnamed(void)
{
    struct pair {
        double value;
        int64_t index;
    } out[3] = {{1.5, 1}, {2.5, -2}, {3.5, 3}}, in[3];
    struct mixed {
        int64_t value;
        short index;
    };
    int rank = world_rank(), size = world_size(), ni = -1, na = -1, nd = -1, combiner = -1;
    int right = (rank + 1) % size, left = (rank + size - 1) % size, elements = -1, length = -1;
    char name[MPI_MAX_OBJECT_NAME] = "x";
    MPI_Datatype type = pair_of(MPI_DOUBLE, MPI_INT64_T), parts[2];
    MPI_Aint lb = -1, extent = -1;
    MPI_Status status;
    CHECK(type != MPI_DATATYPE_NULL && type == pair_of(MPI_DOUBLE, MPI_INT64_T));
    CHECK(type != pair_of(MPI_INT64_T, MPI_INT64_T) && type != pair_of(MPI_DOUBLE, MPI_INT32_T));
    CHECK_OK(MPI_Type_get_envelope(type, &ni, &na, &nd, &combiner));
    CHECK(ni == 0 && na == 0 && nd == 2 && combiner == MPI_COMBINER_VALUE_INDEX);
    CHECK_OK(MPI_Type_get_contents(type, 0, 0, 2, &ni, &lb, parts));
    CHECK(parts[0] == MPI_DOUBLE && parts[1] == MPI_INT64_T);
    CHECK_OK(MPI_Type_get_extent(pair_of(MPI_INT64_T, MPI_SHORT), &lb, &extent));
    CHECK(lb == 0 && extent == sizeof(struct mixed));
    CHECK_OK(MPI_Type_get_name(type, name, &length));
    CHECK(length == 0 && name[0] == 0);
    // Committed from the start.
    CHECK_OK(MPI_Sendrecv(out, 3, type, right, 1, in, 3, type, left, 1, MPI_COMM_WORLD, &status));
    CHECK(in[1].value == 2.5 && in[1].index == -2 && in[2].index == 3);
    CHECK_OK(MPI_Get_elements(&status, type, &elements));
    CHECK_INT(elements, 6);
    CHECK_ERROR(MPI_Type_free(&type), MPI_ERR_TYPE, "MPI_Type_free", "predefined");
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    named();
    nothing();
    unnamed();
    CHECK_OK(MPI_Finalize());
    return 0;
}
