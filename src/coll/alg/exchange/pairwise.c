// SPDX-License-Identifier: BSD-3-Clause
// Exchange, pairwise: one distance after the other; what goes to the rank d further on and comes
// from the one d further back is done before the next distance. So no end point is crowded.
#include "coll/alg/alg_int.h"
#include "coll/alg/exchange.h"

// All that a distance has: entries [first, last) of either list.
typedef struct exchange_pairwise_step {
    uint32_t send[2], recv[2];
} exchange_pairwise_step;

// Entries from *at on that have that distance.
static void exchange_pairwise_take(const mlt_exchange_entry *list, uint32_t count,
                                   uint32_t distance, uint32_t *at, uint32_t range[2])
{
    range[0] = *at;
    while (*at < count && list[*at].distance == distance)
        ++*at;
    range[1] = *at;
}

void mlt_alg_exchange_pairwise(const mlt_emit *e)
{
    mlt_exchange x = mlt_exchange_begin(e);
    uint32_t s = 0, r = 0, done[2] = {NONE, NONE}; // what the next distance waits for
    while (s < x.sends || r < x.recvs) {
        uint32_t near = s < x.sends ? x.send[s].distance : x.recv[r].distance;
        if (r < x.recvs && x.recv[r].distance < near)
            near = x.recv[r].distance;
        exchange_pairwise_step now;
        exchange_pairwise_take(x.recv, x.recvs, near, &r, now.recv);
        exchange_pairwise_take(x.send, x.sends, near, &s, now.send);
        uint32_t recvs = now.recv[1] - now.recv[0], sends = now.send[1] - now.send[0];
        for (uint32_t i = now.recv[0]; i < now.recv[1]; i++)
            mlt_emit_after(e, mlt_exchange_recv(e, &x, i, done[0]), done[1]);
        for (uint32_t i = now.send[0]; i < now.send[1]; i++)
            mlt_emit_after(e, mlt_exchange_send(e, &x, i, done[0]), done[1]);
        done[0] = recvs ? x.recv[now.recv[0]].action : (uint32_t)NONE;
        done[1] = sends ? x.send[now.send[0]].action : (uint32_t)NONE;
        if (recvs < 2 && sends < 2)
            continue;
        uint32_t all = mlt_emit_nop(e, NONE); // several are waited for by way of one
        for (uint32_t i = now.recv[0]; i < now.recv[1]; i++)
            mlt_emit_after(e, all, x.recv[i].action);
        for (uint32_t i = now.send[0]; i < now.send[1]; i++)
            mlt_emit_after(e, all, x.send[i].action);
        done[0] = all;
        done[1] = NONE;
    }
    mlt_exchange_end(&x);
}
