// SPDX-License-Identifier: BSD-3-Clause
#include "file/lock.h"

#include <limits.h>

#include "os/os.h"

// A word is the number of writers that share it, and:
#define SEIZED  UINT32_C(0x80000000) // one has it alone
#define WAITING UINT32_C(0x40000000) // somebody sleeps, or is about to

static _Atomic uint32_t *word_of(mlt_file_locks *locks, int64_t stripe)
{
    return &locks->stripe[stripe % MLT_FILE_STRIPES].word;
}

// The stripes of a range, each word once.
static int64_t words_in(int64_t from, int64_t to, int64_t *first)
{
    *first = from / MLT_FILE_STRIPE;
    int64_t count = (to - 1) / MLT_FILE_STRIPE - *first + 1;
    return to <= from ? 0 : count < MLT_FILE_STRIPES ? count : MLT_FILE_STRIPES;
}

// One more that has it, unless a bit of `against` is there, or somebody shares it and `add` seizes.
static bool try_one(_Atomic uint32_t *word, uint32_t add)
{
    uint32_t against = add == SEIZED ? ~WAITING : SEIZED;
    uint32_t now = atomic_load_explicit(word, memory_order_relaxed);
    while (!(now & against))
        // acquire: pairs with the release of whoever had it before, whose write is over
        if (atomic_compare_exchange_weak_explicit(word, &now, now + add, memory_order_acquire,
                                                  memory_order_relaxed))
            return true;
    return false;
}

static void wait_for(_Atomic uint32_t *word, uint32_t add)
{
    while (!try_one(word, add)) {
        // relaxed: it only says that there is somebody to wake; the futex compares the word again
        uint32_t now = atomic_fetch_or_explicit(word, WAITING, memory_order_relaxed) | WAITING;
        if (now & (add == SEIZED ? ~WAITING : SEIZED))
            mlt_os_futex_wait(word, now, MLT_OS_FOREVER);
    }
}

static void leave(_Atomic uint32_t *word, uint32_t less)
{
    // release: pairs with try_one's acquire
    uint32_t before = atomic_fetch_sub_explicit(word, less, memory_order_release);
    if ((before & ~WAITING) != less || !(before & WAITING))
        return;
    // relaxed: those who sleep, and those who have set it since, look at the word again
    atomic_fetch_and_explicit(word, ~WAITING, memory_order_relaxed);
    mlt_os_futex_wake(word, INT_MAX);
}

void mlt_file_share(mlt_file_locks *locks, int64_t from, int64_t to)
{
    int64_t first, count = locks ? words_in(from, to, &first) : 0;
    for (int64_t i = 0; i < count; i++)
        wait_for(word_of(locks, first + i), 1);
}

bool mlt_file_share_try(mlt_file_locks *locks, int64_t from, int64_t to)
{
    int64_t first, count = locks ? words_in(from, to, &first) : 0;
    for (int64_t i = 0; i < count; i++)
        if (!try_one(word_of(locks, first + i), 1)) {
            while (i-- > 0)
                leave(word_of(locks, first + i), 1);
            return false;
        }
    return true;
}

void mlt_file_unshare(mlt_file_locks *locks, int64_t from, int64_t to)
{
    int64_t first, count = locks ? words_in(from, to, &first) : 0;
    for (int64_t i = 0; i < count; i++)
        leave(word_of(locks, first + i), 1);
}

void mlt_file_seize(mlt_file_locks *locks, int64_t at)
{
    wait_for(word_of(locks, at / MLT_FILE_STRIPE), SEIZED);
}

void mlt_file_release(mlt_file_locks *locks, int64_t at)
{
    leave(word_of(locks, at / MLT_FILE_STRIPE), SEIZED);
}
