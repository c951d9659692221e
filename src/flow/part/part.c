// SPDX-License-Identifier: BSD-3-Clause
// The bodies of tasks that are not modules.
//
// Broadcast: each element, from whichever line, goes to all lines out. Receivers share it. One that
// writes to it, or takes it to another worker of this process, gets a copy, unless it is the last
// one (element/element.h, conn.c).
//
// Deal: to each receiver in turn. A receiver that has ended keeps its turns, and their elements are
// lost: so the receiver of the n-th element depends on n alone, not on when somebody ends. Collect:
// from each sender in turn; a sender that has ended is left out.
//
// All of them end when no more input comes, or when all receivers have ended.
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "flow/conn.h"
#include "flow/part/part_int.h"
#include "p2p/worker.h"

// ---- handing out

bool mlt_flow_spread(flow_instance *task, mlt_flow_element *e)
{
    bool taken = false;
    e->refs += task->outs - 1;
    for (uint32_t i = 0; i < task->outs; i++)
        taken |= mlt_flow_put(&task->out[i], e);
    return taken;
}

// ---- taking from several lines, in the order of arrival as far as it is known

typedef struct merged {
    flow_instance *task;
    mlt_flow_element *e; // what a guard has read
    csp_guard *guards;   // [live]; NULL: there is one line only
    mlt_flow_inlet **in; // [live]
    uint32_t live, turn;
} merged;

static void merged_begin(merged *m, flow_instance *task)
{
    *m = (merged){.task = task, .live = task->ins};
    if (task->ins == 1)
        return;
    m->guards = mlt_xcalloc(task->ins, sizeof *m->guards);
    m->in = mlt_xcalloc(task->ins, sizeof *m->in);
    for (uint32_t i = 0; i < task->ins; i++) {
        m->in[i] = &task->in[i];
        m->guards[i] = csp_on_read(task->in[i].in, &m->e);
    }
}

static void merged_end(merged *m)
{
    free(m->guards);
    free(m->in);
}

static void part_leave_out(merged *m, uint32_t i)
{
    m->live--;
    memmove(m->in + i, m->in + i + 1, (m->live - i) * sizeof *m->in);
    memmove(m->guards + i, m->guards + i + 1, (m->live - i) * sizeof *m->guards);
}

// Waits. NULL: all lines have ended.
static mlt_flow_element *merged_next(merged *m)
{
    if (!m->guards)
        return mlt_flow_take(&m->task->in[0]);
    while (m->live) {
        for (uint32_t n = 0; n < m->live; n++) {
            uint32_t i = (m->turn + n) % m->live;
            if (m->in[i]->chan->held == 0)
                continue;
            m->turn = i + 1;
            return mlt_flow_take(m->in[i]);
        }
        int i = csp_alt(m->guards, m->live);
        if (m->guards[i].status == CSP_OK)
            return mlt_flow_taken(m->task->program, m->e);
        part_leave_out(m, (uint32_t)i);
    }
    return NULL;
}

// ---- bodies

static int run_broadcast(flow_instance *task)
{
    merged m;
    mlt_flow_element *e;
    merged_begin(&m, task);
    while ((e = merged_next(&m)) && mlt_flow_spread(task, e)) {
    }
    merged_end(&m);
    return 0;
}

static int run_deal(flow_instance *task)
{
    merged m;
    mlt_flow_element *e;
    uint32_t turn = 0, refused = 0; // refused: how many turns in a row
    merged_begin(&m, task);
    while (refused < task->outs && (e = merged_next(&m))) {
        refused = mlt_flow_put(&task->out[turn], e) ? 0 : refused + 1;
        turn = turn + 1 < task->outs ? turn + 1 : 0;
    }
    merged_end(&m);
    return 0;
}

static int run_collect(flow_instance *task)
{
    uint32_t live = task->ins, turn = 0;
    mlt_flow_inlet **in = mlt_xcalloc(live, sizeof *in);
    for (uint32_t i = 0; i < live; i++)
        in[i] = &task->in[i];
    while (live) {
        mlt_flow_element *e = mlt_flow_take(in[turn]);
        if (e) {
            if (!mlt_flow_spread(task, e))
                break; // nobody takes it
            turn++;
        } else {
            live--;
            memmove(in + turn, in + turn + 1, (live - turn) * sizeof *in);
        }
        if (turn == live)
            turn = 0;
    }
    free(in);
    return 0;
}

// A Reduce that is all on one worker.
static int run_reduce(flow_instance *task)
{
    mlt_flow_combiner c;
    mlt_flow_element *e;
    mlt_flow_combiner_init(&c, task);
    c.brackets = true;
    while ((e = mlt_flow_combine_next(&c)) && mlt_flow_spread(task, e)) {
    }
    mlt_flow_combiner_fini(&c);
    return 0;
}

bool mlt_flow_part_of(const mlt_flow_program *program, uint32_t task)
{
    const mlt_flow_task *t = &program->lowered->tasks[task];
    return t->kind == MLT_FLOW_REDUCE && t->reduction != UINT32_MAX &&
           program->parts->of[t->reduction] != NULL;
}

int mlt_flow_part_run(flow_instance *task)
{
    const mlt_flow_task *t = &task->program->lowered->tasks[task->task];
    const struct mlt_flow_parts *parts = task->program->parts;
    switch ((mlt_flow_kind)t->kind) {
    case MLT_FLOW_REDUCE:
        return mlt_flow_part_of(task->program, task->task)
                   ? mlt_flow_part_reduce(parts->of[t->reduction])
                   : run_reduce(task);
    case MLT_FLOW_BROADCAST:
        return run_broadcast(task);
    case MLT_FLOW_DEAL:
        return run_deal(task);
    case MLT_FLOW_COLLECT:
        return run_collect(task);
    default:
        mlt_fatal("a task of kind %d is no collective", t->kind);
    }
}

// ---- begin and end

// A collective has no queues of its own: in reports it waits for those of its senders.
static void name_inlets(const mlt_flow_program *program)
{
    const mlt_flow_graph *g = program->graph;
    for (uint32_t i = 0; i < program->instance_count; i++) {
        const flow_instance *task = &program->instances[i];
        for (uint32_t k = 0; !task->module && k < task->ins; k++) {
            csp_chan *chan = task->in[k].chan;
            const mlt_flow_line *line = &program->lowered->lines[task->in[k].line];
            mlt_flow_out_name(g, &g->edges[line->edge], chan->name, sizeof chan->name);
        }
    }
}

void mlt_flow_parts_begin(mlt_flow_program *program)
{
    const mlt_flow_lowered *l = program->lowered;
    name_inlets(program);
    struct mlt_flow_parts *parts = program->parts = mlt_xcalloc(1, sizeof *parts);
    parts->count = l->reduction_count;
    parts->of = mlt_xcalloc(parts->count ? parts->count : 1, sizeof(mlt_flow_part *));
    mlt_ledger_init(&parts->ledger);
    parts->ledger.choices = program->csp->worker->boot->job->profile;
    for (uint32_t r = 0; r < parts->count; r++)
        for (uint32_t m = 0; l->reductions[r].members > 1 && m < l->reductions[r].members; m++)
            if (l->reductions[r].worker[m] == program->worker)
                parts->of[r] = mlt_flow_part_new(program, r, m);
}

void mlt_flow_parts_end(mlt_flow_program *program)
{
    struct mlt_flow_parts *parts = program->parts;
    if (!parts)
        return;
    for (uint32_t r = 0; r < parts->count; r++)
        if (parts->of[r])
            mlt_flow_part_free(parts->of[r]); // and tells the ledger
    const mlt_worker *worker = program->csp->worker;
    mlt_ledger_send(&parts->ledger, worker->boot->ctl, worker->index);
    mlt_ledger_fini(&parts->ledger);
    free(parts->of);
    free(parts);
    program->parts = NULL;
}
