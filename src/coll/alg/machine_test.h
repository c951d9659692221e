// SPDX-License-Identifier: BSD-3-Clause
// A machine for tests of algorithms: runs a program with real bytes, ready actions in random order,
// every send synchronous. It shares no code with the executor and the checker.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "coll/alg/alg.h"
#include "coll/alg/hand_test.h"
#include "goal/graph.h"
#include "goal/pairs.h"

static inline void *zeroed(size_t bytes)
{
    void *memory = calloc(1, bytes ? bytes : 1);
    CHECK(memory);
    return memory;
}

// ---- operations on elements of 8 bytes that show what was done
//
// Words over ranks, as (hash, base^length) modulo a prime: combining appends, which does not
// commute. Brackets: combining neither commutes nor associates, so only the same brackets give the
// same.

typedef enum meaning { BYTES, WORDS, BRACKETS } meaning; // BYTES: of the program's own operations

enum { PRIME = 2147483647, BASE = 48271 };

static inline void append(void *inout, const void *in, uint64_t count, bool reversed)
{
    uint64_t *result = inout;
    const uint64_t *second = in;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t a = reversed ? second[i] : result[i], b = reversed ? result[i] : second[i];
        uint64_t hash = ((a >> 32) * (b & UINT32_MAX) + (b >> 32)) % PRIME;
        result[i] = hash << 32 | (a & UINT32_MAX) * (b & UINT32_MAX) % PRIME;
    }
}

static inline uint64_t bracket(uint64_t a, uint64_t b)
{
    a ^= a >> 31;
    b = (b ^ b >> 29) * UINT64_C(0x9e3779b97f4a7c15);
    return (a * UINT64_C(0xbf58476d1ce4e5b9) + 1) ^ (b + (b << 17) + 7);
}

static inline void bracket_all(void *inout, const void *in, uint64_t count, bool reversed)
{
    uint64_t *result = inout;
    const uint64_t *second = in;
    for (uint64_t i = 0; i < count; i++)
        result[i] = reversed ? bracket(second[i], result[i]) : bracket(result[i], second[i]);
}

static inline uint64_t word_of(uint32_t rank, uint64_t element)
{
    return (rank + 1 + 1000 * element) % PRIME << 32 | BASE;
}

// ---- the machine

typedef struct machine {
    const mlt_goal_program *program;
    mlt_goal_pairs *pairs;
    mlt_goal_graph **graph;
    uint8_t ***memory; // [rank][buffer id]
    uint32_t **waits;  // [rank][action]: dependencies that are open
    uint8_t **state;
    struct {
        uint32_t rank, action;
    } * ready; // started messages are here until their partner is, too
    uint32_t ready_count;
    uint64_t left;
    meaning what;
    bool commutes; // the user's function does
} machine;

enum { WAITING, READY, DONE };

static inline machine *machine_new(const mlt_goal_program *program, meaning what)
{
    machine *m = zeroed(sizeof *m);
    m->program = program;
    m->what = what;
    m->pairs = mlt_goal_pairs_new(program);
    m->graph = zeroed(program->ranks * sizeof *m->graph);
    m->memory = zeroed(program->ranks * sizeof *m->memory);
    m->waits = zeroed(program->ranks * sizeof *m->waits);
    m->state = zeroed(program->ranks * sizeof *m->state);
    for (uint32_t r = 0; r < program->ranks; r++) {
        const mlt_goal_rank *rank = &program->rank[r];
        m->graph[r] = mlt_goal_graph_new(rank);
        CHECK(m->graph[r]->order);
        m->memory[r] = zeroed((rank->buffers_count + 1) * sizeof **m->memory);
        for (uint32_t b = 0; b < rank->buffers_count; b++) {
            m->memory[r][b + 1] = zeroed(rank->buffers[b].size);
            memset(m->memory[r][b + 1], 0xa5, rank->buffers[b].size); // nobody may rely on it
        }
        m->waits[r] = zeroed(rank->count * sizeof **m->waits);
        m->state[r] = zeroed(rank->count);
        for (uint32_t a = 0; a < rank->count; a++)
            m->waits[r][a] = m->graph[r]->before_at[a + 1] - m->graph[r]->before_at[a];
        m->left += rank->count;
    }
    m->ready = zeroed(m->left * sizeof *m->ready);
    return m;
}

static inline void machine_free(machine *m)
{
    for (uint32_t r = 0; r < m->program->ranks; r++) {
        for (uint32_t b = 0; b < m->program->rank[r].buffers_count; b++)
            free(m->memory[r][b + 1]);
        free(m->memory[r]);
        free(m->waits[r]);
        free(m->state[r]);
        mlt_goal_graph_free(m->graph[r]);
    }
    free(m->memory);
    free(m->waits);
    free(m->state);
    free(m->graph);
    free(m->ready);
    mlt_goal_pairs_free(m->pairs);
    free(m);
}

static inline uint8_t *buffer(void *of, uint32_t rank, const char *name)
{
    machine *m = of;
    uint32_t id = mlt_goal_buffer_find(m->program, rank, name);
    return id == MLT_GOAL_NOWHERE ? NULL : m->memory[rank][id];
}

static inline uint8_t *span(machine *m, uint32_t rank, const mlt_goal_action *a, int which)
{
    CHECK(a->buf[which] >= 1 && a->buf[which] <= m->program->rank[rank].buffers_count);
    CHECK(a->at[which] + a->size[which] <= m->program->rank[rank].buffers[a->buf[which] - 1].size);
    return m->memory[rank][a->buf[which]] + a->at[which];
}

static inline void start(machine *m, uint32_t rank, uint32_t action)
{
    m->state[rank][action] = READY;
    m->ready[m->ready_count].rank = rank;
    m->ready[m->ready_count++].action = action;
}

static inline void finish(machine *m, uint32_t rank, uint32_t action)
{
    CHECK(m->state[rank][action] != DONE);
    m->state[rank][action] = DONE;
    m->left--;
    const mlt_goal_graph *g = m->graph[rank];
    for (uint32_t i = g->next_at[action]; i < g->next_at[action + 1]; i++)
        if (--m->waits[rank][g->next[i]] == 0)
            start(m, rank, g->next[i]);
}

static inline void run_local(machine *m, uint32_t rank, const mlt_goal_action *a)
{
    if (a->kind != MLT_GOAL_EXEC && a->kind != MLT_GOAL_USER)
        return;
    CHECK(a->size[0] == a->size[1] && a->size[0] > 0);
    uint8_t *result = span(m, rank, a, 0), *second = span(m, rank, a, 1);
    uint64_t count = a->size[0] / mlt_op_type_bytes[a->type];
    bool reversed = a->flags & MLT_GOAL_REVERSED;
    if (a->kind == MLT_GOAL_USER)
        hand_user(m->commutes, result, second, a->size[0], reversed);
    else if (a->op == MLT_OP_COPY)
        memcpy(result, second, a->size[0]);
    else if (m->what == WORDS)
        append(result, second, count, reversed);
    else if (m->what == BRACKETS)
        bracket_all(result, second, count, reversed);
    else // predefined operations commute
        mlt_op_kernels[a->op][a->type](result, second, count);
}

static inline void transfer(machine *m, mlt_goal_place from, mlt_goal_place to)
{
    const mlt_goal_action *send = &m->program->rank[from.rank].actions[from.action];
    const mlt_goal_action *recv = &m->program->rank[to.rank].actions[to.action];
    CHECK(send->kind == MLT_GOAL_SEND && recv->kind == MLT_GOAL_RECV);
    CHECK(send->size[0] == recv->size[0] && send->peer == (int32_t)to.rank);
    if (send->size[0])
        memcpy(span(m, to.rank, recv, 0), span(m, from.rank, send, 0), send->size[0]);
}

// Until nothing can move: then all must be done, or it is a deadlock.
static inline void machine_run(machine *m)
{
    CHECK(!m->pairs->unmatched);
    for (uint32_t r = 0; r < m->program->ranks; r++)
        for (uint32_t a = 0; a < m->program->rank[r].count; a++)
            if (!m->waits[r][a])
                start(m, r, a);
    while (m->ready_count) {
        uint32_t i = below(m->ready_count), rank = m->ready[i].rank;
        uint32_t action = m->ready[i].action;
        m->ready[i] = m->ready[--m->ready_count];
        if (m->state[rank][action] == DONE) // with its partner
            continue;
        const mlt_goal_action *a = &m->program->rank[rank].actions[action];
        if (!mlt_goal_is_message(a)) {
            run_local(m, rank, a);
            finish(m, rank, action);
            continue;
        }
        mlt_goal_place me = {rank, action}, other = mlt_goal_partner(m->pairs, rank, action);
        if (m->state[other.rank][other.action] != READY)
            continue; // the partner will find it
        bool sends = a->kind == MLT_GOAL_SEND;
        transfer(m, sends ? me : other, sends ? other : me);
        finish(m, rank, action);
        finish(m, other.rank, other.action);
    }
    CHECK(m->left == 0);
}
