// SPDX-License-Identifier: BSD-3-Clause
// Times of hosts whose clocks differ: by what was measured, and by messages that cannot arrive before
// they are sent.
#include "trace/align.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/unit_test.h"
#include "trace/note.h"

enum { SECOND = 1000000000, LONG = 100 }; // seconds that the run takes

static mlt_text file;

static void add_chunk(mlt_trace_head head, const void *data, size_t bytes)
{
    mlt_trace_seal(&head, data, bytes);
    mlt_text_put(&file, (const char *)&head, sizeof head);
    mlt_text_put(&file, data, bytes);
}

static void add_facts(const char *text)
{
    add_chunk((mlt_trace_head){.kind = MLT_CHUNK_FACTS, .first = {1, 1}, .last = {1, 1}}, text,
              strlen(text));
}

// A worker's events; its counter and its host's clock agree. Times in ms since `zero`, seconds.
static void add_events(uint32_t worker, uint64_t zero, const mlt_trace_event *events, size_t count)
{
    uint64_t words[16 * MLT_NOTE_WORDS], begin = zero * SECOND;
    static mlt_trace_like slots[MLT_NOTE_SLOTS];
    size_t length = 0;
    memset(slots, 0xff, sizeof slots);
    for (size_t i = 0; i < count; i++) {
        mlt_trace_like like =
            mlt_trace_like_of(8, worker, events[i].peer, 7, 0, 0, 0, events[i].kind);
        length +=
            mlt_trace_put(words + length, slots, 0, &like, begin + events[i].time * 1000000, 0);
    }
    add_chunk((mlt_trace_head){.kind = MLT_CHUNK_EVENTS,
                               .worker = worker,
                               .first = {begin, begin},
                               .last = {begin + LONG * (uint64_t)SECOND,
                                        begin + LONG * (uint64_t)SECOND}},
              words, length * sizeof *words);
}

static const char *const jobs =
    "job\t3\tx\n"
    "worker\t0\tsame\t1\t0\t1\nworker\t1\tsame\t1\t1\t1\nworker\t2\tsame\t1\t2\t1\n"
    "host\t0\ta\t0\t1\nhost\t1\tb\t1\t1\nhost\t2\tc\t2\t1\n";

static uint64_t time_of(const mlt_trace *trace, uint32_t worker, uint32_t e)
{
    mlt_trace_event events[16];
    for (uint64_t i = 0; i < trace->count; i++)
        if (trace->chunks[i].head.worker == worker) {
            CHECK(e < trace->chunks[i].head.count && mlt_trace_load(trace, i, events));
            return events[e].time;
        }
    CHECK(!"the worker is there");
    return 0;
}

static void parse(mlt_trace *trace)
{
    char why[200];
    CHECK(mlt_trace_parse(trace, (const uint8_t *)file.text, file.length, why, sizeof why) ==
          MLT_OK);
}

static void forget(mlt_trace *trace)
{
    mlt_trace_drop(trace);
    mlt_text_free(&file);
    file = (mlt_text){0};
}

static bool near(uint64_t a, uint64_t b)
{
    return (a > b ? a - b : b - a) < 1000;
}

// Host b is 500 s ahead at the begin and 10 ms more at the end; c is 200 s behind.
static void test_clocks(void)
{
    mlt_trace trace;
    const mlt_trace_event moments[] = {{.time = 0, .kind = MLT_TRACE_POISONED},
                                       {.time = 50000, .kind = MLT_TRACE_POISONED},
                                       {.time = 100000, .kind = MLT_TRACE_POISONED}};
    add_facts(jobs);
    add_facts("clock\t1\t1500000000000\tahead\t500000000000\t10\n"
              "clock\t2\t800000000000\tbehind\t200000000000\t10\nclock\t9\t1\tahead\t1\t1\nclock\t1"
              "\tx\n");
    add_events(0, 1000, moments, 3);
    add_events(1, 1500, moments, 3);
    add_events(2, 800, moments, 3);
    add_facts("clock\t1\t1600000000000\tahead\t500010000000\t10\n");
    parse(&trace);
    for (uint32_t e = 0; e < 3; e++) {
        CHECK(near(time_of(&trace, 0, e), e * UINT64_C(50) * SECOND));
        CHECK(near(time_of(&trace, 1, e), e * UINT64_C(50) * SECOND - e * UINT64_C(5000000)));
        CHECK(near(time_of(&trace, 2, e), e * UINT64_C(50) * SECOND));
    }
    CHECK(trace.moved_ns == 0 && !trace.crossed);
    for (uint32_t i = 0; i < 3; i++)
        check_same_text("host", trace.facts.workers[i].host, (const char *[]){"a", "b", "c"}[i]);
    forget(&trace);
}

// Nothing was measured. a sends to b, which is 30 ms behind, so its host is moved; with it goes what c
// gets from b. c's answer to a has time enough.
static void test_messages(void)
{
    mlt_trace trace;
    add_facts(jobs);
    add_events(0, 1000,
               (const mlt_trace_event[]){{.time = 100, .peer = 1, .kind = MLT_TRACE_SENT},
                                         {.time = 900, .peer = 2, .kind = MLT_TRACE_MATCHED}},
               2);
    add_events(1, 1000,
               (const mlt_trace_event[]){{.time = 70, .peer = 0, .kind = MLT_TRACE_MATCHED},
                                         {.time = 80, .peer = 2, .kind = MLT_TRACE_SENT}},
               2);
    add_events(2, 1000,
               (const mlt_trace_event[]){{.time = 90, .peer = 1, .kind = MLT_TRACE_MATCHED},
                                         {.time = 95, .peer = 0, .kind = MLT_TRACE_SENT}},
               2);
    parse(&trace);
    CHECK(near(trace.moved_ns, 30000000) && !trace.crossed);
    CHECK(trace.crossings == 3 && trace.early == 1 && near(trace.early_ns, 30000000));
    CHECK(near(time_of(&trace, 1, 0), time_of(&trace, 0, 0)));
    CHECK(near(time_of(&trace, 2, 0), time_of(&trace, 1, 1)));
    CHECK(time_of(&trace, 2, 1) < time_of(&trace, 0, 1));
    forget(&trace);
}

// Backwards both ways: no move helps, so none is made.
static void test_crossed(void)
{
    mlt_trace trace;
    add_facts(jobs);
    add_events(0, 1000,
               (const mlt_trace_event[]){{.time = 100, .peer = 1, .kind = MLT_TRACE_SENT},
                                         {.time = 110, .peer = 1, .kind = MLT_TRACE_MATCHED}},
               2);
    add_events(1, 1000,
               (const mlt_trace_event[]){{.time = 70, .peer = 0, .kind = MLT_TRACE_MATCHED},
                                         {.time = 140, .peer = 0, .kind = MLT_TRACE_SENT}},
               2);
    parse(&trace);
    CHECK(trace.crossed && trace.moved_ns == 0 && near(time_of(&trace, 1, 0), 70000000));
    CHECK(trace.crossings == 2 && trace.early == 2 && near(trace.early_ns, 30000000));
    forget(&trace);
}

// A trace that paused does not tell which ends belong together, so messages move nothing.
static void test_pauses(void)
{
    mlt_trace trace;
    add_facts(jobs);
    add_events(0, 1000,
               (const mlt_trace_event[]){{.time = 90, .peer = -1, .kind = MLT_TRACE_TRACED},
                                         {.time = 100, .peer = 1, .kind = MLT_TRACE_SENT}},
               2);
    add_events(1, 1000,
               (const mlt_trace_event[]){{.time = 70, .peer = 0, .kind = MLT_TRACE_MATCHED}}, 1);
    parse(&trace);
    CHECK(trace.moved_ns == 0 && trace.crossings == 0 && !trace.crossed);
    forget(&trace);
}

int main(void)
{
    test_clocks();
    test_messages();
    test_crossed();
    test_pauses();
    return 0;
}
