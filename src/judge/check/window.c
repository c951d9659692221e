// SPDX-License-Identifier: BSD-3-Clause
// Deadlock in a window. The waits are those of the compiled code, so they are what the executor
// obeys: segments have their no-ops in the code, and if the window slides, an action starts only
// after all that stand `window` places or more before it have ended. An executor that lets more run
// waits for less.
//
// Events of a rank: start and end of each action of the code, then for each action "all up to here
// have ended".
#include <stdlib.h>

#include "base/array.h"
#include "base/memory.h"
#include "goal/sched.h"
#include "judge/check/check_int.h"

typedef struct listing {
    mlt_goal_sched *sched;
    const mlt_act **act; // in the code's order
    uint32_t first;      // event: the start of act[0]
} listing;

typedef struct codes {
    mlt_check *check;
    listing *code;   // [ranks]
    uint32_t *place; // by number of an action: its place in the code
    uint32_t events;
    bool synchronous;
} codes;

// ---- waits

static uint32_t check_window_start_of(const listing *code, uint32_t place)
{
    return code->first + 2 * place;
}

static void emit_list(mlt_waits *waits, const listing *code, uint32_t event,
                      const mlt_act_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const mlt_act *act = mlt_goal_sched_act(code->sched, list->offset[i]);
        uint32_t place = MLT_ARRAY_SEARCH(k, code->sched->actions, code->act[k] <= act) - 1;
        mlt_waits_edge(waits, event, check_window_start_of(code, place));
    }
}

static void emit_message(mlt_waits *waits, const codes *c, uint32_t r, uint32_t place)
{
    const listing *code = &c->code[r];
    uint32_t action = code->sched->origin[place], start = check_window_start_of(code, place);
    if (action == MLT_GOAL_NONE || c->check->program->rank[r].actions[action].kind != MLT_GOAL_SEND)
        return;
    mlt_goal_place other = mlt_goal_partner(c->check->pairs, r, action);
    if (other.action == MLT_GOAL_NONE)
        return;
    uint32_t recv = check_window_start_of(
        &c->code[other.rank], c->place[c->check->pairs->first[other.rank] + other.action]);
    mlt_waits_edge(waits, start, recv + 1);
    if (c->synchronous || c->check->program->rank[r].actions[action].flags & MLT_GOAL_SYNCHRONOUS)
        mlt_waits_edge(waits, recv, start + 1);
}

static void check_window_emit(mlt_waits *waits, void *user)
{
    const codes *c = user;
    for (uint32_t r = 0; r < c->check->program->ranks; r++) {
        const listing *code = &c->code[r];
        uint32_t count = code->sched->actions, window = code->sched->window;
        uint32_t all = code->first + 2 * count; // event: all up to act[0] have ended
        bool slides = window && !(code->sched->flags & MLT_GOAL_SCHED_SEGMENTS);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t start = check_window_start_of(code, i);
            mlt_waits_edge(waits, start, start + 1);
            emit_list(waits, code, start + 1, mlt_act_dependents(code->act[i]));
            if (code->act[i]->type & MLT_ACT_STARTERS)
                emit_list(waits, code, start, mlt_act_starters(code->act[i]));
            emit_message(waits, c, r, i);
            if (!slides)
                continue;
            mlt_waits_edge(waits, start + 1, all + i);
            if (i + 1 < count)
                mlt_waits_edge(waits, all + i, all + i + 1);
            if (i + (uint64_t)window < count)
                mlt_waits_edge(waits, all + i, check_window_start_of(code, i + window));
        }
    }
}

// ---- telling

static const char *describe(const codes *c, uint32_t r, uint32_t place, char text[MLT_CHECK_TEXT])
{
    uint32_t action = c->code[r].sched->origin[place];
    if (action != MLT_GOAL_NONE)
        return mlt_check_describe(c->check, (mlt_goal_place){r, action}, text);
    snprintf(text, MLT_CHECK_TEXT, "rank %u, place %u of the code (a no-op)", r, place);
    return text;
}

typedef struct event {
    uint32_t rank, place;
    bool end, all;
} event;

static event event_of(const codes *c, uint32_t number)
{
    uint32_t ranks = c->check->program->ranks;
    event e = {.rank = MLT_ARRAY_SEARCH(r, ranks, c->code[r].first <= number) - 1};
    uint32_t into = number - c->code[e.rank].first, count = c->code[e.rank].sched->actions;
    e.all = into >= 2 * count;
    e.place = e.all ? into - 2 * count : into / 2;
    e.end = e.all || into % 2;
    return e;
}

// A chain of "all up to here" is one wait: for the last link's action.
static void check_window_tell_cycle(codes *c, mlt_goal_finding *finding, const uint32_t *cycle,
                                    uint32_t count)
{
    enum { SHOWN = 8 };
    char text[MLT_CHECK_TEXT];
    uint32_t first = 0, shown = 0;
    while (first < count && event_of(c, cycle[first]).all)
        first++;
    for (uint32_t i = 0; i < count;) {
        if (shown == SHOWN) {
            mlt_check_say(finding, "\n    ... and so on round");
            return;
        }
        event one = event_of(c, cycle[(first + i) % count]), other;
        bool window = false;
        do {
            other = event_of(c, cycle[(first + ++i) % count]);
            window |= other.all;
        } while (other.all);
        if (one.rank == other.rank && one.place == other.place)
            continue;
        shown++;
        mlt_check_say(finding, "\n    %s %s only after", describe(c, one.rank, one.place, text),
                      one.end ? "ends" : "starts");
        mlt_check_say(finding, "\n        %s has %s%s", describe(c, other.rank, other.place, text),
                      other.end ? "ended" : "started", window ? " and left the window" : "");
    }
}

static void check_window_tell(codes *c, const uint32_t *cycle, uint32_t count)
{
    event e = event_of(c, cycle[0]);
    mlt_goal_place place = {e.rank, c->code[e.rank].sched->origin[e.place]};
    mlt_goal_finding *finding = mlt_check_found(c->check, MLT_FAULT_DEADLOCK, place, place);
    if (!finding)
        return;
    const mlt_goal_sched *sched = c->code[e.rank].sched;
    mlt_check_say(
        finding,
        "in a window of %u actions (it %s) and %s, actions wait for each other in a circle",
        sched->window,
        sched->flags & MLT_GOAL_SCHED_SEGMENTS ? "goes segment by segment" : "slides",
        c->synchronous ? "if sends end only when they are received"
                       : "even if every send is buffered");
    check_window_tell_cycle(c, finding, cycle, count);
}

// ---- all

static bool compile(codes *c, uint32_t r)
{
    mlt_check *check = c->check;
    mlt_goal_sched_options options = {.window = check->options->window, .plain = check->wildcards};
    listing *code = &c->code[r];
    char why[512];
    if (mlt_goal_sched_compile(check->program, r, &options, &code->sched, why, sizeof why) !=
        MLT_OK) {
        mlt_check_tell(check, MLT_FAULT_INVALID, r, "%s", why);
        return false;
    }
    uint32_t count = code->sched->actions;
    code->act = mlt_xcalloc(count, sizeof *code->act);
    const mlt_act *act = mlt_goal_sched_first(code->sched);
    for (uint32_t i = 0; i < count; i++, act = mlt_act_next(act)) {
        code->act[i] = act;
        if (code->sched->origin[i] != MLT_GOAL_NONE)
            c->place[check->pairs->first[r] + code->sched->origin[i]] = i;
    }
    code->first = c->events;
    c->events += 3 * count;
    return true;
}

// True: there is an order.
static bool check_window_look(codes *c)
{
    mlt_waits waits;
    mlt_waits_init(&waits, c->events, check_window_emit, c);
    mlt_waits_cycle cycle = {0};
    bool fine = mlt_waits_sort(&waits, &cycle);
    if (!fine)
        check_window_tell(c, cycle.events, cycle.count);
    free(cycle.events);
    mlt_waits_fini(&waits);
    return fine;
}

void mlt_check_window(mlt_check *check)
{
    uint32_t ranks = check->program->ranks;
    codes c = {.check = check};
    c.code = mlt_xcalloc(ranks, sizeof *c.code);
    c.place = mlt_xcalloc(check->pairs->first[ranks], sizeof *c.place);
    bool compiled = check->pairs->first[ranks] < UINT32_MAX / 8; // no-ops of segments among them
    if (!compiled) {
        mlt_check_tell(check, MLT_FAULT_INVALID, 0,
                       "the program has too many actions to be checked with a window");
    }
    for (uint32_t r = 0; r < ranks && compiled; r++)
        compiled = compile(&c, r);
    if (compiled) {
        check->verdict->window = check->options->window;
        bool fine = check_window_look(&c);
        c.synchronous = true;
        if (fine && !check->options->assume_buffered)
            check_window_look(&c);
    }
    for (uint32_t r = 0; r < ranks; r++) {
        mlt_goal_sched_free(c.code[r].sched);
        free(c.code[r].act);
    }
    free(c.code);
    free(c.place);
}
