// SPDX-License-Identifier: BSD-3-Clause
// What is done to a target's memory: by the origin, where it reaches that memory, and by the
// target's worker for all others. One way for all distances, so that accumulates are atomic against
// each other: each takes the guard of the target's descriptor for the piece that it works on, or changes
// one word of an open descriptor by an instruction (lock.h).
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "os/barrier.h"
#include "type/reduce.h"
#include "type/type.h"
#include "type/wide.h"
#include "win/descriptor.h"
#include "win/lock.h"

typedef enum mlt_win_verb {
    MLT_WIN_PUT,
    MLT_WIN_GET,
    MLT_WIN_ACCUMULATE,
    MLT_WIN_FETCH, // and accumulate
    MLT_WIN_SWAP,  // if it is equal to what is compared with: one element
    MLT_WIN_VERBS
} mlt_win_verb;

typedef enum mlt_win_adds {
    MLT_WIN_ADDS_OTHER,
    MLT_WIN_ADDS_INT64,
    MLT_WIN_ADDS_FLOAT64
} mlt_win_adds;

typedef struct mlt_win_operation {
    uint8_t verb;          // mlt_win_verb
    uint8_t op;            // mlt_reduce_op, of an accumulate
    uint8_t adds;          // mlt_win_adds: what it adds, if that needs no kernel
    uint16_t pair[2];      // codes of value and index of an unnamed pair; else 0
    const mlt_type *basic; // of an accumulate's or a swap's elements; named, or such a pair
    mlt_op_kernel *kernel; // of an accumulate
    mlt_op_kernel *single; // the same, the fastest for one element
} mlt_win_operation;

// It takes data from the origin.
static inline bool mlt_win_reads_origin(const mlt_win_operation *operation)
{
    return operation->verb != MLT_WIN_GET &&
           !(operation->verb == MLT_WIN_FETCH && operation->op == MLT_REDUCE_NO_OP);
}

// The kernels of an accumulate: the fastest there are.
static inline void mlt_win_find_kernels(mlt_win_operation *operation,
                                        const mlt_reduction *reduction)
{
    mlt_op_kernel *wide =
        reduction->op < MLT_OPS ? mlt_op_wide(reduction->op, reduction->type) : NULL;
    operation->single = reduction->kernel;
    operation->kernel = wide ? wide : reduction->kernel;
    operation->adds = MLT_WIN_ADDS_OTHER;
    if (reduction->op == MLT_OP_SUM && reduction->type == MLT_OP_FLOAT64)
        operation->adds = MLT_WIN_ADDS_FLOAT64;
    else if (reduction->op == MLT_OP_SUM &&
             (reduction->type == MLT_OP_INT64 || reduction->type == MLT_OP_UINT64))
        operation->adds = MLT_WIN_ADDS_INT64;
}

// What a packet names: all may be anything. False: there is no such operation. A swap's elements have
// no gaps.
bool mlt_win_operation_make(mlt_win_operation *operation, uint8_t verb, uint8_t op,
                            uint16_t code) MLT_MUST_CHECK;

// Does it to runs of memory that begins at `memory`. in: packed data of PUT and of accumulates; SWAP:
// the new value, then the one to compare with. out: where GET, FETCH and SWAP leave packed data.
void mlt_win_apply(mlt_win_part *part, mlt_win_descriptor *descriptor,
                   const mlt_win_operation *operation, char *memory, const mlt_type_run *runs,
                   uint32_t count, const char *in, char *out);

// The same if that memory is a device's, or some of it may be (a dynamic window's). Accumulates go through host
// memory, under the guard.
void mlt_win_apply_device(mlt_win_part *part, mlt_win_descriptor *descriptor,
                          const mlt_win_operation *operation, char *memory,
                          const mlt_type_run *runs, uint32_t count, const char *in,
                          char *out) MLT_COLD;

// What an accumulate or a swap does to elements without gaps; the caller has the guard.
void mlt_win_change(const mlt_win_operation *operation, char *to, uint64_t bytes, const char *in,
                    char *out);

// The same for `bytes` bytes without gaps on any side; of accumulates whose elements have none.
void mlt_win_apply_plain(mlt_win_part *part, mlt_win_descriptor *descriptor,
                         const mlt_win_operation *operation, char *memory, uint64_t bytes,
                         const char *in, char *out);

// ---- elements without gaps on any side, in memory that is in reach

typedef union mlt_win_word {
    uint64_t number;
    double real;
} mlt_win_word;

static MLT_INLINE mlt_win_word mlt_win_load(const void *from)
{
    mlt_win_word word;
    memcpy(&word, from, sizeof word);
    return word;
}

// A target may look at a word of its window again and again, without the guard: it sees all of the word
// or nothing, and after it what the origin had flushed before. Release: pairs with the acquire of
// its load.
static MLT_INLINE void mlt_win_store_64(char *to, uint64_t word)
{
    if (MLT_LIKELY((uintptr_t)to % sizeof word == 0))
        __atomic_store_n((uint64_t *)(void *)to, word, __ATOMIC_RELEASE);
    else
        memcpy(to, &word, sizeof word);
}

static MLT_INLINE void mlt_win_store_32(char *to, uint32_t word)
{
    if (MLT_LIKELY((uintptr_t)to % sizeof word == 0))
        __atomic_store_n((uint32_t *)(void *)to, word, __ATOMIC_RELEASE);
    else
        memcpy(to, &word, sizeof word);
}

// The same for an element of any size; only words are seen at once.
static MLT_INLINE void mlt_win_store_one(char *to, const void *from, uint64_t size)
{
    if (MLT_LIKELY(size == sizeof(uint64_t))) {
        uint64_t word;
        memcpy(&word, from, sizeof word);
        mlt_win_store_64(to, word);
    } else if (size == sizeof(uint32_t)) {
        uint32_t word;
        memcpy(&word, from, sizeof word);
        mlt_win_store_32(to, word);
    } else
        memcpy(to, from, size);
}

// One element; the caller has the guard.
static MLT_INLINE void mlt_win_change_one(const mlt_win_operation *operation, char *to,
                                          const void *in)
{
    if (operation->adds == MLT_WIN_ADDS_INT64) {
        uint64_t a, b;
        memcpy(&a, to, sizeof a);
        memcpy(&b, in, sizeof b);
        mlt_win_store_64(to, a + b);
    } else if (operation->adds == MLT_WIN_ADDS_FLOAT64) {
        double a, b;
        uint64_t word;
        memcpy(&a, to, sizeof a);
        memcpy(&b, in, sizeof b);
        a += b;
        memcpy(&word, &a, sizeof word);
        mlt_win_store_64(to, word);
    } else if (operation->op == MLT_REDUCE_REPLACE)
        mlt_win_store_one(to, in, operation->basic->size);
    else if (operation->op != MLT_REDUCE_NO_OP)
        operation->single(to, in, 1);
}

// ---- a word of an open descriptor

static MLT_INLINE bool mlt_win_is_word(const char *at, uint64_t size)
{
    return (size == 8 || size == 4) && (uintptr_t)at % size == 0;
}

// A change of a word orders nothing. Whoever concludes something from it, here or elsewhere, does so
// after the origin has ended or flushed its epoch: all of that makes a fence, or stores with release
// (MPI_Win_flush, sync.c, mlt_win_lock_give, packets).

// Adds, and tells what was there.
static MLT_INLINE uint64_t mlt_win_add_64(char *to, uint64_t added)
{
    return __atomic_fetch_add((uint64_t *)(void *)to, added, MLT_OS_FENCED_CHANGE);
}

static MLT_INLINE void mlt_win_add_real(char *to, double added)
{
    uint64_t *word = (uint64_t *)(void *)to;
    __builtin_prefetch(word, 1); // for the store: others change it less often in between
    mlt_win_word was = {.number = __atomic_load_n(word, __ATOMIC_RELAXED)}, next;
    do
        next.real = was.real + added;
    while (!__atomic_compare_exchange_n(word, &was.number, next.number, true, MLT_OS_FENCED_CHANGE,
                                        __ATOMIC_RELAXED));
}

// Tells what was there: `old` if it has stored `next`.
static MLT_INLINE uint64_t mlt_win_swap_64(char *to, uint64_t old, uint64_t next)
{
    (void)__atomic_compare_exchange_n((uint64_t *)(void *)to, &old, next, false,
                                      MLT_OS_FENCED_CHANGE, __ATOMIC_RELAXED);
    return old;
}

// The everyday cases of all others: one word of an open descriptor that is added to or swapped. Everything
// is in registers by then, since the processor begins little before the instruction is done, and
// nothing is left to do after a call, so that no register is saved for one.
//
// An accumulate that is not MPI_NO_OP.
void mlt_win_accumulate_any(mlt_win_part *part, mlt_win_descriptor *descriptor,
                            const mlt_win_operation *operation, char *to, uint64_t count,
                            const void *in) MLT_NOINLINE;
static MLT_INLINE void mlt_win_accumulate(mlt_win_part *part, mlt_win_descriptor *descriptor,
                                          const mlt_win_operation *operation, char *to,
                                          uint64_t count, const void *in)
{
    uint8_t adds = operation->adds;
    if (MLT_LIKELY(count == 1 && adds != MLT_WIN_ADDS_OTHER && (uintptr_t)to % 8 == 0)) {
        mlt_win_word added = mlt_win_load(in);
        if (MLT_LIKELY(mlt_win_may_change(part, descriptor))) {
            if (adds == MLT_WIN_ADDS_INT64)
                (void)mlt_win_add_64(to, added.number);
            else
                mlt_win_add_real(to, added.real);
            mlt_win_changed(part);
            return;
        }
    }
    mlt_win_accumulate_any(part, descriptor, operation, to, count, in);
}

void mlt_win_fetch_any(mlt_win_part *part, mlt_win_descriptor *descriptor,
                       const mlt_win_operation *operation, char *to, const void *in,
                       void *out) MLT_NOINLINE;
static MLT_INLINE void mlt_win_fetch_one(mlt_win_part *part, mlt_win_descriptor *descriptor,
                                         const mlt_win_operation *operation, char *to,
                                         const void *in, void *out)
{
    if (MLT_LIKELY(operation->adds == MLT_WIN_ADDS_INT64 && (uintptr_t)to % 8 == 0)) {
        uint64_t added = mlt_win_load(in).number;
        if (MLT_LIKELY(mlt_win_may_change(part, descriptor))) {
            uint64_t was = mlt_win_add_64(to, added);
            mlt_win_changed(part);
            memcpy(out, &was, sizeof was);
            return;
        }
    }
    mlt_win_fetch_any(part, descriptor, operation, to, in, out);
}

void mlt_win_swap_any(mlt_win_part *part, mlt_win_descriptor *descriptor, uint64_t size, char *to,
                      const void *in, const void *compare, void *out) MLT_NOINLINE;
static MLT_INLINE void mlt_win_swap_one(mlt_win_part *part, mlt_win_descriptor *descriptor,
                                        uint64_t size, char *to, const void *in,
                                        const void *compare, void *out)
{
    if (MLT_LIKELY(size == sizeof(uint64_t) && (uintptr_t)to % sizeof(uint64_t) == 0)) {
        uint64_t next = mlt_win_load(in).number, old = mlt_win_load(compare).number;
        if (MLT_LIKELY(mlt_win_may_change(part, descriptor))) {
            uint64_t was = mlt_win_swap_64(to, old, next);
            mlt_win_changed(part);
            memcpy(out, &was, sizeof was);
            return;
        }
    }
    mlt_win_swap_any(part, descriptor, size, to, in, compare, out);
}
