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

static void scattered_emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    mlt_exchange x = mlt_exchange_begin(&e);
    uint32_t window = mlt_emit_window(shape);
    for (uint32_t i = 0; i < x.recvs || i < x.sends; i++) {
        if (i < x.recvs)
            mlt_exchange_recv(&e, &x, i, scattered_before(x.recv, i, window));
        if (i < x.sends)
            mlt_exchange_send(&e, &x, i, scattered_before(x.send, i, window));
    }
    mlt_exchange_end(&x);
}

const mlt_coll_alg mlt_exchange_scattered = {
    .collective = MLT_COLL_EXCHANGE,
    .name = "scattered",
    .help = "a limited number of messages at once: many of them",
    .uses_window = true,
    .emit = scattered_emit,
};
