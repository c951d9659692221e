// SPDX-License-Identifier: BSD-3-Clause
// A job that a command starts: the mpirun beside it, with one of Millet's own programs of ranks.
#pragma once

#include <limits.h>
#include <stdio.h>

#include "tools/args.h"

typedef struct mlt_mpirun {
    char path[PATH_MAX], ranks[PATH_MAX]; // of mpirun, and of the ranks' program
} mlt_mpirun;

// bin/millet -> bin/mpirun, libexec/millet/PROGRAM. MLT_ARGS_GO, or what the command ends with.
int mlt_mpirun_find(const mlt_arg_command *command, const char *program, mlt_mpirun *out);

// Runs the job to its end. `what` names it in error messages ("the run"). hear, if not NULL, reads
// everything that the job prints. MLT_ARGS_GO if the job ended well, else the exit code.
int mlt_mpirun_run(const mlt_arg_command *command, const char *what, char *const *argv,
                   void (*hear)(FILE *from, void *user), void *user);
