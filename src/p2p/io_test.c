// SPDX-License-Identifier: BSD-3-Clause
// A worker that waits for messages, for time and for descriptors at once: two workers (threads, so
// that TSan sees both) of two ranks each play with each other through the engine and through pipes,
// at random, and sleep whenever they can. No wake-up is lost; what waits for time or descriptors is
// no deadlock, and what does not is one.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/upcalls.h"
#include "fiber/io.h"
#include "fiber/sanitize.h"
#include "os/os.h"
#include "p2p/job_test.h"
#include "p2p/p2p.h"
#include "p2p/settings.h"
#include "p2p/worker.h"
#include "wire/wire.h"

static const mlt_wait waiting = {.call = "io_test", .kind = MLT_WAIT_OTHER};

typedef struct sleeper {
    mlt_timer timer;
    mlt_io_watch watch;
    mlt_rank *rank;
    mlt_fiber *fiber;
    bool over;
} sleeper;

static void wake(sleeper *s)
{
    s->over = true;
    mlt_fiber_wake(s->rank->worker->sched, s->fiber);
}

static void on_time(mlt_timer *timer)
{
    wake(mlt_container_of(timer, sleeper, timer));
}

static void on_ready(mlt_io_watch *watch)
{
    wake(mlt_container_of(watch, sleeper, watch));
}

static void nap(mlt_rank *me, uint64_t ns)
{
    sleeper s = {.timer.fire = on_time, .rank = me, .fiber = mlt_rank_fiber(me)};
    mlt_timer_set(me->worker->sched, &s.timer, mlt_os_now_ns() + ns);
    while (!s.over)
        mlt_fiber_park(me->worker->sched, &waiting);
}

static void read_byte(mlt_rank *me, int fd, unsigned char *byte)
{
    sleeper s = {.watch = {.fd = fd, .fire = on_ready}, .rank = me, .fiber = mlt_rank_fiber(me)};
    while (read(fd, byte, 1) != 1) {
        CHECK(errno == EAGAIN);
        s.over = false;
        CHECK(mlt_io_watch_start(me->worker->sched, &s.watch) == MLT_PENDING);
        while (!s.over)
            mlt_fiber_park(me->worker->sched, &waiting);
    }
}

static void send_value(mlt_rank *me, uint32_t value, int to)
{
    mlt_req req;
    mlt_req_init(&req, me, MLT_REQ_SEND);
    mlt_req_message(&req, &value, sizeof value, MLT_TYPE_BYTE, 0, me->world, to, 0);
    mlt_p2p_send(&req);
    mlt_req_wait(&req, "send");
}

static uint32_t receive_value(mlt_rank *me, int from)
{
    uint32_t value = 0;
    mlt_req req;
    mlt_req_init(&req, me, MLT_REQ_RECV);
    mlt_req_message(&req, &value, sizeof value, MLT_TYPE_BYTE, 0, me->world, from, 0);
    mlt_p2p_recv(&req);
    mlt_req_wait(&req, "recv");
    return value;
}

// ---- the game. Ranks 0 and 1 are of worker 0, 2 and 3 of worker 1. 0 and 2 play with messages, 1
// and 3 with pipes; each pair at its own pace, now and then after a pause.

static uint32_t turns;
static int pipes[2][2]; // [0]: from 1 to 3

static void pause_at_times(mlt_rank *me, uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    uint32_t dice = (uint32_t)(*random >> 33) % 64;
    if (dice < 1)
        nap(me, 100000); // longer than anybody spins
    else if (dice < 20)
        for (uint64_t until = mlt_os_now_ns() + dice * 1000; mlt_os_now_ns() < until;)
            ;
}

static void play(void *rank)
{
    mlt_rank *me = rank;
    uint64_t random = (uint64_t)me->world + 1;
    int world = me->world, partner = (world + 2) % 4;
    for (uint32_t t = 0; t < turns; t++) {
        for (int half = 0; half < 2; half++) {
            bool sends = (half == 0) == (world < 2);
            unsigned char byte = (unsigned char)t;
            if (sends && world % 2 == 0) {
                pause_at_times(me, &random);
                send_value(me, t, partner);
            } else if (world % 2 == 0) {
                CHECK(receive_value(me, partner) == t);
            } else if (sends) {
                pause_at_times(me, &random);
                CHECK(write(pipes[world == 1 ? 0 : 1][1], &byte, 1) == 1);
            } else {
                read_byte(me, pipes[world == 3 ? 0 : 1][0], &byte);
                CHECK(byte == (unsigned char)t);
            }
        }
    }
}

// ---- jobs

static void open_pipes(void)
{
    for (int i = 0; i < 2; i++)
        CHECK(pipe2(pipes[i], O_NONBLOCK | O_CLOEXEC) == 0);
}

static void close_pipes(void)
{
    for (int i = 0; i < 4; i++)
        close(pipes[i / 2][i % 2]);
}

// cores: 2: workers spin before they sleep, and the job has membarrier; 1: they sleep at once.
static void test_game(uint32_t cores, const char *policy, uint32_t count)
{
    test_job g;
    mlt_conf.sched = policy;
    turns = count;
    open_pipes();
    test_job_begin(&g, 2, 2, cores, true, play, NULL);
    test_job_end(&g);
    close_pipes();
}

// ---- what the launcher sees

static _Atomic int stage, seen;

// A rank waits for a message that comes only after the launcher's look; the other for a pipe.
static void watched(void *rank)
{
    mlt_rank *me = rank;
    unsigned char byte;
    if (me->world == 0) {
        read_byte(me, pipes[0][0], &byte);
        send_value(me, 1, 1);
        CHECK(receive_value(me, 1) == 2); // both wait for messages only; 1 naps before it sends
    } else {
        CHECK(receive_value(me, 0) == 1);
        do
            nap(me, 20000000);
        while (!atomic_load(&seen));
        send_value(me, 2, 0);
    }
}

static bool is_asleep(mlt_job *job, uint32_t worker, uint32_t how)
{
    return mlt_job_state_of(mlt_job_worker_at(job, worker)) == how;
}

static void test_launcher(void)
{
    test_job g;
    mlt_conf.sched = "direct";
    open_pipes();
    test_job_begin(&g, 2, 1, 2, true, watched, NULL);
    // 0 listens, 1 sleeps: never quiet.
    while (!is_asleep(g.job, 0, MLT_WORKER_LISTENS) || !is_asleep(g.job, 1, MLT_WORKER_ASLEEP))
        mlt_os_yield();
    CHECK(!mlt_job_observe(g.job).quiet);
    CHECK(atomic_load(&mlt_job_worker_at(g.job, 0)->wakes_itself) == 1);
    CHECK(atomic_load(&mlt_job_worker_at(g.job, 1)->wakes_itself) == 0);
    // Asked for a report, both answer, and sleep again.
    mlt_job_ask_waits(g.job);
    for (uint32_t i = 0; i < 2; i++)
        while (atomic_load(&mlt_job_worker_at(g.job, i)->reported) != 1)
            mlt_os_yield();
    CHECK(write(pipes[0][1], "x", 1) == 1);
    // Then 0 waits for a message, and 1 for time: still not quiet.
    while (!is_asleep(g.job, 0, MLT_WORKER_ASLEEP) || !is_asleep(g.job, 1, MLT_WORKER_ASLEEP) ||
           atomic_load(&mlt_job_worker_at(g.job, 1)->wakes_itself) != 1)
        mlt_os_yield();
    CHECK(!mlt_job_observe(g.job).quiet);
    atomic_store(&seen, 1);
    test_job_end(&g);
    close_pipes();
}

// ---- alone

static void on_deadlock(mlt_worker *w)
{
    CHECK(!mlt_io_waits(w->sched));
    atomic_fetch_add(&stage, 1);
    // Nobody can go on, but the test must: what the first rank waits for comes after all.
    send_value(&w->ranks[0], 7, 0);
}

static void alone(void *rank)
{
    mlt_rank *me = rank;
    unsigned char byte;
    nap(me, 10000); // so short that it is not slept for
    nap(me, 3000000);
    CHECK(write(pipes[0][1], "x", 1) == 1);
    read_byte(me, pipes[0][0], &byte);
    CHECK(atomic_load(&stage) == 0);
    CHECK(receive_value(me, 0) == 7); // nobody ever sends it
    CHECK(atomic_load(&stage) == 1);
}

const mlt_upcall_table mlt_upcalls = {.deadlock = on_deadlock};

static void test_alone(void)
{
    test_job g;
    atomic_store(&stage, 0);
    open_pipes();
    test_job_begin(&g, 1, 1, 2, false, alone, NULL);
    test_job_end(&g);
    close_pipes();
}

// A worker that can get no descriptor for its doorbell hears of its pipes nevertheless.
static void deaf(void *rank)
{
    mlt_rank *me = rank;
    unsigned char byte;
    if (me->world == 0) {
        int spare = dup(0); // epoll gets this one
        struct rlimit old, now;
        CHECK(spare >= 0 && getrlimit(RLIMIT_NOFILE, &old) == 0);
        now = (struct rlimit){.rlim_cur = (rlim_t)spare + 1, .rlim_max = old.rlim_max};
        CHECK(setrlimit(RLIMIT_NOFILE, &now) == 0);
        close(spare);
        read_byte(me, pipes[0][0], &byte);
        CHECK(setrlimit(RLIMIT_NOFILE, &old) == 0);
        CHECK(receive_value(me, 1) == 5);
    } else {
        mlt_job_worker *other = mlt_job_worker_at(me->worker->boot->job, 0);
        while (mlt_job_state_of(other) != MLT_WORKER_ASLEEP || !atomic_load(&other->wakes_itself))
            nap(me, 1000000);
        CHECK(write(pipes[0][1], "x", 1) == 1);
        send_value(me, 5, 0);
    }
}

static void test_deaf(void)
{
    test_job g;
    open_pipes();
    test_job_begin(&g, 2, 1, 2, true, deaf, NULL);
    test_job_end(&g);
    close_pipes();
}

// A program closes all descriptors that it does not know: its worker hears of messages and pipes
// nevertheless.
static void close_others(void)
{
    for (int fd = 3; fd < 64; fd++)
        if (fd != pipes[0][0] && fd != pipes[0][1])
            close(fd);
}

static void closes(void *rank)
{
    mlt_rank *me = rank;
    unsigned char byte;
    if (me->world == 0) {
        read_byte(me, pipes[0][0], &byte); // all the time, so that the worker listens
        return;
    }
    if (me->world == 1) {
        CHECK(receive_value(me, 2) == 1);
        close_others();
        CHECK(receive_value(me, 2) == 2);
        close_others();
        CHECK(receive_value(me, 2) == 3 && write(pipes[0][1], "x", 1) == 1);
        return;
    }
    mlt_job_worker *other = mlt_job_worker_at(me->worker->boot->job, 0);
    for (int i = 1; me->world == 2 && i <= 3; i++) {
        while (mlt_job_state_of(other) != MLT_WORKER_LISTENS)
            nap(me, 1000000);
        send_value(me, i, 1);
    }
}

static void test_closes(void)
{
    test_job g;
    open_pipes();
    test_job_begin(&g, 2, 2, 2, true, closes, NULL);
    test_job_end(&g);
    close_pipes();
}

// ---- how long a worker polls

enum { SPIN_US = 2000, TRIES = 500 };
static uint64_t delay_ns;
static bool in_collective; // that is, an operation of all workers
static struct {
    bool napped, disturbed; // disturbed: something else ran on its core
    uint64_t waited_ns, burnt_ns;
} wait_of_0; // what worker 0 did while it waited

static long switches(void)
{
    struct rusage now;
    CHECK(getrusage(RUSAGE_THREAD, &now) == 0);
    return now.ru_nivcsw;
}

// Rank 1 sends when delay_ns have passed since rank 0 began to wait.
static void waits_long(void *rank)
{
    mlt_rank *me = rank;
    if (me->world == 1) {
        CHECK(receive_value(me, 0) == 1);
        mlt_os_sleep((int64_t)delay_ns);
        send_value(me, 2, 0);
        return;
    }
    send_value(me, 1, 1);
    uint32_t before = me->worker->wire->nap;
    uint64_t cpu = mlt_os_thread_ns(), began = mlt_os_now_ns();
    long switched = switches();
    me->worker->together = in_collective;
    CHECK(receive_value(me, 1) == 2);
    me->worker->together = 0;
    wait_of_0.napped = me->worker->wire->nap != before;
    wait_of_0.disturbed = switches() != switched;
    wait_of_0.waited_ns = mlt_os_now_ns() - began;
    wait_of_0.burnt_ns = mlt_os_thread_ns() - cpu;
}

static bool naps(bool collective, uint64_t wait_ns)
{
    test_job g;
    in_collective = collective;
    delay_ns = wait_ns;
    test_job_begin(&g, 2, 1, 2, true, waits_long, NULL);
    test_job_end(&g);
    return wait_of_0.napped;
}

// In a collective of two a worker polls for twice the time. Then it sleeps, whatever it waits in.
// Where others need its core it sleeps sooner, so only tries without any count, and one of three is enough: a
// virtual machine does not tell of all.
static void test_spin(void)
{
    const uint64_t spin_ns = SPIN_US * UINT64_C(1000);
    int64_t usual = mlt_conf.spin_us;
    int counted = 0, polled = 0;
    mlt_conf.sched = "direct";
    mlt_conf.spin_us = SPIN_US;
    for (int i = 0; i < TRIES && counted < 3; i++) {
        bool napped = naps(true, spin_ns * 3 / 2);
        if (wait_of_0.disturbed || wait_of_0.waited_ns < spin_ns * 5 / 4 ||
            wait_of_0.waited_ns > spin_ns * 7 / 4)
            continue;
        polled += !napped;
        counted++;
    }
    CHECK(!counted || polled);
    if (!counted)
        puts("how long workers poll was not tried: the cores are busy");
    CHECK(naps(false, spin_ns * 10));
    CHECK(naps(true, spin_ns * 20));
    CHECK(wait_of_0.burnt_ns < spin_ns * 10);
    mlt_conf.spin_us = usual;
}

int main(void)
{
    char why[256];
    if (mlt_settings_read(mlt_p2p_settings, mlt_p2p_settings_count, why, sizeof why)) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    uint32_t much = MLT_SANITIZED ? 2000 : 10000;
    mlt_io_patrol_ns = INT64_MAX; // whoever sleeps, sleeps until it is woken
    test_launcher();
    test_alone();
    test_deaf();
    test_closes();
    test_spin();
    test_game(2, "direct", much);
    test_game(1, "direct", much);
    test_game(2, "random:11", much / 4);
    test_game(1, "rr", much / 4);
    puts("all right");
    return 0;
}
