// SPDX-License-Identifier: BSD-3-Clause
// A meeting: everybody of a set of ranks comes, with or without some bytes; when all have come,
// every worker has the bytes of all and finishes the matter once for all its ranks. This is the
// exchange that making a communicator needs. It costs a worker O(log workers) messages, whatever
// the number of its ranks, and nobody is blocked in it: a call may park until it is over or return
// a request.
//
//     rank          mlt_meet_come: adds its bytes; the worker's last one starts the exchange
//     worker        up a binomial tree of the workers, data of the subtree; down again, data of all
//     once a worker finish(meet): makes the results of all its ranks, which are then woken
//
// The steps of the exchange run as work for later (p2p.h), so progress drives them.
#ifndef MLT_MPI_COMM_MEET_H
#define MLT_MPI_COMM_MEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "coll/team.h"
#include "mpi/comm/map.h"
#include "p2p/p2p.h"
#include "p2p/worker.h"

// The workers that have ranks in a group or in two. The ranks of both groups form one order: the
// first group, then the second. Workers are in the order of their first ranks, through which they
// speak. Teams are made of it, too (coll/team.h).
typedef struct mlt_party {
    uint32_t refs;
    uint32_t workers;     // how many
    uint32_t place;       // of this worker among them
    int32_t ranks;        // of all
    bool contiguous;      // the ranks of every worker follow each other
    bool foreign;         // some ranks are of other jobs (wire/world.h)
    mlt_team_worker at[]; // [workers]
} mlt_party;

// The world rank of `peer`, as a message of that context and tag names it to the rank: a rank of the
// communicator, of both groups, or the place of a worker.
int32_t mlt_comm_message_world_rank(const mlt_rank *rank, uint32_t context, int32_t tag,
                                    int32_t peer);

// second may be NULL. O(ranks). The calling worker must have a rank in it.
mlt_party *mlt_party_new(const mlt_worker *worker, const mlt_map *first, const mlt_map *second);
mlt_party *mlt_party_hold(mlt_party *party);
void mlt_party_drop(mlt_party *party);

typedef struct mlt_meet mlt_meet;

// A rank that came; in the caller's memory until it is over.
typedef struct mlt_guest {
    struct mlt_guest *next; // in the order of coming
    mlt_rank *rank;
    int32_t order;    // in the party's order of ranks
    void *user;       // the caller's, for finish
    mlt_req *req;     // completed when it is over; NULL: mlt_meet_wait
    mlt_fiber *fiber; // that waits
    bool over;
    bool heap; // is freed when it is over
} mlt_guest;

// Where and what for: equal for all guests of a meeting.
typedef struct mlt_meet_place {
    mlt_list_node *list;     // this worker's open meetings of that place
    const mlt_map *group[2]; // who comes; [1] may be NULL
    mlt_party *party;        // of these groups, borrowed; NULL: whoever comes first finds it out
    uint32_t context;        // of the messages, which are between the speakers, by world rank
    int tag;
    uint64_t key;  // tells meetings of one list apart
    bool wants_id; // the first worker of the party takes a context number for all
    // Messages name their senders by their places in the party: nobody else sends in this context
    // and with this tag. Otherwise by their ranks in the job.
    bool by_place;
    void (*finish)(mlt_meet *meet);
} mlt_meet_place;

struct mlt_meet {
    mlt_meet_place place; // holds the party
    mlt_worker *worker;
    mlt_guest *guests, **end; // of this worker
    uint32_t came;
    // For finish: what all guests of all workers gave, as a sequence of mlt_meet_item.
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
    bool stepping;
    struct {
        uint64_t bytes, check;
        uint32_t context, unused;
    } head;
};

typedef struct mlt_meet_item {
    int32_t order;
    uint32_t unused;
    uint64_t bytes; // follow, filled up to a multiple of 8; an item of no bytes is left out
} mlt_meet_item;

// The item after `item`, the first one for NULL; NULL at the end.
const mlt_meet_item *mlt_meet_next(const mlt_meet *meet, const mlt_meet_item *item);

static inline const void *mlt_meet_item_data(const mlt_meet_item *item)
{
    return item + 1;
}

// True if a rank of this worker has come to that meeting and it is still open: what it found out
// about the groups holds for the caller's, too.
bool mlt_meet_is_open(const mlt_meet_place *place);

// Joins the meeting of that list and key, or opens it. Does not suspend. The guest's rank, order,
// user and req are filled in by the caller.
void mlt_meet_come(mlt_guest *guest, const mlt_meet_place *place, const void *mine, uint64_t bytes);

// Parks the calling rank until the meeting is over.
void mlt_meet_wait(mlt_guest *guest, uint32_t context);

#endif
