// SPDX-License-Identifier: BSD-3-Clause
#include "flow/element/element.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "csp/state.h"
#include "flow/element/large.h"
#include "flow/element/store.h"
#include "flow/run.h"

enum { FIRST = 64, ELEMENT_LINE = 64 };

// Large data begins at a cache line: copying and combining it takes half as long again if every
// vector lies on two lines. So the header stands at the end of the line before.

void mlt_flow_elements_init(mlt_pool *pool)
{
    mlt_pool_init(pool, sizeof(mlt_flow_element) + MLT_FLOW_SMALL, FIRST);
}

static MLT_COLD mlt_flow_element *new_large(uint64_t bytes)
{
    mlt_flow_prefix *memory = NULL;
    uint64_t all = ELEMENT_LINE + bytes;
    if (bytes < SIZE_MAX / 2 && all < MLT_FLOW_LARGE)
        memory =
            aligned_alloc(ELEMENT_LINE, (all + ELEMENT_LINE - 1) / ELEMENT_LINE * ELEMENT_LINE);
    else if (bytes < SIZE_MAX / 2)
        memory = mlt_flow_large_take(all);
    if (!memory)
        mlt_no_room("an element of %llu bytes", (unsigned long long)bytes);
    memory->stored = 0;
    return mlt_flow_element_begin(memory + 1, bytes, false);
}

mlt_flow_element *mlt_flow_element_stored(uint64_t bytes)
{
    mlt_flow_prefix *block =
        bytes < MLT_FLOW_STORE_BYTES ? mlt_flow_store_take(ELEMENT_LINE + bytes) : NULL;
    return block ? mlt_flow_element_begin(block + 1, bytes, false) : mlt_flow_element_new(bytes);
}

static void free_large(mlt_flow_element *e)
{
    mlt_flow_prefix *memory = (mlt_flow_prefix *)(void *)e - 1;
    if (memory->stored)
        mlt_flow_store_give(memory);
    else if (ELEMENT_LINE + e->room < MLT_FLOW_LARGE)
        free(memory);
    else
        mlt_flow_large_give(memory, ELEMENT_LINE + e->room);
}

mlt_flow_element *mlt_flow_element_new(uint64_t bytes)
{
    if (bytes > MLT_FLOW_SMALL)
        return new_large(bytes);
    return mlt_flow_element_small(&mlt_flow_self->elements, bytes);
}

void mlt_flow_element_drop(mlt_flow_element *e)
{
    mlt_assert(e->magic == MLT_FLOW_ELEMENT_MAGIC && e->refs > 0);
    if (--e->refs > 0)
        return;
    e->magic = 0;
    if (e->small)
        mlt_pool_give(&mlt_flow_self->elements, e);
    else
        free_large(e);
}

mlt_flow_element *mlt_flow_element_own(mlt_flow_element *e)
{
    if (e->refs == 1)
        return e;
    mlt_flow_element *copy = mlt_flow_element_new(e->bytes);
    copy->kind = e->kind;
    copy->value_bytes = e->value_bytes;
    memcpy(mlt_flow_data(copy), mlt_flow_data(e), e->bytes);
    e->refs--;
    return copy;
}

// Any pointer may come here. What lies before it is looked at, whatever that is.
__attribute__((no_sanitize("address"))) static bool is_element(const void *data)
{
    return (uintptr_t)data % _Alignof(mlt_flow_element) == 0 &&
           ((const mlt_flow_element *)data - 1)->magic == MLT_FLOW_ELEMENT_MAGIC;
}

mlt_flow_element *mlt_flow_element_of(const void *data, const char *call)
{
    if (!data)
        mlt_csp_fault(call, "the data is NULL");
    mlt_flow_element *e = (mlt_flow_element *)data - 1;
    if (!is_element(data))
        mlt_csp_fault(call, "this data is not from flow_new or flow_dequeue, or it was freed "
                            "already");
    if (e->owner == MLT_FLOW_LIBRARYS && !e->shared)
        mlt_csp_fault(call, "this data was given away already");
    return e;
}
