// SPDX-License-Identifier: BSD-3-Clause
// Broadcast: listings 2, 3 and 4. (pass_on and pass_on_multiple, of listings 2 and 3, are in
// comm.c. In listing 4 as printed the root passes nothing on: the call is one level too deep. And
// the paper receives from anybody, which may be somebody who is in the next operation already.)
#include "collectives.h"

void broadcast_linear(comm *c, void *data, size_t bytes)
{
    if (c->rank == 0)
        pass_on_multiple(c, range(1, c->groupsize), data, bytes);
    else
        recv_from(c, 0, data, bytes);
}

void broadcast_binomial(comm *c, void *data, size_t bytes)
{
    if (c->rank != 0)
        recv_from(c, binom_get_parent(c->rank), data, bytes);
    pass_on_multiple(c, binom_get_children(c->rank, c->groupsize), data, bytes);
}
