// SPDX-License-Identifier: BSD-3-Clause
// Channels. A plain read or write of a live channel of this worker, whose counterpart waits, copies
// the value into or out of that process's memory, wakes it, and goes on; without a counterpart it
// waits. That is all that csp_read and csp_write know; one branch leads to everything else.
#include "csp/chan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/export.h"
#include "base/memory.h"
#include "csp/buffer.h"
#include "csp/event.h"
#include "csp/intercept.h"
#include "csp/proc.h"
#include "fiber/await.h"

#define RARELY __attribute__((noinline))

// ---- making and freeing

static csp_chan *new_chan(mlt_csp *csp, const char *name, size_t size, size_t capacity,
                          bool overwrites, const char *call)
{
    if (size > UINT32_MAX)
        mlt_csp_fault(call, "values of %zu bytes are too large", size);
    if (capacity >= UINT32_MAX || (size && capacity > SIZE_MAX / size))
        mlt_csp_fault(call, "a buffer of %zu values is too large", capacity);
    csp_chan *chan = aligned_alloc(_Alignof(csp_chan), sizeof *chan);
    unsigned char *buffer = capacity && size ? malloc(capacity * size) : NULL;
    if (!chan || (capacity && size && !buffer))
        mlt_csp_fault(call, MLT_NO_ROOM "a channel with %zu values of %zu bytes", capacity, size);
    *chan = (csp_chan){.magic = csp->chan_magic,
                       .overwrites = overwrites,
                       .buffered = capacity > 0,
                       .size = (uint32_t)size,
                       .csp = csp,
                       .buffer = buffer,
                       .capacity = (uint32_t)capacity,
                       .number = ++csp->numbers};
    mlt_list_init(&chan->offers[MLT_READS]);
    mlt_list_init(&chan->offers[MLT_WRITES]);
    mlt_list_push_back(&csp->chans, &chan->all);
    if (name)
        snprintf(chan->name, sizeof chan->name, "%s", name);
    (void)mlt_csp_wait_for(&chan->waits[MLT_READS], "csp_read", MLT_CSP_READ, chan, 0);
    (void)mlt_csp_wait_for(&chan->waits[MLT_WRITES], "csp_write", MLT_CSP_WRITE, chan, 0);
    return chan;
}

csp_chan *mlt_chan_make(mlt_csp *csp, const char *name, size_t size, size_t capacity,
                        bool overwrites)
{
    return new_chan(csp, name, size, capacity, overwrites, "csp_chan_new");
}

// A channel of the user's: a rule book may have a way for it.
static csp_chan *wrapped(csp_chan *chan)
{
    char name[64];
    chan->wrapped =
        mlt_csp_has_interceptor(MLT_INTERCEPT_CHANNEL, mlt_chan_name(chan, name, sizeof name));
    return chan;
}

MLT_EXPORT csp_chan *csp_chan_new(const char *name, size_t size)
{
    return wrapped(new_chan(mlt_csp_enter("csp_chan_new"), name, size, 0, false, "csp_chan_new"));
}

static csp_chan *new_buffered(const char *name, size_t size, size_t capacity, bool overwrites,
                              const char *call)
{
    mlt_csp *csp = mlt_csp_enter(call);
    if (capacity == 0)
        mlt_csp_fault(call, "a buffer has room for at least one value; csp_chan_new makes a "
                            "channel without one");
    return wrapped(new_chan(csp, name, size, capacity, overwrites, call));
}

MLT_EXPORT csp_chan *csp_chan_buffered(const char *name, size_t size, size_t capacity)
{
    return new_buffered(name, size, capacity, false, "csp_chan_buffered");
}

MLT_EXPORT csp_chan *csp_chan_overwriting(const char *name, size_t size, size_t capacity)
{
    return new_buffered(name, size, capacity, true, "csp_chan_overwriting");
}

const char *mlt_chan_name(const csp_chan *chan, char *text, size_t size)
{
    return mlt_csp_name(chan->name, "channel", chan->number, text, size);
}

// What the caller has taken for another kind of address lies so far from the channel.
static void check_kind(const mlt_csp *csp, const csp_chan *chan, const char *call)
{
    static const struct {
        int offset;
        const char *given, *wanted;
    } kinds[] = {
        {MLT_CHAN_OUT - MLT_CHAN_IN, "a reading end", "a writing end (csp_chan_out)"},
        {MLT_CHAN_IN - MLT_CHAN_OUT, "a writing end", "a reading end (csp_chan_in)"},
        {MLT_CHAN_IN, "the channel itself", "a reading end of it (csp_chan_in)"},
        {MLT_CHAN_OUT, "the channel itself", "a writing end of it (csp_chan_out)"},
        {-MLT_CHAN_IN, "a reading end", "the channel itself (csp_retire ends the use of an end)"},
        {-MLT_CHAN_OUT, "a writing end", "the channel itself (csp_retire ends the use of an end)"},
    };
    char name[64];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const csp_chan *real =
            (const csp_chan *)(const void *)((const char *)chan + kinds[i].offset);
        if ((uintptr_t)real % _Alignof(csp_chan) == 0 && mlt_chan_is(real, csp->chan_magic))
            mlt_csp_fault(call, "this is %s of %s, and the call needs %s", kinds[i].given,
                          mlt_chan_name(real, name, sizeof name), kinds[i].wanted);
    }
}

void mlt_chan_check(const mlt_csp *csp, const csp_chan *chan, const char *call)
{
    if (!chan)
        mlt_csp_fault(call, "the end is NULL");
    if (mlt_chan_is(chan, csp->chan_magic))
        return;
    check_kind(csp, chan, call);
    for (uint32_t w = 0; w < csp->worker->boot->job->workers; w++)
        if (mlt_chan_is(chan, mlt_chan_magic(w)))
            mlt_csp_fault(call,
                          "the channel belongs to another worker: only processes of the one that "
                          "made it may use its ends (csp_register and csp_find are for others)");
    mlt_csp_fault(call, "this is no end of a channel, or the channel was freed already");
}

MLT_EXPORT void csp_chan_free(csp_chan *chan)
{
    if (!chan)
        return;
    mlt_csp *csp = mlt_csp_enter("csp_chan_free");
    char name[64];
    mlt_chan_check(csp, chan, "csp_chan_free");
    if (chan->net)
        mlt_chan_forget(chan);
    for (int side = 0; side < 2; side++)
        MLT_LIST_EACH(mlt_offer, offer, &chan->offers[side], node)
            if (offer->alt->chosen == MLT_ALT_OPEN)
                mlt_csp_fault("csp_chan_free", "a process waits at %s",
                              mlt_chan_name(chan, name, sizeof name));
    // Offers of settled alternations are taken out here, as their process would do.
    while (mlt_list_pop_front(&chan->offers[MLT_READS]) ||
           mlt_list_pop_front(&chan->offers[MLT_WRITES])) {
    }
    mlt_list_remove(&chan->all);
    *(volatile uint32_t *)&chan->magic = 0; // compilers leave out what is stored before free
    free(chan->buffer);
    free(chan);
}

_Static_assert(sizeof(csp_chan) <= MLT_LIVE_MOST_BYTES &&
                   sizeof((csp_chan){0}.name) == MLT_LIVE_QUEUE_NAME,
               "the agent has room for one");

mlt_live_queues mlt_chans_shown(const mlt_csp *csp)
{
    return (mlt_live_queues){.list = &csp->chans,
                             .bytes = sizeof(csp_chan),
                             .link = offsetof(csp_chan, all),
                             .name = offsetof(csp_chan, name),
                             .number = offsetof(csp_chan, number),
                             .held = offsetof(csp_chan, held),
                             .room = offsetof(csp_chan, capacity),
                             .flow = offsetof(csp_chan, queue),
                             .reads = offsetof(csp_chan, offers[MLT_READS]),
                             .writes = offsetof(csp_chan, offers[MLT_WRITES])};
}

void mlt_chans_end(mlt_csp *csp)
{
    MLT_LIST_DRAIN(csp_chan, chan, &csp->chans, all) {
        free(chan->buffer);
        free(chan);
    }
}

static void take_end(csp_chan *chan, bool writer, const char *call)
{
    mlt_chan_check(mlt_csp_enter(call), chan, call);
    chan->holders[writer]++;
    chan->had_holders[writer]++;
    if (chan->remote)
        mlt_chan_far_take(chan, writer);
}

MLT_EXPORT csp_in *csp_chan_in(csp_chan *chan)
{
    take_end(chan, false, "csp_chan_in");
    return mlt_chan_in(chan);
}

MLT_EXPORT csp_out *csp_chan_out(csp_chan *chan)
{
    take_end(chan, true, "csp_chan_out");
    return mlt_chan_out(chan);
}

// ---- moving values

static void take_first(csp_chan *chan, void *value)
{
    mlt_buffer_copy(value, mlt_buffer_at(chan, 0), chan->size);
    mlt_buffer_drop(chan);
}

csp_status mlt_chan_status(const csp_chan *chan)
{
    static const csp_status of[] = {CSP_OK, CSP_RETIRED, CSP_POISONED, CSP_LOST};
    return of[chan->life];
}

// The first offer of the queue that may be served now, except those of the alternation `self`.
// Takes out what was settled elsewhere.
static mlt_offer *csp_chan_find(csp_chan *chan, bool writes, const mlt_alt *self)
{
    MLT_LIST_EACH_SAFE(mlt_offer, offer, &chan->offers[writes], node) {
        const mlt_alt *alt = offer->alt;
        if (alt->chosen != MLT_ALT_OPEN)
            mlt_list_remove(&offer->node);
        else if (alt == self || alt->promised)
            continue;
        else
            return offer;
    }
    return NULL;
}

static void served(csp_chan *chan, mlt_offer *offer)
{
    mlt_list_remove(&offer->node);
    mlt_alt_settle(chan->csp, offer->alt, offer->index, CSP_OK);
}

// They serve a read or a write of `self` (NULL: a plain one) at once, if that can be.
bool mlt_chan_try_write(csp_chan *chan, const void *value, const mlt_alt *self, csp_status *status)
{
    *status = mlt_chan_status(chan);
    if (*status != CSP_OK)
        return true;
    mlt_offer *reader = csp_chan_find(chan, false, self);
    if (reader && chan->held == 0) {
        mlt_buffer_copy(reader->value, value, chan->size);
        served(chan, reader);
        return true;
    }
    if (reader) { // it could not be served when the value came
        take_first(chan, reader->value);
        served(chan, reader);
    }
    if (!chan->buffered)
        return false;
    if (chan->held == chan->capacity) {
        if (!chan->overwrites)
            return false;
        mlt_buffer_drop(chan);
    }
    mlt_buffer_put(chan, value);
    return true;
}

bool mlt_chan_try_read(csp_chan *chan, void *value, const mlt_alt *self, csp_status *status)
{
    *status = mlt_chan_status(chan);
    if (*status != CSP_OK && !(chan->life == MLT_CHAN_RETIRED && chan->held > 0))
        return true;
    *status = CSP_OK;
    if (chan->held > 0) {
        take_first(chan, value);
        mlt_offer *writer = csp_chan_find(chan, true, self);
        if (writer) {
            mlt_buffer_put(chan, writer->value);
            served(chan, writer);
        }
        return true;
    }
    mlt_offer *writer = csp_chan_find(chan, true, self);
    if (!writer)
        return false;
    mlt_buffer_copy(value, writer->value, chan->size);
    served(chan, writer);
    return true;
}

// ---- waiting

// A plain read or write without a deadline that found no counterpart. Whoever settles it takes the
// offer out.
static RARELY csp_status wait_at(csp_chan *chan, mlt_csp *csp, void *value, mlt_list_node *queue,
                                 const mlt_wait *wait)
{
    mlt_alt_lone w;
    mlt_alt_lone_begin(&w, csp, value);
    mlt_list_push_back(queue, &w.offer.node);
    return mlt_alt_lone_park(&w, csp, wait);
}

// The deadline of a plain read or write passes. What another program may be answering already is
// waited for.
static void csp_chan_lone_late(mlt_timer *timer)
{
    mlt_alt *alt = mlt_container_of(timer, mlt_alt, timer);
    mlt_offer *offer = alt->offers;
    csp_chan *chan = (csp_chan *)alt->wait.what;
    if (alt->chosen != MLT_ALT_OPEN)
        return;
    alt->late = true;
    if (!chan->remote)
        mlt_list_remove(&offer->node);
    else if (!mlt_chan_far_withdraw(chan, offer, alt->wait.kind == MLT_CSP_WRITE))
        return;
    mlt_alt_settle(chan->csp, alt, 0, CSP_LATE);
}

static csp_status move(mlt_csp *csp, csp_chan *chan, void *value, bool writes, csp_time deadline,
                       const char *call)
{
    chan->last_user[writes] = csp->sched->current;
    csp_status status;
    if (!chan->remote && (writes ? mlt_chan_try_write(chan, value, NULL, &status)
                                 : mlt_chan_try_read(chan, value, NULL, &status)))
        return status;
    if (!chan->remote && mlt_deadline_passed(deadline))
        return CSP_LATE;
    mlt_alt_lone w;
    mlt_alt_lone_begin(&w, csp, value);
    w.offer.node = (mlt_list_node){0};
    const mlt_wait *wait =
        mlt_csp_wait_for(&w.alt.wait, call, writes ? MLT_CSP_WRITE : MLT_CSP_READ, chan, 0);
    if (!chan->remote)
        mlt_list_push_back(&chan->offers[writes], &w.offer.node);
    else if (mlt_chan_far_offer(chan, &w.offer, writes))
        return w.alt.status;
    return mlt_alt_lone_wait(&w, csp, wait, deadline, csp_chan_lone_late);
}

// Along the wrappers of its way, then what it is about.
static csp_status move_along(mlt_csp *csp, csp_chan *chan, void *value, bool writes,
                             csp_time deadline, const char *call)
{
    char name[64];
    mlt_csp_walk walk;
    const mlt_intercept_event event = {.call = call, .peer = -1, .tag = -1, .bytes = chan->size};
    mlt_csp_intercept_begin(csp, &walk, MLT_INTERCEPT_CHANNEL,
                            mlt_chan_name(chan, name, sizeof name), 0, event);
    mlt_chan_check(csp, chan, call); // it may have been freed meanwhile
    csp_status status = move(csp, chan, value, writes, deadline, call);
    if (status == CSP_OK)
        mlt_csp_intercept_end(&walk, event.bytes);
    return status;
}

// Everything that is not the common case.
static RARELY csp_status move_slowly(csp_chan *chan, void *value, bool writes, csp_time deadline,
                                     const char *call)
{
    mlt_csp *csp = mlt_csp_enter(call);
    mlt_chan_check(csp, chan, call);
    return MLT_UNLIKELY(chan->wrapped) ? move_along(csp, chan, value, writes, deadline, call)
                                       : move(csp, chan, value, writes, deadline, call);
}

csp_status mlt_chan_far_now(csp_chan *chan, void *value, bool writes, const char *call)
{
    return move_slowly(chan, value, writes, CSP_AT_ONCE, call);
}

// A channel of the calling worker, alive.
static inline bool is_common(const mlt_csp *csp, const csp_chan *chan)
{
    return csp && chan && mlt_chan_is(chan, csp->chan_magic) && chan->rare == 0;
}

static inline void csp_chan_serve(mlt_csp *csp, mlt_offer *offer)
{
    mlt_alt *alt = offer->alt;
    mlt_list_remove(&offer->node);
    alt->chosen = (int32_t)offer->index;
    alt->status = CSP_OK;
    mlt_alt_wake(csp, alt);
}

MLT_EXPORT csp_status csp_write(csp_out *out, const void *value)
{
    csp_chan *chan = mlt_chan_of_out(out);
    mlt_csp *csp = mlt_csp_self;
    void *from = (void *)value; // it is read only
    if (MLT_UNLIKELY(!is_common(csp, chan)))
        return move_slowly(chan, from, true, CSP_NEVER, "csp_write");
    chan->last_user[MLT_WRITES] = csp->sched->current;
    mlt_offer *reader = mlt_container_of(chan->offers[MLT_READS].next, mlt_offer, node);
    if (&reader->node != &chan->offers[MLT_READS]) {
        if (MLT_UNLIKELY(!mlt_alt_is_open(reader->alt) || chan->held))
            return move_slowly(chan, from, true, CSP_NEVER, "csp_write");
        mlt_buffer_copy(reader->value, value, chan->size);
        csp_chan_serve(csp, reader);
        return CSP_OK;
    }
    if (chan->buffered)
        return move_slowly(chan, from, true, CSP_NEVER, "csp_write");
    return wait_at(chan, csp, from, &chan->offers[MLT_WRITES], &chan->waits[MLT_WRITES].wait);
}

MLT_EXPORT csp_status csp_read(csp_in *in, void *value)
{
    csp_chan *chan = mlt_chan_of_in(in);
    mlt_csp *csp = mlt_csp_self;
    if (MLT_UNLIKELY(!is_common(csp, chan)))
        return move_slowly(chan, value, false, CSP_NEVER, "csp_read");
    chan->last_user[MLT_READS] = csp->sched->current;
    if (chan->held > 0)
        return move_slowly(chan, value, false, CSP_NEVER, "csp_read");
    mlt_offer *writer = mlt_container_of(chan->offers[MLT_WRITES].next, mlt_offer, node);
    if (&writer->node != &chan->offers[MLT_WRITES]) {
        if (MLT_UNLIKELY(!mlt_alt_is_open(writer->alt)))
            return move_slowly(chan, value, false, CSP_NEVER, "csp_read");
        mlt_buffer_copy(value, writer->value, chan->size);
        csp_chan_serve(csp, writer);
        return CSP_OK;
    }
    return wait_at(chan, csp, value, &chan->offers[MLT_READS], &chan->waits[MLT_READS].wait);
}

MLT_EXPORT csp_status csp_read_by(csp_in *in, void *value, csp_time deadline)
{
    return move_slowly(mlt_chan_of_in(in), value, false, deadline, "csp_read_by");
}

MLT_EXPORT csp_status csp_write_by(csp_out *out, const void *value, csp_time deadline)
{
    return move_slowly(mlt_chan_of_out(out), (void *)value, true, deadline, "csp_write_by");
}

// ---- poison and retirement

static void settle_all(csp_chan *chan)
{
    csp_status status = mlt_chan_status(chan);
    for (int side = 0; side < 2; side++)
        MLT_LIST_EACH_SAFE(mlt_offer, offer, &chan->offers[side], node) {
            mlt_alt *alt = offer->alt;
            // One that has promised looks again if the promise is void.
            if (alt->chosen == MLT_ALT_OPEN && alt->promised)
                continue;
            mlt_list_remove(&offer->node);
            if (alt->chosen == MLT_ALT_OPEN)
                mlt_alt_settle(chan->csp, alt, offer->index, status);
        }
}

void mlt_chan_poison(csp_chan *chan)
{
    if (chan->remote) {
        mlt_chan_far_poison(chan);
        return;
    }
    if (chan->life >= MLT_CHAN_POISONED)
        return;
    mlt_csp_trace_poison(chan);
    chan->life = MLT_CHAN_POISONED;
    chan->held = 0;
    settle_all(chan);
}

void mlt_chan_retire(csp_chan *chan, bool writer)
{
    if (chan->remote) {
        mlt_chan_far_retire(chan, writer);
        return;
    }
    if (chan->holders[writer] > 0)
        chan->holders[writer]--;
    if (chan->holders[writer] > 0 || chan->life != MLT_CHAN_LIVES)
        return;
    chan->life = MLT_CHAN_RETIRED;
    if (!writer)
        chan->held = 0; // nobody is left to read it
    settle_all(chan);
}

static void poison(csp_chan *chan)
{
    mlt_chan_check(mlt_csp_enter("csp_poison"), chan, "csp_poison");
    mlt_chan_poison(chan);
}

static void retire(csp_chan *chan, bool writer)
{
    const char *call = "csp_retire";
    mlt_csp *csp = mlt_csp_enter(call);
    char name[64];
    mlt_chan_check(csp, chan, call);
    mlt_proc_lets_go(csp, chan, writer);
    if (chan->holders[writer] == 0)
        mlt_csp_fault(call, "all %s of %s have retired already", writer ? "writers" : "readers",
                      mlt_chan_name(chan, name, sizeof name));
    mlt_chan_retire(chan, writer);
}

MLT_EXPORT void csp_poison_in(csp_in *in)
{
    poison(mlt_chan_of_in(in));
}

MLT_EXPORT void csp_poison_out(csp_out *out)
{
    poison(mlt_chan_of_out(out));
}

MLT_EXPORT void csp_retire_in(csp_in *in)
{
    retire(mlt_chan_of_in(in), false);
}

MLT_EXPORT void csp_retire_out(csp_out *out)
{
    retire(mlt_chan_of_out(out), true);
}
