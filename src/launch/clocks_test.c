// SPDX-License-Identifier: BSD-3-Clause
// Exchanges with hosts: the best of each series counts, and wrong answers do not.
#include "launch/clocks.h"

#include "base/unit_test.h"

enum { HOSTS = 3 }; // 0 is mpirun's

int main(void)
{
    mlt_clocks clocks;
    mlt_text facts = {0};
    uint64_t now = 1000000;
    mlt_clocks_init(&clocks, HOSTS);
    CHECK(!mlt_clocks_take(&clocks, 1, 0, now, now, 2)); // nobody asked
    mlt_clocks_begin(&clocks, 0, now);
    CHECK(clocks.round == 0); // no host can answer
    mlt_clocks_begin(&clocks, 2, now);
    for (uint32_t round = 1; round <= MLT_CLOCKS_ROUNDS; round++) {
        // Host 1 is 5000 ahead and the third round is the fastest; host 2 is 700 behind.
        uint64_t half = round == 3 ? 100 : 400, asked = now;
        int64_t number = clocks.number;
        CHECK(clocks.round == round);
        CHECK(
            !mlt_clocks_take(&clocks, 1, number, asked + half + 5000 + round, asked + 2 * half, 2));
        CHECK(!mlt_clocks_take(&clocks, 1, number, 1, asked + 2 * half, 2));     // twice
        CHECK(!mlt_clocks_take(&clocks, 2, number - 1, 1, asked + 2 * half, 2)); // late
        CHECK(!mlt_clocks_take(&clocks, HOSTS, number, 1, asked + 2 * half, 2)); // unknown
        now = asked + 1000;
        CHECK(mlt_clocks_take(&clocks, 2, number, asked + 500 - 700, now, 2) ==
              (round < MLT_CLOCKS_ROUNDS));
    }
    CHECK(clocks.round == 0);
    mlt_clocks_tell(&clocks, &facts);
    check_same_text("facts", facts.text,
                    "clock\t1\t1007103\tahead\t5003\t100\nclock\t2\t999800\tbehind\t700\t500\n");
    mlt_text_free(&facts);
    mlt_clocks_fini(&clocks);
    return 0;
}
