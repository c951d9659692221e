// SPDX-License-Identifier: BSD-3-Clause
// The compressed form of regular programs (the paper's section IV.C): ranks that do the same, seen from
// where each of them stands, are described once.
//
//     class    a rank's actions. Peers count from the rank (r + c modulo the ranks, or r xor c) or are
//              absolute, the same way in the whole file; so do offsets of blocks, n (r + c), in buffers
//              where that helps. Groups of actions that come again, with numbers that grow by fixed
//              steps, are written once: a pipeline of a thousand segments is two groups.
//     set      ranks of a class: first, first + step, ... ; and the same again, some strides further.
//              A rank is of the first set that has it; of none: it does nothing.
//
// A binomial broadcast of 2^20 ranks has 21 classes, in 4 KB. Any program can be written; one without
// regularity is as long as before. What is read is what was written, except for labels and lines; the
// dependencies of an action keep their order.
//
// A rank is expanded from its class when somebody asks for it, in time and memory of its own actions.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "goal/program.h"

typedef struct mlt_goal_regular mlt_goal_regular;

typedef struct mlt_goal_regular_counts {
    uint32_t classes, sets;
    uint64_t actions; // of all ranks
} mlt_goal_regular_counts;

// *bytes is malloc's. Fails, with a message, if the program has addresses of a process or a name that
// no file has. counts may be NULL.
mlt_status mlt_goal_regular_write(const mlt_goal_program *program, unsigned char **bytes,
                                  size_t *size, mlt_goal_regular_counts *counts, char *why,
                                  size_t why_size) MLT_MUST_CHECK;

bool mlt_is_regular(const void *bytes, size_t size); // by its first bytes

// Checks all that does not depend on a rank, in linear time. The bytes are borrowed until
// mlt_goal_regular_free.
mlt_status mlt_goal_regular_open(const char *name, const void *bytes, size_t size,
                                 mlt_goal_regular **out, char *why, size_t why_size) MLT_MUST_CHECK;
void mlt_goal_regular_free(mlt_goal_regular *regular); // NULL is fine

uint32_t mlt_goal_regular_ranks(const mlt_goal_regular *regular);
bool mlt_goal_regular_has_wildcards(const mlt_goal_regular *regular);
mlt_goal_regular_counts mlt_goal_regular_count(const mlt_goal_regular *regular);

// One rank's actions, dependencies and buffers, in rank 0 of a program whose other ranks are left
// alone; what was there is lost, names stay. Everything is checked as by mlt_goal_program_valid.
mlt_status mlt_goal_regular_rank(const mlt_goal_regular *regular, uint32_t rank,
                                 mlt_goal_program *into, char *why, size_t why_size) MLT_MUST_CHECK;

// All ranks.
mlt_status mlt_goal_regular_program(const mlt_goal_regular *regular, mlt_goal_program **out,
                                    char *why, size_t why_size) MLT_MUST_CHECK;

// For many ranks in turn, by any order: the rank of a set is looked up in constant time afterwards, and
// 4 bytes a rank are taken.
void mlt_goal_regular_index(mlt_goal_regular *regular);
