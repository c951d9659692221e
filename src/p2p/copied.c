// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/copied.h"

#include <stdlib.h>

#include "arch/arch.h"
#include "base/event.h"
#include "base/memory.h"
#include "base/upcalls.h"
#include "gpu/gpu.h"
#include "p2p/device.h"
#include "p2p/p2p_int.h"

void mlt_p2p_copied(mlt_worker *w, mlt_rank *rank, uint8_t way, uint64_t bytes, uint64_t since)
{
    mlt_ctl_copies *c = &w->counts.copies;
    c->count[way]++;
    c->bytes[way] += bytes;
    mlt_event event = {.kind = MLT_EVENT_COPIED, .how = way, .bytes = bytes, .since = since};
    event.peer = event.tag = -1;
    if (MLT_UNLIKELY(w->watched) && mlt_upcalls.event)
        mlt_upcalls.event(w, rank, &event);
}

void mlt_p2p_copied_call(mlt_worker *w, const mlt_gpu_batch *batch)
{
    uint64_t bytes = mlt_gpu_batch_bytes(batch);
    if (bytes)
        mlt_p2p_copied(w, w->ranks, MLT_COPY_CALL, bytes, mlt_gpu_batch_since(batch));
}

void mlt_p2p_copied_now(bool to_device, bool from_device, uint64_t bytes, uint64_t since)
{
    const mlt_gpu_transfer t = {.to_device = to_device, .from_device = from_device};
    mlt_worker *w = mlt_sched_self ? mlt_sched_self->idle_arg : NULL;
    mlt_rank *rank = mlt_rank_self();
    if (w) // else a thread of the program's own, or of the library's
        mlt_p2p_copied(w, rank && rank->worker == w ? rank : w->ranks, mlt_p2p_copy_kind(&t), bytes,
                       since);
}

// ---- messages in chunks

// One whose end somebody wants to hear of.
typedef struct mlt_p2p_told {
    struct mlt_p2p_told *next;
    mlt_req *req;
    void (*on_done)(mlt_req *req); // the request's own
    uint64_t bytes, since;
} told;

static void tell_end(mlt_req *req)
{
    mlt_worker *w = req->rank->worker;
    told **link = &w->p2p->told;
    while ((*link)->req != req)
        link = &(*link)->next;
    told *t = *link;
    *link = t->next;
    mlt_event event = {
        .kind = MLT_EVENT_COPIED, .how = MLT_COPY_CHUNKS, .bytes = t->bytes, .since = t->since};
    event.peer = event.tag = -1;
    if (w->watched && mlt_upcalls.event)
        mlt_upcalls.event(w, req->rank, &event);
    req->on_done = t->on_done;
    free(t);
    if (req->on_done)
        req->on_done(req);
}

// Why no other process can open the memory is worth knowing.
static void count_unshared(mlt_ctl_copies *c, const void *at, uint64_t bytes)
{
    mlt_gpu_place place;
    mlt_gpu_spot spot;
    if (!mlt_gpu_find(at, &place))
        return;
    if (!place.shareable)
        c->pooled += bytes;
    else if (!mlt_gpu_show(at, &spot))
        c->refused += bytes;
}

void mlt_p2p_copied_chunks(mlt_worker *w, mlt_peer *peer, mlt_req *req, uint64_t bytes)
{
    mlt_ctl_copies *c = &w->counts.copies;
    c->count[MLT_COPY_CHUNKS]++;
    c->bytes[MLT_COPY_CHUNKS] += bytes;
    if (peer->distance == MLT_SAME_HOST && !mlt_peer_is_far(peer)) {
        c->near += bytes;
        if (mlt_p2p_device_is_plain(req->type))
            count_unshared(c, req->buf, bytes);
    }
    if (MLT_LIKELY(!w->watched))
        return;
    told *t = mlt_xcalloc(1, sizeof *t);
    *t = (told){w->p2p->told, req, req->on_done, bytes, mlt_arch_cycles()};
    w->p2p->told = t;
    req->on_done = tell_end;
}

void mlt_p2p_copied_chunks_there(mlt_worker *w, uint64_t bytes)
{
    mlt_ctl_copies *c = &w->counts.copies;
    c->count[MLT_COPY_CHUNKS]++;
    c->bytes[MLT_COPY_CHUNKS] += bytes;
    c->near += bytes;
}

void mlt_p2p_pack_piece(const mlt_req *send, uint64_t at, void *to, uint64_t bytes)
{
    mlt_gpu_transfer_now(&(mlt_gpu_transfer){
        .to = to, .from_type = send->type, .from = send->buf, .from_at = at, .bytes = bytes});
}

void mlt_p2p_unpack_piece(mlt_req *recv, uint64_t at, const void *data, uint64_t bytes)
{
    mlt_gpu_transfer_now(&(mlt_gpu_transfer){
        .to_type = recv->type, .to = recv->buf, .to_at = at, .from = data, .bytes = bytes});
}

void mlt_p2p_copied_free(mlt_worker *w)
{
    for (told *t = w->p2p->told, *next; t; t = next) {
        next = t->next;
        free(t);
    }
}
