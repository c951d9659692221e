// SPDX-License-Identifier: BSD-3-Clause
// A line's sender and its receiver know different numbers, on different workers. All workers have
// the same lines, so each fills in what it knows, and a sum over the workers brings all of it to
// rank 0.
#include "flow/stats.h"

#include <errno.h>
#include <inttypes.h>
#include <millet/csp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "boot/ctl.h"
#include "flow/run.h"
#include "flow/settings.h"
#include "p2p/worker.h"

enum { STATS_NAME = 256, MOST_TOLD = 20 };

typedef struct numbers {
    long elements, bytes, deepest, blocked_ns, starved_ns;
} numbers;
_Static_assert(sizeof(numbers) % sizeof(long) == 0, "they are added up as longs");

// ---- gathering

// Numbers of queues of modules, one after the other, for what was dropped.
static size_t queues_before(const mlt_flow_graph *g, uint32_t vector)
{
    size_t n = 0;
    for (uint32_t v = 0; v < vector; v++)
        n += g->vectors[v].kind == MLT_FLOW_MODULE ? g->vectors[v].module->queue_count : 0;
    return n;
}

static void note_own(const mlt_flow_program *p, numbers *of, long *dropped)
{
    const mlt_flow_lowered *l = p->lowered;
    for (uint32_t i = 0; i < p->instance_count; i++) {
        const flow_instance *instance = &p->instances[i];
        for (uint32_t k = 0; k < instance->outs; k++) {
            const mlt_flow_outlet *outlet = &instance->out[k];
            const mlt_flow_stats *s = &outlet->stats;
            if (outlet->line != MLT_FLOW_NO_LINE) {
                of[outlet->line].elements = (long)s->elements;
                of[outlet->line].bytes = (long)s->bytes;
                of[outlet->line].blocked_ns = (long)s->blocked_ns;
            } else if (s->dropped) {
                uint32_t vector = p->graph->vector_of[l->tasks[instance->task].node];
                dropped[queues_before(p->graph, vector) + k] += (long)s->dropped;
            }
        }
    }
    for (uint32_t i = 0; i < l->line_count; i++)
        if (p->inlet_of[i]) {
            of[i].deepest = (long)p->inlet_of[i]->stats.deepest;
            of[i].starved_ns = (long)p->inlet_of[i]->stats.starved_ns;
        }
}

// ---- the file

static void write_file(const mlt_flow_program *p, const numbers *of, const char *path)
{
    char from[STATS_NAME], to[STATS_NAME];
    const mlt_flow_lowered *l = p->lowered;
    FILE *file = fopen(path, "w");
    if (!file) {
        mlt_log("setting flow_report: %s cannot be written: %s", path, strerror(errno));
        return;
    }
    fputs(MLT_FLOW_STATS_HEAD, file);
    for (uint32_t w = 0; w < p->sites->workers; w++)
        for (uint32_t i = 0; i < l->line_count; i++) {
            const mlt_flow_line *line = &l->lines[i];
            const numbers *n = &of[i];
            if (l->tasks[line->to].worker != w)
                continue;
            mlt_flow_line_names(l, i, from, to, STATS_NAME);
            fprintf(file, "%s\t%s\t%ld\t%ld\t%ld\t%ld\t%ld\t%" PRIu32 "\n", to, from, n->elements,
                    n->bytes, n->deepest, n->blocked_ns, n->starved_ns, w);
        }
    if (fclose(file) != 0)
        mlt_log("setting flow_report: %s cannot be written: %s", path, strerror(errno));
}

const char *mlt_flow_line_names(const mlt_flow_lowered *l, uint32_t number, char *from, char *to,
                                size_t size)
{
    const mlt_flow_line *line = &l->lines[number];
    const mlt_flow_task *a = &l->tasks[line->from], *b = &l->tasks[line->to];
    // Ends at modules are the graph's queues; others are called by their collective.
    mlt_flow_edge edge = {.from = a->node, .to = b->node, .out = line->out, .in = line->in};
    mlt_flow_out_name(l->graph, &edge, from, size);
    mlt_flow_in_name(l->graph, &edge, to, size);
    return to;
}

// ---- for mpirun: by vector

typedef struct sums {
    uint64_t key;
    mlt_ctl_queue told;
} sums;

static void stats_end_name(const mlt_flow_graph *g, uint32_t vector, uint16_t queue, char *text,
                           size_t size)
{
    const mlt_flow_vector *v = &g->vectors[vector];
    if (v->kind == MLT_FLOW_MODULE)
        snprintf(text, size, "%s.%s", v->name, v->module->queues[queue].name);
    else
        snprintf(text, size, "%s", v->name);
}

static int by_key(const void *a, const void *b)
{
    const sums *x = a, *y = b;
    return x->key < y->key ? -1 : x->key > y->key;
}

static int by_traffic(const void *a, const void *b)
{
    const mlt_ctl_queue *x = &((const sums *)a)->told, *y = &((const sums *)b)->told;
    if (x->elements != y->elements)
        return x->elements < y->elements ? 1 : -1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return by_key(a, b);
}

// The line of its inlet that the inlet's numbers are counted with.
static bool stats_is_first(const mlt_flow_lowered *l, uint32_t number)
{
    const mlt_flow_line *line = &l->lines[number];
    if (l->tasks[line->to].kind != MLT_FLOW_MODULE)
        return true;
    for (uint32_t i = l->in.first[line->to]; i < l->in.first[line->to + 1]; i++)
        if (l->lines[l->in.list[i]].in == line->in)
            return l->in.list[i] == number;
    return true;
}

static void add(mlt_ctl_queue *to, const mlt_ctl_queue *more)
{
    to->lines += more->lines;
    to->elements += more->elements;
    to->bytes += more->bytes;
    to->blocked_ns += more->blocked_ns;
    to->starved_ns += more->starved_ns;
    if (more->deepest > to->deepest)
        to->deepest = more->deepest;
}

// One for each line, then sums of those that are alike. Returns how many.
static size_t sum_up(const mlt_flow_lowered *l, const numbers *of, sums *out)
{
    const mlt_flow_graph *g = l->graph;
    for (uint32_t i = 0; i < l->line_count; i++) {
        const mlt_flow_line *line = &l->lines[i];
        uint64_t from = g->vector_of[l->tasks[line->from].node];
        uint64_t to = g->vector_of[l->tasks[line->to].node];
        out[i].key =
            from << 44 | to << 24 | (uint64_t)(line->out & 0xfff) << 12 | (line->in & 0xfff);
        mlt_ctl_queue *q = &out[i].told;
        stats_end_name(g, (uint32_t)from, line->out, q->from, sizeof q->from);
        stats_end_name(g, (uint32_t)to, line->in, q->to, sizeof q->to);
        q->lines = 1;
        q->elements = (uint64_t)of[i].elements;
        q->bytes = (uint64_t)of[i].bytes;
        q->deepest = (uint64_t)of[i].deepest;
        q->blocked_ns = (uint64_t)of[i].blocked_ns;
        q->starved_ns = stats_is_first(l, i) ? (uint64_t)of[i].starved_ns : 0;
    }
    if (l->line_count)
        qsort(out, l->line_count, sizeof *out, by_key);
    size_t n = 0;
    for (uint32_t i = 0; i < l->line_count; i++)
        if (n > 0 && out[n - 1].key == out[i].key)
            add(&out[n - 1].told, &out[i].told);
        else
            out[n++] = out[i];
    return n;
}

// Elements that went nowhere.
static size_t add_dropped(const mlt_flow_graph *g, const long *dropped, sums *out)
{
    size_t n = 0, at = 0;
    for (uint32_t v = 0; v < g->vector_count; v++)
        for (uint16_t k = 0;
             g->vectors[v].kind == MLT_FLOW_MODULE && k < g->vectors[v].module->queue_count;
             k++, at++) {
            if (dropped[at] == 0)
                continue;
            mlt_ctl_queue *q = &out[n].told;
            out[n++].key = UINT64_MAX - at;
            stats_end_name(g, v, k, q->from, sizeof q->from);
            q->elements = (uint64_t)dropped[at];
        }
    return n;
}

static void tell_launcher(const mlt_flow_program *p, const numbers *of, const long *dropped,
                          size_t queues)
{
    sums *all = mlt_xcalloc(p->lowered->line_count + queues + 1, sizeof *all);
    size_t n = sum_up(p->lowered, of, all);
    // Lines that were summed up are still there: begin with zeros.
    memset(all + n, 0, (p->lowered->line_count + queues - n) * sizeof *all);
    n += add_dropped(p->graph, dropped, all + n);
    if (n)
        qsort(all, n, sizeof *all, by_traffic);
    size_t told = n < MOST_TOLD ? n : MOST_TOLD;
    mlt_ctl_queue body[MOST_TOLD];
    for (size_t i = 0; i < told; i++)
        body[i] = all[i].told;
    mlt_ctl head = {.type = MLT_CTL_QUEUES,
                    .rank = 0,
                    .value = (int64_t)told,
                    .detail = (uint32_t)(n - told),
                    .length = (uint32_t)(told * sizeof *body)};
    (void)mlt_ctl_send(p->csp->worker->boot->ctl, &head, body); // it is for reading only
    free(all);
}

// ---- all ranks

void mlt_flow_stats_tell(mlt_flow_program *p)
{
    if (!p->measures)
        return;
    const mlt_worker *worker = p->csp->worker;
    size_t lines = p->lowered->line_count, queues = queues_before(p->graph, p->graph->vector_count);
    bool speaks = csp_node() == worker->first_rank;
    csp_group *workers = csp_nodes() > 1 ? csp_group_of_nodes("flow report", speaks) : NULL;
    if (speaks) {
        size_t longs = lines * (sizeof(numbers) / sizeof(long)) + queues;
        long *own = mlt_xcalloc(longs + 1, sizeof *own), *all = own;
        note_own(p, (numbers *)own, own + (longs - queues));
        if (workers) {
            all = mlt_xcalloc(longs + 1, sizeof *all);
            (void)csp_group_reduce(workers, csp_group_first(workers), own, all, longs,
                                   &csp_sum_long, 0);
        }
        if (csp_node() == 0 && *mlt_flow_conf_now.report)
            write_file(p, (const numbers *)all, mlt_flow_conf_now.report);
        if (csp_node() == 0 && (worker->boot->job->profile || mlt_flow_conf_now.traced))
            tell_launcher(p, (const numbers *)all, all + (longs - queues), queues);
        if (all != own)
            free(all);
        free(own);
    }
    csp_group_free(workers);
}
