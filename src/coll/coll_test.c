// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm against the definition of its operation, by an interpreter of its own: real
// bytes, ready actions in random order, every send synchronous. Beside the result: no two unordered
// actions touch a byte that one of them writes; no dependency can be left out; `in` stays as it
// was; so many messages and rounds as the algorithm promises.
#include "coll/coll.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/coll_int.h"
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
    bool words; // operations append
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
            for (uint64_t i = 0; i < rank->buffers[b].size; i++)
                m->memory[r][b + 1][i] = (uint8_t)random_below(256);
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

static uint8_t *buffer(machine *m, uint32_t rank, const char *name)
{
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
    if (a->kind != MLT_GOAL_EXEC)
        return;
    CHECK(a->size[0] == a->size[1] && a->size[0] > 0);
    uint8_t *result = span(m, rank, a, 0), *second = span(m, rank, a, 1);
    uint64_t count = a->size[0] / mlt_op_type_bytes[a->type];
    bool reversed = a->flags & MLT_GOAL_REVERSED;
    if (a->op == MLT_OP_COPY)
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
    const mlt_coll_alg *alg;
    mlt_coll_shape shape;
    bool words;
    uint64_t element, n; // bytes
    uint8_t **in;        // [rank]: `in`, or for bcast the root's buf; NULL: the rank has none
} wanted;

static bool has_root(mlt_collective c)
{
    return c == MLT_COLL_BCAST || c == MLT_COLL_REDUCE || c == MLT_COLL_GATHER ||
           c == MLT_COLL_SCATTER;
}

static uint64_t in_bytes(const wanted *w, uint32_t rank)
{
    uint64_t all = w->shape.ranks * w->n;
    switch (w->alg->collective) {
    case MLT_COLL_BARRIER:
        return 0;
    case MLT_COLL_SCATTER:
        return rank == w->shape.root ? all : 0;
    case MLT_COLL_ALLTOALL:
    case MLT_COLL_REDUCE_SCATTER:
        return all;
    default:
        return w->n;
    }
}

static uint64_t out_bytes(const wanted *w, uint32_t rank)
{
    uint64_t all = w->shape.ranks * w->n;
    switch (w->alg->collective) {
    case MLT_COLL_BARRIER:
        return 0;
    case MLT_COLL_REDUCE:
        return rank == w->shape.root ? w->n : 0;
    case MLT_COLL_GATHER:
        return rank == w->shape.root ? all : 0;
    case MLT_COLL_ALLGATHER:
    case MLT_COLL_ALLTOALL:
        return all;
    default:
        return w->n;
    }
}

static bool declares_out(const wanted *w, uint32_t rank)
{
    mlt_collective c = w->alg->collective;
    return c != MLT_COLL_BARRIER && c != MLT_COLL_BCAST &&
           (rank == w->shape.root || (c != MLT_COLL_REDUCE && c != MLT_COLL_GATHER));
}

static bool declares_in(const wanted *w, uint32_t rank)
{
    mlt_collective c = w->alg->collective;
    return c != MLT_COLL_BARRIER && c != MLT_COLL_BCAST &&
           (rank == w->shape.root || c != MLT_COLL_SCATTER);
}

// The declared buffers are those of goal/spec.h; others are called tmp.
static void check_buffers(const wanted *w, const mlt_goal_program *program)
{
    for (uint32_t r = 0; r < program->ranks; r++) {
        uint32_t in = mlt_goal_buffer_find(program, r, "in");
        uint32_t out = mlt_goal_buffer_find(program, r, "out");
        uint32_t buf = mlt_goal_buffer_find(program, r, "buf");
        CHECK((in != MLT_GOAL_NOWHERE) == declares_in(w, r));
        CHECK((out != MLT_GOAL_NOWHERE) == declares_out(w, r));
        CHECK((buf != MLT_GOAL_NOWHERE) == (w->alg->collective == MLT_COLL_BCAST));
        CHECK(!declares_in(w, r) || mlt_goal_buffer_size(program, r, in) == in_bytes(w, r));
        CHECK(!declares_out(w, r) || mlt_goal_buffer_size(program, r, out) == out_bytes(w, r));
        for (uint32_t b = 1; b <= program->rank[r].buffers_count; b++) {
            const char *name = mlt_goal_name_text(program, program->rank[r].buffers[b - 1].name);
            CHECK(b == in || b == out || b == buf || strncmp(name, "tmp", 3) == 0);
        }
    }
}

static void fill(wanted *w, machine *m)
{
    for (uint32_t r = 0; r < w->shape.ranks; r++) {
        uint8_t *in = buffer(m, r, w->alg->collective == MLT_COLL_BCAST ? "buf" : "in");
        if (!in)
            continue;
        uint64_t bytes = in_bytes(w, r);
        if (w->words)
            for (uint64_t i = 0; i < bytes / 8; i++) {
                uint64_t word = word_of(r, i);
                memcpy(in + 8 * i, &word, 8);
            }
        else
            for (uint64_t i = 0; i < bytes; i++)
                in[i] = (uint8_t)random_below(256);
        w->in[r] = zeroed(bytes);
        memcpy(w->in[r], in, bytes);
    }
}

// result = reduction of the n bytes at `at` of the ranks [from, to)
static void reduce_into(const wanted *w, uint8_t *result, uint64_t at, uint32_t from, uint32_t to)
{
    memcpy(result, w->in[from] + at, w->n);
    for (uint32_t r = from + 1; r < to; r++) {
        if (w->words)
            append(result, w->in[r] + at, w->n / 8, false);
        else
            mlt_op_kernels[w->shape.op][w->shape.type](result, w->in[r] + at, w->shape.count);
    }
}

static void expected(const wanted *w, uint32_t rank, uint8_t *out)
{
    uint32_t ranks = w->shape.ranks, root = w->shape.root;
    switch (w->alg->collective) {
    case MLT_COLL_BCAST:
        memcpy(out, w->in[root], w->n);
        break;
    case MLT_COLL_REDUCE:
    case MLT_COLL_ALLREDUCE:
        reduce_into(w, out, 0, 0, ranks);
        break;
    case MLT_COLL_GATHER:
    case MLT_COLL_ALLGATHER:
        for (uint32_t r = 0; r < ranks; r++)
            memcpy(out + r * w->n, w->in[r], w->n);
        break;
    case MLT_COLL_SCATTER:
        memcpy(out, w->in[root] + rank * w->n, w->n);
        break;
    case MLT_COLL_ALLTOALL:
        for (uint32_t r = 0; r < ranks; r++)
            memcpy(out + r * w->n, w->in[r] + rank * w->n, w->n);
        break;
    case MLT_COLL_REDUCE_SCATTER:
        reduce_into(w, out, rank * w->n, 0, ranks);
        break;
    case MLT_COLL_SCAN:
        reduce_into(w, out, 0, 0, rank + 1);
        break;
    case MLT_COLL_EXSCAN:
        reduce_into(w, out, 0, 0, rank);
        break;
    default:
        break;
    }
}

static void check_result(wanted *w, machine *m)
{
    bool bcast = w->alg->collective == MLT_COLL_BCAST;
    for (uint32_t r = 0; r < w->shape.ranks; r++) {
        uint64_t bytes = out_bytes(w, r);
        if (w->in[r] && !bcast)
            CHECK(memcmp(buffer(m, r, "in"), w->in[r], in_bytes(w, r)) == 0);
        if (!bytes || (w->alg->collective == MLT_COLL_EXSCAN && r == 0))
            continue;
        uint8_t *want = zeroed(bytes);
        expected(w, r, want);
        CHECK(memcmp(buffer(m, r, bcast ? "buf" : "out"), want, bytes) == 0);
        free(want);
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
    return alg->collective == MLT_COLL_BARRIER || strcmp(alg->name, "pairwise") == 0;
}

// ---- one shape

static void test_shape(const mlt_coll_alg *alg, mlt_coll_shape shape, bool words)
{
    snprintf(now_testing, sizeof now_testing,
             "%s.%s, %u ranks, root %u, %llu elements, %s%s, segment %llu, radix %u%s",
             mlt_collective_names[alg->collective], alg->name, shape.ranks, shape.root,
             (unsigned long long)shape.count, mlt_op_names[shape.op], mlt_op_type_names[shape.type],
             (unsigned long long)shape.segment, shape.radix, words ? ", in order" : "");
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
    wanted w = {.alg = alg, .shape = shape, .words = words};
    w.element = mlt_op_type_bytes[shape.type];
    w.n = shape.count * w.element;
    w.in = zeroed(shape.ranks * sizeof *w.in);
    check_buffers(&w, program);
    machine *m = machine_new(program, words);
    fill(&w, m);
    machine_run(m);
    check_result(&w, m);
    machine_free(m);
    if (alg->collective == MLT_COLL_BARRIER)
        check_barrier(program);
    for (uint32_t r = 0; r < shape.ranks && shape.ranks <= 20 && shape.count <= 40; r++) {
        CHECK(!races(&program->rank[r]));
        if (shape.ranks <= 12 && !orders_for_time(alg))
            check_least(&program->rank[r]);
    }
    for (uint32_t r = 0; r < shape.ranks; r++)
        free(w.in[r]);
    free(w.in);
    mlt_goal_program_free(program);
}

static void test_counts(const mlt_coll_alg *alg, mlt_coll_shape shape)
{
    static const uint64_t counts[] = {0, 1, 3, 7, 40};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        shape.count = counts[c];
        shape.op = MLT_OP_SUM;
        shape.type = (mlt_op_type)random_below(MLT_OP_UINT64 + 1); // integers: exact
        if (random_below(2))
            shape.op = (mlt_op)random_below(MLT_OP_COPY);
        test_shape(alg, shape, false);
        if (!alg->in_order)
            continue;
        shape.op = MLT_OP_SUM;
        shape.type = MLT_OP_UINT64;
        test_shape(alg, shape, true);
    }
}

static void test_ranks(const mlt_coll_alg *alg, uint32_t ranks)
{
    mlt_coll_shape shape = {.ranks = ranks};
    test_counts(alg, shape);
    if (has_root(alg->collective)) {
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
    if (alg->uses_radix)
        for (shape.radix = 1; shape.radix < 40; shape.radix += shape.radix < 8 ? 1 : 9) {
            shape.root = has_root(alg->collective) ? random_below(ranks) : 0;
            test_counts(alg, shape);
        }
}

static void test_results(void)
{
    for (int i = 0; mlt_coll_algs[i]; i++) {
        for (uint32_t ranks = 1; ranks <= 20; ranks++)
            test_ranks(mlt_coll_algs[i], ranks);
        test_ranks(mlt_coll_algs[i], 32);
        test_ranks(mlt_coll_algs[i], 33);
    }
}

int main(void)
{
    test_results();
    return 0;
}
