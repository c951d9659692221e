// SPDX-License-Identifier: BSD-3-Clause
#ifndef MLT_MPI_OP_H
#define MLT_MPI_OP_H
#include "coll/op.h"
static inline void mlt_op_hold(void *op) { (void)op; }
static inline void mlt_op_drop(void *op) { (void)op; }
static inline void mlt_op_keep(mlt_coll_op *to, const mlt_coll_op *from) { *to = *from; }
#endif
