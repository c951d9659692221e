// SPDX-License-Identifier: BSD-3-Clause
// An agreement: everybody of a set of ranks comes, with or without some bytes; when all have come,
// every worker has the bytes of all and finishes the matter once for all its ranks. This is the
// exchange that making a communicator needs. It costs a worker O(log workers) messages, whatever
// the number of its ranks, and nobody is blocked in it: a call may park until it is over or return
// a request.
//
//     rank          mlt_agreement_come: adds its bytes; the worker's last one starts the exchange
//     worker        up a binomial tree of the workers, data of the subtree; down again, data of all
//     once a worker finish(agreement): makes the results of all its ranks, which are then woken
//
// The steps of the exchange run as work for later (p2p.h), so progress drives them.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "coll/team.h"
#include "mpi/comm/map.h"
#include "p2p/p2p.h"
#include "p2p/worker.h"

// The workers that have ranks in a group or in two. The ranks of both groups form one order: the
// first group, then the second. Workers are in the order of their first ranks, through which they
// speak. Teams are made of it, too (coll/team.h).
typedef struct mlt_members {
    uint32_t refs;
    uint32_t workers;     // how many
    uint32_t place;       // of this worker among them
    int32_t ranks;        // of all
    bool contiguous;      // the ranks of every worker follow each other
    bool foreign;         // some ranks are of other jobs (wire/world.h)
    mlt_team_worker at[]; // [workers]
} mlt_members;

// The world rank of `peer`, as a message of that context and tag names it to the rank: a rank of the
// communicator, of both groups, or the place of a worker.
int32_t mlt_comm_message_world_rank(const mlt_rank *rank, uint32_t context, int32_t tag,
                                    int32_t peer);

// second may be NULL. O(ranks). The calling worker must have a rank in it.
mlt_members *mlt_members_new(const mlt_worker *worker, const mlt_map *first, const mlt_map *second);
mlt_members *mlt_members_hold(mlt_members *members);
void mlt_members_drop(mlt_members *members);

typedef struct mlt_agreement mlt_agreement;

// A rank that came; in the caller's memory until it is over.
typedef struct mlt_participant {
    struct mlt_participant *next; // in the order of coming
    mlt_rank *rank;
    int32_t order;    // in the members' order of ranks
    void *user;       // the caller's, for finish
    mlt_req *req;     // completed when it is over; NULL: mlt_agreement_wait
    mlt_fiber *fiber; // that waits
    bool over;
    bool heap; // is freed when it is over
} mlt_participant;

// Where and what for: equal for all participants of an agreement.
typedef struct mlt_agreement_place {
    mlt_list_node *list;     // this worker's open agreements of that place
    const mlt_map *group[2]; // who comes; [1] may be NULL
    mlt_members *members;    // of these groups, borrowed; NULL: whoever comes first finds it out
    uint32_t context;        // of the messages, which are between the speakers, by world rank
    int tag;
    uint64_t key;  // tells agreements of one list apart
    bool wants_id; // the first worker of the members takes a context number for all
    // Messages name their senders by their places among the members: nobody else sends in this context
    // and with this tag. Otherwise by their ranks in the job.
    bool by_place;
    void (*finish)(mlt_agreement *agreement);
} mlt_agreement_place;

struct mlt_agreement {
    mlt_agreement_place place; // holds the members
    mlt_worker *worker;
    mlt_participant *participants, **end; // of this worker
    uint32_t came;
    // For finish: what all participants of all workers gave, as a sequence of mlt_agreement_item.
    unsigned char *data;
    uint64_t bytes;
    uint32_t context; // the number that was taken; 0: none wanted, or all are in use
    // The exchange; private.
    mlt_list_node link;
    mlt_work work;
    mlt_req req;
    uint64_t room;
    uint32_t child;
    uint8_t stage;
    bool with_data;
    bool stepping;
    struct {
        uint64_t bytes, check;
        uint32_t context, unused;
    } head;
};

typedef struct mlt_agreement_item {
    int32_t order;
    uint32_t unused;
    uint64_t bytes; // follow, filled up to a multiple of 8; an item of no bytes is left out
} mlt_agreement_item;

// The item after `item`, the first one for NULL; NULL at the end.
const mlt_agreement_item *mlt_agreement_next(const mlt_agreement *agreement,
                                             const mlt_agreement_item *item);

static inline const void *mlt_agreement_item_data(const mlt_agreement_item *item)
{
    return item + 1;
}

// True if a rank of this worker has come to that agreement and it is still open: what it found out
// about the groups holds for the caller's, too.
bool mlt_agreement_is_open(const mlt_agreement_place *place);

// Joins the agreement of that list and key, or opens it. Does not suspend. The participant's rank, order,
// user and req are filled in by the caller.
void mlt_agreement_come(mlt_participant *participant, const mlt_agreement_place *place,
                        const void *mine, uint64_t bytes);

// Parks the calling rank until the agreement is over.
void mlt_agreement_wait(mlt_participant *participant, uint32_t context);
