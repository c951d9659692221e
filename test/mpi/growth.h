// SPDX-License-Identifier: BSD-3-Clause
//
// For tests that make and free objects very often: the process does not grow. Sanitizers keep freed
// memory, so with them there are fewer rounds and growth is not looked at.

#pragma once

#include <dlfcn.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "check.h"

static inline int sanitized(void)
{
    return dlsym(NULL, "__asan_init") != NULL || dlsym(NULL, "__tsan_init") != NULL;
}

// How often, of `rounds` in all ranks of the job together.
static inline int rounds_of(int rounds)
{
    return (sanitized() ? rounds / 100 : rounds) / world_size();
}

// The process grows by what it uses. glibc 2.43 asks for huge pages for malloc on aarch64, and would
// grow by 2 MiB for a byte.
__attribute__((constructor)) static void use_small_pages(void)
{
    (void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

// Bytes of the process that are in memory.
static inline long resident_bytes(void)
{
    long pages = -1;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f != NULL);
    CHECK(fscanf(f, "%*d %ld", &pages) == 1);
    fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

// Calls `round` often; after a tenth of it the process must not grow any more. Other ranks may
// share the process and be anywhere in theirs, so what a few objects of each need is allowed.
static inline void check_growth(void (*round)(int i, void *state), void *state, int rounds)
{
    long before = 0;
    for (int i = 0; i < rounds; i++) {
        if (i == rounds / 10)
            before = resident_bytes() / 1024;
        round(i, state);
    }
    long after = resident_bytes() / 1024;
    if (!sanitized() && after > before + 2048)
        check_fail(__FILE__, __LINE__, "the process grew from %ld to %ld KiB in %d rounds", before,
                   after, rounds);
}
