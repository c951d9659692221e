// SPDX-License-Identifier: BSD-3-Clause
//
// Every predefined datatype of MPI 4.0 travels: those of C, C++ and Fortran, and the pairs with
// padding.

#include <complex.h>
#include <stdbool.h>
#include <wchar.h>

#include "datatypes.h"

// Pairs of a value and an index, as MPI_MINLOC uses them. Padding may travel or not; members must.
#define PAIR(type, value_type)                                                                     \
    static void pair_##type(int count, int tag)                                                    \
    {                                                                                              \
        struct pair {                                                                              \
            value_type value;                                                                      \
            int index;                                                                             \
        };                                                                                         \
        int rank = world_rank(), size = world_size(), got = -1;                                    \
        int left = (rank + size - 1) % size, right = (rank + 1) % size;                            \
        struct pair *out = must_alloc((size_t)count * sizeof *out);                                \
        struct pair *in = must_alloc((size_t)(count + 1) * sizeof *in);                            \
        MPI_Status status;                                                                         \
        memset(in, 0, (size_t)(count + 1) * sizeof *in);                                           \
        for (int i = 0; i < count; i++) {                                                          \
            out[i].value = (value_type)(rank * 100 + i % 100);                                     \
            out[i].index = i;                                                                      \
        }                                                                                          \
        CHECK_OK(MPI_Sendrecv(out, count, type, right, tag, in, count + 1, type, left, tag,        \
                              MPI_COMM_WORLD, &status));                                           \
        CHECK_OK(MPI_Get_count(&status, type, &got));                                              \
        CHECK_INT(got, count);                                                                     \
        for (int i = 0; i < count; i++) {                                                          \
            CHECK(in[i].value == (value_type)(left * 100 + i % 100));                              \
            CHECK_INT(in[i].index, i);                                                             \
        }                                                                                          \
        CHECK(in[count].value == 0 && in[count].index == 0);                                       \
        free(out);                                                                                 \
        free(in);                                                                                  \
    }

PAIR(MPI_FLOAT_INT, float)
PAIR(MPI_DOUBLE_INT, double)
PAIR(MPI_LONG_INT, long)
PAIR(MPI_2INT, int)
PAIR(MPI_SHORT_INT, short)
PAIR(MPI_LONG_DOUBLE_INT, long double)

int main(int argc, char **argv)
{
    const struct basic types[] = {
        BASIC(MPI_CHAR, 1),
        BASIC(MPI_SIGNED_CHAR, 1),
        BASIC(MPI_UNSIGNED_CHAR, 1),
        BASIC(MPI_BYTE, 1),
        BASIC(MPI_PACKED, 1),
        BASIC(MPI_WCHAR, sizeof(wchar_t)),
        BASIC(MPI_SHORT, sizeof(short)),
        BASIC(MPI_UNSIGNED_SHORT, sizeof(short)),
        BASIC(MPI_INT, sizeof(int)),
        BASIC(MPI_UNSIGNED, sizeof(int)),
        BASIC(MPI_LONG, sizeof(long)),
        BASIC(MPI_UNSIGNED_LONG, sizeof(long)),
        BASIC(MPI_LONG_LONG, sizeof(long long)),
        BASIC(MPI_LONG_LONG_INT, sizeof(long long)),
        BASIC(MPI_UNSIGNED_LONG_LONG, sizeof(long long)),
        BASIC(MPI_INT8_T, 1),
        BASIC(MPI_UINT8_T, 1),
        BASIC(MPI_INT16_T, 2),
        BASIC(MPI_UINT16_T, 2),
        BASIC(MPI_INT32_T, 4),
        BASIC(MPI_UINT32_T, 4),
        BASIC(MPI_INT64_T, 8),
        BASIC(MPI_UINT64_T, 8),
        BASIC(MPI_AINT, sizeof(MPI_Aint)),
        BASIC(MPI_COUNT, sizeof(MPI_Count)),
        BASIC(MPI_OFFSET, sizeof(MPI_Offset)),
        BASIC(MPI_FLOAT, sizeof(float)),
        BASIC(MPI_DOUBLE, sizeof(double)),
        BASIC(MPI_LONG_DOUBLE, sizeof(long double)),
        BASIC(MPI_C_BOOL, sizeof(bool)),
        BASIC(MPI_C_COMPLEX, sizeof(float complex)),
        BASIC(MPI_C_FLOAT_COMPLEX, sizeof(float complex)),
        BASIC(MPI_C_DOUBLE_COMPLEX, sizeof(double complex)),
        BASIC(MPI_C_LONG_DOUBLE_COMPLEX, sizeof(long double complex)),
        BASIC(MPI_CXX_BOOL, 1),
        BASIC(MPI_CXX_FLOAT_COMPLEX, 2 * sizeof(float)),
        BASIC(MPI_CXX_DOUBLE_COMPLEX, 2 * sizeof(double)),
        BASIC(MPI_CXX_LONG_DOUBLE_COMPLEX, 2 * sizeof(long double)),
        BASIC(MPI_LOGICAL, 4),
        BASIC(MPI_INTEGER, 4),
        BASIC(MPI_REAL, 4),
        BASIC(MPI_COMPLEX, 8),
        BASIC(MPI_DOUBLE_PRECISION, 8),
        BASIC(MPI_DOUBLE_COMPLEX, 16),
        BASIC(MPI_CHARACTER, 1),
        BASIC(MPI_2REAL, 8),
        BASIC(MPI_2DOUBLE_PRECISION, 16),
        BASIC(MPI_2INTEGER, 8),
        BASIC(MPI_INTEGER1, 1),
        BASIC(MPI_INTEGER2, 2),
        BASIC(MPI_INTEGER4, 4),
        BASIC(MPI_INTEGER8, 8),
        BASIC(MPI_REAL4, 4),
        BASIC(MPI_REAL8, 8),
        BASIC(MPI_REAL16, 16),
        BASIC(MPI_COMPLEX8, 8),
        BASIC(MPI_COMPLEX16, 16),
        BASIC(MPI_COMPLEX32, 32),
    };
    void (*const pairs[])(int count, int tag) = {
        pair_MPI_FLOAT_INT, pair_MPI_DOUBLE_INT, pair_MPI_LONG_INT,
        pair_MPI_2INT,      pair_MPI_SHORT_INT,  pair_MPI_LONG_DOUBLE_INT,
    };
    const int counts[] = {0, 1, 2, 7, 1000, 20000};
    CHECK_OK(MPI_Init(&argc, &argv));
    basic_exchange_all(types, COUNT_OF(types));
    for (int i = 0; i < COUNT_OF(pairs); i++)
        for (int k = 0; k < COUNT_OF(counts); k++)
            pairs[i](counts[k], 100 + i);
    CHECK_OK(MPI_Finalize());
    return 0;
}
