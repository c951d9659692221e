// SPDX-License-Identifier: BSD-3-Clause
// A job that a command starts: the mpirun beside it, with one of Millet's own programs of ranks.
#pragma once

#include <limits.h>
#include <stdio.h>

typedef struct mlt_mpirun {
    char path[PATH_MAX], ranks[PATH_MAX]; // of mpirun, and of the ranks' program
} mlt_mpirun;

// A program of Millet's beside this one: "mpicc".
void mlt_mpirun_beside(const char *name, char path[PATH_MAX]);

// bin/millet -> bin/mpirun, libexec/millet/PROGRAM.
mlt_mpirun mlt_mpirun_find(const char *program);

// Runs the job to its end; the command fails if it does. `what` names it in error messages ("the run").
// hear, if not NULL, reads everything that the job prints.
void mlt_mpirun_run(const char *what, char *const *argv, void (*hear)(FILE *from, void *user),
                    void *user);
