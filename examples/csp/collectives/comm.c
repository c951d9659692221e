// SPDX-License-Identifier: BSD-3-Clause
// The communicator of comm.h.
#include "comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Through a channel goes where the data are; then, when the reader has copied them, anything.
typedef struct letter {
    const void *data;
    size_t bytes;
} letter;

static void must(csp_status status, const char *what)
{
    if (status != CSP_OK) {
        fprintf(stderr, "%s: %s %s\n", what, csp_status_text(status), csp_why());
        exit(1);
    }
}

static void port_name(char *name, size_t size, int from)
{
    snprintf(name, size, "comm from %d", from);
}

void send_to(comm *c, int rank, const void *data, size_t bytes)
{
    if (c->out) {
        letter l = {data, bytes};
        must(csp_write(c->out[rank], &l), "send_to");
        must(csp_write(c->out[rank], &l), "send_to");
        return;
    }
    char name[32];
    port_name(name, sizeof(name), c->rank);
    if (!c->targets[rank])
        must(csp_target_at(rank, name, &c->targets[rank], CSP_NEVER), "send_to");
    must(csp_send(c->targets[rank], data, bytes), "send_to");
}

static void take(comm *c, int rank, letter l, void *data, size_t bytes)
{
    if (l.bytes > bytes)
        must(CSP_TOO_LONG, "recv_from");
    if (l.bytes > 0)
        memcpy(data, l.data, l.bytes);
    must(csp_read(c->in[rank], &l), "recv_from");
}

void recv_from(comm *c, int rank, void *data, size_t bytes)
{
    letter l;
    if (c->in) {
        must(csp_read(c->in[rank], &l), "recv_from");
        take(c, rank, l, data, bytes);
    } else {
        must(csp_receive(c->ports[rank], data, bytes, NULL, NULL), "recv_from");
    }
}

void recv_from_any(comm *c, ranks *from, void *data, size_t bytes)
{
    csp_guard guards[COMM_MOST];
    letter l;
    for (int i = 0; i < from->count; i++)
        guards[i] = c->in ? csp_on_read(c->in[from->rank[i]], &l)
                          : csp_on_port(c->ports[from->rank[i]], data, bytes);
    int i = csp_alt(guards, (size_t)from->count);
    must(guards[i].status, "recv_from_any");
    if (c->in)
        take(c, from->rank[i], l, data, bytes);
    from->rank[i] = from->rank[--from->count];
}

ranks range(int first, int end)
{
    ranks list = {.count = 0};
    for (int i = first; i < end; i++)
        list.rank[list.count++] = i;
    return list;
}

ranks others(const comm *c)
{
    ranks list = range(0, c->groupsize - 1);
    for (int i = c->rank; i < list.count; i++)
        list.rank[i]++;
    return list;
}

int pass_on(void *arg)
{
    message *m = arg;
    send_to(m->c, m->rank, m->data, m->bytes);
    return 0;
}

int recv_from_other(void *arg)
{
    message *m = arg;
    recv_from(m->c, m->rank, m->data, m->bytes);
    return 0;
}

void pass_on_multiple(comm *c, ranks to, const void *data, size_t bytes)
{
    message m[COMM_MOST];
    for (int i = 0; i < to.count; i++)
        m[i] = (message){c, to.rank[i], (void *)data, bytes};
    csp_par_each(pass_on, m, (size_t)to.count, sizeof(m[0]), "pass_on", NULL);
}

void recv_from_multiple(comm *c, ranks from, void *data, size_t bytes)
{
    message m[COMM_MOST];
    for (int i = 0; i < from.count; i++)
        m[i] = (message){c, from.rank[i],
                         bytes ? (char *)data + (size_t)from.rank[i] * bytes : NULL, bytes};
    csp_par_each(recv_from_other, m, (size_t)from.count, sizeof(m[0]), "recv_from", NULL);
}

// ---- trees

// Rank r's children are r + 2^k for each 2^k above its highest bit.
ranks binom_get_children(int rank, int groupsize)
{
    ranks list = {.count = 0};
    int bit = 1;
    while (bit <= rank)
        bit *= 2;
    for (; rank + bit < groupsize; bit *= 2)
        list.rank[list.count++] = rank + bit;
    return list;
}

int binom_get_parent(int rank)
{
    int bit = 1;
    while (bit * 2 <= rank)
        bit *= 2;
    return rank - bit;
}

// Rank r's children are r + 2^k for each 2^k below its lowest bit.
void get_reduce_peers_binom(const comm *c, ranks *from, ranks *to)
{
    from->count = to->count = 0;
    for (int bit = 1; bit < c->groupsize; bit *= 2) {
        if (c->rank & bit) {
            to->rank[to->count++] = c->rank - bit;
            return;
        }
        if (c->rank + bit < c->groupsize)
            from->rank[from->count++] = c->rank + bit;
    }
}

// ---- the group

typedef struct member_args {
    comm c;
    int (*member)(comm *c);
} member_args;

static int run_member(void *arg)
{
    member_args *my = arg;
    return my->member(&my->c);
}

static int run_nodes(int (*member)(comm *c))
{
    csp_port *ports[COMM_MOST];
    csp_target *targets[COMM_MOST] = {NULL};
    comm c = {.rank = csp_node(), .groupsize = csp_nodes(), .ports = ports, .targets = targets};
    for (int i = 0; i < c.groupsize; i++) {
        char name[32];
        port_name(name, sizeof(name), i);
        ports[i] = csp_port_new(name, 0);
    }
    int result = member(&c);
    for (int i = 0; i < c.groupsize; i++) {
        csp_target_free(targets[i]);
        csp_port_free(ports[i]);
    }
    return result;
}

static int run_here(int n, int (*member)(comm *c))
{
    csp_chan *chans[COMM_MOST * COMM_MOST];
    csp_in *ins[COMM_MOST * COMM_MOST];
    csp_out *outs[COMM_MOST * COMM_MOST];
    member_args members[COMM_MOST];
    int count = 0;
    for (int i = 0; i < n * n; i++) {
        char name[32];
        snprintf(name, sizeof(name), "from %d to %d", i % n, i / n);
        chans[i] = csp_chan_new(name, sizeof(letter));
        ins[i] = csp_chan_in(chans[i]);                   // [to][from]
        outs[i % n * n + i / n] = csp_chan_out(chans[i]); // [from][to]
    }
    for (int i = 0; i < n; i++)
        members[i] = (member_args){
            {.rank = i, .groupsize = n, .in = ins + i * n, .out = outs + i * n, .count = &count},
            member};
    int result = csp_par_each(run_member, members, (size_t)n, sizeof(members[0]), "member", NULL);
    for (int i = 0; i < n * n; i++)
        csp_chan_free(chans[i]);
    return result;
}

int comm_run(int argc, char **argv, int (*member)(comm *c))
{
    int n = csp_nodes() > 1 ? csp_nodes() : argc > 1 ? atoi(argv[1]) : 8;
    if (n < 1 || n > COMM_MOST) {
        fprintf(stderr, "a group has 1 to %d members\n", COMM_MOST);
        return 2;
    }
    return csp_nodes() > 1 ? run_nodes(member) : run_here(n, member);
}
