// SPDX-License-Identifier: BSD-3-Clause
// Calls of other threads in a worker that holds several fibers (MPI_THREAD_MULTIPLE where ranks
// share a worker).
//
// The state of a worker belongs to its own thread, and no lock guards it. So another thread does not
// come in: it delegates its call. The call's stack moves to the worker, which runs it as one more
// fiber, parks it and wakes it as any other. The thread waits meanwhile on a small stack of its own,
// and takes its stack back when the call is over.
//
//     thread    begin: its frame is saved     waits, on its waiting stack     goes on
//                                       \                                    /
//     worker                             takes it: runs, parks, runs ... end: leaves it
//
// Fibers of the worker's own thread pay nothing for it: they take no lock.
//
// Between begin and end, code runs on the worker's thread, with that thread's variables. A function
// that calls one of them must not keep the address of a thread-local variable across the call, as
// compilers do: they think that a function stays on its thread.
//
// The worker's own thread may be anywhere when a call is delegated: a rank's code may sit in
// pthread_join or in a barrier of OpenMP, and wait for the very thread that waits here. A thread that
// has waited for long interrupts it by a signal. Where that is safe (preempt.c) the rank's
// fiber is parked in the middle of the program's code:
//
//     in a futex that it waits for   parked until the word changes, and resumed some times a second
//     in code of the program, or     lets every other fiber that can run do so once
//     of a library that spins
//
// In all other places (in libc, which may hold locks; in Millet) the signal does nothing; the thread
// sends another one soon.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "fiber/fiber.h"

// What the owner of the worker gives.
typedef struct mlt_delegates_conf {
    // Where a user object notes the call that it is in: its own fiber and each delegated call find
    // theirs there when they go on.
    uint16_t *(*call)(void *user);
    void (*kick)(void *arg); // by any thread: ends the idle function's sleep
    void *arg;
} mlt_delegates_conf;

// A thread that has delegated a call. Its fiber is RUNNING while the thread has its stack itself.
typedef struct mlt_delegate {
    mlt_fiber fiber;
    struct mlt_delegates *to; // a counted reference
    mlt_list_node all;        // in to->threads
    struct mlt_delegate *next;
    mlt_fiber waiting; // what the thread itself does meanwhile, on its waiting stack
    const void *stack; // the thread's own, for sanitizers
    size_t stack_size;
    _Atomic uint32_t back; // see delegate.c
    uint16_t call, others; // while it does not run: its call; while it does: the other's
    uint32_t number;       // 2 and more, in the order of their first calls; 1 is the rank's own
} mlt_delegate;

// A fiber that is parked until a word of the program's changes.
typedef struct mlt_futex_wait {
    mlt_list_node node;
    mlt_fiber *fiber;
    const _Atomic uint32_t *word;
    uint32_t value;
    uint64_t until_ns; // it is resumed then, in any case
} mlt_futex_wait;

// Of one worker.
typedef struct mlt_delegates {
    _Atomic(mlt_delegate *) inbox; // calls that the worker has not seen, the last first
    _Atomic uint32_t naps;         // the worker sleeps in mlt_delegates_nap
    _Atomic uint32_t looks;        // how often the worker has looked
    _Atomic bool idle;             // the worker sleeps where calls wake it
    _Atomic uint64_t
        signalled_ns; // when a signal was sent to it whose handler has not looked; 0: none
    mlt_sched *sched;
    mlt_delegates_conf conf;
    mlt_list_node words; // mlt_futex_wait
    mlt_fiber returner;  // tells threads that their stacks are theirs again
    char *returner_stack;
    mlt_delegate *leaving;          // ... that of this one
    struct mlt_outside_note *notes; // of functions that fibers are in; [notes_room]
    uint32_t notes_count, notes_room;
    uint64_t open_ns; // until then some thread of the process may call, as was seen last
    pthread_mutex_t lock;
    mlt_list_node threads;    // under the lock
    _Atomic uint32_t holders; // threads, and the worker
} mlt_delegates;

// Whether threads can: not in a build with TSan, which hides the rank that starts a thread, nor where
// nobody can be interrupted (preempt.h).
bool mlt_delegates_can(void);

// Lets other threads call in a worker that is not solo, if they can; sched->delegates from then on.
// Called on the worker's thread. False: memory is exhausted.
bool mlt_delegates_open(mlt_sched *sched, const mlt_delegates_conf *conf) MLT_MUST_CHECK;

// The worker's thread: the worker ends. Threads that have delegated keep what they need.
void mlt_delegates_drop(mlt_sched *sched);

// True if no thread that has delegated a call lives.
bool mlt_delegates_alone(mlt_delegates *to);

// On another thread: returns on the worker's. end: the reverse. Once, not nested.
void mlt_delegate_begin(mlt_delegates *to, void *user);
void mlt_delegate_end(mlt_delegates *to);

// On the worker's thread: the running fiber is a delegated call.
static inline bool mlt_delegate_runs(const mlt_sched *sched)
{
    return sched->delegated;
}

// The scheduler's: the running one is about to suspend, and it runs again.
void mlt_delegate_stops(mlt_delegates *to);
void mlt_delegate_goes_on(mlt_delegates *to);

// The running fiber, which is no delegated call, calls a function of the program's from the middle of a
// call, in which it may be parked; sp: the stack pointer of the code that calls it. It is back.
void mlt_delegates_note_outside(mlt_delegates *to, const void *sp);
void mlt_delegates_note_inside(mlt_delegates *to);

// In a signal handler: the last such one of the running fiber; NULL: none.
const void *mlt_delegates_outside(const mlt_delegates *to);

// For sanitizers: the bounds of a fiber's stack that is not the scheduler's.
void mlt_delegate_stack(const mlt_delegates *to, const mlt_fiber *fiber, const void **stack,
                        size_t *size);

// For the idle function, on the worker's thread. look: takes what has come; true if a fiber can run
// now. ready: something has come. wait: another thread may still call, or a fiber is parked in a futex,
// so nobody waits in vain; and for how long the worker may sleep then. nap: sleeps, in a job of one
// worker.
bool mlt_delegates_look(mlt_delegates *to);
bool mlt_delegates_ready(mlt_delegates *to);
bool mlt_delegates_wait(mlt_delegates *to);
bool mlt_delegates_watch_words(const mlt_delegates *to);  // a fiber is parked in a futex
void mlt_delegates_sleep(mlt_delegates *to, bool sleeps); // around every sleep: it counts as parked
int64_t mlt_delegates_patience(const mlt_delegates *to);
void mlt_delegates_nap(mlt_delegates *to, int64_t timeout_ns);

// Calls that wait, for reports: `see` for each of that user object's, on the worker's thread.
void mlt_delegates_each(mlt_delegates *to, const void *user,
                        void (*see)(void *arg, const mlt_delegate *thread), void *arg);
