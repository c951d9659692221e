// SPDX-License-Identifier: BSD-3-Clause
// A family of commands, `millet goal COMMAND ...`, as a table.
#ifndef MLT_TOOLS_COMMANDS_H
#define MLT_TOOLS_COMMANDS_H

#include <stddef.h>

typedef struct mlt_command {
    const char *name;
    int (*run)(int argc, char **argv); // argv[0]: the command
    const char *help;                  // one line
} mlt_command;

typedef struct mlt_commands {
    const char *name;    // "millet goal"
    const char *usage;   // what stands behind the name and COMMAND
    const char *purpose; // lines, with a newline at the end
    const char *codes;   // what exit codes mean: "0 fine; ..."
    const mlt_command *all;
    size_t count;
} mlt_commands;

// Runs the command that argv[1] names, or tells what there is. Returns the exit code.
int mlt_commands_run(const mlt_commands *family, int argc, char **argv);

#endif
