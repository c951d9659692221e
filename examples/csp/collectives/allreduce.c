// SPDX-License-Identifier: BSD-3-Clause
// Allreduce: listing 12.
#include "collectives.h"

long allreduce(comm *c, long data, function *func)
{
    data = reduce_binom1(c, data, func);
    broadcast_binomial(c, &data, sizeof(data));
    return data;
}
