// SPDX-License-Identifier: BSD-3-Clause
// Several senders of one queue: each one's elements stay in order, nothing is lost. And several
// queues of one receiver: flow_dequeue_from takes from each in turn if all have something, and goes
// on until all have ended. Senders of a queue of 1, and of queues with several such lines.
#include "flow_check.h"

typedef struct Source {
    flow_self flow;
    struct {
        FLOW_QUEUE(long) out;
    } q;
} Source;

typedef struct Sink {
    flow_self flow;
    struct {
        FLOW_QUEUE(long) in, left, right;
    } q;
} Sink;

enum { MOST = 64 };

static int Source_run(Source *my)
{
    long n = flow_const(my, "elements");
    for (long i = 0; i < n; i++) {
        long v[2] = {my->flow.index, i};
        CHECK(flow_send(my, v, 2));
        if (i % 16 == my->flow.index)
            csp_yield();
    }
    return 0;
}

static void check_next(long *next, const long *v, size_t count)
{
    CHECK_INT(count, 2);
    CHECK(v[0] >= 0 && v[0] < MOST);
    CHECK_INT(v[1], next[v[0]]++);
}

static int Sink_run(Sink *my)
{
    long *v, n = flow_const(my, "elements"), sources = flow_const(my, "sources");
    long next[3][MOST] = {0};
    size_t count;
    int from, took[3] = {0};
    while ((from = flow_dequeue_from(my, &v, &count, in, left, right)) >= 0) {
        CHECK(from < 3);
        took[from]++;
        check_next(next[from], v, count);
    }
    CHECK_INT(from, -1);
    CHECK(v == NULL && count == 0);
    for (int k = 0; k < 3; k++) {
        CHECK_INT(took[k], n * sources);
        for (long i = 0; i < sources; i++)
            CHECK_INT(next[k][i], n);
    }
    CHECK(!flow_dequeue_on(my, left, &v, &count));
    return 0;
}

MODULE(Source, OUT_LONG(Source, out, 0));
MODULE(Sink, IN_LONG(Sink, in, 0), IN_LONG(Sink, left, 1), IN_LONG(Sink, right, 5));

static void wire(flow_wiring *w)
{
    long sources = flow_wiring_const(w, __LINE__, "sources", 5);
    flow_wiring_const(w, __LINE__, "elements", 200);
    int k = flow_add(w, __LINE__, "k", &Sink_module, -1);
    int a = flow_add(w, __LINE__, "a", &Source_module, sources);
    int b = flow_add(w, __LINE__, "b", &Source_module, sources);
    int c = flow_add(w, __LINE__, "c", &Source_module, sources);
    WIRE(w, ALL(a), ALL(k));
    WIRE(w, ALL(b), ON(k, left));
    WIRE(w, ALL(c), ON(k, right));
}

MAIN(wire)
