// SPDX-License-Identifier: BSD-3-Clause
// Broadcast, split binary tree: the ranks beside the root are two binary trees of the same size,
// one of them larger by one rank at most. Either gets half of the block, in segments; then pairs of
// ranks, one of each, exchange halves. A rank without partner gets the other half from the root.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"

typedef struct split_binary_half {
    mlt_goal_span block;
    uint32_t first, size; // its ranks, counted from the root
} split_binary_half;

static mlt_goal_span segment_of(const mlt_emit *e, mlt_goal_span block, uint64_t s)
{
    uint64_t bytes = mlt_coll_segment(e->shape) * e->element, at = s * bytes;
    if (at >= block.size)
        return mlt_emit_part(block, 0, 0);
    return mlt_emit_part(block, at, bytes < block.size - at ? bytes : block.size - at);
}

static void at_root(const mlt_emit *e, const split_binary_half h[2], uint64_t s)
{
    for (int side = 0; side < 2; side++)
        if (h[side].size)
            mlt_emit_send(e, segment_of(e, h[side].block, s), mlt_emit_real(e, h[side].first),
                          NONE);
    if (h[0].size > h[1].size)
        mlt_emit_send(e, segment_of(e, h[1].block, s), mlt_emit_real(e, h[0].size), NONE);
}

// The i-th rank of a half.
static void below(const mlt_emit *e, const split_binary_half *mine, const split_binary_half *other,
                  uint32_t i, uint64_t s)
{
    mlt_goal_span own = segment_of(e, mine->block, s), theirs = segment_of(e, other->block, s);
    uint32_t parent = i ? mine->first + (i - 1) / 2 : 0;
    uint32_t recv = mlt_emit_recv(e, own, mlt_emit_real(e, parent), NONE);
    for (uint32_t child = 2 * i + 1; child <= 2 * i + 2 && child < mine->size; child++)
        mlt_emit_send(e, own, mlt_emit_real(e, mine->first + child), recv);
    uint32_t partner = i < other->size ? other->first + i : 0;
    if (partner)
        mlt_emit_send(e, own, mlt_emit_real(e, partner), recv);
    mlt_emit_recv(e, theirs, mlt_emit_real(e, partner), NONE);
}

void mlt_alg_bcast_split_binary(const mlt_emit *e)
{
    mlt_goal_span buf = mlt_emit_buffer(e, "buf", e->n);
    uint32_t v = mlt_emit_virtual(e), more = e->ranks / 2;
    const split_binary_half h[2] = {
        {mlt_emit_pieces(e, buf, 2, 0, 1), 1, more},
        {mlt_emit_pieces(e, buf, 2, 1, 2), 1 + more, e->ranks - 1 - more}};
    for (uint64_t s = 0; segment_of(e, h[0].block, s).size; s++) {
        if (!v)
            at_root(e, h, s);
        else if (v <= more)
            below(e, &h[0], &h[1], v - 1, s);
        else
            below(e, &h[1], &h[0], v - 1 - more, s);
    }
}
