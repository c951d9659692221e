// SPDX-License-Identifier: BSD-3-Clause
// Tests of stacks: sizes, guards of each kind, recycling, and giving memory back.
#include "fiber/stack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "fiber/fiber.h"
#include "fiber/sanitize.h"
#include "os/os.h"

static char why[256];

static void test_sizes(void)
{
    CHECK(mlt_stack_size_for(1) == 8u << 20);
    CHECK(mlt_stack_size_for(4096) == 8u << 20);
    size_t last = SIZE_MAX;
    for (uint32_t n = 1; n < 1u << 31;
         n *= 2) { // never more, never less than 64 KiB, always reservable
        size_t size = mlt_stack_size_for(n);
        CHECK(size <= last && size >= 64 * 1024);
        last = size;
    }
    CHECK((mlt_stack_size_for(1u << 20) + MLT_STACK_GUARD_BYTES) << 20 < UINT64_C(1) << 46);

    mlt_stacks stacks;
    CHECK(mlt_stacks_init(&stacks, 3, 3, MLT_STACK_MIN - 1, MLT_STACK_GUARD_BEST, why,
                          sizeof why) == MLT_ERR_INVALID);
    CHECK(strstr(why, "4 KiB"));
    CHECK(mlt_stacks_init(&stacks, 3, 3, MLT_STACK_MIN + 1, MLT_STACK_GUARD_BEST, why,
                          sizeof why) == MLT_OK);
    size_t page = mlt_os_page_size(); // which may be larger than the smallest stack
    CHECK(stacks.size == (MLT_STACK_MIN / page + 1) * page);
    mlt_stacks_fini(&stacks);
    CHECK(mlt_stacks_init(&stacks, 1u << 20, 1u << 20, SIZE_MAX, MLT_STACK_GUARD_BEST, why,
                          sizeof why) == MLT_ERR_NO_MEMORY);
    CHECK(mlt_stacks_init(&stacks, 1u << 20, 1u << 20, UINT64_C(1) << 40, MLT_STACK_GUARD_BEST, why,
                          sizeof why) == MLT_ERR_NO_MEMORY);
}

// Where address space is short, nobody's wish shrinks and fits; a wish that was said does not.
static void test_little_address_space(void)
{
    if (MLT_SANITIZED) // they need the address space themselves
        return;
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {UINT64_C(2) << 30, UINT64_C(2) << 30};
        mlt_stacks stacks;
        CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
        if (mlt_os_map(UINT64_C(3) << 30)) // qemu-user does not limit it
            _exit(0);
        CHECK(mlt_stacks_init(&stacks, 4096, 4096, 0, MLT_STACK_GUARD_BEST, why, sizeof why) ==
              MLT_OK);
        CHECK(stacks.size >= 128 * 1024);
        mlt_stacks_fini(&stacks);
        CHECK(mlt_stacks_init(&stacks, 4096, 4096, 1u << 20, MLT_STACK_GUARD_BEST, why,
                              sizeof why) == MLT_ERR_NO_MEMORY);
        CHECK(strstr(why, "4096 stacks of 1024 KiB"));
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    CHECK(status == 0);
}

static void test_take_give(void)
{
    mlt_stacks stacks;
    CHECK(mlt_stacks_init(&stacks, 4, 4, 64 * 1024, MLT_STACK_GUARD_BEST, why, sizeof why) ==
          MLT_OK);
    char *a = mlt_stack_take(&stacks, 10), *b = mlt_stack_take(&stacks, 11);
    CHECK(b - a == (ptrdiff_t)stacks.size + MLT_STACK_GUARD_WIDE &&
          (uintptr_t)(a + stacks.size) % mlt_os_page_size() == 0);
    a[0] = b[0] = a[stacks.size - 1] = b[stacks.size - 1] = 1; // all of it is usable
    CHECK(mlt_stack_guard_owner(&stacks, a - 1) == 10);
    CHECK(mlt_stack_guard_owner(&stacks, a - MLT_STACK_GUARD_WIDE) == 10);
    CHECK(mlt_stack_guard_owner(&stacks, a - MLT_STACK_GUARD_WIDE - 1) == MLT_STACK_NONE);
    CHECK(mlt_stack_guard_owner(&stacks, a) == MLT_STACK_NONE);
    CHECK(mlt_stack_guard_owner(&stacks, b - 1) == 11);
    CHECK(mlt_stack_guard_owner(&stacks, b + stacks.size) == MLT_STACK_NONE); // not used yet
    mlt_stack_give(&stacks, a);
    mlt_stack_give(&stacks, b);
    CHECK(mlt_stack_guard_owner(&stacks, b - 1) == MLT_STACK_NONE);
    CHECK(mlt_stack_take(&stacks, 12) == b &&
          mlt_stack_take(&stacks, 13) == a); // last in, first out
    CHECK(mlt_stack_guard_owner(&stacks, b - 1) == 12);
    CHECK(mlt_stack_take(&stacks, 14) > b && mlt_stack_take(&stacks, 15) > b && stacks.fresh == 4);
    mlt_stacks_fini(&stacks);
}

// As a libc may have it: in user space. Nothing here may ask it whether memory is guarded.
ssize_t getrandom(void *to, size_t bytes, unsigned flags)
{
    memset(to, 4, bytes);
    return (ssize_t)bytes;
}

static bool is_guarded(char *at)
{
    return mlt_os_is_guarded((void *)((uintptr_t)at & ~(uintptr_t)15));
}

// Those that were prepared together, and those that were not as the system did not do it.
static void test_ahead(bool refused)
{
    enum { COUNT = MLT_STACK_WIDE_MOST / 2 };
    mlt_stacks stacks;
    struct rlimit before, none;
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    none = (struct rlimit){0, before.rlim_max};
    CHECK(mlt_stacks_init(&stacks, COUNT, 8 * COUNT, MLT_STACK_MIN, MLT_STACK_GUARD_BEST, why,
                          sizeof why) == MLT_OK);
    CHECK(!refused || setrlimit(RLIMIT_NOFILE, &none) == 0);
    for (uint32_t i = 0; i < COUNT; i++) {
        char *stack = mlt_stack_take(&stacks, i);
        CHECK(mlt_stack_guard_owner(&stacks, stack - 1) == i);
        CHECK(stacks.guard != MLT_STACK_GUARD_PAGES ||
              (is_guarded(stack - 1) && is_guarded(stack - MLT_STACK_GUARD_BYTES) &&
               !is_guarded(stack) && !is_guarded(stack + stacks.size - 1)));
        CHECK(stacks.ready > i && stacks.ready <= COUNT && stacks.ready - i <= 1 + i / 16);
    }
    CHECK(!refused || stacks.guard != MLT_STACK_GUARD_PAGES || stacks.one_by_one);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    mlt_stacks_fini(&stacks);
}

static void test_guard_mappings(void)
{
    uint32_t most = mlt_stack_guard_mappings(UINT32_MAX);
    CHECK(mlt_stack_guard_mappings(0) == 0 && (most == 0 || most == 56000));
    CHECK(mlt_stack_guard_mappings(7) == (most ? 14 : 0));
}

// Of many stacks the first ones have wide guards, a worker's share of those of its process.
static void test_wide_guards(void)
{
    enum { FIBERS = 4 * MLT_STACK_WIDE_MOST, OWN = FIBERS / 8 };
    mlt_stacks stacks;
    char *last[2] = {NULL, NULL}, *stack = NULL;
    CHECK(mlt_stacks_init(&stacks, OWN, FIBERS, MLT_STACK_MIN, MLT_STACK_GUARD_BEST, why,
                          sizeof why) == MLT_OK);
    CHECK(stacks.wide == MLT_STACK_WIDE_MOST / 8);
    for (uint32_t i = 0; i < stacks.wide + 2; i++) {
        stack = mlt_stack_take(&stacks, i);
        ptrdiff_t guard = i < stacks.wide ? MLT_STACK_GUARD_WIDE : MLT_STACK_GUARD_BYTES;
        CHECK(!last[0] || stack - last[0] == guard + (ptrdiff_t)stacks.size);
        CHECK(mlt_stack_guard_owner(&stacks, stack - 1) == i);
        CHECK(mlt_stack_guard_owner(&stacks, stack - guard) == i);
        CHECK(i == 0 || mlt_stack_guard_owner(&stacks, stack - guard - 1) == MLT_STACK_NONE);
        stack[0] = stack[stacks.size - 1] = 1;
        last[1] = last[0];
        last[0] = stack;
    }
    mlt_stack_give(&stacks, last[0]);
    mlt_stack_give(&stacks, last[1]);
    CHECK(mlt_stack_take(&stacks, 7) == last[1] && mlt_stack_take(&stacks, 8) == last[0]);
    CHECK(mlt_stacks_trim_free(&stacks) == 0);
    mlt_stacks_fini(&stacks);
}

// Page by page, which of the range are resident.
static size_t resident(const char *from, size_t bytes)
{
    size_t page = mlt_os_page_size(), count = 0;
    for (size_t i = 0; i < bytes; i += page) {
        unsigned char in = 0;
        if (mincore((void *)(uintptr_t)(from + i), page, &in) == 0)
            count += in & 1;
    }
    return count;
}

static void test_trim_free(void)
{
    mlt_stacks stacks;
    size_t size = 64 * 1024, pages = size / mlt_os_page_size();
    CHECK(mlt_stacks_init(&stacks, 4, 4, size, MLT_STACK_GUARD_BEST, why, sizeof why) == MLT_OK);
    char *taken[4];
    for (uint32_t i = 0; i < 4; i++) {
        taken[i] = mlt_stack_take(&stacks, i);
        memset(taken[i], 1, size);
    }
    mlt_stack_give(&stacks, taken[0]);
    mlt_stack_give(&stacks, taken[1]);
    CHECK(mlt_stacks_trim_free(&stacks) == 2 * size);
    CHECK(resident(taken[0], size) == 0 && resident(taken[1], size) == 0);
    CHECK(resident(taken[2], size) == pages && resident(taken[3], size) == pages);
    CHECK(mlt_stacks_trim_free(&stacks) == 0); // nothing new
    mlt_stack_give(&stacks, taken[2]);
    CHECK(mlt_stacks_trim_free(&stacks) == size);
    CHECK(mlt_stack_take(&stacks, 5) == taken[2] && taken[2][100] == 0);
    CHECK(mlt_stack_take(&stacks, 6) == taken[1]);
    mlt_stack_give(&stacks, taken[1]);
    CHECK(mlt_stacks_trim_free(&stacks) == size);
    mlt_stacks_fini(&stacks);
}

static mlt_sched *sched;
static const mlt_wait waiting = {.call = "stack_test", .kind = MLT_WAIT_OTHER};

static void idle_never(void *arg)
{
    (void)arg;
    abort();
}

static void make(uint32_t fibers, size_t size, mlt_stack_guard guard)
{
    mlt_sched_conf conf = {.policy = "rr",
                           .fibers = fibers,
                           .stack_size = size,
                           .guard = (uint8_t)guard,
                           .idle = idle_never};
    if (mlt_sched_new(&conf, &sched, why, sizeof why) != MLT_OK) {
        fprintf(stderr, "%s\n", why);
        exit(1);
    }
}

// ---- Guards

static void parks(void *user)
{
    (void)user;
    mlt_fiber_park(sched, &waiting);
}

// Every kind of guard serves a few fibers, and says so.
static void test_kinds(void)
{
    static const char *const names[] = {NULL, NULL, "mprotect", "canary"};
    for (int guard = MLT_STACK_GUARD_BEST; guard <= MLT_STACK_GUARD_CANARY; guard++) {
        make(3, 64 * 1024, (mlt_stack_guard)guard);
        for (int i = 0; i < 3; i++)
            mlt_fiber_spawn(sched, parks, NULL);
        for (int i = 0; i < 3; i++) // ends them by hand: enough for the guards to be made
            mlt_stack_take(sched->stacks, (uint32_t)i);
        if (names[guard])
            CHECK(strcmp(mlt_sched_guard_kind(sched), names[guard]) == 0);
        else
            CHECK(strcmp(mlt_sched_guard_kind(sched), "guard pages") == 0 ||
                  strcmp(mlt_sched_guard_kind(sched), "mprotect") == 0);
        mlt_sched_free(sched);
    }
}

// mprotect gives out when the process has too many mappings; later stacks have a canary.
static void yields(void *user)
{
    (void)user;
    mlt_fiber_yield(sched);
    mlt_fiber_yield(sched);
}

static void test_map_count(void)
{
    enum { FIBERS = 70000 };
    if (MLT_SANITIZED || mlt_sanitize_valgrind())
        return;
    make(FIBERS, MLT_STACK_MIN, MLT_STACK_GUARD_PROTECT);
    for (uint32_t i = 0; i < FIBERS; i++)
        mlt_fiber_spawn(sched, yields, NULL);
    mlt_sched_run(sched);
    CHECK(strcmp(mlt_sched_guard_kind(sched), "canary") == 0);
    CHECK(sched->stacks->bare > 20000 && sched->stacks->bare < FIBERS / 2);
    mlt_sched_free(sched);
}

// ---- Trim

enum { SLEEPERS = 50, DEEP = 40 * 1024 };

static __attribute__((noinline)) void use_stack(void)
{
    char much[DEEP];
    memset(much, 1, sizeof much);
    __asm__ volatile("" : : "r"(much) : "memory"); // the compiler must not drop it
}

static __attribute__((noinline)) void sleeper(void *user)
{
    volatile uint64_t kept[64];
    for (int i = 0; i < 64; i++)
        kept[i] = (uint64_t)(uintptr_t)user + (uint64_t)i;
    for (int round = 0; round < 3; round++) {
        use_stack();
        mlt_fiber_park(sched, &waiting);
        for (int i = 0; i < 64; i++)
            CHECK(kept[i] == (uint64_t)(uintptr_t)user + (uint64_t)i);
    }
}

static size_t all_resident(void)
{
    size_t sum = 0;
    for (uint32_t i = 0; i < SLEEPERS; i++)
        sum += resident(sched->fibers[i].stack, sched->stacks->size);
    return sum;
}

static void trimmer(void *user)
{
    size_t deep_pages = DEEP / mlt_os_page_size();
    (void)user;
    for (int round = 0; round < 3; round++) {
        CHECK(all_resident() >= SLEEPERS * deep_pages);
        CHECK(mlt_sched_trim(sched) > (uint64_t)SLEEPERS * DEEP);
        CHECK(all_resident() <= SLEEPERS * 3); // one for each fiber, or some more with a sanitizer
        CHECK(mlt_sched_trim(sched) == 0);     // nobody ran since
        for (uint32_t i = 0; i < SLEEPERS; i++)
            mlt_fiber_wake(sched, &sched->fibers[i]);
        mlt_fiber_yield(sched);
    }
}

static void test_trim(void)
{
    make(SLEEPERS + 1, 256 * 1024, MLT_STACK_GUARD_BEST);
    for (uintptr_t i = 0; i < SLEEPERS; i++)
        mlt_fiber_spawn(sched, sleeper, (void *)(i * 1000));
    mlt_fiber_spawn(sched, trimmer, NULL);
    mlt_sched_run(sched);
    mlt_sched_free(sched);
}

// When memory is tight the scheduler trims by itself, and gives up where that brings nothing.
static uint64_t told_available, told_own;

static mlt_status told_memory(mlt_os_memory *out)
{
    *out = (mlt_os_memory){.available = told_available, .total = 1000 << 20, .own = told_own};
    if (told_own > 900 << 20)
        told_own -= 100 << 20; // what a trim brought
    return MLT_OK;
}

static void spins(void *user)
{
    for (intptr_t i = 0; i < (intptr_t)user; i++)
        mlt_fiber_yield(sched);
}

static uint32_t trims_with(uint64_t available, uint64_t own)
{
    told_available = available;
    told_own = own;
    make(2, 64 * 1024, MLT_STACK_GUARD_BEST);
    sched->memory = told_memory;
    for (int i = 0; i < 2; i++)
        mlt_fiber_spawn(sched, spins, (void *)200000);
    mlt_sched_run(sched);
    uint32_t trims = sched->trims;
    mlt_sched_free(sched);
    return trims;
}

static void test_tight(void)
{
    CHECK(trims_with(300 << 20, 100 << 20) == 0); // enough
    CHECK(trims_with(100 << 20, 100 << 20) >= 3 &&
          trims_with(100 << 20, 100 << 20) < 10);         // in vain
    CHECK(trims_with(100 << 20, UINT64_C(1) << 40) > 50); // each brings something
}

// A shallow fiber touches one page.
static void counts_pages(void *user)
{
    (void)user;
    // Not the first: the dynamic linker may have resolved names on its stack.
    for (uint32_t i = 1; i + 1 < sched->count; i++)
        CHECK(resident(sched->fibers[i].stack, sched->stacks->size) == 1);
    for (uint32_t i = 0; i + 1 < sched->count; i++)
        mlt_fiber_wake(sched, &sched->fibers[i]);
}

static void test_one_page(void)
{
    if (MLT_SANITIZED)
        return;
    make(11, 0, MLT_STACK_GUARD_BEST);
    for (int i = 0; i < 10; i++)
        mlt_fiber_spawn(sched, parks, NULL);
    mlt_fiber_spawn(sched, counts_pages, NULL);
    mlt_sched_run(sched);
    mlt_sched_free(sched);
}

int main(void)
{
    test_sizes();
    test_little_address_space();
    test_take_give();
    test_guard_mappings();
    test_wide_guards();
    test_ahead(false);
    test_ahead(true);
    test_trim_free();
    test_kinds();
    test_map_count();
    test_trim();
    test_tight();
    test_one_page();
    return 0;
}
