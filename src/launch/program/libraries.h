// SPDX-License-Identifier: BSD-3-Clause
// Which libraries a program will run with, as far as its file and the environment tell: those of
// its own, and whose MPI it needs.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "launch/plan/options.h"

typedef struct mlt_libraries {
    bool mpi;     // it, or a library of its own, needs the library of the standard's ABI
    char **paths; // its own libraries: found by run paths, LD_LIBRARY_PATH or LD_PRELOAD
    size_t count;
    char *foreign; // the name of another MPI's library that one of them needs; NULL: none
    char *other;   // the path of another MPI's libmpi_abi.so.1, which a run path puts before ours
} mlt_libraries;

// Never fails: a file that is no dynamic program needs nothing. `dir` is where it will run, or
// NULL.
void mlt_libraries_find(mlt_libraries *out, const char *path, const char *dir,
                        const mlt_options *options, const mlt_app *app);
void mlt_libraries_fini(mlt_libraries *libraries);

// Whose library has that name: "Open MPI".
const char *mlt_libraries_vendor(const char *name);

// The path of another MPI's library that this process, or one that it started, has loaded by now;
// NULL if there is none, or it cannot be seen. The caller frees it.
char *mlt_libraries_loaded(pid_t pid);

// The folder that holds nothing but the library of this mpirun, so that it can stand before all
// others in LD_LIBRARY_PATH; NULL if the library is not installed.
const char *mlt_libraries_folder(void);
