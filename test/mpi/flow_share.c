// SPDX-License-Identifier: BSD-3-Clause
// Receivers of a Broadcast. Who takes `const` data may share it with others of its worker, and sees
// it unchanged whatever these do with theirs; who does not has a copy, or the last one the data
// itself. What is shared may be kept, freed and given on like anything else.
#include "flow_check.h"

typedef struct Source {
    flow_self flow;
    struct {
        FLOW_QUEUE(long) out;
    } q;
} Source;

typedef struct Node {
    flow_self flow;
    struct {
        FLOW_QUEUE(long) in, out;
    } q;
} Node;

enum { ELEMENTS = 60, KEPT = 5 };

static size_t size_of(long i)
{
    return i % 4 == 3 ? 3000 : 3;
}

static int Source_run(Source *my)
{
    for (long i = 0; i < ELEMENTS; i++) {
        long *v = flow_new(my, size_of(i));
        for (size_t k = 0; k < size_of(i); k++)
            v[k] = i;
        CHECK(flow_give(my, v, size_of(i)));
    }
    return 0;
}

static void check(const long *v, size_t count, long i)
{
    CHECK_INT(count, size_of(i));
    for (size_t k = 0; k < count; k++)
        CHECK_INT(v[k], i);
}

// Writes to all of it.
static void scribble(Node *my)
{
    long *v;
    size_t count;
    for (long i = 0; flow_dequeue(my, &v, &count); i++) {
        check(v, count, i);
        memset(v, 0xa5, count * sizeof *v);
        if (i % 7 == 0)
            csp_yield();
    }
}

// Keeps the last few, and looks at them later.
static void keep(Node *my, bool frees)
{
    const long *v, *kept[KEPT];
    size_t count, counts[KEPT];
    long i = 0;
    for (; flow_dequeue(my, &v, &count); i++) {
        check(v, count, i);
        if (i >= KEPT) {
            check(kept[i % KEPT], counts[i % KEPT], i - KEPT);
            if (frees)
                flow_free(kept[i % KEPT]);
            else
                CHECK(flow_give(my, kept[i % KEPT], counts[i % KEPT]));
        }
        flow_keep(v);
        kept[i % KEPT] = v;
        counts[i % KEPT] = count;
    }
    CHECK_INT(i, ELEMENTS);
    for (long k = i - KEPT; k < i; k++) {
        check(kept[k % KEPT], counts[k % KEPT], k);
        flow_free(kept[k % KEPT]);
    }
}

// Gives them on as they come, the first value of the large ones only.
static void give(Node *my)
{
    const long *v;
    size_t count;
    for (long i = 0; flow_dequeue(my, &v, &count); i++) {
        check(v, count, i);
        CHECK(flow_give(my, v, count == 3 ? count : 1));
    }
}

static int Node_run(Node *my)
{
    const long *v;
    size_t count;
    long i = 0;
    switch (my->flow.index % 5) {
    case 0:
        scribble(my);
        break;
    case 1:
        keep(my, true);
        break;
    case 2:
        keep(my, false);
        break;
    case 3:
        give(my);
        break;
    default:
        for (; flow_dequeue(my, &v, &count); i++) {
            check(v, count, i);
            if (i % 2)
                flow_free(v); // before its time
        }
        CHECK_INT(i, ELEMENTS);
    }
    return 0;
}

// What keep and give passed on, in order of each; small ones whole.
static int Sink_run(Node *my)
{
    long *v;
    size_t count;
    while (flow_dequeue(my, &v, &count)) {
        CHECK(count == size_of(v[0]) || count == 1);
        for (size_t k = 0; k < count; k++) {
            CHECK_INT(v[k], v[0]);
            if (k > 0)
                v[k] = -1;
        }
    }
    return 0;
}

static int sink_main(void *my)
{
    return Sink_run(my);
}

MODULE(Source, OUT_LONG(Source, out, 0));
MODULE(Node, IN_LONG(Node, in, 8), OUT_LONG(Node, out, 0));

static const flow_module sink_module = {.name = "Sink",
                                        .bytes = sizeof(Node),
                                        .queues = Node_queues,
                                        .queue_count = 2,
                                        .run = sink_main};

static void wire(flow_wiring *w)
{
    long nodes = flow_wiring_const(w, __LINE__, "nodes", 10);
    int s = flow_add(w, __LINE__, "s", &Source_module, -1);
    int b = flow_add(w, __LINE__, "b", &flow_Broadcast, -1);
    int n = flow_add(w, __LINE__, "n", &Node_module, nodes);
    int k = flow_add(w, __LINE__, "k", &sink_module, -1);
    WIRE3(w, ALL(s), ALL(b), ALL(n));
    WIRE(w, ALL(n), ALL(k));
}

MAIN(wire)
