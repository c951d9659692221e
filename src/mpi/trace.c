// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/trace.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "base/upcalls.h"
#include "mpi/comm/agreement.h"
#include "mpi/self.h"
#include "mpi/settings.h"
#include "mpi/trace_run.h"

static _Atomic uint32_t tracing; // workers of the process

enum { BRIEF_NS = 5000 }; // it takes about that long to let somebody else run

void mlt_mpi_trace_joined(void)
{
    const char *path = mlt_mpi_settings.trace;
    char why[256];
    if (path && *path && mlt_trace_begin(path, why, sizeof why) != MLT_OK)
        mlt_fatal("%s", why);
    if (mlt_trace_runs())
        mlt_mpi_take_detour(MLT_DETOUR_USUAL);
}

// ---- facts

static const char *const distances[] = {"same worker", "same process", "same host", "other host"};
static const char *const ways[] = {"copied once", "copied by both", "read", "chunks", "connection"};
static const char *const trace_waits[] = {
    "work",        "a message",    "a receiver", "a probe", "all of some",
    "one of some", "a collective", "something",  "nothing", "a CSP process",
    "time",        "a descriptor", "a window"};

// By mlt_csp_wait_kind.
static const char *const inner_waits[] = {
    "a writer",  "a reader",  "an alternation", "a barrier",  "its processes",
    "a process", "time",      "a descriptor",   "a port",     "room at a port",
    "a name",    "an answer", "a group",        "the program"};
// By mlt_ctl_window.
static const char *const window_waits[] = {"answers", "a lock", "locks", "posts", "completes"};
// By MLT_COPY_INSIDE and the like.
static const char *const copy_ways[MLT_CTL_COPIES] = {"on the device",    "device to host",
                                                      "host to device",   "between processes",
                                                      "through the host", "a collective call"};
static const char *const traced[] = {"pauses", "goes on"};
enum { ELEMENT, ROOM, ROOM_ELSEWHERE, LIFE };
static const char *const flow_waits[] = {"an element", "room", "room on another worker",
                                         "its life"};

static void add_names(mlt_text *text, mlt_trace_kind kind, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mlt_text_add(text, "how\t%s\t%zu\t%s\n", mlt_trace_kind_names[kind], i, names[i]);
}

#define ADD_NAMES(text, kind, names) add_names(text, kind, names, sizeof(names) / sizeof *(names))

// What any worker may say: only the first one does.
static void add_tables(mlt_text *text)
{
    for (int fn = 1; fn < MLT_FN_NAMES; fn++)
        mlt_text_add(text, "fn\t%d\t%s\n", fn, mlt_fn_name((uint16_t)fn));
    ADD_NAMES(text, MLT_TRACE_SENT, distances);
    ADD_NAMES(text, MLT_TRACE_ONE_SIDED, distances);
    ADD_NAMES(text, MLT_TRACE_PART_SEND, distances);
    ADD_NAMES(text, MLT_TRACE_LARGE, ways);
    ADD_NAMES(text, MLT_TRACE_WAIT, trace_waits);
    ADD_NAMES(text, MLT_TRACE_WOKEN, trace_waits);
    ADD_NAMES(text, MLT_TRACE_CSP, inner_waits);
    ADD_NAMES(text, MLT_TRACE_FLOW, flow_waits);
    ADD_NAMES(text, MLT_TRACE_WINDOW, window_waits);
    ADD_NAMES(text, MLT_TRACE_TRACED, traced);
    ADD_NAMES(text, MLT_TRACE_COPIED, copy_ways);
}

static void tell_facts(const mlt_worker *worker)
{
    char host[256] = "?";
    mlt_text text = {0};
    if (worker->index == 0)
        add_tables(&text);
    gethostname(host, sizeof host - 1);
    mlt_text_add(&text, "worker\t%u\t%s\t%d\t%d\t%u\n", worker->index, host, (int)getpid(),
                 (int)worker->first_rank, worker->count);
    mlt_trace_facts(worker->index, text.text, text.length);
    mlt_text_free(&text);
}

static void note_since(mlt_tracer *tracer, const mlt_rank *rank, uint64_t since, uint64_t bytes,
                       int32_t peer, int32_t tag, uint32_t context, uint8_t how,
                       mlt_trace_kind kind)
{
    uint64_t now = mlt_arch_cycles();
    mlt_trace_like like = mlt_trace_like_of(bytes, rank ? (uint32_t)rank->world : MLT_TRACE_NOBODY,
                                            peer, tag, context, 0, how, (uint8_t)kind);
    mlt_trace_note_like(tracer, &like, now, since ? now - since : 0);
}

// ---- workers

void mlt_mpi_trace_worker_begins(mlt_worker *worker)
{
    mlt_mpi_worker *w = worker->mpi;
    if (!mlt_trace_runs())
        return;
    atomic_fetch_add(&tracing, 1);
    w->tracer = mlt_tracer_new(worker->index);
    w->brief_ticks = mlt_trace_ticks(BRIEF_NS);
    w->tracer->crowded = worker->boot->job->local_workers > worker->boot->job->cores;
    tell_facts(worker);
    mlt_worker_watch(worker, MLT_WATCH_TRACE, !mlt_mpi_settings.trace_paused);
    mlt_mpi_trace_look(worker);
}

// What a message of before did is not told: its call is none of the trace's.
static void set_watched(mlt_worker *worker, bool watched)
{
    mlt_mpi_worker *w = worker->mpi;
    if (watched == !!(worker->watched & MLT_WATCH_TRACE))
        return;
    w->call = NULL;
    note_since(w->tracer, NULL, 0, 0, -1, -1, 0, watched, MLT_TRACE_TRACED);
    mlt_worker_watch(worker, MLT_WATCH_TRACE, watched);
}

void mlt_mpi_trace_pause(mlt_rank *me, bool pause)
{
    mlt_mpi_worker *w = me ? me->worker->mpi : NULL;
    if (w && w->tracer)
        set_watched(me->worker, !pause);
}

void mlt_mpi_trace_look(mlt_worker *worker)
{
    mlt_mpi_worker *w = worker->mpi;
    mlt_job *job = worker->boot->job;
    if (!w || !w->tracer || !job->launched)
        return;
    // relaxed: pairs with mlt_job_want_trace; the word is all there is to know.
    uint32_t wanted = atomic_load_explicit(&mlt_job_board_at(job)->trace, memory_order_relaxed);
    if (wanted == w->trace_wanted)
        return;
    w->trace_wanted = wanted;
    set_watched(worker, wanted & 1);
}

void mlt_mpi_trace_worker_ends(mlt_worker *worker)
{
    mlt_mpi_worker *w = worker->mpi;
    if (!w->tracer)
        return;
    mlt_tracer_end(w->tracer);
    w->tracer = NULL;
    if (atomic_fetch_sub(&tracing, 1) == 1)
        mlt_trace_end();
}

void mlt_mpi_trace_worker_stays(mlt_worker *worker)
{
    const mlt_mpi_worker *w = worker->mpi;
    if (!w || !w->tracer)
        return;
    mlt_tracer_write(w->tracer);
    if (atomic_fetch_sub(&tracing, 1) == 1)
        mlt_trace_end();
}

// ---- events

// --trace-only. rank: NULL: the worker.
static bool is_kept(const mlt_rank *rank, uint16_t fn)
{
    return !mlt_trace_only_some ||
           (rank && mlt_trace_only_rank((uint32_t)rank->world) && mlt_trace_only_call(fn));
}

void mlt_mpi_trace_call_ends(mlt_rank *me, uint16_t fn, const mlt_trace_call *call)
{
    mlt_mpi_worker *w = me->worker->mpi;
    if (!w || !w->tracer)
        return;
    if (w->call == call)
        w->call = NULL;
    if (call->begin == 0 || !is_kept(me, fn))
        return;
    uint64_t now = mlt_arch_cycles();
    mlt_trace_like like =
        mlt_trace_like_of(call->bytes, (uint32_t)me->world, call->peer, call->tag, call->context,
                          fn, call->how, MLT_TRACE_CALL | call->did);
    mlt_trace_note_like(w->tracer, &like, now, now - call->begin);
}

static void note_started(mlt_worker *worker, const mlt_rank *rank, const mlt_event *event)
{
    const mlt_mpi_worker *w = worker->mpi;
    uint32_t schedule = mlt_mpi_trace_schedule(worker, event->run);
    if (schedule)
        note_since(w->tracer, rank, 0, schedule, -1, (int32_t)event->number, event->context,
                   event->how, MLT_TRACE_STARTED);
}

static const uint8_t kinds[MLT_EVENTS] = {
    [MLT_EVENT_SENT] = MLT_TRACE_SENT,
    [MLT_EVENT_POSTED] = MLT_TRACE_POSTED,
    [MLT_EVENT_RECEIVED] = MLT_TRACE_MATCHED,
    [MLT_EVENT_UNEXPECTED] = MLT_TRACE_UNEXPECTED,
    [MLT_EVENT_LARGE] = MLT_TRACE_LARGE,
    [MLT_EVENT_PLANNED] = MLT_TRACE_PLANNED,
    [MLT_EVENT_ONE_SIDED] = MLT_TRACE_ONE_SIDED,
    [MLT_EVENT_PARTITIONED_SEND] = MLT_TRACE_PART_SEND,
    [MLT_EVENT_PARTITIONED_RECEIVE] = MLT_TRACE_PART_RECEIVE,
};

// What a call does first becomes part of it, if it is what the call was asked to do.
static bool is_of_call(const mlt_mpi_worker *w, const mlt_rank *rank, const mlt_event *event)
{
    const mlt_trace_call *call = w->call;
    return call && call->rank == rank && !call->did && call->tag == event->tag &&
           call->context == event->context && call->bytes == event->bytes &&
           (event->kind == MLT_EVENT_SENT || event->kind == MLT_EVENT_POSTED);
}

// Messages that come have ranks of their communicator as sources.
static int32_t world_peer(const mlt_rank *rank, const mlt_event *event)
{
    bool named = event->kind == MLT_EVENT_POSTED || event->kind == MLT_EVENT_RECEIVED ||
                 event->kind == MLT_EVENT_UNEXPECTED || event->kind == MLT_EVENT_LARGE;
    return rank && named && event->peer >= 0
               ? mlt_comm_message_world_rank(rank, event->context, event->tag, event->peer)
               : event->peer;
}

// Names of processes at queues, told once each. A bit for each process of each of the first workers:
// where two share one, only the first has a name.
enum { NAMED_WORKERS = 16, NAMED_PROCESSES = 4096 };
static _Atomic uint64_t trace_named[NAMED_WORKERS * NAMED_PROCESSES / 64];

static MLT_COLD void name_process(const mlt_worker *worker, uint32_t process)
{
    mlt_process_label label;
    mlt_text text = {0};
    if (!mlt_upcalls.process || !mlt_upcalls.process(worker->sched->current, &label) || !label.name)
        return;
    mlt_text_add(&text, "process\t%u\t%u\t%s", worker->index, process, label.name);
    if (label.index >= 0)
        mlt_text_add(&text, "[%" PRId64 "]", label.index);
    mlt_text_add(&text, "\n");
    mlt_trace_facts(worker->index, text.text, text.length);
    mlt_text_free(&text);
}

static void tell_channel(const mlt_worker *worker, const mlt_event *event)
{
    mlt_text text = {0};
    mlt_text_add(&text, "channel\t%u\t%u\t%" PRIu64 "\t%s\n", worker->index, event->thing,
                 event->held, event->name);
    mlt_trace_facts(worker->index, text.text, text.length);
    mlt_text_free(&text);
}

static void want_name(const mlt_worker *worker, uint32_t process)
{
    uint32_t bit =
        worker->index % NAMED_WORKERS * NAMED_PROCESSES + process % (uint32_t)NAMED_PROCESSES;
    uint64_t mask = UINT64_C(1) << bit % 64;
    if (MLT_UNLIKELY(
            !(atomic_load_explicit(&trace_named[bit / 64], memory_order_relaxed) & mask)) &&
        !(atomic_fetch_or_explicit(&trace_named[bit / 64], mask, memory_order_relaxed) & mask))
        name_process(worker, process);
}

// A process of csp has waited, or the rank itself, for something of csp or flow.
static void note_inner(mlt_tracer *tracer, const mlt_rank *rank, const mlt_event *event)
{
    mlt_csp_wait_kind what = (mlt_csp_wait_kind)(event->inner - 1);
    uint8_t how = !event->queue           ? (uint8_t)what
                  : what == MLT_CSP_UPPER ? ROOM_ELSEWHERE
                  : what == MLT_CSP_WRITE ? ROOM
                                          : ELEMENT;
    if (event->queue && event->csp_process && rank)
        want_name(rank->worker, event->csp_process);
    note_since(tracer, rank, event->since, event->held, (int32_t)event->csp_process,
               (int32_t)event->thing, 0, how, event->queue ? MLT_TRACE_FLOW : MLT_TRACE_CSP);
}

// Number of the CSP process; 0: the fiber is a rank's own.
static int32_t traced_process(const mlt_fiber *fiber)
{
    mlt_process_label label;
    return mlt_upcalls.process && mlt_upcalls.process(fiber, &label) ? (int32_t)label.number : 0;
}

static void note_woken(mlt_tracer *tracer, const mlt_rank *rank, const mlt_event *event)
{
    const mlt_rank *by = event->by ? event->by->user : NULL;
    note_since(tracer, rank, 0, 0, by ? by->world : -1, traced_process(event->woken), 0, event->how,
               MLT_TRACE_WOKEN);
}

static void note_window(mlt_tracer *tracer, const mlt_rank *rank, const mlt_event *event)
{
    note_since(tracer, rank, event->since, 0, event->target, event->holder, event->thing,
               (uint8_t)(event->inner - 1), MLT_TRACE_WINDOW);
}

void mlt_mpi_trace_resumed(mlt_rank *rank, uint64_t parked, uint32_t csp_process)
{
    const mlt_sched *sched = rank->worker->sched;
    mlt_mpi_worker *w = rank->worker->mpi;
    uint64_t woken = mlt_sched_woken(sched);
    const mlt_rank *ran = sched->before ? sched->before->user : NULL;
    if (woken < parked || mlt_arch_cycles() - woken < w->brief_ticks)
        return;
    note_since(w->tracer, rank, woken, 0, ran ? ran->world : -1, (int32_t)csp_process, 0, 0,
               MLT_TRACE_READY);
}

static void note_goes_on(mlt_tracer *tracer, mlt_rank *rank, const mlt_event *event)
{
    if (event->inner && event->how == MLT_WAIT_WINDOW)
        note_window(tracer, rank, event);
    else if (event->inner)
        note_inner(tracer, rank, event);
    if (rank && !rank->worker->sched->solo)
        mlt_mpi_trace_resumed(rank, event->since, event->csp_process);
    if (!event->csp_process) // processes of a rank may wait while others of it run
        note_since(tracer, rank, event->since, 0, world_peer(rank, event), event->tag,
                   event->context, event->how, MLT_TRACE_WAIT);
}

// What is no message. False: it is one.
static bool note_other(mlt_worker *worker, mlt_rank *rank, const mlt_event *event)
{
    const mlt_mpi_worker *w = worker->mpi;
    mlt_tracer *tracer = w->tracer;
    switch ((mlt_event_kind)event->kind) {
    case MLT_EVENT_GOES_ON:
        note_goes_on(w->tracer, rank, event);
        return true;
    case MLT_EVENT_WOKEN:
        note_woken(tracer, rank, event);
        return true;
    case MLT_EVENT_SLEPT:
        note_since(tracer, NULL, event->since, 0, -1, -1, 0, 0, MLT_TRACE_SLEPT);
        return true;
    case MLT_EVENT_IDLE:
        if (mlt_arch_cycles() - event->since >= w->brief_ticks)
            note_since(tracer, NULL, event->since, 0, -1, -1, 0, 0, MLT_TRACE_IDLE);
        return true;
    case MLT_EVENT_CANCELLED:
        note_since(tracer, rank, event->since, event->bytes, event->peer, event->tag,
                   event->context, 0, MLT_TRACE_CANCELLED);
        return true;
    case MLT_EVENT_COPIED:
        note_since(tracer, rank, event->since, event->bytes, -1, -1, 0, event->how,
                   MLT_TRACE_COPIED);
        return true;
    case MLT_EVENT_NAMED:
        tell_channel(worker, event);
        return true;
    case MLT_EVENT_LIVED:
        want_name(worker, event->csp_process);
        note_since(tracer, rank, event->since, 0, (int32_t)event->csp_process, 0, 0, LIFE,
                   MLT_TRACE_FLOW);
        return true;
    case MLT_EVENT_DEPTH:
        note_since(tracer, rank, 0, event->held, -1, (int32_t)event->thing, 0, 0, MLT_TRACE_DEPTH);
        return true;
    case MLT_EVENT_STARTED:
        note_started(worker, rank, event);
        return true;
    case MLT_EVENT_POISONED:
        note_since(tracer, rank, 0, 0, (int32_t)event->csp_process, (int32_t)event->thing, 0, 0,
                   MLT_TRACE_POISONED);
        return true;
    default:
        return event->kind == MLT_EVENT_PARKS;
    }
}

void mlt_mpi_trace_saw(mlt_worker *worker, mlt_rank *rank, const mlt_event *event)
{
    mlt_mpi_worker *w = worker->mpi;
    if (!w || !w->tracer || !is_kept(rank, rank ? rank->fn : 0) || note_other(worker, rank, event))
        return;
    int32_t peer = world_peer(rank, event);
    if (is_of_call(w, rank, event)) {
        w->call->did = event->kind == MLT_EVENT_SENT ? MLT_NOTE_SENT : MLT_NOTE_POSTED;
        w->call->how = event->how;
        w->call->peer = peer;
        return;
    }
    if (event->kind == MLT_EVENT_SENT)
        w->call = NULL; // what follows leaves later, so not at the call's begin
    mlt_trace_like like =
        mlt_trace_like_of(event->bytes, rank ? (uint32_t)rank->world : MLT_TRACE_NOBODY, peer,
                          event->tag, event->context, 0, event->how, kinds[event->kind]);
    mlt_trace_note_like(w->tracer, &like, event->since ? event->since : mlt_arch_cycles(), 0);
}
