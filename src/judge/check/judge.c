// SPDX-License-Identifier: BSD-3-Clause
// Each run of equal values in each block of out is compared with what the block must hold. A
// reduction's value that has the ranks in order is recognised at once; else its leaves are counted.
#include "judge/check/judge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

enum { FORMULA = 200, RANKS_TEXT = 160 };

typedef struct judge {
    mlt_state *s;
    uint8_t *times;      // [leaves]: scratch
    uint8_t *known;      // by value: 1 right, 2 wrong, for reductions over all leaves
    bool in_order, same; // so far
    uint32_t shown;      // value whose formula is told
    bool shows;
    mlt_value_runs reference, runs; // of the first rank with a result, canonical; of this one
} judge;

// A part of out: `length` bytes from byte `at` of the span on, in one block.
typedef struct part {
    uint32_t rank;
    uint64_t at, length, offset;
    uint32_t value;
    mlt_wanted wanted;
} part;

// ---- is it right

static bool counts_right(judge *j, const part *p)
{
    const mlt_values *values = &j->s->values;
    uint32_t operands = p->wanted.high - p->wanted.low;
    bool logical = values->wanted.op == MLT_OP_LAND || values->wanted.op == MLT_OP_LOR;
    // a && a is 1 or 0, which a need not be.
    bool repeatable = mlt_value_idempotent(values->wanted) && (operands > 1 || !logical);
    if (!repeatable && values->value[p->value].leaves != operands)
        return false;
    uint32_t leaves = j->s->claim->leaves;
    if (mlt_value_count(values, p->value, leaves, j->times))
        return false;
    for (uint32_t r = 0; r < leaves; r++) {
        bool belongs = r >= p->wanted.low && r < p->wanted.high;
        if (belongs ? !j->times[r] || (j->times[r] > 1 && !repeatable) : j->times[r] != 0)
            return false;
    }
    return true;
}

static bool reduction_right(judge *j, const part *p)
{
    const mlt_value *v = &j->s->values.value[p->value];
    if (!v->pure || p->offset != p->wanted.offset)
        return false;
    if (v->in_order && v->low == p->wanted.low && v->high == p->wanted.high)
        return true;
    if (!j->s->claim->is->commutes)
        return false;
    j->in_order = false;
    bool all = p->wanted.low == 0 && p->wanted.high == j->s->claim->leaves;
    if (all && j->known[p->value])
        return j->known[p->value] == 1;
    bool right = counts_right(j, p);
    if (all)
        j->known[p->value] = right ? 1 : 2;
    return right;
}

static bool is_right(judge *j, const part *p)
{
    if (mlt_collective_reduces(j->s->claim->is->collective))
        return reduction_right(j, p);
    const mlt_value *v = &j->s->values.value[p->value];
    mlt_goal_span out = j->s->claim->out[p->rank];
    if (p->wanted.before)
        return v->kind == MLT_VALUE_JUNK && v->a == p->rank && v->b == out.buf &&
               p->offset == out.at + p->at;
    return v->kind == MLT_VALUE_LEAF && v->a == p->wanted.low && p->offset == p->wanted.offset;
}

// ---- what is wrong

// "rank 5", "ranks 1, 4..7": those of leaves for which times[] is between least and most.
static uint32_t name_ranks(const judge *j, uint32_t from, uint32_t to, uint8_t least, uint8_t most,
                           char text[RANKS_TEXT])
{
    const uint32_t *rank_of = j->s->claim->rank_of;
    uint32_t count = 0, shown = 0;
    mlt_text list = mlt_text_on(text, RANKS_TEXT);
    for (uint32_t r = from; r < to; r++) {
        if (j->times[r] < least || j->times[r] > most)
            continue;
        uint32_t last = r;
        while (last + 1 < to && j->times[last + 1] >= least && j->times[last + 1] <= most &&
               rank_of[last + 1] == rank_of[last] + 1)
            last++;
        count += last - r + 1;
        if (shown < 8)
            mlt_text_add(&list, "%s%u", shown ? ", " : "", rank_of[r]);
        if (shown++ < 8 && last > r)
            mlt_text_add(&list, "..%u", rank_of[last]);
        r = last;
    }
    if (shown > 8)
        mlt_text_add(&list, " and others, %u in all", count);
    return count;
}

static const char *s_of(uint32_t count)
{
    return count == 1 ? "" : "s";
}

static void say_counts(judge *j, mlt_goal_finding *finding, const part *p, const char **comma)
{
    char text[RANKS_TEXT] = "";
    uint32_t leaves = j->s->claim->leaves, low = p->wanted.low, high = p->wanted.high, n;
    mlt_value_count(&j->s->values, p->value, leaves, j->times);
    if ((n = name_ranks(j, low, high, 0, 0, text))) {
        mlt_check_say(finding, "%s lack the contribution%s of rank%s %s", *comma, s_of(n), s_of(n),
                      text);
        *comma = ",";
    }
    if (!mlt_value_idempotent(j->s->values.wanted) &&
        (n = name_ranks(j, low, high, 2, 255, text))) {
        uint8_t most = 0;
        for (uint32_t r = low; r < high; r++)
            most = j->times[r] > most ? j->times[r] : most;
        mlt_check_say(finding, "%s hold %s of rank%s %s ", *comma, n == 1 ? "that" : "those",
                      s_of(n), text);
        if (most == 2)
            mlt_check_say(finding, "twice");
        else
            mlt_check_say(finding, most == 255 ? "%u times or more" : "up to %u times", most);
        *comma = ",";
    }
    for (int side = 0; side < 2; side++)
        if ((n = name_ranks(j, side ? high : 0, side ? leaves : low, 1, 255, text))) {
            mlt_check_say(finding, "%s hold %s of rank%s %s, which %s not belong there", *comma,
                          n == 1 ? "that" : "those", s_of(n), text, n == 1 ? "does" : "do");
            *comma = ",";
        }
}

// "bytes 0..7 of rank 2's in"
static void say_value(const judge *j, mlt_goal_finding *finding, uint32_t value, uint64_t offset,
                      uint64_t length)
{
    const mlt_check *check = j->s->check;
    const mlt_value *v = &j->s->values.value[value];
    char text[MLT_CHECK_TEXT], formula[FORMULA];
    switch (v->kind) {
    case MLT_VALUE_LEAF:
        mlt_check_say(finding, "bytes %" PRIu64 "..%" PRIu64 " of what rank %u brings", offset,
                      offset + length - 1, j->s->claim->rank_of[v->a]);
        break;
    case MLT_VALUE_JUNK:
        if (v->b == MLT_GOAL_NOWHERE)
            mlt_check_say(finding, "bytes that rank %u sent from nowhere", v->a);
        else
            mlt_check_say(
                finding, "what was in %s of rank %u before",
                mlt_check_bytes(check->program, v->a, v->b, offset, offset + length, text), v->a);
        break;
    case MLT_VALUE_OPAQUE:
        mlt_check_say(finding, "what %s makes",
                      mlt_check_describe(check, (mlt_goal_place){v->a, v->b}, text));
        break;
    default:
        mlt_check_say(finding, "%s",
                      mlt_value_print(&j->s->values, value, formula, sizeof formula));
    }
}

static void say_op(mlt_goal_finding *finding, mlt_value_op op)
{
    if (op.op == MLT_OPS)
        mlt_check_say(finding, "user %u", op.user);
    else
        mlt_check_say(finding, "%s%s", mlt_op_names[op.op], mlt_op_type_names[op.type]);
}

// The first reason that is no matter of counting.
static void say_odd(judge *j, mlt_goal_finding *finding, const part *p, const char **comma)
{
    const mlt_values *values = &j->s->values;
    uint32_t odd;
    mlt_value_odd why = mlt_value_why_odd(values, p->value, &odd);
    const mlt_value *v = &values->value[odd];
    switch (why) {
    case MLT_VALUE_FINE:
        if (p->offset == p->wanted.offset)
            return;
        mlt_check_say(finding, "%s hold bytes from %" PRIu64 " on instead of from %" PRIu64, *comma,
                      p->offset, p->wanted.offset);
        break;
    case MLT_VALUE_ODD_JUNK:
    case MLT_VALUE_ODD_OPAQUE:
        mlt_check_say(finding, "%s contain ", *comma);
        // Where in that value is not known below a shifted node; at the top it is.
        say_value(j, finding, odd, odd == p->value ? p->offset : 0,
                  odd == p->value ? p->length : 1);
        break;
    case MLT_VALUE_ODD_OP:
        mlt_check_say(finding, "%s are combined by ", *comma);
        say_op(finding, v->op);
        if (values->wanted.op == MLT_OP_COPY) {
            mlt_check_say(finding, ", though nothing is to be combined");
            break;
        }
        mlt_check_say(finding, " instead of ");
        say_op(finding, values->wanted);
        break;
    case MLT_VALUE_ODD_SHIFT:
        mlt_check_say(finding, "%s combine bytes that are %" PRId64 " apart", *comma,
                      (int64_t)v->shift);
        break;
    case MLT_VALUE_ODD_PHASE:
        mlt_check_say(finding, "%s are combined by elements that begin in the middle of one",
                      *comma);
        break;
    }
    *comma = ",";
}

// Receives whose bytes nobody read: often the missing contributions.
static void say_unused(judge *j, mlt_goal_finding *finding, uint32_t rank)
{
    mlt_state *s = j->s;
    const mlt_goal_rank *r = &s->check->program->rank[rank];
    const mlt_goal_span out = s->claim->out[rank];
    uint64_t first = s->check->pairs->first[rank];
    uint32_t told = 0, last = MLT_GOAL_NONE;
    char text[MLT_CHECK_TEXT], formula[FORMULA];
    for (uint32_t b = 0; b < r->buffers_count + 2 && told < 3; b++)
        for (uint64_t i = 0; i < s->cells[rank][b].count && told < 3; i++) {
            const mlt_cells_piece *piece = &s->cells[rank][b].piece[i];
            bool result = b == out.buf && piece->from < out.at + out.size && piece->to > out.at;
            if (piece->writer == MLT_GOAL_NONE || piece->writer == last || result ||
                s->used[first + piece->writer] || !mlt_goal_is_recv(&r->actions[piece->writer]))
                continue;
            last = piece->writer;
            told++;
            mlt_check_say(finding, "\n    received but never used: %s, which brings %s",
                          mlt_check_describe(s->check, (mlt_goal_place){rank, last}, text),
                          mlt_value_print(&s->values, piece->value, formula, sizeof formula));
        }
}

static void say_wanted(judge *j, mlt_goal_finding *finding, const part *p)
{
    mlt_values *values = &j->s->values;
    uint32_t low = p->wanted.low, high = p->wanted.high;
    const uint32_t *rank_of = j->s->claim->rank_of;
    if (p->wanted.before) {
        mlt_check_say(finding, "what they held before: no message goes there");
        return;
    }
    if (!mlt_collective_reduces(j->s->claim->is->collective)) {
        say_value(j, finding, mlt_value_leaf(values, low), p->wanted.offset, p->length);
        return;
    }
    uint32_t all = mlt_value_leaf(values, low);
    for (uint32_t r = low + 1; r < high && r < low + 6; r++)
        all = mlt_value_node(values, values->wanted, 0, all, mlt_value_leaf(values, r), 0);
    if (high - low > 6)
        all = mlt_value_node(values, values->wanted, 0, all, mlt_value_leaf(values, high - 1), 0);
    char formula[FORMULA];
    mlt_value_print(values, all, formula, sizeof formula);
    // Brackets are free; without them it reads as what it is.
    char plain[FORMULA], *to = plain;
    for (const char *c = formula; *c; c++)
        if (*c != '(' && *c != ')')
            *to++ = *c;
    *to = 0;
    if (high - low > 6)
        mlt_check_say(finding, "the reduction of %s %u..%u",
                      j->s->claim->leaves < j->s->claim->ranks ? "those that contribute of ranks"
                                                               : "ranks",
                      rank_of[low], rank_of[high - 1]);
    else
        mlt_check_say(finding, "%s%s", plain, j->s->claim->is->commutes ? " in any order" : "");
}

static void say_writer(judge *j, mlt_goal_finding *finding, const part *p, uint64_t at)
{
    mlt_state *s = j->s;
    const mlt_goal_span out = s->claim->out[p->rank];
    const mlt_cells *cells = &s->cells[p->rank][out.buf];
    char text[MLT_CHECK_TEXT];
    for (uint64_t i = 0; i < cells->count; i++) {
        const mlt_cells_piece *piece = &cells->piece[i];
        if (piece->from > at || piece->to <= at)
            continue;
        if (piece->writer != MLT_GOAL_NONE)
            mlt_check_say(
                finding, "\n    last written by %s",
                mlt_check_describe(s->check, (mlt_goal_place){p->rank, piece->writer}, text));
        return;
    }
    mlt_check_say(finding, "\n    no action writes them");
}

static void judge_tell(judge *j, const part *p)
{
    mlt_state *s = j->s;
    mlt_goal_span out = s->claim->out[p->rank];
    mlt_goal_finding *finding =
        mlt_check_found(s->check, MLT_FAULT_RESULT, (mlt_goal_place){p->rank, MLT_GOAL_NONE},
                        (mlt_goal_place){p->rank, MLT_GOAL_NONE});
    if (!finding)
        return;
    finding->buf = out.buf;
    finding->from = out.at + p->at;
    finding->to = finding->from + p->length;
    // Several, even if it is one: what is said of them is said in the plural.
    mlt_check_say(finding, "rank %u's bytes %" PRIu64 "..%" PRIu64 " of %s", p->rank, finding->from,
                  finding->to - 1, mlt_check_buffer_name(s->check->program, p->rank, out.buf));
    const char *comma = "";
    bool reduces = mlt_collective_reduces(s->claim->is->collective);
    if (reduces) {
        say_counts(j, finding, p, &comma);
        say_odd(j, finding, p, &comma);
        if (!*comma)
            mlt_check_say(finding, " have their operands out of order, and the operation does not "
                                   "commute");
    } else {
        mlt_check_say(finding, " are wrong");
    }
    mlt_check_say(finding, "\n    they hold ");
    say_value(j, finding, p->value, p->offset, p->length);
    mlt_check_say(finding, "\n    they should hold ");
    say_wanted(j, finding, p);
    say_writer(j, finding, p, finding->from);
    if (reduces)
        say_unused(j, finding, p->rank);
}

// ---- all ranks

// Runs with each value's canonical form, for comparing ranks.
static void canonical(const judge *j, const mlt_value_runs *runs, mlt_value_runs *out)
{
    out->count = 0;
    for (uint64_t i = 0; i < runs->count; i++)
        mlt_value_runs_add(out, runs->run[i].length, j->s->values.value[runs->run[i].value].canon,
                           runs->run[i].offset);
}

static void judge_compare(judge *j)
{
    mlt_value_runs canon = {0};
    canonical(j, &j->runs, &canon);
    if (!j->reference.count) {
        j->reference = canon;
        return;
    }
    j->same &= canon.count == j->reference.count;
    for (uint64_t i = 0; i < canon.count && j->same; i++) {
        const mlt_value_run *a = &canon.run[i], *b = &j->reference.run[i];
        j->same = a->length == b->length && a->offset == b->offset && a->value == b->value;
    }
    free(canon.run);
}

static void judge_rank(judge *j, uint32_t rank)
{
    mlt_state *s = j->s;
    mlt_goal_span out = s->claim->out[rank];
    uint64_t at = 0;
    j->runs.count = 0;
    mlt_state_read(s, rank, out, false, &j->runs);
    for (uint64_t i = 0; i < j->runs.count; i++) {
        mlt_value_run run = j->runs.run[i];
        while (run.length) { // cut at blocks
            mlt_wanted wanted = mlt_claim_wanted(s->claim, rank, at);
            uint64_t length = run.length < wanted.length ? run.length : wanted.length;
            part p = {rank, at, length, run.offset, run.value, wanted};
            if (!is_right(j, &p))
                judge_tell(j, &p);
            at += length;
            run.offset += length;
            run.length -= length;
        }
    }
    if (j->runs.count && (!j->shows || s->claim->is->collective == MLT_COLL_SCAN ||
                          s->claim->is->collective == MLT_COLL_EXSCAN)) {
        j->shown = j->runs.run[0].value;
        j->shows = true;
    }
    if (s->claim->is->collective == MLT_COLL_ALLREDUCE ||
        s->claim->is->collective == MLT_COLL_REDUCE_TO)
        judge_compare(j);
}

static bool is_exact(const mlt_goal_spec *is)
{
    bool rounds =
        is->type == MLT_OP_FLOAT16 || is->type == MLT_OP_FLOAT32 || is->type == MLT_OP_FLOAT64;
    return is->op != MLT_OPS && !(rounds && (is->op == MLT_OP_SUM || is->op == MLT_OP_PROD));
}

void mlt_judge(mlt_state *s)
{
    uint32_t ranks = s->claim->ranks;
    // Telling makes a few values more; they are never asked about.
    judge j = {.s = s, .in_order = true, .same = true};
    for (uint32_t r = 0; r < ranks; r++)
        mlt_value_junk(&s->values, r, s->claim->out[r].buf);
    j.times = mlt_xcalloc(s->claim->leaves, 1);
    j.known = mlt_xcalloc(s->values.count, 1);
    for (uint32_t r = 0; r < ranks; r++)
        if (s->claim->out[r].size)
            judge_rank(&j, r);
    mlt_goal_verdict *verdict = s->check->verdict;
    if (!verdict->found[MLT_FAULT_RESULT] && mlt_collective_reduces(s->claim->is->collective)) {
        char formula[FORMULA];
        verdict->in_rank_order = j.in_order;
        verdict->same_everywhere = j.same;
        verdict->exact = is_exact(s->claim->is);
        if (j.shows)
            verdict->order = strdup(mlt_value_print(&s->values, j.shown, formula, sizeof formula));
    }
    free(j.times);
    free(j.known);
    free(j.reference.run);
    free(j.runs.run);
}
