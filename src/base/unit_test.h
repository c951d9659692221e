// SPDX-License-Identifier: BSD-3-Clause
// What unit tests share: a check that ends the test, and random numbers that repeat.
#ifndef MLT_BASE_UNIT_TEST_H
#define MLT_BASE_UNIT_TEST_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition) ((condition) ? (void)0 : failed(__FILE__, __LINE__, #condition))

static uint64_t seed;      // of what is being tried, told when a check fails; 0: nothing random is
static uint64_t state = 1; // of the numbers

static inline _Noreturn void failed(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: %s", file, line, condition);
    if (seed)
        fprintf(stderr, " (seed %" PRIu64 ")", seed);
    fprintf(stderr, "\n");
    exit(1);
}

static inline uint32_t below(uint64_t limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 16) % limit);
}

#endif
