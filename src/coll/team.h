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

#include "coll/team_data.h"

// What the caller knows of a communicator. `at` is copied; NULL: every rank stands alone.
typedef struct mlt_team_facts {
    mlt_worker *worker;
    uint32_t ranks, workers, place;
    const mlt_team_worker *at;
    bool contiguous, flat, crowded, reproducible, reads;
    bool combines; // nobody goes flat: what joins are no ranks (groups of processes)
    bool apart;    // the ranks of a worker send each other messages: the library's own calls do not
    bool watched;
    const mlt_coll_hosts *hosts;     // borrowed; NULL: the team finds out
    mlt_run_place ordinary, fixed;   // self and byte are filled in, too
    const mlt_coll_sources *sources; // borrowed
    const char *name;                // copied
    const char *member;              // "rank" if NULL; static
    struct mlt_ledger *ledger;       // borrowed
} mlt_team_facts;

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

// Tells the ledger what was chosen and measured since it was told last.
void mlt_team_tell(mlt_team *team);

// A persistent operation is given up by the ranks of this worker.
void mlt_team_forget(mlt_team *team, uint64_t number);
