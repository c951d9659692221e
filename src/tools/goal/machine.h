// SPDX-License-Identifier: BSD-3-Clause
// The parameters of the simulated machine as options and as a file: `--L 2500 --o 1500 ...`, or
// lines of name and value ("L 2500"; '#' begins a comment) as `millet goal measure` writes them.
// Options win over the file.
#pragma once

#include <stdio.h>

#include "judge/net/cluster.h"
#include "judge/sim/sim.h"
#include "tools/args.h"

enum { MLT_MACHINE_PARAMETERS = 7, MLT_MACHINE_ARGS = MLT_MACHINE_PARAMETERS + 1 };

typedef struct mlt_machine_options {
    double given[MLT_MACHINE_PARAMETERS]; // below 0: not given
    uint64_t S;                           // UINT64_MAX: not given
    const char *file;
} mlt_machine_options;

// Sets the options to nothing given and fills in their lines.
void mlt_machine_args(mlt_machine_options *options, mlt_arg out[MLT_MACHINE_ARGS]);

// True if any of them was given.
bool mlt_machine_given(const mlt_machine_options *options);

// What was given, over the file, over LogGOPSim's defaults. MLT_ARGS_GO, or a message and the
// exit code.
int mlt_machine_read(const mlt_machine_options *options, const mlt_arg_command *command,
                     mlt_loggops *out) MLT_MUST_CHECK;

// --machine FILE: a described machine. It stands for all of the options above, so that giving both
// is wrong. `file` NULL: *out is NULL. The caller frees it.
extern const char mlt_machine_file_help[];
int mlt_machine_read_cluster(const mlt_machine_options *options, const char *file,
                             const mlt_arg_command *command, mlt_cluster **out) MLT_MUST_CHECK;

// One machine from a text; `name` is what errors call it. Parameters that it does not name stay
// as they are; it must name at least one.
bool mlt_machine_parse(const char *name, const char *text, mlt_loggops *out, char *why,
                       size_t why_size) MLT_MUST_CHECK;
void mlt_machine_print(const mlt_loggops *machine, FILE *to); // so that it can be read again
