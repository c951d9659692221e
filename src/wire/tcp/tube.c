// SPDX-License-Identifier: BSD-3-Clause
#include "wire/tcp/tube.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "os/jitter.h"
#include "wire/frame.h"

mlt_tube *mlt_tube_new(uint64_t size)
{
    uint64_t bytes = (sizeof(mlt_tube) + size + 63) & ~UINT64_C(63);
    mlt_tube *tube = aligned_alloc(64, bytes);
    if (!tube)
        return NULL;
    memset(tube, 0, sizeof *tube);
    tube->size = size;
    atomic_init(&tube->skip_at, UINT64_MAX);
    return tube;
}

void mlt_tube_free(mlt_tube *tube)
{
    free(tube);
}

uint64_t mlt_tube_publish_reference(mlt_tube *tube, uint64_t bytes, const void *data,
                                    uint64_t data_bytes)
{
    uint64_t tail = atomic_load_explicit(&tube->reference_tail, memory_order_relaxed);
    uint64_t head = atomic_load_explicit(&tube->reference_head, memory_order_acquire);
    if (tail - head == MLT_TUBE_REFERENCES)
        return 0;
    uint64_t skipped = tube->skips ? tube->size - tube->offset : 0;
    tube->references[tail % MLT_TUBE_REFERENCES] = (mlt_tube_reference){
        .at = atomic_load_explicit(&tube->tail, memory_order_relaxed) + skipped + bytes,
        .data = data,
        .bytes = data_bytes};
    // release: pairs with the acquire in mlt_tube_pieces.
    atomic_store_explicit(&tube->reference_tail, tail + 1, memory_order_release);
    mlt_tube_publish(tube, bytes);
    return tail + 1;
}

// ---- Bytes

// Where a consumer is.
typedef struct cursor {
    uint64_t head, offset, done, reference;
} cursor;

static cursor begin(const mlt_tube *tube)
{
    return (cursor){.head = atomic_load_explicit(&tube->head, memory_order_relaxed),
                    .offset = tube->out_offset,
                    .done = tube->reference_done,
                    .reference = tube->reference_taken};
}

static const unsigned char zeros[8];

// The next piece of what was published up to `tail`; 0 bytes: none.
static struct iovec piece_at(const mlt_tube *tube, cursor *c, uint64_t tail, uint64_t references)
{
    if (c->reference != references) {
        const mlt_tube_reference *r = &tube->references[c->reference % MLT_TUBE_REFERENCES];
        if (r->at == c->head) {
            bool in_data = c->done < r->bytes;
            const unsigned char *at = in_data ? r->data + c->done : zeros;
            uint64_t n = in_data ? r->bytes - c->done : mlt_wire_frame_pad(r->bytes) - c->done;
            return (struct iovec){.iov_base = (void *)(uintptr_t)at, .iov_len = n};
        }
        if (r->at < tail)
            tail = r->at;
    }
    uint64_t skip_at = atomic_load_explicit(&tube->skip_at, memory_order_relaxed);
    if (skip_at == c->head && c->offset && c->head != tail) {
        c->head += tube->size - c->offset;
        c->offset = 0;
    }
    if (skip_at > c->head && skip_at < tail)
        tail = skip_at;
    return (struct iovec){.iov_base = (void *)(uintptr_t)(tube->memory + c->offset),
                          .iov_len = tail - c->head};
}

static void advance(const mlt_tube *tube, cursor *c, uint64_t bytes, uint64_t references)
{
    const mlt_tube_reference *r = &tube->references[c->reference % MLT_TUBE_REFERENCES];
    if (c->reference == references || r->at != c->head) {
        c->head += bytes;
        c->offset += bytes;
        return;
    }
    c->done += bytes;
}

// A reference that was taken as a whole, its padding too.
static void end_reference(const mlt_tube *tube, cursor *c, uint64_t references)
{
    const mlt_tube_reference *r = &tube->references[c->reference % MLT_TUBE_REFERENCES];
    if (c->reference != references && r->at == c->head && c->done == mlt_wire_frame_pad(r->bytes)) {
        c->reference++;
        c->done = 0;
    }
}

uint32_t mlt_tube_pieces(const mlt_tube *tube, struct iovec *pieces, uint32_t most)
{
    uint64_t tail = atomic_load_explicit(&tube->tail, memory_order_acquire);
    uint64_t references = atomic_load_explicit(&tube->reference_tail, memory_order_acquire);
    // One that is not published yet may be seen: its frame is not.
    cursor c = begin(tube);
    uint32_t n = 0;
    while (n < most) {
        pieces[n] = piece_at(tube, &c, tail, references);
        if (pieces[n].iov_len == 0)
            break;
        advance(tube, &c, pieces[n++].iov_len, references);
        end_reference(tube, &c, references);
    }
    return n;
}

bool mlt_tube_starves(const mlt_tube *tube)
{
    mlt_jitter();
    // Pairs with the fence of a producer that raises `starved` and then looks once more.
    atomic_thread_fence(memory_order_seq_cst);
    return atomic_load_explicit(&tube->starved, memory_order_relaxed) != 0;
}

static bool give_back(mlt_tube *tube, const cursor *c)
{
    tube->out_offset = c->offset;
    tube->reference_done = c->done;
    tube->reference_taken = c->reference;
    tube->reference_left = 0;
    // release: pairs with mlt_tube_reserve and mlt_tube_has_left.
    atomic_store_explicit(&tube->head, c->head, memory_order_release);
    atomic_store_explicit(&tube->reference_head, c->reference, memory_order_release);
    return mlt_tube_starves(tube);
}

bool mlt_tube_wrote(mlt_tube *tube, uint64_t bytes)
{
    uint64_t tail = atomic_load_explicit(&tube->tail, memory_order_acquire);
    uint64_t references = atomic_load_explicit(&tube->reference_tail, memory_order_acquire);
    cursor c = begin(tube);
    while (bytes) {
        struct iovec piece = piece_at(tube, &c, tail, references);
        uint64_t n = piece.iov_len < bytes ? piece.iov_len : bytes;
        advance(tube, &c, n, references);
        end_reference(tube, &c, references);
        bytes -= n;
    }
    return give_back(tube, &c);
}

bool mlt_tube_drop(mlt_tube *tube)
{
    uint64_t tail = atomic_load_explicit(&tube->tail, memory_order_acquire);
    uint64_t references = atomic_load_explicit(&tube->reference_tail, memory_order_acquire);
    cursor c = begin(tube);
    for (;;) {
        struct iovec piece = piece_at(tube, &c, tail, references);
        if (piece.iov_len == 0)
            return give_back(tube, &c);
        advance(tube, &c, piece.iov_len, references);
        end_reference(tube, &c, references);
    }
}

// ---- Frames and their references

const mlt_wire_frame *mlt_tube_front(mlt_tube *tube, const mlt_tube_reference **reference)
{
    const mlt_wire_frame *frame = mlt_tube_peek(tube);
    *reference = NULL;
    // acquire: pairs with mlt_tube_publish_reference. That of a frame that was seen is seen as well.
    if (!frame ||
        tube->reference_taken == atomic_load_explicit(&tube->reference_tail, memory_order_acquire))
        return frame;
    const mlt_tube_reference *next = &tube->references[tube->reference_taken % MLT_TUBE_REFERENCES];
    if (next->at ==
        atomic_load_explicit(&tube->head, memory_order_relaxed) + mlt_wire_frame_data_at(frame))
        *reference = next;
    return frame;
}

uint64_t mlt_tube_take(mlt_tube *tube, uint64_t bytes, bool has_reference)
{
    mlt_tube_consume(tube, bytes);
    return has_reference ? ++tube->reference_taken : 0;
}

void mlt_tube_leave(mlt_tube *tube, uint64_t reference)
{
    uint64_t head = atomic_load_explicit(&tube->reference_head, memory_order_relaxed);
    if (reference <= head)
        return; // all were dropped
    tube->reference_left |= UINT32_C(1) << (reference - 1) % MLT_TUBE_REFERENCES;
    uint32_t bit;
    while (head != tube->reference_taken &&
           (bit = UINT32_C(1) << head % MLT_TUBE_REFERENCES, tube->reference_left & bit)) {
        tube->reference_left &= ~bit;
        head++;
    }
    // release: pairs with mlt_tube_has_left.
    atomic_store_explicit(&tube->reference_head, head, memory_order_release);
}
