// SPDX-License-Identifier: BSD-3-Clause
// segment: cuts messages of more than options.segment bytes into pieces, on both sides, and the
// operations that work on their bytes. Where bytes flow, piece waits for piece: a chain or tree
// becomes a pipeline.
//
// Pieces count from the first byte of an action's spans. They are a whole number of elements of the
// largest type that the program uses, so no element is cut. Pieces of a message stand together in
// the order of its flow (rank, rank, tag), on both sides, so they meet.
//
// Dependencies. Between two actions that touch a byte, one of them writing, those pieces are
// ordered that touch the same bytes. This is done for all dependencies, and for all pairs of
// actions that touch a byte one right after the other: so whatever was ordered through other
// actions still is. Dependencies between actions that share no byte are kept as they are: all
// pieces after all pieces. Every new dependency stands for one that held before, so no new cycle or
// deadlock is possible.
//
// A program in which no rank ends before all have begun must stay one. It does if every piece waits
// for some piece of whatever its action waited for: then every way of before is still there, from
// any piece of its last action back. Otherwise it is looked at, and left alone if it is no longer
// so.
//
// Not cut: messages of users' functions, whose meaning may need all bytes at once; of bytes that
// are nowhere; of ranks on which unordered actions touch the same byte.
#include "goal/reduce.h"
#include "judge/pass/pass_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/compare.h"
#include "base/memory.h"

enum {
    RUN = 32,       // actions whose pieces alternate
    MOST = 1 << 27, // actions of a program that is cut
};

typedef struct cutter {
    mlt_goal_program *program;
    const mlt_goal_pairs *pairs;
    mlt_pass_flow **flow;
    uint64_t piece;
    uint32_t *pieces; // by the action's number
    uint64_t cut;     // actions
} cutter;

static uint64_t pieces_of(const cutter *c, uint64_t bytes)
{
    return (bytes + c->piece - 1) / c->piece;
}

// ---- what is cut

static bool end_can_be_cut(const cutter *c, uint32_t rank, const mlt_goal_action *action)
{
    int which = action->kind == MLT_GOAL_RECV_EXEC;
    return action->kind != MLT_GOAL_RECV_USER && action->buf[which] != MLT_GOAL_NOWHERE &&
           !c->flow[rank]->unclear;
}

static void cut_messages(cutter *c)
{
    for (uint32_t r = 0; r < c->program->ranks; r++)
        for (uint32_t a = 0; a < c->program->rank[r].count; a++) {
            const mlt_goal_action *action = &c->program->rank[r].actions[a];
            if (action->kind != MLT_GOAL_SEND || action->size[0] <= c->piece)
                continue;
            mlt_goal_place to = mlt_goal_partner(c->pairs, r, a);
            if (!end_can_be_cut(c, r, action) ||
                !end_can_be_cut(c, to.rank, &c->program->rank[to.rank].actions[to.action]))
                continue;
            uint64_t count = pieces_of(c, action->size[0]);
            count = count < MOST ? count : MOST; // refused later
            c->pieces[c->pairs->first[r] + a] = (uint32_t)count;
            c->pieces[c->pairs->first[to.rank] + to.action] = (uint32_t)count;
            c->cut += 2;
        }
}

// Operations of a rank that touch each other's bytes are cut together: a union-find forest.
typedef struct touching {
    const cutter *c;
    const mlt_goal_rank *rank;
    uint32_t *pieces;
    uint32_t *parent; // of an operation; itself: the root of its tree
    bool *cut;        // of a root: some message that is cut touches its tree
} touching;

static bool large_exec(const touching *t, uint32_t a)
{
    const mlt_goal_action *action = &t->rank->actions[a];
    return action->kind == MLT_GOAL_EXEC && action->size[0] > t->c->piece;
}

static uint32_t root_of(const touching *t, uint32_t a)
{
    for (; t->parent[a] != a; a = t->parent[a])
        t->parent[a] = t->parent[t->parent[a]];
    return a;
}

static void join(void *user, uint32_t first, uint32_t second)
{
    touching *t = user;
    if (large_exec(t, first) && large_exec(t, second))
        t->parent[root_of(t, first)] = root_of(t, second);
}

static void segment_touch(void *user, uint32_t first, uint32_t second)
{
    touching *t = user;
    if (t->pieces[first] > 1 && large_exec(t, second))
        t->cut[root_of(t, second)] = true;
    if (t->pieces[second] > 1 && large_exec(t, first))
        t->cut[root_of(t, first)] = true;
}

// Operations that touch bytes of pieces, and those that touch theirs.
static void cut_operations(cutter *c, uint32_t r)
{
    uint32_t n = c->program->rank[r].count;
    if (c->flow[r]->unclear)
        return;
    touching t = {c, &c->program->rank[r], c->pieces + c->pairs->first[r],
                  mlt_xcalloc(n, sizeof *t.parent), mlt_xcalloc(n, sizeof *t.cut)};
    for (uint32_t a = 0; a < n; a++)
        t.parent[a] = a;
    mlt_pass_flow_conflicts(c->flow[r], join, &t);
    mlt_pass_flow_conflicts(c->flow[r], segment_touch, &t);
    for (uint32_t a = 0; a < n; a++) {
        if (!large_exec(&t, a) || !t.cut[root_of(&t, a)])
            continue;
        uint64_t count = pieces_of(c, t.rank->actions[a].size[0]);
        t.pieces[a] = (uint32_t)(count < MOST ? count : MOST);
        c->cut++;
    }
    free(t.parent);
    free(t.cut);
}

// ---- one rank anew

typedef struct layout { // where the pieces of an action stand: first, first + step, ...
    uint32_t first, step;
} layout;

typedef struct builder {
    const cutter *c;
    const mlt_goal_rank *old;
    const uint32_t *pieces; // of the rank's actions
    layout *at;
    mlt_goal_program *to;
    uint32_t rank;
    bool whole; // so far every piece waits for some piece of whatever its action waited for
} builder;

static bool same_flow(const mlt_goal_action *a, const mlt_goal_action *b)
{
    return mlt_goal_is_message(a) && mlt_goal_is_message(b) && a->peer == b->peer &&
           a->tag == b->tag && (a->kind == MLT_GOAL_SEND) == (b->kind == MLT_GOAL_SEND);
}

// How many actions from `a` on have their pieces alternate, so that one's first piece does not wait
// for the other's last: equally many pieces, no two of one flow.
static uint32_t run_length(const builder *b, uint32_t a)
{
    uint32_t end = a + 1;
    if (b->pieces[a] == 1)
        return 1;
    while (end < b->old->count && end - a < RUN && b->pieces[end] == b->pieces[a]) {
        for (uint32_t i = a; i < end; i++)
            if (same_flow(&b->old->actions[i], &b->old->actions[end]))
                return end - a;
        end++;
    }
    return end - a;
}

static mlt_goal_action piece_of(const builder *b, uint32_t a, uint32_t i)
{
    mlt_goal_action piece = b->old->actions[a];
    if (b->pieces[a] == 1)
        return piece;
    bool both = piece.kind == MLT_GOAL_EXEC || piece.kind == MLT_GOAL_RECV_EXEC;
    uint64_t from = i * b->c->piece;
    for (int k = 0; k <= both; k++) {
        piece.at[k] += from;
        piece.size[k] -= from;
        if (piece.size[k] > b->c->piece)
            piece.size[k] = b->c->piece;
    }
    if (i > 0)
        piece.label = 0; // names are of one action
    return piece;
}

static void add_actions(builder *b)
{
    for (uint32_t a = 0, run; a < b->old->count; a += run) {
        run = run_length(b, a);
        uint32_t first = b->to->rank[b->rank].count;
        for (uint32_t j = 0; j < run; j++)
            b->at[a + j] = (layout){first + j, run};
        for (uint32_t i = 0; i < b->pieces[a]; i++)
            for (uint32_t j = 0; j < run; j++) {
                mlt_goal_action piece = piece_of(b, a + j, i);
                mlt_goal_add(b->to, b->rank, &piece);
            }
    }
}

static uint32_t index_of(const builder *b, uint32_t a, uint32_t i)
{
    return b->at[a].first + i * b->at[a].step;
}

// The pieces of `a` that touch bytes [from, to) of its span, counted from the span's first byte.
static void pieces_at(const builder *b, uint32_t a, uint64_t from, uint64_t to, uint32_t *first,
                      uint32_t *last)
{
    bool whole = b->pieces[a] == 1;
    *first = whole ? 0 : (uint32_t)(from / b->c->piece);
    *last = whole ? 0 : (uint32_t)((to - 1) / b->c->piece);
}

// Orders the pieces of `second` after those of `first` that touch the same bytes, if one of the two
// writes. How many pieces of the second wait then, at least; 0: they share no bytes.
static uint32_t order_pieces(builder *b, uint32_t first, uint32_t second)
{
    mlt_goal_access x[2], y[2];
    int x_count = mlt_goal_accesses(&b->old->actions[first], x);
    int y_count = mlt_goal_accesses(&b->old->actions[second], y);
    uint32_t waits = 0;
    for (int i = 0; i < x_count; i++)
        for (int k = 0; k < y_count; k++) {
            mlt_goal_span p = x[i].span, q = y[k].span;
            uint64_t from = p.at > q.at ? p.at : q.at;
            uint64_t to = p.at + p.size < q.at + q.size ? p.at + p.size : q.at + q.size;
            if (p.buf != q.buf || from >= to || !(x[i].writes || y[k].writes))
                continue;
            uint32_t at, end;
            pieces_at(b, second, from - q.at, to - q.at, &at, &end);
            waits = end - at + 1 > waits ? end - at + 1 : waits;
            for (; at <= end; at++) {
                uint64_t begin = b->pieces[second] == 1 ? from : q.at + at * b->c->piece;
                uint64_t stop = b->pieces[second] == 1 ? to : begin + b->c->piece;
                begin = begin > from ? begin : from;
                stop = stop < to ? stop : to;
                uint32_t on, last;
                pieces_at(b, first, begin - p.at, stop - p.at, &on, &last);
                for (; on <= last; on++)
                    mlt_goal_require(b->to, b->rank, index_of(b, second, at),
                                     index_of(b, first, on));
            }
        }
    return waits;
}

// All pieces after all pieces.
static void order_all(builder *b, uint32_t first, uint32_t second)
{
    uint32_t n = b->pieces[first], m = b->pieces[second];
    uint32_t middle = MLT_GOAL_NONE;
    if (n > 1 && m > 1)
        middle = mlt_goal_add(b->to, b->rank, &(mlt_goal_action){.kind = MLT_GOAL_NOP});
    for (uint32_t i = 0; i < n; i++)
        mlt_goal_require(b->to, b->rank, middle == MLT_GOAL_NONE ? index_of(b, second, 0) : middle,
                         index_of(b, first, i));
    // If n is 1, the first of the second's pieces is done.
    for (uint32_t i = middle == MLT_GOAL_NONE; i < m; i++)
        mlt_goal_require(b->to, b->rank, index_of(b, second, i),
                         middle == MLT_GOAL_NONE ? index_of(b, first, 0) : middle);
}

static void order_starts(builder *b, uint32_t first, uint32_t second)
{
    uint32_t last = b->pieces[first] - 1;
    for (uint32_t i = 0; i < b->pieces[second]; i++)
        mlt_goal_require(b->to, b->rank, index_of(b, second, i),
                         index_of(b, first, i < last ? i : last) | MLT_GOAL_STARTED);
}

// Pairs of actions that touch a byte one right after the other; each pair once.
typedef struct pairs_list {
    uint64_t *pairs, count, room;
} pairs_list;

static void note_pair(void *user, uint32_t first, uint32_t second)
{
    pairs_list *list = user;
    uint64_t pair = (uint64_t)first << 32 | second;
    if (list->count && list->pairs[list->count - 1] == pair)
        return;
    *MLT_ARRAY_ADD(list->pairs, list->count, list->room) = pair;
}

static void order_conflicts(builder *b, const mlt_pass_flow *flow)
{
    pairs_list list = {0};
    mlt_pass_flow_conflicts(flow, note_pair, &list);
    if (list.count)
        qsort(list.pairs, list.count, sizeof *list.pairs, mlt_compare_ascending);
    for (uint64_t i = 0; i < list.count; i++)
        if (!i || list.pairs[i] != list.pairs[i - 1])
            order_pieces(b, (uint32_t)(list.pairs[i] >> 32), (uint32_t)list.pairs[i]);
    free(list.pairs);
}

static bool any_cut(const uint32_t *pieces, uint32_t count)
{
    for (uint32_t a = 0; a < count; a++)
        if (pieces[a] > 1)
            return true;
    return false;
}

// True if every piece waits for some piece of whatever its action waited for.
static bool build_rank(const cutter *c, mlt_goal_program *to, uint32_t r)
{
    const mlt_goal_rank *old = &c->program->rank[r];
    const uint32_t *pieces = c->pieces + c->pairs->first[r];
    if (!any_cut(pieces, old->count))
        return true;
    builder b = {c, old, pieces, mlt_xcalloc(old->count, sizeof *b.at), to, r, true};
    to->rank[r].count = to->rank[r].deps_count = 0;
    add_actions(&b);
    for (uint32_t d = 0; d < old->deps_count; d++) {
        mlt_goal_dep dep = old->deps[d];
        if (dep.on & MLT_GOAL_STARTED) {
            order_starts(&b, mlt_goal_plain(dep.on), dep.action);
            continue;
        }
        uint32_t waits = order_pieces(&b, dep.on, dep.action);
        if (!waits)
            order_all(&b, dep.on, dep.action);
        else if (waits < pieces[dep.action])
            b.whole = false;
    }
    order_conflicts(&b, c->flow[r]);
    mlt_goal_reduce(&to->rank[r], false);
    free(b.at);
    return b.whole;
}

// ----

static uint64_t unit_of(const mlt_goal_program *program)
{
    uint64_t unit = 1;
    for (uint32_t r = 0; r < program->ranks; r++)
        for (uint32_t a = 0; a < program->rank[r].count; a++) {
            const mlt_goal_action *action = &program->rank[r].actions[a];
            bool typed = action->kind == MLT_GOAL_EXEC || action->kind == MLT_GOAL_RECV_EXEC;
            if (typed && mlt_op_type_bytes[action->type] > unit)
                unit = mlt_op_type_bytes[action->type];
        }
    return unit;
}

static mlt_status refuse_too_many(const cutter *c, char *why, size_t why_size)
{
    uint64_t all = 0;
    for (uint64_t n = 0; n < c->pairs->first[c->program->ranks]; n++)
        all += c->pieces[n];
    if (all <= MOST)
        return MLT_OK;
    return mlt_fail(MLT_ERR_INVALID, why, why_size,
                    "pieces of %" PRIu64
                    " bytes make a program of more than %d actions; ask for larger "
                    "pieces",
                    c->piece, MOST);
}

// The program in pieces; NULL: left alone, the report tells why.
static mlt_goal_program *build(const cutter *c, mlt_pass_report *report)
{
    mlt_goal_program *to = mlt_goal_program_copy(c->program);
    bool whole = true;
    for (uint32_t r = 0; r < to->ranks; r++)
        whole &= build_rank(c, to, r);
    if (whole || mlt_pass_is_barrier(c->program) == MLT_PASS_NO ||
        mlt_pass_is_barrier(to) == MLT_PASS_YES)
        return to;
    snprintf(report->text, sizeof report->text,
             "left alone: in pieces it might no longer make all ranks wait for all");
    mlt_goal_program_free(to);
    return NULL;
}

mlt_status mlt_pass_segment(mlt_goal_program *program, const mlt_goal_pairs *pairs,
                            const mlt_pass_options *options, mlt_pass_report *report, char *why,
                            size_t why_size)
{
    if (!pairs || !options->segment) {
        snprintf(report->text, sizeof report->text, "left alone: %s",
                 pairs ? "no size of a piece is set" : "a receive takes what comes");
        return MLT_OK;
    }
    cutter c = {.program = program, .pairs = pairs};
    uint64_t unit = unit_of(program), actions = pairs->first[program->ranks];
    c.piece = options->segment < unit ? unit : options->segment - options->segment % unit;
    c.pieces = mlt_xcalloc(actions, sizeof *c.pieces);
    for (uint64_t n = 0; n < actions; n++)
        c.pieces[n] = 1;
    c.flow = mlt_pass_flows_new(program);
    cut_messages(&c);
    for (uint32_t r = 0; r < program->ranks; r++)
        cut_operations(&c, r);
    mlt_status status = refuse_too_many(&c, why, why_size);
    mlt_goal_program *to = status == MLT_OK ? build(&c, report) : NULL;
    if (to) {
        mlt_goal_program old = *program;
        *program = *to;
        *to = old;
        report->changed = c.cut;
        snprintf(report->text, sizeof report->text,
                 "cut %" PRIu64 " actions into pieces of %" PRIu64 " bytes", c.cut, c.piece);
        mlt_goal_program_free(to);
    }
    mlt_pass_flows_free(c.flow, program->ranks);
    free(c.pieces);
    return status;
}
