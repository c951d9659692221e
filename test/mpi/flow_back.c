// SPDX-License-Identifier: BSD-3-Clause
// Back edges: a ring whose head sends an element round, as often as it likes, and then returns: end
// of input goes round and ends the others. And a module whose output is its own input.
#include "flow_check.h"

typedef struct Node {
    flow_self flow;
    struct {
        FLOW_QUEUE(long) in, own, out, again;
    } q;
} Node;

enum { ROUNDS = 500 };

static int head(Node *my)
{
    long *v, nodes = my->flow.count, start[2] = {0, 0};
    size_t count;
    CHECK(flow_send(my, start, 2));
    for (long i = 1; i <= ROUNDS; i++) {
        CHECK(flow_dequeue(my, &v, &count));
        CHECK_INT(count, 2);
        CHECK_INT(v[0], i * (nodes - 1));
        if (i < ROUNDS)
            CHECK(flow_give(my, v, 2));
    }
    return 0;
}

static int Node_run(Node *my)
{
    long *v;
    size_t count;
    if (my->flow.index == 0)
        return head(my);
    while (flow_dequeue(my, &v, &count)) {
        v[0]++;
        CHECK(flow_send_on(my, again, v, 1)); // to itself
        long *w;
        CHECK(flow_dequeue_on(my, own, &w, &count) && count == 1);
        CHECK_INT(*w, *v);
        CHECK(flow_give(my, v, 2));
    }
    return 0;
}

MODULE(Node, IN_LONG(Node, in, 1), IN_LONG(Node, own, 1), OUT_LONG(Node, out, 0),
       OUT_LONG(Node, again, 0));

static void wire(flow_wiring *w)
{
    long nodes = flow_wiring_const(w, __LINE__, "nodes", 5);
    int n = flow_add(w, __LINE__, "n", &Node_module, nodes);
    WIRE_EACH(w, SLICE(n, 0, nodes - 2), SLICE(n, 1, nodes - 1));
    WIRE(w, AT(n, nodes - 1), AT(n, 0));
    for (long i = 1; i < nodes; i++)
        WIRE(w, AT_ON(n, i, again), AT_ON(n, i, own));
}

MAIN(wire)
