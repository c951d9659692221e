// SPDX-License-Identifier: BSD-3-Clause
// Progress and idling: who looks at the transports, and when a worker sleeps.
#include "arch/arch.h"
#include "base/event.h"
#include "base/log.h"
#include "base/upcalls.h"
#include "boot/doorbell.h"
#include "fiber/deep.h"
#include "fiber/delegate.h"
#include "fiber/gate.h"
#include "fiber/io.h"
#include "os/fd.h"
#include "os/jitter.h"
#include "os/os.h"
#include "p2p/p2p_int.h"

enum {
    BURST = 64, // messages taken from one ring before the next
    EAGER_POLLS =
        200,    // polls without a pause: the answer of a peer that is at it comes within these
    TICK = 256, // progress steps between looks at the launcher's wishes
    LOOK_NS = 100000000,     // between looks at the threads that may still call
    GATED_LOOK_NS = 2000000, // ... and at descriptors, in a job of one worker
    LINGER = 200,            // times that others are let run before a worker sleeps
    SHELTERED = 6,           // the same if another worker of its host waits for the network
    ALONE = 10,              // the same over hosts, if nobody runs meanwhile:
    SWITCH_NS = 1000,        // so long it takes at least until one has run
    LONG_NS = 300000,        // nor longer, if all who run meanwhile wait for each other
    SPINS = 20,              // times spin_us that a worker polls in an operation of all, at most
    SHY = 64,                // waits without a yield after one that took longer
    STEP_EVERY = 16,         // yields between steps of a worker that waits for its neighbours
    DEAF_NS = 1000000,       // between looks at descriptors, if the worker can have no doorbell
    NEAR = 64,               // steps after a message of this host in which
    FAR_EVERY = 16,          // connections are looked at in every 16th only: a look costs 300 ns
    COLD_EVERY = 64,         // steps between looks at connections that have been quiet
    PATROL_NS = 1000000000,  // between looks for connections whose other side is silent
};

static void answer_launcher(mlt_worker *w)
{
    uint32_t wanted = atomic_load_explicit(&w->wire->own->report_wanted, memory_order_acquire);
    if (wanted == atomic_load_explicit(&w->wire->own->reported, memory_order_relaxed))
        return;
    atomic_store_explicit(&w->wire->own->reported, wanted, memory_order_relaxed);
    mlt_worker_report(w);
    if (mlt_upcalls.asked)
        mlt_upcalls.asked(w);
}

void mlt_worker_later(mlt_worker *w, mlt_work *work)
{
    mlt_list_push_back(&w->p2p->later, &work->node);
}

void mlt_worker_again(mlt_worker *w, mlt_work *work)
{
    mlt_list_push_back(&w->p2p->again, &work->node);
}

static MLT_COLD bool run_later(mlt_worker *w)
{
    MLT_LIST_DRAIN(mlt_work, work, &w->p2p->later, node)
        work->run(work);
    MLT_LIST_DRAIN(mlt_work, work, &w->p2p->again, node)
        mlt_list_push_back(&w->p2p->later, &work->node);
    return true;
}

// The only rank has got what it waited for: it goes on, and looks at what came after that when it
// waits again. Not while there is anything else to drive; and not for ever, as a peer that always
// has something would keep the others from being heard.
static inline bool is_woken(mlt_worker *w)
{
    return w->sched->home.state == MLT_FIBER_RUNNABLE && w->sched->solo &&
           mlt_list_empty(&w->p2p->waiting) && mlt_list_empty(&w->p2p->streams) &&
           mlt_list_empty(&w->p2p->fetches) && mlt_list_empty(&w->p2p->later) &&
           ++w->p2p->hurries % BURST != 0;
}

// ---- other hosts

typedef struct far_look {
    mlt_worker *w;
    bool hasty;
} far_look;

static bool take_frame(void *arg, mlt_peer *peer, const mlt_wire_frame *frame, const char **fault)
{
    const far_look *look = arg;
    mlt_p2p_arrived_far(look->w, peer, frame, fault);
    return !(look->hasty && is_woken(look->w));
}

static unsigned char *place_frame(void *arg, mlt_peer *peer, const mlt_wire_frame *frame,
                                  uint64_t *bytes, const char **fault)
{
    return mlt_p2p_place_far(((const far_look *)arg)->w, peer, frame, bytes, fault);
}

static bool rang(void *worker, uint32_t number)
{
    mlt_wire *wire = ((mlt_worker *)worker)->wire;
    return wire->over->rang(wire, number);
}

static bool listen_to(void *worker, int fd, uint32_t number, bool reads, bool writes)
{
    mlt_worker *w = worker;
    if (!reads) {
        mlt_io_port_drop(w->sched, fd);
        return true;
    }
    mlt_io_ports(w->sched, rang, w);
    return mlt_io_port_set(w->sched, fd, number, writes);
}

static MLT_COLD void patrol(mlt_worker *w)
{
    uint64_t now = mlt_os_now_ns();
    if (now < w->p2p->patrol_ns)
        return;
    w->p2p->patrol_ns = now + PATROL_NS;
    w->wire->over->patrol(w->wire);
}

bool mlt_p2p_look_at_cold(mlt_worker *w)
{
    if (!w->wire->over->is_cold(w->wire))
        return false;
    w->wire->over->listen(w->wire, listen_to, w);
    return mlt_io_look_at_ports(w->sched);
}

// Takes what came from other hosts, and lets go what is for them.
static __attribute__((noinline)) bool look_far(mlt_worker *w, bool hasty)
{
    mlt_wire *wire = w->wire;
    mlt_p2p_state *p2p = w->p2p;
    far_look look = {.w = w, .hasty = hasty};
    mlt_wire_taker taker = {.take = take_frame, .place = place_frame, .arg = &look};
    bool any = false;
    p2p->near -= p2p->near != 0;
    if (p2p->near == 0 || ++p2p->passed >= FAR_EVERY) {
        p2p->passed = 0;
        any = wire->over->look(wire, &taker);
    }
    if (MLT_UNLIKELY(wire->over->some_ended(wire)) && mlt_upcalls.processes_ended) {
        mlt_upcalls.processes_ended(w);
        any = true;
    }
    any |= wire->over->push(wire);
    return any;
}

// A step that ends early, because a ring had something.
static void pass_by(mlt_worker *w)
{
    w->p2p->near = NEAR;
    w->p2p->passed++;
    (void)mlt_p2p_push(w);
}

bool mlt_p2p_progress(mlt_worker *w)
{
    mlt_wire *wire = w->wire;
    if (!wire)
        return !mlt_list_empty(&w->p2p->later) && run_later(w);
    bool any = false;
    // Not for ever: a peer that always has something would keep the others from being heard.
    bool hasty = w->p2p->hurries < BURST;
    for (uint32_t i = 0; i < wire->hot_count; i++) {
        mlt_peer *peer = wire->hot[i];
        const mlt_slot *slot;
        for (int n = 0; n < BURST && (slot = mlt_ring_peek(&peer->rx)); n++) {
            mlt_p2p_arrived(w, peer, slot);
            any = true;
            if (hasty && is_woken(w)) {
                w->p2p->hurries++;
                if (MLT_UNLIKELY(wire->over != NULL))
                    pass_by(w);
                return true;
            }
        }
    }
    if (MLT_UNLIKELY(wire->over != NULL)) {
        w->p2p->near = any ? NEAR : w->p2p->near;
        any |= look_far(w, hasty);
        if (hasty && is_woken(w)) {
            w->p2p->hurries++;
            return true;
        }
        if (MLT_UNLIKELY(w->p2p->ticks % COLD_EVERY == 0))
            any |= mlt_p2p_look_at_cold(w); // what it wakes must run before the worker sleeps
    }
    w->p2p->hurries = 0;
    if (MLT_UNLIKELY(mlt_wire_has_news(wire))) {
        mlt_wire_gather(wire);
        any = true;
    }
    if (MLT_UNLIKELY(!mlt_list_empty(&w->p2p->waiting)))
        any |= mlt_p2p_flush(w);
    if (MLT_UNLIKELY(!mlt_list_empty(&w->p2p->streams)))
        any |= mlt_p2p_pump(w);
    if (MLT_UNLIKELY(!mlt_list_empty(&w->p2p->fetches)))
        any |= mlt_p2p_fetch_some(w);
    if (MLT_UNLIKELY(!mlt_list_empty(&w->p2p->later)))
        any |= run_later(w);
    if (MLT_UNLIKELY(++w->p2p->ticks % TICK == 0)) {
        answer_launcher(w);
        if (wire->over)
            patrol(w);
    }
    any |= mlt_p2p_push(w);
    return any;
}

bool mlt_worker_step(mlt_worker *w)
{
    return mlt_p2p_progress(w);
}

// Timers and descriptors that somebody waits for. Programs that have none pay for this one look. A driver
// that is blocked watches them itself; if another thread read its doorbell, it would sleep on.
static inline bool glance_at_io(mlt_worker *w)
{
    if (MLT_LIKELY(!w->sched->io) || (w->sched->gate && mlt_gate_driver_blocks(w->sched->gate)))
        return false;
    return mlt_io_glance(w->sched);
}

static inline bool make_progress(mlt_worker *w)
{
    bool any = mlt_p2p_progress(w);
    return glance_at_io(w) || any;
}

void mlt_p2p_breathe(void *worker)
{
    (void)make_progress(worker);
}

// Relaxed: set by a signal handler of the worker's thread, which wakes whoever sleeps in its place.
static inline bool is_nudged(const mlt_worker *w)
{
    return atomic_load_explicit(&w->sched->nudged, memory_order_relaxed);
}

static bool ready(void *worker)
{
    mlt_worker *w = worker;
    return is_nudged(w) || (w->sched->delegates && mlt_delegates_ready(w->sched->delegates)) ||
           (!mlt_list_empty(&w->p2p->waiting) && mlt_p2p_flush(w)) ||
           (!mlt_list_empty(&w->p2p->streams) && mlt_p2p_pump(w)) ||
           !mlt_list_empty(&w->p2p->fetches) || !mlt_list_empty(&w->p2p->later);
}

// A worker that has polled for `waited` without a message polls on, if it is in an operation of all
// workers and each has a core. There a sleep costs not only the sleeper: whoever waits for its next
// message waits for the kernel to wake it, and in a ring that is everybody. So it may take as long
// as the sleeps of all workers would, which is bounded: a rank that waits for long costs nothing.
// Meanwhile it lets others run, and if one of them does not give the core back soon, it sleeps.
static bool stays(const mlt_worker *w, uint64_t waited, uint64_t since_look)
{
    uint32_t workers = w->boot->job->local_workers, all = workers < SPINS ? workers : SPINS;
    if (!w->together || waited > w->p2p->spin_ns * all || since_look > LONG_NS)
        return false;
    mlt_os_yield();
    return true;
}

static bool spin(mlt_worker *w)
{
    mlt_gate *gate = w->sched->gate;
    uint64_t start = 0, last = 0;
    for (uint32_t n = 1;; n++) {
        if (mlt_p2p_progress(w))
            return true;
        if (MLT_UNLIKELY(gate != NULL) && !mlt_gate_let_in(gate))
            return true;
        if (n < EAGER_POLLS)
            continue;
        mlt_arch_pause();
        if (n % 64 == 0) {
            if (MLT_UNLIKELY(w->sched->io != NULL) && mlt_io_look(w->sched))
                return true;
            uint64_t now = mlt_os_now_ns();
            if (!start)
                start = now;
            else if (now - start > w->p2p->spin_ns && !stays(w, now - start, now - last))
                return false;
            last = now;
        }
    }
}

// The doorbell of a worker that waits for descriptors; made when it first does, and again if the
// program has closed it. False: it has none.
static MLT_COLD bool has_doorbell(mlt_worker *w)
{
    mlt_p2p_state *p2p = w->p2p;
    if (MLT_LIKELY(mlt_io_has_doorbell(w->sched)))
        return true;
    if (p2p->doorbell == NO_BELL_EVER)
        return false;
    char why[128] = "the system refuses another descriptor";
    if (mlt_doorbell_new(w->wire->own, &p2p->doorbell, why, sizeof why) == MLT_OK &&
        mlt_io_set_doorbell(w->sched, p2p->doorbell) == MLT_OK)
        return true;
    mlt_log("worker %u looks at its descriptors a thousand times a second when it could sleep: %s",
            w->index, why);
    if (p2p->doorbell >= 0)
        mlt_os_close(p2p->doorbell);
    p2p->doorbell = NO_BELL_EVER;
    return false;
}

// As below, with connections, at which it looks from time to time.
static void block_for_hosts(mlt_worker *w)
{
    const mlt_job_worker *own = w->wire->own;
    while (!mlt_io_block(w->sched, PATROL_NS) &&
           atomic_load_explicit(&own->state, memory_order_relaxed) == w->wire->nap)
        w->wire->over->patrol(w->wire);
}

// The worker's thread counts as parked, or no longer, if nothing but messages can wake it. Where
// threads delegate calls it always does: when all are parked, none can call.
static void count_asleep(const mlt_worker *w, bool for_messages, bool asleep)
{
    if (MLT_UNLIKELY(w->sched->delegates != NULL))
        mlt_delegates_sleep(w->sched->delegates, asleep);
    else if (for_messages)
        mlt_threads_count_parked(asleep);
}

// Until somebody wakes the worker, or a timer or a descriptor that it waits for.
static void block(mlt_worker *w, mlt_job_worker_state how, bool waits, bool hosts)
{
    mlt_job_worker *own = w->wire->own;
    bool for_messages = !waits && (!hosts || how == MLT_WORKER_LISTENS);
    mlt_jitter();
    count_asleep(w, for_messages, true);
    if (how == MLT_WORKER_LISTENS && w->wire->over) {
        block_for_hosts(w);
    } else if (how == MLT_WORKER_LISTENS) {
        (void)mlt_io_block(w->sched, MLT_OS_FOREVER);
    } else if (waits || hosts) { // for time; or for descriptors, without a doorbell
        int64_t patience = w->sched->io ? mlt_io_patience(w->sched) : MLT_OS_FOREVER;
        if ((hosts || mlt_io_watches(w->sched)) && (patience < 0 || patience > DEAF_NS))
            patience = DEAF_NS;
        mlt_os_futex_wait(&own->state, w->wire->nap, patience);
    } else {
        mlt_os_futex_wait(&own->state, w->wire->nap, MLT_OS_FOREVER);
    }
    count_asleep(w, for_messages, false);
}

// With a gate: for that time, or until the worker is woken.
static bool nap(mlt_worker *w, mlt_job_worker_state how, int64_t timeout_ns)
{
    if (how != MLT_WORKER_LISTENS) {
        mlt_os_futex_wait(&w->wire->own->state, w->wire->nap, timeout_ns);
        return false;
    }
    return mlt_io_nap(w->sched, timeout_ns);
}

// From a block: connections are the worker's, so this thread goes inside for a moment. It still
// counts as asleep.
static void patrol_inside(mlt_worker *w, uint64_t *next_ns)
{
    uint64_t now = mlt_os_now_ns();
    if (now < *next_ns)
        return;
    *next_ns = now + PATROL_NS;
    mlt_gate_unblock(w->sched->gate);
    w->wire->over->patrol(w->wire);
    mlt_gate_block(w->sched->gate);
}

// Until somebody wakes the worker. With a gate, other threads may come in meanwhile. If one outside
// of MPI may still call, the launcher must not think that this worker waits in vain: looks from
// time to time whether all are parked. waits: for a time or a descriptor, too, which is a reason not
// to think so.
static void block_with_gate(mlt_worker *w, mlt_job_worker_state how, bool waits)
{
    mlt_gate *gate = w->sched->gate;
    mlt_job_worker *own = w->wire->own;
    int64_t timeout_ns = waits ? mlt_io_patience(w->sched) : LOOK_NS;
    uint32_t asleep = w->wire->nap;
    bool hosts = w->wire->over != NULL;
    uint64_t patrol_ns = hosts ? mlt_os_now_ns() + PATROL_NS : 0;
    w->p2p->io_known = mlt_io_changes(w->sched);
    if (waits && hosts && (timeout_ns < 0 || timeout_ns > PATROL_NS))
        timeout_ns = PATROL_NS;
    mlt_gate_block(gate);
    mlt_jitter();
    bool rings = nap(w, how, timeout_ns);
    if (waits && hosts)
        patrol_inside(w, &patrol_ns);
    while (!rings && !waits && atomic_load_explicit(&own->state, memory_order_relaxed) == asleep) {
        if (hosts)
            patrol_inside(w, &patrol_ns);
        if (mlt_threads_all_parked()) {
            // What threads sent and took while this one slept is not counted there yet. They have
            // counted themselves as parked since, so it can be seen here.
            mlt_wire_publish(w->wire);
            // release: pairs with the look.
            atomic_store_explicit(&own->wakes_itself, w->abroad != 0, memory_order_release);
            timeout_ns = hosts ? PATROL_NS : MLT_OS_FOREVER;
        }
        rings = nap(w, how, timeout_ns);
    }
    mlt_gate_unblock(gate);
    if (how == MLT_WORKER_LISTENS)
        (void)mlt_io_look_at_ports(w->sched);
    if (waits)
        (void)mlt_io_look(w->sched);
    atomic_store_explicit(&own->wakes_itself, 1, memory_order_relaxed);
}

static void nobody_can_go_on(mlt_worker *w)
{
    if (mlt_upcalls.deadlock) {
        mlt_upcalls.deadlock(w);
        return;
    }
    mlt_worker_report(w);
    mlt_fatal("no rank of this job can ever go on: deadlock");
}

// In a job of one worker nobody else can send; but a thread of the rank can.
static void wait_for_threads(mlt_worker *w)
{
    mlt_gate *gate = w->sched->gate;
    mlt_threads_count_parked(true);
    bool all = mlt_threads_all_parked();
    mlt_threads_count_parked(false);
    if (all)
        nobody_can_go_on(w);
    w->p2p->io_known = mlt_io_changes(w->sched);
    if (!all)
        mlt_gate_nap(gate, LOOK_NS);
}

// Alone in the world: nobody but time and descriptors can change anything.
static MLT_COLD void wait_for_io(mlt_worker *w)
{
    int64_t most = w->sched->nudge ? LOOK_NS : MLT_OS_FOREVER; // nobody wakes this thread
    if (is_nudged(w))
        return;
    if (w->sched->gate) { // nothing tells of descriptors and of threads at once
        int64_t next = mlt_io_patience(w->sched);
        w->p2p->io_known = mlt_io_changes(w->sched);
        mlt_gate_nap(w->sched->gate, next >= 0 && next < GATED_LOOK_NS ? next : GATED_LOOK_NS);
        (void)mlt_io_look(w->sched);
        return;
    }
    if (w->sched->delegates) { // the same
        int64_t next = mlt_io_patience(w->sched);
        int64_t limit = mlt_io_watches(w->sched) ? GATED_LOOK_NS : most > 0 ? most : next;
        mlt_delegates_nap(w->sched->delegates, next >= 0 && next < limit ? next : limit);
        (void)mlt_io_look(w->sched);
        return;
    }
    if (mlt_io_watches(w->sched)) {
        mlt_io_block(w->sched, most);
        return;
    }
    int64_t patience = mlt_io_patience(w->sched);
    if (most > 0 && patience > most)
        patience = most;
    if (patience > (int64_t)w->p2p->spin_ns)
        mlt_os_sleep(patience);
    else
        mlt_arch_pause(); // so short a time passes before the system has slept and woken
    (void)mlt_io_look(w->sched);
}

static void sleep_until_news(mlt_worker *w)
{
    mlt_job_worker *own = w->wire->own;
    bool waits = MLT_UNLIKELY(w->sched->io != NULL) && mlt_io_waits(w->sched);
    bool hosts = w->wire->over && w->wire->over->listen(w->wire, listen_to, w);
    bool listens = (hosts || (waits && mlt_io_watches(w->sched))) && has_doorbell(w);
    mlt_job_worker_state how = listens ? MLT_WORKER_LISTENS : MLT_WORKER_ASLEEP;
    // Time will go on, and other jobs may send, so this is no deadlock. Before `how` is stored, which releases it: the
    // launcher's look reads them in the opposite order.
    bool open = waits || (w->abroad && mlt_wire_hears_abroad(w->wire));
    if (open)
        atomic_store_explicit(&own->wakes_itself, 1, memory_order_relaxed);
    bool starving = !mlt_list_empty(&w->p2p->waiting) || !mlt_list_empty(&w->p2p->streams);
    if (starving)
        mlt_p2p_mark_starved(w, true);
    if (mlt_wire_doze(w->wire, how, w->living, ready, w)) {
        if (w->sched->gate)
            block_with_gate(w, how, waits);
        else
            block(w, how, waits, hosts);
    }
    mlt_wire_rise(w->wire);
    // release: a look that sees this 0, though it saw the worker asleep, sees that the epoch has
    // changed too, and does not count it as quiet. Pairs with mlt_job_observe.
    if (open)
        atomic_store_explicit(&own->wakes_itself, 0, memory_order_release);
    if (starving)
        mlt_p2p_mark_starved(w, false);
    answer_launcher(w);
}

static void sleep_told(mlt_worker *w)
{
    bool told = w->watched & MLT_WATCH_TRACE && mlt_upcalls.event;
    mlt_event event = {.kind = MLT_EVENT_SLEPT, .peer = -1, .tag = -1};
    event.since = told ? mlt_arch_cycles() : 0;
    sleep_until_news(w);
    if (told)
        mlt_upcalls.event(w, NULL, &event);
}

// Nothing but a message of this host lets the worker go on: nothing of its own is left to be driven.
static bool waits_for_rings(const mlt_worker *w, bool sheltered)
{
    const mlt_p2p_state *p2p = w->p2p;
    return (sheltered || !w->wire->over) && mlt_list_empty(&p2p->waiting) &&
           mlt_list_empty(&p2p->streams) && mlt_list_empty(&p2p->fetches) &&
           mlt_list_empty(&p2p->later) && !mlt_io_expects(w->sched);
}

static bool rings_are_empty(const mlt_wire *wire)
{
    if (mlt_wire_has_news(wire))
        return false;
    for (uint32_t i = 0; i < wire->hot_count; i++)
        if (mlt_ring_peek(&wire->hot[i]->rx))
            return false;
    return true;
}

// Where workers share cores there is no use in spinning, and sleeping costs the sender a system
// call and both of them a detour through the kernel's queues. In an operation of all workers the
// others have to run once, so they are let run. (A barrier of 8 processes on two cores: 12 us
// instead of 46.) False: nothing has come for a while.
//
// After a yield much of what the worker touches is no longer in the TLB. So if only a message of this
// host can let it go on, it looks at the rings and nothing else, but for now and then.
//
// A yield lets only those run that the system schedules in the same group. Hosts that share a
// machine, as containers or for a test, may be groups of their own: there a worker that yields keeps
// all other hosts from running. So over hosts it sleeps as soon as nobody takes its place. (A barrier
// of 4 such hosts with 4 processes each on two cores: 0.2 ms instead of 0.9.) One that waits for a
// neighbour, which waits for the network, yields a few times only: in one group that saves it most
// sleeps, and in several it keeps the neighbour from its core but for a moment.
//
// A yield that takes long has let somebody run who does not yield back: a program that computes. Its
// turn is a matter of milliseconds, whereas the system runs a sleeper soon after it is woken. So over
// hosts, where a message passes several workers in turn, such a worker sleeps at once in its next waits.
static bool linger(mlt_worker *w)
{
    bool sheltered = w->together <= w->sheltered, timed = w->wire->over != NULL;
    bool glances = waits_for_rings(w, sheltered);
    uint32_t most = sheltered ? SHELTERED : LINGER, alone = 0;
    if (w->p2p->shy) {
        w->p2p->shy--;
        return false;
    }
    for (uint32_t n = 1; n <= most && alone < ALONE && !w->p2p->shy; n++) {
        uint64_t before = timed ? mlt_os_now_ns() : 0;
        mlt_os_yield();
        uint64_t took = timed ? mlt_os_now_ns() - before : SWITCH_NS;
        alone = took < SWITCH_NS ? alone + 1 : 0;
        w->p2p->shy = took > LONG_NS ? SHY : 0;
        if (glances && n % STEP_EVERY != 0 && rings_are_empty(w->wire))
            continue;
        w->p2p->near = 0; // a look at connections costs less than the yield
        if (make_progress(w))
            return true;
    }
    return false;
}

void mlt_p2p_idle(void *worker)
{
    mlt_worker *w = worker;
    if (make_progress(w))
        return;
    if (!w->wire) { // alone in the world, and nobody can go on
        if (MLT_UNLIKELY(w->sched->io != NULL) && mlt_io_waits(w->sched))
            wait_for_io(w);
        else if (w->sched->gate)
            wait_for_threads(w);
        else
            nobody_can_go_on(w);
        return;
    }
    uint64_t start = w->watched & MLT_WATCH_TOOLS || w->boot->job->profile ? mlt_os_now_ns() : 0;
    bool awake = w->p2p->spin_ns ? spin(w) : w->together && !w->sched->gate ? linger(w) : false;
    if (!awake)
        sleep_told(w);
    if (start)
        w->counts.wait_ns += mlt_os_now_ns() - start;
}

// The idle function of a worker that may be nudged.
static void idle_nudged(void *worker)
{
    mlt_worker *w = worker;
    if (atomic_exchange_explicit(&w->sched->nudged, false, memory_order_relaxed)) {
        w->sched->nudge(w);
        if (w->sched->runnable)
            return;
    }
    mlt_p2p_idle(w);
}

void mlt_p2p_take_nudges(mlt_worker *w, void (*nudge)(void *worker))
{
    w->sched->nudge = nudge;
    mlt_deep_set_idle(w->sched, idle_nudged);
}

void mlt_p2p_last_look(mlt_worker *w)
{
    enum { STEPS = 1000 }; // others may go on sending for ever
    for (int i = 0; w->wire && i < STEPS && mlt_p2p_progress(w); i++) {
    }
}

// Somebody else may need this core to produce what we poll for; and all fibers of this worker may be
// polling. Nobody tells us whether the core is shared (a program binds its threads, another job runs
// beside this one), but a yield does: if it takes as long as a switch, somebody has run. Then the next
// polls in vain are few, until nobody is found any more. (Two workers on one core, a token among 8
// fibers that poll: 85 us a hop, and 1.7 this way.)
static void give_way(mlt_worker *w)
{
    mlt_p2p_state *p2p = w->p2p;
    uint64_t before = mlt_os_now_ns();
    if (w->sched->gate)
        mlt_gate_yield(w->sched->gate);
    else
        mlt_os_yield();
    bool shared = p2p->crowded || mlt_os_now_ns() - before >= SWITCH_NS;
    uint32_t longer = p2p->patience * 2;
    p2p->patience = shared ? MLT_POLLS_FEW : longer < MLT_POLLS_MANY ? longer : MLT_POLLS_MANY;
}

void mlt_p2p_poll(mlt_rank *rank)
{
    mlt_worker *w = rank->worker;
    if (MLT_UNLIKELY(w->sched->pinned))
        mlt_sched_refuse(w->sched, NULL);
    bool any = make_progress(w);
    if (any) {
        w->p2p->barren = 0;
    } else if (++w->p2p->barren >= w->p2p->patience + w->sched->runnable) {
        w->p2p->barren = 0;
        give_way(w);
    }
    mlt_fiber_yield(w->sched);
}
