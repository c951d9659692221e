// SPDX-License-Identifier: BSD-3-Clause
// Threads that share and seize random stripes: whoever has seized one is alone there, and nobody is
// lost. Then what a single thread can say about ranges.
#include "file/lock.h"

#include <pthread.h>

#include "base/unit_test.h"

enum { THREADS = 4, TIMES = 4000, PLACES = 3 };

static mlt_file_locks locks;
static long plain[PLACES]; // changed by whoever has seized it, read by those who share it
static _Atomic long seized;

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 16;
}

static void *use(void *seed)
{
    uint32_t state = *(uint32_t *)seed;
    for (int t = 0; t < TIMES; t++) {
        uint32_t place = next(&state) % PLACES;
        // The same words, by places that lie a whole turn of words apart.
        int64_t at = (int64_t)place * MLT_FILE_STRIPE +
                     (int64_t)(next(&state) % 2) * MLT_FILE_STRIPES * MLT_FILE_STRIPE;
        if (next(&state) % 3 == 0) {
            mlt_file_seize(&locks, at + 5);
            plain[place]++;
            atomic_fetch_add_explicit(&seized, 1, memory_order_relaxed);
            mlt_file_release(&locks, at + 5);
        } else if (next(&state) % 2) {
            mlt_file_share(&locks, at, at + 2 * MLT_FILE_STRIPE);
            CHECK(plain[place] >= 0);
            mlt_file_unshare(&locks, at, at + 2 * MLT_FILE_STRIPE);
        } else if (mlt_file_share_try(&locks, 0, 3 * MLT_FILE_STRIPE)) {
            CHECK(plain[0] >= 0 && plain[1] >= 0 && plain[2] >= 0);
            mlt_file_unshare(&locks, 0, 3 * MLT_FILE_STRIPE);
        }
    }
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[THREADS];
    uint32_t seeds[THREADS];
    for (int t = 0; t < THREADS; t++) {
        seeds[t] = 17 * (uint32_t)t + 3;
        CHECK(pthread_create(&threads[t], NULL, use, &seeds[t]) == 0);
    }
    for (int t = 0; t < THREADS; t++)
        CHECK(pthread_join(threads[t], NULL) == 0);
    CHECK(plain[0] + plain[1] + plain[2] == seized);
}

static void test_ranges(void)
{
    const int64_t stripe = MLT_FILE_STRIPE, turn = stripe * MLT_FILE_STRIPES;
    mlt_file_share(&locks, 0, 10 * turn); // each word once
    CHECK(mlt_file_share_try(&locks, 5, 6));
    mlt_file_unshare(&locks, 5, 6);
    mlt_file_unshare(&locks, 0, 10 * turn);
    mlt_file_seize(&locks, 3 * stripe);
    CHECK(!mlt_file_share_try(&locks, 0, turn)); // which lets go of those that it got
    CHECK(!mlt_file_share_try(&locks, turn + 4 * stripe - 1, turn + 4 * stripe));
    CHECK(mlt_file_share_try(&locks, 2 * stripe, 3 * stripe));
    mlt_file_unshare(&locks, 2 * stripe, 3 * stripe);
    CHECK(mlt_file_share_try(&locks, 3 * stripe, 3 * stripe)); // nothing
    mlt_file_unshare(&locks, 3 * stripe, 3 * stripe);
    mlt_file_release(&locks, 3 * stripe);
    CHECK(mlt_file_share_try(NULL, 0, turn));
    mlt_file_share(NULL, 0, turn);
    mlt_file_unshare(NULL, 0, turn);
}

int main(void)
{
    test_threads();
    test_ranges();
    for (int i = 0; i < MLT_FILE_STRIPES; i++) // nothing is left
        CHECK(atomic_load_explicit(&locks.stripe[i].word, memory_order_relaxed) == 0);
    return 0;
}
