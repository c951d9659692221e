// SPDX-License-Identifier: BSD-3-Clause
// A worker shows itself to its agent (boot/live.h).
#pragma once

#include <stdbool.h>

#include "boot/live.h"
#include "p2p/worker.h"

// From now on, or no longer, the agent may read it.
void mlt_live_show(const mlt_worker *worker, bool shown);

// What layers above show of the calling thread's worker.
mlt_live_shown *mlt_live_here(void);
