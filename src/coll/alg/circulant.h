// SPDX-License-Identifier: BSD-3-Clause
// Circulant graphs: in round k rank v talks to v + skip[k] and v - skip[k], where the skips are P
// halved and rounded up again and again: 1 = skip[0] < ... < skip[q] = P, q = ceil(log2 P).
//
// Broadcast of n blocks in n - 1 + q rounds, the fewest there can be, for any P: J. L. Träff's
// schedules. Rounds go through k = 0..q-1 again and again; in each the rank receives one block and
// sends one that it has. `recv[k]` is the block's number in the first turn, q more in each further
// one; below 0: none yet, beyond the last: the last. In the first turn a rank's block numbers are
// -q..-1, each once, except that base stands for base - q, where skip[base] is the last step of its
// way from the root (the base block).
#pragma once

#include <stdint.h>

#include "coll/alg/emit.h"

enum { MLT_CIRCULANT_SKIPS = 32 }; // q is not more

typedef struct mlt_circulant {
    uint32_t skip_count; // q: the rounds of a turn; skip[q] is P
    uint32_t skip[MLT_CIRCULANT_SKIPS + 1];
    int32_t recv[MLT_CIRCULANT_SKIPS]; // from v - skip[k]; the root, 0, receives nothing
    int32_t send[MLT_CIRCULANT_SKIPS]; // to v + skip[k], not to the root
} mlt_circulant;

// Of rank v counted from the root.
mlt_circulant mlt_circulant_of(uint32_t ranks, uint32_t v);

// The skips only.
mlt_circulant mlt_circulant_skips(uint32_t ranks);

// One round of n blocks: which block v receives and sends, from where and to where, counted from
// the root. Rounds are 0..n-2+q; n is not 0.
typedef struct mlt_circulant_round {
    uint64_t recv_block, send_block; // UINT64_MAX: nothing
    uint32_t from, to;
} mlt_circulant_round;

mlt_circulant_round mlt_circulant_at(const mlt_circulant *c, uint32_t ranks, uint32_t v,
                                     uint64_t blocks, uint64_t round);
