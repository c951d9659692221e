// SPDX-License-Identifier: BSD-3-Clause
// Tests of the last words, each in a child that dies: the callback hears of the right fiber, and
// the signal takes its course.
#include "fiber/fault.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "fiber/sanitize.h"
#include "fiber/stack.h"

enum { STACK = 64 * 1024, VICTIM = 3, FIBERS = 5 };

static mlt_sched *sched;
static int users[FIBERS];
static int report[2]; // the child's callback writes what it heard

typedef struct heard {
    int signal, sent, overflow, user, fiber;
    size_t stack_size;
    char has_pc, has_address;
    unsigned failures;
} heard;

static volatile unsigned breaks; // so many calls of the callback break

static void null_pointer(void);

static void describe(const mlt_fault *fault)
{
    if (fault->failures < breaks)
        null_pointer();
    heard words = {
        .signal = fault->signal,
        .sent = fault->sent,
        .overflow = fault->overflow,
        .user = fault->user ? (int)((int *)fault->user - users) : -1,
        .fiber = fault->fiber ? (int)fault->fiber->id : -1,
        .stack_size = fault->stack_size,
        .has_pc = fault->pc != NULL,
        .has_address = fault->address != NULL,
        .failures = fault->failures,
    };
    (void)!write(report[1], &words, sizeof words);
}

static void idle_never(void *arg)
{
    (void)arg;
    _exit(3);
}

// Keeps the compiler from seeing through an array.
static void use(volatile char *array)
{
    __asm__ volatile("" : : "r"(array) : "memory");
}

static volatile int zero;

static __attribute__((noinline)) int overflow(int depth)
{
    volatile char here[1000];
    here[depth % 1000] = (char)depth;
    use(here);
    int deeper = zero ? 0 : overflow(depth + 1);
    use(here);
    return deeper + here[depth % 1000];
}

// One large frame whose probes step over a page at a time, or 64 KiB (aarch64).
static __attribute__((noinline)) int jump(void)
{
    volatile char here[STACK + 1000];
    here[0] = 1;
    here[STACK / 2] = 1;
    use(here);
    return here[0];
}

// Stays in the gap below the stack, and comes back.
static __attribute__((noinline)) int dip(int depth)
{
    volatile char here[1000];
    memset((char *)here, 1, sizeof here);
    use(here);
    int deeper = depth * 1000 > STACK + 4000 ? 0 : dip(depth + 1);
    use(here);
    return deeper + here[5];
}

static void null_pointer(void)
{
    volatile char *nowhere = (volatile char *)(intptr_t)(zero + 16);
    *nowhere = 1;
}

static void (*deed)(void);

static void overflows(void)
{
    zero = overflow(0);
}

static void jumps(void)
{
    zero = jump();
}

static void dips(void)
{
    zero = dip(0);
    mlt_fiber_yield(sched);
}

static void sends(void)
{
    kill(getpid(), SIGBUS);
    for (;;)
        pause();
}

static void traps(void)
{
    __builtin_trap();
}

static void quits(void)
{
    _exit(5);
}

static void entry(void *user)
{
    mlt_fiber_yield(sched);
    if ((int *)user - users == VICTIM)
        deed();
    mlt_fiber_yield(sched);
}

// Runs the deed as fiber VICTIM (or on the bare thread) in a child; returns its wait status.
static int die(void (*what)(void), mlt_stack_guard guard, bool in_fiber, heard *words)
{
    memset(words, 0, sizeof *words);
    CHECK(pipe(report) == 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        mlt_fault_install(describe);
        if (mlt_fault_thread_init() != MLT_OK)
            _exit(4);
        deed = what;
        if (!in_fiber)
            deed();
        char why[256];
        mlt_sched_conf conf = {.policy = "rr",
                               .fibers = FIBERS,
                               .stack_size = STACK,
                               .guard = (uint8_t)guard,
                               .idle = idle_never};
        if (mlt_sched_new(&conf, &sched, why, sizeof why) != MLT_OK)
            _exit(4);
        for (int i = 0; i < FIBERS; i++)
            mlt_fiber_spawn(sched, entry, &users[i]);
        mlt_sched_run(sched);
        mlt_sched_free(sched);
        mlt_fault_thread_fini();
        _exit(0);
    }
    close(report[1]);
    int status;
    waitpid(child, &status, 0);
    ssize_t n = read(report[0], words, sizeof *words);
    close(report[0]);
    if (n == 0)
        words->signal = 0;
    return status;
}

static void test_overflows(void)
{
    heard words;
    for (int guard = MLT_STACK_GUARD_BEST; guard <= MLT_STACK_GUARD_PROTECT; guard++)
        for (int way = 0; way < 2; way++) {
            int status = die(way ? jumps : overflows, (mlt_stack_guard)guard, true, &words);
            CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
            CHECK(words.signal == SIGSEGV && words.overflow && !words.sent);
            CHECK(words.user == VICTIM && words.fiber == VICTIM && words.stack_size == STACK);
            CHECK(words.has_pc && words.has_address);
        }
    int status = die(dips, MLT_STACK_GUARD_CANARY, true, &words);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    CHECK(words.signal == SIGSEGV && words.overflow && words.user == VICTIM);
    CHECK(words.stack_size == STACK);
}

static void test_others(void)
{
    static const struct {
        void (*deed)(void);
        int signal;
        bool sent;
    } deeds[] = {{null_pointer, SIGSEGV, false}, {abort, SIGABRT, true}, {sends, SIGBUS, true}};
    heard words;
    for (size_t i = 0; i < sizeof deeds / sizeof deeds[0]; i++)
        for (int in_fiber = 0; in_fiber < 2; in_fiber++) {
            int status = die(deeds[i].deed, MLT_STACK_GUARD_BEST, in_fiber, &words);
            CHECK(WIFSIGNALED(status) && WTERMSIG(status) == deeds[i].signal);
            CHECK(words.signal == deeds[i].signal && words.sent == deeds[i].sent);
            CHECK(!words.overflow && words.user == (in_fiber ? VICTIM : -1));
            CHECK(words.fiber == (in_fiber ? VICTIM : -1));
            CHECK(words.stack_size == (in_fiber ? (size_t)STACK : 0));
        }
    int status = die(traps, MLT_STACK_GUARD_BEST, true, &words); // SIGTRAP on aarch64: not ours
    CHECK(WIFSIGNALED(status));
    status = die(quits, MLT_STACK_GUARD_BEST, true, &words);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5 && words.signal == 0);
}

// What breaks the program may break the callback: it is called again, knows less, and the process dies of
// the first signal all the same.
static void test_broken_callback(void)
{
    heard words;
    for (breaks = 1; breaks <= MLT_FAULT_TRIES; breaks++)
        for (int in_fiber = 0; in_fiber < 2; in_fiber++) {
            int status =
                die(breaks % 2 ? abort : null_pointer, MLT_STACK_GUARD_BEST, in_fiber, &words);
            int expected = breaks % 2 ? SIGABRT : SIGSEGV;
            CHECK(WIFSIGNALED(status) && WTERMSIG(status) == expected);
            if (breaks == MLT_FAULT_TRIES) {
                CHECK(words.signal == 0);
                continue;
            }
            CHECK(words.signal == expected && words.failures == breaks && words.has_pc);
            CHECK(words.user == -1 && words.fiber == -1 && words.stack_size == 0);
        }
    breaks = 0;
}

static void programs_own(int signal_number)
{
    (void)signal_number;
    _exit(9);
}

static void has_own_handler(void)
{
    mlt_fault_install(describe);
    null_pointer();
}

// A handler that was there first stays.
static void test_own_handler(void)
{
    heard words;
    struct sigaction own, before;
    memset(&own, 0, sizeof own);
    own.sa_handler = programs_own;
    CHECK(sigaction(SIGSEGV, &own, &before) == 0);
    int status = die(has_own_handler, MLT_STACK_GUARD_BEST, true, &words);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 9 && words.signal == 0);
    CHECK(sigaction(SIGSEGV, &before, NULL) == 0);
}

// An alternate stack that the program made stays, and ours goes when asked.
static void test_alternate_stack(void)
{
    static char own[64 * 1024];
    stack_t mine = {.ss_sp = own, .ss_size = sizeof own}, now;
    CHECK(mlt_fault_thread_init() == MLT_OK);
    CHECK(sigaltstack(NULL, &now) == 0 && !(now.ss_flags & SS_DISABLE));
    CHECK(mlt_fault_thread_init() == MLT_OK); // again: nothing
    mlt_fault_thread_fini();
    CHECK(sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_DISABLE));
    CHECK(sigaltstack(&mine, NULL) == 0);
    CHECK(mlt_fault_thread_init() == MLT_OK);
    mlt_fault_thread_fini();
    CHECK(sigaltstack(NULL, &now) == 0 && now.ss_sp == own);
    mine.ss_flags = SS_DISABLE;
    CHECK(sigaltstack(&mine, NULL) == 0);
}

static volatile bool misaligned;

static void looks_at_stack(int signal_number)
{
    (void)signal_number;
    misaligned = (uintptr_t)__builtin_frame_address(0) % 16 != 0;
}

// qemu-user 7.2 for x86-64 starts handlers on a stack that the compiler may not count on.
static bool handlers_are_broken(void)
{
    signal(SIGUSR1, looks_at_stack);
    raise(SIGUSR1);
    return misaligned;
}

int main(void)
{
    if (MLT_SANITIZED) // has its own report
        return 77;
    if (handlers_are_broken())
        return 77;
    test_alternate_stack();
    test_overflows();
    test_others();
    test_broken_callback();
    test_own_handler();
    return 0;
}
