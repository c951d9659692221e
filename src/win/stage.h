// SPDX-License-Identifier: BSD-3-Clause
// Small puts to memory of another process that cannot be mapped (across.h). Each would be a call of
// the kernel of its own; instead they are copied here, and leave together: when the rank flushes,
// when it does anything else to another process's memory, or when there are many. A put that begins
// in or right after what came last is combined with it.
//
// What is here counts as one operation of the side that is pending. It leaves without the target's
// help. Ranks that share a worker with many have none: it takes 34 KiB.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "win/part.h"

enum { MLT_WIN_STAGE_MOST = 2 << 10 }; // bytes of a put; a longer one gains nothing

// The peer's memory was written to before, so the system lets us. `at`: in the target's process.
// False: the rank has no stage.
bool mlt_win_stage_put(mlt_win_side *side, mlt_win_peer *peer, int32_t target, uint64_t at,
                       const void *from, uint64_t bytes);

// All that is here has left for its target; if it could not, the side has a fault.
void mlt_win_stage_empty(mlt_win_side *side) MLT_COLD;
static inline void mlt_win_stage_leave(mlt_win_side *side)
{
    if (MLT_UNLIKELY(side->pending))
        mlt_win_stage_empty(side);
}
