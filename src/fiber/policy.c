// SPDX-License-Identifier: BSD-3-Clause
#include "fiber/policy.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"

// ---- The run queue as a list: rr and direct

// Under `direct` the first that the running fiber wakes runs next: its message is in the caches,
// and it will likely wake another. What else is woken meanwhile queues. So that two which wake each
// other cannot keep the rest waiting, one switch in MLT_POLICY_TURN takes from the queue: a fiber
// with k others before it runs after at most k + 1 times that many switches.
static void list_put(mlt_sched *sched, mlt_fiber *fiber, mlt_put how)
{
    if (how == MLT_PUT_WAKE)
        mlt_policy_list_wake(sched, fiber);
    else if (how == MLT_PUT_YIELD)
        mlt_policy_list_yield(sched, fiber);
    else
        mlt_policy_list_push(sched, fiber);
}

// ---- random:SEED: an array of fibers, in any order

// Room for those that were planned, and address space for as many of a pool as there can be.
static size_t random_bytes(const mlt_sched *sched)
{
    return ((size_t)sched->limit + MLT_FIBER_POOL_MOST + 1) * sizeof(mlt_fiber *);
}

static mlt_status random_init(mlt_sched *sched, uint64_t seed)
{
    sched->random = seed;
    sched->policy_state = mlt_os_map(random_bytes(sched));
    return sched->policy_state ? MLT_OK : MLT_ERR_NO_MEMORY;
}

static void random_fini(mlt_sched *sched)
{
    mlt_os_unmap(sched->policy_state, random_bytes(sched));
}

static void random_put(mlt_sched *sched, mlt_fiber *fiber, mlt_put how)
{
    (void)how;
    mlt_fiber **fibers = sched->policy_state;
    fibers[sched->runnable - 1] = fiber;
}

// splitmix64: any seed is a good one, 0 too.
static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

// High half of a product: uniform without a division (its bias of n in 2^32 is no matter here).
uint32_t mlt_policy_pick(mlt_sched *sched, uint32_t n)
{
    return (uint32_t)((random_next(&sched->random) >> 32) * n >> 32);
}

static mlt_fiber *random_take(mlt_sched *sched)
{
    mlt_fiber **fibers = sched->policy_state;
    uint32_t n = sched->runnable;
    uint32_t pick = mlt_policy_pick(sched, n);
    mlt_fiber *fiber = fibers[pick];
    fibers[pick] = fibers[n - 1];
    return fiber;
}

bool mlt_policy_is_random(const mlt_sched *sched)
{
    return sched->policy->take == random_take;
}

// ---- priority: a list a level, and one for those that yielded

enum { LEVELS = 256, YIELDED = LEVELS, WORDS = LEVELS / 64 };

typedef struct policy_levels {
    struct {
        mlt_fiber *head, *tail;
    } level[LEVELS + 1];
    uint64_t filled[WORDS]; // bit a level
    uint32_t passed;        // takes in a row that passed the yielded ones by
} policy_levels;

static mlt_status priority_init(mlt_sched *sched, uint64_t argument)
{
    (void)argument;
    sched->policy_state = calloc(1, sizeof(policy_levels));
    return sched->policy_state ? MLT_OK : MLT_ERR_NO_MEMORY;
}

static void priority_fini(mlt_sched *sched)
{
    free(sched->policy_state);
}

static void level_push(policy_levels *levels, unsigned at, mlt_fiber *fiber)
{
    fiber->next = NULL;
    if (levels->level[at].head)
        levels->level[at].tail->next = fiber;
    else
        levels->level[at].head = fiber;
    levels->level[at].tail = fiber;
    if (at < LEVELS)
        levels->filled[at / 64] |= UINT64_C(1) << at % 64;
}

static mlt_fiber *level_pop(policy_levels *levels, unsigned at)
{
    mlt_fiber *fiber = levels->level[at].head;
    levels->level[at].head = fiber->next;
    if (at < LEVELS && !fiber->next)
        levels->filled[at / 64] &= ~(UINT64_C(1) << at % 64);
    return fiber;
}

// A new fiber waits in the scheduler's own list for its priority, which its maker sets after
// spawning it. A fiber that yields waits after all others: a rank that polls with the best priority
// would otherwise keep the one that it polls for from ever running.
static void priority_put(mlt_sched *sched, mlt_fiber *fiber, mlt_put how)
{
    if (how == MLT_PUT_SPAWN)
        mlt_policy_list_push(sched, fiber);
    else
        level_push(sched->policy_state, how == MLT_PUT_YIELD ? YIELDED : fiber->priority, fiber);
}

static mlt_fiber *priority_take(mlt_sched *sched)
{
    policy_levels *levels = sched->policy_state;
    while (sched->head) { // once a fiber
        mlt_fiber *fiber = mlt_policy_list_take(sched, true);
        level_push(levels, fiber->priority, fiber);
    }
    if (levels->level[YIELDED].head && levels->passed >= MLT_POLICY_TURN) {
        levels->passed = 0;
        return level_pop(levels, YIELDED);
    }
    levels->passed++;
    for (unsigned word = 0; word < WORDS; word++)
        if (levels->filled[word])
            return level_pop(levels, word * 64 + (unsigned)__builtin_ctzll(levels->filled[word]));
    levels->passed = 0;
    return level_pop(levels, YIELDED);
}

// ---- The table

const mlt_policy mlt_policies[] = {
    {"direct", "a woken rank runs next, within a bound that keeps it fair", NULL, NULL, NULL,
     list_put, NULL, true},
    {"rr", "round robin in the order of becoming runnable", NULL, NULL, NULL, list_put, NULL,
     false},
    {"random", "any runnable rank; the same seed replays the same order", "SEED", random_init,
     random_fini, random_put, random_take, false},
    {"priority", "the lowest priority number first, round robin among equals", NULL, priority_init,
     priority_fini, priority_put, priority_take, false},
};
const size_t mlt_policies_count = sizeof mlt_policies / sizeof mlt_policies[0];

static const mlt_policy *find_name(const char *name, size_t length)
{
    for (size_t i = 0; i < mlt_policies_count; i++)
        if (strlen(mlt_policies[i].name) == length &&
            memcmp(mlt_policies[i].name, name, length) == 0)
            return &mlt_policies[i];
    return NULL;
}

// What a user wrote is quoted, but shall not look like a line of ours or talk to the terminal.
static void keep_one_line(char *why, size_t why_size)
{
    for (size_t i = 0; i < why_size && why[i]; i++)
        if (iscntrl((unsigned char)why[i]))
            why[i] = '?';
}

const mlt_policy *mlt_policy_find(const char *text, uint64_t *argument, char *why, size_t why_size)
{
    const char *colon = strchr(text, ':');
    const mlt_policy *policy = find_name(text, colon ? (size_t)(colon - text) : strlen(text));
    *argument = 0;
    if (!policy) {
        int n = snprintf(why, why_size, "'%s' is no scheduling policy; there are", text);
        for (size_t i = 0; i < mlt_policies_count && n > 0 && (size_t)n < why_size; i++)
            n += snprintf(why + n, why_size - (size_t)n, "%s %s%s%s", i ? "," : "",
                          mlt_policies[i].name, mlt_policies[i].argument ? ":" : "",
                          mlt_policies[i].argument ? mlt_policies[i].argument : "");
        keep_one_line(why, why_size);
        return NULL;
    }
    if (!policy->argument && !colon)
        return policy;
    if (!policy->argument) {
        snprintf(why, why_size,
                 "the scheduling policy '%s' takes nothing after its name, but '%s' does",
                 policy->name, text);
        keep_one_line(why, why_size);
        return NULL;
    }
    char *end = NULL;
    errno = 0;
    // strtoull would take a sign and turn it round.
    if (colon && colon[1] >= '0' && colon[1] <= '9')
        *argument = strtoull(colon + 1, &end, 0);
    if (!end || *end || errno) {
        snprintf(why, why_size, "the scheduling policy '%s' needs a number after a colon: '%s:17'",
                 policy->name, policy->name);
        return NULL;
    }
    return policy;
}
