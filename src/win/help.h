// SPDX-License-Identifier: BSD-3-Clause
// A target's worker that looks at its rings does for an origin of another process what costs the
// origin calls of the kernel: an accumulate, which would be read, changed and written back, a part
// of a long copy, or a short one where the kernel is slower than a packet. A target that computes is not waited for: the origin takes back what nobody has
// begun, and does it by itself (across.h).
//
// An origin lays its request on its *mailbox*, a line of its worker's block that the target maps, and
// sends a packet that tells of it. Request and data travel in the packet, or the packet says where
// they lie; the answer comes by the mailbox. The word of a mailbox:
//
//     48 .. 63  of the window's id          8 .. 15  pieces that somebody has begun
//     16 .. 47  number of the request       0 .. 7   pieces that are done
//
// Whoever raises the count of begun pieces, by a compare-and-swap of the word, does that piece. An
// accumulate is one piece, which the target begins within PATIENCE_NS, or the origin takes back. A
// copy has several, which both begin until there are none. A target that comes late finds another
// number, or all begun, and does nothing; also if the memory is another window's by now.
//
// Orders: the ring's stamp (release, acquire) shows the target the mailbox as the origin has laid it out.
// What the target stores, in its window and on the mailbox, comes before it adds to the done ones
// (release); the origin reads these with acquire.
//
// Only where every worker has a core. A worker has one mailbox: its ranks do not suspend while one asks.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/status.h"
#include "win/op.h"
#include "win/part.h"

// Asks the target to do the call, which has no gaps on any side; `at`: where in the target's process.
// MLT_OK: it is done. MLT_PENDING: the origin must do it, from byte *done on. MLT_ERR_INVALID: *fault
// says why it cannot be done. Never suspends.
mlt_status mlt_win_ask(mlt_win_side *side, mlt_win_peer *peer, const mlt_win_call *call,
                       uint64_t at, uint64_t *done, mlt_win_fault *fault) MLT_MUST_CHECK;

// Whether asking for a few bytes is faster than a call of the kernel.
static inline bool mlt_win_asks_first(void)
{
    return !MLT_ARCH_READS_PEERS;
}

// Asks the target to do a short put, `disp` as MPI counts it. MLT_OK: it is done. Otherwise the origin
// must do it. Never suspends.
mlt_status mlt_win_ask_put(mlt_win_side *side, mlt_win_peer *peer, int32_t target, int64_t disp,
                           const void *from, uint64_t bytes) MLT_MUST_CHECK;

// ASK or ASK_LONG came.
void mlt_win_ask_came(mlt_win_part *part, const mlt_packet *packet, const void *data,
                      uint64_t bytes);
