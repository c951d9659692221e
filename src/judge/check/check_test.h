// SPDX-License-Identifier: BSD-3-Clause
// What the checker's tests share: asking, building.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "goal/program_test.h"
#include "judge/check/check.h"

// ---- asking

static inline mlt_goal_verdict *ask(const mlt_goal_program *program, const mlt_goal_spec *is)
{
    return mlt_goal_check(program, &(mlt_goal_check_options){.is = is});
}

static inline _Noreturn void show(const mlt_goal_verdict *verdict, const char *file, int line,
                                  const char *expected)
{
    mlt_goal_verdict_print(verdict, stderr);
    fprintf(stderr, "%s:%d: expected: %s\n", file, line, expected);
    exit(1);
}

// The program is right. Frees nothing.
#define RIGHT(program, is) right(program, is, __FILE__, __LINE__)
static inline void right(const mlt_goal_program *program, const mlt_goal_spec *is, const char *file,
                         int line)
{
    mlt_goal_verdict *verdict = ask(program, is);
    if (!mlt_goal_verdict_ok(verdict))
        show(verdict, file, line, "no finding");
    mlt_goal_verdict_free(verdict);
}

// It has exactly `count` faults of that kind and none of another; a finding contains the words.
#define WRONG(program, is, fault, count, words)                                                    \
    wrong(program, is, fault, count, words, __FILE__, __LINE__)
static inline void wrong(const mlt_goal_program *program, const mlt_goal_spec *is,
                         mlt_goal_fault fault, uint64_t count, const char *words, const char *file,
                         int line)
{
    mlt_goal_verdict *verdict = ask(program, is);
    for (int f = 0; f < MLT_FAULTS; f++)
        if (verdict->found[f] != (f == (int)fault ? count : 0))
            show(verdict, file, line, mlt_goal_fault_names[fault]);
    bool said = false;
    for (uint64_t i = 0; i < verdict->count; i++)
        said |= strstr(verdict->findings[i].text, words) != NULL;
    if (!said)
        show(verdict, file, line, words);
    mlt_goal_verdict_free(verdict);
}

// ---- building: plain memory unless a buffer is named

static inline mlt_goal_span at(uint64_t offset, uint64_t size)
{
    return (mlt_goal_span){MLT_GOAL_MEMORY, offset, size};
}

static inline mlt_goal_span in(uint32_t buf, uint64_t offset, uint64_t size)
{
    return (mlt_goal_span){buf, offset, size};
}

static inline uint32_t sum(mlt_goal_program *p, uint32_t rank, mlt_goal_span to, mlt_goal_span from)
{
    return mlt_goal_exec(p, rank, MLT_OP_SUM, MLT_OP_INT32, to, from);
}

// What the verdict prints; the caller frees it.
static inline char *printed(const mlt_goal_verdict *verdict)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    CHECK(to);
    mlt_goal_verdict_print(verdict, to);
    fclose(to);
    return text;
}

// Pseudo-random numbers below a limit.
static inline uint64_t draw(uint64_t *from, uint64_t limit)
{
    *from = *from * 6364136223846793005u + 1442695040888963407u;
    return (*from >> 33) % limit;
}
