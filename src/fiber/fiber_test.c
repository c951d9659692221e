// SPDX-License-Identifier: BSD-3-Clause
// Tests of the switch, the scheduler and its policies. `fiber_test --bench` prints nanoseconds a
// switch instead, `fiber_test --memory [FIBERS]` bytes a parked fiber; docs/internals/fibers.md
// quotes them.
#include "fiber/fiber.h"

#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/unit_test.h"
#include "fiber/policy.h"
#include "fiber/sanitize.h"
#include "fiber/stack.h"
#include "os/os.h"

// TSan has room for few fibers, and everything is slow under a sanitizer; valgrind is slower still.
static uint32_t many;

static uint32_t many_here(void)
{
    if (MLT_SANITIZED_THREAD || mlt_sanitize_valgrind())
        return 100;
    return MLT_SANITIZED ? 2000 : 100000;
}

static const char *const every_policy[] = {"direct", "rr", "poll", "random:5", "priority"};
enum { POLICIES = sizeof every_policy / sizeof every_policy[0] };

static const mlt_wait waiting = {.call = "fiber_test", .kind = MLT_WAIT_OTHER};
static _Thread_local mlt_sched *sched;

static void idle_never(void *arg)
{
    (void)arg;
    fprintf(stderr, "nothing is runnable, and nothing ever will be\n");
    abort();
}

static _Thread_local bool measures; // what `make` makes

static mlt_sched *make(const char *policy, uint32_t fibers, size_t stack_size)
{
    char why[256] = "";
    mlt_sched_conf conf = {.policy = policy,
                           .fibers = fibers,
                           .stack_size = stack_size,
                           .measures = measures,
                           .idle = idle_never};
    if (mlt_sched_new(&conf, &sched, why, sizeof why) != MLT_OK) {
        fprintf(stderr, "%s\n", why);
        exit(1);
    }
    return sched;
}

static void run_and_free(void)
{
    mlt_sched_run(sched);
    CHECK(sched->alive == 0 && sched->runnable == 0 && sched->current == &sched->home);
    mlt_sched_free(sched);
    CHECK(!mlt_sched_self && !mlt_fiber_user);
}

// A record of who ran in what order.
static uint32_t order[4096];
static uint32_t order_count;

static void note(uint32_t who)
{
    if (order_count < sizeof order / sizeof order[0])
        order[order_count++] = who;
}

static bool order_is(const char *expected)
{
    char text[sizeof order / sizeof order[0] + 1];
    for (uint32_t i = 0; i < order_count; i++)
        text[i] = (char)('a' + order[i]);
    text[order_count] = '\0';
    bool same = strcmp(text, expected) == 0;
    if (!same)
        fprintf(stderr, "order is %s, expected %s\n", text, expected);
    order_count = 0;
    return same;
}

static uint32_t me(void)
{
    return sched->current->id;
}

// ---- The switch keeps what a call keeps

// More values are live across each yield than there are callee-saved registers, of both kinds.
static void keeper(void *user)
{
    long seed = (long)(intptr_t)user;
    long i0 = seed, i1 = seed + 1, i2 = seed + 2, i3 = seed + 3, i4 = seed + 4, i5 = seed + 5;
    long i6 = seed + 6, i7 = seed + 7, i8 = seed + 8, i9 = seed + 9;
    double d0 = (double)seed, d1 = d0 + 1, d2 = d0 + 2, d3 = d0 + 3, d4 = d0 + 4, d5 = d0 + 5;
    double d6 = d0 + 6, d7 = d0 + 7, d8 = d0 + 8, d9 = d0 + 9;
    for (int round = 0; round < 100; round++) {
        mlt_fiber_yield(sched);
        i0++, i1++, i2++, i3++, i4++, i5++, i6++, i7++, i8++, i9++;
        d0++, d1++, d2++, d3++, d4++, d5++, d6++, d7++, d8++, d9++;
    }
    CHECK(i0 + i1 + i2 + i3 + i4 + i5 + i6 + i7 + i8 + i9 == 10 * (seed + 100) + 45);
    CHECK(d0 + d1 + d2 + d3 + d4 + d5 + d6 + d7 + d8 + d9 == 10 * ((double)seed + 100) + 45);
    CHECK(i9 - i0 == 9 && d9 - d0 == 9);
    CHECK(mlt_fiber_user == user);
    _Alignas(16) char aligned[16];
    __asm__ volatile("" : : "r"(aligned) : "memory");
    CHECK((uintptr_t)aligned % 16 == 0);
}

static void test_registers(void)
{
    for (int p = 0; p < POLICIES; p++) {
        make(every_policy[p], 8, 0);
        for (intptr_t i = 0; i < 8; i++)
            mlt_fiber_spawn(sched, keeper, (void *)(i * 1000));
        run_and_free();
    }
}

static void rounder(void *user)
{
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    int mode = modes[(intptr_t)user];
    CHECK(fegetround() == FE_TONEAREST);
    fesetround(mode);
    for (int i = 0; i < 10; i++) {
        mlt_fiber_yield(sched);
        CHECK(fegetround() == mode);
    }
}

static void test_rounding(void)
{
    make("rr", 4, 0);
    for (intptr_t i = 0; i < 4; i++)
        mlt_fiber_spawn(sched, rounder, (void *)i);
    run_and_free();
    CHECK(fegetround() == FE_TONEAREST);
}

// What a C++ runtime would have; the test plays its part.
mlt_exceptions *__cxa_get_globals(void);

mlt_exceptions *__cxa_get_globals(void)
{
    static _Thread_local mlt_exceptions exceptions;
    return &exceptions;
}

static void catcher(void *user)
{
    mlt_exceptions *exceptions = __cxa_get_globals();
    for (int i = 0; i < 200; i++) {
        CHECK(!exceptions->caught && !exceptions->uncaught);
        exceptions->caught = user;
        exceptions->uncaught = (unsigned)i;
        mlt_fiber_yield(sched);
        CHECK(exceptions->caught == user && exceptions->uncaught == (unsigned)i);
        exceptions->caught = NULL;
        exceptions->uncaught = 0;
        if (user)
            mlt_fiber_yield(sched);
    }
}

static void test_exceptions(void)
{
    for (int p = 0; p < POLICIES; p++) {
        make(every_policy[p], 4, 0);
        for (intptr_t i = 0; i < 4; i++)
            mlt_fiber_spawn(sched, catcher, (void *)i);
        run_and_free();
    }
}

static void errs(void *user)
{
    int mine = (int)(intptr_t)user;
    CHECK(errno == 0);
    errno = mine;
    for (int i = 0; i < 200; i++) { // past a breath
        mlt_fiber_yield(sched);
        CHECK(errno == mine);
    }
}

static void test_errno(void)
{
    for (int p = 0; p < POLICIES; p++) {
        errno = 7;
        make(every_policy[p], 5, 0);
        for (intptr_t i = 0; i < 5; i++)
            mlt_fiber_spawn(sched, errs, (void *)(i + 1));
        errno = 7;
        mlt_sched_run(sched);
        CHECK(errno == 7);
        mlt_sched_free(sched);
    }
}

// ---- Depth, number, recycling

static uint64_t dig(char *top, size_t bytes)
{
    volatile char here[256];
    memset((char *)here, (int)bytes, sizeof here);
    // Not the address of a local: ASan may keep those elsewhere.
    if (top - (char *)__builtin_frame_address(0) >= (ptrdiff_t)bytes) {
        mlt_fiber_yield(sched);
        return 1;
    }
    uint64_t deeper = dig(top, bytes);
    return deeper + (here[17] == (char)bytes);
}

static void digger(void *user)
{
    CHECK(dig(__builtin_frame_address(0), (size_t)(uintptr_t)user) > 100);
}

static void test_depth(void)
{
    size_t size = MLT_SANITIZED ? 512 * 1024 : 64 * 1024;
    make("rr", 20, size);
    CHECK(mlt_sched_stack_size(sched) == size);
    for (int i = 0; i < 20; i++)
        mlt_fiber_spawn(sched, digger, (void *)(uintptr_t)(size - size / 4));
    run_and_free();
}

static uint64_t sum;

static void adder(void *user)
{
    (void)user;
    mlt_fiber_yield(sched);
    sum += me();
    mlt_fiber_park(sched, &waiting);
    sum += me();
}

static void waker(void *user)
{
    (void)user;
    for (uint32_t i = 0; i < many; i++)
        while (sched->fibers[i].state != MLT_FIBER_ENDED) {
            mlt_fiber_wake(sched, &sched->fibers[i]);
            mlt_fiber_yield(sched);
        }
}

// Under `poll` each of them looks at each wake.
static void test_many(void)
{
    uint32_t most = many;
    for (int p = 0; p < POLICIES; p++) {
        sum = 0;
        many = strcmp(every_policy[p], "poll") == 0 ? 100 : most;
        make(every_policy[p], many + 1, 0);
        for (uint32_t i = 0; i < many; i++)
            mlt_fiber_spawn(sched, adder, NULL);
        mlt_fiber_spawn(sched, waker, NULL)->priority = -1;
        run_and_free();
        CHECK(sum == (uint64_t)many * (many - 1));
    }
    many = most;
}

static void leaver(void *user)
{
    if (user) // from some depth, too
        mlt_fiber_exit(sched);
}

static void test_recycling(void)
{
    make("rr", many, 0);
    for (uintptr_t i = 0; i < many; i++)
        mlt_fiber_spawn(sched, leaver, (void *)(i % 2));
    mlt_sched_run(sched);
    CHECK(sched->stacks->fresh ==
          2); // the next one's cannot be the one that the last one stands on
    CHECK(sched->fibers[many - 1].state == MLT_FIBER_ENDED && !sched->fibers[many - 1].stack);
    mlt_sched_free(sched);
}

// A fiber may spawn others, and run may be called again for those that come later.
static void parent(void *user)
{
    if (user)
        mlt_fiber_spawn(sched, parent, (void *)((intptr_t)user - 1));
    note(me());
}

static void test_spawn_later(void)
{
    make("rr", 5, 0);
    mlt_fiber_spawn(sched, parent, (void *)3);
    mlt_sched_run(sched);
    CHECK(order_is("abcd"));
    mlt_sched_run(sched); // nothing to do
    mlt_fiber_spawn(sched, parent, NULL);
    mlt_sched_run(sched);
    CHECK(order_is("e"));
    mlt_sched_free(sched);
}

// ---- Policies

static void noter(void *user)
{
    for (intptr_t i = 0; i < (intptr_t)user; i++) {
        note(me());
        mlt_fiber_yield(sched);
    }
}

static void parker(void *user)
{
    (void)user;
    note(me());
    mlt_fiber_park(sched, &waiting);
    note(me());
}

static void wakes_all(void *user)
{
    for (uint32_t i = 0; i < (uint32_t)(uintptr_t)user; i++) {
        CHECK(sched->fibers[i].state == MLT_FIBER_PARKED && sched->fibers[i].wait == &waiting);
        mlt_fiber_wake(sched, &sched->fibers[i]);
        CHECK(sched->fibers[i].state == MLT_FIBER_RUNNABLE && !sched->fibers[i].wait);
        mlt_fiber_wake(sched, &sched->fibers[i]); // once is enough
    }
    CHECK(sched->runnable >= (uint32_t)(uintptr_t)user);
    mlt_fiber_wake(sched, sched->current); // not parked: nothing happens
    note(me());
    mlt_fiber_yield(sched);
    note(me());
}

static void order_of(const char *policy, const char *yields, const char *wakes)
{
    make(policy, 3, 0);
    for (int i = 0; i < 3; i++)
        mlt_fiber_spawn(sched, noter, (void *)3);
    run_and_free();
    CHECK(order_is(yields));
    // a, b and c park; d wakes all three and yields; e and f queue all the time.
    make(policy, 6, 0);
    for (int i = 0; i < 3; i++)
        mlt_fiber_spawn(sched, parker, NULL);
    mlt_fiber_spawn(sched, wakes_all, (void *)3);
    for (int i = 4; i < 6; i++)
        mlt_fiber_spawn(sched, noter, (void *)2);
    run_and_free();
    CHECK(order_is(wakes));
}

static void wakes_last(void *user)
{
    (void)user;
    mlt_fiber_wake_last(sched, &sched->fibers[0]);
    note(me());
    mlt_fiber_yield(sched);
    note(me());
}

static void order_of_last(const char *policy)
{
    make(policy, 3, 0);
    mlt_fiber_spawn(sched, parker, NULL);
    mlt_fiber_spawn(sched, wakes_last, NULL);
    mlt_fiber_spawn(sched, noter, (void *)2);
    run_and_free();
    CHECK(order_is("abcabc"));
}

// Whoever measures sees what runs without.
static void test_orders(void)
{
    for (int i = 0; i < 2; i++) {
        measures = i == 1;
        order_of("rr", "abcabcabc", "abcdefabcdef");
        order_of("direct", "abcabcabc", "abcdaefbcdef"); // a goes ahead of e and f, b and c queue
        order_of("priority", "abcabcabc", "abcdefabcdef");
        order_of_last("rr");
        order_of_last("direct");
    }
    measures = false;
}

static uint64_t slack_of(const char *policy)
{
    make(policy, 8, 0);
    for (intptr_t i = 0; i < 8; i++)
        mlt_fiber_spawn(sched, keeper, (void *)i);
    mlt_sched_run(sched);
    uint64_t slack = sched->slack;
    mlt_sched_free(sched);
    return slack;
}

static void test_slack(void)
{
    CHECK(slack_of("rr") == 0);
    measures = true;
    // Seven others at the first switch and at each of 800 yields; then one less at each end.
    uint64_t all = 7 * (1 + 800) + (6 + 5 + 4 + 3 + 2 + 1);
    CHECK(slack_of("rr") == all && slack_of("direct") == all);
    CHECK(slack_of("priority") == all && slack_of("random:5") > 0);
    measures = false;
}

static void test_priority(void)
{
    make("priority", 4, 0);
    static const int8_t priorities[4] = {-31, 3, 31, 3};
    for (int i = 0; i < 4; i++)
        mlt_fiber_spawn(sched, parent, NULL)->priority = priorities[i];
    run_and_free();
    CHECK(order_is("cbda"));
}

// The tests' way to tell who waits for whom: by number, below; NONE: nobody.
enum { NONE = 99 };
static uint32_t awaited[64];

static mlt_fiber *awaits(void *arg, const mlt_fiber *fiber, const mlt_wait *wait)
{
    (void)arg;
    CHECK(wait == &waiting);
    return awaited[fiber->id] == NONE ? NULL : &sched->fibers[awaited[fiber->id]];
}

// Fiber 0 is what 1 waits for, as 2 waits for 1. 3 waits for 4. When all of 0, 4 and 5 are woken,
// the one with the longest chain behind it goes first, and so do those behind it.
static void waits_in_chain(void *user)
{
    (void)user;
    note(me());
    mlt_fiber_park(sched, &waiting);
    note(me());
    for (uint32_t i = 0; i < sched->count; i++)
        if (awaited[i] == me())
            mlt_fiber_wake(sched, &sched->fibers[i]);
}

static void wakes_ends(void *user)
{
    (void)user;
    note(me());
    mlt_fiber_wake(sched, &sched->fibers[5]);
    mlt_fiber_wake(sched, &sched->fibers[4]);
    mlt_fiber_wake(sched, &sched->fibers[0]);
}

static void chain_order(const char *policy, int8_t of_fiber_5, const char *expected)
{
    static const uint32_t behind[] = {NONE, 0, 1, 4, NONE, NONE, NONE};
    memcpy(awaited, behind, sizeof behind);
    make(policy, 7, 0);
    sched->awaits = awaits;
    for (int i = 0; i < 6; i++)
        mlt_fiber_spawn(sched, waits_in_chain, NULL);
    mlt_fiber_spawn(sched, wakes_ends, NULL);
    sched->fibers[5].priority = of_fiber_5;
    run_and_free();
    CHECK(order_is(expected));
}

static void test_waiters(void)
{
    chain_order("rr", 0, "abcdefgfeadbc");
    chain_order("poll", 0, "abcdefgabcefd");
    chain_order("priority", 0, "abcdefgaebfdc");
    chain_order("priority", 1, "fabcdegfaebdc");
}

// A ring of 50 that wait for 0, in any order: each park lifts only so many, and all get through.
// Then those who wait in a circle, which is a deadlock that another dissolves.
static void waits_once(void *user)
{
    (void)user;
    mlt_fiber_park(sched, &waiting);
    sum++;
}

static void wakes_backwards(void *user)
{
    (void)user;
    for (uint32_t i = sched->count - 1; i-- > 0;) {
        mlt_fiber_wake(sched, &sched->fibers[i]);
        if (i % 3 == 0)
            mlt_fiber_yield(sched);
    }
}

static void test_circle(void)
{
    sum = 0;
    make("priority", 51, 0);
    sched->awaits = awaits;
    for (uint32_t i = 0; i < 50; i++) {
        awaited[i] = (i + 49) % 50;
        mlt_fiber_spawn(sched, waits_once, NULL);
    }
    awaited[50] = NONE;
    mlt_fiber_spawn(sched, wakes_backwards, NULL);
    run_and_free();
    CHECK(sum == 50);
}

// One lap backwards round a ring: parked fibers cost a switch a hop, polling ones a lap a hop.
static void hop_back(void *user)
{
    (void)user;
    if (me() > 0)
        mlt_fiber_park(sched, &waiting);
    mlt_fiber *to = &sched->fibers[(me() + sched->count - 1) % sched->count];
    while (me() == 0 && to->state != MLT_FIBER_PARKED)
        mlt_fiber_yield(sched);
    if (me() != 1)
        mlt_fiber_wake(sched, to);
}

static uint64_t switches_back(const char *policy, uint32_t n)
{
    make(policy, n, 0);
    for (uint32_t i = 0; i < n; i++)
        mlt_fiber_spawn(sched, hop_back, NULL);
    mlt_sched_run(sched);
    uint64_t switches = sched->switches;
    mlt_sched_free(sched);
    return switches;
}

static void test_polling(void)
{
    CHECK(switches_back("rr", 100) <= 3 * 100 + 10);
    uint64_t polls = switches_back("poll", 100);
    CHECK(polls >= 100 * 100 / 3 && polls <= 100 * 100 * 2);
    CHECK(switches_back("poll", 200) > 3 * polls);
}

static void random_order(const char *policy, uint32_t out[300])
{
    order_count = 0;
    make(policy, 10, 0);
    for (int i = 0; i < 10; i++)
        mlt_fiber_spawn(sched, noter, (void *)30);
    run_and_free();
    CHECK(order_count == 300);
    memcpy(out, order, 300 * sizeof out[0]);
    order_count = 0;
}

static void test_random(void)
{
    static uint32_t first[300], again[300], other[300];
    random_order("random:17", first);
    random_order("random:17", again);
    random_order("random:18", other);
    CHECK(memcmp(first, again, sizeof first) == 0);
    CHECK(memcmp(first, other, sizeof first) != 0);
    // Every fiber is chosen first by some seed, about equally often.
    uint32_t firsts[10] = {0};
    for (int seed = 0; seed < 400; seed++) {
        char policy[32];
        snprintf(policy, sizeof policy, "random:%d", seed);
        random_order(policy, other);
        firsts[other[0]]++;
    }
    for (int i = 0; i < 10; i++)
        CHECK(firsts[i] > 15 && firsts[i] < 75);
}

// Two fibers that wake each other for ever, and one that only waits its turn to stop them.
static bool stop;
static uint32_t pair_rounds;

static void ping(void *user)
{
    mlt_fiber *other = &sched->fibers[1 - me()];
    (void)user;
    while (!stop && pair_rounds < 1000000) {
        pair_rounds++;
        mlt_fiber_wake(sched, other);
        mlt_fiber_park(sched, &waiting);
    }
    mlt_fiber_wake(sched, other);
}

static void stopper(void *user)
{
    for (intptr_t i = 0; i < (intptr_t)user; i++)
        mlt_fiber_yield(sched);
    stop = true;
}

static void test_no_starvation(void)
{
    for (int p = 0; p < POLICIES; p++) {
        stop = false;
        pair_rounds = 0;
        make(every_policy[p], 3, 0);
        mlt_fiber_spawn(sched, ping, NULL);
        mlt_fiber_spawn(sched, ping, NULL);
        mlt_fiber_spawn(sched, stopper, (void *)20);
        run_and_free();
        CHECK(stop && pair_rounds <= 21 * MLT_POLICY_TURN);
    }
}

// Pollers of the best priority must not starve whom they poll for.
static void poller(void *user)
{
    (void)user;
    while (!stop && pair_rounds < 1000000) {
        pair_rounds++;
        mlt_fiber_yield(sched);
    }
}

static void test_pollers(void)
{
    for (int p = 0; p < POLICIES; p++) {
        stop = false;
        pair_rounds = 0;
        make(every_policy[p], 3, 0);
        mlt_fiber_spawn(sched, poller, NULL);
        mlt_fiber_spawn(sched, poller, NULL);
        mlt_fiber_spawn(sched, stopper, (void *)20)->priority = -9;
        run_and_free();
        CHECK(stop && pair_rounds <= 21 * MLT_POLICY_TURN);
    }
}

static void test_policy_names(void)
{
    static const char *const good[] = {
        "direct", "rr",   "poll",     "priority",  "plugin:x",
        "./x",    "x.so", "random:0", "random:17", "random:0xffffffffffffffff"};
    static const char *const bad[] = {"",          "Direct",
                                      "rr:1",      "random",
                                      "random:",   "random:x",
                                      "random:1x", "random:-1",
                                      "random: 1", "priority:",
                                      "plugin",    "plugin:",
                                      "poll:1",    "random:99999999999999999999"};
    char why[256];
    uint64_t argument;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        CHECK(mlt_policy_find(good[i], &argument, why, sizeof why));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        why[0] = '\0';
        CHECK(!mlt_policy_find(bad[i], &argument, why, sizeof why) && why[0]);
        mlt_sched_conf conf = {.policy = bad[i], .fibers = 1, .idle = idle_never};
        CHECK(mlt_sched_new(&conf, &sched, why, sizeof why) == MLT_ERR_INVALID && !sched);
    }
}

// ---- Idling, solo, breathing, threads

static uint32_t idled, breathed;

// Wakes whoever is parked, the last one at the third call.
static void idle_wakes(void *arg)
{
    mlt_sched *mine = *(mlt_sched **)arg;
    errno = 99; // what idle does to errno is not the fiber's
    if (++idled % 3)
        return;
    if (mine->solo)
        mlt_fiber_wake(mine, &mine->home);
    for (uint32_t i = 0; i < mine->count; i++)
        mlt_fiber_wake(mine, &mine->fibers[i]);
}

static void breathe(void *arg)
{
    (void)arg;
    breathed++;
    errno = 98;
}

static void sleeper(void *user)
{
    (void)user;
    errno = 5;
    for (int i = 0; i < 10; i++) {
        mlt_fiber_park(sched, &waiting);
        CHECK(errno == 5 && sched->current->state == MLT_FIBER_RUNNING && !sched->current->wait);
    }
}

static void test_idle(void)
{
    char why[256];
    for (int p = 0; p < POLICIES; p++) {
        idled = 0;
        mlt_sched_conf conf = {
            .policy = every_policy[p], .fibers = 2, .idle = idle_wakes, .idle_arg = &sched};
        CHECK(mlt_sched_new(&conf, &sched, why, sizeof why) == MLT_OK);
        for (int i = 0; i < 2; i++)
            mlt_fiber_spawn(sched, sleeper, NULL);
        run_and_free();
        CHECK(idled == 30);
    }
}

static void test_solo(void)
{
    char why[256];
    int user = 0;
    idled = 0;
    mlt_sched_conf conf = {.policy = "direct", .idle = idle_wakes, .idle_arg = &sched};
    CHECK(mlt_sched_new(&conf, &sched, why, sizeof why) == MLT_OK);
    CHECK(sched->solo && strcmp(mlt_sched_guard_kind(sched), "none") == 0);
    mlt_sched_adopt(sched, &user);
    CHECK(mlt_fiber_user == &user);
    mlt_fiber_yield(sched);
    sleeper(NULL);
    CHECK(idled == 30);
    CHECK(mlt_sched_trim(sched) == 0 && !mlt_sched_guard_owner(sched, &user));
    mlt_sched_free(sched);
}

static void test_breathe(void)
{
    char why[256];
    for (int p = 0; p < POLICIES; p++) {
        breathed = 0;
        mlt_sched_conf conf = {
            .policy = every_policy[p], .fibers = 5, .idle = idle_never, .breathe = breathe};
        CHECK(mlt_sched_new(&conf, &sched, why, sizeof why) == MLT_OK);
        for (intptr_t i = 0; i < 5; i++)
            mlt_fiber_spawn(sched, errs, (void *)(i + 1));
        run_and_free();
        CHECK(breathed >= 10 && breathed <= 20); // 1,000 yields
    }
}

static void *worker(void *arg)
{
    make((const char *)arg, 50, 0);
    for (intptr_t i = 0; i < 50; i++)
        mlt_fiber_spawn(sched, keeper, (void *)i);
    run_and_free();
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[POLICIES];
    for (int i = 0; i < POLICIES; i++)
        CHECK(pthread_create(&threads[i], NULL, worker, (void *)every_policy[i]) == 0);
    for (int i = 0; i < POLICIES; i++)
        pthread_join(threads[i], NULL);
    CHECK(!mlt_sched_list);
}

// ---- Benchmarks

static long rounds;

// Processor time: the machine may be busy with others.
static uint64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void bench_yield(void *user)
{
    (void)user;
    for (long i = 0; i < rounds; i++)
        mlt_fiber_yield(sched);
}

// A chain of wakes round a ring; one more fiber starts it when all are parked.
static uint32_t parked;

static void bench_park(void *user)
{
    uint32_t right = me() + 2 < sched->count ? me() + 1 : 0;
    (void)user;
    parked++;
    for (long i = 0; i < rounds; i++) {
        mlt_fiber_park(sched, &waiting);
        mlt_fiber_wake(sched, &sched->fibers[right]);
    }
}

static void bench_start(void *user)
{
    (void)user;
    while (parked + 1 < sched->count)
        mlt_fiber_yield(sched);
    mlt_fiber_wake(sched, &sched->fibers[0]);
}

// Best of some, in nanoseconds a switch.
static double bench_one(const char *policy, uint32_t n, void (*entry)(void *))
{
    double best = 1e9;
    for (int repeat = 0; repeat < 3; repeat++) {
        make(policy, n + 1, 0);
        rounds = 8000000 / n;
        parked = 0;
        for (uint32_t i = 0; i < n; i++)
            mlt_fiber_spawn(sched, entry, NULL);
        if (entry == bench_park)
            mlt_fiber_spawn(sched, bench_start, NULL);
        uint64_t start = cpu_ns();
        mlt_sched_run(sched);
        double ns = (double)(cpu_ns() - start) / (double)sched->switches;
        best = ns < best ? ns : best;
        mlt_sched_free(sched);
    }
    return best;
}

static void bench(void)
{
    for (int kind = 0; kind < 2; kind++)
        for (int p = 0; p < POLICIES; p++) {
            printf("%-5s %-9s", kind ? "park" : "yield", every_policy[p]);
            for (uint32_t n = 2; n <= 200000; n *= 10) {
                printf(" %8.2f", bench_one(every_policy[p], n, kind ? bench_park : bench_yield));
                fflush(stdout);
            }
            printf("  ns a switch with 2, 20, ... 200000 fibers\n");
        }
}

static void number_of(const char *file, const char *key, double *out)
{
    char line[256];
    FILE *f = fopen(file, "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0)
            *out = strtod(line + strlen(key), NULL) * 1024;
    if (f)
        fclose(f);
}

static double before_rss, before_tables;
static uint64_t started;

static void bench_last(void *user)
{
    double rss = 0, tables = 0, fibers = (double)(sched->count - 1);
    double ns = (double)(cpu_ns() - started) / fibers;
    (void)user;
    number_of("/proc/self/status", "VmRSS:", &rss);
    number_of("/proc/self/status", "VmPTE:", &tables);
    printf("%u parked fibers with stacks of %zu KiB (%s): %.0f bytes each resident, %.0f of page "
           "tables, %.0f in all; %.0f ns to start and park one\n",
           sched->count - 1, mlt_sched_stack_size(sched) / 1024, mlt_sched_guard_kind(sched),
           (rss - before_rss) / fibers, (tables - before_tables) / fibers,
           (rss - before_rss + tables - before_tables) / fibers, ns);
    exit(0);
}

static void bench_sleep(void *user)
{
    (void)user;
    mlt_fiber_park(sched, &waiting);
}

static void memory(uint32_t fibers)
{
    number_of("/proc/self/status", "VmRSS:", &before_rss);
    number_of("/proc/self/status", "VmPTE:", &before_tables);
    make("rr", fibers + 1, 0);
    for (uint32_t i = 0; i < fibers; i++)
        mlt_fiber_spawn(sched, bench_sleep, NULL);
    mlt_fiber_spawn(sched, bench_last, NULL);
    started = cpu_ns();
    mlt_sched_run(sched);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--bench") == 0)
        return bench(), 0;
    if (argc > 1 && strcmp(argv[1], "--memory") == 0)
        return memory(argc > 2 ? (uint32_t)atol(argv[2]) : 1000000), 0;
    many = many_here();
    test_registers();
    test_rounding();
    test_exceptions();
    test_errno();
    test_depth();
    test_many();
    test_recycling();
    test_spawn_later();
    test_orders();
    test_slack();
    test_priority();
    test_waiters();
    test_circle();
    test_polling();
    test_random();
    test_no_starvation();
    test_pollers();
    test_policy_names();
    test_idle();
    test_solo();
    test_breathe();
    test_threads();
    return 0;
}
