// SPDX-License-Identifier: BSD-3-Clause
// Nodes that end while others use what they have: nobody waits for them. Each node has its own
// worker here. The first argument is the node that ends first; in the end it is the turn of the
// next one, so that the names of the job move on. With a second argument a process that is not main
// ends its program.
#include "csp_check.h"

typedef struct ends {
    csp_target *target;
    csp_in *in;
    csp_out *out;
    int reads, writes, alternates;
} ends;

static int reads(void *arg)
{
    ends *e = arg;
    int value;
    return e->reads = (int)csp_read(e->in, &value);
}

static int writes(void *arg)
{
    ends *e = arg;
    int value = 0;
    return e->writes = (int)csp_write(e->out, &value);
}

static int alternates(void *arg)
{
    ends *e = arg;
    int value = 0;
    csp_guard guards[] = {csp_on_read(e->in, &value), csp_on_write(e->out, &value)};
    return e->alternates = (int)guards[csp_alt(guards, 2)].status;
}

// The thing of that node which all others hold an end of.
static void name_of(char *name, size_t size, const char *what, int node)
{
    snprintf(name, size, "%s of %d", what, node);
}

// All ends of the node that is about to go: it reads and writes two channels, nobody does it
// for it.
static ends find_all(int node)
{
    char name[64];
    ends e = {0};
    CHECK(csp_target_at(node, "port", &e.target, CSP_NEVER) == CSP_OK);
    name_of(name, sizeof name, "source", node);
    CHECK(csp_find_in(name, sizeof(int), &e.in, CSP_NEVER) == CSP_OK);
    name_of(name, sizeof name, "sink", node);
    CHECK(csp_find_out(name, sizeof(int), &e.out, CSP_NEVER) == CSP_OK);
    return e;
}

// It ended in order: all that it had has retired.
static void all_has_retired(ends *e, int node)
{
    int value = 0;
    csp_status status;
    char name[64];
    CSP_PAR({reads, e, "reads", 0}, {writes, e, "writes", 0}, {alternates, e, "alternates", 0});
    CHECK(e->reads == CSP_RETIRED && e->writes == CSP_RETIRED && e->alternates == CSP_RETIRED);
    while ((status = csp_send(e->target, &value, sizeof value)) == CSP_OK) {
    }
    CHECK(status == CSP_RETIRED);
    CHECK(strstr(csp_why(), "has ended"));
    name_of(name, sizeof name, "source", node);
    status = csp_find_in(name, sizeof(int), &e->in, CSP_AT_ONCE);
    CHECK(status == CSP_NO_NAME || status == CSP_RETIRED); // the keeper of names may not know yet
    CHECK(csp_target_at(node, "port", &e->target, CSP_NEVER) == CSP_RETIRED);
}

static int leaves(void *arg)
{
    (void)arg;
    exit(0);
}

int main(int argc, char **argv)
{
    int me = csp_node(), n = csp_nodes(), first = argc > 1 ? atoi(argv[1]) : 0;
    char name[64];
    csp_port *port = csp_port_new("port", 0);
    csp_chan *source = csp_chan_new("source", sizeof(int)),
             *sink = csp_chan_new("sink", sizeof(int));
    (void)csp_chan_out(source);
    (void)csp_chan_in(sink);
    name_of(name, sizeof name, "source", me);
    CHECK(csp_register_chan(name, source) == CSP_OK);
    name_of(name, sizeof name, "sink", me);
    CHECK(csp_register_chan(name, sink) == CSP_OK);
    for (int turn = 0; turn < n - 1; turn++) {
        int goes = (first + turn) % n;
        csp_target *target;
        if (me == goes) { // when all others have their ends
            for (int i = turn + 1; i < n; i++)
                CHECK(csp_receive(port, NULL, 0, NULL, NULL) == CSP_OK);
            if (argc > 2)
                CSP_PAR({leaves, NULL, "leaves", 0});
            return 0;
        }
        ends e = find_all(goes);
        CHECK(csp_target_at(goes, "port", &target, CSP_NEVER) == CSP_OK);
        CHECK(csp_send(target, NULL, 0) == CSP_OK);
        all_has_retired(&e, goes);
    }
    puts("the last one is fine");
    return 0;
}
