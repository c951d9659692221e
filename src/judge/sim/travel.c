// SPDX-License-Identifier: BSD-3-Clause
// Messages on the links of a described machine. The head of a message goes from link to link, an
// event each; there it meets those that are under way. Its first link needs no event, for heads
// reach it in the order of their sends; nor does a link of unlimited bandwidth, where nobody meets.
// A link must see heads in the order of their times (share.h), so that any other one needs its event.
//
// LogGOPS lets a message come when its first byte does, and its bytes follow at G. A message whose
// bytes come more slowly, because links are slower or shared, comes as if its bytes followed at G
// and the last one came when it does: `late` is that time. It grows at the link where the message
// gets least; parts of the way overlap, so it is the greatest delay that counts, not the sum.
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/table.h"
#include "judge/sim/sim_int.h"

enum { BUSIEST = 8 }; // links that the result names

mlt_status mlt_sim_travel_begin(mlt_sim *sim, const mlt_sim_options *options, char *why,
                                size_t why_size)
{
    const mlt_cluster *cluster = options->cluster;
    mlt_sim_travel *t = sim->travel = mlt_xcalloc(1, sizeof *t);
    t->unused = MLT_SIM_NONE;
    bool fits = mlt_network_init(&t->net, cluster);
    if (!fits)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "the machine's network has more than %u links", MLT_CLUSTER_LINKS);
    for (int k = 0; k < MLT_NETWORK_KINDS; k++) {
        t->latency[k] = mlt_sim_price(cluster->cost[k].latency * 1000);
        t->byte[k] = cluster->cost[k].bandwidth > 0 ? 1000 / cluster->cost[k].bandwidth : 0;
    }
    t->noise = cluster->noise;
    t->seed = options->seed;
    t->nic = mlt_xcalloc(sim->program->ranks, sizeof *t->nic);
    t->links = mlt_xcalloc(t->net.links, sizeof *t->links);
    mlt_status status = mlt_cluster_ranks(cluster, sim->program->ranks, t->nic, why, why_size);
    if (status == MLT_OK && t->net.inside) {
        t->node = mlt_xcalloc(sim->program->ranks, sizeof *t->node);
        mlt_cluster_nodes(cluster, sim->program->ranks, t->nic, t->node);
    }
    return status;
}

bool mlt_sim_is_near(const mlt_sim *sim, uint32_t rank, uint32_t other)
{
    const mlt_sim_travel *t = sim->travel;
    uint32_t nics = t->net.cluster->nics;
    return t->nic[rank] / nics == t->nic[other] / nics;
}

uint64_t mlt_sim_noise(const mlt_sim *sim, uint32_t send)
{
    const mlt_sim_travel *t = sim->travel;
    const mlt_sim_action *action = &sim->actions[send];
    if (!(t->noise > 0) || !(action->bits & MLT_SIM_NEAR))
        return 0;
    const mlt_sim_cost *cost = mlt_sim_cost_of(sim, action);
    double usual = (double)(cost->o + cost->L + mlt_sim_bytes(mlt_sim_size(action), cost->G));
    double part = (double)mlt_hash_word(t->seed << 32 | send) / UINT32_MAX;
    return mlt_sim_price(t->noise * usual * 3 * part * part);
}

static uint32_t traveller_new(mlt_sim_travel *t)
{
    uint32_t number = t->unused;
    if (number != MLT_SIM_NONE) {
        t->unused = t->travellers[number].send;
        return number;
    }
    MLT_ARRAY_WANT(t->travellers, (size_t)t->travellers_count + 1, t->travellers_room);
    return t->travellers_count++;
}

// How much later than at G the last byte comes over a link of so many ps a byte, if others delay it
// by `shared` there.
static uint64_t slower(uint64_t size, double byte, double G, double shared)
{
    double late = shared + (size > 1 ? (double)(size - 1) * (byte - G) : 0);
    return late > 0 ? mlt_sim_price(late) : 0;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint32_t link_of(const mlt_network *net, const mlt_sim_traveller *me, uint32_t hop)
{
    return me->inside ? mlt_network_inner_hop(net, me->from, me->to, hop)
                      : mlt_network_hop(net, me->from, me->to, me->send, hop);
}

static bool is_last(const mlt_network *net, const mlt_sim_traveller *me, uint32_t link)
{
    return me->inside
               ? mlt_network_inner_hop(net, me->from, me->to, me->hop + 1) == MLT_NETWORK_NO_LINK
               : mlt_network_is_last(net, link);
}

// Over links until the head must come to one in its turn, at *at; true: it has come to its NIC.
static bool go(mlt_sim *sim, mlt_sim_traveller *me, uint64_t time, uint32_t seq, uint64_t *at)
{
    mlt_sim_travel *t = sim->travel;
    uint64_t size = mlt_sim_size(&sim->actions[me->send]);
    const mlt_sim_cost *cost = mlt_sim_cost_of(sim, &sim->actions[me->send]);
    bool last = false;
    // Whether the next link that can be shared must be come to in its turn.
    mlt_network_kind first = me->inside ? MLT_NETWORK_MEMORY : MLT_NETWORK_HOST;
    bool met = me->hop == 0 && (me->loose || !(t->byte[first] > 0));
    me->loose = false;
    for (; !last; me->hop++) {
        uint32_t link = link_of(&t->net, me, me->hop);
        mlt_network_kind kind = mlt_network_kind_of(&t->net, link);
        if (t->byte[kind] > 0) {
            if (met) {
                *at = time;
                return false;
            }
            met = true;
            double work = (double)(size ? size : 1) * t->byte[kind];
            double shared = mlt_share_add(&t->links[link], time, work, size);
            me->late = later(me->late, time + slower(size, t->byte[kind], cost->G, shared));
        }
        sim->result->hops++;
        me->late = later(me->late, time) + t->latency[kind];
        time += t->latency[kind];
        last = is_last(&t->net, me, link);
    }
    uint64_t comes = later(me->late, time) + cost->L;
    if (sim->nodes)
        sim->nodes[2 * (size_t)me->send + 1].time = comes;
    mlt_sim_put(sim, comes, me->what, seq);
    return true;
}

static void go_on(mlt_sim *sim, uint32_t number, uint64_t time, uint32_t seq)
{
    mlt_sim_travel *t = sim->travel;
    if (!go(sim, &t->travellers[number], time, seq, &time)) {
        mlt_sim_put(sim, time, number | MLT_SIM_HOP, seq);
        return;
    }
    t->travellers[number].send = t->unused;
    t->unused = number;
}

void mlt_sim_depart(mlt_sim *sim, uint32_t send, uint64_t time, uint32_t what, uint32_t seq)
{
    mlt_sim_travel *t = sim->travel;
    uint32_t number = traveller_new(t);
    mlt_goal_place place = mlt_sim_place(sim, send);
    int32_t peer = mlt_sim_source(sim, place)->peer;
    bool inside = sim->actions[send].bits & MLT_SIM_NEAR;
    // Messages come to the memory of their node in another order than that of their sends.
    bool loose = inside && (t->noise > 0 || sim->cost[1].o != sim->cost[2].o);
    const uint32_t *where = inside ? t->node : t->nic;
    t->travellers[number] = (mlt_sim_traveller){.send = send,
                                                .from = where[place.rank],
                                                .to = where[peer],
                                                .what = what,
                                                .late = time,
                                                .inside = inside,
                                                .loose = loose};
    sim->result->network_messages += !inside;
    go_on(sim, number, time, seq);
}

void mlt_sim_hop(mlt_sim *sim, const mlt_sim_event *event)
{
    go_on(sim, event->what & ~MLT_SIM_HOP, event->time, event->seq);
}

uint64_t mlt_sim_alone(const mlt_sim *sim, uint32_t send)
{
    const mlt_sim_travel *t = sim->travel;
    mlt_goal_place place = mlt_sim_place(sim, send);
    uint32_t from = t->nic[place.rank];
    uint32_t to = t->nic[mlt_sim_source(sim, place)->peer];
    uint64_t size = mlt_sim_size(&sim->actions[send]), time = 0, late = 0;
    for (uint32_t hop = 0, link = 0; hop == 0 || !mlt_network_is_last(&t->net, link); hop++) {
        link = mlt_network_hop(&t->net, from, to, send, hop);
        mlt_network_kind kind = mlt_network_kind_of(&t->net, link);
        if (t->byte[kind] > 0)
            late = later(late, time + slower(size, t->byte[kind], sim->cost[0].G, 0));
        late = later(late, time) + t->latency[kind];
        time += t->latency[kind];
    }
    return later(late, time) + sim->cost[0].L;
}

// ---- what is told of it

void mlt_sim_travel_end(mlt_sim *sim)
{
    const mlt_sim_travel *t = sim->travel;
    uint32_t found[BUSIEST], count = 0;
    for (uint32_t l = 0; l < t->net.links; l++) { // kept in falling order
        if (!t->links[l].messages)
            continue;
        uint32_t at = count < BUSIEST ? count++ : BUSIEST;
        for (; at > 0 && t->links[l].work > t->links[found[at - 1]].work; at--)
            if (at < BUSIEST)
                found[at] = found[at - 1];
        if (at < BUSIEST)
            found[at] = l;
    }
    mlt_sim_result *result = sim->result;
    result->links = mlt_xcalloc(count, sizeof *result->links);
    result->links_count = count;
    for (uint32_t i = 0; i < count; i++) {
        const mlt_share *link = &t->links[found[i]];
        result->links[i] = (mlt_sim_link){.messages = link->messages,
                                          .bytes = link->bytes,
                                          .busy_ps = (uint64_t)(link->work + 0.5)};
        mlt_network_link_name(&t->net, found[i], result->links[i].name,
                              sizeof result->links[i].name);
    }
}

void mlt_sim_travel_fini(mlt_sim *sim)
{
    mlt_sim_travel *t = sim->travel;
    if (!t)
        return;
    for (uint32_t l = 0; t->links && l < t->net.links; l++)
        mlt_share_fini(&t->links[l]);
    free(t->links);
    free(t->nic);
    free(t->node);
    free(t->travellers);
    free(t);
}
