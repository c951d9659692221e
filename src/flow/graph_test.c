// SPDX-License-Identifier: BSD-3-Clause
// The graph of roots that are wired in C: the paper's figures, joints, nested roots; every sentence
// about what is wrong; a large one; random ones against a simple model.
#include "flow/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

#define CHECK(condition)                                                                           \
    ((condition) ? (void)0                                                                         \
                 : (void)(failures++, fprintf(stderr, "%s:%d: '%s' does not hold\n", __FILE__,     \
                                              __LINE__, #condition)))

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

static void same(const char *what, const char *is, const char *wanted)
{
    if (strcmp(is, wanted) == 0)
        return;
    failures++;
    fprintf(stderr, "%s:\n  is     '%s'\n  wanted '%s'\n", what, is, wanted);
}

static void expect(const char *what, void (*wire)(flow_wiring *w), const char *edges,
                   const char *sentences)
{
    flow_root root = {.name = "Main", .file = "t.flow", .line = 1, .wire = wire};
    mlt_flow_graph *g = mlt_flow_graph_new(&root, NULL, 0);
    same(what, said(g), sentences);
    if (edges)
        same(what, edges_of(g), edges);
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
           "3: warning: outQueue1 of Parallel is wired for 2 of its 4 instances only: p[0] has "
           "none");
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
    CHECK(g->in_first[17] == 32 && g->out_first[17] == 32);
    CHECK(g->in_first[17] - g->in_first[16] == 16 && g->out_first[17] - g->out_first[16] == 16);
    for (uint32_t i = 0; i < 16; i++) {
        CHECK(g->edges[g->in_edges[g->in_first[16] + i]].from == i);
        CHECK(g->edges[g->out_edges[g->out_first[16] + i]].to == i);
        CHECK(g->out_first[i + 1] - g->out_first[i] == 1);
    }
    mlt_flow_graph_free(g);
    mlt_flow_graph_free(NULL);
}

int main(void)
{
    test_paper();
    test_shape();
    return failures != 0;
}
