// SPDX-License-Identifier: BSD-3-Clause
// Lowering: the paper's figures; schedules of reductions between workers and hosts, proven by the
// checker of GOAL; and random graphs, through which tokens are pushed as written and as lowered:
// every queue must get the same.
#include "flow/lower/lower.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "fiber/sanitize.h"
#include "flow/place/hand_test.h"
#include "judge/check/check.h"

static const flow_op in_order = {.name = "chain", .ordered = true};

static mlt_flow_placing *place(const mlt_flow_graph *g, const mlt_flow_sites *s)
{
    char why[400] = "";
    mlt_flow_placing *p = mlt_flow_place(g, s, why, sizeof why);
    CHECK(p);
    return p;
}

// ---- proofs

static bool in_rank_order(const mlt_flow_reduction *r, bool commutes)
{
    mlt_coll_shape shape = {.count = 3, .op = MLT_OP_SUM, .type = MLT_OP_FLOAT64};
    if (!commutes) {
        shape.op = MLT_OPS;
        shape.element = 5;
    }
    mlt_goal_program *program = mlt_goal_program_new(r->members);
    for (uint32_t i = 0; i < r->members; i++)
        mlt_flow_reduction_emit(r, &shape, program, i);
    mlt_goal_spec is = {.collective = MLT_COLL_REDUCE_TO,
                        .bytes = commutes ? 24 : 15,
                        .op = shape.op,
                        .type = shape.type,
                        .element = commutes ? 8 : 5,
                        .commutes = commutes,
                        .contributes = r->contributes,
                        .receives = r->receives};
    mlt_goal_verdict *v = mlt_goal_check(program, &(mlt_goal_check_options){.is = &is, .limit = 3});
    if (!mlt_goal_verdict_ok(v))
        mlt_goal_verdict_print(v, stderr);
    CHECK(mlt_goal_verdict_ok(v) && v->same_everywhere);
    bool result = v->in_rank_order;
    mlt_goal_verdict_free(v);
    mlt_goal_program_free(program);
    return result;
}

static bool receives_at_all(const mlt_flow_reduction *r)
{
    for (uint32_t i = 0; i < r->members; i++)
        if (r->receives[i])
            return true;
    return false;
}

static void prove(const mlt_flow_lowered *l)
{
    for (uint32_t i = 0; i < l->reduction_count; i++) {
        const mlt_flow_reduction *r = &l->reductions[i];
        const flow_op *op = mlt_flow_vector_of(l->graph, r->node)->op;
        bool ordered = op && op->ordered;
        CHECK(r->members > 0 && (r->members > 1 || r->plan.count == 0));
        for (uint32_t m = 0; m < r->members; m++) {
            const mlt_flow_task *t = &l->tasks[r->task[m]];
            CHECK(t->kind == MLT_FLOW_REDUCE && t->reduction == i && t->node == r->node);
            CHECK(t->worker == r->worker[m] && (!m || r->worker[m - 1] < r->worker[m]));
            if (r->members > 1) {
                CHECK(r->contributes[m] == (l->in.first[r->task[m] + 1] > l->in.first[r->task[m]]));
                CHECK(r->receives[m] == (l->out.first[r->task[m] + 1] > l->out.first[r->task[m]]));
            }
        }
        if (r->members > 1 && receives_at_all(r))
            CHECK(in_rank_order(r, !ordered) || !ordered);
    }
}

// ---- figures

// Lines as "p[0].out>r1@0 ...", tasks that are no modules with their worker.
static const char *lines_of(const mlt_flow_lowered *l)
{
    static char text[4000];
    size_t used = 0;
    *text = 0;
    for (uint32_t i = 0; i < l->line_count; i++)
        for (int end = 0; end < 2; end++) {
            const mlt_flow_line *line = &l->lines[i];
            const mlt_flow_task *t = &l->tasks[end ? line->to : line->from];
            char name[100];
            mlt_flow_node_name(l->graph, t->node, name, sizeof name);
            size_t at = strlen(name);
            if (t->kind == MLT_FLOW_MODULE)
                snprintf(name + at, sizeof name - at, ".%s",
                         hand_queues[end ? line->in : line->out].name);
            else
                snprintf(name + at, sizeof name - at, "@%u", t->worker);
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                     end ? ">"
                                     : i ? " "
                                         : "",
                                     name);
        }
    return text;
}

// Plans as "0>1 1=2 2:3": gives, meet, tells; workers.
static const char *plan_of(const mlt_flow_reduction *r)
{
    static char text[1000];
    size_t used = 0;
    *text = 0;
    for (uint32_t i = 0; i < r->plan.count; i++) {
        mlt_reduce_to_edge e = r->plan.edges[i];
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%u%c%u", i ? " " : "",
                                 r->worker[e.from], ">=:"[e.kind], r -> worker[e.to]);
    }
    return text;
}

static void expect(const char *got, const char *expected)
{
    if (strcmp(got, expected))
        fprintf(stderr, "%s\nnot %s\n", got, expected);
    CHECK(!strcmp(got, expected));
}

// p ||| r1(sum) ||| p[0], p[2];  p[1:2].outQueue1 ||| r2(multiply) ||| p[3];
static mlt_flow_graph *figure_5(void)
{
    mlt_flow_graph *g = hand_new();
    uint32_t p = hand_add(g, "p", MLT_FLOW_MODULE, 4, 1);
    uint32_t r1 = hand_add(g, "r1", MLT_FLOW_REDUCE, 0, 0);
    uint32_t r2 = hand_add(g, "r2", MLT_FLOW_REDUCE, 0, 0);
    for (uint32_t i = 0; i < 4; i++)
        hand_wire(g, p + i, 1, r1, 0);
    hand_wire(g, r1, 0, p, 0);
    hand_wire(g, r1, 0, p + 2, 0);
    hand_wire(g, p + 1, 3, r2, 0);
    hand_wire(g, p + 2, 3, r2, 0);
    hand_wire(g, r2, 0, p + 3, 0);
    return hand_done(g);
}

static void test_figures_5_and_7(void)
{
    mlt_flow_graph *g = figure_5();
    mlt_flow_sites *s = hand_sites(4, 1, 1);
    mlt_flow_placing *p = place(g, s);
    // Figure 7(a): a part on each node concerned.
    mlt_flow_lowered *l = mlt_flow_lower(g, p, &(mlt_flow_lowering){.balance = true, .keep = true});
    expect(lines_of(l), "p[0].out>r1@0 p[1].out>r1@1 p[2].out>r1@2 p[3].out>r1@3 "
                        "r1@0>p[0].in r1@2>p[2].in "
                        "p[1].out2>r2@1 p[2].out2>r2@2 r2@3>p[3].in");
    CHECK(l->task_count == 4 + 4 + 3 && l->removed == 0 && l->reduction_count == 2);
    expect(plan_of(&l->reductions[0]), "1>0 3>2 0=2");
    // Figure 6: node 2 has received for r1, so it sends for r2.
    expect(plan_of(&l->reductions[1]), "2>1 1:3");
    CHECK(l->reductions[0].rounds == 2 && l->reductions[1].rounds == 2);
    char name[50];
    expect(mlt_flow_task_name(l, 0, name, sizeof name), "p[0]");
    expect(mlt_flow_task_name(l, 5, name, sizeof name), "r1 on worker 1");
    prove(l);
    mlt_flow_lowered_free(l);
    // Without the load of r1, r2 is done at node 1 by its number.
    l = mlt_flow_lower(g, p, &(mlt_flow_lowering){.keep = true});
    expect(plan_of(&l->reductions[1]), "2>1 1:3");
    mlt_flow_lowered_free(l);
    // Figure 7(b): p[1] and p[3] send to where r1 is combined; r2 needs one part only.
    l = mlt_flow_lower(g, p, &(mlt_flow_lowering){.balance = true});
    expect(lines_of(l), "p[0].out>r1@0 p[1].out>r1@0 p[2].out>r1@2 p[3].out>r1@2 "
                        "r1@0>p[0].in r1@2>p[2].in "
                        "p[1].out2>r2@1 p[2].out2>r2@1 r2@1>p[3].in");
    CHECK(l->task_count == 4 + 2 + 1 && l->removed == 4);
    expect(plan_of(&l->reductions[0]), "0=2");
    expect(plan_of(&l->reductions[1]), "");
    CHECK(l->lines[0].cap == MLT_FLOW_CAP && l->lines[6].cap == 9);
    prove(l);
    mlt_flow_lowered_free(l);
    // Reproducible: each is one part.
    l = mlt_flow_lower(g, p, &(mlt_flow_lowering){.balance = true, .reproducible = true});
    expect(lines_of(l), "p[0].out>r1@0 p[1].out>r1@0 p[2].out>r1@0 p[3].out>r1@0 "
                        "r1@0>p[0].in r1@0>p[2].in "
                        "p[1].out2>r2@1 p[2].out2>r2@1 r2@1>p[3].in");
    CHECK(l->reductions[0].members == 1 && l->reductions[0].rounds == 0);
    mlt_flow_lowered_free(l);
    mlt_flow_placing_free(p);
    mlt_flow_sites_free(s);
    // On one worker: one part each.
    s = hand_sites(1, 4, 1);
    p = place(g, s);
    l = mlt_flow_lower(g, p, &(mlt_flow_lowering){.balance = true});
    CHECK(l->task_count == 4 + 2 && l->reduction_count == 2 && l->removed == 0);
    prove(l);
    mlt_flow_lowered_free(l);
    mlt_flow_placing_free(p);
    mlt_flow_sites_free(s);
    hand_free(g);
    mlt_flow_lowered_free(NULL);
}

// Eight contributors, 0 to 7; 0, 1, 8, 9 and 10 receive (1, 2, 9, 10, 11 in the paper).
static void test_figure_4(void)
{
    mlt_flow_graph *g = hand_new();
    uint32_t p = hand_add(g, "p", MLT_FLOW_MODULE, 11, 1);
    uint32_t r = hand_add(g, "r", MLT_FLOW_REDUCE, 0, 0);
    for (uint32_t i = 0; i < 8; i++)
        hand_wire(g, p + i, 1, r, 0);
    const uint32_t to[] = {0, 1, 8, 9, 10};
    for (uint32_t i = 0; i < 5; i++)
        hand_wire(g, r, 0, p + to[i], 0);
    hand_done(g);
    mlt_flow_sites *s = hand_sites(11, 1, 1);
    mlt_flow_placing *at = place(g, s);
    mlt_flow_lowered *l = mlt_flow_lower(g, at, &(mlt_flow_lowering){.keep = true});
    expect(plan_of(&l->reductions[0]), "4>0 5>1 6>2 7>3 0=1 2=3 0=2 3>1 0:8 1:9 2:10");
    CHECK(l->reductions[0].rounds == 4);
    prove(l);
    mlt_flow_lowered_free(l);
    // Those that have one message are left out.
    l = mlt_flow_lower(g, at, &(mlt_flow_lowering){0});
    expect(plan_of(&l->reductions[0]), "0=1 2=3 0=2 3>1");
    CHECK(l->removed == 7 && l->reductions[0].members == 4);
    CHECK(l->reductions[0].receives[2] && !l->reductions[0].receives[3]); // 2 tells 10
    prove(l);
    mlt_flow_lowered_free(l);
    mlt_flow_placing_free(at);
    mlt_flow_sites_free(s);
    hand_free(g);
}

// ---- what only hands on

static mlt_flow_lowered *lower_on(mlt_flow_graph *g, uint32_t workers, bool keep,
                                  mlt_flow_placing **p)
{
    *p = place(g, hand_sites(workers, 1, 1));
    return mlt_flow_lower(g, *p, &(mlt_flow_lowering){.balance = true, .keep = keep});
}

static void forget(mlt_flow_lowered *l, mlt_flow_placing *p)
{
    mlt_flow_sites_free((mlt_flow_sites *)p->sites);
    mlt_flow_placing_free(p);
    mlt_flow_lowered_free(l);
}

// a -> x -> b for every collective x, which has nothing to do.
static void test_passing(void)
{
    for (int kind = MLT_FLOW_REDUCE; kind < MLT_FLOW_KINDS; kind++) {
        mlt_flow_graph *g = hand_new();
        uint32_t a = hand_add(g, "a", MLT_FLOW_MODULE, 0, 1);
        uint32_t b = hand_add(g, "b", MLT_FLOW_MODULE, 0, 1);
        uint32_t x = hand_add(g, "x", (mlt_flow_kind)kind, 0, 0);
        hand_wire(g, a, 3, x, 0);
        hand_wire(g, x, 0, b, 2);
        hand_done(g);
        mlt_flow_placing *p;
        mlt_flow_lowered *l = lower_on(g, 2, false, &p);
        expect(lines_of(l), "a.out2>b.in2");
        CHECK(l->removed == 1 && l->lines[0].edge == 1 && l->lines[0].cap == 7);
        forget(l, p);
        l = lower_on(g, 1, true, &p);
        expect(lines_of(l), "a.out2>x@0 x@0>b.in2");
        CHECK(l->removed == 0 && l->tasks[2].kind == kind);
        forget(l, p);
        hand_free(g);
    }
}

// Several go through a Broadcast to one: a module merges them, a Reduce does not.
static void test_merging(void)
{
    for (int to_reduce = 0; to_reduce < 2; to_reduce++) {
        mlt_flow_graph *g = hand_new();
        uint32_t a = hand_add(g, "a", MLT_FLOW_MODULE, 3, 1);
        uint32_t b = hand_add(g, "b", MLT_FLOW_BROADCAST, 2, 0);
        uint32_t r = hand_add(g, "r", MLT_FLOW_REDUCE, 0, 0);
        hand_wire(g, a, 1, b, 0);
        hand_wire(g, a + 1, 1, b, 0);
        hand_wire(g, b, 0, b + 1, 0); // two of them, one behind the other
        hand_wire(g, b + 1, 0, to_reduce ? r : a + 2, 0);
        if (to_reduce) {
            hand_wire(g, a + 2, 1, r, 0);
            hand_wire(g, r, 0, a + 2, 0);
        }
        hand_done(g);
        mlt_flow_placing *p;
        mlt_flow_lowered *l = lower_on(g, 1, false, &p);
        expect(lines_of(l), to_reduce ? "a[0].out>b[0]@0 a[1].out>b[0]@0 b[0]@0>r@0 "
                                        "a[2].out>r@0 r@0>a[2].in"
                                      : "a[0].out>a[2].in a[1].out>a[2].in");
        forget(l, p);
        hand_free(g);
    }
}

// A Broadcast behind a Reduce or another Broadcast is part of it.
static void test_taken_in(void)
{
    for (int reduce = 0; reduce < 2; reduce++) {
        mlt_flow_graph *g = hand_new();
        uint32_t a = hand_add(g, "a", MLT_FLOW_MODULE, 4, 1);
        uint32_t r = hand_add(g, "r", reduce ? MLT_FLOW_REDUCE : MLT_FLOW_BROADCAST, 0, 0);
        uint32_t b = hand_add(g, "b", MLT_FLOW_BROADCAST, 2, 0);
        hand_wire(g, a, 1, r, 0);
        hand_wire(g, a + 1, 1, r, 0);
        hand_wire(g, r, 0, b, 0);
        hand_wire(g, b, 0, a + 2, 0);
        hand_wire(g, b, 0, b + 1, 0);
        hand_wire(g, b + 1, 0, a + 3, 0);
        hand_wire(g, b + 1, 0, a + 1, 0);
        hand_done(g);
        mlt_flow_placing *p;
        mlt_flow_lowered *l = lower_on(g, 1, false, &p);
        // The first Broadcast has one way out, and passes; the second takes the third in.
        expect(lines_of(l), reduce ? "a[0].out>r@0 a[1].out>r@0 "
                                     "r@0>a[2].in r@0>a[3].in r@0>a[1].in"
                                   : "a[0].out>b[0]@0 a[1].out>b[0]@0 "
                                     "b[0]@0>a[2].in b[0]@0>a[3].in b[0]@0>a[1].in");
        CHECK(l->removed == 2);
        forget(l, p);
        hand_free(g);
    }
}

// Collectives in a ring, which nothing ends; ones without anything before or behind them.
static void test_odd(void)
{
    mlt_flow_graph *g = hand_new();
    uint32_t a = hand_add(g, "a", MLT_FLOW_MODULE, 2, 1);
    uint32_t b = hand_add(g, "b", MLT_FLOW_BROADCAST, 4, 0);
    uint32_t r = hand_add(g, "r", MLT_FLOW_REDUCE, 3, 0);
    uint32_t d = hand_add(g, "d", MLT_FLOW_DEAL, 0, 0);
    hand_add(g, "c", MLT_FLOW_COLLECT, 0, 0);
    hand_wire(g, b, 0, b + 1, 0); // round, without beginning
    hand_wire(g, b + 1, 0, b, 0);
    hand_wire(g, a, 1, b + 2, 0); // round, with one
    hand_wire(g, b + 2, 0, b + 3, 0);
    hand_wire(g, b + 3, 0, b + 2, 0);
    hand_wire(g, r, 0, a, 0); // nobody contributes
    hand_wire(g, r, 0, a + 1, 0);
    hand_wire(g, a, 3, r + 1, 0); // nobody receives
    hand_wire(g, a + 1, 3, r + 1, 0);
    hand_wire(g, a + 1, 1, d, 0);
    hand_done(g);
    for (uint32_t workers = 1; workers <= 3; workers++)
        for (int keep = 0; keep < 2; keep++) {
            mlt_flow_placing *p;
            mlt_flow_lowered *l = lower_on(g, workers, keep, &p);
            for (uint32_t i = 0; i < l->line_count; i++)
                CHECK(l->lines[i].from < l->task_count && l->lines[i].to < l->task_count);
            CHECK(l->reduction_count == 1);
            prove(l);
            forget(l, p);
        }
    hand_free(g);
}

// A Deal's order and a Collect's are both kept where they do not agree.
static void test_twisted(void)
{
    mlt_flow_graph *g = hand_new();
    uint32_t a = hand_add(g, "a", MLT_FLOW_MODULE, 2, 1);
    uint32_t d = hand_add(g, "d", MLT_FLOW_DEAL, 0, 0);
    uint32_t b = hand_add(g, "b", MLT_FLOW_BROADCAST, 2, 0);
    uint32_t c = hand_add(g, "c", MLT_FLOW_COLLECT, 0, 0);
    hand_wire(g, a, 1, d, 0);
    hand_wire(g, d, 0, b, 0);
    hand_wire(g, d, 0, b + 1, 0);
    hand_wire(g, b + 1, 0, c, 0);
    hand_wire(g, b, 0, c, 0);
    hand_wire(g, c, 0, a + 1, 0);
    hand_done(g);
    mlt_flow_placing *p;
    mlt_flow_lowered *l = lower_on(g, 1, false, &p);
    expect(lines_of(l), "a[0].out>d@0 d@0>b[0]@0 d@0>b[1]@0 b[1]@0>c@0 b[0]@0>c@0 c@0>a[1].in");
    forget(l, p);
    hand_free(g);
}

// ---- reductions between workers and hosts

// Modules on given workers; who contributes and receives by chance. Returns the graph.
static mlt_flow_graph *random_reductions(uint32_t workers, uint32_t count, const flow_op *op)
{
    mlt_flow_graph *g = hand_new();
    uint32_t modules = 1 + below(3 * workers), out = 0;
    hand_add(g, "p", MLT_FLOW_MODULE, modules, 1);
    for (uint32_t n = 0; n < modules; n++)
        if (below(4)) // else anywhere; most are where a block would not have them
            hand_pin(g, n, NULL, below(workers), 1);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t r = hand_add(g, "r", MLT_FLOW_REDUCE, 0, 0);
        g->vectors[g->vector_count - 1].op = op;
        uint32_t odds = 1 + below(4), from = below(modules);
        for (uint32_t n = 0; n < modules; n++)
            if (n == from || below(4) < odds)
                hand_wire(g, n, (uint16_t)out, r, 0);
        uint32_t to = below(modules);
        for (uint32_t n = 0; n < modules; n++)
            if (n == to || below(4) < odds)
                hand_wire(g, r, 0, n, 0);
        out++;
    }
    return hand_done(g);
}

// Messages of the plan that leave a host: no more than one from each host but one, and one to each
// host, if hosts are few; that is what the two levels are for.
static void check_hosts(const mlt_flow_lowered *l, const mlt_flow_reduction *r)
{
    const uint32_t *host = l->placing->sites->host_of;
    uint32_t speaks[8][64] = {{0}}, hosts = l->placing->sites->host_count;
    for (uint32_t i = 0; i < r->plan.count; i++) {
        mlt_reduce_to_edge e = r->plan.edges[i];
        uint32_t a = r->worker[e.from], b = r->worker[e.to];
        if (host[a] != host[b])
            speaks[host[a]][a] = speaks[host[b]][b] = 1;
    }
    for (uint32_t h = 0; h < hosts; h++) {
        uint32_t count = 0;
        for (uint32_t w = 0; w < 64; w++)
            count += speaks[h][w];
        CHECK(count <= 2); // who speaks, and who listens
    }
}

static void test_reductions(void)
{
    for (now_seed = 1; now_seed <= (MLT_SANITIZED ? 300 : 1500); now_seed++) {
        random_state = now_seed;
        uint32_t workers = 1 + below(17), hosts = 1 + below(4);
        hosts = hosts < workers ? hosts : workers;
        bool ordered = now_seed % 3 == 0;
        mlt_flow_graph *g = random_reductions(workers, 1 + below(4), ordered ? &in_order : NULL);
        mlt_flow_sites *s = hand_sites(workers, 1, hosts);
        mlt_flow_placing *p = place(g, s);
        mlt_flow_lowered *l = mlt_flow_lower(
            g, p, &(mlt_flow_lowering){.balance = now_seed % 2, .keep = now_seed % 5 == 0});
        prove(l);
        for (uint32_t i = 0; i < l->reduction_count; i++)
            check_hosts(l, &l->reductions[i]);
        mlt_flow_lowered_free(l);
        mlt_flow_placing_free(p);
        mlt_flow_sites_free(s);
        hand_free(g);
    }
    now_seed = 0;
}

// An operation that does not commute is spread if contributors lie in order, else it is one part.
static void test_ordered(void)
{
    for (int twisted = 0; twisted < 2; twisted++) {
        mlt_flow_graph *g = hand_new();
        uint32_t a = hand_add(g, "a", MLT_FLOW_MODULE, 6, 1);
        uint32_t r = hand_add(g, "r", MLT_FLOW_REDUCE, 0, 0);
        g->vectors[g->vector_count - 1].op = &in_order;
        for (uint32_t i = 0; i < 6; i++)
            hand_wire(g, a + (twisted ? 5 - i : i), 1, r, 0);
        hand_wire(g, r, 0, a + 5, 0);
        hand_done(g);
        mlt_flow_placing *p;
        mlt_flow_lowered *l = lower_on(g, 3, false, &p);
        expect(plan_of(&l->reductions[0]), twisted ? "" : "1>0 2>0 0:2");
        CHECK(l->reductions[0].members == (twisted ? 1 : 3));
        prove(l);
        forget(l, p);
        hand_free(g);
    }
}

// Many reductions to one each: with the load, the work is shared.
static void test_balance(void)
{
    uint32_t most[2];
    for (int balance = 0; balance < 2; balance++) {
        mlt_flow_graph *g = hand_new();
        uint32_t p = hand_add(g, "p", MLT_FLOW_MODULE, 9, 1), in[9] = {0};
        for (uint32_t k = 0; k < 8; k++) {
            uint32_t r = hand_add(g, "r", MLT_FLOW_REDUCE, 0, 0);
            for (uint32_t i = 0; i < 8; i++)
                hand_wire(g, p + i, (uint16_t)k, r, 0);
            hand_wire(g, r, 0, p + 8, 0);
        }
        hand_done(g);
        mlt_flow_placing *at = place(g, hand_sites(9, 1, 1));
        mlt_flow_lowered *l =
            mlt_flow_lower(g, at, &(mlt_flow_lowering){.balance = balance, .keep = true});
        for (uint32_t k = 0; k < l->reduction_count; k++)
            for (uint32_t i = 0; i < l->reductions[k].plan.count; i++)
                in[l->reductions[k].worker[l->reductions[k].plan.edges[i].to]]++;
        most[balance] = 0;
        for (uint32_t w = 0; w < 8; w++)
            most[balance] = in[w] > most[balance] ? in[w] : most[balance];
        forget(l, at);
        hand_free(g);
    }
    CHECK(most[0] == 24 && most[1] <= 8);
}

// ---- broadcasts

// At most one line leads into each worker, and into each host, whatever is left out.
static void test_broadcasts(void)
{
    for (now_seed = 1; now_seed <= 500; now_seed++) {
        random_state = now_seed;
        uint32_t workers = 1 + below(17), hosts = 1 + below(4), n = 1 + below(40);
        bool keep = below(2), reproducible = below(2);
        hosts = hosts < workers ? hosts : workers;
        mlt_flow_graph *g = hand_new();
        uint32_t s = hand_add(g, "s", MLT_FLOW_MODULE, 2, 1);
        uint32_t q = hand_add(g, "q", MLT_FLOW_MODULE, n, 1);
        uint32_t b = hand_add(g, "b", reproducible ? MLT_FLOW_REDUCE : MLT_FLOW_BROADCAST, 0, 0);
        hand_wire(g, s, 1, b, 0);
        if (reproducible)
            hand_wire(g, s + 1, 1, b, 0);
        for (uint32_t i = 0; i < n; i++) {
            hand_wire(g, b, 0, q + i, 0);
            hand_pin(g, q + i, NULL, below(workers), 1);
        }
        hand_pin(g, s, NULL, below(workers), 1);
        hand_done(g);
        mlt_flow_sites *sites = hand_sites(workers, 1, hosts);
        mlt_flow_placing *p = place(g, sites);
        mlt_flow_lowered *l =
            mlt_flow_lower(g, p, &(mlt_flow_lowering){.keep = keep, .reproducible = reproducible});
        uint32_t into[17] = {0}, into_host[4] = {0};
        for (uint32_t i = 0; i < l->line_count; i++) {
            uint32_t from = l->tasks[l->lines[i].from].worker;
            uint32_t to = l->tasks[l->lines[i].to].worker;
            bool contributes = reproducible && l->lines[i].from < 2;
            if (from != to && !contributes)
                CHECK(++into[to] == 1);
            if (sites->host_of[from] != sites->host_of[to] && !contributes)
                CHECK(++into_host[sites->host_of[to]] == 1);
        }
        for (uint32_t t = 2 + n; t < l->task_count && !keep; t++)
            CHECK(l->tasks[t].kind == MLT_FLOW_REDUCE || l->out.first[t + 1] - l->out.first[t] > 1);
        CHECK(!keep || !l->removed);
        mlt_flow_lowered_free(l);
        mlt_flow_placing_free(p);
        mlt_flow_sites_free(sites);
        hand_free(g);
    }
    now_seed = 0;
}

int main(void)
{
    test_figures_5_and_7();
    test_figure_4();
    test_passing();
    test_merging();
    test_taken_in();
    test_odd();
    test_twisted();
    test_reductions();
    test_ordered();
    test_balance();
    test_broadcasts();
    return 0;
}
