// SPDX-License-Identifier: BSD-3-Clause
// Schedules are run by a small interpreter that follows the code alone, with the counters that the
// schedule says, and picks at random among what may go on. What it did is held against the program.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "goal/graph.h"
#include "goal/program_test.h"
#include "goal/sched.h"

static mlt_goal_sched *compiled(const mlt_goal_program *program, uint32_t rank, uint32_t window)
{
    mlt_goal_sched_options options = {.window = window};
    mlt_goal_sched *sched;
    char why[1024] = "";
    if (mlt_goal_sched_compile(program, rank, &options, &sched, why, sizeof why) != MLT_OK) {
        fprintf(stderr, "%s\n", why);
        CHECK(!"compiled");
    }
    return sched;
}

// ---- the shape of the code

static bool is_message(const mlt_act *act)
{
    int kind = act->type & MLT_ACT_KIND;
    return kind == MLT_GOAL_SEND || kind == MLT_GOAL_RECV || kind >= MLT_GOAL_RECV_EXEC;
}

static const mlt_act_message *message_of(const mlt_act *act)
{
    return (const mlt_act_message *)(act + 1);
}

// Actions have their number as their tag (or as what a calc takes), no-ops of the compiler none.
static uint32_t number_of(const mlt_act *act)
{
    if (is_message(act))
        return (uint32_t)message_of(act)->tag;
    if ((act->type & MLT_ACT_KIND) == MLT_GOAL_CALC)
        return (uint32_t)((const mlt_act_calc *)(act + 1))->ns;
    return MLT_GOAL_NONE;
}

typedef struct node {
    const mlt_act *act;
    uint32_t number;
    bool ready, running, done;
} node;

typedef struct run {
    const mlt_goal_sched *sched;
    node *nodes; // in the code's order
    uint32_t *seen, *place;
    bool *request;
    uint32_t *started, *finished, clock; // by number: when
    uint32_t first, entered;             // the window: nodes first .. entered
    uint32_t live, most_live;            // counters that are not 0
} run;

static uint32_t place_of(const run *r, uint32_t offset)
{
    CHECK(offset % 8 == 0 && offset < r->sched->bytes);
    uint32_t place = r->place[offset / 8];
    CHECK(place != MLT_GOAL_NONE);
    return place;
}

static void count_up(run *r, const mlt_act_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t p = place_of(r, list->offset[i]);
        const mlt_act *act = r->nodes[p].act;
        CHECK(act->index < r->sched->indices);
        r->live += r->seen[act->index] == 0;
        CHECK(++r->seen[act->index] <= act->sources);
        if (r->seen[act->index] == act->sources)
            r->nodes[p].ready = true;
    }
    if (r->live > r->most_live)
        r->most_live = r->live;
}

static void start(run *r, node *one)
{
    CHECK(one->ready && !one->running && !one->done);
    one->running = true;
    if (one->number != MLT_GOAL_NONE)
        r->started[one->number] = ++r->clock;
    if (is_message(one->act)) {
        uint32_t request = message_of(one->act)->request;
        CHECK(request < r->sched->requests && !r->request[request]);
        r->request[request] = true;
    }
    if (one->act->type & MLT_ACT_STARTERS)
        count_up(r, mlt_act_starters(one->act));
}

static void finish(run *r, node *one)
{
    one->running = false;
    one->done = true;
    if (one->number != MLT_GOAL_NONE)
        r->finished[one->number] = ++r->clock;
    if (is_message(one->act))
        r->request[message_of(one->act)->request] = false;
    r->live -= r->seen[one->act->index] != 0;
    r->seen[one->act->index] = 0;
    count_up(r, mlt_act_dependents(one->act));
}

// Picks nodes of the window at random until all are done.
static void go(run *r)
{
    uint32_t n = r->sched->actions, done = 0;
    bool slides = r->sched->window && !(r->sched->flags & MLT_GOAL_SCHED_SEGMENTS);
    uint32_t window = slides ? r->sched->window : n;
    while (done < n) {
        while (r->first < n && r->nodes[r->first].done)
            r->first++;
        r->entered = n - r->first < window ? n : r->first + window;
        uint32_t choices = 0, pick = 0, running = 0;
        for (uint32_t p = r->first; p < r->entered; p++) {
            running += r->nodes[p].running;
            if (!r->nodes[p].done && (r->nodes[p].ready || r->nodes[p].running) &&
                below(++choices) == 0)
                pick = p;
        }
        CHECK(choices); // else it would hang
        if (r->sched->window)
            CHECK(running <= r->sched->window);
        if (r->nodes[pick].running) {
            finish(r, &r->nodes[pick]);
            done++;
        } else {
            start(r, &r->nodes[pick]);
        }
    }
}

// Runs the schedule, and asks whether all dependencies of the program have been obeyed.
static uint32_t interpret(const mlt_goal_sched *sched, const mlt_goal_rank *rank)
{
    run r = {.sched = sched};
    r.nodes = calloc(sched->actions + 1, sizeof *r.nodes);
    r.seen = calloc(sched->indices + 1, sizeof *r.seen);
    r.request = calloc(sched->requests + 1, sizeof *r.request);
    r.place = malloc((sched->bytes / 8 + 1) * sizeof *r.place);
    r.started = calloc(rank->count + 1, sizeof *r.started);
    r.finished = calloc(rank->count + 1, sizeof *r.finished);
    memset(r.place, 0xff, (sched->bytes / 8 + 1) * sizeof *r.place);
    const mlt_act *act = mlt_goal_sched_first(sched);
    uint32_t independent = 0;
    for (uint32_t i = 0; i < sched->actions; i++, act = mlt_act_next(act)) {
        r.nodes[i] = (node){.act = act, .number = number_of(act), .ready = !act->sources};
        r.place[((const unsigned char *)act - sched->code) / 8] = i;
        independent += !act->sources;
    }
    CHECK((const unsigned char *)act == sched->code + sched->bytes);
    CHECK(mlt_goal_sched_independent(sched)->count == independent);
    for (uint32_t i = 0; i < independent; i++)
        CHECK(!r.nodes[place_of(&r, mlt_goal_sched_independent(sched)->offset[i])].act->sources);
    go(&r);
    for (uint32_t a = 0; a < rank->count; a++)
        CHECK(rank->actions[a].kind == MLT_GOAL_NOP || (r.started[a] && r.finished[a]));
    for (uint32_t d = 0; d < rank->deps_count; d++) {
        uint32_t a = rank->deps[d].action, on = mlt_goal_plain(rank->deps[d].on);
        if (rank->actions[a].kind == MLT_GOAL_NOP || rank->actions[on].kind == MLT_GOAL_NOP)
            continue;
        CHECK(rank->deps[d].on & MLT_GOAL_STARTED ? r.started[on] < r.started[a]
                                                  : r.finished[on] < r.started[a]);
    }
    for (uint32_t i = 0; i < sched->indices; i++)
        CHECK(!r.seen[i]);
    free(r.nodes);
    free(r.seen);
    free(r.request);
    free(r.place);
    free(r.started);
    free(r.finished);
    return r.most_live;
}

// ---- programs

static void add_numbered(mlt_goal_program *program, int kind)
{
    int32_t number = (int32_t)program->rank[0].count;
    mlt_goal_span span = {MLT_GOAL_MEMORY, 8ull * (uint32_t)number, 8};
    mlt_goal_action calc = {.kind = MLT_GOAL_CALC, .size = {(uint64_t)number}};
    mlt_goal_action fused = {.kind = MLT_GOAL_RECV_EXEC,
                             .peer = 1,
                             .tag = number,
                             .at = {0, 8},
                             .size = {8, 8},
                             .type = MLT_OP_INT64};
    if (kind == MLT_GOAL_SEND)
        mlt_goal_send(program, 0, span, 1, number);
    else if (kind == MLT_GOAL_RECV)
        mlt_goal_recv(program, 0, span, 1, number);
    else
        mlt_goal_add(program, 0, kind == MLT_GOAL_RECV_EXEC ? &fused : &calc);
}

// Backward dependencies or, with `mixed`, along some other order.
static mlt_goal_program *random_program(uint32_t count, uint32_t edges, uint32_t reach, bool mixed)
{
    static const int kinds[] = {MLT_GOAL_SEND, MLT_GOAL_RECV, MLT_GOAL_CALC, MLT_GOAL_RECV_EXEC};
    mlt_goal_program *program = mlt_goal_program_new(2);
    uint32_t *name = malloc((count + 1) * sizeof *name);
    for (uint32_t i = 0; i < count; i++) {
        add_numbered(program, kinds[below(4)]);
        name[i] = i;
    }
    for (uint32_t i = count; mixed && i > 1; i--) {
        uint32_t j = below(i), swap = name[i - 1];
        name[i - 1] = name[j];
        name[j] = swap;
    }
    for (uint32_t e = 0; e < edges && count > 1; e++) {
        uint32_t a = 1 + below(count - 1), far = a < reach ? a : reach;
        mlt_goal_require(program, 0, name[a],
                         name[a - 1 - below(far)] | (below(4) ? 0 : MLT_GOAL_STARTED));
    }
    free(name);
    return program;
}

// What the order promises: no window: a receive is ahead of everything that neither it nor any
// other receive needs.
static void check_receives_early(const mlt_goal_sched *sched, const mlt_goal_rank *rank)
{
    mlt_goal_graph *graph = mlt_goal_graph_new(rank);
    bool *needed = calloc(rank->count + 1, sizeof *needed);
    for (uint32_t i = rank->count; i-- > 0;) {
        uint32_t a = graph->order[i];
        needed[a] |= mlt_goal_is_recv(&rank->actions[a]);
        for (uint32_t e = graph->before_at[a]; needed[a] && e < graph->before_at[a + 1]; e++)
            needed[mlt_goal_plain(graph->before[e])] = true;
    }
    bool others = false;
    const mlt_act *act = mlt_goal_sched_first(sched);
    for (uint32_t i = 0; i < sched->actions; i++, act = mlt_act_next(act)) {
        CHECK(!others || !needed[number_of(act)]);
        others |= !needed[number_of(act)];
    }
    free(needed);
    mlt_goal_graph_free(graph);
}

static void random_programs(void)
{
    uint32_t slides = 0, segments = 0, none = 0;
    for (now_seed = 1; now_seed <= 1500; now_seed++) {
        random_state = now_seed;
        uint32_t count = below(60), reach = below(3) ? 1 + below(6) : 60;
        mlt_goal_program *program =
            random_program(count, below(2 * count + 1), reach, below(3) == 0);
        uint32_t window = below(4) ? 1 + below(12) : 0;
        mlt_goal_sched *sched = compiled(program, 0, window);
        uint32_t live = interpret(sched, &program->rank[0]);
        CHECK(live <= sched->indices);
        if (window >= count)
            CHECK(!sched->window);
        if (!sched->window) {
            CHECK(sched->actions == count && sched->indices == count);
            check_receives_early(sched, &program->rank[0]);
            none++;
        } else if (sched->flags & MLT_GOAL_SCHED_SEGMENTS) {
            CHECK(sched->indices == window + 1 && sched->requests <= window);
            CHECK(sched->actions == count + (count - 1) / window);
            segments++;
        } else {
            CHECK(sched->indices <= 2 * window && sched->requests <= window);
            CHECK(sched->actions == count);
            slides++;
        }
        mlt_goal_sched_free(sched);
        mlt_goal_program_free(program);
    }
    now_seed = 0;
    printf("random programs: %u without a window, %u with one that slides, %u in segments\n", none,
           slides, segments);
    CHECK(none > 200 && slides > 200 && segments > 200);
}

// With a window the order is the program's as far as dependencies allow: graph.h's.
static void window_order(void)
{
    random_state = 5;
    for (int round = 0; round < 100; round++) {
        mlt_goal_program *program = random_program(40, 60, 40, round % 2);
        mlt_goal_graph *graph = mlt_goal_graph_new(&program->rank[0]);
        mlt_goal_sched *sched = compiled(program, 0, 1 + below(39));
        const mlt_act *act = mlt_goal_sched_first(sched);
        for (uint32_t i = 0, place = 0; i < sched->actions; i++, act = mlt_act_next(act))
            if (number_of(act) != MLT_GOAL_NONE)
                CHECK(graph->order[place++] == number_of(act));
        mlt_goal_sched_free(sched);
        mlt_goal_graph_free(graph);
        mlt_goal_program_free(program);
    }
}

// ---- the paper

// Figure 3: i before i + 1, and j before j + 5.
static mlt_goal_program *adversary(uint32_t count)
{
    mlt_goal_program *program = mlt_goal_program_new(2);
    for (uint32_t i = 0; i < count; i++)
        add_numbered(program, MLT_GOAL_CALC);
    for (uint32_t i = 0; i + 1 < count; i++)
        mlt_goal_require(program, 0, i + 1, i);
    for (uint32_t j = 0; j < count / 2; j++)
        mlt_goal_require(program, 0, j + count / 2, j);
    return program;
}

static const mlt_act *nth(const mlt_goal_sched *sched, uint32_t n)
{
    const mlt_act *act = mlt_goal_sched_first(sched);
    while (n--)
        act = mlt_act_next(act);
    return act;
}

static void adversary_is_cut(void)
{
    mlt_goal_program *program = adversary(10);
    // Five counters beyond a window of two are too many.
    mlt_goal_sched *sched = compiled(program, 0, 2);
    CHECK(sched->flags & MLT_GOAL_SCHED_SEGMENTS && sched->window == 2 && sched->indices == 3);
    CHECK(interpret(sched, &program->rank[0]) <= 3);
    mlt_goal_sched_free(sched);
    // A window of five needs five beyond it: Theorem 3.
    sched = compiled(program, 0, 5);
    CHECK(!(sched->flags & MLT_GOAL_SCHED_SEGMENTS) && sched->indices <= 10);
    interpret(sched, &program->rank[0]);
    mlt_goal_sched_free(sched);
    // So does any length: the state stays as it is.
    mlt_goal_program *longer = adversary(10000);
    sched = compiled(longer, 0, 100);
    CHECK(sched->flags & MLT_GOAL_SCHED_SEGMENTS && sched->indices == 101);
    mlt_goal_sched_free(sched);
    mlt_goal_program_free(longer);
    mlt_goal_program_free(program);
}

// Figure 4: three actions, a no-op, three actions, ...; nothing crosses a no-op.
static void figure_four(void)
{
    mlt_goal_program *program = adversary(10);
    mlt_goal_sched *sched = compiled(program, 0, 3);
    CHECK(sched->flags & MLT_GOAL_SCHED_SEGMENTS && sched->actions == 13);
    CHECK(mlt_goal_sched_independent(sched)->count == 1);
    for (uint32_t i = 0; i < 13; i++) {
        const mlt_act *act = nth(sched, i);
        bool joint = i % 4 == 3;
        CHECK(act->type == (joint ? MLT_GOAL_NOP : MLT_GOAL_CALC));
        CHECK(act->index == i % 4 && act->sources == (i > 0));
        CHECK(mlt_act_dependents(act)->count == (i < 12));
        if (i < 12)
            CHECK(mlt_goal_sched_act(sched, mlt_act_dependents(act)->offset[0]) ==
                  nth(sched, i + 1));
    }
    CHECK(interpret(sched, &program->rank[0]) <= 4);
    mlt_goal_sched_free(sched);
    mlt_goal_program_free(program);
}

// Independent actions in segments: all hang on the no-op before, and the next one on all of them.
static void segments_tie_everyone(void)
{
    mlt_goal_program *program = mlt_goal_program_new(2);
    for (int i = 0; i < 7; i++)
        add_numbered(program, MLT_GOAL_CALC);
    for (uint32_t i = 3; i < 7; i++)
        mlt_goal_require(program, 0, i, i % 3); // counters beyond a window of two
    mlt_goal_require(program, 0, 1, 0 | MLT_GOAL_STARTED);
    mlt_goal_sched *sched = compiled(program, 0, 2);
    CHECK(sched->flags & MLT_GOAL_SCHED_SEGMENTS);
    const mlt_act *joint = nth(sched, 2);
    CHECK(joint->type == MLT_GOAL_NOP && joint->sources == 2);
    // Waiting for the start alone does not show that it has ended.
    CHECK(nth(sched, 0)->type == (MLT_GOAL_CALC | MLT_ACT_STARTERS));
    CHECK(mlt_act_dependents(nth(sched, 0))->count == 1);
    CHECK(mlt_goal_sched_act(sched, mlt_act_dependents(nth(sched, 0))->offset[0]) == joint);
    CHECK(mlt_act_starters(nth(sched, 0))->count == 1);
    CHECK(mlt_act_dependents(joint)->count == 2);
    interpret(sched, &program->rank[0]);
    mlt_goal_sched_free(sched);
    mlt_goal_program_free(program);
}

// Example 2 as the paper lays it out.
static void example_two(void)
{
    mlt_goal_program *program = mlt_goal_program_new(3);
    uint32_t e[2], r[2];
    for (uint32_t i = 0; i < 2; i++) {
        e[i] = mlt_goal_exec(program, 0, MLT_OP_SUM, MLT_OP_INT8, (mlt_goal_span){0, 501 + i, 1},
                             (mlt_goal_span){0, 503 + i, 1});
        r[i] = mlt_goal_recv(program, 0, (mlt_goal_span){0, 503 + i, 1}, (int32_t)i + 1, 0);
        mlt_goal_require(program, 0, e[i], r[i]);
        mlt_goal_require(program, 0, e[i], r[i]); // twice is once
        mlt_goal_require(program, 0, e[i], r[i] | MLT_GOAL_STARTED);
    }
    mlt_goal_send(program, 1, (mlt_goal_span){0, 501, 1}, 0, 0);
    mlt_goal_sched *sched = compiled(program, 0, 0);
    // Four actions of 48 or 56 bytes with a list, behind two offsets and their number.
    CHECK(sched->bytes == 16 + 2 * 56 + 2 * 64 && sched->actions == 4 && sched->requests == 2);
    CHECK(sched->buffers == 1 && sched->buffer[0].size == 505 && !*sched->buffer[0].name);
    CHECK(!sched->flags && !sched->users && sched->ranks == 3 && !sched->rank);
    const mlt_act_list *independent = mlt_goal_sched_independent(sched);
    CHECK(independent->count == 2 && independent->offset[0] == 16 && independent->offset[1] == 72);
    for (uint32_t i = 0; i < 2; i++) {
        const mlt_act *recv = nth(sched, i), *exec = nth(sched, 2 + i);
        const mlt_act_message *m = message_of(recv);
        CHECK(recv->type == MLT_GOAL_RECV && !recv->sources && recv->index == i);
        CHECK(m->peer == (int)i + 1 && !m->tag && !m->slot && m->request == i && !m->buf);
        CHECK(m->at == 503 + i && m->size == 1);
        CHECK(mlt_act_dependents(recv)->count == 1);
        CHECK(mlt_goal_sched_act(sched, mlt_act_dependents(recv)->offset[0]) == exec);
        const mlt_act_exec *x = (const mlt_act_exec *)(exec + 1);
        CHECK(exec->type == MLT_GOAL_EXEC && exec->sources == 1 && exec->index == 2 + i);
        CHECK(x->op == MLT_OP_SUM && x->type == MLT_OP_INT8 && x->at[0] == 501 + i &&
              x->at[1] == 503 + i && x->size[0] == 1 && x->size[1] == 1);
        CHECK(!mlt_act_dependents(exec)->count);
    }
    mlt_goal_sched_free(sched);
    sched = compiled(program, 1, 0);
    CHECK(sched->actions == 1 && sched->rank == 1 && sched->buffer[0].size == 502);
    mlt_goal_sched_free(sched);
    sched = compiled(program, 2, 0);
    CHECK(sched->actions == 0 && sched->bytes == 8 && !mlt_goal_sched_independent(sched)->count);
    mlt_goal_sched_free(sched);
    mlt_goal_program_free(program);
}

// ---- parameters and slots

static void parameters(void)
{
    mlt_goal_program *program = mlt_goal_program_new(4);
    uint32_t in = mlt_goal_buffer_add(program, 0, "in", 100);
    mlt_goal_buffer_add(program, 0, "out", 200);
    mlt_goal_action fused = {.kind = MLT_GOAL_RECV_USER,
                             .flags = MLT_GOAL_REVERSED,
                             .cpu = 3,
                             .nic = 2,
                             .user = 6,
                             .peer = 3,
                             .tag = 9,
                             .buf = {in, MLT_GOAL_ADDRESS},
                             .at = {40, 0x10000},
                             .size = {8, 16}};
    mlt_goal_add(program, 0, &fused);
    mlt_goal_action sync = {.kind = MLT_GOAL_SEND,
                            .flags = MLT_GOAL_SYNCHRONOUS,
                            .peer = 2,
                            .buf = {MLT_GOAL_NOWHERE},
                            .size = {77}};
    mlt_goal_add(program, 0, &sync);
    mlt_goal_action calc = {.kind = MLT_GOAL_CALC, .cpu = 5, .nic = 1, .size = {1234}};
    mlt_goal_add(program, 0, &calc);
    mlt_goal_sched *sched = compiled(program, 0, 0);
    CHECK(sched->flags == MLT_GOAL_SCHED_ADDRESSES && sched->users == 7 && sched->buffers == 3);
    CHECK(strcmp(sched->buffer[1].name, "in") == 0 && sched->buffer[1].size == 100);
    CHECK(strcmp(sched->buffer[2].name, "out") == 0 && sched->buffer[2].size == 200);
    CHECK(sched->buffer[0].size == 0);
    const mlt_act_message *m = message_of(nth(sched, 0));
    const mlt_act_exec *x = (const mlt_act_exec *)(m + 1);
    CHECK(m->peer == 3 && m->tag == 9 && m->buf == MLT_GOAL_ADDRESS && m->at == 0x10000 &&
          m->size == 16 && m->flags == (3 << 8 | 2 << 16));
    CHECK(x->user == 6 && x->flags == MLT_GOAL_REVERSED && x->buf[0] == in && x->at[0] == 40 &&
          x->size[0] == 8 && x->buf[1] == MLT_GOAL_ADDRESS && x->size[1] == 16 && x->cpu == 3);
    m = message_of(nth(sched, 1));
    CHECK(m->flags == MLT_GOAL_SYNCHRONOUS && m->buf == MLT_GOAL_NOWHERE && m->size == 77);
    const mlt_act_calc *c = (const mlt_act_calc *)(nth(sched, 2) + 1);
    CHECK(c->ns == 1234 && c->cpu == 5 && c->nic == 1);
    mlt_goal_sched_free(sched);

    mlt_goal_recv(program, 1, (mlt_goal_span){0, 0, 8}, MLT_GOAL_ANY, 0);
    sched = compiled(program, 1, 0);
    CHECK(sched->flags == MLT_GOAL_SCHED_PLAIN && message_of(nth(sched, 0))->peer == MLT_GOAL_ANY);
    mlt_goal_sched_free(sched);
    mlt_goal_recv(program, 2, (mlt_goal_span){0, 0, 8}, 1, MLT_GOAL_ANY);
    sched = compiled(program, 2, 0);
    CHECK(sched->flags == MLT_GOAL_SCHED_PLAIN);
    mlt_goal_sched_free(sched);
    mlt_goal_send(program, 3, (mlt_goal_span){0, 0, 8}, 1, 0);
    char why[200];
    mlt_goal_sched_options options = {.plain = true};
    CHECK(mlt_goal_sched_compile(program, 3, &options, &sched, why, sizeof why) == MLT_OK);
    CHECK(sched->flags == MLT_GOAL_SCHED_PLAIN);
    mlt_goal_sched_free(sched);
    mlt_goal_program_free(program);
}

// Against counting by hand: messages of the flow with a smaller tag, or with that tag and before.
static void slots(void)
{
    static const int32_t tags[] = {0, 1, 7, 2047, 2048, 1 << 22, INT32_MAX, 3};
    for (now_seed = 1; now_seed <= 60; now_seed++) {
        random_state = now_seed;
        uint32_t count = 1 + below(400), peers = 1 + below(now_seed % 3 ? 5 : 300);
        int kinds = 1 + (int)below(8);
        mlt_goal_program *program = mlt_goal_program_new(300);
        for (uint32_t i = 0; i < count; i++) {
            mlt_goal_span span = {0, i, 1}; // its number
            int32_t peer = (int32_t)below(peers), tag = tags[below((uint32_t)kinds)];
            if (below(2))
                mlt_goal_send(program, 0, span, peer, tag);
            else
                mlt_goal_recv(program, 0, span, peer, tag);
        }
        const mlt_goal_action *actions = program->rank[0].actions;
        mlt_goal_sched *sched = compiled(program, 0, now_seed % 2 ? 0 : 7);
        const mlt_act *act = mlt_goal_sched_first(sched);
        for (uint32_t i = 0; i < sched->actions; i++, act = mlt_act_next(act)) {
            uint32_t slot = 0, a = (uint32_t)message_of(act)->at;
            for (uint32_t b = 0; b < count; b++)
                slot += actions[b].kind == actions[a].kind && actions[b].peer == actions[a].peer &&
                        (actions[b].tag < actions[a].tag ||
                         (actions[b].tag == actions[a].tag && b < a));
            CHECK(message_of(act)->slot == slot);
        }
        mlt_goal_sched_free(sched);
        mlt_goal_program_free(program);
    }
    now_seed = 0;
}

// ---- limits and errors

static void trees(void)
{
    static const uint32_t counts[] = {65535, 65536, 140000};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (uint32_t window = 0; window <= 200000; window += 100000) {
            random_state = 3;
            mlt_goal_program *program = mlt_goal_program_new(2);
            uint32_t n = counts[c];
            for (uint32_t i = 0; i < n + 3; i++)
                add_numbered(program, i == n ? MLT_GOAL_CALC : MLT_GOAL_SEND);
            for (uint32_t i = 0; i < n; i++)
                mlt_goal_require(program, 0, n, i | (i % 3 ? 0 : MLT_GOAL_STARTED));
            mlt_goal_require(program, 0, n + 1, n);
            mlt_goal_sched *sched = compiled(program, 0, window);
            uint32_t nops = 0, greatest = 0, last = 0, at_n = 0, at_next = 0, at_free = 0;
            const mlt_act *act = mlt_goal_sched_first(sched);
            uint64_t edges = 0, sources = 0;
            for (uint32_t i = 0; i < sched->actions; i++, act = mlt_act_next(act)) {
                nops += act->type == MLT_GOAL_NOP;
                greatest = act->sources > greatest ? act->sources : greatest;
                sources += act->sources;
                edges += mlt_act_dependents(act)->count;
                if (act->type & MLT_ACT_STARTERS)
                    edges += mlt_act_starters(act)->count;
                if (number_of(act) == n)
                    at_n = i;
                else if (number_of(act) == n + 1)
                    at_next = i;
                else if (number_of(act) == n + 2) // needs nobody
                    at_free = i;
                else
                    last = i;
            }
            CHECK(edges == sources && at_n > last && at_next > at_n);
            CHECK(!sched->window || at_free > at_next);
            if (!sched->window) {
                uint32_t expected = n > 65535 ? (n + 65534) / 65535 : 0;
                CHECK(nops == expected && greatest == 65535 && sched->actions == n + 3 + expected);
            }
            CHECK(!window || sched->indices <= (window < n ? 2 * window : n + 10));
            mlt_goal_sched_free(sched);
            mlt_goal_program_free(program);
        }
}

static void refused(const mlt_goal_program *program, uint32_t window, const char *sentence)
{
    mlt_goal_sched_options options = {.window = window};
    mlt_goal_sched *sched = (mlt_goal_sched *)1;
    char why[1024] = "";
    CHECK(mlt_goal_sched_compile(program, 0, &options, &sched, why, sizeof why) == MLT_ERR_INVALID);
    CHECK(!sched);
    if (strcmp(why, sentence) != 0) {
        fprintf(stderr, "said:     %s\nexpected: %s\n", why, sentence);
        CHECK(!"the sentence");
    }
    // A short room for it cuts it.
    char small[20];
    CHECK(mlt_goal_sched_compile(program, 0, &options, &sched, small, sizeof small) != MLT_OK);
    CHECK(strncmp(small, sentence, sizeof small - 1) == 0 && strlen(small) == sizeof small - 1);
}

static void errors(void)
{
    mlt_goal_program *program = mlt_goal_program_new(2);
    for (int i = 0; i < 3; i++)
        mlt_goal_send(program, 0, (mlt_goal_span){0, 0, 4}, 1, i);
    program->rank[0].actions[1].label = mlt_goal_name(program, "second", 6);
    program->rank[0].actions[1].line = 7;
    mlt_goal_require(program, 0, 1, 2);
    mlt_goal_require(program, 0, 2, 1 | MLT_GOAL_STARTED);
    for (uint32_t window = 0; window < 3; window++)
        refused(program, window,
                "the dependencies of rank 0 go round: action 1 (second: send 0,4 to 1 tag 1), line "
                "7 requires action 2 (send 0,4 to 1 tag 2) requires action 1");
    mlt_goal_program_free(program);

    program = mlt_goal_program_new(2);
    mlt_goal_send(program, 0, (mlt_goal_span){0, 0, 4}, 1, 0);
    mlt_goal_require(program, 0, 0, 0);
    refused(program, 0,
            "the dependencies of rank 0 go round: action 0 (send 0,4 to 1) requires action 0");
    mlt_goal_program_free(program);

    program = adversary(40);
    mlt_goal_require(program, 0, 0, 39);
    char why[1024];
    mlt_goal_sched *sched;
    CHECK(mlt_goal_sched_compile(program, 0, NULL, &sched, why, sizeof why) == MLT_ERR_INVALID);
    CHECK(strstr(why, " and so on, ") && strlen(why) < 400);
    mlt_goal_program_free(program);

    // So many actions that their memory need not be there.
    program = mlt_goal_program_new(1);
    program->rank[0].count = 1u << 28;
    refused(program, 0,
            "the schedule of rank 0, of 268435456 actions, takes 4 GiB or more; offsets of 32 bits "
            "reach less");
    program->rank[0].count = 0;
    mlt_goal_program_free(program);
}

int main(void)
{
    example_two();
    parameters();
    slots();
    adversary_is_cut();
    figure_four();
    segments_tie_everyone();
    window_order();
    random_programs();
    trees();
    errors();
    return 0;
}
