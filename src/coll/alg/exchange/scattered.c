// SPDX-License-Identifier: BSD-3-Clause
// Exchange, scattered: a limited number of messages each way is under way at a time.
#include "coll/alg/alg_int.h"
#include "coll/alg/exchange.h"

// What entry i waits for: the one `window` before it, or the last one that is nearer.
static uint32_t scattered_before(const mlt_exchange_entry *list, uint32_t i, uint32_t window)
{
    if (i < window || !list[i].first)
        return NONE;
    uint32_t on = i - window;
    return list[on < list[i].first ? on : list[i].first - 1].action;
}

void mlt_alg_exchange_scattered(const mlt_emit *e)
{
    mlt_exchange x = mlt_exchange_begin(e);
    uint32_t window = mlt_emit_window(e->shape);
    for (uint32_t i = 0; i < x.recvs || i < x.sends; i++) {
        if (i < x.recvs)
            mlt_exchange_recv(e, &x, i, scattered_before(x.recv, i, window));
        if (i < x.sends)
            mlt_exchange_send(e, &x, i, scattered_before(x.send, i, window));
    }
    mlt_exchange_end(&x);
}
