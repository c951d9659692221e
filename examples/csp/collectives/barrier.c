// SPDX-License-Identifier: BSD-3-Clause
// Barrier: listings 9 to 11. Messages are empty.
#include "collectives.h"

// Listing 9.
void barrier_non_par(comm *c)
{
    if (c->rank > 0) {
        // Tell the root, and hear from it when all have entered.
        send_to(c, 0, NULL, 0);
        recv_from(c, 0, NULL, 0);
        return;
    }
    for (int i = 1; i < c->groupsize; i++)
        recv_from(c, i, NULL, 0);
    for (int i = 1; i < c->groupsize; i++)
        send_to(c, i, NULL, 0);
}

// Listing 10.
void barrier_linear(comm *c)
{
    if (c->rank > 0) {
        send_to(c, 0, NULL, 0);
        recv_from(c, 0, NULL, 0);
    } else {
        recv_from_multiple(c, range(1, c->groupsize), NULL, 0);
        pass_on_multiple(c, range(1, c->groupsize), NULL, 0);
    }
}

// Listing 11.
void barrier_binom(comm *c)
{
    ranks children = binom_get_children(c->rank, c->groupsize);
    recv_from_multiple(c, children, NULL, 0);
    if (c->rank != 0) {
        int parent = binom_get_parent(c->rank);
        send_to(c, parent, NULL, 0);
        recv_from(c, parent, NULL, 0);
    }
    pass_on_multiple(c, children, NULL, 0);
}
