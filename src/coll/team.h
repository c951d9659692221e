// SPDX-License-Identifier: BSD-3-Clause
// A team: the ranks of a communicator as one worker sees them, and their collective calls.
//
// Every call is a GOAL schedule, and any call that makes progress drives it. So blocking,
// nonblocking and persistent calls are the same: a rank joins with its buffers and a request, which
// completes when the rank may go on.
//
// Levels. The schedule runs between workers. The ranks of a worker combine in memory before it and
// share what it brings (level.h): the first ones leave their buffers' addresses, the last one goes
// on, and all are completed together.
//
//     rank  rank  rank      join: addresses, a request
//       |     |     |
//        combine            by the last one to come, in the order of ranks
//           |
//        schedule           between the workers (plan.h); none if there is one worker
//           |
//        spread             into all ranks' buffers
//       |     |     |
//     done  done  done      in the order of ranks
//
// A flat team is one rank's view of the same communicator, in which every rank stands for a worker
// of one rank. It serves what cannot be combined: ranks of a worker that do not follow each other
// in an operation where order matters, reproducible reductions, messages along lists.
//
// Calls are numbered by each rank alike: the n-th call of one rank meets the n-th of all others.
// Persistent operations are numbered when they are made, and every start has that number; they have
// contexts of their own.
//
// A team belongs to a worker and is used by its thread alone. Nothing here suspends. After the
// first call of a shape nothing is allocated.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "boot/job.h"
#include "coll/alg/hosts/map.h"
#include "coll/alg/op.h"
#include "coll/choose.h"
#include "coll/plan.h"
#include "goal/exec.h"
#include "p2p/now.h"
#include "p2p/p2p.h"
#include "p2p/worker.h"

typedef struct mlt_team_worker {
    uint32_t first;   // the lowest of its ranks in the communicator
    uint32_t present; // how many
    int32_t speaker;  // world rank of `first`: messages are between speakers
} mlt_team_worker;

// What a call is about: equal on all ranks that join it. Sizes are in bytes as they lie in memory
// without gaps; the caller packs and unpacks.
typedef struct mlt_coll_what {
    uint8_t collective; // mlt_collective
    bool in_place;      // spec.h's meaning, as all ranks know it; see mlt_team_join
    bool plain;         // the library's own call: no rule of a user's, no path, never flat
    uint8_t form;       // mlt_coll_form
    // The basic type of all data, as ABI code; 0: several, or it does not matter (callsig.h). Lists
    // may have another one for what is sent.
    uint16_t kind, kind_sent;
    uint32_t root;          // in the communicator
    uint32_t element;       // bytes of an element; 1 if nothing is reduced
    uint64_t count;         // elements of a block
    const uint64_t *starts; // [ranks + 1], spec.h; elements. NULL: blocks are alike
    const mlt_coll_op *op;  // reductions
    // EXCHANGE: the rank's own lists, which the rules choose an algorithm for; only for flat teams.
    // `key` has them byte by byte.
    const mlt_goal_parts *parts;
    // A schedule of its own (REDUCE_TO, intercommunicators): instead of a chosen
    // algorithm, `emit` adds the program of the rank. Only for flat teams. `key` is what the
    // program depends on beside the fields above, compared byte by byte.
    void (*emit)(const struct mlt_coll_what *what, mlt_goal_program *program, uint32_t rank);
    const void *custom; // for emit
    const void *key;
    uint64_t key_bytes;
} mlt_coll_what;

// One rank's part. Small operands of a rank that waits for nothing else lie here, not where a
// pointer leads: of many ranks most stacks are cold, and only the rank's own steps find its one
// warm. Such a rank leaves what it has when it comes, and fetches the result when it runs again.
enum { MLT_TEAM_SMALL = 16, MLT_ARRIVAL_FIBER = 1, MLT_ARRIVAL_SMALL = 2 };

typedef struct mlt_arrival {
    union {
        struct {
            const unsigned char *in;
            unsigned char *out; // bcast: the buffer
        };
        unsigned char small[MLT_TEAM_SMALL]; // if it has MLT_ARRIVAL_SMALL
    };
    uintptr_t who; // a mlt_req; or a mlt_fiber, and MLT_ARRIVAL_FIBER, perhaps MLT_ARRIVAL_SMALL
} mlt_arrival;

typedef struct mlt_team_call mlt_team_call;

// A call that has begun: what it said (callsig.h), and whether an error was told of it.
typedef struct mlt_team_recent {
    uint32_t number;
    uint16_t code;
    bool some, told;
} mlt_team_recent;

enum { MLT_TEAM_RECENTS = 16 };

typedef struct mlt_team {
    mlt_worker *worker;
    uint32_t ranks;      // of the communicator
    uint32_t workers;    // that have some
    uint32_t place;      // of this worker among them: they are ordered by their lowest rank
    uint32_t present;    // ranks of this worker
    uint32_t first;      // the lowest of them
    bool flat;           // one rank's view
    bool contiguous;     // the ranks of every worker follow each other
    bool even;           // all workers have as many ranks
    bool simple;         // only what.emit and what.parts ask for the flat team
    bool crowded, reads; // in reach of the network false: hosts may differ
    bool reproducible;
    uint8_t reach;                   // mlt_coll_reach: between the workers
    const mlt_coll_hosts *hosts;     // of the workers, or of the flat team's ranks; NULL: one host
    mlt_coll_hosts *own_hosts;       // the same if the team made it
    uint64_t *told_far;              // which call signatures were told to other hosts; NULL: none
    const mlt_team_worker *at;       // [workers]; NULL: worker i is rank i
    mlt_run_place ordinary, fixed;   // of schedules; fixed: of persistent calls
    const mlt_coll_sources *sources; // of rules; never NULL
    char *name;                      // of the communicator, for rules; never NULL
    const char *member;              // what messages call a rank of it; static
    mlt_plans plans;
    // Calls under way of which ranks have joined, by number; present > 1 only.
    mlt_team_call **ring; // [mask + 1]
    uint64_t mask;
    mlt_list_node fixed_calls;   // persistent ones, by number
    struct mlt_call_pool *calls; // where they come from, for all teams of the worker of that size
    struct mlt_paths *paths;     // path.h; NULL: no call goes along one
    struct mlt_ledger *ledger;   // of the worker (ledger.h); never NULL
    struct mlt_team_failure *failures; // of calls by mlt_team_meet, until all have asked
    bool at_once;                      // of the caller's own call: it is over
    // The result of the last call with small operands. The next one cannot write it before all
    // ranks of the worker have come to it, and so have fetched this one.
    _Alignas(16) unsigned char result[MLT_TEAM_SMALL];
    bool watched; // messages that no call receives are looked for and reported
    mlt_team_recent recent[MLT_TEAM_RECENTS]; // the last calls, by number
    char why[512];                            // a message: why a call failed last; "": none did
} mlt_team;

// What the caller knows of a communicator. `at` is copied; NULL: every rank stands alone.
typedef struct mlt_team_facts {
    mlt_worker *worker;
    uint32_t ranks, workers, place;
    const mlt_team_worker *at;
    bool contiguous, flat, crowded, reproducible, reads;
    bool watched;
    const mlt_coll_hosts *hosts;     // borrowed; NULL: the team finds out
    mlt_run_place ordinary, fixed;   // self and byte are filled in, too
    const mlt_coll_sources *sources; // borrowed
    const char *name;                // copied
    const char *member;              // "rank" if NULL; static
    struct mlt_ledger *ledger;       // borrowed
} mlt_team_facts;

// mlt_coll_question.sharing of its calls.
static inline uint32_t mlt_team_sharing(const mlt_team *team)
{
    const mlt_job *job = team->worker->boot->job;
    return team->hosts ? 1 : mlt_coll_sharing(job->local_workers, job->cores);
}

// mlt_coll_question.cores of its calls.
static inline uint32_t mlt_team_cores(const mlt_team *team)
{
    return team->hosts ? 0 : team->worker->boot->job->cores;
}

mlt_team *mlt_team_new(const mlt_team_facts *facts);
void mlt_team_free(mlt_team *team); // an idle one; NULL is fine

// No call is under way.
bool mlt_team_is_idle(const mlt_team *team);

// The sources say something else from now on. All calls of which a rank has joined have begun.
void mlt_team_refresh(mlt_team *team);

// The communicator has another name: rules may say something else of it.
void mlt_team_rename(mlt_team *team, const char *name);

// True if the ranks of a worker cannot combine for that call: join the flat team. May make a plan;
// ask mlt_team_may_want_flat first, which is cheap.
bool mlt_team_wants_flat(mlt_team *team, const mlt_coll_what *what);
static inline bool mlt_team_may_want_flat(const mlt_team *team, const mlt_coll_what *what)
{
    return team->at && (!team->simple || what->emit || what->parts);
}

// The worker of a place.
uint32_t mlt_team_worker_of(const mlt_team *team, uint32_t place);

// Rank `local` (0..present-1, in the order of ranks) joins call `number`. `done` is a MLT_REQ_OTHER
// that is not done; what, what it points to and the buffers stay until it is. If ranks disagree
// about `what`, its status is MLT_ERR_INVALID or MLT_ERR_TRUNCATED where bytes differ, else
// MLT_ERR_DISAGREE; if there is no plan, MLT_ERR_UNSUPPORTED. team->why tells more.
// in: NULL in place, or where spec.h has none. reduce, gather and scatter in place: `in_place`
// may be known to the root alone; it says so by its own in (gather, reduce) or out (scatter) being
// NULL.
void mlt_team_join(mlt_team *team, uint64_t number, bool fixed, uint32_t local,
                   const mlt_coll_what *what, const void *in, void *out, mlt_req *done);

// The same for a rank that waits for nothing else meanwhile: without a request, whose memory would
// have to be looked at once more. The team must have workers of several ranks (team->at).
// MLT_PENDING: the fiber parks until it is woken, which nobody else does, and then asks
// mlt_team_met.
mlt_status mlt_team_meet(mlt_team *team, uint64_t number, uint32_t local, const mlt_coll_what *what,
                         const void *in, void *out, mlt_fiber *fiber) MLT_MUST_CHECK;

// How that call ended.
mlt_status mlt_team_met_badly(mlt_team *team, uint64_t number) MLT_COLD;
static inline mlt_status mlt_team_met(mlt_team *team, uint64_t number)
{
    return MLT_LIKELY(!team->failures) ? MLT_OK : mlt_team_met_badly(team, number);
}

// Small operands (mlt_arrival), where all ranks get one result, or only the root does. Elements of
// more than 8 bytes may have to lie at addresses that an arrival has not.
static inline bool mlt_team_is_small(const mlt_coll_what *what)
{
    return (what->collective == MLT_COLL_ALLREDUCE || what->collective == MLT_COLL_BCAST ||
            what->collective == MLT_COLL_REDUCE) &&
           what->count <= MLT_TEAM_SMALL && what->element <= 8 &&
           what->count * what->element <= MLT_TEAM_SMALL;
}

// mlt_team_meet for them. If the fiber parks, mlt_team_fetches tells before how many bytes it has
// to fetch when that went well: afterwards its stack is cold, and whatever else it looks at costs
// as much as the whole call.
mlt_status mlt_team_meet_small(mlt_team *team, uint64_t number, uint32_t local,
                               const mlt_coll_what *what, const void *in, void *out,
                               mlt_fiber *fiber) MLT_MUST_CHECK;
static inline uint32_t mlt_team_fetches(const mlt_team *team, uint32_t local,
                                        const mlt_coll_what *what)
{
    bool gets = what->collective != MLT_COLL_REDUCE || team->first + local == what->root;
    return gets ? (uint32_t)(what->count * what->element) : 0;
}

static inline void mlt_team_fetch(const mlt_team *team, void *out, uint32_t bytes)
{
    mlt_copy_small(out, team->result, bytes);
}

// For hang reports: how many ranks of the worker have not come to a call, and the world rank that
// it waits for a message from; -1: nobody. False: the call is not there.
bool mlt_team_look(const mlt_team *team, uint64_t number, bool fixed, uint32_t *missing,
                   int32_t *awaits);

// Also for hang reports: 1 and the root of call `number`, if the schedule has begun, it has one,
// and it was among the last calls; else 0.
uint32_t mlt_team_root(const mlt_team *team, uint64_t number, bool fixed);

// Tells the ledger what was chosen and measured since it was told last.
void mlt_team_tell(mlt_team *team);

// A rank of a flat team makes no call with that number, since its own arguments are wrong: messages
// that others send for that call are not reported.
void mlt_team_refuse(mlt_team *team, uint64_t number);

// A persistent operation is given up by the ranks of this worker.
void mlt_team_forget(mlt_team *team, uint64_t number);
