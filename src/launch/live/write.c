// SPDX-License-Identifier: BSD-3-Clause
#include "launch/live/write.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { LATE = 16, QUEUES = 256 };

// ---- Prometheus's text format

// In quotes. Labels know three escapes, so it is not JSON.
static void add_label(mlt_text *out, const char *text)
{
    mlt_text_add(out, "\"");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            mlt_text_add(out, "\\%c", c);
        else if (c == '\n')
            mlt_text_add(out, "\\n");
        else
            mlt_text_add(out, "%c", c < ' ' ? ' ' : c);
    }
    mlt_text_add(out, "\"");
}

typedef struct page {
    mlt_text *out;
    const mlt_live_job *job;
} page;

static void title(const page *p, const char *name, const char *type, const char *help)
{
    mlt_text_add(p->out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void sample_begin(const page *p, const char *name)
{
    mlt_text_add(p->out, "%s{job=\"%u\",program=", name, p->job->pid);
    add_label(p->out, p->job->program);
}

static void add_pair(const page *p, const char *label, const char *value)
{
    mlt_text_add(p->out, ",%s=", label);
    add_label(p->out, value);
}

static void sample(const page *p, const char *name, const char *label, const char *value)
{
    sample_begin(p, name);
    if (label)
        add_pair(p, label, value);
    mlt_text_add(p->out, "} ");
}

static void number(const page *p, const char *name, const char *label, const char *value,
                   uint64_t n)
{
    sample(p, name, label, value);
    mlt_text_add(p->out, "%" PRIu64 "\n", n);
}

static void seconds(const page *p, const char *name, double s)
{
    sample(p, name, NULL, NULL);
    mlt_text_add(p->out, "%.3f\n", s);
}

static void write_ranks(const page *p, const mlt_live_sum *sum)
{
    static const char name[] = "millet_ranks";
    title(p, name, "gauge", "Ranks by what they do.");
    number(p, name, "state", "starting", sum->unborn);
    number(p, name, "state", "computing", sum->computing);
    number(p, name, "state", "waiting", sum->waiting);
    number(p, name, "state", "ended", sum->ended);
}

static void write_distances(const page *p, const char *name, const char *help, const uint64_t *n)
{
    title(p, name, "counter", help);
    for (int d = 0; d < MLT_CTL_DISTANCES; d++)
        number(p, name, "distance", mlt_live_distances[d], n[d]);
}

// Nothing of a job that does not use GPUs.
static bool has_copies(const mlt_live_sum *sum)
{
    uint64_t any = 0;
    for (int way = 0; way < MLT_CTL_COPIES; way++)
        any |= sum->copies[way];
    return any;
}

static void write_copies(const page *p, const char *name, const char *help, const uint64_t *n)
{
    title(p, name, "counter", help);
    for (int way = 0; way < MLT_CTL_COPIES; way++)
        number(p, name, "way", mlt_live_copies[way], n[way]);
}

static void write_calls(const page *p, const mlt_live_snap *snap)
{
    static const char name[] = "millet_waiting_ranks";
    uint32_t *calls = mlt_live_snap_calls(snap);
    title(p, name, "gauge",
          "Ranks that wait, by the call that they are in; of up to 4096 of a host.");
    for (uint32_t i = 0; i < snap->call_count; i++)
        number(p, name, "call", snap->calls[i].name, calls[i]);
    free(calls);
}

static void write_late(const page *p, const mlt_live_snap *snap)
{
    static const char name[] = "millet_late_rank_waiters";
    mlt_live_late late[LATE];
    uint32_t n = mlt_live_snap_late(snap, late, LATE);
    title(p, name, "gauge", "Ranks that wait for this one, which computes.");
    for (uint32_t i = 0; i < n && i < LATE; i++) {
        char rank[16];
        snprintf(rank, sizeof rank, "%u", late[i].rank);
        number(p, name, "rank", rank, late[i].others);
    }
}

// Those with the most in them; a scraper pays for each.
static void write_queues(const page *p, const mlt_live_snap *snap)
{
    static const char *const names[] = {"millet_queue_elements", "millet_queue_room"};
    static const char *const helps[] = {"Elements in a queue of flow, or a channel's buffer.",
                                        "Elements for which it has room."};
    for (int k = 0; k < 2; k++) {
        title(p, names[k], "gauge", helps[k]);
        for (uint32_t i = 0; i < snap->queue_count && i < QUEUES; i++) {
            const mlt_live_queue *q = &snap->queues[i];
            char worker[16];
            snprintf(worker, sizeof worker, "%u", q->worker);
            sample_begin(p, names[k]);
            add_pair(p, "queue", q->name);
            add_pair(p, "worker", worker);
            mlt_text_add(p->out, "} %u\n", k ? q->room : q->held);
        }
    }
}

static void write_measured(const page *p, const mlt_path_map *map)
{
    static const char *const titles[][2] = {
        {"millet_path_calls_total", "Calls that a path has counted."},
        {"millet_path_bytes_total", "Their bytes."},
        {"millet_path_cache_hits_total", "Gets that a cache has answered."},
        {"millet_path_cache_misses_total", "Gets that it could not answer."},
        {"millet_path_seconds_total", "Their time."},
    };
    enum { METRICS = sizeof titles / sizeof *titles, SECONDS = METRICS - 1 };
    for (int k = 0; k < METRICS; k++) {
        title(p, titles[k][0], "counter", titles[k][1]);
        for (size_t i = 0; i < map->path_count; i++) {
            const mlt_ctl_path *path = &map->paths[i];
            const uint64_t counts[SECONDS] = {path->calls, path->bytes, path->time[MLT_TIME_HIT].n,
                                              path->time[MLT_TIME_MISS].n};
            sample_begin(p, titles[k][0]);
            add_pair(p, "kind", path->collective);
            add_pair(p, "name", path->object);
            add_pair(p, "by", path->by);
            if (k == SECONDS)
                mlt_text_add(p->out, "} %.6f\n", (double)path->time[MLT_TIME_CALL].sum_ns / 1e9);
            else
                mlt_text_add(p->out, "} %" PRIu64 "\n", counts[k]);
        }
    }
}

static void one(const page *p, const char *name, const char *type, const char *help, uint64_t n)
{
    title(p, name, type, help);
    number(p, name, NULL, NULL, n);
}

void mlt_live_write_metrics(const mlt_live_job *job, const mlt_live_snap *snap, mlt_text *out)
{
    const page p = {out, job};
    mlt_live_sum sum = mlt_live_snap_sum(snap);
    title(&p, "millet_job_seconds", "gauge", "Time since the start of the job.");
    seconds(&p, "millet_job_seconds", (double)job->age_ms / 1e3);
    write_ranks(&p, &sum);
    write_calls(&p, snap);
    write_late(&p, snap);
    write_distances(&p, "millet_sent_messages_total", "Messages sent, by distance.", sum.messages);
    write_distances(&p, "millet_sent_bytes_total", "Bytes sent, by distance.", sum.bytes);
    if (has_copies(&sum)) {
        write_copies(&p, "millet_device_copies_total", "Copies by GPUs, by way.", sum.copies);
        write_copies(&p, "millet_device_bytes_total", "Bytes copied by GPUs, by way.",
                     sum.copy_bytes);
    }
    one(&p, "millet_eager_messages_total", "counter", "Messages sent with their data.", sum.eager);
    one(&p, "millet_rendezvous_messages_total", "counter",
        "Messages whose data waited for their receive.", sum.rendezvous);
    one(&p, "millet_switches_total", "counter", "Switches between ranks of a worker.",
        sum.switches);
    one(&p, "millet_unexpected_messages", "gauge", "Messages that wait for their receive.",
        sum.unexpected);
    one(&p, "millet_posted_receives", "gauge", "Receives that wait for their message.", sum.posted);
    one(&p, "millet_held_bytes", "gauge", "Bytes of messages that wait for their receive.",
        sum.held);
    one(&p, "millet_memory_bytes", "gauge", "Resident memory of all processes.", sum.memory);
    title(&p, "millet_cpu_seconds_total", "counter", "Processor time of all processes.");
    seconds(&p, "millet_cpu_seconds_total", (double)sum.cpu_ns / 1e9);
    write_queues(&p, snap);
    write_measured(&p, &snap->map);
    one(&p, "millet_unreadable_workers", "gauge", "Workers whose memory cannot be read.",
        sum.unreadable);
}

// ---- JSON

static void json_distances(mlt_text *out, const char *name, const uint64_t *n)
{
    mlt_text_add(out, " \"%s\": {", name);
    for (int d = 0; d < MLT_CTL_DISTANCES; d++)
        mlt_text_add(out, "%s\"%s\": %" PRIu64, d ? ", " : "", mlt_live_distances[d], n[d]);
    mlt_text_add(out, "},\n");
}

static void json_copies(mlt_text *out, const char *name, const uint64_t *n)
{
    mlt_text_add(out, " \"%s\": {", name);
    for (int way = 0; way < MLT_CTL_COPIES; way++)
        mlt_text_add(out, "%s\"%s\": %" PRIu64, way ? ", " : "", mlt_live_copies[way], n[way]);
    mlt_text_add(out, "},\n");
}

static void json_calls(const mlt_live_snap *snap, mlt_text *out)
{
    uint32_t *calls = mlt_live_snap_calls(snap);
    const char *comma = "";
    mlt_text_add(out, " \"calls\": [");
    for (uint32_t i = 0; i < snap->call_count; i++) {
        if (!calls[i])
            continue;
        mlt_text_add(out, "%s{\"call\": ", comma);
        mlt_text_json(out, snap->calls[i].name);
        mlt_text_add(out, ", \"ranks\": %u}", calls[i]);
        comma = ", ";
    }
    mlt_text_add(out, "],\n");
    free(calls);
}

static void json_late(const mlt_live_snap *snap, mlt_text *out)
{
    mlt_live_late late[LATE];
    uint32_t n = mlt_live_snap_late(snap, late, LATE);
    mlt_text_add(out, " \"late\": [");
    for (uint32_t i = 0; i < n && i < LATE; i++)
        mlt_text_add(out, "%s{\"rank\": %u, \"waiters\": %u}", i ? ", " : "", late[i].rank,
                     late[i].others);
    mlt_text_add(out, "],\n");
}

static void json_queues(const mlt_live_snap *snap, mlt_text *out)
{
    mlt_text_add(out, " \"queues\": [");
    for (uint32_t i = 0; i < snap->queue_count && i < QUEUES; i++) {
        const mlt_live_queue *q = &snap->queues[i];
        mlt_text_add(out, "%s\n  {\"queue\": ", i ? "," : "");
        mlt_text_json(out, q->name);
        mlt_text_add(out,
                     ", \"flow\": %s, \"worker\": %u, \"held\": %u, \"room\": %u, "
                     "\"writer_waits\": %s, \"reader_waits\": %s}",
                     q->flow ? "true" : "false", q->worker, q->held, q->room,
                     q->blocked ? "true" : "false", q->starved ? "true" : "false");
    }
    mlt_text_add(out, "],\n");
}

static void json_paths(const mlt_path_map *map, mlt_text *out)
{
    mlt_text_add(out, " \"paths\": [");
    for (size_t i = 0; i < map->path_count; i++) {
        const mlt_ctl_path *p = &map->paths[i];
        mlt_text_add(out, "%s\n  {\"kind\": ", i ? "," : "");
        mlt_text_json(out, p->collective);
        mlt_text_add(out, ", \"name\": ");
        mlt_text_json(out, p->object);
        mlt_text_add(out, ", \"wrappers\": ");
        mlt_text_json(out, p->stack);
        mlt_text_add(out, ", \"by\": ");
        mlt_text_json(out, p->by);
        mlt_text_add(out,
                     ", \"calls\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"seconds\": %.6f, "
                     "\"delay_seconds\": %.6f, \"cache_hits\": %" PRIu64
                     ", \"cache_misses\": %" PRIu64 "}",
                     p->calls, p->bytes, (double)p->time[MLT_TIME_CALL].sum_ns / 1e9,
                     (double)p->time[MLT_TIME_DELAY].sum_ns / 1e9, p->time[MLT_TIME_HIT].n,
                     p->time[MLT_TIME_MISS].n);
    }
    mlt_text_add(out, "],\n");
}

static void json_worker(const mlt_live_worker *w, mlt_text *out)
{
    uint64_t messages = 0, bytes = 0;
    for (int d = 0; d < MLT_CTL_DISTANCES; d++) {
        messages += w->messages[d];
        bytes += w->bytes[d];
    }
    mlt_text_add(out,
                 "  {\"worker\": %u, \"process\": %u, \"host\": %u, \"first_rank\": %u, \"ranks\": "
                 "%u, \"waiting\": %u, \"ended\": %u, \"messages\": %" PRIu64
                 ", \"bytes\": %" PRIu64 ", \"held_bytes\": %" PRIu64 ", \"known\": %s}",
                 w->worker, w->proc, w->host, w->first_rank, w->ranks, w->waiting, w->ended,
                 messages, bytes, w->held, w->unreadable || w->unborn ? "false" : "true");
}

void mlt_live_write_json(const mlt_live_job *job, const mlt_live_snap *snap, mlt_text *out)
{
    mlt_live_sum sum = mlt_live_snap_sum(snap);
    mlt_text_add(out, "{\"job\": %u, \"program\": ", job->pid);
    mlt_text_json(out, job->program);
    mlt_text_add(out, ", \"seconds\": %.3f,\n \"hosts\": %u, \"processes\": %u, \"workers\": %u,\n",
                 (double)job->age_ms / 1e3, job->hosts, job->procs, job->workers);
    mlt_text_add(out,
                 " \"ranks\": {\"all\": %u, \"starting\": %" PRIu64 ", \"computing\": %" PRIu64
                 ", \"waiting\": %" PRIu64 ", \"ended\": %" PRIu64 "},\n",
                 job->ranks, sum.unborn, sum.computing, sum.waiting, sum.ended);
    json_distances(out, "messages", sum.messages);
    json_distances(out, "bytes", sum.bytes);
    if (has_copies(&sum)) {
        json_copies(out, "device_copies", sum.copies);
        json_copies(out, "device_bytes", sum.copy_bytes);
    }
    mlt_text_add(out,
                 " \"eager\": %" PRIu64 ", \"rendezvous\": %" PRIu64 ", \"switches\": %" PRIu64
                 ",\n \"unexpected\": %" PRIu64 ", \"posted\": %" PRIu64
                 ", \"held_bytes\": %" PRIu64 ",\n \"memory_bytes\": %" PRIu64
                 ", \"cpu_seconds\": %.3f,\n",
                 sum.eager, sum.rendezvous, sum.switches, sum.unexpected, sum.posted, sum.held,
                 sum.memory, (double)sum.cpu_ns / 1e9);
    json_calls(snap, out);
    json_late(snap, out);
    json_queues(snap, out);
    json_paths(&snap->map, out);
    mlt_text_add(out, " \"per_worker\": [\n");
    for (uint32_t i = 0; i < snap->worker_count; i++) {
        json_worker(&snap->workers[i], out);
        mlt_text_add(out, "%s", i + 1 < snap->worker_count ? ",\n" : "");
    }
    mlt_text_add(out, "]}\n");
}
