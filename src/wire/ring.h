// SPDX-License-Identifier: BSD-3-Clause
// A ring: one-way messages from one worker to one other, in memory that both can reach.
//
//     consumer line | producer line | slot 0 .. slot S-1 (64 bytes each) | data 0 .. data D-1
//
// A slot is one cache line that holds the envelope, up to 32 bytes of payload, and the stamp that
// says that it is full: a small message is one line transfer. Longer payload lies in the data area,
// contiguous and 64-byte aligned; what does not fit before the end starts at 0 again, and both
// sides compute that skip from the length alone.
//
// The stamp of position p is its lap, p / S + 1. Slots hold nothing but messages, so an old slot
// always shows an older lap and payload can never be taken for a stamp. The consumer frees by
// publishing how many slots and data units it has consumed, some at a time: the line with these
// counts moves rarely.
//
// One thread produces, one consumes. tx and rx are the private halves of the two sides.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "boot/job.h"
#include "os/jitter.h"

enum { MLT_SLOT_PAYLOAD = 32, MLT_DATA_UNIT = 64, MLT_RING_SHARES = 7 };

typedef struct mlt_slot {
    _Atomic uint32_t stamp;
    uint8_t kind; // the user of the ring says what these mean
    uint8_t flags;
    uint16_t type;
    uint32_t context;
    int32_t tag;
    int32_t src, dst;
    uint64_t bytes;
    unsigned char payload[MLT_SLOT_PAYLOAD];
} mlt_slot;
_Static_assert(sizeof(mlt_slot) == MLT_SLOT_BYTES, "a slot is one cache line");

typedef struct mlt_ring {
    // Consumer's line.
    _Alignas(64) _Atomic uint32_t slots_freed; // counts, not indices; they wrap
    _Atomic uint32_t units_freed;
    _Atomic uint32_t attended; // 1: the consumer looks at this ring; 0 (at first too): tell it
    _Atomic uint64_t backlog;  // bytes of messages from this ring that wait for a receive
    // Producer's line.
    _Alignas(64) _Atomic uint32_t starved; // 1: the producer waits for room: wake it
    // Both sides': messages of this direction that both copy at the same time (p2p/direct.c).
    _Atomic uint64_t shares[MLT_RING_SHARES];
} mlt_ring;
_Static_assert(sizeof(mlt_ring) == MLT_LINE, "the job's layout counts on it");

typedef struct mlt_ring_tx {
    mlt_ring *ring;
    mlt_slot *slots;
    unsigned char *data;
    uint32_t slot_mask, slot_shift;
    uint32_t units;                    // of the data area, power of two
    uint32_t tail;                     // next slot position
    uint32_t unit_tail;                // next data unit
    uint32_t slots_freed, units_freed; // last seen
} mlt_ring_tx;

typedef struct mlt_ring_rx {
    mlt_ring *ring;
    mlt_slot *slots;
    const unsigned char *data;
    uint32_t slot_mask, slot_shift;
    uint32_t units;
    uint32_t head, unit_head;
    uint32_t slots_published, units_published;
} mlt_ring_rx;

// Memory that a ring of this geometry needs; slots and data_bytes are powers of two.
static inline uint64_t mlt_ring_size(uint32_t slots, uint32_t data_bytes)
{
    return sizeof(mlt_ring) + (uint64_t)slots * MLT_SLOT_BYTES + data_bytes;
}

// Each side opens its half over zeroed memory, before the first message.
void mlt_ring_open_tx(mlt_ring_tx *tx, void *memory, uint32_t slots, uint32_t data_bytes);
void mlt_ring_open_rx(mlt_ring_rx *rx, void *memory, uint32_t slots, uint32_t data_bytes);

static inline uint32_t mlt_ring_units(uint64_t bytes)
{
    return (uint32_t)((bytes + MLT_DATA_UNIT - 1) / MLT_DATA_UNIT);
}

// The data units that a payload takes at `at`, the skip to the start included.
static inline uint32_t mlt_ring_take(uint32_t at, uint32_t want, uint32_t units)
{
    uint32_t to_end = units - (at & (units - 1));
    return want <= to_end ? want : to_end + want;
}

bool mlt_ring_refresh(mlt_ring_tx *tx, uint32_t units_needed) MLT_COLD;

// The next slot to fill, or NULL if the ring is full. With units > 0 *data is where that payload
// goes.
static inline mlt_slot *mlt_ring_reserve(mlt_ring_tx *tx, uint32_t units, unsigned char **data)
{
    uint32_t take = units ? mlt_ring_take(tx->unit_tail, units, tx->units) : 0;
    if (MLT_UNLIKELY(tx->tail - tx->slots_freed > tx->slot_mask ||
                     tx->unit_tail + take - tx->units_freed > tx->units) &&
        !mlt_ring_refresh(tx, take))
        return NULL;
    if (units) {
        tx->unit_tail += take;
        *data = tx->data + (uint64_t)((tx->unit_tail - units) & (tx->units - 1)) * MLT_DATA_UNIT;
    }
    return &tx->slots[tx->tail & tx->slot_mask];
}

// Makes the reserved slot visible. release: pairs with the acquire in mlt_ring_peek.
static inline void mlt_ring_publish(mlt_ring_tx *tx, mlt_slot *slot)
{
    atomic_store_explicit(&slot->stamp, (tx->tail >> tx->slot_shift) + 1, memory_order_release);
    tx->tail++;
}

// True if the consumer must be told of what was just published. The stamp must be visible before
// the look. Lean: the consumer sees to that by a barrier on all cores (mlt_os_barrier). Otherwise
// the fence pairs with that of mlt_ring_attend's caller. (A fence makes every message wait for its
// line to arrive: it halves the message rate.)
static inline bool mlt_ring_is_cold(mlt_ring_tx *tx, bool membarrier)
{
    mlt_jitter();
    if (membarrier)
        atomic_signal_fence(memory_order_seq_cst);
    else
        atomic_thread_fence(memory_order_seq_cst);
    return atomic_load_explicit(&tx->ring->attended, memory_order_relaxed) == 0;
}

// The next message, or NULL.
static inline const mlt_slot *mlt_ring_peek(const mlt_ring_rx *rx)
{
    const mlt_slot *slot = &rx->slots[rx->head & rx->slot_mask];
    uint32_t lap = (rx->head >> rx->slot_shift) + 1;
    return atomic_load_explicit(&slot->stamp, memory_order_acquire) == lap ? slot : NULL;
}

// The payload in the data area of the message at hand.
static inline const unsigned char *mlt_ring_payload(const mlt_ring_rx *rx, uint32_t units)
{
    uint32_t end = rx->unit_head + mlt_ring_take(rx->unit_head, units, rx->units);
    return rx->data + (uint64_t)((end - units) & (rx->units - 1)) * MLT_DATA_UNIT;
}

// Publishes what was consumed; true if the producer waits for room and must be woken.
bool mlt_ring_give_back(mlt_ring_rx *rx);

// Done with the message at hand. True as mlt_ring_give_back.
static inline bool mlt_ring_consume(mlt_ring_rx *rx, uint32_t units)
{
    rx->head++;
    if (units)
        rx->unit_head += mlt_ring_take(rx->unit_head, units, rx->units);
    if (MLT_UNLIKELY(rx->head - rx->slots_published > rx->slot_mask / 8 ||
                     rx->unit_head - rx->units_published > rx->units / 8))
        return mlt_ring_give_back(rx);
    return false;
}

// The consumer begins to look, or stops. After it has stopped, and after a fence (the caller's, for
// any number of rings), it must look once more: a producer that did not see the flag has published
// before.
static inline void mlt_ring_attend(mlt_ring_rx *rx, bool attended)
{
    atomic_store_explicit(&rx->ring->attended, attended, memory_order_relaxed);
}
