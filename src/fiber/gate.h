// SPDX-License-Identifier: BSD-3-Clause
// Several threads in a worker: those of its one rank (MPI_THREAD_MULTIPLE), or the library's own beside
// the worker's (GOAL_OFFLOAD).
//
// A worker's state belongs to one thread at a time: the one that is inside the gate. A worker has a
// gate once its owner asks for one, and from then on every call enters it; workers without one never
// come here.
//
// A thread has a fiber of its own, so that what waits and what wakes is the same for threads as for
// fibers; in a solo worker sched->current and the owner's `running` are the fiber of the thread that
// is inside. A
// thread that parks leaves the gate to the others. One of the parked threads, the driver, calls the
// idle function in a loop and lets others in between. The rest sleep, each on its own word, until
// they are woken or must drive because the driver's wait is over.
//
//     outside --enter--> inside --park--> driver: idle, idle, ...      --wake--> inside --leave-->
//                                    \--> asleep on its word, perhaps driver later --^
//
// The gate is a lock that lets late comers pass a few times (cheap while threads alternate), then
// hands itself over to one that waits: nobody starves, even if others poll in a loop. A thread may
// enter it again (a callback calls MPI); park leaves it altogether.
//
// In a worker with fibers, the worker's own thread is inside while any of them is in a call, or is about
// to run, and outside while one computes. Fibers switch inside only. The thread parks when none of
// them can run, whoever waits; sched->current stays the fiber that it runs. Each fiber has its own
// `depth`, kept on its stack while it does not run. One that was in a call when the gate came, or has
// not called yet, has depth 0 though its thread is inside; its next call leaves.
//
// How many threads of the process are parked is counted for all workers together: if all are, none
// can ever come in and change something.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "fiber/fiber.h"

typedef struct mlt_gate mlt_gate;

// Where a thread's parking has led it. Changed inside the gate only.
typedef enum mlt_thread_sleep {
    MLT_THREAD_AWAKE,
    MLT_THREAD_ON_TURN,  // on its own word
    MLT_THREAD_ON_OWNER, // the driver, blocked by the idle function; conf.kick wakes it
} mlt_thread_sleep;

typedef struct mlt_thread {
    mlt_fiber own;          // unused by the worker's own thread, whose fiber is home
    mlt_fiber *fiber;       // the one that it is
    mlt_gate *gate;         // a counted reference
    mlt_list_node all;      // in gate->threads
    mlt_list_node sleeping; // in gate->sleepers while ON_TURN
    _Atomic uint32_t turn;
    uint32_t depth;  // entered so often; its own business
    bool inside;     // the same
    uint32_t number; // 1: the worker's own thread, then in the order of their first calls
    uint8_t sleeps;  // mlt_thread_sleep
    bool helper;     // the library's own: reports leave it out
} mlt_thread;

// What the owner of the worker gives.
typedef struct mlt_gate_conf {
    mlt_fiber **running;      // solo: set to the fiber of whoever comes in
    uint16_t *call;           // solo: a note of the thread that is inside; kept while it is parked
    bool (*needs)(void *arg); // is there work that a blocked driver does not know of?
    void (*kick)(void *arg);  // ends the idle function's blocking
    void *arg;
} mlt_gate_conf;

struct mlt_gate {
    _Alignas(64) _Atomic uint32_t word; // the lock; see gate.c
    _Atomic uint32_t want;              // threads that wait for it
    uint32_t passed;                    // how often late comers may have passed the waiters
    mlt_thread *driver;                 // NULL: nobody
    _Alignas(64) mlt_sched *sched;
    mlt_gate_conf conf;
    mlt_list_node threads, sleepers;
    uint32_t count; // threads so far
    mlt_thread home;
    _Atomic uint32_t holders; // threads, and the worker
};

// The calling thread's record; NULL before its first entry, and on threads that never do.
extern _Thread_local mlt_thread *mlt_thread_self __attribute__((tls_model("initial-exec")));

// Gives a worker without a pool a gate, which is sched->gate from then on; called on the worker's
// thread, by one of its fibers, while no other thread uses it. False if memory is exhausted.
bool mlt_gate_new(mlt_sched *sched, const mlt_gate_conf *conf) MLT_MUST_CHECK;

// The worker's thread: the worker ends. Threads that still have a record keep what they need.
void mlt_gate_drop(mlt_sched *sched);

// True if no other thread that entered lives.
bool mlt_gate_alone(mlt_gate *gate);

// Every call of the rank: enter first, leave last, as often.
void mlt_gate_enter(mlt_gate *gate);
void mlt_gate_leave(mlt_gate *gate);

// Inside: around a function of the user's, which may wait for a thread that wants in. step_out
// leaves the gate altogether; step_in comes back to the depth that it returned. Like a park, it
// lets the rank's other calls change what they may change.
uint32_t mlt_gate_step_out(mlt_gate *gate) MLT_MUST_CHECK;
void mlt_gate_step_in(mlt_gate *gate, uint32_t depth);

// Around what touches the worker outside of a call of MPI; nothing happens without a gate.
static inline mlt_gate *mlt_gate_in(const mlt_sched *sched)
{
    mlt_gate *gate = sched->gate;
    if (gate)
        mlt_gate_enter(gate);
    return gate;
}

static inline void mlt_gate_out(mlt_gate *gate)
{
    if (gate)
        mlt_gate_leave(gate);
}

// The scheduler's, inside: what park and wake do for a worker with a gate.
void mlt_gate_park(mlt_gate *gate, mlt_fiber *me);
void mlt_gate_wake(mlt_gate *gate, mlt_fiber *fiber);

// The same for fibers. idle: until one can run. suspend: the depth of the fiber that is about to
// suspend, to be given back by resume. exit: the fiber ends.
void mlt_gate_idle(mlt_gate *gate);
uint32_t mlt_gate_suspend(mlt_gate *gate) MLT_MUST_CHECK;
void mlt_gate_resume(mlt_gate *gate, uint32_t depth);
void mlt_gate_exit(mlt_gate *gate);

// True for the fiber of a thread, which no run queue knows.
static inline bool mlt_gate_is_thread(const mlt_sched *sched, const mlt_fiber *fiber)
{
    return sched->solo || (fiber->id == MLT_FIBER_HOME && fiber != &sched->home);
}

// Inside, on a thread of the library's own: parks, until mlt_fiber_wake of the thread's fiber.
void mlt_gate_wait(mlt_gate *gate, const mlt_wait *wait);

// Inside: another thread drives, and is blocked.
bool mlt_gate_driver_blocks(const mlt_gate *gate);

// The idle function's, inside. let_in: threads that wait for the gate come in first; costs a look
// if there are none. False: one of them has woken the driver, so idle must return. yield: the same,
// and gives the processor away meanwhile. block and unblock: before and after blocking on a word of
// the owner's, which conf.kick wakes. nap: blocks until woken, or for timeout_ns (or
// MLT_OS_FOREVER).
bool mlt_gate_let_in(mlt_gate *gate);
void mlt_gate_yield(mlt_gate *gate);
void mlt_gate_block(mlt_gate *gate);
void mlt_gate_unblock(mlt_gate *gate);
void mlt_gate_nap(mlt_gate *gate, int64_t timeout_ns);

// A thread of the process parks, or goes on. For workers that have no gate, and for threads that
// wait until workers end.
void mlt_threads_count_parked(bool parked);

// True if all threads of the process are parked: nobody can come in.
bool mlt_threads_all_parked(void);
