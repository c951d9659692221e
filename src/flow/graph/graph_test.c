// SPDX-License-Identifier: BSD-3-Clause
// The graph of roots that are wired in C: the paper's figures, joints, nested roots; every sentence
// about what is wrong; a large one; random ones against a simple model.
#include "flow/graph/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"

static const flow_queue_decl plain[] = {
    {.name = "in", .input = true, .optional = true},
    {.name = "out", .optional = true},
};
static const flow_queue_decl parallel[] = {
    {.name = "in", .input = true, .optional = true},
    {.name = "out", .optional = true},
    {.name = "outQueue1"},
};
static const flow_module Chemical = {
    .name = "Chemical", .file = "t.flow", .queues = plain, .queue_count = 2, .weight = 3};
static const flow_module Parallel = {
    .name = "Parallel", .file = "t.flow", .queues = parallel, .queue_count = 3};
static const flow_op sum = {.name = "sum"}, multiply = {.name = "multiply"};

#define ALL(v)                                                                                     \
    {                                                                                              \
        .vector = (v), .all = true                                                                 \
    }
#define AT(v, i)                                                                                   \
    {                                                                                              \
        .vector = (v), .first = (i), .last = (i)                                                   \
    }
#define SLICE(v, a, b)                                                                             \
    {                                                                                              \
        .vector = (v), .first = (a), .last = (b)                                                   \
    }
#define OP(v, o)                                                                                   \
    {                                                                                              \
        .vector = (v), .all = true, .op = (o)                                                      \
    }
#define STAGE(j, ...)                                                                              \
    {                                                                                              \
        .join = (j), .parts = (const flow_part[]){__VA_ARGS__},                                    \
        .count = sizeof((const flow_part[]){__VA_ARGS__}) / sizeof(flow_part)                      \
    }
#define WIRE(w, line, ...)                                                                         \
    flow_wire(w, line, (const flow_stage[]){__VA_ARGS__},                                          \
              sizeof((const flow_stage[]){__VA_ARGS__}) / sizeof(flow_stage))

// Edges as "p[0].out>r1 r1>p[0].in".
static const char *edges_of(const mlt_flow_graph *g)
{
    static char text[4000];
    size_t used = 0;
    *text = 0;
    for (uint32_t e = 0; e < g->edge_count; e++) {
        char from[200], to[200];
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s>%s", e ? " " : "",
                                 mlt_flow_out_name(g, &g->edges[e], from, sizeof from),
                                 mlt_flow_in_name(g, &g->edges[e], to, sizeof to));
    }
    return text;
}

// What was said: "4: sentence|5: warning: sentence".
static const char *said(const mlt_flow_graph *g)
{
    static char text[4000];
    size_t used = 0;
    *text = 0;
    for (uint32_t i = 0; i < g->sentence_count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%d: %s%s", i ? "|" : "",
                                 g->sentences[i].line, g->sentences[i].warning ? "warning: " : "",
                                 g->sentences[i].text);
    return text;
}

static void expect(const char *what, void (*wire)(flow_wiring *w), const char *edges,
                   const char *sentences)
{
    flow_root root = {.name = "Main", .file = "t.flow", .line = 1, .wire = wire};
    mlt_flow_graph *g = mlt_flow_graph_new(&root, NULL, 0);
    check_same_text(what, said(g), sentences);
    if (edges)
        check_same_text(what, edges_of(g), edges);
    mlt_flow_graph_free(g);
}

// ---- the paper

static void wire_figure_3(flow_wiring *w)
{
    int c = flow_add(w, 3, "c", &Chemical, flow_wiring_const(w, 2, "N", 3));
    int r = flow_add(w, 4, "r", &flow_Reduce, -1);
    WIRE(w, 6, STAGE(0, ALL(c)), STAGE(FLOW_JOIN, OP(r, &sum)));
}

static void wire_figure_5(flow_wiring *w)
{
    int p = flow_add(w, 3, "p", &Parallel, 4);
    int r1 = flow_add(w, 4, "r1", &flow_Reduce, -1);
    int r2 = flow_add(w, 4, "r2", &flow_Reduce, -1);
    WIRE(w, 6, STAGE(0, ALL(p)), STAGE(FLOW_JOIN, OP(r1, &sum)),
         STAGE(FLOW_JOIN, AT(p, 0), AT(p, 2)));
    WIRE(w, 7, STAGE(0, {.vector = p, .first = 1, .last = 2, .queue = "outQueue1"}),
         STAGE(FLOW_JOIN, OP(r2, &multiply)), STAGE(FLOW_JOIN, AT(p, 3)));
}

static void test_paper(void)
{
    expect("figure 3", wire_figure_3,
           "c[0].out>r c[1].out>r c[2].out>r r>c[0].in r>c[1].in r>c[2].in", "");
    expect("figure 5", wire_figure_5,
           "p[0].out>r1 p[1].out>r1 p[2].out>r1 p[3].out>r1 r1>p[0].in r1>p[2].in "
           "p[1].outQueue1>r2 p[2].outQueue1>r2 r2>p[3].in",
           "3: warning: outQueue1 of Parallel is wired in 2 of 4 instances only; not in p[0], "
           "for example");
}

static void test_shape(void)
{
    flow_root root = {.name = "Main", .file = "t.flow", .line = 1, .wire = wire_figure_3};
    mlt_flow_graph *g = mlt_flow_graph_new(&root, &(mlt_flow_given){"N", 16}, 1);
    char text[100];
    CHECK(g->errors == 0 && g->node_count == 17 && g->vector_count == 2 && g->edge_count == 32);
    CHECK(g->constant_count == 1 && g->constants[0].value == 16 && g->constants[0].overridden);
    CHECK(g->vectors[0].weight == 3 && g->vectors[1].weight == 0 && g->vectors[1].op == &sum);
    CHECK(g->vectors[1].kind == MLT_FLOW_REDUCE && g->vectors[1].scalar && !g->vectors[0].scalar);
    CHECK(strcmp(mlt_flow_node_name(g, 15, text, sizeof text), "c[15]") == 0);
    CHECK(strcmp(mlt_flow_node_name(g, 16, text, sizeof text), "r") == 0);
    CHECK(strcmp(mlt_flow_kind_name(MLT_FLOW_DEAL), "Deal") == 0);
    CHECK(g->in.first[17] == 32 && g->out.first[17] == 32);
    CHECK(g->in.first[17] - g->in.first[16] == 16 && g->out.first[17] - g->out.first[16] == 16);
    for (uint32_t i = 0; i < 16; i++) {
        CHECK(g->edges[g->in.list[g->in.first[16] + i]].from == i);
        CHECK(g->edges[g->out.list[g->out.first[16] + i]].to == i);
        CHECK(g->out.first[i + 1] - g->out.first[i] == 1);
    }
    mlt_flow_graph_free(g);
    mlt_flow_graph_free(NULL);
}

// ---- joints

static void wire_joints(flow_wiring *w)
{
    int s = flow_add(w, 1, "s", &Chemical, -1), p = flow_add(w, 2, "p", &Chemical, 5);
    int q = flow_add(w, 3, "q", &Chemical, 3), b = flow_add(w, 4, "b", &flow_Broadcast, -1);
    int c = flow_add(w, 5, "c", &flow_Collect, -1), r = flow_add(w, 6, "r", &flow_Reduce, 2);
    WIRE(w, 7, STAGE(0, ALL(s)), STAGE(FLOW_JOIN, ALL(b)), STAGE(FLOW_JOIN, AT(p, 1), ALL(q)));
    WIRE(w, 8, STAGE(0, {.vector = p, .first = 0, .last = 4, .step = 2}), STAGE(FLOW_EACH, ALL(q)));
    WIRE(w, 9, STAGE(0, SLICE(q, 0, 1)), STAGE(FLOW_JOIN, ALL(c)), STAGE(FLOW_JOIN, ALL(s)));
    WIRE(w, 10, STAGE(0, AT(p, 1), AT(p, 3)),
         STAGE(FLOW_EACH, {.vector = r, .first = 1, .last = 1, .op = &sum}),
         STAGE(FLOW_EACH, SLICE(p, 3, 4)));
    WIRE(w, 11, STAGE(0, AT(q, 2)), STAGE(FLOW_JOIN, AT(r, 0)));
}

static void test_joints(void)
{
    expect("joints", wire_joints,
           "s.out>b b>p[1].in b>q[0].in b>q[1].in b>q[2].in "
           "p[0].out>q[0].in p[2].out>q[1].in p[4].out>q[2].in "
           "q[0].out>c q[1].out>c c>s.in "
           "p[1].out>r[1] p[3].out>r[1] r[1]>p[3].in r[1]>p[4].in "
           "q[2].out>r[0] r[0]>q[2].in",
           "");
}

// A name in the middle is that of the side which has it.
static const flow_queue_decl two[] = {
    {.name = "in", .input = true},
    {.name = "more", .input = true},
    {.name = "out"},
    {.name = "rest", .optional = true},
};
static const flow_module Two = {.name = "Two", .file = "t.flow", .queues = two, .queue_count = 4};

static void wire_middle(flow_wiring *w)
{
    int p = flow_add(w, 1, "p", &Two, 3);
    WIRE(w, 2, STAGE(0, AT(p, 0)),
         STAGE(FLOW_JOIN, {.vector = p, .first = 1, .last = 1, .queue = "more"}),
         STAGE(FLOW_JOIN, {.vector = p, .first = 2, .last = 2, .queue = "rest"}),
         STAGE(FLOW_JOIN, AT(p, 0)));
}

static void test_middle(void)
{
    expect("middle", wire_middle, "p[0].out>p[1].more p[1].out>p[2].in p[2].rest>p[0].in",
           "1: warning: more of Two is wired in 1 of 3 instances only; not in p[0], for example");
}

// ---- nested roots

static const flow_queue_decl ports[] = {{.name = "in", .input = true}, {.name = "out"}};
#define OWN(name)                                                                                  \
    {                                                                                              \
        .vector = FLOW_OWN, .all = true, .queue = (name)                                           \
    }

static void wire_inner(flow_wiring *w)
{
    int p = flow_add(w, 11, "p", &Chemical, 2);
    WIRE(w, 12, STAGE(0, OWN("in")), STAGE(FLOW_JOIN, AT(p, 0)), STAGE(FLOW_JOIN, AT(p, 1)),
         STAGE(FLOW_JOIN, OWN("out")));
    flow_place(w, 13, (const flow_part[]){AT(p, 1)}, 1, "inside");
}
static const flow_root Inner = {.name = "Inner",
                                .file = "t.flow",
                                .line = 10,
                                .wire = wire_inner,
                                .queues = ports,
                                .queue_count = 2};

static void wire_outer(flow_wiring *w)
{
    int i = flow_add_root(w, 21, "i", &Inner, 2);
    WIRE(w, 22, STAGE(0, OWN("in")), STAGE(FLOW_JOIN, AT(i, 0)), STAGE(FLOW_JOIN, AT(i, 1)),
         STAGE(FLOW_JOIN, OWN("out")));
}
static const flow_root Outer = {.name = "Outer",
                                .file = "t.flow",
                                .line = 20,
                                .wire = wire_outer,
                                .queues = ports,
                                .queue_count = 2};

// Hands on what comes.
static void wire_through(flow_wiring *w)
{
    WIRE(w, 31, STAGE(0, OWN("in")), STAGE(FLOW_JOIN, OWN("out")));
}
static const flow_root Through = {.name = "Through",
                                  .file = "t.flow",
                                  .line = 30,
                                  .wire = wire_through,
                                  .queues = ports,
                                  .queue_count = 2};

static void wire_three_deep(flow_wiring *w)
{
    int s = flow_add(w, 1, "s", &Chemical, 2), o = flow_add_root(w, 2, "o", &Outer, 2);
    int t = flow_add_root(w, 3, "t", &Through, -1), e = flow_add(w, 4, "e", &Chemical, -1);
    WIRE(w, 5, STAGE(0, ALL(s)), STAGE(FLOW_EACH, ALL(o)), STAGE(FLOW_JOIN, ALL(t)),
         STAGE(FLOW_JOIN, ALL(e)));
}

static void test_nested(void)
{
    expect("three deep", wire_three_deep,
           "s[0].out>o[0].i[0].p[0].in o[0].i[0].p[0].out>o[0].i[0].p[1].in "
           "o[0].i[0].p[1].out>o[0].i[1].p[0].in o[0].i[1].p[0].out>o[0].i[1].p[1].in "
           "s[1].out>o[1].i[0].p[0].in o[1].i[0].p[0].out>o[1].i[0].p[1].in "
           "o[1].i[0].p[1].out>o[1].i[1].p[0].in o[1].i[1].p[0].out>o[1].i[1].p[1].in "
           "o[0].i[1].p[1].out>e.in o[1].i[1].p[1].out>e.in",
           "");
}

// Order at a collective is that of its own statement, through a root's queues too.
static void wire_ordered(flow_wiring *w)
{
    int p = flow_add(w, 11, "p", &Chemical, 2), d = flow_add(w, 12, "d", &flow_Deal, -1);
    int c = flow_add(w, 13, "c", &flow_Collect, -1);
    WIRE(w, 14, STAGE(0, OWN("in"), AT(p, 0)), STAGE(FLOW_JOIN, ALL(c)), STAGE(FLOW_JOIN, ALL(d)),
         STAGE(FLOW_JOIN, OWN("out"), AT(p, 1)));
}
static const flow_root Ordered = {.name = "Ordered",
                                  .file = "t.flow",
                                  .line = 10,
                                  .wire = wire_ordered,
                                  .queues = ports,
                                  .queue_count = 2};

static void wire_use_ordered(flow_wiring *w)
{
    int o = flow_add_root(w, 1, "o", &Ordered, -1), s = flow_add(w, 2, "s", &Chemical, 2);
    int e = flow_add(w, 3, "e", &Chemical, -1);
    WIRE(w, 4, STAGE(0, ALL(s)), STAGE(FLOW_JOIN, ALL(o)), STAGE(FLOW_JOIN, ALL(e)));
    flow_place(w, 5, (const flow_part[]){ALL(o)}, 1, "host1");
    flow_place(w, 6, (const flow_part[]){ALL(o), AT(s, 1)}, 2, "host1:3");
    flow_place(w, 7, (const flow_part[]){ALL(e)}, 1, "12");
}

static void test_order(void)
{
    flow_root root = {.name = "Main", .file = "t.flow", .line = 1, .wire = wire_use_ordered};
    mlt_flow_graph *g = mlt_flow_graph_new(&root, NULL, 0);
    char text[100];
    check_same_text("order", said(g), "");
    CHECK(g->vector_count == 5 && g->node_count == 7);
    uint32_t d = g->vectors[1].first, c = g->vectors[2].first;
    const char *into[] = {"s[0].out", "s[1].out", "o.p[0].out"}, *from[] = {"e.in", "o.p[1].in"};
    CHECK(g->in.first[c + 1] - g->in.first[c] == 3 && g->out.first[d + 1] - g->out.first[d] == 2);
    for (uint32_t i = 0; i < 3; i++)
        check_same_text(
            "into c",
            mlt_flow_out_name(g, &g->edges[g->in.list[g->in.first[c] + i]], text, sizeof text),
            into[i]);
    for (uint32_t i = 0; i < 2; i++)
        check_same_text(
            "out of d",
            mlt_flow_in_name(g, &g->edges[g->out.list[g->out.first[d] + i]], text, sizeof text),
            from[i]);
    CHECK(g->pin_count == 6); // all nodes of o, finer in the end; s[1]; e
    for (uint32_t i = 0; i < 5; i++)
        CHECK(strcmp(g->pins[i].host, "host1") == 0 && g->pins[i].place == 3);
    CHECK(!g->pins[5].host && g->pins[5].place == 12 && g->pins[5].node == 6);
    mlt_flow_graph_free(g);
}

// ---- what is wrong; what files can have too is in test/flow/wrong

static void wire_wrong_names(flow_wiring *w)
{
    static const flow_op none = {.name = "summ"}, none_near = {.name = "average"};
    int p = flow_add(w, 1, "p", &Chemical, 4), r = flow_add(w, 2, "r", &flow_Reduce, -1);
    flow_add(w, 3, "p", &Chemical, 2);
    WIRE(w, 4, STAGE(0, ALL(p)), STAGE(FLOW_JOIN, OP(r, &none)));
    WIRE(w, 5, STAGE(0, ALL(p)), STAGE(FLOW_JOIN, OP(r, &none_near)));
    WIRE(w, 6, STAGE(0, ALL(p)));
    WIRE(w, 7, STAGE(0, ALL(p)), STAGE(FLOW_JOIN, OWN("out")));
    flow_wiring_const(w, 8, "N", 4);
    flow_wiring_const(w, 9, "N", 4);
    flow_wiring_const(w, 10, "N", 5);
    flow_place(w, 11, (const flow_part[]){ALL(p)}, 1, "host:x");
    flow_place(w, 12, (const flow_part[]){ALL(p)}, 1, ":3");
    flow_place(w, 13, (const flow_part[]){ALL(p)}, 1, "");
    flow_place(w, 14, (const flow_part[]){{.vector = p, .all = true, .queue = "out"}}, 1, "h");
    flow_place(w, 15, (const flow_part[]){AT(p, 7)}, 1, "h");
}

static void wire_wrong_numbers(flow_wiring *w)
{
    static const flow_queue_decl caps[] = {
        {.name = "in", .input = true, .optional = true, .cap = -1},
        {.name = "out", .optional = true, .cap = 1l << 40},
    };
    static const flow_module heavy = {.name = "Heavy",
                                      .file = "t.flow",
                                      .line = 3,
                                      .queues = caps,
                                      .queue_count = 2,
                                      .weight = 1l << 40},
                             light = {.name = "Light", .file = "t.flow", .line = 4, .weight = -1};
    flow_add(w, 5, "h", &heavy, -1);
    int l = flow_add(w, 6, "l", &light, -1), p = flow_add(w, 7, "p", &Chemical, 0);
    flow_add(w, 8, "q", &Chemical, -2);
    flow_add(w, 9, "s", &Chemical, 1l << 31);
    flow_add_root(w, 10, "t", &Inner, 1l << 32);
    WIRE(w, 11, STAGE(0, ALL(p)), STAGE(FLOW_JOIN, ALL(l)));
    WIRE(w, 12, STAGE(0, ALL(l)), STAGE(FLOW_JOIN, ALL(l)));
}

static void wire_itself(flow_wiring *w);
static const flow_root Itself = {
    .name = "Itself", .file = "t.flow", .line = 1, .wire = wire_itself};
static void wire_itself(flow_wiring *w)
{
    flow_add(w, 2, "p", &Chemical, -1);
    flow_add_root(w, 3, "again", &Itself, 2);
}

// Two ports lead back to each other, past no module.
static void wire_round(flow_wiring *w)
{
    int t = flow_add_root(w, 1, "t", &Through, 2), p = flow_add(w, 2, "p", &Chemical, -1);
    WIRE(w, 3, STAGE(0, AT(t, 0)), STAGE(FLOW_JOIN, AT(t, 1)), STAGE(FLOW_JOIN, AT(t, 0)));
    WIRE(w, 4, STAGE(0, ALL(p)), STAGE(FLOW_JOIN, AT(t, 0)));
}

// The same mistake in each instance is told once.
static void wire_mistake(flow_wiring *w)
{
    int p = flow_add(w, 11, "p", &Chemical, 2), r = flow_add(w, 12, "r", &flow_Reduce, -1);
    WIRE(w, 13, STAGE(0, OWN("in")), STAGE(FLOW_JOIN, AT(p, 0)));
    WIRE(w, 14, STAGE(0, OWN("in")), STAGE(FLOW_JOIN, AT(p, 1)));
    WIRE(w, 15, STAGE(0, ALL(p)), STAGE(FLOW_JOIN, OP(r, &sum)), STAGE(FLOW_JOIN, OWN("out")));
    WIRE(w, 16, STAGE(0, ALL(p)), STAGE(FLOW_JOIN, OP(r, &sum)), STAGE(FLOW_JOIN, OWN("out")));
    WIRE(w, 17, STAGE(0, AT(p, 2)), STAGE(FLOW_JOIN, OWN("out")));
}
static const flow_root Mistake = {.name = "Mistake",
                                  .file = "t.flow",
                                  .line = 10,
                                  .wire = wire_mistake,
                                  .queues = ports,
                                  .queue_count = 2};
static void wire_mistakes(flow_wiring *w)
{
    flow_add_root(w, 1, "m", &Mistake, 50);
}

static void test_wrong(void)
{
    const char *ways = ": say a host, a host and a number (host1:0), or a number";
    char text[4000];
    snprintf(text, sizeof text,
             "3: p is declared already: a name belongs to one thing|"
             "4: there is no operation summ: did you mean sum; predefined are sum, product, max, "
             "min, and, or, xor, band, bor, bxor|"
             "5: there is no operation average; predefined are sum, product, max, min, and, or, "
             "xor, band, bor, bxor|"
             "6: a statement of one stage wires nothing: ||| and what it leads to are missing|"
             "7: Main has no queue out|"
             "10: N is 5 here, but 4 elsewhere: a program has one constant N|"
             "11: host:x is not a place%s|12: :3 is not a place%s|13:  is not a place%s|"
             "14: p.out @ h: instances are placed, not queues or operations|"
             "15: p[7] goes beyond p, which has 4 instances (0 to 3)",
             ways, ways, ways);
    expect("wrong names", wire_wrong_names, "", text);
    expect("wrong numbers", wire_wrong_numbers, NULL,
           "3: the weight of Heavy is 1099511627776: it is at least 1, and below 2^31|"
           "3: the capacity of in of Heavy is -1: it is at least 1, and below 2^31|"
           "3: the capacity of out of Heavy is 1099511627776: it is at least 1, and below 2^31|"
           "4: the weight of Light is -1: it is at least 1, and below 2^31|"
           "7: p[0] has no instances: a vector has at least 1|"
           "8: q[-2] has no instances: a vector has at least 1|"
           "9: s[2147483648] is too many: a program has at most 2147483647 instances|"
           "10: t[4294967296] is too many: a program has at most 2147483647 instances|"
           "11: Light has no default input, so l must say which queue|"
           "12: Light has no default output, so l must say which queue|"
           "12: Light has no default input, so l must say which queue");
    mlt_flow_graph *g = mlt_flow_graph_new(&Itself, NULL, 0);
    check_same_text("itself", said(g),
                    "3: Itself would contain itself: again is an instance of it");
    mlt_flow_graph_free(g);
    expect("round", wire_round, "",
           "3: t[0].in leads through queues of roots back to itself, and no module is in between");
    expect("once", wire_mistakes, NULL,
           "16: m[0].r is wired in line 15 already: name all that lead to it in one statement, or "
           "take another Reduce|"
           "17: p[2] goes beyond p, which has 2 instances (0 to 1)|"
           "14: m[0].in leads to m[0].p[0].in already (line 13), and an output leads to one thing: "
           "put a Broadcast between");
    flow_root root = {.name = "Main", .file = "t.flow", .line = 1, .wire = wire_figure_3};
    g = mlt_flow_graph_new(&root, (const mlt_flow_given[]){{"M", 16}, {"N", 2}, {"size", 1}}, 3);
    check_same_text("given", said(g),
                    "1: -D M=16: Main has no constant of that name: there is N|"
                    "1: -D size=1: Main has no constant of that name: there is N");
    CHECK(g->errors == 2 && g->node_count == 3);
    mlt_flow_graph_free(g);
}

// ---- a large one

enum { LARGE = 100000 };

static void wire_large(flow_wiring *w)
{
    int p = flow_add(w, 1, "p", &Chemical, LARGE), r = flow_add(w, 2, "r", &flow_Reduce, -1);
    int b = flow_add(w, 3, "b", &flow_Broadcast, -1);
    WIRE(w, 4, STAGE(0, ALL(p)), STAGE(FLOW_JOIN, OP(r, &sum)), STAGE(FLOW_JOIN, ALL(p)));
    int q = flow_add(w, 5, "q", &Two, LARGE);
    WIRE(w, 6, STAGE(0, {.vector = q, .first = 0, .last = LARGE - 2}),
         STAGE(FLOW_EACH, {.vector = q, .first = 1, .last = LARGE - 1}));
    WIRE(w, 7, STAGE(0, AT(q, LARGE - 1)), STAGE(FLOW_JOIN, ALL(b)),
         STAGE(FLOW_JOIN, {.vector = q, .all = true, .queue = "more"}));
    for (int i = 0; i < LARGE; i++) {
        char name[20];
        snprintf(name, sizeof name, "x%d", i);
        int x = flow_add(w, 8, name, &Chemical, -1);
        WIRE(w, 9, STAGE(0, ALL(x)), STAGE(FLOW_JOIN, AT(p, i)));
    }
}

static void test_large(void)
{
    flow_root root = {.name = "Main", .file = "t.flow", .line = 1, .wire = wire_large};
    mlt_flow_graph *g = mlt_flow_graph_new(&root, NULL, 0);
    check_same_text("large", said(g), "");
    CHECK(g->node_count == 3 * LARGE + 2);
    CHECK(g->edge_count == 5u * LARGE);
    CHECK(g->in.first[g->node_count] == g->edge_count);
    mlt_flow_graph_free(g);
}

// ---- random ones against a model

enum { VECTORS = 5, STATEMENTS = 12, WIRES = 4000, LONGEST = 9 };
static struct {
    uint32_t from[WIRES], to[WIRES], count;
    uint32_t first[VECTORS + STATEMENTS + 1], size[VECTORS + STATEMENTS + 1];
    bool used[VECTORS * LONGEST]; // outputs
    bool twice;
} model;

// Random instances of a vector, as a part and as nodes.
static flow_part pick(uint32_t v, uint32_t *nodes, uint32_t *count)
{
    uint32_t first = below(model.size[v]), last = first + below(model.size[v] - first);
    uint32_t step = 1 + below(3);
    flow_part part = {.vector = (int)v, .first = first, .last = last, .step = step};
    if (below(3) == 0) {
        part = (flow_part){.vector = (int)v, .all = true};
        first = 0;
        last = model.size[v] - 1;
        step = 1;
    }
    for (uint32_t i = first; i <= last; i += step)
        nodes[(*count)++] = model.first[v] + i;
    return part;
}

static void model_wire(uint32_t from, uint32_t to)
{
    if (from < model.first[VECTORS]) {
        model.twice |= model.used[from];
        model.used[from] = true;
    }
    model.from[model.count] = from;
    model.to[model.count++] = to;
}

static void wire_random(flow_wiring *w)
{
    static const flow_module *const kinds[] = {&flow_Reduce, &flow_Broadcast, &flow_Deal};
    uint32_t nodes = 0, things = VECTORS;
    memset(&model, 0, sizeof model);
    for (uint32_t v = 0; v < VECTORS; v++) {
        char name[20];
        snprintf(name, sizeof name, "v%u", v);
        model.first[v] = nodes;
        model.size[v] = 1 + below(LONGEST);
        nodes += model.size[v];
        flow_add(w, 1, name, &Chemical, model.size[v]);
    }
    model.first[VECTORS] = nodes;
    for (uint32_t s = 0; s < 1 + below(STATEMENTS); s++) {
        uint32_t from[4 * LONGEST], to[4 * LONGEST], froms = 0, tos = 0;
        flow_part a[2], b[2], c[1];
        size_t as = 1 + below(2), bs = 1 + below(2);
        for (size_t i = 0; i < as; i++)
            a[i] = pick(below(VECTORS), from, &froms);
        for (size_t i = 0; i < bs; i++)
            b[i] = pick(below(VECTORS), to, &tos);
        flow_stage stages[3] = {{.parts = a, .count = as}};
        if (froms == tos && below(2)) {
            stages[1] = (flow_stage){.join = FLOW_EACH, .parts = b, .count = bs};
            flow_wire(w, (int)s + 2, stages, 2);
            for (uint32_t i = 0; i < froms; i++)
                model_wire(from[i], to[i]);
        } else if (tos == 1 && below(2)) {
            stages[1] = (flow_stage){.parts = b, .count = bs};
            flow_wire(w, (int)s + 2, stages, 2);
            for (uint32_t i = 0; i < froms; i++)
                model_wire(from[i], to[0]);
        } else {
            char name[20];
            uint32_t kind = below(3);
            snprintf(name, sizeof name, "c%u", s);
            c[0] = (flow_part){.vector = flow_add(w, 1, name, kinds[kind], -1), .all = true};
            c[0].op = kind == 0 ? &sum : NULL;
            CHECK(c[0].vector == (int)things);
            things++;
            stages[1] = (flow_stage){.parts = c, .count = 1};
            stages[2] = (flow_stage){.parts = b, .count = bs};
            flow_wire(w, (int)s + 2, stages, 3);
            for (uint32_t i = 0; i < froms; i++)
                model_wire(from[i], nodes);
            for (uint32_t i = 0; i < tos; i++)
                model_wire(nodes, to[i]);
            nodes++;
        }
    }
}

static void test_random(void)
{
    for (now_seed = 1; now_seed <= 2000; now_seed++) {
        flow_root root = {.name = "Main", .file = "t.flow", .line = 1, .wire = wire_random};
        random_state = now_seed;
        mlt_flow_graph *g = mlt_flow_graph_new(&root, NULL, 0);
        bool fine = (g->errors > 0) == model.twice && g->edge_count == model.count;
        for (uint32_t i = 0; i < g->edge_count && fine; i++)
            fine = g->edges[i].from == model.from[i] && g->edges[i].to == model.to[i];
        for (uint32_t n = 0; n < g->node_count && fine; n++) { // adjacency says the same
            uint32_t k = g->out.first[n], m = g->in.first[n];
            for (uint32_t e = 0; e < g->edge_count; e++) {
                fine &= g->edges[e].from != n || g->out.list[k++] == e;
                fine &= g->edges[e].to != n || g->in.list[m++] == e;
            }
            fine &= k == g->out.first[n + 1] && m == g->in.first[n + 1];
        }
        if (!fine)
            fprintf(stderr, "'%s', said '%s'\n", edges_of(g), said(g));
        CHECK(fine);
        mlt_flow_graph_free(g);
    }
    now_seed = 0;
}

int main(void)
{
    test_paper();
    test_shape();
    test_joints();
    test_middle();
    test_nested();
    test_order();
    test_wrong();
    test_large();
    test_random();
    return 0;
}
