// SPDX-License-Identifier: BSD-3-Clause
// Passes: programs to programs with the same result, each switchable. One line in mlt_passes each.
//
// A pass must keep every property that the checker proves, whatever the program, except those of a
// given window, which only the pass `window` makes. It may leave a program alone where it cannot be
// sure. Passes with `global` look at all ranks together.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "goal/pairs.h"
#include "goal/program.h"
#include "judge/sim/sim.h"

typedef struct mlt_pass_options {
    uint64_t segment;    // bytes of a piece of the pipeline; 0: the pass does nothing
    uint32_t window;     // actions between two no-ops; 0: the pass does nothing
    mlt_loggops machine; // prices for passes that order by time
    const char *keep;    // names of the buffers whose contents count at the end, "out,buf"; NULL:
                         // all that are named, and MEMORY, which is called "memory" here
} mlt_pass_options;

typedef struct mlt_pass_report {
    uint64_t changed; // in the pass's own unit
    char text[160];   // "removed 12 of 40 actions"
} mlt_pass_report;

typedef struct mlt_pass {
    const char *name, *help;
    bool initially; // on unless switched off
    bool global;
    bool matched; // it wants messages that match in number and size
    bool keeps;   // options.keep matters to it
    // Changes a program without cycles in place, as mlt_pass_run does. pairs: NULL if there are
    // wildcards, or the pass does not want messages that match.
    mlt_status (*run)(mlt_goal_program *program, const mlt_goal_pairs *pairs,
                      const mlt_pass_options *options, mlt_pass_report *report, char *why,
                      size_t why_size);
} mlt_pass;

// dead, copies, fuse, segment, spread, order, transitive, window; in the order in which they run:
// first what makes the program smaller, then what cuts and orders it, then what tidies that up, and
// last what fixes an order.
extern const mlt_pass mlt_passes[];
extern const int mlt_passes_count;

// Changes the program in place and fills the report in. On failure (the program has a cycle, its
// messages do not match) an error message in why, and the program is as before.
mlt_status mlt_pass_run(const mlt_pass *pass, mlt_goal_program *program,
                        const mlt_pass_options *options, mlt_pass_report *report, char *why,
                        size_t why_size) MLT_MUST_CHECK;
