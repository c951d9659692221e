// SPDX-License-Identifier: BSD-3-Clause
// A screen is made of the snapshots of one interval: rates from the first and the last, and from all
// of them how often ranks were found waiting, and where.
#include "tools/live/top.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "launch/live/progress.h"
#include "launch/live/snap.h"
#include "launch/numbers.h"
#include "os/os.h"
#include "tools/args.h"
#include "tools/live/ask.h"

enum { LOOKS = 8, CALLS = 12, LATE = 6, WORKERS = 16, QUEUES = 8 };

typedef struct view { // of one moment
    mlt_live_job job;
    mlt_live_snap snap;
    mlt_live_sum sum;
} view;

// Where ranks were found in an interval.
typedef struct tally {
    mlt_live_snap names; // only its calls
    uint64_t *waits;     // [call_room of names]
    uint64_t looked;     // ranks, in all looks
} tally;

static void view_fini(view *v)
{
    mlt_live_snap_fini(&v->snap);
}

static bool take_view(const mlt_live_found *job, view *v, char *why, size_t why_size)
{
    mlt_text body = {0};
    *v = (view){0};
    bool fine = mlt_live_ask(job, "/snapshot", &body, why, why_size);
    if (fine &&
        (body.length < sizeof v->job ||
         !mlt_live_snap_add(&v->snap, body.text + sizeof v->job, body.length - sizeof v->job))) {
        snprintf(why, why_size, "its mpirun is of another version than this command");
        fine = false;
    }
    if (fine) {
        memcpy(&v->job, body.text, sizeof v->job);
        v->job.program[sizeof v->job.program - 1] = '\0';
        v->sum = mlt_live_snap_sum(&v->snap);
    }
    mlt_text_free(&body);
    return fine;
}

static void count_view(tally *t, const view *v)
{
    uint32_t *calls = mlt_live_snap_calls(&v->snap);
    for (uint32_t i = 0; i < v->snap.call_count; i++) {
        uint32_t before = t->names.call_count;
        uint16_t call = mlt_live_snap_call(&t->names, v->snap.calls[i].name);
        if (t->names.call_count > before) {
            t->waits = mlt_take_more(t->waits, t->names.call_count, sizeof *t->waits);
            t->waits[call] = 0;
        }
        t->waits[call] += calls[i];
    }
    t->looked += v->snap.rank_count;
    free(calls);
}

static void tally_fini(tally *t)
{
    mlt_live_snap_fini(&t->names);
    free(t->waits);
}

// ---- the screen

static double rate(uint64_t now, uint64_t before, uint64_t ms)
{
    return ms && now > before ? (double)(now - before) * 1e3 / (double)ms : 0;
}

static void print_job(const view *v)
{
    char ranks[MLT_NUMBER_BYTES];
    const mlt_live_job *j = &v->job;
    printf("job %u: %s, %s rank%s in %u worker%s", j->pid, j->program, mlt_number(ranks, j->ranks),
           j->ranks == 1 ? "" : "s", j->workers, j->workers == 1 ? "" : "s");
    if (j->hosts > 1)
        printf(" on %u hosts", j->hosts);
    putchar('\n');
}

static void print_rates(const view *now, const view *before)
{
    uint64_t ms = now->job.age_ms - before->job.age_ms;
    mlt_text line = {0};
    char n[MLT_NUMBER_BYTES];
    mlt_live_line(&now->job, &now->sum, &before->sum, ms, &line);
    printf("%s\n", line.text);
    mlt_text_free(&line);
    printf("messages/s");
    for (int d = 0; d < MLT_CTL_DISTANCES; d++)
        printf("%s %s %s", d ? "," : "", mlt_live_distances[d],
               mlt_number(n, (uint64_t)rate(now->sum.messages[d], before->sum.messages[d], ms)));
    printf("; switches/s %s\n",
           mlt_number(n, (uint64_t)rate(now->sum.switches, before->sum.switches, ms)));
    printf("memory %s", mlt_bytes(n, now->sum.memory));
    printf(", %.2f cores", rate(now->sum.cpu_ns, before->sum.cpu_ns, ms) / 1e9);
    printf("; %s messages wait for a receive", mlt_number(n, now->sum.unexpected));
    printf(" (%s), ", mlt_bytes(n, now->sum.held));
    printf("%s receives for a message\n", mlt_number(n, now->sum.posted));
}

static void print_calls(const tally *t)
{
    bool title = false;
    for (int line = 0; line < CALLS; line++) {
        uint32_t most = 0;
        for (uint32_t i = 1; i < t->names.call_count; i++)
            if (t->waits[i] > t->waits[most])
                most = i;
        if (!t->names.call_count || !t->waits[most])
            return;
        if (!title)
            printf("\nwait in                          of all ranks and looks\n");
        title = true;
        printf("  %-30s %5.1f %%\n", t->names.calls[most].name,
               100 * (double)t->waits[most] / (double)t->looked);
        t->waits[most] = 0;
    }
}

static void print_late(const view *v)
{
    mlt_live_late late[LATE];
    uint32_t count = mlt_live_snap_late(&v->snap, late, LATE);
    char n[MLT_NUMBER_BYTES];
    for (uint32_t i = 0; i < count && i < LATE; i++)
        printf("%s rank %u (%s wait%s for it)", i ? "," : "\nlate:", late[i].rank,
               mlt_number(n, late[i].others), late[i].others == 1 ? "s" : "");
    if (count > LATE)
        printf(" and %s more", mlt_number(n, count - LATE));
    if (count)
        putchar('\n');
}

// The fullest first, as they come. Of queues in which nothing is, nobody is told, unless all are so.
static void print_queues(const view *v)
{
    const mlt_live_snap *s = &v->snap;
    uint32_t full = 0, some = 0;
    for (uint32_t i = 0; i < s->queue_count; i++) {
        full += s->queues[i].held == s->queues[i].room;
        some += s->queues[i].held > 0;
    }
    if (!s->queue_count)
        return;
    printf("\nqueues: %u, %u full, %u empty\n", s->queue_count, full, s->queue_count - some);
    for (uint32_t i = 0; i < some && i < QUEUES; i++) {
        const mlt_live_queue *q = &s->queues[i];
        printf("  %-30s %9u of %u%s%s\n", q->name, q->held, q->room,
               q->blocked ? ", a writer waits" : "", q->starved ? ", a reader waits" : "");
    }
    if (some > QUEUES)
        printf("  and %u more with something in them\n", some - QUEUES);
}

typedef struct busy {
    const mlt_live_worker *now;
    uint64_t messages, bytes; // since before
} busy;

static int by_messages(const void *a, const void *b)
{
    const busy *x = a, *y = b;
    if (x->messages != y->messages)
        return x->messages < y->messages ? 1 : -1;
    return (x->now->worker > y->now->worker) - (x->now->worker < y->now->worker);
}

static uint64_t grown(const uint64_t *now, const uint64_t *before)
{
    uint64_t sum = mlt_live_all(now), old = before ? mlt_live_all(before) : 0;
    return sum > old ? sum - old : 0;
}

// The busiest first. Workers of a snapshot come in the same order each time.
static void print_workers(const view *now, const view *before)
{
    uint32_t count = now->snap.worker_count;
    uint64_t ms = now->job.age_ms - before->job.age_ms;
    busy *all = mlt_take(count + 1, sizeof *all);
    char a[MLT_NUMBER_BYTES], b[MLT_NUMBER_BYTES], c[MLT_NUMBER_BYTES];
    for (uint32_t i = 0; i < count; i++) {
        const mlt_live_worker *w = &now->snap.workers[i];
        const mlt_live_worker *old =
            i < before->snap.worker_count ? &before->snap.workers[i] : NULL;
        old = old && old->worker == w->worker ? old : NULL;
        all[i] = (busy){w, grown(w->messages, old ? old->messages : NULL),
                        grown(w->bytes, old ? old->bytes : NULL)};
    }
    qsort(all, count, sizeof *all, by_messages);
    printf("\n%6s %5s %9s %9s %9s %14s %14s %12s\n", "worker", "host", "rank", "ranks", "waiting",
           "messages/s", "bytes/s", "held");
    for (uint32_t i = 0; i < count && i < WORKERS; i++) {
        const mlt_live_worker *w = all[i].now;
        printf("%6u %5u %9u %9u %9u %14s %14s %12s%s\n", w->worker, w->host, w->first_rank,
               w->ranks, w->waiting, mlt_number(a, (uint64_t)rate(all[i].messages, 0, ms)),
               mlt_bytes(b, (uint64_t)rate(all[i].bytes, 0, ms)), mlt_bytes(c, w->held),
               w->unborn              ? "  starts"
               : w->ended == w->ranks ? "  has ended"
               : w->blind             ? "  cannot be read"
                                      : "");
    }
    if (count > WORKERS)
        printf("%6s and %u more\n", "", count - WORKERS);
    free(all);
}

static void print_screen(const view *now, const view *before, const tally *t)
{
    print_job(now);
    print_rates(now, before);
    print_calls(t);
    print_late(now);
    print_queues(now);
    print_workers(now, before);
    if (now->sum.blind)
        printf("\nThis machine lets nobody read the memory of %u worker%s (process_vm_readv is "
               "refused), so their messages are not known.\n",
               now->sum.blind, now->sum.blind == 1 ? "" : "s");
}

// ---- the command

typedef struct options {
    bool once, json, metrics;
    double interval_s;
} options;

static int gone(const mlt_arg_command *command, const char *why, bool shown)
{
    if (shown) {
        printf("\n%s\n", why);
        return MLT_EXIT_FINE;
    }
    return mlt_args_failed(command, "%s", why);
}

// A page as the job writes it.
static int show_page(const mlt_arg_command *command, const mlt_live_found *job, const char *page,
                     const options *o)
{
    char why[256];
    for (bool shown = false;; shown = true) {
        mlt_text body = {0};
        bool fine = mlt_live_ask(job, page, &body, why, sizeof why);
        if (fine)
            fwrite(body.text, 1, body.length, stdout);
        mlt_text_free(&body);
        if (!fine)
            return shown ? MLT_EXIT_FINE : gone(command, why, false);
        if (o->once || fflush(stdout) != 0)
            return MLT_EXIT_FINE;
        mlt_os_sleep((int64_t)(o->interval_s * 1e9));
    }
}

// The looks of one interval; the last one is in *now.
static bool watch_interval(const mlt_live_found *job, double seconds, tally *t, view *now,
                           char *why, size_t why_size)
{
    for (int i = 0; i < LOOKS; i++) {
        view next;
        mlt_os_sleep((int64_t)(seconds / LOOKS * 1e9));
        if (!take_view(job, &next, why, why_size))
            return false;
        view_fini(now);
        *now = next;
        count_view(t, now);
    }
    return true;
}

static int show_screens(const mlt_arg_command *command, const mlt_live_found *job, const options *o)
{
    char why[256];
    view before, now = {0};
    bool terminal = isatty(STDOUT_FILENO) && !o->once, shown = false, fine = true;
    if (!take_view(job, &before, why, sizeof why))
        return gone(command, why, false);
    while (fine) {
        tally t = {0};
        fine = watch_interval(job, o->interval_s, &t, &now, why, sizeof why);
        if (fine) {
            printf("%s", terminal ? "\033[H\033[J" : shown ? "\n" : "");
            print_screen(&now, &before, &t);
            shown = true;
            view_fini(&before);
            before = now;
            now = (view){0};
        }
        tally_fini(&t);
        if (fine && (o->once || fflush(stdout) != 0))
            break;
    }
    view_fini(&before);
    view_fini(&now);
    return fine ? MLT_EXIT_FINE : gone(command, why, shown);
}

int mlt_top_main(int argc, char **argv)
{
    options o = {.interval_s = 1};
    const mlt_arg args[] = {
        {"once", '1', MLT_ARG_FLAG, &o.once, NULL, .help = "show one screen and end"},
        {"interval", 'i', MLT_ARG_REAL, &o.interval_s, "S", .help = "seconds between screens (1)"},
        {"json", 0, MLT_ARG_FLAG, &o.json, NULL, .help = "print what is known as JSON"},
        {"prometheus", 0, MLT_ARG_FLAG, &o.metrics, NULL,
         .help = "print it as Prometheus reads it; mpirun --live gives it to a scraper"},
    };
    const mlt_arg_group groups[] = {{NULL, args, sizeof args / sizeof *args}};
    const mlt_arg_command command = {
        .name = "millet top",
        .words = "[JOB]",
        .most = 1,
        .purpose =
            "Shows what a running job does: ranks that compute and wait, where they wait, for "
            "whom, messages a second, memory. JOB is the process number of its mpirun, on "
            "whose host this command runs; without it, the only job of yours there is. The "
            "job needs no option, and looking costs its ranks nothing.",
        .groups = groups,
        .count = 1};
    mlt_arg_texts words = {NULL, 0};
    mlt_live_found job;
    int code = mlt_args_read(&command, argc, argv, &words, NULL);
    if (code != MLT_ARGS_GO)
        return code;
    code = o.json && o.metrics
               ? mlt_args_wrong(&command, "--json and --prometheus exclude each other")
           : o.interval_s < 0.1 || o.interval_s > 86400
               ? mlt_args_wrong(&command, "--interval should be 0.1 to 86400 seconds")
               : mlt_live_find(&command, words.count ? words.items[0] : NULL, &job);
    mlt_arg_texts_free(&words);
    if (code != MLT_ARGS_GO)
        return code;
    if (o.json || o.metrics)
        return show_page(&command, &job, o.json ? "/json" : "/metrics", &o);
    return show_screens(&command, &job, &o);
}
