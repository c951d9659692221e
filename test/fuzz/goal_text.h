// SPDX-License-Identifier: BSD-3-Clause
// What holds of any GOAL text, for the harnesses of both dialects: it is refused with a message of
// the promised form, or it is a valid program that reads back as it was from either text and from
// LogGOPSim's binary.
#pragma once

#include <fuzz/fuzz.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "goal/program_test.h"
#include "goal/text/loggopsim.h"
#include "goal/text/read_int.h"
#include "goal/text/text.h"

enum { FUZZ_RANKS = 64 }; // a short text may ask for millions

static inline mlt_goal_program *fuzz_goal_read(const char *text, size_t size,
                                               mlt_goal_dialect *dialect, char *why, size_t room)
{
    mlt_goal_program *program;
    mlt_status status =
        mlt_goal_read_limited("t", text, size, FUZZ_RANKS, &program, dialect, why, room);
    FUZZ_CHECK((status == MLT_OK) == (program != NULL));
    FUZZ_CHECK(!program || program->ranks <= FUZZ_RANKS);
    return program;
}

// "t:line:column: error message", the line, a caret in that column.
static inline void fuzz_goal_message(const char *why, size_t room)
{
    size_t n = strnlen(why, room);
    FUZZ_CHECK(n < room && strncmp(why, "t:", 2) == 0);
    for (size_t i = 0; i < n; i++)
        FUZZ_CHECK(why[i] == '\n' || ((unsigned char)why[i] >= ' ' && why[i] != 127));
    char *end;
    unsigned long line = strtoul(why + 2, &end, 10), column;
    FUZZ_CHECK(line > 0 && *end == ':');
    column = strtoul(end + 1, &end, 10);
    FUZZ_CHECK(column > 0 && strncmp(end, ": ", 2) == 0 && end[2] != '\n');
    const char *shown = strchr(why, '\n');
    FUZZ_CHECK(shown);
    const char *caret = strchr(shown + 1, '\n');
    FUZZ_CHECK(caret && !strchr(caret + 1, '\n'));
    size_t left = strspn(caret + 1, " ");
    FUZZ_CHECK(strcmp(caret + 1 + left, "^") == 0);
    FUZZ_CHECK(column > 60 ? left >= 60 && left < 68 : left == column - 1);
}

static inline char *fuzz_goal_print(const mlt_goal_program *program, mlt_goal_dialect dialect,
                                    size_t *size)
{
    char *text;
    FILE *to = open_memstream(&text, size);
    FUZZ_CHECK(to && mlt_goal_print(program, dialect, 0.25, to) && fclose(to) == 0);
    return text;
}

static inline void fuzz_goal_labels(const mlt_goal_program *a, const mlt_goal_program *b)
{
    for (uint32_t r = 0; r < a->ranks; r++)
        for (uint32_t i = 0; i < a->rank[r].count; i++) {
            const char *label = mlt_goal_name_text(a, a->rank[r].actions[i].label);
            FUZZ_CHECK(!*label ||
                       strcmp(label, mlt_goal_name_text(b, b->rank[r].actions[i].label)) == 0);
        }
}

// Printed in a dialect and read again: the program as that dialect has it. With equal: as it was.
static inline mlt_goal_program *fuzz_goal_again(const mlt_goal_program *program,
                                                mlt_goal_dialect dialect, bool equal)
{
    char why[1024];
    size_t size, again_size;
    mlt_goal_dialect said;
    char *text = fuzz_goal_print(program, dialect, &size);
    mlt_goal_program *again = fuzz_goal_read(text, size, &said, why, sizeof why);
    FUZZ_CHECK(again && said == dialect);
    FUZZ_CHECK(!equal || mlt_goal_program_equal(program, again));
    char *second = fuzz_goal_print(again, dialect, &again_size);
    FUZZ_CHECK(size == again_size && memcmp(text, second, size) == 0);
    free(text);
    free(second);
    return again;
}

static inline void fuzz_goal_binary(const mlt_goal_program *program,
                                    const mlt_goal_program *expected)
{
    char why[512], *bytes;
    size_t size;
    mlt_goal_program *again;
    FILE *to = open_memstream(&bytes, &size);
    FUZZ_CHECK(to && mlt_goal_loggopsim_write(program, 0.25, to) && fclose(to) == 0);
    FUZZ_CHECK(mlt_goal_loggopsim_read("b", bytes, size, &again, why, sizeof why) == MLT_OK);
    FUZZ_CHECK(mlt_goal_program_equal(again, expected));
    mlt_goal_program_free(again);
    free(bytes);
}

static inline void fuzz_goal_text(const char *text, size_t size)
{
    char why[1024], fault[256];
    mlt_goal_dialect dialect;
    mlt_goal_program *program = fuzz_goal_read(text, size, &dialect, why, sizeof why);
    if (!program) {
        fuzz_goal_message(why, sizeof why);
        return;
    }
    FUZZ_CHECK(mlt_goal_program_valid(program, fault, sizeof fault) == MLT_OK);
    mlt_goal_program *paper = fuzz_goal_again(program, MLT_GOAL_PAPER, true);
    mlt_goal_program *simulated =
        fuzz_goal_again(program, MLT_GOAL_LOGGOPSIM, dialect == MLT_GOAL_LOGGOPSIM);
    if (dialect == MLT_GOAL_PAPER)
        fuzz_goal_labels(program, paper);
    else
        fuzz_goal_labels(program, simulated);
    fuzz_goal_binary(program, simulated);
    mlt_goal_program_free(program);
    mlt_goal_program_free(paper);
    mlt_goal_program_free(simulated);
}
