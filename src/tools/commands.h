// SPDX-License-Identifier: BSD-3-Clause
// A family of commands, `millet goal COMMAND ...`, as a table.
#pragma once

#include <stddef.h>

typedef struct mlt_command {
    const char *name;
    int (*run)(int argc, char **argv); // argv[0]: the command; NULL: it is a family
    const char *help;                  // one line
    const struct mlt_commands *family;
} mlt_command;

typedef struct mlt_commands {
    const char *name;    // "millet goal"
    const char *usage;   // what follows the name and COMMAND
    const char *purpose; // a paragraph
    const char *codes;   // what exit codes mean: "0: all is well; ..."
    const char *more;    // examples, for its page in the manual (man.h)
    const mlt_command *all;
    size_t count;
    int (*number)(int argc, char **argv); // of a number instead of a command; NULL: none
} mlt_commands;

// Runs the command that argv[1] names, or tells what there is. Returns the exit code. Output that
// could not be written is an error of the command.
int mlt_commands_run(const mlt_commands *family, int argc, char **argv);

// The family's page in the manual, from SYNOPSIS to the names of its commands in SEE ALSO.
void mlt_commands_man(const mlt_commands *family);
