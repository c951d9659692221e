// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm that moves blocks (gather to reduce_scatter, and lists of messages; the others
// are in coll_test.c) against the definition of its operation (hand_test.h), by an interpreter of
// its own: real bytes, ready actions in random order, every send synchronous. Beside the result: no
// two unordered actions touch a byte that one of them writes; no dependency can be left out; `in`
// stays as it was; so many messages and rounds as the algorithm promises.
#include "coll/coll.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/coll_int.h"
#include "coll/hand_test.h"
#include "coll/shape_test.h"
#include "goal/graph.h"
#include "goal/pairs.h"

#define CHECK(condition) ((condition) ? (void)0 : failed(__FILE__, __LINE__, #condition))

static char now_testing[200] = "nothing yet";

static _Noreturn void failed(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: %s\n  while testing %s\n", file, line, condition, now_testing);
    exit(1);
}

static uint64_t random_state = 88172645463325252ull;

static uint32_t random_below(uint32_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state >> 16) % limit);
}

static void *zeroed(size_t bytes)
{
    void *memory = calloc(1, bytes ? bytes : 1);
    CHECK(memory);
    return memory;
}

// ---- an operation that does not commute: elements of 8 bytes are words over ranks, as (hash,
// base^length) modulo a prime; combining appends.

enum { PRIME = 2147483647, BASE = 48271 };

static void append(void *inout, const void *in, uint64_t count, bool reversed)
{
    uint64_t *result = inout;
    const uint64_t *second = in;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t a = reversed ? second[i] : result[i], b = reversed ? result[i] : second[i];
        uint64_t hash = ((a >> 32) * (b & UINT32_MAX) + (b >> 32)) % PRIME;
        result[i] = hash << 32 | (a & UINT32_MAX) * (b & UINT32_MAX) % PRIME;
    }
}

static uint64_t word_of(uint32_t rank, uint64_t element)
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
    bool words;    // operations append
    bool commutes; // the user's function does
} machine;

enum { WAITING, READY, DONE };

static machine *machine_new(const mlt_goal_program *program, bool words)
{
    machine *m = zeroed(sizeof *m);
    m->program = program;
    m->words = words;
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

static void machine_free(machine *m)
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

static uint8_t *buffer(void *of, uint32_t rank, const char *name)
{
    machine *m = of;
    uint32_t id = mlt_goal_buffer_find(m->program, rank, name);
    return id == MLT_GOAL_NOWHERE ? NULL : m->memory[rank][id];
}

static uint8_t *span(machine *m, uint32_t rank, const mlt_goal_action *a, int which)
{
    CHECK(a->buf[which] >= 1 && a->buf[which] <= m->program->rank[rank].buffers_count);
    CHECK(a->at[which] + a->size[which] <= m->program->rank[rank].buffers[a->buf[which] - 1].size);
    return m->memory[rank][a->buf[which]] + a->at[which];
}

static void start(machine *m, uint32_t rank, uint32_t action)
{
    m->state[rank][action] = READY;
    m->ready[m->ready_count].rank = rank;
    m->ready[m->ready_count++].action = action;
}

static void finish(machine *m, uint32_t rank, uint32_t action)
{
    CHECK(m->state[rank][action] != DONE);
    m->state[rank][action] = DONE;
    m->left--;
    const mlt_goal_graph *g = m->graph[rank];
    for (uint32_t i = g->next_at[action]; i < g->next_at[action + 1]; i++)
        if (--m->waits[rank][g->next[i]] == 0)
            start(m, rank, g->next[i]);
}

static void run_local(machine *m, uint32_t rank, const mlt_goal_action *a)
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
    else if (m->words)
        append(result, second, count, reversed);
    else // predefined operations commute
        mlt_op_kernels[a->op][a->type](result, second, count);
}

static void transfer(machine *m, mlt_goal_place from, mlt_goal_place to)
{
    const mlt_goal_action *send = &m->program->rank[from.rank].actions[from.action];
    const mlt_goal_action *recv = &m->program->rank[to.rank].actions[to.action];
    CHECK(send->kind == MLT_GOAL_SEND && recv->kind == MLT_GOAL_RECV);
    CHECK(send->size[0] == recv->size[0] && send->peer == (int32_t)to.rank);
    if (send->size[0])
        memcpy(span(m, to.rank, recv, 0), span(m, from.rank, send, 0), send->size[0]);
}

// Until nothing can move: then all must be done, or it is a deadlock.
static void machine_run(machine *m)
{
    CHECK(!m->pairs->unmatched);
    for (uint32_t r = 0; r < m->program->ranks; r++)
        for (uint32_t a = 0; a < m->program->rank[r].count; a++)
            if (!m->waits[r][a])
                start(m, r, a);
    while (m->ready_count) {
        uint32_t i = random_below(m->ready_count), rank = m->ready[i].rank;
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

// ---- what a run must have done

typedef struct wanted {
    mlt_coll_shape shape;
    bool words, commutes;
    hand hand;
} wanted;

static void combine(const void *user, void *to, const void *from, uint64_t bytes)
{
    const wanted *w = user;
    if (w->words)
        append(to, from, bytes / 8, false);
    else if (w->shape.op == MLT_OPS)
        hand_user(w->commutes, to, from, bytes, false);
    else
        mlt_op_kernels[w->shape.op][w->shape.type](to, from,
                                                   bytes / mlt_op_type_bytes[w->shape.type]);
}

// The declared buffers are those of goal/spec.h; others are called tmp.
static void check_buffers(const wanted *w, const mlt_goal_program *program)
{
    bool bcast = w->hand.is->collective == MLT_COLL_BCAST;
    for (uint32_t r = 0; r < program->ranks; r++) {
        uint32_t in = mlt_goal_buffer_find(program, r, "in");
        uint32_t out = mlt_goal_buffer_find(program, r, bcast ? "buf" : "out");
        uint64_t in_bytes = hand_in_bytes(&w->hand, r), out_bytes = hand_out_bytes(&w->hand, r);
        CHECK((in != MLT_GOAL_NOWHERE) == (in_bytes != HAND_NONE));
        CHECK((out != MLT_GOAL_NOWHERE) == (out_bytes != HAND_NONE));
        CHECK(in_bytes == HAND_NONE || mlt_goal_buffer_size(program, r, in) == in_bytes);
        CHECK(out_bytes == HAND_NONE || mlt_goal_buffer_size(program, r, out) == out_bytes);
        for (uint32_t b = 1; b <= program->rank[r].buffers_count; b++) {
            const char *name = mlt_goal_name_text(program, program->rank[r].buffers[b - 1].name);
            CHECK(b == in || b == out || strncmp(name, "tmp", 3) == 0);
        }
    }
}

static void fill(const wanted *w, machine *m)
{
    bool bcast = w->hand.is->collective == MLT_COLL_BCAST;
    for (uint32_t r = 0; r < w->shape.ranks; r++) {
        hand_place place = hand_brings(&w->hand, r);
        if (place.bytes == HAND_NONE)
            continue;
        uint8_t *at = buffer(m, r, bcast ? "buf" : place.out ? "out" : "in");
        for (uint64_t i = 0; i < place.bytes; i++)
            at[place.at + i] = (uint8_t)random_below(256);
        for (uint64_t i = 0; i < place.bytes / 8 && w->words; i++) {
            uint64_t word = word_of(r, i);
            memcpy(at + place.at + 8 * i, &word, 8);
        }
    }
}

static void check_result(const wanted *w, machine *m)
{
    bool bcast = w->hand.is->collective == MLT_COLL_BCAST;
    for (uint32_t r = 0; r < w->shape.ranks; r++) {
        uint64_t bytes = hand_in_bytes(&w->hand, r);
        if (bytes != HAND_NONE && bytes)
            CHECK(memcmp(buffer(m, r, "in"), w->hand.in[r], bytes) == 0);
        CHECK(hand_right(&w->hand, r, buffer(m, r, bcast ? "buf" : "out")));
    }
}

// A barrier: what a rank does last comes after the first of every other one. Bit sets of the ranks
// whose start an action has heard of travel with the messages; P is 64 at most.
static void check_barrier(const mlt_goal_program *program)
{
    machine *m = machine_new(program, false);
    uint64_t **heard = zeroed(program->ranks * sizeof *heard);
    for (uint32_t r = 0; r < program->ranks; r++) {
        heard[r] = zeroed(program->rank[r].count * sizeof **heard);
        for (uint32_t a = 0; a < program->rank[r].count; a++)
            heard[r][a] = UINT64_C(1) << r;
    }
    bool changed = true;
    while (changed) {
        changed = false;
        for (uint32_t r = 0; r < program->ranks; r++)
            for (uint32_t a = 0; a < program->rank[r].count; a++) {
                uint64_t all = heard[r][a];
                for (uint32_t i = m->graph[r]->before_at[a]; i < m->graph[r]->before_at[a + 1]; i++)
                    all |= heard[r][m->graph[r]->before[i]];
                if (program->rank[r].actions[a].kind == MLT_GOAL_RECV) {
                    mlt_goal_place other = mlt_goal_partner(m->pairs, r, a);
                    all |= heard[other.rank][other.action];
                }
                changed |= all != heard[r][a];
                heard[r][a] = all;
            }
    }
    for (uint32_t r = 0; r < program->ranks; r++) {
        uint64_t all = UINT64_C(1) << r;
        for (uint32_t a = 0; a < program->rank[r].count; a++)
            all |= heard[r][a];
        CHECK(all == (UINT64_C(2) << (program->ranks - 1)) - 1);
        free(heard[r]);
    }
    free(heard);
    machine_free(m);
}

// ---- races, and dependencies that nobody needs

static bool conflict(const mlt_goal_action *a, const mlt_goal_action *b)
{
    mlt_goal_access x[2], y[2];
    int nx = mlt_goal_accesses(a, x), ny = mlt_goal_accesses(b, y);
    for (int i = 0; i < nx; i++)
        for (int j = 0; j < ny; j++)
            if ((x[i].writes || y[j].writes) && x[i].span.buf == y[j].span.buf &&
                x[i].span.at < y[j].span.at + y[j].span.size &&
                y[j].span.at < x[i].span.at + x[i].span.size)
                return true;
    return false;
}

static bool races(const mlt_goal_rank *rank)
{
    mlt_goal_graph *graph = mlt_goal_graph_new(rank);
    bool found = false;
    for (uint32_t a = 0; a < rank->count && !found; a++)
        for (uint32_t b = a + 1; b < rank->count && !found; b++)
            found = conflict(&rank->actions[a], &rank->actions[b]) &&
                    !mlt_goal_before(graph, a, b) && !mlt_goal_before(graph, b, a);
    mlt_goal_graph_free(graph);
    return found;
}

// Without any one of its dependencies the rank has a race. Those of barriers, and those that let
// only one pair talk at a time, are there for other reasons.
static void check_least(const mlt_goal_rank *rank)
{
    for (uint32_t d = 0; d < rank->deps_count; d++) {
        mlt_goal_rank less = *rank;
        less.deps = zeroed(rank->deps_count * sizeof *less.deps);
        memcpy(less.deps, rank->deps, rank->deps_count * sizeof *less.deps);
        less.deps[d] = less.deps[--less.deps_count];
        if (!races(&less))
            fprintf(stderr, "dependency %u (action %u on %u) is needless\n", d,
                    rank->deps[d].action, rank->deps[d].on);
        CHECK(races(&less));
        free(less.deps);
    }
}

static bool orders_for_time(const mlt_coll_alg *alg)
{
    return alg->collective == MLT_COLL_BARRIER || alg->uses_window ||
           strcmp(alg->name, "pairwise") == 0;
}

// ---- one shape

static void test_shape(const mlt_coll_alg *alg, mlt_coll_shape shape, bool words)
{
    snprintf(now_testing, sizeof now_testing,
             "%s.%s, %u ranks, root %u, %llu elements, %s%s, segment %llu, radix %u, window %u"
             "%s%s%s",
             mlt_collective_names[alg->collective], alg->name, shape.ranks, shape.root,
             (unsigned long long)shape.count, shape.op == MLT_OPS ? "user" : mlt_op_names[shape.op],
             mlt_op_type_names[shape.type], (unsigned long long)shape.segment, shape.radix,
             shape.window, words ? ", in order" : "", shape.in_place ? ", in place" : "",
             shape.starts ? ", uneven" : "");
    char why[300];
    mlt_goal_program *program = NULL;
    mlt_status status = mlt_coll_program(alg, &shape, NULL, NULL, &program, why, sizeof why);
    if (alg->refuses && alg->refuses(&shape)) {
        CHECK(status == MLT_ERR_INVALID && strstr(why, alg->refuses(&shape)));
        return;
    }
    CHECK(status == MLT_OK);
    if (mlt_goal_program_valid(program, why, sizeof why) != MLT_OK) {
        fprintf(stderr, "%s\n", why);
        CHECK(!"valid");
    }
    mlt_goal_spec is = mlt_coll_spec(alg, &shape);
    wanted w = {.shape = shape, .words = words, .commutes = !alg->in_order};
    w.hand = (hand){.is = &is,
                    .ranks = shape.ranks,
                    .element = mlt_coll_element(&shape),
                    .n = shape.count * mlt_coll_element(&shape),
                    .combine = combine,
                    .user = &w};
    check_buffers(&w, program);
    machine *m = machine_new(program, words);
    m->commutes = w.commutes;
    fill(&w, m);
    hand_begin(&w.hand, buffer, m);
    machine_run(m);
    check_result(&w, m);
    hand_end(&w.hand);
    machine_free(m);
    if (alg->collective == MLT_COLL_BARRIER)
        check_barrier(program);
    // Segments are all alike: a few of them are enough.
    bool few = shape.ranks <= 17 && (!alg->uses_segment || shape.count <= 7);
    for (uint32_t r = 0; r < shape.ranks && few; r++) {
        CHECK(!races(&program->rank[r]));
        // Of empty blocks nothing is known, so something may be waited for in vain.
        if (shape.ranks <= 9 && !orders_for_time(alg) && !shape.starts)
            check_least(&program->rank[r]);
    }
    mlt_goal_program_free(program);
}

// With the arrays that it needs.
static void test_arrays(const mlt_coll_alg *alg, mlt_coll_shape shape, bool uneven, bool words)
{
    uint64_t state = random_below(UINT32_MAX);
    arrays a = arrays_new(&shape, alg, uneven, &state);
    test_shape(alg, shape, words);
    arrays_free(&a, shape.ranks);
}

// The shape as it is, and what else the algorithm can: in place, blocks that differ, users'
// functions, operands in order.
static void test_variants(const mlt_coll_alg *alg, mlt_coll_shape shape)
{
    test_arrays(alg, shape, false, false);
    mlt_coll_shape other = shape;
    other.in_place = alg->in_place;
    if (alg->in_place)
        test_arrays(alg, other, false, false);
    other.in_place = alg->in_place && random_below(2);
    if (alg->uneven)
        test_arrays(alg, other, true, false);
    if (!mlt_collective_reduces(alg->collective))
        return;
    other.op = MLT_OPS;
    other.element = HAND_ELEMENT;
    test_arrays(alg, other, alg->uneven && random_below(2), false);
    if (!alg->in_order)
        return;
    shape.op = MLT_OP_SUM;
    shape.type = MLT_OP_UINT64;
    test_arrays(alg, shape, false, true);
    shape.in_place = alg->in_place;
    if (alg->in_place || alg->uneven)
        test_arrays(alg, shape, alg->uneven, true);
}

static void test_counts(const mlt_coll_alg *alg, mlt_coll_shape shape)
{
    static const uint64_t counts[] = {0, 1, 7, 40};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        shape.count = counts[c];
        shape.op = MLT_OP_SUM;
        shape.type = (mlt_op_type)random_below(MLT_OP_UINT64 + 1); // integers: exact
        if (random_below(2))
            shape.op = (mlt_op)random_below(MLT_OP_COPY);
        test_variants(alg, shape);
    }
}

static void test_ranks(const mlt_coll_alg *alg, uint32_t ranks)
{
    mlt_coll_shape shape = {.ranks = ranks};
    test_counts(alg, shape);
    if (hand_rooted(alg->collective)) {
        for (uint32_t root = 1; root < ranks; root += ranks < 8 ? 1 : 1 + random_below(ranks)) {
            shape.root = root;
            test_counts(alg, shape);
        }
        shape.root = ranks - 1;
        test_counts(alg, shape);
    }
    if (alg->uses_segment)
        for (shape.segment = 1; shape.segment < 20; shape.segment += 1 + shape.segment)
            test_counts(alg, shape);
    if (alg->uses_segment && ranks < 8) { // whose bytes 64 bits do not count
        shape.segment = UINT64_C(1) << 62;
        test_counts(alg, shape);
    }
    if (alg->uses_radix)
        for (shape.radix = 1; shape.radix < 40; shape.radix += shape.radix < 8 ? 1 : 9) {
            shape.root = hand_rooted(alg->collective) ? random_below(ranks) : 0;
            test_counts(alg, shape);
        }
    if (alg->uses_window)
        for (shape.window = 1; shape.window < 8; shape.window *= 2)
            test_counts(alg, shape);
}

// Canonical ones are reductions of another kind.
static bool moves_blocks(const mlt_coll_alg *alg)
{
    switch (alg->collective) {
    case MLT_COLL_GATHER:
    case MLT_COLL_SCATTER:
    case MLT_COLL_ALLGATHER:
    case MLT_COLL_ALLTOALL:
    case MLT_COLL_REDUCE_SCATTER:
    case MLT_COLL_EXCHANGE:
        return !alg->canonical;
    default:
        return false;
    }
}

static void test_results(void)
{
    for (int i = 0; mlt_coll_algs[i]; i++) {
        if (!moves_blocks(mlt_coll_algs[i]))
            continue;
        for (uint32_t ranks = 1; ranks <= 20; ranks++)
            test_ranks(mlt_coll_algs[i], ranks);
        test_ranks(mlt_coll_algs[i], 32);
        test_ranks(mlt_coll_algs[i], 33);
    }
}

// ---- counts: messages, and rounds if a rank sends one and receives one at a time

static void settle(machine *m) // local actions take no time
{
    bool moved = true;
    while (moved) {
        moved = false;
        for (uint32_t i = 0; i < m->ready_count; i++) {
            uint32_t rank = m->ready[i].rank, action = m->ready[i].action;
            if (mlt_goal_is_message(&m->program->rank[rank].actions[action]))
                continue;
            m->ready[i] = m->ready[--m->ready_count];
            finish(m, rank, action);
            moved = true;
            break;
        }
    }
}

// The first message action of that kind of the rank that is ready, and whose partner is ready and
// not busy; NONE: none.
static uint32_t ready_message(const machine *m, uint32_t rank, uint8_t kind, const bool *busy)
{
    for (uint32_t a = 0; a < m->program->rank[rank].count; a++) {
        if (m->program->rank[rank].actions[a].kind != kind || m->state[rank][a] != READY)
            continue;
        mlt_goal_place to = mlt_goal_partner(m->pairs, rank, a);
        if (!busy[to.rank] && m->state[to.rank][to.action] == READY)
            return a;
    }
    return MLT_GOAL_NONE;
}

// Rounds if senders choose (kind SEND), or receivers do.
static uint32_t rounds_by(const mlt_goal_program *program, uint8_t kind)
{
    machine *m = machine_new(program, false);
    uint32_t rounds = 0, ranks = program->ranks;
    bool *busy = zeroed(ranks * sizeof *busy);
    uint32_t *chosen = zeroed(ranks * sizeof *chosen);
    for (uint32_t r = 0; r < ranks; r++)
        for (uint32_t a = 0; a < program->rank[r].count; a++)
            if (!m->waits[r][a])
                start(m, r, a);
    settle(m);
    while (m->left) {
        memset(busy, 0, ranks * sizeof *busy);
        for (uint32_t r = 0; r < ranks; r++) {
            chosen[r] = ready_message(m, r, kind, busy);
            if (chosen[r] != MLT_GOAL_NONE)
                busy[mlt_goal_partner(m->pairs, r, chosen[r]).rank] = true;
        }
        for (uint32_t r = 0; r < ranks; r++) {
            if (chosen[r] == MLT_GOAL_NONE)
                continue;
            mlt_goal_place to = mlt_goal_partner(m->pairs, r, chosen[r]);
            finish(m, r, chosen[r]);
            finish(m, to.rank, to.action);
        }
        settle(m);
        CHECK(++rounds < 100000);
    }
    free(busy);
    free(chosen);
    machine_free(m);
    return rounds;
}

static uint32_t rounds_of(const mlt_goal_program *program)
{
    uint32_t one = rounds_by(program, MLT_GOAL_SEND), other = rounds_by(program, MLT_GOAL_RECV);
    return one < other ? one : other;
}

typedef struct numbers { // of P
    uint32_t p, log, power, log_power, rest;
} numbers;

enum { SEGMENTS = 5 }; // of those that have some

static uint64_t doubling(numbers n) // exchanges of those that stay, and to and from the folded
{
    return (uint64_t)n.power * n.log_power + 2 * n.rest;
}

static uint64_t shifts(numbers n) // P - 1 and P - 2 and P - 4 and so on
{
    uint64_t sum = 0;
    for (uint32_t step = 1; step < n.p; step *= 2)
        sum += n.p - step;
    return sum;
}

static uint64_t pieces(numbers n) // of a ring that spares each rank its subtree's
{
    uint64_t sum = n.p - 1;
    for (uint32_t v = 0; v < n.p; v++) {
        uint32_t size = v ? v & -v : n.p;
        sum += n.p - (size < n.p - v ? size : n.p - v);
    }
    return sum;
}

// What each is known for. 0 rounds: not looked at.
static const struct {
    const mlt_coll_alg *alg;
    char messages, rounds; // by the letters below
} known[] = {
    {&mlt_bcast_scatter_allgather, 'A', 0},
    {&mlt_gather_linear, '1', '1'},
    {&mlt_gather_binomial, '1', 'l'},
    {&mlt_gather_knomial, '1', 0},
    {&mlt_gather_linear_sync, '2', 0},
    {&mlt_scatter_linear, '1', '1'},
    {&mlt_scatter_binomial, '1', 'l'},
    {&mlt_scatter_knomial, '1', 0},
    {&mlt_allgather_ring, 'P', '1'},
    {&mlt_allgather_bruck, 'L', 'l'},
    {&mlt_allgather_recursive_doubling, 'L', 'l'},
    {&mlt_allgather_neighbour_exchange, 'N', 'n'},
    {&mlt_allgather_linear, 'P', '1'},
    {&mlt_allgather_sparbit, 'P', '1'},
    {&mlt_alltoall_linear, 'P', '1'},
    {&mlt_alltoall_pairwise, 'P', '1'},
    {&mlt_alltoall_bruck, 'L', 'l'},
    {&mlt_alltoall_scattered, 'P', '1'},
    {&mlt_reduce_scatter_recursive_halving, 'D', 'd'},
    {&mlt_reduce_scatter_ring, 'P', '1'},
    {&mlt_reduce_scatter_pairwise, 'P', '1'},
    {&mlt_reduce_scatter_recursive_doubling, 'D', 'd'},
    {&mlt_reduce_scatter_butterfly, 'D', 'd'},
    {&mlt_exchange_linear, 'P', '1'},
    {&mlt_exchange_scattered, 'P', '1'},
    {&mlt_exchange_pairwise, 'P', '1'},
};

static uint64_t known_number(char what, numbers n)
{
    uint64_t p = n.p;
    switch (what) {
    case '1':
        return p - 1;
    case '2':
        return 2 * (p - 1);
    case 'S':
        return SEGMENTS * (p - 1);
    case 's':
        return p > 1 ? p - 1 + SEGMENTS - 1 : 0;
    case 'P':
        return p * (p - 1);
    case 'Q':
        return 2 * p * (p - 1);
    case 'N':
        return p > 1 ? p * (p / 2) : 0;
    case 'n':
        return p / 2;
    case 'L':
        return p * n.log;
    case 'l':
        return n.log;
    case 't':
        return 2 * n.log;
    case 'D':
        return doubling(n);
    case 'd':
        return n.log_power + (n.rest ? 2 : 0);
    case 'B':
        return 2 * doubling(n) - 2 * n.rest;
    case 'b':
        return 2 * n.log_power + (n.rest ? 2 : 0);
    case 'R':
        return doubling(n) - n.rest + n.power - 1;
    case 'r':
        return 2 * n.log_power + (n.rest ? 1 : 0);
    case 'H':
        return shifts(n);
    case 'A':
        return pieces(n);
    default:
        failed(__FILE__, __LINE__, "a letter");
    }
}

static numbers numbers_of(uint32_t p)
{
    numbers n = {.p = p, .power = 1};
    while (1u << n.log < p)
        n.log++;
    while (2 * n.power <= p) {
        n.power *= 2;
        n.log_power++;
    }
    n.rest = p - n.power;
    return n;
}

static void test_known(void)
{
    size_t count = sizeof known / sizeof *known, all = 0;
    for (int i = 0; mlt_coll_algs[i]; i++)
        all += moves_blocks(mlt_coll_algs[i]);
    CHECK(count == all);
    for (size_t i = 0; i < count; i++)
        for (uint32_t p = 1; p <= 33; p += p < 20 ? 1 : p < 32 ? 3 : 1) { // 32 and 33, too
            const mlt_coll_alg *alg = known[i].alg;
            mlt_coll_shape shape = {
                .ranks = p, .count = 200, .type = MLT_OP_INT32, .op = MLT_OP_SUM};
            shape.segment = 200 / SEGMENTS;
            if (alg->refuses && alg->refuses(&shape))
                continue;
            snprintf(now_testing, sizeof now_testing, "numbers of %s.%s, %u ranks",
                     mlt_collective_names[alg->collective], alg->name, p);
            char why[200];
            mlt_goal_program *program;
            arrays lists = {0};
            uint64_t state = p;
            if (alg->collective == MLT_COLL_EXCHANGE)
                shape.parts = lists.parts = random_parts(p, 8, &state);
            CHECK(mlt_coll_program(alg, &shape, NULL, NULL, &program, why, sizeof why) == MLT_OK);
            arrays_free(&lists, p);
            uint64_t messages = 0;
            for (uint32_t r = 0; r < p; r++)
                for (uint32_t a = 0; a < program->rank[r].count; a++)
                    messages += program->rank[r].actions[a].kind == MLT_GOAL_SEND;
            numbers n = numbers_of(p);
            uint32_t rounds = rounds_of(program);
            if (messages != known_number(known[i].messages, n) ||
                (known[i].rounds && rounds != known_number(known[i].rounds, n)))
                fprintf(stderr, "%llu messages, %u rounds\n", (unsigned long long)messages, rounds);
            CHECK(messages == known_number(known[i].messages, n));
            CHECK(!known[i].rounds || rounds == known_number(known[i].rounds, n));
            mlt_goal_program_free(program);
        }
}

// Bytes that a rank sends: Rabenseifner's and the ring's allreduce send 2 n (P-1)/P.
static void test_bytes(void)
{
    const mlt_coll_alg *algs[] = {&mlt_allreduce_rabenseifner, &mlt_allreduce_ring};
    for (int i = 0; i < 2; i++)
        for (uint32_t p = 1; p <= 64; p *= 2) {
            mlt_coll_shape shape = {.ranks = p, .count = 640, .type = MLT_OP_INT64};
            char why[200];
            mlt_goal_program *program;
            CHECK(mlt_coll_program(algs[i], &shape, NULL, NULL, &program, why, sizeof why) == 0);
            for (uint32_t r = 0; r < p; r++) {
                uint64_t bytes = 0;
                for (uint32_t a = 0; a < program->rank[r].count; a++)
                    if (program->rank[r].actions[a].kind == MLT_GOAL_SEND)
                        bytes += program->rank[r].actions[a].size[0];
                CHECK(bytes == 2 * 640 * 8 * (p - 1) / p);
            }
            mlt_goal_program_free(program);
        }
}

// ---- Listing 2 of the paper, word for word, against bcast.binomial

static void test_listing2(void)
{
    mlt_coll_shape shape = {.count = 4};
    for (uint32_t p = 1; p <= 70; p++) {
        shape.ranks = p;
        char why[200];
        mlt_goal_program *program;
        CHECK(mlt_coll_program(&mlt_bcast_binomial, &shape, NULL, NULL, &program, why,
                               sizeof why) == MLT_OK);
        for (uint32_t i = 0; i < p; i++) {
            uint32_t next = 0, deps = 0;
            int64_t rcv = -1;
            const mlt_goal_rank *rank = &program->rank[i];
            for (uint32_t r = 0; 1u << r < p; r++) {
                int64_t send = -1;
                if (i + (1u << r) < p && i < 1u << r) {
                    CHECK(rank->actions[next].kind == MLT_GOAL_SEND);
                    CHECK(rank->actions[next].peer == (int32_t)(i + (1u << r)));
                    send = next++;
                }
                if (send >= 0 && rcv >= 0) {
                    CHECK(rank->deps[deps].action == send && rank->deps[deps].on == rcv);
                    deps++;
                }
                if (i >= 1u << r && i < 2u << r) {
                    CHECK(rank->actions[next].kind == MLT_GOAL_RECV);
                    CHECK(rank->actions[next].peer == (int32_t)(i - (1u << r)));
                    rcv = next++;
                }
            }
            CHECK(next == rank->count && deps == rank->deps_count);
        }
        mlt_goal_program_free(program);
    }
}

// ---- what is refused

static void refused(const char *name, mlt_coll_shape shape, const char *sentence)
{
    char why[300] = "";
    const mlt_coll_alg *alg = mlt_coll_find(name, why, sizeof why);
    CHECK(alg);
    mlt_goal_program *program = NULL;
    CHECK(mlt_coll_program(alg, &shape, NULL, NULL, &program, why, sizeof why) == MLT_ERR_INVALID);
    if (!strstr(why, sentence))
        fprintf(stderr, "'%s' instead of '%s'\n", why, sentence);
    CHECK(strstr(why, sentence) && strncmp(why, name, strlen(name)) == 0 && !program);
}

static void test_refusals(void)
{
    snprintf(now_testing, sizeof now_testing, "refusals");
    const mlt_coll_shape good = {.ranks = 4, .count = 8, .op = MLT_OP_SUM};
    mlt_coll_shape bad = good;
    bad.ranks = 0;
    refused("bcast.binomial", bad, "the number of ranks must be 1 to 268435456, not 0");
    bad.ranks = MLT_GOAL_MAX_RANKS + 1;
    refused("bcast.binomial", bad, "not 268435457");
    bad = good, bad.root = 4;
    refused("reduce.linear", bad, "the root must be a rank below 4, not 4");
    bad = good, bad.type = MLT_OP_TYPES;
    refused("bcast.linear", bad, "no such type");
    bad = good, bad.op = MLT_OP_COPY;
    refused("scan.linear", bad, "must combine two values");
    bad = good, bad.count = UINT64_MAX / 2;
    refused("allgather.ring", bad, "more bytes than 64 bits can count");
    bad = good, bad.count = 10000000, bad.segment = 1;
    refused("bcast.chain", bad, "into more than 1048576 pieces");
    bad = good, bad.radix = 1;
    refused("bcast.knomial", bad, "the radix of a tree must be 2 or more");
    bad = good, bad.radix = UINT32_MAX;
    refused("allreduce.dissemination", bad, "must be below 2^28");
    bad = good, bad.ranks = 6;
    refused("allgather.recursive_doubling", bad, "must be a power of two");
    bad.ranks = 7;
    refused("allgather.neighbour_exchange", bad, "must be even");
    bad = good, bad.radix = 1;
    refused("allgather.bruck", bad, "the radix must be 2 or more");
    refused("alltoall.bruck", bad, "the radix must be 2 or more");
    bad = good, bad.type = MLT_OP_INT64, bad.element = 12;
    refused("reduce.linear", bad, "a whole number of what the operation combines");
    bad = good, bad.in_place = true;
    refused("alltoall.linear", bad, "it cannot be done in place");
}

static void test_refused_arrays(void)
{
    const mlt_coll_shape good = {.ranks = 4, .count = 8, .op = MLT_OP_SUM};
    mlt_coll_shape bad = good;
    const uint64_t fine[] = {0, 1, 1, 2, 9}, late[] = {1, 1, 1, 1, 1}, back[] = {0, 1, 0, 2, 9};
    const uint64_t large[] = {0, 1, 1, 2, UINT64_MAX / 2},
                   heavy[] = {0, 0, 0, 0, UINT64_C(1) << 40};
    bad.starts = fine;
    refused("bcast.linear", bad, "all its blocks must have the same size");
    bad.starts = late;
    refused("gather.linear", bad, "the first of its blocks must begin at 0");
    bad.starts = back;
    refused("scatter.linear", bad, "one of its blocks ends before it begins");
    bad.starts = large;
    bad.type = MLT_OP_INT64;
    refused("allgather.ring", bad, "its blocks have more bytes than 64 bits can count");
    bad.starts = heavy;
    refused("alltoall.pairwise", bad, "its blocks have more bytes than 64 bits can count");
    bad.count = UINT64_C(1) << 30;
    refused("alltoall.bruck", bad, "its blocks have more bytes than 64 bits can count");

    bad = good;
    refused("exchange.linear", bad, "the lists of its messages are not given");
    mlt_goal_part part = {3, 0, 4, 4};
    mlt_goal_parts parts[4] = {{.in = 8, .out = 8}, {.in = 8}, {.out = 8}, {.send = &part}};
    parts[1].send = &part;
    parts[1].sends = 1;
    bad.parts = parts;
    part.peer = 4;
    refused("exchange.scattered", bad, "has a rank that is not there");
    part.peer = 3, part.tag = -1;
    refused("exchange.pairwise", bad, "has a tag below 0");
    part.tag = 0, part.at = 5;
    refused("exchange.linear", bad, "is beyond its buffer");
    part.at = UINT64_MAX;
    refused("exchange.linear", bad, "is beyond its buffer");
    part.at = 4, parts[1].sends = 0, parts[2].recv = &part, parts[2].recvs = 1, part.bytes = 5;
    refused("exchange.linear", bad, "is beyond its buffer");
}

static void test_names(void)
{

    char why[300] = "";
    CHECK(!mlt_coll_find("bcast.binominal", why, sizeof why));
    CHECK(strstr(why, "there is no algorithm 'bcast.binominal'; the nearest are bcast.binomial, "));
    CHECK(!mlt_coll_find("", why, sizeof why) && strstr(why, "the nearest are"));
    char longest[1000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    CHECK(!mlt_coll_find(longest, why, sizeof why) && strlen(why) < sizeof why - 1);
}

static void count_progress(void *user, double done)
{
    double *last = user;
    CHECK(done >= *last && done <= 1);
    *last = done;
}

static void test_interface(void)
{
    mlt_coll_shape shape = {.ranks = 1000, .root = 7, .count = 3, .type = MLT_OP_INT16};
    shape.op = MLT_OP_BOR;
    char why[100];
    double last = 0;
    mlt_goal_program *program;
    CHECK(mlt_coll_program(&mlt_reduce_linear, &shape, count_progress, &last, &program, why,
                           sizeof why) == MLT_OK);
    CHECK(last == 1 && program->ranks == 1000);
    mlt_goal_program_free(program);
    mlt_goal_spec spec = mlt_coll_spec(&mlt_reduce_linear, &shape);
    CHECK(spec.collective == MLT_COLL_REDUCE && spec.root == 7 && spec.bytes == 6 &&
          spec.op == MLT_OP_BOR && spec.type == MLT_OP_INT16 && !spec.commutes && !spec.in);
    CHECK(mlt_coll_spec(&mlt_reduce_binomial, &shape).commutes);
    CHECK(spec.element == 2 && !spec.in_place && !spec.starts);
    const uint64_t starts[] = {0};
    shape.in_place = true;
    shape.starts = starts;
    shape.element = 6;
    spec = mlt_coll_spec(&mlt_gather_linear, &shape);
    CHECK(spec.in_place && spec.starts == starts && spec.element == 6 && spec.bytes == 18);
    for (int i = 0; mlt_coll_algs[i]; i++) {
        const mlt_coll_alg *alg = mlt_coll_algs[i];
        char name[100];
        snprintf(name, sizeof name, "%s.%s", mlt_collective_names[alg->collective], alg->name);
        CHECK(mlt_coll_find(name, why, sizeof why) == alg && *alg->help && strlen(alg->help) < 90);
        CHECK(!alg->in_order || mlt_collective_reduces(alg->collective));
    }
}

int main(void)
{
    test_interface();
    test_refusals();
    test_refused_arrays();
    test_names();
    test_listing2();
    test_bytes();
    test_known();
    test_results();
    return 0;
}
