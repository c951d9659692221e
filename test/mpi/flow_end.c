// SPDX-License-Identifier: BSD-3-Clause
// Ends, in every state that a queue can be in when somebody ends.
//
//     early   a receiver that takes a few and returns: those who send, who wait for room, and who
//             come later get false, and give up
//     never   one that takes nothing at all
//     late    a sender that ends while its receiver waits
//     idle    a sender that sends nothing
//     loose   queues that are wired nowhere: end of input at once, elements dropped
#include "flow_check.h"

typedef struct Many {
    flow_self flow;
    struct {
        FLOW_QUEUE(long) in, other, out;
    } q;
} Many;

enum { TAKES = 3 };

// Sends until nobody takes it.
static int Pour_run(Many *my)
{
    long sent = 0;
    while (flow_send(my, &sent, 1))
        sent++;
    CHECK(sent >= (strcmp(my->flow.name, "early") == 0 ? 1 : 0));
    long *v = flow_new(my, 1);
    *v = sent;
    CHECK(!flow_give(my, v, 1)); // it is gone, be it taken or not
    CHECK(!flow_send(my, &sent, 1));
    return 0;
}

static int Sip_run(Many *my)
{
    long *v;
    size_t count;
    for (int i = 0; i < TAKES; i++)
        CHECK(flow_dequeue(my, &v, &count));
    if (my->flow.argc > 1)
        settle(); // those who send are waiting now
    return 0;     // with what is still there
}

static int Never_run(Many *my)
{
    return my->flow.index < 0;
}

static int Late_run(Many *my)
{
    long v = 7;
    settle();
    CHECK(flow_send(my, &v, 1));
    settle();
    return 0;
}

static int Wait_run(Many *my)
{
    long *v;
    size_t count;
    CHECK(flow_dequeue(my, &v, &count) && *v == 7 && count == 1);
    CHECK(!flow_dequeue(my, &v, &count));
    return 0;
}

static int Idle_run(Many *my)
{
    return my->flow.count != 1;
}

static int Nothing_run(Many *my)
{
    long *v;
    size_t count;
    CHECK_INT(flow_dequeue_from(my, &v, &count, in, other), -1);
    return 0;
}

static int Loose_run(Many *my)
{
    long *v, one = 1;
    size_t count;
    CHECK(!flow_dequeue(my, &v, &count));
    CHECK(!flow_dequeue_on(my, other, &v, &count));
    CHECK_INT(flow_dequeue_from(my, &v, &count, in, other), -1);
    for (int i = 0; i < 1000; i++)
        CHECK(flow_send(my, &one, 1)); // there is no room that could be full
    v = flow_new(my, 100);
    CHECK(flow_give(my, v, 100));
    return 0;
}

#define MANY(T)                                                                                    \
    MODULE_OF_MANY(T, IN_LONG(Many, in, 4), IN_LONG(Many, other, 4), OUT_LONG(Many, out, 0))
#define MODULE_OF_MANY(T, ...)                                                                     \
    static int T##_main(void *my)                                                                  \
    {                                                                                              \
        return T##_run(my);                                                                        \
    }                                                                                              \
    static const flow_queue_decl T##_queues[] = {__VA_ARGS__};                                     \
    static const flow_module T##_module = {.name = #T,                                             \
                                           .bytes = sizeof(Many),                                  \
                                           .file = __FILE__,                                       \
                                           .queues = T##_queues,                                   \
                                           .queue_count = 3,                                       \
                                           .run = T##_main}

MANY(Pour);
MANY(Sip);
MANY(Never);
MANY(Late);
MANY(Wait);
MANY(Idle);
MANY(Nothing);
MANY(Loose);

static void wire(flow_wiring *w)
{
    int early = flow_add(w, __LINE__, "early", &Pour_module, 3);
    int sip = flow_add(w, __LINE__, "sip", &Sip_module, -1);
    int pour = flow_add(w, __LINE__, "pour", &Pour_module, 3);
    int never = flow_add(w, __LINE__, "never", &Never_module, -1);
    int late = flow_add(w, __LINE__, "late", &Late_module, -1);
    int wait = flow_add(w, __LINE__, "wait", &Wait_module, -1);
    int idle = flow_add(w, __LINE__, "idle", &Idle_module, -1);
    int nothing = flow_add(w, __LINE__, "nothing", &Nothing_module, -1);
    flow_add(w, __LINE__, "loose", &Loose_module, 2);
    WIRE(w, ALL(early), ALL(sip));
    WIRE(w, ALL(pour), ALL(never));
    WIRE(w, ALL(late), ALL(wait));
    WIRE(w, ALL(idle), ON(nothing, other));
}

MAIN(wire)
