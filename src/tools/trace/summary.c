// SPDX-License-Identifier: BSD-3-Clause
#include <stdlib.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "tools/trace/causes.h"
#include "tools/trace/findings.h"
#include "tools/trace/trace.h"

enum {
    ROWS = 12,
    DISTANCES = 4,
};

typedef struct sum {
    uint64_t n, ns, longest_ns, bytes;
    uint32_t longest_of; // rank
} sum;

typedef struct summary {
    const mlt_trace *trace;
    sum fn[MLT_TRACE_FNS], sent[MLT_TRACE_HOWS], wait[MLT_TRACE_HOWS], copied[MLT_TRACE_HOWS];
    uint64_t unexpected;
} summary;

static void summary_add(sum *to, const mlt_trace_event *e)
{
    to->n++;
    to->ns += e->span;
    to->bytes += e->bytes;
    if (e->span >= to->longest_ns) {
        to->longest_ns = e->span;
        to->longest_of = e->rank;
    }
}

static void summary_see(void *user, uint32_t worker, const mlt_trace_event *e)
{
    summary *s = user;
    if (e->rank > INT32_MAX)
        return;
    if (e->kind == MLT_TRACE_CALL)
        summary_add(&s->fn[e->fn % MLT_TRACE_FNS], e);
    else if (e->kind == MLT_TRACE_SENT)
        summary_add(&s->sent[e->how], e);
    else if (e->kind == MLT_TRACE_WAIT)
        summary_add(&s->wait[e->how], e);
    else if (e->kind == MLT_TRACE_COPIED)
        summary_add(&s->copied[e->how], e);
    else if (e->kind == MLT_TRACE_UNEXPECTED)
        s->unexpected++;
}

// ---- printing

static const sum *summary_sorted; // what order compares

static int summary_order(const void *a, const void *b)
{
    const sum *x = &summary_sorted[*(const uint16_t *)a],
              *y = &summary_sorted[*(const uint16_t *)b];
    return x->ns != y->ns ? (x->ns < y->ns ? 1 : -1) : (x->n < y->n) - (x->n > y->n);
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

// Rows of a table, those that took most time first: calls, or what ranks waited for.
static void print_sums(const summary *s, bool calls, uint64_t all_ns, FILE *out)
{
    const sum *sums = calls ? s->fn : s->wait;
    uint16_t rows[MLT_TRACE_FNS], count = 0, size = calls ? MLT_TRACE_FNS : MLT_TRACE_HOWS;
    char a[MLT_NUMBER_BYTES], b[MLT_NUMBER_BYTES], c[MLT_NUMBER_BYTES], room[32];
    for (uint16_t i = 0; i < size; i++)
        if (sums[i].n)
            rows[count++] = i;
    if (!count && !calls)
        return;
    summary_sorted = sums;
    qsort(rows, count, sizeof *rows, summary_order);
    fprintf(out, "\n  %-26s %14s %12s %7s %12s\n", calls ? "calls" : "ranks waited for",
            calls ? "how many" : "how often", "time", "share", "longest");
    for (uint16_t i = 0; i < count && (i < ROWS || !calls); i++) {
        const sum *f = &sums[rows[i]];
        const char *name =
            calls ? mlt_facts_fn(&s->trace->facts, rows[i], room)
                  : mlt_facts_how(&s->trace->facts, MLT_TRACE_WAIT, (uint8_t)rows[i], room);
        fprintf(out, "  %-26s %14s %12s %6.1f%% %12s  rank %u\n", name, mlt_number(a, f->n),
                mlt_time(b, f->ns), share(f->ns, all_ns), mlt_time(c, f->longest_ns),
                f->longest_of);
    }
    if (count > ROWS && calls)
        fprintf(out, "  ... and %u more\n", count - ROWS);
}

static void print_messages(const summary *s, FILE *out)
{
    char a[MLT_NUMBER_BYTES], b[MLT_NUMBER_BYTES], room[32];
    for (int how = 0; how < DISTANCES; how++)
        if (s->sent[how].n)
            fprintf(out, "%s  %-26s %14s %12s\n", how && s->sent[0].n ? "" : "\n",
                    mlt_facts_how(&s->trace->facts, MLT_TRACE_SENT, (uint8_t)how, room),
                    mlt_number(a, s->sent[how].n), mlt_bytes(b, s->sent[how].bytes));
    if (s->unexpected)
        fprintf(out, "  %-26s %14s\n", "came before their receives", mlt_number(a, s->unexpected));
}

// Copies of one rank may overlap: their times are not added to anything.
static void summary_print_copies(const summary *s, FILE *out)
{
    char a[MLT_NUMBER_BYTES], b[MLT_NUMBER_BYTES], c[MLT_NUMBER_BYTES], room[32];
    bool any = false;
    for (int how = 0; how < MLT_TRACE_HOWS; how++) {
        if (!s->copied[how].n)
            continue;
        if (!any)
            fprintf(out, "\n  %-26s %14s %12s %12s\n", "copied by GPUs", "how often", "bytes",
                    "time");
        any = true;
        fprintf(out, "  %-26s %14s %12s %12s\n",
                mlt_facts_how(&s->trace->facts, MLT_TRACE_COPIED, (uint8_t)how, room),
                mlt_number(a, s->copied[how].n), mlt_bytes(b, s->copied[how].bytes),
                mlt_time(c, s->copied[how].ns));
    }
}

static void print_causes(const mlt_causes *c, uint64_t all_ns, FILE *out)
{
    char a[MLT_NUMBER_BYTES], b[MLT_NUMBER_BYTES];
    uint64_t waited = 0;
    for (int cause = 0; cause < MLT_CAUSE_COUNT; cause++)
        waited += c->ns[cause];
    if (!waited)
        return;
    fprintf(out, "\n  %-26s %14s %12s %7s\n", "why they waited", "how often", "time", "share");
    for (unsigned cause = 0; cause < MLT_CAUSE_COUNT; cause++) {
        if (!c->ns[cause])
            continue;
        fprintf(out, "  %-26s %14s %12s %6.1f%%", mlt_cause_names[cause],
                mlt_number(a, c->count[cause]), mlt_time(b, c->ns[cause]),
                share(c->ns[cause], all_ns));
        uint32_t worst = mlt_causes_worst(c, cause);
        uint64_t ns = c->blamed[(uint64_t)cause * c->story->rank_count + worst];
        if (ns)
            fprintf(out, "  %.0f%% goes back to rank %u", share(ns, c->ns[cause]), worst);
        fprintf(out, "\n");
    }
}

static uint64_t in_calls(const mlt_story_rank *r)
{
    uint64_t ns = 0;
    for (uint32_t i = 0; i < r->call_count; i++)
        ns += r->calls[i].end - r->calls[i].begin;
    return ns;
}

// The rank that kept others waiting, and the one that computed most.
static void print_ranks(const mlt_causes *c, FILE *out)
{
    const mlt_story *story = c->story;
    uint32_t busy = 0;
    char a[MLT_NUMBER_BYTES], b[MLT_NUMBER_BYTES];
    if (story->rank_count < 2)
        return;
    uint64_t least = in_calls(&story->ranks[0]);
    for (uint32_t i = 1; i < story->rank_count; i++) {
        uint64_t ns = in_calls(&story->ranks[i]);
        busy = ns < least ? i : busy;
        least = ns < least ? ns : least;
    }
    uint32_t late = mlt_causes_worst(c, MLT_CAUSE_COUNT);
    uint64_t blamed = mlt_causes_blamed(c, late);
    fprintf(out, "\n");
    if (blamed)
        fprintf(out, "  %.0f%% of the waiting for others, %s, goes back to rank %u\n",
                share(blamed, c->blamed_ns), mlt_time(a, blamed), late);
    fprintf(out, "  rank %u was least in MPI: %s of %s\n", busy, mlt_time(a, least),
            mlt_time(b, story->length_ns));
}

static void print_findings(const mlt_causes *c, FILE *out)
{
    mlt_finding found[MLT_FINDINGS_MOST];
    int count = mlt_findings_of(c, found);
    fprintf(out, "\n");
    for (int i = 0; i < count; i++)
        fprintf(out, "  %s\n", found[i].text);
}

// What is to be known about the times.
static void print_clocks(const mlt_trace *trace, const mlt_story *story, FILE *out)
{
    char a[MLT_NUMBER_BYTES], b[MLT_NUMBER_BYTES], c[MLT_NUMBER_BYTES];
    if (story->pauses)
        fprintf(out,
                "  traces of workers went on %s times after a pause, which looks like computing\n",
                mlt_number(a, story->pauses));
    if (!trace->crossings)
        return;
    if (!trace->early) {
        fprintf(out, "  %s messages between hosts: none came before it was sent\n",
                mlt_number(a, trace->crossings));
        return;
    }
    fprintf(out, "  %s of %s messages between hosts came before they were sent, by up to %s: ",
            mlt_number(a, trace->early), mlt_number(b, trace->crossings),
            mlt_time(c, trace->early_ns));
    if (trace->crossed)
        fprintf(out, "both ways, so nothing was corrected\n");
    else
        fprintf(out, "times of hosts were moved by up to %s\n", mlt_time(a, trace->moved_ns));
}

void mlt_trace_summary(const mlt_trace *trace, FILE *out)
{
    summary *s = mlt_xcalloc(1, sizeof *s);
    mlt_story *story = mlt_xcalloc(1, sizeof *story);
    mlt_causes causes;
    char a[MLT_NUMBER_BYTES], b[MLT_NUMBER_BYTES], c[MLT_NUMBER_BYTES];
    s->trace = trace;
    mlt_story_read(story, trace, summary_see, s);
    mlt_causes_find(&causes, story);
    uint64_t run_ns = trace->end_ns - trace->begin_ns, all_ns = run_ns * story->rank_count;
    const mlt_trace_facts_table *facts = &trace->facts;
    fprintf(out, "%s\n  %s ranks, %s, %s events",
            facts->command ? facts->command : "an unknown program",
            mlt_number(a, facts->ranks ? facts->ranks : story->rank_count), mlt_time(b, run_ns),
            mlt_number(c, trace->events));
    if (!facts->ended)
        fprintf(out, ", cut: mpirun did not write its end\n");
    else if (facts->code)
        fprintf(out, ", exit code %d\n", facts->code);
    else
        fprintf(out, "\n");
    if (story->damaged)
        fprintf(out, "  %s chunks are damaged and left out\n", mlt_number(a, story->damaged));
    print_clocks(trace, story, out);
    print_sums(s, true, all_ns, out);
    print_messages(s, out);
    summary_print_copies(s, out);
    print_sums(s, false, all_ns, out);
    print_causes(&causes, all_ns, out);
    print_ranks(&causes, out);
    print_findings(&causes, out);
}
