// SPDX-License-Identifier: BSD-3-Clause
#include "wire/ring.h"

#include "base/log.h"
#include "os/jitter.h"

static uint32_t log2_of(uint32_t n)
{
    mlt_assert(n != 0 && (n & (n - 1)) == 0);
    return (uint32_t)__builtin_ctz(n);
}

void mlt_ring_open_tx(mlt_ring_tx *tx, void *memory, uint32_t slots, uint32_t data_bytes)
{
    mlt_slot *first = (mlt_slot *)((char *)memory + sizeof(mlt_ring));
    *tx = (mlt_ring_tx){
        .ring = memory,
        .slots = first,
        .data = (unsigned char *)(first + slots),
        .slot_mask = slots - 1,
        .slot_shift = log2_of(slots),
        .units = data_bytes / MLT_DATA_UNIT,
    };
    mlt_assert(log2_of(tx->units) < 32);
}

void mlt_ring_open_rx(mlt_ring_rx *rx, void *memory, uint32_t slots, uint32_t data_bytes)
{
    mlt_slot *first = (mlt_slot *)((char *)memory + sizeof(mlt_ring));
    *rx = (mlt_ring_rx){
        .ring = memory,
        .slots = first,
        .data = (const unsigned char *)(first + slots),
        .slot_mask = slots - 1,
        .slot_shift = log2_of(slots),
        .units = data_bytes / MLT_DATA_UNIT,
    };
}

bool mlt_ring_refresh(mlt_ring_tx *tx, uint32_t units_needed)
{
    // acquire: the consumer has read the slots and data before it gave them back.
    tx->slots_freed = atomic_load_explicit(&tx->ring->slots_freed, memory_order_acquire);
    tx->units_freed = atomic_load_explicit(&tx->ring->units_freed, memory_order_acquire);
    return tx->tail - tx->slots_freed <= tx->slot_mask &&
           tx->unit_tail + units_needed - tx->units_freed <= tx->units;
}

bool mlt_ring_give_back(mlt_ring_rx *rx)
{
    rx->slots_published = rx->head;
    rx->units_published = rx->unit_head;
    atomic_store_explicit(&rx->ring->units_freed, rx->unit_head, memory_order_release);
    atomic_store_explicit(&rx->ring->slots_freed, rx->head, memory_order_release);
    mlt_jitter();
    // Pairs with the fence of a producer that raises `starved` and then looks for room once more.
    atomic_thread_fence(memory_order_seq_cst);
    return atomic_load_explicit(&rx->ring->starved, memory_order_relaxed) != 0;
}
