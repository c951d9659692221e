// SPDX-License-Identifier: BSD-3-Clause
// The claim that a program performs an operation: where in and out lie on each rank, and what each
// block of out must hold.
#ifndef MLT_GOAL_CHECK_CLAIM_H
#define MLT_GOAL_CHECK_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include "goal/check_int.h"
#include "goal/check_value.h"

typedef struct mlt_claim {
    const mlt_goal_spec *is;
    uint32_t ranks;
    uint64_t block;          // n
    mlt_goal_span *in, *out; // [ranks]; size 0: the rank takes or gives nothing
} mlt_claim;

// A block of out: the leaves of ranks low .. high - 1 from that offset on, reduced if the operation
// reduces.
typedef struct mlt_wanted {
    uint32_t low, high;
    uint64_t offset;
} mlt_wanted;

// False: the program has not the buffers; that is found.
bool mlt_claim_init(mlt_claim *claim, mlt_check *check);
void mlt_claim_fini(mlt_claim *claim);

mlt_wanted mlt_claim_wanted(const mlt_claim *claim, uint32_t rank, uint64_t block);
mlt_value_op mlt_claim_op(const mlt_claim *claim); // COPY if the operation does not reduce

#endif
