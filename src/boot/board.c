// SPDX-License-Identifier: BSD-3-Clause
#include "boot/board.h"

mlt_board_entry *mlt_board_slot(mlt_job_board *board, uint64_t key, bool new)
{
    uint32_t at = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    for (uint32_t i = 0; i < MLT_JOB_BOARD_ENTRIES; i++) {
        mlt_board_entry *slot = &board->slots[(at + i) % MLT_JOB_BOARD_ENTRIES];
        uint64_t found = atomic_load_explicit(&slot->key, memory_order_acquire);
        // If another key takes it meanwhile, `found` is that one.
        if (!found && new &&atomic_compare_exchange_strong_explicit(
                          &slot->key, &found, key, memory_order_acq_rel, memory_order_acquire))
            return slot;
        if (found == key)
            return slot;
        if (!found)
            return NULL;
    }
    return NULL;
}

uint64_t mlt_board_word(mlt_job_board *board, uint64_t key)
{
    const mlt_board_entry *slot = mlt_board_slot(board, key, false);
    return slot ? atomic_load_explicit(&slot->word, memory_order_acquire) : 0;
}

bool mlt_board_write(mlt_job_board *board, uint64_t key, uint64_t word)
{
    mlt_board_entry *slot = mlt_board_slot(board, key, true);
    if (slot)
        atomic_store_explicit(&slot->word, word, memory_order_release);
    return slot != NULL;
}

bool mlt_board_looked(mlt_job *job, uint32_t change)
{
    for (uint32_t i = 0; i < job->local_workers; i++) {
        const mlt_job_worker *w = mlt_job_local_at(job, i);
        // acquire: pairs with mlt_outside_look.
        if (atomic_load_explicit(&w->rules_seen, memory_order_acquire) < change &&
            mlt_job_state_of(w) != MLT_WORKER_ENDED)
            return false;
    }
    return true;
}
