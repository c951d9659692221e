// SPDX-License-Identifier: BSD-3-Clause
// What only tests do with programs.
#pragma once

#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/memory.h"
#include "goal/program.h"

static inline uint32_t mlt_goal_exec(mlt_goal_program *program, uint32_t rank, mlt_op op,
                                     mlt_op_type type, mlt_goal_span result, mlt_goal_span second)
{
    mlt_goal_action action = {.kind = MLT_GOAL_EXEC,
                              .op = (uint8_t)op,
                              .type = (uint8_t)type,
                              .buf = {result.buf, second.buf},
                              .at = {result.at, second.at},
                              .size = {result.size, second.size}};
    return mlt_goal_add(program, rank, &action);
}

static inline bool program_spans_equal(const mlt_goal_action *a, const mlt_goal_action *b,
                                       int which)
{
    return a->buf[which] == b->buf[which] && a->size[which] == b->size[which] &&
           (a->buf[which] == MLT_GOAL_NOWHERE || a->at[which] == b->at[which]);
}

static inline bool program_actions_equal(const mlt_goal_action *a, const mlt_goal_action *b)
{
    if (a->kind != b->kind || a->cpu != b->cpu || a->nic != b->nic)
        return false;
    if (a->kind == MLT_GOAL_CALC)
        return a->size[0] == b->size[0];
    if (a->kind == MLT_GOAL_NOP)
        return true;
    bool two = mlt_goal_has_two(a), user = mlt_goal_is_user(a);
    if (mlt_goal_is_message(a) && (a->peer != b->peer || a->tag != b->tag))
        return false;
    if (two && (user ? a->user != b->user : a->op != b->op || a->type != b->type))
        return false;
    unsigned flags = a->kind == MLT_GOAL_SEND ? MLT_GOAL_SYNCHRONOUS : two ? MLT_GOAL_REVERSED : 0;
    return ((a->flags ^ b->flags) & flags) == 0 && program_spans_equal(a, b, 0) &&
           (!two || program_spans_equal(a, b, 1));
}

static inline int program_compare_deps(const void *pa, const void *pb)
{
    const mlt_goal_dep *a = pa, *b = pb;
    return mlt_compare_words((uint64_t[]){a->action, a->on}, (uint64_t[]){b->action, b->on}, 2);
}

static inline bool program_deps_equal(const mlt_goal_rank *a, const mlt_goal_rank *b)
{
    size_t bytes = a->deps_count * sizeof *a->deps;
    if (!bytes || memcmp(a->deps, b->deps, bytes) == 0)
        return true;
    mlt_goal_dep *x = mlt_xcalloc(1, bytes), *y = mlt_xcalloc(1, bytes);
    memcpy(x, a->deps, bytes);
    memcpy(y, b->deps, bytes);
    qsort(x, a->deps_count, sizeof *x, program_compare_deps);
    qsort(y, a->deps_count, sizeof *y, program_compare_deps);
    bool equal = memcmp(x, y, bytes) == 0;
    free(x);
    free(y);
    return equal;
}

// The same ranks with the same buffers, actions in the same order and the same dependencies in any
// order. Labels, lines and fields that an action's kind does not use do not count.
static inline bool mlt_goal_program_equal(const mlt_goal_program *a, const mlt_goal_program *b)
{
    if (a->ranks != b->ranks)
        return false;
    for (uint32_t r = 0; r < a->ranks; r++) {
        const mlt_goal_rank *x = &a->rank[r], *y = &b->rank[r];
        if (x->count != y->count || x->deps_count != y->deps_count ||
            x->buffers_count != y->buffers_count)
            return false;
        for (uint32_t i = 0; i < x->count; i++)
            if (!program_actions_equal(&x->actions[i], &y->actions[i]))
                return false;
        for (uint32_t i = 0; i < x->buffers_count; i++)
            if (x->buffers[i].size != y->buffers[i].size ||
                strcmp(a->names + x->buffers[i].name, b->names + y->buffers[i].name) != 0)
                return false;
        if (!program_deps_equal(x, y))
            return false;
    }
    return true;
}
