// SPDX-License-Identifier: BSD-3-Clause
// squares.flow in C alone: what `millet flow` would write, by hand. For programs whose wiring is
// computed, and for those who would rather not have a second language.
#include <millet/flow.h>
#include <stdio.h>

// ---- modules: a struct whose first members are `flow` and `q`, and its queues

typedef struct source {
    flow_self flow;
    struct {
        FLOW_QUEUE(double) out;
    } q;
} source;

typedef struct square {
    flow_self flow;
    struct {
        FLOW_QUEUE(double) in;
        FLOW_QUEUE(double) out;
    } q;
} square;

typedef struct print {
    flow_self flow;
    struct {
        FLOW_QUEUE(double) in;
    } q;
} print;

static int source_run(void *arg)
{
    source *my = arg;

    for (double v = 1; v <= 12; v++)
        flow_send(my, &v, 1);
    return 0;
}

static int square_run(void *arg)
{
    square *my = arg;
    double *v;
    size_t n;

    while (flow_dequeue(my, &v, &n)) {
        *v *= *v;
        flow_give(my, v, n);
    }
    return 0;
}

static int print_run(void *arg)
{
    print *my = arg;
    const double *v;
    size_t n;

    while (flow_dequeue(my, &v, &n))
        printf("%g\n", *v);
    return 0;
}

#define IN(module)                                                                                 \
    {                                                                                              \
        .name = "in", .input = true, .kind = FLOW_DOUBLE, .type = "double",                        \
        .bytes = sizeof(double), .offset = offsetof(module, q.in)                                  \
    }
#define OUT(module)                                                                                \
    {                                                                                              \
        .name = "out", .kind = FLOW_DOUBLE, .type = "double", .bytes = sizeof(double),             \
        .offset = offsetof(module, q.out)                                                          \
    }
#define MODULE(module, queue_list)                                                                 \
    {                                                                                              \
        .name = #module, .bytes = sizeof(module), .file = __FILE__, .line = __LINE__,              \
        .queues = queue_list, .queue_count = sizeof queue_list / sizeof queue_list[0],             \
        .run = module##_run                                                                        \
    }

static const flow_queue_decl source_queues[] = {OUT(source)};
static const flow_queue_decl square_queues[] = {IN(square), OUT(square)};
static const flow_queue_decl print_queues[] = {IN(print)};
static const flow_module source_module = MODULE(source, source_queues);
static const flow_module square_module = MODULE(square, square_queues);
static const flow_module print_module = MODULE(print, print_queues);

// ---- the root

static void wire(flow_wiring *w)
{
    static const flow_op sum = {.name = "sum"};
    long n = flow_wiring_const(w, __LINE__, "N", 4);
    int s = flow_add(w, __LINE__, "s", &source_module, -1);
    int d = flow_add(w, __LINE__, "d", &flow_Deal, -1);
    int q = flow_add(w, __LINE__, "q", &square_module, FLOW_COUNT(n));
    int r = flow_add(w, __LINE__, "r", &flow_Reduce, -1);
    int p = flow_add(w, __LINE__, "p", &print_module, -1);

    // s -> d -> q -> r(sum) -> p;
    flow_part parts[] = {{.vector = s, .all = true},
                         {.vector = d, .all = true},
                         {.vector = q, .all = true},
                         {.vector = r, .all = true, .op = &sum},
                         {.vector = p, .all = true}};
    flow_stage stages[] = {{FLOW_JOIN, &parts[0], 1},
                           {FLOW_JOIN, &parts[1], 1},
                           {FLOW_JOIN, &parts[2], 1},
                           {FLOW_JOIN, &parts[3], 1},
                           {FLOW_JOIN, &parts[4], 1}};
    flow_wire(w, __LINE__, stages, 5);
}

int main(int argc, char **argv)
{
    flow_root root = {.name = "Main", .file = __FILE__, .line = __LINE__, .wire = wire};

    return flow_main(argc, argv, &root, NULL);
}
