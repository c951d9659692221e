// SPDX-License-Identifier: BSD-3-Clause
#include "win/packet.h"

#include "win/help.h"
#include "win/op.h"
#include "win/side.h"

void mlt_win_tell(mlt_win_part *part, mlt_win_packet_kind kind, int32_t src, int32_t dst,
                  int32_t word, const void *data, uint64_t bytes)
{
    const mlt_packet packet = {
        .kind = (uint16_t)kind, .object = part->id, .word = word, .src = src, .dst = dst};
    uint32_t to = part->peers[mlt_win_place_of(part, dst)].worker;
    mlt_p2p_packet(part->worker, to, &packet, data, bytes);
}

void mlt_win_tell_woken(mlt_win_part *part, uint32_t node)
{
    int32_t rank = mlt_win_node_rank(node);
    mlt_win_tell(part, MLT_WIN_PACKET_WOKEN, rank, rank, mlt_win_node_is_proxy(node), NULL, 0);
}

static bool is_rank(const mlt_win_part *part, int32_t rank)
{
    return (uint32_t)rank < (uint32_t)part->ranks;
}

// Within a job a packet's ranks say enough. A worker of another job speaks for its own ranks only, so
// for none of a window that the job has no part of.
static bool may_speak(const mlt_win_part *part, uint32_t from, int32_t src)
{
    return from < part->worker->boot->job->workers ||
           part->peers[mlt_win_place_of(part, src)].worker == from;
}

void mlt_win_packet(mlt_worker *worker, uint32_t from, const mlt_packet *packet, const void *data,
                    uint64_t bytes)
{
    mlt_win_part *part = mlt_win_part_find(worker, packet->object);
    if (!part || !is_rank(part, packet->src) || !mlt_win_side_of(part, packet->dst) ||
        !may_speak(part, from, packet->src))
        return; // the origin waits for ever, and says what for
    switch ((mlt_win_packet_kind)packet->kind) {
    case MLT_WIN_PACKET_OP:
        mlt_win_op_came(part, packet, data, bytes);
        return;
    case MLT_WIN_PACKET_DONE:
        mlt_win_done_came(part, packet, data, bytes);
        return;
    case MLT_WIN_PACKET_ASK:
    case MLT_WIN_PACKET_ASK_LONG:
        mlt_win_ask_came(part, packet, data, bytes);
        return;
    default:
        mlt_win_sync_came(part, packet);
    }
}
