// SPDX-License-Identifier: BSD-3-Clause
// Large messages between processes in one copy, by system calls that reach into the other's memory.
//
// The receiver reads. If there is a core for everybody, it asks the sender, which waits with its
// buffer anyway, to write at the same time: both take pieces until there are none. (Twice as fast
// at 1 MiB.) It does not ask if it has sent a message itself that is under way: the other is about
// to read that one, and both have enough to do.
//
// Messages from FETCH_LEAST on wait in a list, and a piece is read in each progress step. So the
// receiver knows of all messages that have come before it copies the first one, and both can work
// on the next ones while the last piece of this one is still on its way: windows of messages of 256
// KiB and more take half as long as with one shared message at a time. A message below SHARE_LEAST
// is shared only if others wait after it.
//
// A message that came before its receive does not wait in the list: after MPI_Irecv the receiver
// may compute for long, and the sender would stand still meanwhile. It is offered to the sender,
// which can copy all of it alone, or it is read at once.
//
// The ring from the sender to the receiver has a word for each of a few shared messages:
//
//     number of the message (16 bits) | pieces that somebody has taken on (24) | broken (1) |
//     pieces that are there (23)
//
// The number keeps a sender that comes late from taking pieces of the next message in that word.
// (It has not seen the answer to its own message then, so it has not sent so many more that the
// number comes round.) Whoever cannot copy a piece takes on all that is left without copying it:
// then the message is over, too, broken, and the receiver asks for all of it in chunks. The system
// may refuse at any time and to either side. Whoever ends the message tells the other.
#include "base/log.h"
#include "os/jitter.h"
#include "os/os.h"
#include "p2p/p2p_int.h"

enum {
    FETCH_LEAST = 32 << 10,
    SHARE_LEAST = 128 << 10,
    SHARE_PIECE = 128 << 10,
    SHARE_MOST = 512 << 10,
    SHARE_PIECES = (1 << 23) - 1,
    SHARE_BROKEN = 1 << 23,
    CLAIM_SHIFT = 24,
    NUMBER_SHIFT = 48,
    SHARE_NONE = MLT_RING_SHARES,
};

typedef struct share {
    _Atomic uint64_t *word;
    pid_t pid; // the other's
    bool writes;
    uint16_t number;
    uint32_t pieces;
    uint64_t piece, total;
    char *here;
    uint64_t there;
} share;

static pid_t pid_of(mlt_worker *w, const mlt_peer *peer)
{
    uint32_t proc = mlt_job_location_at(w->boot->job, peer->worker)->proc;
    return (pid_t)atomic_load_explicit(&mlt_job_proc_at(w->boot->job, proc)->pid,
                                       memory_order_relaxed);
}

// So large that what the kernel does for each call does not count, yet some for both: halves up to
// SHARE_PIECE, quarters above. What is shared only because there are others is one piece.
static uint64_t piece_of(uint64_t total)
{
    enum { PAGE = 4096 };
    uint64_t half = total / 2, quarter = total / 4;
    uint64_t piece = half < SHARE_PIECE ? half : quarter > SHARE_PIECE ? quarter : SHARE_PIECE;
    if (total < SHARE_LEAST)
        return total;
    return piece < SHARE_MOST ? (piece + PAGE - 1) / PAGE * PAGE : SHARE_MOST;
}

static uint32_t pieces_of(uint64_t total)
{
    uint64_t piece = piece_of(total);
    return (uint32_t)((total + piece - 1) / piece);
}

static mlt_status copy_piece(const share *s, uint32_t index)
{
    uint64_t at = index * s->piece, n = s->total - at < s->piece ? s->total - at : s->piece;
    if (s->writes)
        return mlt_os_write_peer(s->pid, s->there + at, s->here + at, n);
    return mlt_os_read_peer(s->pid, s->here + at, s->there + at, n);
}

// Takes on one of the pieces, or all that are left; returns how many, the first one in *first. 0 if
// there are none, or the message is over.
static uint32_t claim(const share *s, bool all, uint32_t *first)
{
    uint64_t word = atomic_load_explicit(s->word, memory_order_relaxed), n;
    do {
        *first = (uint32_t)(word >> CLAIM_SHIFT) & SHARE_PIECES;
        if (word >> NUMBER_SHIFT != s->number || *first >= s->pieces)
            return 0;
        n = all ? s->pieces - *first : 1;
    } while (!atomic_compare_exchange_weak_explicit(s->word, &word, word + (n << CLAIM_SHIFT),
                                                    memory_order_relaxed, memory_order_relaxed));
    return (uint32_t)n;
}

typedef enum step { STEP_NONE, STEP_SOME, STEP_LAST } step;

// Copies a piece that nobody has taken on, if there is one; LAST: now all are there, or it broke.
static step copy_one(const share *s, mlt_status *status)
{
    uint32_t index, rest;
    *status = MLT_OK;
    uint32_t n = claim(s, false, &index);
    if (n == 0)
        return STEP_NONE;
    if (MLT_UNLIKELY((*status = copy_piece(s, index)) != MLT_OK)) {
        atomic_fetch_or_explicit(s->word, SHARE_BROKEN, memory_order_relaxed);
        n += claim(s, true, &rest);
    }
    mlt_jitter();
    // acq_rel: whoever reaches the total has seen all copies.
    uint64_t before = atomic_fetch_add_explicit(s->word, n, memory_order_acq_rel);
    return (before & SHARE_PIECES) + n == s->pieces ? STEP_LAST : STEP_SOME;
}

static bool is_broken(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed) & SHARE_BROKEN;
}

// ---- the sender

bool mlt_p2p_share_help(mlt_worker *w, mlt_peer *peer, const mlt_slot *slot)
{
    slot_share body;
    memcpy(&body, slot->payload, sizeof body);
    const mlt_req *send = (const mlt_req *)(uintptr_t)body.sender;
    share s = {.word = &peer->tx.ring->shares[body.index],
               .pid = pid_of(w, peer),
               .writes = true,
               .number = (uint16_t)body.number,
               .pieces = pieces_of(slot->bytes),
               .piece = piece_of(slot->bytes),
               .total = slot->bytes,
               .here = send->buf,
               .there = body.address};
    mlt_status status = MLT_OK;
    step last = STEP_SOME;
    while (!w->p2p->write_refused && last == STEP_SOME) {
        last = copy_one(&s, &status);
        w->p2p->write_refused = status == MLT_ERR_UNSUPPORTED;
    }
    if (last != STEP_LAST)
        return false;
    bool broken = is_broken(s.word); // before the receiver hears of it and uses the word again
    mlt_p2p_control(w, peer, SLOT_TAKEN, body.sender, body.receiver, 0, 0);
    return !broken;
}

// ---- the receiver

static void ended(mlt_worker *w, mlt_req *recv, mlt_peer *peer, bool there, bool told)
{
    if (!there) {
        mlt_p2p_ask_for_chunks(w, recv, peer, recv->remote);
        return;
    }
    if (!told)
        mlt_p2p_control(w, peer, SLOT_FIN, recv->remote, 0, 0, 0);
    mlt_req_complete(recv);
}

static void share_ended(mlt_worker *w, mlt_req *recv, mlt_peer *peer, bool told)
{
    bool there = !is_broken(&peer->rx.ring->shares[recv->share]);
    peer->shares &= (uint8_t) ~(1u << recv->share);
    ended(w, recv, peer, there, told);
}

void mlt_p2p_share_taken(mlt_worker *w, mlt_peer *peer, mlt_req *recv)
{
    mlt_assert(recv->magic == MLT_REQ_MAGIC && recv->stage == STAGE_MOVING &&
               recv->share < MLT_RING_SHARES);
    mlt_list_remove(&recv->node); // the sender may have copied it all before it was its turn
    share_ended(w, recv, peer, true);
}

static void share_begin(mlt_worker *w, mlt_req *recv, mlt_peer *peer)
{
    recv->share = (uint32_t)__builtin_ctz(~(uint32_t)peer->shares);
    peer->shares |= (uint8_t)(1u << recv->share);
    peer->share++;
    slot_share body = {.sender = recv->remote,
                       .receiver = (uintptr_t)recv,
                       .address = (uintptr_t)recv->buf,
                       .index = recv->share,
                       .number = peer->share};
    // The release of the slot publishes it.
    atomic_store_explicit(&peer->rx.ring->shares[recv->share],
                          (uint64_t)peer->share << NUMBER_SHIFT, memory_order_relaxed);
    mlt_p2p_control_with(w, peer, SLOT_SHARE, &body, sizeof body, 0, recv->got);
}

// alone: no other message waits to be fetched.
static bool is_worth_sharing(const mlt_worker *w, const mlt_req *recv, const mlt_peer *peer,
                             bool alone)
{
    enum { ALL = (1 << MLT_RING_SHARES) - 1 };
    return recv->share == SHARE_NONE && peer->shares != ALL && recv->rank->sends_open == 0 &&
           (!alone || recv->got >= SHARE_LEAST) && w->p2p->read_peers;
}

// Offers to the senders those messages at the head of the list that are worth it.
static void share_first(mlt_worker *w)
{
    mlt_list_node *list = &w->p2p->fetches;
    bool alone = list->next->next == list;
    uint32_t n = 0;
    for (mlt_list_node *l = list->next; l != list && n < MLT_RING_SHARES; l = l->next, n++) {
        mlt_req *recv = mlt_container_of(l, mlt_req, node);
        mlt_peer *peer = mlt_wire_peer(w->wire, recv->remote_worker);
        if (is_worth_sharing(w, recv, peer, alone))
            share_begin(w, recv, peer);
    }
}

static share share_of(mlt_worker *w, const mlt_req *recv, const mlt_peer *peer)
{
    return (share){.word = &peer->rx.ring->shares[recv->share],
                   .pid = pid_of(w, peer),
                   .number = (uint16_t)(atomic_load_explicit(&peer->rx.ring->shares[recv->share],
                                                             memory_order_relaxed) >>
                                        NUMBER_SHIFT),
                   .pieces = pieces_of(recv->got),
                   .piece = piece_of(recv->got),
                   .total = recv->got,
                   .here = recv->buf,
                   .there = recv->address};
}

static mlt_status read_whole(mlt_worker *w, const mlt_req *recv, const mlt_peer *peer)
{
    mlt_status status = MLT_ERR_UNSUPPORTED;
    if (w->p2p->read_peers)
        status = mlt_os_read_peer(pid_of(w, peer), recv->buf, recv->address, recv->got);
    if (status == MLT_ERR_UNSUPPORTED)
        w->p2p->read_peers = false;
    return status;
}

bool mlt_p2p_fetch_some(mlt_worker *w)
{
    mlt_list_node *list = &w->p2p->fetches;
    share_first(w);
    for (mlt_req *recv; (recv = MLT_LIST_FIRST(list, mlt_req, node));) {
        mlt_peer *peer = mlt_wire_peer(w->wire, recv->remote_worker);
        if (recv->share == SHARE_NONE) {
            mlt_list_remove(&recv->node);
            ended(w, recv, peer, read_whole(w, recv, peer) == MLT_OK, false);
            return true;
        }
        share s = share_of(w, recv, peer);
        mlt_status status;
        step came = copy_one(&s, &status);
        if (status == MLT_ERR_UNSUPPORTED)
            w->p2p->read_peers = false;
        if (came == STEP_SOME)
            return true;
        mlt_list_remove(&recv->node);
        if (came == STEP_LAST) {
            share_ended(w, recv, peer, false);
            return true;
        } // NONE: the sender copies the last piece, and TAKEN comes
    }
    return false;
}

mlt_status mlt_p2p_fetch_directly(mlt_worker *w, mlt_req *recv, mlt_peer *peer, uint64_t sender,
                                  uint64_t address, bool late)
{
    if (!w->p2p->read_peers)
        return MLT_ERR_UNSUPPORTED;
    recv->remote = sender;
    recv->address = address;
    recv->remote_worker = peer->worker;
    recv->share = SHARE_NONE;
    if (recv->got < FETCH_LEAST || w->p2p->crowded || recv->got / SHARE_MOST >= SHARE_PIECES ||
        (late && !is_worth_sharing(w, recv, peer, true)))
        return read_whole(w, recv, peer);
    recv->stage = STAGE_MOVING;
    mlt_list_push_back(&w->p2p->fetches, &recv->node);
    if (late)
        share_begin(w, recv, peer);
    return MLT_PENDING;
}
