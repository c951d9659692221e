// SPDX-License-Identifier: BSD-3-Clause
// Programs of known patterns for few ranks and for many: what is grown from the few must be the
// program for the many, action for action. And what has no pattern is refused.
#include "judge/grow/grow.h"

#include "base/unit_test.h"
#include "goal/program_test.h"

// ---- phases of programs. A rank's actions wait for the one before, or, if they are started
// together, for what was before them all, and a nop waits for them.

typedef struct shape {
    uint32_t ranks, size[3];
} shape;

typedef struct writer {
    mlt_goal_program *p;
    const shape *s;
    uint32_t rank, last, first; // first: of those started together; NONE: one after the other
} writer;

static void put(writer *w, mlt_goal_kind kind, uint32_t peer, uint64_t size, int32_t tag)
{
    mlt_goal_action action = {.kind = (uint8_t)kind,
                              .peer = (int32_t)peer,
                              .tag = tag,
                              .buf = {MLT_GOAL_NOWHERE},
                              .size = {size}};
    uint32_t number = mlt_goal_add(w->p, w->rank, &action);
    if (w->last != MLT_GOAL_NONE)
        mlt_goal_require(w->p, w->rank, number, w->last);
    if (w->first == MLT_GOAL_NONE)
        w->last = number;
}

static void together(writer *w)
{
    w->first = w->p->rank[w->rank].count;
}

static void wait_all(writer *w)
{
    uint32_t end = w->p->rank[w->rank].count, first = w->first;
    w->first = MLT_GOAL_NONE;
    if (end == first)
        return;
    mlt_goal_action nop = {.kind = MLT_GOAL_NOP};
    uint32_t number = mlt_goal_add(w->p, w->rank, &nop);
    for (uint32_t a = first; a < end; a++)
        mlt_goal_require(w->p, w->rank, number, a);
    w->last = number;
}

typedef void phase(writer *w);

static void calc(writer *w)
{
    put(w, MLT_GOAL_CALC, 0, 500, 0);
}

static void ring(writer *w)
{
    uint32_t n = w->s->ranks;
    put(w, MLT_GOAL_SEND, (w->rank + 1) % n, 100, 1);
    put(w, MLT_GOAL_RECV, (w->rank + n - 1) % n, 100, 1);
}

static void rounds(writer *w) // an allgather
{
    for (uint32_t i = 1; i < w->s->ranks; i++)
        ring(w);
}

static void steps(writer *w) // more than ranks, but no more with more ranks
{
    for (uint32_t i = 0; i < 20; i++)
        ring(w);
}

static void pipeline(writer *w)
{
    if (w->rank > 0)
        put(w, MLT_GOAL_RECV, w->rank - 1, 64, 2);
    put(w, MLT_GOAL_CALC, 0, 10, 0);
    if (w->rank + 1 < w->s->ranks)
        put(w, MLT_GOAL_SEND, w->rank + 1, 64, 2);
}

static void halo(writer *w, bool around)
{
    uint32_t step = w->s->ranks, at = w->rank;
    together(w);
    for (int d = 0; d < 3; d++) {
        uint32_t size = w->s->size[d];
        if (size == 1)
            continue;
        step /= size;
        uint32_t c = at / step % size;
        for (int up = 0; up < 2; up++) {
            if (!around && c == (up ? size - 1 : 0))
                continue;
            uint32_t to = (up ? c + 1 : c + size - 1) % size;
            uint32_t peer = w->rank - c * step + to * step;
            put(w, MLT_GOAL_SEND, peer, 800, 10 + 2 * d + up);
            put(w, MLT_GOAL_RECV, peer, 800, 10 + 2 * d + !up);
        }
    }
    wait_all(w);
}

static void stencil(writer *w)
{
    halo(w, false);
}

static void torus(writer *w)
{
    halo(w, true);
}

static void butterfly(writer *w)
{
    for (uint32_t v = 1; v < w->s->ranks; v *= 2) {
        put(w, MLT_GOAL_SEND, w->rank ^ v, 8, 20);
        put(w, MLT_GOAL_RECV, w->rank ^ v, 8, 20);
        put(w, MLT_GOAL_CALC, 0, 3, 0);
    }
}

static void stages(writer *w) // computing comes first
{
    for (uint32_t v = 1; v < w->s->ranks; v *= 2) {
        put(w, MLT_GOAL_CALC, 0, 3, 0);
        put(w, MLT_GOAL_SEND, w->rank ^ v, 8, 22);
        put(w, MLT_GOAL_RECV, w->rank ^ v, 8, 22);
    }
}

static void doubling(writer *w) // allgather: blocks of 16 bytes
{
    for (uint32_t v = 1; v < w->s->ranks; v *= 2) {
        put(w, MLT_GOAL_SEND, w->rank ^ v, 16 * v, 21);
        put(w, MLT_GOAL_RECV, w->rank ^ v, 16 * v, 21);
    }
}

static void dissemination(writer *w)
{
    uint32_t n = w->s->ranks;
    int32_t round = 0;
    for (uint32_t v = 1; v < n; v *= 2, round++) {
        put(w, MLT_GOAL_SEND, (w->rank + v) % n, 1, 30 + round);
        put(w, MLT_GOAL_RECV, (w->rank + n - v) % n, 1, 30 + round);
    }
}

static void tree_low(writer *w) // a broadcast: parents lose their lowest bit
{
    uint32_t n = w->s->ranks, low = w->rank & (0u - w->rank), v = 1;
    if (w->rank)
        put(w, MLT_GOAL_RECV, w->rank - low, 256, 50);
    while (2 * v < n && (!w->rank || 2 * v < low))
        v *= 2;
    for (; v && (!w->rank || low > 1); v /= 2)
        if (w->rank + v < n)
            put(w, MLT_GOAL_SEND, w->rank + v, 256, 50);
}

static void tree_high(writer *w) // Listing 2 of the paper
{
    uint32_t n = w->s->ranks, bit = 1;
    if (w->rank) {
        while (2 * bit <= w->rank)
            bit *= 2;
        put(w, MLT_GOAL_RECV, w->rank - bit, 256, 51);
        bit *= 2;
    }
    for (; w->rank + bit < n; bit *= 2)
        put(w, MLT_GOAL_SEND, w->rank + bit, 256, 51);
}

static void alltoall(writer *w)
{
    uint32_t n = w->s->ranks;
    together(w);
    for (uint32_t d = 1; d < n; d++) {
        put(w, MLT_GOAL_SEND, (w->rank + d) % n, 32, 60);
        put(w, MLT_GOAL_RECV, (w->rank + n - d) % n, 32, 60);
    }
    wait_all(w);
}

static void alltoall_linear(writer *w)
{
    for (uint32_t r = 0; r < w->s->ranks; r++)
        if (r != w->rank) {
            put(w, MLT_GOAL_SEND, r, 32, 61);
            put(w, MLT_GOAL_RECV, r, 32, 61);
        }
}

static void master(writer *w)
{
    if (w->rank) {
        put(w, MLT_GOAL_RECV, 0, 40, 70);
        put(w, MLT_GOAL_CALC, 0, 1000, 0);
        put(w, MLT_GOAL_SEND, 0, 4, 71);
        return;
    }
    for (uint32_t r = 1; r < w->s->ranks; r++)
        put(w, MLT_GOAL_SEND, r, 40, 70);
    for (uint32_t r = 1; r < w->s->ranks; r++)
        put(w, MLT_GOAL_RECV, r, 4, 71);
}

// What a recording has of a reduction at rank 0 with so many buffers, received into in turn: the
// first receives wait for what is before the loop, the others for the calc `back` times round
// before, which is done with the buffer.
typedef struct window {
    uint32_t buffers, back;
    bool free; // the first receives wait for nothing
} window;

static void reduce_in(writer *w, window v)
{
    uint32_t before = w->last, calcs[64] = {0};
    if (w->rank) {
        put(w, MLT_GOAL_SEND, 0, 8, 80);
        return;
    }
    for (uint32_t r = 0; r + 1 < w->s->ranks; r++) {
        w->last = r >= v.buffers ? calcs[r - v.back] : v.free ? MLT_GOAL_NONE : before;
        put(w, MLT_GOAL_RECV, r + 1, 8, 80);
        w->last = w->p->rank[w->rank].count - 1;
        put(w, MLT_GOAL_CALC, 0, 3, 0);
        calcs[r] = w->last;
        if (r)
            mlt_goal_require(w->p, w->rank, calcs[r], calcs[r - 1]);
    }
}

static void window1(writer *w)
{
    reduce_in(w, (window){1, 1, false});
}

static void window2(writer *w)
{
    reduce_in(w, (window){2, 2, false});
}

static void window3(writer *w)
{
    reduce_in(w, (window){3, 3, false});
}

static void window3_late(writer *w) // the running sum has a buffer too
{
    reduce_in(w, (window){3, 2, false});
}

static void window4(writer *w)
{
    reduce_in(w, (window){4, 4, false});
}

static void window2_free(writer *w)
{
    reduce_in(w, (window){2, 2, true});
}

static void window3_free(writer *w)
{
    reduce_in(w, (window){3, 2, true});
}

static mlt_goal_program *program_of(const shape *s, phase *const *phases, int count)
{
    mlt_goal_program *p = mlt_goal_program_new(s->ranks);
    for (uint32_t r = 0; r < s->ranks; r++) {
        writer w = {p, s, r, MLT_GOAL_NONE, MLT_GOAL_NONE};
        for (int i = 0; i < count; i++)
            phases[i](&w);
    }
    return p;
}

// ---- growing

static mlt_grow *pattern_of(const mlt_goal_program *p)
{
    char why[1024];
    mlt_grow *pattern;
    if (mlt_grow_find(p, &pattern, why, sizeof why) != MLT_OK) {
        fprintf(stderr, "%s\n", why);
        CHECK(!"there is a pattern");
    }
    return pattern;
}

static mlt_goal_program *grown(mlt_grow *pattern, uint32_t ranks, mlt_grow_scaling scaling)
{
    char why[1024];
    if (mlt_grow_aim(pattern, ranks, scaling, why, sizeof why) != MLT_OK) {
        fprintf(stderr, "%s\n", why);
        CHECK(!"it can grow");
    }
    mlt_goal_program *p = mlt_goal_program_new(ranks);
    mlt_goal_rank one = {0};
    for (uint32_t r = 0; r < ranks; r++) {
        mlt_grow_rank(pattern, r, &one);
        for (uint32_t a = 0; a < one.count; a++)
            mlt_goal_add(p, r, &one.actions[a]);
        for (uint32_t d = 0; d < one.deps_count; d++)
            mlt_goal_require(p, r, one.deps[d].action, one.deps[d].on);
    }
    free(one.actions);
    free(one.deps);
    return p;
}

static void check_grows(const char *name, const shape *few, const shape *many, phase *const *phases,
                        int count)
{
    snprintf(now_testing, sizeof now_testing, "%s, %u to %u ranks", name, few->ranks, many->ranks);
    mlt_goal_program *small = program_of(few, phases, count);
    mlt_goal_program *large = program_of(many, phases, count);
    mlt_grow *pattern = pattern_of(small);
    mlt_goal_program *same = grown(pattern, few->ranks, MLT_GROW_WEAK);
    mlt_goal_program *got = grown(pattern, many->ranks, MLT_GROW_WEAK);
    CHECK(mlt_goal_program_equal(same, small));
    CHECK(mlt_goal_program_equal(got, large));
    mlt_grow_free(pattern);
    mlt_goal_program_free(small);
    mlt_goal_program_free(large);
    mlt_goal_program_free(same);
    mlt_goal_program_free(got);
    now_testing[0] = '\0';
}

static const shape row8 = {8, {8, 1, 1}}, row64 = {64, {64, 1, 1}}, row11 = {11, {11, 1, 1}},
                   row29 = {29, {29, 1, 1}}, square16 = {16, {4, 4, 1}},
                   square256 = {256, {16, 16, 1}}, cube64 = {64, {4, 4, 4}},
                   cube512 = {512, {8, 8, 8}}, flat24 = {24, {6, 4, 1}}, flat96 = {96, {12, 8, 1}};

static void check_one(const char *name, phase *one, const shape *few, const shape *many)
{
    check_grows(name, few, many, (phase *[]){one}, 1);
}

static void check_each(void)
{
    check_one("ring", ring, &row8, &row64);
    check_one("ring", ring, &row11, &row29);
    check_one("rounds", rounds, &row8, &row64);
    check_one("steps", steps, &row8, &row64);
    check_one("pipeline", pipeline, &row8, &row29);
    check_one("stencil 1-D", stencil, &row8, &row64);
    check_one("torus 1-D", torus, &row11, &row29);
    check_one("stencil 2-D", stencil, &square16, &square256);
    check_one("torus 2-D", torus, &square16, &square256);
    check_one("stencil 2-D", stencil, &flat24, &flat96);
    check_one("torus 2-D", torus, &flat24, &flat96);
    check_one("stencil 3-D", stencil, &cube64, &cube512);
    check_one("torus 3-D", torus, &cube64, &cube512);
    check_one("butterfly", butterfly, &row8, &row64);
    check_one("stages", stages, &row8, &row64);
    check_one("doubling", doubling, &row8, &row64);
    check_one("dissemination", dissemination, &row11, &row29);
    check_one("tree, low", tree_low, &row8, &row64);
    check_one("tree, low", tree_low, &row11, &row29);
    check_one("tree, high", tree_high, &row8, &row64);
    check_one("tree, high", tree_high, &row11, &row29);
    check_one("alltoall", alltoall, &row8, &row64);
    check_one("alltoall, linear", alltoall_linear, &row8, &row29);
    check_one("master", master, &row8, &row29);
}

// Any phases one after the other, all in one program.
static void check_mixed(void)
{
    static phase *const rows[] = {ring,     butterfly, doubling,       dissemination,
                                  tree_low, tree_high, alltoall,       calc,
                                  master,   pipeline,  alltoall_linear};
    static phase *const grids[] = {stencil, torus, butterfly, ring, alltoall, calc, doubling};
    for (now_seed = 1; now_seed <= 36; now_seed++) {
        phase *phases[6];
        int count = 1 + (int)below(6);
        bool in_grid = now_seed % 3 == 0;
        for (int i = 0; i < count; i++)
            phases[i] = in_grid ? grids[below(sizeof grids / sizeof *grids)]
                                : rows[below(sizeof rows / sizeof *rows)];
        if (in_grid) // or the grid does not show
            phases[0] = below(2) ? stencil : torus;
        check_grows("mixed", in_grid ? &square16 : &row8, in_grid ? &square256 : &row64, phases,
                    count);
    }
    now_seed = 0;
}

// ---- what is refused

static void check_refused(mlt_goal_program *p, const char *wanted)
{
    char why[1024];
    mlt_grow *pattern;
    CHECK(mlt_grow_find(p, &pattern, why, sizeof why) == MLT_ERR_INVALID && !pattern);
    check_same_text("no pattern", why, wanted);
    mlt_goal_program_free(p);
}

static mlt_goal_program *ring_of(uint32_t ranks)
{
    const shape s = {ranks, {ranks, 1, 1}};
    return program_of(&s, (phase *[]){ring, calc, butterfly, ring}, 4);
}

static void check_odd(void)
{
    mlt_goal_program *p = ring_of(16);
    p->rank[5].actions[2].size[0] = 9999; // times may differ
    mlt_grow_free(pattern_of(p));
    p->rank[5].actions[0].size[0] = 101;
    check_refused(p, "rank 5, action 0 (send none,101 to 6 tag 1) fits no pattern");
    p = ring_of(16);
    p->rank[7].actions[15].peer = 9;
    check_refused(p, "rank 7, action 15 (send none,100 to 9 tag 1) fits no pattern");
    p = ring_of(16);
    p->rank[3].count -= 1;
    p->rank[3].deps_count -= 1;
    check_refused(p, "rank 3 ends after 16 actions, where ranks like it go on: it fits no pattern");
    p = ring_of(16);
    p->rank[9].deps[1].on = 0;
    check_refused(p, "rank 9, action 2 (calc 500) fits no pattern: ranks like it wait for other "
                     "actions");
    p = mlt_goal_program_new(3);
    check_refused(p, "the program has 3 ranks; a pattern shows from 4 ranks on");
    p = ring_of(16);
    mlt_goal_action exec = {
        .kind = MLT_GOAL_EXEC, .op = MLT_OP_SUM, .type = MLT_OP_INT8, .size = {1, 1}};
    mlt_goal_add(p, 2, &exec);
    check_refused(p,
                  "rank 2, action 17 (exec sumInt8 with 0,1 0,1) works on memory; sends, receives, "
                  "calc and nop can be extrapolated (`millet goal fmt --dialect loggopsim` makes "
                  "them of all actions)");
}

static void check_refused_goal(phase *one, const shape *s, uint32_t ranks, const char *wanted)
{
    char why[512];
    mlt_goal_program *p = program_of(s, &one, 1);
    mlt_grow *pattern = pattern_of(p);
    CHECK(mlt_grow_aim(pattern, ranks, MLT_GROW_WEAK, why, sizeof why) == MLT_ERR_INVALID);
    check_same_text("a goal that is refused", why, wanted);
    mlt_grow_free(pattern);
    mlt_goal_program_free(p);
}

static void check_goals(void)
{
    check_refused_goal(ring, &row64, 8, "8 ranks are fewer than the 64 of the recording");
    check_refused_goal(
        butterfly, &row8, 24,
        "the pattern has partners that differ in one bit, so that the number of ranks "
        "should be a power of 2, not 24");
    check_refused_goal(
        stencil, &square16, 17,
        "17 ranks make no grid like that of the recording: a grid of 4x4, 9 kinds of "
        "ranks, 0 loops");
}

// ---- sizes and times

static void scale_program(mlt_goal_program *p, double calcs, double bytes)
{
    for (uint32_t r = 0; r < p->ranks; r++)
        for (uint32_t a = 0; a < p->rank[r].count; a++) {
            mlt_goal_action *action = &p->rank[r].actions[a];
            if (action->kind == MLT_GOAL_CALC)
                action->size[0] = (uint64_t)(calcs * (double)action->size[0] + 0.5);
            else if (action->kind != MLT_GOAL_NOP)
                action->size[0] = (uint64_t)(bytes * (double)action->size[0] + 0.5);
        }
}

static void check_not_joined(const mlt_goal_program *a, const mlt_goal_program *b,
                             const char *wanted)
{
    char why[1024];
    double error;
    uint32_t which;
    mlt_grow *pattern;
    CHECK(mlt_grow_join((const mlt_goal_program *[]){a, b}, 2, &pattern, &which, &error, why,
                        sizeof why) == MLT_ERR_INVALID);
    CHECK(!pattern);
    check_same_text("recordings that do not fit", why, wanted);
}

// The pattern of these, of which one is pattern `whose`, and what it gives for the last of all.
static void check_joined(mlt_goal_program *const *programs, uint32_t count, uint32_t whose,
                         const mlt_goal_program *wanted)
{
    char why[1024] = "";
    double error = 1;
    uint32_t which = UINT32_MAX;
    mlt_grow *pattern = NULL;
    mlt_status status = mlt_grow_join((const mlt_goal_program *const *)programs, count, &pattern,
                                      &which, &error, why, sizeof why);
    check_same_text("recordings that fit", why, "");
    CHECK(status == MLT_OK && which == whose && error < 1e-9);
    mlt_goal_program *got = grown(pattern, wanted->ranks, MLT_GROW_WEAK);
    CHECK(mlt_goal_program_equal(got, wanted));
    mlt_goal_program_free(got);
    mlt_grow_free(pattern);
}

// Three recordings of a grid whose work stays as a whole: calc falls by 1/P, messages by 1/sqrt(P).
static void check_laws(void)
{
    static const shape shapes[] = {{16, {4, 4, 1}}, {64, {8, 8, 1}}, {256, {16, 16, 1}}};
    phase *const phases[] = {torus, calc};
    mlt_goal_program *programs[3];
    for (int i = 0; i < 3; i++) {
        programs[i] = program_of(&shapes[i], phases, 2);
        scale_program(programs[i], 25600.0 / shapes[i].ranks, 16.0 / shapes[i].size[0]);
    }
    check_joined(programs, 2, 1, programs[2]);
    check_joined(programs, 3, 2, programs[2]);
    mlt_grow *single = pattern_of(programs[0]);
    mlt_goal_program *got = grown(single, 256, MLT_GROW_STRONG);
    CHECK(mlt_goal_program_equal(got, programs[2]));
    mlt_goal_program_free(got);
    mlt_grow_free(single);

    check_not_joined(programs[1], programs[0],
                     "recordings should have growing numbers of ranks, but 64 come before 16");
    scale_program(programs[1], 1, 1.7);
    check_not_joined(programs[0], programs[1],
                     "messages of 3200 bytes on 16 ranks have 2720 on 64, which is no law that is "
                     "known: constant, 1/P, 1/P^2, P, log P, or the surface of a part of the grid");
    mlt_goal_program *other = program_of(&shapes[1], (phase *[]){torus, ring}, 2);
    check_not_joined(programs[0], other,
                     "the recordings of 16 and 64 ranks have different patterns: rank 0, action 9 "
                     "(calc 800000) of those with 16 does not fit that of 64");
    mlt_goal_program_free(other);
    for (int i = 0; i < 3; i++)
        mlt_goal_program_free(programs[i]);
}

// ---- recordings of a barrier and a reduction by way of rank 0, and a tree

static void collect(writer *w, bool answer, uint64_t size, int32_t tag)
{
    for (uint32_t r = 1; r < w->s->ranks && !w->rank; r++)
        put(w, MLT_GOAL_RECV, r, size, tag);
    for (uint32_t r = 1; r < w->s->ranks && !w->rank && answer; r++)
        put(w, MLT_GOAL_SEND, r, size, tag);
    if (w->rank)
        put(w, MLT_GOAL_SEND, 0, size, tag);
    if (w->rank && answer)
        put(w, MLT_GOAL_RECV, 0, size, tag);
}

static void barrier(writer *w)
{
    collect(w, true, 0, 0);
}

static void reduce(writer *w)
{
    collect(w, false, 8, 1);
}

static void tree_up(writer *w) // the children bring theirs, and the parent answers
{
    uint32_t n = w->s->ranks, low = w->rank & (0u - w->rank);
    for (uint32_t way = 0; way < 2; way++) {
        if (way && w->rank)
            put(w, MLT_GOAL_RECV, w->rank - low, 24, 2);
        for (uint32_t v = 1; w->rank + v < n && (!w->rank || v < low); v *= 2)
            put(w, way ? MLT_GOAL_SEND : MLT_GOAL_RECV, w->rank + v, 24, 2);
        if (!way && w->rank)
            put(w, MLT_GOAL_SEND, w->rank - low, 24, 2);
    }
}

static void check_recordings(void)
{
    phase *const phases[] = {calc, barrier, calc, reduce, calc, tree_up};
    static const shape row4 = {4, {4, 1, 1}}, row5 = {5, {5, 1, 1}}, row16 = {16, {16, 1, 1}};
    const shape *const shapes[] = {&row4, &row5, &row8, &row11, &row16, &row29, &row64};
    enum { ALL = sizeof shapes / sizeof *shapes };
    mlt_goal_program *programs[ALL];
    for (int i = 0; i < ALL; i++)
        programs[i] = program_of(shapes[i], phases, 6);
    for (uint32_t i = 0; i + 1 < ALL; i++)
        for (uint32_t count = 2; i + count < ALL; count++)
            check_joined(programs + i, count, count - 1, programs[ALL - 1]);
    for (int i = 0; i < ALL; i++)
        mlt_goal_program_free(programs[i]);
    for (int i = 0; i < ALL - 1; i++)
        check_grows("barrier and reduce", shapes[i], &row64, phases, 6);
    // What the whole work is divides; what goes by way of one rank stays, at both ends.
    mlt_goal_program *few = program_of(&row8, phases, 6), *many = program_of(&row64, phases, 6);
    scale_program(few, 8, 1);
    mlt_grow *pattern = pattern_of(few);
    mlt_goal_program *got = grown(pattern, 64, MLT_GROW_STRONG);
    CHECK(mlt_goal_program_equal(got, many));
    mlt_goal_program_free(got);
    mlt_goal_program_free(few);
    mlt_goal_program_free(many);
    mlt_grow_free(pattern);
}

// Loops whose first times round wait for something else than later ones.
static void check_windows(void)
{
    static phase *const all[] = {window1, window2,      window3,     window3_late,
                                 window4, window2_free, window3_free};
    static const shape row16 = {16, {16, 1, 1}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        phase *const phases[] = {calc, barrier, calc, all[i], calc, tree_up};
        check_one("window", all[i], &row8, &row64);
        check_grows("window", &row8, &row16, phases, 6);
        check_grows("window", &row11, &row29, phases, 6);
        check_grows("window", &row16, &row64, phases, 6);
        mlt_goal_program *programs[] = {program_of(&row8, phases, 6), program_of(&row16, phases, 6),
                                        program_of(&row64, phases, 6)};
        check_joined(programs, 2, 1, programs[2]);
        for (int p = 0; p < 3; p++)
            mlt_goal_program_free(programs[p]);
    }
}

static void check_no_window(mlt_goal_program *p, const char *receive)
{
    char wanted[200];
    snprintf(wanted, sizeof wanted,
             "rank 0, %s fits no pattern: ranks like it wait for other actions", receive);
    check_refused(p, wanted);
}

// A receive of rank 0 waits for the action before the loop, too or instead.
static mlt_goal_program *odd_window(phase *one, uint32_t ranks, uint32_t receive, bool instead)
{
    const shape s = {ranks, {ranks, 1, 1}};
    mlt_goal_program *p = program_of(&s, (phase *[]){calc, one}, 2);
    mlt_goal_rank *rank = &p->rank[0];
    for (uint32_t d = 0; d < rank->deps_count; d++)
        if (instead && rank->deps[d].action == receive)
            rank->deps[d].on = 0;
    if (!instead)
        mlt_goal_require(p, 0, receive, 0);
    return p;
}

static void check_no_windows(void)
{
    // The window shows in the last round alone, which may be odd.
    check_no_window(odd_window(window3_late, 5, 1, true), "action 5 (recv none,8 from 3 tag 80)");
    // One in the middle is odd, and the last one.
    check_no_window(odd_window(window3_late, 16, 9, true), "action 9 (recv none,8 from 5 tag 80)");
    check_no_window(odd_window(window3_late, 16, 29, true),
                    "action 29 (recv none,8 from 15 tag 80)");
    // No other rule begins where that of the first ones ends.
    check_no_window(odd_window(window2_free, 16, 5, false), "action 7 (recv none,8 from 4 tag 80)");
}

int main(void)
{
    check_each();
    check_mixed();
    check_odd();
    check_goals();
    check_laws();
    check_recordings();
    check_windows();
    check_no_windows();
    return 0;
}
