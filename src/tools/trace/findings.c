// SPDX-License-Identifier: BSD-3-Clause
#include "tools/trace/findings.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "base/text.h"

typedef struct findings_run {
    const mlt_causes *c;
    mlt_finding *found;
    int count;
    double all_ns;  // of all ranks, from their first event to their last one
    double span_ns; // from the first event to the last one
    double late_ns; // waiting for somebody who was late
    double work_ns; // computing, of all ranks
    uint32_t worst; // the rank to which most goes back
    double worst_ns;
} findings_run;

// Shares of a run from which on something is worth a sentence.
#define LITTLE 0.05
#define MUCH   0.2
#define HALF   0.5
#define MANY   10.0 // times

static MLT_PRINTF(3, 4) void findings_find(findings_run *r, int64_t rank, const char *format, ...)
{
    if (r->count == MLT_FINDINGS_MOST)
        return;
    r->found[r->count].rank = rank;
    MLT_TEXT_PRINT(r->found[r->count++].text, MLT_FINDING_BYTES, format);
}

static double work_of(const mlt_causes *c, uint32_t rank)
{
    const uint64_t *does = &c->does[(size_t)rank * MLT_DOES_COUNT];
    return (double)(does[MLT_DOES_COMPUTE] + does[MLT_CAUSE_ASLEEP]);
}

static findings_run sums_of(const mlt_causes *c, mlt_finding *found)
{
    findings_run r = {.c = c, .found = found};
    uint64_t first = MLT_STORY_UNKNOWN, last = 0;
    for (uint32_t i = 0; i < c->story->rank_count; i++) {
        const mlt_story_rank *rank = &c->story->ranks[i];
        if (rank->begin == MLT_STORY_UNKNOWN)
            continue;
        r.all_ns += (double)(rank->end - rank->begin);
        r.work_ns += work_of(c, i);
        first = rank->begin < first ? rank->begin : first;
        last = rank->end > last ? rank->end : last;
    }
    for (int cause = 0; mlt_cause_is_late((mlt_cause)cause); cause++)
        r.late_ns += (double)c->ns[cause];
    r.span_ns = last > first ? (double)(last - first) : 0;
    if (c->story->rank_count) {
        r.worst = mlt_causes_worst(c, MLT_CAUSE_COUNT);
        r.worst_ns = (double)mlt_causes_blamed(c, r.worst);
    }
    return r;
}

static int percent(double part, double whole)
{
    return whole > 0 ? (int)(100 * part / whole + 0.5) : 0;
}

// ---- findings

static bool is_slow(const findings_run *r)
{
    return r->worst_ns > 0 && r->worst_ns >= HALF * (double)r->c->blamed_ns &&
           r->worst_ns >= LITTLE * r->all_ns;
}

static void find_slow_rank(findings_run *r)
{
    char time[MLT_NUMBER_BYTES];
    if (!is_slow(r))
        return;
    uint32_t others = r->c->story->rank_count - 1;
    double own = work_of(r->c, r->worst), mean = others ? (r->work_ns - own) / others : 0;
    mlt_time(time, (uint64_t)r->worst_ns);
    int share = percent(r->worst_ns, (double)r->c->blamed_ns);
    char much[64] = "";
    if (mean > 0 && own > MANY * mean)
        snprintf(much, sizeof much, ", which computed far longer than they did");
    else if (mean > 0 && own > 1.3 * mean)
        snprintf(much, sizeof much, ", which computed %.1f times as long as they did", own / mean);
    findings_find(r, r->worst,
                  "slow rank: others waited %s for rank %u (%d%% of all waiting for others)%s",
                  time, r->worst, share, much);
}

static void find_hot_receiver(findings_run *r)
{
    const mlt_story *s = r->c->story;
    uint64_t *to = mlt_xcalloc((size_t)s->rank_count + 1, sizeof *to), all = 0;
    uint32_t hot = 0;
    char a[MLT_NUMBER_BYTES], b[MLT_NUMBER_BYTES];
    for (uint64_t i = 0; i < s->message_count; i++) {
        const mlt_story_message *m = &s->messages[i];
        // Messages of the program, not of collectives: the first of a communicator's eight contexts.
        if (m->context % 8 != 0 || m->to >= s->rank_count)
            continue;
        to[m->to]++;
        all++;
        hot = to[m->to] > to[hot] ? m->to : hot;
    }
    uint64_t most = to[hot];
    if (s->rank_count < 4 || all < 2 * (uint64_t)s->rank_count ||
        (double)most < HALF * (double)all || r->late_ns < LITTLE * r->all_ns)
        return;
    findings_find(r, hot, "hot receiver: rank %u receives %s of %s messages, %d%%", hot,
                  mlt_number(a, most), mlt_number(b, all), percent((double)most, (double)all));
}

static void find_chain(findings_run *r)
{
    uint32_t ranks = r->c->story->rank_count;
    double at_once = r->span_ns > 0 ? r->work_ns / r->span_ns : 0;
    uint64_t changes = 0;
    for (uint64_t i = 1; i < r->c->path_count; i++)
        changes += r->c->path[i].rank != r->c->path[i - 1].rank;
    if (ranks < 3 || at_once > 1.6 || r->late_ns < HALF * r->all_ns || changes + 1 < ranks ||
        r->work_ns < LITTLE * r->span_ns || is_slow(r))
        return;
    findings_find(
        r, -1,
        "serialised: ranks work one after the other: %.1f of %u compute at a time, and what ends "
        "last depends on a "
        "chain that changes its rank %llu times",
        at_once, ranks, (unsigned long long)changes);
}

static void find_imbalance(findings_run *r)
{
    uint32_t ranks = r->c->story->rank_count, most = 0, heavy = 0;
    double mean = ranks ? r->work_ns / ranks : 0;
    for (uint32_t i = 0; i < ranks; i++) {
        most = work_of(r->c, i) > work_of(r->c, most) ? i : most;
        heavy += work_of(r->c, i) > 1.3 * mean;
    }
    if (ranks < 2 || r->late_ns < MUCH * r->all_ns || work_of(r->c, most) < 1.5 * mean ||
        mean < LITTLE * r->span_ns || (is_slow(r) && heavy < 2))
        return;
    findings_find(
        r, most,
        "uneven work: rank %u computes %.1f times the mean of all ranks; %u of %u ranks compute "
        "clearly more than the "
        "mean",
        most, work_of(r->c, most) / mean, heavy, ranks);
}

// Waits that have a name of their own, and the rank that most of them goes back to.
static void find_named(findings_run *r, mlt_cause cause, double least, const char *words)
{
    char time[MLT_NUMBER_BYTES], who[64] = "";
    double ns = (double)r->c->ns[cause];
    if (ns < least * r->all_ns || ns <= 0)
        return;
    uint32_t worst = mlt_causes_worst(r->c, cause);
    uint64_t part = r->c->blamed[(uint64_t)cause * r->c->story->rank_count + worst];
    if (part)
        snprintf(who, sizeof who, "; %d%% of it goes back to rank %u", percent((double)part, ns),
                 worst);
    findings_find(r, part ? (int64_t)worst : -1, "%s: ranks waited %s (%d%%) %s%s",
                  mlt_cause_names[cause], mlt_time(time, (uint64_t)ns), percent(ns, r->all_ns),
                  words, who);
}

static void find_machine(findings_run *r)
{
    char time[MLT_NUMBER_BYTES];
    double not_run = (double)r->c->ns[MLT_CAUSE_NOT_RUN],
           way = (double)r->c->ns[MLT_CAUSE_ON_ITS_WAY];
    if (not_run > MUCH * r->all_ns)
        findings_find(
            r, -1,
            "too few cores: ranks could have gone on, but others ran in their place for %s (%d%%)",
            mlt_time(time, (uint64_t)not_run), percent(not_run, r->all_ns));
    if (way > MUCH * r->all_ns)
        findings_find(
            r, -1,
            "messages take long: %s (%d%%) went by after they were sent, or after all had come to "
            "a collective",
            mlt_time(time, (uint64_t)way), percent(way, r->all_ns));
}

static void find_hang(findings_run *r)
{
    const mlt_trace_facts_table *facts = &r->c->story->trace->facts;
    if (!facts->hang || strcmp(facts->hang, "asked") == 0)
        return;
    int64_t rank = facts->stuck_count ? (int64_t)facts->stucks[0].rank : -1;
    if (facts->cycle)
        findings_find(r, rank, "%s: ranks wait for each other, each for the next: %.150s",
                      facts->hang, facts->cycle);
    else
        findings_find(r, rank, "%s: %u ranks were blocked in MPI at the end", facts->hang,
                      facts->stuck_count);
}

// Of a module with several instances: is it one of them, or all alike? module: as long as its name is.
static void name_slow(const findings_run *r, const char *module, char *text, size_t size)
{
    const mlt_depths *flow = &r->c->story->depths;
    char ran[MLT_NUMBER_BYTES], all[MLT_NUMBER_BYTES];
    double mean;
    uint32_t count, slow = mlt_flow_busiest(flow, module, &mean, &count);
    text[0] = '\0';
    if (count < 2)
        return;
    if ((double)mlt_flow_ran(flow, slow) > 1.5 * mean)
        snprintf(text, size, ", %.40s most of all: it ran for %s, each of them for %s in the mean",
                 flow->trace->facts.processes[slow].name, mlt_time(ran, mlt_flow_ran(flow, slow)),
                 mlt_time(all, (uint64_t)mean));
    else
        snprintf(text, size, ", all %u instances alike", count);
}

// The rank that a click goes to: that of its slowest instance, if its worker has no other; -1: not known.
static int64_t rank_of_busiest(const findings_run *r, const char *module)
{
    const mlt_depths *flow = &r->c->story->depths;
    const mlt_trace_facts_table *facts = &flow->trace->facts;
    double mean;
    uint32_t count, slow = mlt_flow_busiest(flow, module, &mean, &count);
    for (uint32_t i = 0; slow != UINT32_MAX && i < facts->worker_count; i++)
        if (facts->workers[i].number == facts->processes[slow].worker)
            return facts->workers[i].count == 1 ? (int64_t)facts->workers[i].first : -1;
    return -1;
}

// The queue that leads to the module which runs most, if its senders wait at all; NULL: none.
static const mlt_trace_queue *before_busiest(const findings_run *r)
{
    const mlt_depths *flow = &r->c->story->depths;
    const mlt_trace_facts_table *facts = &flow->trace->facts;
    const mlt_trace_queue *worst = NULL;
    double mean;
    uint32_t count, busiest = mlt_flow_busiest(flow, NULL, &mean, &count);
    if (busiest == UINT32_MAX)
        return NULL;
    const char *name = facts->processes[busiest].name;
    size_t length = strcspn(name, ".[");
    for (uint32_t i = 0; i < facts->queue_count; i++) {
        const mlt_trace_queue *q = &facts->queues[i];
        if (strcspn(q->to, ".[") == length && memcmp(q->to, name, length) == 0 &&
            (!worst || q->number[MLT_QUEUE_BLOCKED] > worst->number[MLT_QUEUE_BLOCKED]))
            worst = q;
    }
    return worst && (double)worst->number[MLT_QUEUE_BLOCKED] > LITTLE * r->span_ns ? worst : NULL;
}

// A module that waits for room itself is not to blame for what waits before it. The queue behind it
// where it waits longest; NULL: it takes its time.
static const mlt_trace_queue *blocked_behind(const mlt_trace_facts_table *facts,
                                             const mlt_trace_queue *queue)
{
    const mlt_trace_queue *worst = NULL;
    size_t length = strcspn(queue->to, ".");
    for (uint32_t i = 0; i < facts->queue_count; i++) {
        const mlt_trace_queue *q = &facts->queues[i];
        if (strcspn(q->from, ".") == length && memcmp(q->from, queue->to, length) == 0 &&
            (!worst || q->number[MLT_QUEUE_BLOCKED] > worst->number[MLT_QUEUE_BLOCKED]))
            worst = q;
    }
    return worst && worst->number[MLT_QUEUE_BLOCKED] > queue->number[MLT_QUEUE_BLOCKED] / 2 ? worst
                                                                                            : NULL;
}

// A queue whose senders wait for room: who reads it is too slow for them.
static void find_flow(findings_run *r)
{
    const mlt_trace_facts_table *facts = &r->c->story->trace->facts;
    const mlt_trace_queue *worst = NULL;
    char time[MLT_NUMBER_BYTES];
    for (uint32_t i = 0; i < facts->queue_count; i++)
        if (!worst || facts->queues[i].number[MLT_QUEUE_BLOCKED] > worst->number[MLT_QUEUE_BLOCKED])
            worst = &facts->queues[i];
    if (!worst || (double)worst->number[MLT_QUEUE_BLOCKED] < MUCH * r->span_ns)
        return;
    const mlt_trace_queue *before = before_busiest(r);
    for (uint32_t i = 0; i < facts->queue_count && !before; i++) { // no further: it may be a ring
        const mlt_trace_queue *next = blocked_behind(facts, worst);
        worst = next ? next : worst;
    }
    worst = before ? before : worst;
    char who[160], module[64];
    snprintf(module, sizeof module, "%.*s", (int)strcspn(worst->to, ".["), worst->to);
    name_slow(r, module, who, sizeof who);
    findings_find(
        r, rank_of_busiest(r, module),
        "imbalanced flow: %.50s waited %s for room in its queue: %.*s takes its elements too "
        "slowly%s "
        "(at most %llu were in it)",
        worst->from, mlt_time(time, worst->number[MLT_QUEUE_BLOCKED]), (int)strcspn(worst->to, "."),
        worst->to, who, (unsigned long long)worst->number[MLT_QUEUE_DEEPEST]);
}

int mlt_findings_of(const mlt_causes *causes, mlt_finding found[MLT_FINDINGS_MOST])
{
    findings_run r = sums_of(causes, found);
    find_hang(&r);
    find_flow(&r);
    find_named(&r, MLT_CAUSE_LOCK, LITTLE, "for locks that others had");
    find_named(&r, MLT_CAUSE_FULL_QUEUE, MUCH, "for room in queues or channels");
    find_named(&r, MLT_CAUSE_STARVED, LITTLE,
               "though they could go on: their workers ran other ranks");
    find_slow_rank(&r);
    find_hot_receiver(&r);
    find_chain(&r);
    find_imbalance(&r);
    find_machine(&r);
    if (r.count == 0)
        findings_find(&r, -1, "nothing stands out: ranks waited %d%% of the time for others",
                      percent(r.late_ns, r.all_ns));
    return r.count;
}
