// SPDX-License-Identifier: BSD-3-Clause
// Fibers and the scheduler of one worker.
//
// A worker is a thread with one mlt_sched. Its fibers never leave it, so nothing here is locked or
// atomic (a solo worker that several threads use has a gate before it, see gate.h), and compiled
// code may keep thread-local addresses across a switch. A fiber is NEW until it first runs (it has
// no stack before), then RUNNING, RUNNABLE (in the run queue) or PARKED, and ENDED when its entry
// returned; its stack then serves the next new fiber.
//
// There is no scheduler fiber: the one that parks picks its successor and switches to it directly.
// When nothing is runnable it calls the idle function (the progress step of the transports) on its
// own stack, again and again, until somebody is. A worker with a single rank runs it on the
// thread's own stack as the `home` fiber (solo): parking is then a loop around idle.
//
//     run queue: holds what wake, yield and spawn make runnable; the policy says who is next
//     home:      the thread's own stack; returns from mlt_sched_run when all fibers have ended
//     pool:      fibers that come and go while others run, as many as there is memory for. With one
//                the home fiber of a solo worker is a member: it parks and wakes as the others do
//
// Who may suspend: mlt_fiber_park, mlt_fiber_yield, mlt_fiber_exit, mlt_sched_run. Nothing else.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "fiber/wait.h"

typedef struct mlt_fiber mlt_fiber;
typedef struct mlt_sched mlt_sched;

typedef enum mlt_fiber_state {
    MLT_FIBER_NEW,
    MLT_FIBER_RUNNABLE,
    MLT_FIBER_RUNNING,
    MLT_FIBER_PARKED,
    MLT_FIBER_ENDED,
} mlt_fiber_state;

struct mlt_fiber {
    void *sp;             // saved stack pointer while not running; offset 0 is known to switch.S
    mlt_fiber *next;      // in the run queue
    const mlt_wait *wait; // what it waits for, while PARKED; NULL otherwise
    char *stack;          // lowest usable byte of its stack; NULL before the first run and for home
    union {               // a million fibers: a line each, not two
        void (*entry)(void *); // until the first run; runs on the fiber's own stack
        void *sanitizer;       // afterwards: the sanitizer's fiber handle or fake stack
    };
    void *user;  // the owner's object, argument of entry; mlt_fiber_user while it runs
    uint32_t id; // index in the worker; MLT_FIBER_HOME for home
    int saved_errno;
    uint32_t woke;   // the member of the pool that it woke last, and will likely wake next
    uint8_t state;   // mlt_fiber_state
    bool trimmed;    // the pages below sp were given back since it last ran
    int8_t priority; // higher runs first; policies `priority` and `plugin` only; as of its next put
    bool pool;       // came by mlt_fiber_pool_spawn: its stack and its id are the pool's
};

#define MLT_FIBER_HOME UINT32_MAX
enum {
    MLT_FIBER_POOL_MOST = 1 << 22, // fibers of a pool: a terabyte of addresses with their stacks
    MLT_FIBER_PRIORITY_MOST = 31,  // and as far below 0
};

_Static_assert(sizeof(mlt_fiber) <= 64, "a parked fiber's record is one cache line");

typedef struct mlt_policy mlt_policy; // policy.h
struct mlt_os_memory;                 // os.h

// The C++ runtime's __cxa_eh_globals (Itanium C++ ABI, 2.2.2): the exceptions whose handlers are
// running, and how many are on their way to one. It belongs to a call stack, but is kept for a
// thread.
typedef struct mlt_exceptions {
    void *caught;
    unsigned int uncaught;
} mlt_exceptions;

// The pool of a worker. Records are used again, those of fibers that ended last first.
typedef struct mlt_fiber_pool {
    mlt_fiber *fibers; // [limit], address space; `count` of them were used so far
    uint32_t limit, count, alive;
    mlt_fiber *free; // ended ones, by next; NULL: none
    struct mlt_stacks *stacks;
    uint64_t *woken; // [limit] as that of the scheduler
    void *owner;     // what the layer that hired it keeps for its fibers (mlt_csp), for debuggers
} mlt_fiber_pool;

struct mlt_sched {
    // The first line is all of it that a switch writes.
    _Alignas(64) mlt_fiber *current;
    mlt_fiber *head, *tail;            // run queue; policies with a take have their own, too
    mlt_fiber *ahead;                  // runs before the queue (policy `direct`); NULL: nobody
    struct mlt_exceptions *exceptions; // the thread's state of C++ exceptions; never NULL
    int *error;                        // errno of the worker's thread
    uint64_t switches;                 // for reports, and every 64th breathes
    uint32_t runnable;                 // fibers in the run queue
    bool solo;                         // the only fiber is home
    bool member;                       // home runs with the pool
    bool plain;  // the queue is a list and nothing must be checked or told at a switch
    bool direct; // as the policy's

    // The second is read by some of them.
    uint64_t fp_mode;     // of the thread when it became a worker; its fibers start with it
    mlt_fiber_pool *pool; // NULL: none
    uint32_t alive;       // spawned and not ended
    bool canary;          // stacks have no guard pages: look for overflows at each switch

    const mlt_policy *policy;
    uint32_t count;             // spawned
    uint32_t limit;             // how many may be spawned
    bool list;                  // plain, if it were not for `pinned` and `swap`
    bool measures;              // as in the conf
    uint8_t watched;            // those that park are told of (mlt_sched_watch)
    bool delegated;             // a delegated call runs (delegate.h)
    bool quiet;                 // the next one that parks is not, if only a trace listens
    uint64_t *woken;            // [limit] when a fiber was woken last while a trace listened; NULL
    uint64_t home_woken;        // the same of home
    const mlt_fiber *before;    // while a trace listens: who suspended for `current`; NULL: nobody
    uint64_t slack;             // of one that measures: the others that could run, at each switch
    const char *pinned;         // what runs now and must not suspend (mlt_sched_pin); NULL: nothing
    mlt_fiber *fibers;          // all spawned ones, dense by id
    void (*idle)(void *arg);    // called when nothing is runnable; must make progress or sleep
    void (*breathe)(void *arg); // called now and then though fibers are runnable; may be NULL
    void *idle_arg;
    void *policy_state;       // of policies with an init
    uint64_t policy_argument; // what followed its name
    const char *policy_text;  // as in the conf
    uint32_t first;           // as in the conf
    mlt_fiber *(*awaits)(void *arg, const mlt_fiber *fiber, const mlt_wait *wait); // as in the conf
    uint64_t random;           // state of policy `random`
    struct mlt_stacks *stacks; // stack.h
    int32_t trim_in;           // switches until memory is looked at
    int32_t trim_period;
    uint32_t trims;                                  // for reports: how often memory was tight
    mlt_status (*memory)(struct mlt_os_memory *out); // mlt_os_memory_state; tests have their own
    mlt_sched *next_sched;                           // in mlt_sched_list
    struct mlt_gate *gate;              // several threads in a solo worker (gate.h); NULL: one
    struct mlt_delegates *delegates;    // ... and in another (delegate.h); NULL: one
    int32_t thread;                     // the kernel's number of the worker's thread, for debuggers
    size_t stack_asked;                 // as in the conf
    void (*swap)(void *from, void *to); // mlt_sched_swap_users; NULL: nothing
    _Atomic bool nudged;      // a signal handler wants the idle function to call `nudge`; relaxed
    void (*nudge)(void *arg); // ... and may want that at any time: sleeps are short; NULL: never
    struct mlt_deep *deep; // a second stack, where the fibers' are very small (deep.h); NULL: none
    struct mlt_stdio *io;  // descriptors and timers that are waited for (io.h); NULL: none so far
    mlt_fiber home;
};

_Static_assert(offsetof(mlt_sched, fp_mode) == 64, "a switch writes one line of the scheduler");

typedef struct mlt_sched_conf {
    const char *policy;      // of policy.h; stays valid as long as the scheduler
    uint32_t fibers;         // how many will be spawned; 0: solo
    size_t stack_size;       // 0: chosen by the number of fibers
    uint32_t process_fibers; // fibers of all workers of the process together, for that choice
    uint8_t guard;           // mlt_stack_guard: 0 is the best there is; tests ask for a lesser one
    bool measures;           // count `slack`; every switch then goes the general way
    uint32_t first;          // number of the first fiber elsewhere: its rank, for plug-ins
    // Which fiber of this worker the given one waits for, which is about to park. NULL: none, or
    // nobody knows. May itself be NULL. Asked by policies that have a `park`.
    mlt_fiber *(*awaits)(void *arg, const mlt_fiber *fiber, const mlt_wait *wait);
    void (*idle)(void *arg);
    void (*breathe)(void *arg);
    void *idle_arg;
} mlt_sched_conf;

// The user object of the running fiber; NULL on threads that are no workers.
extern _Thread_local void *mlt_fiber_user __attribute__((tls_model("initial-exec")));

// The scheduler of the calling thread; NULL on threads that are no workers.
extern _Thread_local mlt_sched *mlt_sched_self __attribute__((tls_model("initial-exec")));

// All schedulers of the process, for debuggers: share/millet-gdb.py starts here. Changed by
// mlt_sched_new and mlt_sched_free only, under a lock of theirs, which is fine since a worker comes
// and goes once. In the process only a dying one walks it (fault.h), without the lock.
extern mlt_sched *mlt_sched_list;

// Makes the calling thread a worker. On failure *out is NULL and `why` has a message.
// The caller frees it with mlt_sched_free, on the same thread, after mlt_sched_run returned.
mlt_status mlt_sched_new(const mlt_sched_conf *conf, mlt_sched **out, char *why,
                         size_t why_size) MLT_MUST_CHECK;
void mlt_sched_free(mlt_sched *sched);

// At each switch between fibers with different user objects, on the stack of the one that stops,
// `swap` exchanges what is kept for the thread but belongs to the user. NULL objects are home's. A
// fiber that suspends and is its own successor calls it too, with the same object twice.
void mlt_sched_swap_users(mlt_sched *sched, void (*swap)(void *from, void *to));

// gate.c's: the worker has got a gate.
void mlt_sched_open_gate(mlt_sched *sched);

// From now on, or no longer, mlt_upcalls.event hears when a fiber parks and when it goes on; its user
// object is a mlt_rank then, and idle_arg the mlt_worker. Every switch goes the general way
// meanwhile. The caller runs in a fiber of this worker.
void mlt_sched_watch(mlt_sched *sched, uint8_t watched);

// While a trace listens: when the calling fiber was woken last, by mlt_arch_cycles; 0: unknown.
static inline uint64_t mlt_sched_woken(const mlt_sched *sched)
{
    const mlt_fiber *me = sched->current;
    const uint64_t *times = me->pool ? sched->pool->woken : sched->woken;
    if (me->id == MLT_FIBER_HOME)
        return sched->home_woken;
    return times ? times[me->id] : 0;
}

// Solo: gives the home fiber its user object; the caller then simply runs.
void mlt_sched_adopt(mlt_sched *sched, void *user);

// Adds a NEW runnable fiber; at most conf.fibers in all. The fiber's memory is the scheduler's.
mlt_fiber *mlt_fiber_spawn(mlt_sched *sched, void (*entry)(void *user), void *user);

// Gives the worker a pool, once; MLT_ERR_UNSUPPORTED if it has a gate. On failure a message in why.
mlt_status mlt_fiber_pool_open(mlt_sched *sched, char *why, size_t why_size) MLT_MUST_CHECK;

// Adds a NEW runnable fiber to the pool. When it ends, its record and stack serve the next one: do
// not keep the pointer. NULL: as many are alive as there can be. Workers with planned fibers return
// from mlt_sched_run when the last of those has ended, even if some of the pool are still alive.
mlt_fiber *mlt_fiber_pool_spawn(mlt_sched *sched, void (*entry)(void *user), void *user);

// Runs all spawned fibers until the last one has ended. Called on the thread's own stack.
void mlt_sched_run(mlt_sched *sched);

// Suspends the running fiber (or thread, see gate.h) until mlt_fiber_wake. The wake may come before
// park returns from its first look (solo), never before park was called: set `wait` up first, then
// park.
void mlt_fiber_park(mlt_sched *sched, const mlt_wait *wait);

// Makes a PARKED fiber of this worker runnable; does nothing for any other state. Does not suspend.
// The caller is another fiber of the worker or the idle function.
void mlt_fiber_wake(mlt_sched *sched, mlt_fiber *fiber);

// The same, but all that can run now do so before it, under policies with a list.
void mlt_fiber_wake_last(mlt_sched *sched, mlt_fiber *fiber);

// Lets every other runnable fiber run before this one goes on (rr, direct), or those that the
// policy picks. Returns at once if there are none.
void mlt_fiber_yield(mlt_sched *sched);

// A function of the user's is about to be called in the middle of a step of the worker, on whatever
// stack runs that step. Until mlt_sched_unpin with what this returns, a call that suspends or makes
// progress ends the program with a message, which names `what`: "a function of MPI_Op_create".
static inline const char *mlt_sched_pin(mlt_sched *sched, const char *what)
{
    const char *before = sched->pinned;
    sched->pinned = what;
    sched->plain = false; // so that nobody else has to look
    return before;
}

static inline void mlt_sched_unpin(mlt_sched *sched, const char *before)
{
    sched->pinned = before;
    sched->plain = sched->list && !before && !sched->swap && !sched->delegated;
}

// Leaves the running fiber, which is PARKED then, for another that is PARKED and runs at once.
void mlt_fiber_switch(mlt_sched *sched, mlt_fiber *to);

// The same for the next that can run. Nobody hears of it: the fiber is nobody's.
void mlt_fiber_rest(mlt_sched *sched);

// delegate.c's: such a call runs, or has stopped. It suspends by a way of its own.
void mlt_sched_set_delegated(mlt_sched *sched, bool delegated);

// Ends the program if something is pinned. call: what would suspend; NULL: the caller does not
// know.
void mlt_sched_refuse(const mlt_sched *sched, const char *call) MLT_COLD;

// Ends the running fiber; never for home.
_Noreturn void mlt_fiber_exit(mlt_sched *sched);

// If `address` lies in the guard of a stack of this worker: that stack's fiber, else NULL.
// Safe in a signal handler.
mlt_fiber *mlt_sched_guard_owner(const mlt_sched *sched, const void *address);
size_t mlt_sched_stack_size(const mlt_sched *sched); // of planned fibers; 0: solo

// Usable bytes of that fiber's stack; 0: home, or it has none (yet).
size_t mlt_fiber_stack_size(const mlt_sched *sched, const mlt_fiber *fiber);

// How stacks are guarded, for reports: "guard pages", "mprotect", "canary" (the weakest so far, if
// they differ) or "none" (solo).
const char *mlt_sched_guard_kind(const mlt_sched *sched);

// Gives the pages below the stack pointers of all suspended fibers, and those of stacks that nobody
// uses, back to the system. The scheduler itself calls it when memory is tight. Returns how many
// bytes were offered.
uint64_t mlt_sched_trim(mlt_sched *sched);
