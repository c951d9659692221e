// SPDX-License-Identifier: BSD-3-Clause
// Up to FEW_PROCS, every process that waits has a line. Above that, those whose lines differ in
// numbers only share one: philosopher[0-4095] (4,096): csp_write to 'pick i+1'. A number is shown
// as it is if all have the same, as a distance from the process's own index if nearly all have the
// same distance (the last of a ring has another), else as a star.
#include "csp/hang/hang.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/compare.h"
#include "base/numbers.h"
#include "base/table.h"
#include "base/upcalls.h"
#include "csp/hang/hang_int.h"
#include "os/os.h"

enum {
    FEW_PROCS = 24,
    MOST_GROUPS = 24,
    MOST_RANGES = 4,
    NUMBERS = 10, // of a line that are looked at
    LINE = 600,
    LOOKS = 1024, // lines between looks at the clock
    CYCLE_HEAD = 8,
    CYCLE_TAIL = 2,
    CYCLE_ROOM = (CYCLE_HEAD + CYCLE_TAIL + 2) * 240, // bytes kept for the cycle
};

uint64_t mlt_csp_hang_patience_ns = UINT64_C(1000000000);

// ---- groups of lines

typedef struct range {
    uint64_t first, last;
} range;

// A line without its numbers: each is a \1 in the text.
typedef struct skeleton {
    char text[LINE];
    uint64_t number[NUMBERS];
    uint32_t count;
    uint64_t index; // the last number of the process's name
    bool indexed;
    size_t name_length; // in text, before ": "
} skeleton;

typedef struct column {
    bool constant;
    uint64_t value;
    uint64_t distance[2]; // of the first two members: number - index
    uint64_t hits[2];
} column;

typedef struct group {
    uint32_t leader; // a node
    uint32_t ranges;
    uint64_t hash, members;
    range shown[MOST_RANGES], last;
    column column[NUMBERS];
} group;

typedef struct groups {
    group *items;
    uint32_t count, room;
    mlt_table table; // of indices, by the low half of hash
} groups;

static void make_line(const mlt_waitfor_graph *g, uint32_t node, char *text, size_t size)
{
    mlt_text w = mlt_text_on(text, size);
    mlt_waitfor_add_name(&w, g, node);
    mlt_waitfor_add(&w, ": ");
    mlt_waitfor_add_wait(&w, g, node);
}

static void strip(skeleton *s, const char *line)
{
    char *to = s->text;
    const char *colon = strstr(line, ": "), *index = NULL;
    for (const char *c = line; c < colon; c++) // the last number of the name
        if (isdigit((unsigned char)*c) && (c == line || !isdigit((unsigned char)c[-1])))
            index = c;
    s->count = 0;
    s->index = 0;
    s->indexed = false;
    for (const char *c = line; *c;) {
        if (c == colon)
            s->name_length = (size_t)(to - s->text);
        size_t digits = 0;
        while (isdigit((unsigned char)c[digits]))
            digits++;
        bool own = c == index;
        if (digits == 0 || digits > 18 || (!own && (c < colon || s->count == NUMBERS))) {
            size_t n = digits ? digits : 1;
            memcpy(to, c, n);
            to += n;
            c += n;
            continue;
        }
        uint64_t number = strtoull(c, NULL, 10);
        *to++ = '\1';
        c += digits;
        if (own)
            s->index = number;
        else
            s->number[s->count++] = number;
        s->indexed |= own;
    }
    *to = '\0';
}

// Lines with the same hash of 64 bits are the same.
static group *group_of(groups *own, uint64_t hash, uint32_t node)
{
    for (mlt_table_look look = mlt_table_look_for(&own->table, (uint32_t)hash);
         mlt_table_next(&look);)
        if (own->items[look.word].hash == hash)
            return &own->items[look.word];
    MLT_ARRAY_WANT(own->items, own->count + (size_t)1, own->room);
    own->items[own->count] = (group){.hash = hash, .leader = node};
    mlt_table_add(&own->table, (uint32_t)hash, own->count);
    return &own->items[own->count++];
}

static void hang_join(group *own, const skeleton *s)
{
    if (own->ranges > 0 && own->last.last + 1 == s->index) {
        own->last.last = s->index;
    } else {
        own->ranges++;
        own->last = (range){s->index, s->index};
    }
    if (own->ranges <= MOST_RANGES)
        own->shown[own->ranges - 1] = own->last;
    for (uint32_t i = 0; i < s->count; i++) {
        column *c = &own->column[i];
        uint64_t distance = s->number[i] - s->index;
        if (own->members == 0)
            *c = (column){.constant = true, .value = s->number[i]};
        if (own->members < 2)
            c->distance[own->members] = distance;
        c->constant &= c->value == s->number[i];
        for (int k = 0; k < 2; k++)
            c->hits[k] += (uint64_t)k <= own->members && c->distance[k] == distance;
    }
    own->members++;
}

// ---- lines of groups

static void add_ranges(mlt_text *w, const group *own)
{
    for (uint32_t i = 0; i < own->ranges && i < MOST_RANGES; i++) {
        const range *r = &own->shown[i];
        mlt_waitfor_add(w, i ? ",%llu" : "%llu", (unsigned long long)r->first);
        if (r->last > r->first)
            mlt_waitfor_add(w, "-%llu", (unsigned long long)r->last);
    }
    if (own->ranges > MOST_RANGES)
        mlt_waitfor_add(w, ",...");
}

// Returns how many members have another number there than is shown.
static uint64_t add_column(mlt_text *w, const group *own, const column *c, bool indexed)
{
    int k = c->hits[1] > c->hits[0];
    int64_t distance = (int64_t)c->distance[k];
    if (c->constant) {
        mlt_waitfor_add(w, "%llu", (unsigned long long)c->value);
    } else if (indexed && 10 * c->hits[k] >= 9 * own->members) {
        mlt_waitfor_add(w, distance ? "i%+lld" : "i", (long long)distance);
        return own->members - c->hits[k];
    } else {
        mlt_waitfor_add(w, "*");
    }
    return 0;
}

static void add_group(mlt_text *w, const mlt_waitfor_graph *g, const group *own)
{
    char line[LINE], text[MLT_NUMBER_BYTES];
    skeleton s;
    make_line(g, own->leader, line, sizeof line);
    if (own->members == 1) {
        mlt_waitfor_add(w, "  %s\n", line);
        return;
    }
    strip(&s, line);
    mlt_waitfor_add(w, "  ");
    uint64_t others = 0;
    uint32_t at = 0;
    for (size_t i = 0; s.text[i]; i++) {
        if (i == s.name_length)
            mlt_waitfor_add(w, " (%s)", mlt_number(text, own->members));
        if (s.text[i] != '\1') {
            mlt_waitfor_add(w, "%c", s.text[i]);
        } else if (i < s.name_length) {
            add_ranges(w, own);
        } else {
            uint64_t odd = add_column(w, own, &own->column[at++], s.indexed);
            others = odd > others ? odd : others;
        }
    }
    if (others)
        mlt_waitfor_add(w, " (except %s)", mlt_number(text, others));
    mlt_waitfor_add(w, "\n");
}

static int by_size(const void *a, const void *b)
{
    const group *x = a, *y = b;
    return mlt_compare_words((uint64_t[]){y->members, x->leader},
                             (uint64_t[]){x->members, y->leader}, 2);
}

static void add_groups(mlt_text *w, const mlt_waitfor_graph *g)
{
    groups all = {0};
    char line[LINE], text[MLT_NUMBER_BYTES];
    skeleton s;
    uint64_t start = mlt_os_thread_ns(), seen = 0;
    for (uint32_t node = 0; node < g->nodes; node++) {
        if (node % LOOKS == 0 && mlt_os_thread_ns() - start >= mlt_csp_hang_patience_ns)
            break;
        if (g->state[node] == MLT_WAITFOR_NONE || g->state[node] == MLT_WAITFOR_RUNS)
            continue;
        make_line(g, node, line, sizeof line);
        strip(&s, line);
        hang_join(group_of(&all, mlt_hash_on(MLT_HASH_FIRST, s.text, strlen(s.text)), node), &s);
        seen++;
    }
    uint32_t shown = all.count < MOST_GROUPS ? all.count : MOST_GROUPS;
    if (all.count) {
        qsort(all.items, all.count, sizeof *all.items, by_size);
        qsort(all.items, shown, sizeof *all.items, mlt_compare_ascending32);
    }
    uint64_t left = 0;
    for (uint32_t i = 0; i < all.count; i++)
        if (i < shown && w->length + LINE + 64 < w->room)
            add_group(w, g, &all.items[i]);
        else
            left += all.items[i].members;
    if (left)
        mlt_waitfor_add(w, "  and %s processes that wait for other things\n",
                        mlt_number(text, left));
    if (seen < g->waiting)
        mlt_waitfor_add(w, "  and %s processes that wait, and were not looked at\n",
                        mlt_number(text, g->waiting - seen));
    free(all.items);
    mlt_table_free(&all.table);
}

static void add_each(mlt_text *w, const mlt_waitfor_graph *g)
{
    char line[LINE];
    for (uint32_t node = 0; node < g->nodes; node++) {
        if (g->state[node] == MLT_WAITFOR_NONE || g->state[node] == MLT_WAITFOR_RUNS)
            continue;
        make_line(g, node, line, sizeof line);
        mlt_waitfor_add(w, "  %s\n", line);
    }
}

// ---- the whole

static void add_cycle(mlt_text *w, const mlt_waitfor_graph *g)
{
    char text[MLT_NUMBER_BYTES];
    uint32_t length;
    mlt_waitfor_step *steps = mlt_waitfor_graph_cycle(g, &length);
    if (!steps)
        return;
    bool all = length <= CYCLE_HEAD + CYCLE_TAIL + 1;
    if (length > 1)
        mlt_waitfor_add(w, "  the cycle of %s processes:\n", mlt_number(text, length));
    for (uint32_t i = 0; i < length; i++) {
        if (!all && i == CYCLE_HEAD) {
            mlt_waitfor_add(w, "    ...\n");
            i = length - CYCLE_TAIL;
        }
        mlt_waitfor_add(w, length > 1 ? "    " : "  the cycle: ");
        mlt_waitfor_add_step(w, g, &steps[i], steps[(i + 1) % length].node);
        mlt_waitfor_add(w, "\n");
    }
    free(steps);
}

static void add_running(mlt_text *w, const mlt_waitfor_graph *g)
{
    char text[MLT_NUMBER_BYTES];
    if (g->running)
        mlt_waitfor_add(w, "  %s process%s\n", mlt_number(text, g->running),
                        g->running == 1 ? " runs" : "es run");
}

size_t mlt_csp_hang_lines(const mlt_csp *csp, char *text, size_t size)
{
    if (size <= CYCLE_ROOM)
        return 0;
    mlt_waitfor_graph g;
    mlt_text w = mlt_text_on(text, size - CYCLE_ROOM);
    mlt_waitfor_graph_make(&g, csp);
    if (g.waiting <= FEW_PROCS)
        add_each(&w, &g);
    else
        add_groups(&w, &g);
    w.room = size;
    add_running(&w, &g);
    add_cycle(&w, &g);
    mlt_waitfor_graph_free(&g);
    if (w.length > 0 && text[w.length - 1] != '\n') // it was cut
        text[w.length - 1] = '\n';
    if (mlt_upcalls.sent && w.length < size)
        w.length += mlt_upcalls.sent(text + w.length, size - w.length);
    return w.length;
}

// What ranks wait for in MPI has records of its own.
static bool has_news(const mlt_csp *csp)
{
    if (csp->sched->pool->alive > 0)
        return true;
    for (uint32_t i = 0; i < csp->worker->count; i++) {
        const mlt_fiber *fiber = csp->worker->ranks[i].fiber;
        if (fiber && fiber->state == MLT_FIBER_PARKED && fiber->wait &&
            fiber->wait->kind == MLT_WAIT_CSP)
            return true;
    }
    return false;
}

size_t mlt_csp_procs(const mlt_worker *worker, char *text, size_t size)
{
    const mlt_csp *csp = mlt_csp_self;
    if (!csp || csp->worker != worker || !has_news(csp))
        return 0;
    return mlt_csp_hang_lines(csp, text, size);
}
