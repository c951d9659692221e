// SPDX-License-Identifier: BSD-3-Clause
// What is generated, by what stands in it. That it compiles without warnings and does the same as
// the file says is tested with the command (test/flow/tool.py).
#include "flowc/gen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "flowc/sema.h"

static const char text[] =
    "const N = 16;\n"
    "const HALF = N / 2;\n"
    "const Z = 3;\n"
    "const TOLD = 7;\n"
    "include \"types.h\";\n"
    "Declare Operation pool(struct moments) ordered;\n"
    "Declare Module A {\n"
    "  data_section { int x;\n"
    "    double y[3]; }\n"
    "  in double cap N % Z;\n"
    "  out struct moments big[] cap 8 * 2 optional;\n"
    "  weight HALF;\n"
    "}\n"
    "Declare Module Unused { in int; }\n"
    "Module Main is Root requires Module A, Module Team, Module Bare, Module Reduce {\n"
    "  void initialize() {\n"
    "    const K = (N - 1) * 2;\n"
    "    A w[N];\n"
    "    Team t;\n"
    "    Bare idle;\n"
    "    Reduce r;\n"
    "    flow:\n"
    "      w[0:N-1:HALF].big, w[1].big ||| r(pool);\n"
    "      w[1] => t;\n"
    "      w[2:3] @ host1:K - N;\n"
    "      w[4] @ host1;\n"
    "      w[5] @ 3;\n"
    "      w[6] @ "
    "\"a-name-of-a-host-that-is-so-long-that-a-line-of-text-is-hardly-enough.org\":N;\n"
    "  }\n"
    "}\n"
    "Module Team is Root requires Module Bare {\n"
    "  in double cap 4;\n"
    "  Bare b[HALF];\n"
    "  flow:\n"
    "    in -> b[0];\n"
    "}\n";

static _Noreturn void fail(int line, const char *what, const char *all)
{
    fprintf(stderr, "%s:%d: %s\n%s", __FILE__, line, what, all);
    exit(1);
}

#define HAS(all, part)  (strstr(all, part) ? (void)0 : fail(__LINE__, part, all))
#define HAS_NOT(all, p) (!strstr(all, p) ? (void)0 : fail(__LINE__, p, all))

static mlt_flow_file *file;

static char *header(const char *name)
{
    char *out = NULL;
    size_t size = 0, count;
    mlt_flow_declaration *modules = mlt_flow_gen_modules(file, &count);
    FILE *to = open_memstream(&out, &size);
    for (size_t i = 0; i < count; i++)
        if (strcmp(modules[i].name, name) == 0)
            mlt_flow_gen_header(file, &modules[i], "dir/A.flow.h", to);
    fclose(to);
    free(modules);
    return out;
}

static char *program(const mlt_flow_override *overrides, size_t count, const char *hosts)
{
    char *out = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&out, &size);
    mlt_flow_gen_program(file, overrides, count, hosts, to);
    fclose(to);
    return out;
}

static void test_modules(void)
{
    size_t count;
    mlt_flow_declaration *modules = mlt_flow_gen_modules(file, &count);
    CHECK(count == 3);
    CHECK(strcmp(modules[0].name, "A") == 0 && strcmp(modules[1].name, "Unused") == 0);
    CHECK(strcmp(modules[2].name, "Bare") == 0 && modules[2].line == 15 &&
          modules[2].queues->implied);
    free(modules);
}

static void test_headers(void)
{
    char *a = header("A");
    HAS(a, "#include \"types.h\"\n");
    HAS(a, "        FLOW_QUEUE(double) in; // input\n");
    HAS(a, "        FLOW_QUEUE(struct moments) big; // output\n");
    HAS(a, "        FLOW_QUEUE(void) out; // output, not declared\n");
    HAS(a, "#line 8 \"app.flow\"\n int x;\n    double y[3]; \n#line ");
    HAS(a, "void A_init(A *my);");
    HAS(a, "int A_run(A *my);");
    // What the second #line says is where it stands.
    int line = 1, told = 0;
    const char *back = strstr(strstr(a, "#line") + 1, "#line");
    CHECK(back && sscanf(back, "#line %d \"dir/A.flow.h\"", &told) == 1);
    for (const char *c = a; c < back; c++)
        line += *c == '\n';
    CHECK(told == line + 1);
    free(a);
    char *bare = header("Bare");
    HAS(bare, "FLOW_QUEUE(void) in;");
    HAS_NOT(bare, "#line");
    free(bare);
    char *out = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&out, &size);
    mlt_flow_gen_operations(file, to);
    fclose(to);
    HAS(out, "void pool(struct moments *into, const struct moments *with, size_t count);");
    free(out);
}

static void test_program(void)
{
    char *p = program(NULL, 0, NULL);
    HAS(p, "#include \"A.flow.h\"\n#include \"Bare.flow.h\"\n#include \"operations.flow.h\"\n");
    HAS_NOT(p, "Unused");
    HAS(p, ".cap = 8 * 2");
    HAS(p, "    queues_A[0].cap = FLOW_NOT_0(N % flow_nonzero(w, 10, Z));\n"
           "    module_A.weight = FLOW_NOT_0(HALF);\n");
    HAS(p,
        ".name = \"pool\", .combine = combine_pool, FLOW_CARRIES(struct moments), .ordered = true");
    HAS(p, "    // const HALF = N / 2;\n    FLOW_CONST HALF = flow_wiring_const(w, 2, \"HALF\", N "
           "/ 2);\n");
    HAS(p, "    FLOW_CONST TOLD = flow_wiring_const(w, 4, \"TOLD\", 7);\n"); // for modules only
    HAS(p, "\"K\", (N - 1) * 2);\n");
    HAS(p, "    // A w[N];\n    int w_ = flow_add(w, 18, \"w\", &module_A, FLOW_COUNT(N));\n");
    HAS(p, "    int t = flow_add_root(w, 19, \"t\", &root_Team, -1);\n");
    HAS(p, "    flow_add(w, 20, \"idle\", &module_Bare, -1);\n");
    HAS(p, "    // w[0:N - 1:HALF].big, w[1].big ||| r(pool);\n    flow_wire(w, 23, FLOW_STAGES(\n"
           "        {FLOW_JOIN, FLOW_PARTS({.vector = w_, .first = 0, .last = N - 1, .step = "
           "FLOW_NOT_0(HALF), "
           ".queue = \"big\"}, {.vector = w_, .first = 1, .last = 1, .queue = \"big\"})},\n"
           "        {FLOW_JOIN, FLOW_PARTS({.vector = r, .all = true, .op = &op_pool})}));\n");
    HAS(p, "        {FLOW_EACH, FLOW_PARTS({.vector = t, .all = true})}));\n");
    HAS(p, "    flow_place_nth(w, 25, FLOW_PARTS({.vector = w_, .first = 2, .last = 3}), "
           "\"host1\", K - "
           "N);\n");
    HAS(p, ", \"host1\");\n");
    HAS(p, ", NULL, 3);\n");
    HAS(p, "FLOW_PARTS({.vector = FLOW_OWN, .all = true, .queue = \"in\"})");
    HAS(p, "    return flow_main(argc, argv, &root_Main, NULL);\n");
    // There is a header, which may have macros by these names.
    HAS(p, "#undef N\n#undef HALF\n#undef Z\n#undef TOLD\n");
    HAS(p, "#undef w_\n#undef t\n");
    // The inner root stands before the one that has it, and sees the constants that it needs.
    const char *inner = strstr(p, "void wire_Team(flow"), *outer = strstr(p, "wire_Main(flow");
    CHECK(inner && outer && inner < outer);
    CHECK(strstr(inner, "FLOW_CONST N = ") < outer && strstr(inner, "FLOW_CONST HALF = ") < outer);
    free(p);
}

static void test_overrides(void)
{
    mlt_flow_override given[] = {{"HALF", 4}, {"TOLD", -1}};
    char *p = program(given, 2, "a slots=2\n\"b\\\n");
    HAS(p, "const HALF = N / 2; (but built with -D HALF=4)\n");
    HAS(p, "\"HALF\", 4);\n");
    HAS(p, "\"TOLD\", -1);\n");
    HAS(p, "    \"a slots=2\\n\"\n    \"\\\"b\\\\\\n\";\n");
    HAS(p, "&root_Main, hosts);\n");
    free(p);
}

// A file that includes mpi.h.
static void test_mpi(void)
{
    static const char uses[] = "include <mpi.h>;\nModule Main is Root requires Module A { A a; }\n";
    mlt_flow_messages messages = {.first = NULL};
    mlt_flow_file *before = file;
    file = mlt_flow_read("mpi.flow", uses, strlen(uses), &messages);
    char *p = program(NULL, 0, NULL);
    HAS(p,
        "    MPI_Init(&argc, &argv);\n    int status = flow_main(argc, argv, &root_Main, NULL);\n"
        "    MPI_Finalize();\n    return status;\n");
    free(p);
    mlt_flow_messages_free(&messages);
    mlt_flow_file_free(file);
    file = before;
    p = program(NULL, 0, NULL);
    HAS_NOT(p, "MPI_");
    free(p);
}

int main(void)
{
    mlt_flow_messages messages = {.first = NULL};
    file = mlt_flow_read("app.flow", text, strlen(text), &messages);
    if (messages.first)
        fail(messages.first->line, messages.first->text, "");
    test_modules();
    test_headers();
    test_program();
    test_overrides();
    test_mpi();
    mlt_flow_messages_free(&messages);
    mlt_flow_file_free(file);
    printf("fine\n");
    return 0;
}
