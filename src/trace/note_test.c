// SPDX-License-Identifier: BSD-3-Clause
// Notes come back as the events that they are; data that are none are refused.
#include "trace/note.h"

#include <string.h>

#include "base/unit_test.h"

enum { NOTES = 1000 };

typedef struct written {
    uint64_t words[NOTES * MLT_NOTE_WORDS];
    size_t count;
    mlt_trace_like slots[MLT_NOTE_SLOTS];
    uint64_t last;
} written;

static void begin(written *w)
{
    memset(w, 0xff, sizeof *w);
    w->count = 0;
    w->last = 0;
}

static size_t put(written *w, const mlt_trace_event *e)
{
    mlt_trace_like like =
        mlt_trace_like_of(e->bytes, e->rank, e->peer, e->tag, e->context, e->fn, e->how, e->kind);
    size_t took =
        mlt_trace_put(w->words + w->count, w->slots, w->last, &like, e->time + e->span, e->span);
    w->count += took;
    w->last = e->time + e->span;
    return took;
}

static mlt_trace_event random_event(const mlt_trace_event *last)
{
    mlt_trace_event e = *last;
    e.time += random64() >> (below(4) ? 50 : 20 + below(44));
    e.time -= below(3) ? 0 : below(1000);
    e.span = below(2) ? random64() >> (30 + below(34)) : 0;
    e.kind = (uint8_t)below(MLT_TRACE_KIND_COUNT);
    e.fn = (uint16_t)(below(4) ? below(8) : below(1 << 16));
    e.how = (uint8_t)(below(4) ? e.how : below(256));
    e.rank = below(4) ? e.rank : (uint32_t)random64();
    e.peer = below(2) ? e.peer : (int32_t)random64();
    e.tag = below(2) ? e.tag : (int32_t)random64();
    e.context = below(2) ? e.context : (uint32_t)random64();
    e.bytes = below(2) ? e.bytes : random64() >> below(64);
    return e;
}

static void compare(const mlt_trace_event *a, const mlt_trace_event *b)
{
    CHECK(a->time == b->time && a->span == b->span && a->bytes == b->bytes);
    CHECK(a->rank == b->rank && a->peer == b->peer && a->tag == b->tag);
    CHECK(a->context == b->context && a->fn == b->fn && a->kind == b->kind && a->how == b->how);
}

// Also from the middle on, as a chunk that follows another one.
static void there_and_back(uint32_t count)
{
    static mlt_trace_event in[NOTES], out[NOTES];
    static written w;
    static uint64_t rest[MLT_NOTE_SLOTS * MLT_NOTE_WORDS + NOTES * MLT_NOTE_WORDS];
    mlt_trace_event last = {.time = random64() >> 1};
    size_t middle = 0;
    begin(&w);
    for (uint32_t i = 0; i < count; i++) {
        middle = i == count / 2 ? w.count : middle;
        in[i] = last = below(3) && i > 9 ? in[i - 1 - below(9)] : random_event(&last);
        in[i].time = last.time = in[i ? i - 1 : 0].time + below(100000);
        (void)put(&w, &in[i]);
    }
    CHECK(mlt_notes_count(w.words, w.count * sizeof *w.words) == (int64_t)count);
    mlt_notes_expand(w.words, w.count * sizeof *w.words, out);
    for (uint32_t i = 0; i < count; i++)
        compare(&in[i], &out[i]);
    size_t likes = mlt_notes_likes(w.words, middle * sizeof *w.words, rest);
    memcpy(rest + likes, w.words + middle, (w.count - middle) * sizeof *rest);
    size_t bytes = (likes + w.count - middle) * sizeof *rest;
    CHECK(mlt_notes_count(rest, bytes) == (int64_t)(count - count / 2));
    mlt_notes_expand(rest, bytes, out);
    for (uint32_t i = count / 2; i < count; i++)
        compare(&in[i], &out[i - count / 2]);
    CHECK(count == 0 || mlt_notes_count(w.words, w.count * sizeof *w.words - 1) == -1);
}

// What repeats itself is a word.
static void small(void)
{
    static written w;
    mlt_trace_event e = {.time = 1000, .span = 900, .bytes = 8, .rank = 1, .tag = 7};
    begin(&w);
    CHECK(put(&w, &e) == MLT_NOTE_WORDS);
    e.time += 5000;
    CHECK(put(&w, &e) == 1);
    e.time += (1u << MLT_NOTE_BITS) - 1;
    e.span = (1u << MLT_NOTE_BITS) - 1 - 900; // it ends that much later
    CHECK(put(&w, &e) == MLT_NOTE_WORDS);
    e.time = w.last;
    e.span = (1u << MLT_NOTE_BITS) - 1;
    CHECK(put(&w, &e) == 1);
    e.time = w.last;
    e.span++;
    CHECK(put(&w, &e) == MLT_NOTE_WORDS);
    e.time = w.last - e.span - 1; // one that ended before
    CHECK(put(&w, &e) == MLT_NOTE_WORDS);
    CHECK(mlt_notes_count(w.words, w.count * sizeof *w.words) == 6);
}

// One note of a call is all that the call did.
static void folded(void)
{
    static written w;
    mlt_trace_event out[8];
    mlt_trace_event e = {.time = 1000,
                         .span = 900,
                         .bytes = 8,
                         .rank = 1,
                         .peer = 2,
                         .tag = 7,
                         .context = 3,
                         .fn = 9,
                         .how = 4};
    begin(&w);
    e.kind = MLT_TRACE_CALL | MLT_NOTE_SENT;
    (void)put(&w, &e);
    e.kind = MLT_TRACE_CALL | MLT_NOTE_POSTED | MLT_NOTE_MATCHED;
    (void)put(&w, &e);
    e.kind = MLT_TRACE_CALL | MLT_NOTE_MATCHED;
    (void)put(&w, &e);
    CHECK(mlt_notes_count(w.words, w.count * sizeof *w.words) == 8);
    mlt_notes_expand(w.words, w.count * sizeof *w.words, out);
    static const uint8_t kinds[] = {MLT_TRACE_SENT,    MLT_TRACE_CALL, MLT_TRACE_POSTED,
                                    MLT_TRACE_MATCHED, MLT_TRACE_WAIT, MLT_TRACE_CALL,
                                    MLT_TRACE_MATCHED, MLT_TRACE_CALL};
    for (int i = 0; i < 8; i++) {
        bool call = kinds[i] == MLT_TRACE_CALL, wait = kinds[i] == MLT_TRACE_WAIT,
             ends = kinds[i] == MLT_TRACE_MATCHED;
        CHECK(out[i].kind == kinds[i] && out[i].fn == (call ? 9 : 0));
        CHECK(out[i].time == (ends ? 1900 : 1000) && out[i].span == (call || wait ? 900 : 0));
        CHECK(out[i].how == (wait || kinds[i] == MLT_TRACE_SENT ? 4 : 0) &&
              out[i].bytes == (wait ? 0 : 8));
        CHECK(out[i].peer == 2 && out[i].tag == 7 && out[i].context == 3 && out[i].rank == 1);
    }
}

static void wrong(void)
{
    const uint64_t word[] = {5}, slot[MLT_NOTE_WORDS] = {MLT_NOTE_WHOLE | 254 << 8};
    const uint64_t kind[MLT_NOTE_WORDS] = {MLT_NOTE_WHOLE, 0, 0, 0, 0, 0, MLT_TRACE_KIND_COUNT};
    const uint64_t beside[MLT_NOTE_WORDS] = {
        MLT_NOTE_WHOLE, 0, 0, 0, 0, 0, MLT_TRACE_WAIT | MLT_NOTE_SENT};
    const uint64_t other[MLT_NOTE_WORDS + 1] = {MLT_NOTE_WHOLE | 3 << 8, [MLT_NOTE_WORDS] = 4};
    CHECK(mlt_notes_count(word, sizeof word) == -1);
    CHECK(mlt_notes_count(slot, sizeof slot) == -1);
    CHECK(mlt_notes_count(kind, sizeof kind) == -1);
    CHECK(mlt_notes_count(beside, sizeof beside) == -1);
    CHECK(mlt_notes_count(other, sizeof other) == -1);
    CHECK(mlt_notes_count(other, sizeof other - sizeof *other) == 1);
}

int main(void)
{
    for (now_seed = 1; now_seed <= 300; now_seed++) {
        random_state = now_seed;
        there_and_back(below(NOTES));
    }
    now_seed = 0;
    there_and_back(0);
    small();
    folded();
    wrong();
    return 0;
}
