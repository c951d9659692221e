// SPDX-License-Identifier: BSD-3-Clause
// Which message is which: the n-th from a rank to another with a context and a tag is the n-th that
// was matched there, for messages do not overtake.
#pragma once

#include <stdint.h>

typedef struct mlt_sequence {
    uint64_t key[2]; // both zero: free
    uint64_t sent, matched;
} mlt_sequence;

typedef struct mlt_sequences {
    mlt_sequence *all; // a table; at most half of it is used
    uint64_t size, used;
} mlt_sequences;

// The one of these messages; counts of a new one are 0. Valid until the next call.
mlt_sequence *mlt_sequence_of(mlt_sequences *sequences, uint32_t from, uint32_t to,
                              uint32_t context, int32_t tag);
// The entry of any two numbers, the first of which is not 0.
mlt_sequence *mlt_sequence_at(mlt_sequences *sequences, uint64_t a, uint64_t b);
