// SPDX-License-Identifier: BSD-3-Clause
// Schedules of reductions between workers. On one host, or with one member on each, Aspen's
// algorithm over all members. Else per host first:
//
//     host A          host B              host C
//     0 <- 1 <- 2     3 <- 4              5      contributors of a host give to its speaker
//     |               |                   |
//     '---- Aspen ----'------- Aspen -----'      between speakers; to those that listen
//     '-> 2                               '-> 6  a listener tells the receivers of its host
//
// A speaker is a contributor of its host: if possible one that also receives, and so listens, too.
#include <stdlib.h>

#include "base/array.h"
#include "base/memory.h"
#include "flow/lower/lower_int.h"

typedef struct planner {
    const mlt_flow_sites *sites;
    const mlt_flow_members *members;
    mlt_reduce_to_load *load;
    bool ordered;
    mlt_reduce_to_plan plan;
    uint32_t room;
    // The members that take part in the next step.
    uint32_t *some, count;
    uint8_t *contributes, *receives; // [count]
} planner;

static void plan_add_edge(mlt_reduce_to_plan *plan, uint32_t *room, mlt_reduce_to_edge edge)
{
    *MLT_ARRAY_ADD(plan->edges, plan->count, *room) = edge;
}

static void include(planner *p, uint32_t member, bool contributes, bool receives)
{
    p->some[p->count] = member;
    p->contributes[p->count] = contributes;
    p->receives[p->count++] = receives;
}

// Up a binomial tree over the contributors in order; then those that have the result tell others.
static mlt_reduce_to_plan plan_in_order(const planner *p)
{
    mlt_reduce_to_plan plan = {0};
    uint32_t room = 0, gives = 0, have = 1, tells = 0;
    uint32_t *give = mlt_xcalloc(p->count + 1ull, sizeof *give);
    uint32_t *holder = mlt_xcalloc(p->count + 1ull, sizeof *holder);
    for (uint32_t i = 0; i < p->count; i++)
        if (p->contributes[i])
            give[gives++] = i;
    holder[0] = give[0];
    for (uint32_t i = 0; i < p->count; i++)
        if (p->receives[i] && i != give[0])
            holder[1 + tells++] = i;
    bool wanted = tells || p->receives[give[0]];
    for (uint32_t step = 1; step < gives && wanted; step *= 2)
        for (uint32_t i = 0; i + step < gives; i += 2 * step)
            plan_add_edge(&plan, &room,
                          (mlt_reduce_to_edge){give[i + step], give[i], MLT_REDUCE_TO_GIVE});
    while (have < 1 + tells)
        for (uint32_t i = 0, holders = have; i < holders && have < 1 + tells; i++)
            plan_add_edge(&plan, &room,
                          (mlt_reduce_to_edge){holder[i], holder[have++], MLT_REDUCE_TO_TELL});
    free(give);
    free(holder);
    return plan;
}

// Plans among those that were included, under the load of their workers, and adds it to the whole.
static void step(planner *p)
{
    uint32_t gives = 0;
    for (uint32_t i = 0; i < p->count; i++)
        gives += p->contributes[i];
    mlt_reduce_to_plan plan = {0};
    if (gives && p->ordered) {
        plan = plan_in_order(p);
    } else if (gives) {
        mlt_reduce_to_load *load = p->load ? mlt_reduce_to_load_new(p->count) : NULL;
        for (uint32_t i = 0; i < p->count && load; i++) {
            load->in[i] = p->load->in[p->members->worker[p->some[i]]];
            load->out[i] = p->load->out[p->members->worker[p->some[i]]];
        }
        plan = mlt_reduce_to_plan_new(p->count, p->contributes, p->receives, load);
        mlt_reduce_to_load_free(load);
    }
    for (uint32_t i = 0; i < plan.count; i++) {
        mlt_reduce_to_edge e = plan.edges[i];
        e.from = p->some[e.from];
        e.to = p->some[e.to];
        plan_add_edge(&p->plan, &p->room, e);
        mlt_reduce_to_edge at = {p->members->worker[e.from], p->members->worker[e.to], e.kind};
        if (p->load)
            mlt_reduce_to_plan_count(&(mlt_reduce_to_plan){&at, 1}, p->load);
    }
    mlt_reduce_to_plan_free(&plan);
    p->count = 0;
}

typedef struct group { // members of a host, [first, end)
    uint32_t first, end;
    uint32_t speaker, listener; // MLT_FLOW_NONE: none contributes, or receives
} group;

static group group_at(const planner *p, uint32_t first)
{
    const mlt_flow_members *m = p->members;
    const uint32_t *host = p->sites->host_of;
    group g = {first, first, MLT_FLOW_NONE, MLT_FLOW_NONE};
    bool both = false;
    for (; g.end < m->count && host[m->worker[g.end]] == host[m->worker[first]]; g.end++) {
        uint32_t i = g.end;
        // Only the lowest may speak if the order is to be kept.
        bool better = m->receives[i] && !both && !p->ordered;
        if (m->contributes[i] && (g.speaker == MLT_FLOW_NONE || better)) {
            g.speaker = i;
            both = m->receives[i];
        }
        if (m->receives[i] && g.listener == MLT_FLOW_NONE)
            g.listener = i;
    }
    if (g.speaker != MLT_FLOW_NONE && m->receives[g.speaker])
        g.listener = g.speaker;
    return g;
}

static void by_hosts(planner *p)
{
    const mlt_flow_members *m = p->members;
    for (uint32_t at = 0; at < m->count;) {
        group g = group_at(p, at);
        for (at = g.first; at < g.end; at++)
            if (m->contributes[at])
                include(p, at, true, at == g.speaker);
        step(p);
    }
    for (uint32_t at = 0; at < m->count;) {
        group g = group_at(p, at);
        if (g.speaker != MLT_FLOW_NONE)
            include(p, g.speaker, true, g.speaker == g.listener);
        if (g.listener != MLT_FLOW_NONE && g.listener != g.speaker)
            include(p, g.listener, false, true);
        at = g.end;
    }
    step(p);
    for (uint32_t at = 0; at < m->count;) {
        group g = group_at(p, at);
        for (at = g.first; at < g.end; at++)
            if (m->receives[at])
                include(p, at, at == g.listener, true);
        step(p);
    }
}

mlt_reduce_to_plan mlt_flow_plan_new(const mlt_flow_sites *sites, const mlt_flow_members *members,
                                     mlt_reduce_to_load *load, bool ordered)
{
    planner p = {.sites = sites, .members = members, .load = load, .ordered = ordered};
    uint32_t hosts = 0;
    bool wanted = false;
    for (uint32_t i = 0; i < members->count; i++) {
        wanted |= members->receives[i];
        hosts += !i || sites->host_of[members->worker[i]] != sites->host_of[members->worker[i - 1]];
    }
    if (!wanted)
        return p.plan;
    p.some = mlt_xcalloc(members->count, sizeof *p.some);
    p.contributes = mlt_xcalloc(members->count, 1);
    p.receives = mlt_xcalloc(members->count, 1);
    if (hosts > 1 && hosts < members->count) {
        by_hosts(&p);
    } else {
        for (uint32_t i = 0; i < members->count; i++)
            include(&p, i, members->contributes[i], members->receives[i]);
        step(&p);
    }
    free(p.some);
    free(p.contributes);
    free(p.receives);
    return p.plan;
}
