// SPDX-License-Identifier: BSD-3-Clause
// Broadcasts of flow programs: everybody gets everything.
//
//     share     one sender; receivers that write to what they get, that keep it, that give it on,
//               that only look; elements of 0 to 100,000 values; more receivers than places
//     merge     several senders of one Broadcast: each receiver gets all, a sender's own in order,
//               and all receivers on a worker in one order
//     chain     a Broadcast of a Broadcast, and of a Reduce
//     leave     receivers that end early, some, then all: then the sender is told
//     nothing   senders that send nothing
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODE_VALUE int
#define NODE_KIND  FLOW_INT
#define NODE_CAP   5
#include "flow_node.h"

// ---- share

enum { ELEMENTS = 200, LOOKERS = 3, WRITERS = 3, PASSERS = 2 };

static size_t count_of(int n)
{
    return n % 50 == 49 ? 100000 : n % 7 == 0 ? (size_t)n * 20 : (size_t)(n % 4);
}

static int value(int n, size_t k)
{
    return n * 1000 + (int)(k % 997);
}

static int source_run(void *arg)
{
    Node *my = arg;
    for (int n = 0; n < ELEMENTS; n++) {
        int *v = flow_new(my, count_of(n));
        for (size_t k = 0; k < count_of(n); k++)
            v[k] = value(n, k);
        CHECK_IN(my, flow_give(my, v, count_of(n)));
    }
    return 0;
}
NODE(Source, source_run);

static void check(Node *my, int n, const int *v, size_t count)
{
    CHECK_IN(my, count == count_of(n));
    for (size_t k = 0; k < count; k++)
        CHECK_IN(my, v[k] == value(n, k));
}

static int look_run(void *arg)
{
    Node *my = arg;
    const int *v, *before = NULL;
    size_t count, count_before = 0;
    int n = 0;
    for (; flow_dequeue(my, &v, &count); n++) {
        check(my, n, v, count);
        if (before) { // whoever shares it has not written to it
            check(my, n - 1, before, count_before);
            flow_free(before);
        }
        flow_keep(v);
        before = v;
        count_before = count;
    }
    flow_free(before);
    CHECK_IN(my, n == ELEMENTS);
    return 0;
}
NODE(Look, look_run);

static int write_run(void *arg)
{
    Node *my = arg;
    int *v, n = 0;
    size_t count;
    for (; flow_dequeue(my, &v, &count); n++) {
        check(my, n, v, count);
        memset(v, 0x55, count * sizeof *v);
    }
    CHECK_IN(my, n == ELEMENTS);
    return 0;
}
NODE(Write, write_run);

// Gives on what it has looked at.
static int pass_run(void *arg)
{
    Node *my = arg;
    const int *v;
    size_t count;
    int n = 0;
    for (; flow_dequeue(my, &v, &count); n++) {
        check(my, n, v, count);
        CHECK_IN(my, flow_give(my, v, count));
    }
    CHECK_IN(my, n == ELEMENTS);
    return 0;
}
NODE(Pass, pass_run);

static void wire_share(flow_wiring *w)
{
    flow_part s = all_of(flow_add(w, 1, "s", &Source, -1));
    flow_part b = all_of(flow_add(w, 1, "b", &flow_Broadcast, -1));
    flow_part to[] = {all_of(flow_add(w, 1, "look", &Look, LOOKERS)),
                      all_of(flow_add(w, 1, "write", &Write, WRITERS)),
                      all_of(flow_add(w, 1, "pass", &Pass, PASSERS))};
    flow_part behind = all_of(flow_add(w, 1, "behind", &Write, PASSERS));
    flow_stage stages[] = {{FLOW_JOIN, &s, 1}, {FLOW_JOIN, &b, 1}, {FLOW_JOIN, to, 3}};
    flow_wire(w, 2, stages, 3);
    flow_stage pairs[] = {{FLOW_JOIN, &to[2], 1}, {FLOW_EACH, &behind, 1}};
    flow_wire(w, 3, pairs, 2);
}

// ---- merge

enum { SENDERS = 4, EACH = 300 };

static int count_run(void *arg)
{
    Node *my = arg;
    for (int n = 0; n < EACH + (int)my->flow.index; n++) {
        int v = (int)my->flow.index * 100000 + n;
        CHECK_IN(my, flow_send(my, &v, 1));
    }
    return 0;
}
NODE(Count, count_run);

static int merged_run(void *arg)
{
    Node *my = arg;
    int next[SENDERS] = {0};
    const int *v;
    size_t count;
    while (flow_dequeue(my, &v, &count)) {
        CHECK_IN(my, count == 1 && *v / 100000 < SENDERS);
        CHECK_IN(my, *v % 100000 == next[*v / 100000]++);
    }
    for (int i = 0; i < SENDERS; i++)
        CHECK_IN(my, next[i] == EACH + i);
    return 0;
}
NODE(Merged, merged_run);

static void wire_merge(flow_wiring *w)
{
    flow_part s = all_of(flow_add(w, 1, "s", &Count, SENDERS));
    flow_part b = all_of(flow_add(w, 1, "b", &flow_Broadcast, -1));
    flow_part q = all_of(flow_add(w, 1, "q", &Merged, 5));
    wire_three(w, 2, s, b, q);
}

// ---- chain

static int sum_run(void *arg)
{
    Node *my = arg;
    const int *v;
    size_t count;
    int n = 0;
    for (; flow_dequeue(my, &v, &count); n++)
        CHECK_IN(my, count == 1 && *v == 3 * n + 3 * 100000);
    CHECK_IN(my, n == EACH);
    return 0;
}
NODE(Sum, sum_run);

static int even_run(void *arg)
{
    Node *my = arg;
    for (int n = 0; n < EACH; n++) {
        int v = (int)my->flow.index * 100000 + n;
        CHECK_IN(my, flow_send(my, &v, 1));
    }
    return 0;
}
NODE(Even, even_run);

static void wire_chain(flow_wiring *w)
{
    static const flow_op sum = {.name = "sum"};
    flow_part s = all_of(flow_add(w, 1, "s", &Even, 3));
    flow_part r = all_of(flow_add(w, 1, "r", &flow_Reduce, -1));
    flow_part b = all_of(flow_add(w, 1, "b", &flow_Broadcast, -1));
    flow_part c = all_of(flow_add(w, 1, "c", &flow_Broadcast, -1));
    flow_part q[] = {all_of(flow_add(w, 1, "q", &Sum, 3)), c};
    flow_part z = all_of(flow_add(w, 1, "z", &Sum, 6));
    r.op = &sum;
    flow_stage stages[] = {
        {FLOW_JOIN, &s, 1}, {FLOW_JOIN, &r, 1}, {FLOW_JOIN, &b, 1}, {FLOW_JOIN, q, 2}};
    flow_wire(w, 2, stages, 4);
    flow_stage second[] = {{FLOW_JOIN, &c, 1}, {FLOW_JOIN, &z, 1}};
    flow_wire(w, 3, second, 2);
}

// ---- leave

static int spring_run(void *arg)
{
    Node *my = arg;
    int n = 0;
    while (flow_send(my, &n, 1))
        n++;
    CHECK_IN(my, n >= 400);
    CHECK_IN(my, !flow_send(my, &n, 1));
    return 0;
}
NODE(Spring, spring_run);

static int leave_run(void *arg)
{
    Node *my = arg;
    const int *v;
    size_t count;
    for (int n = 0; n < 100 * (int)my->flow.index; n++)
        CHECK_IN(my, flow_dequeue(my, &v, &count) && *v == n);
    return 0;
}
NODE(Leave, leave_run);

static void wire_leave(flow_wiring *w)
{
    wire_three(w, 2, all_of(flow_add(w, 1, "s", &Spring, -1)),
               all_of(flow_add(w, 1, "b", &flow_Broadcast, -1)),
               all_of(flow_add(w, 1, "q", &Leave, 5)));
}

// ---- nothing

static int quiet_run(void *arg)
{
    (void)arg;
    return 0;
}
NODE(Quiet, quiet_run);

static int none_run(void *arg)
{
    Node *my = arg;
    const int *v;
    size_t count;
    CHECK_IN(my, !flow_dequeue(my, &v, &count) && !v && count == 0);
    return 0;
}
NODE(None, none_run);

static void wire_nothing(flow_wiring *w)
{
    wire_three(w, 2, all_of(flow_add(w, 1, "s", &Quiet, 3)),
               all_of(flow_add(w, 1, "b", &flow_Broadcast, -1)),
               all_of(flow_add(w, 1, "q", &None, 4)));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*wire)(flow_wiring *w);
    } programs[] = {{"share", wire_share},
                    {"merge", wire_merge},
                    {"chain", wire_chain},
                    {"leave", wire_leave},
                    {"nothing", wire_nothing}};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (argc > 1 && strcmp(argv[1], programs[i].name) == 0) {
            flow_root root = {.name = "Main", .file = "flow_bcast.flow", .wire = programs[i].wire};
            return flow_main(argc, argv, &root, NULL);
        }
    fprintf(stderr, "flow_bcast: what?\n");
    return 2;
}
