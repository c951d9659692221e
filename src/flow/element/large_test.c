// SPDX-License-Identifier: BSD-3-Clause
#include "flow/element/large.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "p2p/job_test.h"

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

// What was given last is taken first, by whoever asks for as much.
static void reuse(void)
{
    enum { MIB = 1 << 20 };
    void *a = mlt_flow_large_take(MIB + 48), *b = mlt_flow_large_take(MIB + 48);
    CHECK(a != b && (uintptr_t)a % 64 == 0 && (uintptr_t)b % 64 == 0);
    CHECK(mlt_flow_large_kept() == 0);
    mlt_flow_large_give(a, MIB + 48);
    mlt_flow_large_give(b, MIB + 48);
    CHECK(mlt_flow_large_kept() >= 2 * MIB && mlt_flow_large_kept() <= 3 * MIB);
    void *c = mlt_flow_large_take(MIB + 64); // as good
    CHECK(c == b);
    void *d = mlt_flow_large_take(2 * MIB);
    CHECK(d != a);
    mlt_flow_large_give(c, MIB + 64);
    mlt_flow_large_give(d, 2 * MIB);
    mlt_flow_large_forget();
    CHECK(mlt_flow_large_kept() == 0);
}

static void bounded(void)
{
    enum { COUNT = 100, MIB = 1 << 20 };
    void *of[COUNT];
    for (int i = 0; i < COUNT; i++)
        of[i] = mlt_flow_large_take(MIB);
    for (int i = 0; i < COUNT; i++)
        mlt_flow_large_give(of[i], MIB);
    CHECK(mlt_flow_large_kept() == MLT_FLOW_LARGE_KEPT);
    void *last = mlt_flow_large_take(MIB); // the oldest have gone
    CHECK(last == of[COUNT - 1]);
    mlt_flow_large_give(last, MIB);
    void *huge = mlt_flow_large_take(MLT_FLOW_LARGE_KEPT + UINT64_C(1));
    mlt_flow_large_give(huge, MLT_FLOW_LARGE_KEPT + UINT64_C(1)); // is not worth keeping
    CHECK(mlt_flow_large_kept() == MLT_FLOW_LARGE_KEPT);
    mlt_flow_large_forget();
}

// Nobody gets memory that somebody has: each writes all of it, and looks later.
static void *churn(void *arg)
{
    enum { HELD = 8, STEPS = 1000 };
    uint64_t state = (uintptr_t)arg, bytes[HELD] = {0};
    unsigned char *of[HELD] = {0}, mark[HELD];
    for (int i = 0; i < STEPS; i++) {
        uint64_t k = next_random(&state) % HELD;
        if (of[k]) {
            for (uint64_t at = 0; at < bytes[k]; at += 97)
                CHECK(of[k][at] == mark[k]);
            CHECK(of[k][bytes[k] - 1] == mark[k]);
            mlt_flow_large_give(of[k], bytes[k]);
            of[k] = NULL;
        } else {
            bytes[k] = MLT_FLOW_LARGE + next_random(&state) % 100000;
            mark[k] = (unsigned char)next_random(&state);
            of[k] = mlt_flow_large_take(bytes[k]);
            memset(of[k], mark[k], bytes[k]);
        }
    }
    for (int k = 0; k < HELD; k++)
        if (of[k])
            mlt_flow_large_give(of[k], bytes[k]);
    return NULL;
}

int main(void)
{
    enum { THREADS = 3 };
    pthread_t threads[THREADS];
    reuse();
    bounded();
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    mlt_flow_large_forget();
    CHECK(mlt_flow_large_kept() == 0);
    return 0;
}
