// SPDX-License-Identifier: BSD-3-Clause
// The checker: proves, for all ranks of a program together, that it is
//
//     in bounds         of the declared buffers
//     acyclic           no rank's dependencies have a cycle
//     matched           every send meets a receive of its size, every receive a send
//     free of deadlock  with buffered sends, with synchronous ones, and in a window if asked
//     free of races     no two unordered actions touch the same byte, one of them writing
//     right             the final state is the named operation's, by symbolic execution
//
// Each finding names the actions, ranks and bytes, and shows a small example: the cycle, the two
// orders that differ, the byte that is wrong and what it holds instead.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "goal/pairs.h"
#include "goal/program.h"
#include "goal/spec.h"

typedef enum mlt_goal_fault {
    MLT_FAULT_INVALID, // a peer, buffer or action that does not exist
    MLT_FAULT_CYCLE,
    MLT_FAULT_UNMATCHED, // a send without receive, a receive without send
    MLT_FAULT_SIZE,      // a message and its receive differ in size
    MLT_FAULT_DEADLOCK,
    MLT_FAULT_RACE,
    MLT_FAULT_BOUNDS,
    MLT_FAULT_WILDCARD, // cannot be proven: the order of arrival decides
    MLT_FAULT_RESULT,   // the final state is another one
    MLT_FAULTS,
} mlt_goal_fault;
extern const char *const mlt_goal_fault_names[MLT_FAULTS]; // "cycle"

typedef struct mlt_goal_finding {
    mlt_goal_fault fault;
    mlt_goal_place place[2]; // where; action MLT_GOAL_NONE: a rank, or nothing
    uint32_t buf; // bytes concerned: buffer of place[0].rank, from, to (to == from: none)
    uint64_t from, to;
    char *text; // a message, then the example in indented lines
} mlt_goal_finding;

typedef struct mlt_goal_check_options {
    const mlt_goal_spec *is; // NULL: no result is proven
    bool assume_buffered;    // do not look for deadlocks of synchronous sends
    uint32_t window;         // also with that window, as the executor would run it; 0: none
    uint32_t limit;          // findings of each kind that are told; 0: all
    void (*progress)(void *user, double done); // 0..1, now and then; may be NULL
    void *user;
} mlt_goal_check_options;

typedef struct mlt_goal_verdict {
    mlt_goal_finding *findings;
    uint64_t count;             // told
    uint64_t found[MLT_FAULTS]; // all, told or not
    uint64_t actions, messages, bytes;
    // If the result of a reduction is right: how it comes about.
    bool in_rank_order;   // operands in the order of the ranks everywhere: op need not commute
    bool same_everywhere; // every rank's result has the same order and brackets: the same bits
                          // (a+b is b+a)
    bool exact;           // any order gives the same bits: all but sums and products of floats, and
                          // users' functions
    char *order;          // that of rank 0 (or the root, or a scan's last rank), "((0+1)+(2+3))";
                          // shortened if long
    // How far the proofs went.
    uint32_t ranks;
    uint32_t looked;  // 1 << fault: it was looked for. What was not is neither there nor excluded
    bool synchronous; // deadlocks were looked for with synchronous sends too
    uint32_t window;  // ... and with this window
    uint64_t races_of_rank; // racing pairs of the rank that has most of them
    char *claim;            // "allreduce sumInt32 over 16 ranks of 8 bytes"; NULL: none was asked
} mlt_goal_verdict;

mlt_goal_verdict *mlt_goal_check(const mlt_goal_program *program,
                                 const mlt_goal_check_options *options);
void mlt_goal_verdict_free(mlt_goal_verdict *verdict);

static inline bool mlt_goal_verdict_ok(const mlt_goal_verdict *verdict)
{
    for (int i = 0; i < MLT_FAULTS; i++)
        if (verdict->found[i])
            return false;
    return true;
}

// What `millet goal check` prints.
void mlt_goal_verdict_print(const mlt_goal_verdict *verdict, FILE *to);
