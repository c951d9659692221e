// SPDX-License-Identifier: BSD-3-Clause
// How partitioned sends and receives find each other: see partition_int.h.

#include "base/log.h"
#include "mpi/p2p/partition_int.h"
#include "p2p/context.h"
#include "p2p/worker.h"
#include "wire/wire.h"

// Contexts of communicators are eight each; its offers have one.
static uint32_t offer_context(const mlt_comm *comm)
{
    return MLT_CONTEXT_OFFERS + comm->context / MLT_CONTEXTS;
}

static void offer_left(mlt_req *setup)
{
    mlt_partreq *part = setup->extra;
    if (part->ended)
        mlt_part_free(part);
}

void mlt_part_offer(mlt_partreq *part)
{
    const mlt_req *req = part->req;
    const mlt_comm *comm = req->owner;
    mlt_pair *pair = part_pair(part);
    part->offer = (mlt_part_offered){.part_bytes = part->part_bytes,
                                     .parts = part->parts,
                                     .id = part->id,
                                     .type = req->type->code};
    if (pair->direct) {
        part->offer.pair = (uintptr_t)pair;
        atomic_fetch_add_explicit(&pair->refs, 1, memory_order_relaxed); // the offer's
    }
    const mlt_envelope e = {.bytes = sizeof part->offer,
                            .context = offer_context(comm),
                            .src = comm->rank,
                            .tag = req->tag,
                            .type = MLT_CODE_BYTE};
    if (mlt_p2p_send_now(req->rank, &part->offer, part->peer_world, &e))
        return;
    mlt_req_init(&part->setup, req->rank, MLT_REQ_SEND);
    mlt_req_message(&part->setup, &part->offer, sizeof part->offer, MLT_TYPE_BYTE,
                    offer_context(comm), comm->rank, part->peer_world, req->tag);
    part->setup.extra = part;
    part->setup.on_done = offer_left;
    mlt_p2p_send(&part->setup);
}

// An offer of this process. False: its sender has freed the request meanwhile.
static bool pair_link(mlt_pair *pair)
{
    uint32_t offered = PAIR_OFFERED;
    // acq_rel: pairs with withdraw_offer.
    if (atomic_compare_exchange_strong_explicit(&pair->state, &offered, PAIR_LINKED,
                                                memory_order_acq_rel, memory_order_acquire))
        return true;
    mlt_pair_drop(pair);
    return false;
}

// The pair of a receive whose offer came from another process.
static mlt_pair *new_pair(const mlt_partreq *part)
{
    const mlt_part_offered *offer = &part->offer;
    if (offer->parts > INT32_MAX ||
        __builtin_mul_overflow((int64_t)offer->part_bytes, (int64_t)offer->parts, &(int64_t){0}))
        mlt_fatal("rank %d offers a partitioned message of %lu times %llu bytes, which is none",
                  part->peer_world, (unsigned long)offer->parts,
                  (unsigned long long)offer->part_bytes);
    mlt_pair *pair = mlt_pair_new(offer->parts, offer->part_bytes, false, false);
    pair->from_worker = part->peer_worker;
    pair->from_id = offer->id;
    return pair;
}

static void fill_in_receiver(const mlt_partreq *part, mlt_pair *pair)
{
    const mlt_req *req = part->req;
    pair->to = req->buf;
    pair->to_type = req->type;
    pair->room = part->parts * part->part_bytes;
    pair->to_worker = req->rank->worker->index;
    pair->to_id = part->id;
}

static void await_again(mlt_work *work)
{
    mlt_partreq *part = mlt_container_of(work, mlt_partreq, work);
    part->queued = false;
    if (part->ended)
        mlt_part_free(part);
    else
        mlt_part_await(part);
}

// The same, from where no operation may start.
static void await_soon(mlt_partreq *part)
{
    part->queued = true;
    part->work.run = await_again;
    mlt_worker_later(part->worker, &part->work);
}

static void offer_came(mlt_req *setup)
{
    mlt_partreq *part = setup->extra;
    if (setup->cancelled) {
        mlt_part_free(part);
        return;
    }
    bool direct = part_is_near(part->worker, part->peer_worker);
    mlt_pair *pair = direct ? (mlt_pair *)(uintptr_t)part->offer.pair : NULL;
    if (part->ended) {
        mlt_pair_drop(pair);
        mlt_part_free(part);
        return;
    }
    if (!direct)
        pair = new_pair(part);
    fill_in_receiver(part, pair);
    if (direct && !pair_link(pair)) {
        await_soon(part);
        return;
    }
    // release: pairs with part_pair on another thread of the rank.
    atomic_store_explicit(&part->pair, pair, memory_order_release);
    if (part->pending)
        mlt_part_begin_receive(part);
}

void mlt_part_await(mlt_partreq *part)
{
    const mlt_req *req = part->req;
    mlt_req_init(&part->setup, req->rank, MLT_REQ_RECV);
    mlt_req_message(&part->setup, &part->offer, sizeof part->offer, MLT_TYPE_BYTE,
                    offer_context(req->owner), 0, req->peer, req->tag);
    part->setup.extra = part;
    part->setup.on_done = offer_came;
    mlt_p2p_recv(&part->setup);
}

// A send that was never started. Inside a process the receiver is told, if it has taken the offer;
// elsewhere it hears of it when it starts.
static void withdraw_offer(mlt_partreq *part, mlt_pair *pair)
{
    if (!pair->direct || atomic_load_explicit(&pair->sent_round, memory_order_relaxed) > 0)
        return;
    if (atomic_exchange_explicit(&pair->state, PAIR_WITHDRAWN, memory_order_acq_rel) == PAIR_LINKED)
        mlt_p2p_packet(part->worker, pair->to_worker,
                       &(mlt_packet){.kind = PART_GONE, .object = pair->to_id}, NULL, 0);
}

void mlt_part_withdraw(mlt_partreq *part)
{
    if (part->sends) {
        withdraw_offer(part, part_pair(part));
    } else if (!part->setup.done) {
        part->queued = true; // the cancelled receive must not free it under our feet
        mlt_p2p_cancel(&part->setup);
        part->queued = false;
    }
}

void mlt_part_gone(mlt_worker *w, uint32_t from, const mlt_packet *packet)
{
    mlt_partreq *part = mlt_part_find(w, packet->object);
    mlt_pair *pair = part ? part_pair(part) : NULL;
    if (!pair || part->sends || part->peer_worker != from ||
        (pair->direct ? atomic_load_explicit(&pair->state, memory_order_acquire) != PAIR_WITHDRAWN
                      : atomic_load_explicit(&pair->recv_round, memory_order_relaxed) != 1))
        return;
    atomic_store_explicit(&part->pair, NULL, memory_order_release);
    mlt_pair_drop(part->stale);
    part->stale = pair; // another thread may look at it just now
    part->pending = !part->req->done;
    await_soon(part);
}
