// SPDX-License-Identifier: BSD-3-Clause
// Names are found while they are in use, and by their peer only; made-up and dropped ones are not.
#include "wire/token.h"

#include "base/unit_test.h"

enum { MANY = 5000, PEER = 7 };

static void lands(void)
{
    mlt_tokens names = {.free = 0};
    unsigned char memory[100];
    uint64_t name = mlt_token_give(&names, memory, PEER, memory, sizeof memory);
    mlt_named *named = mlt_token_find(&names, name, PEER);
    CHECK(named && named->owner == memory);
    CHECK(!mlt_token_land(named, 10, 20)); // not in order
    CHECK(mlt_token_land(named, 0, 60) == memory);
    CHECK(!mlt_token_land(named, 0, 40));
    CHECK(!mlt_token_land(named, 60, 41)); // too long
    CHECK(mlt_token_land(named, 60, 40) == memory + 60);
    CHECK(!mlt_token_land(named, 100, 1) && !mlt_token_land(named, UINT64_MAX, 2));
    uint64_t without = mlt_token_give(&names, memory, PEER, NULL, 0);
    CHECK(!mlt_token_land(mlt_token_find(&names, without, PEER), 0, 1));
    mlt_tokens_fini(&names);
}

// A place that was used so often that its generations begin again.
static void begins_again(void)
{
    mlt_tokens names = {.free = 0};
    int owner;
    uint64_t first = mlt_token_give(&names, &owner, PEER, NULL, 0);
    mlt_named *named = mlt_token_find(&names, first, PEER);
    CHECK(mlt_token_take(&names, first, PEER) == &owner);
    atomic_store(&named->generation, UINT32_MAX - 2);
    for (int i = 0; i < 3; i++) {
        uint64_t name = mlt_token_give(&names, &owner, PEER, NULL, 0);
        CHECK(name && mlt_token_find(&names, name, PEER) == named);
        CHECK(mlt_token_take(&names, name, PEER) == &owner);
    }
    mlt_tokens_fini(&names);
}

int main(void)
{
    static uint64_t given[MANY];
    static int owners[MANY];
    mlt_tokens names = {.free = 0};
    uint64_t seed = 5;
    CHECK(!mlt_token_find(&names, 0, PEER) && !mlt_token_find(&names, UINT64_C(2) << 32, PEER));
    for (int round = 0; round < 20 * MANY; round++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint32_t i = (uint32_t)(seed >> 33) % MANY;
        if (!given[i]) {
            given[i] = mlt_token_give(&names, &owners[i], PEER, NULL, 0);
            CHECK(given[i]);
            continue;
        }
        uint64_t name = given[i];
        CHECK(mlt_token_find(&names, name, PEER)->owner == &owners[i]);
        CHECK(!mlt_token_find(&names, name, PEER + 1) && !mlt_token_take(&names, name, PEER + 1));
        CHECK(!mlt_token_find(&names, name + (UINT64_C(1) << 32), PEER));
        CHECK(mlt_token_take(&names, name, PEER) == &owners[i]);
        CHECK(!mlt_token_find(&names, name, PEER) && !mlt_token_take(&names, name, PEER));
        given[i] = 0;
    }
    CHECK(!mlt_token_find(&names, UINT64_MAX, PEER) && !mlt_token_find(&names, UINT32_MAX, PEER));
    mlt_tokens_fini(&names);
    lands();
    begins_again();
    return 0;
}
