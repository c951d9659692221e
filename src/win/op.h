// SPDX-License-Identifier: BSD-3-Clause
// Operations on a window: done at once where the target's memory is in reach, by packets elsewhere.
//
// An operation by packets goes in pieces, at most OP_PIECES of a rank at a time; the target's worker
// confirms each, and the next one leaves then. So memory on the way is bounded, whatever is put. The
// buffers stay the caller's until the rank has waited for its operations; types are copied.
// Operations of a rank leave in the order of calls, and packets keep it.
//
// The target's datatype does not travel: each piece tells the runs of blocks that its bytes go to.
// That needs no table of types at the target and no decoder of trees, and a vector is one run.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "p2p/p2p.h"
#include "type/type.h"
#include "win/apply.h"
#include "win/cache.h"
#include "win/part.h"

typedef struct mlt_win_data {
    void *buf;
    uint64_t count;
    const mlt_type *type;
} mlt_win_data;

typedef struct mlt_win_call {
    mlt_win_operation operation;
    int32_t target;
    int64_t disp;
    mlt_win_data there;  // of the target; buf: unused
    mlt_win_data origin; // what is put or accumulated
    mlt_win_data result; // what is got or fetched
    const void *compare; // SWAP
    mlt_req *req;        // completed when it is done, unless it is done at once; NULL: none
} mlt_win_call;

// Why a target's memory cannot be used.
typedef enum mlt_win_fault {
    MLT_WIN_FINE,
    MLT_WIN_BEYOND,     // part of it is outside of the window
    MLT_WIN_UNATTACHED, // part of it is not attached to the dynamic window
    MLT_WIN_NONE,       // the target has no such window (any more), or the packet was nonsense
} mlt_win_fault;

// All three have as many bytes, as far as the verb uses them. MLT_OK: it is done. MLT_PENDING: by
// packets; side->pending counts it. MLT_ERR_INVALID: nothing was done, *fault says why. Never suspends.
mlt_status mlt_win_do(mlt_win_side *side, const mlt_win_call *call,
                      mlt_win_fault *fault) MLT_MUST_CHECK;

// The everyday case: where `bytes` bytes of the target's memory lie here, and its descriptor.
// NULL: it is not the everyday case; mlt_win_do knows all.
static MLT_INLINE char *mlt_win_plain(const mlt_win_side *side, int32_t target, int64_t disp,
                                      uint64_t bytes, mlt_win_descriptor **descriptor)
{
    const mlt_win_part *part = side->part;
    bool single = MLT_LIKELY(part->single);
    if (!single && MLT_UNLIKELY(!part->plain))
        return NULL;
    const mlt_win_peer *peer =
        &part->peers[single ? (uint32_t)target : mlt_win_plain_place(part, target)];
    if (MLT_UNLIKELY(!peer->direct))
        return NULL;
    mlt_win_descriptor *its = *descriptor = &peer->descriptors[single ? 0 : target - peer->first];
    int64_t at; // below 0: beyond all sizes
    if (MLT_UNLIKELY(__builtin_mul_overflow(disp, (int64_t)its->unit, &at) ||
                     (uint64_t)at > its->size || bytes > its->size - (uint64_t)at))
        return NULL;
    return (char *)(uintptr_t)(its->base + (uint64_t)peer->shift + (uint64_t)at);
}

// An operation by packets on that target is not done.
bool mlt_win_op_goes_to(const mlt_win_side *side, int32_t target);

// The open operation of a read that completes `req`: what it brings goes into `kept`, too, before the
// request is complete. Takes over the caller's reference. False: there is no such operation, and nothing was done.
bool mlt_win_op_keep(mlt_win_side *side, const mlt_req *req, mlt_win_kept *kept) MLT_MUST_CHECK;

// Packets of operations came.
void mlt_win_op_came(mlt_win_part *part, const mlt_packet *packet, const void *data,
                     uint64_t bytes);
void mlt_win_done_came(mlt_win_part *part, const mlt_packet *packet, const void *data,
                       uint64_t bytes);
