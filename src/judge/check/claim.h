// SPDX-License-Identifier: BSD-3-Clause
// The claim that a program performs an operation: where in and out lie on each rank, and what each
// block of out must hold.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "judge/check/check_int.h"
#include "judge/check/value.h"

typedef struct mlt_claim_piece { // EXCHANGE: bytes of out that come from a rank's in
    uint64_t at, bytes, offset;
    uint32_t from;
} mlt_claim_piece;

// Leaves are numbered in the order of the ranks that contribute; except for REDUCE_TO, these are
// all ranks.
typedef struct mlt_claim {
    const mlt_goal_spec *is;
    uint32_t ranks;
    uint64_t block;          // n
    uint64_t element;        // bytes of what starts count
    mlt_goal_span *in, *out; // [ranks]; where that which a rank brings lies at first, and what is
                             // looked at in the end; size 0: nothing
    uint32_t leaves;
    uint32_t *leaf;    // [ranks] the number of its leaf; MLT_GOAL_NONE: it brings none
    uint32_t *rank_of; // [leaves]
    // EXCHANGE: those of rank r are pieces[pieces_at[r] .. pieces_at[r + 1]), by their place in
    // out.
    mlt_claim_piece *pieces;
    uint64_t *pieces_at;
} mlt_claim;

// What a part of out must hold: the leaves low .. high - 1 from that offset on, reduced if the
// operation reduces.
typedef struct mlt_wanted {
    uint32_t low, high;
    uint64_t offset;
    uint64_t length; // bytes from the one that was asked about to the end of its block
    bool before;     // instead: what was there before
} mlt_wanted;

// False: the program does not have the buffers, which is a finding.
bool mlt_claim_init(mlt_claim *claim, mlt_check *check);
void mlt_claim_fini(mlt_claim *claim);

mlt_wanted mlt_claim_wanted(const mlt_claim *claim, uint32_t rank, uint64_t at);
mlt_value_op mlt_claim_op(const mlt_claim *claim); // COPY if the operation does not reduce

// ---- for claim.c and parts.c

// The claim has no meaning for the program: a finding.
void mlt_claim_wrong(mlt_check *check, uint32_t rank, const char *format, ...) MLT_PRINTF(3, 4);

// EXCHANGE: makes the pieces of the spec's lists. False: they do not fit together, which is a
// finding.
bool mlt_claim_parts(mlt_claim *claim, mlt_check *check);
