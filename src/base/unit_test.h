// SPDX-License-Identifier: BSD-3-Clause
// What unit tests share: checks that end the test, and random numbers that repeat.
#pragma once

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The condition holds, or the process ends with status 1.
#define CHECK(condition) ((condition) ? (void)0 : failed(__FILE__, __LINE__, #condition))

// A failed check also prints these, if they are set: the seed and the name of what is being tried,
// and whatever the function prints.
static uint64_t now_seed;
static char now_testing[400];
static void (*tell_more)(void);

static inline _Noreturn void failed(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: %s", file, line, condition);
    if (now_seed)
        fprintf(stderr, " (seed %" PRIu64 ")", now_seed);
    fprintf(stderr, now_testing[0] ? "\n  while testing %s\n" : "\n", now_testing);
    if (tell_more)
        tell_more();
    exit(1);
}

static inline void check_same_text(const char *what, const char *is, const char *wanted)
{
    if (strcmp(is, wanted) == 0)
        return;
    fprintf(stderr, "%s\n  is     '%s'\n  wanted '%s'\n", what, is, wanted);
    CHECK(!"the same text");
}

static uint64_t random_state = 1; // of the random numbers; any value is good

// splitmix64
static inline uint64_t random64(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline uint32_t below(uint64_t limit)
{
    return (uint32_t)(random64() % limit);
}
