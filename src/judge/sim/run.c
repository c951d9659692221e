// SPDX-License-Identifier: BSD-3-Clause
// The events of a simulation, and what each does (sim_int.h has the data,
// docs/reference/goal-simulator.md the rules). An event is an action that is ready, work after a
// receive, or a message that comes.
#include "judge/sim/sim_int.h"

enum { MESSAGE = MLT_SIM_MESSAGE_EVENT }; // in an event's `what`, below the action's number
enum { AHEAD = 12 };                      // events whose memory is fetched before it is needed
enum { PROGRESS = (1 << 16) };            // events between two reports

// ---- the record of causes, if a path is wanted

static mlt_sim_node *node_of(const mlt_sim *sim, uint32_t action, mlt_sim_point point)
{
    return &sim->nodes[2 * (size_t)action + (point == MLT_SIM_AT_SECOND)];
}

// The node happens at `now`. If that is later than it could have been, whoever kept the CPU or the
// NIC busy until now is the cause.
static void note_start(mlt_sim_node *node, uint64_t now, uint64_t cpu_free, mlt_sim_ref cpu,
                       mlt_sim_ref nic)
{
    if (now <= node->time)
        return;
    node->time = now;
    node->cause = cpu_free == now ? cpu : nic;
    node->cause.why = cpu_free == now ? MLT_SIM_CPU : MLT_SIM_NIC;
}

// ---- waiting for a CPU or a NIC

// A parked message is linked through its send, for its receive may wait for something else.
static inline uint32_t parked_by(const mlt_sim *sim, uint32_t what)
{
    return what & MESSAGE && sim->fixed ? sim->actions[what >> 1].partner : what >> 1;
}

static inline uint32_t parked_what(const mlt_sim *sim, uint32_t action, int wait)
{
    if (wait != MLT_SIM_WAIT_MESSAGE)
        return action << 1;
    return (sim->fixed ? sim->actions[action].partner : action) << 1 | MESSAGE;
}

// Into the ring, by number; nearly always at its end.
static void park(mlt_sim *sim, mlt_sim_waiters *waiters, uint32_t action, uint32_t seq)
{
    mlt_sim_action *all = sim->actions, *new = &all[action];
    new->time = seq;
    if (waiters->last == MLT_SIM_NONE) {
        new->link = waiters->last = action;
        return;
    }
    uint32_t before = waiters->last;
    if (all[before].time > seq)
        while (all[all[before].link].time < seq) // from the first on
            before = all[before].link;
    else
        waiters->last = action;
    new->link = all[before].link;
    all[before].link = action;
}

// The event found its CPU or NIC busy until `time`.
static void wait_until(mlt_sim *sim, mlt_sim_waiters *waiters, const mlt_sim_event *event,
                       uint64_t time)
{
    if (waiters->first >= event->seq) {
        waiters->first = event->seq;
        mlt_sim_put(sim, time, event->what, event->seq);
    } else {
        park(sim, waiters, parked_by(sim, event->what), event->seq);
    }
}

// The event went on. If it was the first that waited, the next one is now the first.
static inline void let_next(mlt_sim *sim, mlt_sim_waiters *waiters, int wait, uint32_t seq,
                            uint64_t time)
{
    if (waiters->first != seq)
        return;
    waiters->first = MLT_SIM_NONE;
    if (waiters->last == MLT_SIM_NONE)
        return;
    uint32_t next = sim->actions[waiters->last].link;
    if (next == waiters->last)
        waiters->last = MLT_SIM_NONE;
    else
        sim->actions[waiters->last].link = sim->actions[next].link;
    waiters->first = (uint32_t)sim->actions[next].time;
    mlt_sim_put(sim, time > sim->queue.now ? time : sim->queue.now, parked_what(sim, next, wait),
                waiters->first);
}

// The CPU of lane `home` is free, but may have to wait for a processor that others use, too.
static bool must_wait(mlt_sim *sim, uint32_t home, mlt_sim_waiters *waiters,
                      const mlt_sim_event *event, uint32_t action, mlt_sim_point point)
{
    uint64_t when =
        mlt_sim_enter(sim, home, event->time, sim->nodes ? node_of(sim, action, point) : NULL);
    if (when > event->time)
        wait_until(sim, waiters, event, when);
    return when > event->time;
}

// ---- starting and finishing

// A dependency of `number` is satisfied at `time`.
static inline void satisfy(mlt_sim *sim, uint32_t number, uint64_t time, uint32_t by,
                           mlt_sim_point point)
{
    mlt_sim_action *action = &sim->actions[number];
    if (time >= action->time) {
        action->time = time;
        if (MLT_UNLIKELY(sim->nodes != NULL))
            *node_of(sim, number, MLT_SIM_AT_START) =
                (mlt_sim_node){time, {by, (uint8_t)point, MLT_SIM_DEPENDS}};
    }
    if (--action->link == 0)
        mlt_sim_put(sim, action->time, number << 1, sim->seq++);
}

static inline void start(mlt_sim *sim, uint32_t number, mlt_sim_action *action, uint64_t time)
{
    action->bits |= MLT_SIM_STARTED;
    if (MLT_UNLIKELY(sim->result->action_start_ps != NULL))
        sim->result->action_start_ps[number] = sim->result->cpu_start_ps[number] = time;
    if (MLT_LIKELY(!(action->bits & MLT_SIM_STARTERS)))
        return;
    for (uint32_t i = action->next_at; i < action[1].next_at; i++)
        if (sim->next[i] & MLT_GOAL_STARTED)
            satisfy(sim, mlt_goal_plain(sim->next[i]), time, number, MLT_SIM_AT_START);
}

static inline void finish(mlt_sim *sim, uint32_t number, mlt_sim_action *action, uint64_t time)
{
    action->bits |= MLT_SIM_FINISHED;
    sim->finished++;
    mlt_sim_lane *lane = &sim->lanes[action->lane];
    lane->end = time > lane->end ? time : lane->end;
    if (time > sim->result->total_ps || sim->last_action == MLT_SIM_NONE) {
        sim->result->total_ps = time;
        sim->last_action = number;
    }
    if (MLT_UNLIKELY(sim->result->action_end_ps != NULL))
        sim->result->action_end_ps[number] = time;
    for (uint32_t i = action->next_at; i < action[1].next_at; i++)
        if (!(sim->next[i] & MLT_GOAL_STARTED))
            satisfy(sim, sim->next[i], time, number, MLT_SIM_AT_FINISH);
}

// ---- local work, and work after a receive

uint64_t mlt_sim_work(const mlt_sim *sim, uint32_t number)
{
    const mlt_sim_action *action = &sim->actions[number];
    double size = (double)mlt_sim_size(action);
    if ((action->bits & MLT_SIM_KIND) == MLT_SIM_CALC)
        return mlt_sim_price(size * 1000);
    if (action->bits & MLT_SIM_THEN_EXEC && sim->exec > 0) {
        mlt_goal_place place = mlt_sim_place(sim, number);
        size = (double)mlt_sim_source(sim, place)->size[0];
    }
    return mlt_sim_price(size * sim->exec);
}

static void run_local(mlt_sim *sim, const mlt_sim_event *event, mlt_sim_action *action)
{
    uint32_t number = event->what >> 1, home = sim->lanes[action->lane].cpu;
    mlt_sim_lane *lane = &sim->lanes[home];
    bool second = action->bits & MLT_SIM_RECEIVED;
    uint64_t now = event->time;
    if (lane->cpu_free > now) {
        wait_until(sim, &lane->wait[MLT_SIM_WAIT_LOCAL], event, lane->cpu_free);
        return;
    }
    mlt_sim_point point = second ? MLT_SIM_AT_SECOND : MLT_SIM_AT_START;
    if (MLT_UNLIKELY(sim->crowd != NULL) &&
        must_wait(sim, home, &lane->wait[MLT_SIM_WAIT_LOCAL], event, number, point))
        return;
    uint64_t end = now + mlt_sim_work(sim, number);
    if (MLT_UNLIKELY(sim->crowd != NULL))
        mlt_sim_used(sim, home, end, (mlt_sim_ref){.action = number, .point = (uint8_t)point});
    if (MLT_UNLIKELY(sim->nodes != NULL)) {
        note_start(node_of(sim, number, point), now, lane->cpu_free, sim->holders[home].cpu,
                   (mlt_sim_ref){0});
        sim->holders[home].cpu = (mlt_sim_ref){.action = number, .point = (uint8_t)point};
    }
    lane->cpu_free = end;
    if (!second)
        start(sim, number, action, now);
    finish(sim, number, action, end);
    let_next(sim, &lane->wait[MLT_SIM_WAIT_LOCAL], MLT_SIM_WAIT_LOCAL, event->seq, end);
}

// ---- messages

// A receive has its message at `time`, which was taken up (AT_SECOND of the send) or waited for
// (its own AT_START).
static void run_received(mlt_sim *sim, uint32_t number, mlt_sim_action *action, uint64_t time,
                         mlt_sim_ref cause)
{
    if (MLT_LIKELY(!(action->bits & MLT_SIM_THEN_EXEC))) {
        finish(sim, number, action, time);
        return;
    }
    action->bits |= MLT_SIM_RECEIVED;
    if (sim->nodes) {
        cause.why = MLT_SIM_DEPENDS;
        *node_of(sim, number, MLT_SIM_AT_SECOND) = (mlt_sim_node){time, cause};
    }
    mlt_sim_put(sim, time, number << 1, sim->seq++);
}

// Both ends have met at `now`; a CPU took up the message at `taken`.
static inline void match(mlt_sim *sim, uint32_t send_number, uint32_t recv_number, uint64_t taken,
                         uint64_t now)
{
    mlt_sim_action *recv = &sim->actions[recv_number];
    uint64_t end = taken + mlt_sim_recv_cpu(sim, recv);
    if (MLT_UNLIKELY(sim->result->cpu_start_ps != NULL))
        sim->result->cpu_start_ps[recv_number] = taken;
    if (end >= now)
        run_received(sim, recv_number, recv, end, (mlt_sim_ref){send_number, MLT_SIM_AT_SECOND, 0});
    else
        run_received(sim, recv_number, recv, now, (mlt_sim_ref){recv_number, MLT_SIM_AT_START, 0});
    if (MLT_UNLIKELY(sim->sync_end != NULL)) {
        mlt_sim_action *send = &sim->actions[send_number];
        uint64_t busy = sim->sync_end[send_number];
        if (send->bits & MLT_SIM_SYNC)
            finish(sim, send_number, send, busy > now ? busy : now);
    }
}

static void run_send(mlt_sim *sim, const mlt_sim_event *event, mlt_sim_action *send)
{
    uint32_t number = event->what >> 1;
    mlt_sim_lane *lane = &sim->lanes[send->lane];
    mlt_sim_lane *cpu = &sim->lanes[lane->cpu], *nic = &sim->lanes[lane->nic];
    mlt_sim_waiters *waiters = &lane->wait[MLT_SIM_WAIT_SEND];
    const mlt_sim_cost *cost = mlt_sim_cost_of(sim, send);
    uint64_t now = event->time, leaves = now + cost->o;
    uint64_t free = cpu->cpu_free > nic->send_free ? cpu->cpu_free : nic->send_free;
    if (free > now) {
        wait_until(sim, waiters, event, free);
        return;
    }
    mlt_sim_ref me = {.action = number, .point = MLT_SIM_AT_START};
    if (MLT_UNLIKELY(sim->travel != NULL))
        leaves += mlt_sim_noise(sim, number);
    if (MLT_UNLIKELY(sim->crowd != NULL)) {
        if (must_wait(sim, lane->cpu, waiters, event, number, MLT_SIM_AT_START))
            return;
        mlt_sim_used(sim, lane->cpu, now + mlt_sim_send_cpu(sim, send), me);
    }
    if (MLT_UNLIKELY(sim->nodes != NULL)) {
        mlt_sim_holders *held = sim->holders;
        note_start(node_of(sim, number, MLT_SIM_AT_START), now, cpu->cpu_free, held[lane->cpu].cpu,
                   held[lane->nic].send);
        held[lane->cpu].cpu = held[lane->nic].send = me;
        *node_of(sim, number, MLT_SIM_AT_SECOND) =
            (mlt_sim_node){leaves + cost->L, {number, MLT_SIM_AT_START, MLT_SIM_MESSAGE}};
    }
    uint64_t cpu_end = cpu->cpu_free = now + mlt_sim_send_cpu(sim, send);
    nic->send_free = now + mlt_sim_nic(sim, send);
    free = cpu_end > nic->send_free ? cpu_end : nic->send_free;
    sim->result->messages++;
    sim->result->bytes += mlt_sim_size(send);
    start(sim, number, send, now);
    uint32_t what = (sim->fixed ? send->partner : number) << 1 | MESSAGE;
    if (MLT_UNLIKELY(sim->travel != NULL) && (!(send->bits & MLT_SIM_NEAR) || sim->travel->node))
        mlt_sim_depart(sim, number, leaves, what, sim->seq++);
    else
        mlt_sim_put(sim, leaves + cost->L, what, sim->seq++);
    if (MLT_UNLIKELY(send->bits & MLT_SIM_SYNC))
        sim->sync_end[number] = cpu_end;
    else
        finish(sim, number, send, cpu_end);
    let_next(sim, waiters, MLT_SIM_WAIT_SEND, event->seq, free);
}

// ---- matching as they come

static bool run_fits(const mlt_sim *sim, uint32_t recv, uint32_t send)
{
    const mlt_sim_envelope *wanted = &sim->envelopes[recv];
    return (wanted->peer == MLT_GOAL_ANY ||
            (uint32_t)wanted->peer == mlt_sim_rank(sim, sim->actions[send].lane)) &&
           (wanted->tag == MLT_GOAL_ANY || wanted->tag == sim->envelopes[send].tag);
}

// Takes the first of the list that fits `number`, which is of the other kind.
static uint32_t take_fitting(mlt_sim *sim, uint32_t *first, uint32_t *last, uint32_t number)
{
    uint32_t before = MLT_SIM_NONE;
    bool is_recv = (sim->actions[number].bits & MLT_SIM_KIND) == MLT_SIM_RECV;
    for (uint32_t n = *first; n != MLT_SIM_NONE; before = n, n = sim->actions[n].link) {
        if (!(is_recv ? run_fits(sim, number, n) : run_fits(sim, n, number)))
            continue;
        uint32_t after = sim->actions[n].link;
        *(before == MLT_SIM_NONE ? first : &sim->actions[before].link) = after;
        if (*last == n)
            *last = before;
        return n;
    }
    return MLT_SIM_NONE;
}

static void append(mlt_sim *sim, uint32_t *first, uint32_t *last, uint32_t number)
{
    sim->actions[number].link = MLT_SIM_NONE;
    *(*last == MLT_SIM_NONE ? first : &sim->actions[*last].link) = number;
    *last = number;
}

static void become_partners(mlt_sim *sim, uint32_t send, uint32_t recv)
{
    sim->actions[send].partner = recv;
    sim->actions[recv].partner = send;
    mlt_sim_receives(&sim->actions[recv], &sim->actions[send]);
}

// ---- the two ends

// A receive is posted: is its message there already?
static void run_recv(mlt_sim *sim, const mlt_sim_event *event, mlt_sim_action *recv)
{
    uint32_t number = event->what >> 1, send = recv->partner;
    recv->bits |= MLT_SIM_POSTED;
    start(sim, number, recv, event->time);
    if (sim->fixed) {
        if (MLT_LIKELY(!(recv->bits & MLT_SIM_ARRIVED)))
            return;
    } else {
        mlt_sim_lists *lists = &sim->lists[mlt_sim_rank(sim, recv->lane)];
        send = take_fitting(sim, &lists->unexpected, &lists->unexpected_last, number);
        if (send == MLT_SIM_NONE) {
            append(sim, &lists->posted, &lists->posted_last, number);
            return;
        }
        become_partners(sim, send, number);
    }
    uint64_t taken = sim->actions[send].time;
    sim->result->unexpected_ps += event->time - taken;
    match(sim, send, number, taken, event->time);
}

// A CPU took up a message: is its receive posted?
static void handle(mlt_sim *sim, const mlt_sim_event *event)
{
    uint32_t send = event->what >> 1, recv = send;
    if (sim->fixed) {
        mlt_sim_action *action = &sim->actions[recv];
        send = action->partner;
        if (MLT_LIKELY(action->bits & MLT_SIM_POSTED)) {
            match(sim, send, recv, event->time, event->time);
            return;
        }
        action->bits |= MLT_SIM_ARRIVED;
    } else {
        mlt_sim_lists *lists = &sim->lists[sim->envelopes[send].peer];
        recv = take_fitting(sim, &lists->posted, &lists->posted_last, send);
        if (recv != MLT_SIM_NONE) {
            become_partners(sim, send, recv);
            match(sim, send, recv, event->time, event->time);
            return;
        }
        append(sim, &lists->unexpected, &lists->unexpected_last, send);
    }
    sim->actions[send].time = event->time;
    sim->result->unexpected++;
}

static void run_message(mlt_sim *sim, const mlt_sim_event *event, mlt_sim_action *action)
{
    uint32_t at = sim->fixed ? action->lane : action->partner;
    mlt_sim_lane *lane = &sim->lanes[at];
    mlt_sim_lane *cpu = &sim->lanes[lane->cpu], *nic = &sim->lanes[lane->nic];
    mlt_sim_waiters *waiters = &lane->wait[MLT_SIM_WAIT_MESSAGE];
    uint64_t now = event->time;
    uint64_t free = cpu->cpu_free > nic->recv_free ? cpu->cpu_free : nic->recv_free;
    if (free > now) {
        wait_until(sim, waiters, event, free);
        return;
    }
    uint32_t send = sim->fixed ? action->partner : event->what >> 1;
    mlt_sim_ref me = {.action = send, .point = MLT_SIM_AT_SECOND};
    if (MLT_UNLIKELY(sim->crowd != NULL)) {
        if (must_wait(sim, lane->cpu, waiters, event, send, MLT_SIM_AT_SECOND))
            return;
        mlt_sim_used(sim, lane->cpu, now + mlt_sim_recv_cpu(sim, action), me);
    }
    if (MLT_UNLIKELY(sim->nodes != NULL)) {
        mlt_sim_holders *held = sim->holders;
        note_start(node_of(sim, send, MLT_SIM_AT_SECOND), now, cpu->cpu_free, held[lane->cpu].cpu,
                   held[lane->nic].recv);
        held[lane->cpu].cpu = held[lane->nic].recv = me;
    }
    uint64_t cpu_end = cpu->cpu_free = now + mlt_sim_recv_cpu(sim, action);
    nic->recv_free = now + mlt_sim_nic(sim, action);
    free = cpu_end > nic->recv_free ? cpu_end : nic->recv_free;
    handle(sim, event);
    let_next(sim, waiters, MLT_SIM_WAIT_MESSAGE, event->seq, free);
}

// ---- the loop

static inline void run_event(mlt_sim *sim, const mlt_sim_event *event)
{
    if (MLT_UNLIKELY(sim->travel != NULL) && event->what & MLT_SIM_HOP) {
        mlt_sim_hop(sim, event);
        return;
    }
    mlt_sim_action *action = &sim->actions[event->what >> 1];
    if (event->what & MESSAGE) {
        run_message(sim, event, action);
        return;
    }
    switch (action->bits & MLT_SIM_KIND) {
    case MLT_SIM_SEND:
        run_send(sim, event, action);
        break;
    case MLT_SIM_RECV:
        if (action->bits & MLT_SIM_RECEIVED)
            run_local(sim, event, action);
        else
            run_recv(sim, event, action);
        break;
    case MLT_SIM_NOP:
        start(sim, event->what >> 1, action, event->time);
        finish(sim, event->what >> 1, action, event->time);
        break;
    default:
        run_local(sim, event, action);
    }
}

// What waits for nothing happens at 0: rank by rank; sends before receives before local work. It
// need not go through the queue, but has numbers as if it had: those of what follows from it begin
// behind them.
static void run_free(mlt_sim *sim)
{
    uint32_t seq = 0;
    for (uint32_t a = 0; a < sim->count; a++)
        sim->seq += (sim->actions[a].bits & MLT_SIM_FREE) != 0;
    for (uint32_t r = 0; r < sim->program->ranks; r++)
        for (unsigned round = MLT_SIM_SEND; round <= MLT_SIM_CALC; round++)
            for (uint32_t a = sim->first[r]; a < sim->first[r + 1]; a++) {
                uint64_t bits = sim->actions[a].bits;
                if (bits & MLT_SIM_FREE && mlt_sim_order(bits) == round)
                    run_event(sim, &(mlt_sim_event){0, a << 1, seq++});
            }
}

// Events have their memory all over the place, but the next ones are known. Inlined whatever the
// compiler thinks: gcc 12 takes a function that only prefetches for one without effect, and drops
// it.
static inline __attribute__((always_inline)) void fetch_ahead(const mlt_sim *sim)
{
    const mlt_sim_event *far = mlt_sim_queue_peek(&sim->queue, 2 * AHEAD);
    if (!far)
        return;
    __builtin_prefetch(&sim->actions[far->what >> 1], 1);
    far = mlt_sim_queue_peek(&sim->queue, AHEAD);
    if (MLT_UNLIKELY(sim->travel != NULL) && far->what & MLT_SIM_HOP)
        return;
    const mlt_sim_action *action = &sim->actions[far->what >> 1];
    __builtin_prefetch(&sim->lanes[action->lane], 1);
    __builtin_prefetch(&sim->next[action->next_at]);
}

void mlt_sim_run(mlt_sim *sim, const mlt_sim_options *options)
{
    mlt_sim_event event;
    uint32_t until_report = PROGRESS;
    run_free(sim);
    while (!sim->late && mlt_sim_queue_pop(&sim->queue, &event)) {
        fetch_ahead(sim);
        run_event(sim, &event);
        if (MLT_UNLIKELY(--until_report == 0)) {
            until_report = PROGRESS;
            if (options->progress)
                options->progress(options->user, (double)sim->finished / sim->count);
        }
    }
    sim->result->events = sim->seq;
}
