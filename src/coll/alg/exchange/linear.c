// SPDX-License-Identifier: BSD-3-Clause
// Exchange, linear: all messages at once, the nearest first.
#include "coll/alg/alg_int.h"
#include "coll/alg/exchange.h"

void mlt_alg_exchange_linear(const mlt_emit *e)
{
    mlt_exchange x = mlt_exchange_begin(e);
    for (uint32_t i = 0; i < x.recvs; i++)
        mlt_exchange_recv(e, &x, i, NONE);
    for (uint32_t i = 0; i < x.sends; i++)
        mlt_exchange_send(e, &x, i, NONE);
    mlt_exchange_end(&x);
}
