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

static char *text_of(const line *l, unsigned i)
{
    char *text = mlt_take(l->length[i] + 1, 1);
    memcpy(text, l->field[i], l->length[i]);
    return text;
}

static void replace(char **place, char *text)
{
    free(*place);
    *place = text;
}

// The place of name i in a table of `count`, which is made with its first name.
static char **place_of(char ***table, size_t count, size_t i)
{
    if (!*table)
        *table = mlt_take(count, sizeof **table);
    return &(*table)[i];
}

static char **how_place(mlt_trace_facts_table *facts, int kind, uint64_t how)
{
    return place_of(&facts->hows, (size_t)MLT_TRACE_KIND_COUNT * MLT_TRACE_HOWS,
                    (size_t)kind * MLT_TRACE_HOWS + how);
}

static void read_how(mlt_trace_facts_table *facts, const line *l)
{
    uint64_t how;
    for (int kind = 0; l->count == 4 && kind < MLT_TRACE_KIND_COUNT; kind++)
        if (l->length[1] == strlen(mlt_trace_kind_names[kind]) &&
            memcmp(l->field[1], mlt_trace_kind_names[kind], l->length[1]) == 0 &&
            number(l, 2, MLT_TRACE_HOWS - 1, &how))
            replace(how_place(facts, kind, how), text_of(l, 3));
}

static void read_worker(mlt_trace_facts_table *facts, const line *l)
{
    uint64_t n, process, first, count;
    if (l->count < 6 || !number(l, 1, UINT32_MAX, &n) || !number(l, 3, UINT32_MAX, &process) ||
        !number(l, 4, UINT32_MAX, &first) || !number(l, 5, UINT32_MAX, &count))
        return;
    MLT_ARRAY_WANT(facts->workers, facts->worker_count + 1, facts->worker_room);
    facts->workers[facts->worker_count++] = (mlt_trace_worker){
        text_of(l, 2), (uint32_t)n, (uint32_t)process, (uint32_t)first, (uint32_t)count};
}

static void read_host(mlt_trace_facts_table *facts, const line *l)
{
    uint64_t n, first, count;
    if (l->count < 5 || !number(l, 1, UINT32_MAX, &n) || !number(l, 3, UINT32_MAX, &first) ||
        !number(l, 4, UINT32_MAX, &count))
        return;
    MLT_ARRAY_WANT(facts->hosts, facts->host_count + 1, facts->host_room);
    facts->hosts[facts->host_count++] =
        (mlt_trace_host){text_of(l, 2), (uint32_t)n, (uint32_t)first, (uint32_t)count};
}

static void read_clock(mlt_trace_facts_table *facts, const line *l)
{
    uint64_t host, at, ns, error;
    if (l->count < 6 || !number(l, 1, UINT32_MAX, &host) || !number(l, 2, INT64_MAX, &at) ||
        !number(l, 4, INT64_MAX / 4, &ns) || !number(l, 5, INT64_MAX, &error))
        return;
    bool behind = l->length[3] == 6 && memcmp(l->field[3], "behind", 6) == 0;
    MLT_ARRAY_WANT(facts->aheads, facts->ahead_count + 1, facts->ahead_room);
    facts->aheads[facts->ahead_count++] =
        (mlt_trace_ahead){(uint32_t)host, at, error, behind ? -(int64_t)ns : (int64_t)ns};
}

static void read_context(mlt_trace_facts_table *facts, const line *l)
{
    uint64_t n, ranks;
    if (l->count < 4 || !number(l, 1, UINT32_MAX, &n) || !number(l, 3, UINT32_MAX, &ranks))
        return;
    MLT_ARRAY_WANT(facts->contexts, facts->context_count + 1, facts->context_room);
    facts->contexts[facts->context_count++] =
        (mlt_trace_context){(uint32_t)n, (uint32_t)ranks, text_of(l, 2)};
}

static void read_process(mlt_trace_facts_table *facts, const line *l)
{
    uint64_t worker, n;
    if (l->count < 4 || !number(l, 1, UINT32_MAX, &worker) || !number(l, 2, UINT32_MAX, &n))
        return;
    MLT_ARRAY_WANT(facts->processes, facts->process_count + 1, facts->process_room);
    facts->processes[facts->process_count++] =
        (mlt_trace_process){(uint32_t)worker, (uint32_t)n, text_of(l, 3)};
}

// The first channel that is not before this one.
static uint32_t channel_place(const mlt_trace_facts_table *facts, uint32_t worker, uint32_t number)
{
    uint32_t low = 0, high = facts->channel_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const mlt_trace_channel *c = &facts->channels[middle];
        if (c->worker < worker || (c->worker == worker && c->number < number))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// A worker tells of its channels in the order of their first use, so most go to the end.
static void read_channel(mlt_trace_facts_table *facts, const line *l)
{
    uint64_t worker, n, room;
    if (l->count < 5 || !number(l, 1, UINT32_MAX, &worker) || !number(l, 2, UINT32_MAX, &n) ||
        !number(l, 3, UINT32_MAX, &room) || mlt_facts_channel(facts, (uint32_t)worker, (uint32_t)n))
        return;
    uint32_t at = channel_place(facts, (uint32_t)worker, (uint32_t)n);
    MLT_ARRAY_WANT(facts->channels, facts->channel_count + 1, facts->channel_room);
    memmove(&facts->channels[at + 1], &facts->channels[at],
            (facts->channel_count++ - at) * sizeof *facts->channels);
    facts->channels[at] = (mlt_trace_channel){(uint32_t)worker, (uint32_t)n, room, text_of(l, 4)};
}

const mlt_trace_channel *mlt_facts_channel(const mlt_trace_facts_table *facts, uint32_t worker,
                                           uint32_t number)
{
    uint32_t at = channel_place(facts, worker, number);
    return at < facts->channel_count && facts->channels[at].worker == worker &&
                   facts->channels[at].number == number
               ? &facts->channels[at]
               : NULL;
}

static void forget_hang(mlt_trace_facts_table *facts)
{
    for (uint32_t i = 0; i < facts->stuck_count; i++) {
        free(facts->stucks[i].peers);
        free(facts->stucks[i].words);
    }
    free(facts->stucks);
    facts->stucks = NULL;
    facts->stuck_count = facts->stuck_room = 0;
    replace(&facts->hang, NULL);
    replace(&facts->cycle, NULL);
}

static void read_stuck(mlt_trace_facts_table *facts, const line *l)
{
    uint64_t rank;
    if (l->count < 4 || !number(l, 1, UINT32_MAX, &rank))
        return;
    MLT_ARRAY_WANT(facts->stucks, facts->stuck_count + 1, facts->stuck_room);
    facts->stucks[facts->stuck_count++] =
        (mlt_trace_stuck){(uint32_t)rank, text_of(l, 2), text_of(l, 3)};
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
    mlt_trace_queue q = {text_of(l, 1), text_of(l, 2), {0}};
    const char *at = l->field[3], *end = at + l->length[3];
    for (int i = 0; i < MLT_QUEUE_NUMBERS; i++)
        q.number[i] = next_number(&at, end);
    MLT_ARRAY_WANT(facts->queues, facts->queue_count + 1, facts->queue_room);
    facts->queues[facts->queue_count++] = q;
}

static void read_path(mlt_trace_facts_table *facts, const line *l)
{
    bool stage = is(l, "stage");
    if (l->count < (stage ? 6u : 3u) || (stage && !facts->path_count))
        return;
    mlt_trace_path p = {text_of(l, 1), stage ? NULL : text_of(l, 2), {0}};
    for (unsigned i = 0; stage && i < MLT_STAGE_NUMBERS; i++) {
        const char *at = l->field[2 + i];
        p.number[i] = next_number(&at, at + l->length[2 + i]);
    }
    MLT_ARRAY_WANT(facts->paths, facts->path_count + 1, facts->path_room);
    facts->paths[facts->path_count++] = p;
}

static void read_line(mlt_trace_facts_table *facts, const line *l)
{
    uint64_t n;
    if (is(l, "fn") && l->count == 3 && number(l, 1, MLT_TRACE_FNS - 1, &n)) {
        replace(place_of(&facts->fns, MLT_TRACE_FNS, n), text_of(l, 2));
    } else if (is(l, "job") && l->count >= 3 && number(l, 1, UINT32_MAX, &n)) {
        facts->ranks = (uint32_t)n;
        replace(&facts->command, text_of(l, 2));
    } else if (is(l, "end") && number(l, 1, UINT8_MAX, &n)) {
        facts->ended = true;
        facts->code = (int)n;
    } else if (is(l, "hang") && l->count == 2) {
        forget_hang(facts); // an earlier report
        replace(&facts->hang, text_of(l, 1));
    } else if (is(l, "stuck")) {
        read_stuck(facts, l);
    } else if (is(l, "cycle") && l->count == 2) {
        replace(&facts->cycle, text_of(l, 1));
    } else if (is(l, "process")) {
        read_process(facts, l);
    } else if (is(l, "channel")) {
        read_channel(facts, l);
    } else if (is(l, "queue")) {
        read_queue(facts, l);
    } else if (is(l, "path") || is(l, "stage")) {
        read_path(facts, l);
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
    for (int i = 0; facts->fns && i < MLT_TRACE_FNS; i++)
        free(facts->fns[i]);
    for (int i = 0; facts->hows && i < MLT_TRACE_KIND_COUNT * MLT_TRACE_HOWS; i++)
        free(facts->hows[i]);
    free(facts->fns);
    free(facts->hows);
    for (uint32_t i = 0; i < facts->worker_count; i++)
        free(facts->workers[i].host);
    for (uint32_t i = 0; i < facts->context_count; i++)
        free(facts->contexts[i].name);
    for (uint32_t i = 0; i < facts->host_count; i++)
        free(facts->hosts[i].name);
    free(facts->hosts);
    free(facts->aheads);
    free(facts->workers);
    free(facts->contexts);
    free(facts->command);
    forget_hang(facts);
    for (uint32_t i = 0; i < facts->queue_count; i++) {
        free(facts->queues[i].from);
        free(facts->queues[i].to);
    }
    for (uint32_t i = 0; i < facts->path_count; i++) {
        free(facts->paths[i].name);
        free(facts->paths[i].words);
    }
    for (uint32_t i = 0; i < facts->process_count; i++)
        free(facts->processes[i].name);
    for (uint32_t i = 0; i < facts->channel_count; i++)
        free(facts->channels[i].name);
    free(facts->channels);
    free(facts->processes);
    free(facts->queues);
    free(facts->paths);
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
