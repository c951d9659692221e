// SPDX-License-Identifier: BSD-3-Clause
#include "flow/element/element.h"

#include <string.h>

#include "flow/element/large.h"
#include "flow/run.h"
#include "p2p/job_test.h"

static mlt_flow_program program;

// Small ones are the pool's and lie in one line with their header if they are short.
static void small(void)
{
    mlt_flow_element *e = mlt_flow_element_new(8);
    CHECK(e->magic == MLT_FLOW_ELEMENT_MAGIC && e->refs == 1 && e->small);
    CHECK(e->bytes == 8 && e->room == 8 && e->value_bytes == 1 && e->kind == FLOW_ANY);
    CHECK(e->line == MLT_FLOW_NO_LINE && e->owner == MLT_FLOW_LIBRARYS && !e->shared);
    CHECK((uintptr_t)e % 64 == 0 && (uintptr_t)mlt_flow_data(e) % 16 == 0);
    CHECK(program.elements.in_use == 1);
    mlt_flow_element_drop(e);
    CHECK(program.elements.in_use == 0 && e->magic != MLT_FLOW_ELEMENT_MAGIC);
    CHECK(mlt_flow_element_new(MLT_FLOW_SMALL) == e); // while it is in the caches
    memset(mlt_flow_data(e), 0xff, MLT_FLOW_SMALL);
    mlt_flow_element_drop(e);
    CHECK(mlt_flow_element_new(0) == e);
    mlt_flow_element_drop(e);
}

static void large(void)
{
    const uint64_t sizes[] = {MLT_FLOW_SMALL + 1,  4096,           MLT_FLOW_LARGE - 49,
                              MLT_FLOW_LARGE - 48, MLT_FLOW_LARGE, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        mlt_flow_element *e = mlt_flow_element_new(sizes[i]);
        CHECK(!e->small && e->room == sizes[i] && e->refs == 1);
        memset(mlt_flow_data(e), 0xff, sizes[i]);
        e->bytes = 1; // whoever gives less of it on does not change its memory
        mlt_flow_element_drop(e);
        CHECK(program.elements.in_use == 0);
    }
    CHECK(mlt_flow_large_kept() > 0);
    mlt_flow_large_forget();
}

// Of an element that several have, who wants to write takes a copy, but the last one.
static void own(uint64_t bytes)
{
    mlt_flow_element *e = mlt_flow_element_new(bytes);
    memset(mlt_flow_data(e), 3, bytes);
    e->kind = FLOW_INT;
    e->value_bytes = 4;
    CHECK(mlt_flow_element_own(e) == e);
    e->refs = 3;
    mlt_flow_element *copy = mlt_flow_element_own(e);
    CHECK(copy != e && copy->refs == 1 && e->refs == 2);
    CHECK(copy->kind == FLOW_INT && copy->value_bytes == 4 && copy->bytes == bytes);
    CHECK(memcmp(mlt_flow_data(copy), mlt_flow_data(e), bytes) == 0);
    mlt_flow_element_drop(e);
    CHECK(e->refs == 1 && mlt_flow_element_own(e) == e);
    mlt_flow_element_drop(e);
    mlt_flow_element_drop(copy);
}

// What a module has is known by its data.
static void of_data(void)
{
    mlt_flow_element *e = mlt_flow_element_new(24);
    e->owner = MLT_FLOW_MODULES;
    CHECK(mlt_flow_element_of(mlt_flow_data(e), "flow_give") == e);
    e->owner = MLT_FLOW_LENT;
    CHECK(mlt_flow_element_of(mlt_flow_data(e), "flow_give") == e);
    mlt_flow_element_drop(e);
}

int main(void)
{
    mlt_flow_self = &program;
    mlt_flow_elements_init(&program.elements);
    small();
    large();
    own(8);
    own(5000);
    of_data();
    CHECK(program.elements.in_use == 0);
    mlt_pool_fini(&program.elements);
    puts("all right");
    return 0;
}
