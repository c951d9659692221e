// SPDX-License-Identifier: BSD-3-Clause
// Large messages between processes in one copy, by system calls that reach into the other's memory.
//
// The receiver reads. From SHARE_LEAST on, if there is a core for everybody, it asks the sender,
// who waits with its buffer anyway, to write at the same time: both take pieces of the message
// until there are none. (Twice as fast at 1 MiB.) Not if the receiver has a message of its own
// under way: then the other is about to read that, and both have enough to do. The ring from the
// sender to the receiver has the two words for it, so there is one such message at a time in each
// direction; others are read by the receiver alone.
//
//     claimed   number of the message << SHARE_SHIFT | bytes that somebody has taken on
//     copied    bytes that are there; SHARE_BROKEN: some could not be copied
//
// The number keeps a sender that comes late from taking pieces of the next message. Whoever cannot
// copy a piece takes on all that is left without copying it: then the message is over, too, broken,
// and the receiver asks for all of it in chunks. The system may refuse at any time and to either
// side.
#include "base/log.h"
#include "os/jitter.h"
#include "os/os.h"
#include "p2p/p2p_int.h"

enum { SHARE_LEAST = 128 << 10, SHARE_PIECE = 128 << 10, SHARE_MOST = 1 << 20, SHARE_SHIFT = 40 };
#define SHARE_BYTES  ((UINT64_C(1) << SHARE_SHIFT) - 1)
#define SHARE_NUMBER (UINT32_MAX >> (SHARE_SHIFT - 32))
#define SHARE_BROKEN (UINT64_C(1) << 63)

typedef struct share {
    mlt_ring *ring;
    pid_t pid; // the other's
    bool writes;
    uint32_t number;
    uint64_t total;
    char *here;
    uint64_t there;
} share;

static pid_t pid_of(mlt_worker *w, const mlt_peer *peer)
{
    uint32_t proc = mlt_job_worker_at(w->boot->job, peer->worker)->proc;
    return (pid_t)atomic_load_explicit(&mlt_job_proc_at(w->boot->job, proc)->pid,
                                       memory_order_relaxed);
}

static mlt_status copy_piece(const share *s, uint64_t at, uint64_t n)
{
    if (s->writes)
        return mlt_os_write_peer(s->pid, s->there + at, s->here + at, n);
    return mlt_os_read_peer(s->pid, s->here + at, s->there + at, n);
}

// Takes on the next n bytes at most; false if there are none left, or the message is over.
static bool claim(const share *s, uint64_t most, uint64_t *at, uint64_t *n)
{
    uint64_t word = atomic_load_explicit(&s->ring->claimed, memory_order_relaxed);
    do {
        *at = word & SHARE_BYTES;
        if (word >> SHARE_SHIFT != s->number || *at >= s->total)
            return false;
        *n = s->total - *at < most ? s->total - *at : most;
    } while (!atomic_compare_exchange_weak_explicit(&s->ring->claimed, &word, word + *n,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

// So large that what the kernel does for each call does not count, yet some for both: halves up to
// SHARE_PIECE, quarters above.
static uint64_t piece_of(uint64_t total)
{
    enum { PAGE = 4096 };
    uint64_t half = total / 2, quarter = total / 4;
    uint64_t piece = half < SHARE_PIECE ? half : quarter > SHARE_PIECE ? quarter : SHARE_PIECE;
    return piece < SHARE_MOST ? (piece + PAGE - 1) / PAGE * PAGE : SHARE_MOST;
}

// True if the message is over, and it was here that it ended.
static bool copy_pieces(const share *s, mlt_status *status)
{
    uint64_t at, n, rest, piece = piece_of(s->total);
    *status = MLT_OK;
    while (claim(s, piece, &at, &n)) {
        if (MLT_UNLIKELY((*status = copy_piece(s, at, n)) != MLT_OK)) {
            atomic_fetch_or_explicit(&s->ring->copied, SHARE_BROKEN, memory_order_relaxed);
            if (claim(s, s->total, &at, &rest))
                n += rest;
        }
        mlt_jitter();
        // acq_rel: whoever reaches the total has seen all copies.
        uint64_t before = atomic_fetch_add_explicit(&s->ring->copied, n, memory_order_acq_rel);
        if ((before & ~SHARE_BROKEN) + n == s->total)
            return true;
    }
    return false;
}

bool mlt_p2p_share_ended(mlt_peer *peer)
{
    peer->shares = false;
    return !(atomic_load_explicit(&peer->rx.ring->copied, memory_order_relaxed) & SHARE_BROKEN);
}

void mlt_p2p_share_help(mlt_worker *w, mlt_peer *peer, const mlt_slot *slot)
{
    slot_share body;
    memcpy(&body, slot->payload, sizeof body);
    const mlt_req *send = (const mlt_req *)(uintptr_t)body.sender;
    share s = {.ring = peer->tx.ring,
               .pid = pid_of(w, peer),
               .writes = true,
               .number = (uint32_t)body.number,
               .total = slot->bytes,
               .here = send->buf,
               .there = body.address};
    mlt_status status;
    if (w->p2p->write_refused)
        return;
    if (copy_pieces(&s, &status))
        mlt_p2p_control(w, peer, SLOT_TAKEN, body.sender, body.receiver, 0, 0);
    w->p2p->write_refused = status == MLT_ERR_UNSUPPORTED;
}

static mlt_status fetch_shared(mlt_worker *w, mlt_req *recv, mlt_peer *peer, uint64_t sender,
                               uint64_t address)
{
    mlt_ring *ring = peer->rx.ring;
    peer->shares = true;
    peer->share = (peer->share + 1) & SHARE_NUMBER;
    share s = {.ring = ring,
               .pid = pid_of(w, peer),
               .number = peer->share,
               .total = recv->got,
               .here = recv->buf,
               .there = address};
    // The release of the slot publishes both.
    atomic_store_explicit(&ring->copied, 0, memory_order_relaxed);
    atomic_store_explicit(&ring->claimed, (uint64_t)s.number << SHARE_SHIFT, memory_order_relaxed);
    recv->stage = STAGE_MOVING;
    slot_share body = {.sender = sender,
                       .receiver = (uintptr_t)recv,
                       .address = (uintptr_t)recv->buf,
                       .number = s.number};
    mlt_p2p_control_with(w, peer, SLOT_SHARE, &body, sizeof body, 0, s.total);
    mlt_status status;
    bool over = copy_pieces(&s, &status);
    if (status == MLT_ERR_UNSUPPORTED)
        w->p2p->read_peers = false;
    if (!over)
        return MLT_PENDING;
    return mlt_p2p_share_ended(peer) ? MLT_OK : MLT_ERR_SYSTEM;
}

mlt_status mlt_p2p_fetch_directly(mlt_worker *w, mlt_req *recv, mlt_peer *peer, uint64_t sender,
                                  uint64_t address)
{
    if (!w->p2p->read_peers)
        return MLT_ERR_UNSUPPORTED;
    if (recv->got >= SHARE_LEAST && recv->got <= SHARE_BYTES && !w->p2p->crowded && !peer->shares &&
        recv->rank->sends_open == 0)
        return fetch_shared(w, recv, peer, sender, address);
    mlt_status status = mlt_os_read_peer(pid_of(w, peer), recv->buf, address, recv->got);
    if (status == MLT_ERR_UNSUPPORTED)
        w->p2p->read_peers = false;
    return status;
}
