// SPDX-License-Identifier: BSD-3-Clause
#include "os/jitter.h"

#include <stdint.h>

#include "arch/arch.h"
#include "os/os.h"

// Of 64 points a thread passes about 40 at once. The others last as long as a cache miss, as a
// switch to another thread of the core, or as a time slice that another takes: each of these meets
// another kind of mistake.
enum { PASSES = 40, SPINS = 56, YIELDS = 63, MOST_PAUSES = 64, MOST_NAP_NS = 100000 };

void mlt_jitter(void)
{
    static _Thread_local uint64_t random;
    if (!random) // another sequence in every thread and run
        random = (uint64_t)(uintptr_t)&random ^ mlt_os_now_ns() << 20;
    random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint32_t dice = (uint32_t)(random >> 58), size = (uint32_t)(random >> 32);
    if (dice < PASSES)
        return;
    if (dice < SPINS)
        for (uint32_t i = size % MOST_PAUSES; i > 0; i--)
            mlt_arch_pause();
    else if (dice < YIELDS)
        mlt_os_yield();
    else
        mlt_os_sleep(size % MOST_NAP_NS);
}
