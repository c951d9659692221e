// SPDX-License-Identifier: BSD-3-Clause
// spread: messages that are under way at the same time should end at different ranks.
//
// Messages of one level (as many messages come before each, on the longest way) are edges between
// senders and receivers. A bipartite multigraph in which no rank has more than D edges can be
// coloured with D colours so that no two edges of a rank are alike (Koenig): a colour is a round in
// which every rank sends and receives one message at most. Each rank then starts its sends that are
// ready together (pass_int.h) in the order of the colours, which makes nobody wait for anybody new.
// A level is changed only if fewer messages then meet at a receiver in the same round, and the
// whole only if the simulator finds it faster.
//
// Colours: that of a rotation, (receiver - sender) mod P, if both ends have it free; else the
// colours a, free at the sender, and b, free at the receiver, are exchanged along the path of both
// that begins at the receiver, which cannot lead to the sender; then a is free at both.
#include "judge/pass/pass_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/memory.h"

enum { TABLE = 1 << 26 }; // a level whose ranks times colours are more is left alone

typedef struct spread_message {
    uint32_t from, to; // vertices: the ranks of the level, senders first
    uint32_t from_rank, to_rank;
    uint64_t number, group; // of the send, and of the first one that is ready together with it
    uint32_t round;         // how many of its group start before it
    uint32_t colour;
} spread_message;

typedef struct colouring {
    spread_message *edges;
    uint32_t count, colours, vertices;
    uint32_t *at;   // [vertex * colours + colour]: 1 + edge
    uint32_t *free; // [vertex]: below it no colour is free
} colouring;

static uint32_t *slot(colouring *c, uint32_t vertex, uint32_t colour)
{
    return &c->at[(size_t)vertex * c->colours + colour];
}

static uint32_t free_colour(colouring *c, uint32_t vertex)
{
    while (*slot(c, vertex, c->free[vertex]))
        c->free[vertex]++; // there is one: edges are no more than colours
    return c->free[vertex];
}

// Exchanges a and b along the path from `vertex`, which has b free.
static void exchange(colouring *c, uint32_t vertex, uint32_t a, uint32_t b)
{
    uint32_t edge = *slot(c, vertex, a);
    *slot(c, vertex, a) = 0; // the caller takes it at once
    while (edge) {           // from `vertex` with colour a; becomes b
        spread_message *m = &c->edges[edge - 1];
        uint32_t other = m->from == vertex ? m->to : m->from, next = *slot(c, other, b);
        *slot(c, vertex, b) = edge;
        *slot(c, other, b) = edge;
        *slot(c, other, a) = 0;
        m->colour = b;
        vertex = other;
        // The next one has colour b at this vertex and becomes a.
        uint32_t swap = a;
        a = b;
        b = swap;
        edge = next;
        if (!edge && b < c->free[vertex])
            c->free[vertex] = b;
    }
}

static void colour(colouring *c, uint32_t ranks)
{
    for (uint32_t e = 0; e < c->count; e++) {
        spread_message *m = &c->edges[e];
        uint32_t wanted = (m->to_rank + ranks - m->from_rank + ranks - 1) % ranks;
        if (wanted >= c->colours || *slot(c, m->from, wanted) || *slot(c, m->to, wanted)) {
            wanted = free_colour(c, m->from);
            if (*slot(c, m->to, wanted))
                exchange(c, m->to, wanted, free_colour(c, m->to));
        }
        m->colour = wanted;
        *slot(c, m->from, wanted) = *slot(c, m->to, wanted) = e + 1;
    }
}

// ---- does it help?

static int by_group(const void *pa, const void *pb)
{
    const spread_message *a = pa, *b = pb;
    return mlt_compare_words((uint64_t[]){a->group, a->colour}, (uint64_t[]){b->group, b->colour},
                             2);
}

// Messages that come to a rank in a round in which another one does; if every group starts one send
// a round.
static uint64_t meetings(colouring *c)
{
    uint64_t met = 0;
    memset(c->at, 0, (size_t)c->vertices * c->colours * sizeof *c->at);
    for (uint32_t e = 0; e < c->count; e++)
        met += (*slot(c, c->edges[e].to, c->edges[e].round))++ > 0;
    return met;
}

static bool helps(colouring *c)
{
    uint64_t before = meetings(c);
    qsort(c->edges, c->count, sizeof *c->edges, by_group);
    for (uint32_t e = 0; e < c->count; e++)
        c->edges[e].round =
            e && c->edges[e].group == c->edges[e - 1].group ? c->edges[e - 1].round + 1 : 0;
    return meetings(c) < before;
}

// ---- levels

typedef struct plan {
    const mlt_goal_program *program;
    const mlt_goal_pairs *pairs;
    // By the action's number: the first of its group, its place there, and what its colour is, if
    // it has one: 1 + colour.
    uint64_t *group;
    uint32_t *round, *colour;
} plan;

typedef struct spread_placed {
    uint32_t level;
    uint64_t number; // of a send
} spread_placed;

static int by_level(const void *pa, const void *pb)
{
    const spread_placed *a = pa, *b = pb;
    return mlt_compare_words((uint64_t[]){a->level, a->number}, (uint64_t[]){b->level, b->number},
                             2);
}

// depth[n]: messages on the longest way to the start of action n.
static uint32_t *depths(const mlt_waits *events)
{
    uint32_t *at = mlt_xcalloc(events->count, sizeof *at);
    for (uint64_t i = 0; i < events->count; i++) {
        uint64_t e = events->order[i];
        for (uint64_t k = events->at[e]; k < events->at[e + 1]; k++) {
            uint64_t next = events->to[k];
            bool sent = e % 2 == 0 && next % 2 == 1 && next != e + 1;
            if (at[e] + sent > at[next])
                at[next] = at[e] + sent;
        }
    }
    for (uint64_t n = 0; n < events->count / 2; n++)
        at[n] = at[2 * n];
    return at;
}

// Sends of a level as edges between vertices. False: no rank has two to receive, or the table would
// be too large. degree is zero before and after.
static bool level_edges(const plan *p, const spread_placed *sends, uint32_t count, uint32_t *degree,
                        uint32_t *vertex, colouring *c)
{
    uint32_t ranks = p->program->ranks, most_in = 0, r = 0;
    c->edges = mlt_xcalloc(count, sizeof *c->edges);
    c->count = count;
    for (uint32_t i = 0; i < count; i++) { // sorted by number, so by rank
        uint64_t number = sends[i].number;
        while (number >= p->pairs->first[r + 1])
            r++;
        uint32_t to = p->pairs->other[number].rank;
        uint32_t ends[2] = {r, ranks + to}; // a rank is a vertex for each side
        for (int k = 0; k < 2; k++) {
            if (!degree[ends[k]]++)
                vertex[ends[k]] = c->vertices++;
            if (degree[ends[k]] > c->colours)
                c->colours = degree[ends[k]];
        }
        most_in = degree[ends[1]] > most_in ? degree[ends[1]] : most_in;
        c->edges[i] = (spread_message){vertex[ends[0]],  vertex[ends[1]],  r, to, number,
                                       p->group[number], p->round[number], 0};
    }
    for (uint32_t i = 0; i < count; i++)
        degree[c->edges[i].from_rank] = degree[ranks + c->edges[i].to_rank] = 0;
    return most_in > 1 && (uint64_t)c->vertices * c->colours <= TABLE;
}

static void colour_levels(plan *p, const spread_placed *sends, uint64_t count)
{
    size_t vertices = 2 * (size_t)p->program->ranks;
    uint32_t *degree = mlt_xcalloc(vertices, sizeof *degree);
    uint32_t *vertex = mlt_xcalloc(vertices, sizeof *vertex);
    for (uint64_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && sends[end].level == sends[i].level;)
            end++;
        colouring c = {0};
        if (level_edges(p, sends + i, (uint32_t)(end - i), degree, vertex, &c)) {
            c.at = mlt_xcalloc((size_t)c.vertices * c.colours, sizeof *c.at);
            c.free = mlt_xcalloc(c.vertices, sizeof *c.free);
            colour(&c, p->program->ranks);
            bool help = helps(&c);
            for (uint32_t e = 0; e < c.count && help; e++)
                p->colour[c.edges[e].number] = 1 + c.edges[e].colour;
        }
        free(c.at);
        free(c.free);
        free(c.edges);
    }
    free(degree);
    free(vertex);
}

static void plan_make(plan *p, const mlt_waits *events)
{
    uint64_t all = events->count / 2, sends_count = 0;
    uint32_t *depth = depths(events);
    spread_placed *sends = mlt_xcalloc(all, sizeof *sends);
    p->group = mlt_xcalloc(all, sizeof *p->group);
    p->round = mlt_xcalloc(all, sizeof *p->round);
    p->colour = mlt_xcalloc(all, sizeof *p->colour);
    for (uint32_t r = 0; r < p->program->ranks; r++) {
        const mlt_goal_rank *rank = &p->program->rank[r];
        uint64_t first = p->pairs->first[r];
        for (uint32_t a = 0; a < rank->count; a++) {
            p->group[first + a] = first + a;
            if (rank->actions[a].kind == MLT_GOAL_SEND)
                sends[sends_count++] = (spread_placed){depth[first + a], first + a};
        }
        uint32_t count;
        mlt_pass_group *groups = mlt_pass_groups_new(rank, &count);
        for (uint32_t g = 0; g < count; g++)
            for (uint32_t i = 0; i < groups[g].count; i++) {
                p->group[first + groups[g].sends[i]] = first + groups[g].sends[0];
                p->round[first + groups[g].sends[i]] = i;
            }
        mlt_pass_groups_free(groups, count);
    }
    free(depth);
    if (sends_count)
        qsort(sends, sends_count, sizeof *sends, by_level);
    colour_levels(p, sends, sends_count);
    free(sends);
}

// The first colours first.
double *mlt_pass_rounds(const mlt_goal_program *program, const mlt_goal_pairs *pairs,
                        const mlt_waits *events, const mlt_loggops *machine)
{
    plan p = {.program = program, .pairs = pairs};
    plan_make(&p, events);
    double *key = mlt_xcalloc(events->count / 2, sizeof *key);
    for (uint64_t number = 0; number < events->count / 2; number++)
        key[number] = -(double)p.colour[number];
    free(p.group);
    free(p.round);
    free(p.colour);
    return key;
}

mlt_status mlt_pass_spread(mlt_goal_program *program, const mlt_goal_pairs *pairs,
                           const mlt_pass_options *options, mlt_pass_report *report, char *why,
                           size_t why_size)
{
    return mlt_pass_order_sends(program, pairs, options, mlt_pass_rounds, report, why, why_size);
}
