// SPDX-License-Identifier: BSD-3-Clause
#include "tools/view/pieces.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tools/view/http.h"
#include "tools/view/pack.h"

// ---- what was asked for

static int wrong(mlt_text *data, const char *what)
{
    mlt_text_add(data, "the request wants numbers: %s\n", what);
    return MLT_HTTP_BAD;
}

static bool pieces_rank_of(const mlt_pieces *p, const char *query, const char *name, uint32_t *rank)
{
    uint64_t n;
    if (!mlt_http_number(query, name, &n) || n >= p->causes->story->rank_count)
        return false;
    *rank = (uint32_t)n;
    return true;
}

static bool pieces_times_of(const char *query, uint64_t *begin, uint64_t *end)
{
    return mlt_http_number(query, "begin", begin) && mlt_http_number(query, "end", end) &&
           *begin <= *end;
}

// ---- calls and waits

static void pieces_put_rank(const mlt_causes *c, uint32_t rank, uint64_t begin, uint64_t end,
                            mlt_text *data)
{
    const mlt_story_rank *r = &c->story->ranks[rank];
    bool there = r->begin != MLT_STORY_UNKNOWN;
    mlt_pack_number(data, there ? r->begin : 0);
    mlt_pack_number(data, there ? r->end : 0);
    mlt_pack_number(data, mlt_pack_first(r, begin));
    mlt_pack_rank(c, rank, begin, end, data);
}

// Those that a stretch of time has, up to a bit more than a piece may have.
static uint64_t count_spans(const mlt_story_rank *r, uint64_t begin, uint64_t end)
{
    uint64_t count = 0;
    for (uint32_t i = mlt_pack_first(r, begin);
         i < r->call_count && r->calls[i].begin <= end && count <= MLT_PIECE_SPANS; i++)
        count++;
    for (uint32_t i = mlt_story_wait_after(r, begin);
         i < r->wait_count && r->waits[i].begin <= end && count <= MLT_PIECE_SPANS; i++)
        count++;
    return count;
}

static int answer_spans(mlt_pieces *p, const char *query, mlt_text *data)
{
    const mlt_story *s = p->causes->story;
    uint32_t first;
    uint64_t count, begin, end, spans = 0;
    if (!pieces_rank_of(p, query, "first", &first) || !mlt_http_number(query, "count", &count) ||
        !pieces_times_of(query, &begin, &end))
        return wrong(data, "first, count, begin, end");
    count = count > s->rank_count - first ? s->rank_count - first : count;
    for (uint64_t i = 0; i < count && spans <= MLT_PIECE_SPANS; i++)
        spans += count_spans(&s->ranks[first + i], begin, end);
    mlt_pack_number(data, spans <= MLT_PIECE_SPANS);
    for (uint64_t i = 0; i < count && spans <= MLT_PIECE_SPANS; i++)
        pieces_put_rank(p->causes, first + (uint32_t)i, begin, end, data);
    return MLT_HTTP_FINE;
}

static int answer_call(mlt_pieces *p, const char *query, mlt_text *data)
{
    uint32_t rank;
    uint64_t call;
    if (!pieces_rank_of(p, query, "rank", &rank) || !mlt_http_number(query, "call", &call) ||
        call >= p->causes->story->ranks[rank].call_count)
        return wrong(data, "rank, call");
    const mlt_story_call *c = &p->causes->story->ranks[rank].calls[call];
    mlt_pack_number(data, 1);
    pieces_put_rank(p->causes, rank, c->begin, c->end, data);
    return MLT_HTTP_FINE;
}

// ---- messages

static uint32_t end_of(const mlt_story_message *m, bool receiver)
{
    return receiver ? m->to : m->from;
}

// For each rank the messages that it sent, or received.
static void sort_messages(const mlt_story *s, bool receiver, uint32_t **items, uint64_t **from)
{
    uint64_t *start = mlt_xcalloc((size_t)s->rank_count + 2, sizeof *start);
    *items = mlt_xcalloc(s->message_count + 1, sizeof **items);
    for (uint64_t i = 0; i < s->message_count; i++)
        if (end_of(&s->messages[i], receiver) < s->rank_count)
            start[end_of(&s->messages[i], receiver) + 2]++;
    for (size_t i = 2; i < (size_t)s->rank_count + 2; i++)
        start[i] += start[i - 1];
    for (uint64_t i = 0; i < s->message_count; i++)
        if (end_of(&s->messages[i], receiver) < s->rank_count)
            (*items)[start[end_of(&s->messages[i], receiver) + 1]++] = (uint32_t)i;
    *from = start;
}

typedef struct search {
    const mlt_story *story;
    uint64_t begin, end, last, count;
    uint64_t from, shift; // only of this group of senders; shift 64: of all
    mlt_text found;
} search;

static void put_found(search *f, uint32_t index, bool receiver)
{
    const mlt_story_message *m = &f->story->messages[index];
    uint64_t time = receiver ? m->matched : m->sent;
    if (time == MLT_STORY_UNKNOWN || time < f->begin || time > f->end ||
        f->count == MLT_PIECE_MESSAGES)
        return;
    if (f->shift < 64 && m->from >> f->shift != f->from)
        return;
    // One that the rank sent to itself would be there twice.
    if (!receiver && m->from == m->to && m->matched >= f->begin && m->matched <= f->end)
        return;
    mlt_pack_message(m, &f->last, &f->found);
    f->count++;
}

static void look_at(search *f, const uint32_t *items, const uint64_t *from, uint32_t rank,
                    bool receiver)
{
    for (uint64_t i = from[rank]; i < from[rank + 1] && f->count < MLT_PIECE_MESSAGES; i++)
        put_found(f, items[i], receiver);
}

static int answer_messages(mlt_pieces *p, const char *query, mlt_text *data)
{
    const mlt_story *s = p->causes->story;
    search f = {.story = s, .shift = 64};
    uint32_t rank;
    uint64_t to;
    bool one = pieces_rank_of(p, query, "rank", &rank);
    if (!pieces_times_of(query, &f.begin, &f.end) ||
        (!one && (!mlt_http_number(query, "from", &f.from) || !mlt_http_number(query, "to", &to) ||
                  !mlt_http_number(query, "shift", &f.shift) || f.shift > 31 ||
                  to > s->rank_count >> f.shift)))
        return wrong(data, "begin, end, and rank or from, to and shift");
    if (!p->sent) {
        sort_messages(s, false, &p->sent, &p->sent_from);
        sort_messages(s, true, &p->received, &p->received_from);
    }
    if (one) {
        look_at(&f, p->received, p->received_from, rank, true);
        look_at(&f, p->sent, p->sent_from, rank, false);
    } else
        for (uint64_t r = to << f.shift; r < s->rank_count && r >> f.shift == to; r++)
            look_at(&f, p->received, p->received_from, (uint32_t)r, true);
    mlt_pack_number(data, f.count);
    mlt_text_put(data, mlt_text_so_far(&f.found), f.found.length);
    mlt_text_free(&f.found);
    return MLT_HTTP_FINE;
}

// ---- search

typedef struct wanted {
    bool fns[MLT_TRACE_FNS], causes[MLT_CAUSE_COUNT];
    bool by_tag, by_length;
    uint64_t tag, longer;
    uint64_t count;
    mlt_text found;
} wanted;

static bool is_wanted(const wanted *w, const mlt_story_call *call)
{
    if (w->by_tag)
        return call->tag >= 0 && (uint64_t)call->tag == w->tag;
    if (w->by_length)
        return call->end - call->begin > w->longer;
    return w->fns[call->fn];
}

static void put_match(wanted *w, uint64_t begin, uint32_t rank, uint64_t call, uint64_t cause,
                      uint64_t length)
{
    mlt_pack_number(&w->found, begin);
    mlt_pack_number(&w->found, rank);
    mlt_pack_number(&w->found, call);
    mlt_pack_number(&w->found, cause);
    mlt_pack_number(&w->found, length);
    w->count++;
}

static void find_in(const mlt_causes *c, uint32_t rank, wanted *w)
{
    const mlt_story_rank *r = &c->story->ranks[rank];
    mlt_cause_part parts[MLT_CAUSE_PARTS];
    for (uint32_t i = 0; i < r->call_count && w->count < MLT_PIECE_FOUND; i++)
        if (is_wanted(w, &r->calls[i]))
            put_match(w, r->calls[i].begin, rank, (uint64_t)i + 1, 0,
                      r->calls[i].end - r->calls[i].begin);
    for (uint32_t i = 0; i < r->wait_count && !w->by_tag && !w->by_length; i++) {
        int count = mlt_cause_parts(c, rank, &r->waits[i], parts);
        uint64_t call = r->waits[i].call == MLT_STORY_NONE ? 0 : (uint64_t)r->waits[i].call + 1;
        for (int k = 0; k < count && w->count < MLT_PIECE_FOUND; k++)
            if (w->causes[parts[k].cause])
                put_match(w, parts[k].begin, rank, call, parts[k].cause + 1,
                          parts[k].end - parts[k].begin);
    }
}

static bool read_set(const char *query, const char *name, bool *set, uint64_t room)
{
    enum { MOST = 1024 };
    uint64_t numbers[MOST];
    int count = mlt_http_numbers(query, name, numbers, MOST);
    for (int i = 0; i < count; i++) {
        if (numbers[i] >= room)
            return false;
        set[numbers[i]] = true;
    }
    return count >= 0;
}

static int answer_find(mlt_pieces *p, const char *query, mlt_text *data)
{
    wanted *w = mlt_xcalloc(1, sizeof *w);
    w->by_tag = mlt_http_number(query, "tag", &w->tag);
    w->by_length = mlt_http_number(query, "longer", &w->longer);
    bool fine = w->by_tag || w->by_length ||
                (read_set(query, "fns", w->fns, MLT_TRACE_FNS) &&
                 read_set(query, "causes", w->causes, MLT_CAUSE_COUNT));
    for (uint32_t rank = 0; fine && rank < p->causes->story->rank_count; rank++)
        find_in(p->causes, rank, w);
    if (fine)
        mlt_pack_number(data, w->count);
    mlt_text_put(data, mlt_text_so_far(&w->found), w->found.length);
    mlt_text_free(&w->found);
    free(w);
    return fine ? MLT_HTTP_FINE : wrong(data, "fns and causes, or tag, or longer");
}

// ---- who waits for whom

static bool wait_at(const mlt_causes *c, uint32_t rank, uint64_t time, mlt_cause_part *part)
{
    const mlt_story_rank *r = &c->story->ranks[rank];
    mlt_cause_part parts[MLT_CAUSE_PARTS];
    uint32_t i = mlt_story_wait_after(r, time);
    if (i == r->wait_count || r->waits[i].begin > time)
        return false;
    int count = mlt_cause_parts(c, rank, &r->waits[i], parts);
    for (int k = 0; k < count; k++)
        if (parts[k].begin <= time && parts[k].end > time) {
            *part = parts[k];
            return true;
        }
    return false;
}

static int pieces_answer_waits(mlt_pieces *p, const char *query, mlt_text *data)
{
    uint64_t time, count = 0;
    mlt_cause_part part;
    mlt_text found = {0};
    if (!mlt_http_number(query, "time", &time))
        return wrong(data, "time");
    for (uint32_t rank = 0; rank < p->causes->story->rank_count; rank++)
        if (wait_at(p->causes, rank, time, &part)) {
            mlt_pack_number(&found, rank);
            mlt_pack_number(&found, part.cause);
            mlt_pack_signed(&found, part.rank);
            mlt_pack_number(&found, part.begin);
            mlt_pack_number(&found, part.end);
            count++;
        }
    mlt_pack_number(data, count);
    mlt_text_put(data, mlt_text_so_far(&found), found.length);
    mlt_text_free(&found);
    return MLT_HTTP_FINE;
}

// ---- all of them

int mlt_pieces_answer(mlt_pieces *pieces, const char *what, const char *query, mlt_text *data)
{
    static const struct {
        const char *name;
        int (*answer)(mlt_pieces *pieces, const char *query, mlt_text *data);
    } answers[] = {{"spans", answer_spans},
                   {"call", answer_call},
                   {"messages", answer_messages},
                   {"find", answer_find},
                   {"waits", pieces_answer_waits}};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        if (strcmp(what, answers[i].name) == 0)
            return answers[i].answer(pieces, query, data);
    mlt_text_add(data, "there is nothing here of that name\n");
    return MLT_HTTP_NOT_FOUND;
}
