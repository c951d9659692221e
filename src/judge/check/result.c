// SPDX-License-Identifier: BSD-3-Clause
// The result by symbolic execution: the events are played in the order that the deadlock proof
// found, with memory that holds symbols. If there are no races, every other order gives the same.
//
// A send takes its bytes when it starts; all else happens when the action ends.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "judge/check/check_int.h"
#include "judge/check/claim.h"
#include "judge/check/judge.h"
#include "judge/check/memory.h"
#include "judge/check/value.h"

static mlt_cells *result_cells_of(mlt_state *s, uint32_t rank, uint32_t buf)
{
    uint32_t last = s->check->program->rank[rank].buffers_count + 1;
    return &s->cells[rank][buf == MLT_GOAL_ADDRESS ? last : buf];
}

void mlt_state_read(mlt_state *s, uint32_t rank, mlt_goal_span span, bool use, mlt_value_runs *runs)
{
    uint32_t before = mlt_value_junk(&s->values, rank, span.buf);
    if (span.buf == MLT_GOAL_NOWHERE) {
        mlt_value_runs_add(runs, span.size, before, 0);
        return;
    }
    mlt_cells_read(result_cells_of(s, rank, span.buf), span.at, span.at + span.size, before,
                   use ? s->used + s->check->pairs->first[rank] : NULL, runs);
}

static void write_span(mlt_state *s, uint32_t rank, mlt_goal_span span, const mlt_value_runs *runs,
                       uint32_t writer)
{
    if (span.buf != MLT_GOAL_NOWHERE)
        mlt_cells_write(result_cells_of(s, rank, span.buf), span.at, runs, writer);
}

// ---- local work

typedef struct cursor {
    const mlt_value_runs *runs;
    uint64_t run, into; // bytes of the run that are done
} cursor;

static uint64_t cursor_left(const cursor *c)
{
    return c->runs->run[c->run].length - c->into;
}

static void cursor_skip(cursor *c, uint64_t bytes)
{
    while (bytes) {
        uint64_t step = cursor_left(c) < bytes ? cursor_left(c) : bytes;
        c->into += step;
        bytes -= step;
        if (!cursor_left(c)) {
            c->run++;
            c->into = 0;
        }
    }
}

// left op right, element by element. An element whose bytes come from several values, on either
// side, is a mix of which nothing is known.
static void combine(mlt_state *s, mlt_goal_place place, mlt_value_op op, const mlt_value_runs *left,
                    const mlt_value_runs *right, uint64_t size, mlt_value_runs *out)
{
    cursor l = {left, 0, 0}, r = {right, 0, 0};
    op = mlt_value_op_plain(op); // then bitwise ones have elements of a byte, wherever they are cut
    uint64_t element = op.op == MLT_OPS ? s->claim->element : mlt_op_type_bytes[op.type];
    for (uint64_t at = 0; at < size;) {
        uint64_t whole = cursor_left(&l) < cursor_left(&r) ? cursor_left(&l) : cursor_left(&r);
        whole -= whole % element;
        if (whole) {
            const mlt_value_run *a = &left->run[l.run], *b = &right->run[r.run];
            uint64_t a_at = a->offset + l.into, b_at = b->offset + r.into;
            uint32_t phase = (uint32_t)(a_at % element);
            mlt_value_runs_add(
                out, whole, mlt_value_node(&s->values, op, phase, a->value, b->value, b_at - a_at),
                a_at);
        } else {
            whole = element;
            mlt_value_runs_add(out, whole, mlt_value_opaque(&s->values, place.rank, place.action),
                               at);
        }
        cursor_skip(&l, whole);
        cursor_skip(&r, whole);
        at += whole;
    }
}

// True if it is known what the user's function does there: the claim names it, elements are whole,
// and its two buffers are the same or apart. Otherwise one element's result might be another one's
// operand.
static bool is_claimed(const mlt_state *s, const mlt_goal_action *action)
{
    bool apart = action->at[0] == action->at[1] ||
                 !mlt_goal_spans_meet(mlt_goal_span_of(action, 0), mlt_goal_span_of(action, 1));
    return s->values.wanted.op == MLT_OPS && s->values.wanted.user == action->user &&
           action->size[0] == action->size[1] && action->size[0] % s->claim->element == 0 && apart;
}

// What the local work of an action leaves in its first span. A copy is its right operand.
static void work(mlt_state *s, mlt_goal_place place)
{
    const mlt_goal_action *action = mlt_check_action(s->check, place);
    bool user = mlt_goal_is_user(action);
    mlt_value_op op = {.op = user ? (uint8_t)MLT_OPS : action->op,
                       .type = user ? 0 : action->type,
                       .user = user ? action->user : 0};
    bool copies = !user && op.op == MLT_OP_COPY, reversed = action->flags & MLT_GOAL_REVERSED;
    const mlt_value_runs *left = reversed ? &s->second : &s->first, *made = &s->made;
    const mlt_value_runs *right = reversed ? &s->first : &s->second;
    s->first.count = s->second.count = s->made.count = 0;
    if (!copies || !reversed)
        mlt_state_read(s, place.rank, mlt_goal_span_of(action, 1), true, &s->second);
    if (!copies || reversed)
        mlt_state_read(s, place.rank, mlt_goal_span_of(action, 0), true, &s->first);
    if (copies)
        made = right;
    else if (!user || is_claimed(s, action))
        combine(s, place, op, left, right, action->size[0], &s->made);
    else
        mlt_value_runs_add(&s->made, action->size[0],
                           mlt_value_opaque(&s->values, place.rank, place.action), 0);
    write_span(s, place.rank, mlt_goal_span_of(action, 0), made, place.action);
}

// ---- events

static void receive(mlt_state *s, mlt_goal_place place, int which)
{
    mlt_goal_place from = mlt_goal_partner(s->check->pairs, place.rank, place.action);
    mlt_value_runs *message = &s->flying[s->check->pairs->first[from.rank] + from.action];
    write_span(s, place.rank, mlt_goal_span_of(mlt_check_action(s->check, place), which), message,
               place.action);
    free(message->run);
    *message = (mlt_value_runs){0};
}

static void play(mlt_state *s, uint32_t event)
{
    mlt_goal_place place = {s->rank_of[event / 2], 0};
    place.action = (uint32_t)(event / 2 - s->check->pairs->first[place.rank]);
    const mlt_goal_action *action = mlt_check_action(s->check, place);
    bool end = event % 2;
    if (action->kind == MLT_GOAL_SEND) {
        if (!end)
            mlt_state_read(s, place.rank, mlt_goal_span_of(action, 0), true, &s->flying[event / 2]);
        return;
    }
    if (!end)
        return;
    if (mlt_goal_is_recv(action))
        receive(s, place, mlt_goal_has_two(action));
    if (mlt_goal_has_two(action))
        work(s, place);
}

static void state_init(mlt_state *s, mlt_check *check, const mlt_claim *claim)
{
    const mlt_goal_program *program = check->program;
    uint64_t actions = check->pairs->first[program->ranks];
    *s = (mlt_state){.check = check, .claim = claim};
    mlt_values_init(&s->values, mlt_claim_op(claim), claim->rank_of);
    s->cells = mlt_xcalloc(program->ranks, sizeof *s->cells);
    s->flying = mlt_xcalloc(actions, sizeof *s->flying);
    s->used = mlt_xcalloc(actions, 1);
    s->rank_of = mlt_xcalloc(actions, sizeof *s->rank_of);
    for (uint32_t r = 0; r < program->ranks; r++) {
        s->cells[r] = mlt_xcalloc((size_t)program->rank[r].buffers_count + 2, sizeof **s->cells);
        for (uint64_t a = check->pairs->first[r]; a < check->pairs->first[r + 1]; a++)
            s->rank_of[a] = r;
        mlt_goal_span in = claim->in[r];
        if (!in.size)
            continue;
        s->first.count = 0;
        mlt_value_runs_add(&s->first, in.size, mlt_value_leaf(&s->values, claim->leaf[r]), 0);
        write_span(s, r, in, &s->first, MLT_GOAL_NONE);
    }
}

static void state_fini(mlt_state *s)
{
    for (uint32_t r = 0; r < s->check->program->ranks; r++) {
        for (uint32_t b = 0; b < s->check->program->rank[r].buffers_count + 2; b++)
            free(s->cells[r][b].piece);
        free(s->cells[r]);
    }
    for (uint64_t a = 0; a < s->check->pairs->first[s->check->program->ranks]; a++)
        free(s->flying[a].run);
    free(s->cells);
    free(s->flying);
    free(s->used);
    free(s->rank_of);
    free(s->first.run);
    free(s->second.run);
    free(s->made.run);
    mlt_values_fini(&s->values);
}

// ---- barrier
//
// The end of a rank's work must come after some start on every other rank. Sets of all ranks may not
// fit into memory, so they are made in several passes.

enum { BARRIER_BYTES = 1 << 28 };

static void tell_barrier(mlt_check *check, uint32_t rank, mlt_waits_unheard u)
{
    mlt_goal_finding *finding =
        mlt_check_found(check, MLT_FAULT_RESULT, (mlt_goal_place){rank, MLT_GOAL_NONE},
                        (mlt_goal_place){u.first, MLT_GOAL_NONE});
    if (!finding)
        return;
    mlt_check_say(finding, "rank %u may finish before rank %u", rank, u.first);
    if (u.count > 1)
        mlt_check_say(finding, " and %u more ranks", u.count - 1);
    mlt_check_say(finding, " %s started", u.count > 1 ? "have" : "has");
    if (!check->program->rank[rank].count)
        mlt_check_say(finding, "\n    rank %u has no action, so it waits for nobody", rank);
    else if (!check->program->rank[u.first].count)
        mlt_check_say(finding, "\n    rank %u has no action, so nobody can wait for it", u.first);
    else
        mlt_check_say(finding, "\n    no chain of messages from rank %u reaches rank %u", u.first,
                      rank);
}

static void check_barrier(mlt_check *check)
{
    uint32_t ranks = check->program->ranks, events = check->waits.count;
    uint64_t room = BARRIER_BYTES / 8 / (events ? events : 1), each = 64 * (room ? room : 1);
    mlt_waits_unheard *all = mlt_xcalloc(ranks, sizeof *all);
    for (uint64_t low = 0; low < ranks; low += each)
        mlt_waits_begun(&check->waits, check->pairs, ranks, (uint32_t)low,
                        (uint32_t)(low + each < ranks ? low + each : ranks), all);
    for (uint32_t r = 0; r < ranks; r++)
        if (all[r].count)
            tell_barrier(check, r, all[r]);
    free(all);
}

// ---- all

void mlt_check_result(mlt_check *check)
{
    const uint64_t *found = check->verdict->found;
    mlt_claim claim;
    // Without both ends of every message, or with some that never come, there is no final state.
    bool playable = check->waits.order && !check->wildcards && !found[MLT_FAULT_INVALID] &&
                    !found[MLT_FAULT_UNMATCHED] && !found[MLT_FAULT_SIZE];
    if (mlt_claim_init(&claim, check) && playable) {
        mlt_check_looked(check, MLT_FAULT_RESULT);
        if (claim.is->collective == MLT_COLL_BARRIER) {
            check_barrier(check);
        } else {
            mlt_state state;
            state_init(&state, check, &claim);
            for (uint32_t i = 0; i < check->waits.count; i++) {
                play(&state, check->waits.order[i]);
                if (i % 65536 == 65535)
                    mlt_check_progress(check, 0.6 + 0.3 * i / check->waits.count);
            }
            mlt_check_progress(check, 0.9);
            mlt_judge(&state);
            state_fini(&state);
        }
    }
    mlt_claim_fini(&claim);
}
