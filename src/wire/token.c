// SPDX-License-Identifier: BSD-3-Clause
#include "wire/token.h"

#include <stdlib.h>

#include "base/memory.h"

// Place i lies in block k at i - (FIRST << k) + FIRST.
static uint32_t block_of(uint32_t index)
{
    return 31 - (uint32_t)__builtin_clz(index / MLT_TOKEN_FIRST + 1);
}

static mlt_named *place_at(mlt_tokens *names, uint32_t index)
{
    uint32_t k = block_of(index), first = MLT_TOKEN_FIRST * ((UINT32_C(1) << k) - 1);
    // acquire: pairs with the release in `grow`.
    mlt_named *block =
        k < MLT_TOKEN_BLOCKS ? atomic_load_explicit(&names->blocks[k], memory_order_acquire) : NULL;
    return block ? &block[index - first] : NULL;
}

void mlt_tokens_fini(mlt_tokens *names)
{
    for (uint32_t k = 0; k < MLT_TOKEN_BLOCKS; k++)
        free(atomic_load_explicit(&names->blocks[k], memory_order_relaxed));
}

static MLT_COLD void grow(mlt_tokens *names, uint32_t k)
{
    if (k >= MLT_TOKEN_BLOCKS)
        mlt_no_room("%u messages to other hosts that wait for an answer", names->count);
    mlt_named *block = mlt_xcalloc((size_t)MLT_TOKEN_FIRST << k, sizeof *block);
    atomic_store_explicit(&names->blocks[k], block, memory_order_release);
}

static mlt_named *new_place(mlt_tokens *names)
{
    if (names->free) {
        mlt_named *old = place_at(names, names->free - 1);
        uint32_t index = names->free - 1;
        names->free = old->index;
        old->index = index;
        return old;
    }
    uint32_t index = names->count++;
    if (!place_at(names, index))
        grow(names, block_of(index));
    mlt_named *named = place_at(names, index);
    named->index = index;
    atomic_init(&named->generation, 1);
    return named;
}

uint64_t mlt_token_give(mlt_tokens *names, void *owner, uint32_t peer, void *memory, uint64_t bytes)
{
    mlt_named *named = new_place(names);
    named->owner = owner;
    named->peer = peer;
    named->memory = memory;
    named->bytes = bytes;
    named->landed = 0;
    uint32_t generation = atomic_load_explicit(&named->generation, memory_order_relaxed) + 1;
    if (generation == 0) // after 2^31 names of this place
        generation = 2;
    // release: whoever finds the name sees the rest; pairs with mlt_token_find.
    atomic_store_explicit(&named->generation, generation, memory_order_release);
    return (uint64_t)generation << 32 | named->index;
}

mlt_named *mlt_token_find(mlt_tokens *names, uint64_t name, uint32_t peer)
{
    uint32_t generation = (uint32_t)(name >> 32);
    mlt_named *named = place_at(names, (uint32_t)name);
    // Even generations are names. (Zeroed places have generation 0, which nobody gives.)
    if (!named || generation == 0 || generation % 2 ||
        atomic_load_explicit(&named->generation, memory_order_acquire) != generation)
        return NULL;
    return named->peer == peer ? named : NULL;
}

void *mlt_token_take(mlt_tokens *names, uint64_t name, uint32_t peer)
{
    mlt_named *named = mlt_token_find(names, name, peer);
    if (!named)
        return NULL;
    uint32_t generation = (uint32_t)(name >> 32) + 1;
    atomic_store_explicit(&named->generation, generation, memory_order_relaxed);
    uint32_t index = named->index;
    named->index = names->free;
    names->free = index + 1;
    return named->owner;
}

unsigned char *mlt_token_land(mlt_named *named, uint64_t offset, uint64_t bytes)
{
    if (!named->memory || offset != named->landed || bytes > named->bytes - offset)
        return NULL;
    named->landed += bytes;
    return named->memory + offset;
}
