// SPDX-License-Identifier: BSD-3-Clause
// Scatter: listing 16.
#include "collectives.h"

long scatter_seq(comm *c, const long *data)
{
    long mine;
    if (c->rank != 0) {
        recv_from(c, 0, &mine, sizeof(mine));
        return mine;
    }
    for (int i = 1; i < c->groupsize; i++)
        send_to(c, i, &data[i], sizeof(data[i]));
    return data[0];
}

long scatter_par(comm *c, const long *data)
{
    long mine;
    if (c->rank != 0) {
        recv_from(c, 0, &mine, sizeof(mine));
        return mine;
    }
    scatter_send(c, data, range(1, c->groupsize));
    return data[0];
}
