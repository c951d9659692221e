// SPDX-License-Identifier: BSD-3-Clause
// Deal and Collect of flow programs: in turn, out and in.
//
//     farm      dealt to some, collected from them: the order is as it was
//     uneven    receivers of different speed; senders of different length, collected
//     leave     one receiver ends: its turns are lost; when all have, the sender is told
//     merge     several senders into one Deal
//     nothing   senders that send nothing
#include <millet/csp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODE_VALUE long
#define NODE_KIND  FLOW_LONG
#define NODE_CAP   3
#include "flow_node.h"

// ---- farm

enum { WORKERS = 5, ELEMENTS = 1003 };

// The n-th element has n % 300 numbers, and now and then many.
static size_t count_of(long n)
{
    return n % 100 == 77 ? 30000 : (size_t)(n % 300);
}

static int source_run(void *arg)
{
    Node *my = arg;
    for (long n = 0; n < ELEMENTS; n++) {
        long *v = flow_new(my, count_of(n) + 1);
        v[0] = n;
        for (size_t k = 1; k <= count_of(n); k++)
            v[k] = n + (long)k;
        CHECK_IN(my, flow_give(my, v, count_of(n) + 1));
    }
    return 0;
}
NODE(Source, source_run);

static int square_run(void *arg)
{
    Node *my = arg;
    long *v, turn = my->flow.index;
    size_t count;
    for (; flow_dequeue(my, &v, &count); turn += my->flow.count) {
        CHECK_IN(my, v[0] == turn); // every fifth
        for (size_t k = 1; k < count; k++)
            v[k] *= v[k];
        for (long i = 0; i < my->flow.index; i++)
            csp_yield(); // some are slower
        CHECK_IN(my, flow_give(my, v, count));
    }
    return 0;
}
NODE(Square, square_run);

static int sink_run(void *arg)
{
    Node *my = arg;
    const long *v;
    size_t count;
    long n = 0;
    for (; flow_dequeue(my, &v, &count); n++) {
        CHECK_IN(my, v[0] == n && count == count_of(n) + 1);
        for (size_t k = 1; k < count; k++)
            CHECK_IN(my, v[k] == (n + (long)k) * (n + (long)k));
    }
    CHECK_IN(my, n == ELEMENTS);
    return 0;
}
NODE(Sink, sink_run);

static void wire_farm(flow_wiring *w)
{
    flow_part s = all_of(flow_add(w, 1, "s", &Source, -1));
    flow_part d = all_of(flow_add(w, 1, "d", &flow_Deal, -1));
    flow_part q = all_of(flow_add(w, 1, "q", &Square, WORKERS));
    flow_part c = all_of(flow_add(w, 1, "c", &flow_Collect, -1));
    flow_part z = all_of(flow_add(w, 1, "z", &Sink, -1));
    flow_stage stages[] = {{FLOW_JOIN, &s, 1},
                           {FLOW_JOIN, &d, 1},
                           {FLOW_JOIN, &q, 1},
                           {FLOW_JOIN, &c, 1},
                           {FLOW_JOIN, &z, 1}};
    flow_wire(w, 2, stages, 5);
}

// ---- uneven

// Sender i sends i * 10 elements.
static int some_run(void *arg)
{
    Node *my = arg;
    for (long n = 0; n < my->flow.index * 10; n++) {
        long v = my->flow.index * 1000 + n;
        CHECK_IN(my, flow_send(my, &v, 1));
    }
    return 0;
}
NODE(Some, some_run);

static int in_turn_run(void *arg)
{
    Node *my = arg;
    const long *v;
    size_t count;
    for (long n = 0; n < 70; n++)
        for (long i = 0; i < 8; i++)
            if (n < i * 10) {
                CHECK_IN(my, flow_dequeue(my, &v, &count));
                CHECK_IN(my, count == 1 && *v == i * 1000 + n);
            }
    CHECK_IN(my, !flow_dequeue(my, &v, &count));
    return 0;
}
NODE(InTurn, in_turn_run);

static void wire_uneven(flow_wiring *w)
{
    wire_three(w, 2, all_of(flow_add(w, 1, "s", &Some, 8)),
               all_of(flow_add(w, 1, "c", &flow_Collect, -1)),
               all_of(flow_add(w, 1, "z", &InTurn, -1)));
}

// ---- leave

static int spring_run(void *arg)
{
    Node *my = arg;
    long n = 0;
    while (flow_send(my, &n, 1))
        n++;
    CHECK_IN(my, n >= 4 * 90);
    return 0;
}
NODE(Spring, spring_run);

// Ends after so many; the others still get theirs, and not its.
static int leave_run(void *arg)
{
    Node *my = arg;
    const long *v;
    size_t count;
    for (long n = 0; n < 30 * my->flow.index; n++) {
        CHECK_IN(my, flow_dequeue(my, &v, &count));
        CHECK_IN(my, *v == n * my->flow.count + my->flow.index);
    }
    return 0;
}
NODE(Leave, leave_run);

static void wire_leave(flow_wiring *w)
{
    wire_three(w, 2, all_of(flow_add(w, 1, "s", &Spring, -1)),
               all_of(flow_add(w, 1, "d", &flow_Deal, -1)), all_of(flow_add(w, 1, "q", &Leave, 4)));
}

// ---- merge

enum { SENDERS = 3, EACH = 200, TAKERS = 4 };

static int count_run(void *arg)
{
    Node *my = arg;
    for (long n = 0; n < EACH; n++) {
        long v = my->flow.index * 1000 + n;
        CHECK_IN(my, flow_send(my, &v, 1));
    }
    return 0;
}
NODE(Count, count_run);

// A fair part of all, those of a sender in order.
static int taker_run(void *arg)
{
    Node *my = arg;
    const long *v;
    size_t count;
    long last[SENDERS] = {-1, -1, -1}, got = 0;
    for (; flow_dequeue(my, &v, &count); got++) {
        CHECK_IN(my, *v % 1000 > last[*v / 1000]);
        last[*v / 1000] = *v % 1000;
    }
    CHECK_IN(my, got == SENDERS * EACH / TAKERS);
    return 0;
}
NODE(Taker, taker_run);

static void wire_merge(flow_wiring *w)
{
    wire_three(w, 2, all_of(flow_add(w, 1, "s", &Count, SENDERS)),
               all_of(flow_add(w, 1, "d", &flow_Deal, -1)),
               all_of(flow_add(w, 1, "q", &Taker, TAKERS)));
}

// ---- nothing

static int none_run(void *arg)
{
    Node *my = arg;
    const long *v;
    size_t count;
    CHECK_IN(my, !flow_dequeue(my, &v, &count));
    return 0;
}
NODE(None, none_run);

static void wire_nothing(flow_wiring *w)
{
    flow_part s = all_of(flow_add(w, 1, "s", &None, 2));
    flow_part d = all_of(flow_add(w, 1, "d", &flow_Deal, -1));
    flow_part q = all_of(flow_add(w, 1, "q", &None, 3));
    flow_part c = all_of(flow_add(w, 1, "c", &flow_Collect, -1));
    flow_part z = all_of(flow_add(w, 1, "z", &None, -1));
    flow_stage stages[] = {{FLOW_JOIN, &s, 1},
                           {FLOW_JOIN, &d, 1},
                           {FLOW_JOIN, &q, 1},
                           {FLOW_JOIN, &c, 1},
                           {FLOW_JOIN, &z, 1}};
    flow_wire(w, 2, stages, 5);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*wire)(flow_wiring *w);
    } programs[] = {{"farm", wire_farm},
                    {"uneven", wire_uneven},
                    {"leave", wire_leave},
                    {"merge", wire_merge},
                    {"nothing", wire_nothing}};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (argc > 1 && strcmp(argv[1], programs[i].name) == 0) {
            flow_root root = {.name = "Main", .file = "flow_deal.flow", .wire = programs[i].wire};
            return flow_main(argc, argv, &root, NULL);
        }
    fprintf(stderr, "flow_deal: what?\n");
    return 2;
}
