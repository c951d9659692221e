// SPDX-License-Identifier: BSD-3-Clause
// What a rank of a window shows to the ranks that can reach its memory: those of its process, and
// those of its host, which map it. One line, written by its owner before the window is there; later
// only the words of the locks change.
//
// A lock is held by any number of one class, or by one or many of the other:
//
//     a rank's own         SHARED: many; or EXCLUSIVE: one
//     that of a domain    ALL: many (MPI_Win_lock_all); or ONE: many (exclusive locks of its ranks)
//
// A domain is what shares memory: the workers of a host, or of a process if hosts do not share. A
// rank that locks another exclusively first takes ONE of that rank's domain, so that MPI_Win_lock_all
// asks each domain once, and not each rank.
//
// Those that must wait queue up, in the order in which they came, by nodes in their own descriptors. The
// one that unlocks takes as many off the queue as may have the lock now, counts for them, and tells
// their workers (packet WOKEN). Nobody depends on the rank whose lock it is.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum mlt_win_class { MLT_WIN_SHARED, MLT_WIN_EXCLUSIVE } mlt_win_class;
enum { MLT_WIN_ALL = MLT_WIN_SHARED, MLT_WIN_ONE = MLT_WIN_EXCLUSIVE }; // of a domain

enum { MLT_WIN_GRANTED = 0x80 }; // in a node's `want`: it has left its queue with the lock

// Who may change elements of a rank by accumulates (lock.h).
typedef enum mlt_win_guard_state {
    MLT_WIN_OPEN,    // everybody, one word at a time by the processor's instructions
    MLT_WIN_GUARDED, // whoever takes the guard; it is never open again
    MLT_WIN_HELD,    // the one that has taken it
} mlt_win_guard_state;

typedef struct mlt_win_lock {
    _Atomic uint64_t word;  // lock.c
    uint32_t head, tail;    // nodes that wait, while the word has the spin bit; 0: none
    _Atomic int32_t holder; // a rank's own: that of its last EXCLUSIVE one, for reports
    _Atomic uint32_t guard; // mlt_win_guard_state; unused in a domain's
} mlt_win_lock;

typedef struct mlt_win_descriptor {
    _Alignas(64) uint64_t base; // in the process that holds the memory
    uint64_t size;
    uint64_t unit; // bytes that displacements count
    mlt_win_lock lock;
    uint32_t next[2];    // of its two nodes
    uint8_t want[2];     // mlt_win_class, or MLT_WIN_GRANTED
    _Atomic bool device; // its memory is a device's (gpu/gpu.h); of a dynamic one, some was once
    uint8_t unused;
    _Atomic uint32_t lists; // how often attached memory has changed
} mlt_win_descriptor;
_Static_assert(sizeof(mlt_win_descriptor) == 64, "one line for each rank and window");

// Relaxed: whoever uses such memory has been told of it by what the program synchronises with.
static inline bool mlt_win_is_on_device(const mlt_win_descriptor *descriptor)
{
    return atomic_load_explicit(&descriptor->device, memory_order_relaxed);
}

// A node: 1 + 2 * rank, for the rank itself; and one more for those that its worker waits for on
// behalf of ranks that do not reach its memory.
static inline uint32_t mlt_win_node(int32_t rank, bool proxy)
{
    return 1 + 2 * (uint32_t)rank + proxy;
}

static inline int32_t mlt_win_node_rank(uint32_t node)
{
    return (int32_t)((node - 1) / 2);
}

static inline bool mlt_win_node_is_proxy(uint32_t node)
{
    return (node - 1) % 2;
}

// Where a worker's request and its answer meet (help.h).
typedef struct mlt_win_mailbox {
    _Alignas(64) _Atomic uint64_t word;
    uint32_t fault;           // mlt_win_fault
    _Atomic uint32_t refused; // the system does not let one reach the other's memory
    uint64_t done;            // bytes of a long accumulate that are done
    char answer[40];          // what was fetched
} mlt_win_mailbox;
_Static_assert(sizeof(mlt_win_mailbox) == 64, "word and answer move as one line");

// What a worker's part of a window begins with, before its descriptors.
typedef struct mlt_win_block {
    _Alignas(64) mlt_win_lock domain; // used in the block of the domain's first worker
    mlt_win_mailbox mailbox;
    _Alignas(
        64) _Atomic uint32_t changes; // the worker changes a word of an open descriptor (lock.h)
} mlt_win_block;
_Static_assert(sizeof(mlt_win_block) == 192, "descriptors follow");

enum { MLT_WIN_MOST_RANKS = 1 << 28 }; // fields of a lock's word
