// SPDX-License-Identifier: BSD-3-Clause
// An alternation first looks at its guards, one after the other, and is done at the first that is
// ready: nothing is queued for that. If none is, an offer for each goes into the queue of its
// thing, and the process parks until one was taken.
//
// Whether a channel of another program is ready is not known here. Without a guard that is ready it
// gets an offer as the others do. With one, those that come before it in the order of this call are
// asked first, so that they have their turn too; that costs a message and an answer each.
#include "csp/alt.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/export.h"
#include "base/log.h"
#include "base/memory.h"
#include "csp/barrier.h"
#include "csp/chan.h"
#include "csp/net/port.h"
#include "fiber/await.h"
#include "fiber/policy.h"

enum {
    ALT_FEW = 8, // guards whose offers are on the stack
    AHEAD = 8,   // guards whose channels are asked for while others are looked at
    NONE = -1,   // no guard is ready
};

void mlt_alt_settle(mlt_csp *csp, mlt_alt *alt, uint32_t index, csp_status status)
{
    alt->chosen = (int32_t)index;
    alt->status = status;
    mlt_alt_wake(csp, alt);
}

void mlt_alt_reopen(mlt_csp *csp, mlt_alt *alt)
{
    mlt_assert(alt->promised && alt->chosen == MLT_ALT_OPEN);
    alt->promised = false;
    mlt_fiber_wake(csp->sched, alt->fiber);
}

csp_status mlt_alt_lone_wait(mlt_alt_lone *w, mlt_csp *csp, const mlt_wait *wait, csp_time deadline,
                             void (*late)(mlt_timer *timer))
{
    bool timed = deadline != CSP_NEVER;
    if (MLT_UNLIKELY(timed)) {
        w->alt.offers = &w->offer;
        w->alt.count = 1;
        w->alt.timer = (mlt_timer){.fire = late};
        if (mlt_deadline_passed(deadline))
            late(&w->alt.timer);
        else
            mlt_timer_set(csp->sched, &w->alt.timer, (uint64_t)deadline);
    }
    while (w->alt.chosen == MLT_ALT_OPEN)
        mlt_fiber_park(csp->sched, wait);
    if (MLT_UNLIKELY(timed) && w->alt.timer.place)
        mlt_timer_stop(csp->sched, &w->alt.timer);
    return w->alt.status;
}

// ---- guards

MLT_EXPORT csp_guard csp_on_read(csp_in *in, void *value)
{
    return (csp_guard){.kind = CSP_GUARD_READ, .in = in, .value = value};
}

MLT_EXPORT csp_guard csp_on_write(csp_out *out, const void *value)
{
    return (csp_guard){.kind = CSP_GUARD_WRITE, .out = out, .value = (void *)value};
}

MLT_EXPORT csp_guard csp_on_time(csp_time deadline)
{
    return (csp_guard){.kind = CSP_GUARD_TIME, .at = deadline};
}

MLT_EXPORT csp_guard csp_on_skip(void)
{
    return (csp_guard){.kind = CSP_GUARD_SKIP};
}

MLT_EXPORT csp_guard csp_on_sync(csp_barrier *barrier)
{
    return (csp_guard){.kind = CSP_GUARD_SYNC, .barrier = barrier};
}

MLT_EXPORT csp_guard csp_on_readable(int fd)
{
    return (csp_guard){.kind = CSP_GUARD_READABLE, .fd = fd};
}

MLT_EXPORT csp_guard csp_on_writable(int fd)
{
    return (csp_guard){.kind = CSP_GUARD_WRITABLE, .fd = fd};
}

MLT_EXPORT csp_guard csp_on_port(csp_port *port, void *buffer, size_t size)
{
    return (csp_guard){.kind = CSP_GUARD_PORT, .port = port, .value = buffer, .size = size};
}

// ---- looking

// What an alternation is while it runs. The offers and watches are there only if it waits.
typedef struct run {
    mlt_csp *csp;
    csp_guard *guards;
    uint32_t count, start; // the first guard to be looked at
    const char *call;
    csp_time now;      // 0: not asked for yet
    uint32_t far;      // channels of other programs among the guards that were looked at
    bool asked;        // those were asked whether they are ready
    csp_status status; // of the guard that was chosen
    mlt_alt *alt;      // NULL: it does not wait yet
    mlt_offer *offers; // [count]
    struct alt_watch *watches;
    uint32_t watching;
} run;

typedef struct alt_watch {
    mlt_io_watch watch;
    run *of;
    uint32_t index;
} alt_watch;

static csp_chan *chan_of(const csp_guard *g)
{
    return g->kind == CSP_GUARD_READ ? mlt_chan_of_in(g->in) : mlt_chan_of_out(g->out);
}

static bool alt_is_far(const csp_guard *g)
{
    return (g->kind == CSP_GUARD_READ || g->kind == CSP_GUARD_WRITE) && chan_of(g)->remote;
}

static bool time_is_ready(run *r, csp_time at)
{
    if (at == CSP_NEVER)
        return false;
    if (at <= CSP_AT_ONCE)
        return true;
    if (r->now == 0)
        r->now = csp_now();
    return at <= r->now;
}

static MLT_COLD bool fd_is_ready(const run *r, const csp_guard *g)
{
    struct pollfd at = {.fd = g->fd, .events = g->kind == CSP_GUARD_READABLE ? POLLIN : POLLOUT};
    int saved = errno, n;
    do
        n = poll(&at, 1, 0);
    while (n < 0 && errno == EINTR);
    errno = saved;
    if (n > 0 && at.revents & POLLNVAL)
        mlt_csp_fault(r->call, "%d is no open descriptor", g->fd);
    return n > 0;
}

static bool sync_is_ready(run *r, uint32_t i)
{
    csp_barrier *barrier = r->guards[i].barrier;
    mlt_barrier_check(r->csp, barrier, r->call);
    for (uint32_t k = 0; k < i; k++)
        if (r->guards[k].kind == CSP_GUARD_SYNC && !r->guards[k].off &&
            r->guards[k].barrier == barrier)
            mlt_csp_fault(r->call, "guards %u and %u stand for the same barrier", k, i);
    return mlt_barrier_try(barrier, r->alt ? &r->offers[i] : NULL);
}

static bool port_is_ready(run *r, uint32_t i)
{
    mlt_csp_port_check(r->csp, r->guards[i].port, r->call);
    mlt_alt alt = {.fiber = r->csp->sched->current, .chosen = MLT_ALT_OPEN, .guards = r->guards};
    mlt_offer offer = {.alt = r->alt ? r->alt : &alt, .value = r->guards[i].value, .index = i};
    if (!mlt_csp_port_try(r->guards[i].port, &offer))
        return false;
    r->status = offer.alt->status;
    return true;
}

static inline csp_chan *checked(const run *r, const csp_guard *g)
{
    csp_chan *chan = chan_of(g);
    if (MLT_UNLIKELY(!chan || !mlt_chan_is(chan, r->csp->chan_magic)))
        mlt_chan_check(r->csp, chan, r->call);
    return chan;
}

static bool chan_is_ready(run *r, const csp_guard *g)
{
    csp_chan *chan = checked(r, g);
    if (MLT_UNLIKELY(chan->remote && (chan->life == MLT_CHAN_LIVES || chan->held > 0))) {
        r->far++;
        return false;
    }
    if (g->kind == CSP_GUARD_READ) {
        if (mlt_list_empty(&chan->offers[MLT_WRITES]) && chan->held == 0 && chan->rare == 0)
            return false;
        return mlt_chan_try_read(chan, g->value, r->alt, &r->status);
    }
    if (mlt_list_empty(&chan->offers[MLT_READS]) && !chan->buffered && chan->rare == 0)
        return false;
    return mlt_chan_try_write(chan, g->value, r->alt, &r->status);
}

// Does what the guard stands for, if it is ready.
static bool is_ready(run *r, uint32_t i)
{
    const csp_guard *g = &r->guards[i];
    r->status = CSP_OK;
    switch (g->kind) {
    case CSP_GUARD_READ:
    case CSP_GUARD_WRITE:
        return chan_is_ready(r, g);
    case CSP_GUARD_TIME:
        return time_is_ready(r, g->at);
    case CSP_GUARD_SYNC:
        return sync_is_ready(r, i);
    case CSP_GUARD_READABLE:
    case CSP_GUARD_WRITABLE:
        return fd_is_ready(r, g);
    case CSP_GUARD_PORT:
        return port_is_ready(r, i);
    case CSP_GUARD_SKIP:
        return false; // only if nothing else is
    }
    mlt_csp_fault(r->call, "guard %u was made by none of the csp_on_... functions", i);
}

// The guard that is looked at after `n` others.
static inline uint32_t nth(const run *r, uint32_t n)
{
    uint32_t i = r->start + n;
    return i >= r->count ? i - r->count : i;
}

// One of the first n guards whose channel is elsewhere and ready, or NONE. Suspends.
static MLT_COLD int32_t ask_far(run *r, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = nth(r, k);
        csp_guard *g = &r->guards[i];
        if (g->off || !alt_is_far(g))
            continue;
        r->status = mlt_chan_far_now(chan_of(g), g->value, g->kind == CSP_GUARD_WRITE, r->call);
        if (r->status != CSP_LATE)
            return (int32_t)i;
    }
    return NONE;
}

// What is_ready would say, without doing anything but looking at what is surely ready: is there a
// point in asking those elsewhere?
static bool is_surely_ready(run *r, const csp_guard *g)
{
    switch (g->kind) {
    case CSP_GUARD_TIME:
        return time_is_ready(r, g->at);
    case CSP_GUARD_READABLE:
    case CSP_GUARD_WRITABLE:
        return fd_is_ready(r, g);
    case CSP_GUARD_READ: {
        const csp_chan *chan = checked(r, g);
        return !chan->remote && (chan->held > 0 || chan->life != MLT_CHAN_LIVES ||
                                 !mlt_list_empty(&chan->offers[MLT_WRITES]));
    }
    case CSP_GUARD_WRITE: {
        const csp_chan *chan = checked(r, g);
        return !chan->remote && (chan->buffered || chan->life != MLT_CHAN_LIVES ||
                                 !mlt_list_empty(&chan->offers[MLT_READS]));
    }
    default:
        return g->kind == CSP_GUARD_SKIP;
    }
}

// The guard that was chosen, or NONE. May suspend, but only if a channel is elsewhere.
static int32_t alt_look(run *r)
{
    int32_t skip = NONE;
    bool any = false;
    for (uint32_t n = 0; n < r->count; n++) {
        uint32_t i = nth(r, n);
        const csp_guard *g = &r->guards[i];
        if (r->count > AHEAD) // of what may be a channel; elsewhere it does no harm
            __builtin_prefetch(r->guards[nth(r, n + AHEAD < r->count ? n + AHEAD : n)].in);
        if (g->off)
            continue;
        any = true;
        if (g->kind == CSP_GUARD_SKIP) {
            skip = skip == NONE ? (int32_t)i : skip;
            continue;
        }
        if (MLT_UNLIKELY(r->far > 0 && !r->asked) && is_surely_ready(r, g)) {
            r->asked = true;
            int32_t far = ask_far(r, n);
            return far != NONE ? far : alt_look(r); // what was ready may not be so any more
        }
        if (is_ready(r, i))
            return (int32_t)i;
    }
    if (!any)
        mlt_csp_fault(r->call, r->count ? "all guards are off" : "there are no guards");
    if (skip != NONE && r->far > 0 && !r->asked) {
        r->asked = true;
        int32_t far = ask_far(r, r->count);
        return far != NONE ? far : alt_look(r);
    }
    r->status = CSP_OK;
    return skip;
}

// ---- waiting

static void time_fires(mlt_timer *timer)
{
    mlt_alt *alt = mlt_container_of(timer, mlt_alt, timer);
    if (!mlt_alt_is_open(alt)) // if a promise is void, it looks again
        return;
    mlt_alt_settle(mlt_csp_self, alt, (uint32_t)alt->wait.number, CSP_OK);
}

static void watch_fires(mlt_io_watch *w)
{
    alt_watch *at = mlt_container_of(w, alt_watch, watch);
    if (mlt_alt_is_open(at->of->alt))
        mlt_alt_settle(at->of->csp, at->of->alt, at->index, CSP_OK);
}

// False: the descriptor is always ready.
static bool start_watch(run *r, alt_watch *w)
{
    mlt_status status = mlt_io_watch_start(r->csp->sched, &w->watch);
    if (status != MLT_PENDING && status != MLT_OK)
        mlt_csp_fault(r->call, "descriptor %d cannot be waited for: %s", w->watch.fd,
                      strerror(errno));
    if (status == MLT_OK && mlt_alt_is_open(r->alt))
        mlt_alt_settle(r->csp, r->alt, w->index, CSP_OK);
    return status == MLT_PENDING;
}

static void watch_fd(run *r, uint32_t i)
{
    const csp_guard *g = &r->guards[i];
    if (!r->watches)
        r->watches = mlt_xcalloc(r->count, sizeof *r->watches);
    alt_watch *w = &r->watches[r->watching];
    *w = (alt_watch){
        .watch = {.fd = g->fd, .writes = g->kind == CSP_GUARD_WRITABLE, .fire = watch_fires},
        .of = r,
        .index = i};
    r->watching += start_watch(r, w);
}

static void offer_chan(run *r, uint32_t i)
{
    csp_chan *chan = chan_of(&r->guards[i]);
    bool writes = r->guards[i].kind == CSP_GUARD_WRITE;
    chan->last_user[writes] = r->alt->fiber;
    if (MLT_UNLIKELY(chan->remote))
        (void)mlt_chan_far_offer(chan, &r->offers[i], writes);
    else
        mlt_list_push_back(&chan->offers[writes], &r->offers[i].node);
}

static void offer(run *r, uint32_t i)
{
    const csp_guard *g = &r->guards[i];
    bool none = g->off || r->alt->chosen != MLT_ALT_OPEN;
    r->offers[i] = (mlt_offer){.alt = none ? NULL : r->alt, .value = g->value, .index = i};
    if (none)
        return;
    switch (g->kind) {
    case CSP_GUARD_READ:
    case CSP_GUARD_WRITE:
        offer_chan(r, i);
        break;
    case CSP_GUARD_TIME:
        if ((uint64_t)g->at < r->alt->timer.at_ns) {
            r->alt->timer.at_ns = (uint64_t)g->at;
            r->alt->wait.number = i;
        }
        break;
    case CSP_GUARD_SYNC:
        mlt_barrier_wait(g->barrier, &r->offers[i]);
        break;
    case CSP_GUARD_READABLE:
    case CSP_GUARD_WRITABLE:
        watch_fd(r, i);
        break;
    case CSP_GUARD_PORT:
        mlt_csp_port_wait(g->port, &r->offers[i]);
        break;
    case CSP_GUARD_SKIP:
        break;
    }
}

// What came to the guard while the alternation was promised has found it closed, and waits: a
// channel that is shared is told of the offer again, a descriptor that has fired is watched again.
static void offer_again(run *r, uint32_t i)
{
    csp_guard *g = &r->guards[i];
    if (g->off)
        return;
    if (alt_is_far(g))
        (void)mlt_chan_far_offer(chan_of(g), &r->offers[i], g->kind == CSP_GUARD_WRITE);
    for (uint32_t k = 0; k < r->watching; k++)
        if (r->watches[k].index == i && !r->watches[k].watch.node.next)
            start_watch(r, &r->watches[k]);
}

// A promise was void.
static void look_again(run *r)
{
    r->now = 0;
    r->asked = true;
    int32_t ready = alt_look(r);
    if (ready != NONE) {
        mlt_alt_settle(r->csp, r->alt, (uint32_t)ready, r->status);
        return;
    }
    for (uint32_t n = 0; n < r->count && mlt_alt_is_open(r->alt); n++)
        offer_again(r, nth(r, n));
}

static void withdraw(run *r, uint32_t i)
{
    const csp_guard *g = &r->guards[i];
    mlt_offer *o = &r->offers[i];
    // Whoever served this process may have freed what it no longer waits for since.
    if (!mlt_offer_stands(o))
        return;
    if (g->kind == CSP_GUARD_SYNC)
        mlt_barrier_withdraw(g->barrier, o);
    else if (MLT_UNLIKELY(alt_is_far(g)) && (int32_t)i != r->alt->chosen)
        (void)mlt_chan_far_withdraw(chan_of(g), o, g->kind == CSP_GUARD_WRITE);
    else
        mlt_list_remove(&o->node);
}

// About as many others can run as there are guards: likely those who are to come. If all of them
// run before the one that waits here, they stand at many guards by then, and a look finds each.
// Else every value would cost an offer at each guard, put and taken back.
static bool is_patient(const run *r)
{
    uint32_t others = r->csp->sched->runnable;
    return others > 2 && others >= r->count / 4 && others <= 2 * r->count;
}

// Nothing was ready.
static void wait_for_one(run *r, mlt_offer *offers)
{
    mlt_csp *csp = r->csp;
    mlt_alt alt = {.fiber = csp->sched->current,
                   .chosen = MLT_ALT_OPEN,
                   .guards = r->guards,
                   .offers = offers,
                   .count = r->count,
                   .patient = is_patient(r),
                   .timer = {.at_ns = (uint64_t)CSP_NEVER, .fire = time_fires}};
    const mlt_wait *wait = mlt_csp_wait_for(&alt.wait, r->call, MLT_CSP_ALT, &alt, 0);
    r->alt = &alt;
    r->offers = offers;
    for (uint32_t n = 0; n < r->count; n++)
        offer(r, nth(r, n));
    if (alt.chosen == MLT_ALT_OPEN && alt.timer.at_ns < (uint64_t)CSP_NEVER)
        mlt_timer_set(csp->sched, &alt.timer, alt.timer.at_ns);
    while (alt.chosen == MLT_ALT_OPEN) {
        mlt_fiber_park(csp->sched, wait);
        if (mlt_alt_is_open(&alt))
            look_again(r);
    }
    for (uint32_t i = 0; i < r->count; i++)
        withdraw(r, i);
    if (alt.timer.place)
        mlt_timer_stop(csp->sched, &alt.timer);
    for (uint32_t i = 0; i < r->watching; i++)
        mlt_io_watch_stop(csp->sched, &r->watches[i].watch);
    free(r->watches);
    r->status = alt.status;
    r->start = (uint32_t)alt.chosen;
}

static __attribute__((noinline)) void wait_few(run *r)
{
    mlt_offer offers[ALT_FEW];
    wait_for_one(r, offers);
}

// One spare piece of memory: most programs have one large alternation.
static __attribute__((noinline)) void wait_many(run *r)
{
    mlt_csp *csp = r->csp;
    size_t bytes = r->count * sizeof(mlt_offer), has = bytes;
    mlt_offer *offers;
    if (csp->spare_bytes >= bytes) {
        offers = csp->spare;
        has = csp->spare_bytes;
        csp->spare = NULL;
        csp->spare_bytes = 0;
    } else {
        offers = mlt_xcalloc(r->count, sizeof *offers);
    }
    wait_for_one(r, offers);
    if (csp->spare_bytes >= has) {
        free(offers);
        return;
    }
    free(csp->spare);
    csp->spare = offers;
    csp->spare_bytes = has;
}

static int alternate(run *r)
{
    int32_t chosen = alt_look(r);
    if (chosen == NONE) {
        if (r->count <= ALT_FEW)
            wait_few(r);
        else
            wait_many(r);
        chosen = (int32_t)r->start;
    }
    r->guards[chosen].status = r->status;
    return chosen;
}

static void alt_check_count(size_t count, const char *call)
{
    if (count > INT32_MAX)
        mlt_csp_fault(call, "%zu guards are too many", count);
}

// Where a search begins in an array that was not used yet.
static uint32_t anywhere(mlt_csp *csp, uint32_t count)
{
    csp->random = csp->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((csp->random >> 32) * count >> 32);
}

MLT_EXPORT int csp_alt(csp_guard *guards, size_t count)
{
    mlt_csp *csp = mlt_csp_enter("csp_alt");
    alt_check_count(count, "csp_alt");
    run r = {.csp = csp, .guards = guards, .count = (uint32_t)count, .call = "csp_alt"};
    if (count > 0) {
        size_t turn = guards[0].turn;
        if (MLT_UNLIKELY(mlt_policy_is_random(csp->sched)))
            r.start = mlt_policy_pick(csp->sched, r.count);
        else if (turn == 0)
            r.start = anywhere(csp, r.count);
        else
            r.start = turn < count ? (uint32_t)turn : 0;
    }
    int chosen = alternate(&r);
    guards[0].turn = (size_t)chosen + 1;
    return chosen;
}

int mlt_alt_first(csp_guard *guards, size_t count, const char *call)
{
    mlt_csp *csp = mlt_csp_enter(call);
    alt_check_count(count, call);
    run r = {.csp = csp, .guards = guards, .count = (uint32_t)count, .call = call};
    return alternate(&r);
}

MLT_EXPORT int csp_pri_alt(csp_guard *guards, size_t count)
{
    return mlt_alt_first(guards, count, "csp_pri_alt");
}
