// SPDX-License-Identifier: BSD-3-Clause
// Other places for ranks, among the cores of the hosts that they are on.
//
// The first starts are cheap to find: ranks in blocks, in turn, and close to those that they send
// most to, which is a search of its own: two ranks change places if then the bytes have fewer links
// to pass in all. The simulator chooses among them, and judges single changes afterwards.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/memory.h"
#include "judge/net/route.h"
#include "judge/pass/search_int.h"

enum {
    PLACE_LINKS = 100,
    PLACE_LEAST = 64
}; // changes tried for each rank, by links; a message's
    // own cost, in bytes

typedef struct place_flow { // to or from another rank
    uint32_t to;
    uint64_t bytes;
} place_flow;

typedef struct place_search {
    mlt_search *search;
    const mlt_goal_program *program;
    mlt_network net;
    uint32_t ranks, hosts;
    uint32_t *host; // [hosts]: those that are used
    uint32_t *list; // [ranks]: the cluster's
    uint32_t *best; // [ranks]
    uint32_t *on;   // by host of the cluster: ranks there
    uint64_t *at;   // [ranks + 1]: of flows
    place_flow *flow;
    mlt_search_dice dice;
} place_search;

// ---- traffic

static int place_by_rank(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return mlt_compare_words(x, y, 2);
}

// Both ends have the flow: three words each, the rank, the other one, bytes.
static void take_flows(place_search *s)
{
    uint64_t count = 0, sends = 0;
    for (uint32_t r = 0; r < s->ranks; r++)
        sends += s->program->rank[r].count;
    uint64_t(*ends)[3] = mlt_xcalloc(2 * sends + 1, sizeof *ends);
    for (uint32_t r = 0; r < s->ranks; r++)
        for (uint32_t a = 0; a < s->program->rank[r].count; a++) {
            const mlt_goal_action *action = &s->program->rank[r].actions[a];
            uint32_t to = (uint32_t)action->peer;
            if (action->kind != MLT_GOAL_SEND || to == r || to >= s->ranks)
                continue;
            uint64_t bytes = action->size[0] + PLACE_LEAST;
            memcpy(ends[count++], (uint64_t[]){r, to, bytes}, sizeof *ends);
            memcpy(ends[count++], (uint64_t[]){to, r, bytes}, sizeof *ends);
        }
    qsort(ends, count, sizeof *ends, place_by_rank);
    s->at = mlt_xcalloc((size_t)s->ranks + 1, sizeof *s->at);
    s->flow = mlt_xcalloc(count + 1, sizeof *s->flow);
    uint64_t n = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (i && ends[i][0] == ends[i - 1][0] && ends[i][1] == ends[i - 1][1]) {
            s->flow[n - 1].bytes += ends[i][2];
            continue;
        }
        s->flow[n++] = (place_flow){(uint32_t)ends[i][1], ends[i][2]};
        s->at[ends[i][0] + 1] = n;
    }
    for (uint32_t r = 0; r < s->ranks; r++)
        if (!s->at[r + 1])
            s->at[r + 1] = s->at[r];
    free(ends);
}

// Links between two hosts.
static uint64_t links_between(const place_search *s, uint32_t a, uint32_t b)
{
    uint32_t nics = s->search->cluster->nics, count = 0, link;
    if (a == b)
        return 0;
    do
        link = mlt_network_hop(&s->net, a * nics, b * nics, 0, count++);
    while (!mlt_network_is_last(&s->net, link));
    return count;
}

// What the bytes of a rank pass if it is on that host, without those to `other`.
static uint64_t bytes_on_links(const place_search *s, uint32_t rank, uint32_t host, uint32_t other)
{
    uint64_t sum = 0;
    for (uint64_t i = s->at[rank]; i < s->at[rank + 1]; i++)
        if (s->flow[i].to != other)
            sum += s->flow[i].bytes * links_between(s, host, s->list[s->flow[i].to]);
    return sum;
}

// ---- changes

// A rank and another one that change places; or, if that is the rank itself, a host with a free core.
typedef struct place_change {
    uint32_t rank, other, from, to;
} place_change;

// False: nothing would change.
static bool roll_change(place_search *s, place_change *c)
{
    c->rank = c->other = mlt_search_roll(&s->dice, s->ranks);
    c->from = s->list[c->rank];
    uint32_t to = s->host[mlt_search_roll(&s->dice, s->hosts)];
    if (s->on[to] < s->search->cluster->cores && to != c->from) {
        c->to = to;
        return true;
    }
    c->other = mlt_search_roll(&s->dice, s->ranks);
    c->to = s->list[c->other];
    return c->to != c->from;
}

static void do_change(place_search *s, const place_change *c)
{
    s->list[c->rank] = c->to;
    if (c->other != c->rank) {
        s->list[c->other] = c->from;
        return;
    }
    s->on[c->from]--;
    s->on[c->to]++;
}

static void undo_change(place_search *s, const place_change *c)
{
    s->list[c->rank] = c->from;
    if (c->other != c->rank) {
        s->list[c->other] = c->to;
        return;
    }
    s->on[c->from]++;
    s->on[c->to]--;
}

static void shorten_ways(place_search *s)
{
    for (uint64_t n = 0; n < (uint64_t)PLACE_LINKS * s->ranks; n++) {
        place_change c;
        if (!roll_change(s, &c))
            continue;
        uint32_t other = c.other == c.rank ? UINT32_MAX : c.other;
        uint64_t before = bytes_on_links(s, c.rank, c.from, other),
                 after = bytes_on_links(s, c.rank, c.to, other);
        if (c.other != c.rank) {
            before += bytes_on_links(s, c.other, c.to, c.rank);
            after += bytes_on_links(s, c.other, c.from, c.rank);
        }
        if (after < before)
            do_change(s, &c);
        if (!(n & 0xff) && mlt_search_now() > s->search->until_s)
            return;
    }
}

// ---- starts

static void count_hosts(place_search *s)
{
    memset(s->on, 0, s->search->cluster->hosts * sizeof *s->on);
    for (uint32_t r = 0; r < s->ranks; r++)
        s->on[s->list[r]]++;
}

// The list is kept if it is better, else the best one is there again.
static void try_list(place_search *s)
{
    uint32_t *from = s->list, *to = s->best;
    if (!mlt_search_try(s->search, s->program)) {
        from = s->best;
        to = s->list;
    }
    memcpy(to, from, s->ranks * sizeof *to);
    count_hosts(s);
}

static void deal_ranks(place_search *s, bool in_turn)
{
    uint32_t cores = s->search->cluster->cores, host = 0;
    memset(s->on, 0, s->search->cluster->hosts * sizeof *s->on);
    for (uint32_t r = 0; r < s->ranks; r++) {
        while (s->on[s->host[host]] == cores)
            host = (host + 1) % s->hosts;
        s->list[r] = s->host[host];
        s->on[s->host[host]]++;
        if (in_turn)
            host = (host + 1) % s->hosts;
    }
}

static void place_search_run(place_search *s)
{
    mlt_search_cost before = s->search->best;
    uint32_t *first = mlt_xcalloc(s->ranks, sizeof *first);
    memcpy(first, s->list, s->ranks * sizeof *first);
    for (int in_turn = 0; in_turn < 2; in_turn++) {
        deal_ranks(s, in_turn);
        try_list(s);
    }
    shorten_ways(s);
    try_list(s);
    for (uint64_t n = 0; mlt_search_goes_on(s->search, n, s->search->steps); n++) {
        place_change c;
        if (!roll_change(s, &c))
            continue;
        do_change(s, &c);
        if (mlt_search_try(s->search, s->program))
            memcpy(s->best, s->list, s->ranks * sizeof *s->best);
        else
            undo_change(s, &c);
    }
    if (s->search->best.total_ps >= before.total_ps) { // all that moving would do is to move
        memcpy(s->list, first, s->ranks * sizeof *first);
        s->search->best = before;
    }
    free(first);
}

// ---- all

// The list of where ranks are, which the cluster has from now on.
static void take_list(place_search *s, const uint32_t *nic)
{
    mlt_cluster *cluster = s->search->cluster;
    s->list = mlt_xcalloc(s->ranks, sizeof *s->list);
    s->best = mlt_xcalloc(s->ranks, sizeof *s->best);
    s->on = mlt_xcalloc(cluster->hosts, sizeof *s->on);
    s->host = mlt_xcalloc(s->ranks, sizeof *s->host);
    for (uint32_t r = 0; r < s->ranks; r++)
        s->list[r] = s->best[r] = nic[r] / cluster->nics;
    count_hosts(s);
    for (uint32_t h = 0; h < cluster->hosts; h++)
        if (s->on[h])
            s->host[s->hosts++] = h;
    free(cluster->list);
    cluster->list = s->list;
    cluster->list_count = s->ranks;
    cluster->place = MLT_PLACE_LIST;
}

uint32_t mlt_search_place(mlt_search *search, const mlt_goal_program *program, char *text,
                          size_t size)
{
    place_search s = {.search = search,
                      .program = program,
                      .ranks = program->ranks,
                      .dice = mlt_search_dice_of(search->seed)};
    uint32_t *nic = mlt_xcalloc(s.ranks, sizeof *nic), moved = 0;
    search->tried = 0;
    if (mlt_cluster_ranks(search->cluster, s.ranks, nic, text, size) == MLT_OK &&
        mlt_network_init(&s.net, search->cluster)) {
        take_list(&s, nic);
        if (s.hosts > 1) {
            take_flows(&s);
            place_search_run(&s);
        }
        for (uint32_t r = 0; r < s.ranks; r++)
            moved += s.list[r] != nic[r] / search->cluster->nics;
        if (s.hosts > 1 && !moved)
            snprintf(text, size, "left alone: no other places were faster");
        else if (s.hosts > 1)
            snprintf(text, size, "%u rank%s on another host", moved, moved == 1 ? "" : "s");
        else
            snprintf(text, size, "left alone: all ranks are on one host");
        free(s.best);
        free(s.on);
        free(s.host);
        free(s.at);
        free(s.flow);
    }
    free(nic);
    return moved;
}
