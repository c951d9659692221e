// SPDX-License-Identifier: BSD-3-Clause
// First every action is tied to those that it directly conflicts with, then what others imply is
// left out.
//
// Ties. The bytes that were touched so far lie in disjoint pieces, in a skip list by (buffer,
// offset). A piece knows which action wrote it last and which have read it since. A reader waits
// for that writer; a writer waits for those readers or, if there are none, for the writer. A write
// makes one piece of all that it covers, so pieces stay few. Lists of readers never change, except
// that they get new heads: pieces that are split share them.
//
// Reduction (reduce.c). Seen as events, an action's start is before its end, a dependency
// puts an end (or a start) before a start, and a dependency is left out if another chain of events
// says the same. In a graph without cycles what is left is unique, so all can be judged by the full
// graph.
#include "goal/derive.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "goal/reduce.h"

enum { LEVELS = 24, NOBODY = 0 };

typedef struct piece { // bytes [at, end) of a buffer
    uint64_t at, end;
    uint32_t buf;
    uint32_t writer;  // 1 + action; 0: nobody
    uint32_t readers; // first of them; 0: nobody
    uint8_t levels;
    uint32_t next; // links of this piece, from the lowest level up, are link[next ...]
} piece;

typedef struct reader {
    uint32_t action, next;
} reader;

typedef struct pieces {
    piece *piece; // [0] is the head, and the end of every level
    uint32_t *link;
    reader *reader; // [0] is nobody
    uint32_t count, room, links, links_room, readers, readers_room;
    uint32_t spare[LEVELS + 1]; // pieces that are free again, by levels
    uint64_t random;
} pieces;

// ---- the list of pieces

static void pieces_init(pieces *p)
{
    *p = (pieces){.random = 0x9e3779b97f4a7c15ull};
    MLT_ARRAY_WANT(p->piece, 1, p->room);
    MLT_ARRAY_WANT(p->link, LEVELS, p->links_room);
    MLT_ARRAY_WANT(p->reader, 1, p->readers_room);
    memset(p->link, 0, LEVELS * sizeof *p->link);
    p->piece[0] = (piece){.levels = LEVELS};
    p->count = 1;
    p->links = LEVELS;
    p->readers = 1;
}

static void pieces_fini(pieces *p)
{
    free(p->piece);
    free(p->link);
    free(p->reader);
}

static inline uint32_t *link_of(const pieces *p, uint32_t of, int level)
{
    return &p->link[p->piece[of].next + (uint32_t)level];
}

// The first piece that ends after the place; before[]: on each level the last piece ahead of it.
static uint32_t find(const pieces *p, uint32_t buf, uint64_t at, uint32_t before[LEVELS])
{
    uint32_t from = 0;
    for (int level = LEVELS - 1; level >= 0; level--) {
        for (uint32_t to; (to = *link_of(p, from, level)); from = to) {
            const piece *q = &p->piece[to];
            if (q->buf > buf || (q->buf == buf && q->end > at))
                break;
        }
        before[level] = from;
    }
    return *link_of(p, from, 0);
}

// Adds a piece after those in before[], which then has it.
static uint32_t insert(pieces *p, piece made, uint32_t before[LEVELS])
{
    p->random = p->random * 6364136223846793005u + 1442695040888963407u;
    int levels = 1 + __builtin_ctzll(p->random >> 33 | 1ull << (LEVELS - 1));
    uint32_t new = p->spare[levels];
    if (new) {
        p->spare[levels] = *link_of(p, new, 0);
        made.next = p->piece[new].next;
    } else {
        MLT_ARRAY_WANT(p->piece, p->count + 1, p->room);
        MLT_ARRAY_WANT(p->link, p->links + (uint32_t)levels, p->links_room);
        new = p->count++;
        made.next = p->links;
        p->links += (uint32_t)levels;
    }
    made.levels = (uint8_t)levels;
    p->piece[new] = made;
    for (int level = 0; level < levels; level++) {
        *link_of(p, new, level) = *link_of(p, before[level], level);
        *link_of(p, before[level], level) = new;
        before[level] = new;
    }
    return new;
}

// Takes out the piece after before[].
static void cut(pieces *p, uint32_t which, const uint32_t before[LEVELS])
{
    int levels = p->piece[which].levels;
    for (int level = 0; level < levels; level++)
        *link_of(p, before[level], level) = *link_of(p, which, level);
    *link_of(p, which, 0) = p->spare[levels];
    p->spare[levels] = which;
}

// No piece goes across the place.
static void split(pieces *p, uint32_t buf, uint64_t at)
{
    uint32_t before[LEVELS], which = find(p, buf, at, before);
    if (!which || p->piece[which].buf != buf || p->piece[which].at >= at)
        return;
    piece left = p->piece[which];
    left.end = at;
    p->piece[which].at = at;
    insert(p, left, before);
}

// ---- ties

typedef struct deps {
    mlt_goal_dep *dep;
    uint32_t count, room;
    uint32_t *last; // by action: 1 + the last one that was tied to it
} deps;

static void tie(deps *d, uint32_t action, uint32_t on)
{
    if (d->last[on] == action + 1)
        return;
    d->last[on] = action + 1;
    *MLT_ARRAY_ADD(d->dep, d->count, d->room) = (mlt_goal_dep){action, on};
}

static inline bool derive_inside(const pieces *p, uint32_t which, const mlt_goal_span *span)
{
    return which && p->piece[which].buf == span->buf && p->piece[which].at < span->at + span->size;
}

static void look(pieces *p, deps *d, uint32_t action, const mlt_goal_access *access)
{
    const mlt_goal_span *span = &access->span;
    uint32_t before[LEVELS];
    for (uint32_t w = find(p, span->buf, span->at, before); derive_inside(p, w, span);
         w = *link_of(p, w, 0)) {
        const piece *q = &p->piece[w];
        if (access->writes)
            for (uint32_t r = q->readers; r; r = p->reader[r].next)
                tie(d, action, p->reader[r].action);
        if (q->writer && !(access->writes && q->readers))
            tie(d, action, q->writer - 1);
    }
}

static uint32_t add_reader(pieces *p, uint32_t action, uint32_t next)
{
    MLT_ARRAY_WANT(p->reader, p->readers + 1, p->readers_room);
    p->reader[p->readers] = (reader){action, next};
    return p->readers++;
}

// Puts the reader on all pieces of the span; bytes that nobody has touched become pieces.
static void note_read(pieces *p, uint32_t action, const mlt_goal_span *span)
{
    uint32_t before[LEVELS];
    uint64_t at = span->at, end = span->at + span->size;
    split(p, span->buf, at);
    split(p, span->buf, end);
    while (at < end) {
        uint32_t which = find(p, span->buf, at, before);
        bool there = derive_inside(p, which, span);
        if (there && p->piece[which].at == at) {
            uint32_t head = add_reader(p, action, p->piece[which].readers);
            p->piece[which].readers = head;
            at = p->piece[which].end;
            continue;
        }
        piece gap = {.buf = span->buf, .at = at, .end = there ? p->piece[which].at : end};
        gap.readers = add_reader(p, action, NOBODY);
        insert(p, gap, before);
        at = gap.end;
    }
}

static void note_write(pieces *p, uint32_t action, const mlt_goal_span *span)
{
    split(p, span->buf, span->at);
    split(p, span->buf, span->at + span->size);
    uint32_t before[LEVELS], which = find(p, span->buf, span->at, before);
    while (derive_inside(p, which, span)) {
        uint32_t next = *link_of(p, which, 0);
        cut(p, which, before);
        which = next;
    }
    piece written = {
        .buf = span->buf, .at = span->at, .end = span->at + span->size, .writer = action + 1};
    insert(p, written, before);
}

static void tie_all(const mlt_goal_rank *rank, deps *d)
{
    pieces p;
    pieces_init(&p);
    for (uint32_t a = 0; a < rank->count; a++) {
        mlt_goal_access access[2];
        int count = mlt_goal_accesses(&rank->actions[a], access);
        for (int i = 0; i < count; i++)
            look(&p, d, a, &access[i]);
        for (int i = 0; i < count; i++)
            if (!access[i].writes)
                note_read(&p, a, &access[i].span);
        for (int i = 0; i < count; i++)
            if (access[i].writes)
                note_write(&p, a, &access[i].span);
    }
    pieces_fini(&p);
}

void mlt_goal_derive(mlt_goal_program *program, uint32_t rank)
{
    mlt_goal_rank *r = &program->rank[rank];
    deps d = {.last = mlt_xcalloc(r->count, sizeof *d.last)};
    tie_all(r, &d);
    for (uint32_t i = 0; i < d.count; i++)
        mlt_goal_require(program, rank, d.dep[i].action, d.dep[i].on);
    free(d.dep);
    free(d.last);
    mlt_goal_reduce(r, true);
}
