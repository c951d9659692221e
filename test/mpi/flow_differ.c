// SPDX-License-Identifier: BSD-3-Clause
// Ranks that do not run the same program are told so, before anything runs: the last one has
// another constant, or another argument. `twice`: one program after the other, where there is one
// worker. `process`: flow_main is for main.
#include "flow_check.h"

typedef struct Node {
    flow_self flow;
    struct {
        FLOW_QUEUE(long) in, out;
    } q;
} Node;

static int Node_run(Node *my)
{
    long v = my->flow.index, *got;
    size_t count;
    CHECK(flow_send(my, &v, 1));
    while (flow_dequeue(my, &got, &count))
        CHECK_INT(*got, my->flow.index - 1);
    return 0;
}

MODULE(Node, IN_LONG(Node, in, 0), OUT_LONG(Node, out, 0));

static void wire(flow_wiring *w)
{
    long nodes = flow_wiring_const(w, __LINE__, "nodes", 8);
    int n = flow_add(w, __LINE__, "n", &Node_module, nodes);
    WIRE_EACH(w, SLICE(n, 0, nodes - 2), SLICE(n, 1, nodes - 1));
}

static const flow_root root = {.name = "Main", .file = __FILE__, .line = 1, .wire = wire};

static int in_process(void *argv)
{
    return flow_main(1, argv, &root, NULL);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    char name[] = "flow_differ", nodes[] = "-Dnodes=9", word[] = "another";
    char *changed[] = {name, strcmp(argv[1], "constant") == 0 ? nodes : word, NULL};
    bool same = strcmp(argv[1], "twice") == 0;
    if (strcmp(argv[1], "process") == 0)
        return csp_par((csp_proc[]){{in_process, argv, "inner", 0}}, 1);
    bool differs = !same && csp_node() == csp_nodes() - 1;
    int status = flow_main(differs ? 2 : 1, differs ? changed : argv, &root, NULL);
    return same && status == 0 ? flow_main(1, argv, &root, NULL) : status;
}
