// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm against the definition of its operation (hand_test.h), by an interpreter of its
// own: real bytes, ready actions in random order, every send synchronous. Beside the result: no two
// unordered actions touch a byte that one of them writes; no dependency can be left out; `in` stays
// as it was. Those that keep canonical brackets do.
#include "coll/alg/alg.h"
#include "coll/alg/alg_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/alg/hand_test.h"
#include "coll/alg/machine_test.h"
#include "coll/alg/shape_test.h"
#include "fiber/sanitize.h"

// ---- what a run must have done

typedef struct wanted {
    mlt_coll_shape shape;
    meaning what;
    bool commutes;
    hand hand;
} wanted;

static void combine(const void *user, void *to, const void *from, uint64_t bytes)
{
    const wanted *w = user;
    if (w->what == WORDS)
        append(to, from, bytes / 8, false);
    else if (w->what == BRACKETS)
        bracket_all(to, from, bytes / 8, false);
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
            at[place.at + i] = (uint8_t)below(256);
        for (uint64_t i = 0; i < place.bytes / 8 && w->what != BYTES; i++) {
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
    return alg->collective == MLT_COLL_BARRIER || alg->uses_window || alg->uses_hosts ||
           strcmp(alg->name, "pairwise") == 0;
}

// ---- one shape

static void test_shape(const mlt_coll_alg *alg, mlt_coll_shape shape, meaning what)
{
    snprintf(now_testing, sizeof now_testing,
             "%s.%s, %u ranks, root %u, %llu elements, %s%s, segment %llu, radix %u, window %u"
             "%s%s%s",
             mlt_collective_names[alg->collective], alg->name, shape.ranks, shape.root,
             (unsigned long long)shape.count, shape.op == MLT_OPS ? "user" : mlt_op_names[shape.op],
             mlt_op_type_names[shape.type], (unsigned long long)shape.segment, shape.radix,
             shape.window,
             what == WORDS      ? ", in order"
             : what == BRACKETS ? ", canonical"
                                : "",
             shape.in_place ? ", in place" : "", shape.starts ? ", uneven" : "");
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
    wanted w = {.shape = shape, .what = what, .commutes = is.commutes};
    w.hand = (hand){.is = &is,
                    .ranks = shape.ranks,
                    .element = mlt_coll_element(&shape),
                    .n = shape.count * mlt_coll_element(&shape),
                    .combine = combine,
                    .user = &w};
    check_buffers(&w, program);
    machine *m = machine_new(program, what);
    m->commutes = w.commutes;
    fill(&w, m);
    hand_begin(&w.hand, buffer, m);
    machine_run(m);
    check_result(&w, m);
    hand_end(&w.hand);
    machine_free(m);
    if (alg->collective == MLT_COLL_BARRIER)
        check_barrier(program);
    // Segments are all alike: a few of them are enough. So are the programs of other meanings.
    bool few = shape.ranks <= 17 && what == BYTES && (!alg->uses_segment || shape.count <= 7);
    for (uint32_t r = 0; r < shape.ranks && few; r++) {
        CHECK(!races(&program->rank[r]));
        // Of empty blocks nothing is known, so something may be waited for in vain.
        if (shape.ranks <= 9 && shape.count != 40 && !orders_for_time(alg) && !shape.starts)
            check_least(&program->rank[r]);
    }
    mlt_goal_program_free(program);
}

// With the arrays that it needs.
static void test_arrays(const mlt_coll_alg *alg, mlt_coll_shape shape, bool uneven, meaning what)
{
    uint64_t lengths = below(UINT32_MAX);
    arrays a = arrays_new(&shape, alg, uneven, &lengths);
    test_shape(alg, shape, what);
    arrays_free(&a, shape.ranks);
}

// The shape as it is, and what else the algorithm can: in place, blocks that differ, users'
// functions, operands in order.
static void test_variants(const mlt_coll_alg *alg, mlt_coll_shape shape)
{
    test_arrays(alg, shape, false, BYTES);
    mlt_coll_shape other = shape;
    other.in_place = alg->in_place;
    if (alg->in_place)
        test_arrays(alg, other, false, BYTES);
    other.in_place = alg->in_place && below(2);
    if (alg->uneven)
        test_arrays(alg, other, true, BYTES);
    if (!mlt_collective_reduces(alg->collective))
        return;
    other.op = MLT_OPS;
    other.element = HAND_ELEMENT;
    test_arrays(alg, other, alg->uneven && below(2), BYTES);
    if (!alg->in_order)
        return;
    shape.op = MLT_OP_SUM;
    shape.type = MLT_OP_UINT64;
    for (meaning what = WORDS; what <= (alg->canonical ? BRACKETS : WORDS); what++) {
        shape.in_place = false;
        shape.keep = what == WORDS ? MLT_KEEP_ORDER : MLT_KEEP_BRACKETS;
        test_arrays(alg, shape, false, what);
        shape.in_place = alg->in_place;
        if (alg->in_place || alg->uneven)
            test_arrays(alg, shape, alg->uneven, what);
    }
}

static void test_counts(const mlt_coll_alg *alg, mlt_coll_shape shape)
{
    static const uint64_t counts[] = {0, 1, 7, 40};
    static const uint64_t fewer[] = {1, 40}, one[] = {39}; // for many ranks
    const uint64_t *try = shape.ranks > 17 ? one : shape.ranks > 9 ? fewer : counts;
    size_t tries = shape.ranks > 17 ? 1 : shape.ranks > 9 ? 2 : 4;
    for (size_t c = 0; c < tries; c++) {
        shape.count = try[c];
        shape.op = MLT_OP_SUM;
        shape.type = (mlt_op_type)below(MLT_OP_UINT64 + 1); // integers: exact
        if (below(2))
            shape.op = (mlt_op)below(MLT_OP_COPY);
        test_variants(alg, shape);
    }
}

static void test_ranks(const mlt_coll_alg *alg, uint32_t ranks)
{
    uint32_t few = ranks > 9 ? 3 : 6; // radices one after the other
    mlt_coll_shape shape = {.ranks = ranks};
    for (int i = 0; i < (alg->collective == MLT_COLL_REDUCE_TO ? 8 : 1); i++) // random sets
        test_counts(alg, shape);
    if (hand_rooted(alg->collective)) {
        for (uint32_t root = 1; root < ranks; root += ranks < 8 ? 1 : 1 + below(ranks)) {
            shape.root = root;
            test_counts(alg, shape);
        }
        shape.root = ranks - 1;
        test_counts(alg, shape);
    }
    if (alg->uses_segment)
        for (shape.segment = 1; shape.segment < 20;
             shape.segment += (ranks > 9 ? 6 : 1) + shape.segment) {
            shape.root = hand_rooted(alg->collective) ? below(ranks) : 0;
            test_counts(alg, shape);
        }
    if (alg->uses_segment && ranks < 8) { // whose bytes 64 bits do not count
        shape.segment = UINT64_C(1) << 62;
        test_counts(alg, shape);
    }
    if (alg->uses_radix)
        for (shape.radix = 1; shape.radix < 40; shape.radix += shape.radix < few ? 1 : 9) {
            shape.root = hand_rooted(alg->collective) ? below(ranks) : 0;
            test_counts(alg, shape);
        }
    if (alg->uses_window)
        for (shape.window = 1; shape.window < 8; shape.window *= 2)
            test_counts(alg, shape);
}

static void test_results(void)
{
    for (int i = 0; mlt_coll_algs[i]; i++) {
        for (uint32_t ranks = 1; ranks <= (MLT_SANITIZED ? 7 : 17); ranks++)
            test_ranks(mlt_coll_algs[i], ranks);
        if (MLT_SANITIZED) // the same code once more, and slowly
            continue;
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
    refused("bcast.knomial", bad, "the radix must be 2 or more");
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

    const uint8_t nobody[4] = {0};
    bad = good, bad.contributes = nobody;
    refused("reduce_to.aspen", bad, "there must be a rank that contributes");
    bad = good;
    refused("exchange.linear", bad, "the lists of its messages are not given");
    mlt_goal_message part = {3, 0, 4, 4};
    mlt_goal_messages parts[4] = {{.in = 8, .out = 8}, {.in = 8}, {.out = 8}, {.send = &part}};
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
    CHECK(mlt_coll_program(alg_named("reduce.linear"), &shape, count_progress, &last, &program, why,
                           sizeof why) == MLT_OK);
    CHECK(last == 1 && program->ranks == 1000);
    mlt_goal_program_free(program);
    mlt_goal_spec spec = mlt_coll_spec(alg_named("reduce.linear"), &shape);
    CHECK(spec.collective == MLT_COLL_REDUCE && spec.root == 7 && spec.bytes == 6 &&
          spec.op == MLT_OP_BOR && spec.type == MLT_OP_INT16 && !spec.commutes && !spec.in);
    CHECK(mlt_coll_spec(alg_named("reduce.circulant"), &shape).commutes);
    CHECK(spec.element == 2 && !spec.in_place && !spec.starts);
    const uint64_t starts[] = {0};
    shape.in_place = true;
    shape.starts = starts;
    shape.element = 6;
    spec = mlt_coll_spec(alg_named("gather.linear"), &shape);
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
    test_results();
    return 0;
}
