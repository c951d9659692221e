// SPDX-License-Identifier: BSD-3-Clause
// Hosts whose ranks share fewer processors than there are ranks. A rank's CPU runs on a processor of
// its host. It takes one when it has something to do, and keeps it until another takes it; none is
// taken from a CPU that is busy or goes on at once. So a rank that waits costs nothing, and a rank that
// wakes pays for the change if somebody else ran there last.
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
    mlt_sim_crowd *crowd = sim->crowd = mlt_take(1, sizeof *crowd);
    crowd->each = cluster->processors;
    crowd->change = mlt_sim_price(cluster->change * 1000);
    crowd->all = mlt_take((size_t)cluster->hosts * crowd->each, sizeof *crowd->all);
    crowd->at = mlt_take(sim->lanes_count, sizeof *crowd->at);
    for (size_t p = 0; p < (size_t)cluster->hosts * crowd->each; p++)
        crowd->all[p].owner = MLT_SIM_NONE;
    for (uint32_t l = 0; l < sim->lanes_count; l++)
        crowd->at[l] = MLT_SIM_NONE;
}

void mlt_sim_crowd_fini(mlt_sim *sim)
{
    if (!sim->crowd)
        return;
    free(sim->crowd->all);
    free(sim->crowd->at);
    free(sim->crowd);
}

// The host's processor that is free first; one that nobody has used is free from the beginning.
static uint32_t first_free(const mlt_sim *sim, uint32_t home)
{
    const mlt_sim_crowd *crowd = sim->crowd;
    const mlt_sim_travel *t = sim->travel;
    uint32_t host = t->nic[mlt_sim_rank(sim, home)] / t->net.cluster->nics;
    uint32_t first = host * crowd->each, best = first;
    for (uint32_t p = first; p < first + crowd->each; p++) {
        if (crowd->all[p].owner == MLT_SIM_NONE)
            return p;
        if (crowd->all[p].free < crowd->all[best].free)
            best = p;
    }
    return best;
}

uint64_t mlt_sim_enter(mlt_sim *sim, uint32_t home, uint64_t now, mlt_sim_node *node)
{
    mlt_sim_crowd *crowd = sim->crowd;
    uint32_t at = crowd->at[home];
    if (at != MLT_SIM_NONE && crowd->all[at].owner == home)
        return now;
    at = first_free(sim, home);
    mlt_sim_processor *p = &crowd->all[at];
    bool is_new = p->owner == MLT_SIM_NONE;
    if (!is_new && p->free >= now)
        return p->free + 1;
    uint64_t change = is_new ? 0 : crowd->change;
    if (node && node->time < now && p->free + 1 == now) {
        node->cause = p->last;
        node->cause.why = MLT_SIM_PROCESSOR;
    }
    if (node)
        node->time = now + change;
    sim->result->changes += !is_new;
    p->owner = home;
    p->free = sim->lanes[home].cpu_free = now + change;
    crowd->at[home] = at;
    return now + change;
}

void mlt_sim_used(mlt_sim *sim, uint32_t home, uint64_t end, mlt_sim_ref by)
{
    mlt_sim_processor *p = &sim->crowd->all[sim->crowd->at[home]];
    p->free = end;
    p->last = by;
}
