// SPDX-License-Identifier: BSD-3-Clause
// Everything is linear in processes and waits, except for sorting the argument blocks.
//
// An argument block has a beginning that is known, and no end. What lies between it and the next
// one (or a few words, if that is far away) is looked through for addresses of channels and
// barriers that somebody waits at, as a collector of garbage would; reads that may fault are the
// kernel's. So a process that has never used its end of a channel is found, too, if not for sure.
// The report's own memory may lie right after a block, also that of an earlier report, which is
// free again: so addresses are kept inverted there.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/compare.h"
#include "base/cycle.h"
#include "csp/hang/hang_int.h"
#include "csp/proc.h"
#include "os/os.h"

enum {
    BLOCK_WORDS = 64, // of an argument block
    BLOCKS_MOST = 1 << 20,
    HANG_NAMES = 256,
    PAGE = 4096,
};

// ---- nodes

const mlt_fiber *mlt_waitfor_fiber(const mlt_waitfor_graph *g, uint32_t node)
{
    return node < g->ranks ? g->csp->worker->ranks[node].fiber
                           : &g->csp->sched->pool->fibers[node - g->ranks];
}

uint32_t mlt_waitfor_node(const mlt_waitfor_graph *g, const mlt_fiber *fiber)
{
    if (!fiber)
        return MLT_NO_NODE;
    if (fiber->pool)
        return g->ranks + fiber->id < g->nodes ? g->ranks + fiber->id : MLT_NO_NODE;
    const mlt_rank *rank = fiber->user, *first = g->csp->worker->ranks;
    return rank >= first && rank < first + g->ranks && rank->fiber == fiber
               ? (uint32_t)(rank - first)
               : MLT_NO_NODE;
}

// ---- things

// MLT_NO_NODE: nobody waits for it.
static uint32_t find_thing(const mlt_waitfor_graph *g, const void *at)
{
    mlt_table_look look = mlt_table_look_for(&g->thing_table, mlt_hash_word((uintptr_t)at));
    while (at && mlt_table_next(&look))
        if (mlt_waitfor_thing_at(&g->things[look.word]) == at)
            return (uint32_t)look.word;
    return MLT_NO_NODE;
}

static uint32_t add_thing(mlt_waitfor_graph *g, const void *at, bool chan)
{
    uint32_t old = find_thing(g, at);
    if (old != MLT_NO_NODE)
        return old;
    MLT_ARRAY_WANT(g->things, g->thing_count + (size_t)1, g->thing_room);
    g->things[g->thing_count] =
        (mlt_waitfor_thing){.hidden = ~(uintptr_t)at, .claims = UINT32_MAX, .chan = chan};
    mlt_table_add(&g->thing_table, mlt_hash_word((uintptr_t)at), g->thing_count);
    return g->thing_count++;
}

// ---- needs

static void add_need(mlt_waitfor_graph *g, uint32_t node, mlt_csp_wait_kind kind, const void *what)
{
    *MLT_ARRAY_ADD(g->needs, g->need_count, g->need_room) = (mlt_waitfor_need){
        .node = node,
        .thing = add_thing(g, what, kind == MLT_CSP_READ || kind == MLT_CSP_WRITE),
        .side = kind == MLT_CSP_WRITE ? MLT_WAITFOR_SIDE_WRITES : MLT_WAITFOR_SIDE_READS,
        .kind = (uint8_t)kind};
}

static void add_chan(mlt_waitfor_graph *g, uint32_t node, mlt_csp_wait_kind kind,
                     const csp_chan *chan)
{
    char who[HANG_NAMES];
    if (chan->remote || chan->registered || // others can serve it
        (chan->queue && mlt_waitfor_elsewhere(chan, kind == MLT_CSP_READ, who, sizeof who)))
        g->state[node] = MLT_WAITFOR_OUTSIDE;
    add_need(g, node, kind, chan);
}

static void add_guards(mlt_waitfor_graph *g, uint32_t node, const mlt_alt *alt)
{
    for (uint32_t i = 0; alt->guards && i < alt->count; i++) {
        const csp_guard *guard = &alt->guards[i];
        if (guard->off)
            continue;
        if (guard->kind == CSP_GUARD_READ)
            add_chan(g, node, MLT_CSP_READ, mlt_chan_of_in(guard->in));
        else if (guard->kind == CSP_GUARD_WRITE)
            add_chan(g, node, MLT_CSP_WRITE, mlt_chan_of_out(guard->out));
        else if (guard->kind == CSP_GUARD_SYNC)
            add_need(g, node, MLT_CSP_SYNC, guard->barrier);
        else if (guard->kind != CSP_GUARD_TIME || guard->at != CSP_NEVER)
            g->state[node] = MLT_WAITFOR_OUTSIDE;
    }
}

static void add_wait(mlt_waitfor_graph *g, uint32_t node, const mlt_wait *wait)
{
    if (wait->kind != MLT_WAIT_CSP) {
        g->state[node] = MLT_WAITFOR_OUTSIDE;
        return;
    }
    const mlt_csp_wait *w = wait->csp;
    switch (w->kind) {
    case MLT_CSP_READ:
    case MLT_CSP_WRITE:
        add_chan(g, node, w->kind, w->what);
        break;
    case MLT_CSP_ALT:
        add_guards(g, node, w->what);
        break;
    case MLT_CSP_GROUP:
        if (mlt_waitfor_group_is_wide(w->what))
            g->state[node] = MLT_WAITFOR_OUTSIDE;
        add_need(g, node, w->kind, w->what);
        break;
    case MLT_CSP_SYNC:
        add_need(g, node, w->kind, w->what);
        break;
    case MLT_CSP_PAR:
    case MLT_CSP_JOIN: // the record is the beginning of the team, which its processes know
        add_need(g, node, w->kind, w);
        break;
    default:
        g->state[node] = MLT_WAITFOR_OUTSIDE;
        break;
    }
}

static void add_nodes(mlt_waitfor_graph *g)
{
    for (uint32_t node = 0; node < g->nodes; node++) {
        const mlt_fiber *fiber = mlt_waitfor_fiber(g, node);
        g->first_need[node] = g->need_count;
        if (!fiber || fiber->state == MLT_FIBER_ENDED ||
            (node < g->ranks && g->csp->worker->ranks[node].ended))
            continue;
        if (fiber->state != MLT_FIBER_PARKED || !fiber->wait) {
            g->state[node] = MLT_WAITFOR_RUNS;
            g->running++;
            continue;
        }
        g->state[node] = MLT_WAITFOR_STUCK;
        g->waiting++;
        add_wait(g, node, fiber->wait);
    }
    g->first_need[g->nodes] = g->need_count;
}

// ---- claims

static void add_claim(mlt_waitfor_graph *g, uint32_t thing, uint32_t node, uint8_t serves,
                      mlt_waitfor_claim_how how)
{
    if (thing == MLT_NO_NODE || node == MLT_NO_NODE || g->state[node] == MLT_WAITFOR_NONE)
        return;
    MLT_ARRAY_WANT(g->claims, g->claim_count + (size_t)1, g->claim_room);
    g->claims[g->claim_count] = (mlt_waitfor_claim){.node = node,
                                                    .thing = thing,
                                                    .next = g->things[thing].claims,
                                                    .serves = serves,
                                                    .how = how};
    g->things[thing].claims = g->claim_count++;
}

enum { SERVES_READS = 1 << MLT_WAITFOR_SIDE_READS, SERVES_WRITES = 1 << MLT_WAITFOR_SIDE_WRITES };

static bool is_parent(const mlt_waitfor_graph *g, uint32_t node)
{
    uint32_t need = node < g->nodes ? g->first_need[node] : 0;
    return node < g->nodes && need < g->first_need[node + 1] &&
           (g->needs[need].kind == MLT_CSP_PAR || g->needs[need].kind == MLT_CSP_JOIN);
}

// A process has the thing's address. It could serve everybody except those who wait for what it
// does itself: a reader does not serve readers. (But a buffer may hold a token, which the process
// that took it last will put back.)
static void add_perhaps(mlt_waitfor_graph *g, uint32_t thing, uint32_t node)
{
    uint8_t serves = SERVES_READS | SERVES_WRITES;
    if (is_parent(g, node))
        return; // it handed the end to those it waits for
    const csp_chan *chan = g->things[thing].chan ? mlt_waitfor_thing_at(&g->things[thing]) : NULL;
    if (chan && chan->queue)
        return; // all who use a queue hold it
    for (uint32_t i = g->first_need[node]; i < g->first_need[node + 1]; i++) {
        if (g->needs[i].thing == thing)
            serves &= (uint8_t) ~(1 << g->needs[i].side);
    }
    if (chan) {
        const mlt_fiber *fiber = mlt_waitfor_fiber(g, node);
        if (chan->last_user[MLT_READS] == fiber && !chan->buffered)
            serves &= (uint8_t)~SERVES_READS;
        if (chan->last_user[MLT_WRITES] == fiber && !chan->buffered)
            serves &= (uint8_t)~SERVES_WRITES;
    }
    if (serves)
        add_claim(g, thing, node, serves, MLT_WAITFOR_CLAIM_PERHAPS);
}

typedef struct block {
    uint64_t at; // its address
    uint32_t node;
} block;

typedef struct page {
    uintptr_t at; // 1: none
    bool readable;
    uintptr_t words[PAGE / sizeof(uintptr_t)]; // inverted, as things' addresses are
} page;

static bool read_word(page *p, uintptr_t at, uintptr_t *word)
{
    uintptr_t base = at & ~(uintptr_t)(PAGE - 1);
    if (p->at != base) {
        p->at = base;
        p->readable = mlt_os_read_own(p->words, (const void *)base, PAGE);
        for (size_t i = 0; i < PAGE / sizeof *word; i++)
            p->words[i] = ~p->words[i];
    }
    *word = ~p->words[(at - base) / sizeof *word];
    return p->readable;
}

// An end of a channel is an address inside of it (csp/chan.h); other things are known by their own.
static void *whole_of(uintptr_t word)
{
    uintptr_t inside = word % _Alignof(csp_chan);
    bool end = inside == MLT_CHAN_IN || inside == MLT_CHAN_OUT;
    return (void *)(end ? word - inside : word);
}

static void look_through(mlt_waitfor_graph *g, page *p, const block *own, const block *next)
{
    uintptr_t at = own->at, end = at + BLOCK_WORDS * sizeof at, word;
    if (next && next->at < end)
        end = next->at;
    for (; at + sizeof at <= end && read_word(p, at, &word); at += sizeof at) {
        uint32_t thing = word % sizeof word == 0 ? find_thing(g, whole_of(word)) : MLT_NO_NODE;
        if (thing != MLT_NO_NODE)
            add_perhaps(g, thing, own->node);
    }
}

static void add_arguments(mlt_waitfor_graph *g)
{
    block *blocks = mlt_xcalloc(g->nodes - g->ranks, sizeof *blocks);
    page *p = mlt_xcalloc(1, sizeof *p);
    size_t count = 0;
    p->at = 1;
    for (uint32_t node = g->ranks; node < g->nodes && count < BLOCKS_MOST; node++) {
        uintptr_t at = (uintptr_t)g->csp->procs[node - g->ranks].arg;
        if (g->state[node] != MLT_WAITFOR_NONE && at >= PAGE && at % sizeof at == 0)
            blocks[count++] = (block){at, node};
    }
    qsort(blocks, count, sizeof *blocks, mlt_compare_ascending);
    for (size_t i = count; i-- > 0;) { // those that are found last are named first
        size_t next = i + 1;
        while (next < count && next - i < BLOCK_WORDS && blocks[next].at == blocks[i].at)
            next++; // they share it
        look_through(g, p, &blocks[i], next < count ? &blocks[next] : NULL);
    }
    free(blocks);
    free(p);
}

static void add_user(mlt_waitfor_graph *g, uint32_t thing, uint32_t node, uint8_t serves,
                     bool parents, mlt_waitfor_claim_how how)
{
    if (node != MLT_NO_NODE && is_parent(g, node) == parents)
        add_claim(g, thing, node, serves, parents ? MLT_WAITFOR_CLAIM_PARENT : how);
}

static void add_held(mlt_waitfor_graph *g, uint32_t node, mlt_held held, bool parents)
{
    uint32_t thing = find_thing(g, (void *)(held & ~(mlt_held)1));
    add_user(g, thing, node, held & 1 ? SERVES_READS : SERVES_WRITES, parents,
             MLT_WAITFOR_CLAIM_HOLDS);
}

// Those who hold or used an end, and (not of the parents) members of teams.
static void add_users(mlt_waitfor_graph *g, bool parents)
{
    for (uint32_t node = g->nodes; node-- > g->ranks;) {
        const mlt_proc *proc = &g->csp->procs[node - g->ranks];
        if (g->state[node] == MLT_WAITFOR_NONE)
            continue;
        for (int i = 0; i < MLT_PROC_HELD; i++)
            add_held(g, node, proc->held[i], parents);
        for (const mlt_held *h = proc->more; h && *h; h++)
            add_held(g, node, *h, parents);
        if (!parents)
            add_claim(g, find_thing(g, proc->of), node, SERVES_READS, MLT_WAITFOR_CLAIM_MEMBER);
    }
    for (uint32_t i = 0; i < g->thing_count; i++) {
        if (!g->things[i].chan)
            continue;
        const csp_chan *chan = mlt_waitfor_thing_at(&g->things[i]);
        uint32_t reader = mlt_waitfor_node(g, chan->last_user[MLT_READS]);
        uint32_t writer = mlt_waitfor_node(g, chan->last_user[MLT_WRITES]);
        add_user(g, i, reader, SERVES_WRITES, parents, MLT_WAITFOR_CLAIM_USED);
        add_user(g, i, writer, SERVES_READS, parents, MLT_WAITFOR_CLAIM_USED);
    }
}

// Those that are added last come first: sure ones at the end.
static void add_claims(mlt_waitfor_graph *g)
{
    add_users(g, true);
    add_arguments(g);
    add_users(g, false);
}

void mlt_waitfor_graph_make(mlt_waitfor_graph *g, const mlt_csp *csp)
{
    *g = (mlt_waitfor_graph){.csp = csp};
    g->ranks = csp->worker->count;
    g->nodes = g->ranks + (csp->sched->pool ? csp->sched->pool->count : 0);
    g->state = mlt_xcalloc(g->nodes, sizeof *g->state);
    g->first_need = mlt_xcalloc(g->nodes + (size_t)1, sizeof *g->first_need);
    add_nodes(g);
    if (g->thing_count)
        add_claims(g);
}

void mlt_waitfor_graph_free(mlt_waitfor_graph *g)
{
    free(g->state);
    free(g->first_need);
    free(g->needs);
    free(g->things);
    mlt_table_free(&g->thing_table);
    free(g->claims);
}

// ---- the cycle

// Nodes of the cycle: processes, then sides of things.
static uint32_t side_node(const mlt_waitfor_graph *g, uint32_t thing, uint32_t side)
{
    return g->nodes + MLT_SIDES * thing + side;
}

typedef struct edges {
    mlt_edge *items;
    uint32_t count, room;
} edges;

static void add_edge(edges *e, uint32_t from, uint32_t to)
{
    *MLT_ARRAY_ADD(e->items, e->count, e->room) = (mlt_edge){from, to};
}

// Of claims up to that class.
static mlt_digraph edges_of(const mlt_waitfor_graph *g, int most, mlt_direction direction)
{
    edges e = {0};
    for (uint32_t i = 0; i < g->need_count; i++)
        add_edge(&e, g->needs[i].node, side_node(g, g->needs[i].thing, g->needs[i].side));
    for (uint32_t i = 0; i < g->claim_count; i++) {
        const mlt_waitfor_claim *claim = &g->claims[i];
        for (uint32_t side = 0; side < MLT_SIDES; side++)
            if ((claim->serves & 1 << side) && mlt_waitfor_claim_class(claim->how) <= most)
                add_edge(&e, side_node(g, claim->thing, side), claim->node);
    }
    uint32_t nodes = g->nodes + MLT_SIDES * g->thing_count;
    mlt_digraph graph = mlt_digraph_of(nodes, e.items, e.count, direction);
    free(e.items);
    return graph;
}

// The side of a PAR or a child: whoever waits there waits for all that serve it.
static bool is_team(const mlt_waitfor_graph *g, const mlt_digraph *back, uint32_t side)
{
    return side >= g->nodes && back->first[side] < back->first[side + 1] &&
           is_parent(g, back->to[back->first[side]]);
}

// Which nodes are not in a cycle. A process that runs, or that may be woken from outside, may serve
// those who wait for it, and these may serve others: all of them are out. The side of a PAR is out
// only when all its members are. The caller frees the answer.
static bool *nodes_out(const mlt_waitfor_graph *g, int class)
{
    mlt_digraph graph = edges_of(g, class, MLT_FORWARDS);
    mlt_digraph back = edges_of(g, class, MLT_BACKWARDS);
    uint32_t *queue = mlt_xcalloc(back.nodes, sizeof *queue), head = 0, tail = 0;
    uint32_t *open = mlt_xcalloc(back.nodes, sizeof *open); // of a PAR: members that are out
    bool *out = mlt_xcalloc(back.nodes, sizeof *out);
    for (uint32_t i = 0; i < g->nodes; i++) {
        out[i] = g->state[i] != MLT_WAITFOR_STUCK;
        if (out[i] && g->state[i] != MLT_WAITFOR_NONE)
            queue[tail++] = i;
    }
    while (head < tail) {
        uint32_t node = queue[head++];
        for (uint64_t i = back.first[node]; i < back.first[node + 1]; i++) {
            uint32_t from = back.to[i];
            uint64_t members = graph.first[from + 1] - graph.first[from];
            if (out[from] || (is_team(g, &back, from) && ++open[from] < members))
                continue;
            out[from] = true;
            queue[tail++] = from;
        }
    }
    free(queue);
    free(open);
    mlt_digraph_free(&back);
    mlt_digraph_free(&graph);
    return out;
}

static mlt_waitfor_step step_of(const mlt_waitfor_graph *g, uint32_t node, uint32_t side,
                                uint32_t next)
{
    mlt_waitfor_step step = {.node = node, .perhaps = true};
    for (uint32_t i = g->first_need[node]; i < g->first_need[node + 1]; i++)
        if (side_node(g, g->needs[i].thing, g->needs[i].side) == side)
            step.need = g->needs[i];
    for (uint32_t c = g->things[step.need.thing].claims; c != UINT32_MAX; c = g->claims[c].next)
        if (g->claims[c].node == next && (g->claims[c].serves & 1 << step.need.side) &&
            g->claims[c].how != MLT_WAITFOR_CLAIM_PERHAPS)
            step.perhaps = false;
    return step;
}

mlt_waitfor_step *mlt_waitfor_graph_cycle(const mlt_waitfor_graph *g, uint32_t *length)
{
    enum { ALL = 2 };
    uint32_t *nodes = NULL, count = 0;
    bool *out = nodes_out(g, ALL);
    for (int class = 0; class <= ALL && !nodes; class ++) {
        mlt_digraph graph = edges_of(g, class, MLT_FORWARDS);
        nodes = mlt_cycle_find(&graph, out, MLT_CYCLE_SHORT, &count);
        mlt_digraph_free(&graph);
    }
    free(out);
    *length = count / 2; // processes and sides take turns, and the lowest is a process
    mlt_waitfor_step *steps = nodes ? mlt_xcalloc(*length, sizeof *steps) : NULL;
    for (uint32_t i = 0; i < *length; i++)
        steps[i] = step_of(g, nodes[2 * i], nodes[2 * i + 1], nodes[(2 * i + 2) % count]);
    free(nodes);
    return steps;
}
