// SPDX-License-Identifier: BSD-3-Clause
// What bytes may hold, as symbols. A value is a function of an offset, without beginning or end; a
// byte in memory holds (value, offset).
//
//     LEAF    byte `offset` of what the a-th contributor brought in (mlt_claim)
//     JUNK    byte `offset` of buffer b of rank a, as it was before
//     NODE    a(offset) op b(offset + shift), by elements that begin at offsets = phase modulo
//             their size
//     OPAQUE  byte `offset` of what action b of rank a made: an uninterpreted function, or a mix of
//             parts of elements
//
// Equal values have equal numbers. So a block of any length that all ranks reduce alike is one
// chain of values, whatever its place, and the final comparison is one of numbers.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "type/op.h"

typedef enum mlt_value_kind {
    MLT_VALUE_LEAF,
    MLT_VALUE_JUNK,
    MLT_VALUE_NODE,
    MLT_VALUE_OPAQUE,
} mlt_value_kind;

// What an action does to elements.
typedef struct mlt_value_op {
    uint8_t op, type; // op MLT_OPS: function `user`, which acts on elements of the claim's size
    uint16_t user;
} mlt_value_op;

typedef struct mlt_value {
    uint8_t kind;
    mlt_value_op op;
    uint32_t phase;
    uint32_t a, b;
    uint64_t shift;
    // Of all the leaves below, in the order of operands; made with the value.
    bool pure;     // a leaf, or wanted operations on leaves of one offset, elements in step
    bool in_order; // pure, and leaves are numbers low .. high - 1, each once, in that order
    uint32_t low, high;
    uint32_t canon;  // the same with the operands of what commutes sorted
    uint64_t leaves; // how many; UINT64_MAX / 4: so many, or more
} mlt_value;

typedef struct mlt_values {
    mlt_value *value;
    uint64_t count, room;
    mlt_table table;         // of their numbers
    mlt_value_op wanted;     // of the claim; op MLT_OP_COPY: none
    const uint32_t *rank_of; // a leaf's rank
} mlt_values;

// rank_of is the caller's and lives longer.
void mlt_values_init(mlt_values *values, mlt_value_op wanted, const uint32_t *rank_of);
void mlt_values_fini(mlt_values *values);

uint32_t mlt_value_leaf(mlt_values *values, uint32_t number);
uint32_t mlt_value_junk(mlt_values *values, uint32_t rank, uint32_t buf);
uint32_t mlt_value_opaque(mlt_values *values, uint32_t rank, uint32_t action);
uint32_t mlt_value_node(mlt_values *values, mlt_value_op op, uint32_t phase, uint32_t a, uint32_t b,
                        uint64_t shift);

// Operations that give the same bits whatever the type have one type: sums do not see signs, and
// bitwise ones not even the size.
mlt_value_op mlt_value_op_plain(mlt_value_op op);

// True if an operand that comes twice changes nothing.
bool mlt_value_idempotent(mlt_value_op op);

// How often each of `leaves` leaves is below the value: times[], at most 255. Returns how many
// leaves of something else there are (capped too).
uint32_t mlt_value_count(const mlt_values *values, uint32_t value, uint32_t leaves, uint8_t *times);

// The formula, "((0+1)+(2+3))"; if it is longer than `size`, inner parts become "(4+...+7)".
char *mlt_value_print(const mlt_values *values, uint32_t value, char *text, size_t size);

// Why the value is not pure: the first part that is not as it should be.
typedef enum mlt_value_odd {
    MLT_VALUE_FINE,
    MLT_VALUE_ODD_JUNK,
    MLT_VALUE_ODD_OPAQUE,
    MLT_VALUE_ODD_OP,
    MLT_VALUE_ODD_SHIFT,
    MLT_VALUE_ODD_PHASE,
} mlt_value_odd;
mlt_value_odd mlt_value_why_odd(const mlt_values *values, uint32_t value, uint32_t *part);
