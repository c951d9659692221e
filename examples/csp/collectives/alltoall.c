// SPDX-License-Identifier: BSD-3-Clause
// Alltoall: listing 17.
#include "collectives.h"

void scatter_send(comm *c, const long *data, ranks to)
{
    message m[COMM_MOST];
    for (int i = 0; i < to.count; i++)
        m[i] = (message){c, to.rank[i], (void *)&data[to.rank[i]], sizeof(data[0])};
    csp_par_each(pass_on, m, (size_t)to.count, sizeof(m[0]), "pass_on", NULL);
}

typedef struct exchange {
    comm *c;
    const long *data;
    long *all;
} exchange;

static int scatter_send_p(void *arg)
{
    exchange *my = arg;
    scatter_send(my->c, my->data, others(my->c));
    return 0;
}

static int recv_from_multiple_p(void *arg)
{
    exchange *my = arg;
    recv_from_multiple(my->c, others(my->c), my->all, sizeof(my->all[0]));
    return 0;
}

void alltoall(comm *c, const long *data, long *all)
{
    exchange x = {c, data, all};
    all[c->rank] = data[c->rank];
    CSP_PAR({scatter_send_p, &x}, {recv_from_multiple_p, &x});
}
