// SPDX-License-Identifier: BSD-3-Clause
// Exchange, linear: all messages at once, the nearest first.
#include "coll/alg/alg_int.h"
#include "coll/alg/exchange.h"

static void exchange_linear_emit(const mlt_coll_shape *shape, mlt_goal_program *program,
                                 uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    mlt_exchange x = mlt_exchange_begin(&e);
    for (uint32_t i = 0; i < x.recvs; i++)
        mlt_exchange_recv(&e, &x, i, NONE);
    for (uint32_t i = 0; i < x.sends; i++)
        mlt_exchange_send(&e, &x, i, NONE);
    mlt_exchange_end(&x);
}

const mlt_coll_alg mlt_exchange_linear = {
    .collective = MLT_COLL_EXCHANGE,
    .name = "linear",
    .help = "all messages at once: few of them",
    .emit = exchange_linear_emit,
};
