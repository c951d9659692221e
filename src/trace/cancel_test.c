// SPDX-License-Identifier: BSD-3-Clause
// Which of several sends was cancelled, found by the time when it had left.
#include "trace/cancel.h"

#include <string.h>

#include "base/text.h"
#include "base/unit_test.h"
#include "trace/note.h"

static mlt_text file;
static uint64_t words[32 * MLT_NOTE_WORDS];
static mlt_trace_like slots[MLT_NOTE_SLOTS];
static size_t length;
static uint64_t last; // when the note before ended

enum { CHUNK_END = 1000 };

static void add_chunk(uint32_t worker)
{
    mlt_trace_head head = {.kind = MLT_CHUNK_EVENTS,
                           .worker = worker,
                           .first = {1, 1},
                           .last = {CHUNK_END, CHUNK_END}};
    mlt_trace_seal(&head, words, length * sizeof *words);
    mlt_text_put(&file, (const char *)&head, sizeof head);
    mlt_text_put(&file, (const char *)words, length * sizeof *words);
    memset(slots, 0xff, sizeof slots);
    length = 0;
}

// Of rank 0, to peer with tag 7. A send in a call left when the call began.
static void note(uint8_t kind, int32_t peer, uint64_t bytes, uint64_t end, uint64_t span)
{
    mlt_trace_like like = mlt_trace_like_of(bytes, 0, peer, 7, 0, 0, 0, kind);
    length += mlt_trace_put(words + length, slots, last, &like, end, span);
    last = end;
}

// The kinds and peers of a chunk's events that are messages of rank 0, as text.
static void add_story(const mlt_trace *trace, uint64_t i, mlt_text *text)
{
    mlt_trace_event events[64];
    CHECK(trace->chunks[i].head.count <= 64 && mlt_trace_load(trace, i, events));
    for (uint32_t e = 0; e < trace->chunks[i].head.count; e++)
        if (events[e].kind == MLT_TRACE_SENT)
            mlt_text_add(text, "%d:%llu ", events[e].peer, (unsigned long long)events[e].bytes);
}

static void check_story(const char *want, uint64_t cancelled)
{
    mlt_trace trace;
    mlt_text text = {0};
    char why[200];
    CHECK(mlt_trace_parse(&trace, (const uint8_t *)file.text, file.length, why, sizeof why) ==
          MLT_OK);
    CHECK(trace.cancelled_count == cancelled);
    for (uint64_t i = 0; i < trace.count; i++)
        add_story(&trace, i, &text);
    check_same_text("sends", text.text, want);
    mlt_text_free(&text);
    mlt_trace_drop(&trace);
    mlt_text_free(&file);
    file = (mlt_text){0};
}

// Every second of a row, told in another chunk and in the opposite order; others are like it in all
// but one thing.
static void test_row(void)
{
    memset(slots, 0xff, sizeof slots);
    for (uint64_t i = 0; i < 6; i++)
        note(MLT_TRACE_SENT, 1, 10 + i / 2 % 2, 100 + 10 * i, 0);
    note(MLT_TRACE_SENT, 2, 10, 160, 0);
    add_chunk(0);
    note(MLT_TRACE_SENT, 1, 10, 170, 0);
    note(MLT_TRACE_CANCELLED, 1, 10, 200, 200 - 141); // the fifth
    note(MLT_TRACE_CANCELLED, 1, 11, 210, 210 - 125); // the third
    note(MLT_TRACE_CANCELLED, 1, 10, 220, 220 - 100); // the first
    add_chunk(0);
    check_story("-1:10 1:10 -1:11 1:11 -1:10 1:10 2:10 1:10 ", 3);
}

// A send that is part of its call left when that began; one that nobody told of changes nothing.
static void test_calls(void)
{
    memset(slots, 0xff, sizeof slots);
    note(MLT_TRACE_CALL | MLT_NOTE_SENT, 1, 10, 150, 50);
    note(MLT_TRACE_CALL | MLT_NOTE_SENT, 1, 10, 250, 50);
    note(MLT_TRACE_CANCELLED, 1, 10, 300, 300 - 140);
    note(MLT_TRACE_CANCELLED, 3, 10, 310, 10);
    note(MLT_TRACE_CANCELLED, 1, 10, 320, 320 - 90);
    add_chunk(0);
    check_story("-1:10 1:10 ", 1);
}

static void test_none(void)
{
    memset(slots, 0xff, sizeof slots);
    note(MLT_TRACE_SENT, 1, 10, 100, 0);
    add_chunk(0);
    check_story("1:10 ", 0);
}

int main(void)
{
    test_row();
    test_calls();
    test_none();
    return 0;
}
