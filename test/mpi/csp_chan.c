// SPDX-License-Identifier: BSD-3-Clause
// Channels of every kind: order, who waits, many holders, ends that are handed over, deadlines.
#include "csp_check.h"

typedef struct mover {
    csp_in *in;
    csp_out *out;
    size_t size;
    int count, first;
    int *clock; // counts what happened
    int when;   // it did, by that clock
    csp_status status;
    long sum;
    csp_chan *made;
} mover;

// ---- values of all sizes, in order

static int fill(void *arg)
{
    mover *my = arg;
    unsigned char value[5000];
    for (int i = 0; i < my->count; i++) {
        memset(value, i, sizeof value);
        CHECK_INT(csp_write(my->out, value), CSP_OK);
    }
    return 0;
}

static int drain(void *arg)
{
    mover *my = arg;
    unsigned char value[5000];
    for (int i = 0; i < my->count; i++) {
        memset(value, 255, sizeof value);
        CHECK_INT(csp_read(my->in, value), CSP_OK);
        for (size_t k = 0; k < sizeof value; k++)
            CHECK_INT(value[k], k < my->size ? i : 255);
    }
    return 0;
}

static void sizes(void)
{
    const size_t all[] = {0, 1, 3, 4, 8, 16, 100, 5000};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        for (int capacity = 0; capacity < 4; capacity++) {
            csp_chan *c = capacity ? csp_chan_buffered("buffered", all[i], (size_t)capacity)
                                   : csp_chan_new("plain", all[i]);
            mover w = {.out = csp_chan_out(c), .count = 7};
            mover r = {.in = csp_chan_in(c), .size = all[i], .count = 7};
            CHECK_INT(CSP_PAR({fill, &w, "fill"}, {drain, &r, "drain"}), 0);
            CHECK_INT(CSP_PAR({drain, &r, "drain"}, {fill, &w, "fill"}), 0);
            csp_chan_free(c);
        }
    csp_chan_free(NULL);
}

// ---- who waits for whom

static int write_one(void *arg)
{
    mover *my = arg;
    my->status = csp_write(my->out, &my->first);
    my->when = ++*my->clock;
    return (int)my->status;
}

static int read_one(void *arg)
{
    mover *my = arg;
    my->status = csp_read(my->in, &my->first);
    my->when = ++*my->clock;
    return (int)my->status;
}

static void unbuffered(void)
{
    csp_chan *c = csp_chan_new(NULL, sizeof(int));
    csp_in *in = csp_chan_in(c);
    int clock = 0, value = 0;
    mover w = {.out = csp_chan_out(c), .first = 42, .clock = &clock};
    csp_child *child = csp_fork(write_one, &w, "writer");
    settle();
    CHECK_INT(clock, 0); // it waits
    CHECK_INT(csp_read(in, &value), CSP_OK);
    CHECK_INT(value, 42);
    CHECK_INT(csp_join(child), 0);
    mover r = {.in = in, .clock = &clock};
    child = csp_fork(read_one, &r, "reader");
    settle();
    CHECK_INT(clock, 1);
    value = 43;
    CHECK_INT(csp_write(w.out, &value), CSP_OK);
    CHECK_INT(csp_join(child), 0);
    CHECK_INT(r.first, 43);
    csp_chan_free(c);
}

static void in_order(void)
{
    enum { N = 9 };
    csp_chan *c = csp_chan_new("queue", sizeof(int));
    csp_in *in = csp_chan_in(c);
    csp_out *out = csp_chan_out(c);
    int clock = 0;
    mover m[N];
    csp_child *child[N];
    for (int i = 0; i < N; i++) {
        m[i] = (mover){.in = in, .clock = &clock};
        child[i] = csp_fork(read_one, &m[i], NULL);
        settle(); // it waits before the next comes
    }
    for (int i = 0; i < N; i++)
        CHECK_INT(csp_write(out, &i), CSP_OK);
    for (int i = 0; i < N; i++) {
        CHECK_INT(csp_join(child[i]), 0);
        CHECK_INT(m[i].first, i); // those that wait, in the order in which they came
    }
    for (int i = 0; i < N; i++) {
        m[i] = (mover){.out = out, .first = 100 + i, .clock = &clock};
        child[i] = csp_fork(write_one, &m[i], NULL);
        settle();
    }
    for (int i = 0; i < N; i++) {
        int value;
        CHECK_INT(csp_read(in, &value), CSP_OK);
        CHECK_INT(value, 100 + i);
    }
    for (int i = 0; i < N; i++)
        CHECK_INT(csp_join(child[i]), 0);
    csp_chan_free(c);
}

static void buffered(void)
{
    csp_chan *c = csp_chan_buffered("three", sizeof(int), 3);
    csp_in *in = csp_chan_in(c);
    csp_out *out = csp_chan_out(c);
    int value, clock = 0;
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 3; i++)
            CHECK_INT(csp_write(out, &i), CSP_OK);
        CHECK_INT(csp_write_by(out, &clock, CSP_AT_ONCE), CSP_LATE);
        mover w = {.out = out, .first = 3, .clock = &clock};
        csp_child *child = csp_fork(write_one, &w, NULL);
        settle();
        CHECK_INT(clock, round);
        for (int i = 0; i < 4; i++) {
            CHECK_INT(csp_read(in, &value), CSP_OK);
            CHECK_INT(value, i);
        }
        CHECK_INT(csp_read_by(in, &value, CSP_AT_ONCE), CSP_LATE);
        CHECK_INT(csp_join(child), 0);
        if (round % 2) { // so that the ring turns
            CHECK_INT(csp_write(out, &value), CSP_OK);
            CHECK_INT(csp_read(in, &value), CSP_OK);
        }
    }
    csp_chan_free(c);
}

static void overwriting(void)
{
    csp_chan *c = csp_chan_overwriting("newest", sizeof(int), 3);
    csp_in *in = csp_chan_in(c);
    csp_out *out = csp_chan_out(c);
    int value, clock = 0;
    for (int i = 0; i < 10; i++)
        CHECK_INT(csp_write(out, &i), CSP_OK);
    for (int i = 7; i < 10; i++) {
        CHECK_INT(csp_read(in, &value), CSP_OK);
        CHECK_INT(value, i);
    }
    CHECK_INT(csp_read_by(in, &value, CSP_AT_ONCE), CSP_LATE);
    mover r = {.in = in, .clock = &clock};
    csp_child *child = csp_fork(read_one, &r, NULL);
    settle();
    value = 77;
    CHECK_INT(csp_write(out, &value), CSP_OK);
    CHECK_INT(csp_join(child), 0);
    CHECK_INT(r.first, 77);
    csp_chan_free(c);
}

// ---- many

static int write_many(void *arg)
{
    mover *my = arg;
    for (int i = 0; i < my->count; i++) {
        int value = my->first + i;
        CHECK_INT(csp_write(my->out, &value), CSP_OK);
        if (i % 5 == 0)
            csp_yield();
    }
    csp_retire(my->out);
    return 0;
}

static int read_many(void *arg)
{
    mover *my = arg;
    int value;
    while ((my->status = csp_read(my->in, &value)) == CSP_OK) {
        my->sum += value;
        my->count++;
        if (value % 3 == 0)
            csp_yield();
    }
    return (int)my->status;
}

static void many(csp_chan *c)
{
    enum { W = 7, R = 5, EACH = 100 };
    csp_proc procs[W + R];
    mover m[W + R];
    for (int i = 0; i < W + R; i++) {
        m[i] = i < W ? (mover){.out = csp_chan_out(c), .count = EACH, .first = i * EACH}
                     : (mover){.in = csp_chan_in(c)};
        procs[i] = (csp_proc){i < W ? write_many : read_many, &m[i], "many", 0};
    }
    CHECK_INT(csp_par(procs, W + R), CSP_RETIRED);
    long sum = 0, count = 0;
    for (int i = W; i < W + R; i++) {
        sum += m[i].sum;
        count += m[i].count;
        CHECK_INT(procs[i].result, CSP_RETIRED);
    }
    CHECK_INT(count, W * EACH);
    CHECK_INT(sum, (long)W * EACH * (W * EACH - 1) / 2);
    csp_chan_free(c);
}

// ---- ends over channels

static int hand_over(void *arg)
{
    mover *my = arg;
    csp_chan *c = my->made = csp_chan_new("handed", sizeof(int));
    csp_in *in = csp_chan_in(c);
    csp_out *out = csp_chan_out(c);
    CHECK_INT(csp_write(my->out, &in), CSP_OK);
    for (int i = 0; i < 10; i++)
        CHECK_INT(csp_write(out, &i), CSP_OK);
    csp_retire(out);
    return 0;
}

static int takes_over(void *arg)
{
    mover *my = arg;
    csp_in *in;
    int value, n = 0;
    CHECK_INT(csp_read(my->in, &in), CSP_OK);
    csp_hold(in);
    while (csp_read(in, &value) == CSP_OK)
        CHECK_INT(value, n++);
    CHECK_INT(n, 10);
    return 0;
}

static void ends(void)
{
    csp_chan *c = csp_chan_new("ends", sizeof(csp_in *));
    mover w = {.out = csp_chan_out(c)}, r = {.in = csp_chan_in(c)};
    CHECK_INT(CSP_PAR({hand_over, &w, "hands"}, {takes_over, &r, "takes"}), 0);
    csp_chan_free(w.made);
    csp_chan_free(c);
}

// ---- deadlines leave nothing behind

static void deadlines(csp_chan *c, bool takes)
{
    csp_in *in = csp_chan_in(c);
    csp_out *out = csp_chan_out(c);
    int value = 5;
    csp_time before = csp_now();
    CHECK_INT(csp_read_by(in, &value, csp_after(0.01)), CSP_LATE);
    CHECK(csp_now() - before >= 10000000);
    CHECK_INT(value, 5);
    CHECK_INT(csp_read_by(in, &value, before), CSP_LATE);
    CHECK_INT(csp_read_by(in, &value, -1), CSP_LATE);
    if (!takes) {
        CHECK_INT(csp_write_by(out, &value, CSP_AT_ONCE), CSP_LATE); // no reader was left behind
        CHECK_INT(csp_write_by(out, &value, csp_after(0.005)), CSP_LATE);
        CHECK_INT(csp_write_by(out, &value, csp_after(-1)), CSP_LATE);
        CHECK_INT(csp_read_by(in, &value, CSP_AT_ONCE), CSP_LATE); // no writer
    }
    int clock = 0;
    mover w = {.out = out, .first = 9, .clock = &clock};
    csp_child *child = csp_fork(write_one, &w, NULL);
    CHECK_INT(csp_read_by(in, &value, csp_after(100)), CSP_OK);
    CHECK_INT(value, 9);
    CHECK_INT(csp_join(child), 0);
    mover r = {.in = in, .clock = &clock};
    child = csp_fork(read_one, &r, NULL);
    CHECK_INT(csp_write_by(out, &value, CSP_NEVER), CSP_OK);
    CHECK_INT(csp_join(child), 0);
    csp_chan_free(c);
}

int main(void)
{
    sizes();
    unbuffered();
    in_order();
    buffered();
    overwriting();
    many(csp_chan_new("many", sizeof(int)));
    many(csp_chan_buffered("many", sizeof(int), 3));
    many(csp_chan_buffered("many", sizeof(int), 1000));
    ends();
    deadlines(csp_chan_new(NULL, sizeof(int)), false);
    deadlines(csp_chan_buffered(NULL, sizeof(int), 2), true);
    deadlines(csp_chan_overwriting(NULL, sizeof(int), 2), true);
    return 0;
}
