// SPDX-License-Identifier: BSD-3-Clause
// Races: two actions of a rank that touch the same byte, one of them writing, and neither of which
// has finished before the other can start by the rank's own dependencies.
//
// An order that comes about only through messages (a send whose answer is received into the same
// bytes) does not count: a receive may write at any time from its start on, and a send may read
// until its end, so the library must not be given both at once.
//
// A buffer is cut where any access begins or ends. In each piece the accesses are looked at in a
// topological order: if each one is ordered with the last write before it, and each write with the
// reads since, then all are. Only where that fails are all pairs looked at.
#include <stdlib.h>

#include "base/array.h"
#include "base/compare.h"
#include "base/memory.h"
#include "judge/check/check_int.h"

enum { MOST_PAIRS = 1 << 20, MOST_TRIES = 1 << 26 }; // of a rank; there is a race by then

typedef struct race_touch {
    uint32_t buf, action, place; // place in the topological order
    bool writes;
    uint64_t from, to;
} race_touch;

typedef struct race {
    uint32_t first, second, buf;
    uint64_t from, to;
} race;

typedef struct sweep {
    mlt_check *check;
    uint32_t rank;
    mlt_goal_graph *graph;
    race_touch *touches;
    uint64_t count;
    uint32_t *active; // touches of the current piece, by place
    uint32_t active_count;
    race *races;
    uint64_t races_count, races_room, tries;
} sweep;

static int by_begin(const void *pa, const void *pb)
{
    const race_touch *a = pa, *b = pb;
    return mlt_compare_words((uint64_t[]){a->buf, a->from, a->place},
                             (uint64_t[]){b->buf, b->from, b->place}, 3);
}

static int by_pair(const void *pa, const void *pb)
{
    const race *a = pa, *b = pb;
    return mlt_compare_words((uint64_t[]){a->first, a->second, a->buf, a->from},
                             (uint64_t[]){b->first, b->second, b->buf, b->from}, 4);
}

static void collect(sweep *s)
{
    const mlt_goal_rank *rank = &s->check->program->rank[s->rank];
    uint64_t room = 0;
    for (uint32_t a = 0; a < rank->count; a++) {
        mlt_goal_access access[2];
        int n = mlt_goal_accesses(&rank->actions[a], access);
        for (int i = 0; i < n; i++) {
            *MLT_ARRAY_ADD(s->touches, s->count, room) =
                (race_touch){access[i].span.buf, a,
                             s->graph->place[a], access[i].writes,
                             access[i].span.at,  access[i].span.at + access[i].span.size};
        }
    }
    if (s->count)
        qsort(s->touches, s->count, sizeof *s->touches, by_begin);
}

static bool ordered(const sweep *s, const race_touch *early, const race_touch *late)
{
    return early->action == late->action || mlt_goal_before(s->graph, early->action, late->action);
}

// True if all accesses of the piece are ordered. The accesses stand in a topological order, so only
// one direction is possible.
static bool piece_ordered(const sweep *s)
{
    uint32_t written = UINT32_MAX; // place in active of the last write
    for (uint32_t i = 0; i < s->active_count; i++) {
        const race_touch *t = &s->touches[s->active[i]];
        uint32_t from = written == UINT32_MAX ? 0 : written;
        if (!t->writes && written != UINT32_MAX && !ordered(s, &s->touches[s->active[written]], t))
            return false;
        for (uint32_t j = from; t->writes && j < i; j++)
            if (!ordered(s, &s->touches[s->active[j]], t))
                return false;
        if (t->writes)
            written = i;
    }
    return true;
}

static void piece_pairs(sweep *s, uint64_t from, uint64_t to)
{
    for (uint32_t j = 1; j < s->active_count; j++)
        for (uint32_t i = 0; i < j; i++) {
            const race_touch *a = &s->touches[s->active[i]], *b = &s->touches[s->active[j]];
            if (s->races_count >= MOST_PAIRS || s->tries++ >= MOST_TRIES)
                return;
            if ((!a->writes && !b->writes) || ordered(s, a, b))
                continue;
            MLT_ARRAY_WANT(s->races, s->races_count + 1, s->races_room);
            uint32_t low = a->action < b->action ? a->action : b->action;
            s->races[s->races_count++] =
                (race){low, low == a->action ? b->action : a->action, a->buf, from, to};
        }
}

// Takes out what ends at `at`; the nearest end of the rest, or UINT64_MAX.
static uint64_t leave(sweep *s, uint64_t at)
{
    uint64_t nearest = UINT64_MAX;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->active_count; i++) {
        uint64_t to = s->touches[s->active[i]].to;
        if (to <= at)
            continue;
        nearest = to < nearest ? to : nearest;
        s->active[kept++] = s->active[i];
    }
    s->active_count = kept;
    return nearest;
}

static void enter(sweep *s, uint32_t t)
{
    uint32_t i = s->active_count++;
    for (; i && s->touches[s->active[i - 1]].place > s->touches[t].place; i--)
        s->active[i] = s->active[i - 1];
    s->active[i] = t;
}

// One buffer: touches begin .. end.
static void sweep_buffer(sweep *s, uint64_t begin, uint64_t end)
{
    uint64_t next = begin;
    s->active_count = 0;
    while (next < end) {
        uint64_t from = s->touches[next].from;
        for (;;) { // pieces until a gap
            while (next < end && s->touches[next].from <= from)
                enter(s, (uint32_t)next++);
            uint64_t to = leave(s, from);
            if (!s->active_count)
                break;
            if (next < end && s->touches[next].from < to)
                to = s->touches[next].from;
            if (!piece_ordered(s))
                piece_pairs(s, from, to);
            from = to;
        }
    }
}

// ---- telling

static bool race_touches(const mlt_check *check, mlt_goal_place place, const race *r, bool writing)
{
    mlt_goal_access access[2];
    int n = mlt_goal_accesses(mlt_check_action(check, place), access);
    for (int i = 0; i < n; i++)
        if (access[i].span.buf == r->buf && access[i].span.at < r->to &&
            r->from < access[i].span.at + access[i].span.size &&
            (writing ? access[i].writes : access[i].reads))
            return true;
    return false;
}

static const char *deed(const mlt_check *check, mlt_goal_place place, const race *r)
{
    bool reads = race_touches(check, place, r, false), writes = race_touches(check, place, r, true);
    return reads && writes ? "reads and writes" : writes ? "writes" : "reads";
}

static void race_tell(mlt_check *check, uint32_t rank, const race *r)
{
    mlt_goal_place first = {rank, r->first}, second = {rank, r->second};
    mlt_goal_finding *finding = mlt_check_found(check, MLT_FAULT_RACE, first, second);
    if (!finding)
        return;
    char text[MLT_CHECK_TEXT];
    finding->buf = r->buf;
    finding->from = r->from;
    finding->to = r->to;
    mlt_check_say(finding, "on rank %u two actions touch %s in any order", rank,
                  mlt_check_bytes(check->program, rank, r->buf, r->from, r->to, text));
    const char *them = r->to - r->from == 1 ? "it" : "them";
    mlt_check_say(finding, "\n    %s %s %s", mlt_check_describe(check, first, text),
                  deed(check, first, r), them);
    mlt_check_say(finding, "\n    %s %s %s", mlt_check_describe(check, second, text),
                  deed(check, second, r), them);
    bool both = race_touches(check, first, r, true) && race_touches(check, second, r, true);
    mlt_check_say(finding,
                  both ? "\n    whichever comes last leaves its bytes; action %u must require %u, "
                         "or the other way round"
                       : "\n    the reader gets the bytes of before or after the writing; action "
                         "%u must require %u, or the other way round",
                  r->second, r->first);
}

// Pieces of one pair become one race; it shows the first bytes that are in a row.
static void tell_all(sweep *s)
{
    uint64_t pairs = 0;
    if (s->races_count)
        qsort(s->races, s->races_count, sizeof *s->races, by_pair);
    for (uint64_t i = 0; i < s->races_count; pairs++) {
        race r = s->races[i++];
        for (; i < s->races_count && s->races[i].first == r.first && s->races[i].second == r.second;
             i++)
            if (s->races[i].buf == r.buf && s->races[i].from <= r.to && s->races[i].to > r.to)
                r.to = s->races[i].to;
        race_tell(s->check, s->rank, &r);
    }
    if (pairs > s->check->verdict->races_of_rank)
        s->check->verdict->races_of_rank = pairs;
}

static void check_rank(mlt_check *check, uint32_t rank)
{
    sweep s = {.check = check, .rank = rank, .graph = check->graph[rank]};
    collect(&s);
    s.active = mlt_xcalloc(s.count, sizeof *s.active);
    for (uint64_t begin = 0, end; begin < s.count; begin = end) {
        for (end = begin; end < s.count && s.touches[end].buf == s.touches[begin].buf;)
            end++;
        sweep_buffer(&s, begin, end);
    }
    tell_all(&s);
    free(s.touches);
    free(s.active);
    free(s.races);
}

void mlt_check_race(mlt_check *check)
{
    mlt_check_looked(check, MLT_FAULT_RACE);
    for (uint32_t r = 0; r < check->program->ranks; r++) {
        check_rank(check, r);
        if (r % 64 == 63)
            mlt_check_progress(check, 0.4 + 0.2 * r / check->program->ranks);
    }
}
