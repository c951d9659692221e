// SPDX-License-Identifier: BSD-3-Clause
// Runs of schedules (Listing 1 of the paper): independent actions start, what finishes is counted
// in its dependents, and those that have seen all their sources start.
//
// A run is an instance of an immutable schedule: counters, requests, where buffers are. Everything
// is allocated when it is made; starting and running it allocate nothing, so one run serves any
// number of starts, one after the other. Where it takes place (a communicator, its number there)
// and what completes is said at each start.
//
// What drives it. mlt_run_start starts the independent actions on the caller's stack, and whatever
// they make possible at once. Later, a message that is done counts its dependents up right there.
// If one of them may start, work for later is queued (p2p.h): the worker's progress step starts it,
// and runs its function, on any stack of the worker. The last action completes `done`, a
// MLT_REQ_OTHER request of the caller's, which is waited for as any other. Nothing here suspends.
//
// Local work may be done elsewhere, by threads of the owner's (`aside`): then the step only hands
// over work that takes long, and the owner says when it is done.
//
// Messages go in a context where tags below 0 are the runs' own: bit 31, 12 bits of the run's
// number, 19 bits of the message's slot (of its tag, if the schedule is MLT_GOAL_SCHED_PLAIN). All ranks
// count the runs of a place alike. A message is matched by source and tag, and between two ranks
// equal tags keep their order, so numbers may come again as long as no run is under way that has
// the same one.
//
// Where runs keep their numbers and start in any order (`wide` places), a start cannot wait until a
// number is free. There slots below 1022 have tags with 20 bits of the number, and the others with
// 11:
//
//     31 | 30         19 | 18           0
//      1 | number        | slot             otherwise
//      1 | 1  number          | slot (10)   wide, slots below MLT_RUN_WIDE_SLOTS
//      1 | 0  number     | slot             wide, the others
//
// A message of another size than its receive is an error of the run. The run goes on to its end, so
// that no peer waits for it in vain, and then reports the first error. A message with another code
// is an error, too: the code, which travels where other messages have their datatype, says which
// operation the sender runs.
//
// Under policy `random` the next action is any of those that may start, chosen by the policy's own
// generator: every topological order is possible, and a seed replays.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "goal/sched.h"
#include "p2p/p2p.h"

// What a function that is none of the predefined ones works on: result = result op second, or
// reversed, result = second op result. Each side has its own order for which it needs no copy, so
// the function is told, and finds scratch memory for the other one: what the owner gave the run.
typedef struct mlt_run_operands {
    void *result, *second;
    uint64_t bytes, second_bytes; // reversed: the same
    bool reversed;
    void *scratch;
} mlt_run_operands;

// `arg` is the owner's. It runs on any stack of the worker, with mlt_rank_self() being the run's
// rank, while the run is being stepped: it must not suspend, and not call the library. What it
// calls of the user's it pins (mlt_sched_pin). The operands are gone when it returns.
typedef void mlt_run_function(void *arg, const mlt_run_operands *operands);

// Where runs take place.
typedef struct mlt_run_place {
    mlt_rank *rank; // whose runs
    uint32_t context;
    int32_t self;         // own rank there
    int32_t base, stride; // peer p is world rank base + p * stride, unless
    int32_t (*world)(const void *group, int32_t peer); // says; NULL: it is so
    const void *group;
    bool wide; // see above
} mlt_run_place;

enum {
    MLT_RUN_NUMBERS = 1 << 12,     // runs of a place that can be under way at once
    MLT_RUN_SLOTS = (1 << 19) - 2, // slots are below; two values mean any tag and no tag
    MLT_RUN_WIDE_SLOTS = (1 << 10) - 2,
    MLT_RUN_WIDE_NUMBERS = 1 << 20, // of wide places
};

typedef struct mlt_run {
    const mlt_goal_sched *sched;

    // The owner's, to be set before a start: where buffers are [sched->buffers], what the user's
    // functions are and their arguments [sched->users]. NULL is an error of the caller unless it is
    // never used. Scratch memory is for those functions alone, so for as many bytes as they say;
    // the owner frees it.
    unsigned char **base;
    mlt_run_function **function;
    void **argument;
    void *scratch;
    // A message has the size but not the code (`received`, below) that was expected: false if that
    // is no fault. NULL: it always is.
    bool (*differs)(struct mlt_run *run, const mlt_req *req);
    void *user;                         // the owner's own
    void (*ended)(struct mlt_run *run); // called before `done` completes; NULL: nothing to do
    // Where it is set: called in a step for user's functions and for operations on many bytes,
    // which run when the owner calls mlt_run_work, on any thread, and end with mlt_run_worked.
    void (*aside)(struct mlt_run *run, uint32_t offset);
    bool apart;      // a start leaves everything to the worker's next progress step
    bool takes_time; // calc keeps its processor busy for as long as it says; else it is nothing
    // Offsets of actions in the order in which they finish, [sched->actions]; NULL: not kept.
    uint32_t *order;

    // Result, when done, also done->status: what was wrong first. MLT_ERR_TRUNCATED: the message
    // was longer than its receive; MLT_ERR_INVALID: shorter; MLT_ERR_DISAGREE: it has another code.
    mlt_status status;
    const mlt_act *fault; // the receive
    uint16_t fault_code;
    uint64_t fault_bytes; // of the message
    int32_t fault_from;   // its sender
    uint32_t finished;    // actions so far; of order[]

    // Most bytes of a result that a user's function has here, in order and reversed; 0: none does.
    uint64_t result_bytes[2];

    // Private.
    mlt_work work;
    const mlt_run_place *place;
    mlt_req *done;
    uint32_t tag, low_tag; // what tags of this start have in common; of slots below WIDE_SLOTS
    uint32_t left;
    bool running, stepping, queued, random, slides;
    pthread_mutex_t scratch_turn; // of functions aside that need the scratch memory
    mlt_req *starting;            // the request that is being started
    mlt_req *requests;            // [sched->requests]
    uint16_t *seen;               // [sched->indices]: sources of an action that have finished
    uint32_t *ready; // [mask + 1]: offsets of those that may start, from `first` to `last`
    uint32_t first, last, mask;
    unsigned char *nowhere_out, *nowhere_in; // bytes that do not matter
    // A window that slides: from the oldest unfinished action to the edge.
    const mlt_act *oldest, *edge, *end;
    uint8_t *over; // [sched->indices]: the action is in the window and has finished

    // The owner's again: bytes, with the codes that are sent and expected. Those of MLT_TYPE_BYTE
    // unless the owner changes them, which it may before each start.
    mlt_type sent, received;
    uint32_t told; // whoever hears MLT_EVENT_STARTED: the number that it gave the schedule
} mlt_run;

// most: bytes of an operand that a user's function can be given. On failure an error message: what
// such a schedule must not have. The schedule is borrowed.
mlt_status mlt_run_new(const mlt_goal_sched *sched, uint64_t most, mlt_run **out, char *why,
                       size_t why_size) MLT_MUST_CHECK;
void mlt_run_free(mlt_run *run); // NULL is fine; one that is not under way

// Starts it, as run `number` of that place; it must not be under way. `place` stays until `done` is
// done, which may be so on return.
void mlt_run_start(mlt_run *run, const mlt_run_place *place, uint32_t number, mlt_req *done);

// The world rank of a peer.
static inline int32_t mlt_run_world(const mlt_run_place *place, int32_t peer)
{
    return MLT_UNLIKELY(place->world != NULL) ? place->world(place->group, peer)
                                              : place->base + peer * place->stride;
}

// What the tags of a run's messages have in common; `low`: of those with slots below
// MLT_RUN_WIDE_SLOTS.
static inline uint32_t mlt_run_tags(uint32_t number, bool wide, uint32_t *low)
{
    const uint32_t own = UINT32_C(1) << 31, wide_numbers = 1 << 11; // of greater slots
    *low = wide ? own | UINT32_C(1) << 30 | number % MLT_RUN_WIDE_NUMBERS << 10
                : own | number % MLT_RUN_NUMBERS << 19;
    return wide ? own | number % wide_numbers << 19 : *low;
}

// The number, below MLT_RUN_NUMBERS, of the run that a message with that tag is of; not of a wide
// place.
static inline uint32_t mlt_run_number(int32_t tag)
{
    return (uint32_t)tag >> 19 & (MLT_RUN_NUMBERS - 1);
}

// The function of an action that was given to `aside`; needs nothing of the worker. Then, on the
// worker: it is done. The run goes on, and may be gone afterwards.
void mlt_run_work(mlt_run *run, uint32_t offset);
void mlt_run_worked(mlt_run *run, uint32_t offset);

// The number of an action: in the program if the schedule knows it, else its place in the code.
// Walks along the code.
uint32_t mlt_run_action(const mlt_run *run, const mlt_act *act);

// The messages that are under way: up to `most` of their requests in out; returns how many there
// are. req->extra is the mlt_act.
uint32_t mlt_run_frontier(const mlt_run *run, const mlt_req **out, uint32_t most);

static inline const mlt_act_message *mlt_act_message_of(const mlt_act *act)
{
    return (const mlt_act_message *)(act + 1);
}
