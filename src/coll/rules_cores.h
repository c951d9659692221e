// SPDX-License-Identifier: BSD-3-Clause
// Built-in rules for ranks that have a core each, 3 and more of them: what takes the least simulated
// time. bench/coll/rules writes the table; docs/internals/collectives.md says from which machines.
// They are asked before the rules of rules.c, which answer where none of them fits.
#pragma once

#include "coll/choose.h"

typedef enum mlt_cores_transfer { // how long messages go
    MLT_CORES_THREADS,            // between threads: copied by the receiver
    MLT_CORES_READS,              // between processes: read by the receiver
    MLT_CORES_CHUNKS,             // between processes: copied by both
} mlt_cores_transfer;

// The same as a mlt_coll_rule, but without addresses: the table is as large as all other rules
// together, and most jobs use a few lines of it.
typedef struct mlt_cores_rule {
    uint8_t transfer, collective, radix;
    uint16_t ranks_from, ranks_to;          // to 0: no end
    uint32_t bytes_from, bytes_to, segment; // to 0: no end
    char alg[24];
} mlt_cores_rule;

extern const mlt_cores_rule
    mlt_cores_rules[]; // those of a transfer and collective follow each other
extern const uint32_t mlt_cores_rules_count;

// The rule as any other; what it points to is constant.
mlt_coll_rule mlt_cores_rule_at(uint32_t index);
