// SPDX-License-Identifier: BSD-3-Clause
#include "type/wide.h"

#include <stddef.h>

#include "arch/wide.h"
#include "type/number_int.h"

MLT_ARCH_WIDE KERNEL(sum_int32, uint32_t, a + b) // wraps around, as signed ones do
    MLT_ARCH_WIDE KERNEL(sum_int64, uint64_t, a + b) MLT_ARCH_WIDE
    KERNEL(sum_float, float, a + b) MLT_ARCH_WIDE KERNEL(sum_double, double, a + b) MLT_ARCH_WIDE
    KERNEL(prod_float, float, a *b) MLT_ARCH_WIDE KERNEL(prod_double, double, a *b)

        static mlt_op_kernel *const kernels[MLT_OPS][MLT_OP_TYPES] = {
            [MLT_OP_SUM][MLT_OP_INT32] = sum_int32,     [MLT_OP_SUM][MLT_OP_UINT32] = sum_int32,
            [MLT_OP_SUM][MLT_OP_INT64] = sum_int64,     [MLT_OP_SUM][MLT_OP_UINT64] = sum_int64,
            [MLT_OP_SUM][MLT_OP_FLOAT32] = sum_float,   [MLT_OP_SUM][MLT_OP_FLOAT64] = sum_double,
            [MLT_OP_PROD][MLT_OP_FLOAT32] = prod_float, [MLT_OP_PROD][MLT_OP_FLOAT64] = prod_double,
};

mlt_op_kernel *mlt_op_wide(mlt_op op, mlt_op_type type)
{
    return mlt_arch_has_wide() ? kernels[op][type] : NULL;
}
