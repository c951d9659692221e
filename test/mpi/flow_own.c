// SPDX-License-Identifier: BSD-3-Clause
// Who has a payload: what was dequeued may be written to and stays until the next dequeue from that
// queue; kept, it stays until it is freed or given; given, it moves without a copy where both sides
// share a process, and with fewer values if the giver says so. Untyped queues carry anything.
#include "flow_check.h"

typedef struct particle {
    double x[3];
    int charge;
} particle;

typedef struct Source {
    flow_self flow;
    struct {
        FLOW_QUEUE(long) out;
        FLOW_QUEUE(void) any;
    } q;
} Source;

typedef struct Sink {
    flow_self flow;
    struct {
        FLOW_QUEUE(long) in, back;
        FLOW_QUEUE(void) any;
        FLOW_QUEUE(long) out;
    } q;
} Sink;

typedef struct Middle {
    flow_self flow;
    struct {
        FLOW_QUEUE(long) in, out;
    } q;
} Middle;

enum { ELEMENTS = 50, VALUES = 100 };

static int Source_run(Source *my)
{
    for (long i = 0; i < ELEMENTS; i++) {
        long *v = flow_new(my, VALUES);
        for (long k = 0; k < VALUES; k++)
            v[k] = i;
        CHECK(flow_give(my, v, VALUES - (size_t)i)); // not all of it
    }
    particle p[2] = {{{1, 2, 3}, 4}, {{5, 6, 7}, 8}};
    float f = 1.5f;
    CHECK(flow_send_on(my, any, p, 2));
    CHECK(flow_send_on(my, any, &f, 1));
    CHECK(flow_send_on(my, any, "text", 5));
    CHECK(flow_send_on(my, any, &f, 0));
    double *d = flow_new_on(my, any, 3 * sizeof(double));
    d[0] = d[1] = d[2] = 0.25;
    CHECK(flow_give_on(my, any, d, 3));
    return 0;
}

// Gives every second one on after the next one has come: kept.
static int Middle_run(Middle *my)
{
    long *v, *kept = NULL, i = 0;
    size_t count, kept_count = 0;
    while (flow_dequeue(my, &v, &count)) {
        v[0] = -i; // its own
        if (kept)
            CHECK(flow_give(my, kept, kept_count));
        kept = NULL;
        if (i++ % 2) {
            CHECK(flow_send(my, v, count));
        } else {
            flow_keep(v);
            kept = v;
            kept_count = count;
        }
    }
    if (kept)
        CHECK(flow_give(my, kept, kept_count));
    return 0;
}

static void check_any(Sink *my)
{
    particle *p;
    float *f;
    char *c;
    double *d;
    size_t count;
    CHECK(flow_dequeue_on(my, any, &p, &count) && count == 2);
    CHECK(p[1].charge == 8 && p[0].x[2] == 3);
    CHECK(flow_dequeue_on(my, any, &f, &count) && count == 1 && *f == 1.5f);
    CHECK(flow_dequeue_on(my, any, &c, &count) && count == 5 && strcmp(c, "text") == 0);
    CHECK(flow_dequeue_on(my, any, &f, &count) && count == 0);
    void *bytes;
    CHECK(flow_dequeue_on(my, any, &bytes, &count));
    CHECK_INT(count, 3 * sizeof(double));
    d = bytes;
    CHECK(d[2] == 0.25);
    CHECK(!flow_dequeue_on(my, any, &d, &count));
}

static int Sink_run(Sink *my)
{
    long *v, *kept[ELEMENTS];
    size_t count, counts[ELEMENTS];
    long n = 0;
    for (; flow_dequeue(my, &v, &count); n++) {
        flow_keep(v);
        kept[n] = v;
        counts[n] = count;
    }
    CHECK_INT(n, ELEMENTS);
    for (long i = 0; i < n; i++) { // they are all there still
        CHECK_INT(counts[i], VALUES - i);
        CHECK_INT(kept[i][0], -i);
        CHECK_INT(kept[i][counts[i] - 1], i);
        if (i % 3 == 0)
            flow_free(kept[i]);
        else // to itself, and what has no room any more waits for nobody
            CHECK(flow_give(my, kept[i], 1));
    }
    for (long i = 0; i < n; i++)
        if (i % 3) {
            CHECK(flow_dequeue_on(my, back, &v, &count) && count == 1);
            CHECK_INT(*v, -i);
            flow_free(v); // earlier than the next dequeue would
        }
    check_any(my);
    return 0;
}

MODULE(Source, OUT_LONG(Source, out, 0), OUT_ANY(Source, any));
MODULE(Middle, IN_LONG(Middle, in, 2), OUT_LONG(Middle, out, 0));
MODULE(Sink, IN_LONG(Sink, in, 0), IN_LONG(Sink, back, 0), IN_ANY(Sink, any),
       OUT_LONG(Sink, out, 0));

static void wire(flow_wiring *w)
{
    int s = flow_add(w, __LINE__, "s", &Source_module, -1);
    int m = flow_add(w, __LINE__, "m", &Middle_module, -1);
    int k = flow_add(w, __LINE__, "k", &Sink_module, -1);
    WIRE(w, ALL(s), ALL(m));
    WIRE(w, ALL(m), ALL(k));
    WIRE(w, ON(s, any), ON(k, any));
    WIRE(w, ALL(k), ON(k, back));
}

MAIN(wire)
