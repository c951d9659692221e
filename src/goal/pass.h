// SPDX-License-Identifier: BSD-3-Clause
// Passes: programs to programs with the same result, each switchable. One line in mlt_passes each.
//
// A pass must keep every promise that the checker proves, whatever the program; it may leave a
// program alone where it cannot be sure. Passes with `global` look at all ranks together.
#ifndef MLT_GOAL_PASS_H
#define MLT_GOAL_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "goal/program.h"
#include "goal/sim.h"

typedef struct mlt_pass_options {
    uint64_t segment;    // bytes of a piece of the pipeline; 0: the pass does nothing
    uint32_t window;     // actions between two no-ops; 0: the pass does nothing
    mlt_loggops machine; // prices for passes that order by time
    const char *keep;    // names of the buffers whose contents count at the end, "out,buf"; NULL:
                         // all that are named, and MEMORY
} mlt_pass_options;

typedef struct mlt_pass_report {
    uint64_t changed; // in the pass's own unit
    char text[160];   // "removed 12 of 40 actions"
} mlt_pass_report;

typedef struct mlt_pass {
    const char *name, *help;
    bool initially; // on unless switched off
    bool global;
    // Changes the program in place. On failure (the program has a cycle, its messages do not match)
    // one sentence in why, and the program is as before.
    mlt_status (*run)(mlt_goal_program *program, const mlt_pass_options *options,
                      mlt_pass_report *report, char *why, size_t why_size);
} mlt_pass;

// dead, transitive, fuse, copies, order, segment, window, spread; in the order in which they run.
extern const mlt_pass mlt_passes[];
extern const int mlt_passes_count;

#endif
