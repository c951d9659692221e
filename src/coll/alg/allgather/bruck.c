// SPDX-License-Identifier: BSD-3-Clause
// Allgather, Bruck: ceil(log2 P) rounds for any P, or with a radix k ceil(logk P) rounds of k - 1
// messages. Rank r collects blocks r, r+1, ... in a row; when it has h of them it gets the next h
// from the rank h further on, as many after that from the rank 2h further on, and so on. Each lot
// is copied to its place in `out` as it comes.
#include <stdlib.h>

#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"
#include "coll/alg/tree.h"

// Blocks [first, first + count) of the row go to out, which may end in between.
static void place(const mlt_emit *e, mlt_goal_span out, mlt_goal_span row, uint32_t first,
                  uint32_t count, uint32_t recv)
{
    uint32_t at = mlt_emit_up(e, e->rank, first), fit = e->ranks - at;
    if (fit > count)
        fit = count;
    mlt_emit_copy(e, mlt_emit_blocks(e, out, at, fit), mlt_emit_row(e, row, e->rank, first, fit),
                  recv);
    mlt_emit_copy(e, mlt_emit_blocks(e, out, 0, count - fit),
                  mlt_emit_row(e, row, e->rank, first + fit, count - fit), recv);
}

// At most so many messages come.
static uint32_t most_lots(uint32_t ranks, uint32_t radix)
{
    uint64_t rounds = 0, most;
    for (uint64_t have = 1; have < ranks; have *= radix)
        rounds++;
    most = rounds * (radix - 1);
    return most < ranks ? (uint32_t)most : ranks;
}

void mlt_alg_allgather_bruck(const mlt_emit *e)
{
    uint32_t rank = e->rank;
    mlt_goal_span out;
    uint32_t copy, own = NONE, lots = 0, radix = e->shape->radix ? e->shape->radix : 2;
    mlt_goal_span in = mlt_emit_gathered(e, &out, &copy);
    mlt_goal_span row = mlt_emit_buffer_if(e, e->ranks > 1, "tmp", mlt_emit_all(e));
    if (e->ranks > radix)
        own = mlt_emit_copy(e, mlt_emit_row(e, row, rank, 0, 1), in, NONE);
    uint32_t *starts = mlt_emit_actions(most_lots(e->ranks, radix));
    uint32_t *got = mlt_emit_actions(most_lots(e->ranks, radix));
    for (uint64_t have = 1; have < e->ranks; have *= radix)
        for (uint64_t first = have; first < e->ranks && first < have * radix; first += have) {
            uint32_t by = (uint32_t)first, rest = e->ranks - by;
            uint32_t count = have < rest ? (uint32_t)have : rest;
            uint32_t to = mlt_emit_down(e, rank, by), from = mlt_emit_up(e, rank, by);
            if (have == 1) {
                mlt_emit_send(e, in, to, NONE);
            } else {
                uint32_t send = mlt_emit_send(e, mlt_emit_row(e, row, rank, 0, count), to, own);
                for (uint32_t i = 0; i < lots && starts[i] < count; i++)
                    mlt_emit_after(e, send, got[i]);
            }
            starts[lots] = by;
            got[lots] = mlt_emit_recv(e, mlt_emit_row(e, row, rank, by, count), from, NONE);
            place(e, out, row, by, count, got[lots++]);
        }
    free(starts);
    free(got);
}
