// SPDX-License-Identifier: BSD-3-Clause
// How elements are reduced: an operation and a type of GOAL's, a kernel, or a function of the
// user's. What collective calls are given; upper layers fill it in.
//
// Elements lie in memory one after the other, `element` bytes apart. The user's may lie otherwise
// (derived types: gaps, negative bounds, elements that interlock); mlt_coll_load and mlt_coll_store
// convert between the two. Kernels and functions compute on whole elements only, so
// any piece of whole elements may be reduced at any time.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "goal/exec.h"
#include "type/op.h"
#include "type/reduce.h"
#include "type/type.h"

typedef struct mlt_coll_op {
    mlt_op op;        // MLT_OPS: `function` with `arg`
    mlt_op_type type; // of GOAL's, unless op is MLT_OPS
    mlt_run_function *function;
    void *arg;        // this very structure: copies are made with mlt_coll_op_copy
    uint32_t element; // bytes, at least 1, with a gap after the last one
    bool commutes;
    bool exact;     // no bit depends on brackets; unknown for a user's function: false
    bool scratched; // result = result op second needs scratch memory; reversed never does
    bool direct; // the user's elements lie as they are wanted: load and store are not needed; not
                 // if they are in memory of a device

    // For functions and for load and store.
    mlt_op_kernel *kernel;    // predefined operations; NULL: the user's
    const mlt_type *datatype; // of the elements
    int64_t origin;           // where an element begins: this much above its address in MPI's sense
    bool apart;               // elements lie further apart here than the datatype says
    void (*combine)(void *into, const void *with, size_t count); // mlt_coll_op_plain's
    const void *user; // the upper layer's operation; NULL: predefined
    uintptr_t same;   // what is reduced, for comparison: equal for equal functions
} mlt_coll_op;

static inline void mlt_coll_op_copy(mlt_coll_op *to, const mlt_coll_op *from)
{
    *to = *from;
    if (from->arg)
        to->arg = to;
}

// True if two ranks mean the same.
static inline bool mlt_coll_op_same(const mlt_coll_op *a, const mlt_coll_op *b)
{
    return a->same == b->same && a->element == b->element;
}

// A predefined operation on a type that it is for (type/reduce.h).
void mlt_coll_op_predefined(mlt_coll_op *op, const mlt_reduction *reduction,
                            const mlt_type *datatype);

// A function of the user's for elements of a type. False: an element has 4 GiB or more.
bool mlt_coll_op_user(mlt_coll_op *op, mlt_run_function *function, const void *user, uintptr_t same,
                      bool commutes, const mlt_type *datatype);

// A function into = into op with for `count` elements that lie together; `with` has the higher
// ranks. user: the upper layer's operation.
typedef void mlt_coll_combine(void *into, const void *with, size_t count);
void mlt_coll_op_plain(mlt_coll_op *op, mlt_coll_combine *combine, const void *user,
                       uint32_t element, bool commutes);

// The address of an element in MPI's sense, for functions that know the datatype.
static inline void *mlt_coll_op_address(const mlt_coll_op *op, const void *element)
{
    return (void *)((uintptr_t)element - (uintptr_t)op->origin);
}

// `count` of the user's elements as they are wanted here, and back; what is between them is not
// touched. Here they have count * op->element bytes.
void mlt_coll_load(const mlt_coll_op *op, void *to, const void *from, uint64_t count);
void mlt_coll_store(const mlt_coll_op *op, void *to, const void *from, uint64_t count);

// result = result op second, or second op result if reversed, for `bytes` bytes of whole elements.
// scratch: as many bytes if op->scratched and not reversed; otherwise it may be NULL.
void mlt_coll_apply(const mlt_coll_op *op, void *result, const void *second, uint64_t bytes,
                    bool reversed, void *scratch);
