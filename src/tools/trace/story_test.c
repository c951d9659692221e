// SPDX-License-Identifier: BSD-3-Clause
// Which sends and matches are ends of the same message: by number, and where traces pause by time.
#include "tools/trace/story.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/unit_test.h"
#include "trace/note.h"

enum { MS = 1000000, MOST = 8 };

static mlt_text file;

static void add_chunk(mlt_trace_head head, const void *data, size_t bytes)
{
    mlt_trace_seal(&head, data, bytes);
    mlt_text_put(&file, (const char *)&head, sizeof head);
    mlt_text_put(&file, data, bytes);
}

// What rank 0 or 1 does, alone in its worker: times in ms, 0 is the end. Those below 0: its trace goes on.
static void add_rank(uint32_t rank, mlt_trace_kind kind, const int *times)
{
    static mlt_trace_like slots[MLT_NOTE_SLOTS];
    uint64_t words[MOST * MLT_NOTE_WORDS];
    uint64_t last = 0;
    size_t length = 0;
    memset(slots, 0xff, sizeof slots);
    for (size_t i = 0; times[i]; i++) {
        CHECK(i < MOST);
        mlt_trace_like like = times[i] > 0
                                  ? mlt_trace_like_of(8, rank, !rank, 7, 0, 0, 0, (uint8_t)kind)
                                  : mlt_trace_like_of(0, MLT_TRACE_NOBODY, -1, -1, 0, 0,
                                                      MLT_TRACE_GOES_ON, MLT_TRACE_TRACED);
        uint64_t now = (uint64_t)abs(times[i]) * MS;
        length += mlt_trace_put(words + length, slots, last, &like, now, 0);
        last = now;
    }
    add_chunk((mlt_trace_head){.kind = MLT_CHUNK_EVENTS,
                               .worker = rank,
                               .first = {0, 0},
                               .last = {100 * MS, 100 * MS}},
              words, length * sizeof *words);
}

// Rank 0 sends, rank 1 receives; sent: of each match in turn the send that belongs to it, or -1.
static void check(const int *sends, const int *matches, const int *sent, size_t count)
{
    static const char facts[] = "job\t2\tx\nworker\t0\ta\t1\t0\t1\nworker\t1\ta\t1\t1\t1\n";
    mlt_trace trace;
    mlt_story story;
    char why[200];
    add_chunk((mlt_trace_head){.kind = MLT_CHUNK_FACTS, .first = {0, 0}, .last = {0, 0}}, facts,
              strlen(facts));
    add_rank(0, MLT_TRACE_SENT, sends);
    add_rank(1, MLT_TRACE_MATCHED, matches);
    CHECK(mlt_trace_parse(&trace, (const uint8_t *)file.text, file.length, why, sizeof why) ==
          MLT_OK);
    mlt_story_read(&story, &trace, NULL, NULL);
    CHECK(story.message_count >= count);
    for (size_t i = 0; i < count; i++)
        CHECK(story.messages[i].sent == (sent[i] < 0 ? MLT_STORY_UNKNOWN : (uint64_t)sent[i] * MS));
    for (uint64_t i = count; i < story.message_count; i++)
        CHECK(story.messages[i].matched == MLT_STORY_UNKNOWN);
    free(trace.chunks);
    free(trace.clocks);
    mlt_facts_free(&trace.facts);
    mlt_text_free(&file);
    file = (mlt_text){0};
}

#define LIST(...)                                                                                  \
    (const int[])                                                                                  \
    {                                                                                              \
        __VA_ARGS__, 0                                                                             \
    }

int main(void)
{
    // By number, whatever the clocks say.
    check(LIST(10, 20), LIST(5, 25), LIST(10, 20), 2);
    // The receiver's trace goes on at 25: what left before has no match here.
    check(LIST(10, 20, 30, 40), LIST(-25, 31, 41), LIST(30, 40), 2);
    // The sender's does: what was matched before has left in its pause.
    check(LIST(-25, 30, 40), LIST(11, 21, 31, 41), LIST(-1, -1, 30, 40), 4);
    // Both, twice. 12 left before the receiver's trace went on; 61 was matched before the next one left.
    check(LIST(-11, 12, 20, 30, -60, 70), LIST(-15, 21, 31, -55, 61, 71), LIST(20, 30, -1, 70), 4);
    // One was under way while nobody traced: its match takes the next one's place until the receiver
    // has caught up.
    check(LIST(-10, 20, 30), LIST(-10, 22, 24, 32), LIST(20, -1, 30), 3);
    return 0;
}
