// SPDX-License-Identifier: BSD-3-Clause
// A worker's part of a window, and a rank's side of it.
//
//     side    a rank's: 32 bytes, private; in the memory of the layer above
//     descriptor    a rank's: 64 bytes, for all that reach its memory (descriptor.h)
//     part    a worker's: where the other workers' blocks are, which of its ranks take part
//     block   a worker's, in memory that processes of the host can map (boot/shmem.h): a line for
//             the domain, the descriptors of its ranks, and their memory if the window allocates it
//     card    where a worker's block is; the workers exchange cards when the window is made
//
// A block is mapped by another process when it first needs it. Nothing is stored for ranks of other
// domains: what is done to them is asked of their workers (packet.h), which check it. Another job is
// never on this domain, even on the same host. What travels are places and ranks in the window: each
// job numbers workers and ranks in its own way (wire/world.h).
//
// A part belongs to a worker and is used by its thread alone; descriptors are everybody's.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/status.h"
#include "p2p/p2p.h"
#include "p2p/worker.h"
#include "win/descriptor.h"

typedef enum mlt_win_flavor {
    MLT_WIN_CREATED,   // memory of the user's
    MLT_WIN_ALLOCATED, // memory in the blocks
    MLT_WIN_DYNAMIC,   // memory that is attached later; displacements are addresses
    MLT_WIN_CONTIGUOUS // memory in the block of the first worker, one rank's after the other's
} mlt_win_flavor;

typedef enum mlt_win_reach {
    MLT_WIN_NEAR, // in this process
    MLT_WIN_HOST, // in another process, whose block can be mapped
    MLT_WIN_FAR,  // by packets only
} mlt_win_reach;

typedef struct mlt_win_card {
    uint64_t address;       // of the block, in its process
    uint64_t offset, bytes; // in the memory file of that process
    uint64_t memory;        // where the ranks' memory begins in it
    int32_t fd;             // the process's descriptor of the file
    uint16_t shares;        // its job's processes map each other's blocks
    uint16_t device;        // its ranks gave memory of a device, or some of them did
} mlt_win_card;

typedef struct mlt_win_peer {
    mlt_win_descriptor *descriptors; // of rank `first` and those after it; NULL: not mapped
    intptr_t shift; // from seat.base to where that memory lies here, if it can be reached
    uint32_t worker;
    int32_t first; // the lowest of its ranks
    uint8_t reach; // mlt_win_reach
    bool direct;   // loads and stores reach its memory; known once it is mapped
    bool written;  // across.c has written to it
    uint16_t shy;  // help.c: calls for which it is not asked
    uint16_t late; // help.c: how shy it is when it does not come the next time
    mlt_win_card card;
} mlt_win_peer;

struct mlt_win_busy; // side.h

typedef struct mlt_win_side {
    struct mlt_win_part *part;
    int32_t me;                // rank in the window
    uint32_t local;            // rank of the worker
    uint32_t pending;          // operations that others have not confirmed
    uint32_t flags;            // the layer above's
    struct mlt_win_busy *busy; // what it has while it has something; NULL: nothing
} mlt_win_side;
_Static_assert(sizeof(mlt_win_side) == 32, "a million ranks have one each");

typedef struct mlt_win_part {
    mlt_worker *worker;
    uint32_t id; // unique in the job; packets name it
    uint32_t refs;
    int32_t ranks;
    uint32_t workers, place;
    uint32_t even;   // ranks of each worker if they follow each other and are as many; else 0
    bool contiguous; // the ranks of every worker follow each other
    bool shares;     // processes of a host map each other's blocks
    bool across;     // the system lets processes read and write each other's memory (across.c)
    uint8_t flavor;  // mlt_win_flavor
    bool plain;      // a rank's place follows from `even`, and a displacement from its descriptor
    bool single;     // and each worker has one rank
    uint32_t lead;   // place of the first worker of this domain
    uint32_t domains;
    uint32_t *leads;      // [domains] the same of all domains, ascending
    uint32_t span;        // descriptors of this worker
    char *block;          // NULL until all its ranks have come
    mlt_win_peer *peers;  // [workers], in the order of their first ranks
    mlt_win_side **sides; // [span], by rank - first
    int32_t (*world)(const void *group, int32_t rank);
    const void *group;
    uint32_t asks;             // help.c: number of the last request
    struct mlt_win_seen *seen; // range.c: a dynamic one's, of another process; NULL: none so far
    uint32_t *places;          // [slots] from worker to place, hashed; NULL: not needed
    uint32_t slots;
    mlt_list_node claims; // requests of locks by ranks that do not reach its memory (side.c)
    mlt_list_node joins;  // its ranks, while the window is made
    uint32_t came;
    void *owner; // the layer above's
} mlt_win_part;

// ---- making

// A rank that takes part, until all of its worker have come.
typedef struct mlt_win_join {
    mlt_list_node node;
    mlt_win_side *side;
    int32_t me;
    uint64_t base, size, unit; // base: of a CREATED one; CONTIGUOUS: where it begins in all memory
    bool device;               // base is memory of a device
} mlt_win_join;

// What the caller knows; arrays are copied. `first` and `worker` are [workers].
typedef struct mlt_win_facts {
    mlt_worker *worker;
    mlt_win_flavor flavor;
    int32_t ranks;
    uint32_t workers, place;
    uint32_t present; // ranks of this worker
    int32_t last;     // the highest of them
    bool contiguous;
    bool shares;
    uint32_t even;
    int32_t (*world)(const void *group, int32_t rank);
    const void *group; // stays
} mlt_win_facts;

// With one reference.
mlt_win_part *mlt_win_part_new(const mlt_win_facts *facts);
void mlt_win_part_peer(mlt_win_part *part, uint32_t place, uint32_t worker, int32_t first);

// Another rank of the worker takes part. When all have come, mlt_win_part_block makes the block and
// tells where it is: align, memory: of the ranks' memory, `memory` is what a CONTIGUOUS window needs
// in this worker's block. MLT_ERR_NO_MEMORY.
void mlt_win_part_join(mlt_win_part *part, mlt_win_join *join);
mlt_status mlt_win_part_block(mlt_win_part *part, uint64_t align, uint64_t memory,
                              mlt_win_card *card) MLT_MUST_CHECK;

// All workers' cards are known (mlt_win_part_card for each): the window can be used, under that id,
// as soon as this holds for all workers.
void mlt_win_part_card(mlt_win_part *part, uint32_t place, const mlt_win_card *card);
void mlt_win_part_open(mlt_win_part *part, uint32_t id);

// Drops a reference. The last: unmaps the others' blocks and frees its own.
void mlt_win_part_drop(mlt_win_part *part);

// The worker's part of that id; NULL: it has none.
mlt_win_part *mlt_win_part_find(const mlt_worker *worker, uint32_t id);
void mlt_win_worker_fini(mlt_worker *worker);

// ---- asking

uint32_t mlt_win_place_search(const mlt_win_part *part, int32_t rank) MLT_COLD;
static inline uint32_t mlt_win_place_of(const mlt_win_part *part, int32_t rank)
{
    if (part->even == 1)
        return (uint32_t)rank;
    if (part->workers == 1)
        return 0;
    if (part->even)
        return (uint32_t)rank / part->even;
    return mlt_win_place_search(part, rank);
}

// The same if the part is plain.
static inline uint32_t mlt_win_plain_place(const mlt_win_part *part, int32_t rank)
{
    if (MLT_LIKELY(part->even == 1))
        return (uint32_t)rank;
    return part->workers == 1 ? 0 : (uint32_t)rank / part->even;
}

void mlt_win_peer_map(mlt_win_part *part, mlt_win_peer *peer) MLT_COLD;
// Not FAR, or the caller does not look at its descriptors.
static inline mlt_win_peer *mlt_win_peer_of(mlt_win_part *part, int32_t rank)
{
    mlt_win_peer *peer = &part->peers[mlt_win_place_of(part, rank)];
    if (MLT_UNLIKELY(!peer->descriptors) && peer->reach == MLT_WIN_HOST)
        mlt_win_peer_map(part, peer);
    return peer;
}

// Of a rank of this domain.
static inline mlt_win_descriptor *mlt_win_descriptor_of(mlt_win_part *part, int32_t rank)
{
    mlt_win_peer *peer = mlt_win_peer_of(part, rank);
    return &peer->descriptors[rank - peer->first];
}

static inline mlt_win_descriptor *mlt_win_own_descriptor(const mlt_win_side *side)
{
    mlt_win_peer *own = &side->part->peers[side->part->place];
    return &own->descriptors[side->me - own->first];
}

// What the block of a worker of this domain begins with.
static inline mlt_win_block *mlt_win_block_of(mlt_win_part *part, mlt_win_peer *peer)
{
    if (MLT_UNLIKELY(!peer->descriptors))
        mlt_win_peer_map(part, peer);
    return (mlt_win_block *)peer->descriptors - 1;
}

// What the workers of a domain have in common: a job's host, or a process.
uint32_t mlt_win_domain_of(const mlt_win_part *part, uint32_t place);

// The lock of this domain.
static inline mlt_win_lock *mlt_win_domain(mlt_win_part *part)
{
    return &mlt_win_block_of(part, &part->peers[part->lead])->domain;
}

// A rank of this worker; NULL: it has no such rank.
static inline mlt_win_side *mlt_win_side_of(const mlt_win_part *part, int32_t rank)
{
    uint32_t i = (uint32_t)(rank - part->peers[part->place].first);
    return i < part->span ? part->sides[i] : NULL;
}

static inline mlt_rank *mlt_win_rank(const mlt_win_side *side)
{
    return &side->part->worker->ranks[side->local];
}

// Where the memory of rank begins here, even if only a device reaches it; NULL: it is not in reach, or
// has none.
static inline char *mlt_win_memory(mlt_win_part *part, int32_t rank)
{
    mlt_win_peer *peer = mlt_win_peer_of(part, rank);
    return peer->direct || peer->reach == MLT_WIN_NEAR
               ? (char *)(uintptr_t)(peer->descriptors[rank - peer->first].base +
                                     (uint64_t)peer->shift)
               : NULL;
}
