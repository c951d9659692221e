// SPDX-License-Identifier: BSD-3-Clause
// What several reductions in canonical brackets (tree.h) share.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "coll/alg/emit.h"
#include "coll/alg/operands.h"

// Receives the operands of the ranks in `from`, of which number `own` is this one, all at once,
// each into memory of its own, and combines them into out: in pairs, and pairs of pairs, in
// canonical brackets over their numbers. Each step waits for its two operands only. share: sends
// one's own to all of them, too. At least two. Returns the last action.
uint32_t mlt_canonical_combine(const mlt_emit *e, const mlt_operands *o, const uint32_t *from,
                               uint32_t count, uint32_t own, bool share);
