// SPDX-License-Identifier: BSD-3-Clause
// What is in a channel's buffer when its node ends in order, or frees it, belongs to those who read
// elsewhere: plainly, in an alternation, and when the end overtakes them. Node 0 writes and goes;
// with an argument a process that is not main ends it.
#include "csp_check.h"

enum { VALUES = 40, ROUNDS = 20 };

static csp_chan *filled(const char *name, size_t size, int first)
{
    csp_chan *chan = csp_chan_buffered(name, size, VALUES);
    csp_out *out = csp_chan_out(chan);
    for (int i = first; i < first + VALUES; i++)
        CHECK(csp_write(out, &i) == CSP_OK);
    CHECK(csp_register_chan(name, chan) == CSP_OK);
    return chan;
}

static csp_in *in_of(const char *name, size_t size)
{
    csp_in *in;
    CHECK(csp_find_in(name, size, &in, CSP_NEVER) == CSP_OK);
    return in;
}

static int leaves(void *arg)
{
    (void)arg;
    exit(0);
}

// How many values there are, in order; the rest of the way by alternations if `alternates`.
static int drain(csp_in *in, bool alternates)
{
    int value = -1, last = -1, count = 0;
    csp_chan *idle = csp_chan_new("idle", sizeof(int));
    csp_guard guards[] = {csp_on_read(csp_chan_in(idle), &value), csp_on_read(in, &value)};
    for (;;) {
        csp_status status = alternates ? guards[csp_alt(guards, 2)].status : csp_read(in, &value);
        if (status != CSP_OK) {
            CHECK_INT(status, CSP_RETIRED);
            break;
        }
        CHECK(value > last);
        last = value;
        count++;
    }
    csp_chan_free(idle);
    return count;
}

// Node 0 frees channels while node 1 reads them; at a random moment of the exchange.
static void freed(int me, int *round)
{
    char name[32];
    for (int i = 0; i < ROUNDS; i++) {
        snprintf(name, sizeof name, "freed %d", i);
        csp_chan *chan = me ? NULL : filled(name, sizeof(int), 0);
        csp_in *in = me == 1 ? in_of(name, sizeof(int)) : NULL;
        meet(round);
        for (int k = 0; chan && k < i * 5; k++)
            csp_yield();
        csp_chan_free(chan);
        if (in) {
            CHECK_INT(drain(in, i % 2), VALUES);
            csp_retire(in);
        }
    }
}

int main(int argc, char **argv)
{
    int me = csp_node(), n = csp_nodes(), round = 0, part = 0, sum = 0;
    (void)argv;
    freed(me, &round);
    if (me == 0) {
        csp_chan *chan = filled("shared", sizeof(int), 0), *late = filled("late", sizeof(int), 0),
                 *empty = csp_chan_buffered("empty", 0, 3),
                 *poisoned = filled("bad", sizeof(int), 0);
        csp_out *out = csp_chan_out(empty);
        for (int i = 0; i < 3; i++)
            CHECK(csp_write(out, NULL) == CSP_OK);
        CHECK(csp_register_chan("empty", empty) == CSP_OK);
        (void)chan, (void)late;
        meet(&round); // all have their ends
        csp_poison(csp_chan_out(poisoned));
        if (argc > 1)
            CSP_PAR({leaves, NULL, "leaves", 0});
        return 0;
    }
    csp_port *port = csp_port_new("parts", 0);
    csp_target *target;
    csp_in *in = in_of("shared", sizeof(int)), *late = me == 1 ? in_of("late", sizeof(int)) : NULL,
           *empty = me == 1 ? in_of("empty", 0) : NULL, *bad = in_of("bad", sizeof(int));
    csp_parcel parcel;
    CHECK(csp_target_at(1, "parts", &target, CSP_NEVER) == CSP_OK);
    meet(&round);
    part = drain(in, me % 2);
    CHECK(csp_send(target, &part, sizeof part) == CSP_OK);
    CHECK(csp_read(bad, &sum) == CSP_POISONED);
    if (me == 1) {
        sum = 0;
        for (int i = 1; i < n; i++, sum += part)
            CHECK(csp_receive(port, &part, sizeof part, NULL, NULL) == CSP_OK);
        CHECK_INT(sum, VALUES);                           // each value once
        csp_sleep(csp_after(0.02));                       // node 0 is gone for sure
        CHECK(csp_pack_in(late, &parcel) == CSP_RETIRED); // they would be lost in it
        CHECK(csp_read(late, &sum) == CSP_OK && sum == 0);
        CHECK_INT(drain(late, true), VALUES - 1);
        for (int i = 0; i < 3; i++)
            CHECK(csp_read(empty, NULL) == CSP_OK);
        CHECK(csp_read(empty, NULL) == CSP_RETIRED);
        puts("nothing is lost");
    }
    return 0;
}
