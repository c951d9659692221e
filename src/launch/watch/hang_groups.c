// SPDX-License-Identifier: BSD-3-Clause
// Ranks that do the same thing share a line: the same call, kinds, tags and communicators, and the
// same relation to their peers, which is either a distance (rank-1, modulo the size) or a rank
// number. Which of the two is chosen for a rank by what more others have in common with it.
#include "launch/watch/hang_records.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "base/table.h"

enum { MOST_GROUPS = 32 };

typedef struct group {
    uint64_t hash;
    uint32_t leader;  // its first rank; the others do the same
    uint8_t how;      // relation
    bool bytes;       // all operations have the leader's sizes, and numbers of actions
    bool wraps;       // some distance passes the last rank
    uint32_t count;   // ranks that could belong to it
    uint32_t members; // ranks that do
    uint32_t ranges;  // of consecutive members
    struct {
        uint32_t first, last;
    } shown[MLT_HANG_MOST_RANGES], last;
} group;

typedef struct groups {
    const mlt_hang *hang;
    group *items;
    size_t count, room;
    mlt_table table; // of indices
} groups;

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

// What a peer looks like under a relation. "Anyone" is like no distance.
static int64_t seen_peer(const mlt_hang *hang, const mlt_ctl_wait *w, mlt_hang_relation how)
{
    if (!mlt_hang_peer_exists(hang, w))
        return w->peer < 0 ? INT64_MIN : INT64_MIN + 1 + w->peer;
    return how == MLT_HANG_DISTANCE ? mlt_hang_distance(hang, w) : w->peer;
}

// The tag of an action's message is the library's, and no two ranks' are alike.
static uint32_t seen_tag(const mlt_ctl_wait *w)
{
    if (mlt_hang_in_collective(w))
        return w->missing;
    return w->action ? 0 : (uint32_t)w->tag;
}

static bool has_more(const mlt_ctl_wait *w)
{
    return mlt_hang_in_collective(w) ? w->awaited : w->action;
}

static bool same_numbers(const mlt_ctl_wait *x, const mlt_ctl_wait *y)
{
    if (mlt_hang_in_collective(x) && mlt_hang_in_collective(y))
        return x->number == y->number && x->root == y->root && x->awaited == y->awaited;
    return x->bytes == y->bytes && x->action == y->action;
}

static uint64_t hang_groups_hash_of(const mlt_hang *hang, uint32_t rank, mlt_hang_relation how)
{
    uint64_t hash = mix(hang->state[rank], how);
    if (hang->state[rank] != MLT_HANG_BLOCKED)
        return hash;
    for (size_t i = hang->first[rank]; i < hang->first[rank + 1]; i++) {
        const mlt_ctl_wait *w = mlt_hang_record(hang, i);
        hash = mix(hash, (uint64_t)seen_peer(hang, w, how));
        hash = mix(hash, ((uint64_t)seen_tag(w) << 32) | w->context / MLT_CONTEXTS);
        hash = mix(hash, ((uint64_t)w->open << 16) | ((uint64_t)w->all << 9) |
                             ((uint64_t)mlt_hang_peer_ended(hang, w) << 8) | w->kind);
        hash = mix(hash, ((uint64_t)w->thread << 16) | w->others);
    }
    for (const char *c = mlt_hang_record(hang, hang->first[rank])->call; *c; c++)
        hash = mix(hash, (unsigned char)*c);
    return hash;
}

static bool same(const mlt_hang *hang, uint32_t a, uint32_t b, mlt_hang_relation how)
{
    if (hang->state[a] != hang->state[b])
        return false;
    if (hang->state[a] != MLT_HANG_BLOCKED)
        return true;
    size_t n = hang->first[a + 1] - hang->first[a];
    if (hang->first[b + 1] - hang->first[b] != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const mlt_ctl_wait *x = mlt_hang_record(hang, hang->first[a] + i);
        const mlt_ctl_wait *y = mlt_hang_record(hang, hang->first[b] + i);
        if (x->kind != y->kind || seen_tag(x) != seen_tag(y) || has_more(x) != has_more(y) ||
            x->context / MLT_CONTEXTS != y->context / MLT_CONTEXTS || x->all != y->all ||
            x->open != y->open || x->thread != y->thread || x->others != y->others ||
            seen_peer(hang, x, how) != seen_peer(hang, y, how) ||
            mlt_hang_peer_ended(hang, x) != mlt_hang_peer_ended(hang, y) ||
            strcmp(x->call, y->call) != 0)
            return false;
    }
    return true;
}

// The index of a rank's group under a relation; made if it is not there.
static uint32_t group_of(groups *g, uint32_t rank, mlt_hang_relation how)
{
    uint64_t hash = hang_groups_hash_of(g->hang, rank, how);
    for (mlt_table_look at = mlt_table_look_for(&g->table, (uint32_t)hash); mlt_table_next(&at);) {
        const group *old = &g->items[at.word];
        if (old->hash == hash && old->how == how && same(g->hang, old->leader, rank, how))
            return (uint32_t)at.word;
    }
    MLT_ARRAY_WANT(g->items, g->count + 1, g->room);
    g->items[g->count] = (group){.hash = hash, .leader = rank, .how = (uint8_t)how, .bytes = true};
    mlt_table_add(&g->table, (uint32_t)hash, g->count);
    return (uint32_t)g->count++;
}

static void join(group *own, const mlt_hang *hang, uint32_t rank)
{
    if (own->members == 0)
        own->leader = rank;
    own->members++;
    if (own->ranges > 0 && own->last.last + 1 == rank) {
        own->last.last = rank;
    } else {
        own->ranges++;
        own->last.first = own->last.last = rank;
    }
    if (own->ranges <= MLT_HANG_MOST_RANGES) {
        own->shown[own->ranges - 1].first = own->last.first;
        own->shown[own->ranges - 1].last = own->last.last;
    }
    if (hang->state[rank] != MLT_HANG_BLOCKED)
        return;
    for (size_t i = 0; i < hang->first[rank + 1] - hang->first[rank]; i++) {
        const mlt_ctl_wait *w = mlt_hang_record(hang, hang->first[rank] + i);
        const mlt_ctl_wait *leaders = mlt_hang_record(hang, hang->first[own->leader] + i);
        own->bytes &= same_numbers(w, leaders) && strcmp(w->label, leaders->label) == 0;
        if (own->how == MLT_HANG_DISTANCE && mlt_hang_peer_exists(hang, w))
            own->wraps |= w->rank + mlt_hang_distance(hang, w) != w->peer;
    }
}

static int by_size(const void *a, const void *b)
{
    const group *x = a, *y = b;
    if (x->members != y->members)
        return x->members < y->members ? 1 : -1;
    return x->leader < y->leader ? -1 : x->leader > y->leader;
}

static int hang_groups_by_rank(const void *a, const void *b)
{
    const group *x = a, *y = b;
    return x->leader < y->leader ? -1 : x->leader > y->leader;
}

static void print_group(const mlt_hang *hang, const group *own, FILE *out)
{
    char text[MLT_NUMBER_BYTES];
    fputs(own->members == 1 ? "rank " : "ranks ", out);
    for (uint32_t i = 0; i < own->ranges && i < MLT_HANG_MOST_RANGES; i++) {
        fprintf(out, i ? ",%u" : "%u", own->shown[i].first);
        if (own->shown[i].last > own->shown[i].first)
            fprintf(out, "-%u", own->shown[i].last);
    }
    if (own->ranges > MLT_HANG_MOST_RANGES)
        fputs(",...", out);
    if (own->members > 1)
        fprintf(out, " (%s)", mlt_number(text, own->members));
    fputs(": ", out);
    if (hang->state[own->leader] != MLT_HANG_BLOCKED) {
        const char *words = mlt_hang_state_text(hang->state[own->leader]);
        fprintf(out, "%s\n",
                own->members > 1 && strncmp(words, "has ", 4) == 0
                    ? (fputs("have ", out), words + 4)
                    : words);
        return;
    }
    mlt_hang_say_blocked(hang, own->leader,
                         own->members > 1 ? (mlt_hang_relation)own->how : MLT_HANG_ABSOLUTE,
                         own->bytes, out);
    if (own->wraps && own->members > 1)
        fprintf(out, ", modulo %u", hang->ranks);
    mlt_hang_say_others(hang, own->leader, out);
    fputc('\n', out);
}

void mlt_hang_print_groups(const mlt_hang *hang, FILE *out)
{
    groups g = {.hang = hang};
    uint32_t *own[MLT_HANG_RELATIONS];
    for (int how = 0; how < MLT_HANG_RELATIONS; how++) {
        own[how] = mlt_xcalloc(hang->ranks, sizeof *own[how]);
        for (uint32_t r = 0; r < hang->ranks; r++) {
            own[how][r] = group_of(&g, r, (mlt_hang_relation)how);
            g.items[own[how][r]].count++;
        }
    }
    for (uint32_t r = 0; r < hang->ranks; r++) {
        group *absolute = &g.items[own[MLT_HANG_ABSOLUTE][r]],
              *distance = &g.items[own[MLT_HANG_DISTANCE][r]];
        join(distance->count > absolute->count ? distance : absolute, hang, r);
    }
    for (int how = 0; how < MLT_HANG_RELATIONS; how++)
        free(own[how]);
    size_t used = 0;
    for (size_t i = 0; i < g.count; i++)
        if (g.items[i].members)
            g.items[used++] = g.items[i];
    qsort(g.items, used, sizeof *g.items, by_size);
    size_t shown = used < MOST_GROUPS ? used : MOST_GROUPS;
    qsort(g.items, shown, sizeof *g.items, hang_groups_by_rank);
    for (size_t i = 0; i < shown; i++)
        print_group(hang, &g.items[i], out);
    uint64_t left = 0;
    for (size_t i = shown; i < used; i++)
        left += g.items[i].members;
    char text[2][MLT_NUMBER_BYTES];
    if (left)
        fprintf(out, "and %s ranks in %s more groups\n", mlt_number(text[0], left),
                mlt_number(text[1], used - shown));
    free(g.items);
    mlt_table_free(&g.table);
}
