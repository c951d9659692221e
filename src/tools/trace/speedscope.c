// SPDX-License-Identifier: BSD-3-Clause
// The JSON of speedscope.app: a profile for each rank, calls as frames, and in them why the rank waited.
#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/text.h"
#include "tools/trace/causes.h"
#include "tools/trace/trace.h"

typedef struct frame_writer {
    FILE *out;
    uint64_t at; // the last event: speedscope wants them by time
    bool more;
} frame_writer;

static void speedscope_put_event(frame_writer *w, char type, unsigned frame, uint64_t at)
{
    w->at = at > w->at ? at : w->at;
    fprintf(w->out, "%s{\"type\":\"%c\",\"frame\":%u,\"at\":%" PRIu64 "}", w->more ? "," : "", type,
            frame, w->at);
    w->more = true;
}

// Frames are the causes, then the functions up to the last one that has a name.
static void put_frames(const mlt_trace *trace, FILE *out)
{
    char *const *fns = trace->facts.fns;
    unsigned count = fns ? MLT_TRACE_FNS : 0;
    while (count > 0 && !fns[count - 1])
        count--;
    for (int i = 0; i < MLT_CAUSE_COUNT; i++)
        fprintf(out, "%s{\"name\":\"%s\"}", i ? "," : "", mlt_cause_names[i]);
    for (unsigned fn = 0; fn < count; fn++) {
        fprintf(out, ",{\"name\":");
        mlt_text_print_json(out, fns[fn] ? fns[fn] : "");
        fprintf(out, "}");
    }
}

static void speedscope_put_waits(frame_writer *w, const mlt_causes *c, uint32_t rank,
                                 uint32_t *next, uint64_t until)
{
    const mlt_story_rank *r = &c->story->ranks[rank];
    mlt_cause_part parts[MLT_CAUSE_PARTS];
    for (; *next < r->wait_count && r->waits[*next].begin < until; ++*next) {
        int count = mlt_cause_parts(c, rank, &r->waits[*next], parts);
        for (int p = 0; p < count && parts[p].begin < until; p++) {
            speedscope_put_event(w, 'O', parts[p].cause, parts[p].begin);
            speedscope_put_event(w, 'C', parts[p].cause,
                                 parts[p].end < until ? parts[p].end : until);
        }
    }
}

static void speedscope_put_rank(const mlt_causes *c, uint32_t rank, FILE *out)
{
    const mlt_story_rank *r = &c->story->ranks[rank];
    frame_writer w = {.out = out};
    uint32_t next = 0;
    fprintf(out,
            "{\"type\":\"evented\",\"name\":\"rank %u\",\"unit\":\"nanoseconds\",\"startValue\":0,"
            "\"endValue\":%" PRIu64 ",\"events\":[",
            rank, c->story->length_ns);
    for (uint32_t i = 0; i < r->call_count; i++) {
        speedscope_put_waits(&w, c, rank, &next, r->calls[i].begin);
        speedscope_put_event(&w, 'O', MLT_CAUSE_COUNT + r->calls[i].fn, r->calls[i].begin);
        speedscope_put_waits(&w, c, rank, &next, r->calls[i].end);
        speedscope_put_event(&w, 'C', MLT_CAUSE_COUNT + r->calls[i].fn, r->calls[i].end);
    }
    speedscope_put_waits(&w, c, rank, &next, UINT64_MAX);
    fprintf(out, "]}");
}

void mlt_trace_speedscope(const mlt_causes *c, FILE *out)
{
    fprintf(out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"name\":");
    mlt_text_print_json(out, c->story->trace->facts.command ? c->story->trace->facts.command
                                                            : "a trace");
    fprintf(out, ",\"exporter\":\"millet\",\"shared\":{\"frames\":[");
    put_frames(c->story->trace, out);
    fprintf(out, "]},\n\"profiles\":[");
    for (uint32_t rank = 0; rank < c->story->rank_count; rank++) {
        fprintf(out, rank ? ",\n" : "\n");
        speedscope_put_rank(c, rank, out);
    }
    fprintf(out, "]}\n");
}
