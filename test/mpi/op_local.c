// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Reduce_local with predefined operations: a type of every group, pairs of values and indices,
// Fortran's parametrised types. The kernels themselves are tested beside their source.

#include <complex.h>
#include <stdbool.h>
#include <stddef.h>

#include "check.h"

enum { N = 37 };

static void integers(void)
{
    int in[N], out[N];
    static const MPI_Op ops[] = {MPI_MAX, MPI_MIN,  MPI_SUM,  MPI_PROD, MPI_LAND,
                                 MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR,  MPI_BXOR};
    for (int o = 0; o < COUNT_OF(ops); o++) {
        for (int i = 0; i < N; i++) {
            in[i] = i * 7 % 5 - 2;
            out[i] = i % 4 - 1;
        }
        CHECK_OK(MPI_Reduce_local(in, out, N - 1, MPI_INT, ops[o]));
        for (int i = 0; i < N; i++) {
            int a = i * 7 % 5 - 2, b = i % 4 - 1;
            int want[] = {a > b ? a : b, a < b ? a : b, a + b, a * b, a && b,
                          a || b,        !a != !b,      a & b, a | b, a ^ b};
            CHECK_INT(out[i], i < N - 1 ? want[o] : b);
            CHECK_INT(in[i], a);
        }
    }
    CHECK_OK(MPI_Reduce_local(NULL, NULL, 0, MPI_INT, MPI_SUM));
    CHECK_OK(MPI_Reduce_local_c(in, out, 0, MPI_INT, MPI_SUM));
    CHECK_INT(out[N - 1], (N - 1) % 4 - 1);
}

static void other_numbers(void)
{
    double d[2] = {1.5, -2}, e[2] = {0.25, 8};
    float _Complex c = 1 + 2 * I, f = 3 - I;
    bool yes[3] = {true, true, false}, no[3] = {true, false, false};
    unsigned char bytes = 0xf0, mask = 0x3c;
    MPI_Count count = (MPI_Count)1 << 40, more = 5;
    MPI_Aint address = 4096, step = -96;
    long double l = 2.5L, m = -4;
    CHECK_OK(MPI_Reduce_local_c(d, e, 2, MPI_DOUBLE, MPI_PROD));
    CHECK(e[0] == 0.375 && e[1] == -16);
    CHECK_OK(MPI_Reduce_local(&c, &f, 1, MPI_C_FLOAT_COMPLEX, MPI_PROD));
    CHECK(crealf(f) == 5 && cimagf(f) == 5);
    CHECK_OK(MPI_Reduce_local(yes, no, 3, MPI_C_BOOL, MPI_LXOR));
    CHECK(!no[0] && no[1] && !no[2]);
    CHECK_OK(MPI_Reduce_local(&bytes, &mask, 1, MPI_BYTE, MPI_BAND));
    CHECK_INT(mask, 0x30);
    CHECK_OK(MPI_Reduce_local(&count, &more, 1, MPI_COUNT, MPI_SUM));
    CHECK(more == count + 5);
    CHECK_OK(MPI_Reduce_local(&address, &step, 1, MPI_AINT, MPI_SUM));
    CHECK(step == 4000);
    CHECK_OK(MPI_Reduce_local(&l, &m, 1, MPI_LONG_DOUBLE, MPI_MAX));
    CHECK(m == 2.5L);
}

static void pairs(void)
{
    struct {
        double value;
        int index;
    } in[3] = {{1, 10}, {2, 4}, {7, 1}}, out[3] = {{3, 2}, {2, 6}, {5, 9}};
    CHECK_OK(MPI_Reduce_local(in, out, 3, MPI_DOUBLE_INT, MPI_MAXLOC));
    CHECK(out[0].value == 3 && out[0].index == 2);
    CHECK(out[1].value == 2 && out[1].index == 4); // the least of both
    CHECK(out[2].value == 7 && out[2].index == 1);
    CHECK_OK(MPI_Reduce_local(in, out, 3, MPI_DOUBLE_INT, MPI_MINLOC));
    CHECK(out[0].value == 1 && out[0].index == 10 && out[1].index == 4 && out[2].value == 7);
}

static void commutative(void)
{
    int flag = -1;
    CHECK_OK(MPI_Op_commutative(MPI_SUM, &flag));
    CHECK_INT(flag, 1);
    CHECK_OK(MPI_Op_commutative(MPI_MINLOC, &flag));
    CHECK_INT(flag, 1);
}

#ifndef PEER
// Predefined, but without a name.
static void unnamed(void)
{
    struct {
        int64_t value;
        short index;
    } in = {5, 1}, out = {5, -1};
    MPI_Datatype pair, real, integer;
    double a = 3, b = 4;
    int64_t i = 6, j = 7;
    int flag = -1;
    CHECK_OK(MPI_Type_get_value_index(MPI_INT64_T, MPI_SHORT, &pair));
    CHECK_OK(MPI_Reduce_local(&in, &out, 1, pair, MPI_MAXLOC));
    CHECK(out.value == 5 && out.index == -1);
    CHECK_OK(MPI_Type_create_f90_real(12, 100, &real));
    CHECK_OK(MPI_Reduce_local(&a, &b, 1, real, MPI_SUM));
    CHECK(b == 7);
    CHECK_OK(MPI_Type_create_f90_integer(15, &integer));
    CHECK_OK(MPI_Reduce_local(&i, &j, 1, integer, MPI_PROD));
    CHECK(j == 42);
    CHECK_ERROR(MPI_Reduce_local(&a, &b, 1, real, MPI_BOR), MPI_ERR_OP, "MPI_BOR", "MPI_REAL8");
    CHECK_ERROR(MPI_Reduce_local(&in, &out, 1, pair, MPI_SUM), MPI_ERR_OP, "MPI_SUM",
                "a pair of MPI_INT64_T and MPI_SHORT");
    CHECK_OK(MPI_Op_commutative(MPI_REPLACE, &flag));
    CHECK_INT(flag, 0);
}
#endif

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    integers();
    other_numbers();
    pairs();
    commutative();
#ifndef PEER
    unnamed();
#endif
    CHECK_OK(MPI_Finalize());
    return 0;
}
