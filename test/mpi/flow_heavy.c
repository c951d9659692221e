// SPDX-License-Identifier: BSD-3-Clause
// Queues of long elements: where nobody declared a cap, 4 MiB are in a queue, but two elements at
// least; where somebody did, that many elements, however long. The receiver sleeps until the sender
// must have come to a stop, and then counts what it had sent. (Workers are threads here, so that
// both see the same counter.)
#include <stdatomic.h>
#include <stdlib.h>

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
        FLOW_QUEUE(long) in;
    } q;
} Sink;

typedef struct Capped {
    flow_self flow;
    struct {
        FLOW_QUEUE(long) in;
    } q;
} Capped;

enum { ELEMENTS = 20 };

static atomic_long sent;

static int Source_run(Source *my)
{
    size_t count = (size_t)flow_const(my, "kib") * 1024 / sizeof(long);
    long *v = calloc(count, sizeof *v);
    for (long i = 0; i < ELEMENTS; i++) {
        v[0] = v[count - 1] = i;
        CHECK(flow_send(my, v, count));
        atomic_fetch_add(&sent, 1);
    }
    free(v);
    return 0;
}

static void drain(const flow_self *self, flow_queue *queue)
{
    const void *data;
    size_t count, want = (size_t)flow_self_const(self, "kib") * 1024 / sizeof(long);
    csp_sleep(csp_after(0.2));
    CHECK_INT(atomic_load(&sent), flow_self_const(self, "fit"));
    for (long i = 0; i < ELEMENTS; i++) {
        CHECK(flow_queue_dequeue(queue, &data, FLOW_ANY, sizeof(long), &count, true));
        CHECK_INT(count, want);
        CHECK_INT(((const long *)data)[0], i);
        CHECK_INT(((const long *)data)[count - 1], i);
    }
    CHECK(!flow_queue_dequeue(queue, &data, FLOW_ANY, sizeof(long), &count, true));
}

static int Sink_run(Sink *my)
{
    drain(&my->flow, my->q.in.queue);
    return 0;
}

static int Capped_run(Capped *my)
{
    drain(&my->flow, my->q.in.queue);
    return 0;
}

MODULE(Source, OUT_LONG(Source, out, 0));
MODULE(Sink, IN_LONG(Sink, in, 0));
MODULE(Capped, IN_LONG(Capped, in, 8));

static void wire(flow_wiring *w)
{
    flow_wiring_const(w, __LINE__, "kib", 1024);
    flow_wiring_const(w, __LINE__, "fit", 4);
    long capped = flow_wiring_const(w, __LINE__, "capped", 0);
    int s = flow_add(w, __LINE__, "s", &Source_module, -1);
    int k = flow_add(w, __LINE__, "k", capped ? &Capped_module : &Sink_module, -1);
    WIRE(w, ALL(s), ALL(k));
}

MAIN(wire)
