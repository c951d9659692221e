// SPDX-License-Identifier: BSD-3-Clause
// Scheduling policies: which runnable fiber runs next. A policy is one line of the table in
// policy.c and up to five small functions. Its order must depend on nothing but the order of its
// calls (and a seed), so that a run replays. Policies of the user's come as plug-ins (plugin.c).
//
// Every policy keeps these promises, and fiber_test.c tests each for them:
//   - what was put is taken exactly once;
//   - put and take take constant time, whatever the number of fibers;
//   - a fiber that yields again and again does not keep any other runnable fiber from running.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "fiber/fiber.h"

typedef enum mlt_put {
    MLT_PUT_SPAWN, // new; its priority may still be set until the next take
    MLT_PUT_WAKE,  // was parked
    MLT_PUT_YIELD, // is the running one, and wants others to run first
} mlt_put;

struct mlt_policy {
    const char *name;
    const char *help;     // one line
    const char *argument; // what must follow the name after a colon ("SEED"); NULL: nothing
    // NULL: nothing to do. On failure a message in why.
    mlt_status (*init)(mlt_sched *sched, uint64_t argument, char *why, size_t why_size);
    void (*fini)(mlt_sched *sched); // NULL: nothing to undo
    // Called when sched->runnable counts the fiber already, and still counts the one to be taken.
    void (*put)(mlt_sched *sched, mlt_fiber *fiber, mlt_put how);
    mlt_fiber *(*take)(mlt_sched *sched); // NULL: the scheduler's list
    bool draws;                           // `random`
    bool direct; // of the list: the first that the running fiber wakes runs next
    // With a take only. The running fiber is about to park, for its wait record. NULL: no matter.
    void (*park)(mlt_sched *sched, mlt_fiber *fiber);
    bool polls; // park puts the fiber into the queue; when taken, it looks if its wait is over
};

// One of so many switches goes to a fiber that waits its turn in the queue, even if another was
// woken meanwhile.
enum { MLT_POLICY_TURN = 64 };

// The scheduler's list, inline, for it is on the path of every message between two fibers. A policy
// whose take is NULL keeps its queue there, and puts a yield at its end. The last one's next means
// nothing.
static inline void mlt_policy_list_push(mlt_sched *sched, mlt_fiber *fiber)
{
    if (sched->head)
        sched->tail->next = fiber;
    else
        sched->head = fiber;
    sched->tail = fiber;
}

// The running fiber queues after all that can run. The fiber that is ahead becomes the first.
static inline void mlt_policy_list_yield(mlt_sched *sched, mlt_fiber *fiber)
{
    mlt_fiber *ahead = sched->ahead;
    if (ahead) {
        ahead->next = sched->head;
        if (!sched->head)
            sched->tail = ahead;
        sched->head = ahead;
        sched->ahead = NULL;
    }
    mlt_policy_list_push(sched, fiber);
}

static inline void mlt_policy_list_wake(mlt_sched *sched, mlt_fiber *fiber)
{
    if (sched->direct && !sched->ahead)
        sched->ahead = fiber;
    else
        mlt_policy_list_push(sched, fiber);
}

// Wakes a parked fiber of a scheduler that is plain: mlt_fiber_wake where it is on the path of a
// message.
static inline void mlt_policy_wake_plain(mlt_sched *sched, mlt_fiber *fiber)
{
    fiber->state = MLT_FIBER_RUNNABLE;
    fiber->wait = NULL;
    if (fiber->pool)
        sched->current->woke = fiber->id;
    sched->runnable++;
    mlt_policy_list_wake(sched, fiber);
}

// in_turn: the fiber that is ahead must wait for once.
static inline mlt_fiber *mlt_policy_list_take(mlt_sched *sched, bool in_turn)
{
    mlt_fiber *fiber = sched->ahead;
    if (fiber && !(in_turn && sched->head)) {
        sched->ahead = NULL;
    } else {
        fiber = sched->head;
        sched->head = fiber == sched->tail ? NULL : fiber->next;
    }
    return fiber;
}

// True under policy `random`: then every choice, also among other things than fibers, asks
// mlt_policy_pick for one of n (above 0), so that a seed replays all of them.
static inline bool mlt_policy_is_random(const mlt_sched *sched)
{
    return sched->policy->draws;
}
uint32_t mlt_policy_pick(mlt_sched *sched, uint32_t n);

extern const mlt_policy mlt_policies[];
extern const size_t mlt_policies_count;
// Policy `plugin` (plugin.c): FILE is a shared object that exports the table of <millet/sched.h>. It
// is loaded when a scheduler is made. A text that has a slash, or .so at its end, is FILE alone.
mlt_status mlt_policy_plugin_init(mlt_sched *sched, uint64_t argument, char *why, size_t why_size);
void mlt_policy_plugin_fini(mlt_sched *sched);
void mlt_policy_plugin_put(mlt_sched *sched, mlt_fiber *fiber, mlt_put how);
mlt_fiber *mlt_policy_plugin_take(mlt_sched *sched);
void mlt_policy_plugin_park(mlt_sched *sched, mlt_fiber *fiber);

// The FILE in a text that names a policy; NULL: it names another one than `plugin`.
const char *mlt_policy_file(const char *text);

// Reads "name" or "name:argument". NULL and a message in why if it names no policy.
const mlt_policy *mlt_policy_find(const char *text, uint64_t *argument, char *why, size_t why_size);
