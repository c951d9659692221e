// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/device.h"

#include <stdlib.h>

#include "arch/arch.h"
#include "base/array.h"
#include "base/log.h"
#include "base/memory.h"
#include "gpu/batch.h"
#include "p2p/copied.h"

// A message whose data are under way.
typedef struct transfer {
    mlt_req *recv, *send; // of this worker; NULL: another's
    mlt_peer *peer;       // that is told FIN, with the name of its send, or DONE, with that of its
    uint64_t name;        // receive; NULL: nobody
    slot_kind tells;
    uint32_t process; // whose memory was opened, and
    uint64_t id;      // which; 0: none
    uint8_t way;      // of the copy: MLT_COPY_INSIDE and the like
    uint64_t bytes, since;
} transfer;

// Copies that began together.
typedef struct group {
    struct group *next;
    mlt_gpu_batch *batch;
    transfer *of;
    uint32_t count, room;
} group;

// A message between processes whose copy waits for a key.
typedef struct stranger {
    struct stranger *next;
    mlt_req *req; // a receive, or a send to which PUT has come
    mlt_peer *peer;
    uint64_t name;
    mlt_gpu_spot spot; // of the peer's
} stranger;

// A message on its way to the host, in chunks.
typedef struct coming {
    mlt_p2p_device *device;
    mlt_req req;
    mlt_msg *msg;
    mlt_req *taker; // a receive that it has met; NULL: none yet
    void *data;
} coming;

struct mlt_p2p_device {
    mlt_work work; // in the worker's list while there is anything to do
    bool works;
    mlt_worker *worker;
    group *open;  // joined by copies, not started; NULL: none
    group *first; // started, oldest first
    group **last; // where the next one goes
    group *unused;
    mlt_rank **waiting; // to which a message is held that may have to leave its device
    uint32_t waiting_count, waiting_room;
    stranger *strangers;
};

// ---- what waits for a receive

// Its data have come: whoever has met it gets them.
static void came(mlt_req *req)
{
    coming *c = mlt_container_of(req, coming, req);
    mlt_p2p_device *d = c->device;
    mlt_req *taker = c->taker;
    c->msg->kind = MLT_MSG_KEPT;
    c->msg->address = (uintptr_t)c->data;
    if (taker) {
        mlt_type_unpack(taker->type, taker->buf, 0, c->data, taker->got);
        mlt_req_complete(taker);
        mlt_p2p_drop(d->worker, c->msg);
    }
    free(c);
}

void mlt_p2p_device_take_coming(mlt_req *recv, mlt_msg *msg)
{
    ((coming *)(uintptr_t)msg->address)->taker = recv;
    recv->stage = STAGE_MOVING;
}

static void let_come(mlt_p2p_device *d, mlt_rank *to, mlt_msg *msg)
{
    coming *c = mlt_xcalloc(1, sizeof *c);
    uint64_t sender = msg->sender;
    c->device = d;
    c->msg = msg;
    c->data = mlt_xcalloc(1, msg->bytes);
    mlt_req_init(&c->req, to, MLT_REQ_RECV);
    mlt_req_message(&c->req, c->data, msg->bytes, MLT_TYPE_BYTE, msg->context, 0, msg->src,
                    msg->tag);
    c->req.got = msg->bytes;
    c->req.on_done = came;
    mlt_p2p_keep(d->worker, msg, c->data); // soon
    msg->kind = MLT_MSG_COMING;
    msg->address = (uintptr_t)c;
    mlt_p2p_ask_for_chunks(d->worker, &c->req, msg->peer, sender);
}

// Takes the data out of the device, so that the sender can go on.
static void keep(mlt_p2p_device *d, mlt_rank *to, mlt_msg *msg)
{
    mlt_worker *w = d->worker;
    bool local = msg->kind == MLT_MSG_LOCAL;
    mlt_distance distance = local ? MLT_SAME_WORKER : (mlt_distance)msg->peer->distance;
    bool far = distance == MLT_SAME_HOST; // another process
    if (msg->bytes == 0 || msg->bytes > w->eager[distance] || w->held > w->held_limit ||
        distance > MLT_SAME_HOST || (far && !(msg->flags & SLOT_DEVICE)))
        return;
    mlt_req *send = (mlt_req *)(uintptr_t)msg->sender;
    if (far ? msg->flags & SLOT_SYNC : send->mode == MLT_MODE_SYNC || !send->type->device)
        return;
    if (far) {
        let_come(d, to, msg);
        return;
    }
    void *data = malloc(msg->bytes);
    if (!data)
        mlt_no_room("%llu bytes of a message that has no receive yet",
                    (unsigned long long)msg->bytes);
    uint64_t since = mlt_arch_cycles();
    mlt_gpu_transfer_now(&(mlt_gpu_transfer){
        .to = data, .from_type = send->type, .from = send->buf, .bytes = msg->bytes});
    mlt_p2p_copied(w, to, MLT_COPY_OUT, msg->bytes, since);
    mlt_p2p_keep(w, msg, data);
    if (local)
        mlt_req_complete(send);
    else
        mlt_p2p_control(w, msg->peer, SLOT_FIN, (uintptr_t)send, 0, 0, 0);
}

static void keep_all(mlt_p2p_device *d)
{
    for (uint32_t i = 0; i < d->waiting_count; i++)
        MLT_LIST_EACH(mlt_msg, msg, &d->waiting[i]->unexpected.all, all)
            if (msg->kind == MLT_MSG_LOCAL || msg->kind == MLT_MSG_REMOTE)
                keep(d, d->waiting[i], msg);
    d->waiting_count = 0;
}

// ---- what is under way

static void end_transfer(mlt_worker *w, const transfer *t)
{
    if (t->id)
        mlt_gpu_unsee(t->process, t->id);
    mlt_p2p_copied(w, (t->recv ? t->recv : t->send)->rank, t->way, t->bytes, t->since);
    if (t->send)
        mlt_req_complete(t->send);
    if (t->peer && t->tells == SLOT_FIN)
        mlt_p2p_control(w, t->peer, SLOT_FIN, t->name, 0, 0, 0);
    else if (t->peer)
        mlt_p2p_control(w, t->peer, SLOT_DONE, 0, t->name, 0, 0);
    if (t->recv)
        mlt_req_complete(t->recv);
}

static void start_open(mlt_p2p_device *d)
{
    group *g = d->open;
    if (!g)
        return;
    mlt_gpu_batch_start(g->batch);
    d->open = NULL;
    *d->last = g;
    d->last = &g->next;
    g->next = NULL;
}

static void work(mlt_work *self)
{
    mlt_p2p_device *d = mlt_container_of(self, mlt_p2p_device, work);
    keep_all(d);
    start_open(d);
    while (d->first && mlt_gpu_batch_is_done(d->first->batch)) {
        group *g = d->first;
        d->first = g->next;
        if (!d->first)
            d->last = &d->first;
        for (uint32_t i = 0; i < g->count; i++)
            end_transfer(d->worker, &g->of[i]);
        mlt_gpu_batch_close(g->batch);
        g->count = 0;
        g->next = d->unused;
        d->unused = g;
    }
    d->works = d->first || d->open || d->waiting_count;
    if (d->works)
        mlt_worker_again(d->worker, self);
}

static mlt_p2p_device *device_of(mlt_worker *w)
{
    mlt_p2p_device *d = w->p2p->device;
    if (!d) {
        d = w->p2p->device = mlt_xcalloc(1, sizeof *d);
        d->worker = w;
        d->work.run = work;
        d->last = &d->first;
    }
    if (!d->works)
        mlt_worker_later(w, &d->work);
    d->works = true;
    return d;
}

void mlt_p2p_device_look(mlt_gpu_transfer *t)
{
    if (!mlt_gpu_transfer_look(t))
        mlt_fatal("a message cannot be copied: a buffer that was memory of a GPU when the call was "
                  "made, at %p or %p, is none now",
                  t->to, t->from);
}

// The transfer joins the open batch; `what` is done when its data are there.
static void join(mlt_worker *w, mlt_gpu_transfer *t, transfer what)
{
    mlt_p2p_device *d = device_of(w);
    if (what.recv)
        what.recv->stage = STAGE_MOVING;
    if (what.send)
        what.send->stage = STAGE_MOVING;
    mlt_p2p_device_look(t);
    if (d->open && !mlt_gpu_batch_takes(d->open->batch, t))
        start_open(d);
    group *g = d->open;
    if (!g) {
        g = d->unused;
        if (g)
            d->unused = g->next;
        else
            g = mlt_xcalloc(1, sizeof *g);
        d->open = g;
        g->batch = mlt_gpu_batch_open(t);
    }
    what.way = what.id ? MLT_COPY_BETWEEN : mlt_p2p_copy_kind(t);
    what.bytes = t->bytes;
    what.since = mlt_arch_cycles();
    *MLT_ARRAY_ADD(g->of, g->count, g->room) = what;
    mlt_gpu_batch_add(g->batch, t);
}

// ---- inside a process

void mlt_p2p_device_move(mlt_worker *w, mlt_req *recv, const void *buf, const mlt_type *type,
                         mlt_req *send, mlt_peer *peer, uint64_t sender)
{
    mlt_gpu_transfer t = {
        .to_type = recv->type, .to = recv->buf, .from_type = type, .from = buf, .bytes = recv->got};
    join(w, &t,
         (transfer){.recv = recv, .send = send, .peer = peer, .name = sender, .tells = SLOT_FIN});
}

void mlt_p2p_device_held(mlt_worker *w, mlt_rank *to)
{
    mlt_p2p_device *d = device_of(w);
    if (d->waiting_count == 0 || d->waiting[d->waiting_count - 1] != to)
        *MLT_ARRAY_ADD(d->waiting, d->waiting_count, d->waiting_room) = to;
}

// ---- between processes

static uint32_t process_of(const mlt_worker *w, uint32_t worker)
{
    return mlt_job_location_at(w->boot->job, worker)->proc;
}

bool mlt_p2p_device_is_plain(const mlt_type *type)
{
    return type->device && mlt_type_is_dense(type);
}

bool mlt_p2p_device_shows(const mlt_peer *peer, const mlt_req *send, mlt_gpu_spot *spot)
{
    return peer->distance == MLT_SAME_HOST && !mlt_peer_is_far(peer) && send->total > 0 &&
           mlt_p2p_device_is_plain(send->type) && mlt_gpu_show(send->buf, spot);
}

// Once the key was asked for it comes, and all that wait for it go on.
static void wait_for_key(mlt_worker *w, mlt_req *req, mlt_peer *peer, uint64_t name,
                         const mlt_gpu_spot *spot)
{
    mlt_p2p_device *d = device_of(w);
    stranger *s = d->strangers;
    while (s && (s->peer != peer || s->spot.id != spot->id))
        s = s->next;
    if (!s)
        mlt_p2p_control(w, peer, SLOT_SHOW, spot->id, 0, 0, 0);
    s = mlt_xcalloc(1, sizeof *s);
    *s = (stranger){d->strangers, req, peer, name, *spot};
    d->strangers = s;
    req->stage = STAGE_MOVING;
}

static void fetch_here(mlt_worker *w, mlt_req *recv, mlt_peer *peer, uint64_t sender,
                       const mlt_gpu_spot *spot)
{
    uint32_t process = process_of(w, peer->worker);
    void *at;
    switch (mlt_gpu_see(process, spot, &at)) {
    case MLT_GPU_UNSEEN:
        wait_for_key(w, recv, peer, sender, spot);
        return;
    case MLT_GPU_REFUSED:
        w->counts.copies.refused += 2 * recv->got; // of both sides
        mlt_p2p_ask_for_chunks(w, recv, peer, sender);
        return;
    case MLT_GPU_SEEN:
        break;
    }
    mlt_gpu_transfer t = {.to_type = recv->type, .to = recv->buf, .from = at, .bytes = recv->got};
    join(w, &t,
         (transfer){.recv = recv,
                    .peer = peer,
                    .name = sender,
                    .tells = SLOT_FIN,
                    .process = process,
                    .id = spot->id});
}

void mlt_p2p_device_fetch(mlt_worker *w, mlt_req *recv, mlt_peer *peer, uint64_t sender,
                          const mlt_gpu_spot *spot)
{
    slot_spot body = {.sender = sender, .receiver = (uintptr_t)recv};
    bool plain = mlt_p2p_device_is_plain(recv->type);
    if (plain && process_of(w, w->index) < process_of(w, peer->worker)) {
        fetch_here(w, recv, peer, sender, spot);
    } else if (plain && mlt_gpu_show(recv->buf, &body.spot)) {
        recv->stage = STAGE_MOVING;
        recv->moved = 0;
        mlt_p2p_control_with(w, peer, SLOT_PUT, &body, sizeof body, 0, recv->got);
    } else {
        mlt_p2p_ask_for_chunks(w, recv, peer, sender);
    }
}

static void put_there(mlt_worker *w, mlt_req *send, mlt_peer *peer, uint64_t receiver,
                      const mlt_gpu_spot *spot)
{
    uint32_t process = process_of(w, peer->worker);
    void *at;
    switch (mlt_gpu_see(process, spot, &at)) {
    case MLT_GPU_UNSEEN:
        wait_for_key(w, send, peer, receiver, spot);
        return;
    case MLT_GPU_REFUSED:
        w->counts.copies.refused += 2 * send->total; // of both sides
        mlt_p2p_copied_chunks_there(w, send->total);
        mlt_p2p_send_in_chunks(w, send, receiver, send->total);
        return;
    case MLT_GPU_SEEN:
        break;
    }
    mlt_gpu_transfer t = {
        .to = at, .from_type = send->type, .from = send->buf, .bytes = send->total};
    join(w, &t,
         (transfer){.send = send,
                    .peer = peer,
                    .name = receiver,
                    .tells = SLOT_DONE,
                    .process = process,
                    .id = spot->id});
}

void mlt_p2p_device_put(mlt_worker *w, mlt_peer *peer, mlt_req *send, const mlt_slot *slot)
{
    slot_spot body;
    memcpy(&body, slot->payload, sizeof body);
    send->total = slot->bytes; // what the receiver has room for
    put_there(w, send, peer, body.receiver, &body.spot);
}

void mlt_p2p_device_done(const mlt_slot *slot)
{
    slot_names names;
    memcpy(&names, slot->payload, sizeof names);
    mlt_req *recv = (mlt_req *)(uintptr_t)names.other;
    mlt_assert(recv->magic == MLT_REQ_MAGIC && recv->stage == STAGE_MOVING);
    mlt_req_complete(recv);
}

void mlt_p2p_device_show(mlt_worker *w, mlt_peer *peer, const mlt_slot *slot)
{
    slot_names names;
    memcpy(&names, slot->payload, sizeof names);
    mlt_gpu_key key = {.id = names.sender}; // no bytes: it cannot be opened
    (void)mlt_gpu_key_of(names.sender, &key);
    mlt_packet packet = {.kind = PACKET_KEY};
    mlt_p2p_packet(w, peer->worker, &packet, &key, sizeof key);
}

void mlt_p2p_device_key_came(mlt_worker *w, const mlt_peer *peer, const void *data)
{
    mlt_p2p_device *d = device_of(w);
    mlt_gpu_key key;
    memcpy(&key, data, sizeof key);
    stranger *known = NULL, **link = &d->strangers;
    while (*link) {
        stranger *s = *link;
        if (s->peer != peer || s->spot.id != key.id) {
            link = &s->next;
            continue;
        }
        *link = s->next;
        s->next = known; // the first that came is first again
        known = s;
    }
    if (known)
        mlt_gpu_open(process_of(w, peer->worker), &key, known->req->buf);
    for (stranger *s = known, *next; s; s = next) {
        next = s->next;
        if (s->req->kind == MLT_REQ_RECV)
            fetch_here(w, s->req, s->peer, s->name, &s->spot);
        else
            put_there(w, s->req, s->peer, s->name, &s->spot);
        free(s);
    }
}

// ---- the end

void mlt_p2p_device_free(mlt_worker *w)
{
    mlt_p2p_device *d = w->p2p->device;
    if (!d)
        return;
    for (group *g = d->unused, *next; g; g = next) {
        next = g->next;
        free(g->of);
        free(g);
    }
    free(d->waiting);
    free(d);
}
