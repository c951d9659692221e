// SPDX-License-Identifier: BSD-3-Clause
// A Reduce that has parts on several workers: each round is a run of its GOAL schedule between
// them, and several are under way at once.
//
//     contributors here ── combine ── start run n ┐                    one process
//                                                 │ the worker's progress drives the runs
//     receivers here <──── result n <── run n over┘ in order           another one
//
// There are two processes, because neither may hold up the other: the first waits for the next
// elements, the second for room at receivers. A worker that does not receive has no second process:
// the result of a run is dropped when the run is over. A worker that does not contribute has one
// process for both, and starts a run when the leader (the first contributing worker) has announced
// it.
//
// A worker may start a round if fewer than MLT_FLOW_ROUNDS are under way there. The leader, and
// workers that do not wait for results, must also be less than MLT_FLOW_AHEAD rounds ahead of the
// slowest worker that receives (news.c). So a slow receiver parks the contributors, wherever they
// are.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "csp/chan.h"
#include "csp/proc.h"
#include "flow/conn.h"
#include "flow/help.h"
#include "flow/part/part_int.h"
#include "p2p/context.h"
#include "p2p/worker.h"

// Elements under way on this worker have at most so many bytes, unless there are only two.
static const uint64_t most_bytes = 8u << 20;
static const uint64_t short_bytes = 128u << 10;

// What processes wait for, in reports.
static const mlt_wait room_wait = {.call = "waits until others have taken results",
                                   .kind = MLT_WAIT_OTHER};
static const mlt_wait last_wait = {.call = "waits until its last elements have left",
                                   .kind = MLT_WAIT_OTHER};
static const char for_here[] = "waits for the next elements of this worker",
                  for_others[] = "waits for what other workers contribute";

// ---- parts

static int32_t speaker(const void *speakers, int32_t member)
{
    return ((const int32_t *)speakers)[member];
}

static void make_team(mlt_flow_part *part)
{
    static const mlt_coll_sources none;
    const mlt_flow_program *p = part->program;
    const mlt_flow_reduction *r = part->reduction;
    const mlt_flow_sites *sites = p->sites;
    mlt_worker *w = p->csp->worker;
    part->speakers = mlt_xcalloc(r->members, sizeof *part->speakers);
    for (uint32_t m = 0, place = 0; m < r->members; m++) { // both ascend
        while (sites->worker_of[place] != r->worker[m])
            place++;
        part->speakers[m] = (int32_t)place;
    }
    char name[64];
    mlt_team_facts f = {
        .worker = w,
        .ranks = r->members,
        .workers = r->members,
        .place = part->self,
        .contiguous = true,
        .flat = true,
        .crowded = !w->boot->job->membarrier,
        .sources = &none,
        .name = mlt_flow_node_name(p->graph, r->node, name, sizeof name),
        .member = "part",
        .ledger = &p->parts->ledger,
    };
    f.ordinary = (mlt_run_place){
        .rank = &w->ranks[(uint32_t)part->speakers[part->self] - w->first_rank],
        .context = MLT_CONTEXT_FLOW + 2 + 2 * part->number,
        .self = (int32_t)part->self,
        .world = speaker,
        .group = part->speakers,
    };
    f.fixed = f.ordinary; // nobody uses it
    f.fixed.context++;
    part->team = mlt_team_new(&f);
}

mlt_flow_part *mlt_flow_part_new(mlt_flow_program *program, uint32_t reduction, uint32_t self)
{
    const mlt_flow_reduction *r = &program->lowered->reductions[reduction];
    mlt_flow_part *part = mlt_xcalloc(1, sizeof *part);
    *part = (mlt_flow_part){
        .program = program,
        .reduction = r,
        .number = reduction,
        .self = self,
        .leader = UINT32_MAX,
        .contributes = r->contributes[self],
        .receives = r->receives[self],
        .result_wait = {.call = r->contributes[self] ? for_here : for_others,
                        .kind = MLT_WAIT_OTHER},
        .ends_at = UINT64_MAX,
        .stops_at = UINT64_MAX,
    };
    for (uint32_t m = 0; m < r->members; m++) {
        part->contributors += r->contributes[m];
        part->receivers += r->receives[m];
        if (r->contributes[m] && part->leader == UINT32_MAX)
            part->leader = m;
    }
    char name[64];
    mlt_flow_node_name(program->graph, r->node, name, sizeof name);
    part->results = mlt_xcalloc(sizeof name + 32, 1);
    snprintf(part->results, sizeof name + 32, "results of %s on worker %u", name, program->worker);
    part->rounds = mlt_xcalloc(MLT_FLOW_ROUNDS, sizeof *part->rounds);
    if (self == part->leader)
        part->passed = mlt_xcalloc(r->members, sizeof *part->passed);
    make_team(part);
    mlt_flow_combiner_init(&part->combiner,
                           &program->instances[program->instance_of[r->task[self]]]);
    return part;
}

void mlt_flow_part_free(mlt_flow_part *part)
{
    mlt_team_free(part->team);
    mlt_flow_combiner_fini(&part->combiner);
    free(part->speakers);
    free(part->results);
    free(part->rounds);
    free(part->coming);
    free(part->own);
    free(part->theirs);
    free(part->passed);
    free(part);
}

static void wake(mlt_flow_part *part, mlt_fiber **who)
{
    mlt_fiber *fiber = *who;
    *who = NULL;
    if (fiber)
        mlt_fiber_wake(part->program->csp->sched, fiber);
}

void mlt_flow_part_wake(mlt_flow_part *part)
{
    wake(part, &part->starter);
    wake(part, &part->deliverer);
}

static void park(mlt_flow_part *part, mlt_fiber **as, const mlt_wait *wait)
{
    mlt_sched *sched = part->program->csp->sched;
    *as = sched->current;
    mlt_fiber_park(sched, wait);
    *as = NULL;
}

// ---- rounds

static mlt_flow_round *round_of(const mlt_flow_part *part, uint64_t n)
{
    return &part->rounds[n % MLT_FLOW_ROUNDS];
}

// The message of another part does not fit this part's own element.
static _Noreturn MLT_COLD void sizes_differ(mlt_flow_part *part, uint64_t n)
{
    const mlt_flow_round *r = round_of(part, n);
    const mlt_run *run = r->instance->run;
    const mlt_flow_program *p = part->program;
    uint32_t from = (uint32_t)run->fault_from, here = part->contributes ? part->self : part->leader;
    if (!run->fault || from >= part->reduction->members)
        mlt_flow_fault(part->combiner.task, "reduction %s: %s", part->combiner.name,
                       part->team->why);
    if (!part->reduction->contributes[from]) // it has the size that the leader said
        from = part->leader;
    char one[96], other[96], nth[32];
    if (r->done.status == MLT_ERR_DISAGREE) // as many bytes of another type, or another operation
        mlt_flow_fault(part->combiner.task,
                       "reduction %s: the %s element of %s has other values than that of %s: %s",
                       part->combiner.name, mlt_flow_ordinal(n + 1, nth, sizeof nth),
                       mlt_flow_feeder(p, mlt_flow_part_line(part, here), one, sizeof one),
                       mlt_flow_feeder(p, mlt_flow_part_line(part, from), other, sizeof other),
                       part->team->why);
    mlt_flow_fault(part->combiner.task,
                   "reduction %s: the %s element of %s has %llu bytes, but that of %s has %llu",
                   part->combiner.name, mlt_flow_ordinal(n + 1, nth, sizeof nth),
                   mlt_flow_feeder(p, mlt_flow_part_line(part, here), one, sizeof one),
                   (unsigned long long)r->bytes,
                   mlt_flow_feeder(p, mlt_flow_part_line(part, from), other, sizeof other),
                   (unsigned long long)run->fault_bytes);
}

// The oldest round is over, and its result, if there is one, is the caller's.
static void retire(mlt_flow_part *part)
{
    mlt_flow_round *r = round_of(part, part->retired);
    if (MLT_UNLIKELY(r->done.status != MLT_OK))
        sizes_differ(part, part->retired);
    part->bytes -= r->bytes;
    part->retired++;
    if (part->retired == part->started && part->contributes)
        part->result_wait.call = for_here;
    wake(part, &part->starter);
}

static void round_over(mlt_req *done)
{
    mlt_flow_round *r = mlt_container_of(done, mlt_flow_round, done);
    mlt_flow_part *part = r->part;
    r->over = true;
    if (r->bytes >= MLT_FLOW_HELPED)
        mlt_flow_help_less(part->program, r->plain);
    if (r->in)
        mlt_flow_element_drop(r->in);
    r->in = NULL;
    if (part->receives) {
        if (r == round_of(part, part->retired))
            wake(part, &part->deliverer);
        return;
    }
    while (part->retired < part->started && round_of(part, part->retired)->over)
        retire(part);
}

static void round_emit(const mlt_coll_what *what, mlt_goal_program *program, uint32_t rank)
{
    const mlt_flow_reduction *r = what->custom;
    mlt_coll_shape shape = {
        .ranks = r->members,
        .count = what->count,
        .op = what->op->op,
        .type = what->op->op == MLT_OPS ? MLT_OP_UINT8 : what->op->type,
        .element = what->element,
        .contributes = r->contributes,
        .receives = r->receives,
    };
    mlt_flow_reduction_emit(r, &shape, program, rank);
}

static bool has_room(const mlt_flow_part *part, uint64_t bytes)
{
    uint64_t under_way = part->started - part->retired;
    bool waits = part->receives && part->self != part->leader; // for results, so for the leader
    return under_way < MLT_FLOW_ROUNDS && !part->deaf &&
           (under_way < 2 || part->bytes + bytes <= most_bytes) &&
           (waits || part->started < part->go + MLT_FLOW_AHEAD);
}

// Where workers share cores, those of a reduction of short elements let each other run before they
// sleep (p2p/worker.h), between its rounds too: the two reductions of Figure 5 on two cores take
// half the processor's time. With long elements that gains nothing.
static inline void linger(mlt_flow_part *part, bool lingers)
{
    mlt_worker *w = part->program->csp->worker;
    w->together += (uint32_t)lingers - (uint32_t)part->lingers;
    part->lingers = lingers;
}

// It goes to all receivers of this worker.
static mlt_flow_element *new_result(const flow_instance *task, uint64_t bytes)
{
    return task->outs == 1 && task->out[0].conn && bytes > MLT_FLOW_SMALL
               ? mlt_flow_conn_new(task->out[0].conn, bytes)
               : mlt_flow_element_new(bytes);
}

static void start_run(mlt_flow_part *part, const mlt_flow_how *how, mlt_flow_element *in,
                      uint64_t bytes)
{
    uint64_t n = part->started++;
    part->result_wait.call = for_others;
    mlt_flow_round *r = round_of(part, n);
    char why[256];
    mlt_coll_what what = {
        .collective = MLT_COLL_REDUCE_TO,
        .element = how->op.element,
        .count = bytes / how->op.element,
        .op = &how->op,
        .emit = round_emit,
        .custom = part->reduction,
    };
    r->part = part;
    r->over = false;
    r->plain = how->op.kernel == NULL;
    if (bytes >= MLT_FLOW_HELPED)
        mlt_flow_help_more(part->program, r->plain);
    r->in = in;
    r->out = NULL;
    r->bytes = bytes;
    if (part->receives) {
        r->out = new_result(part->combiner.task, bytes);
        r->out->kind = how->kind;
        r->out->value_bytes = how->value_bytes;
    }
    mlt_req_init(&r->done, part->team->ordinary.rank, MLT_REQ_OTHER);
    r->done.on_done = round_over;
    part->bytes += bytes;
    linger(part, bytes <= short_bytes);
    mlt_plan *plan = mlt_plan_of(part->team, &what, why, sizeof why);
    if (MLT_UNLIKELY(!plan))
        mlt_flow_fault(part->combiner.task, "reduction %s: %s", part->combiner.name, why);
    r->instance = mlt_instance_take(part->team, plan);
    mlt_instance_start(r->instance, &what, in ? mlt_flow_data(in) : NULL,
                       r->out ? mlt_flow_data(r->out) : NULL, n, false, &r->done);
}

// ---- a worker that contributes

static void start_round(mlt_flow_part *part, mlt_flow_element *e)
{
    while (part->started < part->stops_at && !has_room(part, e->bytes))
        park(part, &part->starter, &room_wait);
    if (MLT_UNLIKELY(part->started >= part->stops_at)) { // it came to be known meanwhile
        mlt_flow_element_drop(e);
        return;
    }
    if (MLT_UNLIKELY(part->started >= part->ends_at))
        mlt_flow_unequal(&part->combiner, mlt_flow_part_line(part, part->ends_who), part->ends_at,
                         mlt_flow_part_line(part, part->self));
    const mlt_flow_how *how = mlt_flow_how_of(&part->combiner, e->kind, e->value_bytes, 0);
    mlt_flow_tell_round(part, e);
    start_run(part, how, e, e->bytes);
    if (MLT_UNLIKELY(part->their_count > 0))
        mlt_flow_compare(part);
}

// Result part->retired is there.
static void deliver(mlt_flow_part *part)
{
    mlt_flow_element *e = round_of(part, part->retired)->out;
    retire(part);
    mlt_flow_tell_retired(part);
    if (part->is_closed) {
        mlt_flow_element_drop(e);
    } else if (!mlt_flow_spread(part->combiner.task, e)) {
        part->is_closed = true;
        mlt_flow_tell_closed(part);
    }
}

static bool is_there(const mlt_flow_part *part)
{
    return part->retired < part->started && round_of(part, part->retired)->over;
}

// No more results will come.
static bool is_last(const mlt_flow_part *part)
{
    return part->retired >= part->stops_at ||
           (part->ended == part->contributors && part->retired >= part->ends_at);
}

static int hand_out(void *arg)
{
    mlt_flow_part *part = arg;
    while (!is_last(part))
        if (is_there(part))
            deliver(part);
        else
            park(part, &part->deliverer, &part->result_wait);
    return 0;
}

// For hang reports: the process of the results writes to the receivers, not the task's own process.
static int results_main(void *arg)
{
    const mlt_flow_part *part = arg;
    const flow_instance *task = part->combiner.task;
    for (uint32_t i = 0; i < task->outs; i++)
        if (task->out[i].to)
            task->out[i].to->chan->last_user[MLT_WRITES] = part->program->csp->sched->current;
    return hand_out(arg);
}

static csp_child *fork_results(mlt_flow_part *part)
{
    const flow_instance *task = part->combiner.task;
    for (uint32_t i = 0; i < task->outs; i++)
        if (task->out[i].to)
            mlt_proc_lets_go(part->program->csp, task->out[i].to->chan, true);
    part->program->processes++;
    return csp_fork(results_main, part, part->results);
}

static int contribute(mlt_flow_part *part)
{
    mlt_flow_element *e;
    csp_child *results = part->receives ? fork_results(part) : NULL;
    while (part->started < part->stops_at && (e = mlt_flow_combine_next(&part->combiner)))
        start_round(part, e);
    if (part->started < part->stops_at)
        mlt_flow_tell_end(part);
    if (results)
        return csp_join(results);
    while (part->retired < part->started)
        park(part, &part->starter, &last_wait);
    return 0;
}

// ---- a worker that receives only

static int receive(mlt_flow_part *part)
{
    uint32_t line = mlt_flow_part_line(part, part->leader);
    while (!is_last(part)) {
        const mlt_flow_coming *c = part->started < part->announced
                                       ? &part->coming[part->started % part->coming_room]
                                       : NULL;
        if (c && has_room(part, c->bytes))
            start_run(part, mlt_flow_how_of(&part->combiner, c->kind, c->value_bytes, line), NULL,
                      c->bytes);
        else if (is_there(part))
            deliver(part);
        else
            park(part, &part->deliverer, &part->result_wait);
    }
    return 0;
}

int mlt_flow_part_reduce(mlt_flow_part *part)
{
    int result = part->contributes ? contribute(part) : receive(part);
    linger(part, false);
    return result;
}
