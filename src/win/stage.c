// SPDX-License-Identifier: BSD-3-Clause
#include "win/stage.h"

#include <string.h>

#include "base/memory.h"
#include "os/os.h"
#include "win/across.h"
#include "win/help.h"
#include "win/side.h"

enum { RANGES = MLT_OS_PEER_PIECES, BYTES = 32 << 10 };

typedef struct mlt_win_stage {
    int32_t target;
    uint32_t ranges;
    uint32_t used; // bytes of data
    mlt_win_peer *peer;
    mlt_os_peer_piece range[RANGES];
    char data[BYTES];
} mlt_win_stage;

static mlt_win_stage *stage_of(mlt_win_side *side)
{
    mlt_win_busy *busy = mlt_win_busy_of(side);
    if (!busy->stage)
        busy->stage = mlt_xcalloc(1, sizeof *busy->stage);
    return busy->stage;
}

// The last range takes in what begins in it or at its end: its data are the last ones.
static bool combine(mlt_win_stage *stage, uint64_t at, const void *from, uint64_t bytes)
{
    mlt_os_peer_piece *last = &stage->range[stage->ranges - 1];
    if (stage->ranges == 0 || at < last->to || at > last->to + last->bytes)
        return false;
    uint64_t offset = at - last->to, end = offset + bytes;
    uint64_t begin = (uint64_t)((const char *)last->from - stage->data);
    if (begin + end > BYTES)
        return false;
    memcpy(stage->data + begin + offset, from, bytes);
    last->bytes = end > last->bytes ? end : last->bytes;
    stage->used = (uint32_t)(begin + last->bytes);
    return true;
}

bool mlt_win_stage_put(mlt_win_side *side, mlt_win_peer *peer, int32_t target, uint64_t at,
                       const void *from, uint64_t bytes)
{
    if (!mlt_win_busy_stays(side->part))
        return false;
    mlt_win_stage *stage = stage_of(side);
    if (stage->ranges && stage->target != target)
        mlt_win_stage_empty(side);
    if (stage->ranges && combine(stage, at, from, bytes))
        return true;
    if (stage->ranges == RANGES || bytes > BYTES - stage->used)
        mlt_win_stage_empty(side);
    if (stage->ranges == 0) {
        stage->target = target;
        stage->peer = peer;
        side->pending++;
    }
    char *to = stage->data + stage->used;
    memcpy(to, from, bytes);
    stage->range[stage->ranges++] = (mlt_os_peer_piece){.to = at, .from = to, .bytes = bytes};
    stage->used += (uint32_t)bytes;
    return true;
}

// All that is there leaves: by one packet if the target looks and it is little, or by one call.
static mlt_status leave(mlt_win_side *side, mlt_win_stage *stage)
{
    mlt_win_part *part = side->part;
    mlt_win_peer *peer = stage->peer;
    const mlt_os_peer_piece *one = &stage->range[0];
    const mlt_win_descriptor *descriptor = &peer->descriptors[stage->target - peer->first];
    // A dynamic window counts from address 0, by bytes.
    uint64_t base = part->flavor == MLT_WIN_DYNAMIC ? 0 : descriptor->base;
    if (stage->ranges == 1 && descriptor->unit &&
        mlt_win_ask_put(side, peer, stage->target, (int64_t)((one->to - base) / descriptor->unit),
                        one->from, one->bytes) == MLT_OK)
        return MLT_OK;
    return mlt_os_write_peer_pieces(mlt_win_process_of(part, peer), stage->range, stage->ranges);
}

void mlt_win_stage_empty(mlt_win_side *side)
{
    mlt_win_busy *busy = side->busy;
    mlt_win_stage *stage = busy ? busy->stage : NULL;
    if (!stage || stage->ranges == 0)
        return;
    if (leave(side, stage) != MLT_OK && !busy->fault) {
        busy->fault = side->part->flavor == MLT_WIN_DYNAMIC ? MLT_WIN_UNATTACHED : MLT_WIN_BEYOND;
        busy->fault_target = stage->target;
    }
    stage->ranges = stage->used = 0;
    side->pending--;
}
