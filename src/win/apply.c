// SPDX-License-Identifier: BSD-3-Clause
#include "win/apply.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "gpu/gpu.h"
#include "win/lock.h"

static bool reads(const mlt_win_operation *operation)
{
    return operation->verb == MLT_WIN_FETCH || operation->verb == MLT_WIN_SWAP;
}

// Elements without gaps, under the guard.
static inline void apply_change(const mlt_win_operation *operation, char *to, uint64_t bytes,
                                const char *in, char *out)
{
    if (reads(operation))
        memcpy(out, to, bytes);
    if (operation->verb == MLT_WIN_SWAP) {
        if (memcmp(to, in + bytes, bytes) == 0)
            mlt_win_store_one(to, in, bytes);
    } else if (bytes == operation->basic->size)
        mlt_win_change_one(operation, to, in);
    else if (operation->op == MLT_REDUCE_REPLACE)
        memcpy(to, in, bytes);
    else if (operation->op != MLT_REDUCE_NO_OP)
        operation->kernel(to, in, bytes / operation->basic->size);
}

bool mlt_win_operation_make(mlt_win_operation *operation, uint8_t verb, uint8_t op, uint16_t code)
{
    mlt_reduction reduction;
    char why[8];
    *operation = (mlt_win_operation){.verb = verb, .op = op};
    if (verb == MLT_WIN_PUT || verb == MLT_WIN_GET)
        return true;
    const mlt_type *basic = operation->basic = mlt_type_coded(code);
    if (verb >= MLT_WIN_VERBS || basic->magic != MLT_TYPE_MAGIC || basic->code != code ||
        basic->size == 0)
        return false;
    if (verb == MLT_WIN_SWAP)
        return basic->contiguous;
    if (op >= MLT_REDUCE_OPS ||
        !mlt_reduce_find((mlt_reduce_op)op, code, &reduction, why, sizeof why))
        return false;
    mlt_win_find_kernels(operation, &reduction);
    return true;
}

void mlt_win_change(const mlt_win_operation *operation, char *to, uint64_t bytes, const char *in,
                    char *out)
{
    apply_change(operation, to, bytes, in, out);
}

// One element with gaps.
static void change_odd(const mlt_win_operation *operation, char *to, const char *in, char *out)
{
    _Alignas(16) char element[64];
    mlt_assert((uint64_t)operation->basic->extent <= sizeof element);
    if (reads(operation))
        mlt_type_pack(operation->basic, to, 0, out, operation->basic->size);
    if (operation->op == MLT_REDUCE_NO_OP)
        return;
    mlt_type_unpack(operation->basic, element, 0, in, operation->basic->size);
    if (operation->op == MLT_REDUCE_REPLACE)
        mlt_type_unpack(operation->basic, to, 0, in, operation->basic->size);
    else
        operation->kernel(to, element, 1);
}

static void accumulate(const mlt_win_operation *operation, char *memory, const mlt_type_run *runs,
                       uint32_t count, const char *in, char *out)
{
    bool odd = !operation->basic->contiguous;
    for (uint32_t r = 0; r < count; r++) {
        uint64_t step = odd ? operation->basic->size : runs[r].length;
        char *to = memory + runs[r].at;
        for (uint64_t i = 0; i < runs[r].count; i++) {
            if (odd)
                change_odd(operation, to, in, out);
            else
                apply_change(operation, to, step, in, out);
            to += runs[r].stride;
            in = in ? in + step : NULL;
            out = out ? out + step : NULL;
        }
    }
}

static void move(bool put, char *memory, const mlt_type_run *runs, uint32_t count, const char *in,
                 char *out)
{
    for (uint32_t r = 0; r < count; r++) {
        uint64_t length = runs[r].length;
        char *at = memory + runs[r].at;
        for (uint64_t i = 0; i < runs[r].count; i++, at += runs[r].stride) {
            if (put) {
                memcpy(at, in, length);
                in += length;
            } else {
                memcpy(out, at, length);
                out += length;
            }
        }
    }
}

// ---- a word of an open descriptor

static void copy_one(void *to, const void *from, uint64_t size)
{
    if (size == sizeof(uint64_t))
        memcpy(to, from, sizeof(uint64_t));
    else if (size == sizeof(uint32_t))
        memcpy(to, from, sizeof(uint32_t));
    else
        memcpy(to, from, size);
}

// The caller may change it. compare: of SWAP. out: NULL, or where what was there goes. Acquire and
// release, as if the guard were taken; a word that stays as it is needs no store.
#define CHANGE_WORD(NAME, T)                                                                       \
    static void NAME(const mlt_win_operation *operation, char *to, const char *in,                 \
                     const char *compare, char *out)                                               \
    {                                                                                              \
        T *word = (T *)(void *)to, was = __atomic_load_n(word, __ATOMIC_ACQUIRE), next;            \
        _Alignas(8) char copy[8]; /* the compiler sees elements of 8 */                            \
        do {                                                                                       \
            memcpy(copy, &was, sizeof was);                                                        \
            if (!compare)                                                                          \
                mlt_win_change_one(operation, copy, in);                                           \
            else if (memcmp(copy, compare, sizeof was) == 0)                                       \
                memcpy(copy, in, sizeof was);                                                      \
            memcpy(&next, copy, sizeof next);                                                      \
        } while (next != was && !__atomic_compare_exchange_n(word, &was, next, false,              \
                                                             __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)); \
        if (out)                                                                                   \
            memcpy(out, &was, sizeof was);                                                         \
    }

CHANGE_WORD(change_64, uint64_t)
CHANGE_WORD(change_32, uint32_t)

// True: one element was changed by instructions. False: it is none that they can change, or the descriptor
// is not open.
static bool try_word(const mlt_win_part *part, const mlt_win_descriptor *descriptor,
                     const mlt_win_operation *operation, char *to, uint64_t size, const char *in,
                     const char *compare, char *out)
{
    if (!mlt_win_is_word(to, size) || !mlt_win_may_change(part, descriptor))
        return false;
    if (size == sizeof(uint64_t))
        change_64(operation, to, in, compare, out);
    else
        change_32(operation, to, in, compare, out);
    mlt_win_changed(part);
    return true;
}

// ---- any

static bool is_one(const mlt_win_operation *operation, uint64_t bytes)
{
    return operation->verb == MLT_WIN_SWAP || bytes == operation->basic->size;
}

void mlt_win_apply(mlt_win_part *part, mlt_win_descriptor *descriptor,
                   const mlt_win_operation *operation, char *memory, const mlt_type_run *runs,
                   uint32_t count, const char *in, char *out)
{
    if (operation->verb == MLT_WIN_PUT || operation->verb == MLT_WIN_GET) {
        move(operation->verb == MLT_WIN_PUT, memory, runs, count, in, out);
        return;
    }
    if (count == 1 && runs->count == 1 && operation->basic->contiguous &&
        is_one(operation, runs->length)) {
        mlt_win_apply_plain(part, descriptor, operation, memory + runs->at, runs->length, in, out);
        return;
    }
    mlt_win_guard(part, &descriptor->lock);
    accumulate(operation, memory, runs, count, in, out);
    mlt_win_unguard(&descriptor->lock);
}

// ---- memory of a device

// Elements without gaps: all of them come, and go back where they were.
static void change_device(const mlt_win_operation *operation, char *memory,
                          const mlt_type_run *runs, uint32_t count, const char *in, char *out)
{
    uint64_t bytes = 0;
    for (uint32_t r = 0; r < count; r++)
        bytes += runs[r].length * runs[r].count;
    char *copy = mlt_xrealloc(NULL, 1, bytes);
    mlt_gpu_pack_runs(memory, runs, count, copy);
    apply_change(operation, copy, bytes, in, out);
    if (operation->verb == MLT_WIN_SWAP || operation->op != MLT_REDUCE_NO_OP)
        mlt_gpu_unpack_runs(memory, runs, count, copy);
    free(copy);
}

// One element with gaps, which stay as they are.
static void change_odd_device(const mlt_win_operation *operation, char *at, const char *in,
                              char *out)
{
    _Alignas(16) char element[64];
    mlt_type twin;
    mlt_assert((uint64_t)operation->basic->extent <= sizeof element);
    mlt_gpu_make_twin(&twin, operation->basic);
    mlt_type_move(operation->basic, element, &twin, at, 0, twin.size);
    change_odd(operation, element, in, out);
    if (operation->op != MLT_REDUCE_NO_OP)
        mlt_type_move(&twin, at, operation->basic, element, 0, twin.size);
}

static void change_odds_device(const mlt_win_operation *operation, char *memory,
                               const mlt_type_run *runs, uint32_t count, const char *in, char *out)
{
    uint64_t step = operation->basic->size;
    for (uint32_t r = 0; r < count; r++)
        for (uint64_t i = 0; i < runs[r].count; i++) {
            change_odd_device(operation, memory + runs[r].at + (int64_t)i * runs[r].stride, in,
                              out);
            in = in ? in + step : NULL;
            out = out ? out + step : NULL;
        }
}

static void apply_there(mlt_win_part *part, mlt_win_descriptor *descriptor,
                        const mlt_win_operation *operation, char *memory, const mlt_type_run *runs,
                        uint32_t count, const char *in, char *out)
{
    if (operation->verb == MLT_WIN_PUT) {
        mlt_gpu_unpack_runs(memory, runs, count, in);
        return;
    }
    if (operation->verb == MLT_WIN_GET) {
        mlt_gpu_pack_runs(memory, runs, count, out);
        return;
    }
    mlt_win_guard(part, &descriptor->lock);
    if (operation->basic->contiguous)
        change_device(operation, memory, runs, count, in, out);
    else
        change_odds_device(operation, memory, runs, count, in, out);
    mlt_win_unguard(&descriptor->lock);
}

// How many blocks of a run, from that one on, lie in the same kind of memory.
static uint64_t alike(const char *memory, const mlt_type_run *run, uint64_t from, bool *device)
{
    const char *at = memory + run->at + (int64_t)from * run->stride;
    uint64_t n = 1;
    *device = mlt_gpu_owns(at);
    while (from + n < run->count && mlt_gpu_owns(at + (int64_t)n * run->stride) == *device)
        n++;
    return n;
}

void mlt_win_apply_device(mlt_win_part *part, mlt_win_descriptor *descriptor,
                          const mlt_win_operation *operation, char *memory,
                          const mlt_type_run *runs, uint32_t count, const char *in, char *out)
{
    if (part->flavor != MLT_WIN_DYNAMIC) {
        apply_there(part, descriptor, operation, memory, runs, count, in, out);
        return;
    }
    bool odd = operation->basic && !operation->basic->contiguous;
    for (uint32_t r = 0; r < count; r++)
        for (uint64_t i = 0, n; i < runs[r].count; i += n) {
            bool device;
            mlt_type_run some = runs[r];
            n = alike(memory, &runs[r], i, &device);
            some.at += (int64_t)i * some.stride;
            some.count = n;
            (device ? apply_there : mlt_win_apply)(part, descriptor, operation, memory, &some, 1,
                                                   in, out);
            uint64_t bytes = n * (odd ? operation->basic->size : some.length);
            in = in ? in + bytes : NULL;
            out = out ? out + bytes : NULL;
        }
}

void mlt_win_apply_plain(mlt_win_part *part, mlt_win_descriptor *descriptor,
                         const mlt_win_operation *operation, char *memory, uint64_t bytes,
                         const char *in, char *out)
{
    if (operation->verb == MLT_WIN_PUT)
        memcpy(memory, in, bytes);
    else if (operation->verb == MLT_WIN_GET)
        memcpy(out, memory, bytes);
    else if (!is_one(operation, bytes) ||
             !try_word(part, descriptor, operation, memory, bytes, in,
                       operation->verb == MLT_WIN_SWAP ? in + bytes : NULL,
                       reads(operation) ? out : NULL)) {
        mlt_win_guard(part, &descriptor->lock);
        apply_change(operation, memory, bytes, in, out);
        mlt_win_unguard(&descriptor->lock);
    }
}

// ---- one element, or many, that are not the everyday case

void mlt_win_accumulate_any(mlt_win_part *part, mlt_win_descriptor *descriptor,
                            const mlt_win_operation *operation, char *to, uint64_t count,
                            const void *in)
{
    if (count == 1 &&
        try_word(part, descriptor, operation, to, operation->basic->size, in, NULL, NULL))
        return;
    mlt_win_guard(part, &descriptor->lock);
    if (count == 1)
        mlt_win_change_one(operation, to, in);
    else if (operation->op == MLT_REDUCE_REPLACE)
        memcpy(to, in, count * operation->basic->size);
    else
        operation->kernel(to, in, count);
    mlt_win_unguard(&descriptor->lock);
}

void mlt_win_fetch_any(mlt_win_part *part, mlt_win_descriptor *descriptor,
                       const mlt_win_operation *operation, char *to, const void *in, void *out)
{
    if (try_word(part, descriptor, operation, to, operation->basic->size, in, NULL, out))
        return;
    mlt_win_guard(part, &descriptor->lock);
    copy_one(out, to, operation->basic->size);
    mlt_win_change_one(operation, to, in);
    mlt_win_unguard(&descriptor->lock);
}

void mlt_win_swap_any(mlt_win_part *part, mlt_win_descriptor *descriptor, uint64_t size, char *to,
                      const void *in, const void *compare, void *out)
{
    char was[32];
    if (try_word(part, descriptor, NULL, to, size, in, compare, out))
        return;
    mlt_win_guard(part, &descriptor->lock);
    copy_one(was, to, size);
    if (memcmp(was, compare, size) == 0)
        mlt_win_store_one(to, in, size);
    mlt_win_unguard(&descriptor->lock);
    copy_one(out, was, size);
}
