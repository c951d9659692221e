// SPDX-License-Identifier: BSD-3-Clause
// A scheduling policy of your own: which rank of a worker runs next, where several ranks share one
// (mpirun -nfg). It is a shared object with one table of five functions. Millet is not rebuilt.
//
//     static millet_runnable *last;                             // last in, first out
//     static void put(void *state, millet_runnable *it, int how) { it->next = last; last = it; }
//     static millet_runnable *take(void *state) { millet_runnable *it = last; last = it->next; return it; }
//     const millet_policy millet_policy_table = {.version = MILLET_POLICY_VERSION, .put = put, .take = take};
//
//     $ mpicc -shared -fPIC lifo.c -o lifo.so
//     $ mpirun -n 1 -nfg 4 --sched ./lifo.so ./program
//
// Each worker calls init once, and then all else with the state that init has returned. Workers that
// are threads of one process call at the same time: what they should not share belongs into the
// state. The functions run in the middle of a switch, on the stack of the rank that stops: they call
// neither MPI nor anything that waits, and use little stack.
#ifndef MILLET_SCHED_H
#define MILLET_SCHED_H

#ifdef __cplusplus
extern "C" {
#endif

#define MILLET_POLICY_VERSION 1

// A rank of the worker, or one of its processes (millet/csp.h), for as long as it lives.
typedef struct millet_runnable {
    struct millet_runnable *next; // the policy's own, for its queue
    unsigned long long number;    // the same, for whatever it likes
    int rank;                     // in the job's MPI_COMM_WORLD; -1: a process
    int priority;                 // by MPIX_Set_priority; 0 unless set
} millet_runnable;

enum {
    MILLET_PUT_NEW,     // it never ran
    MILLET_PUT_WOKEN,   // what it waited for is there
    MILLET_PUT_YIELDED, // it ran, and lets others run first
};

typedef struct millet_policy {
    unsigned version; // MILLET_POLICY_VERSION

    // The worker holds that many ranks; 1 may also be a rank with processes. Returns the state of
    // this worker's queue. NULL, the function: the state is NULL.
    void *(*init)(unsigned ranks);
    void (*fini)(void *state); // NULL: there is nothing to undo

    // `it` can run from now on, until take returns it.
    void (*put)(void *state, millet_runnable *it, int how);

    // Who runs next: one of those that were put and not taken, of which there is at least one. All
    // must get their turn, or the program may wait for ever.
    millet_runnable *(*take)(void *state);

    // `it`, which runs, is about to wait for a message; `awaited`, of the same worker, should send
    // or take it. NULL, of awaited: nobody in particular, or one elsewhere. NULL, the function: the
    // policy does not want to know.
    void (*park)(void *state, millet_runnable *it, millet_runnable *awaited);
} millet_policy;

// The name under which the shared object exports its table.
extern const millet_policy millet_policy_table;

#ifdef __cplusplus
}
#endif

#endif
