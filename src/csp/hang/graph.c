// SPDX-License-Identifier: BSD-3-Clause
// Everything is linear in processes and waits, but for sorting the argument blocks.
//
// An argument block has a beginning that is known, and no end. What lies between it and the next
// one (or a few words, if that is far away) is looked through for addresses of channels and
// barriers that somebody waits at, as a collector of garbage would; reads that may fault are the
// kernel's. So a process that has never used its end of a channel is found, too, if not for sure.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "csp/hang/hang.h"
#include "csp/hang/hang_int.h"
#include "csp/hang/knot.h"
#include "csp/proc.h"
#include "os/os.h"

enum {
    BLOCK_WORDS = 64, // of an argument block
    BLOCKS_MOST = 1 << 20,
    HANG_NAMES = 256,
    PAGE = 4096,
};

// ---- nodes

const mlt_fiber *mlt_graph_fiber(const mlt_graph *g, uint32_t node)
{
    return node < g->ranks ? g->csp->worker->ranks[node].fiber
                           : &g->csp->sched->crew->fibers[node - g->ranks];
}

uint32_t mlt_graph_node(const mlt_graph *g, const mlt_fiber *fiber)
{
    if (!fiber)
        return MLT_NO_NODE;
    if (fiber->crew)
        return g->ranks + fiber->id < g->nodes ? g->ranks + fiber->id : MLT_NO_NODE;
    const mlt_rank *rank = fiber->user, *first = g->csp->worker->ranks;
    return rank >= first && rank < first + g->ranks && rank->fiber == fiber
               ? (uint32_t)(rank - first)
               : MLT_NO_NODE;
}

// ---- things

static uint32_t slot_of(const mlt_graph *g, const void *at)
{
    uint32_t slot = (uint32_t)(((uintptr_t)at >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 32) & g->mask;
    while (g->table[slot] && g->things[g->table[slot] - 1].at != at)
        slot = (slot + 1) & g->mask;
    return slot;
}

static bool grow_things(mlt_graph *g)
{
    uint32_t room = g->thing_room ? 2 * g->thing_room : 64;
    mlt_thing *things = realloc(g->things, room * sizeof *things);
    if (things)
        g->things = things;
    uint32_t *table = calloc(2 * (size_t)room, sizeof *table);
    if (!things || !table) {
        free(table);
        return false;
    }
    free(g->table);
    g->table = table;
    g->thing_room = room;
    g->mask = 2 * room - 1;
    for (uint32_t i = 0; i < g->thing_count; i++)
        g->table[slot_of(g, g->things[i].at)] = i + 1;
    return true;
}

static bool add_thing(mlt_graph *g, const void *at, bool chan, uint32_t *index)
{
    if (g->thing_count == g->thing_room && !grow_things(g))
        return false;
    uint32_t slot = slot_of(g, at);
    if (!g->table[slot]) {
        g->things[g->thing_count++] = (mlt_thing){.at = at, .claims = UINT32_MAX, .chan = chan};
        g->table[slot] = g->thing_count;
    }
    *index = g->table[slot] - 1;
    return true;
}

// MLT_NO_NODE: nobody waits for it.
static uint32_t find_thing(const mlt_graph *g, const void *at)
{
    return g->thing_count && at ? g->table[slot_of(g, at)] - 1 : MLT_NO_NODE;
}

// ---- needs

static bool add_need(mlt_graph *g, uint32_t node, mlt_csp_wait_kind kind, const void *what)
{
    if (g->need_count == g->need_room) {
        g->need_room = g->need_room ? 2 * g->need_room : 64;
        mlt_need *needs = realloc(g->needs, g->need_room * sizeof *needs);
        if (!needs)
            return false;
        g->needs = needs;
    }
    mlt_need *need = &g->needs[g->need_count++];
    *need = (mlt_need){.node = node,
                       .side = kind == MLT_CSP_WRITE ? MLT_SIDE_WRITES : MLT_SIDE_READS,
                       .kind = (uint8_t)kind};
    return add_thing(g, what, kind == MLT_CSP_READ || kind == MLT_CSP_WRITE, &need->thing);
}

static bool add_chan(mlt_graph *g, uint32_t node, mlt_csp_wait_kind kind, const csp_chan *chan)
{
    char who[HANG_NAMES];
    if (chan->remote || chan->registered || // others can serve it
        (chan->queue && mlt_hang_elsewhere(chan, kind == MLT_CSP_READ, who, sizeof who)))
        g->state[node] = MLT_NODE_OUTSIDE;
    return add_need(g, node, kind, chan);
}

static bool add_guards(mlt_graph *g, uint32_t node, const mlt_alt *alt)
{
    bool fine = true;
    for (uint32_t i = 0; fine && alt->guards && i < alt->count; i++) {
        const csp_guard *guard = &alt->guards[i];
        if (guard->off)
            continue;
        if (guard->kind == CSP_GUARD_READ)
            fine = add_chan(g, node, MLT_CSP_READ, mlt_chan_of_in(guard->in));
        else if (guard->kind == CSP_GUARD_WRITE)
            fine = add_chan(g, node, MLT_CSP_WRITE, mlt_chan_of_out(guard->out));
        else if (guard->kind == CSP_GUARD_SYNC)
            fine = add_need(g, node, MLT_CSP_SYNC, guard->barrier);
        else if (guard->kind != CSP_GUARD_TIME || guard->at != CSP_NEVER)
            g->state[node] = MLT_NODE_OUTSIDE;
    }
    return fine;
}

static bool add_wait(mlt_graph *g, uint32_t node, const mlt_wait *wait)
{
    if (wait->kind != MLT_WAIT_CSP) {
        g->state[node] = MLT_NODE_OUTSIDE;
        return true;
    }
    const mlt_csp_wait *w = wait->list;
    switch (w->kind) {
    case MLT_CSP_READ:
    case MLT_CSP_WRITE:
        return add_chan(g, node, w->kind, w->what);
    case MLT_CSP_ALT:
        return add_guards(g, node, w->what);
    case MLT_CSP_GROUP:
        if (mlt_group_is_wide(w->what))
            g->state[node] = MLT_NODE_OUTSIDE;
        return add_need(g, node, w->kind, w->what);
    case MLT_CSP_SYNC:
        return add_need(g, node, w->kind, w->what);
    case MLT_CSP_PAR:
    case MLT_CSP_JOIN: // the record is the beginning of the team, which its processes know
        return add_need(g, node, w->kind, w);
    default:
        g->state[node] = MLT_NODE_OUTSIDE;
        return true;
    }
}

static bool add_nodes(mlt_graph *g)
{
    for (uint32_t node = 0; node < g->nodes; node++) {
        const mlt_fiber *fiber = mlt_graph_fiber(g, node);
        g->first_need[node] = g->need_count;
        if (!fiber || fiber->state == MLT_FIBER_ENDED ||
            (node < g->ranks && g->csp->worker->ranks[node].ended))
            continue;
        if (fiber->state != MLT_FIBER_PARKED || !fiber->wait) {
            g->state[node] = MLT_NODE_RUNS;
            g->running++;
            continue;
        }
        g->state[node] = MLT_NODE_STUCK;
        g->waiting++;
        if (!add_wait(g, node, fiber->wait))
            return false;
    }
    g->first_need[g->nodes] = g->need_count;
    return true;
}

// ---- claims

static bool add_claim(mlt_graph *g, uint32_t thing, uint32_t node, uint8_t serves,
                      mlt_claim_how how)
{
    if (thing == MLT_NO_NODE || node == MLT_NO_NODE || g->state[node] == MLT_NODE_NONE)
        return true;
    if (g->claim_count == g->claim_room) {
        g->claim_room = g->claim_room ? 2 * g->claim_room : 64;
        mlt_claim *claims = realloc(g->claims, g->claim_room * sizeof *claims);
        if (!claims)
            return false;
        g->claims = claims;
    }
    g->claims[g->claim_count] = (mlt_claim){.node = node,
                                            .thing = thing,
                                            .next = g->things[thing].claims,
                                            .serves = serves,
                                            .how = how};
    g->things[thing].claims = g->claim_count++;
    return true;
}

enum { SERVES_READS = 1 << MLT_SIDE_READS, SERVES_WRITES = 1 << MLT_SIDE_WRITES };

static bool is_parent(const mlt_graph *g, uint32_t node)
{
    uint32_t need = node < g->nodes ? g->first_need[node] : 0;
    return node < g->nodes && need < g->first_need[node + 1] &&
           (g->needs[need].kind == MLT_CSP_PAR || g->needs[need].kind == MLT_CSP_JOIN);
}

// A process has the thing's address. Whom it could serve: not those who do what it does itself. (A
// buffer may be a token, which the one that took it last will put back.)
static bool add_perhaps(mlt_graph *g, uint32_t thing, uint32_t node)
{
    uint8_t serves = SERVES_READS | SERVES_WRITES;
    if (is_parent(g, node))
        return true; // it handed the end to those it waits for
    if (g->things[thing].chan && ((const csp_chan *)g->things[thing].at)->queue)
        return true; // all who use a queue hold it
    for (uint32_t i = g->first_need[node]; i < g->first_need[node + 1]; i++) {
        if (g->needs[i].thing == thing)
            serves &= (uint8_t) ~(1 << g->needs[i].side);
    }
    if (g->things[thing].chan) {
        const csp_chan *chan = g->things[thing].at;
        const mlt_fiber *fiber = mlt_graph_fiber(g, node);
        if (chan->last_reader == fiber && !chan->buffered)
            serves &= (uint8_t)~SERVES_READS;
        if (chan->last_writer == fiber && !chan->buffered)
            serves &= (uint8_t)~SERVES_WRITES;
    }
    return !serves || add_claim(g, thing, node, serves, MLT_CLAIM_PERHAPS);
}

typedef struct block {
    uintptr_t at;
    uint32_t node;
} block;

static int by_address(const void *a, const void *b)
{
    const block *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

typedef struct page {
    uintptr_t at; // 1: none
    bool readable;
    uintptr_t words[PAGE / sizeof(uintptr_t)];
} page;

static bool read_word(page *p, uintptr_t at, uintptr_t *word)
{
    uintptr_t base = at & ~(uintptr_t)(PAGE - 1);
    if (p->at != base) {
        p->at = base;
        p->readable = mlt_os_read_peer(getpid(), p->words, base, PAGE) == MLT_OK;
    }
    *word = p->words[(at - base) / sizeof *word];
    return p->readable;
}

static bool look_through(mlt_graph *g, page *p, const block *own, const block *next)
{
    uintptr_t at = own->at, end = at + BLOCK_WORDS * sizeof at, word;
    if (next && next->at < end)
        end = next->at;
    for (; at + sizeof at <= end && read_word(p, at, &word); at += sizeof at) {
        uint32_t thing = word % sizeof word == 0 ? find_thing(g, (void *)word) : MLT_NO_NODE;
        if (thing != MLT_NO_NODE && !add_perhaps(g, thing, own->node))
            return false;
    }
    return true;
}

static bool add_arguments(mlt_graph *g)
{
    block *blocks = malloc((g->nodes - g->ranks + (size_t)1) * sizeof *blocks);
    page *p = malloc(sizeof *p);
    size_t count = 0;
    bool fine = blocks && p;
    for (uint32_t node = g->ranks; fine && node < g->nodes && count < BLOCKS_MOST; node++) {
        uintptr_t at = (uintptr_t)g->csp->procs[node - g->ranks].arg;
        if (g->state[node] != MLT_NODE_NONE && at >= PAGE && at % sizeof at == 0)
            blocks[count++] = (block){at, node};
    }
    if (fine && count) {
        p->at = 1;
        qsort(blocks, count, sizeof *blocks, by_address);
    }
    for (size_t i = count; fine && i-- > 0;) { // those that are found last are named first
        size_t next = i + 1;
        while (next < count && next - i < BLOCK_WORDS && blocks[next].at == blocks[i].at)
            next++; // they share it
        fine = look_through(g, p, &blocks[i], next < count ? &blocks[next] : NULL);
    }
    free(blocks);
    free(p);
    return fine;
}

static bool add_user(mlt_graph *g, uint32_t thing, uint32_t node, uint8_t serves, bool parents,
                     mlt_claim_how how)
{
    return node == MLT_NO_NODE || is_parent(g, node) != parents ||
           add_claim(g, thing, node, serves, parents ? MLT_CLAIM_PARENT : how);
}

static bool add_held(mlt_graph *g, uint32_t node, mlt_held held, bool parents)
{
    uint32_t thing = find_thing(g, (void *)(held & ~(mlt_held)1));
    return add_user(g, thing, node, held & 1 ? SERVES_READS : SERVES_WRITES, parents,
                    MLT_CLAIM_HOLDS);
}

// Those who hold or used an end, and (not of the parents) members of teams.
static bool add_users(mlt_graph *g, bool parents)
{
    bool fine = true;
    for (uint32_t node = g->nodes; fine && node-- > g->ranks;) {
        const mlt_proc *proc = &g->csp->procs[node - g->ranks];
        if (g->state[node] == MLT_NODE_NONE)
            continue;
        for (int i = 0; fine && i < MLT_PROC_HELD; i++)
            fine = add_held(g, node, proc->held[i], parents);
        for (const mlt_held *h = proc->more; fine && h && *h; h++)
            fine = add_held(g, node, *h, parents);
        if (fine && !parents)
            fine = add_claim(g, find_thing(g, proc->of), node, SERVES_READS, MLT_CLAIM_MEMBER);
    }
    for (uint32_t i = 0; fine && i < g->thing_count; i++) {
        if (!g->things[i].chan)
            continue;
        const csp_chan *chan = g->things[i].at;
        uint32_t reader = mlt_graph_node(g, chan->last_reader);
        uint32_t writer = mlt_graph_node(g, chan->last_writer);
        fine = add_user(g, i, reader, SERVES_WRITES, parents, MLT_CLAIM_USED) &&
               add_user(g, i, writer, SERVES_READS, parents, MLT_CLAIM_USED);
    }
    return fine;
}

// Those that are added last come first: sure ones at the end.
static bool add_claims(mlt_graph *g)
{
    return g->thing_count == 0 || (add_users(g, true) && add_arguments(g) && add_users(g, false));
}

bool mlt_graph_make(mlt_graph *g, const mlt_csp *csp)
{
    *g = (mlt_graph){.csp = csp};
    g->ranks = csp->worker->count;
    g->nodes = g->ranks + (csp->sched->crew ? csp->sched->crew->count : 0);
    g->state = calloc(g->nodes + (size_t)1, sizeof *g->state);
    g->first_need = calloc(g->nodes + (size_t)1, sizeof *g->first_need);
    return g->state && g->first_need && add_nodes(g) && add_claims(g);
}

void mlt_graph_free(mlt_graph *g)
{
    free(g->state);
    free(g->first_need);
    free(g->needs);
    free(g->things);
    free(g->table);
    free(g->claims);
}

// ---- the cycle

// The nodes of the knot: processes, then sides of things.
typedef struct edges {
    uint32_t nodes, *first, *to, *back_first, *back;
    bool *out;
    uint32_t *open; // [nodes] a PAR: members that can perhaps not go on
} edges;

static uint32_t side_node(const mlt_graph *g, uint32_t thing, uint32_t side)
{
    return g->nodes + MLT_SIDES * thing + side;
}

typedef void visit(void *arg, uint32_t from, uint32_t to);

// Of claims up to that class.
static void each_edge(const mlt_graph *g, int most, visit *see, void *arg)
{
    for (uint32_t i = 0; i < g->need_count; i++)
        see(arg, g->needs[i].node, side_node(g, g->needs[i].thing, g->needs[i].side));
    for (uint32_t i = 0; i < g->claim_count; i++) {
        const mlt_claim *claim = &g->claims[i];
        for (uint32_t side = 0; side < MLT_SIDES; side++)
            if ((claim->serves & 1 << side) && mlt_claim_class(claim->how) <= most)
                see(arg, side_node(g, claim->thing, side), claim->node);
    }
}

static void count_edge(void *arg, uint32_t from, uint32_t to)
{
    edges *e = arg;
    e->first[from + 1]++;
    e->back_first[to + 1]++;
}

// first[n] is where the next edge of n goes; afterwards it is where those of n + 1 begin.
static void take_edge(void *arg, uint32_t from, uint32_t to)
{
    edges *e = arg;
    e->to[e->first[from]++] = to;
    e->back[e->back_first[to]++] = from;
}

static bool make_edges(edges *e, const mlt_graph *g, int class)
{
    size_t most = g->need_count + MLT_SIDES * (size_t)g->claim_count + 1;
    uint32_t n = g->nodes + MLT_SIDES * g->thing_count;
    *e = (edges){.nodes = n,
                 .first = calloc(n + (size_t)2, sizeof *e->first),
                 .to = malloc(most * sizeof *e->to),
                 .back_first = calloc(n + (size_t)2, sizeof *e->back_first),
                 .back = malloc(most * sizeof *e->back),
                 .out = calloc(n + (size_t)1, sizeof *e->out),
                 .open = calloc(n + (size_t)1, sizeof *e->open)};
    if (!e->first || !e->to || !e->back_first || !e->back || !e->out || !e->open)
        return false;
    each_edge(g, class, count_edge, e);
    for (uint32_t i = 0; i < n; i++) {
        e->first[i + 1] += e->first[i];
        e->back_first[i + 1] += e->back_first[i];
    }
    each_edge(g, class, take_edge, e);
    memmove(e->first + 1, e->first, n * sizeof *e->first);
    memmove(e->back_first + 1, e->back_first, n * sizeof *e->back_first);
    e->first[0] = e->back_first[0] = 0;
    return true;
}

static void free_edges(edges *e)
{
    free(e->first);
    free(e->to);
    free(e->back_first);
    free(e->back);
    free(e->out);
    free(e->open);
}

// Whoever runs, or may be woken from outside, may serve those who wait for him, and these others:
// all of them are out. A PAR only when all its members are.
static bool put_out(const mlt_graph *g, edges *e)
{
    uint32_t *queue = malloc((e->nodes + (size_t)1) * sizeof *queue), head = 0, tail = 0;
    if (!queue)
        return false;
    for (uint32_t i = 0; i < g->nodes; i++)
        if (g->state[i] != MLT_NODE_STUCK) {
            e->out[i] = true;
            if (g->state[i] != MLT_NODE_NONE)
                queue[tail++] = i;
        }
    while (head < tail) {
        uint32_t node = queue[head++];
        for (uint32_t i = e->back_first[node]; i < e->back_first[node + 1]; i++) {
            uint32_t from = e->back[i];
            uint32_t waiter = from >= g->nodes && e->back_first[from] < e->back_first[from + 1]
                                  ? e->back[e->back_first[from]]
                                  : MLT_NO_NODE;
            bool team = waiter != MLT_NO_NODE && is_parent(g, waiter);
            if (e->out[from] || (team && ++e->open[from] < e->first[from + 1] - e->first[from]))
                continue;
            e->out[from] = true;
            queue[tail++] = from;
        }
    }
    free(queue);
    return true;
}

static mlt_cycle_step step_of(const mlt_graph *g, uint32_t node, uint32_t side, uint32_t next)
{
    mlt_cycle_step step = {.node = node, .perhaps = true};
    for (uint32_t i = g->first_need[node]; i < g->first_need[node + 1]; i++)
        if (side_node(g, g->needs[i].thing, g->needs[i].side) == side)
            step.need = g->needs[i];
    for (uint32_t c = g->things[step.need.thing].claims; c != UINT32_MAX; c = g->claims[c].next)
        if (g->claims[c].node == next && (g->claims[c].serves & 1 << step.need.side) &&
            g->claims[c].how != MLT_CLAIM_PERHAPS)
            step.perhaps = false;
    return step;
}

mlt_cycle_step *mlt_graph_cycle(const mlt_graph *g, uint32_t *length)
{
    enum { ALL = 2 };
    edges all = {0};
    uint32_t *nodes = NULL, count = 0;
    bool fine = make_edges(&all, g, ALL) && put_out(g, &all);
    for (int class = 0; fine && class <= ALL && !nodes; class ++) {
        edges some = {0};
        if (make_edges(&some, g, class)) {
            const mlt_knot knot = {
                .nodes = some.nodes, .first = some.first, .to = some.to, .out = all.out};
            nodes = mlt_knot_find(&knot, &count);
        }
        free_edges(&some);
    }
    free_edges(&all);
    // Processes and sides take turns, and the lowest is a process.
    mlt_cycle_step *steps = nodes ? malloc((count / 2 + (size_t)1) * sizeof *steps) : NULL;
    *length = steps ? count / 2 : 0;
    for (uint32_t i = 0; i < *length; i++)
        steps[i] = step_of(g, nodes[2 * i], nodes[2 * i + 1], nodes[(2 * i + 2) % count]);
    free(nodes);
    return steps;
}
