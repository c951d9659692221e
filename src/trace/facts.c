// SPDX-License-Identifier: BSD-3-Clause
#include "trace/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { FIELDS = 6 };

typedef struct line {
    const char *field[FIELDS];
    size_t length[FIELDS];
    unsigned count;
} line;

// The last field may hold tabs.
static line split(const char *text, size_t length)
{
    line l = {.count = 0};
    const char *end = text + length;
    while (l.count < FIELDS) {
        const char *tab = l.count + 1 < FIELDS ? memchr(text, '\t', (size_t)(end - text)) : NULL;
        l.field[l.count] = text;
        l.length[l.count++] = (size_t)((tab ? tab : end) - text);
        if (!tab)
            break;
        text = tab + 1;
    }
    return l;
}

static bool is(const line *l, const char *word)
{
    return l->length[0] == strlen(word) && memcmp(l->field[0], word, l->length[0]) == 0;
}

static bool number(const line *l, unsigned i, uint64_t most, uint64_t *out)
{
    uint64_t sum = 0;
    if (i >= l->count || l->length[i] == 0 || l->length[i] > 19)
        return false;
    for (size_t c = 0; c < l->length[i]; c++) {
        if (l->field[i][c] < '0' || l->field[i][c] > '9')
            return false;
        sum = sum * 10 + (uint64_t)(l->field[i][c] - '0');
    }
    *out = sum;
    return sum <= most;
}

// The numbers of a line, field by field after its word; "n.nnn": of fields 1, 3, 4 and 5, below 2^32
// (N: below 2^63). out[i]: that of field i. False: a field is missing, or is none.
static bool numbers(const line *l, const char *kinds, uint64_t out[FIELDS])
{
    for (unsigned i = 1; kinds[i - 1]; i++)
        if (i >= l->count || (kinds[i - 1] != '.' &&
                              !number(l, i, kinds[i - 1] == 'n' ? UINT32_MAX : INT64_MAX, &out[i])))
            return false;
    return true;
}

static char *text_of(mlt_trace_facts_table *facts, const line *l, unsigned i)
{
    char *text = mlt_xcalloc(l->length[i] + 1, 1);
    memcpy(text, l->field[i], l->length[i]);
    return *MLT_ARRAY_ADD(facts->texts, facts->text_count, facts->text_room) = text;
}

// The place of name i in a table of `count`, which is made with its first name.
static char **place_of(char ***table, size_t count, size_t i)
{
    if (!*table)
        *table = mlt_xcalloc(count, sizeof **table);
    return &(*table)[i];
}

static void read_how(mlt_trace_facts_table *facts, const line *l)
{
    uint64_t how;
    for (int kind = 0; l->count == 4 && kind < MLT_TRACE_KIND_COUNT; kind++)
        if (l->length[1] == strlen(mlt_trace_kind_names[kind]) &&
            memcmp(l->field[1], mlt_trace_kind_names[kind], l->length[1]) == 0 &&
            number(l, 2, MLT_TRACE_HOWS - 1, &how))
            *place_of(&facts->hows, (size_t)MLT_TRACE_KIND_COUNT * MLT_TRACE_HOWS,
                      (size_t)kind * MLT_TRACE_HOWS + how) = text_of(facts, l, 3);
}

static void read_worker(mlt_trace_facts_table *facts, const line *l)
{
    uint64_t n[FIELDS];
    if (!numbers(l, "n.nnn", n))
        return;
    *MLT_ARRAY_ADD(facts->workers, facts->worker_count, facts->worker_room) = (mlt_trace_worker){
        text_of(facts, l, 2), (uint32_t)n[1], (uint32_t)n[3], (uint32_t)n[4], (uint32_t)n[5]};
}

static void read_host(mlt_trace_facts_table *facts, const line *l)
{
    uint64_t n[FIELDS];
    if (!numbers(l, "n.nn", n))
        return;
    *MLT_ARRAY_ADD(facts->hosts, facts->host_count, facts->host_room) =
        (mlt_trace_host){text_of(facts, l, 2), (uint32_t)n[1], (uint32_t)n[3], (uint32_t)n[4]};
}

static void read_clock(mlt_trace_facts_table *facts, const line *l)
{
    uint64_t n[FIELDS];
    if (!numbers(l, "nN.NN", n) || n[4] > INT64_MAX / 4)
        return;
    bool behind = l->length[3] == 6 && memcmp(l->field[3], "behind", 6) == 0;
    *MLT_ARRAY_ADD(facts->aheads, facts->ahead_count, facts->ahead_room) =
        (mlt_trace_ahead){(uint32_t)n[1], n[2], n[5], behind ? -(int64_t)n[4] : (int64_t)n[4]};
}

static void read_context(mlt_trace_facts_table *facts, const line *l)
{
    uint64_t n[FIELDS];
    if (!numbers(l, "n.n", n))
        return;
    *MLT_ARRAY_ADD(facts->contexts, facts->context_count, facts->context_room) =
        (mlt_trace_context){(uint32_t)n[1], (uint32_t)n[3], text_of(facts, l, 2)};
}

// By worker and number, with which they begin.
static uint64_t key_at(const void *item)
{
    uint32_t key[2];
    memcpy(key, item, sizeof key);
    return (uint64_t)key[0] << 32 | key[1];
}

// The first of these, which are by worker and number, that is not before this one.
static uint32_t place_by_number(const void *items, size_t size, uint32_t count, uint32_t worker,
                                uint32_t number)
{
    const uint64_t wanted = (uint64_t)worker << 32 | number;
    return MLT_ARRAY_SEARCH(i, count, key_at((const char *)items + i * size) < wanted);
}

const mlt_trace_process *mlt_facts_process(const mlt_trace_facts_table *facts, uint32_t worker,
                                           uint32_t number)
{
    uint32_t at = place_by_number(facts->processes, sizeof *facts->processes, facts->process_count,
                                  worker, number);
    const mlt_trace_process *p = &facts->processes[at];
    return at < facts->process_count && p->worker == worker && p->number == number ? p : NULL;
}

const mlt_trace_channel *mlt_facts_channel(const mlt_trace_facts_table *facts, uint32_t worker,
                                           uint32_t number)
{
    uint32_t at = place_by_number(facts->channels, sizeof *facts->channels, facts->channel_count,
                                  worker, number);
    const mlt_trace_channel *c = &facts->channels[at];
    return at < facts->channel_count && c->worker == worker && c->number == number ? c : NULL;
}

const mlt_trace_told *mlt_facts_schedule(const mlt_trace_facts_table *facts, uint32_t worker,
                                         uint32_t number)
{
    uint32_t at = place_by_number(facts->schedules, sizeof *facts->schedules, facts->schedule_count,
                                  worker, number);
    const mlt_trace_told *s = &facts->schedules[at];
    return at < facts->schedule_count && s->worker == worker && s->number == number ? s : NULL;
}

// A worker tells of these in the order of their first use, so most go to the end.
static void read_process(mlt_trace_facts_table *facts, const line *l)
{
    uint64_t n[FIELDS];
    if (!numbers(l, "nn.", n))
        return;
    uint32_t worker = (uint32_t)n[1], number = (uint32_t)n[2];
    uint32_t at = place_by_number(facts->processes, sizeof *facts->processes, facts->process_count,
                                  worker, number);
    *MLT_ARRAY_INSERT(facts->processes, facts->process_count, facts->process_room, at) =
        (mlt_trace_process){worker, number, text_of(facts, l, 3)};
}

static void read_channel(mlt_trace_facts_table *facts, const line *l)
{
    uint64_t n[FIELDS];
    if (!numbers(l, "nnn.", n) || mlt_facts_channel(facts, (uint32_t)n[1], (uint32_t)n[2]))
        return;
    uint32_t worker = (uint32_t)n[1], number = (uint32_t)n[2];
    uint32_t at = place_by_number(facts->channels, sizeof *facts->channels, facts->channel_count,
                                  worker, number);
    *MLT_ARRAY_INSERT(facts->channels, facts->channel_count, facts->channel_room, at) =
        (mlt_trace_channel){worker, number, n[3], text_of(facts, l, 4)};
}

static void read_schedule(mlt_trace_facts_table *facts, const line *l)
{
    uint64_t n[FIELDS];
    if (!numbers(l, "nn.", n) || mlt_facts_schedule(facts, (uint32_t)n[1], (uint32_t)n[2]))
        return;
    uint32_t worker = (uint32_t)n[1], number = (uint32_t)n[2];
    uint32_t at = place_by_number(facts->schedules, sizeof *facts->schedules, facts->schedule_count,
                                  worker, number);
    *MLT_ARRAY_INSERT(facts->schedules, facts->schedule_count, facts->schedule_room, at) =
        (mlt_trace_told){worker, number, text_of(facts, l, 3)};
}

static void read_stuck(mlt_trace_facts_table *facts, const line *l)
{
    uint64_t n[FIELDS];
    if (!numbers(l, "n..", n))
        return;
    *MLT_ARRAY_ADD(facts->stucks, facts->stuck_count, facts->stuck_room) =
        (mlt_trace_stuck){(uint32_t)n[1], text_of(facts, l, 2), text_of(facts, l, 3)};
}

// The first number of the text; *at goes behind it. What is none is 0.
static uint64_t next_number(const char **at, const char *end)
{
    uint64_t n = 0;
    for (; *at < end && **at >= '0' && **at <= '9'; ++*at)
        n = n > UINT64_MAX / 10 - 1 ? n : n * 10 + (uint64_t)(**at - '0');
    *at += *at < end;
    return n;
}

static void read_queue(mlt_trace_facts_table *facts, const line *l)
{
    if (l->count < 4)
        return;
    mlt_trace_queue q = {text_of(facts, l, 1), text_of(facts, l, 2), {0}};
    const char *at = l->field[3], *end = at + l->length[3];
    for (int i = 0; i < MLT_QUEUE_NUMBERS; i++)
        q.number[i] = next_number(&at, end);
    *MLT_ARRAY_ADD(facts->queues, facts->queue_count, facts->queue_room) = q;
}

static void read_path(mlt_trace_facts_table *facts, const line *l)
{
    bool stage = is(l, "stage");
    if (l->count < (stage ? 6u : 3u) || (stage && !facts->path_count))
        return;
    mlt_trace_path p = {text_of(facts, l, 1), stage ? NULL : text_of(facts, l, 2), {0}};
    for (unsigned i = 0; stage && i < MLT_STAGE_NUMBERS; i++) {
        const char *at = l->field[2 + i];
        p.number[i] = next_number(&at, at + l->length[2 + i]);
    }
    *MLT_ARRAY_ADD(facts->paths, facts->path_count, facts->path_room) = p;
}

static void read_play(mlt_trace_facts_table *facts, const line *l)
{
    bool call = is(l, "call");
    if (!facts->path_count || l->count != (call ? 3 : 2))
        return;
    *MLT_ARRAY_ADD(facts->plays, facts->play_count, facts->play_room) = (mlt_trace_play){
        facts->path_count - 1, call ? text_of(facts, l, 1) : NULL, text_of(facts, l, call ? 2 : 1)};
}

static void read_line(mlt_trace_facts_table *facts, const line *l)
{
    uint64_t n;
    if (is(l, "fn") && l->count == 3 && number(l, 1, MLT_TRACE_FNS - 1, &n)) {
        *place_of(&facts->fns, MLT_TRACE_FNS, n) = text_of(facts, l, 2);
    } else if (is(l, "job") && l->count >= 3 && number(l, 1, UINT32_MAX, &n)) {
        facts->ranks = (uint32_t)n;
        facts->command = text_of(facts, l, 2);
    } else if (is(l, "end") && number(l, 1, UINT8_MAX, &n)) {
        facts->ended = true;
        facts->code = (int)n;
    } else if (is(l, "hang") && l->count == 2) {
        facts->hang = text_of(facts, l, 1);
        facts->cycle = NULL; // of an earlier report
        facts->stuck_count = 0;
    } else if (is(l, "stuck")) {
        read_stuck(facts, l);
    } else if (is(l, "cycle") && l->count == 2) {
        facts->cycle = text_of(facts, l, 1);
    } else if (is(l, "process")) {
        read_process(facts, l);
    } else if (is(l, "channel")) {
        read_channel(facts, l);
    } else if (is(l, "schedule")) {
        read_schedule(facts, l);
    } else if (is(l, "queue")) {
        read_queue(facts, l);
    } else if (is(l, "path") || is(l, "stage")) {
        read_path(facts, l);
    } else if (is(l, "lane") || is(l, "call")) {
        read_play(facts, l);
    } else if (is(l, "how")) {
        read_how(facts, l);
    } else if (is(l, "worker")) {
        read_worker(facts, l);
    } else if (is(l, "host")) {
        read_host(facts, l);
    } else if (is(l, "clock")) {
        read_clock(facts, l);
    } else if (is(l, "context")) {
        read_context(facts, l);
    }
}

void mlt_facts_read(mlt_trace_facts_table *facts, const char *text, size_t bytes)
{
    const char *end = text + bytes;
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        stop = stop ? stop : end;
        line l = split(text, (size_t)(stop - text));
        read_line(facts, &l);
        text = stop + 1;
    }
}

void mlt_facts_free(mlt_trace_facts_table *facts)
{
    for (uint32_t i = 0; i < facts->text_count; i++)
        free(facts->texts[i]);
    free(facts->texts);
    free(facts->fns);
    free(facts->hows);
    free(facts->hosts);
    free(facts->aheads);
    free(facts->workers);
    free(facts->contexts);
    free(facts->stucks);
    free(facts->channels);
    free(facts->schedules);
    free(facts->processes);
    free(facts->queues);
    free(facts->paths);
    free(facts->plays);
    memset(facts, 0, sizeof *facts);
}

const char *mlt_facts_fn(const mlt_trace_facts_table *facts, uint16_t fn, char room[32])
{
    if (fn < MLT_TRACE_FNS && facts->fns && facts->fns[fn])
        return facts->fns[fn];
    snprintf(room, 32, "function %u", fn);
    return room;
}

const char *mlt_facts_how(const mlt_trace_facts_table *facts, uint8_t kind, uint8_t how,
                          char room[32])
{
    const char *name = kind < MLT_TRACE_KIND_COUNT && facts->hows
                           ? facts->hows[kind * MLT_TRACE_HOWS + how]
                           : NULL;
    if (name)
        return name;
    snprintf(room, 32, "%u", how);
    return room;
}
