// SPDX-License-Identifier: BSD-3-Clause
// Making a program: headers and C for a file, then the mpicc beside this command. The options
// say what it writes and what it removes.
#pragma once

#include <stdbool.h>

#include "tools/args.h"
#include "tools/flow/input.h"

typedef struct mlt_flow_make {
    const char *path;     // the .flow file
    const char *hostfile; // NULL: none
    const char *keep;     // folder where what is written stays; NULL: a temporary one
    const char *out;      // the program
    mlt_arg_texts words;  // files and options for the compiler, in order
    bool shared_statics;  // let modules have variables that their instances share (statics.h)
    bool verbose;         // print the compiler's commands
} mlt_flow_make;

void mlt_flow_make_program(const mlt_flow_make *make);

// Writes the headers into a folder, which is made if need be; what would not change is left alone.
void mlt_flow_make_headers(const mlt_flow_file *file, const char *folder);

// Whether a word ends so, and has more before it; whether it is a file with modules: C, C++,
// objects, archives.
bool mlt_flow_ends_with(const char *word, const char *with);
bool mlt_flow_is_module_file(const char *word);

// Options of compilers whose value is the next word.
bool mlt_flow_compiler_takes_value(const char *word);

// A new temporary folder, up to two of them, which are removed with everything in them at exit.
const char *mlt_flow_temporary(void);

// Runs argv to its end and returns its wait status; standard error goes to err_fd unless that is
// -1. Signals that end this process end the child first, so that this one can clean up.
int mlt_flow_execute(char *const *argv, int err_fd);
