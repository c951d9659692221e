// SPDX-License-Identifier: BSD-3-Clause
#include "goal/exec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/event.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/upcalls.h"
#include "fiber/policy.h"
#include "os/os.h"
#include "p2p/now.h"
#include "p2p/worker.h"

enum { LONG_BYTES = 32 << 10 }; // of an operation: handing it to another thread takes as long
enum { FUNCTION_LEFT = 1 }; // of an offset in ready[]: the message has come, its function is to run

// ---- spans

static inline unsigned char *address(const mlt_run *run, uint32_t buf, uint64_t at,
                                     unsigned char *nowhere)
{
    if (MLT_LIKELY(buf < run->sched->buffers))
        return (unsigned char *)((uintptr_t)run->base[buf] + at);
    return buf == MLT_GOAL_ADDRESS ? (unsigned char *)(uintptr_t)at : nowhere;
}

static inline const mlt_act_exec *exec_of(const mlt_act *act)
{
    int kind = act->type & MLT_ACT_KIND;
    bool plain = kind == MLT_GOAL_EXEC || kind == MLT_GOAL_USER;
    return (const mlt_act_exec *)((const unsigned char *)(act + 1) +
                                  (plain ? 0 : sizeof(mlt_act_message)));
}

static inline uint32_t offset_of(const mlt_run *run, const mlt_act *act)
{
    return (uint32_t)((const unsigned char *)act - run->sched->code);
}

// ---- functions

static void call_user(const mlt_run *run, const mlt_act_exec *e)
{
    mlt_run_operands operands = {
        .result = address(run, e->buf[0], e->at[0], run->nowhere_in),
        .second = address(run, e->buf[1], e->at[1], run->nowhere_out),
        .bytes = e->size[0],
        .second_bytes = e->size[1],
        .reversed = e->flags & MLT_GOAL_REVERSED,
        .scratch = run->scratch,
    };
    // Whose stack this is does not matter, but what it says is said by the run's rank.
    void *running = mlt_fiber_user;
    mlt_fiber_user = run->place->rank;
    run->function[e->user](run->argument[e->user], &operands);
    mlt_fiber_user = running;
}

static void call_kernel(const mlt_run *run, const mlt_act_exec *e)
{
    // All predefined operations commute, except copy, which reversed keeps what is there.
    if (e->op == MLT_OP_COPY && (e->flags & MLT_GOAL_REVERSED))
        return;
    mlt_op_kernels[e->op][e->type](address(run, e->buf[0], e->at[0], run->nowhere_in),
                                   address(run, e->buf[1], e->at[1], run->nowhere_out),
                                   e->size[0] / mlt_op_type_bytes[e->type]);
}

static MLT_COLD void keep_busy(uint64_t ns)
{
    uint64_t begun = mlt_os_now_ns();
    while (mlt_os_now_ns() - begun < ns)
        mlt_arch_pause();
}

static inline void call(const mlt_run *run, const mlt_act *act)
{
    int kind = act->type & MLT_ACT_KIND;
    if (MLT_UNLIKELY(kind == MLT_GOAL_CALC))
        keep_busy(((const mlt_act_calc *)(act + 1))->ns);
    else if (kind == MLT_GOAL_USER || kind == MLT_GOAL_RECV_USER)
        call_user(run, exec_of(act));
    else
        call_kernel(run, exec_of(act));
}

static bool is_long(const mlt_act *act)
{
    int kind = act->type & MLT_ACT_KIND;
    return kind == MLT_GOAL_USER || kind == MLT_GOAL_RECV_USER || kind == MLT_GOAL_CALC ||
           exec_of(act)->size[0] >= LONG_BYTES;
}

// Runs the function of an action. False: others will.
static inline bool exec_work(mlt_run *run, const mlt_act *act)
{
    if (MLT_UNLIKELY(run->aside != NULL) && is_long(act)) {
        run->aside(run, offset_of(run, act));
        return false;
    }
    call(run, act);
    return true;
}

static inline bool has_function(const mlt_act *act)
{
    int kind = act->type & MLT_ACT_KIND;
    return kind == MLT_GOAL_RECV_EXEC || kind == MLT_GOAL_RECV_USER;
}

// ---- what may start

static inline void push(mlt_run *run, uint32_t offset)
{
    run->ready[run->last++ & run->mask] = offset;
}

static inline uint32_t exec_take(mlt_run *run)
{
    uint32_t *next = &run->ready[run->first & run->mask];
    if (MLT_UNLIKELY(run->random)) {
        uint32_t n = run->last - run->first;
        uint32_t *pick =
            &run->ready[(run->first + mlt_policy_pick(run->place->rank->worker->sched, n)) &
                        run->mask];
        uint32_t offset = *pick;
        *pick = *next;
        *next = offset;
    }
    run->first++;
    return *next;
}

// One more source of each has been seen.
static inline void count_up(mlt_run *run, const mlt_act_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const mlt_act *act = mlt_goal_sched_act(run->sched, list->offset[i]);
        if (++run->seen[act->index] < act->sources)
            continue;
        if (MLT_UNLIKELY(run->slides) && act >= run->edge)
            continue; // the window will come to it
        run->seen[act->index] = 0;
        push(run, list->offset[i]);
    }
}

// The window reaches one action more.
static void admit(mlt_run *run)
{
    const mlt_act *act = run->edge;
    run->edge = mlt_act_next(act);
    if (run->seen[act->index] < act->sources)
        return;
    run->seen[act->index] = 0;
    push(run, offset_of(run, act));
}

static MLT_COLD void slide(mlt_run *run, const mlt_act *act)
{
    run->over[act->index] = 1;
    while (run->oldest < run->edge && run->over[run->oldest->index]) {
        run->over[run->oldest->index] = 0;
        run->oldest = mlt_act_next(run->oldest);
        if (run->edge < run->end)
            admit(run);
    }
}

static void complete(mlt_run *run)
{
    run->running = run->stepping = false;
    run->done->status = run->status;
    if (run->ended)
        run->ended(run);
    mlt_req_complete(run->done); // last: its owner may free the run
}

// True: it was the last one, and the run may be gone.
static inline bool finish(mlt_run *run, const mlt_act *act)
{
    if (MLT_UNLIKELY(run->order != NULL))
        run->order[run->finished] = offset_of(run, act);
    run->finished++;
    const mlt_act_list *list = mlt_act_dependents(act);
    if (list->count)
        count_up(run, list);
    if (MLT_UNLIKELY(run->slides))
        slide(run, act);
    if (--run->left > 0)
        return false;
    complete(run);
    return true;
}

// ---- messages

static MLT_COLD void note_fault(mlt_run *run, const mlt_act *act, const mlt_req *req)
{
    bool sized = req->sent == req->count;
    if (run->status != MLT_OK || (sized && run->differs && !run->differs(run, req)))
        return;
    run->status = sized                              ? MLT_ERR_DISAGREE
                  : req->status == MLT_ERR_TRUNCATED ? MLT_ERR_TRUNCATED
                                                     : MLT_ERR_INVALID;
    run->fault = act;
    run->fault_code = req->sent_type;
    run->fault_bytes = req->sent;
    run->fault_from = req->from;
}

static inline void look_at_received(mlt_run *run, const mlt_act *act, const mlt_req *req)
{
    if (req->kind == MLT_REQ_RECV &&
        MLT_UNLIKELY((req->sent ^ req->count) | (uint64_t)(req->sent_type ^ run->received.code)))
        note_fault(run, act, req);
}

// Predefined functions start nothing and suspend nobody: while one of them is next, it runs right
// here. True: it was the last action, and the run may be gone.
static bool step_in_memory(mlt_run *run)
{
    while (run->first != run->last && !MLT_UNLIKELY(run->random)) {
        uint32_t offset = run->ready[run->first & run->mask];
        const mlt_act *act = mlt_goal_sched_act(run->sched, offset & ~(uint32_t)FUNCTION_LEFT);
        int kind = act->type & MLT_ACT_KIND;
        if (kind != MLT_GOAL_EXEC && !(kind == MLT_GOAL_RECV_EXEC && (offset & FUNCTION_LEFT)))
            break;
        if (act->type & MLT_ACT_STARTERS || (run->aside && is_long(act)))
            break;
        run->first++;
        call_kernel(run, exec_of(act));
        if (finish(run, act))
            return true;
    }
    return false;
}

// A message is done while it was not being started: in somebody's progress, send or receive.
static void message_done(mlt_req *req)
{
    mlt_run *run = req->owner;
    const mlt_act *act = req->extra;
    if (run->starting == req)
        return;
    look_at_received(run, act, req);
    if (has_function(act))
        push(run, offset_of(run, act) | FUNCTION_LEFT);
    else if (finish(run, act))
        return;
    if (!run->stepping && step_in_memory(run))
        return;
    if (run->first != run->last && !run->stepping && !run->queued) {
        run->queued = true;
        mlt_worker_later(req->rank->worker, &run->work);
    }
}

static inline int32_t wire_tag(const mlt_run *run, const mlt_act_message *m)
{
    uint32_t low = run->sched->flags & MLT_GOAL_SCHED_PLAIN ? (uint32_t)m->tag : m->slot;
    return (int32_t)((low < MLT_RUN_WIDE_SLOTS ? run->low_tag : run->tag) | low);
}

// What never changes is filled in when the run is made.
static inline mlt_req *fill(mlt_run *run, const mlt_act *act, const mlt_act_message *m,
                            unsigned char *buf, const mlt_type *type, int32_t peer)
{
    const mlt_run_place *place = run->place;
    mlt_req *req = &run->requests[m->request];
    req->mode = m->flags & MLT_GOAL_SYNCHRONOUS ? MLT_MODE_SYNC : MLT_MODE_STANDARD;
    req->rank = place->rank;
    mlt_req_message(req, buf, m->size, type, place->context, place->self, peer, wire_tag(run, m));
    req->extra = (void *)(uintptr_t)act;
    return req;
}

static inline bool start_send(mlt_run *run, const mlt_act *act)
{
    const mlt_act_message *m = mlt_act_message_of(act);
    const mlt_run_place *place = run->place;
    unsigned char *buf = address(run, m->buf, m->at, run->nowhere_out);
    int32_t dest = mlt_run_world(place, m->peer);
    const mlt_envelope e = {.bytes = m->size,
                            .context = place->context,
                            .src = place->self,
                            .tag = wire_tag(run, m),
                            .type = run->sent.code};
    if (!(m->flags & MLT_GOAL_SYNCHRONOUS) && (mlt_p2p_send_small(place->rank, buf, dest, e) ||
                                               mlt_p2p_send_now(place->rank, buf, dest, &e)))
        return true;
    mlt_req *req = fill(run, act, m, buf, &run->sent, dest);
    run->starting = req;
    mlt_p2p_send(req);
    run->starting = NULL;
    return req->done;
}

static inline bool start_recv(mlt_run *run, const mlt_act *act)
{
    const mlt_act_message *m = mlt_act_message_of(act);
    mlt_req *req = fill(run, act, m, address(run, m->buf, m->at, run->nowhere_in), &run->received,
                        m->peer == MLT_GOAL_ANY ? MLT_ANY_SOURCE : m->peer);
    run->starting = req;
    mlt_p2p_recv(req);
    run->starting = NULL;
    if (!req->done)
        return false;
    look_at_received(run, act, req);
    return true;
}

// ---- running

// Starts an action; true if it has finished.
static inline bool start(mlt_run *run, const mlt_act *act)
{
    int kind = act->type & MLT_ACT_KIND;
    bool done = true;
    switch ((mlt_goal_kind)kind) {
    case MLT_GOAL_SEND:
        done = start_send(run, act);
        break;
    case MLT_GOAL_RECV:
    case MLT_GOAL_RECV_EXEC:
    case MLT_GOAL_RECV_USER:
        done = start_recv(run, act);
        break;
    default:
        break;
    }
    if (MLT_UNLIKELY(act->type & MLT_ACT_STARTERS))
        count_up(run, mlt_act_starters(act));
    if (done && (mlt_act_parameter_bytes[kind] >= sizeof(mlt_act_exec) ||
                 (kind == MLT_GOAL_CALC && MLT_UNLIKELY(run->takes_time))))
        return exec_work(run, act);
    return done;
}

// Starts what may start until nothing is left; the run may be gone then.
static void step(mlt_run *run)
{
    run->stepping = true;
    while (run->first != run->last) {
        uint32_t offset = exec_take(run);
        const mlt_act *act = mlt_goal_sched_act(run->sched, offset & ~(uint32_t)FUNCTION_LEFT);
        bool done = true;
        if (offset & FUNCTION_LEFT)
            done = exec_work(run, act);
        else
            done = start(run, act);
        if (done && finish(run, act))
            return;
    }
    run->stepping = false;
}

static void step_later(mlt_work *later)
{
    mlt_run *run = mlt_container_of(later, mlt_run, work);
    run->queued = false;
    step(run);
}

void mlt_run_work(mlt_run *run, uint32_t offset)
{
    const mlt_act *act = mlt_goal_sched_act(run->sched, offset);
    int kind = act->type & MLT_ACT_KIND;
    bool scratch = (kind == MLT_GOAL_USER || kind == MLT_GOAL_RECV_USER) &&
                   exec_of(act)->flags & MLT_GOAL_REVERSED;
    if (scratch)
        pthread_mutex_lock(&run->scratch_turn);
    call(run, act);
    if (scratch)
        pthread_mutex_unlock(&run->scratch_turn);
}

void mlt_run_worked(mlt_run *run, uint32_t offset)
{
    mlt_assert(run->running && !run->stepping);
    if (!finish(run, mlt_goal_sched_act(run->sched, offset)))
        step(run);
}

// A send to somebody else.
static inline bool is_outward(const mlt_run *run, const mlt_act *act)
{
    return (act->type & MLT_ACT_KIND) == MLT_GOAL_SEND &&
           mlt_act_message_of(act)->peer != run->place->self;
}

// What depends on nothing. True: that was all, and the run may be gone. Where every other rank is
// of another worker, what is sent to them goes first, as somebody waits for it; where a peer may
// share the worker, or is the rank itself, what is received, as its message is then copied once.
static inline bool start_independent(mlt_run *run)
{
    const mlt_act_list *list = mlt_goal_sched_independent(run->sched);
    bool sends = run->place->rank->worker->count == 1;
    for (uint32_t i = 0; sends && !run->random && !run->apart && i < list->count; i++) {
        const mlt_act *act = mlt_goal_sched_act(run->sched, list->offset[i]);
        if (is_outward(run, act) && start(run, act) && finish(run, act))
            return true;
    }
    for (uint32_t i = 0; i < list->count; i++) {
        const mlt_act *act = mlt_goal_sched_act(run->sched, list->offset[i]);
        if (MLT_UNLIKELY(run->random || run->apart))
            push(run, list->offset[i]);
        else if (!(sends && is_outward(run, act)) && start(run, act) && finish(run, act))
            return true;
    }
    return false;
}

// Not of schedules with wildcards: which message such a receive gets is the trace's to tell.
static MLT_COLD void tell_started(mlt_run *run, uint32_t number)
{
    const mlt_run_place *place = run->place;
    mlt_worker *worker = place->rank->worker;
    uint32_t numbers = place->wide ? MLT_RUN_WIDE_NUMBERS : MLT_RUN_NUMBERS;
    mlt_event event = {.kind = MLT_EVENT_STARTED,
                       .how = place->wide,
                       .peer = -1,
                       .number = number % numbers,
                       .context = place->context,
                       .run = run};
    if (worker->watched & MLT_WATCH_TRACE && mlt_upcalls.event &&
        !(run->sched->flags & MLT_GOAL_SCHED_PLAIN))
        mlt_upcalls.event(worker, place->rank, &event);
}

void mlt_run_start(mlt_run *run, const mlt_run_place *place, uint32_t number, mlt_req *done)
{
    const mlt_goal_sched *sched = run->sched;
    mlt_assert(!run->running);
    run->place = place;
    run->done = done;
    run->tag = mlt_run_tags(number, place->wide, &run->low_tag);
    run->status = MLT_OK;
    run->finished = run->first = run->last = 0;
    run->left = sched->actions;
    if (!run->left) {
        complete(run);
        return;
    }
    if (MLT_UNLIKELY(place->rank->worker->watched))
        tell_started(run, number);
    run->random = mlt_policy_is_random(place->rank->worker->sched);
    run->running = run->stepping = true;
    if (MLT_UNLIKELY(run->slides)) {
        run->oldest = run->edge = mlt_goal_sched_first(sched);
        for (uint32_t i = 0; i < sched->window && run->edge < run->end; i++)
            admit(run);
        step(run);
        return;
    }
    if (start_independent(run))
        return;
    if (MLT_UNLIKELY(run->apart)) {
        run->stepping = false;
        run->queued = true;
        mlt_worker_later(place->rank->worker, &run->work);
        return;
    }
    step(run);
}

// ---- making one

typedef struct needs {
    uint64_t most;               // may have
    uint64_t result[2], out, in; // bytes
} needs;

static void need_nowhere(uint64_t *most, uint32_t buf, uint64_t size)
{
    if (buf == MLT_GOAL_NOWHERE && size > *most)
        *most = size;
}

static bool look_at_message(const mlt_goal_sched *sched, const mlt_act *act, uint32_t number,
                            needs *n, char *why, size_t why_size)
{
    const mlt_act_message *m = mlt_act_message_of(act);
    bool plain = sched->flags & MLT_GOAL_SCHED_PLAIN;
    bool sends = (act->type & MLT_ACT_KIND) == MLT_GOAL_SEND;
    need_nowhere(sends ? &n->out : &n->in, m->buf, m->size);
    if (m->peer >= (int32_t)sched->ranks)
        snprintf(why, why_size, "action %u of rank %u names rank %d, but there are %u ranks",
                 number, sched->rank, m->peer, sched->ranks);
    else if (plain && m->tag < 0)
        snprintf(why, why_size,
                 "action %u of rank %u receives with any tag, which the simulator understands; to "
                 "be run, a receive names its tag",
                 number, sched->rank);
    else if (plain && m->tag >= MLT_RUN_SLOTS)
        snprintf(why, why_size,
                 "action %u of rank %u has tag %d, but where some rank receives from any rank, "
                 "tags should be below %d",
                 number, sched->rank, m->tag, MLT_RUN_SLOTS);
    else if (!plain && m->slot >= MLT_RUN_SLOTS)
        snprintf(
            why, why_size,
            "rank %u has more than %d messages %s rank %d in one schedule; cut it into several",
            sched->rank, MLT_RUN_SLOTS, sends ? "to" : "from", m->peer);
    else
        return true;
    return false;
}

static bool look_at_exec(const mlt_goal_sched *sched, const mlt_act *act, uint32_t number, needs *n,
                         char *why, size_t why_size)
{
    const mlt_act_exec *e = exec_of(act);
    int kind = act->type & MLT_ACT_KIND;
    need_nowhere(&n->in, e->buf[0], e->size[0]);
    need_nowhere(&n->out, e->buf[1], e->size[1]);
    if (kind == MLT_GOAL_EXEC || kind == MLT_GOAL_RECV_EXEC)
        return true;
    if (e->size[0] > n->most || e->size[1] > n->most)
        return mlt_deny(why, why_size,
                        "action %u of rank %u gives a user's function %" PRIu64
                        " bytes, but sizes are at most %" PRIu64 " there",
                        number, sched->rank, e->size[e->size[0] <= n->most], n->most);
    bool reversed = e->flags & MLT_GOAL_REVERSED;
    if (reversed && e->size[0] != e->size[1])
        return mlt_deny(why, why_size,
                        "action %u of rank %u gives a user's function reversed operands of %" PRIu64
                        " and %" PRIu64 " bytes, but both should have the same size",
                        number, sched->rank, e->size[0], e->size[1]);
    if (e->size[0] > n->result[reversed])
        n->result[reversed] = e->size[0];
    return true;
}

static bool look_at_code(const mlt_goal_sched *sched, needs *n, char *why, size_t why_size)
{
    const mlt_act *act = mlt_goal_sched_first(sched);
    for (uint32_t i = 0; i < sched->actions; i++, act = mlt_act_next(act)) {
        uint32_t number = sched->origin ? sched->origin[i] : i;
        int kind = act->type & MLT_ACT_KIND;
        bool sends = kind == MLT_GOAL_SEND, receives = kind == MLT_GOAL_RECV || has_function(act);
        if ((sends || receives) && !look_at_message(sched, act, number, n, why, why_size))
            return false;
        if (mlt_act_parameter_bytes[kind] >= sizeof(mlt_act_exec) &&
            !look_at_exec(sched, act, number, n, why, why_size))
            return false;
    }
    return true;
}

static mlt_req *new_requests(mlt_run *run, uint32_t count)
{
    mlt_req *requests = mlt_xcalloc(count, sizeof *requests);
    for (uint32_t i = 0; i < count; i++) {
        mlt_req_init(&requests[i], NULL, MLT_REQ_RECV); // a start says which rank, and what it is
        requests[i].done = true;                        // not under way
        requests[i].on_done = message_done;
        requests[i].owner = run;
    }
    return requests;
}

mlt_status mlt_run_new(const mlt_goal_sched *sched, uint64_t most, mlt_run **out, char *why,
                       size_t why_size)
{
    needs n = {.most = most};
    *out = NULL;
    if (!look_at_code(sched, &n, why, why_size))
        return MLT_ERR_INVALID;
    mlt_run *run = mlt_xcalloc(1, sizeof *run);
    run->sched = sched;
    run->work.run = step_later;
    run->scratch_turn = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    run->slides = sched->window && !(sched->flags & MLT_GOAL_SCHED_SEGMENTS);
    run->base = mlt_xcalloc(sched->buffers, sizeof *run->base);
    run->function = mlt_xcalloc(sched->users, sizeof *run->function);
    run->argument = mlt_xcalloc(sched->users, sizeof *run->argument);
    memcpy(run->result_bytes, n.result, sizeof n.result);
    run->sent = run->received = *MLT_TYPE_BYTE;
    run->requests = new_requests(run, sched->requests);
    run->seen = mlt_xcalloc(sched->indices, sizeof *run->seen);
    while (run->mask + 1 < sched->indices)
        run->mask = 2 * run->mask + 1;
    run->ready = mlt_xcalloc((uint64_t)run->mask + 1, sizeof *run->ready);
    run->nowhere_out = n.out ? mlt_xcalloc(n.out, 1) : NULL;
    run->nowhere_in = n.in ? mlt_xcalloc(n.in, 1) : NULL;
    run->over = run->slides ? mlt_xcalloc(sched->indices, 1) : NULL;
    run->end = mlt_goal_sched_act(sched, (uint32_t)sched->bytes);
    *out = run;
    return MLT_OK;
}

void mlt_run_free(mlt_run *run)
{
    if (!run)
        return;
    mlt_assert(!run->running && !run->queued);
    void *parts[] = {run->base,  run->function,    run->argument,   run->requests, run->seen,
                     run->ready, run->nowhere_out, run->nowhere_in, run->over,     run};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        free(parts[i]);
}

uint32_t mlt_run_action(const mlt_run *run, const mlt_act *act)
{
    const mlt_act *at = mlt_goal_sched_first(run->sched);
    uint32_t i = 0;
    for (; at < act; at = mlt_act_next(at))
        i++;
    return run->sched->origin ? run->sched->origin[i] : i;
}

uint32_t mlt_run_frontier(const mlt_run *run, const mlt_req **out, uint32_t most)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < run->sched->requests; i++)
        if (!run->requests[i].done) {
            if (n < most)
                out[n] = &run->requests[i];
            n++;
        }
    return n;
}
