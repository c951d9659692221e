// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/bounce.h"

#include <stdlib.h>

#include "base/memory.h"
#include "gpu/batch.h"
#include "gpu/gpu.h"
#include "os/os.h"
#include "p2p/copied.h"
#include "p2p/device.h"

enum { DRY_NS = 1000000 }; // so long a send waits while no buffer is given back

// Bytes [at, at + bytes) of a message's packed form.
typedef struct buffer {
    struct buffer *next;   // of the message, in its order; or that nobody uses
    mlt_gpu_batch *batch;  // the copy that is under way; NULL: none
    unsigned char *memory; // [MLT_BOUNCE_BYTES]; NULL until it is needed
    uint64_t at, bytes;
    bool tried, pinned; // tried: to pin it
} buffer;

// A message that has buffers. Of a receive, the last one may be on its way to be filled from chunks.
typedef struct flow {
    mlt_req *req; // NULL: there is no such message
    buffer *first, *last;
    uint32_t count;
} flow;

typedef enum use { SENDS, RECEIVES, USES } use;

typedef struct side {
    buffer buffers[MLT_BOUNCE_BUFFERS];
    flow flows[MLT_BOUNCE_BUFFERS]; // enough: each has a buffer
    buffer *unused;
    uint32_t copies; // under way
} side;

struct mlt_p2p_bounce {
    mlt_work work; // in the worker's list while there is anything to look for
    bool works;
    mlt_worker *worker;
    side sides[USES];
    bool waits;      // a send has waited for a buffer since the last step
    uint64_t dry_ns; // since when there is none for it; 0: one was given back since
};

// ---- buffers

static buffer *take_unused(side *s)
{
    buffer *b = s->unused;
    if (!b || (!b->memory && !(b->memory = mlt_os_map(MLT_BOUNCE_BYTES))))
        return NULL;
    s->unused = b->next;
    b->next = NULL;
    b->at = b->bytes = 0;
    return b;
}

static flow *find(side *s, const mlt_req *req)
{
    for (uint32_t i = 0; i < MLT_BOUNCE_BUFFERS; i++)
        if (s->flows[i].req == req)
            return &s->flows[i];
    return NULL;
}

// Another buffer for the message, whose flow is NULL if it has none so far. NULL: there is none.
static buffer *add_buffer(side *s, flow **at, mlt_req *req)
{
    buffer *b = take_unused(s);
    if (!b)
        return NULL;
    flow *f = *at;
    if (!f) {
        f = *at = find(s, NULL);
        *f = (flow){.req = req};
    }
    if (f->last)
        f->last->next = b;
    else
        f->first = b;
    f->last = b;
    f->count++;
    return b;
}

// The first buffer has served its message, and the flow ends if it was the last one.
static void drop_first(mlt_p2p_bounce *bounce, side *s, flow *f)
{
    buffer *b = f->first;
    f->first = b->next;
    if (!f->first)
        *f = (flow){0};
    else
        f->count--;
    b->next = s->unused;
    s->unused = b;
    bounce->dry_ns = 0;
}

// ---- copies

static bool end_copy(side *s, buffer *b)
{
    if (!b->batch || !mlt_gpu_batch_is_done(b->batch))
        return false;
    mlt_gpu_batch_close(b->batch);
    b->batch = NULL;
    s->copies--;
    return true;
}

static void end_fills(side *s)
{
    for (uint32_t i = 0; i < MLT_BOUNCE_BUFFERS && s->copies; i++) {
        buffer *b = s->flows[i].first;
        while (b && (!b->batch || end_copy(s, b)))
            b = b->next;
    }
}

static void end_receives(mlt_p2p_bounce *bounce, side *s)
{
    for (uint32_t i = 0; i < MLT_BOUNCE_BUFFERS && s->copies; i++) {
        flow *f = &s->flows[i];
        mlt_req *recv = f->req;
        while (f->first && end_copy(s, f->first))
            drop_first(bounce, s, f);
        if (recv && !f->req && recv->moved == recv->got)
            mlt_req_complete(recv);
    }
}

static void look_at_copies(mlt_work *self)
{
    mlt_p2p_bounce *bounce = mlt_container_of(self, mlt_p2p_bounce, work);
    end_fills(&bounce->sides[SENDS]);
    end_receives(bounce, &bounce->sides[RECEIVES]);
    bounce->works = bounce->waits || bounce->sides[SENDS].copies || bounce->sides[RECEIVES].copies;
    bounce->waits = false;
    if (bounce->works)
        mlt_worker_again(bounce->worker, self);
}

// What is under way is looked at in every step from now on, and the worker does not sleep.
static void look_soon(mlt_p2p_bounce *bounce)
{
    if (!bounce->works)
        mlt_worker_later(bounce->worker, &bounce->work);
    bounce->works = true;
}

static void start_copy(mlt_p2p_bounce *bounce, side *s, buffer *b, mlt_gpu_transfer *t)
{
    t->bytes = b->bytes;
    mlt_p2p_device_look(t);
    if (!b->tried) {
        b->tried = true;
        b->pinned = mlt_gpu_pin(b->memory, MLT_BOUNCE_BYTES);
    }
    b->batch = mlt_gpu_batch_open(t);
    mlt_gpu_batch_add(b->batch, t);
    mlt_gpu_batch_start(b->batch);
    s->copies++;
    look_soon(bounce);
}

static mlt_p2p_bounce *bounce_of(mlt_worker *w)
{
    if (w->p2p->bounce)
        return w->p2p->bounce;
    mlt_p2p_bounce *bounce = w->p2p->bounce = mlt_xcalloc(1, sizeof *bounce);
    bounce->worker = w;
    bounce->work.run = look_at_copies;
    for (use u = SENDS; u < USES; u++)
        for (uint32_t i = 0; i < MLT_BOUNCE_BUFFERS; i++) {
            buffer *b = &bounce->sides[u].buffers[i];
            b->next = bounce->sides[u].unused;
            bounce->sides[u].unused = b;
        }
    return bounce;
}

// ---- sends

// There is no buffer for it.
static uint64_t wait_for_buffer(mlt_p2p_bounce *bounce, const mlt_req *send, uint64_t part)
{
    uint64_t now = mlt_os_now_ns(), left = send->total - send->moved;
    if (!bounce->dry_ns)
        bounce->dry_ns = now;
    if (now - bounce->dry_ns >= DRY_NS)
        return send->moved + (left < part ? left : part);
    bounce->waits = true;
    look_soon(bounce);
    return send->moved;
}

uint64_t mlt_p2p_bounce_reach(mlt_worker *w, const mlt_peer *peer, mlt_req *send)
{
    uint64_t part = mlt_peer_is_far(peer) ? MLT_WIRE_FRAME_MOST : w->wire->chunk_bytes;
    if (send->total <= part || send->moved == send->total)
        return send->total;
    mlt_p2p_bounce *bounce = bounce_of(w);
    side *s = &bounce->sides[SENDS];
    flow *f = find(s, send);
    uint64_t at = f ? f->last->at + f->last->bytes : send->moved;
    while (at < send->total && (!f || f->count < MLT_BOUNCE_EACH)) {
        buffer *b = add_buffer(s, &f, send);
        if (!b)
            break;
        uint64_t left = send->total - at;
        b->at = at;
        b->bytes = left < MLT_BOUNCE_BYTES ? left : MLT_BOUNCE_BYTES;
        at += b->bytes;
        start_copy(
            bounce, s, b,
            &(mlt_gpu_transfer){
                .to = b->memory, .from_type = send->type, .from = send->buf, .from_at = b->at});
    }
    if (!f)
        return wait_for_buffer(bounce, send, part);
    return f->first->batch ? send->moved : f->first->at + f->first->bytes;
}

void mlt_p2p_bounce_take(mlt_worker *w, const mlt_req *send, void *to, uint64_t bytes)
{
    mlt_p2p_bounce *bounce = w->p2p->bounce;
    side *s = bounce ? &bounce->sides[SENDS] : NULL;
    flow *f = s ? find(s, send) : NULL;
    if (!f) {
        mlt_p2p_pack_piece(send, send->moved, to, bytes);
        return;
    }
    const buffer *b = f->first;
    uint64_t inside = send->moved - b->at;
    mlt_assert(!b->batch && inside + bytes <= b->bytes);
    memcpy(to, b->memory + inside, bytes);
    if (inside + bytes == b->bytes)
        drop_first(bounce, s, f);
}

// ---- receives

// Waits until a copy has ended: of that message, or of any. False: none is under way.
static bool await_copy(mlt_p2p_bounce *bounce, side *s, const flow *f)
{
    for (uint32_t i = 0; !f && i < MLT_BOUNCE_BUFFERS; i++)
        if (s->flows[i].req && s->flows[i].first->batch)
            f = &s->flows[i];
    if (!f)
        return false;
    mlt_gpu_batch_wait(f->first->batch);
    end_receives(bounce, s);
    return true;
}

// The buffer into which the next bytes of the message go. NULL: there is none.
static buffer *filled_now(mlt_p2p_bounce *bounce, side *s, mlt_req *recv)
{
    for (;;) {
        flow *f = find(s, recv);
        if (f && !f->last->batch)
            return f->last;
        buffer *b = !f || f->count < MLT_BOUNCE_EACH ? add_buffer(s, &f, recv) : NULL;
        if (b) {
            b->at = recv->moved;
            return b;
        }
        if (!await_copy(bounce, s, f))
            return NULL;
    }
}

static void put_in_buffers(mlt_p2p_bounce *bounce, mlt_req *recv, const unsigned char *data,
                           uint64_t bytes)
{
    side *s = &bounce->sides[RECEIVES];
    for (uint64_t n; bytes; bytes -= n, data += n) {
        buffer *b = filled_now(bounce, s, recv);
        uint64_t room = b ? MLT_BOUNCE_BYTES - b->bytes : bytes;
        n = bytes < room ? bytes : room;
        if (!b) {
            mlt_p2p_unpack_piece(recv, recv->moved, data, n);
            recv->moved += n;
            continue;
        }
        memcpy(b->memory + b->bytes, data, n);
        b->bytes += n;
        recv->moved += n;
        if (n == room || recv->moved == recv->got)
            start_copy(
                bounce, s, b,
                &(mlt_gpu_transfer){
                    .to_type = recv->type, .to = recv->buf, .to_at = b->at, .from = b->memory});
    }
}

bool mlt_p2p_bounce_put(mlt_worker *w, mlt_req *recv, const void *data, uint64_t bytes)
{
    if (bytes == recv->got) {
        mlt_p2p_unpack_piece(recv, recv->moved, data, bytes);
        recv->moved += bytes;
        return true;
    }
    mlt_p2p_bounce *bounce = bounce_of(w);
    put_in_buffers(bounce, recv, data, bytes);
    return !find(&bounce->sides[RECEIVES], recv);
}

// ---- the end

// A copy that is under way, of a rank that has not waited for it, keeps its buffer.
static void free_buffer(buffer *b)
{
    if (!b->memory || b->batch)
        return;
    if (!b->pinned || mlt_gpu_unpin(b->memory))
        mlt_os_unmap(b->memory, MLT_BOUNCE_BYTES);
}

void mlt_p2p_bounce_free(mlt_worker *w)
{
    mlt_p2p_bounce *bounce = w->p2p->bounce;
    if (!bounce)
        return;
    for (use u = SENDS; u < USES; u++)
        for (uint32_t i = 0; i < MLT_BOUNCE_BUFFERS; i++)
            free_buffer(&bounce->sides[u].buffers[i]);
    free(bounce);
}
