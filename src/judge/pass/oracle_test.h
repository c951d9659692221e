// SPDX-License-Identifier: BSD-3-Clause
// For tests only: runs a program on real bytes, all ranks in one loop, as unkindly as the rules
// allow. Which action goes on next is random; a receive writes rubbish into its buffer when it
// starts; a send takes its bytes at its start or at its end; operations work at either. So whatever
// is not ordered shows. Shares no code with checker, executor or passes.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "goal/pairs.h"
#include "goal/program.h"
#include "judge/pass/pass.h"

typedef struct oracle_action {
    uint32_t waits_end, waits_start; // dependencies that are open
    uint8_t state;                   // 0 waiting, 1 active, 2 started, 3 done
    bool late;                       // works at its end, not at its start
    uint8_t *bytes;                  // of a send, once it has taken them
} oracle_action;

typedef struct oracle {
    const mlt_goal_program *program;
    mlt_goal_pairs *pairs;
    uint8_t ***memory;       // [rank][buffer]
    uint64_t **size;         // [rank][buffer]
    oracle_action **actions; // [rank][action]
    uint32_t (*active)[2];   // rank, action; those that can start or have
    uint64_t active_count, left, state;
    bool synchronous;
} oracle;

static inline void *oracle_take(size_t bytes)
{
    void *memory = calloc(1, bytes ? bytes : 1);
    if (!memory)
        abort();
    return memory;
}

static inline uint64_t oracle_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state >> 11;
}

// `like`: the program whose plain memory is as large as this one's shall be; the original.
static inline oracle *oracle_new(const mlt_goal_program *program, const mlt_goal_program *like,
                                 bool synchronous, uint64_t seed)
{
    oracle *o = oracle_take(sizeof *o);
    uint32_t ranks = program->ranks;
    o->program = program;
    o->pairs = mlt_goal_pairs_new(program);
    o->synchronous = synchronous;
    o->state = seed * 0x9e3779b97f4a7c15ull + 88172645463325252ull;
    o->memory = oracle_take(ranks * sizeof *o->memory);
    o->size = oracle_take(ranks * sizeof *o->size);
    o->actions = oracle_take(ranks * sizeof *o->actions);
    for (uint32_t r = 0; r < ranks; r++) {
        const mlt_goal_rank *rank = &program->rank[r];
        o->memory[r] = oracle_take((rank->buffers_count + 1) * sizeof **o->memory);
        o->size[r] = oracle_take((rank->buffers_count + 1) * sizeof **o->size);
        for (uint32_t b = 0; b <= rank->buffers_count; b++) {
            o->size[r][b] = mlt_goal_buffer_size(b ? program : like, r, b);
            o->memory[r][b] = oracle_take(o->size[r][b]);
            uint64_t filling = (r + 1) * 1000003ull + b * 7919ull + 1;
            for (uint64_t i = 0; i < o->size[r][b]; i++)
                o->memory[r][b][i] = (uint8_t)oracle_random(&filling);
        }
        o->actions[r] = oracle_take(rank->count * sizeof **o->actions);
        for (uint32_t d = 0; d < rank->deps_count; d++) {
            oracle_action *a = &o->actions[r][rank->deps[d].action];
            if (rank->deps[d].on & MLT_GOAL_STARTED)
                a->waits_start++;
            else
                a->waits_end++;
        }
        o->left += rank->count;
    }
    o->active = oracle_take(o->left * sizeof *o->active);
    return o;
}

static inline void oracle_free(oracle *o)
{
    for (uint32_t r = 0; r < o->program->ranks; r++) {
        for (uint32_t b = 0; b <= o->program->rank[r].buffers_count; b++)
            free(o->memory[r][b]);
        for (uint32_t a = 0; a < o->program->rank[r].count; a++)
            free(o->actions[r][a].bytes);
        free(o->memory[r]);
        free(o->size[r]);
        free(o->actions[r]);
    }
    free(o->memory);
    free(o->size);
    free(o->actions);
    free(o->active);
    mlt_goal_pairs_free(o->pairs);
    free(o);
}

static inline uint8_t *oracle_span(oracle *o, uint32_t r, const mlt_goal_action *a, int which)
{
    if (a->buf[which] == MLT_GOAL_NOWHERE || !a->size[which])
        return NULL;
    if (a->at[which] + a->size[which] > o->size[r][a->buf[which]])
        abort();
    return o->memory[r][a->buf[which]] + a->at[which];
}

static inline void oracle_compute(oracle *o, uint32_t r, const mlt_goal_action *a)
{
    uint8_t *first = oracle_span(o, r, a, 0), *second = oracle_span(o, r, a, 1);
    if (a->kind == MLT_GOAL_USER || a->kind == MLT_GOAL_RECV_USER) {
        for (uint64_t i = 0; i < a->size[0]; i++) // order and all bytes matter
            first[i] = (uint8_t)(first[i] * 31 + 7 + a->user +
                                 (a->size[1] ? second[i * 5 % a->size[1]] : 0));
        return;
    }
    if (!a->size[0])
        return;
    uint64_t bytes = mlt_op_type_bytes[a->type], count = a->size[0] / bytes;
    if (a->flags & MLT_GOAL_REVERSED) { // a copy too: its first span stays as it is
        uint8_t *copy = oracle_take(a->size[0]);
        memcpy(copy, second, a->size[0]);
        mlt_op_kernels[a->op][a->type](copy, first, count);
        memcpy(first, copy, a->size[0]);
        free(copy);
    } else {
        mlt_op_kernels[a->op][a->type](first, second, count);
    }
}

static inline void oracle_take_bytes(oracle *o, uint32_t r, uint32_t index)
{
    const mlt_goal_action *a = &o->program->rank[r].actions[index];
    oracle_action *mine = &o->actions[r][index];
    const uint8_t *from = oracle_span(o, r, a, 0);
    mine->bytes = oracle_take(a->size[0]);
    if (from)
        memcpy(mine->bytes, from, a->size[0]);
}

static inline void oracle_wake(oracle *o, uint32_t r, uint32_t index, bool ended)
{
    const mlt_goal_rank *rank = &o->program->rank[r];
    for (uint32_t d = 0; d < rank->deps_count; d++) {
        bool on_start = rank->deps[d].on & MLT_GOAL_STARTED;
        if ((mlt_goal_plain(rank->deps[d].on)) != index || on_start == ended)
            continue;
        oracle_action *a = &o->actions[r][rank->deps[d].action];
        if (on_start)
            a->waits_start--;
        else
            a->waits_end--;
        if (!a->waits_start && !a->waits_end && a->state == 0) {
            a->state = 1;
            o->active[o->active_count][0] = r;
            o->active[o->active_count++][1] = rank->deps[d].action;
        }
    }
}

static inline void oracle_start(oracle *o, uint32_t r, uint32_t index)
{
    const mlt_goal_action *a = &o->program->rank[r].actions[index];
    oracle_action *mine = &o->actions[r][index];
    mine->state = 2;
    mine->late = oracle_random(&o->state) & 1;
    if (a->kind == MLT_GOAL_SEND && !mine->late)
        oracle_take_bytes(o, r, index);
    if ((a->kind == MLT_GOAL_EXEC || a->kind == MLT_GOAL_USER) && !mine->late)
        oracle_compute(o, r, a);
    if (mlt_goal_is_recv(a)) {
        int which = a->kind != MLT_GOAL_RECV;
        uint8_t *to = oracle_span(o, r, a, which);
        for (uint64_t i = 0; to && i < a->size[which]; i++)
            to[i] = (uint8_t)oracle_random(&o->state);
    }
    oracle_wake(o, r, index, false);
}

// False: it cannot end yet.
static inline bool oracle_end(oracle *o, uint32_t r, uint32_t index)
{
    const mlt_goal_action *a = &o->program->rank[r].actions[index];
    oracle_action *mine = &o->actions[r][index], *other = NULL;
    if (mlt_goal_is_message(a)) {
        mlt_goal_place place = mlt_goal_partner(o->pairs, r, index);
        if (place.action == MLT_GOAL_NONE)
            return false;
        other = &o->actions[place.rank][place.action];
    }
    if (a->kind == MLT_GOAL_SEND) {
        if (!mine->bytes)
            oracle_take_bytes(o, r, index);
        if ((o->synchronous || a->flags & MLT_GOAL_SYNCHRONOUS) && other->state < 2)
            return false;
    } else if (mlt_goal_is_recv(a)) {
        int which = a->kind != MLT_GOAL_RECV;
        if (!other->bytes)
            return false;
        uint8_t *to = oracle_span(o, r, a, which);
        if (to)
            memcpy(to, other->bytes, a->size[which]);
        if (which)
            oracle_compute(o, r, a);
    } else if ((a->kind == MLT_GOAL_EXEC || a->kind == MLT_GOAL_USER) && mine->late) {
        oracle_compute(o, r, a);
    }
    mine->state = 3;
    o->left--;
    oracle_wake(o, r, index, true);
    return true;
}

// One action goes on; false: it cannot.
static inline bool oracle_step(oracle *o, uint64_t i)
{
    uint32_t r = o->active[i][0], index = o->active[i][1];
    if (o->actions[r][index].state == 1) {
        oracle_start(o, r, index);
        return true;
    }
    if (!oracle_end(o, r, index))
        return false;
    o->active_count--;
    memcpy(o->active[i], o->active[o->active_count], sizeof *o->active);
    return true;
}

// True if it ran to its end; false: a deadlock.
static inline bool oracle_run(oracle *o)
{
    for (uint32_t r = 0; r < o->program->ranks; r++)
        for (uint32_t a = 0; a < o->program->rank[r].count; a++) {
            oracle_action *action = &o->actions[r][a];
            if (action->waits_end || action->waits_start)
                continue;
            action->state = 1;
            o->active[o->active_count][0] = r;
            o->active[o->active_count++][1] = a;
        }
    while (o->left) {
        if (!o->active_count)
            return false;
        uint64_t first = oracle_random(&o->state) % o->active_count, i = first;
        while (!oracle_step(o, i)) {
            i = (i + 1) % o->active_count;
            if (i == first)
                return false;
        }
    }
    return true;
}

// The contents of the buffers of that names ("out,buf"; NULL: all, and plain memory) are the same.
static inline bool oracle_same(const oracle *a, const oracle *b, const char *keep)
{
    for (uint32_t r = 0; r < a->program->ranks; r++)
        for (uint32_t id = 0; id <= a->program->rank[r].buffers_count; id++) {
            const char *name =
                id ? a->program->names + a->program->rank[r].buffers[id - 1].name : "memory";
            char list[300], word[300];
            snprintf(list, sizeof list, ",%s,", keep ? keep : "");
            snprintf(word, sizeof word, ",%s,", name);
            if (keep && !strstr(list, word))
                continue;
            if (a->size[r][id] != b->size[r][id] ||
                memcmp(a->memory[r][id], b->memory[r][id], a->size[r][id]) != 0)
                return false;
        }
    return true;
}

// ---- passes by name, and several of them

static inline const mlt_pass *pass_find(const char *name)
{
    for (int i = 0; i < mlt_passes_count; i++)
        if (strcmp(mlt_passes[i].name, name) == 0)
            return &mlt_passes[i];
    return NULL;
}

// Those that are on, by place in the table; NULL: all. reports has room for all; those of passes
// that did not run are empty. On failure why names the pass, and the program is as the passes
// before it left it.
static inline mlt_status passes_run(mlt_goal_program *program, const mlt_pass_options *options,
                                    const bool *on, mlt_pass_report *reports, char *why,
                                    size_t why_size)
{
    mlt_status status = MLT_OK;
    for (int i = 0; i < mlt_passes_count; i++)
        reports[i] = (mlt_pass_report){0};
    for (int i = 0; i < mlt_passes_count && status == MLT_OK; i++) {
        if (on && !on[i])
            continue;
        char text[480];
        status = mlt_pass_run(&mlt_passes[i], program, options, &reports[i], text, sizeof text);
        if (status != MLT_OK)
            snprintf(why, why_size, "pass %s: %s", mlt_passes[i].name, text);
    }
    return status;
}
