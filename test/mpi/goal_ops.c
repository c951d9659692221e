// SPDX-License-Identifier: BSD-3-Clause
//
// Every predefined operation with every type, through the executor, against plain C. Float16 is
// compared with float by values that both hold exactly.

#include "goal_check.h"

enum { N = 37, OPS = 11, TYPES = 11, BYTES = 8 };

// Elements as bits; floats and halves as numbers.
static const int type_bytes[TYPES] = {1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8};

static int is_float(int type)
{
    return type >= 8;
}

static uint16_t half_of(float f) // of small integers
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    uint32_t sign = bits >> 31 << 15, exponent = bits >> 23 & 0xff, fraction = bits >> 13 & 0x3ff;
    return (uint16_t)(f == 0 ? sign : sign | (exponent - 127 + 15) << 10 | fraction);
}

// A small integer as an element.
static uint64_t element(int type, int value)
{
    uint64_t bits = 0;
    float f = (float)value;
    double d = value;
    uint16_t h = half_of(f);
    if (type == 8)
        memcpy(&bits, &h, sizeof h);
    else if (type == 9)
        memcpy(&bits, &f, sizeof f);
    else if (type == 10)
        memcpy(&bits, &d, sizeof d);
    else
        bits = (uint64_t)(int64_t)value;
    return type_bytes[type] == 8 ? bits : bits & ((UINT64_C(1) << 8 * type_bytes[type]) - 1);
}

// In order max min sum prod land lor lxor band bor bxor copy.
static uint64_t expected(int op, int type, int a, int b)
{
    uint64_t x = element(type, a), y = element(type, b);
    if (op == 7 || op == 8 || op == 9)
        return op == 7 ? (x & y) : op == 8 ? (x | y) : (x ^ y);
    int sign = type < 4 || is_float(type), larger = a > b;
    if (!sign) // small negative numbers are large ones
        larger = x > y;
    int results[] = {larger ? a : b, larger ? b : a, a + b, a * b, a && b, a || b, !a != !b};
    return op == 10 ? y : element(type, results[op]);
}

static void check(int op, int type, int reversed)
{
    unsigned char a[N * BYTES], b[N * BYTES];
    int bytes = type_bytes[type], va[N], vb[N];
    size_t size = (size_t)(N * bytes);
    for (int i = 0; i < N; i++) {
        va[i] = i % 11 - (type < 4 || is_float(type) ? 5 : 0);
        vb[i] = i * 7 % 13 - (type < 4 || is_float(type) ? 6 : 0);
        uint64_t x = element(type, va[i]), y = element(type, vb[i]);
        memcpy(a + i * bytes, &x, (size_t)bytes);
        memcpy(b + i * bytes, &y, (size_t)bytes);
    }
    GOAL_Goal g = GOAL_Create();
    GOAL_fid f = 1 << 16 | op << 8 | type;
    CHECK_ID(reversed ? GOAL_Exec_reversed(g, f, a, size, b, size)
                      : GOAL_Exec(g, f, a, size, b, size));
    GOAL_Sched s = compiled(g);
    CHECK_OK(GOAL_Sched_run(s));
    CHECK_OK(GOAL_Sched_free(&s));
    for (int i = 0; i < N; i++) {
        uint64_t got = 0, want = expected(op, type, va[i], vb[i]);
        if (op == 10 && reversed) // keeps what is there
            want = element(type, va[i]);
        memcpy(&got, a + i * bytes, (size_t)bytes);
        if (op == 3 && is_float(type) && va[i] * vb[i] == 0) // of either sign
            got &= ~(UINT64_C(1) << (8 * bytes - 1));
        if (got != want)
            check_fail(__FILE__, __LINE__, "op %d type %d: %d and %d give %llx instead of %llx", op,
                       type, va[i], vb[i], (unsigned long long)got, (unsigned long long)want);
    }
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    CHECK_INT(GOAL_maxInt8, 1 << 16);
    CHECK_INT(GOAL_sumFloat16, 1 << 16 | 2 << 8 | 8);
    CHECK_INT(GOAL_copyFloat64, 1 << 16 | 10 << 8 | 10);
    for (int op = 0; op < OPS; op++)
        for (int type = 0; type < TYPES; type++) {
            check(op, type, 0);
            check(op, type, 1);
        }
    CHECK_OK(MPI_Finalize());
    return 0;
}
