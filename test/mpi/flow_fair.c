// SPDX-License-Identifier: BSD-3-Clause
// On one worker it is known what is there when: flow_dequeue_from takes from queues that all have
// something in turn, a queue holds what it has room for and not one more, and who waits goes on.
#include "flow_check.h"

enum { CAP = 4, MANY = 100 };

typedef struct Both {
    flow_self flow;
    struct {
        FLOW_QUEUE(long) in, other, out;
    } q;
} Both;

// Sends more than there is room for, and says how far it came: in the arguments, which it shares
// with the receiver. (Programs of one process only; a global would be told as shared by ranks.)
static void say(const flow_self *self, int queue, long n)
{
    self->argv[1][queue] = (char)('0' + n);
}

static int Both_run(Both *my)
{
    long *v;
    size_t count;
    int queue = strcmp(my->flow.name, "b") == 0;
    if (strcmp(my->flow.name, "k") != 0) {
        for (long i = 0; i < MANY; i++) {
            if (i < 10)
                say(&my->flow, queue, i);
            CHECK(flow_send(my, &i, 1));
        }
        return 0;
    }
    settle();
    // Both senders wait with the element after those that have room.
    CHECK_INT(my->flow.argv[1][0] - '0', CAP);
    CHECK_INT(my->flow.argv[1][1] - '0', CAP);
    int last = -1;
    for (long i = 0; i < 2L * MANY; i++) {
        int from = flow_dequeue_from(my, &v, &count, in, other);
        CHECK(from == 0 || from == 1);
        if (i > 0 && i < 2 * CAP && my->flow.argc < 3) // both have something; without a seed
            CHECK(from != last);
        last = from;
        if (i == 0) { // one more has room, and no more than one
            settle();
            CHECK_INT(my->flow.argv[1][from] - '0', CAP + 1);
            CHECK_INT(my->flow.argv[1][!from] - '0', CAP);
        }
    }
    CHECK_INT(flow_dequeue_from(my, &v, &count, other, in), -1);
    return 0;
}

MODULE(Both, IN_LONG(Both, in, CAP), IN_LONG(Both, other, CAP), OUT_LONG(Both, out, 0));

static void wire(flow_wiring *w)
{
    int k = flow_add(w, __LINE__, "k", &Both_module, -1);
    int a = flow_add(w, __LINE__, "a", &Both_module, -1);
    int b = flow_add(w, __LINE__, "b", &Both_module, -1);
    WIRE(w, ALL(a), ALL(k));
    WIRE(w, ALL(b), ON(k, other));
}

MAIN(wire)
