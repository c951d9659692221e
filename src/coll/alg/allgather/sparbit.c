// SPDX-License-Identifier: BSD-3-Clause
// Allgather, sparbit: ceil(log2 P) steps for any P, and every block goes straight to its place in
// `out`. Distances halve: with step d a rank has the blocks r, r - 2d, r - 4d, ... of all P, and
// gets r - d, r - 3d, ... from the rank d before it. So the far go first, when there is little to
// send.
//
//     P = 6, blocks of rank 0 by their distance    d = 4: 4    d = 2: 2    d = 1: 1 3 5
#include <stdlib.h>

#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"

void mlt_alg_allgather_sparbit(const mlt_emit *e)
{
    uint32_t rank = e->rank;
    mlt_goal_span out;
    uint32_t copy, step = 1;
    mlt_goal_span in = mlt_emit_gathered(e, &out, &copy);
    uint32_t *got = mlt_emit_actions(e->ranks); // by distance
    while (step < e->ranks - step)
        step *= 2;
    for (; e->ranks > 1 && step; step /= 2) {
        uint32_t to = mlt_emit_up(e, rank, step), from = mlt_emit_down(e, rank, step);
        // The last one that is wanted, r - far, has a distance below P.
        for (uint64_t far = step; far < e->ranks; far += 2ull * step) {
            uint32_t mine = (uint32_t)far - step, theirs = mlt_emit_down(e, rank, (uint32_t)far);
            mlt_goal_span have = mlt_emit_blocks(e, out, mlt_emit_down(e, rank, mine), 1);
            mlt_emit_send(e, mine ? have : in, to, got[mine]);
            got[far] = mlt_emit_recv(e, mlt_emit_blocks(e, out, theirs, 1), from, NONE);
        }
    }
    free(got);
}
