// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a trace: refused, or everything that the reader offers can be loaded or is refused.
// If the first byte is odd, the rest are the data of a chunk whose seal is right.
#include "trace/read.h"

#include <fuzz/fuzz.h>
#include <stdlib.h>
#include <string.h>

#include "trace/schedule.h"

static void read_schedule(const char *text)
{
    mlt_trace_schedule s;
    if (mlt_trace_schedule_read(&s, text))
        for (uint32_t i = 0; i < s.actions; i++)
            for (uint32_t n = 0; n < s.action[i].sources; n++)
                FUZZ_CHECK(s.source[s.action[i].first_source + n].action < i);
    mlt_trace_schedule_free(&s);
}

static void read_trace(const uint8_t *data, size_t size)
{
    mlt_trace trace;
    char why[200];
    if (mlt_trace_parse(&trace, data, size, why, sizeof why) == MLT_OK) {
        for (uint64_t i = 0; i < trace.count; i++) {
            mlt_trace_event *events = malloc((trace.chunks[i].head.count + 1) * sizeof *events);
            if (events && mlt_trace_load(&trace, i, events))
                for (uint32_t e = 0; e < trace.chunks[i].head.count; e++)
                    FUZZ_CHECK(events[e].kind < MLT_TRACE_KIND_COUNT);
            free(events);
        }
        for (uint32_t i = 0; i < trace.facts.schedule_count; i++)
            read_schedule(trace.facts.schedules[i].actions);
        mlt_trace_drop(&trace);
    } else {
        FUZZ_CHECK(why[0]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4 || !(data[0] & 1)) {
        read_trace(data, size);
        return 0;
    }
    mlt_trace_head head = {.kind = data[1] & 1 ? MLT_CHUNK_EVENTS : MLT_CHUNK_FACTS,
                           .first = {1, 1},
                           .last = {data[2], data[3] + 1u}};
    head.last.ticks += head.last.ticks == 0;
    uint8_t *file = malloc(sizeof head + size);
    if (!file)
        return 0;
    mlt_trace_seal(&head, data + 4, size - 4);
    memcpy(file, &head, sizeof head);
    memcpy(file + sizeof head, data + 4, size - 4);
    read_trace(file, sizeof head + size - 4);
    free(file);
    return 0;
}
