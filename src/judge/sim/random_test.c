// SPDX-License-Identifier: BSD-3-Clause
// The simulator against another one that is as plain as can be: all events in one heap of no order,
// each tried when its turn comes and put back if it must wait. Thousands of random programs; then
// what must hold for any: the critical path adds up, strangers do not matter, time grows with L, o
// and g where nothing is chosen.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "goal/pairs.h"
#include "judge/net/cluster.h"
#include "judge/sim/sim.h"

static bool one_in(uint32_t n)
{
    return below(n) == 0;
}

// ---- the plain simulator

enum { MOST = 512, UNITS = 4 }; // actions in all; CPUs and NICs of a rank
enum { READY, MESSAGE, WORK };  // events

typedef struct event {
    uint64_t time, seq;
    int kind;
    uint32_t action;
    bool gone;
} event;

typedef struct plain {
    const mlt_goal_program *program;
    mlt_loggops m;
    mlt_goal_pairs *pairs;
    bool wild;
    event events[3 * MOST];
    uint32_t events_count;
    uint64_t cpu[MOST][UNITS], out[MOST][UNITS], in[MOST][UNITS]; // free from then on
    mlt_goal_place place[MOST];
    uint32_t left[MOST]; // dependencies
    uint64_t ready[MOST], start[MOST], busy[MOST], finish[MOST], taken[MOST], own_end[MOST];
    bool posted[MOST], came[MOST], matched[MOST], ended[MOST];
    uint64_t posted_seq[MOST], came_seq[MOST], order;
    uint64_t seq, unexpected, unexpected_ps, messages;
    uint32_t count;
} plain;

static const mlt_goal_action *action_of(const plain *s, uint32_t a)
{
    return &s->program->rank[s->place[a].rank].actions[s->place[a].action];
}

static uint64_t ps(double ns)
{
    return (uint64_t)(ns * 1000 + 0.5);
}

static uint64_t rest(const mlt_goal_action *a, double per_byte)
{
    uint64_t size = mlt_goal_message_bytes(a);
    return size ? ps((double)(size - 1) * per_byte) : 0;
}

static void add_event(plain *s, int kind, uint32_t action, uint64_t time)
{
    s->events[s->events_count++] = (event){time, s->seq++, kind, action, false};
}

static unsigned order_of(const mlt_goal_action *a)
{
    return a->kind == MLT_GOAL_SEND ? 0 : mlt_goal_is_recv(a) ? 1 : 2;
}

// The dependents of a (on its start, or on its end) hear of it at that time.
static void tell(plain *s, uint32_t a, bool on_start, uint64_t time)
{
    const mlt_goal_rank *rank = &s->program->rank[s->place[a].rank];
    uint32_t base = (uint32_t)s->pairs->first[s->place[a].rank];
    uint32_t on = s->place[a].action | (on_start ? (uint32_t)MLT_GOAL_STARTED : 0);
    for (unsigned order = 0; order < 3; order++)
        for (uint32_t b = 0; b < rank->count; b++)
            for (uint32_t d = 0; order_of(&rank->actions[b]) == order && d < rank->deps_count;
                 d++) {
                if (rank->deps[d].action != b || rank->deps[d].on != on)
                    continue;
                if (time > s->ready[base + b])
                    s->ready[base + b] = time;
                if (--s->left[base + b] == 0)
                    add_event(s, READY, base + b, s->ready[base + b]);
            }
}

static void begin(plain *s, uint32_t a, uint64_t time)
{
    s->start[a] = s->busy[a] = time;
    tell(s, a, true, time);
}

static void end(plain *s, uint32_t a, uint64_t time)
{
    s->finish[a] = time;
    s->ended[a] = true;
    tell(s, a, false, time);
}

static bool waits_for_match(const plain *s, uint32_t a)
{
    const mlt_goal_action *send = action_of(s, a);
    return mlt_goal_message_bytes(send) > s->m.S || (send->flags & MLT_GOAL_SYNCHRONOUS);
}

static void meet(plain *s, uint32_t send, uint32_t recv, uint64_t now)
{
    s->matched[send] = s->matched[recv] = true;
    double per_byte = s->m.O > s->m.G ? s->m.O : s->m.G;
    uint64_t done = s->taken[send] + ps(s->m.o) + rest(action_of(s, send), per_byte);
    done = done > now ? done : now;
    s->busy[recv] = s->taken[send];
    if (action_of(s, recv)->kind == MLT_GOAL_RECV)
        end(s, recv, done);
    else
        add_event(s, WORK, recv, done);
    if (waits_for_match(s, send))
        end(s, send, s->own_end[send] > now ? s->own_end[send] : now);
}

static bool can_meet(const plain *s, uint32_t send, uint32_t recv)
{
    const mlt_goal_action *out = action_of(s, send), *in = action_of(s, recv);
    if (out->kind != MLT_GOAL_SEND || !mlt_goal_is_recv(in))
        return false;
    if (!s->wild) {
        mlt_goal_place other =
            mlt_goal_partner(s->pairs, s->place[send].rank, s->place[send].action);
        return other.rank == s->place[recv].rank && other.action == s->place[recv].action;
    }
    return (uint32_t)out->peer == s->place[recv].rank &&
           (in->peer == MLT_GOAL_ANY || (uint32_t)in->peer == s->place[send].rank) &&
           (in->tag == MLT_GOAL_ANY || in->tag == out->tag);
}

// The first that can meet a: a posted receive, or a message that came.
static uint32_t find(const plain *s, uint32_t a)
{
    bool send = action_of(s, a)->kind == MLT_GOAL_SEND;
    uint32_t best = MLT_GOAL_NONE;
    for (uint32_t b = 0; b < s->count; b++) {
        const uint64_t *seq = send ? s->posted_seq : s->came_seq;
        if ((send ? s->posted[b] : s->came[b]) && !s->matched[b] &&
            (send ? can_meet(s, a, b) : can_meet(s, b, a)) &&
            (best == MLT_GOAL_NONE || seq[b] < seq[best]))
            best = b;
    }
    return best;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void try_send(plain *s, event *e)
{
    uint32_t a = e->action, rank = s->place[a].rank;
    const mlt_goal_action *action = action_of(s, a);
    uint64_t *cpu = &s->cpu[rank][action->cpu], *nic = &s->out[rank][action->nic];
    if (later(*cpu, *nic) > e->time) {
        e->time = later(*cpu, *nic);
        return;
    }
    e->gone = true;
    *cpu = s->own_end[a] = e->time + ps(s->m.o) + rest(action, s->m.O);
    *nic = e->time + ps(s->m.g) + rest(action, s->m.G);
    s->messages++;
    uint64_t now = e->time;
    begin(s, a, now);
    add_event(s, MESSAGE, a, now + ps(s->m.o) + ps(s->m.L));
    if (!waits_for_match(s, a))
        end(s, a, s->own_end[a]);
}

static void try_message(plain *s, event *e)
{
    uint32_t a = e->action;
    const mlt_goal_action *send = action_of(s, a), *names = send;
    mlt_goal_place other = mlt_goal_partner(s->pairs, s->place[a].rank, s->place[a].action);
    if (!s->wild)
        names = &s->program->rank[other.rank].actions[other.action];
    uint64_t *cpu = &s->cpu[send->peer][names->cpu], *nic = &s->in[send->peer][names->nic];
    if (later(*cpu, *nic) > e->time) {
        e->time = later(*cpu, *nic);
        return;
    }
    e->gone = true;
    *cpu = e->time + ps(s->m.o) + rest(send, s->m.O > s->m.G ? s->m.O : s->m.G);
    *nic = e->time + ps(s->m.g) + rest(send, s->m.G);
    s->taken[a] = e->time;
    s->came[a] = true;
    s->came_seq[a] = s->order++;
    uint32_t recv = find(s, a);
    if (recv == MLT_GOAL_NONE)
        s->unexpected++;
    else
        meet(s, a, recv, e->time);
}

static void try_recv(plain *s, event *e)
{
    uint32_t a = e->action;
    uint64_t now = e->time;
    e->gone = true;
    s->posted[a] = true;
    s->posted_seq[a] = s->order++;
    begin(s, a, now);
    uint32_t send = find(s, a);
    if (send == MLT_GOAL_NONE)
        return;
    s->unexpected_ps += now - s->taken[send];
    meet(s, send, a, now);
}

static void try_work(plain *s, event *e)
{
    uint32_t a = e->action;
    const mlt_goal_action *action = action_of(s, a);
    uint64_t *cpu = &s->cpu[s->place[a].rank][action->cpu], now = e->time;
    bool second = e->kind == WORK;
    if (action->kind != MLT_GOAL_NOP && *cpu > now) {
        e->time = *cpu;
        return;
    }
    e->gone = true;
    uint64_t done =
        now + (action->kind == MLT_GOAL_NOP    ? 0
               : action->kind == MLT_GOAL_CALC ? ps((double)action->size[0])
                                               : ps((double)action->size[0] * s->m.exec));
    if (action->kind != MLT_GOAL_NOP)
        *cpu = done;
    if (!second)
        begin(s, a, now);
    end(s, a, done);
}

static void play(plain *s)
{
    for (;;) {
        event *next = NULL;
        for (uint32_t i = 0; i < s->events_count; i++) {
            event *e = &s->events[i];
            if (!e->gone &&
                (!next || e->time < next->time || (e->time == next->time && e->seq < next->seq)))
                next = e;
        }
        if (!next)
            return;
        const mlt_goal_action *action = action_of(s, next->action);
        if (next->kind == MESSAGE)
            try_message(s, next);
        else if (next->kind == WORK || order_of(action) == 2)
            try_work(s, next);
        else if (action->kind == MLT_GOAL_SEND)
            try_send(s, next);
        else
            try_recv(s, next);
    }
}

static plain *plain_new(const mlt_goal_program *program, const mlt_loggops *machine)
{
    plain *s = calloc(1, sizeof *s);
    CHECK(s);
    s->program = program;
    s->m = *machine;
    s->pairs = mlt_goal_pairs_new(program);
    s->wild = mlt_goal_has_wildcards(program);
    for (uint32_t r = 0; r < program->ranks; r++) {
        for (uint32_t a = 0; a < program->rank[r].count; a++)
            s->place[s->count++] = (mlt_goal_place){r, a};
        for (uint32_t d = 0; d < program->rank[r].deps_count; d++)
            s->left[s->pairs->first[r] + program->rank[r].deps[d].action]++;
        for (unsigned order = 0; order < 3; order++)
            for (uint32_t a = (uint32_t)s->pairs->first[r]; a < s->count; a++)
                if (!s->left[a] && order_of(action_of(s, a)) == order)
                    add_event(s, READY, a, 0);
    }
    return s;
}

static void plain_free(plain *s)
{
    mlt_goal_pairs_free(s->pairs);
    free(s);
}

// ---- random programs

// Few values, so that much happens at the same time.
static double some(double unit)
{
    static const double values[] = {0, 1, 1, 2, 5, 7.5};
    return unit * values[below(6)];
}

static mlt_loggops random_machine(void)
{
    return (mlt_loggops){.L = some(20),
                         .o = some(5),
                         .g = some(4),
                         .G = some(0.5),
                         .O = some(0.25),
                         .S = below(3) ? 30 : below(100),
                         .exec = some(0.5)};
}

typedef struct kind_of_program {
    uint32_t ranks, messages, local;
    bool wild, units; // units: several CPUs and NICs
} kind_of_program;

static mlt_goal_action random_action(const kind_of_program *shape, mlt_goal_kind kind, int peer,
                                     int tag, uint64_t size)
{
    return (mlt_goal_action){.kind = (uint8_t)kind,
                             .peer = peer,
                             .tag = tag,
                             .cpu = shape->units ? (uint8_t)below(UNITS) : 0,
                             .nic = shape->units ? (uint8_t)below(UNITS) : 0,
                             .size = {size, size}};
}

static void add_random_message(mlt_goal_program *p, const kind_of_program *shape)
{
    static const uint64_t sizes[] = {0, 1, 1, 2, 9, 31, 64};
    static const mlt_goal_kind recvs[] = {MLT_GOAL_RECV, MLT_GOAL_RECV, MLT_GOAL_RECV_EXEC,
                                          MLT_GOAL_RECV_USER};
    uint32_t from = below(shape->ranks), to = below(shape->ranks);
    uint64_t size = sizes[below(7)];
    int tag = (int)below(2);
    mlt_goal_action send = random_action(shape, MLT_GOAL_SEND, (int)to, tag, size);
    mlt_goal_action recv = random_action(shape, recvs[below(4)], (int)from, tag, size);
    if (one_in(8))
        send.flags = MLT_GOAL_SYNCHRONOUS;
    if (recv.kind == MLT_GOAL_RECV_USER)
        recv.size[0] = below(50);
    if (shape->wild && one_in(2))
        recv.peer = MLT_GOAL_ANY;
    if (shape->wild && one_in(3))
        recv.tag = MLT_GOAL_ANY;
    if (one_in(2)) {
        mlt_goal_add(p, from, &send);
        mlt_goal_add(p, to, &recv);
    } else {
        mlt_goal_add(p, to, &recv);
        mlt_goal_add(p, from, &send);
    }
}

static void add_random_work(mlt_goal_program *p, const kind_of_program *shape)
{
    static const mlt_goal_kind kinds[] = {MLT_GOAL_CALC, MLT_GOAL_CALC, MLT_GOAL_EXEC,
                                          MLT_GOAL_USER, MLT_GOAL_NOP};
    mlt_goal_action work = random_action(shape, kinds[below(5)], 0, 0, below(4) * 10);
    mlt_goal_add(p, below(shape->ranks), &work);
}

static mlt_goal_program *random_program(const kind_of_program *shape)
{
    mlt_goal_program *p = mlt_goal_program_new(shape->ranks);
    uint32_t all = shape->messages + shape->local;
    for (uint32_t i = 0, messages = shape->messages; i < all; i++) {
        if (below(all - i) < messages) {
            add_random_message(p, shape);
            messages--;
        } else {
            add_random_work(p, shape);
        }
    }
    for (uint32_t r = 0; r < shape->ranks; r++)
        for (uint32_t b = 1; b < p->rank[r].count; b++)
            for (uint32_t n = below(3); n; n--) {
                uint32_t a = below(b);
                mlt_goal_require(p, r, b, a | (one_in(4) ? (uint32_t)MLT_GOAL_STARTED : 0));
            }
    return p;
}

// ---- comparing

static bool path_step_fits(const mlt_goal_program *p, const mlt_loggops *m,
                           const mlt_sim_step *before, const mlt_sim_step *step)
{
    const mlt_goal_action *a = &p->rank[before->place.rank].actions[before->place.action];
    switch (step->cause) {
    case MLT_SIM_DEPENDS:
        return step->place.rank == before->place.rank &&
               (step->start_ps == before->end_ps || step->start_ps == before->start_ps);
    case MLT_SIM_MESSAGE:
        return step->start_ps == before->start_ps + ps(m->o) + ps(m->L) &&
               a->kind == MLT_GOAL_SEND && (uint32_t)a->peer == step->place.rank;
    case MLT_SIM_CPU:
        return step->place.rank == before->place.rank && step->start_ps == before->end_ps;
    case MLT_SIM_NIC: // with wildcards a message is not as large as its receive
        return step->place.rank == before->place.rank &&
               (mlt_goal_has_wildcards(p)
                    ? step->start_ps >= before->start_ps
                    : step->start_ps == before->start_ps + ps(m->g) + rest(a, m->G));
    case MLT_SIM_MATCHED:
        return step->start_ps == before->start_ps && step->end_ps == step->start_ps;
    default:
        return false;
    }
}

static void check_path(const mlt_goal_program *p, const mlt_loggops *m, const mlt_sim_result *r)
{
    if (!r->actions)
        return;
    CHECK(r->path_count > 0 && r->path[0].cause == MLT_SIM_FIRST && r->path[0].start_ps == 0);
    CHECK(r->path[r->path_count - 1].end_ps == r->total_ps);
    for (uint64_t i = 1; i < r->path_count; i++) {
        CHECK(r->path[i].start_ps >= r->path[i - 1].start_ps);
        CHECK(path_step_fits(p, m, &r->path[i - 1], &r->path[i]));
    }
}

static void check_same(const plain *s, const mlt_sim_result *r)
{
    uint64_t total = 0;
    for (uint32_t a = 0; a < s->count; a++) {
        CHECK(r->action_start_ps[a] == s->start[a]);
        CHECK(r->cpu_start_ps[a] == s->busy[a]);
        CHECK(r->action_end_ps[a] == s->finish[a]);
        CHECK(r->rank_end_ps[s->place[a].rank] >= s->finish[a]);
        total = later(total, s->finish[a]);
    }
    CHECK(r->total_ps == total && r->actions == s->count && r->events == s->seq);
    CHECK(r->messages == s->messages && r->unexpected == s->unexpected);
    CHECK(r->unexpected_ps == s->unexpected_ps);
}

static bool all_ended(const plain *s)
{
    for (uint32_t a = 0; a < s->count; a++)
        if (!s->ended[a])
            return false;
    for (uint32_t a = 0; a < s->count; a++)
        if (s->came[a] && !s->matched[a])
            return false;
    return true;
}

// Returns whether the program came to an end.
static bool compare(const mlt_goal_program *p, const mlt_loggops *machine)
{
    plain *s = plain_new(p, machine);
    mlt_sim_options options = {.machine = *machine, .keep_times = true, .keep_path = true};
    mlt_sim_result *r;
    char why[1024];
    mlt_status status = mlt_sim_simulate(p, &options, &r, why, sizeof why);
    play(s);
    bool ended = all_ended(s);
    if ((status == MLT_OK) != ended)
        fprintf(stderr, "%s\n", status == MLT_OK ? "ended" : why);
    CHECK((status == MLT_OK) == ended);
    if (ended) {
        check_same(s, r);
        check_path(p, machine, r);
    } else {
        CHECK(!r && (strncmp(why, "deadlock: ", 10) == 0 || strstr(why, "received by nobody")));
    }
    mlt_sim_result_free(r);
    plain_free(s);
    return ended;
}

static void check_random(uint64_t programs)
{
    uint64_t ended[2] = {0, 0}, all[2] = {0, 0};
    for (now_seed = 1; now_seed <= programs; now_seed++) {
        kind_of_program shape = {.ranks = 1 + below(6),
                                 .messages = below(one_in(10) ? 60 : 16),
                                 .local = below(12),
                                 .wild = one_in(3),
                                 .units = one_in(2)};
        mlt_goal_program *p = random_program(&shape);
        mlt_loggops machine = random_machine();
        bool came_to_end = compare(p, &machine);
        ended[mlt_goal_has_wildcards(p)] += came_to_end;
        all[mlt_goal_has_wildcards(p)]++;
        mlt_goal_program_free(p);
    }
    printf("%" PRIu64 " random programs, %" PRIu64
           " of them came to an end; with wildcards %" PRIu64 ", %" PRIu64 " of them\n",
           all[0], ended[0], all[1], ended[1]);
    CHECK(ended[0] > all[0] / 3 && ended[0] < all[0] && ended[1] > all[1] / 3 && ended[1] < all[1]);
}

// ---- what must hold

static mlt_sim_result *simulate(const mlt_goal_program *p, const mlt_loggops *machine)
{
    mlt_sim_options options = {.machine = *machine, .keep_times = true};
    mlt_sim_result *r;
    char why[1024];
    return mlt_sim_simulate(p, &options, &r, why, sizeof why) == MLT_OK ? r : NULL;
}

// Copies a rank of `from` into `to`, where rank r of `from` is at[r].
static void embed(mlt_goal_program *to, const mlt_goal_program *from, const uint32_t *at)
{
    for (uint32_t r = 0; r < from->ranks; r++) {
        for (uint32_t a = 0; a < from->rank[r].count; a++) {
            mlt_goal_action action = from->rank[r].actions[a];
            if (mlt_goal_is_message(&action) && action.peer >= 0)
                action.peer = (int32_t)at[action.peer];
            mlt_goal_add(to, at[r], &action);
        }
        for (uint32_t d = 0; d < from->rank[r].deps_count; d++)
            mlt_goal_require(to, at[r], from->rank[r].deps[d].action, from->rank[r].deps[d].on);
    }
}

// Two programs side by side, their ranks mixed in any way that keeps the order of each: every
// action has the times that it has alone.
static void check_strangers(void)
{
    uint32_t tried = 0;
    for (now_seed = 1; tried < 300; now_seed++) {
        kind_of_program shape = {
            .ranks = 5, .messages = 10, .local = 6, .wild = one_in(3), .units = one_in(2)};
        mlt_loggops machine = random_machine();
        mlt_goal_program *one = random_program(&shape), *two = random_program(&shape);
        mlt_goal_program *both = mlt_goal_program_new(10);
        uint32_t at[2][5], n[2] = {0, 0};
        for (uint32_t r = 0; r < 10; r++) {
            int which = n[0] == 5 || (n[1] < 5 && one_in(2));
            at[which][n[which]++] = r;
        }
        embed(both, one, at[0]);
        embed(both, two, at[1]);
        // Both or none are matched as they come, or the rule of the CPU differs.
        bool alike = mlt_goal_has_wildcards(one) == mlt_goal_has_wildcards(two);
        mlt_sim_result *alone = simulate(one, &machine), *other = simulate(two, &machine);
        mlt_sim_result *mixed = simulate(both, &machine);
        if (alike && alone && other) {
            CHECK(mixed);
            for (uint32_t r = 0; r < 5; r++) {
                CHECK(mixed->rank_end_ps[at[0][r]] == alone->rank_end_ps[r]);
                CHECK(mixed->rank_end_ps[at[1][r]] == other->rank_end_ps[r]);
            }
            CHECK(mixed->events == alone->events + other->events);
            tried++;
        }
        mlt_sim_result_free(alone);
        mlt_sim_result_free(other);
        mlt_sim_result_free(mixed);
        mlt_goal_program_free(one);
        mlt_goal_program_free(two);
        mlt_goal_program_free(both);
    }
}

// Greedy scheduling has anomalies: with a busy CPU, a slower machine may choose a better order. If
// every action has a CPU and a NIC of its own nothing is chosen, and all times are monotone.
static void check_monotone(void)
{
    uint32_t tried = 0;
    for (now_seed = 1; tried < 300; now_seed++) {
        kind_of_program shape = {.ranks = 6, .messages = 14, .local = 8};
        mlt_goal_program *p = random_program(&shape);
        for (uint32_t r = 0; r < p->ranks; r++)
            for (uint32_t a = 0; a < p->rank[r].count; a++)
                p->rank[r].actions[a].cpu = p->rank[r].actions[a].nic = (uint8_t)a;
        mlt_loggops machine = random_machine();
        mlt_sim_result *base = simulate(p, &machine);
        for (int which = 0; base && which < 6; which++) {
            mlt_loggops more = machine;
            *(double *[]){&more.L, &more.o, &more.g, &more.G, &more.O, &more.exec}[which] += 3.25;
            mlt_sim_result *slow = simulate(p, &more);
            CHECK(slow && slow->total_ps >= base->total_ps);
            for (uint64_t a = 0; a < base->actions; a++)
                CHECK(slow->action_start_ps[a] >= base->action_start_ps[a] &&
                      slow->action_end_ps[a] >= base->action_end_ps[a]);
            mlt_sim_result_free(slow);
        }
        tried += base != NULL;
        mlt_sim_result_free(base);
        mlt_goal_program_free(p);
    }
}

// Many that wait for the same: what is parked comes out in its order, and fast.
static void check_crowd(void)
{
    mlt_goal_program *p = mlt_goal_program_new(2);
    mlt_goal_action send = {.kind = MLT_GOAL_SEND, .peer = 1, .size = {1}};
    mlt_goal_action recv = {.kind = MLT_GOAL_RECV, .size = {1}};
    mlt_goal_action work = {.kind = MLT_GOAL_CALC, .size = {3}};
    for (uint32_t i = 0; i < 100000; i++) {
        mlt_goal_add(p, 0, &send);
        mlt_goal_add(p, 0, &work);
        mlt_goal_add(p, 1, &recv);
    }
    mlt_loggops machine = {.L = 1, .o = 2, .g = 1, .S = 100};
    mlt_sim_result *r = simulate(p, &machine);
    CHECK(r && r->rank_end_ps[0] == UINT64_C(500000) * 1000);
    for (uint32_t i = 1; i < 100000; i++) // sends first, for they were put in first
        CHECK(r->action_start_ps[2 * i] == i * UINT64_C(2000));
    mlt_sim_result_free(r);
    mlt_goal_program_free(p);
}

// A described machine without limits is the plain one: a crossbar whose links have no latency and
// unlimited bandwidth, with a host for each rank; and one host with all ranks.
static void check_machines(void)
{
    uint32_t tried = 0;
    for (now_seed = 1; tried < 600; now_seed++) {
        kind_of_program shape = {.ranks = 1 + below(6),
                                 .messages = below(20),
                                 .local = below(12),
                                 .wild = one_in(3),
                                 .units = one_in(2)};
        mlt_goal_program *p = random_program(&shape);
        mlt_loggops machine = random_machine();
        mlt_sim_result *bare = simulate(p, &machine);
        for (int one = 0; bare && one < 2; one++) {
            mlt_cluster cluster = {.hosts = one ? 1 : shape.ranks,
                                   .cores = one ? shape.ranks : 1,
                                   .nics = 1,
                                   .within = machine,
                                   .large = machine,
                                   .between = machine};
            mlt_sim_options options = {.cluster = &cluster, .keep_times = true, .keep_path = true};
            mlt_sim_result *r;
            char why[256];
            CHECK(mlt_sim_simulate(p, &options, &r, why, sizeof why) == MLT_OK);
            CHECK(r->total_ps == bare->total_ps && r->events == bare->events);
            CHECK(r->unexpected_ps == bare->unexpected_ps);
            CHECK(one ? r->network_messages == 0 : r->network_messages <= r->messages);
            size_t bytes = bare->actions * sizeof *bare->action_start_ps;
            CHECK(memcmp(r->action_start_ps, bare->action_start_ps, bytes) == 0);
            CHECK(memcmp(r->cpu_start_ps, bare->cpu_start_ps, bytes) == 0);
            CHECK(memcmp(r->action_end_ps, bare->action_end_ps, bytes) == 0);
            mlt_sim_result_free(r);
        }
        tried += bare != NULL;
        mlt_sim_result_free(bare);
        mlt_goal_program_free(p);
    }
}

int main(int argc, char **argv)
{
    if (argc > 2)
        random_state = strtoull(argv[2], NULL, 0);
    check_random(argc > 1 ? strtoull(argv[1], NULL, 0) : 4000);
    check_strangers();
    check_monotone();
    check_crowd();
    check_machines();
    return 0;
}
