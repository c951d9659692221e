// SPDX-License-Identifier: BSD-3-Clause
#include "coll/alg/part.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"

// What the algorithm has added to the rank begins here.
typedef struct mark {
    uint32_t actions, deps, buffers;
} mark;

static int32_t part_place_of(const mlt_coll_part *part, int32_t v)
{
    if (part->map)
        return (int32_t)part->map[v];
    if (part->head == MLT_GOAL_NONE)
        return (int32_t)part->first + v;
    return v ? (int32_t)part->first + v - 1 : (int32_t)part->head;
}

// Names of temporary buffers differ: a number follows where two parts have the same one.
static void name_buffer(mlt_goal_program *program, uint32_t place)
{
    mlt_goal_buffer *buffers = program->rank->buffers;
    for (uint32_t b = 0; b < place; b++) {
        if (buffers[b].name != buffers[place].name)
            continue;
        char name[48];
        int n = snprintf(name, sizeof name, "%.30s_%u",
                         mlt_goal_name_text(program, buffers[place].name), place);
        buffers[place].name = mlt_goal_name(program, name, (size_t)n);
        return;
    }
}

// Where a buffer of the algorithm's is in the schedule. Those that are spans go away, the others
// close up: `kept` counts them.
static mlt_goal_span *move_buffers(mlt_goal_program *program, const mlt_coll_part *part, mark from)
{
    mlt_goal_rank *r = program->rank;
    mlt_goal_span *to = mlt_xcalloc(r->buffers_count - from.buffers + 1ull, sizeof *to);
    uint32_t kept = from.buffers;
    for (uint32_t b = from.buffers; b < r->buffers_count; b++) {
        const char *name = mlt_goal_name_text(program, r->buffers[b].name);
        mlt_goal_span *span = &to[b - from.buffers];
        if (strcmp(name, "in") == 0) {
            *span = part->in;
        } else if (strcmp(name, "out") == 0 || strcmp(name, "buf") == 0) {
            *span = part->out;
        } else {
            r->buffers[kept++] = r->buffers[b];
            name_buffer(program, kept - 1);
            *span = (mlt_goal_span){kept, 0, r->buffers[kept - 1].size};
            continue;
        }
        mlt_assert(r->buffers[b].size <= span->size);
    }
    r->buffers_count = kept;
    return to;
}

static void move_actions(mlt_goal_program *program, const mlt_coll_part *part, mark from)
{
    mlt_goal_rank *r = program->rank;
    mlt_goal_span *to = move_buffers(program, part, from);
    for (uint32_t a = from.actions; a < r->count; a++) {
        mlt_goal_action *action = &r->actions[a];
        if (mlt_goal_is_message(action))
            action->peer = part_place_of(part, action->peer);
        for (int i = 0; i < 2; i++) {
            if (action->buf[i] <= from.buffers || action->buf[i] >= MLT_GOAL_ADDRESS)
                continue;
            const mlt_goal_span *span = &to[action->buf[i] - 1 - from.buffers];
            action->buf[i] = span->buf;
            action->at[i] += span->at;
        }
    }
    free(to);
}

static uint32_t emit_alone(mlt_goal_program *program, const mlt_coll_part *part,
                           const mlt_coll_alg *alg, const mlt_coll_shape *shape)
{
    mlt_goal_rank *r = program->rank;
    mark from = {r->count, r->deps_count, r->buffers_count};
    mlt_coll_emit(alg, shape, program, part->self);
    move_actions(program, part, from);
    uint32_t actions = r->count - from.actions, deps = r->deps_count;
    if (!actions)
        return part->after;
    bool *waits = mlt_xcalloc(2ull * actions, sizeof *waits), *awaited = waits + actions;
    for (uint32_t d = from.deps; d < deps; d++) {
        waits[r->deps[d].action - from.actions] = true;
        if (!(r->deps[d].on & MLT_GOAL_STARTED))
            awaited[r->deps[d].on - from.actions] = true;
    }
    mlt_goal_action nop = {.kind = MLT_GOAL_NOP};
    uint32_t end = mlt_goal_add(program, 0, &nop);
    for (uint32_t a = 0; a < actions; a++) {
        if (!waits[a] && part->after != MLT_GOAL_NONE)
            mlt_goal_require(program, 0, from.actions + a, part->after);
        if (!awaited[a])
            mlt_goal_require(program, 0, end, from.actions + a);
    }
    free(waits);
    return end;
}

uint32_t mlt_coll_part_emit(mlt_goal_program *program, uint32_t slot, const mlt_coll_part *part,
                            const mlt_coll_alg *alg, const mlt_coll_shape *shape)
{
    // The algorithm takes a program of one rank for its own.
    mlt_goal_rank *all = program->rank;
    uint32_t ranks = program->ranks;
    program->rank = all + slot;
    program->ranks = 1;
    uint32_t end = emit_alone(program, part, alg, shape);
    program->rank = all;
    program->ranks = ranks;
    return end;
}
