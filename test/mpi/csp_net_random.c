// SPDX-License-Identifier: BSD-3-Clause
// Random programs over channels between nodes. Every node has channels, with and without buffers,
// and processes that read and write at channels of all nodes: in alternations of several guards,
// some of both kinds, and plainly, with and without deadlines. Every value must arrive once. Each
// channel has a process that does nothing but read it, so no program can block.
#include <stdint.h>

#include "csp_check.h"

enum { PER_NODE = 2, MOST = 32, MIXED = 3, ENDS = 3 };

typedef struct value {
    int32_t node, process, number, chan;
    uint64_t check;
} value;

typedef struct tally { // what one node wrote to and read from a channel
    uint64_t wrote, wrote_sum, read, read_sum;
} tally;

typedef struct node {
    int me, n, chans, quota;
    unsigned seed;
    tally tallies[MOST];
    int round;
} node;

typedef struct process {
    node *my;
    int number;
    uint64_t random;
    int outs_count, ins_count;
    csp_out *outs[ENDS];
    csp_in *ins[ENDS];
    int out_chans[ENDS], in_chans[ENDS];
} process;

static uint64_t mix(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdu;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53u;
    return x ^ x >> 33;
}

static uint32_t any(process *p, uint32_t below)
{
    p->random = p->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((p->random >> 33) % below);
}

static void name_of(int chan, char *name, size_t size)
{
    snprintf(name, size, "channel %d", chan);
}

static value make(const process *p, int number, int chan)
{
    value v = {p->my->me, p->number, number, chan, 0};
    v.check = mix((uint64_t)v.node << 48 ^ (uint64_t)v.process << 40 ^ (uint64_t)v.chan << 32 ^
                  (uint64_t)v.number);
    return v;
}

static void note_read(node *my, const value *v, int chan)
{
    CHECK(v->chan == chan && v->check == mix((uint64_t)v->node << 48 ^ (uint64_t)v->process << 40 ^
                                             (uint64_t)v->chan << 32 ^ (uint64_t)v->number));
    my->tallies[chan].read++;
    my->tallies[chan].read_sum += mix(v->check);
}

static void note_write(node *my, const value *v)
{
    my->tallies[v->chan].wrote++;
    my->tallies[v->chan].wrote_sum += mix(v->check);
}

static csp_time soon(process *p)
{
    uint32_t how = any(p, 8);
    return how == 0 ? CSP_AT_ONCE : csp_after((double)any(p, 100) * 1e-6);
}

// One alternation over a part of the ends, sometimes with a way out.
static void alternate(process *p, int *number, bool writes, bool *live)
{
    csp_guard guards[2 * ENDS + 1];
    value in, outs[ENDS];
    int what[2 * ENDS + 1], count = 0;
    for (int i = 0; i < p->ins_count; i++)
        if (live[i]) {
            what[count] = i;
            guards[count++] = csp_on_read(p->ins[i], &in);
        }
    int sure = (int)any(p, ENDS); // who only reads may wait for those who only read
    for (int i = 0; writes && i < p->outs_count; i++)
        if (i == sure || any(p, 3)) {
            outs[i] = make(p, *number, p->out_chans[i]);
            what[count] = ENDS + i;
            guards[count++] = csp_on_write(p->outs[i], &outs[i]);
        }
    uint32_t way_out = any(p, 6);
    if (count == 0 || way_out == 0) {
        what[count] = -1;
        guards[count++] = any(p, 2) ? csp_on_skip() : csp_on_time(soon(p));
    }
    int chosen = any(p, 2) ? csp_alt(guards, (size_t)count) : csp_pri_alt(guards, (size_t)count);
    CHECK(chosen >= 0 && chosen < count);
    if (what[chosen] < 0)
        return;
    if (what[chosen] < ENDS) {
        if (guards[chosen].status == CSP_RETIRED) {
            live[what[chosen]] = false;
        } else {
            CHECK(guards[chosen].status == CSP_OK);
            note_read(p->my, &in, p->in_chans[what[chosen]]);
        }
        return;
    }
    CHECK(guards[chosen].status == CSP_OK);
    note_write(p->my, &outs[what[chosen] - ENDS]);
    ++*number;
}

static int mixed(void *arg)
{
    process *p = arg;
    bool live[ENDS];
    int number = 0;
    memset(live, 1, sizeof live);
    while (number < p->my->quota) {
        uint32_t how = any(p, 4);
        if (how) {
            alternate(p, &number, true, live);
            continue;
        }
        int i = (int)any(p, (uint32_t)p->outs_count);
        value v = make(p, number, p->out_chans[i]);
        csp_status status =
            any(p, 2) ? csp_write(p->outs[i], &v) : csp_write_by(p->outs[i], &v, soon(p));
        CHECK(status == CSP_OK || status == CSP_LATE);
        if (status == CSP_OK) {
            note_write(p->my, &v);
            number++;
        }
    }
    for (int i = 0; i < p->outs_count; i++)
        csp_retire(p->outs[i]);
    for (int left = p->ins_count; left > 0;) {
        alternate(p, &number, false, live);
        left = 0;
        for (int i = 0; i < p->ins_count; i++)
            left += live[i];
    }
    for (int i = 0; i < p->ins_count; i++)
        csp_retire(p->ins[i]);
    return 0;
}

static int reader(void *arg)
{
    process *p = arg;
    value v;
    for (;;) {
        csp_status status =
            any(p, 3) ? csp_read(p->ins[0], &v) : csp_read_by(p->ins[0], &v, soon(p));
        if (status == CSP_RETIRED)
            break;
        CHECK(status == CSP_OK || status == CSP_LATE);
        if (status == CSP_OK)
            note_read(p->my, &v, p->in_chans[0]);
    }
    csp_retire(p->ins[0]);
    return 0;
}

static process prepare(node *my, int number, int outs, int ins, int chan)
{
    process p = {.my = my, .number = number, .outs_count = outs, .ins_count = ins};
    char name[32];
    p.random = mix(my->seed * 1000003u + (uint64_t)my->me * 1009 + (uint64_t)number);
    for (int i = 0; i < outs; i++) {
        p.out_chans[i] = (int)any(&p, (uint32_t)my->chans);
        name_of(p.out_chans[i], name, sizeof name);
        CHECK(csp_find_out(name, sizeof(value), &p.outs[i], CSP_NEVER) == CSP_OK);
    }
    for (int i = 0; i < ins; i++) {
        p.in_chans[i] = chan >= 0 ? chan : (int)any(&p, (uint32_t)my->chans);
        name_of(p.in_chans[i], name, sizeof name);
        CHECK(csp_find_in(name, sizeof(value), &p.ins[i], CSP_NEVER) == CSP_OK);
    }
    return p;
}

static void collect(node *my)
{
    csp_target *target;
    csp_port *port = my->me == 0 ? csp_port_new("tallies", 0) : NULL;
    CHECK(csp_target_at(0, "tallies", &target, CSP_NEVER) == CSP_OK);
    CHECK(csp_send(target, my->tallies, sizeof my->tallies) == CSP_OK);
    tally all[MOST] = {{0}}, one[MOST];
    uint64_t total = 0;
    for (int i = 0; port && i < my->n; i++) {
        CHECK(csp_receive(port, one, sizeof one, NULL, NULL) == CSP_OK);
        for (int c = 0; c < my->chans; c++) {
            all[c].wrote += one[c].wrote;
            all[c].read += one[c].read;
            all[c].wrote_sum += one[c].wrote_sum;
            all[c].read_sum += one[c].read_sum;
        }
    }
    for (int c = 0; port && c < my->chans; c++) {
        CHECK(all[c].wrote == all[c].read && all[c].wrote_sum == all[c].read_sum);
        total += all[c].read;
    }
    if (port) {
        CHECK(total == (uint64_t)my->n * MIXED * (uint64_t)my->quota);
        printf("%llu values arrived once\n", (unsigned long long)total);
    }
    csp_target_free(target);
    meet(&my->round);
    csp_port_free(port);
}

// csp_net_random SEED QUOTA
int main(int argc, char **argv)
{
    node my = {.me = csp_node(), .n = csp_nodes()};
    my.chans = my.n * PER_NODE;
    my.seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    my.quota = argc > 2 ? atoi(argv[2]) : 100;
    CHECK(my.chans <= MOST);
    csp_chan *own[PER_NODE];
    csp_out *holds[PER_NODE];
    for (int i = 0; i < PER_NODE; i++) {
        char name[32];
        name_of(my.me * PER_NODE + i, name, sizeof name);
        own[i] = i ? csp_chan_buffered(name, sizeof(value), 3) : csp_chan_new(name, sizeof(value));
        holds[i] = csp_chan_out(own[i]); // until all have theirs
        CHECK(csp_register_chan(name, own[i]) == CSP_OK);
    }
    process processes[MIXED + PER_NODE];
    csp_proc procs[MIXED + PER_NODE];
    for (int i = 0; i < MIXED; i++)
        processes[i] = prepare(&my, i, ENDS, ENDS, -1);
    for (int i = 0; i < PER_NODE; i++) // reads a channel of the next node but one
        processes[MIXED + i] = prepare(&my, MIXED + i, 0, 1, (my.me + 2 * i) % my.n * PER_NODE + i);
    for (int i = 0; i < MIXED + PER_NODE; i++)
        procs[i] = (csp_proc){.run = i < MIXED ? mixed : reader,
                              .arg = &processes[i],
                              .name = i < MIXED ? "mixed" : "reader"};
    meet(&my.round);
    for (int i = 0; i < PER_NODE; i++)
        csp_retire(holds[i]);
    CHECK(csp_par(procs, MIXED + PER_NODE) == 0);
    collect(&my);
    for (int i = 0; i < PER_NODE; i++)
        csp_chan_free(own[i]);
    return 0;
}
