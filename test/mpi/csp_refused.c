// SPDX-License-Identifier: BSD-3-Clause
// What a program may be given by its user or by another program, and what must not end it: names
// that are too long, channels whose values are of another size, ports of one name, parcels that are
// none, are the other end's, or were unpacked before. Each has a status, and csp_why tells. And
// what becomes of the share of an end that is packed.
#include "csp_check.h"

typedef struct node {
    int me, n, round;
    char name[300], other[300]; // of the node's channel, and of the next node's
} node;

static bool why_has(const char *words)
{
    return strstr(csp_why(), words) != NULL;
}

static void long_names(const node *my)
{
    char most[256], more[257];
    memset(more, 'x', sizeof more);
    memcpy(most, more, sizeof most);
    snprintf(most, sizeof most, "%d", my->me);
    most[strlen(most)] = 'x';
    most[sizeof most - 1] = more[sizeof more - 1] = '\0';
    CHECK(strlen(most) == 255 && strlen(more) == 256);
    csp_chan *chan = csp_chan_new("long", sizeof(int));
    csp_port *port = csp_port_new(most, 0);
    csp_target *target;
    csp_in *in;
    csp_out *out;
    CHECK(port && csp_register_port(most, port) == CSP_OK);
    CHECK(csp_find_port(most, &target, CSP_NEVER) == CSP_OK);
    csp_target_free(target);
    const char *bad[] = {more, ""};
    for (int i = 0; i < 2; i++) {
        CHECK(csp_register_chan(bad[i], chan) == CSP_REFUSED);
        CHECK(why_has("csp_register_chan: a name has at least 1 byte and at most 255"));
        CHECK(csp_register_port(bad[i], port) == CSP_REFUSED);
        CHECK(csp_unregister(bad[i]) == CSP_NO_NAME);
        CHECK(csp_find_in(bad[i], sizeof(int), &in, CSP_NEVER) == CSP_NO_NAME && !in);
        CHECK(csp_find_out(bad[i], sizeof(int), &out, CSP_NEVER) == CSP_NO_NAME && !out);
        CHECK(csp_find_port(bad[i], &target, CSP_NEVER) == CSP_NO_NAME && !target);
        CHECK(csp_target_at(my->me, bad[i], &target, CSP_NEVER) == CSP_NO_NAME && !target);
    }
    CHECK(!csp_port_new(more, 0) && why_has("this one has 256"));
    csp_port_free(port);
    csp_chan_free(chan);
}

static void ports_of_one_name(const node *my)
{
    csp_port *port = csp_port_new("one", 0);
    CHECK(port && !csp_port_new("one", 0));
    char words[64];
    snprintf(words, sizeof words, "node %d has a port 'one' already", my->me);
    CHECK(why_has(words));
    csp_port *unnamed = csp_port_new(NULL, 0), *empty = csp_port_new("", 0);
    CHECK(unnamed && empty);
    csp_port_free(unnamed);
    csp_port_free(empty);
    csp_port_free(port);
    port = csp_port_new("one", 0); // it is free again
    CHECK(port);
    csp_port_free(port);
}

// The next node's channel; alone, the own one.
static void other_size(const node *my)
{
    csp_in *in;
    csp_out *out;
    csp_target *target;
    CHECK(csp_find_in(my->other, 8, &in, CSP_NEVER) == CSP_NO_NAME && !in);
    CHECK(why_has("the channel carries values of 4 bytes, not of 8"));
    CHECK(csp_find_out(my->other, 0, &out, CSP_NEVER) == CSP_NO_NAME && !out);
    CHECK(csp_find_port(my->other, &target, CSP_NEVER) == CSP_NO_NAME && !target);
}

static void parcels(const node *my)
{
    csp_in *in, *again;
    csp_out *out;
    csp_parcel parcel = {{0}}, second;
    CHECK(csp_unpack_in(&parcel, &in) == CSP_NO_NAME && !in && why_has("this is no parcel"));
    memset(&parcel, 0xff, sizeof parcel);
    CHECK(csp_unpack_out(&parcel, &out) == CSP_NO_NAME && !out);
    CHECK(csp_find_in(my->other, sizeof(int), &in, CSP_NEVER) == CSP_OK);
    CHECK(csp_find_out(my->other, sizeof(int), &out, CSP_NEVER) == CSP_OK);
    CHECK(csp_pack_in(in, &parcel) == CSP_OK);
    CHECK(csp_unpack_out(&parcel, &out) == CSP_NO_NAME);
    CHECK(why_has("there is an end to read in the parcel"));
    CHECK(csp_unpack_in(&parcel, &in) == CSP_OK && in);
    CHECK(csp_unpack_in(&parcel, &again) == CSP_TAKEN && !again);
    CHECK(why_has("the parcel was unpacked before"));
    CHECK(csp_pack_in(in, &second) == CSP_OK); // another one of the same share
    CHECK(csp_unpack_in(&parcel, &again) == CSP_TAKEN && !again);
    CHECK(csp_unpack_in(&second, &in) == CSP_OK);
    csp_retire(in); // the share of its owner is still counted
}

// Two shares of one channel are not each other's.
static void shares(void)
{
    csp_chan *chan = csp_chan_buffered("shares", sizeof(int), 4);
    csp_in *keeps = csp_chan_in(chan), *in, *again;
    csp_out *out = csp_chan_out(chan);
    csp_parcel parcel;
    int value = 3;
    CHECK(csp_pack_in(csp_chan_in(chan), &parcel) == CSP_OK);
    CHECK(csp_unpack_in(&parcel, &in) == CSP_OK);
    CHECK(csp_unpack_in(&parcel, &again) == CSP_TAKEN && !again);
    csp_retire(in);
    CHECK(csp_write(out, &value) == CSP_OK); // `keeps` is there
    CHECK(csp_read(keeps, &value) == CSP_OK && value == 3);
    csp_chan_free(chan);
}

// A process packs an end that it holds: what it gave away is not retired when it ends.
typedef struct packing {
    csp_out *out;
    csp_parcel parcel;
} packing;

static int holds_and_packs(void *arg)
{
    packing *my = arg;
    csp_hold(my->out);
    CHECK(csp_pack_out(my->out, &my->parcel) == CSP_OK);
    return CSP_OK;
}

static void held(const node *my)
{
    csp_chan *chan = csp_chan_buffered("held", sizeof(int), 1);
    csp_in *in = csp_chan_in(chan);
    csp_out *out;
    packing near = {.out = csp_chan_out(chan)}, far;
    int value = 5;
    CHECK(csp_join(csp_fork(holds_and_packs, &near, "packs")) == CSP_OK);
    CHECK(csp_unpack_out(&near.parcel, &out) == CSP_OK);
    CHECK(csp_write(out, &value) == CSP_OK && csp_read(in, &value) == CSP_OK && value == 5);
    csp_retire(out);
    csp_chan_free(chan);
    CHECK(csp_find_out(my->other, sizeof(int), &far.out, CSP_NEVER) == CSP_OK);
    CHECK(csp_join(csp_fork(holds_and_packs, &far, "packs")) == CSP_OK);
    CHECK(csp_unpack_out(&far.parcel, &out) == CSP_OK);
    csp_retire(out);
}

// The end of a channel that is gone stays; what a retired one still holds can go elsewhere.
static void gone(void)
{
    csp_chan *chan = csp_chan_buffered("gone", sizeof(int), 1);
    csp_in *in = csp_chan_in(chan);
    csp_out *out = csp_chan_out(chan);
    csp_parcel parcel;
    int value = 6;
    CHECK(csp_write(out, &value) == CSP_OK);
    csp_retire(out);
    CHECK(csp_pack_in(in, &parcel) == CSP_OK && csp_unpack_in(&parcel, &in) == CSP_OK);
    CHECK(csp_read(in, &value) == CSP_OK && value == 6);
    CHECK(csp_pack_in(in, &parcel) == CSP_RETIRED && csp_read(in, &value) == CSP_RETIRED);
    csp_chan_free(chan);
    chan = csp_chan_new("poisoned", sizeof(int));
    in = csp_chan_in(chan);
    csp_poison(in);
    CHECK(csp_pack_in(in, &parcel) == CSP_POISONED && csp_read(in, &value) == CSP_POISONED);
    csp_chan_free(chan);
}

int main(void)
{
    node my = {.me = csp_node(), .n = csp_nodes()};
    snprintf(my.name, sizeof my.name, "channel %d", my.me);
    snprintf(my.other, sizeof my.other, "channel %d", (my.me + 1) % my.n);
    csp_chan *chan = csp_chan_new(my.name, sizeof(int));
    (void)csp_chan_in(chan);
    (void)csp_chan_out(chan);
    CHECK(csp_register_chan(my.name, chan) == CSP_OK);
    long_names(&my);
    ports_of_one_name(&my);
    other_size(&my);
    parcels(&my);
    shares();
    held(&my);
    gone();
    meet(&my.round);
    int value = 1;
    CHECK(csp_write_by(csp_chan_out(chan), &value, CSP_AT_ONCE) == CSP_LATE); // a reader is left
    meet(&my.round);
    csp_chan_free(chan);
    if (my.me == 0)
        puts("all refusals are fine");
    return 0;
}
