// SPDX-License-Identifier: BSD-3-Clause
// Allgather: listing 15.
#include "collectives.h"

void allgather(comm *c, long data, long *all)
{
    gather_par(c, data, all);
    broadcast_binomial(c, all, (size_t)c->groupsize * sizeof(all[0]));
}
