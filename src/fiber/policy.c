// SPDX-License-Identifier: BSD-3-Clause
#include "fiber/policy.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
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

static mlt_status no_room(char *why, size_t why_size)
{
    return mlt_fail(MLT_ERR_NO_MEMORY, why, why_size, MLT_NO_ROOM "a run queue");
}

// ---- poll: the same list, but those that wait are in it, too

// FG-MPI's round robin: a fiber that waits looks whether its wait is over when its turn comes, and
// queues again. It shows what parking saves: a message backwards round a ring of n passes n - 1
// that look in vain. The last one's next is itself, so that NULL means: not in the queue.
static void poll_put(mlt_sched *sched, mlt_fiber *fiber, mlt_put how)
{
    if (how == MLT_PUT_WAKE && fiber->next)
        return;
    fiber->next = fiber;
    mlt_policy_list_push(sched, fiber);
}

static void poll_park(mlt_sched *sched, mlt_fiber *fiber)
{
    poll_put(sched, fiber, MLT_PUT_YIELD);
}

static mlt_fiber *poll_take(mlt_sched *sched)
{
    mlt_fiber *fiber = mlt_policy_list_take(sched, true);
    fiber->next = NULL;
    sched->runnable += fiber->state == MLT_FIBER_PARKED; // it is not, but taken as if
    return fiber;
}

// ---- random:SEED: an array of fibers, in any order

// Room for those that were planned, and address space for as many of a pool as there can be.
static size_t random_bytes(const mlt_sched *sched)
{
    return ((size_t)sched->limit + MLT_FIBER_POOL_MOST + 1) * sizeof(mlt_fiber *);
}

static mlt_status random_init(mlt_sched *sched, uint64_t seed, char *why, size_t why_size)
{
    sched->random = seed;
    sched->policy_state = mlt_os_map(random_bytes(sched));
    return sched->policy_state ? MLT_OK : no_room(why, why_size);
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

// ---- priority: a list a level, and one for those that yielded

// A fiber's level is its priority, and within that how many wait for it in a chain: one that
// nobody waits for has depth 0, and one that is waited for is above all who wait for it. So what
// is on the way to the most others runs first, and who waits lends its priority. A level that was
// lent falls back when nobody waits any more.
enum {
    CLASSES = 2 * MLT_FIBER_PRIORITY_MOST + 1,
    DEPTHS = 16,
    LEVELS = (CLASSES * DEPTHS + 63) / 64 * 64,
    YIELDED = LEVELS,
    WORDS = LEVELS / 64,
    LIFTS = 64, // fibers that one who parks can lift
};

// What a planned fiber has. Others have none: nobody knows who waits for them.
typedef struct policy_record {
    mlt_fiber *before; // in its list, unless it is the first
    uint32_t awaited;  // id of whom it waits for, + 1; 0: none, or not known
    uint32_t waiters;  // those that wait for it
    uint16_t level;    // what was lent, while there are waiters; in a list: that of the list
    bool listed;       // in the list of its level
} policy_record;

typedef struct policy_levels {
    struct {
        mlt_fiber *head, *tail;
    } level[LEVELS + 1];
    uint64_t filled[WORDS]; // bit a level
    uint32_t passed;        // takes in a row that passed the yielded ones by
    policy_record records[];
} policy_levels;

static size_t levels_bytes(const mlt_sched *sched)
{
    return sizeof(policy_levels) + sched->limit * sizeof(policy_record);
}

static mlt_status priority_init(mlt_sched *sched, uint64_t argument, char *why, size_t why_size)
{
    (void)argument;
    sched->policy_state = mlt_os_map(levels_bytes(sched));
    return sched->policy_state ? MLT_OK : no_room(why, why_size);
}

static void priority_fini(mlt_sched *sched)
{
    mlt_os_unmap(sched->policy_state, levels_bytes(sched));
}

static policy_record *record_of(const mlt_sched *sched, const mlt_fiber *fiber)
{
    policy_levels *levels = sched->policy_state;
    return fiber->pool || fiber->id >= sched->limit ? NULL : &levels->records[fiber->id];
}

static unsigned level_of(const mlt_fiber *fiber, const policy_record *record)
{
    unsigned own = (unsigned)(fiber->priority + MLT_FIBER_PRIORITY_MOST) * DEPTHS;
    return record && record->waiters && record->level > own ? record->level : own;
}

static void level_push(mlt_sched *sched, unsigned at, mlt_fiber *fiber)
{
    policy_levels *levels = sched->policy_state;
    policy_record *record = record_of(sched, fiber);
    fiber->next = NULL;
    if (record) {
        record->before = levels->level[at].head ? levels->level[at].tail : NULL;
        record->listed = at < LEVELS;
        record->level = at < LEVELS ? (uint16_t)at : record->level;
    }
    if (levels->level[at].head)
        levels->level[at].tail->next = fiber;
    else
        levels->level[at].head = fiber;
    levels->level[at].tail = fiber;
    if (at < LEVELS)
        levels->filled[at / 64] |= UINT64_C(1) << at % 64;
}

static mlt_fiber *level_pop(mlt_sched *sched, unsigned at)
{
    policy_levels *levels = sched->policy_state;
    mlt_fiber *fiber = levels->level[at].head;
    policy_record *record = record_of(sched, fiber);
    levels->level[at].head = fiber->next;
    if (at < LEVELS && !fiber->next)
        levels->filled[at / 64] &= ~(UINT64_C(1) << at % 64);
    if (record)
        record->listed = false;
    return fiber;
}

static void level_remove(mlt_sched *sched, mlt_fiber *fiber, policy_record *record)
{
    policy_levels *levels = sched->policy_state;
    unsigned at = record->level;
    if (levels->level[at].head == fiber) {
        (void)level_pop(sched, at);
        return;
    }
    record->before->next = fiber->next;
    policy_record *after = fiber->next ? record_of(sched, fiber->next) : NULL;
    if (after)
        after->before = record->before;
    if (levels->level[at].tail == fiber)
        levels->level[at].tail = record->before;
    record->listed = false;
}

// Those who wait for the fiber have become more, or none.
static void level_change(mlt_sched *sched, mlt_fiber *fiber, policy_record *record, unsigned level)
{
    if (record->listed && record->level != level) {
        level_remove(sched, fiber, record);
        level_push(sched, level, fiber);
    }
    record->level = (uint16_t)level;
}

// Who is waited for goes before, and so whom that one waits for.
static void priority_park(mlt_sched *sched, mlt_fiber *fiber)
{
    policy_record *record = record_of(sched, fiber);
    mlt_fiber *to =
        record && sched->awaits ? sched->awaits(sched->idle_arg, fiber, fiber->wait) : NULL;
    policy_record *its = to && to != fiber ? record_of(sched, to) : NULL;
    if (!its)
        return;
    unsigned level = level_of(fiber, record);
    record->awaited = to->id + 1;
    record->level = (uint16_t)level;
    for (int i = 0; i < LIFTS; i++) {
        level += level % DEPTHS < DEPTHS - 1;
        unsigned before = level_of(to, its);
        its->waiters += i == 0;
        if (before >= level) {
            its->level = (uint16_t)before;
            return;
        }
        level_change(sched, to, its, level);
        if (!its->awaited)
            return;
        to = &sched->fibers[its->awaited - 1];
        its = record_of(sched, to);
    }
}

static void waits_no_longer(mlt_sched *sched, policy_record *record)
{
    mlt_fiber *to = &sched->fibers[record->awaited - 1];
    policy_record *its = record_of(sched, to);
    record->awaited = 0;
    if (--its->waiters == 0)
        level_change(sched, to, its, level_of(to, its));
}

// A new fiber waits in the scheduler's own list for its priority, which its maker sets after
// spawning it. A fiber that yields waits after all others: a rank that polls with the best priority
// would otherwise keep the one that it polls for from ever running.
static void priority_put(mlt_sched *sched, mlt_fiber *fiber, mlt_put how)
{
    policy_record *record = record_of(sched, fiber);
    if (record && record->awaited)
        waits_no_longer(sched, record);
    if (how == MLT_PUT_SPAWN)
        mlt_policy_list_push(sched, fiber);
    else
        level_push(sched, how == MLT_PUT_YIELD ? YIELDED : level_of(fiber, record), fiber);
}

static mlt_fiber *priority_take(mlt_sched *sched)
{
    policy_levels *levels = sched->policy_state;
    while (sched->head) { // once a fiber
        mlt_fiber *fiber = mlt_policy_list_take(sched, true);
        level_push(sched, level_of(fiber, record_of(sched, fiber)), fiber);
    }
    if (levels->level[YIELDED].head && levels->passed >= MLT_POLICY_TURN) {
        levels->passed = 0;
        return level_pop(sched, YIELDED);
    }
    levels->passed++;
    for (unsigned word = WORDS; word-- > 0;)
        if (levels->filled[word])
            return level_pop(sched,
                             word * 64 + 63 - (unsigned)__builtin_clzll(levels->filled[word]));
    levels->passed = 0;
    return level_pop(sched, YIELDED);
}

// ---- The table

const mlt_policy mlt_policies[] = {
    {"direct", "a woken rank runs next, within a bound that keeps it fair", .put = list_put,
     .direct = true},
    {"rr", "round robin in the order of becoming runnable", .put = list_put},
    {"poll", "round robin of all ranks: those that wait look if their wait is over",
     .put = poll_put, .take = poll_take, .park = poll_park, .polls = true},
    {"random", "any runnable rank; the same seed replays the same order", "SEED",
     .init = random_init, .fini = random_fini, .put = random_put, .take = random_take,
     .draws = true},
    {"priority", "the highest priority first (MPIX_Set_priority), then what most others wait for",
     .init = priority_init, .fini = priority_fini, .put = priority_put, .take = priority_take,
     .park = priority_park},
    {"plugin", "a policy of your own, a shared object (<millet/sched.h>)", "FILE",
     .init = mlt_policy_plugin_init, .fini = mlt_policy_plugin_fini, .put = mlt_policy_plugin_put,
     .take = mlt_policy_plugin_take, .park = mlt_policy_plugin_park},
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

const char *mlt_policy_file(const char *text)
{
    static const char prefix[] = "plugin:";
    size_t length = strlen(text);
    if (strncmp(text, prefix, sizeof prefix - 1) == 0)
        return text + sizeof prefix - 1;
    bool file = strchr(text, '/') || (length > 3 && strcmp(text + length - 3, ".so") == 0);
    return file ? text : NULL;
}

static const mlt_policy *find_file(const char *file, char *why, size_t why_size)
{
    if (!*file) {
        snprintf(why, why_size,
                 "the scheduling policy 'plugin' needs a file after a colon: 'plugin:./mine.so'");
        return NULL;
    }
    return find_name("plugin", 6);
}

static const mlt_policy *unknown(const char *text, char *why, size_t why_size)
{
    int n = snprintf(why, why_size, "'%s' is no scheduling policy; there are", text);
    for (size_t i = 0; i < mlt_policies_count && n > 0 && (size_t)n < why_size; i++)
        n += snprintf(why + n, why_size - (size_t)n, "%s %s%s%s", i ? "," : "",
                      mlt_policies[i].name, mlt_policies[i].argument ? ":" : "",
                      mlt_policies[i].argument ? mlt_policies[i].argument : "");
    keep_one_line(why, why_size);
    return NULL;
}

const mlt_policy *mlt_policy_find(const char *text, uint64_t *argument, char *why, size_t why_size)
{
    const char *colon = strchr(text, ':'), *file = mlt_policy_file(text);
    *argument = 0;
    if (file)
        return find_file(file, why, why_size);
    const mlt_policy *policy = find_name(text, colon ? (size_t)(colon - text) : strlen(text));
    if (!policy)
        return unknown(text, why, why_size);
    if (policy->init == mlt_policy_plugin_init)
        return find_file("", why, why_size);
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
