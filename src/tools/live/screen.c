// SPDX-License-Identifier: BSD-3-Clause
#include "tools/live/screen.h"

#include <stdlib.h>
#include <string.h>

#include "base/character.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "launch/live/progress.h"

enum { CALLS = 12, LATE = 6, WORKERS = 16, QUEUES = 8 };

bool mlt_screen_read(mlt_screen_view *v, const void *bytes, size_t length)
{
    *v = (mlt_screen_view){0};
    if (length < sizeof v->job ||
        !mlt_live_snap_add(&v->snap, (const char *)bytes + sizeof v->job, length - sizeof v->job))
        return false;
    memcpy(&v->job, bytes, sizeof v->job);
    v->job.program[sizeof v->job.program - 1] = '\0';
    v->sum = mlt_live_snap_sum(&v->snap);
    return true;
}

void mlt_screen_count(mlt_screen_tally *t, const mlt_screen_view *v)
{
    uint32_t *calls = mlt_live_snap_calls(&v->snap);
    for (uint32_t i = 0; i < v->snap.call_count; i++) {
        uint32_t before = t->names.call_count;
        uint16_t call = mlt_live_snap_call(&t->names, v->snap.calls[i].name);
        if (t->names.call_count > before) {
            t->waits = mlt_xrealloc(t->waits, t->names.call_count, sizeof *t->waits);
            t->waits[call] = 0;
        }
        t->waits[call] += calls[i];
    }
    t->looked += v->snap.rank_count;
    free(calls);
}

void mlt_screen_tally_fini(mlt_screen_tally *t)
{
    mlt_live_snap_fini(&t->names);
    free(t->waits);
}

// ---- the screen

// A second's; 0 if the clock or the count went back, as those of a damaged snapshot may.
static double rate(uint64_t now, uint64_t before, uint64_t ms)
{
    return ms && now > before ? (double)(now - before) * 1e3 / (double)ms : 0;
}

static uint64_t whole(double number)
{
    return number < 1e18 ? (uint64_t)number : (uint64_t)1e18;
}

static uint64_t ms_between(const mlt_screen_view *now, const mlt_screen_view *before)
{
    return now->job.age_ms > before->job.age_ms ? now->job.age_ms - before->job.age_ms : 0;
}

// What of it is safe to show.
static void print_foreign(const char *text, FILE *out)
{
    const char *end = text + strlen(text);
    bool shown;
    for (size_t n; text < end; text += n) {
        n = mlt_character(text, end, &shown);
        fwrite(shown ? text : "?", 1, shown ? n : 1, out);
    }
}

static void print_job(const mlt_screen_view *v, FILE *out)
{
    char ranks[MLT_NUMBER_BYTES];
    const mlt_live_job *j = &v->job;
    fprintf(out, "job %u: ", j->pid);
    print_foreign(j->program, out);
    fprintf(out, ", %s rank%s in %u worker%s", mlt_number(ranks, j->ranks),
            j->ranks == 1 ? "" : "s", j->workers, j->workers == 1 ? "" : "s");
    if (j->hosts > 1)
        fprintf(out, " on %u hosts", j->hosts);
    fputc('\n', out);
}

// Of a job that uses GPUs: bytes that they copy, by the ways that were used.
static void screen_print_copies(const mlt_screen_view *now, const mlt_screen_view *before,
                                uint64_t ms, FILE *out)
{
    char n[MLT_NUMBER_BYTES];
    bool any = false;
    for (int way = 0; way < MLT_CTL_COPIES; way++) {
        if (!now->sum.copies[way])
            continue;
        uint64_t bytes = whole(rate(now->sum.copy_bytes[way], before->sum.copy_bytes[way], ms));
        fprintf(out, "%s %s %s/s", any ? "," : "GPU copies", mlt_live_copies[way],
                mlt_bytes(n, bytes));
        any = true;
    }
    if (any)
        fputc('\n', out);
}

static void print_rates(const mlt_screen_view *now, const mlt_screen_view *before, FILE *out)
{
    uint64_t ms = ms_between(now, before);
    mlt_text line = {0};
    char n[MLT_NUMBER_BYTES];
    mlt_live_status_line(&now->job, &now->sum, &before->sum, ms, &line);
    fprintf(out, "%s\n", line.text);
    mlt_text_free(&line);
    fprintf(out, "messages/s");
    for (int d = 0; d < MLT_CTL_DISTANCES; d++)
        fprintf(out, "%s %s %s", d ? "," : "", mlt_live_distances[d],
                mlt_number(n, whole(rate(now->sum.messages[d], before->sum.messages[d], ms))));
    fprintf(out, "; switches/s %s\n",
            mlt_number(n, whole(rate(now->sum.switches, before->sum.switches, ms))));
    screen_print_copies(now, before, ms, out);
    fprintf(out, "memory %s", mlt_bytes(n, now->sum.memory));
    fprintf(out, ", %.2f cores", rate(now->sum.cpu_ns, before->sum.cpu_ns, ms) / 1e9);
    fprintf(out, "; %s message%s for a receive", mlt_number(n, now->sum.unexpected),
            now->sum.unexpected == 1 ? " waits" : "s wait");
    fprintf(out, " (%s), ", mlt_bytes(n, now->sum.held));
    fprintf(out, "%s receive%s for a message\n", mlt_number(n, now->sum.posted),
            now->sum.posted == 1 ? "" : "s");
}

// What follows is of these ranks only.
static void print_looked(const mlt_screen_view *v, FILE *out)
{
    char all[MLT_NUMBER_BYTES], looked[MLT_NUMBER_BYTES];
    if (v->snap.rank_count < v->job.ranks && v->snap.rank_count)
        fprintf(out, "of %s ranks, %s are looked at one by one, where and for whom they wait\n",
                mlt_number(all, v->job.ranks), mlt_number(looked, v->snap.rank_count));
}

static void screen_print_calls(const mlt_screen_tally *t, FILE *out)
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
            fprintf(out, "\nwait in                          of all ranks and looks\n");
        title = true;
        fprintf(out, "  %-30s %5.1f %%\n", t->names.calls[most].name,
                100 * (double)t->waits[most] / (double)t->looked);
        t->waits[most] = 0;
    }
}

static void print_late(const mlt_screen_view *v, FILE *out)
{
    mlt_live_late late[LATE];
    uint32_t count = mlt_live_snap_late(&v->snap, late, LATE);
    char n[MLT_NUMBER_BYTES];
    for (uint32_t i = 0; i < count && i < LATE; i++)
        fprintf(out, "%s rank %u (%s wait%s for it)", i ? "," : "\nlate:", late[i].rank,
                mlt_number(n, late[i].others), late[i].others == 1 ? "s" : "");
    if (count > LATE)
        fprintf(out, " and %s more", mlt_number(n, count - LATE));
    if (count)
        fputc('\n', out);
}

// The fullest first, as they come. Of queues in which nothing is, nobody is told, unless all are so.
static void print_queues(const mlt_screen_view *v, FILE *out)
{
    const mlt_live_snap *s = &v->snap;
    uint32_t full = 0, some = 0;
    for (uint32_t i = 0; i < s->queue_count; i++) {
        full += s->queues[i].held == s->queues[i].room;
        some += s->queues[i].held > 0;
    }
    if (!s->queue_count)
        return;
    fprintf(out, "\nqueues: %u, %u full, %u empty\n", s->queue_count, full, s->queue_count - some);
    for (uint32_t i = 0; i < some && i < QUEUES; i++) {
        const mlt_live_queue *q = &s->queues[i];
        fprintf(out, "  %-30s %9u of %u%s%s\n", q->name, q->held, q->room,
                q->blocked ? ", a writer waits" : "", q->starved ? ", a reader waits" : "");
    }
    if (some > QUEUES)
        fprintf(out, "  and %u more with something in them\n", some - QUEUES);
}

typedef struct screen_busy {
    const mlt_live_worker *now;
    uint64_t messages, bytes; // since before
} screen_busy;

static int by_messages(const void *a, const void *b)
{
    const screen_busy *x = a, *y = b;
    if (x->messages != y->messages)
        return x->messages < y->messages ? 1 : -1;
    return (x->now->worker > y->now->worker) - (x->now->worker < y->now->worker);
}

static uint64_t grown(const uint64_t *now, const uint64_t *before)
{
    uint64_t sum = mlt_live_sum_distances(now), old = before ? mlt_live_sum_distances(before) : 0;
    return sum > old ? sum - old : 0;
}

// The busiest first. Workers of a snapshot come in the same order each time.
static void print_workers(const mlt_screen_view *now, const mlt_screen_view *before, FILE *out)
{
    uint32_t count = now->snap.worker_count;
    uint64_t ms = ms_between(now, before);
    screen_busy *all = mlt_xcalloc(count + 1, sizeof *all);
    char a[MLT_NUMBER_BYTES], b[MLT_NUMBER_BYTES], c[MLT_NUMBER_BYTES];
    for (uint32_t i = 0; i < count; i++) {
        const mlt_live_worker *w = &now->snap.workers[i];
        const mlt_live_worker *old =
            i < before->snap.worker_count ? &before->snap.workers[i] : NULL;
        old = old && old->worker == w->worker ? old : NULL;
        all[i] = (screen_busy){w, grown(w->messages, old ? old->messages : NULL),
                               grown(w->bytes, old ? old->bytes : NULL)};
    }
    qsort(all, count, sizeof *all, by_messages);
    fprintf(out, "\n%6s %5s %9s %9s %9s %14s %14s %12s\n", "worker", "host", "rank", "ranks",
            "waiting", "messages/s", "bytes/s", "held");
    for (uint32_t i = 0; i < count && i < WORKERS; i++) {
        const mlt_live_worker *w = all[i].now;
        fprintf(out, "%6u %5u %9u %9u %9u %14s %14s %12s%s\n", w->worker, w->host, w->first_rank,
                w->ranks, w->waiting, mlt_number(a, whole(rate(all[i].messages, 0, ms))),
                mlt_bytes(b, whole(rate(all[i].bytes, 0, ms))), mlt_bytes(c, w->held),
                w->unborn              ? "  starts"
                : w->ended == w->ranks ? "  has ended"
                : w->unreadable        ? "  cannot be read"
                                       : "");
    }
    if (count > WORKERS)
        fprintf(out, "%6s and %u more\n", "", count - WORKERS);
    free(all);
}

void mlt_screen_cut(const char *text, size_t size, uint32_t columns, uint32_t rows, FILE *out)
{
    const char *end = text + size;
    uint32_t column = 0, row = 1;
    bool shown;
    for (size_t n; text < end; text += n) {
        n = mlt_character(text, end, &shown);
        if (*text != '\n' && column++ < columns)
            fwrite(text, 1, n, out);
        if (*text != '\n')
            continue;
        if (row++ == rows)
            return; // without the end of the line, which would scroll
        fputc('\n', out);
        column = 0;
    }
}

void mlt_screen_print(const mlt_screen_view *now, const mlt_screen_view *before,
                      const mlt_screen_tally *t, FILE *out)
{
    print_job(now, out);
    print_rates(now, before, out);
    print_looked(now, out);
    screen_print_calls(t, out);
    print_late(now, out);
    print_queues(now, out);
    print_workers(now, before, out);
    if (now->sum.unreadable)
        fprintf(out,
                "\nThis machine lets nobody read the memory of %u worker%s (process_vm_readv is "
                "refused), so their messages are not known.\n",
                now->sum.unreadable, now->sum.unreadable == 1 ? "" : "s");
}
