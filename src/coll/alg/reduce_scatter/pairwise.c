// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter, pairwise: in step s each sends the rank s further on its block, and reduces what
// comes from the one s further back. Two blocks of memory are used in turn.
//
// The order of ranks is kept: rank r gets the blocks of r-1 ... 0 and puts each before what it has.
// Then it gets those of P-1 ... r+1, reduces them apart in the same way, and appends the result.
#include "coll/alg/alg_int.h"
#include "coll/alg/halving.h"

// One of the two parts that are reduced apart.
typedef struct pile {
    mlt_goal_span at;
    uint32_t last; // that wrote it
    bool some;     // there is something in it
} pile;

void mlt_alg_reduce_scatter_pairwise(const mlt_emit *e)
{
    uint32_t rank = e->rank;
    uint64_t n = mlt_emit_bytes(e, rank);
    mlt_goal_span in, out;
    if (mlt_reduce_scatter_copy_if_alone(e, &in, &out))
        return;
    mlt_goal_span own = mlt_emit_blocks(e, in, rank, 1);
    mlt_goal_span tmp = mlt_emit_buffer_if(e, e->ranks > 2, "tmp", 2 * n);
    mlt_goal_span high = mlt_emit_buffer_if(e, rank && rank + 1 < e->ranks, "tmp_high", n);
    // Rank 0 has nobody below it, the others' own block goes into the first that comes from below.
    pile below = {out, NONE, false}, above = {rank ? high : out, NONE, false};
    uint32_t sent = NONE, got = NONE, free_after[2] = {NONE, NONE};
    for (uint32_t s = 1; s < e->ranks; s++) {
        uint32_t to = mlt_emit_up(e, rank, s), from = mlt_emit_down(e, rank, s);
        uint32_t send = mlt_emit_send(e, mlt_emit_blocks(e, in, to, 1), to, sent);
        mlt_emit_after(e, send, got);
        pile *to_pile = from < rank ? &below : &above;
        mlt_goal_span at = to_pile->some ? mlt_emit_part(tmp, s % 2 * n, n) : to_pile->at;
        got = mlt_emit_recv(e, at, from, to_pile->some ? free_after[s % 2] : (uint32_t)NONE);
        sent = send == NONE ? sent : send;
        uint32_t last = got;
        if (to_pile->some) {
            last = mlt_emit_exec_reversed(e, to_pile->at, at, got);
            mlt_emit_after(e, last, to_pile->last);
            free_after[s % 2] = last;
        } else if (from < rank) {
            last = mlt_emit_exec(e, out, own, got);
        }
        to_pile->some = true;
        to_pile->last = last;
    }
    if (!rank)
        mlt_emit_exec_reversed(e, out, own, above.last);
    else if (above.some)
        mlt_emit_after(e, mlt_emit_exec(e, out, high, above.last), below.last);
}
