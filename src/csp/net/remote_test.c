// SPDX-License-Identifier: BSD-3-Clause
// Alternations over a channel of another worker and something near, step by step. Worker 0 is real;
// what worker 1 says is written down here and handed to worker 0 as if it had come, so every step
// happens when the test says so, and nothing else goes on that could make good for a lost wake-up.
// In each case the alternation is promised to the far channel, something comes to the near guard
// meanwhile, and the promise turns out void: the near guard must be served then.
#include "base/upcalls.h"
#include "csp/net/remote.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "csp/net/chan.h"
#include "csp/net/port.h"
#include "p2p/job_test.h"

enum { FAR = 7, VALUE = 4711, HEARD = 256 };

static atomic_bool over;      // worker 0 is done
static uint16_t heard[HEARD]; // what worker 1 was told
static atomic_uint heard_count;

static void packet_came(mlt_worker *worker, uint32_t from, const mlt_packet *packet,
                        const void *data, uint64_t bytes)
{
    if (worker->index == 0)
        mlt_route_packet(worker, from, packet, data, bytes);
    else if (heard_count < HEARD)
        heard[heard_count++] = packet->kind;
}

static void settle_down(void)
{
    for (int i = 0; i < 20; i++)
        csp_yield();
}

// Worker 1 says something to one of the objects of worker 0.
static void come(mlt_chan_packet_kind kind, uint32_t object, int32_t op, const void *data,
                 uint64_t bytes)
{
    mlt_packet packet = {.kind = (uint16_t)kind, .object = object, .word = op, .src = FAR};
    mlt_route_packet(mlt_csp_self->worker, 1, &packet, data, bytes);
}

// ---- a stand-in for a channel of worker 1

typedef struct opening {
    bool writer;
    csp_chan *chan;
} opening;

static int opens(void *arg)
{
    opening *o = arg;
    mlt_csp *csp = mlt_csp_self;
    return (int)mlt_remote_open(csp, mlt_route_to_worker(csp, 1), FAR, sizeof(int), o->writer, 0,
                                CSP_NEVER, &o->chan);
}

static csp_chan *far_chan(bool writer)
{
    opening o = {.writer = writer};
    uint32_t last = mlt_remote_of(mlt_csp_self)->next, size = sizeof(int);
    csp_child *child = csp_fork(opens, &o, "opens");
    settle_down();
    come(MLT_CHAN_OPENED, last + 1, (int32_t)last + 2, &size, sizeof size);
    CHECK(csp_join(child) == CSP_OK && o.chan);
    return o.chan;
}

static uint32_t number_of(const csp_chan *chan)
{
    return mlt_remote_chan_of(chan)->number;
}

// ---- the process that alternates

typedef struct chooser {
    csp_guard guards[3];
    size_t count;
    int chosen;
} chooser;

static int chooses(void *arg)
{
    chooser *c = arg;
    c->chosen = csp_alt(c->guards, c->count);
    return c->chosen;
}

// {far, near}, promised to far.
static csp_child *promise(chooser *c, csp_chan *far, csp_guard near)
{
    static const int value = VALUE;
    csp_guard of_far = csp_on_write(mlt_chan_out(far), &value);
    *c = (chooser){.guards = {of_far, near}, .count = 2, .chosen = -1};
    csp_child *child = csp_fork(chooses, c, "chooser");
    settle_down();
    come(MLT_CHAN_ASK, number_of(far), 1, NULL, 0);
    return child;
}

// It waits; the promise is void; near was chosen.
static void check_void(chooser *c, csp_child *child, csp_chan *far, csp_status status)
{
    settle_down();
    CHECK(c->chosen == -1);
    come(MLT_CHAN_AGAIN, number_of(far), 1, NULL, 0);
    settle_down();
    CHECK(c->chosen == 1 && c->guards[1].status == status);
    CHECK(csp_join(child) == 1);
    csp_retire_out(mlt_chan_out(far));
}

// ---- what comes to the near guard

typedef struct user {
    csp_chan *chan;
    int value;
} user;

static int writes(void *arg)
{
    user *u = arg;
    return (int)csp_write(mlt_chan_out(u->chan), &u->value);
}

static int reads(void *arg)
{
    user *u = arg;
    return (int)csp_read(mlt_chan_in(u->chan), &u->value);
}

static int writes_or_late(void *arg)
{
    user *u = arg;
    csp_guard guards[] = {csp_on_write(mlt_chan_out(u->chan), &u->value),
                          csp_on_time(csp_after(60))};
    return csp_pri_alt(guards, 2);
}

static csp_chan *near_chan(size_t capacity, bool shared)
{
    csp_chan *chan = capacity ? csp_chan_buffered("near", sizeof(int), capacity)
                              : csp_chan_new("near", sizeof(int));
    (void)csp_chan_in(chan);
    (void)csp_chan_out(chan);
    if (shared)
        (void)mlt_remote_share(chan);
    return chan;
}

static void by_process(size_t capacity, bool shared, csp_function *run)
{
    csp_chan *far = far_chan(true), *near = near_chan(capacity, shared);
    user other = {near, VALUE};
    chooser c;
    int value = run == reads ? VALUE : 0;
    csp_child *child = promise(&c, far,
                               run == reads ? csp_on_write(mlt_chan_out(near), &value)
                                            : csp_on_read(mlt_chan_in(near), &value));
    other.value = run == reads ? 0 : VALUE;
    csp_child *came = csp_fork(run, &other, "other");
    check_void(&c, child, far, CSP_OK);
    CHECK(csp_join(came) == CSP_OK && value == VALUE && other.value == VALUE);
    csp_chan_free(near);
}

// A writer of worker 1 comes to the near channel: a plain one, or an alternation that must be
// asked.
static void by_packet(bool plain)
{
    csp_chan *far = far_chan(true), *near = near_chan(0, true);
    chooser c;
    struct {
        uint64_t who;
        int value, pad;
    } offer = {.who = 1, .value = VALUE};
    int value = 0;
    csp_child *child = promise(&c, far, csp_on_read(mlt_chan_in(near), &value));
    if (plain)
        come(MLT_CHAN_WRITE, number_of(near), 5, &offer.value, sizeof offer.value);
    else
        come(MLT_CHAN_OFFER_WRITE, number_of(near), 5, &offer, sizeof offer.who + sizeof(int));
    if (plain) {
        check_void(&c, child, far, CSP_OK);
    } else { // its alternation is the higher one: this one is held while that is asked
        come(MLT_CHAN_AGAIN, number_of(far), 1, NULL, 0);
        settle_down();
        CHECK(c.chosen == -1);
        come(MLT_CHAN_YES, number_of(near), 5, NULL, 0);
        settle_down();
        CHECK(csp_join(child) == 1);
        csp_retire_out(mlt_chan_out(far));
    }
    CHECK(value == VALUE);
    csp_chan_free(near);
}

static void by_poison(bool shared)
{
    csp_chan *far = far_chan(true), *near = near_chan(0, shared);
    chooser c;
    int value;
    csp_child *child = promise(&c, far, csp_on_read(mlt_chan_in(near), &value));
    csp_poison_in(mlt_chan_in(near));
    check_void(&c, child, far, CSP_POISONED);
    csp_chan_free(near);
}

static void by_time(void)
{
    csp_chan *far = far_chan(true);
    chooser c;
    csp_child *child = promise(&c, far, csp_on_time(csp_after(0.001)));
    csp_sleep(csp_after(0.003));
    check_void(&c, child, far, CSP_OK);
}

static int syncs(void *arg)
{
    return (int)csp_sync(arg);
}

static void by_barrier(void)
{
    csp_chan *far = far_chan(true);
    csp_barrier *barrier = csp_barrier_new("near", 2);
    chooser c;
    csp_child *child = promise(&c, far, csp_on_sync(barrier));
    csp_child *other = csp_fork(syncs, barrier, "other");
    check_void(&c, child, far, CSP_OK);
    CHECK(csp_join(other) == CSP_OK);
    csp_barrier_free(barrier);
}

static void by_port(void)
{
    csp_chan *far = far_chan(true);
    csp_port *port = csp_port_new("near", 0);
    csp_target *target;
    chooser c;
    int value = VALUE, got = 0;
    csp_child *child = promise(&c, far, csp_on_port(port, &got, sizeof got));
    CHECK(csp_target_at(0, "near", &target, CSP_NEVER) == CSP_OK);
    CHECK(csp_send(target, &value, sizeof value) == CSP_OK);
    check_void(&c, child, far, CSP_OK);
    CHECK(got == VALUE);
    csp_target_free(target);
    csp_port_free(port);
}

// A descriptor becomes ready, and another process reads it empty before the promise is void: the
// alternation must watch it again.
static void by_descriptor(void)
{
    csp_chan *far = far_chan(true);
    int ends[2];
    char byte = 'x';
    chooser c;
    CHECK(pipe(ends) == 0);
    csp_child *child = promise(&c, far, csp_on_readable(ends[0]));
    CHECK(write(ends[1], &byte, 1) == 1);
    csp_sleep(csp_after(0.003)); // the watch fires
    CHECK(read(ends[0], &byte, 1) == 1);
    come(MLT_CHAN_AGAIN, number_of(far), 1, NULL, 0);
    settle_down();
    CHECK(c.chosen == -1);
    CHECK(write(ends[1], &byte, 1) == 1);
    CHECK(csp_join(child) == 1);
    csp_retire_out(mlt_chan_out(far));
    close(ends[0]);
    close(ends[1]);
}

// Another far channel is told LATER, RENEW when the promise is void, and then it is its turn.
static void by_far(void)
{
    csp_chan *far = far_chan(true), *other = far_chan(false);
    chooser c;
    int value = 0, sent = VALUE;
    csp_child *child = promise(&c, far, csp_on_read(mlt_chan_in(other), &value));
    come(MLT_CHAN_ASK, number_of(other), 1, NULL, 0);
    come(MLT_CHAN_AGAIN, number_of(far), 1, NULL, 0);
    settle_down();
    CHECK(c.chosen == -1);
    come(MLT_CHAN_ASK, number_of(other), 1, NULL, 0);
    come(MLT_CHAN_DONE, number_of(other), 1, &sent, sizeof sent);
    CHECK(csp_join(child) == 1 && value == VALUE);
    csp_retire_in(mlt_chan_in(other));
    csp_retire_out(mlt_chan_out(far));
}

// The last piece of a long message comes before all of it is there. Nothing is received, and worker
// 1 is lost: this is the last case.
static void by_pieces(void)
{
    enum { FIRST = MLT_PACKET_PORT + 8, PART, STREAM = 3 }; // as in port.c
    csp_port *port = csp_port_new("pieces", 0);
    mlt_worker *worker = mlt_csp_self->worker;
    uint64_t total = 100;
    unsigned char data[100] = {0};
    mlt_packet packet = {.kind = FIRST, .object = port->number, .word = STREAM};
    mlt_route_packet(worker, 1, &packet, &total, sizeof total);
    packet.kind = PART;
    mlt_route_packet(worker, 1, &packet, data, 60);
    packet.dst = 1;
    mlt_route_packet(worker, 1, &packet, data, 30);
    CHECK(csp_receive_by(port, data, sizeof data, NULL, NULL, CSP_AT_ONCE) == CSP_LATE);
    CHECK(mlt_route_to_worker(mlt_csp_self, 1)->lost && strstr(csp_why(), "pieces"));
    csp_port_free(port);
}

static void worker_0(void)
{
    (void)csp_node(); // makes mlt_csp_self
    for (int shared = 0; shared < 2; shared++) {
        by_process(0, shared, writes);
        by_process(2, shared, writes);
        by_process(0, shared, reads);
        by_process(0, shared, writes_or_late);
        by_poison(shared);
    }
    by_packet(true);
    by_packet(false);
    by_time();
    by_barrier();
    by_port();
    by_descriptor();
    by_far();
    by_pieces();
}

static void entry(void *rank)
{
    if (((mlt_rank *)rank)->world == 0) {
        worker_0();
        over = true;
    }
    while (!over)
        usleep(100);
}

static unsigned times_heard(mlt_chan_packet_kind kind)
{
    unsigned times = 0;
    for (unsigned i = 0; i < heard_count; i++)
        times += heard[i] == kind;
    return times;
}

const mlt_upcall_table mlt_upcalls = {.packet = packet_came};

int main(void)
{
    char why[256];
    CHECK(mlt_settings_read(mlt_p2p_settings, mlt_p2p_settings_count, why, sizeof why) == MLT_OK);
    test_job_run(2, 1, "direct", entry, mlt_csp_end);
    CHECK(heard_count < HEARD);
    CHECK(times_heard(MLT_CHAN_LATER) == 1 && times_heard(MLT_CHAN_RENEW) == 1);
    CHECK(times_heard(MLT_CHAN_YES) == 18);
    return 0;
}
