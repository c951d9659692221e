// SPDX-License-Identifier: BSD-3-Clause
// How partitions move.
//
// Matching. MPI_Psend_init sends an offer, an ordinary small message in a context of its own
// (MLT_CONTEXT_OFFERS and the communicator's number), and MPI_Precv_init posts a receive for it. So
// sends and receives meet in the order of these calls, apart from all other messages, and once for
// the life of the request.
//
// Rounds. Both sides count their starts. Partitions of round n move once the receiver has started
// its round n, so a sender never overtakes it. (One exception: "early" below.)
//
// Inside a process both requests share a mlt_pair. A partition is copied once, by whoever finds
// that it is ready and that the receive has started: the thread in MPI_Pready, or MPI_Start of the
// receive. Each side publishes its own half, then looks at the other's, so at least one of them
// sees both; `taken` decides if both do.
//
//     MPI_Pready            ready |= bit;  recv_round == sent_round? then take it
//     MPI_Start (receive)   recv_round++;  sent_round == recv_round? then take what is ready
//
// `moved` counts what a round needs: each partition once when it is copied and once when its
// MPI_Pready needs the pair no longer, and the receiver's start. It is never set back: rounds follow
// each other. Whoever adds a round's last completes its own request and tells the other worker
// (DONE). So nobody touches the pair of a round that is over. Where the receiver's MPI_Start is over
// (`begun_round`) and the sender has one thread, that one writes alone, without atomic instructions.
//
// Between processes each side has a mlt_pair of its own, and packets travel:
//
//     START(sender's id, round; receiver's id)   the receiver has started
//     PART(receiver's id, round, first, count; data)
//     PARTS(receiver's id, round, first, count; tag)   the data follow as a message of that tag, in
//                                                MLT_CONTEXT_PARTITIONS; between jobs in
//                                                MLT_CONTEXT_PARTS_ABROAD
//     GONE(receiver's id)                        the sender was freed and never started
//
// Neighbours that are ready travel together. Runs up to the eager limit are PARTs. Larger ones, and
// those that find the ring full, are messages, which have p2p's protocols for large data; while the
// ring is full, there is one such message, and what becomes ready meanwhile waits for its end.
// To another host, partitions that become ready within 10 us of the last push wait for each other,
// until all are ready, the time has passed, or the worker makes progress. To another process, small
// ones wait if the last round was quick: until all are ready, there are 2 KiB of them, or the worker
// makes progress.
//
// Early. If a whole round is below the eager limit, its partitions may travel as soon as the
// receiver has started the round before. The receiver keeps them until its own start. So a small
// round costs no round trip, and a receiver keeps one round at most.
//
// Threads. MPI_Pready and MPI_Parrived do not go through the rank's gate. Marks and counts are
// atomic; between processes, the first thread that finds nobody at it goes through the gate and
// sends what all have marked until then (`announced`).
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"
#include "base/table.h"
#include "mpi/p2p/partition.h"
#include "mpi/p2p/request.h"
#include "p2p/p2p.h"
#include "p2p/worker.h"
#include "wire/wire.h"

// mlt_pair.state. Only pairs inside a process go on from OFFERED.
enum { PAIR_OFFERED, PAIR_LINKED, PAIR_WITHDRAWN };

typedef struct mlt_pair {
    _Atomic uint32_t refs; // both requests, and an offer under way
    _Atomic uint32_t state;
    bool direct;         // both requests are of this process
    uint32_t parts;      // the sender's partitions
    uint64_t part_bytes; // of each
    // The sender's.
    const void *from;
    const mlt_type *from_type;
    uint32_t from_worker, from_id;
    // The receiver's.
    void *to;
    const mlt_type *to_type;
    uint64_t room;
    uint32_t to_worker, to_id;
    _Atomic uint64_t sent_round, recv_round; // starts so far
    _Atomic uint64_t begun_round;            // recv_round, once MPI_Start is over (direct only)
    _Atomic uint64_t moved;                  // in all rounds together, see pair_goal
    // A bit for each partition of the sender's: MPI_Pready was called; somebody moves it; it is in
    // the receiver's memory. Between processes a sender has the first two, a receiver the last two.
    _Atomic uint64_t *ready, *taken, *there;
    _Atomic uint64_t bits[];
} mlt_pair;

// What MPI_Psend_init tells.
typedef struct mlt_part_offered {
    uint64_t part_bytes;
    uint64_t pair; // its address, of use inside the process only
    uint32_t parts;
    uint32_t id;
    uint16_t type; // as mlt_req.sent_type
    uint8_t unused[6];
} mlt_part_offered;
_Static_assert(sizeof(mlt_part_offered) == 32, "it fits into a slot");

// mlt_req.extra of a partitioned request.
typedef struct mlt_partreq {
    mlt_req *req;
    mlt_worker *worker;
    _Atomic(mlt_pair *) pair; // a receive has none before it has matched
    uint32_t id;
    uint32_t parts; // its own partitions, and the bytes of each
    uint64_t part_bytes;
    uint64_t per_part;               // elements
    struct mlt_fortran_copy *copies; // see copies.h
    int32_t peer_world;
    uint32_t peer_worker;
    bool sends, nobody; // nobody: the peer is MPI_PROC_NULL
    bool pending;       // a receive was started before it has matched
    bool ended;         // the request is gone, but `setup` or `work` is not
    mlt_req setup;      // the offer's
    mlt_part_offered offer;

    // A send to another process.
    _Atomic uint64_t announced; // partitions that MPI_Pready has done with, and PART_BUSY
    uint32_t messages;          // under way
    uint64_t pushed, pushed_ns; // at the last push: how many were announced, and when it was
    uint64_t begun_ns;          // the round's first MPI_Pready
    bool quick;                 // the others of the last round followed at once
    mlt_work work;
    bool queued; // `work` is

    // A receive from another process.
    struct mlt_part_early *early; // NULL: none so far
    mlt_pair *stale;              // of an offer that was withdrawn; NULL: none
} mlt_partreq;

#define PART_BUSY (UINT64_C(1) << 63) // a thread is about to send what is ready

// Partitions of the next round that came before its start.
typedef struct mlt_part_early {
    uint64_t count; // of partitions; 0: none
    uint64_t *bits;
    unsigned char *data; // of the whole round, packed
} mlt_part_early;

// Partitions that travel as a message.
typedef struct mlt_part_run {
    mlt_req req;
    mlt_partreq *part;
    uint32_t first, count;
    uint64_t at, bytes;  // a receive's: of the packed data
    unsigned char *room; // a receive's: for data that begin or end inside of an element; else NULL
} mlt_part_run;

// A worker's.
typedef struct mlt_parts {
    mlt_table table; // mlt_partreq by id
    uint32_t last_id;
    uint32_t last_tag;
    mlt_pool runs; // mlt_part_run
} mlt_parts;

mlt_parts *mlt_parts_of(const mlt_worker *worker);           // made if it was not there
mlt_partreq *mlt_part_find(mlt_worker *worker, uint32_t id); // NULL: there is none

static inline uint32_t pair_words(uint32_t parts)
{
    return parts / 64 + (parts % 64 != 0);
}

// The bits of word `word` that stand for partitions from `low` to `high`, which touch it.
static inline uint64_t pair_mask(uint32_t word, uint32_t low, uint32_t high)
{
    uint64_t mask = UINT64_MAX;
    if (low > word * 64)
        mask &= UINT64_MAX << (low % 64);
    if (high / 64 == word)
        mask &= UINT64_MAX >> (63 - high % 64);
    return mask;
}

static inline bool pair_bit(const _Atomic uint64_t *bits, uint32_t i, memory_order order)
{
    return atomic_load_explicit(&bits[i / 64], order) >> i % 64 & 1;
}

static inline mlt_pair *part_pair(const mlt_partreq *part)
{
    return atomic_load_explicit(&part->pair, memory_order_acquire); // pairs with the match
}

static inline uint64_t pair_total(const mlt_pair *pair)
{
    return pair->parts * pair->part_bytes;
}

// How far `moved` has come when so many rounds are over: inside a process, and for either side
// between processes.
static inline uint64_t pair_goal(const mlt_pair *pair, uint64_t rounds)
{
    return rounds * (pair->direct ? 2 * (uint64_t)pair->parts + 1 : pair->parts);
}

// The other worker is of this process: its memory can be used directly.
static inline bool part_is_near(const mlt_worker *worker, uint32_t other)
{
    return other == worker->index ||
           mlt_wire_peer(worker->wire, other)->distance == MLT_SAME_PROCESS;
}

mlt_pair *mlt_pair_new(uint32_t parts, uint64_t part_bytes, bool direct, bool sends);
void mlt_pair_drop(mlt_pair *pair);
void mlt_pair_clear(const mlt_pair *pair, _Atomic uint64_t *bits);
// MPI_Pready was called for partitions from `low` to `high`.
static inline void mlt_pair_mark(const mlt_pair *pair, uint32_t low, uint32_t high)
{
    for (uint32_t w = low / 64; w <= high / 64; w++) // seq_cst: see above
        atomic_fetch_or(&pair->ready[w], pair_mask(w, low, high));
}
// Partitions from `low` to `high` are in the receiver's memory.
void mlt_pair_land(const mlt_pair *pair, uint32_t low, uint32_t high);

void mlt_part_receive_done(mlt_partreq *part);
void mlt_part_begin_receive(mlt_partreq *part); // it is started and has matched

// partition_near.c: inside a process

void mlt_part_near_ready(mlt_partreq *part, uint32_t low, uint32_t high); // any thread
void mlt_part_near_begin(mlt_partreq *part);
void mlt_part_near_done(mlt_worker *worker, const mlt_packet *packet); // DONE came

// partition_far.c: between processes

void mlt_part_far_ready(mlt_partreq *part, uint32_t low, uint32_t high); // any thread
void mlt_part_far_begin(mlt_partreq *part);

// partition_match.c

void mlt_part_offer(mlt_partreq *part);
void mlt_part_await(mlt_partreq *part);    // an offer
void mlt_part_withdraw(mlt_partreq *part); // either
// GONE came: the offer was withdrawn, so the receive waits for the next one.
void mlt_part_gone(mlt_worker *worker, uint32_t from, const mlt_packet *packet);

enum { // packets
    PART_START = MLT_PACKET_PARTITIONS,
    PART_DATA,
    PART_MESSAGE,
    PART_GONE,
    PART_DONE,
};

void mlt_part_free(mlt_partreq *part); // as soon as nothing under way needs it
