// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/kernel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "gpu/ptx.h"
#include "type/reduce.h"

// Those of kernels.cu. Those of floats and of complex numbers follow each other as their types do.
#define KERNEL_LIST(X)                                                                             \
    X(strided)                                                                                     \
    X(runs)                                                                                        \
    X(copies)                                                                                      \
    X(copy_told)                                                                                   \
    X(reduce_8)                                                                                    \
    X(reduce_16)                                                                                   \
    X(reduce_32)                                                                                   \
    X(reduce_64)                                                                                   \
    X(reduce_half)                                                                                 \
    X(reduce_float)                                                                                \
    X(reduce_double)                                                                               \
    X(reduce_complex_half)                                                                         \
    X(reduce_complex_float)                                                                        \
    X(reduce_complex_double)                                                                       \
    X(reduce_pair)
#define KERNEL_ENUM(name) KERNEL_##name,
#define KERNEL_NAME(name) #name,
enum { KERNEL_LIST(KERNEL_ENUM) KERNELS };
enum { COPY_FIRST = KERNELS, COPY_LAST }; // of the operands: needs no kernel
static const char *const kernel_names[KERNELS] = {KERNEL_LIST(KERNEL_NAME)};

struct mlt_gpu_kernels {
    mlt_gpu_kernels *next;
    const mlt_gpu_driver *driver;
    mlt_cu_context context;
    uint64_t most_blocks;                       // of a launch
    _Atomic(mlt_cu_function) function[KERNELS]; // NULL: not yet. Acquire; release under the lock
    char why[400];                              // under the lock
};

static pthread_mutex_t kernels_lock = PTHREAD_MUTEX_INITIALIZER;
static mlt_gpu_kernels *all_kernels; // under the lock

// ---- those of a context

static mlt_cu_result measure_device(const mlt_gpu_driver *driver, uint64_t *most_blocks)
{
    enum { BLOCKS = 8 }; // of a multiprocessor, which runs up to 2,048 threads at once
    int device, multiprocessors;
    mlt_cu_result error = driver->CtxGetDevice(&device);
    if (error == MLT_CU_OK)
        error = driver->DeviceGetAttribute(&multiprocessors, MLT_CU_DEVICE_MULTIPROCESSORS, device);
    if (error == MLT_CU_OK)
        *most_blocks = BLOCKS * (uint64_t)multiprocessors;
    return error;
}

mlt_cu_result mlt_gpu_kernels_now(const mlt_gpu_driver *driver, mlt_gpu_kernels **out)
{
    mlt_cu_context context;
    uint64_t most_blocks;
    mlt_cu_result error = driver->CtxGetCurrent(&context);
    if (error == MLT_CU_OK && !context)
        error = MLT_CU_INVALID_CONTEXT;
    if (error != MLT_CU_OK)
        return error;
    pthread_mutex_lock(&kernels_lock);
    mlt_gpu_kernels *k = all_kernels;
    while (k && k->context != context)
        k = k->next;
    if (!k && (error = measure_device(driver, &most_blocks)) == MLT_CU_OK) {
        k = mlt_xcalloc(1, sizeof *k);
        k->driver = driver;
        k->context = context;
        k->most_blocks = most_blocks;
        k->next = all_kernels;
        all_kernels = k;
    }
    pthread_mutex_unlock(&kernels_lock);
    *out = k;
    return error;
}

void mlt_gpu_kernels_forget(mlt_gpu_kernels *kernels)
{
    for (int i = 0; i < KERNELS; i++)
        atomic_store_explicit(&kernels->function[i], NULL, memory_order_relaxed);
}

void mlt_gpu_kernels_why(mlt_gpu_kernels *kernels, char *text, size_t size)
{
    pthread_mutex_lock(&kernels_lock);
    snprintf(text, size, "%s", kernels->why);
    pthread_mutex_unlock(&kernels_lock);
}

// ---- compiling

// The part of the PTX that has this kernel, with what stands before all kernels. Freed by the
// caller.
static char *cut_ptx(const char *name)
{
    static const char begin[] = "\n.visible .entry ";
    char wanted[sizeof begin + 40];
    snprintf(wanted, sizeof wanted, "%s%s(", begin, name);
    const char *first = strstr(mlt_gpu_ptx, begin), *from = strstr(mlt_gpu_ptx, wanted);
    mlt_assert(from);
    const char *to = strstr(from + 1, begin);
    size_t head = (size_t)(first - mlt_gpu_ptx), length = to ? (size_t)(to - from) : strlen(from);
    char *text = mlt_xcalloc(head + length + 1, 1);
    memcpy(text, mlt_gpu_ptx, head);
    memcpy(text + head, from, length);
    return text;
}

// The driver's compiler says more than its result does. The beginning of a line of it is enough.
static void explain(mlt_gpu_kernels *k, const char *name, mlt_cu_result error, char *said)
{
    char text[160];
    mlt_gpu_error_text(k->driver, error, text, sizeof text);
    said[strcspn(said, "\n")] = '\0';
    snprintf(k->why, sizeof k->why, "the GPU's driver does not take the kernel %s: %s%s%.150s",
             name, text, *said ? "; " : "", said);
}

// With the lock.
static mlt_cu_result compile(mlt_gpu_kernels *k, int which, mlt_cu_function *out)
{
    char said[1024] = "";
    int options[] = {MLT_CU_JIT_ERROR_LOG, MLT_CU_JIT_ERROR_LOG_BYTES};
    void *values[] = {said, (void *)(uintptr_t)(sizeof said - 1)};
    mlt_cu_module module;
    char *ptx = cut_ptx(kernel_names[which]);
    mlt_cu_result error = k->driver->ModuleLoadDataEx(&module, ptx, 2, options, values);
    free(ptx);
    if (error == MLT_CU_OK) {
        error = k->driver->ModuleGetFunction(out, module, kernel_names[which]);
        if (error != MLT_CU_OK)
            (void)k->driver->ModuleUnload(module);
    }
    if (error != MLT_CU_OK)
        explain(k, kernel_names[which], error, said);
    return error;
}

static mlt_cu_result find_kernel(mlt_gpu_kernels *k, int which, mlt_cu_function *out)
{
    mlt_cu_result error = MLT_CU_OK;
    *out = atomic_load_explicit(&k->function[which], memory_order_acquire);
    if (*out)
        return MLT_CU_OK;
    pthread_mutex_lock(&kernels_lock);
    *out = atomic_load_explicit(&k->function[which], memory_order_relaxed);
    if (!*out)
        error = compile(k, which, out);
    if (error == MLT_CU_OK)
        atomic_store_explicit(&k->function[which], *out, memory_order_release);
    pthread_mutex_unlock(&kernels_lock);
    return error;
}

mlt_cu_result mlt_gpu_kernels_load(mlt_gpu_kernels *kernels)
{
    mlt_cu_result error = MLT_CU_OK;
    mlt_cu_function function;
    for (int i = 0; i < KERNELS && error == MLT_CU_OK; i++)
        error = find_kernel(kernels, i, &function);
    return error;
}

// ---- launching

// Blocks for so many pieces of work, one a thread as long as the device runs all threads at once.
static uint64_t blocks_for(const mlt_gpu_kernels *k, uint64_t pieces)
{
    uint64_t blocks = (pieces - 1) / MLT_GPU_THREADS + 1;
    return blocks < k->most_blocks ? blocks : k->most_blocks;
}

static mlt_cu_result launch(mlt_gpu_kernels *k, int which, uint64_t blocks, uint32_t threads,
                            mlt_cu_stream stream, uint64_t *values, uint32_t count)
{
    enum { MOST = 32 };
    void *params[MOST];
    mlt_cu_function function;
    mlt_assert(count <= MOST);
    for (uint32_t i = 0; i < count; i++)
        params[i] = &values[i];
    mlt_cu_result error = find_kernel(k, which, &function);
    if (error != MLT_CU_OK)
        return error;
    return k->driver->LaunchKernel(function, (unsigned)blocks, 1, 1, threads, 1, 1, 0, stream,
                                   params, NULL);
}

#define LAUNCH(k, which, blocks, stream, values)                                                   \
    launch((k), (which), (blocks), MLT_GPU_THREADS, (stream), (values),                            \
           sizeof(values) / sizeof *(values))

// The largest power of two, 16 at most, that divides all of these bits.
static uint64_t unit_of(uint64_t bits)
{
    bits |= MLT_GPU_LARGEST_UNIT;
    return bits & (0 - bits);
}

// ---- copies

mlt_cu_result mlt_gpu_kernel_strided(mlt_gpu_kernels *kernels, mlt_cu_stream stream,
                                     const mlt_gpu_blocks *b)
{
    uint64_t length = b->length, inner = b->inner, outer = b->outer;
    uint64_t to_stride = (uint64_t)b->to_stride, from_stride = (uint64_t)b->from_stride;
    uint64_t to_outer = (uint64_t)b->to_outer, from_outer = (uint64_t)b->from_outer;
    if (!length || !inner || !outer)
        return MLT_CU_OK;
    uint64_t unit = unit_of(b->to | b->from | length | (inner > 1 ? to_stride | from_stride : 0) |
                            (outer > 1 ? to_outer | from_outer : 0));
    uint64_t units = length / unit, total = units * inner * outer;
    uint64_t blocks = blocks_for(kernels, total), step = blocks * MLT_GPU_THREADS;
    uint64_t step_units = step % units, step_blocks = step / units % inner;
    uint64_t turns = step / units / inner;
    uint64_t values[] = {
        unit,
        total,
        units,
        inner,
        step_units,
        step_blocks,
        b->to,
        to_stride,
        to_outer,
        turns * to_outer + step_blocks * to_stride + step_units * unit,
        to_stride - length,
        to_outer - inner * to_stride,
        b->from,
        from_stride,
        from_outer,
        turns * from_outer + step_blocks * from_stride + step_units * unit,
        from_stride - length,
        from_outer - inner * from_stride,
    };
    return LAUNCH(kernels, KERNEL_strided, blocks, stream, values);
}

void mlt_gpu_runs_measure(mlt_gpu_runs *out, const mlt_type_run *runs, uint64_t n, int64_t extent,
                          uint64_t *before)
{
    uint64_t bits = 0, size = 0;
    for (uint64_t i = 0; i < n; i++) {
        before[i] = size;
        size += runs[i].length * runs[i].count;
        bits |= (uint64_t)runs[i].at | runs[i].length |
                (runs[i].count > 1 ? (uint64_t)runs[i].stride : 0);
    }
    before[n] = size;
    *out = (mlt_gpu_runs){.n = n, .size = size, .extent = extent, .align = unit_of(bits)};
}

enum { SIDE_VALUES = 9 };

// The parameters of one side; `step`: bytes from a unit of a thread to its next.
static void put_side(uint64_t *values, const mlt_gpu_side *side, uint64_t from_byte, uint64_t step)
{
    const mlt_gpu_runs *r = side->runs;
    memset(values, 0, SIDE_VALUES * sizeof *values);
    values[0] = r ? side->at : side->at - from_byte;
    values[8] = step;
    if (!r)
        return;
    unsigned __int128 guess = ((unsigned __int128)r->n << 64) / r->size;
    uint64_t rest[] = {r->runs,
                       r->before,
                       r->n,
                       guess >> 64 ? UINT64_MAX : (uint64_t)guess,
                       r->size,
                       (uint64_t)r->extent,
                       step / r->size * (uint64_t)r->extent,
                       step % r->size};
    memcpy(values + 1, rest, sizeof rest);
}

static uint64_t side_bits(const mlt_gpu_side *side, uint64_t end)
{
    const mlt_gpu_runs *r = side->runs;
    if (!r)
        return side->at;
    return side->at | r->align | (end > r->size ? (uint64_t)r->extent : 0);
}

mlt_cu_result mlt_gpu_kernel_runs(mlt_gpu_kernels *kernels, mlt_cu_stream stream,
                                  const mlt_gpu_side *to, const mlt_gpu_side *from,
                                  uint64_t from_byte, uint64_t bytes)
{
    uint64_t values[2 * SIDE_VALUES + 3];
    if (!bytes)
        return MLT_CU_OK;
    uint64_t unit = unit_of(from_byte | bytes | side_bits(to, from_byte + bytes) |
                            side_bits(from, from_byte + bytes));
    uint64_t blocks = blocks_for(kernels, bytes / unit), step = blocks * MLT_GPU_THREADS * unit;
    put_side(values, to, from_byte, step);
    put_side(values + SIDE_VALUES, from, from_byte, step);
    values[2 * SIDE_VALUES] = unit;
    values[2 * SIDE_VALUES + 1] = from_byte;
    values[2 * SIDE_VALUES + 2] = bytes;
    return LAUNCH(kernels, KERNEL_runs, blocks, stream, values);
}

mlt_cu_result mlt_gpu_kernel_copies(mlt_gpu_kernels *kernels, mlt_cu_stream stream, mlt_cu_ptr list,
                                    uint64_t count, uint64_t longest)
{
    uint64_t lanes = 0; // the logarithm
    if (!count || !longest)
        return MLT_CU_OK;
    while ((UINT64_C(1) << lanes) < MLT_GPU_THREADS &&
           ((uint64_t)MLT_GPU_LARGEST_UNIT << lanes) < longest)
        lanes++;
    uint64_t values[] = {list, count, lanes};
    return LAUNCH(kernels, KERNEL_copies, blocks_for(kernels, count << lanes), stream, values);
}

mlt_cu_result mlt_gpu_kernel_copy_told(mlt_gpu_kernels *kernels, mlt_cu_stream stream,
                                       mlt_cu_ptr to, mlt_cu_ptr from, uint64_t bytes,
                                       mlt_cu_ptr word, uint64_t value)
{
    enum { WARP = 32 };
    uint64_t values[] = {to, from, bytes, word, value};
    return launch(kernels, KERNEL_copy_told, 1, WARP, stream, values,
                  sizeof values / sizeof *values);
}

// ---- operations

static uint8_t op_of(mlt_reduce_op op, bool is_signed)
{
    static const uint8_t ops[] = {
        [MLT_REDUCE_MAX] = MLT_GPU_MAX,   [MLT_REDUCE_MIN] = MLT_GPU_MIN,
        [MLT_REDUCE_SUM] = MLT_GPU_SUM,   [MLT_REDUCE_PROD] = MLT_GPU_PROD,
        [MLT_REDUCE_LAND] = MLT_GPU_LAND, [MLT_REDUCE_LOR] = MLT_GPU_LOR,
        [MLT_REDUCE_LXOR] = MLT_GPU_LXOR, [MLT_REDUCE_BAND] = MLT_GPU_BAND,
        [MLT_REDUCE_BOR] = MLT_GPU_BOR,   [MLT_REDUCE_BXOR] = MLT_GPU_BXOR,
    };
    if (op <= MLT_REDUCE_MIN && !is_signed)
        return op == MLT_REDUCE_MAX ? MLT_GPU_MAX_UNSIGNED : MLT_GPU_MIN_UNSIGNED;
    return ops[op];
}

// What works on bits needs to know no floats, and a sum of complex numbers is one of their parts.
static void find_number(const mlt_reduce_form *form, mlt_gpu_reduction *out)
{
    uint8_t bytes = mlt_op_type_bytes[form->number];
    bool is_float = form->number >= MLT_OP_FLOAT16 && form->op < MLT_REDUCE_BAND;
    bool is_complex = form->shape == MLT_REDUCE_COMPLEX;
    bool is_product = is_complex && form->op == MLT_REDUCE_PROD;
    out->op = op_of(form->op, is_float || form->number <= MLT_OP_INT64);
    out->align = bytes;
    out->unit = is_product ? 2 * bytes : bytes;
    out->parts = is_complex && !is_product ? 2 : 1;
    out->kernel = bytes == 1   ? KERNEL_reduce_8
                  : bytes == 2 ? KERNEL_reduce_16
                  : bytes == 4 ? KERNEL_reduce_32
                               : KERNEL_reduce_64;
    if (is_float)
        out->kernel = (uint8_t)((is_product ? KERNEL_reduce_complex_half : KERNEL_reduce_half) +
                                (form->number - MLT_OP_FLOAT16));
}

static uint8_t kind_of(mlt_op_type type)
{
    return mlt_op_type_bytes[type] | (type >= MLT_OP_FLOAT16 ? MLT_GPU_FLOAT
                                      : type <= MLT_OP_INT64 ? MLT_GPU_SIGNED
                                                             : MLT_GPU_UNSIGNED);
}

static void find_pair(const mlt_reduce_form *form, mlt_gpu_reduction *out)
{
    uint8_t value = mlt_op_type_bytes[form->number], index = mlt_op_type_bytes[form->index];
    out->kernel = KERNEL_reduce_pair;
    out->op = form->op == MLT_REDUCE_MINLOC;
    out->value = kind_of(form->number);
    out->index = kind_of(form->index);
    out->index_at = value > index ? value : index; // as in a C struct
    out->align = out->index_at;
}

bool mlt_gpu_reduction_find(mlt_op_kernel *kernel, uint32_t element, mlt_gpu_reduction *out)
{
    mlt_reduce_form form;
    if (!mlt_reduce_find_form(kernel, &form))
        return false;
    *out = (mlt_gpu_reduction){.element = element};
    if (form.shape == MLT_REDUCE_MOVES)
        out->kernel = form.op == MLT_REDUCE_REPLACE ? COPY_LAST : COPY_FIRST;
    else if (form.number == MLT_OP_TYPES || form.index == MLT_OP_TYPES)
        return false;
    else if (form.shape == MLT_REDUCE_PAIRS)
        find_pair(&form, out);
    else
        find_number(&form, out);
    return true;
}

// What all addresses have in common.
typedef struct common {
    bool aligned, together; // together: the same distance from a multiple of 16
} common;

static common look_at(const mlt_gpu_reduction *r, mlt_cu_ptr out, const mlt_cu_ptr *operands,
                      uint32_t number)
{
    mlt_cu_ptr bits = out, differ = 0;
    for (uint32_t i = 0; i < number; i++) {
        bits |= operands[i];
        differ |= operands[i] ^ out;
    }
    return (common){bits % r->align == 0, differ % MLT_GPU_LARGEST_UNIT == 0};
}

static void put_operands(uint64_t *values, const mlt_cu_ptr *operands, uint32_t number)
{
    values[0] = (uintptr_t)(operands + MLT_GPU_OPERANDS); // not read if there are less
    for (uint32_t i = 0; i < MLT_GPU_OPERANDS; i++)
        values[1 + i] = i < number ? operands[i] : 0;
}

static mlt_cu_result reduce_pairs(mlt_gpu_kernels *k, mlt_cu_stream stream,
                                  const mlt_gpu_reduction *r, mlt_cu_ptr out,
                                  const mlt_cu_ptr *operands, uint32_t number, uint64_t count)
{
    uint64_t values[9 + 1 + MLT_GPU_OPERANDS] = {
        r->op,      out,      count,    number,     look_at(r, out, operands, number).aligned,
        r->element, r->value, r->index, r->index_at};
    put_operands(values + 9, operands, number);
    return LAUNCH(k, KERNEL_reduce_pair, blocks_for(k, count), stream, values);
}

static mlt_cu_result reduce_numbers(mlt_gpu_kernels *k, mlt_cu_stream stream,
                                    const mlt_gpu_reduction *r, mlt_cu_ptr out,
                                    const mlt_cu_ptr *operands, uint32_t number, uint64_t count)
{
    common c = look_at(r, out, operands, number);
    uint64_t many = MLT_GPU_LARGEST_UNIT / r->unit, head = 0, vectors = 0;
    uint64_t before = (0 - out) % MLT_GPU_LARGEST_UNIT; // bytes
    if (c.together && before % r->unit == 0) {
        head = before / r->unit < count ? before / r->unit : count;
        vectors = (count - head) / many;
    }
    uint64_t values[7 + 1 + MLT_GPU_OPERANDS] = {r->op,     out,  count,  number,
                                                 c.aligned, head, vectors};
    put_operands(values + 7, operands, number);
    uint64_t pieces = count - vectors * (many - 1);
    return LAUNCH(k, r->kernel, blocks_for(k, pieces), stream, values);
}

mlt_cu_result mlt_gpu_kernel_reduce(mlt_gpu_kernels *kernels, mlt_cu_stream stream,
                                    const mlt_gpu_reduction *reduction, mlt_cu_ptr out,
                                    const mlt_cu_ptr *operands, uint32_t number, uint64_t count)
{
    mlt_assert(number > 0);
    if (count == 0)
        return MLT_CU_OK;
    bool is_pair = reduction->kernel == KERNEL_reduce_pair; // which may have gaps, that are kept
    if ((number == 1 && !is_pair) || reduction->kernel >= KERNELS) {
        mlt_cu_ptr from = operands[reduction->kernel == COPY_LAST ? number - 1 : 0];
        return from == out
                   ? MLT_CU_OK
                   : kernels->driver->MemcpyAsync(out, from, count * reduction->element, stream);
    }
    if (is_pair)
        return reduce_pairs(kernels, stream, reduction, out, operands, number, count);
    return reduce_numbers(kernels, stream, reduction, out, operands, number,
                          count * reduction->parts);
}
