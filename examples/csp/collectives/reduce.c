// SPDX-License-Identifier: BSD-3-Clause
// Reduce: listings 5 to 8, and as messages arrive, which the paper left open.
#include "collectives.h"

// Listing 5.
long reduce_linear(comm *c, long data, function *func)
{
    long v = data, t;
    if (c->rank != 0) {
        send_to(c, 0, &data, sizeof(data));
        return data;
    }
    if (c->groupsize == 1)
        return data;
    // From the highest rank towards the root.
    recv_from(c, c->groupsize - 1, &v, sizeof(v));
    for (int i = c->groupsize - 2; i > 0; i--) {
        recv_from(c, i, &t, sizeof(t));
        v = func(t, v);
    }
    return func(data, v);
}

// Listing 6.
long reduce_binom1(comm *c, long data, function *func)
{
    ranks from, to;
    get_reduce_peers_binom(c, &from, &to);
    long v = data, t;
    for (int i = 0; i < from.count; i++) {
        recv_from(c, from.rank[i], &t, sizeof(t));
        v = func(v, t);
    }
    for (int i = 0; i < to.count; i++)
        send_to(c, to.rank[i], &v, sizeof(v));
    return v;
}

// Listing 7: all messages at once; func has to wait for the last.
long reduce_binom2(comm *c, long data, function *func)
{
    ranks from, to;
    get_reduce_peers_binom(c, &from, &to);
    long v = data, t[COMM_MOST];
    recv_from_multiple(c, from, t, sizeof(t[0]));
    for (int i = 0; i < from.count; i++)
        v = func(v, t[from.rank[i]]);
    for (int i = 0; i < to.count; i++)
        send_to(c, to.rank[i], &v, sizeof(v));
    return v;
}

// Listing 8: a chain of processes. Each receives from one peer while the rest of the chain has
// the result of the others; func is called as soon as its two arguments are there.
typedef struct chain {
    comm *c;
    function *func;
    const int *peer;
    int count;
    long result;
} chain;

static int reduce_1(void *arg)
{
    chain *my = arg;
    if (my->count == 1) {
        recv_from(my->c, my->peer[0], &my->result, sizeof(my->result));
        return 0;
    }
    long first;
    chain rest = {my->c, my->func, my->peer + 1, my->count - 1, 0};
    message m = {my->c, my->peer[0], &first, sizeof(first)};
    CSP_PAR({recv_from_other, &m}, {reduce_1, &rest});
    my->result = my->func(first, rest.result);
    return 0;
}

long reduce_binom3(comm *c, long data, function *func)
{
    ranks from, to;
    get_reduce_peers_binom(c, &from, &to);
    long v = data;
    if (from.count > 0) {
        chain all = {c, func, from.rank, from.count, 0};
        reduce_1(&all);
        v = func(v, all.result);
    }
    for (int i = 0; i < to.count; i++)
        send_to(c, to.rank[i], &v, sizeof(v));
    return v;
}

// Out of order, as messages arrive: an alternation over those that are still awaited. The function
// must commute.
long reduce_as_they_come(comm *c, long data, function *func)
{
    ranks from, to;
    get_reduce_peers_binom(c, &from, &to);
    long v = data, t;
    while (from.count > 0) {
        recv_from_any(c, &from, &t, sizeof(t));
        v = func(v, t);
    }
    for (int i = 0; i < to.count; i++)
        send_to(c, to.rank[i], &v, sizeof(v));
    return v;
}
