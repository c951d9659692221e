// SPDX-License-Identifier: BSD-3-Clause
// The JSON array format of Chrome's trace viewer. Messages become arrows.
#include <inttypes.h>

#include "base/text.h"
#include "tools/trace/sequences.h"
#include "tools/trace/trace.h"

typedef struct chrome {
    const mlt_trace *trace;
    FILE *out;
    mlt_sequences sequences;
    bool more;
    uint64_t copies; // so far: their names
} chrome;

static void chrome_begin(chrome *c, const char *name, const char *phase, uint32_t worker,
                         const mlt_trace_event *e)
{
    fputs(c->more ? ",\n{\"name\":" : "{\"name\":", c->out);
    c->more = true;
    mlt_text_print_json(c->out, name);
    fprintf(c->out, ",\"ph\":\"%s\",\"ts\":%" PRIu64 ".%03u,\"pid\":%u,\"tid\":%u", phase,
            e->time / 1000, (unsigned)(e->time % 1000), worker, e->rank);
}

static void put_span(chrome *c, const char *name, const char *category, uint32_t worker,
                     const mlt_trace_event *e)
{
    chrome_begin(c, name, "X", worker, e);
    fprintf(c->out,
            ",\"dur\":%" PRIu64 ".%03u,\"cat\":\"%s\",\"args\":{\"peer\":%" PRId32
            ",\"tag\":%" PRId32 ",\"bytes\":%" PRIu64 "}}",
            e->span / 1000, (unsigned)(e->span % 1000), category, e->peer, e->tag, e->bytes);
}

static void put_arrow(chrome *c, bool leaves, uint32_t worker, const mlt_trace_event *e)
{
    uint32_t peer = (uint32_t)e->peer, from = leaves ? e->rank : peer, to = leaves ? peer : e->rank;
    mlt_sequence *s = mlt_sequence_of(&c->sequences, from, to, e->context, e->tag);
    uint64_t n = leaves ? s->sent++ : s->matched++;
    chrome_begin(c, "message", leaves ? "s" : "f", worker, e);
    fprintf(c->out, ",\"cat\":\"message\",\"id\":\"%u-%u-%u-%" PRId32 "-%" PRIu64 "\"%s}", from, to,
            e->context, e->tag, n, leaves ? "" : ",\"bp\":\"e\"");
}

// Processes of a rank wait at the same time: each has a row of its own below the rank's worker.
static void put_process(chrome *c, uint32_t worker, const mlt_trace_event *e)
{
    char room[32];
    const char *what = mlt_facts_how(&c->trace->facts, e->kind, e->how, room);
    const char *category = mlt_trace_kind_names[e->kind];
    const mlt_trace_channel *channel =
        mlt_facts_channel(&c->trace->facts, worker, (uint32_t)e->tag);
    for (int end = 0; end < 2; end++) {
        mlt_trace_event at = *e;
        at.time += end ? e->span : 0;
        chrome_begin(c, what, end ? "e" : "b", worker, &at);
        fprintf(c->out,
                ",\"cat\":\"%s\",\"id\":\"%u-%" PRId32 "\",\"args\":{\"process\":%" PRId32
                ",\"channel\":%" PRId32 ",\"held\":%" PRIu64 ",\"name\":",
                category, e->rank, e->peer, e->peer, e->tag, e->bytes);
        mlt_text_print_json(c->out, channel ? channel->name : "");
        fputs("}}", c->out);
    }
}

// Copies of a rank overlap: each has a begin and an end of its own.
static void chrome_put_copy(chrome *c, uint32_t worker, const mlt_trace_event *e)
{
    char room[32];
    const char *way = mlt_facts_how(&c->trace->facts, e->kind, e->how, room);
    c->copies++;
    for (int end = 0; end < 2; end++) {
        mlt_trace_event at = *e;
        at.time += end ? e->span : 0;
        chrome_begin(c, way, end ? "e" : "b", worker, &at);
        fprintf(c->out,
                ",\"cat\":\"copied\",\"id\":\"copy-%" PRIu64 "\",\"args\":{\"bytes\":%" PRIu64 "}}",
                c->copies, e->bytes);
    }
}

static void put_moment(chrome *c, uint32_t worker, const mlt_trace_event *e)
{
    chrome_begin(c, mlt_trace_kind_names[e->kind], "i", worker, e);
    fprintf(c->out,
            ",\"cat\":\"%s\",\"s\":\"t\",\"args\":{\"peer\":%" PRId32 ",\"tag\":%" PRId32 "}}",
            mlt_trace_kind_names[e->kind], e->peer, e->tag);
}

static void chrome_see(void *user, uint32_t worker, const mlt_trace_event *e)
{
    chrome *c = user;
    char room[32];
    if (e->kind == MLT_TRACE_CALL)
        put_span(c, mlt_facts_fn(&c->trace->facts, e->fn, room), "call", worker, e);
    else if (e->kind == MLT_TRACE_WAIT)
        put_span(c, mlt_facts_how(&c->trace->facts, e->kind, e->how, room), "wait", worker, e);
    else if ((e->kind == MLT_TRACE_SENT || e->kind == MLT_TRACE_MATCHED) && e->peer >= 0)
        put_arrow(c, e->kind == MLT_TRACE_SENT, worker, e);
    else if (e->kind == MLT_TRACE_CSP || e->kind == MLT_TRACE_FLOW)
        put_process(c, worker, e);
    else if (e->kind == MLT_TRACE_COPIED)
        chrome_put_copy(c, worker, e);
    else if (e->kind == MLT_TRACE_SLEPT)
        put_span(c, "asleep", "worker", worker, e);
    else if (e->kind == MLT_TRACE_IDLE)
        put_span(c, "idle", "worker", worker, e);
    else if (e->kind == MLT_TRACE_WINDOW)
        put_span(c, mlt_facts_how(&c->trace->facts, e->kind, e->how, room), "window", worker, e);
    else if (e->kind == MLT_TRACE_READY)
        put_span(c, "ready, not run", "ready", worker, e);
    else if (e->kind == MLT_TRACE_WOKEN || e->kind == MLT_TRACE_POISONED ||
             e->kind == MLT_TRACE_TRACED)
        put_moment(c, worker, e);
}

void mlt_trace_chrome(const mlt_trace *trace, FILE *out)
{
    chrome c = {.trace = trace, .out = out};
    fputs("[", out);
    for (uint32_t i = 0; i < trace->facts.worker_count; i++) {
        const mlt_trace_worker *w = &trace->facts.workers[i];
        char *name = mlt_text_of("worker %u on %s", w->number, w->host);
        fprintf(out, "%s{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%u,\"args\":{\"name\":",
                c.more ? ",\n" : "", w->number);
        mlt_text_print_json(out, name);
        fputs("}}", out);
        c.more = true;
    }
    (void)mlt_trace_walk(trace, chrome_see, &c);
    fputs("]\n", out);
}
