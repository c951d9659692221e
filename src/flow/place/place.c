// SPDX-License-Identifier: BSD-3-Clause
// Placing: what `@` says first, then rows of modules cut into pieces of equal weight, of which the
// one that costs least stays and is improved by moves; then each worker's modules are spread over
// its places, and collectives go where their neighbours are.
#include "flow/place/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "flow/place/place_int.h"

enum { LITTLE = 20000 }; // edges: with fewer, trying all ways takes no time

typedef struct placer {
    const mlt_flow_graph *g;
    const mlt_flow_sites *s;
    mlt_flow_near near;
    mlt_flow_wishes wishes;
    uint32_t *host_first, *host_places; // [host_count] places of each, which follow each other
    bool *host_wanted;                  // somebody must be there, wherever on it
    char *why;
    size_t why_size;
} placer;

// ---- wishes

static bool place_refuse(const placer *p, const mlt_flow_pin *pin, const char *what)
{
    char node[128], at[96];
    mlt_flow_node_name(p->g, pin->node, node, sizeof node);
    mlt_flow_pin_text(pin, at, sizeof at);
    return mlt_deny(p->why, p->why_size, "%d: %s @ %s: %s", pin->line, node, at, what);
}

static bool no_host(const placer *p, const mlt_flow_pin *pin)
{
    char text[400];
    mlt_text out = mlt_text_on(text, sizeof text);
    if (p->s->mixed)
        return place_refuse(p, pin,
                            "the hosts of this job take turns, so none can be named; start it "
                            "with mpirun --map-by slot");
    mlt_text_add(&out, "there is no such host; the hosts are ");
    for (uint32_t h = 0; h < p->s->host_count; h++)
        mlt_text_add(&out, "%s%s", h ? ", " : "", p->s->hosts[h].name);
    return place_refuse(p, pin, text);
}

// A host may be named with or without its domain.
static bool is_named(const char *host, const char *name)
{
    size_t length = strlen(name);
    return !strncmp(host, name, length) &&
           (!host[length] || (host[length] == '.' && !strchr(name, '.')));
}

static void know_hosts(placer *p)
{
    const mlt_flow_sites *s = p->s;
    p->host_first = mlt_flow_arena_take(p->near.arena, s->host_count * sizeof *p->host_first);
    p->host_places = mlt_flow_arena_take(p->near.arena, s->host_count * sizeof *p->host_places);
    p->host_wanted = mlt_flow_arena_take(p->near.arena, s->host_count * sizeof *p->host_wanted);
    for (uint32_t at = 0; at < s->places; at++) {
        uint32_t host = s->host_of[s->worker_of[at]];
        if (!p->host_places[host]++)
            p->host_first[host] = at;
    }
}

static bool wish(placer *p, const mlt_flow_pin *pin)
{
    char text[200];
    uint32_t place = MLT_FLOW_NOWHERE, host = MLT_FLOW_NOWHERE, first = 0, count = p->s->places;
    if (pin->host) {
        for (host = 0; host < p->s->host_count && !p->s->mixed; host++)
            if (is_named(p->s->hosts[host].name, pin->host))
                break;
        host = p->s->mixed ? p->s->host_count : host;
        if (host == p->s->host_count)
            return no_host(p, pin);
        first = p->host_first[host];
        count = p->host_places[host];
        if (!count)
            return place_refuse(p, pin, "this job has no worker on that host");
    }
    if (pin->place >= (long)count || (!pin->host && pin->place < 0)) {
        snprintf(text, sizeof text, "%s has the places 0 to %u",
                 pin->host ? "that host" : "this job", count - 1);
        return place_refuse(p, pin, text);
    }
    if (pin->place >= 0)
        place = first + (uint32_t)pin->place;
    uint32_t *had = &p->wishes.place[pin->node], *had_host = &p->wishes.host[pin->node];
    bool again = *had != MLT_FLOW_NOWHERE || *had_host != MLT_FLOW_NOWHERE;
    if (place != MLT_FLOW_NOWHERE)
        host = p->s->host_of[p->s->worker_of[place]];
    if (again && (*had != place || *had_host != host))
        return place_refuse(p, pin, "another line places it elsewhere");
    *had = place;
    *had_host = host;
    p->host_wanted[host] |= place == MLT_FLOW_NOWHERE;
    return true;
}

// ---- cutting

// How much of `total` each of `bins` gets so that they are filled to one level; full ones nothing.
static void levels(const uint64_t *load, uint32_t bins, uint64_t total, uint64_t *share)
{
    // The level lies between 0 and the highest load and all of total.
    uint64_t low = 0, high = total;
    for (uint32_t b = 0; b < bins; b++)
        high = load[b] + total > high ? load[b] + total : high;
    while (low < high) {
        uint64_t level = low + (high - low + 1) / 2, sum = 0;
        for (uint32_t b = 0; b < bins && sum <= total; b++)
            sum += load[b] < level ? level - load[b] : 0;
        if (sum <= total)
            low = level;
        else
            high = level - 1;
    }
    uint64_t rest = total;
    for (uint32_t b = 0; b < bins; b++) {
        share[b] = load[b] < low ? low - load[b] : 0;
        rest -= share[b];
    }
    for (uint32_t b = 0; b < bins && rest; b++)
        if (load[b] <= low) {
            share[b]++;
            rest--;
        }
}

// Cuts `count` nodes into pieces for bins first, first + 1, ..., which have a load already: each
// gets about as much as levels() says. into[node] = its bin.
static void place_cut(const mlt_flow_graph *g, const uint32_t *nodes, uint32_t count,
                      uint32_t first, uint32_t bins, uint64_t *load, uint32_t *into)
{
    uint64_t total = 0, *share = mlt_xcalloc(bins, sizeof *share);
    for (uint32_t i = 0; i < count; i++)
        total += mlt_flow_weight(g, nodes[i]);
    levels(load + first, bins, total, share);
    uint64_t left = total, shares = total;
    uint32_t i = 0;
    for (uint32_t b = 0; b < bins && i < count; b++) {
        if (!share[b])
            continue;
        // As near as possible to its share of what is left, and one module at least.
        uint64_t twice = mlt_flow_share_of(2 * left, share[b], shares), have = 0;
        while (i < count) {
            uint64_t weight = mlt_flow_weight(g, nodes[i]);
            if (have && 2 * have + weight > twice)
                break;
            into[nodes[i++]] = first + b;
            have += weight;
        }
        load[first + b] += have;
        left -= have;
        shares -= share[b];
    }
    free(share);
}

// ---- workers

// Modules of the row that must be on that host; MLT_FLOW_NOWHERE: may be anywhere.
static uint32_t pick(const placer *p, const uint32_t *row, uint32_t count, uint32_t host,
                     uint32_t *picked)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++)
        if (p->wishes.place[row[i]] == MLT_FLOW_NOWHERE && p->wishes.host[row[i]] == host)
            picked[found++] = row[i];
    return found;
}

// Cuts those that may be anywhere into halves, and these again; row is a copy.
static void cut_halves(const placer *p, uint32_t *row, uint32_t count, uint32_t *worker,
                       uint64_t *load)
{
    uint64_t total = 0;
    uint64_t *share = mlt_flow_arena_take(p->near.arena, p->s->workers * sizeof *share);
    for (uint32_t i = 0; i < count; i++)
        total += mlt_flow_weight(p->g, row[i]);
    levels(load, p->s->workers, total, share);
    mlt_flow_halve(p->g, &p->near, row, count, share, p->s->workers, worker);
    for (uint32_t i = 0; i < count; i++)
        load[worker[row[i]]] += mlt_flow_weight(p->g, row[i]);
}

static void cut_row(const placer *p, const uint32_t *row, uint32_t count, bool halves,
                    uint32_t *worker, uint64_t *load)
{
    const mlt_flow_sites *s = p->s;
    uint32_t *some = mlt_flow_arena_take(p->near.arena, count * sizeof *some);
    memset(load, 0, s->workers * sizeof *load);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = p->wishes.place[row[i]];
        if (place != MLT_FLOW_NOWHERE) {
            worker[row[i]] = s->worker_of[place];
            load[s->worker_of[place]] += mlt_flow_weight(p->g, row[i]);
        }
    }
    for (uint32_t w = 0, end; w < s->workers; w = end) {
        for (end = w; end < s->workers && s->host_of[end] == s->host_of[w];)
            end++;
        if (!p->host_wanted[s->host_of[w]])
            continue;
        uint32_t here = pick(p, row, count, s->host_of[w], some);
        place_cut(p->g, some, here, w, end - w, load, worker);
    }
    uint32_t rest = pick(p, row, count, MLT_FLOW_NOWHERE, some);
    if (halves)
        cut_halves(p, some, rest, worker, load);
    else
        place_cut(p->g, some, rest, 0, s->workers, load, worker);
}

typedef struct trial {
    uint32_t *row, *worker, count;
    uint64_t *load, cost;
} trial;

static trial trial_new(const placer *p)
{
    uint32_t nodes = p->g->node_count;
    trial t = {.row = mlt_flow_arena_take(p->near.arena, nodes * sizeof *t.row),
               .worker = mlt_flow_arena_take(p->near.arena, nodes * sizeof *t.worker),
               .load = mlt_flow_arena_take(p->near.arena, p->s->workers * sizeof *t.load),
               .cost = UINT64_MAX};
    memset(t.worker, 0xff, nodes * sizeof *t.worker);
    return t;
}

static uint64_t heaviest(const placer *p, const trial *t)
{
    uint64_t most = 0;
    for (uint32_t w = 0; w < p->s->workers; w++)
        most = t->load[w] > most ? t->load[w] : most;
    return most;
}

// Halves take a walk for each doubling of workers. They are worth that if much is cut, but not
// nearly all: then there is nothing to be found.
static bool worth_halving(const placer *p, uint64_t cost)
{
    uint64_t way = p->s->host_count > 1 ? MLT_FLOW_FAR : MLT_FLOW_WIRE,
             all = way * p->g->edge_count;
    return p->s->workers > 2 && cost > all / 200 && (cost < all / 3 || p->g->edge_count < LITTLE);
}

// The best of all, improved. The weights are in load.
static void find_workers(const placer *p, uint32_t *worker, uint64_t *load)
{
    const mlt_flow_graph *g = p->g;
    trial best = trial_new(p), next = trial_new(p);
    for (int way = 0; way <= MLT_FLOW_ROWS && best.cost; way++) {
        bool halves = way == MLT_FLOW_ROWS;
        if (halves) {
            if (!worth_halving(p, best.cost))
                break;
            memcpy(next.row, best.row, best.count * sizeof *next.row);
        } else {
            next.count = mlt_flow_row_of(g, &p->near, (mlt_flow_row)way, next.row);
        }
        cut_row(p, next.row, next.count, halves, next.worker, next.load);
        next.cost = mlt_flow_cost(g, &p->near, p->s, next.worker);
        if (next.cost < best.cost && (!halves || heaviest(p, &next) <= heaviest(p, &best))) {
            trial t = best;
            best = next;
            next = t;
            next.count = best.count;
        }
    }
    if (best.cost)
        mlt_flow_moves(g, &p->near, p->s, &p->wishes, best.row, best.count, best.worker, best.load);
    memcpy(worker, best.worker, g->node_count * sizeof *worker);
    memcpy(load, best.load, p->s->workers * sizeof *load);
}

// ---- places

// Spreads the modules of each worker over its places, in their order.
static void find_places(const placer *p, const uint32_t *worker, uint32_t *place_of)
{
    const mlt_flow_graph *g = p->g;
    const mlt_flow_sites *s = p->s;
    uint32_t *at_worker = mlt_flow_arena_take(p->near.arena, g->node_count * sizeof *at_worker);
    uint64_t *load = mlt_flow_arena_take(p->near.arena, s->places * sizeof *load);
    for (uint32_t n = 0; n < g->node_count; n++) {
        place_of[n] = p->wishes.place[n];
        bool module = p->near.module[n], open = place_of[n] == MLT_FLOW_NOWHERE;
        if (module && !open)
            load[place_of[n]] += mlt_flow_weight(g, n);
        at_worker[n] = module && open ? worker[n] : s->workers; // others: after all of them
    }
    mlt_flow_key_column keys = {at_worker, sizeof *at_worker, 0, g->node_count};
    mlt_flow_index nodes = mlt_flow_index_new(p->near.arena, keys, s->workers + 1, NULL);
    for (uint32_t w = 0, at = 0, end; w < s->workers; w++, at = end) {
        for (end = at; end < s->places && s->worker_of[end] == w;)
            end++;
        place_cut(g, nodes.list + nodes.first[w], nodes.first[w + 1] - nodes.first[w], at, end - at,
                  load, place_of);
    }
}

// Where most neighbours of a collective are that have a place already; of equal ones the first
// worker. votes: [workers], 0 before and after.
static uint32_t among(const placer *p, uint32_t node, const uint32_t *place_of, uint32_t *votes)
{
    uint32_t best = MLT_FLOW_NOWHERE, count = mlt_flow_index_count(p->near.first, node);
    const uint32_t *list = p->near.list + p->near.first[node];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = place_of[list[i]];
        if (at != MLT_FLOW_NOWHERE)
            votes[p->s->worker_of[at]]++;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = place_of[list[i]];
        if (at == MLT_FLOW_NOWHERE)
            continue;
        uint32_t mine = votes[p->s->worker_of[at]];
        uint32_t most = best == MLT_FLOW_NOWHERE ? 0 : votes[p->s->worker_of[best]];
        if (mine > most || (mine == most && p->s->worker_of[at] < p->s->worker_of[best]))
            best = at;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = place_of[list[i]];
        if (at != MLT_FLOW_NOWHERE)
            votes[p->s->worker_of[at]] = 0;
    }
    return best;
}

static void place_collectives(const placer *p, uint32_t *place_of)
{
    const mlt_flow_sites *s = p->s;
    uint32_t *votes = mlt_flow_arena_take(p->near.arena, s->workers * sizeof *votes);
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t n = 0; n < p->g->node_count; n++) {
            if (place_of[n] != MLT_FLOW_NOWHERE)
                continue;
            uint32_t host = p->wishes.host[n];
            uint32_t at = among(p, n, place_of, votes);
            if (host != MLT_FLOW_NOWHERE &&
                (at == MLT_FLOW_NOWHERE || s->host_of[s->worker_of[at]] != host))
                at = p->host_first[host];
            if (pass && at == MLT_FLOW_NOWHERE)
                at = 0; // it has no neighbours
            place_of[n] = at;
        }
}

static void count_cut(const mlt_flow_graph *g, mlt_flow_placing *placing)
{
    for (uint32_t e = 0; e < g->edge_count; e++) {
        uint32_t from = g->edges[e].from, to = g->edges[e].to;
        if (!mlt_flow_is_module(g, from) || !mlt_flow_is_module(g, to))
            continue;
        placing->edges++;
        placing->cut += mlt_flow_worker_of(placing, from) != mlt_flow_worker_of(placing, to);
    }
}

mlt_flow_placing *mlt_flow_place(const mlt_flow_graph *graph, const mlt_flow_sites *sites,
                                 char *why, size_t why_size)
{
    placer p = {.g = graph, .s = sites, .why = why, .why_size = why_size};
    uint32_t nodes = graph->node_count;
    mlt_flow_placing *placing = mlt_xcalloc(1, sizeof *placing);
    placing->sites = sites;
    placing->place_of = mlt_xcalloc(nodes, sizeof *placing->place_of);
    placing->weight = mlt_xcalloc(sites->workers, sizeof *placing->weight);
    p.near = mlt_flow_near_new(graph);
    uint32_t *worker = mlt_flow_arena_take(p.near.arena, nodes * sizeof *worker);
    p.wishes.place = mlt_flow_arena_take(p.near.arena, nodes * sizeof *p.wishes.place);
    p.wishes.host = mlt_flow_arena_take(p.near.arena, nodes * sizeof *p.wishes.host);
    memset(p.wishes.place, 0xff, nodes * sizeof *p.wishes.place);
    memset(p.wishes.host, 0xff, nodes * sizeof *p.wishes.host);
    know_hosts(&p);
    bool fine = true;
    for (uint32_t i = 0; i < graph->pin_count && fine && sites->places > 1; i++)
        fine = wish(&p, &graph->pins[i]);
    if (fine) {
        find_workers(&p, worker, placing->weight);
        find_places(&p, worker, placing->place_of);
        place_collectives(&p, placing->place_of);
        count_cut(graph, placing);
    } else {
        mlt_flow_placing_free(placing);
        placing = NULL;
    }
    mlt_flow_near_free(&p.near);
    return placing;
}

void mlt_flow_placing_free(mlt_flow_placing *placing)
{
    if (!placing)
        return;
    free(placing->place_of);
    free(placing->weight);
    free(placing);
}
