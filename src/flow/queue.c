// SPDX-License-Identifier: BSD-3-Clause
// Queues. An inlet's channel is used from inside. Its ring, its offers and its life are csp's, so
// that hang reports and alternations know them; but an element that finds room, or is there, costs
// no call of csp.
//
// A writer wakes a reader that waits, and goes on, so it fills the queue before the reader has its
// turn. A reader that takes from a full queue lets the first writer that waits put its element, and
// goes on, too. So there are about `cap` elements between two switches.
//
// Channels of inlets are never poisoned, no process alternates for writing, and only
// flow_dequeue_from, Broadcast and Deal alternate for reading.
#include <millet/csp.h>
#include <string.h>

#include "base/export.h"
#include "base/list.h"
#include "base/log.h"
#include "csp/alt.h"
#include "csp/buffer.h"
#include "csp/chan.h"
#include "csp/event.h"
#include "csp/intercept.h"
#include "csp/proc.h"
#include "fiber/policy.h"
#include "flow/conn.h"
#include "flow/element/element.h"
#include "flow/graph/ops.h"
#include "flow/help.h"
#include "flow/run.h"
#include "flow/stats.h"
#include "os/os.h"

#define RARELY __attribute__((noinline))

enum { QUEUES_AT_ONCE = 8, AHEAD = 3 };

// ---- waiting at a channel, as csp does

// The element goes from or to *value.
static csp_status wait_at(mlt_flow_program *program, mlt_flow_element **value, mlt_list_node *queue,
                          const mlt_wait *wait, uint64_t *time_ns)
{
    mlt_csp *csp = program->csp;
    uint64_t since = program->measures ? mlt_os_now_ns() : 0;
    mlt_alt_lone w;
    mlt_alt_lone_begin(&w, csp, value);
    mlt_list_push_waiter(queue, &w.offer.node);
    csp_status status = mlt_alt_lone_park(&w, csp, wait);
    if (program->measures)
        *time_ns += mlt_os_now_ns() - since;
    return status;
}

// ---- putting

// `held` elements are in it, or one goes by to a reader that waits.
static inline void note_depth(mlt_flow_inlet *inlet, uint32_t held)
{
    if (MLT_UNLIKELY(held >= inlet->stats.deepest))
        inlet->stats.deepest = held > 0 ? held : 1;
}

// A trace hears of every eighth of its room that a queue fills or empties, but not more often than
// people can see. Whoever waits at the queue tells how deep it is then (csp/event.c).
enum { TELL_NS = 20000 };

static RARELY void tell_depth(mlt_flow_inlet *inlet, bool ends)
{
    uint32_t held = inlet->chan->held, told = inlet->told;
    uint32_t change = held > told ? held - told : told - held;
    if (change == 0 || (!ends && held != 0 && change < inlet->chan->capacity / 8))
        return;
    uint64_t now = mlt_os_now_ns();
    if (!ends && now - inlet->told_ns < TELL_NS)
        return;
    inlet->told = held;
    inlet->told_ns = now;
    mlt_csp_trace_depth(inlet->chan);
}

static inline void tell_if_traced(mlt_flow_inlet *inlet)
{
    if (MLT_UNLIKELY(inlet->traced))
        tell_depth(inlet, false);
}

// The queue is full by bytes, though not by elements.
static inline bool is_heavy(const mlt_flow_inlet *inlet)
{
    return inlet->bytes >= inlet->bytes_most && inlet->chan->held >= 2;
}

static inline void ring_put(mlt_flow_inlet *inlet, mlt_flow_element *e)
{
    csp_chan *chan = inlet->chan;
    inlet->bytes += e->bytes;
    uint32_t at = chan->first + chan->held;
    ((mlt_flow_element **)(void *)chan->buffer)[at >= chan->capacity ? at - chan->capacity : at] =
        e;
    chan->held++;
}

// Along the wrappers of a way, which is that of the queue where the line ends.
static RARELY void go_along(const mlt_flow_program *program, uint32_t line, mlt_csp_walk *walk,
                            const char *call, uint64_t bytes)
{
    char from[MLT_FLOW_NAME], to[MLT_FLOW_NAME];
    const mlt_intercept_event event = {.call = call, .peer = -1, .tag = -1, .bytes = bytes};
    mlt_flow_line_names(program->lowered, line, from, to, sizeof to);
    mlt_csp_intercept_begin(program->csp, walk, MLT_INTERCEPT_QUEUE, to, 0, event);
}

// A reader waits, or there is no room, or nobody takes elements any more, or wrappers stand before it.
static RARELY bool put_slowly(mlt_flow_outlet *outlet, mlt_flow_element *e)
{
    mlt_flow_inlet *inlet = outlet->to;
    csp_chan *chan = inlet->chan;
    csp_status status;
    mlt_csp_walk walk = {0};
    uint64_t bytes = e->bytes;
    if (outlet->wrapped)
        go_along(inlet->program, outlet->line, &walk, "flow_send", bytes);
    uint32_t held = chan->held;
    chan->last_user[MLT_WRITES] = inlet->program->csp->sched->current;
    bool full = (inlet->mixed && inlet->locals >= inlet->cap) || is_heavy(inlet);
    if ((full && chan->life == MLT_CHAN_LIVES) || !mlt_chan_try_write(chan, &e, NULL, &status)) {
        status = wait_at(inlet->program, &e, &chan->offers[MLT_WRITES],
                         &chan->waits[MLT_WRITES].wait, &outlet->stats.blocked_ns);
    } else {
        note_depth(inlet, chan->held);
        if (chan->held > held) {
            inlet->locals += inlet->mixed;
            inlet->bytes += e->bytes;
        }
        tell_if_traced(inlet);
    }
    if (status != CSP_OK)
        mlt_flow_element_drop(e);
    else
        mlt_csp_intercept_end(&walk, bytes);
    return status == CSP_OK;
}

static RARELY bool put_elsewhere(mlt_flow_outlet *outlet, mlt_flow_element *e)
{
    if (outlet->conn && !outlet->ended) {
        mlt_csp_walk walk = {0};
        uint64_t bytes = e->bytes;
        if (outlet->wrapped)
            go_along(outlet->program, outlet->line, &walk, "flow_send", bytes);
        bool taken = mlt_flow_conn_put(outlet->conn, e);
        if (taken)
            mlt_csp_intercept_end(&walk, bytes);
        return taken;
    }
    mlt_flow_element_drop(e);
    if (outlet->ended)
        return false;
    outlet->stats.dropped++;
    return true;
}

static inline bool put(mlt_flow_outlet *outlet, mlt_flow_element *e)
{
    mlt_flow_inlet *inlet = outlet->to;
    outlet->stats.elements++;
    outlet->stats.bytes += e->bytes;
    if (MLT_UNLIKELY(!inlet))
        return put_elsewhere(outlet, e);
    csp_chan *chan = inlet->chan;
    if (MLT_UNLIKELY(chan->rare || chan->held >= chan->capacity || inlet->odd ||
                     inlet->bytes >= inlet->bytes_most ||
                     !mlt_list_empty(&chan->offers[MLT_READS])))
        return put_slowly(outlet, e);
    ring_put(inlet, e);
    note_depth(inlet, chan->held);
    return true;
}

bool mlt_flow_put(mlt_flow_outlet *outlet, mlt_flow_element *e)
{
    return put(outlet, e);
}

void mlt_flow_inlet_push(mlt_flow_inlet *inlet, mlt_flow_element *e)
{
    csp_chan *chan = inlet->chan;
    csp_status status;
    inlet->stats.elements++;
    inlet->stats.bytes += e->bytes;
    uint32_t held = chan->held;
    bool done = mlt_chan_try_write(chan, &e, NULL, &status);
    mlt_assert(done); // its credit says that there is room
    note_depth(inlet, chan->held);
    if (chan->held > held)
        inlet->bytes += e->bytes;
    tell_if_traced(inlet);
    if (status != CSP_OK)
        mlt_flow_element_drop(e);
}

// ---- taking

// A writer that waits puts its element, now that one of a local line was taken.
static RARELY void let_one_write(mlt_flow_inlet *inlet)
{
    csp_chan *chan = inlet->chan;
    mlt_offer *writer = mlt_container_of(mlt_list_pop_front(&chan->offers[MLT_WRITES]), mlt_offer,
                                         node); // there is one
    ring_put(inlet, *(mlt_flow_element **)writer->value);
    inlet->locals += inlet->mixed;
    mlt_alt_settle(chan->csp, writer->alt, writer->index, CSP_OK);
}

// There is one.
static inline mlt_flow_element *ring_take(mlt_flow_inlet *inlet)
{
    csp_chan *chan = inlet->chan;
    mlt_flow_element *e = ((mlt_flow_element **)(void *)chan->buffer)[chan->first];
    if (chan->held > AHEAD) // elements of long pipelines have left the nearest cache meanwhile
        __builtin_prefetch(*(void **)(void *)mlt_buffer_at(chan, AHEAD), 1);
    mlt_buffer_drop(chan);
    inlet->bytes -= e->bytes;
    inlet->locals -= inlet->mixed && e->line == MLT_FLOW_NO_LINE;
    if (MLT_UNLIKELY(!mlt_list_empty(&chan->offers[MLT_WRITES])) && !is_heavy(inlet) &&
        (!inlet->mixed || inlet->locals < inlet->cap))
        let_one_write(inlet);
    tell_if_traced(inlet);
    return e;
}

mlt_flow_element *mlt_flow_take_to(mlt_flow_inlet *inlet, mlt_flow_element **handed)
{
    csp_chan *chan = inlet->chan;
    if (chan && chan->held > 0)
        return mlt_flow_taken(inlet->program, ring_take(inlet));
    if (!chan || inlet->ended || chan->rare)
        return NULL;
    chan->last_user[MLT_READS] = inlet->program->csp->sched->current;
    csp_status status = wait_at(inlet->program, handed, &chan->offers[MLT_READS],
                                &chan->waits[MLT_READS].wait, &inlet->stats.starved_ns);
    mlt_flow_element *e = status == CSP_OK ? *handed : NULL;
    *handed = NULL;
    return !e || e == MLT_FLOW_MERGED ? e : mlt_flow_taken(inlet->program, e);
}

// Nothing is there.
static RARELY mlt_flow_element *take_later(mlt_flow_inlet *inlet)
{
    mlt_flow_element *e = NULL;
    return mlt_flow_take_to(inlet, &e);
}

void mlt_flow_merged_at(mlt_flow_inlet *inlet)
{
    csp_chan *chan = inlet->chan;
    mlt_offer *reader =
        mlt_container_of(mlt_list_pop_front(&chan->offers[MLT_READS]), mlt_offer, node);
    *(mlt_flow_element **)reader->value = MLT_FLOW_MERGED;
    mlt_alt_settle(chan->csp, reader->alt, reader->index, CSP_OK);
}

static inline mlt_flow_element *take(mlt_flow_inlet *inlet)
{
    if (MLT_LIKELY(inlet->chan && inlet->chan->held > 0))
        return mlt_flow_taken(inlet->program, ring_take(inlet));
    return take_later(inlet);
}

mlt_flow_element *mlt_flow_take(mlt_flow_inlet *inlet)
{
    return take(inlet);
}

// ---- the end of lines

void mlt_flow_outlet_end(mlt_flow_outlet *outlet)
{
    if (outlet->ended)
        return;
    outlet->ended = true;
    if (outlet->to) {
        mlt_proc_lets_go(outlet->program->csp, outlet->to->chan, true);
        mlt_chan_retire(outlet->to->chan, true);
    }
    if (outlet->conn)
        mlt_flow_conn_end(outlet->conn);
}

void mlt_flow_inlet_end(mlt_flow_inlet *inlet)
{
    if (inlet->ended)
        return;
    inlet->ended = true;
    csp_chan *chan = inlet->chan;
    if (!chan)
        return;
    // Elements of writers that wait are these writers' until they hear of it.
    for (; chan->held > 0; mlt_buffer_drop(chan))
        mlt_flow_element_drop(*(mlt_flow_element **)(void *)mlt_buffer_at(chan, 0));
    inlet->bytes = 0;
    if (inlet->traced)
        tell_depth(inlet, true);
    mlt_proc_lets_go(inlet->program->csp, chan, false);
    mlt_chan_retire(chan, false);
    mlt_flow_conn_close(inlet->program, inlet);
}

void mlt_flow_inlet_line_ended(mlt_flow_inlet *inlet)
{
    mlt_chan_retire(inlet->chan, true);
}

// ---- what modules call: payloads

static MLT_COLD _Noreturn void no_such_queue(const flow_queue *queue, const char *call)
{
    if (!queue)
        mlt_csp_fault(call, "the queue is NULL: only init, run and fini of a module have queues");
    if (!mlt_flow_self)
        mlt_flow_fault(queue->instance,
                       "%s on %s by a thread that the module made or in a child that it forked: "
                       "only the thread that runs the instance has its queues",
                       call, queue->decl->name);
    mlt_flow_fault(queue->instance, "%s on %s, which is an %s queue", call, queue->decl->name,
                   queue->decl->input ? "input" : "output");
}

// The queue is none, or the instance's thread is away (help.h) and comes back.
static MLT_COLD void queue_enter(const flow_queue *queue, bool input, const char *call)
{
    if (!queue || !(input ? queue->in != NULL : queue->out != NULL) ||
        (!mlt_flow_self && !mlt_flow_come_back()))
        no_such_queue(queue, call);
}

static MLT_COLD void enter_for(const char *call)
{
    if (!mlt_flow_come_back())
        mlt_csp_fault(call,
                      "this thread runs no instance: only the thread that runs an instance has "
                      "its data; threads that a module made and forked children have not");
}

static inline uint64_t payload(const flow_queue *queue, size_t bytes, size_t count,
                               const char *call)
{
    uint64_t all;
    if (MLT_UNLIKELY(!queue || !queue->out || !mlt_flow_self))
        queue_enter(queue, false, call);
    if (MLT_UNLIKELY(__builtin_mul_overflow((uint64_t)bytes, count, &all)))
        mlt_flow_fault(queue->instance, "%s on %s: %zu values of %zu bytes are too many", call,
                       queue->decl->name, count, bytes);
    return all;
}

static inline mlt_flow_element *queue_new_element(const mlt_flow_outlet *outlet, uint64_t bytes)
{
    if (MLT_LIKELY(bytes <= MLT_FLOW_SMALL))
        return mlt_flow_element_small(&outlet->program->elements, bytes);
    return outlet->conn ? mlt_flow_conn_new(outlet->conn, bytes) : mlt_flow_element_new(bytes);
}

static RARELY mlt_flow_element *take_along(flow_queue *queue)
{
    mlt_csp_walk walk;
    go_along(queue->in->program, queue->in->line, &walk, "flow_dequeue", 0);
    mlt_flow_element *e = take(queue->in);
    if (e)
        mlt_csp_intercept_end(&walk, e->bytes);
    return e;
}

// Puts, as `put` does. The process of a reduction starts its round with long data now, not when the
// module waits next.
static inline bool put_and_leave(flow_queue *queue, mlt_flow_element *e, uint64_t bytes)
{
    mlt_flow_outlet *outlet = queue->out;
    mlt_flow_program *program = outlet->program;
    bool taken = put(outlet, e);
    if (MLT_UNLIKELY(bytes >= MLT_FLOW_HELPED) && outlet->to &&
        mlt_flow_part_of(program, outlet->to->task))
        mlt_fiber_yield(program->csp->sched);
    mlt_flow_leave(program);
    return taken;
}

// To a Reduce.
static RARELY bool send_paired(flow_queue *queue, const void *data, flow_type kind, size_t bytes,
                               uint64_t all)
{
    mlt_flow_outlet *outlet = queue->out;
    mlt_flow_element *e = NULL;
    if (!outlet->ended)
        e = mlt_flow_pair_send(outlet->to, data, (uint8_t)kind, (uint32_t)bytes, all);
    if (e == MLT_FLOW_MERGED) {
        outlet->stats.elements++;
        outlet->stats.bytes += all;
        mlt_flow_leave(outlet->program);
        return true;
    }
    if (!e) {
        e = mlt_flow_element_new(all);
        e->kind = (uint8_t)kind;
        e->value_bytes = (uint32_t)bytes;
        memcpy(mlt_flow_data(e), data, all);
    }
    return put_and_leave(queue, e, all);
}

MLT_EXPORT bool flow_queue_send(flow_queue *queue, const void *data, flow_type kind, size_t bytes,
                                size_t count)
{
    uint64_t all = payload(queue, bytes, count, "flow_send");
    if (MLT_UNLIKELY(queue->out->line == MLT_FLOW_NO_LINE)) {
        queue->out->stats.elements++;
        queue->out->stats.bytes += all;
        queue->out->stats.dropped++;
        return !queue->out->ended;
    }
    if (MLT_UNLIKELY(!data && all))
        mlt_flow_fault(queue->instance, "flow_send on %s: the data is NULL", queue->decl->name);
    if (MLT_UNLIKELY(all >= MLT_FLOW_PAIRED) && queue->out->to && queue->out->to->pair &&
        !queue->out->wrapped)
        return send_paired(queue, data, kind, bytes, all);
    mlt_flow_element *e = queue_new_element(queue->out, all);
    e->kind = (uint8_t)kind;
    e->value_bytes = (uint32_t)bytes;
    if (MLT_LIKELY(all == 8)) // most are a number
        memcpy(mlt_flow_data(e), data, 8);
    else if (all)
        memcpy(mlt_flow_data(e), data, all);
    return put_and_leave(queue, e, all);
}

MLT_EXPORT void *flow_queue_new(flow_queue *queue, size_t bytes, size_t count)
{
    uint64_t all = payload(queue, bytes, count, "flow_new");
    mlt_flow_element *e = queue_new_element(queue->out, all);
    e->owner = MLT_FLOW_MODULES;
    mlt_flow_leave(queue->out->program);
    return mlt_flow_data(e);
}

// ---- who has an element

flow_instance *mlt_flow_calling(void)
{
    const mlt_csp *csp = mlt_csp_self;
    const mlt_proc *proc = csp ? mlt_proc_of(csp, csp->sched->current) : NULL;
    return proc && proc->run == mlt_flow_task_main ? proc->arg : NULL;
}

// An element that several share: the calling instance gives up its share, lent or kept.
static MLT_COLD void end_share(flow_instance *me, mlt_flow_element *e, const char *call)
{
    if (!me)
        mlt_csp_fault(call, "other receivers share this data, so only the module's own process can "
                            "do that, not one that it has started");
    for (size_t i = 0; i < me->module->queue_count; i++)
        if (me->queues[i].last == e) {
            me->queues[i].last = NULL;
            return;
        }
    if (e->keeps == 0)
        mlt_flow_fault(me, "%s: this data was given away or freed already", call);
    e->keeps--;
}

// Ends the loan of the element, if it is lent.
static inline void take_back(flow_instance *me, mlt_flow_element *e, const char *call)
{
    if (MLT_UNLIKELY(e->shared)) {
        end_share(me, e, call);
    } else if (e->owner == MLT_FLOW_LENT) {
        if (MLT_UNLIKELY(me && e->lent_by->instance != me))
            mlt_flow_fault(me, "%s: this data was given away, and %s has it now", call,
                           e->lent_by->instance->name);
        e->lent_by->last = NULL;
    }
}

static MLT_COLD _Noreturn void too_much(const flow_queue *queue, const mlt_flow_element *e,
                                        size_t bytes, size_t count)
{
    mlt_flow_fault(queue->instance,
                   "flow_give on %s: %zu values of %zu bytes, but the data has room for %llu bytes",
                   queue->decl->name, count, bytes, (unsigned long long)e->room);
}

MLT_EXPORT bool flow_queue_give(flow_queue *queue, void *data, flow_type kind, size_t bytes,
                                size_t count)
{
    uint64_t all = payload(queue, bytes, count, "flow_give");
    mlt_flow_element *e = mlt_flow_element_of(data, "flow_give");
    if (MLT_UNLIKELY(all > e->room))
        too_much(queue, e, bytes, count);
    take_back(queue->instance, e, "flow_give");
    if (MLT_UNLIKELY(e->refs > 1) &&
        (all != e->bytes || bytes != e->value_bytes || (uint8_t)kind != e->kind))
        e = mlt_flow_element_own(e); // the others still have all of it
    if (MLT_LIKELY(!e->shared))
        e->owner = MLT_FLOW_LIBRARYS;
    e->bytes = all;
    e->kind = (uint8_t)kind;
    e->value_bytes = (uint32_t)bytes;
    return put_and_leave(queue, e, all);
}

MLT_EXPORT void flow_free(const void *data)
{
    if (MLT_UNLIKELY(!mlt_flow_self))
        enter_for("flow_free");
    mlt_flow_element *e = mlt_flow_element_of(data, "flow_free");
    take_back(mlt_flow_calling(), e, "flow_free");
    mlt_flow_element_drop(e);
    mlt_flow_leave(mlt_flow_self);
}

MLT_EXPORT void flow_keep(const void *data)
{
    if (MLT_UNLIKELY(!mlt_flow_self))
        enter_for("flow_keep");
    mlt_flow_element *e = mlt_flow_element_of(data, "flow_keep");
    if (e->shared) {
        end_share(mlt_flow_calling(), e, "flow_keep");
        e->keeps++;
    } else {
        take_back(mlt_flow_calling(), e, "flow_keep");
        e->owner = MLT_FLOW_MODULES;
    }
    mlt_flow_leave(mlt_flow_self);
}

// ---- what modules call: dequeueing

static bool is_whole(flow_type kind)
{
    return kind >= FLOW_SHORT && kind <= FLOW_ULLONG;
}

// Whether the module may look at the element's values as it does. Anything may be seen as bytes
// (void *, char *); of values without a known type only the size is compared; and whole numbers of
// one size are alike, for int64_t is long on one machine and long long on another.
static bool fits(const mlt_flow_element *e, flow_type kind, size_t bytes)
{
    if (bytes == 1)
        return true;
    if (bytes != e->value_bytes)
        return bytes && e->kind == FLOW_ANY && e->value_bytes == 1 && e->bytes % bytes == 0;
    return kind == FLOW_ANY || e->kind == FLOW_ANY ||
           (is_whole(kind) && is_whole((flow_type)e->kind));
}

static MLT_COLD void check_values(const flow_queue *queue, const mlt_flow_element *e,
                                  flow_type kind, size_t bytes)
{
    if (fits(e, kind, bytes))
        return;
    const char *type = e->kind == FLOW_ANY ? "" : mlt_flow_type_name((flow_type)e->kind);
    if (bytes == e->value_bytes)
        mlt_flow_fault(queue->instance,
                       "flow_dequeue on %s: the module takes values of type %s, but the element "
                       "has values of type %s",
                       queue->decl->name, mlt_flow_type_name(kind), type);
    mlt_flow_fault(queue->instance,
                   "flow_dequeue on %s: the module takes values of %zu bytes, but the element has "
                   "values of %u bytes%s%s%s",
                   queue->decl->name, bytes, e->value_bytes, *type ? " (" : "", type,
                   *type ? ")" : "");
}

// The module has it until the next dequeue.
static inline void lend(flow_queue *queue, mlt_flow_element *e, const void **data, flow_type kind,
                        size_t bytes, size_t *count, bool shared)
{
    if (MLT_UNLIKELY(bytes != e->value_bytes || (uint8_t)kind != e->kind))
        check_values(queue, e, kind, bytes);
    if (MLT_UNLIKELY(e->refs > 1) && !shared)
        e = mlt_flow_element_own(e);
    e->shared = e->refs > 1;
    e->owner = MLT_FLOW_LENT;
    e->lent_by = queue;
    queue->last = e;
    *data = mlt_flow_data(e);
    *count = e->bytes == bytes ? 1 : e->bytes / bytes;
}

static inline void end_loan(flow_queue *queue)
{
    mlt_flow_element *e = queue->last;
    if (!e)
        return;
    queue->last = NULL;
    mlt_flow_element_drop(e);
}

MLT_EXPORT bool flow_queue_dequeue(flow_queue *queue, const void **data, flow_type kind,
                                   size_t bytes, size_t *count, bool shared)
{
    if (MLT_UNLIKELY(!queue || !queue->in || !mlt_flow_self))
        queue_enter(queue, true, "flow_dequeue");
    end_loan(queue);
    mlt_flow_element *e = MLT_UNLIKELY(queue->wrapped) ? take_along(queue) : take(queue->in);
    if (MLT_LIKELY(e != NULL)) {
        lend(queue, e, data, kind, bytes, count, shared);
    } else {
        *data = NULL;
        *count = 0;
    }
    mlt_flow_leave(queue->in->program);
    return e != NULL;
}

// Waits until one of the queues, in all of which there is nothing, has an element or ends; NULL:
// one ended. Which: *chosen. If all have ended: NULL, and *chosen is queue_count.
static mlt_flow_element *wait_for_any(flow_queue *const *queues, size_t queue_count, size_t *chosen)
{
    csp_guard guards[QUEUES_AT_ONCE];
    size_t live = 0, which[QUEUES_AT_ONCE];
    mlt_flow_element *e = NULL;
    for (size_t i = 0; i < queue_count; i++) {
        const mlt_flow_inlet *inlet = queues[i]->in;
        if (!inlet->chan || inlet->chan->rare)
            continue;
        which[live] = i;
        guards[live++] = csp_on_read(inlet->in, &e);
    }
    *chosen = queue_count;
    if (live == 0)
        return NULL;
    mlt_flow_program *program = queues[0]->in->program;
    uint64_t since = program->measures ? mlt_os_now_ns() : 0;
    int n = mlt_alt_first(guards, live, "flow_dequeue_from");
    *chosen = which[n];
    mlt_flow_inlet *inlet = queues[which[n]]->in;
    if (program->measures)
        inlet->stats.starved_ns += mlt_os_now_ns() - since;
    return guards[n].status == CSP_OK ? mlt_flow_taken(program, e) : NULL;
}

// The first queue that has something, from `turn` on; queue_count: none.
static size_t find_any(flow_queue *const *queues, size_t queue_count, size_t turn)
{
    for (size_t n = 0; n < queue_count; n++) {
        size_t i = turn + n < queue_count ? turn + n : turn + n - queue_count;
        if (queues[i]->in->chan && queues[i]->in->chan->held > 0)
            return i;
    }
    return queue_count;
}

MLT_EXPORT int flow_queue_dequeue_from(flow_queue *const *queues, size_t queue_count,
                                       const void **data, flow_type kind, size_t bytes,
                                       size_t *count, bool shared)
{
    if (queue_count == 0 || queue_count > QUEUES_AT_ONCE)
        mlt_csp_fault("flow_dequeue_from", "there are %zu queues, but it takes 1 to %d",
                      queue_count, QUEUES_AT_ONCE);
    for (size_t i = 0; i < queue_count; i++) {
        if (!queues[i] || !queues[i]->in || !mlt_flow_self)
            queue_enter(queues[i], true, "flow_dequeue_from");
        end_loan(queues[i]);
    }
    flow_instance *me = queues[0]->instance;
    mlt_sched *sched = me->program->csp->sched;
    size_t turn = MLT_UNLIKELY(mlt_policy_is_random(sched))
                      ? mlt_policy_pick(sched, (uint32_t)queue_count)
                      : me->turn % queue_count;
    mlt_flow_element *e = NULL;
    size_t i;
    while (!e) {
        i = find_any(queues, queue_count, turn);
        if (i < queue_count) {
            e = take(queues[i]->in);
        } else if (!(e = wait_for_any(queues, queue_count, &i)) && i == queue_count) {
            *data = NULL;
            *count = 0;
            mlt_flow_leave(me->program);
            return -1;
        }
    }
    me->turn = (uint32_t)i + 1;
    lend(queues[i], e, data, kind, bytes, count, shared);
    mlt_flow_leave(me->program);
    return (int)i;
}
