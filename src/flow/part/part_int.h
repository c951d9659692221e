// SPDX-License-Identifier: BSD-3-Clause
// Collective tasks, for the files of this folder:
//
//     part.c    which body a task has; Broadcast, Deal, Collect; handing out
//     reduce.c  a Reduce's contributors of this worker: the n-th elements become one
//     pair.c    ... of which two share one copy of long data
//     round.c   a Reduce with parts on several workers: the n-th run of its schedule
//     news.c    what those parts tell each other by packets
//     sent.c    what contributors have sent, for hang reports
//
// docs/internals/flow-collectives.md has the picture.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "coll/alg/op.h"
#include "coll/ledger.h"
#include "coll/plan.h"
#include "coll/team.h"
#include "flow/run.h"

// ---- part.c

// Hands an element to all receivers, and consumes it. Waits. False: none of them takes any more.
bool mlt_flow_spread(flow_instance *task, mlt_flow_element *e);

// ---- reduce.c

// How values of one type are combined.
typedef struct mlt_flow_how {
    struct mlt_flow_how *next;
    uint8_t kind; // flow_type
    uint32_t value_bytes;
    mlt_coll_op op; // of schedules
} mlt_flow_how;

// Two neighbouring contributors: the data of whichever sends second is combined into what the other
// sent. Rounds are counted for each of them; the second one's next `merged` rounds are in elements
// of the first one's queue already.
//
//     first    taken by the part: 5   in its queue: rounds 5, 6, 7
//     second   taken by the part: 5   merged: 2, so round 7 is its next
typedef struct mlt_flow_pair {
    struct mlt_flow_combiner *combiner;
    mlt_flow_inlet *in[2];
    uint64_t taken[2];
    uint32_t merged;
    mlt_flow_element *open; // of the first one: taken, and the part waits for the second
} mlt_flow_pair;

// The contributors of one part. Their n-th elements become one from left to right, or in canonical
// brackets (coll/alg/tree.h).
typedef struct mlt_flow_combiner {
    flow_instance *task;
    const flow_op *op;
    char name[64];                   // of the reduction
    bool brackets;                   // canonical ones
    uint64_t taken;                  // elements of each contributor, so far
    mlt_flow_pair *pairs;            // [ins / 2]; NULL: an operation of the program's own, or one
                                     // contributor
    const mlt_flow_inlet *handed_at; // where `handed` is from
    mlt_flow_element *handed; // to the part's process, which has not run since; NULL: nothing
    mlt_flow_how *hows;       // the one used last first
} mlt_flow_combiner;

void mlt_flow_combiner_init(mlt_flow_combiner *c, flow_instance *task);
void mlt_flow_combiner_fini(mlt_flow_combiner *c);

// The next elements of all contributors, combined; the caller drops the result. Waits. NULL: all
// have ended, after c->taken elements each.
mlt_flow_element *mlt_flow_combine_next(mlt_flow_combiner *c);

// How elements of that type are combined, those of contributors elsewhere, too. Ends the program
// with a message if the operation is not for them, which names the sender of `line`.
const mlt_flow_how *mlt_flow_how_of(mlt_flow_combiner *c, uint8_t kind, uint32_t value_bytes,
                                    uint32_t line);

// Who feeds a line, for messages: "p[1]", "p[1].outQueue1". Returns text.
const char *mlt_flow_feeder(const mlt_flow_program *program, uint32_t line, char *text,
                            size_t size);

// "4th". Returns text.
const char *mlt_flow_ordinal(uint64_t n, char *text, size_t size);

// Ends the program: one contributor has ended, another has not.
_Noreturn void mlt_flow_unequal(const mlt_flow_combiner *c, uint32_t ended, uint64_t after,
                                uint32_t sent);

// ---- round.c

enum {
    MLT_FLOW_ROUNDS = 32, // of a reduction that may be under way at once on one worker
    MLT_FLOW_AHEAD = 64,  // how many rounds contributors may be ahead of the slowest worker that
                          // receives; more than MLT_FLOW_ROUNDS
    MLT_FLOW_PASSED = 16, // after so many rounds a worker that receives says how far it is
};

// The n-th run of the schedule.
typedef struct mlt_flow_round {
    mlt_req done;
    struct mlt_flow_part *part;
    mlt_instance *instance;
    mlt_flow_element *in, *out; // NULL: this worker does not contribute, or receive
    uint64_t bytes;
    bool over;
    bool plain; // an operation of the program's own
} mlt_flow_round;

// What the first contributing worker announces to those that only receive.
typedef struct mlt_flow_coming {
    uint64_t bytes;
    uint32_t value_bytes;
    uint8_t kind;
} mlt_flow_coming;

// From this element on, the values of a contributing worker have that type, or its elements have no
// values. A schedule sends nothing for an element without values, so it cannot find out that others
// have some.
typedef struct mlt_flow_change {
    uint64_t from;
    uint32_t value_bytes;
    uint32_t member; // whose
    uint8_t kind;
    bool empty;
} mlt_flow_change;

// One worker's part of a Reduce whose schedule runs between workers.
typedef struct mlt_flow_part {
    mlt_flow_program *program;
    const mlt_flow_reduction *reduction;
    uint32_t number;                  // of the reduction
    uint32_t self;                    // member
    uint32_t leader;                  // the first member that contributes
    uint32_t contributors, receivers; // members
    bool contributes, receives;       // this one
    bool lingers;                     // counted in worker->together
    mlt_flow_combiner combiner;
    mlt_team *team;
    int32_t *speakers; // [members]: world ranks
    char *results;     // name of the process that hands out

    mlt_flow_round *rounds;         // [MLT_FLOW_ROUNDS], round n at n % MLT_FLOW_ROUNDS
    uint64_t started, retired;      // rounds so far; those between are under way
    uint64_t bytes;                 // of the elements of rounds under way
    mlt_fiber *starter, *deliverer; // parked here; NULL: they are not
    mlt_wait result_wait;           // of the deliverer

    // Told by other parts.
    mlt_flow_coming *coming; // [coming_room], round n at n % coming_room; receives only
    uint64_t announced, coming_room;
    uint64_t ends_at;  // the least number of elements after which a worker's contributors ended
    uint32_t ends_who; // member
    uint32_t ended;    // contributing members whose contributors have
    uint64_t stops_at; // nobody receives any more: rounds from this one on do not take place
    uint64_t go;       // so many rounds are over on all workers that receive, at least
    mlt_flow_change *own, *theirs; // of types; theirs: not compared yet
    uint32_t own_count, own_room, their_count, their_room;
    // The leader's.
    uint64_t *passed; // [members] that receive: rounds that are over there
    uint64_t go_told;
    uint32_t closed;      // receiving members all of whose receivers have ended
    uint32_t deaf;        // contributing members that have not heard of the stop
    uint64_t passed_told; // to the leader
    bool is_closed;
} mlt_flow_part;

// What a worker keeps.
struct mlt_flow_parts {
    mlt_flow_part **of; // [reduction_count]; NULL: no schedule, or not here
    uint32_t count;
    mlt_ledger ledger;
};

mlt_flow_part *mlt_flow_part_new(mlt_flow_program *program, uint32_t reduction, uint32_t self);
void mlt_flow_part_free(mlt_flow_part *part);

// The line of a contributing member's first contributor, for messages.
static inline uint32_t mlt_flow_part_line(const mlt_flow_part *part, uint32_t member)
{
    const mlt_flow_lowered *l = part->program->lowered;
    return l->in.list[l->in.first[part->reduction->task[member]]];
}

// The body of its process.
int mlt_flow_part_reduce(mlt_flow_part *part);

// Something has changed: its processes look again.
void mlt_flow_part_wake(mlt_flow_part *part);

// ---- news.c

// Round part->started starts with that element: tells those that must know.
void mlt_flow_tell_round(mlt_flow_part *part, const mlt_flow_element *e);
// All contributors of this worker have ended, after part->started elements.
void mlt_flow_tell_end(mlt_flow_part *part);
// A round has retired.
void mlt_flow_tell_retired(mlt_flow_part *part);
// All receivers of this worker have ended.
void mlt_flow_tell_closed(mlt_flow_part *part);
// Round part->started - 1 has started: compares what others said of it.
void mlt_flow_compare(mlt_flow_part *part);
