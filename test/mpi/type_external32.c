// SPDX-License-Identifier: BSD-3-Clause
//
// "external32": the bytes of every predefined type, as the standard's table says, and back; types
// of several parts, with gaps; large ones; errors.

#include <complex.h>
#include <stdbool.h>
#include <wchar.h>

#include "type_sample.h"

static void integers(void)
{
    const struct sample all[] = {
        SAMPLE(MPI_CHAR, char, 'x', 1, 'x'),
        SAMPLE(MPI_SIGNED_CHAR, signed char, -2, 1, 0xfe),
        SAMPLE(MPI_UNSIGNED_CHAR, unsigned char, 0xfe, 1, 0xfe),
        SAMPLE(MPI_BYTE, unsigned char, 0xfe, 1, 0xfe),
        SAMPLE(MPI_PACKED, char, 'p', 1, 'p'),
        SAMPLE(MPI_CHARACTER, char, 'c', 1, 'c'),
        SAMPLE(MPI_WCHAR, wchar_t, 0x20ac, 2, 0x20, 0xac),
        SAMPLE(MPI_SHORT, short, (short)0xfedc, 2, INT2),
        SAMPLE(MPI_UNSIGNED_SHORT, unsigned short, 0xfedc, 2, INT2),
        SAMPLE(MPI_INT, int, (int)0xfedcba98, 4, INT4),
        SAMPLE(MPI_UNSIGNED, unsigned, 0xfedcba98, 4, INT4),
        // 4 bytes of a long, with its sign.
        SAMPLE(MPI_LONG, long, -0x1234568, 4, INT4),
        SAMPLE(MPI_LONG, long, 0x12345678, 4, 0x12, 0x34, 0x56, 0x78),
        SAMPLE(MPI_UNSIGNED_LONG, unsigned long, 0xfedcba98, 4, INT4),
        SAMPLE(MPI_LONG_LONG, long long, VALUE8, 8, INT8),
        SAMPLE(MPI_UNSIGNED_LONG_LONG, unsigned long long, VALUE8, 8, INT8),
        SAMPLE(MPI_INT8_T, int8_t, -2, 1, 0xfe),
        SAMPLE(MPI_UINT8_T, uint8_t, 0xfe, 1, 0xfe),
        SAMPLE(MPI_INT16_T, int16_t, (int16_t)0xfedc, 2, INT2),
        SAMPLE(MPI_UINT16_T, uint16_t, 0xfedc, 2, INT2),
        SAMPLE(MPI_INT32_T, int32_t, (int32_t)0xfedcba98, 4, INT4),
        SAMPLE(MPI_UINT32_T, uint32_t, 0xfedcba98, 4, INT4),
        SAMPLE(MPI_INT64_T, int64_t, VALUE8, 8, INT8),
        SAMPLE(MPI_UINT64_T, uint64_t, VALUE8, 8, INT8),
        SAMPLE(MPI_AINT, MPI_Aint, VALUE8, 8, INT8),
        SAMPLE(MPI_COUNT, MPI_Count, VALUE8, 8, INT8),
        SAMPLE(MPI_OFFSET, MPI_Offset, VALUE8, 8, INT8),
        SAMPLE(MPI_C_BOOL, bool, true, 1, 1),
        SAMPLE(MPI_CXX_BOOL, bool, true, 1, 1),
        SAMPLE(MPI_LOGICAL, int, 1, 4, 0, 0, 0, 1),
        SAMPLE(MPI_INTEGER, int, (int)0xfedcba98, 4, INT4),
        SAMPLE(MPI_INTEGER1, int8_t, -2, 1, 0xfe),
        SAMPLE(MPI_INTEGER2, int16_t, (int16_t)0xfedc, 2, INT2),
        SAMPLE(MPI_INTEGER4, int32_t, (int32_t)0xfedcba98, 4, INT4),
        SAMPLE(MPI_INTEGER8, int64_t, VALUE8, 8, INT8),
    };
    for (int i = 0; i < COUNT_OF(all); i++)
        check_sample(&all[i]);
}

static void reals(void)
{
    const struct sample all[] = {
        SAMPLE(MPI_FLOAT, float, 1, 4, ONE4),
        SAMPLE(MPI_DOUBLE, double, -0.5, 8, HALF8),
        SAMPLE(MPI_LONG_DOUBLE, long double, 1, 16, ONE16),
        SAMPLE(MPI_REAL, float, 1, 4, ONE4),
        SAMPLE(MPI_DOUBLE_PRECISION, double, 1, 8, ONE8),
        SAMPLE(MPI_REAL4, float, 1, 4, ONE4),
        SAMPLE(MPI_REAL8, double, 1, 8, ONE8),
        SAMPLE(MPI_C_COMPLEX, float complex, 1 - 0.5f * I, 8, ONE4, HALF4),
        SAMPLE(MPI_C_FLOAT_COMPLEX, float complex, 1 - 0.5f * I, 8, ONE4, HALF4),
        SAMPLE(MPI_C_DOUBLE_COMPLEX, double complex, 1 - 0.5 * I, 16, ONE8, HALF8),
        SAMPLE(MPI_CXX_FLOAT_COMPLEX, float complex, 1 - 0.5f * I, 8, ONE4, HALF4),
        SAMPLE(MPI_CXX_DOUBLE_COMPLEX, double complex, 1 - 0.5 * I, 16, ONE8, HALF8),
        SAMPLE(MPI_COMPLEX, float complex, 1 - 0.5f * I, 8, ONE4, HALF4),
        SAMPLE(MPI_DOUBLE_COMPLEX, double complex, 1 - 0.5 * I, 16, ONE8, HALF8),
        SAMPLE(MPI_COMPLEX8, float complex, 1 - 0.5f * I, 8, ONE4, HALF4),
        SAMPLE(MPI_COMPLEX16, double complex, 1 - 0.5 * I, 16, ONE8, HALF8),
    };
    for (int i = 0; i < COUNT_OF(all); i++)
        check_sample(&all[i]);
}

// Values that do not fit: the low bytes are kept. Truth is 0 or 1.
static void narrowed(void)
{
    long large = 0x1122334455667788, back = 0;
    unsigned char packed[8] = {0}, truth = 7;
    MPI_Aint at = 0;
    CHECK_OK(MPI_Pack_external(REP, &large, 1, MPI_LONG, packed, 8, &at));
    CHECK(at == 4 && packed[0] == 0x55 && packed[3] == 0x88);
    at = 0;
    CHECK_OK(MPI_Unpack_external(REP, packed, 4, &at, &back, 1, MPI_LONG));
    CHECK_INT(back, 0x55667788);
    at = 0;
    CHECK_OK(MPI_Unpack_external(REP, &truth, 1, &at, packed, 1, MPI_C_BOOL));
    CHECK_INT(packed[0], 1);
}

// Long double in full precision: what is lost is lost on the way back only where it has 80 bits.
static void long_doubles(void)
{
    const long double values[] = {0.0L,
                                  -0.0L,
                                  1.0L / 3,
                                  -LDBL_MAX,
                                  LDBL_MIN,
                                  LDBL_MIN / 4,
                                  3.14159265358979323846264338327950288L};
    for (int i = 0; i < COUNT_OF(values); i++) {
        unsigned char packed[16];
        long double back = 7;
        MPI_Aint at = 0;
        CHECK_OK(MPI_Pack_external(REP, &values[i], 1, MPI_LONG_DOUBLE, packed, 16, &at));
        at = 0;
        CHECK_OK(MPI_Unpack_external(REP, packed, 16, &at, &back, 1, MPI_LONG_DOUBLE));
        CHECK(back == values[i]);
    }
}

// Pairs are their two members, without what lies between.
static void pairs(void)
{
    struct short_int {
        short value;
        int index;
    } in[2] = {{0x0102, 0x03040506}, {0x0708, 0x090a0b0c}}, out[2];
    const unsigned char want[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    unsigned char packed[16];
    MPI_Aint at = 0, size = 0;
    memset(out, 0, sizeof out);
    CHECK_OK(MPI_Pack_external_size(REP, 2, MPI_SHORT_INT, &size));
    CHECK_INT(size, 12);
    CHECK_OK(MPI_Pack_external(REP, in, 2, MPI_SHORT_INT, packed, 12, &at));
    CHECK(at == 12 && memcmp(packed, want, 12) == 0);
    at = 0;
    CHECK_OK(MPI_Unpack_external(REP, packed, 12, &at, out, 2, MPI_SHORT_INT));
    CHECK(out[1].value == 0x0708 && out[1].index == 0x090a0b0c);
    CHECK_OK(MPI_Pack_external_size(REP, 1, MPI_LONG_INT, &size));
    CHECK_INT(size, 8);
    CHECK_OK(MPI_Pack_external_size(REP, 1, MPI_LONG_DOUBLE_INT, &size));
    CHECK_INT(size, 20);
}

// A struct with gaps, longs that shrink, many of it: more than any window holds.
static void derived(void)
{
    enum { N = 3000 };
    struct item {
        short s[3];
        long l;
        double d;
        char c;
    } *in = must_alloc(N * sizeof *in), *out = must_alloc(N * sizeof *out);
    int lengths[] = {3, 1, 1, 1};
    MPI_Datatype type, types[] = {MPI_SHORT, MPI_LONG, MPI_DOUBLE, MPI_CHAR};
    MPI_Aint at[4], base, size = -1, position = 0;
    CHECK_OK(MPI_Get_address(&in[0], &base));
    CHECK_OK(MPI_Get_address(&in[0].s, &at[0]));
    CHECK_OK(MPI_Get_address(&in[0].l, &at[1]));
    CHECK_OK(MPI_Get_address(&in[0].d, &at[2]));
    CHECK_OK(MPI_Get_address(&in[0].c, &at[3]));
    for (int i = 0; i < 4; i++)
        at[i] = MPI_Aint_diff(at[i], base);
    for (int i = 0; i < N; i++)
        in[i] = (struct item){{(short)i, (short)-i, 3}, -i * 1000L, i / 8.0, (char)i};
    memset(out, 0xee, N * sizeof *out);
    CHECK_OK(MPI_Type_create_struct(4, lengths, at, types, &type));
    CHECK_OK(MPI_Type_commit(&type));
    CHECK_OK(MPI_Pack_external_size(REP, N, type, &size));
    CHECK_INT(size, N * (6 + 4 + 8 + 1));
    unsigned char *packed = must_alloc((size_t)size);
    CHECK_OK(MPI_Pack_external(REP, in, N, type, packed, size, &position));
    CHECK_INT(position, size);
    MPI_Count large_size = -1, at_large = 0;
    unsigned char *again = must_alloc((size_t)size);
    CHECK_OK(MPI_Pack_external_size_c(REP, N, type, &large_size));
    CHECK_INT(large_size, size);
    CHECK_OK(MPI_Pack_external_c(REP, in, N, type, again, size, &at_large));
    CHECK_INT(at_large, size);
    CHECK(memcmp(packed, again, (size_t)size) == 0);
    free(again);
    const unsigned char *second = packed + 19;
    CHECK(second[0] == 0 && second[1] == 1 && second[2] == 0xff && second[3] == 0xff);
    CHECK(second[6] == 0xff && second[8] == 0xfc && second[9] == 0x18 && second[18] == 1);
    position = 0;
    CHECK_OK(MPI_Unpack_external(REP, packed, size, &position, out, N, type));
    for (int i = 0; i < N; i++) {
        CHECK(memcmp(out[i].s, in[i].s, sizeof in[i].s) == 0);
        CHECK(out[i].l == in[i].l && out[i].d == in[i].d && out[i].c == in[i].c);
        CHECK_INT(((unsigned char *)&out[i])[sizeof(struct item) - 1], 0xee); // the gap
    }
    CHECK_OK(MPI_Type_free(&type));
    free(in);
    free(out);
    free(packed);
}

static void errors(void)
{
    int in = 5;
    char out[8];
    MPI_Aint at = 0, size = 0;
    CHECK_ERROR(MPI_Pack_external("native", &in, 1, MPI_INT, out, 8, &at), MPI_ERR_ARG,
                "MPI_Pack_external", "native");
    CHECK_ERROR(MPI_Unpack_external("native", out, 8, &at, &in, 1, MPI_INT), MPI_ERR_ARG,
                "MPI_Unpack_external", "external32");
    CHECK_ERROR(MPI_Pack_external_size("native", 1, MPI_INT, &size), MPI_ERR_ARG,
                "MPI_Pack_external_size", "native");
    CHECK_ERROR(MPI_Pack_external(REP, &in, 1, MPI_INT, out, 3, &at), MPI_ERR_TRUNCATE,
                "MPI_Pack_external", "1 are missing");
    CHECK_ERROR(MPI_Unpack_external(REP, out, 3, &at, &in, 1, MPI_INT), MPI_ERR_TRUNCATE,
                "MPI_Unpack_external", "1 are missing");
    CHECK_ERROR(MPI_Pack_external(REP, &in, -1, MPI_INT, out, 3, &at), MPI_ERR_COUNT,
                "MPI_Pack_external", "-1");
    CHECK_ERROR(MPI_Pack_external(REP, &in, 1, MPI_DATATYPE_NULL, out, 3, &at), MPI_ERR_TYPE,
                "MPI_Pack_external", "MPI_DATATYPE_NULL");
    CHECK_INT(at, 0);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    integers();
    reals();
    if (STRICT) { // MPICH has no pairs, loses parts of structs, and does not check
        derived();
        narrowed();
        long_doubles();
        pairs();
        errors();
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}
