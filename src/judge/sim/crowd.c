// SPDX-License-Identifier: BSD-3-Clause
// Hosts whose ranks share fewer processors than there are ranks. A rank's CPU runs on a processor of
// its host. It takes one when it has something to do, and keeps it until another takes it; none is
// taken from a CPU that is busy or goes on at once. So a rank that waits costs nothing.
//
// Where a host has more ranks than processors, its ranks sleep while they wait. A rank that finds a
// processor idle runs when it has been woken; one that finds all busy is woken meanwhile, and runs when
// a processor has been changed to it.
//
// Whatever a CPU does next at the end of its work is tried at that very time, others a picosecond
// later: that is how the owner goes first.
#include <stdlib.h>

#include "base/memory.h"
#include "judge/sim/sim_int.h"

void mlt_sim_crowd_begin(mlt_sim *sim, const mlt_cluster *cluster)
{
    if (!cluster->processors)
        return;
    mlt_sim_crowd *crowd = sim->crowd = mlt_xcalloc(1, sizeof *crowd);
    crowd->each = cluster->processors;
    crowd->change = mlt_sim_price(cluster->change * 1000);
    crowd->wake = mlt_sim_price(cluster->wake * 1000);
    crowd->all = mlt_xcalloc((size_t)cluster->hosts * crowd->each, sizeof *crowd->all);
    crowd->at = mlt_xcalloc(sim->lanes_count, sizeof *crowd->at);
    crowd->since = mlt_xcalloc(sim->lanes_count, sizeof *crowd->since);
    crowd->ranks = mlt_xcalloc(cluster->hosts, sizeof *crowd->ranks);
    for (size_t p = 0; p < (size_t)cluster->hosts * crowd->each; p++)
        crowd->all[p].owner = MLT_SIM_NONE;
    for (uint32_t l = 0; l < sim->lanes_count; l++) {
        crowd->at[l] = MLT_SIM_NONE;
        crowd->since[l] = UINT64_MAX;
    }
    for (uint32_t r = 0; r < sim->program->ranks; r++)
        crowd->ranks[sim->travel->nic[r] / cluster->nics]++;
}

void mlt_sim_crowd_fini(mlt_sim *sim)
{
    if (!sim->crowd)
        return;
    free(sim->crowd->all);
    free(sim->crowd->at);
    free(sim->crowd->since);
    free(sim->crowd->ranks);
    free(sim->crowd);
}

static uint32_t host_of(const mlt_sim *sim, uint32_t home)
{
    const mlt_sim_travel *t = sim->travel;
    return t->nic[mlt_sim_rank(sim, home)] / t->net.cluster->nics;
}

// The host's processor that is free first; one that nobody has used is free from the beginning.
static uint32_t first_free(const mlt_sim *sim, uint32_t home)
{
    const mlt_sim_crowd *crowd = sim->crowd;
    uint32_t first = host_of(sim, home) * crowd->each, best = first;
    for (uint32_t p = first; p < first + crowd->each; p++) {
        if (crowd->all[p].owner == MLT_SIM_NONE)
            return p;
        if (crowd->all[p].free < crowd->all[best].free)
            best = p;
    }
    return best;
}

// The CPU's own processor has been idle since its last work. If the wait was shorter than a wake, the
// rank was still about to fall asleep when it ended.
static uint64_t stir(mlt_sim *sim, uint32_t home, mlt_sim_processor *p, uint64_t now)
{
    const mlt_sim_crowd *crowd = sim->crowd;
    if (p->free >= now || crowd->ranks[host_of(sim, home)] <= crowd->each)
        return now;
    uint64_t idle = now - p->free;
    return p->free = sim->lanes[home].cpu_free = now + (idle < crowd->wake ? idle : crowd->wake);
}

uint64_t mlt_sim_enter(mlt_sim *sim, uint32_t home, uint64_t now, mlt_sim_node *node)
{
    mlt_sim_crowd *crowd = sim->crowd;
    uint32_t at = crowd->at[home];
    if (at != MLT_SIM_NONE && crowd->all[at].owner == home) {
        uint64_t awake = stir(sim, home, &crowd->all[at], now);
        if (node && awake > now)
            node->time = awake;
        return awake;
    }
    at = first_free(sim, home);
    mlt_sim_processor *p = &crowd->all[at];
    bool is_new = p->owner == MLT_SIM_NONE;
    uint64_t since = crowd->since[home] < now ? crowd->since[home] : now, begin = now;
    if (!is_new && p->free >= now) {
        crowd->since[home] = since;
        return p->free + 1;
    }
    if (!is_new) {
        uint64_t woken = since + crowd->wake;
        begin = now + crowd->change;
        begin = begin > woken ? begin : woken;
    }
    if (node && node->time < now && p->free + 1 == now) {
        node->cause = p->last;
        node->cause.why = MLT_SIM_SHARED_CORE;
    }
    if (node)
        node->time = begin;
    sim->result->context_switches += !is_new;
    p->owner = home;
    p->free = sim->lanes[home].cpu_free = begin;
    crowd->at[home] = at;
    crowd->since[home] = UINT64_MAX;
    return begin;
}

void mlt_sim_used(mlt_sim *sim, uint32_t home, uint64_t end, mlt_sim_ref by)
{
    mlt_sim_processor *p = &sim->crowd->all[sim->crowd->at[home]];
    p->free = end;
    p->last = by;
}
