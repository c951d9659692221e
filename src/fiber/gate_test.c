// SPDX-License-Identifier: BSD-3-Clause
// Tests of the gate: one inside at a time, nobody starves, and whoever is woken goes on, whether it
// drives, sleeps on its own word, or is blocked by the idle function. Also under TSan.
#include "fiber/gate.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/unit_test.h"
#include "fiber/sanitize.h"
#include "os/os.h"

enum { THREADS = 6, ROUNDS = 2000, SPINS = 50 };

// A worker whose transport is an array of letters for its threads.
typedef struct post {
    mlt_sched *sched;
    mlt_fiber *running;
    uint16_t call;
    _Atomic uint32_t asleep;           // the futex of whoever drives
    _Atomic uint32_t letters[THREADS]; // put there by anyone
    // Inside only.
    mlt_fiber *waits[THREADS];
    uint32_t got[THREADS];
    uint64_t entries;
    bool backlog;
} post;

static bool deliver(post *p)
{
    bool any = false;
    for (int i = 0; i < THREADS; i++) {
        uint32_t n = atomic_exchange(&p->letters[i], 0);
        p->got[i] += n;
        any |= n > 0;
        if (n && p->waits[i])
            mlt_fiber_wake(p->sched, p->waits[i]);
    }
    p->backlog = false;
    return any;
}

static void wake(void *arg)
{
    post *p = arg;
    if (atomic_exchange(&p->asleep, 0))
        mlt_os_futex_wake(&p->asleep, 1);
}

static bool needs(void *arg)
{
    return ((post *)arg)->backlog;
}

static void idle(void *arg)
{
    post *p = arg;
    mlt_gate *gate = p->sched->gate;
    for (int i = 0; i < SPINS; i++) {
        if (deliver(p) || !mlt_gate_let_in(gate))
            return;
    }
    atomic_store(&p->asleep, 1);
    if (!deliver(p)) {
        mlt_gate_block(gate);
        mlt_os_futex_wait(&p->asleep, 1, -1);
        mlt_gate_unblock(gate);
    }
    atomic_store(&p->asleep, 0);
}

static void post_open(post *p)
{
    char why[128];
    *p = (post){.call = 1};
    mlt_sched_conf conf = {.policy = "direct", .idle = idle, .idle_arg = p};
    if (mlt_sched_new(&conf, &p->sched, why, sizeof why) != MLT_OK)
        mlt_fatal("%s", why);
    mlt_sched_adopt(p->sched, p);
    mlt_gate_conf gate = {
        .running = &p->running, .call = &p->call, .needs = needs, .kick = wake, .arg = p};
    CHECK(mlt_gate_new(p->sched, &gate));
}

static void post_close(post *p)
{
    CHECK(mlt_gate_alone(p->sched->gate));
    CHECK(mlt_list_empty(&p->sched->gate->sleepers) && !p->sched->gate->driver);
    mlt_sched_free(p->sched);
    CHECK(!mlt_thread_self);
}

typedef struct worker_thread {
    post *p;
    int index;
} worker_thread;

static void run_threads(post *p, void *(*run)(void *), int count)
{
    pthread_t threads[THREADS];
    worker_thread args[THREADS];
    for (int i = 0; i < count; i++) {
        args[i] = (worker_thread){p, i};
        if (pthread_create(&threads[i], NULL, run, &args[i]) != 0)
            mlt_fatal("no thread");
    }
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

// ---- one at a time

static void *counts(void *arg)
{
    post *p = ((worker_thread *)arg)->p;
    mlt_gate *gate = p->sched->gate;
    for (int i = 0; i < 10 * ROUNDS; i++) {
        mlt_gate_enter(gate);
        mlt_gate_enter(gate); // a callback calls MPI
        p->entries++;
        CHECK(p->running == mlt_thread_self->fiber && p->sched->current == p->running);
        mlt_gate_leave(gate);
        mlt_gate_leave(gate);
    }
    return NULL;
}

static void test_exclusion(void)
{
    post p;
    post_open(&p);
    run_threads(&p, counts, THREADS);
    CHECK(p.entries == (uint64_t)THREADS * 10 * ROUNDS);
    post_close(&p);
}

// ---- nobody starves: those who come and go all the time let the others in

static _Atomic bool stop;

static void *polls(void *arg)
{
    worker_thread *own = arg;
    mlt_gate *gate = own->p->sched->gate;
    if (own->index == 0) {
        for (int i = 0; i < ROUNDS / 4; i++) {
            mlt_gate_enter(gate);
            own->p->entries++;
            mlt_gate_leave(gate);
        }
        atomic_store(&stop, true);
    }
    while (!atomic_load(&stop)) {
        mlt_gate_enter(gate);
        for (int i = 0; i < 200; i++)
            __asm__ volatile("");
        mlt_gate_leave(gate);
    }
    return NULL;
}

static void test_starvation(void)
{
    post p;
    post_open(&p);
    atomic_store(&stop, false);
    run_threads(&p, polls, 4);
    CHECK(p.entries == ROUNDS / 4);
    post_close(&p);
}

// ---- waiting

static void await(post *p, int index, uint32_t wanted)
{
    static const mlt_wait wait = {.call = "await"};
    p->call = (uint16_t)(100 + index);
    while (p->got[index] < wanted) {
        p->waits[index] = p->running;
        mlt_fiber_park(p->sched, &wait);
        p->waits[index] = NULL;
        CHECK(p->running == mlt_thread_self->fiber && p->call == 100 + index);
    }
}

static void *receives(void *arg)
{
    worker_thread *own = arg;
    mlt_gate *gate = own->p->sched->gate;
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        mlt_gate_enter(gate);
        if (i % 3 == 0)
            mlt_gate_enter(gate);
        await(own->p, own->index, i);
        if (i % 3 == 0)
            mlt_gate_leave(gate);
        mlt_gate_leave(gate);
    }
    return NULL;
}

// From outside, as another process would: a letter, and the doorbell.
static void *sends(void *arg)
{
    post *p = arg;
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < THREADS; k++) {
            atomic_fetch_add(&p->letters[(i + k) % THREADS], 1);
            wake(p);
        }
        if (i % 256 == 0)
            for (int n = 0; n < 2000; n++)
                mlt_os_yield(); // so that they fall asleep
    }
    return NULL;
}

static void test_letters(void)
{
    post p;
    pthread_t sender;
    post_open(&p);
    if (pthread_create(&sender, NULL, sends, &p) != 0)
        mlt_fatal("no thread");
    run_threads(&p, receives, THREADS);
    pthread_join(sender, NULL);
    for (int i = 0; i < THREADS; i++)
        CHECK(p.got[i] == ROUNDS);
    post_close(&p);
}

// A ring of threads, each woken by the one before it, inside: by a call, or by work that it leaves
// to whoever drives.
static void *passes_on(void *arg)
{
    worker_thread *own = arg;
    post *p = own->p;
    mlt_gate *gate = p->sched->gate;
    int next = (own->index + 1) % THREADS;
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        mlt_gate_enter(gate);
        if (own->index > 0 || i > 1)
            await(p, own->index, own->index > 0 ? i : i - 1);
        if (i % 2) {
            p->got[next]++;
            if (p->waits[next])
                mlt_fiber_wake(p->sched, p->waits[next]);
        } else {
            atomic_fetch_add(&p->letters[next], 1);
            p->backlog = true; // no doorbell
        }
        mlt_gate_leave(gate);
    }
    return NULL;
}

static void test_ring(void)
{
    post p;
    post_open(&p);
    run_threads(&p, passes_on, THREADS);
    mlt_gate_enter(p.sched->gate);
    (void)deliver(&p);
    mlt_gate_leave(p.sched->gate);
    for (int i = 0; i < THREADS; i++)
        CHECK(p.got[i] == ROUNDS);
    post_close(&p);
}

// ---- all of the process

static void *asks(void *arg)
{
    (void)arg;
    CHECK(!mlt_threads_all_parked()); // the one that waits for this one is not counted
    mlt_threads_count_parked(true);
    CHECK(!mlt_threads_all_parked());
    mlt_threads_count_parked(true); // it is
    CHECK(mlt_threads_all_parked());
    mlt_threads_count_parked(false);
    mlt_threads_count_parked(false);
    return NULL;
}

static void test_all_parked(void)
{
    pthread_t thread;
    if (MLT_SANITIZED_THREAD || mlt_os_threads() != 1) // TSan has a thread of its own
        return;
    CHECK(!mlt_threads_all_parked());
    if (pthread_create(&thread, NULL, asks, NULL) != 0)
        mlt_fatal("no thread");
    pthread_join(thread, NULL);
}

int main(void)
{
    test_all_parked();
    test_exclusion();
    test_starvation();
    test_letters();
    test_ring();
    return 0;
}
