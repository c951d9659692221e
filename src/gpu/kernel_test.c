// SPDX-License-Identifier: BSD-3-Clause
// Every kernel against the processor's: all operations on all types bit for bit, copies with gaps on
// random shapes and datatypes. All that a kernel may touch lies in one piece of device memory, which
// is compared as a whole, so a byte that is written beside its place is seen.
//
// The driver is the stand-in of test/gpu, or this machine's (test/gpu/run --real). With the argument
// `speed` (and MiB of each operand, 256) it prints how fast the kernels are, beside the driver's own
// copy.
#include "gpu/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "type/build.h"
#include "type/reduce.h"
#include "type/wide.h"

enum { SKIPPED = 77 };

static mlt_gpu_driver cuda;
static mlt_gpu_kernels *kernels;
static mlt_cu_stream stream;
static bool is_stand_in;

#define FINE(call) CHECK((call) == MLT_CU_OK)

// ---- device memory with a copy of what it should be

enum { ARENA = 8 << 20, SHARED = 1 << 20 };

static mlt_cu_ptr arena;      // on the device
static unsigned char *wanted; // what it should be
static unsigned char *got;
static unsigned char *shared; // pinned: lists for the device

static void begin(void)
{
    mlt_cu_context context;
    FINE(cuda.Init(0));
    FINE(cuda.DevicePrimaryCtxRetain(&context, 0));
    CHECK(mlt_gpu_kernels_now(&cuda, &kernels) == MLT_CU_INVALID_CONTEXT);
    FINE(cuda.CtxSetCurrent(context));
    FINE(mlt_gpu_kernels_now(&cuda, &kernels));
    FINE(cuda.StreamCreate(&stream, MLT_CU_STREAM_NON_BLOCKING));
}

static void begin_arena(void)
{
    void *pinned;
    FINE(cuda.MemAlloc(&arena, ARENA));
    FINE(cuda.MemHostAlloc(&pinned, SHARED, MLT_CU_HOST_PORTABLE));
    shared = pinned;
    wanted = malloc(ARENA);
    got = malloc(ARENA);
    CHECK(wanted && got);
}

static void end_arena(void)
{
    FINE(cuda.MemFree(arena));
    FINE(cuda.MemFreeHost(shared));
    free(wanted);
    free(got);
}

static void upload(size_t bytes)
{
    CHECK(bytes <= ARENA);
    FINE(cuda.MemcpyAsync(arena, (uintptr_t)wanted, bytes, stream));
    FINE(cuda.StreamSynchronize(stream));
}

static void download(size_t bytes)
{
    FINE(cuda.MemcpyAsync((uintptr_t)got, arena, bytes, stream));
    FINE(cuda.StreamSynchronize(stream));
}

static void check_arena(size_t bytes)
{
    download(bytes);
    for (size_t i = 0; i < bytes; i++)
        if (got[i] != wanted[i]) {
            fprintf(stderr, "byte %zu of %zu is 0x%02x instead of 0x%02x\n", i, bytes, got[i],
                    wanted[i]);
            CHECK(!"the same bytes");
        }
}

static void scribble(size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        wanted[i] = (unsigned char)(random64() >> 32);
}

static void launched(mlt_cu_result error)
{
    char why[400];
    mlt_gpu_kernels_why(kernels, why, sizeof why);
    if (error != MLT_CU_OK)
        fprintf(stderr, "%d: %s\n", error, why);
    CHECK(error == MLT_CU_OK);
}

// ---- operations

typedef struct operation {
    mlt_op_kernel *kernel;
    uint32_t element, numbers, at[2];
    mlt_op_type type[2];
    uint32_t align;
    char name[80];
} operation;

static bool is_float(mlt_op_type type)
{
    return type >= MLT_OP_FLOAT16;
}

static bool is_nan(mlt_op_type type, const unsigned char *at)
{
    uint64_t bits = 0, infinity = 0x7ff0000000000000u;
    memcpy(&bits, at, mlt_op_type_bytes[type]);
    if (type == MLT_OP_FLOAT16)
        infinity = 0x7c00;
    if (type == MLT_OP_FLOAT32)
        infinity = 0x7f800000;
    uint64_t sign = UINT64_C(1) << (mlt_op_type_bytes[type] * 8 - 1);
    return is_float(type) && (bits & (sign - 1)) > infinity;
}

static void put_number(mlt_op_type type, unsigned char *at)
{
    static const uint64_t doubles[] = {0,
                                       1,
                                       0x7ff0000000000000,
                                       0x7ff8000000000000,
                                       0x7ff0000000000001,
                                       0x3ff0000000000000,
                                       0x0010000000000000,
                                       0x7fefffffffffffff,
                                       0x000fffffffffffff,
                                       0x3ff0000000000001};
    static const uint64_t floats[] = {0,          1,          0x7f800000, 0x7fc00000, 0x7f800001,
                                      0x3f800000, 0x00800000, 0x7f7fffff, 0x007fffff, 0x3f800001};
    static const uint64_t halves[] = {0,      1,      0x7c00, 0x7e00, 0x7c01,
                                      0x3c00, 0x0400, 0x7bff, 0x03ff, 0x3c01};
    enum { EDGES = sizeof doubles / sizeof *doubles };
    uint32_t bytes = mlt_op_type_bytes[type];
    uint64_t bits = random64(), sign = UINT64_C(1) << (bytes * 8 - 1),
             edge = below(2) ? below(EDGES) : 0;
    uint64_t one = type == MLT_OP_FLOAT64   ? 0x3ff0000000000000
                   : type == MLT_OP_FLOAT32 ? 0x3f800000
                                            : 0x3c00;
    switch (below(4)) {
    case 0: // equal now and then
        bits = is_float(type) ? one + below(3) : below(3) - 1u;
        break;
    case 1:
        if (is_float(type))
            bits = type == MLT_OP_FLOAT64   ? doubles[edge]
                   : type == MLT_OP_FLOAT32 ? floats[edge]
                                            : halves[edge];
        else
            bits = below(2) ? sign : sign - 1;
        if (below(2))
            bits ^= sign;
        break;
    default:
        if (is_float(type) && below(2)) // of about the same size
            bits = (bits & (sign | (one >> 8))) + one;
    }
    memcpy(at, &bits, bytes);
}

static void put_elements(const operation *o, unsigned char *at, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        for (uint32_t n = 0; n < o->numbers; n++)
            put_number(o->type[n], at + i * o->element + o->at[n]);
}

// Where a result has another NaN than the processor, it is as right.
static void forgive_nans(const operation *o, uint64_t at, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        for (uint32_t n = 0; n < o->numbers; n++) {
            uint64_t place = at + i * o->element + o->at[n];
            if (is_nan(o->type[n], wanted + place) && is_nan(o->type[n], got + place))
                memcpy(wanted + place, got + place, mlt_op_type_bytes[o->type[n]]);
        }
}

// What the processor computes, without the bytes between numbers.
static void compute(const operation *o, uint64_t out, const uint64_t *at, uint32_t number,
                    uint64_t count)
{
    unsigned char *result = malloc(count * o->element);
    CHECK(result);
    memcpy(result, wanted + at[0], count * o->element);
    for (uint32_t j = 1; j < number; j++)
        o->kernel(result, wanted + at[j], count);
    for (uint64_t i = 0; i < count; i++)
        for (uint32_t n = 0; n < o->numbers; n++)
            memcpy(wanted + out + i * o->element + o->at[n], result + i * o->element + o->at[n],
                   mlt_op_type_bytes[o->type[n]]);
    free(result);
}

// How operands lie: all at multiples of 64; all as far from such a one; each for itself, aligned for its type; anywhere.
typedef enum lying { ALL_ALIGNED, ALL_SHIFTED, EACH_SHIFTED, ANYWHERE, LYINGS } lying;

static void try_operation(const operation *o, uint32_t number, uint64_t count, lying lies)
{
    enum { MOST = 1100, GAP = 64 };
    uint64_t at[MOST], place = GAP, common = (1 + below(16)) * o->align;
    mlt_cu_ptr *operands = (mlt_cu_ptr *)(void *)shared;
    mlt_gpu_reduction reduction;
    snprintf(now_testing, sizeof now_testing, "%s of %u operands, %llu elements, lying %d", o->name,
             number, (unsigned long long)count, (int)lies);
    CHECK(number < MOST && mlt_gpu_reduction_find(o->kernel, o->element, &reduction));
    for (uint32_t j = 0; j <= number; j++) { // the last one is the result
        uint64_t shift = lies == ALL_ALIGNED    ? 0
                         : lies == ALL_SHIFTED  ? common
                         : lies == EACH_SHIFTED ? below(16) * o->align
                                                : below(64);
        at[j] = place + shift;
        place = (at[j] + count * o->element + 2 * GAP) / GAP * GAP;
    }
    uint64_t out = at[below(3) ? number : below(number)];
    scribble(place < 4096 ? place : 4096);
    for (uint32_t j = 0; j <= number; j++)
        put_elements(o, wanted + at[j], count);
    for (uint32_t j = 0; j < number; j++)
        operands[j] = arena + at[j];
    upload(place);
    launched(
        mlt_gpu_kernel_reduce(kernels, stream, &reduction, arena + out, operands, number, count));
    compute(o, out, at, number, count);
    download(place);
    forgive_nans(o, out, count);
    check_arena(place);
}

static void try_all_ways(const operation *o)
{
    static const uint32_t numbers[] = {1, 2, 3, 17};
    for (uint32_t i = 0; i < 4; i++)
        for (int lies = 0; lies < LYINGS; lies++)
            try_operation(o, numbers[i], 1 + below(below(2) ? 20 : 300), (lying)lies);
}

static operation plain(mlt_op op, mlt_op_type type)
{
    operation o = {.kernel = mlt_op_kernels[op][type],
                   .element = mlt_op_type_bytes[type],
                   .numbers = 1,
                   .type = {type},
                   .align = mlt_op_type_bytes[type]};
    snprintf(o.name, sizeof o.name, "%s%s", mlt_op_names[op], mlt_op_type_names[type]);
    return o;
}

static uint16_t code_of(const char *name)
{
    for (uint16_t c = 0; c < 1024; c++)
        if (mlt_type_predefined[c].magic && strcmp(mlt_type_predefined[c].name, name) == 0)
            return mlt_type_predefined[c].code;
    CHECK(!"a type of that name");
    return 0;
}

static operation pair(const mlt_reduction *r, const char *name, mlt_op_type value,
                      mlt_op_type index)
{
    uint32_t v = mlt_op_type_bytes[value], i = mlt_op_type_bytes[index], most = v > i ? v : i;
    operation o = {.kernel = r->kernel, .element = r->element, .numbers = 2};
    o.type[0] = value;
    o.type[1] = index;
    o.at[1] = most;
    o.align = most;
    CHECK(o.element == 2 * most);
    snprintf(o.name, sizeof o.name, "%s of %s and %s", name, mlt_op_type_names[value],
             mlt_op_type_names[index]);
    return o;
}

static void try_plain(void)
{
    for (int op = 0; op < MLT_OPS; op++)
        for (int type = 0; type < MLT_OP_TYPES; type++) {
            operation o = plain((mlt_op)op, (mlt_op_type)type);
            try_all_ways(&o);
            o.kernel = mlt_op_wide((mlt_op)op, (mlt_op_type)type);
            if (o.kernel)
                try_all_ways(&o);
        }
}

static void try_complex(void)
{
    static const char *const names[] = {"MPI_COMPLEX4", "MPI_C_COMPLEX", "MPI_C_DOUBLE_COMPLEX"};
    char why[300];
    mlt_reduction r;
    for (int t = 0; t < 3; t++)
        for (int op = MLT_REDUCE_SUM; op <= MLT_REDUCE_PROD; op++) {
            CHECK(mlt_reduce_find((mlt_reduce_op)op, code_of(names[t]), &r, why, sizeof why));
            mlt_op_type type = (mlt_op_type)(MLT_OP_FLOAT16 + t);
            uint32_t bytes = mlt_op_type_bytes[type];
            operation o = {r.kernel, r.element, 2, {0, bytes}, {type, type}, bytes, ""};
            snprintf(o.name, sizeof o.name, "%s of %s", mlt_reduce_op_names[op], names[t]);
            try_all_ways(&o);
        }
}

static void try_pairs(void)
{
    static const char *const values[] = {
        "MPI_INT8_T",   "MPI_INT16_T",  "MPI_INT32_T", "MPI_INT64_T", "MPI_UINT8_T", "MPI_UINT16_T",
        "MPI_UINT32_T", "MPI_UINT64_T", "MPI_REAL2",   "MPI_FLOAT",   "MPI_DOUBLE"};
    char why[300];
    mlt_reduction r;
    for (int op = MLT_REDUCE_MAXLOC; op <= MLT_REDUCE_NO_OP; op++) {
        const char *name = mlt_reduce_op_names[op];
        for (int v = 0; v < MLT_OP_TYPES; v++)
            for (int i = 0; i < MLT_OP_FLOAT16; i++) {
                CHECK(mlt_reduce_find_pair((mlt_reduce_op)op, code_of(values[v]),
                                           code_of(values[i]), &r, why, sizeof why));
                operation o = pair(&r, name, (mlt_op_type)v, (mlt_op_type)i);
                if (op < MLT_REDUCE_REPLACE) // those would copy the bytes between, too
                    try_all_ways(&o);
            }
        for (int t = MLT_OP_FLOAT32; t <= MLT_OP_FLOAT64; t++) {
            const char *type = t == MLT_OP_FLOAT32 ? "MPI_2REAL" : "MPI_2DOUBLE_PRECISION";
            CHECK(mlt_reduce_find((mlt_reduce_op)op, code_of(type), &r, why, sizeof why));
            operation o = pair(&r, name, (mlt_op_type)t, (mlt_op_type)t);
            try_all_ways(&o);
        }
    }
}

// A device computes all that MPI has, but for numbers of more than 64 bits.
static void try_complete(void)
{
    char why[300];
    mlt_reduction r;
    mlt_gpu_reduction unused;
    int others = 0;
    for (int op = 0; op < MLT_REDUCE_OPS; op++)
        for (uint32_t c = 0; c < 1024; c++) {
            const mlt_type *t = &mlt_type_predefined[c];
            if (!t->magic || !mlt_reduce_find((mlt_reduce_op)op, t->code, &r, why, sizeof why))
                continue;
            bool found = mlt_gpu_reduction_find(r.kernel, r.element, &unused);
            others += !found;
            if (!found && !strstr(t->name, "LONG_DOUBLE") && !strstr(t->name, "16") &&
                !strstr(t->name, "COMPLEX32")) {
                fprintf(stderr, "%s of %s\n", mlt_reduce_op_names[op], t->name);
                CHECK(!"a kernel for it");
            }
        }
    CHECK(others > 0 && !mlt_gpu_reduction_find(NULL, 8, &unused));
}

// More pieces than there are threads.
static void try_large(void)
{
    int multiprocessors, device;
    FINE(cuda.CtxGetDevice(&device));
    FINE(cuda.DeviceGetAttribute(&multiprocessors, MLT_CU_DEVICE_MULTIPROCESSORS, device));
    uint64_t threads = (uint64_t)multiprocessors * 8 * MLT_GPU_THREADS;
    operation bytes = plain(MLT_OP_SUM, MLT_OP_UINT8), doubles = plain(MLT_OP_MAX, MLT_OP_FLOAT64);
    try_operation(&bytes, 2, 2 * threads + 11, EACH_SHIFTED);
    if (2 * (2 * threads + 11) * 8 < ARENA - 4096)
        try_operation(&doubles, 2, 2 * threads + 11, ALL_SHIFTED);
    operation o = plain(MLT_OP_SUM, MLT_OP_FLOAT32);
    try_operation(&o, 1024, 100, ALL_ALIGNED);
    try_operation(&o, 16, 1000, ALL_ALIGNED);
    now_testing[0] = '\0';
}

static void try_nothing(void)
{
    operation o = plain(MLT_OP_SUM, MLT_OP_INT32);
    mlt_gpu_reduction reduction;
    mlt_cu_ptr none = 0;
    CHECK(mlt_gpu_reduction_find(o.kernel, 4, &reduction));
    launched(mlt_gpu_kernel_reduce(kernels, stream, &reduction, 0, &none, 1, 0));
    launched(mlt_gpu_kernel_strided(kernels, stream, &(mlt_gpu_blocks){.length = 8, .inner = 1}));
    launched(mlt_gpu_kernel_copies(kernels, stream, 0, 0, 8));
    launched(mlt_gpu_kernel_copies(kernels, stream, 0, 8, 0));
    launched(mlt_gpu_kernel_runs(kernels, stream, &(mlt_gpu_side){0}, &(mlt_gpu_side){0}, 5, 0));
    FINE(cuda.StreamSynchronize(stream));
}

// ---- blocks in two loops

static int64_t between(int64_t low, int64_t high)
{
    return low + (int64_t)below((uint64_t)(high - low + 1));
}

// A side of blocks that do not overlap: where the first one lies, from `place` on; the bytes it takes in *end.
static uint64_t lay_out(const mlt_gpu_blocks *b, uint64_t place, uint32_t grain, int64_t *stride,
                        int64_t *outer, uint64_t *end)
{
    int64_t gaps = below(3) ? 5 : 0;
    int64_t near = (int64_t)b->length + between(0, gaps) * grain;
    bool swapped = below(4) == 0; // the inner loop takes the larger steps
    int64_t far = near * (int64_t)(swapped ? b->outer : b->inner) + between(0, gaps) * grain;
    *stride = swapped ? far : near;
    *outer = swapped ? near : far;
    uint64_t first = place + below(3) * grain;
    uint64_t bytes = (uint64_t)*stride * (b->inner - 1) + (uint64_t)*outer * (b->outer - 1);
    *end = first + bytes + b->length;
    if (below(5) == 0) { // backwards
        first += bytes;
        *stride = -*stride;
        *outer = -*outer;
    }
    return first;
}

static void try_blocks(void)
{
    uint32_t grain = 1u << below(5);
    uint64_t most = below(20) ? 12 : 300, end;
    mlt_gpu_blocks b = {.length = (1 + below(below(4) ? 6 : 200)) * grain,
                        .inner = 1 + below(most),
                        .outer = 1 + below(12)};
    uint64_t from = lay_out(&b, 0, grain, &b.from_stride, &b.from_outer, &end);
    uint64_t to = lay_out(&b, end / 16 * 16 + 32, grain, &b.to_stride, &b.to_outer, &end);
    if (end > ARENA)
        return;
    snprintf(now_testing, sizeof now_testing,
             "blocks: %llu x %llu of %llu bytes, to %llu + %lld, %lld, from %llu + %lld, %lld",
             (unsigned long long)b.outer, (unsigned long long)b.inner, (unsigned long long)b.length,
             (unsigned long long)to, (long long)b.to_stride, (long long)b.to_outer,
             (unsigned long long)from, (long long)b.from_stride, (long long)b.from_outer);
    scribble(end + 16);
    upload(end + 16);
    b.to = arena + to;
    b.from = arena + from;
    launched(mlt_gpu_kernel_strided(kernels, stream, &b));
    for (int64_t o = 0; o < (int64_t)b.outer; o++)
        for (int64_t i = 0; i < (int64_t)b.inner; i++)
            memcpy(wanted + (int64_t)to + o * b.to_outer + i * b.to_stride,
                   wanted + (int64_t)from + o * b.from_outer + i * b.from_stride, b.length);
    check_arena(end + 16);
}

// ---- datatypes

enum { RUNS_MOST = 4000, TYPES_MOST = 16 };

static mlt_type made[TYPES_MOST]; // of one tree
static uint32_t made_count;

static const mlt_type *any_basic(void)
{
    static const char *const names[] = {"MPI_BYTE",   "MPI_SHORT",     "MPI_INT",
                                        "MPI_DOUBLE", "MPI_SHORT_INT", "MPI_C_DOUBLE_COMPLEX"};
    return mlt_type_coded(code_of(names[below(6)]));
}

static int64_t place_of(const mlt_type *t, int64_t at, int64_t grain)
{
    return at + t->extent + between(0, 3) * grain;
}

// Data that do not overlap, mostly aligned.
static const mlt_type *any_type(int depth)
{
    const mlt_type *old = depth ? any_type(depth - 1) : any_basic();
    if (depth == 0)
        return old;
    CHECK(made_count < TYPES_MOST);
    mlt_type *out = &made[made_count++];
    int64_t grain = below(4) ? 1 << old->align : 1, at = between(-2, 2) * grain;
    int64_t lengths[4], places[4];
    const mlt_type *parts[4];
    mlt_status status;
    switch (below(4)) {
    case 0: {
        int64_t length = between(1, 3);
        status = mlt_type_make_vector(out, old, between(1, 6), length,
                                      length * old->extent + between(0, 3) * grain);
        break;
    }
    case 1:
        for (int i = 0; i < 4; i++) {
            lengths[i] = between(0, 3);
            places[i] = at;
            at = place_of(old, at, grain) + (lengths[i] - 1) * old->extent;
        }
        status = mlt_type_make_indexed(out, old, 4, lengths, 0, places);
        break;
    case 2:
        for (int i = 0; i < 3; i++) {
            parts[i] = i == 1 ? any_basic() : old;
            lengths[i] = 1;
            places[i] = at;
            at = place_of(parts[i], at, grain);
        }
        status = mlt_type_make_struct(out, 3, lengths, places, parts);
        break;
    default:
        status = mlt_type_make_resized(out, old, old->lb, old->extent + between(0, 4) * grain);
    }
    CHECK(status == MLT_OK);
    return out;
}

static void unmake_all(void)
{
    while (made_count)
        mlt_type_unmake(&made[--made_count]);
}

// Elements of a type in the arena, from *place on, and its runs for the device.
typedef struct elements {
    const mlt_type *type;
    uint64_t count, base;
    mlt_gpu_runs runs;
} elements;

static bool put_down(elements *e, const mlt_type *type, uint64_t *place, uint64_t *listed)
{
    mlt_type_run *runs = (mlt_type_run *)(void *)(shared + *listed);
    uint32_t n = RUNS_MOST;
    if (type->size == 0 || mlt_type_runs(type, 0, type->size, runs, &n) != type->size)
        return false;
    uint64_t *before = (uint64_t *)(void *)(runs + n);
    e->type = type;
    e->count = 1 + below(20);
    mlt_gpu_runs_measure(&e->runs, runs, n, type->extent, before);
    e->runs.runs = (uintptr_t)runs;
    e->runs.before = (uintptr_t)before;
    *listed += n * sizeof *runs + (n + 1) * sizeof *before;
    int64_t low = type->true_lb < 0 ? -type->true_lb : 0;
    e->base = (*place + (uint64_t)low + 64) / 64 * 64 + (below(4) ? 0 : below(64));
    *place = e->base + (e->count - 1) * (uint64_t)type->extent +
             (uint64_t)(type->true_lb + type->true_extent);
    return true;
}

static mlt_gpu_side side_of(const elements *e)
{
    return (mlt_gpu_side){arena + e->base, &e->runs};
}

static uint64_t cut(uint64_t most)
{
    uint64_t at = below(2) ? 0 : below(most + 1);
    return below(2) ? at / 16 * 16 : at;
}

static void try_types(void)
{
    elements a, b;
    uint64_t place = 0, listed = 0;
    const mlt_type *type = any_type((int)below(5)), *other = any_type((int)below(3));
    if (put_down(&a, type, &place, &listed) && put_down(&b, other, &place, &listed)) {
        uint64_t packed = (place + 64) / 16 * 16 + (below(4) ? 0 : below(16));
        uint64_t total = a.count * type->size, both = b.count * other->size;
        uint64_t from = cut(total), bytes = total - from - cut(total - from);
        uint64_t end = packed + total + 64;
        snprintf(now_testing, sizeof now_testing,
                 "a type of %llu runs, size %llu, extent %lld, bytes %llu to %llu",
                 (unsigned long long)a.runs.n, (unsigned long long)type->size,
                 (long long)type->extent, (unsigned long long)from,
                 (unsigned long long)(from + bytes));
        mlt_gpu_side elements_side = side_of(&a), other_side = side_of(&b);
        mlt_gpu_side packed_side = {arena + packed, NULL};
        scribble(end);
        upload(end);
        launched(mlt_gpu_kernel_runs(kernels, stream, &packed_side, &elements_side, from, bytes));
        mlt_type_pack(type, wanted + a.base, from, wanted + packed, bytes);
        check_arena(end);
        memset(wanted + packed, below(256), bytes);
        upload(end);
        launched(mlt_gpu_kernel_runs(kernels, stream, &elements_side, &packed_side, from, bytes));
        mlt_type_unpack(type, wanted + a.base, from, wanted + packed, bytes);
        check_arena(end);
        from = cut(total < both ? total : both);
        bytes = cut((total < both ? total : both) - from);
        launched(mlt_gpu_kernel_runs(kernels, stream, &other_side, &elements_side, from, bytes));
        mlt_type_move(other, wanted + b.base, type, wanted + a.base, from, bytes);
        check_arena(end);
    }
    unmake_all();
}

// Runs of which some are much longer than others: the guess is far off.
static void try_uneven_runs(void)
{
    enum { N = 500, PACKED = 4 << 20 };
    mlt_type_run *runs = (mlt_type_run *)(void *)shared;
    uint64_t *before = (uint64_t *)(void *)(runs + N), end = 0;
    mlt_gpu_runs r;
    snprintf(now_testing, sizeof now_testing, "runs of uneven lengths");
    for (int i = 0; i < N; i++) {
        uint64_t length = below(50) ? 1 + below(8) : 1 + below(20000), count = 1 + below(3);
        runs[i] = (mlt_type_run){(int64_t)end, (int64_t)length + 3, length, count};
        end += count * (length + 3);
    }
    mlt_gpu_runs_measure(&r, runs, N, (int64_t)end, before);
    r.runs = (uintptr_t)runs;
    r.before = (uintptr_t)before;
    CHECK(2 * end < PACKED && PACKED + 2 * r.size <= ARENA);
    mlt_gpu_side from = {arena, &r}, to = {arena + PACKED, NULL};
    scribble(PACKED + 2 * r.size);
    upload(PACKED + 2 * r.size);
    launched(mlt_gpu_kernel_runs(kernels, stream, &to, &from, 0, 2 * r.size));
    for (uint64_t e = 0, at = PACKED; e < 2; e++)
        for (int i = 0; i < N; i++)
            for (uint64_t c = 0; c < runs[i].count; c++, at += runs[i].length)
                memcpy(wanted + at,
                       wanted + e * end + (uint64_t)runs[i].at + c * (runs[i].length + 3),
                       runs[i].length);
    check_arena(PACKED + 2 * r.size);
}

// ---- many copies

static void try_copies(void)
{
    mlt_gpu_copy_item *items = (mlt_gpu_copy_item *)(void *)shared;
    uint64_t count = 1 + below(300), most = below(3) ? below(2) ? 16 : 300 : 10000, place = 0;
    uint64_t longest = 0;
    snprintf(now_testing, sizeof now_testing, "%llu copies of up to %llu bytes",
             (unsigned long long)count, (unsigned long long)most);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t grain = below(2) ? 8 : 1, bytes = below(most + 1) / grain * grain;
        uint64_t from = (place + below(17)) / grain * grain + grain;
        uint64_t to = (from + bytes + below(20)) / grain * grain + grain;
        place = to + bytes;
        if (place + 64 > ARENA) {
            count = i;
            break;
        }
        longest = bytes > longest ? bytes : longest;
        items[i] = (mlt_gpu_copy_item){to, from, bytes};
    }
    scribble(place + 64);
    upload(place + 64);
    for (uint64_t i = 0; i < count; i++) {
        memcpy(wanted + items[i].to, wanted + items[i].from, items[i].bytes);
        items[i].to += arena;
        items[i].from += arena;
    }
    launched(mlt_gpu_kernel_copies(kernels, stream, (uintptr_t)items, count, longest));
    check_arena(place + 64);
}

// ---- what fails, on the stand-in, which reads its settings once a process

static mlt_cu_result launch_one(void)
{
    mlt_gpu_blocks b = {.to = arena, .from = arena + 64, .length = 8, .inner = 1, .outer = 1};
    return mlt_gpu_kernel_strided(kernels, stream, &b);
}

static void fail_at(const char *where, mlt_cu_result error, const char *message)
{
    char why[400];
    CHECK(where[0] ? setenv("STAND_IN_FAIL", where, 1) == 0 : unsetenv("STAND_IN_KERNELS") == 0);
    begin();
    begin_arena();
    snprintf(now_testing, sizeof now_testing, "a failure: %s", where);
    CHECK(launch_one() == error);
    mlt_gpu_kernels_why(kernels, why, sizeof why);
    check_same_text("message", why, message);
    if (where[0]) { // once
        launched(launch_one());
        mlt_gpu_kernels_forget(kernels);
        launched(launch_one());
    }
    FINE(cuda.StreamSynchronize(stream));
    end_arena();
}

static void try_failure(const char *where, mlt_cu_result error, const char *message)
{
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        fail_at(where, error, message);
        exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void try_failures(void)
{
    try_failure("cuModuleLoadDataEx:1:218", 218,
                "the GPU's driver does not take the kernel strided: the stand-in's error 218 "
                "(CUDA_ERROR, 218)");
    try_failure("cuModuleGetFunction:1:500", 500,
                "the GPU's driver does not take the kernel strided: the stand-in's error 500 "
                "(CUDA_ERROR, 500)");
    try_failure("", 200,
                "the GPU's driver does not take the kernel strided: the stand-in's error 200 "
                "(CUDA_ERROR, 200); STAND_IN_KERNELS names no kernels");
    try_failure("cuLaunchKernel:1:719", 719, "");
}

// ---- how fast

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct race {
    mlt_cu_ptr a, b; // race_bytes each
    mlt_gpu_blocks blocks;
    mlt_gpu_runs runs;
    mlt_gpu_reduction reduction;
    mlt_cu_ptr *operands;
    uint32_t number;
    uint64_t bytes, count;
    int how;
} race;

enum { HOW_COPY, HOW_BLOCKS, HOW_PACK, HOW_UNPACK, HOW_REDUCE, HOW_MANY };

static uint64_t race_bytes = UINT64_C(256) << 20;

static mlt_cu_result race_once(const race *r)
{
    mlt_gpu_side typed = {r->a, &r->runs}, packed = {r->b, NULL};
    switch (r->how) {
    case HOW_COPY:
        return cuda.MemcpyAsync(r->b, r->a, r->bytes, stream);
    case HOW_BLOCKS:
        return mlt_gpu_kernel_strided(kernels, stream, &r->blocks);
    case HOW_PACK:
        return mlt_gpu_kernel_runs(kernels, stream, &packed, &typed, 0, r->bytes);
    case HOW_UNPACK:
        return mlt_gpu_kernel_runs(kernels, stream, &typed, &packed, 0, r->bytes);
    case HOW_REDUCE:
        return mlt_gpu_kernel_reduce(kernels, stream, &r->reduction, r->b, r->operands, r->number,
                                     r->count);
    default:
        return mlt_gpu_kernel_copies(kernels, stream, (uintptr_t)shared, r->count, r->bytes);
    }
}

// `moved`: bytes read and written that the caller asked for.
static void run_race(const char *name, const race *r, double moved)
{
    double best = 1e9, alone = 1e9;
    for (int i = 0; i < 5; i++) {
        enum { TIMES = 10 };
        double began = now();
        launched(race_once(r));
        FINE(cuda.StreamSynchronize(stream));
        double one = now() - began;
        alone = one < alone ? one : alone;
        began = now();
        for (int j = 0; j < TIMES; j++)
            launched(race_once(r));
        FINE(cuda.StreamSynchronize(stream));
        double each = (now() - began) / TIMES;
        best = each < best ? each : best;
    }
    printf("%-44s %9.1f us with its wait %9.1f us in a row %8.1f GB/s\n", name, alone * 1e6,
           best * 1e6, moved / best * 1e-9);
}

// Blocks out of memory with gaps, into it, and by runs.
static void race_blocks(mlt_cu_ptr a, mlt_cu_ptr b, uint64_t length, uint64_t stride)
{
    mlt_type_run *run = (mlt_type_run *)(void *)shared;
    uint64_t *before = (uint64_t *)(void *)(run + 1), count = race_bytes / stride;
    char name[80];
    race r = {.a = a, .b = b, .bytes = count * length};
    r.blocks = (mlt_gpu_blocks){.to = b,
                                .from = a,
                                .length = length,
                                .inner = count,
                                .outer = 1,
                                .to_stride = (int64_t)length,
                                .from_stride = (int64_t)stride};
    *run = (mlt_type_run){0, (int64_t)stride, length, count};
    mlt_gpu_runs_measure(&r.runs, run, 1, (int64_t)race_bytes, before);
    r.runs.runs = (uintptr_t)run;
    r.runs.before = (uintptr_t)before;
    double moved = 2.0 * (double)r.bytes;
    snprintf(name, sizeof name, "%llu of every %llu bytes, packed", (unsigned long long)length,
             (unsigned long long)stride);
    r.how = HOW_BLOCKS;
    run_race(name, &r, moved);
    r.blocks = (mlt_gpu_blocks){.to = a,
                                .from = b,
                                .length = length,
                                .inner = count,
                                .outer = 1,
                                .to_stride = (int64_t)stride,
                                .from_stride = (int64_t)length};
    run_race("  unpacked", &r, moved);
    r.how = HOW_PACK;
    run_race("  packed by runs", &r, moved);
    r.how = HOW_UNPACK;
    run_race("  unpacked by runs", &r, moved);
}

static void race_reduce(mlt_cu_ptr a, mlt_cu_ptr b, mlt_op op, mlt_op_type type, uint32_t number)
{
    operation o = plain(op, type);
    char name[120];
    race r = {.a = a,
              .b = b,
              .how = HOW_REDUCE,
              .number = number,
              .operands = (mlt_cu_ptr *)(void *)shared};
    uint64_t bytes = race_bytes / number / 256 * 256;
    r.count = bytes / o.element;
    CHECK(mlt_gpu_reduction_find(o.kernel, o.element, &r.reduction));
    for (uint32_t j = 0; j < number; j++)
        r.operands[j] = a + j * bytes;
    snprintf(name, sizeof name, "%s of %u operands", o.name, number);
    run_race(name, &r, (double)bytes * (number + 1));
}

static void speed(void)
{
    mlt_cu_ptr a, b;
    char name[80];
    FINE(cuda.MemAlloc(&a, race_bytes));
    FINE(cuda.MemAlloc(&b, race_bytes));
    mlt_gpu_copy_item *items = (mlt_gpu_copy_item *)(void *)shared;
    for (uint64_t bytes = 8; bytes <= race_bytes; bytes *= 32) {
        race r = {.a = a, .b = b, .bytes = bytes, .how = HOW_COPY};
        snprintf(name, sizeof name, "driver's copy, %llu bytes", (unsigned long long)bytes);
        run_race(name, &r, 2.0 * (double)bytes);
        r.how = HOW_BLOCKS;
        r.blocks = (mlt_gpu_blocks){.to = b, .from = a, .length = bytes, .inner = 1, .outer = 1};
        run_race("  as one block", &r, 2.0 * (double)bytes);
    }
    race_blocks(a, b, 8, 16);
    race_blocks(a, b, 8, 32);
    race_blocks(a, b, 16, 32);
    race_blocks(a, b, 4, 12);
    race_blocks(a, b, 3, 4);
    race_blocks(a, b, 1000, 1024);
    race_reduce(a, b, MLT_OP_SUM, MLT_OP_FLOAT64, 2);
    race_reduce(a, b, MLT_OP_SUM, MLT_OP_FLOAT64, 16);
    race_reduce(a, b, MLT_OP_SUM, MLT_OP_FLOAT64, 64);
    race_reduce(a, b, MLT_OP_SUM, MLT_OP_FLOAT32, 2);
    race_reduce(a, b, MLT_OP_SUM, MLT_OP_FLOAT16, 2);
    race_reduce(a, b, MLT_OP_MAX, MLT_OP_FLOAT64, 2);
    race_reduce(a, b, MLT_OP_MAX, MLT_OP_INT8, 2);
    race_reduce(a, b, MLT_OP_LAND, MLT_OP_INT32, 2);
    for (uint64_t count = 1; count <= 4096; count *= 16) {
        for (uint64_t i = 0; i < count; i++)
            items[i] = (mlt_gpu_copy_item){b + i * 64, a + i * 64, 8};
        race r = {.count = count, .bytes = 8, .how = HOW_MANY};
        snprintf(name, sizeof name, "%llu copies of 8 bytes", (unsigned long long)count);
        run_race(name, &r, 16.0 * (double)count);
    }
    FINE(cuda.MemFree(a));
    FINE(cuda.MemFree(b));
}

int main(int argc, char **argv)
{
    char why[200];
    is_stand_in = getenv("STAND_IN_KERNELS") != NULL;
    if (mlt_gpu_driver_load(&cuda, true, why, sizeof why) != MLT_OK) {
        CHECK(!is_stand_in);
        printf("%s\n", why);
        return SKIPPED;
    }
    if (is_stand_in)
        try_failures(); // before this process has a driver, which no child could use
    begin();
    begin_arena();
    if (argc > 1 && strcmp(argv[1], "speed") == 0) {
        race_bytes = argc > 2 ? strtoull(argv[2], NULL, 10) << 20 : race_bytes;
        speed();
    } else {
        now_seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
        random_state = now_seed;
        try_complete();
        try_nothing();
        for (int i = 0; i < 300; i++) {
            try_blocks();
            try_types();
            try_copies();
        }
        try_uneven_runs();
        try_plain();
        try_complex();
        try_pairs();
        try_large();
        now_testing[0] = '\0';
    }
    end_arena();
    return 0;
}
