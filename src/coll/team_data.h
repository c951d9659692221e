// SPDX-License-Identifier: BSD-3-Clause
// A team as data, and what a call of it is about. Who calls whom:
//
//     walk.c                  a rank's way along a path to a call
//     team.c                  ranks join calls (team.h)
//     path.c  level.c         what is measured; what the ranks of a worker do in memory
//     plan.c                  schedules and their runs
//     ledger.c  callsig.c     what is reported, and what ranks say of their calls
//
// All of them work on these structs; none calls one above it.
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
    const mlt_goal_messages *parts;
    // A schedule of its own (REDUCE_TO, intercommunicators): instead of a chosen
    // algorithm, `emit` adds the program of the rank. Only for flat teams. `key` is what the
    // program depends on beside the fields above, compared byte by byte.
    void (*emit)(const struct mlt_coll_what *what, mlt_goal_program *program, uint32_t rank);
    const void *custom; // for emit
    const void *key;
    uint64_t key_bytes;
    bool tree; // REDUCE: by a binomial tree, whatever the rules say; `key` says so, too
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
    bool combines;                   // in any case (team.h)
    bool apart;                      // ... or in none
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

// The worker of a place.
static inline uint32_t mlt_team_worker_of(const mlt_team *team, uint32_t place)
{
    const mlt_run_place *p = &team->ordinary;
    return mlt_worker_of_rank(team->worker, team->at   ? team->at[place].speaker
                                            : p->world ? p->world(p->group, (int32_t)place)
                                                       : p->base + (int32_t)place * p->stride);
}
