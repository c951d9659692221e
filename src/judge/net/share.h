// SPDX-License-Identifier: BSD-3-Clause
// A link that messages share: each gets an equal part of it (processor sharing).
//
// A message's end is told when its head comes, from those that are under way then; later ones do
// not change it, though they are slowed by it. So the last of n equal messages that come at once
// ends at n times its time, exactly, and the link never carries more than it can; the ones before
// it end earlier than they would (docs/reference/goal-machine.md has the error).
//
// How: `served` is how much each message under way has had since the link was idle. A message that
// came at `served` ends when it is served + its work, so the ends are a heap; nothing changes when
// messages come and go. All zero is an idle link.
#pragma once

#include <stdint.h>

typedef struct mlt_share {
    double *ends;  // heap: `served` at which messages end
    double served; // ps of work
    double sum;    // of the ends
    double most;   // the greatest end since the link was idle
    uint64_t now;
    uint32_t count, room;
    uint64_t messages, bytes;
    double work; // ps, of all so far
} mlt_share;

// A message comes whose bytes take `work` ps of the whole link. Not before any other came. How much
// later it ends than alone, in ps.
double mlt_share_add(mlt_share *link, uint64_t now, double work, uint64_t bytes);
void mlt_share_fini(mlt_share *link);
