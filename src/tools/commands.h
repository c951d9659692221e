// SPDX-License-Identifier: BSD-3-Clause
// Commands by their names: `millet goal COMMAND ...`.
#pragma once

#include "tools/args.h"

// Runs the command, or the one of the family that argv[1] names, or tells what there is. Returns the
// exit code. Output that could not be written is an error of the command.
int mlt_command_run(const mlt_command *command, char **argv);

// The family's page in the manual, from SYNOPSIS to the names of its commands in SEE ALSO.
void mlt_command_man(const mlt_command *family);
