// SPDX-License-Identifier: BSD-3-Clause
// The pool of a worker: fibers that come and go, beside a solo worker's own or beside planned ones,
// under every policy; records and stacks that are used again; limits, guards, trimming.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "fiber/fiber.h"
#include "fiber/gate.h"
#include "fiber/sanitize.h"
#include "fiber/stack.h"

static const char *const policies[] = {"direct", "rr", "poll", "random:5", "priority"};
enum { POLICIES = sizeof policies / sizeof policies[0], MANY = 500 };

static const mlt_wait waiting = {.call = "crew_test", .kind = MLT_WAIT_OTHER};
static mlt_sched *sched;
static uint32_t ended, yields;
static mlt_fiber *waiter, nobody;

static void idle_never(void *arg)
{
    fprintf(stderr, "nothing is runnable, and nothing ever will be\n");
    abort();
}

static void make(const char *policy, uint32_t fibers)
{
    char why[256] = "";
    mlt_sched_conf conf = {.policy = policy, .fibers = fibers, .idle = idle_never};
    CHECK(mlt_sched_new(&conf, &sched, why, sizeof why) == MLT_OK);
    ended = yields = 0;
}

static void hire(void)
{
    char why[256] = "";
    CHECK(mlt_fiber_pool_open(sched, why, sizeof why) == MLT_OK);
    CHECK(sched->pool && !sched->solo);
}

static void works(void *user)
{
    CHECK(mlt_fiber_user == user && sched->current->pool && sched->current->user == user);
    for (uint32_t i = 0; i < 3; i++) {
        yields++;
        mlt_fiber_yield(sched);
    }
    if (++ended % MANY == 0)
        mlt_fiber_wake(sched, waiter);
}

static void await_many(void)
{
    waiter = sched->current;
    do
        mlt_fiber_park(sched, &waiting);
    while (ended % MANY != 0);
}

static void spawn_many(void *user)
{
    for (int i = 0; i < MANY; i++)
        CHECK(mlt_fiber_pool_spawn(sched, works, user)->pool);
}

// Home is a member: it parks and wakes as the others do.
static void solo(const char *policy)
{
    int user;
    make(policy, 0);
    mlt_sched_adopt(sched, &user);
    hire();
    CHECK(sched->member);
    for (int round = 1; round <= 3; round++) {
        spawn_many(&user);
        CHECK(sched->pool->alive == MANY && sched->runnable == MANY);
        await_many();
        CHECK(ended == (uint32_t)round * MANY && mlt_fiber_user == &user);
        while (sched->runnable > 0)
            mlt_fiber_yield(sched);
        CHECK(sched->pool->alive == 0 && sched->pool->count == MANY); // records are used again
        CHECK(sched->pool->stacks->fresh <= MANY + 1);                // and stacks
    }
    CHECK(yields == 9 * MANY && sched->current == &sched->home);
    mlt_sched_free(sched);
}

static void planned_main(void *user)
{
    spawn_many(user);
    while (ended < 2 * MANY)
        mlt_fiber_yield(sched);
    CHECK(mlt_fiber_user == user);
}

static void never_ends(void *user)
{
    for (;;)
        mlt_fiber_park(sched, &waiting);
}

static void waits_runnable(void *user)
{
    mlt_fiber_yield(sched);
    CHECK(false); // the planned ones end before
}

static void leaves_behind(void *user)
{
    CHECK(mlt_fiber_pool_spawn(sched, never_ends, user));
    mlt_fiber_yield(sched);
    CHECK(mlt_fiber_pool_spawn(sched, waits_runnable, user));
}

// mlt_sched_run returns when the last planned fiber has ended, whoever of the pool is still there.
static void planned(const char *policy)
{
    int users[2];
    make(policy, 2);
    hire();
    CHECK(!sched->member);
    waiter = &nobody;
    for (int i = 0; i < 2; i++)
        CHECK(!mlt_fiber_spawn(sched, planned_main, &users[i])->pool);
    mlt_sched_run(sched);
    CHECK(ended == 2 * MANY && sched->pool->alive == 0);
    mlt_sched_free(sched);

    make(policy, 1);
    hire();
    mlt_fiber_spawn(sched, leaves_behind, &users[0]);
    mlt_sched_run(sched);
    CHECK(sched->pool->alive == 2 && sched->alive == 0);
    mlt_sched_free(sched);
}

static void ends(void *user)
{
    ended++;
}

static void limit(void)
{
    make("direct", 0);
    hire();
    uint32_t all = sched->pool->limit;
    CHECK(all >= 1000);
    sched->pool->limit = 3;
    for (int i = 0; i < 3; i++)
        CHECK(mlt_fiber_pool_spawn(sched, ends, NULL));
    CHECK(!mlt_fiber_pool_spawn(sched, ends, NULL));
    while (sched->runnable > 0)
        mlt_fiber_yield(sched);
    CHECK(ended == 3);
    CHECK(mlt_fiber_pool_spawn(sched, ends, NULL)); // there is room again
    while (sched->runnable > 0)
        mlt_fiber_yield(sched);
    sched->pool->limit = all;
    mlt_sched_free(sched);
}

static bool gate_needs(void *arg)
{
    return false;
}

static void gate_kick(void *arg)
{
}

// Threads and processes exclude each other.
static void gate(void)
{
    char why[256] = "";
    mlt_fiber *running;
    uint16_t call;
    make("direct", 0);
    running = &sched->home;
    mlt_gate_conf conf = {
        .running = &running, .call = &call, .needs = gate_needs, .kick = gate_kick};
    CHECK(mlt_gate_new(sched, &conf));
    CHECK(mlt_fiber_pool_open(sched, why, sizeof why) == MLT_ERR_UNSUPPORTED);
    CHECK(strstr(why, "MPI_THREAD_MULTIPLE") && !sched->pool && sched->solo);
    mlt_sched_free(sched);
}

// Whose stack an address in a guard belongs to; pages below a parked fiber go back.
static void stacks(void)
{
    make("direct", 0);
    hire();
    mlt_fiber *a = mlt_fiber_pool_spawn(sched, never_ends, NULL);
    mlt_fiber *b = mlt_fiber_pool_spawn(sched, never_ends, NULL);
    CHECK(mlt_fiber_stack_size(sched, a) == 0);
    while (sched->runnable > 0)
        mlt_fiber_yield(sched);
    CHECK(a->state == MLT_FIBER_PARKED && a->wait == &waiting && a->stack && b->stack);
    CHECK(mlt_fiber_stack_size(sched, a) >= MLT_STACK_MIN);
    CHECK(mlt_sched_guard_owner(sched, a->stack - 1) == a);
    CHECK(mlt_sched_guard_owner(sched, b->stack - 1) == b);
    CHECK(!mlt_sched_guard_owner(sched, b->stack) && !mlt_sched_guard_owner(sched, &a));
    uint64_t offered = mlt_sched_trim(sched);
    CHECK(offered >= 2 * (mlt_fiber_stack_size(sched, a) / 2));
    CHECK(a->trimmed && b->trimmed && mlt_sched_trim(sched) == 0);
    mlt_fiber_wake(sched, a); // it goes on as before
    CHECK(a->state == MLT_FIBER_RUNNABLE);
    mlt_fiber_yield(sched);
    CHECK(a->state == MLT_FIBER_PARKED && !a->trimmed);
    mlt_sched_free(sched);
}

int main(void)
{
    for (int i = 0; i < POLICIES; i++) {
        solo(policies[i]);
        planned(policies[i]);
    }
    limit();
    gate();
    stacks();
    return 0;
}
