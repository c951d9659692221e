// SPDX-License-Identifier: BSD-3-Clause
// What setting flow_report writes: a line for each line of the program, with what both of its ends
// counted, wherever these are. The second run of a program in one process is another one.
#define _DEFAULT_SOURCE // setenv

#include "flow_check.h"

typedef struct Node {
    flow_self flow;
    struct {
        FLOW_QUEUE(long) in, out, loose;
    } q;
} Node;

enum { ELEMENTS = 300, CAP = 10 };

static int Node_run(Node *my)
{
    long *v, three[3] = {1, 2, 3};
    size_t count;
    if (my->flow.index == 0)
        for (long i = 0; i < ELEMENTS; i++)
            CHECK(flow_send(my, three, 3) && flow_send_on(my, loose, three, 1));
    while (flow_dequeue(my, &v, &count))
        CHECK(flow_send(my, v, count));
    return 0;
}

MODULE(Node, IN_LONG(Node, in, CAP), OUT_LONG(Node, out, 0), OUT_LONG(Node, loose, 0));

static void wire(flow_wiring *w)
{
    int n = flow_add(w, __LINE__, "n", &Node_module, 4);
    WIRE_EACH(w, SLICE(n, 0, 2), SLICE(n, 1, 3));
}

static const flow_root root = {.name = "Main", .file = __FILE__, .line = 1, .wire = wire};

static void check_file(const char *path)
{
    char text[256], to[64], from[64];
    FILE *file = fopen(path, "r");
    CHECK(file && fgets(text, sizeof text, file));
    CHECK(strcmp(text,
                 "# queue\tfrom\telements\tbytes\tdeepest\tblocked_ns\tstarved_ns\tplace\n") == 0);
    long n[6], i = 0;
    for (; fgets(text, sizeof text, file); i++) {
        char want_to[64], want_from[64];
        CHECK_INT(sscanf(text, "%63s\t%63s\t%ld\t%ld\t%ld\t%ld\t%ld\t%ld\n", to, from, &n[0], &n[1],
                         &n[2], &n[3], &n[4], &n[5]),
                  8);
        snprintf(want_to, sizeof want_to, "n[%ld].in", i + 1);
        snprintf(want_from, sizeof want_from, "n[%ld].out", i);
        CHECK(strcmp(to, want_to) == 0 && strcmp(from, want_from) == 0);
        CHECK_INT(n[0], ELEMENTS);
        CHECK_INT(n[1], 3 * ELEMENTS * (long)sizeof(long));
        CHECK(n[2] >= 1 && n[2] <= CAP);
        CHECK(n[3] >= 0 && n[4] >= 0);
        CHECK(n[5] >= 0 && n[5] < csp_nodes());
    }
    CHECK_INT(i, 3);
    fclose(file);
}

int main(int argc, char **argv)
{
    char path[64]; // the launcher's, or whoever started this
    snprintf(path, sizeof path, "/tmp/flow_report.%d.tsv", (int)getppid());
    setenv("MILLET_FLOW_REPORT", path, 1); // before the job is joined
    CHECK_INT(flow_main(argc, argv, &root, NULL), 0);
    if (csp_node() == 0) {
        check_file(path);
        CHECK(unlink(path) == 0);
    }
    if (csp_nodes() == 1) {
        CHECK_INT(flow_main(argc, argv, &root, NULL), 0);
        check_file(path);
        CHECK(unlink(path) == 0);
    }
    return 0;
}
