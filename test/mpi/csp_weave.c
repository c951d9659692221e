// SPDX-License-Identifier: BSD-3-Clause
// Alternations over channels of this node and of others, where nobody comes by who would serve a
// pair that was forgotten: one lost wake-up, and the job ends as a deadlock.
//
//     renew   node 0: ALT {read H, write F}, and a process that writes H once
//             node 1: ALT {read F, read G}, and a process that writes G once
//     weave   every node: a server that alternates over a channel of its own and one of its
//             neighbour, and writers that alternate over any two channels
//
// H and F are channels of node 0 and of node 1. While node 0's alternation is promised to F, its
// writer comes to H and stands; if G served node 1 meanwhile, the promise is void.
#include <stdint.h>

#include "csp_check.h"

enum { WRITERS = 3, NODES = 8, CHANS = 2 * NODES };

typedef struct node {
    int me, n, rounds, round;
    unsigned seed;
} node;

static unsigned any(unsigned *seed, unsigned below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 12) % below;
}

static void linger(unsigned *seed, unsigned below)
{
    for (unsigned left = any(seed, below); left > 0; left--)
        csp_yield();
}

static csp_chan *shared(const char *name)
{
    csp_chan *chan = csp_chan_new(name, sizeof(int));
    CHECK(csp_register_chan(name, chan) == CSP_OK);
    return chan;
}

// ---- renew

typedef struct late_writer {
    csp_out *out;
    unsigned seed;
    int value;
} late_writer;

static int writes_late(void *arg)
{
    late_writer *w = arg;
    linger(&w->seed, 40);
    return (int)csp_write(w->out, &w->value);
}

// One alternation over a near channel, to which one value comes, and a far one.
static int renew_once(node *my, int i, csp_chan *near, csp_guard far)
{
    late_writer w = {csp_chan_out(near), my->seed * 31u + (unsigned)i, i};
    csp_child *child = csp_fork(writes_late, &w, "writer");
    int value = -1;
    csp_guard guards[] = {csp_on_read(csp_chan_in(near), &value), far};
    int chosen = csp_alt(guards, 2);
    CHECK(guards[chosen].status == CSP_OK);
    if (chosen == 1)
        CHECK(csp_read(guards[0].in, &value) == CSP_OK);
    CHECK(value == i && csp_join(child) == CSP_OK);
    return chosen;
}

static void renew(node *my)
{
    csp_chan *h = my->me == 0 ? shared("H") : NULL, *f = my->me == 1 ? shared("F") : NULL;
    csp_chan *g = csp_chan_new("G", sizeof(int));
    csp_out *far = NULL;
    int value = 0;
    if (my->me == 0)
        CHECK(csp_find_out("F", sizeof(int), &far, CSP_NEVER) == CSP_OK);
    for (int i = 0; i < my->rounds; i++) {
        meet(&my->round);
        if (my->me == 0)
            (void)renew_once(my, i, h, csp_on_write(far, &i));
        else if (my->me == 1)
            (void)renew_once(my, i, g, csp_on_read(csp_chan_in(f), &value));
    }
    meet(&my->round);
    if (my->me == 0)
        printf("%d rounds were renewed\n", my->rounds);
}

// ---- weave

typedef struct server {
    csp_in *ins[2];
    unsigned seed;
} server;

static int serves(void *arg)
{
    server *s = arg;
    int values[2];
    for (;;) {
        csp_guard guards[] = {csp_on_read(s->ins[0], &values[0]),
                              csp_on_read(s->ins[1], &values[1])};
        if (guards[csp_alt(guards, 2)].status != CSP_OK)
            return 0;
        linger(&s->seed, 4);
    }
}

typedef struct writer {
    const node *my;
    csp_out **outs;
    unsigned seed;
} writer;

static int writes(void *arg)
{
    writer *w = arg;
    unsigned chans = 2 * (unsigned)w->my->n;
    for (int i = 0; i < w->my->rounds; i++) {
        unsigned a = any(&w->seed, chans), b = (a + 1 + any(&w->seed, chans - 1)) % chans;
        csp_guard guards[] = {csp_on_write(w->outs[a], &i), csp_on_write(w->outs[b], &i)};
        csp_status status =
            any(&w->seed, 4) ? guards[csp_alt(guards, 2)].status : csp_write(w->outs[a], &i);
        CHECK(status == CSP_OK);
        linger(&w->seed, 6);
    }
    return 0;
}

static const char *name_of(char name[32], int chan)
{
    snprintf(name, 32, "woven %d", chan);
    return name;
}

static void weave(node *my)
{
    char name[32];
    csp_out *outs[CHANS];
    CHECK(my->n <= NODES);
    server s = {.seed = my->seed};
    s.ins[0] = csp_chan_in(shared(name_of(name, my->me)));
    (void)shared(name_of(name, my->n + my->me));
    CHECK(csp_find_in(name_of(name, my->n + (my->me + 1) % my->n), sizeof(int), &s.ins[1],
                      CSP_NEVER) == CSP_OK);
    for (int i = 0; i < 2 * my->n; i++)
        CHECK(csp_find_out(name_of(name, i), sizeof(int), &outs[i], CSP_NEVER) == CSP_OK);
    meet(&my->round);
    csp_child *child = csp_fork(serves, &s, "server"), *children[WRITERS];
    writer writers[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (writer){my, outs, my->seed * 77u + (unsigned)i};
        children[i] = csp_fork(writes, &writers[i], "writer");
    }
    for (int i = 0; i < WRITERS; i++)
        CHECK(csp_join(children[i]) == 0);
    meet(&my->round);
    csp_poison(s.ins[0]);
    csp_poison(s.ins[1]);
    CHECK(csp_join(child) == 0);
    meet(&my->round);
    if (my->me == 0)
        puts("woven");
}

// csp_weave renew|weave ROUNDS SEED
int main(int argc, char **argv)
{
    CHECK(argc == 4);
    node my = {.me = csp_node(), .n = csp_nodes(), .rounds = atoi(argv[2])};
    my.seed = (unsigned)atoi(argv[3]) * 7919u + (unsigned)my.me;
    if (strcmp(argv[1], "renew") == 0)
        renew(&my);
    else
        weave(&my);
    return 0;
}
