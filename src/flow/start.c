// SPDX-License-Identifier: BSD-3-Clause
// What a worker has of a program before anything runs: its instances in the order of their places,
// with inlets, outlets and queues. They are in one arena, for there may be a hundred thousand
// instances.
#include <millet/csp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "csp/chan.h"
#include "csp/intercept.h"
#include "flow/conn.h"
#include "flow/graph/arena.h"
#include "flow/run.h"
#include "flow/settings.h"
#include "flow/stats.h"

enum { START_NAME = MLT_FLOW_NAME, START_LINE = 64 };

static const flow_module *module_of(const mlt_flow_program *p, uint32_t task)
{
    const mlt_flow_task *t = &p->lowered->tasks[task];
    return t->kind == MLT_FLOW_MODULE ? mlt_flow_vector_of(p->graph, t->node)->module : NULL;
}

// ---- instances

static void make_queues(flow_instance *instance, mlt_flow_arena *memory)
{
    const flow_module *m = instance->module;
    instance->my = mlt_flow_arena_take(memory, m->bytes);
    instance->queues = mlt_flow_arena_take(memory, m->queue_count * sizeof *instance->queues);
    for (size_t i = 0; i < m->queue_count; i++) {
        flow_queue *queue = &instance->queues[i];
        const flow_queue_decl *decl = &m->queues[i];
        mlt_assert(decl->offset + sizeof queue <= m->bytes);
        *queue = (flow_queue){.instance = instance, .decl = decl};
        if (decl->input)
            queue->in = &instance->in[i];
        else
            queue->out = &instance->out[i];
        memcpy((char *)instance->my + decl->offset, &queue, sizeof queue);
    }
}

static void make_self(flow_instance *instance)
{
    const mlt_flow_program *p = instance->program;
    const mlt_flow_task *task = &p->lowered->tasks[instance->task];
    const mlt_flow_vector *vector = mlt_flow_vector_of(p->graph, task->node);
    flow_self *self = instance->my;
    *self = (flow_self){.name = instance->name,
                        .module = instance->module->name,
                        .index = task->node - vector->first,
                        .count = vector->count,
                        .argc = p->argc,
                        .argv = p->argv,
                        .instance = instance};
}

static void make_instance(mlt_flow_program *p, flow_instance *instance, uint32_t task,
                          mlt_flow_arena *memory)
{
    char name[START_NAME];
    const mlt_flow_lowered *l = p->lowered;
    const flow_module *m = module_of(p, task);
    *instance = (flow_instance){.program = p, .task = task, .module = m};
    mlt_flow_task_name(l, task, name, sizeof name);
    instance->name = mlt_flow_arena_text(memory, name, strlen(name));
    instance->ins = m ? (uint32_t)m->queue_count : mlt_flow_index_count(l->in.first, task);
    instance->outs = m ? (uint32_t)m->queue_count : mlt_flow_index_count(l->out.first, task);
    instance->in = mlt_flow_arena_take(memory, instance->ins * sizeof *instance->in);
    instance->out = mlt_flow_arena_take(memory, instance->outs * sizeof *instance->out);
    for (uint32_t i = 0; i < instance->ins; i++)
        instance->in[i] = (mlt_flow_inlet){
            .program = p, .task = task, .queue = (uint16_t)(m ? i : 0), .line = MLT_FLOW_NO_LINE};
    for (uint32_t i = 0; i < instance->outs; i++)
        instance->out[i] = (mlt_flow_outlet){
            .program = p, .task = task, .queue = (uint16_t)(m ? i : 0), .line = MLT_FLOW_NO_LINE};
    if (!m)
        return;
    make_queues(instance, memory);
    make_self(instance);
}

// Instances by place, in the order of tasks.
static void make_instances(mlt_flow_program *p)
{
    const mlt_flow_lowered *l = p->lowered;
    uint32_t first_rank = (uint32_t)p->csp->worker->first_rank;
    p->place_first = mlt_xcalloc(p->ranks_here + 2, sizeof *p->place_first);
    p->instance_of = mlt_xcalloc(l->task_count + 1, sizeof *p->instance_of);
    for (uint32_t t = 0; t < l->task_count; t++) {
        if (l->tasks[t].worker != p->worker)
            continue;
        mlt_assert(l->tasks[t].place - first_rank < p->ranks_here);
        p->place_first[l->tasks[t].place - first_rank + 2]++;
        p->instance_count++;
    }
    for (uint32_t r = 0; r < p->ranks_here; r++)
        p->place_first[r + 2] += p->place_first[r + 1];
    p->memory = mlt_flow_arena_new(START_LINE);
    p->instances = mlt_flow_arena_take(p->memory, p->instance_count * sizeof *p->instances);
    for (uint32_t t = 0; t < l->task_count; t++) {
        p->instance_of[t] = UINT32_MAX;
        if (l->tasks[t].worker != p->worker)
            continue;
        // The entry of the next place counts up from where this place begins to where it ends.
        p->instance_of[t] = p->place_first[l->tasks[t].place - first_rank + 1]++;
        make_instance(p, &p->instances[p->instance_of[t]], t, p->memory);
    }
}

// ---- lines

// What lines lead to an inlet: how much room it needs.
typedef struct lines_in {
    uint32_t count, locals, cap;
    uint64_t room;
    bool declared; // a cap was
} lines_in;

static void make_chan(mlt_flow_inlet *inlet, const lines_in *lines)
{
    const mlt_flow_program *p = inlet->program;
    char from[START_NAME], name[START_NAME];
    mlt_flow_line_names(p->lowered, inlet->line, from, name, START_NAME);
    inlet->cap = lines->cap;
    inlet->bytes_most = lines->declared ? UINT64_MAX : MLT_FLOW_BYTES;
    inlet->mixed = lines->locals > 0 && lines->locals < lines->count;
    inlet->chan =
        mlt_chan_make(p->csp, name, sizeof(mlt_flow_element *), lines->room + lines->cap, false);
    inlet->chan->queue = inlet;
    inlet->traced = mlt_flow_conf_now.traced;
    inlet->chan->waits[MLT_READS].wait.call = "flow_dequeue";
    inlet->chan->waits[MLT_WRITES].wait.call = "flow_send";
    inlet->in = csp_chan_in(inlet->chan);
}

static void add_line(const mlt_flow_program *p, lines_in *to, const mlt_flow_line *line)
{
    to->count++;
    to->declared |= !line->by_bytes;
    if (p->lowered->tasks[line->from].worker != p->worker) {
        to->room += line->cap;
        return;
    }
    to->locals++;
    if (line->cap > to->cap)
        to->cap = line->cap;
}

// The inlets of an instance. Lines of a module's queue go to the inlet of that queue.
static void make_inlets(mlt_flow_program *p, flow_instance *instance, lines_in *lines)
{
    const mlt_flow_lowered *l = p->lowered;
    uint32_t first = l->in.first[instance->task],
             count = mlt_flow_index_count(l->in.first, instance->task);
    memset(lines, 0, instance->ins * sizeof *lines);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = l->in.list[first + i];
        uint32_t at = instance->module ? l->lines[number].in : i;
        mlt_flow_inlet *inlet = &instance->in[at];
        mlt_assert(at < instance->ins && (!instance->module || instance->queues[at].in));
        if (inlet->line == MLT_FLOW_NO_LINE)
            inlet->line = number;
        p->inlet_of[number] = inlet;
        add_line(p, &lines[at], &l->lines[number]);
    }
    for (uint32_t i = 0; i < instance->ins; i++) {
        if (lines[i].count == 0)
            continue;
        make_chan(&instance->in[i], &lines[i]);
        // Ends of lines from elsewhere are the connections'.
        for (uint32_t n = lines[i].locals; n < lines[i].count; n++)
            (void)csp_chan_out(instance->in[i].chan);
    }
}

static void make_outlets(mlt_flow_program *p, flow_instance *instance)
{
    const mlt_flow_lowered *l = p->lowered;
    uint32_t first = l->out.first[instance->task],
             count = mlt_flow_index_count(l->out.first, instance->task);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = l->out.list[first + i];
        uint32_t at = instance->module ? l->lines[number].out : i;
        mlt_flow_outlet *outlet = &instance->out[at];
        mlt_assert(at < instance->outs && (!instance->module || instance->queues[at].out));
        mlt_assert(outlet->line == MLT_FLOW_NO_LINE);
        outlet->line = number;
        outlet->to = p->inlet_of[number];
        if (outlet->to)
            outlet->out = csp_chan_out(outlet->to->chan);
    }
}

// Queues of modules that a rule book has a way for, by the names of where their lines end.
static void wrap_queues(const mlt_flow_program *p, flow_instance *instance)
{
    char from[START_NAME], to[START_NAME];
    for (size_t i = 0; instance->module && i < instance->module->queue_count; i++) {
        flow_queue *queue = &instance->queues[i];
        uint32_t line = queue->in ? queue->in->line : queue->out->line;
        if (line == MLT_FLOW_NO_LINE ||
            !mlt_csp_has_interceptor(MLT_INTERCEPT_QUEUE,
                                     mlt_flow_line_names(p->lowered, line, from, to, START_NAME)))
            continue;
        if (queue->in)
            queue->wrapped = true;
        else
            queue->out->wrapped = true;
        if (queue->out && queue->out->to)
            queue->out->to->wrapped = true;
    }
}

void mlt_flow_start(mlt_flow_program *p)
{
    uint32_t most = 0;
    mlt_flow_elements_init(&p->elements);
    make_instances(p);
    p->inlet_of = mlt_xcalloc(p->lowered->line_count + 1, sizeof(mlt_flow_inlet *));
    for (uint32_t i = 0; i < p->instance_count; i++)
        most = p->instances[i].ins > most ? p->instances[i].ins : most;
    lines_in *lines = mlt_xcalloc(most + 1, sizeof *lines);
    for (uint32_t i = 0; i < p->instance_count; i++)
        make_inlets(p, &p->instances[i], lines);
    for (uint32_t i = 0; i < p->instance_count; i++)
        make_outlets(p, &p->instances[i]);
    for (uint32_t i = 0; i < p->instance_count && mlt_interceptors_current(); i++)
        wrap_queues(p, &p->instances[i]);
    free(lines);
    mlt_flow_conns_begin(p);
    mlt_flow_parts_begin(p);
}

void mlt_flow_start_free(mlt_flow_program *p)
{
    for (uint32_t i = 0; i < p->instance_count; i++)
        for (uint32_t k = 0; k < p->instances[i].ins; k++)
            csp_chan_free(p->instances[i].in[k].chan);
    free(p->inlet_of);
    free(p->instance_of);
    free(p->place_first);
    mlt_flow_arena_free(p->memory);
    mlt_pool_fini(&p->elements);
}
