// SPDX-License-Identifier: BSD-3-Clause
// How workers reach each other. Between the workers of a host: a ring each way for every pair,
// whether the peer is a thread of this process or another process; a pool of chunks for large
// messages; and how to sleep without missing news. To workers of other hosts: a transport
// (transport.h), which has the same calls; those of the ring are inline.
//
// A receiver looks only at rings with news. It attends to a few (the hot ones) by reading their
// next slot; for any other, the sender sees that the ring is unattended, sets the ring's bit in the
// receiver's news bitmap and wakes it if it sleeps. A worker that goes to sleep stops attending to
// all.
//
// Chunks belong to the sender: it takes one, fills it, names it in a message; the receiver copies
// it out and releases it.
//
// Workers are numbered as in the whole job, unless a number is called local.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/status.h"
#include "base/table.h"
#include "boot/job.h"
#include "wire/ring.h"
#include "wire/token.h"
#include "wire/transport.h"
#include "wire/world.h"

typedef enum mlt_distance {
    MLT_SAME_WORKER,  // a call
    MLT_SAME_PROCESS, // a ring, and the peer's memory can be read directly
    MLT_SAME_HOST,    // a ring in shared memory
    MLT_OTHER_HOST,   // a connection
    MLT_DISTANCES,
} mlt_distance;

// Rings attended to at most. Leaving one is cheap with fences, but a system call with membarrier, so
// there the limit is one that hardly any program reaches.
enum { MLT_WIRE_HOT = 64, MLT_WIRE_HOT_CROWDED = 8 };

// Its first line is all that a send looks at, its second one all that a look at its ring does.
struct mlt_peer {
    _Alignas(64) mlt_ring_tx tx; // of this host only, as rx
    uint8_t distance;            // mlt_distance
    bool hot;
    bool waits;     // in the owner's list of peers with a queue
    uint8_t shares; // those of the ring's shares that are in use, a bit each
    uint16_t share; // the owner's: number of the last message from this peer that both copy
    _Alignas(64) mlt_ring_rx rx;
    uint32_t worker, local; // its index in the job, and among the workers of its host
    // Bytes of ours that it holds for want of a receive, as far as it has told.
    _Atomic uint64_t *backlog;
    // Of a peer of another host, the transport's:
    struct mlt_tcp_peer *far;
    // Of another job (world.h): where its ranks' numbers begin here. It is OTHER_HOST, wherever it is.
    bool foreign;
    int32_t first_rank;
    _Atomic uint32_t *starved; // raised by the owner while it waits for room there
    mlt_list_node queue;       // the owner's: what could not be sent yet
    mlt_list_node waiting;     // the owner's: place in that list
    uint64_t held;             // the owner's: bytes from this peer that wait for a receive
    uint64_t held_told;        // as last published in the ring's backlog
    void *landing; // the owner's: the receive of a long message whose data come, if it is known
    void *landing_held; // the owner's: what holds these data, if not the receive's memory
};

struct mlt_wire {
    mlt_job *job;
    mlt_job_worker *own;
    uint32_t self, local; // index in the job, and among the workers of this host
    bool membarrier;      // as the job's
    mlt_peer *peers;      // [job->local_workers]; the entry of this worker is unused
    // In a job over several hosts: the peer of each worker of the job; those of other hosts are
    // made when they are first asked for. NULL on one host, until another job is met.
    mlt_peer **all;
    mlt_worlds *worlds; // other jobs; NULL: none was met by this worker
    mlt_table abroad;   // the peers of other jobs, by their workers
    int ctl;
    const mlt_transport *over; // to other hosts and jobs; NULL on one host
    uint64_t sent, received;   // messages
    uint32_t hot_most, hot_count, hot_next;
    uint32_t nap; // own->asleep as the last doze left it
    mlt_peer *hot[MLT_WIRE_HOT];
    void *far;              // the transport's state of this worker
    mlt_tokens names;       // by which other hosts refer to this worker's requests
    uint32_t met, met_last; // workers of other hosts that it has had to do with; the last of them
    uint32_t chunk_next;    // where to look for a free chunk
    uint32_t chunks, chunk_bytes;
    uint16_t *chunk_to; // [chunks]: the local number of the worker that each was sent to last
};

// For worker `self` of the job, whose process has that control channel. Owned by the caller; NULL
// if memory is exhausted.
mlt_wire *mlt_wire_new(mlt_job *job, uint32_t self, int ctl);
void mlt_wire_free(mlt_wire *wire);

// Tells the job that this worker has ended; free does it too. Waits until the system has what was
// sent to other hosts.
void mlt_wire_end(mlt_wire *wire);

// From now on the worker can have peers of other jobs. False: no memory.
bool mlt_wire_go_abroad(mlt_wire *wire) MLT_MUST_CHECK;

// A peer of another host, or of another job, which may be met for the first time.
mlt_peer *mlt_wire_meet(mlt_wire *wire, uint32_t worker);

// Whether some job that this one is connected with may still send to this worker.
bool mlt_wire_hears_abroad(mlt_wire *wire);

// Frees a peer of another job, which is idle. If its worker is met again there is a new one.
void mlt_wire_forget(mlt_wire *wire, mlt_peer *peer);

// The peer that is worker `worker` of the job, or of another one (world.h).
static inline mlt_peer *mlt_wire_peer(mlt_wire *wire, uint32_t worker)
{
    if (MLT_LIKELY(!wire->all))
        return &wire->peers[worker];
    mlt_peer *peer = MLT_LIKELY(worker < wire->job->workers) ? wire->all[worker] : NULL;
    return MLT_LIKELY(peer != NULL) ? peer : mlt_wire_meet(wire, worker);
}

// Nothing waits to be sent to it, and nothing of it waits for a receive.
static inline bool mlt_peer_is_idle(const mlt_peer *peer)
{
    return mlt_list_empty(&peer->queue) && !peer->waits && !peer->held && !peer->landing &&
           !peer->landing_held;
}

static inline bool mlt_peer_is_far(const mlt_peer *peer)
{
    return MLT_UNLIKELY(peer->distance == MLT_OTHER_HOST);
}

// Room for a message with so many bytes of payload in its slot, and data of that length (where:
// *data), or NULL: there is none now. Between hosts a slot's payload and the data travel at these
// lengths; data: at most MLT_WIRE_FRAME_MOST bytes.
static inline mlt_slot *mlt_wire_reserve(mlt_wire *wire, mlt_peer *peer, uint32_t in_slot,
                                         uint64_t bytes, unsigned char **data)
{
    if (mlt_peer_is_far(peer))
        return wire->over->reserve(wire, peer, in_slot, bytes, data);
    return mlt_ring_reserve(&peer->tx, mlt_ring_units(bytes), data);
}

// Tells a peer that does not attend to our ring.
void mlt_wire_notify(mlt_wire *wire, mlt_peer *peer) MLT_COLD;

// The same as below to a peer that is known to be of this host, after mlt_ring_reserve.
static inline void mlt_wire_post_near(mlt_wire *wire, mlt_peer *peer, mlt_slot *slot)
{
    mlt_ring_publish(&peer->tx, slot);
    wire->sent++;
    if (MLT_UNLIKELY(mlt_ring_is_cold(&peer->tx, wire->membarrier)))
        mlt_wire_notify(wire, peer);
}

// After mlt_wire_reserve and filling in: publish, count, tell. To another host it leaves with the
// next mlt_transport.push.
static inline void mlt_wire_post(mlt_wire *wire, mlt_peer *peer, mlt_slot *slot)
{
    if (!mlt_peer_is_far(peer)) {
        mlt_wire_post_near(wire, peer, slot);
        return;
    }
    wire->sent += !peer->foreign;
    wire->over->post(wire, peer, slot);
}

// True if some unattended ring has news; mlt_wire_gather then makes those rings hot.
static inline bool mlt_wire_has_news(const mlt_wire *wire)
{
    return atomic_load_explicit(&wire->own->news, memory_order_relaxed) != 0;
}
void mlt_wire_gather(mlt_wire *wire);

// Done with the message at hand from that peer.
static inline void mlt_wire_consume(mlt_wire *wire, mlt_peer *peer, uint32_t units)
{
    wire->received++;
    if (MLT_UNLIKELY(mlt_ring_consume(&peer->rx, units)))
        mlt_job_wake(mlt_job_local_at(wire->job, peer->local));
}

// The owner waits until that peer has room, or until memory that was posted has left; or no longer.
// After it has raised this, and after a fence (the caller's), it must look once more.
static inline void mlt_wire_starve(mlt_peer *peer, bool starves)
{
    _Atomic uint32_t *word = mlt_peer_is_far(peer) ? peer->starved : &peer->tx.ring->starved;
    atomic_store_explicit(word, starves, memory_order_relaxed);
}

// Before and after the thread blocks until there may be something to do: on own->asleep while that
// is wire->nap (`how` is MLT_WORKER_ASLEEP), or for its doorbell (MLT_WORKER_LISTENS). doze: lets
// everybody see that this worker sleeps, then asks `ready` once. False: there is something to do,
// and blocking would miss it. `blocked`: ranks parked, for the launcher. rise: after each doze,
// whether it was true or false.
bool mlt_wire_doze(mlt_wire *wire, mlt_job_worker_state how, uint32_t blocked,
                   bool (*ready)(void *arg), void *arg) MLT_MUST_CHECK;
void mlt_wire_rise(mlt_wire *wire);

// Lets the launcher see how many messages were sent and received so far. Part of doze. The sleeper
// calls it too, if other threads of its worker did something meanwhile and can do no more.
void mlt_wire_publish(mlt_wire *wire);

enum {
    MLT_CHUNK_LATER = -1, // none is free, but that worker has some and will give them back
    MLT_CHUNK_NONE = -2,  // others have them all and may not look for long: send without chunks
};

// A free chunk of our own pool for a message to that worker of this host; or one of the above. Hot: one of the
// first few, which stay in the cache between their uses; worth it for messages so large that they
// would sweep through the whole pool (measured: +15 % from 1 MiB on). Otherwise the whole pool in
// turn, so that the receiver may lag behind.
int32_t mlt_wire_chunk_take(mlt_wire *wire, bool hot, uint32_t to_local);
void *mlt_wire_chunk_at(mlt_wire *wire, uint32_t local, uint32_t chunk);
// The receiver's: gives a peer's chunk back and wakes the peer if it sleeps.
void mlt_wire_chunk_release(mlt_wire *wire, uint32_t local, uint32_t chunk);
