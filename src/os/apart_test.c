// SPDX-License-Identifier: BSD-3-Clause
// Blocks of all sizes: zeroed, aligned, of their own, used again; and not on the heap.
#include "os/apart.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "os/os.h"

enum { BLOCKS = 2000, THREADS = 4 };

static bool is_zero(const unsigned char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (at[i])
            return false;
    return true;
}

static void *use(void *seed)
{
    static const size_t sizes[] = {0, 1, 63, 64, 65, 500, 4000, 60000, 131008, 131009, 300000};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    unsigned char *at[BLOCKS] = {0};
    size_t bytes[BLOCKS] = {0};
    uint64_t random = (uintptr_t)seed + 1;
    for (int i = 0; i < 10 * BLOCKS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint32_t k = (uint32_t)(random >> 33) % BLOCKS;
        unsigned char mark = (unsigned char)(k + (uintptr_t)seed);
        for (size_t b = 0; b < bytes[k]; b += 97)
            CHECK(at[k][b] == mark);
        mlt_os_apart_free(at[k]);
        bytes[k] = sizes[(random >> 13) % (i % 16 ? SIZES - 4 : SIZES)];
        at[k] = mlt_os_apart_new(bytes[k]);
        CHECK((uintptr_t)at[k] % 64 == 0 && is_zero(at[k], bytes[k]));
        memset(at[k], mark, bytes[k]);
    }
    for (int k = 0; k < BLOCKS; k++)
        mlt_os_apart_free(at[k]);
    return NULL;
}

// What runs over the end of a mapping does not reach a chunk; and the heap is elsewhere.
static void is_apart(void)
{
    char *own = mlt_os_apart_new(300000), *heap = malloc(100);
    CHECK(mlt_os_is_guarded(own - 64 - 16));
    CHECK((uintptr_t)own - (uintptr_t)heap > 1 << 20 || (uintptr_t)heap - (uintptr_t)own > 1 << 20);
    mlt_os_apart_free(own);
    free(heap);
}

int main(void)
{
    pthread_t threads[THREADS];
    mlt_os_apart_free(NULL);
    CHECK(!mlt_os_apart_try(SIZE_MAX - 10));
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, use, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    is_apart();
#else
    (void)is_apart;
#endif
    return 0;
}
