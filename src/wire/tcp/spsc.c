// SPDX-License-Identifier: BSD-3-Clause
#include "wire/tcp/spsc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "os/jitter.h"
#include "wire/frame.h"

mlt_spsc *mlt_spsc_new(uint64_t size)
{
    uint64_t bytes = (sizeof(mlt_spsc) + size + 63) & ~UINT64_C(63);
    mlt_spsc *queue = aligned_alloc(64, bytes);
    if (!queue)
        return NULL;
    memset(queue, 0, sizeof *queue);
    queue->size = size;
    atomic_init(&queue->skip_at, UINT64_MAX);
    return queue;
}

void mlt_spsc_free(mlt_spsc *queue)
{
    free(queue);
}

uint64_t mlt_spsc_publish_reference(mlt_spsc *queue, uint64_t bytes, const void *data,
                                    uint64_t data_bytes)
{
    uint64_t tail = atomic_load_explicit(&queue->reference_tail, memory_order_relaxed);
    uint64_t head = atomic_load_explicit(&queue->reference_head, memory_order_acquire);
    if (tail - head == MLT_SPSC_REFERENCES)
        return 0;
    uint64_t skipped = queue->skips ? queue->size - queue->offset : 0;
    queue->references[tail % MLT_SPSC_REFERENCES] = (mlt_spsc_reference){
        .at = atomic_load_explicit(&queue->tail, memory_order_relaxed) + skipped + bytes,
        .data = data,
        .bytes = data_bytes};
    // release: pairs with the acquire in mlt_spsc_pieces.
    atomic_store_explicit(&queue->reference_tail, tail + 1, memory_order_release);
    mlt_spsc_publish(queue, bytes);
    return tail + 1;
}

// ---- Bytes

// Where a consumer is.
typedef struct cursor {
    uint64_t head, offset, done, reference;
} cursor;

static cursor begin(const mlt_spsc *queue)
{
    return (cursor){.head = atomic_load_explicit(&queue->head, memory_order_relaxed),
                    .offset = queue->out_offset,
                    .done = queue->reference_done,
                    .reference = queue->reference_taken};
}

static const unsigned char zeros[8];

// The next piece of what was published up to `tail`; 0 bytes: none.
static struct iovec piece_at(const mlt_spsc *queue, cursor *c, uint64_t tail, uint64_t references)
{
    if (c->reference != references) {
        const mlt_spsc_reference *r = &queue->references[c->reference % MLT_SPSC_REFERENCES];
        if (r->at == c->head) {
            bool in_data = c->done < r->bytes;
            const unsigned char *at = in_data ? r->data + c->done : zeros;
            uint64_t n = in_data ? r->bytes - c->done : mlt_wire_frame_pad(r->bytes) - c->done;
            return (struct iovec){.iov_base = (void *)(uintptr_t)at, .iov_len = n};
        }
        if (r->at < tail)
            tail = r->at;
    }
    uint64_t skip_at = atomic_load_explicit(&queue->skip_at, memory_order_relaxed);
    if (skip_at == c->head && c->offset && c->head != tail) {
        c->head += queue->size - c->offset;
        c->offset = 0;
    }
    if (skip_at > c->head && skip_at < tail)
        tail = skip_at;
    return (struct iovec){.iov_base = (void *)(uintptr_t)(queue->memory + c->offset),
                          .iov_len = tail - c->head};
}

static void advance(const mlt_spsc *queue, cursor *c, uint64_t bytes, uint64_t references)
{
    const mlt_spsc_reference *r = &queue->references[c->reference % MLT_SPSC_REFERENCES];
    if (c->reference == references || r->at != c->head) {
        c->head += bytes;
        c->offset += bytes;
        return;
    }
    c->done += bytes;
}

// A reference that was taken as a whole, its padding too.
static void end_reference(const mlt_spsc *queue, cursor *c, uint64_t references)
{
    const mlt_spsc_reference *r = &queue->references[c->reference % MLT_SPSC_REFERENCES];
    if (c->reference != references && r->at == c->head && c->done == mlt_wire_frame_pad(r->bytes)) {
        c->reference++;
        c->done = 0;
    }
}

uint32_t mlt_spsc_pieces(const mlt_spsc *queue, struct iovec *pieces, uint32_t most)
{
    uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_acquire);
    uint64_t references = atomic_load_explicit(&queue->reference_tail, memory_order_acquire);
    // One that is not published yet may be seen: its frame is not.
    cursor c = begin(queue);
    uint32_t n = 0;
    while (n < most) {
        pieces[n] = piece_at(queue, &c, tail, references);
        if (pieces[n].iov_len == 0)
            break;
        advance(queue, &c, pieces[n++].iov_len, references);
        end_reference(queue, &c, references);
    }
    return n;
}

bool mlt_spsc_starves(const mlt_spsc *queue)
{
    mlt_jitter();
    // Pairs with the fence of a producer that raises `starved` and then looks once more.
    atomic_thread_fence(memory_order_seq_cst);
    return atomic_load_explicit(&queue->starved, memory_order_relaxed) != 0;
}

static bool give_back(mlt_spsc *queue, const cursor *c)
{
    queue->out_offset = c->offset;
    queue->reference_done = c->done;
    queue->reference_taken = c->reference;
    queue->reference_left = 0;
    // release: pairs with mlt_spsc_reserve and mlt_spsc_has_left.
    atomic_store_explicit(&queue->head, c->head, memory_order_release);
    atomic_store_explicit(&queue->reference_head, c->reference, memory_order_release);
    return mlt_spsc_starves(queue);
}

bool mlt_spsc_wrote(mlt_spsc *queue, uint64_t bytes)
{
    uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_acquire);
    uint64_t references = atomic_load_explicit(&queue->reference_tail, memory_order_acquire);
    cursor c = begin(queue);
    while (bytes) {
        struct iovec piece = piece_at(queue, &c, tail, references);
        uint64_t n = piece.iov_len < bytes ? piece.iov_len : bytes;
        advance(queue, &c, n, references);
        end_reference(queue, &c, references);
        bytes -= n;
    }
    return give_back(queue, &c);
}

bool mlt_spsc_drop(mlt_spsc *queue)
{
    uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_acquire);
    uint64_t references = atomic_load_explicit(&queue->reference_tail, memory_order_acquire);
    cursor c = begin(queue);
    for (;;) {
        struct iovec piece = piece_at(queue, &c, tail, references);
        if (piece.iov_len == 0)
            return give_back(queue, &c);
        advance(queue, &c, piece.iov_len, references);
        end_reference(queue, &c, references);
    }
}

// ---- Frames and their references

const mlt_wire_frame *mlt_spsc_front(mlt_spsc *queue, const mlt_spsc_reference **reference)
{
    const mlt_wire_frame *frame = mlt_spsc_peek(queue);
    *reference = NULL;
    // acquire: pairs with mlt_spsc_publish_reference. That of a frame that was seen is seen as well.
    if (!frame || queue->reference_taken ==
                      atomic_load_explicit(&queue->reference_tail, memory_order_acquire))
        return frame;
    const mlt_spsc_reference *next =
        &queue->references[queue->reference_taken % MLT_SPSC_REFERENCES];
    if (next->at ==
        atomic_load_explicit(&queue->head, memory_order_relaxed) + mlt_wire_frame_data_at(frame))
        *reference = next;
    return frame;
}

uint64_t mlt_spsc_take(mlt_spsc *queue, uint64_t bytes, bool has_reference)
{
    mlt_spsc_consume(queue, bytes);
    return has_reference ? ++queue->reference_taken : 0;
}

void mlt_spsc_leave(mlt_spsc *queue, uint64_t reference)
{
    uint64_t head = atomic_load_explicit(&queue->reference_head, memory_order_relaxed);
    if (reference <= head)
        return; // all were dropped
    queue->reference_left |= UINT32_C(1) << (reference - 1) % MLT_SPSC_REFERENCES;
    uint32_t bit;
    while (head != queue->reference_taken &&
           (bit = UINT32_C(1) << head % MLT_SPSC_REFERENCES, queue->reference_left & bit)) {
        queue->reference_left &= ~bit;
        head++;
    }
    // release: pairs with mlt_spsc_has_left.
    atomic_store_explicit(&queue->reference_head, head, memory_order_release);
}
