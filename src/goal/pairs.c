// SPDX-License-Identifier: BSD-3-Clause
// Both ends of every message get the key (from, to, tag, order of the program); sends and receives
// are sorted by it and merged.
#include "goal/pairs.h"

#include <stdlib.h>

#include "base/memory.h"

typedef struct end {
    uint32_t from, to;
    int32_t tag;
    uint32_t action; // of the sender or of the receiver
} end;

static int pairs_compare_flow(const end *a, const end *b)
{
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    return a->tag < b->tag ? -1 : a->tag > b->tag;
}

static int compare(const void *pa, const void *pb)
{
    const end *a = pa, *b = pb;
    int flow = pairs_compare_flow(a, b);
    return flow ? flow : a->action < b->action ? -1 : a->action > b->action;
}

// The ends of one side, sorted.
static end *ends(const mlt_goal_program *program, bool sends, uint64_t count)
{
    end *out = mlt_xcalloc(count, sizeof *out);
    uint64_t n = 0;
    for (uint32_t r = 0; r < program->ranks; r++)
        for (uint32_t a = 0; a < program->rank[r].count; a++) {
            const mlt_goal_action *action = &program->rank[r].actions[a];
            if (!mlt_goal_is_message(action) || (action->kind == MLT_GOAL_SEND) != sends)
                continue;
            uint32_t peer = (uint32_t)action->peer;
            out[n++] = (end){sends ? r : peer, sends ? peer : r, action->tag, a};
        }
    qsort(out, n, sizeof *out, compare);
    return out;
}

mlt_goal_pairs *mlt_goal_pairs_new(const mlt_goal_program *program)
{
    mlt_goal_pairs *pairs = mlt_xcalloc(1, sizeof *pairs);
    pairs->first = mlt_xcalloc((size_t)program->ranks + 1, sizeof *pairs->first);
    uint64_t sends = 0, recvs = 0;
    for (uint32_t r = 0; r < program->ranks; r++) {
        pairs->first[r + 1] = pairs->first[r] + program->rank[r].count;
        for (uint32_t a = 0; a < program->rank[r].count; a++) {
            sends += program->rank[r].actions[a].kind == MLT_GOAL_SEND;
            recvs += mlt_goal_is_recv(&program->rank[r].actions[a]);
        }
    }
    uint64_t all = pairs->first[program->ranks];
    pairs->other = mlt_xcalloc(all, sizeof *pairs->other);
    for (uint64_t i = 0; i < all; i++)
        pairs->other[i].action = MLT_GOAL_NONE;
    end *send = ends(program, true, sends), *recv = ends(program, false, recvs);
    pairs->unmatched = sends + recvs;
    for (uint64_t s = 0, r = 0; s < sends && r < recvs;) {
        int flow = pairs_compare_flow(&send[s], &recv[r]);
        if (flow < 0) {
            s++;
        } else if (flow > 0) {
            r++;
        } else {
            pairs->other[pairs->first[send[s].from] + send[s].action] =
                (mlt_goal_place){recv[r].to, recv[r].action};
            pairs->other[pairs->first[recv[r].to] + recv[r].action] =
                (mlt_goal_place){send[s].from, send[s].action};
            pairs->unmatched -= 2;
            s++;
            r++;
        }
    }
    free(send);
    free(recv);
    return pairs;
}

void mlt_goal_pairs_free(mlt_goal_pairs *pairs)
{
    if (!pairs)
        return;
    free(pairs->first);
    free(pairs->other);
    free(pairs);
}
