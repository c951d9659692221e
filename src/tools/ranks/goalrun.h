// SPDX-License-Identifier: BSD-3-Clause
// What `millet goal run` hands to its ranks, and what they hand back: one file, which only the two
// of them ever see. All offsets count from its beginning.
//
//     head, u64 record[ranks]                 where each rank's record is
//     record, buffer[buffers]                 of each rank
//     texts, names (both end with a 0), contents of buffers, orders, times
//
// A rank maps the file, reads its text, fills its buffers, runs, and writes what they have then, the
// order of its actions, and the time of each run.
#pragma once

#include <stdint.h>

#define GOALRUN_MAGIC UINT64_C(0x6e75726c616f674d) // "Mgoalrun"

typedef struct goalrun_head {
    uint64_t magic;
    uint32_t ranks;
    uint32_t repeat; // timed runs after the first one
    uint32_t order;  // 1: note the order in which actions finish
    uint32_t unused;
} goalrun_head;

typedef struct goalrun_record {
    uint64_t text;  // the rank's part of the program
    uint64_t order; // int32_t[actions]: numbers of actions
    uint64_t times; // double[repeat]: seconds
    uint32_t actions, finished;
    uint64_t buffers;
} goalrun_record;

typedef struct goalrun_buffer {
    uint64_t name;                // "" is the plain memory
    uint64_t before, after, size; // where its contents are
} goalrun_buffer;
