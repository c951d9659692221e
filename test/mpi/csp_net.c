// SPDX-License-Identifier: BSD-3-Clause
// Channels between nodes: every kind and state, from either side.
#include "csp_check.h"

// Ranks may share a process, and with it globals: what each has is passed on.
typedef struct node {
    int me, n;
    int round;
} node;

// Node 0 has a channel of that name.
static csp_chan *home_of(node *my, const char *name, size_t size, size_t capacity)
{
    if (my->me)
        return NULL;
    csp_chan *chan = capacity ? csp_chan_buffered(name, size, capacity) : csp_chan_new(name, size);
    CHECK(csp_register_chan(name, chan) == CSP_OK);
    return chan;
}

static csp_out *out_of(const char *name, size_t size)
{
    csp_out *out;
    CHECK(csp_find_out(name, size, &out, CSP_NEVER) == CSP_OK && out);
    return out;
}

static csp_in *in_of(const char *name, size_t size)
{
    csp_in *in;
    CHECK(csp_find_in(name, size, &in, CSP_NEVER) == CSP_OK && in);
    return in;
}

enum { MANY = 300 };

// All others write, node 0 reads; then the other way round.
static void many_to_one(node *my, const char *name, size_t size, size_t capacity)
{
    csp_chan *chan = home_of(my, name, size, capacity);
    unsigned char *value = calloc(1, size);
    int *next = calloc((size_t)my->n, sizeof *next);
    if (my->me) {
        csp_out *out = out_of(name, size);
        for (int i = 0; i < MANY; i++) {
            memset(value, i, size);
            memcpy(value, &my->me, sizeof(int));
            CHECK(csp_write(out, value) == CSP_OK);
        }
        csp_retire(out);
    } else {
        csp_in *in = csp_chan_in(chan);
        csp_out *hold = csp_chan_out(chan); // or it may retire before the last has come
        for (int i = 0; i < MANY * (my->n - 1); i++) {
            int from;
            CHECK(csp_read(in, value) == CSP_OK);
            memcpy(&from, value, sizeof from);
            CHECK(from > 0 && from < my->n && value[size - 1] == (unsigned char)next[from]++);
        }
        csp_retire(hold);
        while (my->n > 1 && csp_read(in, value) == CSP_OK)
            CHECK(!"more than was written");
        csp_retire(in);
    }
    meet(&my->round);
    csp_chan_free(chan);
    free(next);
    free(value);
}

static void one_to_many(node *my, const char *name, size_t capacity)
{
    csp_chan *chan = home_of(my, name, sizeof(long), capacity);
    long sum = 0, value, total = (long)MANY * (MANY - 1) / 2;
    if (my->me) {
        csp_in *in = in_of(name, sizeof(long));
        while (csp_read(in, &value) == CSP_OK)
            sum += value;
        CHECK(csp_read(in, &value) == CSP_RETIRED);
        csp_retire(in);
    } else {
        csp_out *out = csp_chan_out(chan);
        csp_in *in = csp_chan_in(chan);
        for (value = 0; value < MANY; value++)
            if (my->n > 1 || capacity)
                CHECK(csp_write_by(out, &value, my->n > 1 ? CSP_NEVER : CSP_AT_ONCE) !=
                      CSP_RETIRED);
        meet(&my->round);
        csp_retire(out);
        while (csp_read(in, &value) == CSP_OK)
            sum += value;
    }
    if (my->me == 0) {
        csp_port *port = csp_port_new(name, 0);
        long part;
        for (int i = 1; i < my->n; i++) {
            CHECK(csp_receive(port, &part, sizeof part, NULL, NULL) == CSP_OK);
            sum += part;
        }
        CHECK(my->n == 1 || sum == total);
        csp_port_free(port);
        csp_chan_free(chan);
    } else {
        csp_target *target;
        CHECK(csp_target_at(0, name, &target, CSP_NEVER) == CSP_OK);
        CHECK(csp_send(target, &sum, sizeof sum) == CSP_OK);
        csp_target_free(target);
    }
}

// one_to_many meets in the middle at node 0: the others do it while they read.
static int meets(void *arg)
{
    meet(&((node *)arg)->round);
    return 0;
}

static void spread(node *my, const char *name, size_t capacity)
{
    csp_child *child = my->me ? csp_fork(meets, my, "meets") : NULL;
    one_to_many(my, name, capacity);
    if (child)
        CHECK(csp_join(child) == 0);
    meet(&my->round);
}

// Deadlines: nothing happens when they pass.
static void deadlines(node *my)
{
    csp_chan *chan = home_of(my, "deadlines", sizeof(int), 0);
    int value = 1;
    if (my->me == 1) {
        csp_in *in = in_of("deadlines", sizeof(int));
        csp_out *out = out_of("deadlines", sizeof(int));
        CHECK(csp_read_by(in, &value, CSP_AT_ONCE) == CSP_LATE);
        CHECK(csp_read_by(in, &value, csp_after(0.01)) == CSP_LATE);
        CHECK(csp_write_by(out, &value, CSP_AT_ONCE) == CSP_LATE);
        CHECK(csp_write_by(out, &value, csp_after(0.01)) == CSP_LATE);
        csp_guard guards[] = {csp_on_read(in, &value), csp_on_write(out, &value),
                              csp_on_time(csp_after(0.01))};
        CHECK(csp_alt(guards, 3) == 2);
        guards[2] = csp_on_skip();
        CHECK(csp_alt(guards, 3) == 2);
        meet(&my->round);
        CHECK(csp_read_by(in, &value, csp_after(100)) == CSP_OK && value == 4711);
        csp_retire(out);
        csp_retire(in);
    } else {
        meet(&my->round);
    }
    if (chan) {
        csp_out *out = csp_chan_out(chan);
        csp_in *in = csp_chan_in(chan);
        value = 4711;
        if (my->n > 1)
            CHECK(csp_write(out, &value) == CSP_OK);
        CHECK(csp_read_by(in, &value, CSP_AT_ONCE) == CSP_LATE);
    }
    meet(&my->round);
    csp_chan_free(chan);
}

// Poison and retirement, from each side, of those who wait and those who come later.
typedef enum how { POISON_HOME, POISON_FAR, RETIRE_HOME, RETIRE_FAR, FREE_HOME, HOWS } how;

static void ends(node *my, how how, bool far_writes, bool waits, bool by_alt)
{
    char name[64];
    csp_status want = how <= POISON_FAR ? CSP_POISONED : CSP_RETIRED, got = CSP_OK;
    snprintf(name, sizeof name, "end %d %d %d %d", how, far_writes, waits, by_alt);
    csp_chan *chan = home_of(my, name, sizeof(int), 0);
    int value = 0, node = my->me == 0 ? 0 : my->me == my->n - 1 ? 1 : 2;
    csp_in *in = NULL;
    csp_out *out = NULL;
    if (node == 0 && far_writes)
        in = csp_chan_in(chan);
    else if (node == 0)
        out = csp_chan_out(chan);
    else if (node == 1 && far_writes)
        out = out_of(name, sizeof(int));
    else if (node == 1)
        in = in_of(name, sizeof(int));
    meet(&my->round);
    bool home_acts = how == POISON_HOME || how == RETIRE_HOME || how == FREE_HOME;
    if (my->n > 1 && node < 2) {
        bool acts = (node == 0) == home_acts;
        if (acts && waits)
            csp_sleep(csp_after(0.005));
        if (acts && how <= POISON_FAR && in)
            csp_poison(in);
        else if (acts && how <= POISON_FAR)
            csp_poison(out);
        else if (acts && how == FREE_HOME)
            csp_chan_free(chan);
        else if (acts && in)
            csp_retire(in);
        else if (acts)
            csp_retire(out);
        if (!acts && !waits)
            csp_sleep(csp_after(0.005));
        csp_guard guard = in ? csp_on_read(in, &value) : csp_on_write(out, &value);
        if (!acts && by_alt)
            got = csp_alt(&guard, 1) == 0 ? guard.status : CSP_OK;
        else if (!acts)
            got = in ? csp_read(in, &value) : csp_write(out, &value);
        CHECK(acts || got == want);
        if (!acts)
            CHECK((in ? csp_read(in, &value) : csp_write(out, &value)) == want);
    }
    meet(&my->round);
    if (how != FREE_HOME)
        csp_chan_free(chan);
    meet(&my->round);
}

// Alternations that meet alternations: each node has a channel, and all read from and write to all.
static void alternate(node *my, int count)
{
    char name[32];
    csp_chan *chan = csp_chan_new(NULL, sizeof(int));
    csp_in *in = csp_chan_in(chan);
    snprintf(name, sizeof name, "ring %d", my->me);
    CHECK(csp_register_chan(name, chan) == CSP_OK);
    snprintf(name, sizeof name, "ring %d", (my->me + 1) % my->n);
    csp_out *out = out_of(name, sizeof(int));
    int sent = 0, got = 0, value, next = 0;
    while (sent < count || got < count) {
        csp_guard guards[] = {csp_on_read(in, &value), csp_on_write(out, &next)};
        guards[0].off = got == count;
        guards[1].off = sent == count;
        int chosen = csp_alt(guards, 2);
        CHECK(guards[chosen].status == CSP_OK);
        if (chosen == 0)
            CHECK(value == got++);
        else
            next = ++sent;
    }
    meet(&my->round);
    csp_retire(out);
    meet(&my->round);
    csp_chan_free(chan);
}

// Ends that are sent away: node 0 gives the reading end of a channel to node 1, that to the next
// one, ..., and the last one writes back on an end of its own.
static void parcels(node *my)
{
    char name[32];
    csp_parcel parcel;
    csp_port *port = csp_port_new("parcels", 0);
    csp_target *next;
    int value = 0;
    CHECK(csp_target_at((my->me + 1) % my->n, "parcels", &next, CSP_NEVER) == CSP_OK);
    snprintf(name, sizeof name, "mine");
    csp_chan *chan = csp_chan_new(name, sizeof(int));
    csp_in *in = csp_chan_in(chan), *own = in;
    csp_out *out = csp_chan_out(chan);
    CHECK(csp_pack_in(in, &parcel) == CSP_OK);
    for (int i = 0; i < my->n; i++) { // once round: everybody gets its own back
        CHECK(csp_send(next, &parcel, sizeof parcel) == CSP_OK);
        CHECK(csp_receive(port, &parcel, sizeof parcel, NULL, NULL) == CSP_OK);
        CHECK(csp_unpack_in(&parcel, &in) == CSP_OK);
        if (i == my->n / 2) { // somebody else's: what its maker writes comes here
            meet(&my->round);
            csp_child *child = NULL;
            (void)child;
        }
        CHECK(csp_pack_in(in, &parcel) == CSP_OK);
    }
    CHECK(csp_unpack_in(&parcel, &in) == CSP_OK && in == own);
    csp_retire(in);
    CHECK(csp_write(out, &value) == CSP_RETIRED);
    csp_target_free(next);
    meet(&my->round);
    csp_port_free(port);
    csp_chan_free(chan);
}

// With an argument all nodes share a worker: a channel that was freed has no ends there.
int main(int argc, char **argv)
{
    node my = {csp_node(), csp_nodes(), 0};
    bool together = argc > 1 && argv[1];
    meet(&my.round);
    many_to_one(&my, "ints", sizeof(int) + 1, 0);
    many_to_one(&my, "buffered", sizeof(int) + 1, 7);
    many_to_one(&my, "wide", 50000, 0);
    spread(&my, "spread", 0);
    spread(&my, "spread buffered", 5);
    deadlines(&my);
    for (int i = 0; i < HOWS * 8; i++)
        if (i / 8 != FREE_HOME || !together)
            ends(&my, (how)(i / 8), i & 1, i & 2, i & 4);
    alternate(&my, 500);
    parcels(&my);
    if (my.me == 0)
        puts("channels are fine");
    return 0;
}
