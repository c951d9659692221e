// SPDX-License-Identifier: BSD-3-Clause
#include "launch/watch/report.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "base/text.h"
#include "launch/say.h"

enum { MOST_CALLS_SHOWN = 10, MOST_QUEUES_SHOWN = 20, MOST_WORKERS_SHOWN = 8 };

typedef struct load {
    uint32_t worker, ranks, inner; // mlt_ctl_inner
    double idle;                   // the share of its time in which none of its ranks could run
    double slack;                  // others that could run too when one began to, in the mean
    uint64_t total_ns;
} load;

struct mlt_report {
    const mlt_placement *plan;
    uint32_t cores;
    mlt_ctl_call *calls;
    size_t call_count;
    mlt_ctl_stats sum; // sums; the texts and sizes are the first worker's
    uint32_t workers;  // that have told their numbers
    load *loads;       // [of the plan's workers], theirs
    uint32_t load_count;
    uint64_t peak;
    uint32_t ended;
    mlt_ctl_queue queues[MOST_QUEUES_SHOWN]; // of a flow program
    size_t queue_count;
    uint64_t more_queues;
};

mlt_report *mlt_report_new(const mlt_placement *plan)
{
    mlt_report *report = mlt_xcalloc(1, sizeof *report);
    report->plan = plan;
    report->loads = mlt_xcalloc(plan->workers, sizeof *report->loads);
    return report;
}

void mlt_report_add_cores(mlt_report *report, uint32_t cores)
{
    report->cores += cores;
}

void mlt_report_free(mlt_report *report)
{
    if (report) {
        free(report->calls);
        free(report->loads);
    }
    free(report);
}

void mlt_report_calls(mlt_report *report, const mlt_ctl_call *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        mlt_ctl_call one = calls[i];
        mlt_text_close(one.name, sizeof one.name);
        size_t at = 0;
        while (at < report->call_count && strcmp(report->calls[at].name, one.name) != 0)
            at++;
        if (at == report->call_count) {
            report->calls = mlt_xrealloc(report->calls, at + 1, sizeof *report->calls);
            report->calls[report->call_count++] = one;
            continue;
        }
        report->calls[at].calls += one.calls;
        report->calls[at].time_ns += one.time_ns;
    }
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static void add_load(mlt_report *report, uint32_t worker, const mlt_ctl_stats *stats)
{
    if (report->load_count == report->plan->workers)
        return;
    report->loads[report->load_count++] = (load){
        .worker = worker,
        .ranks = stats->ranks,
        .inner = stats->inner,
        .idle = share(stats->wait_ns, stats->total_ns),
        .slack = share(stats->slack, stats->switches),
        .total_ns = stats->total_ns,
    };
}

static void add_moves(mlt_ctl_moves *sum, const mlt_ctl_moves *more)
{
    for (int i = 0; i < MLT_CTL_OPS; i++)
        sum->ops[i] += more->ops[i];
    for (int i = 0; i < MLT_CTL_DISTANCES; i++) {
        sum->one_sided[i] += more->one_sided[i];
        sum->one_sided_bytes[i] += more->one_sided_bytes[i];
        sum->partitioned[i] += more->partitioned[i];
        sum->partitioned_bytes[i] += more->partitioned_bytes[i];
    }
    sum->partitions += more->partitions;
}

static void add_copies(mlt_ctl_copies *sum, const mlt_ctl_copies *more)
{
    for (int i = 0; i < MLT_CTL_COPIES; i++) {
        sum->count[i] += more->count[i];
        sum->bytes[i] += more->bytes[i];
    }
    sum->near += more->near;
    sum->pooled += more->pooled;
    sum->refused += more->refused;
}

void mlt_report_stats(mlt_report *report, uint32_t worker, const mlt_ctl_stats *stats)
{
    mlt_ctl_stats *sum = &report->sum;
    add_load(report, worker, stats);
    if (report->workers++ == 0) {
        *sum = *stats;
        mlt_text_close(sum->guard, sizeof sum->guard);
        mlt_text_close(sum->policy, sizeof sum->policy);
        mlt_text_close(sum->large_thread, sizeof sum->large_thread);
        mlt_text_close(sum->large_process, sizeof sum->large_process);
        return;
    }
    if (memchr(stats->large_process, ':', sizeof stats->large_process)) { // somebody was refused
        memcpy(sum->large_process, stats->large_process, sizeof sum->large_process);
        mlt_text_close(sum->large_process, sizeof sum->large_process);
    }
    for (int i = 0; i < MLT_CTL_DISTANCES; i++) {
        sum->messages[i] += stats->messages[i];
        sum->bytes[i] += stats->bytes[i];
    }
    add_moves(&sum->moves, &stats->moves);
    add_copies(&sum->copies, &stats->copies);
    sum->eager += stats->eager;
    sum->rendezvous += stats->rendezvous;
    sum->wait_ns += stats->wait_ns;
    sum->total_ns += stats->total_ns;
    sum->switches += stats->switches;
    if (stats->unexpected_peak > sum->unexpected_peak)
        sum->unexpected_peak = stats->unexpected_peak;
}

void mlt_report_queues(mlt_report *report, const mlt_ctl_queue *queues, size_t count, uint32_t more)
{
    report->queue_count = count < MOST_QUEUES_SHOWN ? count : MOST_QUEUES_SHOWN;
    report->more_queues = (uint64_t)more + (count - report->queue_count);
    for (size_t i = 0; i < report->queue_count; i++) {
        mlt_ctl_queue *q = &report->queues[i];
        *q = queues[i];
        mlt_text_close(q->from, sizeof q->from);
        mlt_text_close(q->to, sizeof q->to);
    }
}

void mlt_report_ended(mlt_report *report, uint64_t peak_bytes)
{
    report->peak += peak_bytes;
    report->ended++;
}

static int by_time(const void *a, const void *b)
{
    const mlt_ctl_call *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? 1 : -1;
    return strcmp(x->name, y->name);
}

static void print_calls(mlt_report *report, FILE *out)
{
    char calls[MLT_NUMBER_BYTES], time[MLT_NUMBER_BYTES], each[MLT_NUMBER_BYTES];
    uint64_t inside = 0;
    for (size_t i = 0; i < report->call_count; i++)
        inside += report->calls[i].time_ns;
    // Fibers of one worker are in calls at the same time: the ranks' time is more than the
    // workers'.
    double whole = (double)report->sum.total_ns / report->workers * report->plan->ranks;
    fprintf(out, "  %-11s %s in MPI", "calls", mlt_time(time, inside));
    if (whole > 0)
        fprintf(out, ", %.1f %% of the ranks' time", 100 * (double)inside / whole);
    fputs(report->call_count ? "; of that\n" : "\n", out);
    MLT_ARRAY_SORT(report->calls, report->call_count, by_time);
    for (size_t i = 0; i < report->call_count && i < MOST_CALLS_SHOWN; i++) {
        const mlt_ctl_call *call = &report->calls[i];
        fprintf(out, "  %-11s %-22s %15s calls  %9s  %5.1f %%", "", call->name,
                mlt_number(calls, call->calls), mlt_time(time, call->time_ns),
                inside ? 100 * (double)call->time_ns / (double)inside : 0);
        if (call->calls)
            fprintf(out, "  %s each", mlt_time(each, call->time_ns / call->calls));
        fputc('\n', out);
    }
    if (report->call_count > MOST_CALLS_SHOWN)
        fprintf(out, "  %-11s and %zu more functions\n", "", report->call_count - MOST_CALLS_SHOWN);
}

typedef struct wire_name {
    char text[2 * MLT_CTL_COMM + 8];
} wire_name;

static wire_name report_name_of(const mlt_ctl_queue *q)
{
    wire_name name;
    snprintf(name.text, sizeof name.text, "%s -> %s", q->from, q->lines ? q->to : "nowhere");
    return name;
}

static void print_queues(const mlt_report *report, FILE *out)
{
    char a[MLT_NUMBER_BYTES], b[MLT_NUMBER_BYTES];
    int width = 22; // of the longest name
    for (size_t i = 0; i < report->queue_count; i++) {
        int length = (int)strlen(report_name_of(&report->queues[i]).text);
        width = length > width ? length : width;
    }
    for (size_t i = 0; i < report->queue_count; i++) {
        const mlt_ctl_queue *q = &report->queues[i];
        fprintf(out, "  %-11s %-*s %15s elements", i == 0 ? "queues" : "", width,
                report_name_of(q).text, mlt_number(a, q->elements));
        if (!q->lines) {
            fputs(", dropped: it is not wired\n", out);
            continue;
        }
        fprintf(out, "  %9s  deepest %s", mlt_bytes(a, q->bytes), mlt_number(b, q->deepest));
        fprintf(out, "  blocked %s  starved %s\n", mlt_time(a, q->blocked_ns),
                mlt_time(b, q->starved_ns));
    }
    if (report->more_queues)
        fprintf(out, "  %-11s ... and %s more\n", "", mlt_number(a, report->more_queues));
}

static const char *const distances[] = {"same worker", "same process", "same host", "other host"};

// How long the ranks were in the functions that synchronise windows, or make partitions ready and
// ask for them.
static uint64_t time_in(const mlt_report *report, bool (*is)(const char *function))
{
    uint64_t sum = 0;
    for (size_t i = 0; i < report->call_count; i++)
        sum += is(report->calls[i].name) ? report->calls[i].time_ns : 0;
    return sum;
}

static bool synchronises(const char *function)
{
    static const char *const what[] = {"fence", "lock",     "unlock", "flush", "post",
                                       "start", "complete", "wait",   "test",  "sync"};
    const char *name = strncmp(function, "MPI_Win_", 8) == 0 ? function + 8 : "";
    for (size_t i = 0; i < sizeof what / sizeof *what; i++)
        if (strncmp(name, what[i], strlen(what[i])) == 0)
            return true;
    return false;
}

static bool report_is_of_partitions(const char *function)
{
    return strncmp(function, "MPI_Pready", 10) == 0 || strcmp(function, "MPI_Parrived") == 0;
}

// A line for each distance. False: there was nothing.
static bool print_distances(const char *title, const uint64_t *counts, const uint64_t *bytes,
                            const char *what, FILE *out)
{
    char a[MLT_NUMBER_BYTES], b[MLT_NUMBER_BYTES];
    bool any = false;
    for (int i = 0; i < MLT_CTL_DISTANCES; i++) {
        if (!counts[i])
            continue;
        fprintf(out, "  %-11s %-12s %15s %s  %s\n", any ? "" : title, distances[i],
                mlt_number(a, counts[i]), what, mlt_bytes(b, bytes[i]));
        any = true;
    }
    return any;
}

static void print_messages(const mlt_report *report, FILE *out)
{
    const mlt_ctl_stats *sum = &report->sum;
    char a[MLT_NUMBER_BYTES];
    if (!print_distances("sent", sum->messages, sum->bytes, "messages", out)) {
        fprintf(out, "  %-11s nothing\n", "sent");
        return;
    }
    fprintf(out, "  %-11s %s eager,", "", mlt_number(a, sum->eager));
    fprintf(out, " %s by rendezvous; ", mlt_number(a, sum->rendezvous));
    fprintf(out, "at most %s held unexpected in a worker\n", mlt_bytes(a, sum->unexpected_peak));
}

static void print_moves(const mlt_report *report, FILE *out)
{
    const mlt_ctl_moves *m = &report->sum.moves;
    char a[MLT_NUMBER_BYTES];
    if (print_distances("windows", m->one_sided, m->one_sided_bytes, "operations", out)) {
        fprintf(out, "  %-11s %s puts, ", "", mlt_number(a, m->ops[MLT_CTL_PUTS]));
        fprintf(out, "%s gets, ", mlt_number(a, m->ops[MLT_CTL_GETS]));
        fprintf(out, "%s accumulates; ", mlt_number(a, m->ops[MLT_CTL_ACCUMULATES]));
        fprintf(out, "%s in synchronisation\n", mlt_time(a, time_in(report, synchronises)));
    }
    if (print_distances("partitioned", m->partitioned, m->partitioned_bytes, "messages", out)) {
        fprintf(out, "  %-11s %s partitions; ", "", mlt_number(a, m->partitions));
        fprintf(out, "%s in MPI_Pready and MPI_Parrived\n",
                mlt_time(a, time_in(report, report_is_of_partitions)));
    }
}

// What to do about data that go from device to device in chunks, though no network is in between.
static const char *chunks_advice(const mlt_ctl_copies *c)
{
    if (c->near <= c->bytes[MLT_COPY_BETWEEN])
        return NULL;
    if (c->pooled >= c->refused && 2 * c->pooled >= c->near)
        return "between processes most went in chunks, which is slow: no other process can open "
               "this "
               "memory, as that of pools (cudaMallocAsync) and of cuMemCreate. Use cudaMalloc "
               "(`millet "
               "info --gpus` says whether it can be shared), or ranks that share a process (-nfg, "
               "--workers thread)";
    if (2 * c->refused >= c->near)
        return "between processes most went in chunks, which is slow: the driver refuses to share "
               "memory. `millet info --gpus` says why; ranks that share a process (-nfg, --workers "
               "thread) do not need it";
    return "between processes most went in chunks, which is slow: one side was memory of the host, "
           "or had gaps, or could not be shared";
}

// Nothing if no memory of a device was used.
static void print_copies(const mlt_report *report, FILE *out)
{
    static const char *const ways[MLT_CTL_COPIES] = {
        [MLT_COPY_INSIDE] = "on the device",    [MLT_COPY_OUT] = "device to host",
        [MLT_COPY_IN] = "host to device",       [MLT_COPY_BETWEEN] = "between processes",
        [MLT_COPY_CHUNKS] = "through the host", [MLT_COPY_CALL] = "whole calls",
    };
    static const char *const what[MLT_CTL_COPIES] = {
        [MLT_COPY_CHUNKS] = "messages in chunks",
        [MLT_COPY_CALL] = "collective calls",
    };
    const mlt_ctl_copies *c = &report->sum.copies;
    char a[MLT_NUMBER_BYTES], b[MLT_NUMBER_BYTES];
    const char *title = "GPU memory";
    for (int i = 0; i < MLT_CTL_COPIES; i++) {
        if (!c->count[i])
            continue;
        fprintf(out, "  %-11s %-17s %10s %s  %s\n", title, ways[i], mlt_number(a, c->count[i]),
                what[i] ? what[i] : "copies", mlt_bytes(b, c->bytes[i]));
        title = "";
    }
    const char *advice = chunks_advice(c);
    if (advice)
        fprintf(out, "  %-11s %s\n", "", advice);
}

static int by_idleness(const void *a, const void *b)
{
    const load *x = a, *y = b;
    if (x->idle != y->idle)
        return x->idle < y->idle ? 1 : -1;
    return x->worker < y->worker ? -1 : x->worker > y->worker;
}

static void print_loads(const mlt_report *report, FILE *out)
{
    char number[MLT_NUMBER_BYTES];
    MLT_ARRAY_SORT(report->loads, report->load_count, by_idleness);
    uint32_t shown =
        report->load_count < MOST_WORKERS_SHOWN ? report->load_count : MOST_WORKERS_SHOWN;
    for (uint32_t i = 0; i < shown; i++) {
        const load *w = &report->loads[i];
        // A thread that computes while another waits in MPI is not seen.
        fprintf(out, "  %-11s worker %-5u %9s rank%s  idle %s%.1f %%, slackness %.1f\n",
                i == 0 ? "workers" : "", w->worker, mlt_number(number, w->ranks),
                w->ranks == 1 ? " " : "s", w->inner & MLT_INNER_THREADS ? "at most " : "",
                100 * w->idle, w->slack);
    }
    if (shown < report->load_count)
        fprintf(out, "  %-11s and %s more, the busiest of them idle %.1f %%\n", "",
                mlt_number(number, report->load_count - shown),
                100 * report->loads[report->load_count - 1].idle);
}

static const char *or_none(const char *text)
{
    return *text ? text : "-";
}

void mlt_report_print(mlt_report *report, const char *program, const mlt_texts *grains,
                      uint64_t wall_ns, FILE *out)
{
    const mlt_placement *plan = report->plan;
    const mlt_ctl_stats *sum = &report->sum;
    char a[MLT_NUMBER_BYTES], b[MLT_NUMBER_BYTES];
    fprintf(out, "%s: report of %s\n", mlt_say_name(), program);
    fprintf(out, "  %-11s %s", "time", mlt_time(a, wall_ns));
    if (sum->total_ns)
        fprintf(out, "; workers were idle %.1f %% of theirs",
                100 * share(sum->wait_ns, sum->total_ns));
    fprintf(out, "\n  %-11s %s rank%s in %s worker%s, ", "job", mlt_number(a, plan->ranks),
            plan->ranks == 1 ? "" : "s", mlt_number(b, plan->workers),
            plan->workers == 1 ? "" : "s");
    fprintf(out, "%s process%s, %u core%s", mlt_number(a, plan->proc_count),
            plan->proc_count == 1 ? "" : "es", report->cores, report->cores == 1 ? "" : "s");
    if (plan->host_count > 1)
        fprintf(out, " of %u hosts", plan->host_count);
    fputc('\n', out);
    for (size_t i = 0; i < grains->count; i++)
        fprintf(out, "  %-11s %s\n", i == 0 ? "grain" : "", grains->items[i]);
    if (report->peak) { // else another launcher knows it
        fprintf(out, "  %-11s %s at the peak, ", "memory", mlt_bytes(a, report->peak));
        fprintf(out, "%s bytes a rank (pages that processes share count in each)\n",
                mlt_number(a, report->peak / plan->ranks));
    }
    if (report->workers == 0) {
        fputs("  no worker told its numbers: the program does not use Millet, or was ended\n", out);
        return;
    }
    if (report->workers < plan->workers)
        fprintf(out, "  %-11s only %u of %u workers told theirs\n", "numbers", report->workers,
                plan->workers);
    print_queues(report, out);
    print_messages(report, out);
    print_moves(report, out);
    print_copies(report, out);
    print_calls(report, out);
    print_loads(report, out);
    fprintf(out, "  %-11s %s, ", "stacks",
            sum->stack_size ? mlt_bytes(a, sum->stack_size) : "the process's");
    fprintf(out, "guard: %s; scheduler %s, %s switches\n", or_none(sum->guard),
            or_none(sum->policy), mlt_number(a, sum->switches));
    fprintf(out, "  %-11s between threads: %s; between processes: %s\n", "large data",
            or_none(sum->large_thread), or_none(sum->large_process));
}

// ---- Advice

enum {
    LEAST_JUDGED_MS = 100, // a shorter life is mostly start and end
    MOST_TIMES = 16,       // as many ranks as now: further than that nobody can see
};

static const double idles = 0.25;   // from here on a worker's idleness matters
static const double filled = 0.05;  // a worker that is idle less than this is well used
static const double overlaps = 0.1; // less slackness than this: its ranks take turns

// Whether more ranks might give this worker something to do while others of it wait. Threads and
// processes inside of ranks do that in their own way.
static bool lacks_ranks(const load *w)
{
    return w->idle >= idles && w->idle <= 1 && w->slack < 1 && !w->inner && w->ranks > 0 &&
           (w->ranks == 1 || w->slack >= overlaps) &&
           w->total_ns >= LEAST_JUDGED_MS * UINT64_C(1000000);
}

// All of them must lack ranks: where one is busy, the others may just wait for it. Nor is there
// anything to gain where workers share cores: one that is idle leaves its core to another.
static bool all_lack_ranks(const mlt_report *report)
{
    if (report->load_count != report->plan->workers || report->load_count < 2 ||
        report->plan->workers > report->cores)
        return false;
    for (uint32_t i = 0; i < report->load_count; i++)
        if (!lacks_ranks(&report->loads[i]) || report->loads[i].ranks != report->loads[0].ranks)
            return false;
    return true;
}

// If ranks wait independently of each other, a worker with twice as many is idle for the square of
// the share.
static uint64_t enough_ranks(const load *w)
{
    uint64_t times = 1;
    for (double idle = w->idle; idle > filled && times < MOST_TIMES; idle *= idle)
        times *= 2;
    return times * w->ranks;
}

void mlt_report_advise(const mlt_report *report, FILE *out)
{
    if (!all_lack_ranks(report))
        return;
    const load *busiest = &report->loads[report->load_count - 1];
    fprintf(out, "  %-11s every worker was idle for %.0f %% of its time or more%s; ", "advice",
            100 * busiest->idle, busiest->ranks == 1 ? ", as its only rank waited" : "");
    fprintf(out,
            "if the program divides its work among its ranks, more ranks a worker (-nfg %" PRIu64
            ") would give the workers something to do while they wait\n",
            enough_ranks(busiest));
}
