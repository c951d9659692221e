// SPDX-License-Identifier: BSD-3-Clause
// A pipeline, wherever its stages are: elements arrive once, in order, with the type, count and
// bytes that they were sent with, small and large, copied, given, or both in turn; empty ones too.
// init comes before run, fini after it, and the program's own arguments reach the modules.
#include "flow_check.h"

typedef struct Source {
    flow_self flow;
    struct {
        FLOW_QUEUE(long) out;
    } q;
    long state;
} Source;

typedef struct Stage {
    flow_self flow;
    struct {
        FLOW_QUEUE(long) in, out;
    } q;
} Stage;

typedef struct Sink {
    flow_self flow;
    struct {
        FLOW_QUEUE(long) in;
    } q;
} Sink;

// Values of element i: most are short, some beyond every limit that there is.
static size_t size_of(const flow_self *self, long i)
{
    static const size_t sizes[] = {1, 0, 2, 26, 27, 1, 500, 3, 1, 9000, 1, 1, 70000};
    return flow_self_const(self, "short") ? 1 : sizes[i % (long)COUNT_OF(sizes)];
}

static void Source_init(void *arg)
{
    Source *my = arg;
    CHECK_INT(my->state, 0);
    my->state = 1;
}

static int Source_run(Source *my)
{
    CHECK_INT(my->state, 1);
    my->state = 2;
    CHECK_INT(my->flow.argc, 2);
    CHECK(strcmp(my->flow.argv[1], "-Dis=mine") == 0);
    CHECK(strcmp(my->flow.name, "s") == 0 && strcmp(my->flow.module, "Source") == 0);
    CHECK_INT(my->flow.index, 0);
    CHECK_INT(my->flow.count, 1);
    long n = flow_const(my, "elements");
    for (long i = 0; i < n; i++) {
        size_t count = size_of(&my->flow, i);
        long *v = flow_new(my, count);
        for (size_t k = 0; k < count; k++)
            v[k] = i + (long)k;
        if (i % 2) {
            CHECK(flow_give(my, v, count));
        } else {
            CHECK(flow_send(my, v, count));
            flow_free(v);
        }
    }
    return 0;
}

static void Source_fini(void *arg)
{
    Source *my = arg;
    CHECK_INT(my->state, 2);
}

static int Stage_run(Stage *my)
{
    char name[32];
    long *v, i = 0;
    size_t count;
    snprintf(name, sizeof name, "g[%ld]", my->flow.index);
    CHECK(strcmp(my->flow.name, name) == 0);
    for (; flow_dequeue(my, &v, &count); i++) {
        for (size_t k = 0; k < count; k++)
            v[k]++;
        if (i % 3)
            CHECK(flow_give(my, v, count));
        else
            CHECK(flow_send(my, v, count));
    }
    CHECK(v == NULL && count == 0);
    CHECK(!flow_dequeue(my, &v, &count)); // it stays so
    CHECK_INT(i, flow_const(my, "elements"));
    return 0;
}

static int Sink_run(Sink *my)
{
    const long *v;
    size_t count;
    long i = 0, stages = flow_const(my, "stages");
    for (; flow_dequeue(my, &v, &count); i++) {
        CHECK_INT(count, size_of(&my->flow, i));
        for (size_t k = 0; k < count; k++)
            CHECK_INT(v[k], i + (long)k + stages);
    }
    CHECK_INT(i, flow_const(my, "elements"));
    return 0;
}

static const flow_queue_decl source_queues[] = {OUT_LONG(Source, out, 0)};
static int source_main(void *my)
{
    return Source_run(my);
}
static const flow_module source_module = {
    "Source", sizeof(Source), __FILE__,    __LINE__,    source_queues, 1,
    0,        Source_init,    source_main, Source_fini,
};
MODULE(Stage, IN_LONG(Stage, in, 0), OUT_LONG(Stage, out, 0));
MODULE(Sink, IN_LONG(Sink, in, 3));

static void wire(flow_wiring *w)
{
    long stages = flow_wiring_const(w, __LINE__, "stages", 7);
    flow_wiring_const(w, __LINE__, "elements", 400);
    flow_wiring_const(w, __LINE__, "short", 0);
    int s = flow_add(w, __LINE__, "s", &source_module, -1);
    int g = flow_add(w, __LINE__, "g", &Stage_module, stages);
    int k = flow_add(w, __LINE__, "k", &Sink_module, -1);
    WIRE(w, ALL(s), AT(g, 0));
    if (stages > 1)
        WIRE_EACH(w, SLICE(g, 0, stages - 2), SLICE(g, 1, stages - 1));
    WIRE(w, AT(g, stages - 1), ALL(k));
}

MAIN(wire)
