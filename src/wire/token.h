// SPDX-License-Identifier: BSD-3-Clause
// Names by which another host refers to what waits for its answer here: a request, and perhaps the
// memory that its data belong to. A name that was made up, or was dropped, is found out.
//
// One worker owns the table. Any thread that carries for it may land data meanwhile, one thread at a
// time for each name.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

typedef struct mlt_named {
    void *owner;           // what it stands for
    unsigned char *memory; // NULL: none
    uint64_t bytes;        // of memory
    uint64_t landed;       // of these, so many are under way or there: the carrier's
    uint32_t peer;         // the worker that may use it
    uint32_t index;        // place in the table; of a free one: 1 and the next free one
    _Atomic uint32_t generation;
} mlt_named;

enum { MLT_TOKEN_FIRST = 64, MLT_TOKEN_BLOCKS = 24 };

typedef struct mlt_tokens {
    // Block k has MLT_TOKEN_FIRST << k places, and never moves.
    _Atomic(mlt_named *) blocks[MLT_TOKEN_BLOCKS];
    uint32_t free;  // 1 and the first free place; 0: none
    uint32_t count; // places in use, or used before
} mlt_tokens;

void mlt_tokens_fini(mlt_tokens *names);

// The owner's. Never 0.
uint64_t mlt_token_give(mlt_tokens *names, void *owner, uint32_t peer, void *memory,
                        uint64_t bytes);

// NULL: no such name, or another worker's. Any thread.
mlt_named *mlt_token_find(mlt_tokens *names, uint64_t name, uint32_t peer);

// The owner's: what the name stands for, which is no name from now on. NULL: no such name.
void *mlt_token_take(mlt_tokens *names, uint64_t name, uint32_t peer);

// The carrier's: where data of that length go; NULL: they do not follow on what landed before, or
// there is no memory for them.
unsigned char *mlt_token_land(mlt_named *named, uint64_t offset, uint64_t bytes);
