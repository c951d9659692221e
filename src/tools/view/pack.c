// SPDX-License-Identifier: BSD-3-Clause
#include "tools/view/pack.h"

#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"
#include "tools/trace/findings.h"
#include "tools/view/levels.h"
#include "tools/view/schedule.h"

enum {
    MATRIX_SIDE = 256, // above: groups of ranks
    CULPRITS = 20,
    MEETINGS = 300,
    KINDS = 64,        // of collectives: function and communicator
    PATH_MOST = 20000, // steps of the critical path
    WORKERS_MOST = 4096,
    COPIES_MOST = 20000, // of devices
};

// ---- JSON

// What follows is an item of a list; `format`: how it begins.
static MLT_PRINTF(2, 3) void put_item(mlt_text *json, const char *format, ...)
{
    mlt_text_add(json, "%s", strchr("[{", json->text[json->length - 1]) ? "" : ",\n");
    MLT_TEXT_ADD(json, format);
}

// ---- numbers of as few bytes as they need

void mlt_pack_number(mlt_text *data, uint64_t n)
{
    uint8_t bytes[10];
    size_t count = 0;
    for (; n > 0x7f; n >>= 7)
        bytes[count++] = (uint8_t)(n | 0x80);
    bytes[count++] = (uint8_t)n;
    mlt_text_put(data, bytes, count);
}

void mlt_pack_signed(mlt_text *data, int64_t n)
{
    mlt_pack_number(data, n < 0 ? ~((uint64_t)n << 1) : (uint64_t)n << 1);
}

// ---- calls, waits, messages

// Calls of a rank end in the order in which they begin, but for threads of it: then a few are missed.
uint32_t mlt_pack_first(const mlt_story_rank *r, uint64_t time)
{
    return MLT_ARRAY_SEARCH(i, r->call_count, r->calls[i].end < time);
}

void mlt_pack_rank(const mlt_causes *c, uint32_t rank, uint64_t begin, uint64_t end, mlt_text *data)
{
    const mlt_story_rank *r = &c->story->ranks[rank];
    mlt_cause_part parts[MLT_CAUSE_PARTS];
    uint64_t last = 0;
    for (uint32_t i = mlt_pack_first(r, begin); i < r->call_count && r->calls[i].begin <= end;
         i++) {
        const mlt_story_call *call = &r->calls[i];
        mlt_pack_number(data, (uint64_t)call->fn + 1); // 0: the calls end
        mlt_pack_number(data, call->begin - last);
        mlt_pack_number(data, call->end - call->begin);
        mlt_pack_signed(data, call->peer);
        mlt_pack_signed(data, call->tag);
        mlt_pack_number(data, call->context);
        mlt_pack_number(data, call->bytes);
        last = call->begin;
    }
    mlt_pack_number(data, 0);
    last = 0;
    for (uint32_t i = mlt_story_wait_after(r, begin); i < r->wait_count && r->waits[i].begin <= end;
         i++) {
        int count = mlt_cause_parts(c, rank, &r->waits[i], parts);
        for (int p = 0; p < count; p++) {
            mlt_pack_number(data, (uint64_t)parts[p].cause + 1); // 0: the waits end
            mlt_pack_number(data, parts[p].begin - last);
            mlt_pack_number(data, parts[p].end - parts[p].begin);
            mlt_pack_signed(data, parts[p].rank);
            last = parts[p].begin;
        }
    }
    mlt_pack_number(data, 0);
}

static void pack_spans(const mlt_causes *c, uint64_t most, mlt_text *json, mlt_text *data)
{
    const mlt_story *s = c->story;
    uint64_t spans = 0;
    for (uint32_t i = 0; i < s->rank_count; i++)
        spans += (uint64_t)s->ranks[i].call_count + s->ranks[i].wait_count;
    if (spans > most) {
        mlt_text_add(json, ",\n\"spans\":{\"count\":%" PRIu64 "}", spans);
        return;
    }
    mlt_text ranks = {0};
    size_t at = data->length;
    for (uint32_t i = 0; i < s->rank_count; i++) {
        uint32_t begin = htole32((uint32_t)ranks.length);
        mlt_text_put(data, &begin, sizeof begin);
        mlt_pack_rank(c, i, 0, UINT64_MAX, &ranks);
    }
    mlt_text_add(json, ",\n\"spans\":{\"count\":%" PRIu64 ",\"index\":%zu,\"at\":%zu}", spans, at,
                 data->length);
    mlt_text_put(data, mlt_text_so_far(&ranks), ranks.length);
    mlt_text_free(&ranks);
}

// Messages that ended a wait.
static uint8_t *find_awaited(const mlt_story *s, uint64_t *count)
{
    uint8_t *awaited = mlt_xcalloc(s->message_count + 1, 1);
    *count = 0;
    for (uint32_t rank = 0; rank < s->rank_count; rank++)
        for (uint32_t i = 0; i < s->ranks[rank].wait_count; i++) {
            uint32_t m = s->ranks[rank].waits[i].message;
            if (m == MLT_STORY_NONE || awaited[m])
                continue;
            awaited[m] = 1;
            ++*count;
        }
    return awaited;
}

void mlt_pack_message(const mlt_story_message *m, uint64_t *last, mlt_text *data)
{
    bool sent = m->sent != MLT_STORY_UNKNOWN, matched = m->matched != MLT_STORY_UNKNOWN;
    uint64_t time = matched ? m->matched : m->sent;
    mlt_pack_number(data, (uint64_t)m->from << 2 | (uint64_t)sent << 1 | matched);
    mlt_pack_number(data, m->to);
    mlt_pack_signed(data, (int64_t)(time - *last));
    mlt_pack_signed(data, sent ? (int64_t)(time - m->sent) : 0);
    mlt_pack_number(data, m->bytes);
    mlt_pack_signed(data, m->tag);
    mlt_pack_number(data, m->context);
    *last = time;
}

static void pack_messages(const mlt_story *s, uint64_t most, mlt_text *json, mlt_text *data)
{
    uint64_t awaited_count, last = 0, count = 0, turn = 0;
    uint8_t *awaited = find_awaited(s, &awaited_count);
    bool all = s->message_count <= most;
    uint64_t every = all || awaited_count <= most || !most ? 1 : (awaited_count + most - 1) / most;
    size_t at = data->length;
    for (uint64_t i = 0; i < s->message_count; i++)
        if (all || (most && awaited[i] && turn++ % every == 0)) {
            mlt_pack_message(&s->messages[i], &last, data);
            count++;
        }
    mlt_text_add(json, ",\n\"messages\":{\"all\":%" PRIu64 ",\"count\":%" PRIu64 ",\"at\":%zu}",
                 s->message_count, count, at);
}

// ---- tables

static void pack_names(const mlt_story *s, mlt_text *json)
{
    const mlt_trace_facts_table *facts = &s->trace->facts;
    bool *used = mlt_xcalloc(MLT_TRACE_FNS, sizeof *used);
    char room[32];
    for (uint32_t rank = 0; rank < s->rank_count; rank++)
        for (uint32_t i = 0; i < s->ranks[rank].call_count; i++)
            used[s->ranks[rank].calls[i].fn] = true;
    mlt_text_add(json, ",\n\"fns\":{");
    for (uint16_t fn = 0; fn < MLT_TRACE_FNS; fn++) {
        if (!used[fn])
            continue;
        put_item(json, "\"%u\":[", fn);
        mlt_text_json(json, mlt_facts_fn(facts, fn, room));
        mlt_text_add(json, ",%d]", s->groups[fn]);
    }
    mlt_text_add(json, "}");
}

static void pack_workers(const mlt_trace_facts_table *facts, mlt_text *json)
{
    mlt_text_add(json, ",\n\"workers\":[");
    for (uint32_t i = 0; i < facts->worker_count && i < WORKERS_MOST; i++) {
        const mlt_trace_worker *w = &facts->workers[i];
        put_item(json, "[%u,", w->number);
        mlt_text_json(json, w->host);
        mlt_text_add(json, ",%u,%u,%u]", w->process, w->first, w->count);
    }
    mlt_text_add(json, "]");
}

// "2,5,*": the numbers as an array. True: there is a '*'.
static bool put_ranks(mlt_text *json, const char *list)
{
    bool more = false, star = false;
    mlt_text_add(json, "[");
    for (const char *at = list; *at;) {
        char *end;
        unsigned long long n = strtoull(at, &end, 10);
        if (end != at && *at >= '0' && *at <= '9' && n < UINT32_MAX) {
            mlt_text_add(json, more ? ",%llu" : "%llu", n);
            more = true;
        }
        star = star || *at == '*';
        at += strcspn(at, ",");
        at += *at == ',';
    }
    mlt_text_add(json, "]");
    return star;
}

// Where ranks were stuck, as mpirun told it.
static void pack_hang(const mlt_trace_facts_table *facts, mlt_text *json)
{
    if (!facts->hang)
        return;
    mlt_text_add(json, ",\n\"hang\":{\"why\":");
    mlt_text_json(json, facts->hang);
    mlt_text_add(json, ",\"stuck\":[");
    for (uint32_t i = 0; i < facts->stuck_count; i++) {
        put_item(json, "[%u,", facts->stucks[i].rank);
        bool star = put_ranks(json, facts->stucks[i].peers);
        mlt_text_add(json, ",%s,", star ? "true" : "false");
        mlt_text_json(json, facts->stucks[i].words);
        mlt_text_add(json, "]");
    }
    mlt_text_add(json, "],\"cycle\":");
    put_ranks(json, facts->cycle ? facts->cycle : "");
    mlt_text_add(json, "}");
}

// What a flow program's queues did, and the paths of collectives, as mpirun told it.
static void pack_flow(const mlt_trace_facts_table *facts, mlt_text *json)
{
    mlt_text_add(json, ",\n\"queues\":[");
    for (uint32_t i = 0; i < facts->queue_count; i++) {
        put_item(json, "[");
        mlt_text_json(json, facts->queues[i].from);
        mlt_text_add(json, ",");
        mlt_text_json(json, facts->queues[i].to);
        for (int n = 0; n < MLT_QUEUE_NUMBERS; n++)
            mlt_text_add(json, ",%" PRIu64, facts->queues[i].number[n]);
        mlt_text_add(json, "]");
    }
    mlt_text_add(json, "]");
}

static void pack_paths(const mlt_trace_facts_table *facts, mlt_text *json)
{
    mlt_text_add(json, ",\n\"paths\":[");
    for (uint32_t i = 0; i < facts->path_count; i++) {
        const mlt_trace_path *p = &facts->paths[i];
        put_item(json, "[");
        mlt_text_json(json, p->name);
        mlt_text_add(json, ",");
        mlt_text_json(json, p->words ? p->words : "");
        for (int n = 0; n < MLT_STAGE_NUMBERS; n++)
            mlt_text_add(json, ",%" PRIu64, p->number[n]);
        mlt_text_add(json, ",%s]", p->words ? "false" : "true");
    }
    mlt_text_add(json, "]");
}

// Their last calls: index of the path, "" and a lane, or a call's number and times.
static void pack_plays(const mlt_trace_facts_table *facts, mlt_text *json)
{
    mlt_text_add(json, ",\n\"plays\":[");
    for (uint32_t i = 0; i < facts->play_count; i++) {
        const mlt_trace_play *p = &facts->plays[i];
        put_item(json, "[%u,", p->path);
        mlt_text_json(json, p->call ? p->call : "");
        mlt_text_add(json, ",");
        mlt_text_json(json, p->words);
        mlt_text_add(json, "]");
    }
    mlt_text_add(json, "]");
}

static void pack_findings(const mlt_causes *c, mlt_text *json)
{
    mlt_finding found[MLT_FINDINGS_MOST];
    int count = mlt_findings_of(c, found);
    mlt_text_add(json, ",\n\"findings\":[");
    for (int i = 0; i < count; i++) {
        put_item(json, "[%" PRId64 ",", found[i].rank);
        mlt_text_json(json, found[i].text);
        mlt_text_add(json, "]");
    }
    mlt_text_add(json, "]");
}

static void pack_causes(const mlt_causes *c, mlt_text *json)
{
    uint32_t ranks = c->story->rank_count;
    mlt_text_add(json, ",\n\"blamed\":%" PRIu64 ",\"causes\":[", c->blamed_ns);
    for (unsigned cause = 0; cause < MLT_CAUSE_COUNT && ranks; cause++) {
        uint32_t worst = mlt_causes_worst(c, cause);
        put_item(json, "[%" PRIu64 ",%" PRIu64 ",%u,%" PRIu64 "]", c->count[cause], c->ns[cause],
                 worst, c->blamed[(uint64_t)cause * ranks + worst]);
    }
    mlt_text_add(json, "]");
}

typedef struct culprit {
    uint64_t ns;
    uint32_t rank;
} culprit;

static int culprit_order(const void *a, const void *b)
{
    const culprit *x = a, *y = b;
    return x->ns != y->ns ? (x->ns < y->ns ? 1 : -1) : (x->rank > y->rank) - (x->rank < y->rank);
}

// Ranks to which waiting goes back, and what they did themselves.
static void pack_culprits(const mlt_causes *c, mlt_text *json)
{
    uint32_t ranks = c->story->rank_count;
    culprit *all = mlt_xcalloc((size_t)ranks + 1, sizeof *all);
    for (uint32_t i = 0; i < ranks; i++)
        all[i] = (culprit){mlt_causes_blamed(c, i), i};
    qsort(all, ranks, sizeof *all, culprit_order);
    mlt_text_add(json, ",\n\"culprits\":[");
    for (uint32_t i = 0; i < ranks && i < CULPRITS; i++) {
        put_item(json, "[%u,%" PRIu64, all[i].rank, all[i].ns);
        for (int what = 0; what < MLT_DOES_COUNT; what++)
            mlt_text_add(json, ",%" PRIu64, c->does[(size_t)all[i].rank * MLT_DOES_COUNT + what]);
        mlt_text_add(json, "]");
    }
    uint64_t sums[MLT_DOES_COUNT] = {0};
    for (uint32_t i = 0; i < ranks; i++)
        for (int what = 0; what < MLT_DOES_COUNT; what++)
            sums[what] += c->does[(size_t)i * MLT_DOES_COUNT + what];
    mlt_text_add(json, "],\n\"does\":[");
    for (int what = 0; what < MLT_DOES_COUNT; what++)
        mlt_text_add(json, "%s%" PRIu64, what ? "," : "", sums[what]);
    mlt_text_add(json, "]");
}

typedef struct fn_sum {
    uint64_t count, ns, bytes, longest;
    uint32_t of;
} fn_sum;

static void pack_calls(const mlt_story *s, mlt_text *json)
{
    fn_sum *sums = mlt_xcalloc(MLT_TRACE_FNS, sizeof *sums);
    for (uint32_t rank = 0; rank < s->rank_count; rank++)
        for (uint32_t i = 0; i < s->ranks[rank].call_count; i++) {
            const mlt_story_call *call = &s->ranks[rank].calls[i];
            fn_sum *f = &sums[call->fn];
            uint64_t ns = call->end - call->begin;
            f->count++;
            f->ns += ns;
            f->bytes += call->bytes;
            f->of = ns >= f->longest ? rank : f->of;
            f->longest = ns >= f->longest ? ns : f->longest;
        }
    mlt_text_add(json, ",\n\"calls\":[");
    for (uint16_t fn = 0; fn < MLT_TRACE_FNS; fn++) {
        if (!sums[fn].count)
            continue;
        put_item(json, "[%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%u]", fn,
                 sums[fn].count, sums[fn].ns, sums[fn].bytes, sums[fn].longest, sums[fn].of);
    }
    mlt_text_add(json, "]");
}

// ---- who talked to whom

static void pack_matrix(const mlt_story *s, mlt_text *json)
{
    uint32_t shift = 0;
    while (s->rank_count >> shift > MATRIX_SIDE)
        shift++;
    uint32_t side = (uint32_t)(((uint64_t)s->rank_count + (1ull << shift) - 1) >> shift);
    uint64_t *sums = mlt_xcalloc(2 * (size_t)side * side + 1, sizeof *sums);
    for (uint64_t i = 0; i < s->message_count; i++) {
        const mlt_story_message *m = &s->messages[i];
        if (m->from >= s->rank_count || m->to >= s->rank_count)
            continue;
        size_t cell = (size_t)(m->from >> shift) * side + (m->to >> shift);
        sums[2 * cell]++;
        sums[2 * cell + 1] += m->bytes;
    }
    mlt_text_add(json, ",\n\"matrix\":{\"shift\":%u,\"side\":%u,\"cells\":[", shift, side);
    for (size_t i = 0; i < (size_t)side * side; i++)
        if (sums[2 * i]) {
            put_item(json, "%zu,%zu,%" PRIu64 ",%" PRIu64, i / side, i % side, sums[2 * i],
                     sums[2 * i + 1]);
        }
    mlt_text_add(json, "]}");
}

// ---- collectives

typedef struct kind_sum {
    uint64_t count, waited, skew, most; // skew: the sum; most: the largest
    uint32_t context, ranks, late;
    uint64_t late_count;
    uint16_t fn;
} kind_sum;

static kind_sum *kind_of(kind_sum *kinds, uint32_t *count, const mlt_story_meeting *m)
{
    for (uint32_t i = 0; i < *count; i++)
        if (kinds[i].fn == m->fn && kinds[i].context == m->context)
            return &kinds[i];
    if (*count == KINDS)
        return NULL;
    kinds[*count] = (kind_sum){.context = m->context, .fn = m->fn};
    return &kinds[(*count)++];
}

// The rank that came last most often.
static void find_late(const mlt_story *s, kind_sum *kind, uint64_t *times)
{
    memset(times, 0, s->rank_count * sizeof *times);
    for (uint32_t i = 0; i < s->meeting_count; i++) {
        const mlt_story_meeting *m = &s->meetings[i];
        if (m->ranks < 2 || m->fn != kind->fn || m->context != kind->context)
            continue;
        if (++times[m->late] > kind->late_count) {
            kind->late_count = times[m->late];
            kind->late = m->late;
        }
    }
}

static const mlt_story_meeting *pack_sorted; // what meeting_order compares

static int meeting_order(const void *a, const void *b)
{
    const mlt_story_meeting *x = &pack_sorted[*(const uint32_t *)a],
                            *y = &pack_sorted[*(const uint32_t *)b];
    return x->waited != y->waited ? (x->waited < y->waited ? 1 : -1)
                                  : (x->last > y->last) - (x->last < y->last);
}

static void pack_meetings(const mlt_story *s, mlt_text *json)
{
    uint32_t *order = mlt_xcalloc((size_t)s->meeting_count + 1, sizeof *order), count = 0;
    for (uint32_t i = 0; i < s->meeting_count; i++)
        if (s->meetings[i].ranks > 1)
            order[count++] = i;
    pack_sorted = s->meetings;
    qsort(order, count, sizeof *order, meeting_order);
    mlt_text_add(json, ",\n\"meetings\":[");
    for (uint32_t i = 0; i < count && i < MEETINGS; i++) {
        const mlt_story_meeting *m = &s->meetings[order[i]];
        put_item(json, "[%u,%u,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%u,%" PRIu64 "]", m->fn,
                 m->context, m->ranks, m->first, m->last, m->end, m->late, m->waited);
    }
    mlt_text_add(json, "]");
}

static void pack_collectives(const mlt_story *s, mlt_text *json)
{
    kind_sum kinds[KINDS];
    uint32_t count = 0;
    uint64_t *times = mlt_xcalloc((size_t)s->rank_count + 1, sizeof *times);
    for (uint32_t i = 0; i < s->meeting_count; i++) {
        const mlt_story_meeting *m = &s->meetings[i];
        kind_sum *kind = m->ranks > 1 ? kind_of(kinds, &count, m) : NULL;
        if (!kind)
            continue;
        uint64_t skew = m->last - m->first;
        kind->count++;
        kind->waited += m->waited;
        kind->skew += skew;
        kind->most = skew > kind->most ? skew : kind->most;
        kind->ranks = m->ranks > kind->ranks ? m->ranks : kind->ranks;
    }
    mlt_text_add(json, ",\n\"collectives\":[");
    for (uint32_t i = 0; i < count; i++) {
        find_late(s, &kinds[i], times);
        put_item(json, "[%u,%u,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%u,%" PRIu64 "]",
                 kinds[i].fn, kinds[i].context, kinds[i].ranks, kinds[i].count, kinds[i].waited,
                 kinds[i].skew / kinds[i].count, kinds[i].most, kinds[i].late, kinds[i].late_count);
    }
    mlt_text_add(json, "]");
    pack_meetings(s, json);
}

// ---- the critical path

static void pack_path(const mlt_causes *c, mlt_text *json)
{
    uint64_t *on = mlt_xcalloc((size_t)c->story->rank_count + 1, sizeof *on);
    uint64_t every = (c->path_count + PATH_MOST - 1) / PATH_MOST;
    mlt_text_add(json, ",\n\"path\":{\"count\":%" PRIu64 ",\"steps\":[", c->path_count);
    for (uint64_t i = 0; i < c->path_count; i++) {
        on[c->path[i].rank] += c->path[i].end - c->path[i].begin;
        if (i % every)
            continue;
        put_item(json, "%u,%" PRIu64 ",%" PRIu64, c->path[i].rank, c->path[i].begin,
                 c->path[i].end);
    }
    culprit *all = mlt_xcalloc((size_t)c->story->rank_count + 1, sizeof *all);
    for (uint32_t i = 0; i < c->story->rank_count; i++)
        all[i] = (culprit){on[i], i};
    qsort(all, c->story->rank_count, sizeof *all, culprit_order);
    mlt_text_add(json, "],\"ranks\":[");
    for (uint32_t i = 0; i < c->story->rank_count && i < CULPRITS && all[i].ns; i++) {
        put_item(json, "[%u,%" PRIu64 "]", all[i].rank, all[i].ns);
    }
    mlt_text_add(json, "]}");
}

// ---- what devices copied

// Sums by way, and the copies: rank, way, begin, end, bytes.
static void pack_copies(const mlt_story *s, mlt_text *json)
{
    fn_sum ways[MLT_TRACE_HOWS] = {0};
    uint64_t every = (s->copy_count + COPIES_MOST - 1) / COPIES_MOST;
    char room[32];
    mlt_text_add(json, ",\n\"copies\":{\"count\":%" PRIu64 ",\"all\":[", s->copy_count);
    for (uint64_t i = 0; i < s->copy_count; i++) {
        const mlt_story_copy *c = &s->copies[i];
        ways[c->how].count++;
        ways[c->how].bytes += c->bytes;
        ways[c->how].ns += c->end - c->begin;
        if (i % every)
            continue;
        put_item(json, "%u,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64, c->rank, c->how, c->begin, c->end,
                 c->bytes);
    }
    mlt_text_add(json, "],\"ways\":[");
    for (unsigned how = 0; how < MLT_TRACE_HOWS; how++) {
        if (!ways[how].count)
            continue;
        put_item(json, "[%u,", how);
        mlt_text_json(json, mlt_facts_how(&s->trace->facts, MLT_TRACE_COPIED, (uint8_t)how, room));
        mlt_text_add(json, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", ways[how].count,
                     ways[how].bytes, ways[how].ns);
    }
    mlt_text_add(json, "]}");
}

// ---- the whole

static void pack_levels(const mlt_causes *c, mlt_text *json, mlt_text *data)
{
    mlt_zoom_level levels[MLT_LEVELS_MOST];
    int count = mlt_levels_write(c, data, levels);
    mlt_text_add(json, ",\n\"levels\":[");
    for (int i = 0; i < count; i++)
        mlt_text_add(json, "%s{\"shift\":%u,\"rows\":%u,\"log\":%u,\"at\":%" PRIu64 "}",
                     i ? "," : "", levels[i].shift, levels[i].rows, levels[i].log, levels[i].at);
    mlt_text_add(json, "]");
}

void mlt_pack_run(const mlt_causes *c, const mlt_moves *moves, const char *name,
                  const mlt_pack_wishes *wishes, mlt_text *json, mlt_text *data)
{
    const mlt_story *s = c->story;
    const mlt_trace_facts_table *facts = &s->trace->facts;
    mlt_text_add(json, "{\"file\":");
    mlt_text_json(json, name);
    mlt_text_add(json, ",\"command\":");
    mlt_text_json(json, facts->command ? facts->command : "an unknown program");
    mlt_text_add(json,
                 ",\"ranks\":%u,\"length\":%" PRIu64 ",\"events\":%" PRIu64 ",\"damaged\":%" PRIu64
                 ",\"ended\":%s,\"code\":%d",
                 s->rank_count, s->length_ns, s->trace->events, s->damaged,
                 facts->ended ? "true" : "false", facts->code);
    pack_names(s, json);
    pack_workers(facts, json);
    pack_hang(facts, json);
    pack_flow(facts, json);
    mlt_moves_write(moves, json);
    mlt_moves_write_depths(&c->story->depths, json);
    pack_paths(facts, json);
    pack_plays(facts, json);
    pack_findings(c, json);
    pack_causes(c, json);
    pack_culprits(c, json);
    pack_calls(s, json);
    pack_matrix(s, json);
    pack_collectives(s, json);
    mlt_loggops machine = wishes->machine ? *wishes->machine : mlt_schedule_machine(s);
    mlt_schedules_write(s, &machine, json);
    pack_path(c, json);
    pack_copies(s, json);
    pack_levels(c, json, data);
    pack_spans(c, wishes->spans, json, data);
    pack_messages(s, wishes->messages, json, data);
    mlt_text_add(json, "}");
}
