// SPDX-License-Identifier: BSD-3-Clause
#include "tools/trace/trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tools/commands.h"
#include "tools/goal/sink.h"
#include "tools/live/ask.h"
#include "tools/progress.h"
#include "tools/trace/causes.h"

uint64_t mlt_trace_walk(const mlt_trace *trace, mlt_trace_see *see, void *user)
{
    uint32_t most = 1;
    uint64_t damaged = 0;
    mlt_progress progress;
    for (uint64_t i = 0; i < trace->count; i++)
        most = trace->chunks[i].head.count > most ? trace->chunks[i].head.count : most;
    mlt_trace_event *events = mlt_xcalloc(most, sizeof *events);
    mlt_progress_begin(&progress, "reading");
    for (uint64_t i = 0; i < trace->count; i++) {
        mlt_progress_step(&progress, (double)i / (double)trace->count);
        if (!mlt_trace_load(trace, i, events)) {
            damaged++;
            continue;
        }
        for (uint32_t e = 0; e < trace->chunks[i].head.count; e++)
            see(user, trace->chunks[i].head.worker, &events[e]);
    }
    mlt_progress_end(&progress);
    free(events);
    return damaged;
}

// ---- lists

typedef struct lister {
    const mlt_trace *trace;
    FILE *out;
    bool csv;
} lister;

static void list_event(void *user, uint32_t worker, const mlt_trace_event *e)
{
    const lister *l = user;
    const mlt_trace_facts_table *facts = &l->trace->facts;
    char room[32];
    const char *what = e->kind == MLT_TRACE_CALL ? mlt_facts_fn(facts, e->fn, room)
                                                 : mlt_facts_how(facts, e->kind, e->how, room);
    const char *form = l->csv ? "%" PRIu64 ",%" PRIu64 ",%u,%" PRId64 ",%s,%s,%" PRId32 ",%" PRId32
                                ",%u,%" PRIu64 "\n"
                              : "%12" PRIu64 " %10" PRIu64 "  worker %u  rank %" PRId64
                                "  %-12s %-18s peer %" PRId32 "  tag %" PRId32
                                "  context %u  %" PRIu64 " bytes\n";
    int64_t rank = e->rank == MLT_TRACE_NOBODY ? -1 : (int64_t)e->rank;
    fprintf(l->out, form, e->time, e->span, worker, rank, mlt_trace_kind_names[e->kind], what,
            e->peer, e->tag, e->context, e->bytes);
}

void mlt_trace_list(const mlt_trace *trace, FILE *out, bool csv)
{
    lister l = {trace, out, csv};
    if (csv)
        fprintf(out, "time_ns,span_ns,worker,rank,kind,what,peer,tag,context,bytes\n");
    (void)mlt_trace_walk(trace, list_event, &l);
}

// ---- the command

enum { SUMMARY, LIST, CSV, CHROME, PERFETTO, SPEEDSCOPE, GOAL };

static int trace_as = SUMMARY;
static const char *trace_to;

static void tell_left_out(uint64_t messages)
{
    if (messages)
        fprintf(stderr,
                "%s: %" PRIu64 " messages are left out: only one end of them is in the trace\n",
                mlt_args_command(), messages);
}

static void with_causes(const mlt_trace *trace, void put(const mlt_causes *, FILE *), FILE *out)
{
    mlt_story *story = mlt_xcalloc(1, sizeof *story);
    mlt_causes causes;
    mlt_story_read(story, trace, NULL, NULL);
    mlt_causes_find(&causes, story);
    put(&causes, out);
}

static void trace_show(const mlt_trace *trace)
{
    mlt_sink sink = mlt_sink_open(trace_to);
    if (trace_as == CHROME)
        mlt_trace_chrome(trace, sink.to);
    else if (trace_as == PERFETTO)
        with_causes(trace, mlt_trace_perfetto, sink.to);
    else if (trace_as == SPEEDSCOPE)
        with_causes(trace, mlt_trace_speedscope, sink.to);
    else if (trace_as == GOAL)
        tell_left_out(mlt_trace_goal(trace, sink.to));
    else if (trace_as == SUMMARY)
        mlt_trace_summary(trace, sink.to);
    else
        mlt_trace_list(trace, sink.to, trace_as == CSV);
    mlt_sink_close(&sink);
}

static void start_or_stop(const char *name, const char *word)
{
    bool start = strcmp(word, "start") == 0;
    mlt_text file = {0};
    if (!start && strcmp(word, "stop") != 0)
        mlt_args_wrong("a job's trace can start or stop, but not '%s'", word);
    mlt_live_found job = mlt_live_find(name);
    if (!mlt_live_post(&job, "/trace", word, &file))
        mlt_args_failed("job %u: %s", job.pid, mlt_args_why);
    printf(start ? "job %u traces from now on, into %s" : "job %u pauses its trace, %s", job.pid,
           mlt_text_so_far(&file)); // it ends with a newline
    mlt_text_free(&file);
}

static int trace_run(const mlt_arg_texts *files)
{
    mlt_trace trace;
    const char *file = files->items[0];
    if (files->count == 2) {
        if (trace_as != SUMMARY || trace_to)
            mlt_args_wrong("--as and -o are for a trace that is in a file");
        start_or_stop(file, files->items[1]);
        return MLT_EXIT_FINE;
    }
    if (mlt_trace_open(&trace, file, MLT_ARGS_WHY) != MLT_OK)
        mlt_args_failed("%s: %s", file, mlt_args_why);
    trace_show(&trace);
    if (trace.damaged)
        fprintf(stderr, "%s: %s: %" PRIu64 " bytes belong to no whole chunk; the rest is shown\n",
                mlt_args_command(), file, trace.damaged);
    mlt_trace_close(&trace);
    return MLT_EXIT_FINE;
}

static mlt_arg trace_args[] = {
    {"as", 0, MLT_ARG_CHOICE, &trace_as, "WHAT",
     .choices = "summary|list|csv|chrome|perfetto|speedscope|goal",
     .help = "summary: one screen; list: every event as a line; csv: the same for other "
             "programs; chrome: JSON for chrome://tracing; perfetto: for ui.perfetto.dev; "
             "speedscope: for speedscope.app; goal: what the program did, for millet goal "
             "check, sim and draw (summary)"},
    {"output", 'o', MLT_ARG_TEXT, &trace_to, "FILE", .help = "write there (standard output)"},
};

const mlt_command mlt_trace_command = {
    .name = "millet trace",
    .help = "show what mpirun --trace wrote: a summary, events, JSON",
    .words = "FILE | JOB start|stop",
    .least = 1,
    .most = 2,
    .purpose = "Shows what is in a trace: a file that mpirun --trace FILE wrote. `start` and "
               "`stop` let a running job trace, or pause; JOB is the process number of its "
               "mpirun, which was told --trace FILE, and --trace-paused to begin with a pause. "
               "Each worker does so when its ranks wait in MPI.",
    .groups = {{NULL, MLT_ARG_LIST(trace_args)}},
    .run = trace_run};
