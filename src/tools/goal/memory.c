// SPDX-License-Identifier: BSD-3-Clause
#include "tools/goal/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/memory.h"
#include "tools/args.h"

bool mlt_fill_parse(const char *text, mlt_fill *out)
{
    *out = (mlt_fill){MLT_FILL_RAMP, 1};
    if (strcmp(text, "ramp") == 0)
        return true;
    if (strcmp(text, "zero") == 0) {
        out->kind = MLT_FILL_ZERO;
        return true;
    }
    if (strncmp(text, "random", 6) != 0)
        return false;
    out->kind = MLT_FILL_RANDOM;
    mlt_arg seed = {.kind = MLT_ARG_NUMBER, .value = &out->seed};
    return !text[6] || (text[6] == ':' && mlt_arg_parse(&seed, "", text + 7));
}

mlt_op_type mlt_memory_type(const mlt_goal_rank *rank, uint32_t buf, mlt_op_type initial)
{
    for (uint32_t i = 0; i < rank->count; i++) {
        const mlt_goal_action *action = &rank->actions[i];
        if ((action->kind == MLT_GOAL_EXEC || action->kind == MLT_GOAL_RECV_EXEC) &&
            (action->buf[0] == buf || action->buf[1] == buf))
            return (mlt_op_type)action->type;
    }
    return initial;
}

// ---- values

// IEEE half from a whole number, without what does not fit; too large ones are infinite.
static uint16_t half_of(unsigned n)
{
    if (!n)
        return 0;
    int exponent = 31 - __builtin_clz(n);
    if (exponent > 15)
        return 0x7c00;
    unsigned fraction = exponent > 10 ? n >> (exponent - 10) : n << (10 - exponent);
    return (uint16_t)((unsigned)(exponent + 15) << 10 | (fraction & 0x3ff));
}

static double double_of(uint16_t half)
{
    int exponent = half >> 10 & 0x1f;
    double value = half & 0x3ff;
    if (exponent == 31)
        value = value != 0 ? __builtin_nan("") : __builtin_inf();
    else if (exponent >= 25)
        value = (value + 1024) * (1 << (exponent - 25));
    else if (exponent)
        value = (value + 1024) / (1 << (25 - exponent));
    else
        value /= 1 << 24;
    return half & 0x8000 ? -value : value;
}

static void memory_put_number(mlt_op_type type, unsigned char *to, unsigned n)
{
    uint64_t whole = n; // little-endian: the low bytes come first
    float single = (float)n;
    double twice = n;
    uint16_t half = half_of(n);
    const void *from = type == MLT_OP_FLOAT16   ? (const void *)&half
                       : type == MLT_OP_FLOAT32 ? (const void *)&single
                       : type == MLT_OP_FLOAT64 ? (const void *)&twice
                                                : (const void *)&whole;
    memcpy(to, from, mlt_op_type_bytes[type]);
}

void mlt_memory_fill(mlt_fill fill, uint32_t rank, uint32_t buf, mlt_op_type type, void *bytes,
                     uint64_t size)
{
    unsigned char *to = bytes;
    uint64_t width = mlt_op_type_bytes[type];
    memset(bytes, 0, size);
    if (fill.kind == MLT_FILL_RAMP)
        for (uint64_t i = 0; (i + 1) * width <= size; i++)
            memory_put_number(type, to + i * width, 10 * (rank + 1) + (unsigned)(i % 10));
    if (fill.kind == MLT_FILL_RANDOM) {
        uint64_t state = fill.seed * UINT64_C(0x9e3779b97f4a7c15) + ((uint64_t)rank << 32 | buf);
        for (uint64_t i = 0; i < size; i++) { // splitmix64, a byte of each number
            uint64_t x = state += UINT64_C(0x9e3779b97f4a7c15);
            x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
            x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
            to[i] = (unsigned char)(x >> 56);
        }
    }
}

// ---- what is touched

static size_t joined(mlt_fill_range *ranges, size_t count)
{
    qsort(ranges, count, sizeof *ranges, mlt_compare_ascending);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept && ranges[i].from <= ranges[kept - 1].to) {
            if (ranges[i].to > ranges[kept - 1].to)
                ranges[kept - 1].to = ranges[i].to;
        } else {
            ranges[kept++] = ranges[i];
        }
    }
    return kept;
}

mlt_fill_range *mlt_memory_ranges(const mlt_goal_program *program, uint32_t rank, uint32_t buf,
                                  size_t *count)
{
    const mlt_goal_rank *r = &program->rank[rank];
    mlt_fill_range *ranges = mlt_xcalloc(2 * (size_t)r->count + 1, sizeof *ranges);
    *count = 0;
    if (buf != MLT_GOAL_MEMORY) {
        ranges[0] = (mlt_fill_range){0, mlt_goal_buffer_size(program, rank, buf)};
        *count = ranges[0].to > 0;
        return ranges;
    }
    for (uint32_t i = 0; i < r->count; i++) {
        mlt_goal_access access[2];
        int n = mlt_goal_accesses(&r->actions[i], access);
        for (int j = 0; j < n; j++)
            if (access[j].span.buf == buf)
                ranges[(*count)++] =
                    (mlt_fill_range){access[j].span.at, access[j].span.at + access[j].span.size};
    }
    *count = joined(ranges, *count);
    return ranges;
}

// ---- showing

static void print_element(mlt_op_type type, const unsigned char *at, FILE *to)
{
    uint64_t bits = 0;
    float single;
    double twice;
    int width = mlt_op_type_bytes[type];
    memcpy(&bits, at, (size_t)width);
    switch (type) {
    case MLT_OP_INT8:
    case MLT_OP_INT16:
    case MLT_OP_INT32:
    case MLT_OP_INT64: {
        uint64_t sign = UINT64_C(1) << (8 * width - 1);
        fprintf(to, "%" PRId64, (int64_t)((bits ^ sign) - sign));
        break;
    }
    case MLT_OP_FLOAT16:
        fprintf(to, "%.5g", double_of((uint16_t)bits));
        break;
    case MLT_OP_FLOAT32:
        memcpy(&single, at, sizeof single);
        fprintf(to, "%.9g", (double)single);
        break;
    case MLT_OP_FLOAT64:
        memcpy(&twice, at, sizeof twice);
        fprintf(to, "%.17g", twice);
        break;
    default:
        fprintf(to, "%" PRIu64, bits);
    }
}

void mlt_memory_print(mlt_op_type type, const unsigned char *bytes, uint64_t size, uint64_t most,
                      FILE *to)
{
    uint64_t width = mlt_op_type_bytes[type], count = size / width;
    for (uint64_t i = 0; i < count && (!most || i < most); i++) {
        if (i)
            fputc(' ', to);
        print_element(type, bytes + i * width, to);
    }
    if (most && count > most)
        fprintf(to, " ...");
    else // what is left of an element
        for (uint64_t i = count * width; i < size; i++)
            fprintf(to, "%s0x%02x", i ? " " : "", bytes[i]);
}
