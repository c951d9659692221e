// SPDX-License-Identifier: BSD-3-Clause
// Memory for people: every type's pattern and how it is shown, halves bit by bit, ranges.
#include "tools/goal/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"

// What mlt_memory_print writes; valid until the next call.
static const char *shown(mlt_op_type type, const void *bytes, uint64_t size, uint64_t most)
{
    static char text[512];
    FILE *to = fmemopen(text, sizeof text, "w");
    CHECK(to);
    mlt_memory_print(type, bytes, size, most, to);
    fclose(to);
    return text;
}

static void check_ramp(void)
{
    for (int type = 0; type < MLT_OP_TYPES; type++) {
        unsigned char bytes[12 * 8];
        uint64_t size = 12u * mlt_op_type_bytes[type];
        mlt_memory_fill((mlt_fill){MLT_FILL_RAMP, 0}, 2, 0, (mlt_op_type)type, bytes, size);
        const char *text = shown((mlt_op_type)type, bytes, size, 0);
        CHECK(strcmp(text, "30 31 32 33 34 35 36 37 38 39 30 31") == 0);
        CHECK(strcmp(shown((mlt_op_type)type, bytes, size, 3), "30 31 32 ...") == 0);
        CHECK(strcmp(shown((mlt_op_type)type, bytes, size, 12), text) == 0);
    }
}

// All halves: as the hardware's or the compiler's formula has them.
static void check_halves(void)
{
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        uint16_t half = (uint16_t)bits;
        int exponent = (int)(bits >> 10 & 31);
        double fraction = bits & 0x3ff, value;
        if (exponent == 31)
            value = fraction != 0 ? NAN : INFINITY;
        else
            value = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
        char wanted[32];
        snprintf(wanted, sizeof wanted, "%.5g", bits & 0x8000 ? -value : value);
        CHECK(strcmp(shown(MLT_OP_FLOAT16, &half, 2, 0), wanted) == 0);
    }
    uint16_t large;
    mlt_memory_fill((mlt_fill){MLT_FILL_RAMP, 0}, 100000, 0, MLT_OP_FLOAT16, &large, 2);
    CHECK(strcmp(shown(MLT_OP_FLOAT16, &large, 2, 0), "inf") == 0);
}

static void check_values(void)
{
    const int8_t small[] = {-1, -128, 127};
    const int64_t wide = INT64_MIN;
    const double real = 0.1;
    CHECK(strcmp(shown(MLT_OP_INT8, small, 3, 0), "-1 -128 127") == 0);
    CHECK(strcmp(shown(MLT_OP_UINT8, small, 3, 0), "255 128 127") == 0);
    CHECK(strcmp(shown(MLT_OP_INT64, &wide, 8, 0), "-9223372036854775808") == 0);
    CHECK(strcmp(shown(MLT_OP_FLOAT64, &real, 8, 0), "0.10000000000000001") == 0);
    CHECK(strcmp(shown(MLT_OP_INT16, small, 3, 0), "-32513 0x7f") == 0); // what is left over
    CHECK(strcmp(shown(MLT_OP_INT32, small, 3, 0), "0xff 0x80 0x7f") == 0);
}

static void check_fill(void)
{
    mlt_fill fill;
    CHECK(mlt_fill_parse("ramp", &fill) && fill.kind == MLT_FILL_RAMP);
    CHECK(mlt_fill_parse("zero", &fill) && fill.kind == MLT_FILL_ZERO);
    CHECK(mlt_fill_parse("random", &fill) && fill.kind == MLT_FILL_RANDOM && fill.seed == 1);
    CHECK(mlt_fill_parse("random:77", &fill) && fill.seed == 77);
    CHECK(!mlt_fill_parse("random:", &fill) && !mlt_fill_parse("random7", &fill));
    CHECK(!mlt_fill_parse("random:x", &fill) && !mlt_fill_parse("", &fill));
    unsigned char a[64], b[64];
    mlt_memory_fill((mlt_fill){MLT_FILL_RANDOM, 1}, 0, 0, MLT_OP_INT8, a, 64);
    mlt_memory_fill((mlt_fill){MLT_FILL_RANDOM, 1}, 0, 0, MLT_OP_INT8, b, 64);
    CHECK(memcmp(a, b, 64) == 0);
    mlt_memory_fill((mlt_fill){MLT_FILL_RANDOM, 1}, 1, 0, MLT_OP_INT8, b, 64);
    CHECK(memcmp(a, b, 64) != 0);
    mlt_memory_fill((mlt_fill){MLT_FILL_RANDOM, 2}, 0, 0, MLT_OP_INT8, b, 64);
    CHECK(memcmp(a, b, 64) != 0);
}

static void check_ranges(void)
{
    mlt_goal_program *program = mlt_goal_program_new(1);
    uint32_t named = mlt_goal_buffer_add(program, 0, "in", 100);
    const mlt_goal_action actions[] = {
        {.kind = MLT_GOAL_SEND, .at = {40}, .size = {8}},
        {.kind = MLT_GOAL_EXEC, .type = MLT_OP_INT16, .at = {10, 14}, .size = {4, 4}},
        {.kind = MLT_GOAL_SEND, .at = {44}, .size = {2}},
        {.kind = MLT_GOAL_SEND, .buf = {named}, .at = {20}, .size = {4}},
        {.kind = MLT_GOAL_SEND, .at = {90}, .size = {0}},
    };
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        mlt_goal_add(program, 0, &actions[i]);
    size_t count;
    mlt_fill_range *ranges = mlt_memory_ranges(program, 0, MLT_GOAL_MEMORY, &count);
    CHECK(count == 2 && ranges[0].from == 10 && ranges[0].to == 18);
    CHECK(ranges[1].from == 40 && ranges[1].to == 48);
    free(ranges);
    ranges = mlt_memory_ranges(program, 0, named, &count);
    CHECK(count == 1 && ranges[0].from == 0 && ranges[0].to == 100);
    free(ranges);
    CHECK(mlt_memory_type(&program->rank[0], MLT_GOAL_MEMORY, MLT_OP_INT8) == MLT_OP_INT16);
    CHECK(mlt_memory_type(&program->rank[0], named, MLT_OP_INT8) == MLT_OP_INT8);
    mlt_goal_program_free(program);
}

int main(void)
{
    check_ramp();
    check_halves();
    check_values();
    check_fill();
    check_ranges();
    return 0;
}
