// SPDX-License-Identifier: BSD-3-Clause
// Kernels of op.h in wider vectors, where this processor has them and they are worth it: sums and
// products of plain numbers. Each element is computed as op.h says, so results are the same.
#pragma once

#include "type/op.h"

// NULL: there is none; op.h's is as good.
mlt_op_kernel *mlt_op_wide(mlt_op op, mlt_op_type type);
