// SPDX-License-Identifier: BSD-3-Clause
// Keys are new each time, and are wiped.
#include "net/key.h"

#include <stdbool.h>

#include "base/unit_test.h"

static char why[200];
static const mlt_key zero;

static bool is_zero(const mlt_key *key)
{
    return memcmp(key, &zero, sizeof zero) == 0;
}

static void test_new(void)
{
    mlt_key a, b;
    CHECK(mlt_key_new(&a, why, sizeof why) == MLT_OK && mlt_key_new(&b, why, sizeof why) == MLT_OK);
    CHECK(memcmp(&a, &b, sizeof a) != 0 && !is_zero(&a));
    mlt_key_wipe(&a);
    CHECK(is_zero(&a));
}

int main(void)
{
    test_new();
    puts("all right");
    return 0;
}
