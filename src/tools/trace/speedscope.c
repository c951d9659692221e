// SPDX-License-Identifier: BSD-3-Clause
// The JSON of speedscope.app: a profile for each rank, calls as frames, and in them why the rank waited.
#include <inttypes.h>

#include "base/text.h"
#include "tools/trace/causes.h"
#include "tools/trace/trace.h"

typedef struct frame_writer {
    FILE *out;
    uint64_t at; // the last event: speedscope wants them by time
    bool more;
} frame_writer;

static void speedscope_see(void *user, uint32_t rank, unsigned frame, bool opens, uint64_t at)
{
    frame_writer *w = user;
    w->at = at > w->at ? at : w->at;
    fprintf(w->out, "%s{\"type\":\"%c\",\"frame\":%u,\"at\":%" PRIu64 "}", w->more ? "," : "",
            opens ? 'O' : 'C', frame, w->at);
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

static void speedscope_put_rank(const mlt_causes *c, uint32_t rank, FILE *out)
{
    frame_writer w = {.out = out};
    fprintf(out,
            "{\"type\":\"evented\",\"name\":\"rank %u\",\"unit\":\"nanoseconds\",\"startValue\":0,"
            "\"endValue\":%" PRIu64 ",\"events\":[",
            rank, c->story->length_ns);
    mlt_causes_frames(c, rank, speedscope_see, &w);
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
