// SPDX-License-Identifier: BSD-3-Clause
// How elements are reduced: an operation and a type of GOAL's, or a function. What collective calls
// are given; upper layers fill it in.
#ifndef MLT_COLL_OP_H
#define MLT_COLL_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "goal/exec.h"
#include "type/op.h"

typedef struct mlt_coll_op {
    mlt_op op;        // MLT_OPS: `function` with `arg`
    mlt_op_type type; // of GOAL's, unless op is MLT_OPS
    mlt_run_function *function;
    void *arg;
    uint32_t element; // bytes, a gap behind the last one included
    bool commutes;
} mlt_coll_op;

// result = result op second, or second op result if reversed, for `bytes` bytes of whole elements.
// scratch: as many bytes; used only by functions.
void mlt_coll_apply(const mlt_coll_op *op, void *result, const void *second, uint64_t bytes,
                    bool reversed, void *scratch);

#endif
