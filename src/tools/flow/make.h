// SPDX-License-Identifier: BSD-3-Clause
// Making a program: headers and C for a file, then the mpicc beside this command. The options
// say what it writes and what it removes.
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "tools/args.h"
#include "tools/flow/input.h"

typedef struct mlt_flow_make {
    const char *path; // the .flow file
    mlt_arg_texts defines;
    const char *hostfile; // NULL: none
    const char *keep;     // folder where what is written stays; NULL: a temporary one
    const char *out;      // the program
    mlt_arg_texts words;  // files and options for the compiler, in order
    bool verbose;         // print the compiler's command
} mlt_flow_make;

// MLT_ARGS_GO when the program is there; else a message has been printed, and it is the exit code.
int mlt_flow_make_program(const mlt_arg_command *command, const mlt_flow_make *make) MLT_MUST_CHECK;

// Writes the headers into a folder, which is made if need be; what would not change is left alone.
int mlt_flow_make_headers(const mlt_arg_command *command, const mlt_flow_file *file,
                          const char *folder) MLT_MUST_CHECK;

// Whether a word ends so, and has more before it; whether it is a file with modules: C, C++,
// objects, archives.
bool mlt_flow_ends_with(const char *word, const char *with);
bool mlt_flow_is_module_file(const char *word);

// A new temporary folder, and its removal with everything in it.
int mlt_flow_temporary(const mlt_arg_command *command, char path[PATH_MAX]) MLT_MUST_CHECK;
void mlt_flow_remove(const char *path);

// A program of Millet's beside this one: "mpicc".
int mlt_flow_beside(const mlt_arg_command *command, const char *name,
                    char path[PATH_MAX]) MLT_MUST_CHECK;

// Runs argv to its end and returns its wait status; standard error goes to err_fd unless that is
// -1. Signals that end this process end the child first, so that callers can clean up. -1, after a
// message: it could not be started.
int mlt_flow_execute(const mlt_arg_command *command, char *const *argv, int err_fd);
