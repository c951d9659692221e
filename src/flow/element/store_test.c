// SPDX-License-Identifier: BSD-3-Clause
// The store: blocks are used again once they were given back, by whoever; another process that maps
// it sees the elements.
#include "flow/element/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "flow/element/large.h"

static mlt_flow_element *element(uint64_t bytes)
{
    mlt_flow_element *e = mlt_flow_element_stored(bytes);
    CHECK(mlt_flow_store_has(e) && e->bytes == bytes && (uintptr_t)mlt_flow_data(e) % 64 == 0);
    return e;
}

static void reuse(void)
{
    mlt_flow_element *first = element(100000), *second = element(100000);
    CHECK(first != second);
    memset(mlt_flow_data(first), 1, 100000);
    memset(mlt_flow_data(second), 2, 100000);
    CHECK(*(char *)mlt_flow_data(first) == 1 && ((char *)mlt_flow_data(first))[99999] == 1);
    mlt_flow_element_drop(first);
    CHECK(element(99000) == first); // of the same size
    mlt_flow_element_drop(second);
    mlt_flow_element_drop(first);
}

static void too_much(void)
{
    CHECK(mlt_flow_store_take(MLT_FLOW_LARGE - 1) == NULL);
    CHECK(mlt_flow_store_take(MLT_FLOW_STORE_BYTES + 1ull) == NULL);
    mlt_flow_element *large = element(200 << 20);
    mlt_flow_element *other = mlt_flow_element_stored(200 << 20); // no room: elsewhere
    CHECK(!mlt_flow_store_has(other) && other->bytes == 200 << 20);
    mlt_flow_element_drop(other);
    mlt_flow_element_drop(large);
    CHECK(element(200 << 20) == large);
    mlt_flow_element_drop(large);
}

// A child that maps the store as a stranger would.
static void other_process(void)
{
    mlt_flow_element *e = element(50000);
    const mlt_flow_prefix *block = (const mlt_flow_prefix *)(const void *)e - 1;
    uint64_t offset = block->offset;
    int fd = mlt_flow_store_fd(), status;
    pid_t parent = getpid(), child;
    memset(mlt_flow_data(e), 7, 50000);
    CHECK(fd >= 0);
    child = fork();
    if (child == 0) {
        char *base = mlt_flow_store_map(parent, fd);
        CHECK(base && mlt_flow_store_map(parent, 9999) == NULL);
        mlt_flow_element *there = mlt_flow_store_at(base, offset, 50000);
        CHECK(there && !mlt_flow_store_has(there) && ((char *)mlt_flow_data(there))[49999] == 7);
        CHECK(!mlt_flow_store_at(base, offset, 50001) && !mlt_flow_store_at(base, offset + 1, 1));
        CHECK(!mlt_flow_store_at(base, UINT64_MAX - 63, 1) && !mlt_flow_store_at(NULL, 0, 1));
        *(char *)mlt_flow_data(there) = 8;
        mlt_flow_element_drop(there);
        exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(*(char *)mlt_flow_data(e) == 8 && e->magic != MLT_FLOW_ELEMENT_MAGIC);
    CHECK(element(50000) == e);
    mlt_flow_element_drop(e);
}

int main(void)
{
    reuse();
    too_much();
    other_process();
    return 0;
}
