// SPDX-License-Identifier: BSD-3-Clause
// An element of a queue: a payload with its header in front, so that modules hold plain pointers to
// their data and the library finds the rest.
//
//     | header (48 bytes) | data ...
//     ^ element           ^ what flow_dequeue gave
//
// Elements of up to MLT_FLOW_SMALL bytes come from the worker's pool. Larger ones have a prefix
// (store.h) and data that is aligned to 64 bytes. They come from malloc, from memory that the
// process keeps (large.h), or from its store, and any worker of the process may free them: between
// these only the pointer travels.
//
// refs: how many receivers on its worker share it (a Broadcast). A receiver that wants to write
// takes a copy, unless it is the last one (mlt_flow_element_own). Only the worker that has the
// element counts, so nothing is atomic. An element with several refs is copied when it leaves its
// worker.
//
// owner: the library (it is in a queue, on its way, or in a part), a module that made or kept it,
// or a module that dequeued it and has it until the next dequeue from that queue. So wrong use is
// found: what was given away is not given again.
#pragma once

#include <millet/flow.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"

enum {
    MLT_FLOW_SMALL = 208,
    MLT_FLOW_ELEMENT_MAGIC = 0x666c6f77, // odd, so no link of a pool's free objects is like it
};

#define MLT_FLOW_NO_LINE UINT32_MAX

typedef enum mlt_flow_owner {
    MLT_FLOW_LIBRARYS,
    MLT_FLOW_MODULES, // flow_new, flow_keep
    MLT_FLOW_LENT,    // dequeued
} mlt_flow_owner;

typedef struct mlt_flow_element {
    _Alignas(16) uint32_t magic; // MLT_FLOW_ELEMENT_MAGIC, something else once freed
    uint32_t refs;
    uint64_t bytes, room; // of the data; of the memory for it, as it was asked for
    uint8_t kind;         // flow_type
    bool small;
    uint8_t owner;        // mlt_flow_owner
    bool shared;          // lent to several receivers: lent_by is only one of their queues
    uint32_t line;        // by which it came from another worker, for its credit; or NO_LINE
    uint32_t value_bytes; // of a value; count is bytes / value_bytes
    uint32_t keeps;       // how many of those that share it keep it
    flow_queue *lent_by;  // the queue that it was dequeued from
} mlt_flow_element;
_Static_assert(sizeof(mlt_flow_element) == 48, "data are aligned to 16 bytes");

static inline void *mlt_flow_data(mlt_flow_element *e)
{
    return e + 1;
}

// The element of data that a module has. Ends the program with a message, in the name of `call`, if
// the data is not one of the library's elements, or was given away.
mlt_flow_element *mlt_flow_element_of(const void *data, const char *call);

// A new element: one ref, no line, the library's, kind FLOW_ANY, values of one byte. Never NULL:
// the program ends if memory is exhausted.
mlt_flow_element *mlt_flow_element_new(uint64_t bytes);
// The same in the process's store (store.h), if there is room.
mlt_flow_element *mlt_flow_element_stored(uint64_t bytes);
void mlt_flow_element_drop(mlt_flow_element *e); // one ref fewer
// e itself if it has one ref, else a copy (and one ref of e fewer).
mlt_flow_element *mlt_flow_element_own(mlt_flow_element *e);

// The pool for small ones.
void mlt_flow_elements_init(mlt_pool *pool);

// In memory that has room for it.
static inline mlt_flow_element *mlt_flow_element_begin(void *memory, uint64_t bytes, bool small)
{
    mlt_flow_element *e = memory;
    *e = (mlt_flow_element){.magic = MLT_FLOW_ELEMENT_MAGIC,
                            .refs = 1,
                            .bytes = bytes,
                            .room = bytes,
                            .small = small,
                            .line = MLT_FLOW_NO_LINE,
                            .value_bytes = 1};
    return e;
}

// The same as mlt_flow_element_new, for at most MLT_FLOW_SMALL bytes.
static inline mlt_flow_element *mlt_flow_element_small(mlt_pool *pool, uint64_t bytes)
{
    return mlt_flow_element_begin(mlt_pool_take(pool), bytes, true);
}
