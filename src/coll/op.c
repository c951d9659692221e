// SPDX-License-Identifier: BSD-3-Clause
#include "coll/op.h"

void mlt_coll_apply(const mlt_coll_op *op, void *result, const void *second, uint64_t bytes,
                    bool reversed, void *scratch)
{
    if (op->op != MLT_OPS) { // they all commute
        mlt_op_kernels[op->op][op->type](result, second, bytes / op->element);
        return;
    }
    op->function(op->arg, &(mlt_run_operands){.result = result,
                                              .second = (void *)(uintptr_t)second,
                                              .bytes = bytes,
                                              .second_bytes = bytes,
                                              .reversed = reversed,
                                              .scratch = scratch});
}
