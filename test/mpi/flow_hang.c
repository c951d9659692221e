// SPDX-License-Identifier: BSD-3-Clause
// Programs that cannot go on: a ring in which everybody waits for an element, one in which
// everybody waits for room, and a module that waits for either of two queues. The report speaks of
// instances and queues, but not of those that have ended (gone).
#include "flow_check.h"

typedef struct Node {
    flow_self flow;
    struct {
        FLOW_QUEUE(long) in, other, out;
    } q;
} Node;

enum { FLOOD = 10000 };

static int Node_run(Node *my)
{
    long *v;
    size_t count;
    const char *how = my->flow.argc > 1 ? my->flow.argv[1] : "";
    if (strcmp(my->flow.name, "gone") == 0)
        return 0;
    if (strcmp(how, "full") == 0)
        for (long i = 0; i < FLOOD; i++)
            CHECK(flow_send(my, &i, 1));
    if (strcmp(how, "either") == 0)
        (void)flow_dequeue_from(my, &v, &count, in, other);
    while (flow_dequeue(my, &v, &count))
        CHECK(flow_send(my, v, count));
    return 0;
}

MODULE(Node, IN_LONG(Node, in, 0), IN_LONG(Node, other, 0), OUT_LONG(Node, out, 0));

static void wire(flow_wiring *w)
{
    long nodes = flow_wiring_const(w, __LINE__, "nodes", 3);
    int n = flow_add(w, __LINE__, "n", &Node_module, nodes);
    WIRE_EACH(w, SLICE(n, 0, nodes - 2), SLICE(n, 1, nodes - 1));
    WIRE(w, AT(n, nodes - 1), AT(n, 0));
    if (flow_wiring_const(w, __LINE__, "gone", 0)) {
        int gone = flow_add(w, __LINE__, "gone", &Node_module, -1);
        WIRE(w, ALL(gone), AT(n, 1));
        flow_place(w, __LINE__, &ALL(gone), 1, "0");
        for (long i = 0; i < nodes; i++)
            flow_place(w, __LINE__, &AT(n, i), 1, (const char *[]){"0", "1", "2"}[i % 3]);
    }
}

MAIN(wire)
