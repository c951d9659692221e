// SPDX-License-Identifier: BSD-3-Clause
// From a text to a graph: the paper's figures, constants, nested roots, places, warnings, types.
// Wrong files are in test/flow/wrong; here is what needs a command line or several sentences.
#include "flowc/sema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"

// Checks a text: sentences as "4: sentence|5: warning: sentence", edges as "p.out>q.in ...", NULL:
// there is no graph.
static void expect(const char *what, const char *text, const mlt_flow_override *given, size_t count,
                   const char *sentences, const char *edges)
{
    char all[4000] = "";
    size_t used = 0;
    mlt_flow_messages messages = {0};
    mlt_flow_file *file = mlt_flow_read("t.flow", text, strlen(text), &messages);
    mlt_flow_graph *g = mlt_flow_check(file, given, count, &messages);
    for (const mlt_flow_message *m = messages.first; m; m = m->next)
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%d: %s%s",
                                 m == messages.first ? "" : "|", m->line,
                                 m->warning ? "warning: " : "", m->text);
    check_same_text(what, all, sentences);
    CHECK(!g == !edges && !g == (messages.errors > 0));
    used = 0;
    *all = 0;
    for (uint32_t e = 0; g && e < g->edge_count; e++) {
        char from[100], to[100];
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s>%s", e ? " " : "",
                                 mlt_flow_out_name(g, &g->edges[e], from, sizeof from),
                                 mlt_flow_in_name(g, &g->edges[e], to, sizeof to));
    }
    if (edges)
        check_same_text(what, all, edges);
    mlt_flow_graph_free(g);
    mlt_flow_file_free(file);
    mlt_flow_messages_free(&messages);
}

// ---- what is right

static const char figure_3[] = "Module Main is Root requires Module Chemical, Module Reduce {\n"
                               "  void initialize() {\n"
                               "    Chemical c[3];\n"
                               "    Reduce r;\n"
                               "    flow:\n"
                               "      c ||| r(sum);\n"
                               "  }\n"
                               "}\n";
static const char figure_5[] = "Module Main is Root requires Module Parallel, Module Reduce {\n"
                               "  void initialize() {\n"
                               "    Parallel p[4];\n"
                               "    Reduce r1, r2;\n"
                               "    flow :\n"
                               "      p ||| r1(sum) ||| p[0], p[2];\n"
                               "      p[1:2].outQueue1 ||| r2(multiply) ||| p[3];\n"
                               "  }\n"
                               "}\n"
                               "Declare Module Parallel {\n"
                               "  data_section { double *send_buffer1, *send_buffer2; }\n"
                               "  Output:\n"
                               "  Output Queue is outQueue1;\n"
                               "}\n";

static void test_paper(void)
{
    expect("figure 3", figure_3, NULL, 0, "",
           "c[0].out>r c[1].out>r c[2].out>r r>c[0].in r>c[1].in r>c[2].in");
    expect("figure 5", figure_5, NULL, 0,
           "3: warning: outQueue1 of Parallel is wired in 2 of 4 instances only; not in p[0], "
           "for example",
           "p[0].out>r1 p[1].out>r1 p[2].out>r1 p[3].out>r1 r1>p[0].in r1>p[2].in "
           "p[1].outQueue1>r2 p[2].outQueue1>r2 r2>p[3].in");
}

static void test_constants(void)
{
    static const char text[] = "const N = 2;\n"
                               "const HALF = N / 2 + (7 % 4 - 3) * -N;\n"
                               "Declare Module P { in int; out int cap 4 * N; weight N; }\n"
                               "Module Main is Root {\n"
                               "  const LAST = N - 1;\n"
                               "  P p[N];\n"
                               "  flow:\n"
                               "  const FIRST = LAST - 1;\n"
                               "  p[0:LAST:HALF] => p[0:LAST:HALF];\n"
                               "  p[FIRST] @ host1:N;\n"
                               "}\n";
    const mlt_flow_override four = {"N", 4}, half = {"HALF", 1}, none[] = {{"n", 4}, {"X", 1}};
    expect("constants", text, NULL, 0, "", "p[0].out>p[0].in p[1].out>p[1].in");
    const char *some =
        "6: warning: in of P is wired in 2 of 4 instances only; not in p[1], for example|"
        "6: warning: out of P is wired in 2 of 4 instances only; not in p[1], for example";
    expect("N=4", text, &four, 1, some, "p[0].out>p[0].in p[2].out>p[2].in");
    expect("N=4 HALF=1", text, (const mlt_flow_override[]){four, half}, 2, "",
           "p[0].out>p[0].in p[1].out>p[1].in p[2].out>p[2].in p[3].out>p[3].in");
    expect("no such", text, none, 2,
           "4: -D n=4: Main has no constant of that name: did you mean N?|"
           "4: -D X=1: Main has no constant of that name: there are N, HALF, LAST and FIRST",
           NULL);
    const mlt_flow_override zero = {"N", 0}, minus = {"N", -1}, large = {"N", 1l << 62};
    expect("N=0", text, &zero, 1,
           "3: the weight of P is 0: it is at least 1, and below 2^31|"
           "3: the capacity of out is 0: it is at least 1, and below 2^31",
           NULL);
    expect("N=-1", text, &minus, 1,
           "3: the weight of P is -1: it is at least 1, and below 2^31|"
           "3: the capacity of out is -4: it is at least 1, and below 2^31",
           NULL);
    expect("N=2^62", text, &large, 1,
           "3: the weight of P is 4611686018427387904: it is at least 1, and below 2^31|"
           "3: 4 * 4611686018427387904 is too large a number",
           NULL);
}

static void test_numbers(void)
{
    static const char text[] = "const N = 0;\n"
                               "const A = -9223372036854775807 - 1;\n"
                               "const B = A / N;\n"
                               "Module Main is Root requires Module P { P p[2]; flow: p => p; }\n";
    const mlt_flow_override minus = {"N", -1}, two = {"N", 2};
    expect("by 0", text, NULL, 0, "3: -9223372036854775808 / 0 divides by 0", NULL);
    expect("by -1", text, &minus, 1, "3: -9223372036854775808 / -1 is too large a number", NULL);
    expect("by 2", text, &two, 1, "", "p[0].out>p[0].in p[1].out>p[1].in");
    static const char vector[] = "const N = 1;\n"
                                 "Module Main is Root requires Module P { P p[N];\n"
                                 "const S = 1; flow: p[0:0:S] => p; }\n";
    const mlt_flow_override no[] = {{"N", 0}}, below[] = {{"N", -1}}, step[] = {{"S", 0}};
    expect("N=1", vector, NULL, 0, "", "p[0].out>p[0].in");
    expect("S=0", vector, step, 1, "3: p[0:0:0] has the step 0: a step is at least 1", NULL);
    expect("N=0", vector, no, 1, "2: p[0] has no instances: a vector has at least 1", NULL);
    expect("N=-1", vector, below, 1, "2: p[-1] has no instances: a vector has at least 1", NULL);
}

static void test_nested(void)
{
    static const char text[] =
        "Declare Module P { in double; out double; }\n"
        "Module Pair is Root requires Module P {\n"
        "  in double; out double;\n"
        "  P p[2];\n"
        "  flow: in -> p[0] -> p[1] -> out;\n"
        "}\n"
        "Module Four is Root requires Module Pair {\n"
        "  in double data; out double results;\n"
        "  Pair a, b;\n"
        "  flow: data -> a -> b -> results;\n"
        "}\n"
        "Module All is Root requires Module Four, Module P {\n"
        "  P first; Four f[2]; P last;\n"
        "  flow: first -> f[0].data; f[0].results -> f[1].data; f[1].results -> last;\n"
        "  last -> first; f[1] @ host2;\n"
        "}\n";
    expect("nested", text, NULL, 0, "",
           "first.out>f[0].a.p[0].in f[0].a.p[0].out>f[0].a.p[1].in "
           "f[0].a.p[1].out>f[0].b.p[0].in f[0].b.p[0].out>f[0].b.p[1].in "
           "f[0].b.p[1].out>f[1].a.p[0].in f[1].a.p[0].out>f[1].a.p[1].in "
           "f[1].a.p[1].out>f[1].b.p[0].in f[1].b.p[0].out>f[1].b.p[1].in "
           "f[1].b.p[1].out>last.in last.out>first.in");
}

// ---- warnings and several sentences

static void test_warnings(void)
{
    expect("unused",
           "Declare Operation f(int);\n"
           "Declare Module P { in int; out int; }\n"
           "Declare Module Q { in int; out int; }\n"
           "Module Main is Root requires Module P, Module Reduce, Module P { P p; flow: p -> p; }\n"
           "Module Other is Root { P p; flow: p -> p; }\n",
           NULL, 0,
           "4: warning: Main requires Module Reduce, but has no instance of it|"
           "4: warning: Main requires Module P twice|"
           "5: warning: root Other is used nowhere|"
           "3: warning: module Q is declared, but has no instance|"
           "1: warning: operation f is declared, but no Reduce has it",
           "p.out>p.in");
}

static void test_several(void)
{
    expect("several",
           "Declare Module P { in int; out int; in int in2; in int in2; }\n"
           "Declare Module P { in int; }\n"
           "Module Main is Root {\n"
           "  P p[4]; Qu q; Reduce r;\n"
           "  flow:\n"
           "  p -> z;\n"
           "  p -> r(sums) -> p.x;\n"
           "}\n",
           NULL, 0,
           "1: P has the queue in2 already (line 1)|"
           "2: P is declared already (line 1)|"
           "4: there is no module Qu: there are P, Reduce, Broadcast, Deal, Collect, LineServer, "
           "TcpSource, TcpSink and 2 more|"
           "6: there is no instance z in Main: there are p, q and r|"
           "7: there is no operation sums: did you mean sum?",
           NULL);
    expect("several of the graph",
           "Module Main is Root requires Module P {\n"
           "  P p[4], q[3]; Reduce r;\n"
           "  flow:\n"
           "  p => q;\n"
           "  p[7] -> q[0];\n"
           "  p.x -> r(sum);\n"
           "}\n",
           NULL, 0,
           "4: p gives 4 outputs, but q has 3 inputs: => joins them one by one|"
           "5: p[7] goes beyond p, which has 4 instances (0 to 3)|"
           "6: P has no queue x: there are in and out",
           NULL);
}

static void test_main_root(void)
{
    expect("in a circle",
           "Module A is Root { B b; flow: }\n"
           "Module B is Root { A a; flow: }\n",
           NULL, 0, "1: no root is the main one: each is instantiated by another", NULL);
    expect("Main of several",
           "Module A is Root requires Module P { P p; flow: p -> p; }\n"
           "Module Main is Root requires Module P { P p; flow: p -> p; }\n",
           NULL, 0, "1: warning: root A is used nowhere", "p.out>p.in");
}

// ---- types

// What the reader makes of these words, and the check of that. Nonsense is FLOW_ANY, and told.
static flow_type type_read(const char *type)
{
    char text[100];
    mlt_flow_messages messages = {.first = NULL};
    snprintf(text, sizeof text, "Declare Module P { in %s name; }", type);
    mlt_flow_file *file = mlt_flow_read("types.flow", text, strlen(text), &messages);
    const mlt_flow_queue_item *queue = file->declarations->queues;
    CHECK(queue || messages.errors);
    flow_type kind = queue ? mlt_flow_type_named(queue->type) : FLOW_ANY;
    mlt_flow_messages_free(&messages);
    mlt_flow_file_free(file);
    return kind;
}

static void test_types(void)
{
    static const struct {
        const char *text;
        flow_type kind;
    } rows[] = {
        {"char", FLOW_CHAR},
        {"signed char", FLOW_SCHAR},
        {"char unsigned", FLOW_UCHAR},
        {"short", FLOW_SHORT},
        {"short int", FLOW_SHORT},
        {"unsigned short int", FLOW_USHORT},
        {"int", FLOW_INT},
        {"signed", FLOW_INT},
        {"unsigned", FLOW_UINT},
        {"unsigned int", FLOW_UINT},
        {"long", FLOW_LONG},
        {"int long unsigned", FLOW_ULONG},
        {"long long", FLOW_LLONG},
        {"unsigned long long int", FLOW_ULLONG},
        {"float", FLOW_FLOAT},
        {"double", FLOW_DOUBLE},
        {"long double", FLOW_LDOUBLE},
        {"_Bool", FLOW_BOOL},
        {"bool", FLOW_BOOL},
        {"float _Complex", FLOW_FLOAT_COMPLEX},
        {"_Complex double", FLOW_DOUBLE_COMPLEX},
        {"double complex", FLOW_DOUBLE_COMPLEX},
        {"int32_t", FLOW_INT},
        {"uint64_t", FLOW_ULONG},
        {"size_t", FLOW_ULONG},
        {"long double _Complex", FLOW_ANY},
        {"long long long", FLOW_ANY},
        {"long float", FLOW_ANY},
        {"long long double", FLOW_ANY},
        {"short long", FLOW_ANY},
        {"signed unsigned", FLOW_ANY},
        {"unsigned double", FLOW_ANY},
        {"int char", FLOW_ANY},
        {"int int", FLOW_ANY},
        {"float double", FLOW_ANY},
        {"int _Complex", FLOW_ANY},
        {"_Complex", FLOW_ANY},
        {"struct point", FLOW_ANY},
        {"real", FLOW_ANY},
        {"void", FLOW_ANY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(now_testing, sizeof now_testing, "'%s'", rows[i].text);
        CHECK(type_read(rows[i].text) == rows[i].kind);
    }
    now_testing[0] = 0;
    // Names that only C's compiler knows may be numbers; they are the same if they are written so.
    expect("names of types",
           "Declare Module P { in real; out real; }\n"
           "Declare Module Q { in unsigned; out unsigned int optional; }\n"
           "Declare Module R { in unsigned int; }\n"
           "Module Main is Root { P p[2]; Q q; R s; Reduce r; flow: p -> r(sum); q -> s;\n"
           "  s -> q; }\n",
           NULL, 0, "", "p[0].out>r p[1].out>r q.out>s.in s.out>q.in r>p[0].in r>p[1].in");
    expect("through a root without types",
           "Declare Module P { out double; }\n"
           "Declare Module Q { in int; }\n"
           "Module T is Root { Input Queue is a; Output Queue is b; flow: a -> b; }\n"
           "Module Main is Root { P p; Q q; T t; flow: p -> t.a; t.b -> q; }\n",
           NULL, 0, "4: p.out gives double, but q.in takes int", NULL);
}

int main(void)
{
    test_paper();
    test_constants();
    test_numbers();
    test_nested();
    test_warnings();
    test_several();
    test_main_root();
    test_types();
    return 0;
}
