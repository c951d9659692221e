// SPDX-License-Identifier: BSD-3-Clause
// Gather: listings 13 and 14.
#include "collectives.h"

// Listing 13.
void gather_seq(comm *c, long data, long *all)
{
    if (c->rank != 0) {
        send_to(c, 0, &data, sizeof(data));
    } else {
        all[0] = data;
        for (int i = 1; i < c->groupsize; i++)
            recv_from(c, i, &all[i], sizeof(all[i]));
    }
}

// Listing 14: nobody waits for a slower one that is earlier in the list.
void gather_par(comm *c, long data, long *all)
{
    if (c->rank != 0) {
        send_to(c, 0, &data, sizeof(data));
    } else {
        all[0] = data;
        recv_from_multiple(c, range(1, c->groupsize), all, sizeof(all[0]));
    }
}
