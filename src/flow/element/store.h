// SPDX-License-Identifier: BSD-3-Clause
// Memory of elements for other processes: one memfd of the process, which its peers map. An element
// that was made there is handed over as it is. flow_give copies nothing, flow_send once, and the
// receiver reads and writes what the sender filled in.
//
//     the process's store   | block | block | block | ...            sizes as in large.h
//     a block               | prefix, 16 bytes | element, 48 bytes | data ...
//
// Only the process that owns the store takes a block; whichever process drops the element gives it
// back by clearing `taken`. So nothing goes back by messages: the owner looks for free blocks.
// Where the system does not let processes map each other's memory, there is no store, and elements
// go as messages.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "flow/element/element.h"

enum { MLT_FLOW_STORE_BYTES = 256 << 20 }; // addresses; what was never used costs nothing

// Before the header of every element that is not small.
typedef struct mlt_flow_prefix {
    _Atomic uint32_t taken;
    uint32_t stored; // 1: the element lies in a store
    uint64_t offset; // ... there
} mlt_flow_prefix;
_Static_assert(sizeof(mlt_flow_prefix) + sizeof(mlt_flow_element) == 64,
               "data begins with a line of the caches");

// A block for that many bytes of prefix, element and data; its prefix is filled in. NULL: there is
// no room, no store, or it is shorter than MLT_FLOW_LARGE. Any thread may call it.
mlt_flow_prefix *mlt_flow_store_take(uint64_t bytes);
// From any process that maps it.
static inline void mlt_flow_store_give(mlt_flow_prefix *block)
{
    // release: the owner's next take sees that nobody looks at the data any more.
    atomic_store_explicit(&block->taken, 0, memory_order_release);
}
// Whether the element lies in this process's own store.
bool mlt_flow_store_has(const mlt_flow_element *e);

// The descriptor of the store, which is made if need be; -1: there is none.
int mlt_flow_store_fd(void);
// Maps the store of another process; it stays mapped. NULL: the system refuses.
char *mlt_flow_store_map(pid_t process, int fd);
// The element at that offset of a peer's store. NULL: there is none.
mlt_flow_element *mlt_flow_store_at(char *base, uint64_t offset, uint64_t bytes);
