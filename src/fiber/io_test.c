// SPDX-License-Identifier: BSD-3-Clause
// Timers and watches of the IO scheduler, without an engine above: the idle function blocks in it.
#include "fiber/io.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "os/fd.h"
#include "os/os.h"

enum { MS = 1000000 };

static mlt_sched *sched;
static const mlt_wait waiting = {.call = "io_test", .kind = MLT_WAIT_OTHER};

static void idle(void *arg)
{
    CHECK(mlt_io_waits(sched)); // a deadlock otherwise
    if (mlt_io_look(sched))
        return;
    if (mlt_io_watches(sched))
        mlt_io_block(sched, -1);
    else
        mlt_os_sleep(mlt_io_patience(sched));
}

static void make(uint32_t fibers)
{ // rr: those that are woken run in that order
    char why[256];
    mlt_sched_conf conf = {.policy = "rr", .fibers = fibers, .idle = idle};
    CHECK(mlt_sched_new(&conf, &sched, why, sizeof why) == MLT_OK);
}

// ---- timers

enum { TIMERS = 3000 };

typedef struct wake_up {
    mlt_timer timer;
    bool set;
    uint64_t fired;
} wake_up;

static wake_up alarms[TIMERS];
static uint64_t last_fired, fired_count;

static void note(mlt_timer *timer)
{
    wake_up *a = mlt_container_of(timer, wake_up, timer);
    CHECK(a->set && timer->place == 0);
    CHECK(timer->at_ns >= last_fired && timer->at_ns <= mlt_os_now_ns());
    last_fired = timer->at_ns;
    a->set = false;
    a->fired++;
    fired_count++;
}

// Sets, moves and stops timers at random; those that are left fire, each once, in order.
static void test_heap(void)
{
    make(0);
    CHECK(!mlt_io_waits(sched) && !mlt_io_look(sched) && mlt_io_patience(sched) == -1);
    uint64_t now = mlt_os_now_ns(), left = 0;
    for (int round = 0; round < 40000; round++) {
        wake_up *a = &alarms[random64() % TIMERS];
        a->timer.fire = note;
        if (random64() % 3 == 0) {
            mlt_timer_stop(sched, &a->timer);
            a->set = false;
        } else {
            mlt_timer_set(sched, &a->timer, now - TIMERS + random64() % TIMERS);
            a->set = true;
        }
    }
    for (int i = 0; i < TIMERS; i++)
        left += alarms[i].set;
    CHECK(left > TIMERS / 4 && mlt_io_waits(sched) && mlt_io_patience(sched) == 0);
    CHECK(!mlt_io_watches(sched));
    mlt_timer later = {.fire = note};
    mlt_timer_set(sched, &later, UINT64_MAX);
    errno = 4711;
    CHECK(mlt_io_look(sched) && errno == 4711);
    CHECK(fired_count == left);
    for (int i = 0; i < TIMERS; i++)
        CHECK(!alarms[i].set && alarms[i].fired <= 1);
    CHECK(!mlt_io_look(sched) && mlt_io_patience(sched) == INT64_MAX);
    mlt_timer_stop(sched, &later);
    mlt_timer_stop(sched, &later);
    CHECK(!mlt_io_waits(sched) && mlt_io_patience(sched) == -1);
    mlt_sched_free(sched);
}

static int rings_left;

static void ring_again(mlt_timer *timer)
{
    rings_left--;
    mlt_timer_set(sched, timer, timer->at_ns); // still due
}

// One that is always due is served once a look.
static void test_insistent(void)
{
    make(0);
    mlt_timer timer = {.fire = ring_again};
    rings_left = 5;
    mlt_timer_set(sched, &timer, 1);
    for (int i = 0; i < 5; i++)
        CHECK(mlt_io_look(sched));
    CHECK(rings_left == 0);
    mlt_timer_stop(sched, &timer);
    mlt_sched_free(sched);
}

typedef struct sleeper {
    mlt_timer timer;
    mlt_fiber *fiber;
    uint64_t ns;
} sleeper;

static void wake_sleeper(mlt_timer *timer)
{
    sleeper *s = mlt_container_of(timer, sleeper, timer);
    mlt_fiber_wake(sched, s->fiber);
}

static uint64_t slept_order[16], sleep_start;
static uint32_t slept;

static void sleep_once(void *arg)
{
    sleeper *s = arg;
    s->fiber = sched->current;
    s->timer.fire = wake_sleeper;
    uint64_t until = sleep_start + s->ns;
    mlt_timer_set(sched, &s->timer, until);
    errno = (int)s->ns;
    mlt_fiber_park(sched, &waiting);
    CHECK(mlt_os_now_ns() >= until && errno == (int)s->ns);
    slept_order[slept++] = s->ns;
}

// Fibers that sleep block each other not at all: 16 of them take as long as the longest.
static void test_sleepers(void)
{
    make(16);
    static sleeper all[16];
    sleep_start = mlt_os_now_ns();
    for (uint64_t i = 0; i < 16; i++) {
        all[i].ns = (16 - i) * 4 * MS;
        mlt_fiber_spawn(sched, sleep_once, &all[i]);
    }
    mlt_sched_run(sched);
    CHECK(slept == 16);
    for (int i = 1; i < 16; i++)
        CHECK(slept_order[i] > slept_order[i - 1]);
    mlt_sched_free(sched);
}

// ---- watches

typedef struct probe {
    mlt_io_watch watch;
    int fired;
    struct probe *stops, *starts; // when it fires
} probe;

static void on_probe(mlt_io_watch *watch)
{
    probe *p = mlt_container_of(watch, probe, watch);
    CHECK(!watch->node.next);
    p->fired++;
    if (p->stops)
        mlt_io_watch_stop(sched, &p->stops->watch);
    if (p->starts)
        CHECK(mlt_io_watch_start(sched, &p->starts->watch) == MLT_PENDING);
}

static probe new_probe(int fd, bool writes)
{
    return (probe){.watch = {.fd = fd, .writes = writes, .fire = on_probe}};
}

static void start(probe *p)
{
    CHECK(mlt_io_watch_start(sched, &p->watch) == MLT_PENDING);
}

static void test_directions(void)
{
    make(0);
    int s[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
    probe in = new_probe(s[0], false), in2 = new_probe(s[0], false), out = new_probe(s[0], true);
    start(&in);
    CHECK(mlt_io_waits(sched) && mlt_io_watches(sched) && mlt_io_patience(sched) == -1);
    CHECK(!mlt_io_look(sched) && in.fired == 0);
    start(&out); // ready at once; `in` stays armed
    CHECK(mlt_io_look(sched) && out.fired == 1 && in.fired == 0 && !mlt_io_look(sched));
    start(&in2);
    CHECK(write(s[1], "x", 1) == 1);
    CHECK(mlt_io_look(sched) && in.fired == 1 && in2.fired == 1 && !mlt_io_watches(sched));
    CHECK(!mlt_io_look(sched)); // once
    start(&in);                 // still readable
    CHECK(mlt_io_look(sched) && in.fired == 2);
    start(&in); // a look at ports sees it, and says so
    CHECK(mlt_io_look_at_ports(sched) && in.fired == 3 && !mlt_io_look_at_ports(sched));
    start(&in);
    mlt_io_watch_stop(sched, &in.watch);
    mlt_io_watch_stop(sched, &in.watch);
    CHECK(!mlt_io_waits(sched) && !mlt_io_look(sched) && in.fired == 3);
    // An end is something to read, and an error fires both directions.
    char byte;
    CHECK(read(s[0], &byte, 1) == 1);
    probe full = new_probe(s[0], true);
    static char much[1 << 16];
    while (send(s[0], much, sizeof much, MSG_DONTWAIT) > 0)
        ;
    start(&in);
    start(&full);
    CHECK(!mlt_io_look(sched));
    close(s[1]);
    CHECK(mlt_io_look(sched) && in.fired == 4 && full.fired == 1);
    close(s[0]);
    mlt_sched_free(sched);
}

static bool port_has_news;

static bool port_rang(void *count, uint32_t number)
{
    CHECK(number == 7);
    ++*(int *)count;
    return port_has_news;
}

// A port that stays ready keeps nobody awake who looks, and lets nobody sleep.
static void test_ready_port(void)
{
    make(0);
    int p[2], rings = 0;
    CHECK(pipe(p) == 0 && write(p[1], "x", 1) == 1);
    mlt_io_ports(sched, port_rang, &rings);
    CHECK(mlt_io_port_set(sched, p[0], 7, false));
    CHECK(!mlt_io_look_at_ports(sched) && rings == 1);
    port_has_news = true;
    CHECK(mlt_io_look_at_ports(sched) && rings == 2);
    port_has_news = false;
    CHECK(mlt_io_block(sched, MLT_OS_FOREVER) && rings == 3);
    mlt_io_port_drop(sched, p[0]);
    CHECK(!mlt_io_look_at_ports(sched) && rings == 3);
    close(p[0]);
    close(p[1]);
    mlt_sched_free(sched);
}

// One that fires stops another that is about to, and starts a third.
static void test_in_fire(void)
{
    make(0);
    int p[2];
    CHECK(pipe(p) == 0);
    probe a = new_probe(p[0], false), b = new_probe(p[0], false), c = new_probe(p[0], false);
    a.stops = &b;
    a.starts = &c;
    start(&a);
    start(&b);
    CHECK(write(p[1], "x", 1) == 1);
    CHECK(mlt_io_look(sched) && a.fired == 1 && b.fired == 0 && c.fired == 0);
    CHECK(mlt_io_look(sched) && c.fired == 1 && !mlt_io_watches(sched));
    close(p[0]);
    close(p[1]);
    mlt_sched_free(sched);
}

static void test_odd_descriptors(void)
{
    make(0);
    probe none = new_probe(-1, false), closed = new_probe(1000, false);
    CHECK(mlt_io_watch_start(sched, &none.watch) == MLT_ERR_SYSTEM && errno == EBADF);
    CHECK(mlt_io_watch_start(sched, &closed.watch) == MLT_ERR_SYSTEM && errno == EBADF);
    char name[] = "/tmp/io_test.XXXXXX";
    int file = mkstemp(name);
    CHECK(file >= 0);
    unlink(name);
    probe regular = new_probe(file, true);
    errno = 4711;
    CHECK(mlt_io_watch_start(sched, &regular.watch) == MLT_OK && errno == 4711);
    CHECK(!mlt_io_waits(sched));
    close(file);
    mlt_sched_free(sched);
}

// A number that is closed and used again, with and without a copy of the old file that lives on.
static void test_reuse(void)
{
    make(0);
    for (int copy = 0; copy < 2; copy++) {
        int p[2], q[2];
        CHECK(pipe(p) == 0);
        int twin = copy ? dup(p[0]) : -1;
        probe a = new_probe(p[0], false);
        start(&a);
        mlt_io_watch_stop(sched, &a.watch); // epoll still looks at it
        int number = p[0];
        close(p[0]);
        CHECK(pipe(q) == 0 && q[0] == number);
        start(&a);
        if (copy)
            CHECK(write(p[1], "x", 1) == 1); // the old file is ready, the new one is not
        CHECK(!mlt_io_look(sched) && a.fired == 0);
        CHECK(write(q[1], "x", 1) == 1);
        CHECK(mlt_io_look(sched) && a.fired == 1);
        close(p[1]);
        close(q[0]);
        close(q[1]);
        if (copy)
            close(twin);
    }
    mlt_sched_free(sched);
}

// Closed while watched: whoever waits goes on nevertheless.
static void test_closed(void)
{
    make(0);
    mlt_io_patrol_ns = 10 * MS;
    int p[2], q[2];
    CHECK(pipe(p) == 0 && pipe(q) == 0);
    probe a = new_probe(p[0], false), b = new_probe(q[0], false);
    start(&a);
    start(&b);
    CHECK(!mlt_io_look(sched));
    close(p[0]);
    while (a.fired == 0)
        mlt_io_block(sched, -1);
    CHECK(b.fired == 0 && mlt_io_watches(sched));
    mlt_io_patrol_ns = INT64_MAX;
    mlt_io_watch_stop(sched, &b.watch);
    close(p[1]);
    close(q[0]);
    close(q[1]);
    mlt_sched_free(sched);
}

static void test_doorbell(void)
{
    make(0);
    int doorbell = mlt_os_doorbell_new("", 0), s[2];
    CHECK(doorbell >= 0);
    CHECK(mlt_io_set_doorbell(sched, -1) == MLT_ERR_SYSTEM);
    mlt_os_close(doorbell);
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, s) == 0);
    CHECK(mlt_io_set_doorbell(sched, s[0]) == MLT_OK);
    int p[2];
    CHECK(pipe(p) == 0);
    probe a = new_probe(p[0], false);
    start(&a);
    for (int i = 0; i < 3; i++)
        CHECK(send(s[1], "", 0, MSG_DONTWAIT) == 0);
    mlt_io_block(sched, -1); // returns for the doorbell
    CHECK(a.fired == 0);
    char byte;
    CHECK(recv(s[0], &byte, 1, MSG_DONTWAIT) < 0); // read empty
    uint64_t before = mlt_os_now_ns();
    mlt_io_block(sched, 5 * MS);
    CHECK(mlt_os_now_ns() - before >= 5 * MS);
    mlt_io_watch_stop(sched, &a.watch);
    mlt_sched_free(sched);
    close(s[0]);
    close(s[1]);
    close(p[0]);
    close(p[1]);
}

// ---- many fibers, each reading from a pipe that another thread writes to

enum { PIPES = 100, BYTES = 50 };
static int pipes[PIPES][2];
static uint64_t taken;

typedef struct reader {
    mlt_io_watch watch;
    mlt_fiber *fiber;
} reader;

static void wake_reader(mlt_io_watch *watch)
{
    mlt_fiber_wake(sched, mlt_container_of(watch, reader, watch)->fiber);
}

static void read_all(void *arg)
{
    int fd = *(int *)arg;
    reader r = {.watch = {.fd = fd, .fire = wake_reader}, .fiber = sched->current};
    for (;;) {
        CHECK(mlt_io_watch_start(sched, &r.watch) == MLT_PENDING);
        mlt_fiber_park(sched, &waiting);
        char bytes[8];
        ssize_t n = read(fd, bytes, sizeof bytes);
        CHECK(n >= 0);
        if (n == 0)
            return;
        taken += (uint64_t)n;
    }
}

static void *write_all(void *arg)
{
    uint64_t state = 12345;
    uint32_t left[PIPES], open = PIPES;
    for (int i = 0; i < PIPES; i++)
        left[i] = BYTES;
    while (open) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint32_t i = (uint32_t)(state >> 33) % PIPES;
        if (left[i] && --left[i] == 0) {
            close(pipes[i][1]);
            open--;
        } else if (left[i]) {
            CHECK(write(pipes[i][1], "x", 1) == 1);
        }
    }
    return NULL;
}

static void test_many(void)
{
    make(PIPES);
    for (int i = 0; i < PIPES; i++) {
        CHECK(pipe(pipes[i]) == 0);
        mlt_fiber_spawn(sched, read_all, &pipes[i][0]);
    }
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, write_all, NULL) == 0);
    mlt_sched_run(sched);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(taken == (uint64_t)PIPES * (BYTES - 1) && !mlt_io_waits(sched));
    for (int i = 0; i < PIPES; i++)
        close(pipes[i][0]);
    mlt_sched_free(sched);
}

int main(void)
{
    test_heap();
    test_insistent();
    test_sleepers();
    test_directions();
    test_ready_port();
    test_in_fire();
    test_odd_descriptors();
    test_reuse();
    test_closed();
    test_doorbell();
    test_many();
    puts("all right");
    return 0;
}
