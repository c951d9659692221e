// SPDX-License-Identifier: BSD-3-Clause
// What a placing costs, and moves that lower it: after Fiduccia and Mattheyses, but greedy. A
// module moves to the worker where it has most neighbours if the weights allow it; if they do not,
// it waits for one that wants to go the other way, and both change places. A few passes, always in
// the same order.
#include <string.h>

#include "flow/place/place_int.h"

enum {
    PASSES = 8,
    SMALL = 8,         // neighbours of a collective that draw each other
    MOST_PAIRS = 1024, // workers up to which modules wait for an exchange
};

// ---- cost

// Which node has looked at a worker, or a host, last.
static bool move_is_first(uint32_t *stamp, uint32_t at, uint32_t node)
{
    if (stamp[at] == node)
        return false;
    stamp[at] = node;
    return true;
}

static uint64_t collective_cost(const mlt_flow_near *near, const mlt_flow_sites *s,
                                const uint32_t *worker, uint32_t node, uint32_t *workers_seen,
                                uint32_t *hosts_seen)
{
    uint64_t workers = 0, hosts = 0;
    for (uint32_t i = near->first[node]; i < near->first[node + 1]; i++) {
        uint32_t at = worker[near->list[i]];
        if (at == MLT_FLOW_NOWHERE)
            continue;
        workers += move_is_first(workers_seen, at, node);
        hosts += move_is_first(hosts_seen, s->host_of[at], node);
    }
    return workers ? workers - 1 + (hosts - 1) * (MLT_FLOW_FAR_WIRES - 1) : 0;
}

uint64_t mlt_flow_cost(const mlt_flow_graph *g, const mlt_flow_near *near,
                       const mlt_flow_sites *sites, const uint32_t *worker)
{
    uint64_t cost = 0;
    size_t room = (size_t)sites->workers + sites->host_count;
    uint32_t *seen = mlt_flow_arena_take(near->arena, room * sizeof *seen);
    memset(seen, 0xff, room * sizeof *seen);
    for (uint32_t e = 0; e < g->edge_count; e++) {
        uint32_t from = g->edges[e].from, to = g->edges[e].to;
        if (near->module[from] && near->module[to])
            cost += (uint64_t)mlt_flow_distance(sites, worker[from], worker[to]);
    }
    for (uint32_t n = 0; n < g->node_count; n++)
        if (!near->module[n])
            cost += collective_cost(near, sites, worker, n, seen, seen + sites->workers);
    return cost;
}

// ---- what draws a module: neighbours by wires, and modules at the same small collective

typedef mlt_flow_index pulls; // modules at the same collective, once for each

// Both ways; list NULL: only counted, into first[of + 2].
static void draw(pulls *p, uint32_t a, uint32_t b)
{
    if (a == b)
        return;
    if (!p->list) {
        p->first[a + 2]++;
        p->first[b + 2]++;
        return;
    }
    p->list[p->first[a + 1]++] = b;
    p->list[p->first[b + 1]++] = a;
}

static void draw_all(uint32_t nodes, const mlt_flow_near *near, pulls *p)
{
    for (uint32_t n = 0; n < nodes; n++) {
        if (near->module[n] || mlt_flow_index_count(near->first, n) > SMALL)
            continue;
        for (uint32_t i = near->first[n]; i < near->first[n + 1]; i++)
            for (uint32_t j = i + 1; j < near->first[n + 1]; j++)
                if (near->module[near->list[i]] && near->module[near->list[j]])
                    draw(p, near->list[i], near->list[j]);
    }
}

static pulls pulls_of(uint32_t nodes, const mlt_flow_near *near)
{
    pulls p = {.first = mlt_flow_arena_take(near->arena, (nodes + 2ull) * sizeof *p.first)};
    draw_all(nodes, near, &p);
    for (uint32_t n = 0; n < nodes; n++)
        p.first[n + 2] += p.first[n + 1];
    p.list = mlt_flow_arena_take(near->arena, (p.first[nodes + 1] + 1ull) * sizeof *p.list);
    draw_all(nodes, near, &p);
    return p;
}

// ---- moves

typedef struct mover {
    const mlt_flow_graph *g;
    const mlt_flow_sites *s;
    const mlt_flow_wishes *wishes;
    const mlt_flow_near *near;
    pulls pulls;
    uint32_t *worker;
    uint64_t *load, low, high;
    int64_t *drawn;      // [workers] by neighbours of the module that is looked at; 0 between
    int64_t *drawn_host; // [hosts] and how much more because they are on that host
    uint32_t *touched;
    bool *fresh;     // [node_count] a neighbour has moved since it was looked at
    uint32_t *waits; // [workers][workers] the module that would go from the one to the other
    int64_t *gains;  // ... and what that gained when it was looked at
} mover;

static bool may_be(const mover *m, uint32_t node, uint32_t worker)
{
    uint32_t host = m->wishes->host[node];
    return m->wishes->place[node] == MLT_FLOW_NOWHERE &&
           (host == MLT_FLOW_NOWHERE || host == m->s->host_of[worker]);
}

// What the ways to its neighbours get shorter by if it moves.
static int64_t gain_of(const mover *m, uint32_t node, uint32_t to)
{
    int64_t gain = 0;
    uint32_t own = m->worker[node];
    for (uint32_t i = m->near->first[node]; i < m->near->first[node + 1]; i++) {
        uint32_t other = m->near->list[i], at = m->worker[other];
        if (other != node && at != MLT_FLOW_NOWHERE)
            gain += mlt_flow_distance(m->s, own, at) - mlt_flow_distance(m->s, to, at);
    }
    for (uint32_t i = m->pulls.first[node]; i < m->pulls.first[node + 1]; i++) {
        uint32_t at = m->worker[m->pulls.list[i]];
        gain +=
            (mlt_flow_distance(m->s, own, at) - mlt_flow_distance(m->s, to, at)) / MLT_FLOW_WIRE;
    }
    return gain;
}

// What the ways from one to the other cost, which are as long when both have changed places.
static int64_t between(const mover *m, uint32_t a, uint32_t b)
{
    int64_t weight = 0, way = mlt_flow_distance(m->s, m->worker[a], m->worker[b]);
    for (uint32_t i = m->near->first[a]; i < m->near->first[a + 1]; i++)
        weight += m->near->list[i] == b ? way : 0;
    for (uint32_t i = m->pulls.first[a]; i < m->pulls.first[a + 1]; i++)
        weight += m->pulls.list[i] == b ? way / MLT_FLOW_WIRE : 0;
    return weight;
}

static void drawn_to(const mover *m, uint32_t at, int64_t weight, uint32_t *touched)
{
    if (!m->drawn[at])
        m->touched[(*touched)++] = at;
    m->drawn[at] += weight;
    m->drawn_host[m->s->host_of[at]] += weight * (MLT_FLOW_FAR_WIRES - 1);
}

static int64_t drawn_by(const mover *m, uint32_t worker)
{
    return m->drawn[worker] + m->drawn_host[m->s->host_of[worker]];
}

// The worker other than its own where most draws it; MLT_FLOW_NOWHERE: none does.
static uint32_t best_for(const mover *m, uint32_t node, int64_t *gain)
{
    uint32_t touched = 0, own = m->worker[node], best = MLT_FLOW_NOWHERE;
    for (uint32_t i = m->near->first[node]; i < m->near->first[node + 1]; i++) {
        uint32_t other = m->near->list[i];
        if (other != node && m->near->module[other])
            drawn_to(m, m->worker[other], MLT_FLOW_WIRE, &touched);
    }
    for (uint32_t i = m->pulls.first[node]; i < m->pulls.first[node + 1]; i++)
        drawn_to(m, m->worker[m->pulls.list[i]], 1, &touched);
    for (uint32_t i = 0; i < touched; i++) {
        uint32_t at = m->touched[i];
        if (at != own && may_be(m, node, at) &&
            (best == MLT_FLOW_NOWHERE || drawn_by(m, at) > drawn_by(m, best) ||
             (drawn_by(m, at) == drawn_by(m, best) &&
              (m->load[at] < m->load[best] || (m->load[at] == m->load[best] && at < best)))))
            best = at;
    }
    *gain = best == MLT_FLOW_NOWHERE ? 0 : drawn_by(m, best) - drawn_by(m, own);
    for (uint32_t i = 0; i < touched; i++) {
        m->drawn[m->touched[i]] = 0;
        m->drawn_host[m->s->host_of[m->touched[i]]] = 0;
    }
    return best;
}

static void move(mover *m, uint32_t node, uint32_t to)
{
    uint64_t weight = mlt_flow_weight(m->g, node);
    m->load[m->worker[node]] -= weight;
    m->load[to] += weight;
    m->worker[node] = to;
    m->fresh[node] = true;
    for (uint32_t i = m->near->first[node]; i < m->near->first[node + 1]; i++)
        m->fresh[m->near->list[i]] = true;
    for (uint32_t i = m->pulls.first[node]; i < m->pulls.first[node + 1]; i++)
        m->fresh[m->pulls.list[i]] = true;
}

// Changes places with a module that waits to come from there, if both together gain. Otherwise it
// waits itself, unless one that gains more does already.
static bool swap(mover *m, uint32_t node, uint32_t to, int64_t gain)
{
    if (!m->waits)
        return false;
    uint32_t own = m->worker[node];
    size_t there = (size_t)to * m->s->workers + own, here = (size_t)own * m->s->workers + to;
    uint32_t other = m->waits[there];
    if (other != MLT_FLOW_NOWHERE && m->worker[other] != to)
        other = m->waits[there] = MLT_FLOW_NOWHERE;
    if (other != MLT_FLOW_NOWHERE && gain + m->gains[there] > 0) {
        uint64_t mine = mlt_flow_weight(m->g, node), its = mlt_flow_weight(m->g, other);
        uint64_t left = m->load[own] - mine + its, gone = m->load[to] - its + mine;
        if (left <= m->high && gone <= m->high && left >= m->low && gone >= m->low) {
            m->waits[there] = MLT_FLOW_NOWHERE;
            if (gain + gain_of(m, other, own) - 2 * between(m, node, other) > 0) {
                move(m, node, to);
                move(m, other, own);
                return true;
            }
        }
    }
    if (m->waits[here] == MLT_FLOW_NOWHERE || m->worker[m->waits[here]] != own ||
        m->gains[here] < gain) {
        m->waits[here] = node;
        m->gains[here] = gain;
    }
    m->fresh[node] = gain > 0; // there may be room, or somebody, next time
    return false;
}

static bool look_at(mover *m, uint32_t node)
{
    int64_t gain;
    uint32_t to = m->wishes->place[node] == MLT_FLOW_NOWHERE ? best_for(m, node, &gain)
                                                             : (uint32_t)MLT_FLOW_NOWHERE;
    if (to == MLT_FLOW_NOWHERE)
        return false;
    uint64_t weight = mlt_flow_weight(m->g, node), own = m->load[m->worker[node]];
    bool evens = own > m->load[to] + weight; // what costs nothing is worth it for the weights
    if ((gain > 0 || (gain == 0 && evens)) && m->load[to] + weight <= m->high &&
        own - weight >= m->low) {
        move(m, node, to);
        return true;
    }
    return swap(m, node, to, gain);
}

void mlt_flow_moves(const mlt_flow_graph *g, const mlt_flow_near *near, const mlt_flow_sites *sites,
                    const mlt_flow_wishes *wishes, const uint32_t *row, uint32_t count,
                    uint32_t *worker, uint64_t *load)
{
    uint64_t total = 0, most = 0, least = UINT64_MAX;
    for (uint32_t w = 0; w < sites->workers; w++) {
        total += load[w];
        most = load[w] > most ? load[w] : most;
        least = load[w] < least ? load[w] : least;
    }
    // Within a tenth of the mean, and no worse than the cut has it.
    uint64_t mean = total / sites->workers, high = mean + mean / 10, low = mean - mean / 10;
    mover m = {.g = g,
               .s = sites,
               .wishes = wishes,
               .near = near,
               .pulls = pulls_of(g->node_count, near),
               .worker = worker,
               .load = load,
               .low = least < low ? least : low,
               .high = most > high ? most : high,
               .drawn = mlt_flow_arena_take(near->arena, sites->workers * sizeof *m.drawn),
               .drawn_host =
                   mlt_flow_arena_take(near->arena, sites->host_count * sizeof *m.drawn_host),
               .touched = mlt_flow_arena_take(near->arena, sites->workers * sizeof *m.touched),
               .fresh = mlt_flow_arena_take(near->arena, g->node_count * sizeof *m.fresh)};
    memset(m.fresh, true, g->node_count);
    size_t pairs = (size_t)sites->workers * sites->workers;
    if (sites->workers <= MOST_PAIRS) {
        m.waits = mlt_flow_arena_take(near->arena, pairs * sizeof *m.waits);
        memset(m.waits, 0xff, pairs * sizeof *m.waits);
        m.gains = mlt_flow_arena_take(near->arena, pairs * sizeof *m.gains);
    }
    bool more = true;
    for (int pass = 0; pass < PASSES && more; pass++) {
        more = false;
        for (uint32_t i = 0; i < count; i++)
            if (m.fresh[row[i]]) {
                m.fresh[row[i]] = false;
                more |= look_at(&m, row[i]);
            }
    }
}
