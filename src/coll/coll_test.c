// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm against the definition of its operation, by an interpreter of its own: real
// bytes, ready actions in random order, every send synchronous. Beside the result: no two unordered
// actions touch a byte that one of them writes; no dependency can be left out; `in` stays as it
// was.
#include "coll/coll.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/coll_int.h"
#include "coll/coll_machine.h"
#include "coll/tree.h"

// ---- what a run must have done

typedef struct wanted {
    const mlt_coll_alg *alg;
    mlt_coll_shape shape;
    meaning what;
    uint64_t element, n; // bytes
    uint8_t **in;        // [rank]: its operand or blocks, bcast: buf; NULL: the rank has none
} wanted;

static bool has_root(mlt_collective c)
{
    return c == MLT_COLL_BCAST || c == MLT_COLL_REDUCE || c == MLT_COLL_GATHER ||
           c == MLT_COLL_SCATTER;
}

// Bytes before block r of a buffer that has all of them, with its parts for one rank of weight w.
static uint64_t start_of(const wanted *w, uint32_t rank, uint32_t r)
{
    const uint64_t *starts = w->shape.starts;
    if (!starts)
        return r * w->n;
    if (w->alg->collective == MLT_COLL_ALLTOALL)
        return (starts[rank + 1] - starts[rank]) * starts[r] * w->n;
    return starts[r] * w->element;
}

static uint64_t all_bytes(const wanted *w, uint32_t rank)
{
    return start_of(w, rank, w->shape.ranks);
}

static uint64_t block_bytes(const wanted *w, uint32_t rank, uint32_t r)
{
    return start_of(w, rank, r + 1) - start_of(w, rank, r);
}

// Bytes of what the rank gives, wherever it lies.
static uint64_t in_bytes(const wanted *w, uint32_t rank)
{
    switch (w->alg->collective) {
    case MLT_COLL_BARRIER:
        return 0;
    case MLT_COLL_SCATTER:
        return rank == w->shape.root ? all_bytes(w, rank) : 0;
    case MLT_COLL_ALLTOALL:
    case MLT_COLL_REDUCE_SCATTER:
        return all_bytes(w, rank);
    case MLT_COLL_GATHER:
    case MLT_COLL_ALLGATHER:
        return block_bytes(w, rank, rank);
    case MLT_COLL_REDUCE_TO:
        return w->shape.contributes[rank] ? w->n : 0;
    default:
        return w->n;
    }
}

static uint64_t out_bytes(const wanted *w, uint32_t rank)
{
    switch (w->alg->collective) {
    case MLT_COLL_BARRIER:
        return 0;
    case MLT_COLL_REDUCE:
        return rank == w->shape.root ? w->n : 0;
    case MLT_COLL_GATHER:
        return rank == w->shape.root ? all_bytes(w, rank) : 0;
    case MLT_COLL_ALLGATHER:
    case MLT_COLL_ALLTOALL:
        return all_bytes(w, rank);
    case MLT_COLL_SCATTER:
    case MLT_COLL_REDUCE_SCATTER:
        return block_bytes(w, rank, rank);
    case MLT_COLL_REDUCE_TO:
        return w->shape.receives[rank] ? w->n : 0;
    default:
        return w->n;
    }
}

// What the rank gives lies where its result goes.
static bool lies_in_out(const wanted *w, uint32_t rank)
{
    mlt_collective c = w->alg->collective;
    if (c == MLT_COLL_SCATTER || !w->shape.in_place)
        return false;
    return rank == w->shape.root || !has_root(c);
}

static bool declares_out(const wanted *w, uint32_t rank)
{
    mlt_collective c = w->alg->collective;
    if (c == MLT_COLL_REDUCE_TO)
        return w->shape.receives[rank];
    if (c == MLT_COLL_SCATTER)
        return rank != w->shape.root || !w->shape.in_place;
    return c != MLT_COLL_BARRIER && c != MLT_COLL_BCAST &&
           (rank == w->shape.root || (c != MLT_COLL_REDUCE && c != MLT_COLL_GATHER));
}

static bool declares_in(const wanted *w, uint32_t rank)
{
    mlt_collective c = w->alg->collective;
    if (c == MLT_COLL_REDUCE_TO)
        return w->shape.contributes[rank];
    return c != MLT_COLL_BARRIER && c != MLT_COLL_BCAST && !lies_in_out(w, rank) &&
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

// Where the rank's operand or blocks are at first; NULL: it has none.
static uint8_t *source(const wanted *w, machine *m, uint32_t rank)
{
    if (w->alg->collective == MLT_COLL_BCAST)
        return buffer(m, rank, "buf");
    if (!lies_in_out(w, rank))
        return buffer(m, rank, "in");
    bool gathers =
        w->alg->collective == MLT_COLL_GATHER || w->alg->collective == MLT_COLL_ALLGATHER;
    return buffer(m, rank, "out") + (gathers ? start_of(w, rank, rank) : 0);
}

static void fill(wanted *w, machine *m)
{
    for (uint32_t r = 0; r < w->shape.ranks; r++) {
        uint64_t bytes = in_bytes(w, r);
        uint8_t *in = bytes ? source(w, m, r) : NULL;
        if (!in)
            continue;
        if (w->what != BYTES)
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

// result = result op second
static void combine(const wanted *w, uint8_t *result, const uint8_t *second, uint64_t bytes)
{
    if (w->what == WORDS)
        append(result, second, bytes / 8, false);
    else if (w->what == BRACKETS)
        bracket_all(result, second, bytes / 8, false);
    else if (w->shape.op == MLT_OPS) // any function that commutes: bytes are added
        mlt_op_kernels[MLT_OP_SUM][MLT_OP_UINT8](result, second, bytes);
    else
        mlt_op_kernels[w->shape.op][w->shape.type](result, second, bytes / w->element);
}

// result = reduction of the bytes at `at` of the ranks [from, to), those that contribute, in the
// brackets of mlt_canonical_split
static void reduce_into(const wanted *w, uint8_t *result, uint64_t at, uint64_t bytes,
                        uint32_t from, uint32_t to)
{
    const uint8_t *only = w->alg->collective == MLT_COLL_REDUCE_TO ? w->shape.contributes : NULL;
    uint32_t *ranks = zeroed((to - from) * sizeof *ranks), count = 0;
    for (uint32_t r = from; r < to; r++)
        if (!only || only[r])
            ranks[count++] = r;
    // One of each level of brackets is open at a time.
    struct {
        uint32_t low, high;
        uint8_t *value;
    } open[70];
    uint32_t depth = 0;
    for (uint32_t i = 0; i < count; i++) {
        open[depth].low = i;
        open[depth].high = i + 1;
        open[depth].value = zeroed(bytes);
        memcpy(open[depth++].value, w->in[ranks[i]] + at, bytes);
        while (depth > 1) { // close those that are full, or at the end all
            uint32_t low = open[depth - 2].low, mid = open[depth - 1].low;
            uint32_t high = open[depth - 1].high;
            if (i + 1 < count && high - mid != mid - low)
                break;
            CHECK(mlt_canonical_split(low, high) == mid);
            combine(w, open[depth - 2].value, open[depth - 1].value, bytes);
            free(open[--depth].value);
            open[depth - 1].high = high;
        }
    }
    memcpy(result, open[0].value, bytes);
    free(open[0].value);
    free(ranks);
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
    case MLT_COLL_REDUCE_TO:
        reduce_into(w, out, 0, w->n, 0, ranks);
        break;
    case MLT_COLL_GATHER:
    case MLT_COLL_ALLGATHER:
        for (uint32_t r = 0; r < ranks; r++)
            if (w->in[r])
                memcpy(out + start_of(w, rank, r), w->in[r], block_bytes(w, rank, r));
        break;
    case MLT_COLL_SCATTER:
        memcpy(out, w->in[root] + start_of(w, rank, rank), block_bytes(w, rank, rank));
        break;
    case MLT_COLL_ALLTOALL:
        for (uint32_t r = 0; r < ranks; r++)
            if (w->in[r])
                memcpy(out + start_of(w, rank, r), w->in[r] + start_of(w, r, rank),
                       block_bytes(w, rank, r));
        break;
    case MLT_COLL_REDUCE_SCATTER:
        reduce_into(w, out, start_of(w, rank, rank), block_bytes(w, rank, rank), 0, ranks);
        break;
    case MLT_COLL_SCAN:
        reduce_into(w, out, 0, w->n, 0, rank + 1);
        break;
    case MLT_COLL_EXSCAN:
        reduce_into(w, out, 0, w->n, 0, rank);
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
        if (w->in[r] && !bcast && !lies_in_out(w, r))
            CHECK(memcmp(buffer(m, r, "in"), w->in[r], in_bytes(w, r)) == 0);
        bool none = !bytes || (w->alg->collective == MLT_COLL_EXSCAN && r == 0);
        if (none || (!bcast && !declares_out(w, r)))
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
    machine *m = machine_new(program, BYTES);
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

static void test_shape(const mlt_coll_alg *alg, mlt_coll_shape shape, meaning what)
{
    snprintf(now_testing, sizeof now_testing,
             "%s.%s, %u ranks, root %u, %llu elements, %s%s, segment %llu, radix %u%s%s%s",
             mlt_collective_names[alg->collective], alg->name, shape.ranks, shape.root,
             (unsigned long long)shape.count,
             shape.op < MLT_OPS ? mlt_op_names[shape.op] : "user's", mlt_op_type_names[shape.type],
             (unsigned long long)shape.segment, shape.radix, shape.in_place ? ", in place" : "",
             shape.starts ? ", uneven" : "",
             what == WORDS      ? ", in order"
             : what == BRACKETS ? ", canonical"
                                : "");
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
    wanted w = {.alg = alg, .shape = shape, .what = what};
    w.element = shape.element ? shape.element : mlt_op_type_bytes[shape.type];
    w.n = shape.count * w.element;
    w.in = zeroed(shape.ranks * sizeof *w.in);
    check_buffers(&w, program);
    machine *m = machine_new(program, what);
    fill(&w, m);
    machine_run(m);
    check_result(&w, m);
    machine_free(m);
    if (alg->collective == MLT_COLL_BARRIER)
        check_barrier(program);
    // Segments are all alike: a few of them are enough. So are the programs of other meanings.
    bool few = shape.ranks <= 17 && what == BYTES && (!alg->uses_segment || shape.count <= 7);
    for (uint32_t r = 0; r < shape.ranks && few; r++) {
        CHECK(!races(&program->rank[r]));
        if (shape.ranks <= 9 && !orders_for_time(alg))
            check_least(&program->rank[r]);
    }
    for (uint32_t r = 0; r < shape.ranks; r++)
        free(w.in[r]);
    free(w.in);
    mlt_goal_program_free(program);
}

static void test_meanings(const mlt_coll_alg *alg, mlt_coll_shape shape)
{
    test_shape(alg, shape, BYTES);
    if (alg->in_order || alg->canonical) {
        shape.op = MLT_OP_SUM;
        shape.type = MLT_OP_UINT64;
        shape.element = 0;
        test_shape(alg, shape, WORDS);
        if (alg->canonical)
            test_shape(alg, shape, BRACKETS);
    }
}

// Some blocks are empty, the others differ.
static void test_uneven(const mlt_coll_alg *alg, mlt_coll_shape shape)
{
    bool weights = alg->collective == MLT_COLL_ALLTOALL;
    uint64_t *starts = zeroed((shape.ranks + 1) * sizeof *starts);
    for (uint32_t r = 0; r < shape.ranks; r++)
        starts[r + 1] = starts[r] + (random_below(3) ? random_below(weights ? 4 : 9) : 0);
    shape.starts = starts;
    if (weights)
        shape.count = 2;
    test_meanings(alg, shape);
    free(starts);
}

static void test_counts(const mlt_coll_alg *alg, mlt_coll_shape shape)
{
    static const uint64_t counts[] = {0, 1, 7, 40};
    size_t first = shape.ranks > 20 ? 2 : 0; // many ranks: fewer counts
    for (size_t c = first; c < sizeof counts / sizeof *counts; c++) {
        shape.count = counts[c];
        shape.op = MLT_OP_SUM;
        shape.type = (mlt_op_type)random_below(MLT_OP_UINT64 + 1); // integers: exact
        shape.element = 0;
        if (random_below(2)) {
            shape.op = (mlt_op)random_below(MLT_OPS + 1);
            if (shape.op == MLT_OP_COPY)
                shape.op = MLT_OPS;
        }
        if (shape.op == MLT_OPS) // the user's function, elements of any size
            shape.element = 1 + random_below(19);
        test_meanings(alg, shape);
        if (alg->uneven)
            test_uneven(alg, shape);
        if (!alg->in_place)
            continue;
        shape.in_place = true;
        test_meanings(alg, shape);
        if (alg->uneven)
            test_uneven(alg, shape);
        shape.in_place = false;
    }
}

// Random sets, beside those that everybody has.
static void test_sets(const mlt_coll_alg *alg, uint32_t ranks)
{
    uint8_t *contributes = zeroed(ranks), *receives = zeroed(ranks);
    mlt_coll_shape shape = {.ranks = ranks, .contributes = contributes, .receives = receives};
    for (uint32_t some = 0; some < (ranks > 12 ? 16 : 40); some++) {
        uint32_t few = some % 4, many = some / 4 % 4;
        for (uint32_t r = 0; r < ranks; r++) {
            contributes[r] = random_below(3) < few;
            receives[r] = random_below(3) < many;
        }
        if (some == 9) // nobody gives: refused
            memset(contributes, 0, ranks);
        test_counts(alg, shape);
    }
    free(contributes);
    free(receives);
}

static void test_ranks(const mlt_coll_alg *alg, uint32_t ranks)
{
    uint32_t few = ranks > 20 ? 3 : ranks > 12 ? 5 : 8; // radices one after the other
    mlt_coll_shape shape = {.ranks = ranks};
    if (alg->collective == MLT_COLL_REDUCE_TO) {
        test_sets(alg, ranks);
        return;
    }
    if (alg->collective == MLT_COLL_EXCHANGE) // its lists are tried elsewhere
        return;
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
        for (shape.segment = 1; shape.segment < 20; shape.segment += 1 + shape.segment) {
            shape.root = has_root(alg->collective) ? random_below(ranks) : 0;
            test_counts(alg, shape);
        }
    if (alg->uses_segment && ranks < 8) { // whose bytes 64 bits do not count
        shape.segment = UINT64_C(1) << 62;
        test_counts(alg, shape);
    }
    if (alg->uses_radix)
        for (shape.radix = 1; shape.radix < 40; shape.radix += shape.radix < few ? 1 : 9) {
            shape.root = has_root(alg->collective) ? random_below(ranks) : 0;
            test_counts(alg, shape);
        }
}

// The others are in blocks_test.c.
static bool is_ours(const mlt_coll_alg *alg)
{
    switch (alg->collective) {
    case MLT_COLL_GATHER:
    case MLT_COLL_SCATTER:
    case MLT_COLL_ALLGATHER:
    case MLT_COLL_ALLTOALL:
    case MLT_COLL_REDUCE_SCATTER:
    case MLT_COLL_EXCHANGE:
        return alg->canonical;
    default:
        return true;
    }
}

static void test_results(void)
{
    for (int i = 0; mlt_coll_algs[i]; i++) {
        if (!is_ours(mlt_coll_algs[i]))
            continue;
        for (uint32_t ranks = 1; ranks <= 20; ranks++)
            test_ranks(mlt_coll_algs[i], ranks);
        test_ranks(mlt_coll_algs[i], 31);
        test_ranks(mlt_coll_algs[i], 32);
        test_ranks(mlt_coll_algs[i], 33);
        test_ranks(mlt_coll_algs[i], 64);
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
    CHECK(mlt_coll_spec(&mlt_reduce_circulant, &shape).commutes);
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
    test_results();
    return 0;
}
