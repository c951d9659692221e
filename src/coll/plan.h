// SPDX-License-Identifier: BSD-3-Clause
// Plans: schedules of one team, made once for a shape and kept; and their instances, which are what
// runs, one for each call that is under way at the same time.
//
// A plan binds nothing: each start says where buffers `in` and `out` (or `buf`) are, and temporary
// ones are the instance's memory. When there are too many plans, or they hold too much memory,
// those that were not used for longest go.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "coll/callsig.h"
#include "coll/choose.h"
#include "goal/exec.h"
#include "goal/sched.h"

struct mlt_team;
struct mlt_coll_what;

typedef struct mlt_plan_key { // no padding: compared and hashed as bytes
    uint64_t count, starts;   // starts: a hash of them, or 0
    uint64_t custom;          // a hash of the key of a schedule of its own, or 0
    uint32_t root, element;   // root: between the workers
    uint8_t collective, op, type, flags;
    uint32_t unused;
} mlt_plan_key;

typedef struct mlt_instance mlt_instance;

typedef struct mlt_plan {
    mlt_list_node link; // in plans.all, the one used last first
    mlt_plan_key key;
    void *starts, *custom; // copies of what the hashes are of; NULL: none
    uint64_t custom_bytes;
    mlt_goal_sched *sched; // NULL: one worker, nothing to run
    mlt_coll_choice choice;
    mlt_coll_shape shape;
    char *stages;         // of a choice over hosts, for the ledger (alg/hosts/stage.h); NULL: none
    int32_t in, out;      // numbers of the schedule's buffers; -1: it has none
    uint64_t memory;      // bytes of an instance
    uint64_t *at;         // [sched->buffers] where temporary ones lie in it
    uint64_t acc, acc_at; // bytes for combining, see level.h, and where
    uint64_t scratch, scratch_at; // for functions
    // In place, by an algorithm that cannot: a copy of what lies in out, from this byte on.
    uint64_t shadow, shadow_at, shadow_of;
    // What the last call said beside the key, and its codes (callsig.h).
    struct {
        uint64_t said[3];
        uint16_t code, code_sent;
        bool some;
    } callsig;
    uint64_t said;            // bytes of the ranks' call: of a block, or of all that differ
    bool plain;               // of a call of the library's own
    bool flat;                // the answer was: not combined
    bool near;                // over hosts, but this worker's messages are with its own host only
    uint32_t *far, far_count; // workers of other hosts that it sends to
    bool stale;               // the rules have changed: goes when it is over
    uint32_t busy;            // instances that run
    uint64_t runs;            // since the ledger was told last
    mlt_instance *free;
} mlt_plan;

struct mlt_instance {
    mlt_plan *plan;
    struct mlt_team *team;
    mlt_instance *next;   // in plan->free
    mlt_list_node active; // in plans.active while it runs, or in plans.held
    mlt_run *run;         // NULL: nothing to run
    unsigned char *memory;
    const mlt_run_place *place;
    uint64_t number;
    mlt_req *done;
};

typedef struct mlt_plans {
    mlt_list_node all;
    mlt_plan *recent[MLT_COLLECTIVES]; // by collective, the one used last; NULL: none
    uint32_t count;
    uint64_t bytes;
    uint64_t generation;     // of the rules that the plans were made by
    mlt_list_node active[2]; // instances that run, ordinary and persistent, the oldest first
    mlt_list_node held;      // to be started when older ones are over
    mlt_work work;
    bool queued;
} mlt_plans;

void mlt_plans_init(mlt_plans *plans);
void mlt_plans_fini(mlt_plans *plans);           // idle ones
bool mlt_plans_are_idle(const mlt_plans *plans); // no instance runs

// The rules may have changed: plans that do not run go, the others when they are over.
void mlt_plans_forget(mlt_plans *plans);

// The plan of that call, made if there is none. NULL, and an error message: a user's algorithm
// failed, or the schedule is too large.
mlt_plan *mlt_plan_of(struct mlt_team *team, const struct mlt_coll_what *what, char *why,
                      size_t why_size);

// An instance that does not run; it counts as running from now on, until mlt_instance_give or the
// end of its run.
mlt_instance *mlt_instance_take(struct mlt_team *team, mlt_plan *plan);
void mlt_instance_give(mlt_instance *instance);

// Binds and starts it; `done` completes when it is over, and the instance is given back before.
void mlt_instance_start(mlt_instance *instance, const struct mlt_coll_what *what, const void *in,
                        void *out, uint64_t number, bool fixed, mlt_req *done);

// For hang reports: the world rank that call `number` waits for a message from; -1: none.
int32_t mlt_plans_awaits(const mlt_plans *plans, uint64_t number, bool fixed);

// Also for hang reports: 1 and the root of call `number`, if the schedule has begun, it has one,
// and it was among the last calls; else 0.
uint32_t mlt_team_root(const struct mlt_team *team, uint64_t number, bool fixed);

// A rank of a flat team makes no call with that number, since its own arguments are wrong: messages
// that others send for that call are not reported.
void mlt_team_refuse(struct mlt_team *team, uint64_t number);
