// SPDX-License-Identifier: BSD-3-Clause
// The parameters of the simulated machine as options and as a file: `--L 2500 --o 1500 ...`, or
// lines of name and value ("L 2500"; '#' begins a comment) as `millet goal measure` writes them.
// Options win over the file.
#pragma once

#include "judge/net/cluster.h"
#include "judge/sim/sim.h"
#include "tools/args.h"
#include "tools/goal/source.h"

enum { MLT_MACHINE_ARGS = 8 }; // the last one is --exec
extern mlt_arg mlt_machine_args[MLT_MACHINE_ARGS];
extern const char *mlt_machine_params; // --params

// --machine FILE: a described machine. It stands for all of the options above, so that giving both
// is wrong.
extern const char *mlt_machine_file;
#define MLT_MACHINE_ARG                                                                            \
    {                                                                                              \
        "machine", 0, MLT_ARG_TEXT, &mlt_machine_file, "FILE",                                     \
            .help = "a described machine: hosts, where ranks are, costs, and a network whose "     \
                    "links messages share"                                                         \
    }

// True if any of all these was given.
bool mlt_machine_given(void);

// What was given, over the file, over LogGOPSim's defaults.
mlt_loggops mlt_machine_read(void);

// The machine of --machine; NULL: none is described. It stays until the process ends.
mlt_cluster *mlt_machine_read_cluster(void);

// One machine from a text; `name` is what errors call it. Parameters that it does not name stay
// as they are; it must name at least one.
void mlt_machine_parse(const char *name, const char *text, mlt_loggops *out);

// Simulates a program on a described machine, or if that is NULL on the other one. The caller frees the
// result. keep: also the times of all actions, the critical path.
mlt_sim_result *mlt_machine_simulate(const mlt_source *source, const mlt_loggops *machine,
                                     const mlt_cluster *cluster, bool keep_times, bool keep_path);
