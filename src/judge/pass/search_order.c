// SPDX-License-Identifier: BSD-3-Clause
// Another order of sends that are ready together. The groups, and why no order of them makes a rank
// wait for another one that it did not wait for: pass_int.h.
//
// The first starts order all groups by one rule: rounds in which each rank sends and receives one
// message (the colours of spread.c), the time that is left after a send (order.c), by distance in
// the row of ranks, by the way through the network, by size. Then single groups change.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "judge/net/route.h"
#include "judge/pass/pass_int.h"
#include "judge/pass/search_int.h"

typedef struct search_group {
    uint32_t rank, count;
    uint32_t *sends, *kept; // as they start; those of the best program
    const uint32_t *first;  // in the order of the program
} search_group;

typedef struct order_search {
    mlt_search *search;
    mlt_goal_program *program;
    const mlt_goal_pairs *pairs;
    uint32_t *deps;    // [ranks]: how many the program had
    uint32_t *at;      // [ranks + 1]: a rank's groups
    search_group *all; // groups of all ranks
    uint32_t count;
    mlt_search_dice dice;
} order_search;

// ---- groups

static void take_groups(order_search *s)
{
    uint32_t ranks = s->program->ranks, room = 0;
    s->at = mlt_xcalloc((size_t)ranks + 1, sizeof *s->at);
    s->deps = mlt_xcalloc(ranks, sizeof *s->deps);
    for (uint32_t r = 0; r < ranks; r++)
        room += s->program->rank[r].count / 2;
    s->all = mlt_xcalloc((size_t)room + 1, sizeof *s->all);
    for (uint32_t r = 0; r < ranks; r++) {
        uint32_t count;
        mlt_pass_group *groups = mlt_pass_groups_new(&s->program->rank[r], &count);
        s->deps[r] = s->program->rank[r].deps_count;
        s->at[r] = s->count;
        for (uint32_t g = 0; g < count; g++) {
            uint32_t n = groups[g].count, *sends = mlt_xcalloc(3 * (size_t)n, sizeof *sends);
            for (int copy = 0; copy < 3; copy++)
                memcpy(sends + copy * n, groups[g].sends, n * sizeof *sends);
            s->all[s->count++] = (search_group){r, n, sends, sends + n, sends + 2 * n};
        }
        mlt_pass_groups_free(groups, count);
    }
    s->at[ranks] = s->count;
}

static bool is_moved(const search_group *g)
{
    return memcmp(g->sends, g->first, g->count * sizeof *g->sends) != 0;
}

// The rank's dependencies as its groups say.
static void apply_rank(order_search *s, uint32_t r)
{
    s->program->rank[r].deps_count = s->deps[r];
    for (uint32_t k = s->at[r]; k < s->at[r + 1]; k++) {
        const search_group *g = &s->all[k];
        for (uint32_t i = 1; i < g->count && is_moved(g); i++)
            mlt_goal_require(s->program, r, g->sends[i], g->sends[i - 1] | MLT_GOAL_STARTED);
    }
}

static void order_keep(search_group *g)
{
    memcpy(g->kept, g->sends, g->count * sizeof *g->sends);
}

static void order_undo(search_group *g)
{
    memcpy(g->sends, g->kept, g->count * sizeof *g->sends);
}

// ---- starts: all groups by one rule

static const mlt_goal_action *send_of(const order_search *s, uint32_t rank, uint32_t send)
{
    return &s->program->rank[rank].actions[send];
}

static uint32_t links_to(const mlt_network *net, const uint32_t *nic, uint32_t from, uint32_t to)
{
    uint32_t count = 0, link;
    if (nic[from] / net->cluster->nics == nic[to] / net->cluster->nics)
        return 0;
    do
        link = mlt_network_hop(net, nic[from], nic[to], 0, count++);
    while (!mlt_network_is_last(net, link));
    return count;
}

typedef enum order_rule {
    ORDER_ROUNDS,
    ORDER_TIME_LEFT,
    ORDER_SHIFT,
    ORDER_XOR,
    ORDER_FAR,
    ORDER_NEAR,
    ORDER_LARGE,
    ORDER_SMALL,
    ORDER_RULES,
} order_rule;

typedef struct rule_maker {
    const mlt_network *net;
    const uint32_t *nic;
} rule_maker;

static double rule_key(const order_search *s, const rule_maker *m, order_rule rule, uint32_t from,
                       uint32_t send)
{
    const mlt_goal_action *action = send_of(s, from, send);
    uint32_t to = (uint32_t)action->peer, ranks = s->program->ranks;
    switch (rule) {
    case ORDER_SHIFT:
        return -(double)((to + ranks - from) % ranks);
    case ORDER_XOR:
        return -(double)(to ^ from);
    case ORDER_FAR:
        return (double)links_to(m->net, m->nic, from, to);
    case ORDER_NEAR:
        return -(double)links_to(m->net, m->nic, from, to);
    case ORDER_LARGE:
        return (double)action->size[0];
    default:
        return -(double)action->size[0];
    }
}

typedef struct order_keyed {
    double key;
    uint32_t place, send; // in the order of the program
} order_keyed;

static int by_rule(const void *pa, const void *pb)
{
    const order_keyed *a = pa, *b = pb;
    if (a->key != b->key)
        return a->key > b->key ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

// The greatest keys first, equal ones as they stand.
static void sort_group(search_group *g, const double *key)
{
    order_keyed *sorted = mlt_xcalloc(g->count, sizeof *sorted);
    for (uint32_t i = 0; i < g->count; i++)
        sorted[i] = (order_keyed){key[g->first[i]], i, g->first[i]};
    qsort(sorted, g->count, sizeof *sorted, by_rule);
    for (uint32_t i = 0; i < g->count; i++)
        g->sends[i] = sorted[i].send;
    free(sorted);
}

static void sort_all(order_search *s, const double *key)
{
    for (uint32_t k = 0; k < s->count; k++)
        sort_group(&s->all[k], key + s->pairs->first[s->all[k].rank]);
    for (uint32_t r = 0; r < s->program->ranks; r++)
        apply_rank(s, r);
}

static void try_order(order_search *s)
{
    if (mlt_search_try(s->search, s->program)) {
        for (uint32_t k = 0; k < s->count; k++)
            order_keep(&s->all[k]);
        return;
    }
    for (uint32_t k = 0; k < s->count; k++)
        order_undo(&s->all[k]);
    for (uint32_t r = 0; r < s->program->ranks; r++)
        apply_rank(s, r);
}

static void try_rules(order_search *s, const mlt_waits *events)
{
    const mlt_cluster *cluster = s->search->cluster;
    uint32_t ranks = s->program->ranks, *nic = mlt_xcalloc(ranks, sizeof *nic);
    mlt_network net;
    char why[400];
    bool placed = mlt_cluster_ranks(cluster, ranks, nic, why, sizeof why) == MLT_OK &&
                  mlt_network_init(&net, cluster);
    rule_maker maker = {&net, nic};
    mlt_pass_keys *const made[] = {
        [ORDER_ROUNDS] = mlt_pass_rounds, [ORDER_TIME_LEFT] = mlt_pass_time_left};
    for (order_rule rule = 0; rule < ORDER_RULES && placed; rule++) {
        double *key = rule <= ORDER_TIME_LEFT
                          ? made[rule](s->program, s->pairs, events, &cluster->between)
                          : mlt_xcalloc(s->pairs->first[ranks], sizeof *key);
        for (uint32_t k = 0; k < s->count && rule > ORDER_TIME_LEFT; k++)
            for (uint32_t i = 0; i < s->all[k].count; i++)
                key[s->pairs->first[s->all[k].rank] + s->all[k].first[i]] =
                    rule_key(s, &maker, rule, s->all[k].rank, s->all[k].first[i]);
        sort_all(s, key);
        try_order(s);
        free(key);
    }
    free(nic);
}

// ---- single changes

static void change_group(order_search *s, search_group *g)
{
    uint32_t a = mlt_search_roll(&s->dice, g->count), b = mlt_search_roll(&s->dice, g->count - 1);
    b += b >= a;
    uint32_t send = g->sends[a];
    if (mlt_search_roll(&s->dice, 2)) { // two change places
        g->sends[a] = g->sends[b];
        g->sends[b] = send;
        return;
    }
    for (; a < b; a++) // or one goes elsewhere
        g->sends[a] = g->sends[a + 1];
    for (; a > b; a--)
        g->sends[a] = g->sends[a - 1];
    g->sends[b] = send;
}

static void change(order_search *s)
{
    for (uint64_t n = 0; mlt_search_goes_on(s->search, n, s->search->steps); n++) {
        search_group *g = &s->all[mlt_search_roll(&s->dice, s->count)];
        change_group(s, g);
        apply_rank(s, g->rank);
        if (mlt_search_try(s->search, s->program)) {
            order_keep(g);
        } else {
            order_undo(g);
            apply_rank(s, g->rank);
        }
    }
}

static uint32_t count_moved(const order_search *s)
{
    uint32_t ranks = 0;
    for (uint32_t r = 0; r < s->program->ranks; r++) {
        bool moved = false;
        for (uint32_t k = s->at[r]; k < s->at[r + 1]; k++)
            moved = moved || is_moved(&s->all[k]);
        ranks += moved;
    }
    return ranks;
}

// What does not pay goes again: an order leaves the executor less choice.
static void prune(order_search *s)
{
    for (uint32_t k = 0; k < s->count; k++) {
        search_group *g = &s->all[k];
        mlt_search_cost cost;
        char why[400];
        if (!is_moved(g) || !mlt_search_goes_on(s->search, k, s->count))
            continue;
        memcpy(g->sends, g->first, g->count * sizeof *g->sends);
        apply_rank(s, g->rank);
        if (mlt_search_judge(s->search, s->program, &cost, why, sizeof why) == MLT_OK &&
            cost.total_ps <= s->search->best.total_ps) {
            s->search->best = cost;
            order_keep(g);
        } else {
            order_undo(g);
            apply_rank(s, g->rank);
        }
    }
}

// As the program was.
static void order_reset(order_search *s, mlt_search_cost before)
{
    for (uint32_t k = 0; k < s->count; k++)
        memcpy(s->all[k].sends, s->all[k].first, s->all[k].count * sizeof *s->all[k].first);
    for (uint32_t r = 0; r < s->program->ranks; r++)
        apply_rank(s, r);
    s->search->best = before;
}

static uint32_t order_search_run(order_search *s, const mlt_waits *events)
{
    mlt_search_cost before = s->search->best;
    try_rules(s, events);
    change(s);
    if (s->search->best.total_ps >= before.total_ps)
        order_reset(s, before);
    else
        prune(s);
    return count_moved(s);
}

static void order_fini(order_search *s)
{
    for (uint32_t k = 0; k < s->count; k++)
        free(s->all[k].sends);
    free(s->all);
    free(s->at);
    free(s->deps);
}

uint32_t mlt_search_order(mlt_search *search, mlt_goal_program *program, char *text, size_t size)
{
    search->tried = 0;
    if (mlt_goal_has_wildcards(program)) {
        snprintf(text, size, "left alone: a receive takes what comes");
        return 0;
    }
    order_search s = {.search = search,
                      .program = program,
                      .pairs = mlt_goal_pairs_new(program),
                      .dice = mlt_search_dice_of(search->seed)};
    uint32_t moved = 0;
    mlt_waits events;
    if (mlt_waits_of(&events, program, s.pairs, false, NULL)) {
        take_groups(&s);
        moved = s.count ? order_search_run(&s, &events) : 0;
        if (!s.count)
            snprintf(text, size, "left alone: no rank has sends that are ready together");
        else if (!moved)
            snprintf(text, size, "left alone: no other order was faster");
        else
            snprintf(text, size, "sends of %u rank%s in another order", moved,
                     moved == 1 ? "" : "s");
        order_fini(&s);
    } else
        snprintf(text, size, "left alone: some of its ranks wait for each other");
    mlt_waits_fini(&events);
    mlt_goal_pairs_free((mlt_goal_pairs *)s.pairs);
    return moved;
}
