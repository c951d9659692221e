// SPDX-License-Identifier: BSD-3-Clause
// A queue: frames from one thread to another of the same process, one after the other, each in one
// piece. What does not fit before the end of the memory begins at its start again.
//
//     worker ── queue ── whoever writes to the connection
//     whoever reads from the connection ── queue ── worker
//
// Positions count bytes, skipped ones included, and never wrap. References are data that lie
// elsewhere: the data of the frame that ends at that position. One thread produces and one consumes
// at a time; the consumer may change if a lock passes between.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { MLT_SPSC_REFERENCES = 16 };

typedef struct mlt_spsc_reference {
    uint64_t at; // position of the end of its frame
    const unsigned char *data;
    uint64_t bytes;
} mlt_spsc_reference;

typedef struct mlt_spsc {
    // Producer's.
    _Alignas(64) _Atomic uint64_t tail;
    _Atomic uint64_t skip_at; // where it began at the start again last; published by tail
    uint64_t head_seen;
    uint64_t offset;                 // of tail in the memory
    bool skips;                      // the frame that is being filled in begins at the start
    _Atomic uint32_t starved;        // 1: the producer waits for room: wake it
    _Atomic uint64_t reference_tail; // count
    mlt_spsc_reference references[MLT_SPSC_REFERENCES];
    // Consumer's.
    _Alignas(64) _Atomic uint64_t head;
    uint64_t out_offset;
    uint64_t reference_done; // bytes of the first reference that were taken
    uint64_t
        reference_taken; // count; those before it that were not read yet are not in reference_head
    uint32_t reference_left; // a bit for each of these that was read
    _Atomic uint64_t reference_head;
    uint64_t size;
    unsigned char memory[] __attribute__((aligned(64)));
} mlt_spsc;

// Of so many bytes, a multiple of 8; NULL: no memory.
mlt_spsc *mlt_spsc_new(uint64_t size);
void mlt_spsc_free(mlt_spsc *queue);

// ---- the producer

// Room for a frame, at most half of the queue; NULL: none now. The frame may be left out, or be
// shorter in the end.
static inline void *mlt_spsc_reserve(mlt_spsc *queue, uint64_t bytes)
{
    uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);
    queue->skips = bytes > queue->size - queue->offset;
    uint64_t take = queue->skips ? queue->size - queue->offset + bytes : bytes;
    if (MLT_UNLIKELY(tail + take - queue->head_seen > queue->size)) {
        // acquire: the consumer has read what lay there.
        queue->head_seen = atomic_load_explicit(&queue->head, memory_order_acquire);
        if (tail + take - queue->head_seen > queue->size)
            return NULL;
    }
    return queue->memory + (queue->skips ? 0 : queue->offset);
}

// The reserved frame has so many bytes: it can be seen.
static inline void mlt_spsc_publish(mlt_spsc *queue, uint64_t bytes)
{
    uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);
    if (queue->skips) {
        atomic_store_explicit(&queue->skip_at, tail, memory_order_relaxed);
        tail += queue->size - queue->offset;
        queue->offset = 0;
    }
    queue->offset += bytes;
    // release: pairs with the acquire in mlt_spsc_peek and mlt_spsc_pieces.
    atomic_store_explicit(&queue->tail, tail + bytes, memory_order_release);
}

// As publish; data that lie elsewhere follow the frame. The count of references after this one, or
// 0: no room for one more.
uint64_t mlt_spsc_publish_reference(mlt_spsc *queue, uint64_t bytes, const void *data,
                                    uint64_t data_bytes);

// Whether that reference, and so all before it, were taken. acquire: the consumer does not read
// its data any more.
static inline bool mlt_spsc_has_left(const mlt_spsc *queue, uint64_t reference)
{
    return atomic_load_explicit(&queue->reference_head, memory_order_acquire) >= reference;
}

// Whether some were not.
static inline bool mlt_spsc_refers(const mlt_spsc *queue)
{
    return !mlt_spsc_has_left(queue,
                              atomic_load_explicit(&queue->reference_tail, memory_order_relaxed));
}

// ---- either

static inline bool mlt_spsc_is_empty(const mlt_spsc *queue)
{
    return atomic_load_explicit(&queue->tail, memory_order_acquire) ==
               atomic_load_explicit(&queue->head, memory_order_relaxed) &&
           atomic_load_explicit(&queue->reference_head, memory_order_relaxed) ==
               atomic_load_explicit(&queue->reference_tail, memory_order_relaxed);
}

static inline bool mlt_spsc_has_no_frames(const mlt_spsc *queue)
{
    return atomic_load_explicit(&queue->tail, memory_order_acquire) ==
           atomic_load_explicit(&queue->head, memory_order_relaxed);
}

// ---- the consumer that takes frames

// The next frame, or NULL.
static inline const void *mlt_spsc_peek(mlt_spsc *queue)
{
    uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_acquire);
    uint64_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);
    if (tail == head)
        return NULL;
    if (atomic_load_explicit(&queue->skip_at, memory_order_relaxed) == head && queue->out_offset) {
        head += queue->size - queue->out_offset;
        queue->out_offset = 0;
        atomic_store_explicit(&queue->head, head, memory_order_release);
    }
    return queue->memory + queue->out_offset;
}

static inline void mlt_spsc_consume(mlt_spsc *queue, uint64_t bytes)
{
    queue->out_offset += bytes;
    // release: pairs with mlt_spsc_reserve.
    atomic_store_explicit(&queue->head,
                          atomic_load_explicit(&queue->head, memory_order_relaxed) + bytes,
                          memory_order_release);
}

// ---- the consumer that takes bytes

struct iovec;

// Up to `most` pieces of what is to be written, references included, and after each reference zeros
// up to a multiple of 8. Takes nothing.
uint32_t mlt_spsc_pieces(const mlt_spsc *queue, struct iovec *pieces, uint32_t most);

// So many of these bytes were written. True: the producer waits for room, or for its references.
bool mlt_spsc_wrote(mlt_spsc *queue, uint64_t bytes);

// Everything is dropped. True as above.
bool mlt_spsc_drop(mlt_spsc *queue);

// ---- the consumer that takes frames and their references

struct mlt_wire_frame;

// The next frame, or NULL; *reference: its data, NULL: they are in it, or it has none.
const struct mlt_wire_frame *mlt_spsc_front(mlt_spsc *queue, const mlt_spsc_reference **reference);

// That frame was taken, of which so many bytes are in the queue, and its reference, if it has one: the
// count of references after it, otherwise 0. Its data are not read yet.
uint64_t mlt_spsc_take(mlt_spsc *queue, uint64_t bytes, bool has_reference);

// The data of a reference that was taken were read. Any order.
void mlt_spsc_leave(mlt_spsc *queue, uint64_t reference);

// After any of these: whether the producer waits for room, or for its references.
bool mlt_spsc_starves(const mlt_spsc *queue);
