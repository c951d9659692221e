// SPDX-License-Identifier: BSD-3-Clause
// Every operation on every type against slow references: all pairs of edge values, random ones, any
// alignment and length. Halves against doubles, which hold their sums and products exactly.
#include "type/op.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"

static int op, type; // under test

static void tell_op(void)
{
    fprintf(stderr, "  of %s%s\n", mlt_op_names[op], mlt_op_type_names[type]);
}

// ---- halves: the value of each, and the one that is nearest to a value

static double half_value(uint16_t h)
{
    int exponent = h >> 10 & 31, fraction = h & 1023;
    double value;
    if (exponent == 31)
        value = fraction ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexp(fraction, -24);
    else
        value = ldexp(1024 + fraction, exponent - 25);
    return h & 0x8000 ? -value : value;
}

static uint16_t half_nearest(double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double size = fabs(value);
    if (isnan(value))
        return 0x7e00;
    if (size >= 65520) // half way from the greatest one to 2^16: to the even one
        return sign | 0x7c00;
    int exponent = size < ldexp(1, -14) ? -14 : ilogb(size);
    double ulps = rint(ldexp(size, 10 - exponent)); // ties to even; the exponent may grow by it
    uint32_t bits =
        ulps < 1024 ? (uint32_t)ulps : ((uint32_t)(exponent + 14) << 10) + (uint32_t)ulps;
    return (uint16_t)(sign | bits);
}

static bool half_nan(uint16_t h)
{
    return (h & 0x7fff) > 0x7c00;
}

// ---- references, on the bits of one element

static bool is_float(void)
{
    return type >= MLT_OP_FLOAT16;
}

static bool is_signed(void)
{
    return type <= MLT_OP_INT64;
}

static double to_double(uint64_t bits)
{
    if (type == MLT_OP_FLOAT16)
        return half_value((uint16_t)bits);
    if (type == MLT_OP_FLOAT32) {
        float f;
        uint32_t low = (uint32_t)bits;
        memcpy(&f, &low, 4);
        return (double)f;
    }
    double d;
    memcpy(&d, &bits, 8);
    return d;
}

static uint64_t from_double(double value)
{
    if (type == MLT_OP_FLOAT16)
        return half_nearest(value);
    if (type == MLT_OP_FLOAT32) {
        float f = (float)value;
        uint32_t bits;
        memcpy(&bits, &f, 4);
        return bits;
    }
    uint64_t bits;
    memcpy(&bits, &value, 8);
    return bits;
}

static uint64_t mask_of(void)
{
    return UINT64_MAX >> (64 - 8 * mlt_op_type_bytes[type]);
}

static double pick(double a, double b)
{
    if (isnan(a) || isnan(b))
        return NAN;
    bool first = a == b             ? (signbit(a) != 0) == (op == MLT_OP_MIN)
                 : op == MLT_OP_MAX ? a > b
                                    : a < b;
    return first ? a : b;
}

static uint64_t float_reference(uint64_t a, uint64_t b)
{
    double x = to_double(a), y = to_double(b);
    switch (op) {
    case MLT_OP_MAX:
    case MLT_OP_MIN:
        return from_double(pick(x, y));
    case MLT_OP_SUM:
        return from_double(x + y);
    case MLT_OP_PROD:
        return from_double(x * y);
    case MLT_OP_LAND:
        return from_double(x != 0 && y != 0);
    case MLT_OP_LOR:
        return from_double(x != 0 || y != 0);
    default:
        return from_double((x != 0) != (y != 0));
    }
}

// The low bits of sums and products do not depend on the sign.
static uint64_t integer_reference(uint64_t a, uint64_t b)
{
    int unused = 64 - 8 * mlt_op_type_bytes[type];
    bool less = is_signed() ? (int64_t)(a << unused) < (int64_t)(b << unused) : a < b;
    switch (op) {
    case MLT_OP_MAX:
        return less ? b : a;
    case MLT_OP_MIN:
        return less ? a : b;
    case MLT_OP_SUM:
        return (a + b) & mask_of();
    case MLT_OP_PROD:
        return (a * b) & mask_of();
    case MLT_OP_LAND:
        return a && b;
    case MLT_OP_LOR:
        return a || b;
    default:
        return !a != !b;
    }
}

static uint64_t reference(uint64_t a, uint64_t b)
{
    switch (op) {
    case MLT_OP_BAND:
        return a & b;
    case MLT_OP_BOR:
        return a | b;
    case MLT_OP_BXOR:
        return a ^ b;
    case MLT_OP_COPY:
        return b;
    default:
        return is_float() ? float_reference(a, b) : integer_reference(a, b);
    }
}

// Equal bits; of results that are counted, any NaN is as good as another.
static bool same(uint64_t is, uint64_t should)
{
    bool counted = is_float() && op <= MLT_OP_PROD;
    return is == should || (counted && isnan(to_double(is)) && isnan(to_double(should)));
}

// ---- running kernels

static uint64_t load(const unsigned char *at)
{
    uint64_t bits = 0;
    memcpy(&bits, at, mlt_op_type_bytes[type]); // little-endian
    return bits;
}

static void store(unsigned char *at, uint64_t bits)
{
    memcpy(at, &bits, mlt_op_type_bytes[type]);
}

enum { EDGES = 40 };

static int edge_values(uint64_t out[EDGES])
{
    static const uint64_t halves[] = {0x0000, 0x0001, 0x03ff, 0x0400, 0x0401, 0x3800,
                                      0x3bff, 0x3c00, 0x3c01, 0x4000, 0x4248, 0x7bfe,
                                      0x7bff, 0x7c00, 0x7c01, 0x7e00, 0x7fff};
    static const double doubles[] = {0,       1,       2,      0.5,      3.14159, 1e-45,
                                     1e-38,   1e38,    3.4e38, 1.5e-300, 5e-324,  1e300,
                                     1.7e308, 1 / 3.0, 7e7,    16777217, 65504,   6.1e-5};
    int n = 0;
    if (type == MLT_OP_FLOAT16) {
        for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
            out[n++] = halves[i];
            out[n++] = halves[i] | 0x8000;
        }
        return n;
    }
    if (is_float()) {
        for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++) {
            out[n++] = from_double(doubles[i]);
            out[n++] = from_double(-doubles[i]);
        }
        out[n++] = from_double(INFINITY);
        out[n++] = from_double(-INFINITY);
        out[n++] = from_double(NAN);
        return n;
    }
    uint64_t top = mask_of() / 2 + 1;
    const uint64_t integers[] = {0,
                                 1,
                                 2,
                                 3,
                                 7,
                                 10,
                                 mask_of(),
                                 mask_of() - 1,
                                 top,
                                 top - 1,
                                 top + 1,
                                 top / 2,
                                 0x5555555555555555u,
                                 0xaaaaaaaaaaaaaaaau,
                                 0x0123456789abcdefu};
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
        out[n++] = integers[i] & mask_of();
    return n;
}

static uint64_t once(uint64_t a, uint64_t b)
{
    unsigned char x[8], y[8];
    store(x, a);
    store(y, b);
    mlt_op_kernels[op][type](x, y, 1);
    CHECK(load(y) == b);
    return load(x);
}

static void all_edges(void)
{
    uint64_t edge[EDGES];
    int n = edge_values(edge);
    bool commutes = op != MLT_OP_COPY;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            uint64_t is = once(edge[i], edge[j]);
            CHECK(same(is, reference(edge[i], edge[j])));
            if (commutes)
                CHECK(same(is, once(edge[j], edge[i])));
        }
}

// Lengths around those of vectors, at any address, with bytes around that must stay.
static void all_places(void)
{
    enum { MOST = 67, ROOM = 8 * MOST + 32 };
    unsigned char x[ROOM], y[ROOM], was_x[ROOM], was_y[ROOM];
    uint64_t edge[EDGES];
    int n = edge_values(edge);
    size_t bytes = mlt_op_type_bytes[type];
    for (uint64_t count = 0; count <= MOST; count += count < 20 ? 1 : 47)
        for (size_t shift = 0; shift < 16; shift++) {
            size_t other = random64() % 16;
            for (size_t i = 0; i < ROOM; i++)
                x[i] = y[i] = (unsigned char)random64();
            for (uint64_t i = 0; i < count; i++)
                if (random64() % 4 == 0) {
                    store(x + shift + i * bytes, edge[random64() % (uint64_t)n]);
                    store(y + other + i * bytes, edge[random64() % (uint64_t)n]);
                }
            memcpy(was_x, x, ROOM);
            memcpy(was_y, y, ROOM);
            mlt_op_kernels[op][type](x + shift, y + other, count);
            CHECK(memcmp(y, was_y, ROOM) == 0 && memcmp(x, was_x, shift) == 0);
            CHECK(memcmp(x + shift + count * bytes, was_x + shift + count * bytes,
                         ROOM - shift - count * bytes) == 0);
            for (uint64_t i = 0; i < count; i++)
                CHECK(same(load(x + shift + i * bytes), reference(load(was_x + shift + i * bytes),
                                                                  load(y + other + i * bytes))));
            // Both sides the same memory.
            memcpy(x, was_x, ROOM);
            mlt_op_kernels[op][type](x + shift, x + shift, count);
            for (uint64_t i = 0; i < count; i++) {
                uint64_t was = load(was_x + shift + i * bytes);
                CHECK(same(load(x + shift + i * bytes), reference(was, was)));
            }
        }
}

// ---- halves

// Every half with itself gone there and back, with powers of two and odd ones, and at every tie and
// right beside it.
static void all_halves(void)
{
    static const uint16_t others[] = {0x0000, 0x8000, 0x3c00, 0xbc00, 0x0001, 0x8001,
                                      0x03ff, 0x0400, 0x3555, 0xb555, 0x4248, 0x3bff,
                                      0x1400, 0x7bff, 0xfbff, 0x7c00, 0x68ab, 0x2e66};
    type = MLT_OP_FLOAT16;
    for (uint32_t h = 0; h < 65536; h++) {
        CHECK(half_nan((uint16_t)h) || half_nearest(half_value((uint16_t)h)) == h);
        for (op = MLT_OP_MAX; op <= MLT_OP_PROD; op++)
            for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
                if (op <= MLT_OP_MIN && i > 5)
                    break;
                CHECK(same(once(h, others[i]), float_reference(h, others[i])));
            }
    }
    op = MLT_OP_SUM;
    uint32_t ties = 0;
    for (uint32_t h = 0x3000; h < 0x7c00; h++) { // half its last place is a normal half
        uint32_t place = (h >> 10) - 11;
        for (int sign = 0; sign < 2; sign++)
            for (int beside = -1; beside <= 1; beside++) {
                uint32_t rest = ((place << 10) + (uint32_t)beside) | (sign ? 0x8000u : 0);
                CHECK(same(once(h, rest), float_reference(h, rest)));
                ties++;
            }
    }
    CHECK(ties == 6 * (0x7c00 - 0x3000));
    // The doubles say what is expected of some that are known.
    CHECK(once(0x7bff, 0x4c00) == 0x7c00 && once(0x7bff, 0x4bff) == 0x7bff); // 65504 + 16, + 15.99
    CHECK(once(0x6800, 0x3c00) == 0x6800 && once(0x6801, 0x3c00) == 0x6802); // 2048 + 1, 2050 + 1
    CHECK(once(0x0001, 0x0001) == 0x0002 && once(0x03ff, 0x0001) == 0x0400);
}

int main(void)
{
    tell_more = tell_op;
    for (op = 0; op < MLT_OPS; op++)
        for (type = 0; type < MLT_OP_TYPES; type++) {
            CHECK(mlt_op_kernels[op][type] != NULL);
            all_edges();
            all_places();
        }
    all_halves();
    static const char *const names[] = {"Int8",    "Int16",   "Int32",  "Int64",
                                        "UInt8",   "UInt16",  "UInt32", "UInt64",
                                        "Float16", "Float32", "Float64"};
    static const int bytes[] = {1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8};
    for (type = 0; type < MLT_OP_TYPES; type++)
        CHECK(strcmp(mlt_op_type_names[type], names[type]) == 0 &&
              mlt_op_type_bytes[type] == bytes[type]);
    type = op = 0;
    CHECK(strcmp(mlt_op_names[MLT_OP_MAX], "max") == 0);
    CHECK(strcmp(mlt_op_names[MLT_OP_COPY], "copy") == 0 && MLT_OPS == 11);
    return 0;
}
